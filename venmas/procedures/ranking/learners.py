"""Learners of ranking networks by name: mined neurons, and those of other packages (entry points ``venmas.learners``).

Those of other packages are asked for by name: where there is no rank they take long.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from venmas.budget import Budget
from venmas.errors import UsageError
from venmas.runtime import plugins
from venmas.runtime.choices import LEARNERS

if TYPE_CHECKING:
    from venmas.procedures.netlist.step import Goal
    from venmas.procedures.ranking.learn import Figures, Network

Learner: TypeAlias = "Callable[[Goal, Budget, Figures], Network | None]"
"""A network that falls on every strict edge of the goal and rises on none; None where none is found.

It raises `BudgetError` at a limit and `SolverUnavailableError` where what it needs is not installed. It may be wrong:
the obligations of every network are proved by `Prover`.
"""

MINED = ("auto", "mined")
"""Names of our own learner (`procedures.ranking.learn`)."""

_LEARNERS: plugins.Registry[Learner] = plugins.Registry(
    "learner",
    plugins.LEARNERS,
    dict.fromkeys(MINED, "venmas.procedures.ranking.learn:rank"),
    lambda _name, made: "" if callable(made) and not isinstance(made, type) else "it is not a function",
)


def learner_names() -> tuple[str, ...]:
    """Names that can be chosen: ours, those of VenMAS that may have to be installed, those of other packages."""
    return tuple(dict.fromkeys((*LEARNERS, *_LEARNERS.names)))


def get_learner(name: str) -> Learner:
    """The learner of that name. Raises `UsageError` for an unknown one, and for one that is not installed."""
    if name in LEARNERS and name not in _LEARNERS.names:
        raise UsageError(
            f"the learner {name!r} is a plug-in that is not installed: pip install ./experiments/learners, in the "
            f"folder of the repository; or choose one of {', '.join(_LEARNERS.names)}"
        )
    return _LEARNERS.get(name)
