"""The abstract graph of some predicates: all abstract states that the policy reaches, and how, exactly (P5).

starts := abstract states that hold an initial state
breadth first: for each successor a query (`successors`, `queries`); a transition has a concrete witness
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from venmas.bounds.rounding import Bools, Ints
from venmas.errors import UsageError
from venmas.logic import Formula, disjunction, parse
from venmas.model.invariant import Invariant
from venmas.model.system.given import check_system
from venmas.model.system.system import System
from venmas.procedures.predicate_abstraction.graph.applicability import TESTS
from venmas.procedures.predicate_abstraction.graph.successors import Screen, Steps
from venmas.procedures.predicate_abstraction.states.box_condition import BoxCondition
from venmas.procedures.predicate_abstraction.states.cells import Cells, States, keys
from venmas.procedures.predicate_abstraction.states.conditions import first_point, states_of
from venmas.procedures.predicate_abstraction.states.invariant import invariant_of
from venmas.procedures.predicate_abstraction.states.memory import Memory
from venmas.procedures.predicate_abstraction.states.predicates import Predicate, of_formula
from venmas.procedures.predicate_abstraction.states.queries import QueryEngine
from venmas.procedures.predicate_abstraction.states.relaxed import RelaxedEngine
from venmas.procedures.predicate_abstraction.states.task import Task, task_of

_LEVEL = 4096


@dataclass(eq=False)
class AbstractGraph:
    """Reachable abstract states S and the transitions T between them, each with a state in which it is taken.

    states: (S, n + m), rows of `cells`; the first `starts` are initial. start_points: a concrete initial state of each
    of these. unsafe: (S,). source, target, operator: (T,); witness: (T, n). A pair may have several operators.
    leaving: names of variables that some state may leave the range of.
    """

    task: Task
    cells: Cells
    states: States
    starts: int
    start_points: Ints
    unsafe: Bools
    source: Ints
    target: Ints
    operator: Ints
    witness: Ints
    leaving: frozenset[str]
    queries: dict[str, float] = field(default_factory=dict)

    @cached_property
    def pairs(self) -> Ints:
        """Distinct pairs of source and target, (P, 2)."""
        if not len(self.source):
            return np.zeros((0, 2), np.int64)
        return np.unique(np.stack([self.source, self.target], 1), axis=0)

    @cached_property
    def endangered(self) -> Bools:
        """(S,): states from which an unsafe one is reached, themselves included."""
        found = self.unsafe.copy()
        while True:
            more = found.copy()
            more[self.pairs[found[self.pairs[:, 1]], 0]] = True
            if (more == found).all():
                return found
            found = more

    @property
    def safe_starts(self) -> int:
        """Abstract starts from which no unsafe abstract state is reached."""
        return int((~self.endangered[: self.starts]).sum())

    def safe_part(self) -> Invariant:
        """The states from which no unsafe one is reached: an inductive set, of which the safe starts are a part."""
        return invariant_of(self.cells, self.states[~self.endangered])

    def to_json(self) -> dict[str, Any]:
        """Counts."""
        return {
            "predicates": len(self.cells.predicates),
            "starts": self.starts,
            "states": len(self.states),
            "transitions": len(self.pairs),
            "unsafe": int(self.unsafe.sum()),
            "safe_starts": self.safe_starts,
            "endangered": int(self.endangered.sum()),
            "leaving": sorted(self.leaving),
            "queries": self.queries,
        }

    def text(self, state: int) -> str:
        """A state for people."""
        return self.cells.text(self.states[state], self.task.names)


def abstract(
    system: System,
    predicates: Iterable[str | Formula | Predicate],
    unsafe: str | Formula | None = None,
    seed: int = 0,
    relaxed: bool = False,
    tests: str = "none",
) -> AbstractGraph:
    """The abstract graph of a system for given predicates: comparisons, as texts or formulas, or names of propositions.

    unsafe: a condition; abstract states that hold a state which meets it are unsafe, and nothing follows them. relaxed:
    with steps that only points between integers take, whose `witness` is none (`relaxed`). tests: what is asked before
    the transitions of a label, as of option ``tests`` of refinement; the graph is the same. Raises `UsageError` for
    systems of another form and tests that there are not, `FormulaError` for texts that are no conditions.
    """
    check_system(system, "abstract")
    if tests not in TESTS:
        raise UsageError(f"tests: expected {', '.join(TESTS)}, got {tests!r}")
    task = task_of(system)
    chosen: list[Predicate] = []
    for p in predicates:
        chosen += [p] if isinstance(p, Predicate) else of_formula(condition(system, p), task.columns)
    bad = disjunction([]) if unsafe is None else condition(system, unsafe)
    if relaxed and task.policy is not None and task.policy.among is not None:
        raise UsageError("the relaxation is of policies that choose among all labels: leave relaxed or masking out")
    engine = (RelaxedEngine if relaxed else QueryEngine)(task.policy, np.random.default_rng(seed))
    return graph_of(task, chosen, bad, Memory(engine), tests)


def condition(system: System, given: str | Formula) -> Formula:
    """A condition about one state, as text or the name of a proposition. Raises `FormulaError`, `UsageError`."""
    formula = given if isinstance(given, Formula) else parse(given, system.vocabulary)
    if formula.horizon != 0:
        raise UsageError(f"a predicate speaks of one state, and {formula} of steps; write comparisons of variables")
    return formula


def graph_of(
    task: Task, predicates: Iterable[Predicate], unsafe: Formula, memory: Memory, tests: str = "none"
) -> AbstractGraph:
    """The abstract graph; see `abstract`."""
    screen, tests = screened(memory, tests)
    cells = Cells(task.low, task.high, predicates, task.exact.tolist())
    steps = Steps(task, cells)
    bad = Unsafe(BoxCondition(unsafe, task.columns, task.low, task.high), cells)
    states, start_points = states_of(BoxCondition(task.starts, task.columns, task.low, task.high), cells, task.points)
    number = {key: i for i, key in enumerate(keys(states))}
    all_states, all_unsafe = [states], [bad.holds(states)]
    leaving = np.zeros(len(task.low), bool)
    parts: list[tuple[Ints, Ints, Ints, Ints]] = []
    done, level = 0, states[~all_unsafe[0]]
    places = np.flatnonzero(~all_unsafe[0])
    while len(level):
        new: list[States] = []
        for moves in steps.moves(level, screen, tests):
            found, points = memory.ask(moves.queries)
            at = np.flatnonzero(found)
            leaving |= moves.leaving.any(0)
            target = np.empty(len(at), np.int64)
            for i, key in enumerate(keys(moves.target[at])):
                to = number.get(key)
                if to is None:
                    to = number[key] = len(number)
                    new.append(moves.target[at[i]][None])
                target[i] = to
            parts.append((places[moves.source[at]], target, moves.operator[at], points[at]))
        done += len(level)
        level = np.concatenate(new) if new else states[:0]
        meets = bad.holds(level)
        places = np.arange(len(number) - len(level), len(number))[~meets]
        all_states.append(level)
        all_unsafe.append(meets)
        level = level[~meets]
    n = len(task.low)
    empty = (np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros((0, n), np.int64))
    source, target, operator, witness = (np.concatenate(x) for x in zip(*[empty, *parts], strict=True))
    out = frozenset(name for name, leaves in zip(task.names, leaving.tolist(), strict=True) if leaves)
    counts = memory.to_json()
    return AbstractGraph(
        task, cells, np.concatenate(all_states), len(states), start_points, np.concatenate(all_unsafe),
        source, target, operator, witness, out, counts,
    )  # fmt: skip


def screened(memory: Memory, tests: str) -> tuple[Screen, str]:
    """What answers the tests of a value of option ``tests``, and which they are."""
    relaxed = tests.removeprefix("relaxed-")
    return (memory.engine.possible, relaxed) if relaxed != tests else (lambda queries: memory.ask(queries)[0], tests)


class Unsafe:
    """Which abstract states hold a state that meets a condition."""

    def __init__(self, condition: BoxCondition, cells: Cells) -> None:
        self._condition, self._cells = condition, cells

    def holds(self, states: States) -> Bools:
        """(S, n + m) -> (S,)."""
        found = np.zeros(len(states), bool)
        for start in range(0, len(states), _LEVEL):
            part = states[start : start + _LEVEL]
            low, high = self._cells.box(part)
            truth = self._condition.over(low, high).truth
            rows, constants = self._cells.literals(part)
            found[start : start + len(part)] = truth == 1
            for i in np.flatnonzero((truth == 0) | ((truth == 1) & (rows.shape[1] > 0))).tolist():
                point = first_point(self._condition, low[i], high[i], rows[i], constants[i])
                found[start + i] = point is not None
        return found
