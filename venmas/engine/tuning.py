"""Options of procedures by key: read, and refused by name where no procedure of the chosen modes reads them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from venmas.engine.modes import DEFAULT, Mode, modes
from venmas.errors import UsageError, did_you_mean
from venmas.model.expressions.refusals import shortened
from venmas.procedure import Option
from venmas.procedures.registry import PROCEDURES, get_procedure, plugged

NOTHING: Mapping[str, object] = MappingProxyType({})
_ASKING = "k-induction"
"""Asks bounded questions of the default mode (`venmas.procedure.Run.decide`)."""


def options(procedures: Iterable[str] | None = None) -> dict[str, Option]:
    """Options by key: those of procedures, of all by default; ours keep their keys."""
    names = (*PROCEDURES, *plugged()) if procedures is None else procedures
    found: dict[str, Option] = {}
    for name in names:
        for option in getattr(get_procedure(name), "options", ()):
            found.setdefault(option.key, option)
    return found


def read_tune(tune: object) -> dict[str, Any]:
    """Values by key as procedures get them. Raises `UsageError` for unknown keys and values."""
    if not isinstance(tune, Mapping):
        raise UsageError(f"tune is a dictionary, as in tune={{'milp.bounds': 'interval'}}, got {shortened(tune)}")
    if not tune:
        return {}
    known = options()
    found = {}
    for key, value in tune.items():
        if key not in known:
            hint = did_you_mean(str(key), known)
            raise UsageError(f"no procedure has an option {shortened(key)}{hint}; there are {', '.join(known)}")
        found[key] = known[key].taken(value)
    return found


def shown(tune: Mapping[str, Any]) -> dict[str, str]:
    """Values as a report tells them."""
    return {key: value if isinstance(value, str) else _text(value) for key, value in tune.items()}


def _text(value: Any) -> str:
    return "+".join(map(str, value)) if isinstance(value, tuple) else str(value)


def check_read(tune: Mapping[str, Any], chosen: Iterable[Mode], inductive: bool) -> None:
    """Raise `UsageError` for options that no procedure of the modes reads.

    inductive: is a set given that is to be proved, so that nothing is abstracted?
    """
    if not tune:
        return
    chosen = list(chosen)
    turns = set[str]().union(*(mode.procedures for mode in chosen))
    if _ASKING in turns:
        turns |= modes()[DEFAULT].procedures
    lacking = {"predicate-abstraction"} & turns if inductive else set()
    known = options(sorted(turns - lacking))
    unread = [key for key in tune if key not in known]
    if not unread:
        return
    told = f"mode {' and '.join(dict.fromkeys(mode.name for mode in chosen))}"
    if lacking and unread[0] in options(lacking):
        told = "a proof by the set of --invariant"
    them = "them" if len(unread) > 1 else "it"
    readers = dict.fromkeys(name for key in unread for name in _readers(key))
    raise UsageError(
        f"{', '.join(unread)} {'are' if len(unread) > 1 else 'is'} about {', '.join(readers)}, and {told} has none of "
        f"it: leave {them} out, or choose a mode or formula that has"
    )


def _readers(key: str) -> list[str]:
    names = (*PROCEDURES, *plugged())
    return [name for name in names if key in options((name,))]
