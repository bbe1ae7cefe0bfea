"""`--tune PROCEDURE.OPTION=VALUE`: options of single procedures, and lists of predicates."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from venmas.cli.output import read_input
from venmas.errors import UsageError

if TYPE_CHECKING:
    from venmas.cli.options import Loaded
    from venmas.logic import Formula

_MAX_LIST = 1 << 24
_FIRST = "predicates.first"

tune_option = click.option(
    "--tune",
    metavar="PROCEDURE.OPTION=VALUE",
    multiple=True,
    help="Set an option of a single procedure; repeatable. `venmas help tune` lists them.",
)


def checked(tune: Mapping[str, str]) -> Mapping[str, str]:
    """The same, before any work; files of predicates are looked at later. Raises `UsageError`."""
    if tune:
        from venmas.engine.tuning import read_tune

        read_tune({key: "none" if key == _FIRST else value for key, value in tune.items()})
    return tune


def read_tune_files(tune: Mapping[str, str], loaded: Loaded) -> dict[str, Any]:
    """The options as `venmas.verify` takes them; files of predicates are read. Raises `InputError`."""
    found: dict[str, Any] = dict(tune)
    if _FIRST in tune:
        from venmas.procedures.predicate_abstraction.settings import WORDS

        parts: list[str | Formula] = []
        for part in tune[_FIRST].split("+"):
            parts += [part] if part in WORDS else read_predicates(part, loaded)
        found[_FIRST] = parts or ["none"]
    return found


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
            raise UsageError(f"list of predicates: {path} is larger than 16 MB: that is no list of predicates")
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"predicates: {path} is no UTF-8 text ({error.reason} at byte {error.start})") from error
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"list of predicates: cannot read {path!r}: {why}; give guards, none, or a file") from error
    lines = (line.strip() for line in text.splitlines())
    return [condition(loaded.system, line) for line in lines if line and not line.startswith("#")]
