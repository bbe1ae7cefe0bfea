"""Learner: neurons mined from the netlist, their weights a linear program over counterexamples.

    for each level:   weights: cheapest that meet all samples           (`linear`)
                      each edge, each value of the control registers:   (`circuit.smt`)
                          is there a step of the edge on which the rank does not fall as it must?
                      none: done.   some: they are new samples.   no weights: next level.

Instead of the gradient descent of Giacobbe, Kroening, Pal, Tautschnig, *Neural Model Checking*, NeurIPS 2024.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product as combinations
from math import prod

from venmas.budget import Budget
from venmas.circuit.operators import Op
from venmas.circuit.smt import Sat, Smt, Undecided, Unsat
from venmas.ltl.automaton import Edge
from venmas.ltl.ranking.linear import Weights
from venmas.ltl.ranking.mining import CONTROL_BITS, LEVELS, Pool, control_registers, pool, sampled_states
from venmas.ltl.ranking.obligations import Obligations
from venmas.ltl.ranking.step import Goal, step_of

_SPLITS = 64
"""Most values of control registers that an edge is asked about one by one."""
_SOON = 1.0
"""Seconds after which a query is split. Sums with odd weights can take a solver minutes, their pieces milliseconds."""


@dataclass(frozen=True)
class Network:
    """Ranks of the automaton's states: of each a sum of weights times neurons, all integers."""

    weights: dict[int, tuple[int, ...]]
    pool: Pool
    level: int

    def text(self) -> dict[int, str]:
        """Of each state its rank as people write it."""
        texts = [neuron.text for neuron in self.pool.neurons]
        return {
            state: " ".join(f"{w:+d} {t}" for w, t in zip(weights, texts, strict=True) if w) or "0"
            for state, weights in self.weights.items()
        }


@dataclass
class Figures:
    """What the work took. levels: why each level that had no network had none."""

    rounds: int = 0
    samples: int = 0
    queries: int = 0
    smt_seconds: float = 0.0
    levels: list[str] = field(default_factory=list)


def rank(goal: Goal, budget: Budget, figures: Figures, levels: Sequence[int] = LEVELS) -> Network | None:
    """A network that falls on every strict edge and rises on none, for all states. Raises `BudgetError`."""
    step = step_of(goal.circuit, goal.letters)
    control = control_registers(goal.circuit)
    states = sampled_states(goal.circuit)
    smt = Smt(step.builder)
    try:
        for level in levels:
            neurons = pool(goal, level, control, states)
            found = _Level(level, neurons, Obligations(goal, step, neurons), smt, control).run(budget, figures)
            if isinstance(found, Network):
                return found
            figures.levels.append(f"level {level}: {found}")
        return None
    finally:
        figures.queries += smt.queries
        figures.smt_seconds += smt.seconds


class _Level:
    def __init__(self, level: int, pool_: Pool, asked: Obligations, smt: Smt, control: Sequence[int]) -> None:
        self.level, self.pool, self.asked, self.smt, self.control = level, pool_, asked, smt, control
        self.goal, self.step = asked.goal, asked.step
        self.program = Weights([neuron.cost for neuron in pool_.neurons] * len(self.goal.states))

    def run(self, budget: Budget, figures: Figures) -> Network | str:
        cases = [(edge, case) for edge in self.goal.edges for case in self._cases(edge)]
        size = len(self.pool.neurons)
        while True:
            budget()
            flat = self.program.solve()
            if flat is None:
                return f"no weights for {self.program.rows} samples"
            figures.rounds += 1
            weights = {q: tuple(flat[at * size : (at + 1) * size]) for at, q in enumerate(self.goal.states)}
            switches = self.asked.switches(weights)
            fresh = 0
            for edge, case in cases:
                answer = self._ask([*case, self.asked.rises(edge, weights)], switches, budget)
                if isinstance(answer, Undecided):
                    return f"the solver did not decide an edge ({answer.reason})"
                if isinstance(answer, Sat):
                    row = self.asked.row(edge, answer.values)
                    self.program.add(
                        [value for state in self.goal.states for value in row[state]], edge in self.goal.strict
                    )
                    fresh += 1
            figures.samples += fresh
            if not fresh:
                return Network(weights, self.pool, self.level)

    def _cases(self, edge: Edge) -> list[list[int]]:
        """Conditions under which the edge is taken and the run may stay, one list for each value of the controls."""
        b, step, taken = self.step.builder, self.step, self.asked.taken(edge)
        values: list[list[tuple[int, int]]] = []
        for node in self.control:
            width = self.goal.circuit.width(node)
            if width <= CONTROL_BITS and prod(map(len, values)) << width <= _SPLITS:
                values.append([(node, value) for value in range(1 << width)])
        out = []
        for case in combinations(*values):
            here = [b.apply(Op.EQ, [step.before[n], b.const(v, b.width(step.before[n]))]) for n, v in case]
            if all(b.value(condition) != 0 for condition in [*taken, *here]):
                out.append([*taken, *here])
        return out

    def _ask(self, conditions: list[int], switches: list[int], budget: Budget) -> Sat | Unsat | Undecided:
        """Can the conditions be met? What the solver does not see soon is split by what switches neurons on and off."""
        budget()
        left = budget.left
        soon = _SOON if left is None else min(_SOON, left)
        answer = self.smt.check(conditions, soon if switches else left)
        if not isinstance(answer, Undecided) or not switches:
            return answer
        for side in (switches[0], self.step.builder.not_(switches[0])):
            answer = self._ask([*conditions, side], switches[1:], budget)
            if not isinstance(answer, Unsat):
                return answer
        return answer
