"""Options of predicate abstraction, from their table, and lists of predicates."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from venmas.cli.output import read_input
from venmas.errors import UsageError
from venmas.procedures.predicate_abstraction.settings import OPTIONS

if TYPE_CHECKING:
    from venmas.cli.options import Loaded
    from venmas.logic import Formula

_Command = TypeVar("_Command", bound=Callable[..., Any])
_MAX_LIST = 1 << 24


def refinement_options(command: _Command) -> _Command:
    """An option for each entry of the table; those that are not given are None."""
    for option in reversed(OPTIONS):
        kind: Any = click.IntRange(0) if isinstance(option.default, int) else None
        if option.values is not None:
            kind = click.Choice(option.values)
        text = f"(abstraction) {option.help[0].upper()}{option.help[1:]} [default: {option.default}]."
        metavar = "guards|none|FILE" if option.name == "predicates" else None
        command = click.option(f"--{option.name}", type=kind, metavar=metavar, help=text)(command)
    return command


def read_refinement(given: dict[str, Any], loaded: Loaded) -> dict[str, Any]:
    """The options that were given, as `venmas.verify` takes them; files of predicates are read. Raises `InputError`."""
    found = {o.name: given[o.name] for o in OPTIONS if given.get(o.name) is not None}
    listed: list[Formula] = []
    if "predicates" in found:
        parts = []
        for part in str(found["predicates"]).split("+"):
            if part not in ("guards", "none"):
                listed += read_predicates(part, loaded)
                part = "listed"
            parts.append(part)
        found["predicates"] = "+".join(dict.fromkeys(parts))
    return {**found, "listed": tuple(listed)} if listed else found


def read_predicates(path: str, loaded: Loaded) -> list[Formula]:
    """The predicates of a file: conditions, one a line (not those that begin with #). Raises `InputError`.

    Files that end in .jani or .json are lists as PlaJA has them, for scenarios that are JANI models.
    """
    from venmas.procedures.predicate_abstraction.graph.graph import condition

    reader = getattr(loaded.scenario, "predicates", None)
    if reader is not None and Path(path).suffix.lower() in (".jani", ".json"):
        return list(reader(path, **loaded.parameters))
    try:
        data = read_input(path, _MAX_LIST)
        if len(data) > _MAX_LIST:
            raise UsageError(f"--predicates: {path} is larger than 16 MB: that is no list of predicates")
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"--predicates: {path} is no UTF-8 text ({error.reason} at byte {error.start})") from error
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"--predicates: cannot read {path!r}: {why}; give guards, none, or a file") from error
    lines = (line.strip() for line in text.splitlines())
    return [condition(loaded.system, line) for line in lines if line and not line.startswith("#")]
