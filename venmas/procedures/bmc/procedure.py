"""Bounded model checking of LTL: lassos of a netlist, length by length, along edges of the automaton of its violations.

    for k = 1, 2, ...:
        unroll one step more: registers, inputs, an edge of the automaton
        ask: k steps from an initial state come back to a state and automaton state that they were in,
             all acceptance sets met in between? a lasso, which is simulated, the formula evaluated on its letters
    in the second turn: a run to a state of the automaton that accepts every word

Biere, Cimatti, Clarke, Zhu, *Symbolic model checking without BDDs*, TACAS 1999, over the product. A session looks for
short lassos on its first turn, for such runs on its second, and for longer lassos on its third.

Where nothing is assumed of letters, a run to a state of the automaton that accepts every word does without a loop, as
that of a counter of 20 bits has a million steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from venmas.answer import Broken, LinearAnswer, Unknown
from venmas.budget import Budget
from venmas.errors import Reason
from venmas.logic.automata.automaton import Automaton
from venmas.logic.formula import Formula
from venmas.model.circuit.builder import Builder
from venmas.model.circuit.nodes import Circuit
from venmas.model.circuit.operators import Op, words
from venmas.model.circuit.simulate import evaluate
from venmas.model.circuit.size import MOST_GATES, gates
from venmas.model.circuit.smt import Sat, Smt, Undecided
from venmas.model.witness.circuit import Observed
from venmas.model.witness.lasso import Run as Lasso
from venmas.procedure import LinearQuestion
from venmas.procedures.linear.procedure import LinearProcedure

LENGTHS = frozenset({1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256})
"""Numbers of steps that are asked about."""
LONGEST = max(LENGTHS)
SHORT = 4
"""Steps of lassos that are looked for before anything is learned."""


class Search:
    """Longer and longer runs of the product; goes on where it was left. Raises what `bind` and `Smt` raise.

    observed: the formula on the circuit, with the atoms of the automaton.
    """

    def __init__(self, circuit: Circuit, formula: Formula, automaton: Automaton) -> None:
        self._automaton = automaton
        self.observed = observed = Observed(circuit, formula, automaton.atoms)
        self._circuit, self._letters = observed.circuit, observed.more
        self._gates = gates(self._circuit.nodes)
        self._b = b = Builder()
        self._smt = Smt(b)
        self._width = max(1, (automaton.states - 1).bit_length())
        self._state = [b.register(self._circuit.width(node)) for node in self._circuit.registers]
        self._place = b.const(0, self._width)
        self._conditions: list[int] = []
        self._steps: list[_Step] = []

    @property
    def steps(self) -> int:
        """Of the longest lassos that were looked for."""
        return len(self._steps)

    def advance(self, longest: int, budget: Budget) -> Lasso | None:
        """A replayed run of at most so many different steps that breaks the formula, None where none was found.

        Runs end where they would have more than `MOST_GATES`. Raises `BudgetError`.
        """
        while len(self._steps) < min(longest, LONGEST) and (len(self._steps) + 1) * self._gates <= MOST_GATES:
            budget()
            self._unroll()
            if len(self._steps) not in LENGTHS:
                continue
            loops = [self._closed(at) for at in range(len(self._steps))]
            answer = self._smt.check([*self._conditions, self._b.any_of(loops)], budget.left)
            if isinstance(answer, Undecided):
                return None
            if isinstance(answer, Sat):
                return self._replayed(answer.values, loops)
            if longest > SHORT and (run := self.broken(budget)) is not None:
                return run
        return None

    def broken(self, budget: Budget) -> Lasso | None:
        """A replayed run of the steps that were looked at that breaks the formula, whatever comes after them."""
        b, automaton = self._b, self._automaton
        every = [e for e in automaton.edges if (e.source, e.label.care, e.marks) == (e.target, 0, automaton.all_marks)]
        lost = [b.apply(Op.EQ, [self._place, b.const(edge.source, self._width)]) for edge in every]
        if not lost or not self._steps or not self.observed.goes_on:
            return None
        answer = self._smt.check([*self._conditions, b.any_of(lost)], budget.left)
        return self._replayed(answer.values, []) if isinstance(answer, Sat) else None

    def _unroll(self) -> None:
        """One step more: inputs, an edge of the automaton, its acceptance sets."""
        b, circuit, automaton = self._b, self._circuit, self._automaton
        inputs = [b.input(circuit.width(node)) for node in circuit.inputs]
        known = dict(zip((*circuit.registers, *circuit.inputs), (*self._state, *inputs), strict=True))
        if not self._steps:
            firsts = [(at, node) for at, node in enumerate(circuit.init) if node is not None]
            prescribed = b.copy(circuit, known, [node for _, node in firsts])
            pairs = zip(firsts, prescribed, strict=True)
            self._conditions += [b.apply(Op.EQ, [self._state[at], node]) for (at, _), node in pairs]
            self._conditions += b.copy(circuit, known, circuit.starts)
        after = b.copy(circuit, known, circuit.next)
        letters = b.copy(circuit, known, self._letters)
        following = b.input(self._width)
        taken = []
        for edge in automaton.edges:
            label = [letters[atom] if sign else b.not_(letters[atom]) for atom, sign in edge.label.literals()]
            ends = ((self._place, edge.source), (following, edge.target))
            label += [b.apply(Op.EQ, [node, b.const(state, self._width)]) for node, state in ends]
            taken.append((edge, b.all_of(label)))
        self._conditions += [b.any_of([node for _, node in taken]), *b.copy(circuit, known, circuit.constraints)]
        sets = [b.any_of([node for edge, node in taken if edge.marks >> mark & 1]) for mark in range(automaton.marks)]
        self._steps.append(_Step(self._state, self._place, inputs, sets))
        self._state, self._place = after, following

    def _closed(self, at: int) -> int:
        """One bit: what comes now is what was at step `at`, and all acceptance sets were met since."""
        b, then = self._b, self._steps[at]
        same = [b.apply(Op.EQ, [one, two]) for one, two in zip(then.state, self._state, strict=True)]
        met = [b.any_of([one.sets[mark] for one in self._steps[at:]]) for mark in range(self._automaton.marks)]
        return b.all_of([b.apply(Op.EQ, [then.place, self._place]), *same, *met])

    def _replayed(self, found: dict[int, int], loops: Sequence[int]) -> Lasso | None:
        """The run of a model, simulated from its first state and inputs; None where it does not break the formula."""
        b = self._b
        known = {n: words([found.get(n, 0)], b.width(n)) for n in [*b.registers, *b.inputs]}
        back = next((at for at, loop in enumerate(evaluate(b, known, loops)) if loop[0]), None)
        inputs = [[int(known[node][0]) for node in one.inputs] for one in self._steps]
        first = [int(known[node][0]) for node in self._steps[0].state]
        return self.observed.replay(first, inputs, back)


@dataclass(frozen=True)
class _Step:
    """Nodes of one step: registers, automaton state, inputs, and of each acceptance set whether it is met."""

    state: Sequence[int]
    place: int
    inputs: Sequence[int]
    sets: Sequence[int]


@dataclass
class LassoCounts:
    """Steps of the longest lassos that were looked for."""

    steps: int = 0

    def facts(self) -> list[tuple[str, str]]:
        """Names with values."""
        return [("lassos", f"of up to {self.steps} steps")]


class _Session:
    """Short lassos; first parts of runs that break the property whatever comes; then longer lassos."""

    def __init__(self, question: LinearQuestion) -> None:
        assert isinstance(question.subject, Circuit)
        self.search = Search(question.subject, question.formula, question.automaton)
        self.figures, self.turns = LassoCounts(), 0

    def advance(self, budget: Budget) -> LinearAnswer:
        """Violated where a lasso is found. Raises `BudgetError`, `SolverUnavailableError`."""
        self.turns += 1
        if self.turns == 2:
            run = self.search.broken(budget)
        else:
            run = self.search.advance(SHORT if self.turns == 1 else LONGEST, budget)
        self.figures.steps = self.search.steps
        if run is not None:
            return Broken(run)
        return Unknown(Reason.OPEN, f"no lasso of up to {self.search.steps} steps was found")


BMC = LinearProcedure(
    "bmc", "Bounded model checking: lassos of a netlist, length by length.", Circuit, "it unrolls netlists", _Session
)
