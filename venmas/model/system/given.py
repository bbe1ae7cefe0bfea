"""What the functions of the Python interface are given: values of another type are refused with what to write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from venmas.errors import UsageError
from venmas.model.circuit.nodes import Circuit
from venmas.model.system.system import System


def check_system(given: object, function: str) -> None:
    """Raises `UsageError` for what is no `System`."""
    if not isinstance(given, System):
        raise UsageError(f"{function} takes a system; got {_kind(given)}: {_remedy(given)}")


def check_subject(given: object, function: str) -> None:
    """Raises `UsageError` for what is neither a `System` nor a `Circuit`."""
    if not isinstance(given, Circuit):
        check_system(given, function)


def _kind(given: object) -> str:
    return repr(given)[:100] if given is None or isinstance(given, str | Path | int) else f"a {type(given).__name__}"


def _remedy(given: Any) -> str:
    if isinstance(given, str | Path):
        return f"write load_scenario({str(given)[:100]!r}).system()"
    if isinstance(given, Circuit):
        return "a netlist has properties of LTL, which verify decides"
    if callable(getattr(given, "system", None)):  # a scenario
        return "call its method system(), with parameters if there are any"
    return "one of venmas.System, as load_scenario('vcas').system() and venmas.formats.gym.tabular(..) make it"
