"""Learner: neurons mined from the netlist, their weights a linear program over counterexamples.

    for each level:   weights: cheapest that meet all samples           (`linear`)
                      each edge, each value of the control registers:   (`circuit.smt`)
                          is there a step of the edge on which the rank does not fall as it must?
                      none: done.   some: they are new samples.   no weights: next level.

Giacobbe, Kroening, Pal, Tautschnig, *Neural Model Checking*, NeurIPS 2024, equation 5, for the obligation; asked of the
edges of an accepting component only, and only where a run can stay in it (one letter of look-ahead).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product as combinations

from venmas.budget import Budget
from venmas.circuit.operators import Op, words
from venmas.circuit.simulate import evaluate
from venmas.circuit.smt import Sat, Smt, Undecided, Unsat
from venmas.ltl.automaton import Edge
from venmas.ltl.ranking.linear import Weights
from venmas.ltl.ranking.mining import LEVELS, Pool, control_registers, pool, sampled_states
from venmas.ltl.ranking.step import Goal, Step, step_of

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


def rank(goal: Goal, budget: Budget, figures: Figures) -> Network | None:
    """A network that falls on every strict edge and rises on none, for all states. Raises `BudgetError`."""
    step = step_of(goal.circuit, goal.letters)
    control = control_registers(goal.circuit)
    states = sampled_states(goal.circuit)
    smt = Smt(step.builder)
    try:
        for level in LEVELS:
            found = _Level(goal, level, pool(goal, level, control, states), step, smt, control, figures).run(budget)
            if isinstance(found, Network):
                return found
            figures.levels.append(f"level {level}: {found}")
        return None
    finally:
        figures.queries += smt.queries
        figures.smt_seconds += smt.seconds


class _Level:
    def __init__(
        self, goal: Goal, level: int, neurons: Pool, step: Step, smt: Smt, control: Sequence[int], figures: Figures
    ) -> None:
        self.goal, self.level, self.pool = goal, level, neurons
        self.step, self.smt, self.control, self.figures = step, smt, control, figures
        b = step.builder
        nodes = [neuron.node for neuron in neurons.neurons]
        self.before = b.copy(neurons.builder, {neurons.registers[n]: step.before[n] for n in neurons.registers}, nodes)
        self.after = b.copy(neurons.builder, {neurons.registers[n]: step.after[n] for n in neurons.registers}, nodes)
        self.place = {state: at for at, state in enumerate(goal.states)}
        self.program = Weights([neuron.cost for neuron in neurons.neurons] * len(self.place))

    def run(self, budget: Budget) -> Network | str:
        cases = [(edge, case) for edge in self.goal.edges for case in self._cases(edge)]
        while True:
            budget()
            flat = self.program.solve()
            if flat is None:
                return f"no weights for {self.program.rows} samples"
            self.figures.rounds += 1
            size = len(self.pool.neurons)
            weights = {q: tuple(flat[at * size : (at + 1) * size]) for q, at in self.place.items()}
            fresh = 0
            for edge, case in cases:
                budget()
                rises = self._rises(edge, weights)
                answer = self._ask([*case, rises], self._switches(weights), budget)
                if isinstance(answer, Undecided):
                    return f"the solver did not decide an edge ({answer.reason})"
                if isinstance(answer, Sat):
                    self._learn(edge, answer.values)
                    fresh += 1
            self.figures.samples += fresh
            if not fresh:
                return Network(weights, self.pool, self.level)

    def _cases(self, edge: Edge) -> list[list[int]]:
        """Conditions under which the edge is taken and the run may stay, one list for each value of the controls."""
        b, step = self.step.builder, self.step
        on = [e for e in self.goal.edges if e.source == edge.target]
        taken = [step.taken(edge), step.leaves(on), *step.assumed]
        values = [[(n, v) for v in range(1 << self.goal.circuit.width(n))] for n in self.control]
        values = [v for v in values if len(v) <= 4]
        while values and _count(values) > _SPLITS:
            values.pop()
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

    def _switches(self, weights: dict[int, tuple[int, ...]]) -> list[int]:
        """The conditions in neurons with a weight, now and a step later."""
        b, found = self.step.builder, []
        used = [at for at in range(len(self.before)) if any(row[at] for row in weights.values())]
        for node in [side[at] for at in used for side in (self.before, self.after)]:
            condition = node if b.width(node) == 1 else b.nodes[node].args[0] if b.nodes[node].op is Op.ITE else None
            if condition is not None and b.value(condition) is None and condition not in found:
                found.append(condition)
        return found

    def _rises(self, edge: Edge, weights: dict[int, tuple[int, ...]]) -> int:
        """One bit: V_q(s) - [the edge is marked] < V_q'(s')."""
        b = self.step.builder
        terms = [(w, n) for w, n in zip(weights[edge.source], self.before, strict=True) if w]
        others = [(w, n) for w, n in zip(weights[edge.target], self.after, strict=True) if w]
        marked = int(edge in self.goal.strict)
        reach = sum(abs(w) * ((1 << b.width(n)) - 1) for w, n in [*terms, *others]) + 1
        width = reach.bit_length() + 2
        left = self._sum([*terms, (-marked, b.const(1, 1))], width)
        return b.apply(Op.SLT, [left, self._sum(others, width)])

    def _sum(self, terms: Sequence[tuple[int, int]], width: int) -> int:
        b = self.step.builder
        total = b.const(0, width)
        for weight, node in terms:
            if (
                b.width(node) == 1
            ):  # a choice between constants; a product with one bit takes the solver ten times as long
                word = b.apply(Op.ITE, [node, b.const(abs(weight), width), b.const(0, width)])
            else:
                word = b.apply(Op.UEXT, [node], [width - b.width(node)])
                if abs(weight) != 1:
                    word = b.apply(Op.MUL, [word, b.const(abs(weight), width)])
            total = b.apply(Op.ADD if weight > 0 else Op.SUB, [total, word])
        return total

    def _learn(self, edge: Edge, found: dict[int, int]) -> None:
        b = self.step.builder
        known = {node: words([value], b.width(node)) for node, value in found.items()}
        for node in [*b.registers, *b.inputs]:
            known.setdefault(node, words([0], b.width(node)))
        size = len(self.pool.neurons)
        row = [0] * (size * len(self.place))
        for nodes, state, sign in ((self.before, edge.source, 1), (self.after, edge.target, -1)):
            for at, value in enumerate(evaluate(b, known, nodes)):
                row[self.place[state] * size + at] += sign * int(value[0])
        self.program.add(row, int(edge in self.goal.strict))


def _count(values: Sequence[Sequence[object]]) -> int:
    out = 1
    for each in values:
        out *= len(each)
    return out
