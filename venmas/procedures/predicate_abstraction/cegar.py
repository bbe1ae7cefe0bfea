"""Counterexample-guided refinement of policy predicate abstraction (Vinzent, Sharma, Hoffmann, AAAI 2023, section 5).

    predicates := atoms of guards (no range guards) and of the unsafe condition; or none
    repeat
        search the abstract graph for an unsafe state                             (`explore`)
        none: safe, the abstract states are an inductive set                      (`invariant`)
        path real: unsafe                                                         (`concretise`)
        add what the path lacks, with weakest preconditions along it              (`refine`)

Each refinement separates two concrete states that were one abstract state, so that it ends over integers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from time import monotonic

import numpy as np

from venmas.bounds.rounding import Ints
from venmas.logic import Formula
from venmas.model.invariant import Invariant
from venmas.procedures.predicate_abstraction.graph.box_exits import with_exits
from venmas.procedures.predicate_abstraction.graph.explore import AbstractSearch, Explored
from venmas.procedures.predicate_abstraction.graph.falsify import random_path
from venmas.procedures.predicate_abstraction.graph.graph import Unsafe, screened
from venmas.procedures.predicate_abstraction.graph.strengthen import constant_sums, literals, strengthened
from venmas.procedures.predicate_abstraction.graph.successors import Steps
from venmas.procedures.predicate_abstraction.refinement.concretise import Concretiser
from venmas.procedures.predicate_abstraction.refinement.figures import Iteration
from venmas.procedures.predicate_abstraction.refinement.refine import Refinement, Refiner
from venmas.procedures.predicate_abstraction.settings import Choices
from venmas.procedures.predicate_abstraction.states.box_condition import BoxCondition
from venmas.procedures.predicate_abstraction.states.cells import Cells
from venmas.procedures.predicate_abstraction.states.conditions import states_of
from venmas.procedures.predicate_abstraction.states.cover import cover
from venmas.procedures.predicate_abstraction.states.invariant import invariant_of, narrowed
from venmas.procedures.predicate_abstraction.states.memory import Memory
from venmas.procedures.predicate_abstraction.states.predicates import Predicate, at_least, of_formula, open_over
from venmas.procedures.predicate_abstraction.states.queries import QueryEngine
from venmas.procedures.predicate_abstraction.states.task import Operator, Task

_SHARE, _FIRST, _LONGEST, MAX_UNSAFE = 0.03, 4, 1000, 1000
"""Part of the time for random runs, the lengths of the first and of the last, and cases of the unsafe condition."""


@dataclass(frozen=True, eq=False)
class ConcretePath:
    """A path of states (L + 1, n) to an unsafe one, by operators."""

    points: Ints
    operators: tuple[int, ...]


@dataclass(eq=False)
class Cegar:
    """The loop, one iteration at a time. `unsafe` is to be reached from a state of the task's starts."""

    given: Task
    condition: Formula
    choices: Choices
    listed: Sequence[Predicate] = ()
    history: list[Iteration] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.choices.seed)
        self.sums = constant_sums(self.given) if self.choices.strengthen == "on" else []
        self.task, unsafe = with_exits(strengthened(self.given, self.sums), self.condition)
        task = self.task
        self.engine = QueryEngine(task.policy, self.rng)
        self.memory = Memory(self.engine, self.choices.reuse == "on")
        self.starts = BoxCondition(task.starts, task.columns, task.low, task.high)
        self.bad = BoxCondition(unsafe, task.columns, task.low, task.high)
        self.cases = cover(unsafe, task.columns, task.low, task.high, MAX_UNSAFE)
        concretiser = Concretiser(task, self.starts, self.cases, self._drawing)
        self.refiner = Refiner(task, self.engine, concretiser, self.choices, self.rng)
        parts = self.choices.first.split("+")
        chosen = of_formula(unsafe, task.columns) if parts != ["none"] else []
        if "guards" in parts:
            chosen += guard_atoms(self.given)  # those of exits are found where they matter
        if "listed" in parts:
            chosen += self.listed
        self.predicates = open_over(chosen, task.low.tolist(), task.high.tolist())
        exact = (Predicate(((v, 1),), c) for v in task.exact.tolist() for c in range(task.low[v] + 1, task.high[v] + 1))
        self.implied = list(exact)
        self.by_policy = 0
        self.explored: Explored | None = None
        self.cells: Cells | None = None
        self._begun, self._running, self._length = monotonic(), 0.0, _FIRST

    def iterate(self) -> Explored | ConcretePath | Refinement:
        """One iteration: the closed graph, a real path, or what was added. Raises `BudgetError` as `ask` does."""
        task = self.task
        cells = Cells(task.low, task.high, self.predicates, task.exact.tolist())
        steps = Steps(task, cells)
        starts, points = states_of(self.starts, cells, task.points)
        found = self._runs(steps, points)
        if found is not None:
            return ConcretePath(*found)
        search = AbstractSearch(
            steps, cells, starts, Unsafe(self.bad, cells), self.memory, self._entailed(cells),
            self.choices.search == "breadth", *screened(self.memory, self.choices.tests),
            self.rng if self.choices.seed else None,
        )  # fmt: skip
        self.cells, self.explored = cells, search.run()
        path = self.explored.path
        if path is None:
            return self.explored
        refined = self.refiner.refine(path, cells, [*self.predicates, *self.implied])
        if not isinstance(refined, Refinement):
            return ConcretePath(refined, path.operators)
        if not refined.predicates:
            raise AssertionError("a spurious path was found, and nothing that tells it from real ones")
        self.predicates += refined.predicates
        self.by_policy += len(refined.predicates) if refined.kind == "policy" else 0
        length, states = len(path.operators), len(self.explored.states)
        known = len(self.predicates) - len(refined.predicates)
        self.history.append(Iteration(known, states, length, refined.kind, refined.predicates))
        return refined

    def start_from(self, starts: Formula, points: Ints | None) -> None:
        """Go on from other initial states, those of the formula; points: all of them, where they are listed."""
        task = self.task = replace(self.task, starts=starts, points=points)
        self.starts = BoxCondition(starts, task.columns, task.low, task.high)
        concretiser = Concretiser(task, self.starts, self.cases, self._drawing)
        self.refiner = Refiner(task, self.engine, concretiser, self.choices, self.rng)

    def invariant(self, explored: Explored) -> Invariant:
        """The abstract states of a closed graph as an inductive set of the given task."""
        assert self.cells is not None
        found = invariant_of(self.cells, explored.states, literals(self.sums))
        return narrowed(found, len(self.given.names)) if len(self.task.names) > len(self.given.names) else found

    @property
    def _drawing(self) -> np.random.Generator | None:
        return self.rng if self.choices.concretise == "random" else None

    def _runs(self, steps: Steps, starts: Ints) -> tuple[Ints, tuple[int, ...]] | None:
        """Random runs, for a part of the time."""
        while self._running <= _SHARE * (monotonic() - self._begun):
            begun = monotonic()
            found = random_path(steps, starts, self.bad, self._length, self.rng)
            self._length = min(_LONGEST, 2 * self._length)
            self._running += monotonic() - begun
            if found is not None:
                return found
        return None

    def _entailed(self, cells: Cells) -> np.ndarray[tuple[int, ...], np.dtype[np.int8]]:
        """(P,): 1 or 0 where all cases of the unsafe condition have this truth of a predicate, else -1."""
        found = np.full(len(cells.predicates), -1, np.int8)
        for i, p in enumerate(cells.predicates):
            truths = set()
            for case in self.cases:
                least = sum(c * int(case.low[v] if c > 0 else case.high[v]) for v, c in p.terms)
                most = sum(c * int(case.high[v] if c > 0 else case.low[v]) for v, c in p.terms)
                truths.add(1 if least >= p.bound else 0 if most < p.bound else dict(case.atoms).get(p, -1))
            if len(truths) == 1:
                found[i] = int(truths.pop())
        return found


def guard_atoms(task: Task) -> list[Predicate]:
    """The atoms of guards that are no range guards, each once.

    A range guard is one that an update's range implies, of some operator with the same label and guard, such as
    ``cost <= 9`` where ``cost`` grows by 1 up to 10.
    """
    implied: dict[tuple[int, tuple[tuple[Predicate, bool], ...]], set[tuple[Predicate, bool]]] = {}
    for o in task.operators:
        implied.setdefault((o.label, o.atoms), set()).update(_range_atoms(o, task))
    atoms = (atom for (_, given), known in implied.items() for atom in given if atom not in known)
    return list(dict.fromkeys(p for p, _ in atoms))


def _range_atoms(operator: Operator, task: Task) -> Iterator[tuple[Predicate, bool]]:
    """What says of an updated variable that its new value is within the declared range."""
    for v in range(len(task.low)):
        terms, constant = operator.pull({v: 1}, 0)
        if terms == {v: 1} and not constant:
            continue
        for bound, truth in ((int(task.low[v]), True), (int(task.high[v]) + 1, False)):
            p = at_least(terms, bound - constant)
            if p is not None:
                first = next(c for _, c in sorted(terms.items()) if c)
                yield p, truth == (first > 0)
