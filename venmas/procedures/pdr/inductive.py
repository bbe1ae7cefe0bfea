"""Obligations of an invariant: it holds where runs begin, and each step along an edge of the automaton keeps it.

    initial(s, i), constraints(s, i), not J_q0(s)                             is met by no s, i
    J_q(s), label(s, i), constraints(s, i), not J_q'(next(s, i))              by none, for every edge from q to q'

with first values that read inputs read those of the first step, which the constraints are about, and registers without
a first value free. From every state, the first condition is that J_q0 is true.
"""

from __future__ import annotations

from collections.abc import Iterator

from venmas.logic.automata.automaton import Automaton
from venmas.model.circuit.nodes import Circuit
from venmas.model.circuit.operators import Op
from venmas.procedures.netlist.clauses import Invariant
from venmas.procedures.netlist.step import Step


def first_of(circuit: Circuit, step: Step) -> list[int]:
    """Conditions that the state before the step is an initial one."""
    b = step.builder
    known = {**step.before, **step.inputs}
    prescribed = [
        (node, first) for node, first in zip(circuit.registers, circuit.init, strict=True) if first is not None
    ]
    firsts = b.copy(circuit, known, [first for _, first in prescribed])
    same = [b.apply(Op.EQ, [step.before[node], value]) for (node, _), value in zip(prescribed, firsts, strict=True)]
    return [*same, *b.copy(circuit, known, circuit.starts)]


def obligations(
    circuit: Circuit, automaton: Automaton, step: Step, invariant: Invariant
) -> Iterator[tuple[str, list[int]]]:
    """What must not be met, with what it is: conditions over the nodes of the step's builder."""
    b = step.builder
    before = [step.before[node] for node in circuit.registers]
    after = [step.after[node] for node in circuit.registers]
    begun = first_of(circuit, step) if invariant.initial else []
    yield "initial states", [*begun, *step.here, b.not_(invariant.node(b, 0, before))]
    for edge in automaton.edges:
        if invariant.clauses.get(edge.target) and not invariant.excludes(edge.source):
            holds, kept = invariant.node(b, edge.source, before), invariant.node(b, edge.target, after)
            yield f"edge {edge.source} -> {edge.target}", [holds, step.taken(edge), *step.here, b.not_(kept)]
