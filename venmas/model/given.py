"""What the functions of the Python interface are given: values of another type are refused with what to write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from venmas.errors import UsageError
from venmas.logic import Formula
from venmas.logic.printing import to_short_text
from venmas.model.system import System


def check_system(given: object, function: str) -> None:
    """Raises `UsageError` for what is no `System`."""
    if not isinstance(given, System):
        raise UsageError(f"{function} takes a system; got {_kind(given)}: {_remedy(given)}")


def asked_text(system: object, formula: object) -> str:
    """The text of the formula that `verify` is asked. Raises `UsageError` for a system or formula that is none."""
    check_system(system, "verify")
    if isinstance(formula, str):
        return formula
    if isinstance(formula, Formula):
        return to_short_text(formula)
    more = "; verify_all takes a list of them" if isinstance(formula, list | tuple) else ""
    raise UsageError(f"a formula is text such as 'AX^5 safe', or of venmas.parse; got {_kind(formula)}{more}")


def _kind(given: object) -> str:
    return repr(given)[:100] if given is None or isinstance(given, str | Path | int) else f"a {type(given).__name__}"


def _remedy(given: Any) -> str:
    if isinstance(given, str | Path):
        return f"write load_scenario({str(given)[:100]!r}).system()"
    if type(given).__name__ == "Circuit":  # of another room
        return "designs have properties of LTL, for which there is verify_ltl"
    if callable(getattr(given, "system", None)):  # a scenario
        return "call its method system(), with parameters if there are any"
    return "one of venmas.System, as load_scenario('vcas').system() and venmas.gym.tabular(..) make it"
