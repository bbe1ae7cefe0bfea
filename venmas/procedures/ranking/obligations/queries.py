"""Queries of learners: is there a step of the component on which ranks do not fall as they must?"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product as combinations
from math import prod

from venmas.budget import Budget
from venmas.logic.automata.automaton import Edge
from venmas.model.circuit.operators import Op
from venmas.model.circuit.smt import Sat, Smt, Undecided, Unsat
from venmas.procedures.netlist.mining import CONTROL_BITS
from venmas.procedures.ranking.obligations.obligations import Obligations, Weights

_SPLITS = 64
"""Most values of control registers that an edge is asked about one by one."""
_SOON = 1.0
"""Seconds after which a query is split. Sums with odd weights can take a solver minutes, their pieces milliseconds."""

Failure = tuple[Edge, dict[int, int]]
"""An edge and a step of it: values of leaves."""


class Queries:
    """The queries about networks over the neurons of `asked`, each edge for each value of the control registers."""

    def __init__(self, asked: Obligations, smt: Smt, control: Sequence[int]) -> None:
        self.asked, self._smt = asked, smt
        self._cases = [(edge, case) for edge in asked.goal.edges for case in _cases(asked, edge, control)]

    def failures(self, weights: Weights, budget: Budget) -> list[Failure] | str:
        """Steps on which ranks do not fall as they must; why the solver does not say. Raises `BudgetError`."""
        switches = self.asked.switches(weights)
        found = []
        for edge, case in self._cases:
            answer = self._ask([*case, self.asked.rises(edge, weights)], switches, budget)
            if isinstance(answer, Undecided):
                return f"the solver did not decide an edge ({answer.reason})"
            if isinstance(answer, Sat):
                found.append((edge, answer.values))
        return found

    def _ask(self, conditions: list[int], switches: list[int], budget: Budget) -> Sat | Unsat | Undecided:
        """Can the conditions be met? What the solver does not see soon is split by what switches neurons on and off."""
        budget()
        left = budget.left
        soon = _SOON if left is None else min(_SOON, left)
        answer = self._smt.check(conditions, soon if switches else left)
        if not isinstance(answer, Undecided) or not switches:
            return answer
        for side in (switches[0], self.asked.step.builder.not_(switches[0])):
            answer = self._ask([*conditions, side], switches[1:], budget)
            if not isinstance(answer, Unsat):
                return answer
        return answer


def _cases(asked: Obligations, edge: Edge, control: Sequence[int]) -> list[list[int]]:
    """Conditions under which the edge is taken and the run may stay, one list for each value of the controls."""
    b, step, taken = asked.step.builder, asked.step, asked.taken(edge)
    values: list[list[tuple[int, int]]] = []
    for node in control:
        width = asked.goal.circuit.width(node)
        if width <= CONTROL_BITS and prod(map(len, values)) << width <= _SPLITS:
            values.append([(node, value) for value in range(1 << width)])
    out = []
    for case in combinations(*values):
        here = [b.apply(Op.EQ, [step.before[n], b.const(v, b.width(step.before[n]))]) for n, v in case]
        if all(b.value(condition) != 0 for condition in [*taken, *here]):
            out.append([*taken, *here])
    return out
