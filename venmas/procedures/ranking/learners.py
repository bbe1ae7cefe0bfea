"""Learners of ranking networks, by name."""

from __future__ import annotations

from importlib import import_module

from venmas.budget import Budget
from venmas.procedures.netlist.step import Goal
from venmas.procedures.ranking.learn import Figures, Network

MODULES = {"auto": "learn", "mined": "learn", "milp": "signs", "gradient": "gradient"}
"""Of each name of `venmas.runtime.choices.LEARNERS` its module. Those besides mined neurons are asked for by name:
where there is no rank they take long."""


def learned(name: str, goal: Goal, budget: Budget, figures: Figures) -> Network | None:
    """A network that falls on every strict edge and rises on none, None where none is found.

    Raises `BudgetError`, and `SolverUnavailableError` where what a learner needs is not installed.
    """
    found: Network | None = import_module(f"venmas.procedures.ranking.{MODULES[name]}").rank(goal, budget, figures)
    return found
