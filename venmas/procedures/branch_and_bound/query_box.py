"""A query about one network as a question about a system of one step, and small boxes of it decided in rationals."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from venmas.answer import Proved, Violated
from venmas.budget import Budget
from venmas.errors import ModelError
from venmas.formats.vnnlib.query import Box, hull
from venmas.logic import AX, Bounded, Formula, Not
from venmas.model.expressions.functions import apply_network
from venmas.model.system.system import System
from venmas.nn import Network
from venmas.procedures.branch_and_bound.bisect import Point
from venmas.procedures.exact.session import ExactSession
from venmas.question import Question

FEW_INPUTS = 12
"""Inputs up to which bisection alone is asked."""
_LARGEST = 10**99


def decide_box(
    network: Network, box: Box, condition: Formula, budget: Budget, seconds: float
) -> tuple[bool, Point | None]:
    """The search in rationals on a box, for some seconds: could it decide, and where is the condition met?

    It does not where inputs or outputs are beyond the numbers that a system may have.
    """
    try:
        question = Question(query_system(network, (box,)), Bounded(AX(Not(condition))))
        answer = budget.spend(seconds, ExactSession(question).advance)
    except ModelError:
        return False, None
    if isinstance(answer, Violated):
        return True, inputs_of(answer.witness.initial, len(box))
    # outputs that are not shown to be numbers that a system may have are left to others
    return isinstance(answer, Proved) and not answer.leaving, None


def query_system(network: Network, boxes: tuple[Box, ...]) -> System:
    """A system that holds the inputs and takes one step to the outputs: ``AX condition`` asks about them."""
    system = System("query")
    x = [system.real(f"X_{i}", low, high) for i, (low, high) in enumerate(hull(boxes))]
    y = [system.real(f"Y_{i}", -_LARGEST, _LARGEST) for i in range(network.output_size)]
    system.branch("step", dict(zip(y, apply_network(network, x), strict=True)))
    for box in boxes:
        sides = [(v >= low) & (v <= high) for v, (low, high) in zip(x, box, strict=True)]
        system.initial(*sides, *(v == 0 for v in y))
    return system


def inputs_of(state: Mapping[str, Fraction], count: int) -> Point:
    """The inputs in a state of `query_system`."""
    return tuple(Fraction(state[f"X_{i}"]) for i in range(count))
