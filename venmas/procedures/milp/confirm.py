"""From a point of a program to a witness that was replayed, or to none (design S8)."""

from __future__ import annotations

from dataclasses import dataclass

from venmas.errors import ModelError
from venmas.logic import Formula
from venmas.model.evaluation.regions import snaps
from venmas.model.system.system import System
from venmas.model.witness.build import Replay, UndecidedError, explain, replay
from venmas.model.witness.tree import Witness
from venmas.procedures.milp.encoding import Subproblem
from venmas.solvers.milp.program import Feasible

BUDGET = 20_000
"""Exact states that the search for one witness may step; its hints make it walk straight in nearly all cases."""


@dataclass(frozen=True)
class Confirmed:
    """A witness and its replay."""

    witness: Witness
    replay: Replay


@dataclass(frozen=True)
class Refused:
    """Why no exact initial state near the point shows the formula; `left_box` when a run left the declared box."""

    message: str
    left_box: bool = False


def confirm(system: System, target: Formula, subproblem: Subproblem, outcome: Feasible) -> Confirmed | Refused:
    """Look for an exact initial state near a point that satisfies `target`, and replay it."""
    start = subproblem.initial_point(outcome.point)
    hints = subproblem.hints(outcome.point)
    regions = system.regions if subproblem.region is None else [system.regions[subproblem.region]]
    refused = Refused("no initial state near the solver's point was found")
    for region in regions:
        for exact in snaps(system, region, start):
            try:
                witness = explain(system, target, exact, hints, BUDGET)
            except ModelError as error:
                refused = Refused(str(error), left_box=True)
                continue
            except UndecidedError as error:
                refused = refused if refused.left_box else Refused(str(error))
                continue
            if witness is None:
                near = "the solver's point meets the negated property only within its tolerance"
                refused = refused if refused.left_box else Refused(near)
                continue
            checked = replay(system, target, witness)
            if checked.confirmed:
                return Confirmed(witness, checked)
            refused = Refused(f"a witness did not replay: {checked.reason}")
    return refused
