"""Reachable states without a successor, where AX holds and EX does not (design S4): the question, and what is told."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from venmas.logic import EX, TRUE, Formula, Globally, Quantifier, nnf
from venmas.model.system import System
from venmas.model.witness.tree import Witness


def deadlock(depth: int) -> Formula:
    """What an initial state meets that reaches a deadlock before the last step that a formula looks at, as core."""
    return nnf(Globally(Quantifier.ALL, 0, max(0, depth - 1), EX(TRUE)), negate=True)


def deadlocked(witness: Witness) -> dict[str, Fraction]:
    """The state without a successor of a witness that shows `deadlock`."""
    node = witness.nodes[witness.deadlocks[0] if witness.deadlocks else -1]
    return {v.name: v.exact for v in node.state}


def note(system: System, state: Mapping[str, Fraction]) -> str:
    """What a report says of a deadlock."""
    shown = []
    for name, decl in system.variables.items():
        label = dict(decl.labels).get(int(state[name])) if decl.integral else None
        shown.append(f"{name} = {label or float(state[name])}")
    return f"a deadlock is reachable ({', '.join(shown)}): there AX holds and EX does not"
