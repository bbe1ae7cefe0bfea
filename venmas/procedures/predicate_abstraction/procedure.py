"""The procedure: ``AG p`` by predicate abstraction of the slice that p depends on.

slice := the cone of influence of p                                       (`venmas.model.transform.cone`)
refine until the abstract graph is safe, or a path is real                (`cegar`)
safe: its states are an inductive set, which the answer carries
real: run the path in the whole system; it runs: violated; else the slice grows to the whole
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import nullcontext
from fractions import Fraction
from functools import partial
from time import monotonic
from typing import Any

import numpy as np

from venmas.answer import Answer, Proved, Unknown, Violated
from venmas.budget import Budget, BudgetError, Progress, limited
from venmas.errors import ModelError, Reason
from venmas.logic import Always, Formula, Globally, Quantifier, nnf, variables_of
from venmas.model.evaluation.simulate import Step
from venmas.model.system.networks import networks_of
from venmas.model.system.system import System
from venmas.model.transform.cone import cones_of
from venmas.model.witness.build import UndecidedError, explain
from venmas.model.witness.tree import Witness
from venmas.procedure import Run
from venmas.procedures.inductive.proof import Inductive
from venmas.procedures.predicate_abstraction.cegar import Cegar, ConcretePath
from venmas.procedures.predicate_abstraction.graph.explore import Explored
from venmas.procedures.predicate_abstraction.graph.graph import condition
from venmas.procedures.predicate_abstraction.refinement.drawing import MOST, tree_of
from venmas.procedures.predicate_abstraction.refinement.figures import Refined
from venmas.procedures.predicate_abstraction.safe_starts import SafeStarts
from venmas.procedures.predicate_abstraction.settings import OPTIONS, Choices
from venmas.procedures.predicate_abstraction.states.box_condition import BoxCondition
from venmas.procedures.predicate_abstraction.states.conditions import first_point
from venmas.procedures.predicate_abstraction.states.cover import TooManyError
from venmas.procedures.predicate_abstraction.states.invariant import widened
from venmas.procedures.predicate_abstraction.states.predicates import Predicate, of_formula
from venmas.procedures.predicate_abstraction.states.task import Task, UnsuitableError, read_policy, reading
from venmas.question import Question

_READ = 0.3
"""Seconds of reading branches between two turns of others."""
_SPLITTING = 0.8
"""Part of the time that is left for the other starts where one is known to be unsafe: its path is to be replayed."""


class PredicateAbstraction:
    """The procedure."""

    name = "predicate-abstraction"
    conditions = True
    options = OPTIONS
    help = "Predicate abstraction of the policy, refined by counterexamples, for AG p over integers."

    def accepts(self, question: Question, run: Run) -> str | None:
        """AG p about one state; what it depends on is integral, and its branches are operators (`task`)."""
        asked = question.asked
        if not isinstance(asked, Always):
            return "it is for AG p, with p about one state"
        if asked.start:
            return "it is for AG p from the present state on"
        if question.inductive is not None:
            return "it is to be proved by the set that was given"
        if question.semantics != "real" and networks_of(question.system):
            return "choices of the policy are exact, and networks compute in float32"
        try:
            read_policy(_part(question, run))
        except UnsuitableError as error:
            return str(error)
        return None

    def start(self, question: Question, run: Run) -> Session:
        """Nothing is done yet."""
        return Session(question, run)


def _choices(run: Run) -> Choices:
    return Choices.of(run.settings)


def _part(question: Question, run: Run) -> System:
    """The slice that the property depends on."""
    assert isinstance(question.asked, Always)
    if _choices(run).slice == "off":
        return question.system
    cones = cones_of(question.system)
    kept = cones.kept(variables_of(question.asked.invariant), exact=False)
    return run.once(("slice", question.system, kept), lambda: nullcontext(cones.part(kept, exact=False)))


class Session:
    """Refinement of one question, an iteration at a time."""

    def __init__(self, question: Question, run: Run) -> None:
        assert isinstance(question.asked, Always)
        self.question, self.run, self.choices = question, run, _choices(run)
        self.invariant = nnf(question.asked.invariant)
        self.figures = Refined()
        self._reading: Generator[None, None, Task] | None = None
        self._cegar: Cegar | None = None
        self._split: SafeStarts | None = None
        self._whole, self._refuted = self.choices.slice == "off", False
        """Is the whole system taken, and is that because a path of the slice is none of it?"""

    @property
    def struggling(self) -> bool:
        """More predicates than most proofs need."""
        return self.figures.iterations > 60

    def advance(self, budget: Budget) -> Answer | None:
        """Some reading or one iteration; where a verdict is to be split and one part is known, all of them."""
        with limited(budget):
            answer = self._advance(budget)
        if answer is not None or self._first is None:
            return answer
        part = budget.within(None if budget.left is None else _SPLITTING * budget.left)
        try:
            with limited(part):
                while answer is None:
                    answer = self._advance(part)
            return answer
        except BudgetError as error:
            if error.reason is not Reason.TIME:
                raise
            return Violated(self._first)

    @property
    def _first(self) -> Witness | None:
        """Where a verdict is to be split, the first violation."""
        return None if self._split is None else self._split.first

    def _advance(self, budget: Budget) -> Answer | None:
        if self._cegar is None:
            try:
                task = self._read(budget)
                if task is None:
                    return None
                self._cegar = self._begin(task)
            except TooManyError:
                return Unknown(Reason.OPEN, "the unsafe condition is a union of too many boxes")
            except UnsuitableError as error:
                if not self._refuted:
                    return Unknown(Reason.OPEN, str(error))
                return Unknown(Reason.OPEN, f"a path of its slice is none of the whole system: {error}")
        budget.root.describe = self._progress
        return self._iteration(self._cegar, budget)

    def _iteration(self, cegar: Cegar, budget: Budget) -> Answer | None:
        try:
            found = cegar.iterate()
        finally:
            self._count(cegar)
        budget()
        match found:
            case Explored():
                if self._split is not None:
                    self._split.counts.closed = True
                return Violated(self._first) if self._first is not None else self._safe(cegar, found)
            case ConcretePath():
                return self._unsafe(cegar, found, budget)
        return None

    def _read(self, budget: Budget) -> Task | None:
        """The operators of the system or its slice; None where they are still read. Raises `UnsuitableError`."""
        system = self.question.system if self._whole else _part(self.question, self.run)
        known: Task | None = self.run.made(("task", system))
        if known is not None:
            return known
        steps = self._reading or reading(system)
        self._reading = None  # what a limit ends is begun again
        begun = monotonic()
        try:
            while True:
                budget()
                next(steps)
                if monotonic() - begun > _READ:
                    break
        except StopIteration as end:
            task: Task = end.value
            return self.run.once(("task", system), lambda: nullcontext(task))
        self._reading = steps
        return None

    def _begin(self, task: Task) -> Cegar:
        whole = self.question.system
        self._whole = task.system is whole
        if first_point(_starts(task), task.low, task.high, *_no_rows(task)) is None:
            raise ModelError(f"the initial set of system {whole.name!r} is empty: check the initial conditions")
        self.figures.variables = len(task.names), len(whole.variables)
        cegar = Cegar(task, nnf(self.invariant, negate=True), self.choices, self._listed(task))
        self._split = SafeStarts(cegar) if self.choices.starts == "split" else None
        self.figures.split = None if self._split is None else self._split.counts
        return cegar

    def _listed(self, task: Task) -> list[Predicate]:
        """The predicates that the caller gives, as far as the slice has their variables."""
        found: list[Predicate] = []
        for given in self.choices.listed:
            formula = condition(self.question.system, given)
            if variables_of(formula) <= set(task.names):
                found += of_formula(formula, task.columns)
        return found

    def _count(self, cegar: Cegar) -> None:
        counts, explored = self.figures, cegar.explored
        counts.names = cegar.task.names
        counts.predicates, counts.by_policy = len(cegar.predicates), cegar.by_policy
        counts.history = cegar.history
        counts.iterations = len(cegar.history) + 1
        counts.queries = cegar.memory.to_json()
        if explored is not None:
            counts.starts, counts.states = explored.starts, len(explored.states)
            counts.transitions, counts.expanded = explored.transitions, explored.expanded
            if cegar.cells is not None and counts.states <= MOST:
                counts.drawn = partial(tree_of, cegar.task, cegar.cells, explored)
            else:
                counts.drawn = None

    def _progress(self, seconds: float) -> Progress:
        counts, cegar = self.figures, self._cegar
        asked = cegar.engine.counts.queries if cegar is not None else 0
        return Progress(counts.states, counts.predicates, asked, 0, counts.iterations, seconds)

    def _safe(self, cegar: Cegar, explored: Explored) -> Answer:
        whole, part = self.question.system, cegar.given
        found = cegar.invariant(explored)
        places = {name: i for i, name in enumerate(whole.variables)}
        columns = np.array([places[name] for name in part.names], dtype=np.int64)
        found = widened(found, columns, len(places))
        self.figures.words = len(found.words)
        return Proved("bounds", may_deadlock=whole.may_deadlock, inside=self.question.inside, proof=Inductive(found))

    def _unsafe(self, cegar: Cegar, path: ConcretePath, budget: Budget) -> Answer | None:
        whole, part = self.question.system, cegar.given
        names = [cegar.task.operators[o].name for o in path.operators]
        start = part.state(path.points[0])
        initial = start if len(start) == len(whole.variables) else _extended(whole, start)
        if initial is not None:
            shown = _shown(whole, self.invariant, initial, names, budget)
            if shown is not None and self._split is not None:
                more = self._split.leave_out(cegar, path.points[0], shown)
                return None if more else Violated(self._split.first or shown)
            if shown is not None:
                return Violated(shown)
        if self._whole:
            return Unknown(Reason.OPEN, "a path of states was found that no run of the system takes")
        self._whole = self._refuted = True
        self._cegar = self._split = None  # a guard that was left out blocks it
        return None


def _starts(task: Task) -> BoxCondition:
    return BoxCondition(task.starts, task.columns, task.low, task.high)


def _no_rows(task: Task) -> tuple[np.ndarray[Any, np.dtype[np.int64]], np.ndarray[Any, np.dtype[np.int64]]]:
    return np.zeros((0, len(task.low)), np.int64), np.zeros(0, np.int64)


def _extended(whole: System, start: dict[str, Fraction]) -> dict[str, Fraction] | None:
    """An initial state of the whole system that agrees with one of its slice; None where others are real."""
    names = tuple(whole.variables)
    if any(not d.integral for d in whole.variables.values()):
        return None
    low = np.array([int(start.get(n, -(-whole.variables[n].lower // 1))) for n in names], dtype=np.int64)
    high = np.array([int(start.get(n, whole.variables[n].upper // 1)) for n in names], dtype=np.int64)
    columns = {name: i for i, name in enumerate(names)}
    found = first_point(
        BoxCondition(whole.initial_set.formula, columns, low, high), low, high, np.zeros((0, len(names)), np.int64),
        np.zeros(0, np.int64),
    )  # fmt: skip
    return None if found is None else {n: Fraction(v) for n, v in zip(names, found.tolist(), strict=True)}


def _shown(
    whole: System, invariant: Formula, initial: dict[str, Fraction], names: Sequence[str], budget: Budget
) -> Witness | None:
    """The witness of a path by branches; None where the system does not run so.

    Raises `ModelError` where the path leaves the declared box.
    """
    number = {branch.name: i for i, branch in enumerate(whole.branches)}
    state = initial
    for name in names:
        found = Step(whole, state).successor(number[name])
        if found is None:
            return None
        state = dict(found.state)
    target = nnf(Globally(Quantifier.ALL, len(names), len(names), invariant), negate=True)
    try:
        return explain(whole, target, initial, list(names), budget=len(names) + 1, tick=budget)
    except UndecidedError:
        return None


PREDICATE_ABSTRACTION = PredicateAbstraction()
