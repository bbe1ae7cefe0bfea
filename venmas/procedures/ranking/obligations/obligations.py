"""Obligations: what has to hold of a network on every step, as conditions that must not be met together.

For an edge from q to q' within a component (Giacobbe et al., NeurIPS 2024, equation 5, edge by edge): no state s and
letter with

    the letter has the edge's label,   the letter after it has the label of some edge that leaves q',   constraints,
    s meets the invariant of q, where one is assumed,
    V_q(s) - [the edge is strict] < V_q'(s')

with V in words so wide that nothing wraps around, compared as signed numbers. A run that stays in the component takes
one of the edges that leave q' in its next step, so nothing is asked of steps after which it cannot (look-ahead).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from venmas.logic.automata.automaton import Edge
from venmas.model.circuit.operators import Op, words
from venmas.model.circuit.simulate import evaluate
from venmas.procedures.netlist.mining import Pool
from venmas.procedures.netlist.step import Goal, Step

Weights = Mapping[int, Sequence[int]]
"""Of each state of the automaton the weights of the pool's neurons."""


class Obligations:
    """The obligations of networks over one pool. before, after: each neuron's node, now and a step later."""

    def __init__(self, goal: Goal, step: Step, pool: Pool) -> None:
        self.goal, self.step = goal, step
        b, nodes = step.builder, [neuron.node for neuron in pool.neurons]
        self.before = b.copy(pool.builder, {pool.registers[n]: step.before[n] for n in pool.registers}, nodes)
        self.after = b.copy(pool.builder, {pool.registers[n]: step.after[n] for n in pool.registers}, nodes)

    def taken(self, edge: Edge) -> list[int]:
        """Conditions under which the edge is taken by a run that stays."""
        on = [other for other in self.goal.edges if other.source == edge.target]
        registers = [self.step.before[node] for node in self.goal.circuit.registers]
        holds = self.goal.invariant.node(self.step.builder, edge.source, registers)
        return [holds, self.step.taken(edge), self.step.leaves(on), *self.step.assumed]

    def rises(self, edge: Edge, weights: Weights) -> int:
        """One bit: the rank does not fall as it must."""
        b = self.step.builder
        ours = [(w, n) for w, n in zip(weights[edge.source], self.before, strict=True) if w]
        theirs = [(w, n) for w, n in zip(weights[edge.target], self.after, strict=True) if w]
        most = sum(abs(w) * ((1 << b.width(n)) - 1) for w, n in [*ours, *theirs]) + 1
        width = most.bit_length() + 2  # |each partial sum| <= most < 2^(width - 2)
        left = self._sum([*ours, (-int(edge in self.goal.strict), b.const(1, 1))], width)
        return b.apply(Op.SLT, [left, self._sum(theirs, width)])

    def switches(self, weights: Weights) -> list[int]:
        """The conditions in neurons with a weight, now and a step later."""
        b, found = self.step.builder, []
        used = [at for at in range(len(self.before)) if any(row[at] for row in weights.values())]
        for node in [side[at] for at in used for side in (self.before, self.after)]:
            condition = node if b.width(node) == 1 else b.nodes[node].args[0] if b.nodes[node].op is Op.ITE else None
            if condition is not None and b.value(condition) is None and condition not in found:
                found.append(condition)
        return found

    def row(self, edge: Edge, found: Mapping[int, int]) -> dict[int, list[int]]:
        """What each weight counts in V_q(s) - V_q'(s') at a step, of each state; leaves not named are 0."""
        b = self.step.builder
        known = {n: words([found.get(n, 0)], b.width(n)) for n in [*b.registers, *b.inputs]}
        row = {state: [0] * len(self.before) for state in self.goal.states}
        for nodes, state, sign in ((self.before, edge.source, 1), (self.after, edge.target, -1)):
            for at, value in enumerate(evaluate(b, known, nodes)):
                row[state][at] += sign * int(value[0])
        return row

    def _sum(self, terms: Sequence[tuple[int, int]], width: int) -> int:
        b = self.step.builder
        total = b.const(0, width)
        for weight, node in terms:
            if not weight:
                continue
            if (
                b.width(node) == 1
            ):  # a choice between constants, where a product would take the solver ten times as long
                word = b.apply(Op.ITE, [node, b.const(abs(weight), width), b.const(0, width)])
            else:
                word = b.apply(Op.UEXT, [node], [width - b.width(node)])
                if abs(weight) != 1:
                    word = b.apply(Op.MUL, [word, b.const(abs(weight), width)])
            total = b.apply(Op.ADD if weight > 0 else Op.SUB, [total, word])
        return total
