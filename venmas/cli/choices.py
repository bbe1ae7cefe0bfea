"""Options whose choices and help come from registries, which are asked when they are needed and not before."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import click

from venmas.runtime.choices import SEMANTICS, TRUSTS, described


class Named(click.Choice[str]):
    """A choice among the names of a registry."""

    def __init__(self, names: Callable[[], Iterable[str]]) -> None:
        self._names = names
        super().__init__(())

    @property
    def choices(self) -> tuple[str, ...]:
        """The names as they are now."""
        return tuple(self._names())

    @choices.setter
    def choices(self, _given: object) -> None: ...


class Told(click.Option):
    """An option whose help is made when somebody reads it."""

    def __init__(self, *args: Any, tell: Callable[[], str], **kwargs: Any) -> None:
        self._tell = tell
        super().__init__(*args, **kwargs)

    @property
    def help(self) -> str:
        """The text as it is now."""
        return self._tell()

    @help.setter
    def help(self, _given: object) -> None: ...


def mode_names() -> tuple[str, ...]:
    """Of all modes."""
    from venmas.engine.modes import modes

    return tuple(modes())


def program_modes() -> tuple[str, ...]:
    """Of the modes that make programs."""
    from venmas.engine.modes import with_programs

    return with_programs()


def solver_choices() -> tuple[str, ...]:
    """Solvers, and the one that chooses."""
    from venmas.solvers.registry import AUTO, solver_names

    return (AUTO, *solver_names())


def mode_help() -> str:
    """What the modes are."""
    from venmas.engine.modes import DEFAULT, DEFAULTS, modes

    needing = listed([name for name, mode in modes().items() if mode.solver])
    told = described({name: mode.help for name, mode in modes().items()})
    defaults = f"{DEFAULT}; {DEFAULTS['unbounded']} for formulas without a bound"
    return f"{told}. A solver is needed by {needing}.  [default: {defaults}]"


def cluster_modes() -> str:
    """Names of the modes that work on a cluster, for a sentence."""
    from venmas.engine.modes import modes

    return listed([name for name, mode in modes().items() if mode.cluster])


def listed(names: list[str]) -> str:
    """``a, b and c``."""
    return " and ".join((", ".join(names[:-1]), names[-1]) if len(names) > 1 else names)


TRUST_HELP = f"What `satisfied` needs where a solver decided. {described(TRUSTS)}."
BOTH = "both"
SEMANTICS_HELP = f"What networks compute. {described(SEMANTICS)}. both: one report, with both verdicts."
