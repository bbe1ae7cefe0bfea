"""Sets of states as boxes: states that differ in one variable only, by values side by side, are one box."""

from __future__ import annotations

from fractions import Fraction

from venmas.model.invariant import Invariant
from venmas.model.system.boxes import merged_boxes
from venmas.model.system.system import System
from venmas.procedures.explicit.graph.graph import StateGraph

MAX_BOXES = 100_000
"""Boxes of an inductive set that is written down."""


def inductive_set(whole: System, graph: StateGraph) -> Invariant | None:
    """The states of a closed graph of a part of a system, whatever the other variables are; None for too many boxes."""
    names = list(graph.system.variables)
    states = graph.states(0, graph.count)
    low, high = merged_boxes(states, states)
    if len(low) > MAX_BOXES:
        return None
    ends = zip(low.tolist(), high.tolist(), strict=True)
    return Invariant.of_boxes(
        whole, ({n: (Fraction(a), Fraction(b)) for n, a, b in zip(names, *box, strict=True)} for box in ends)
    )
