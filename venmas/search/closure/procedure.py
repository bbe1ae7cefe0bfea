"""Explicit closure: all states that are ever reached, one by one, after slicing.

    keep := variables of p                                                             for AG p, p about one state
    repeat
        part := cone of influence of keep                                              (`cone`)
        reach the states of the part, breadth first, until one violates p              (`graph`)
        none: refuted, the states are an inductive set
        run its path in the whole system; it runs: witnessed
        keep := keep and what the guard reads that blocked it

    other properties: label the states of an exact cone with fixpoints of one step     (`labels`, `reasons`)

The part of `AG p` has more runs than the whole, so that refining it is abstraction refinement on variables (cone of
influence and localisation reduction: Kurshan, 1994). States are exact, argmax included (`search.explicit.vectorised`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from venmas.answer import Answer, Open, Refuted, Witnessed
from venmas.budget import Budget
from venmas.errors import ModelError, Reason
from venmas.linear import Comparison, LinearExpr, Relation
from venmas.logic import (
    Always,
    And,
    Atom,
    Bounded,
    Formula,
    Globally,
    Or,
    Quantifier,
    Top,
    nnf,
    subformulas,
    variables_of,
)
from venmas.model.canonical import networks_of
from venmas.model.regions import sample, snap
from venmas.model.simulate import Step
from venmas.model.system import System
from venmas.model.witness.build import UndecidedError, explain
from venmas.model.witness.tree import Witness
from venmas.question import Question
from venmas.search.closure.boxes import inductive_set
from venmas.search.closure.cone import Cones
from venmas.search.closure.graph import StateGraph
from venmas.search.closure.labels import Labels
from venmas.search.closure.reasons import Shown, TooLargeError
from venmas.search.explicit.atoms import AtomRows
from venmas.search.explicit.undecided import Integers
from venmas.search.explicit.vectorised import NotExplicitError
from venmas.search.procedure import Run

_STARTS = 16
"""Initial states of the whole that are tried for a path of its part."""


@dataclass
class ClosureCounts:
    """What was found of the part that was closed last: its variables, of how many; and states."""

    kept: int = 0
    variables: int = 0
    states: int = 0
    initial: int = 0
    expanded: int = 0

    def facts(self) -> list[tuple[str, str]]:
        """Names with values."""
        found = [("states", f"{self.states} found, {self.initial} of them initial, {self.expanded} stepped from")]
        if self.kept < self.variables:
            found.append(("slice", f"{self.kept} of {self.variables} variables"))
        return found


class Closure:
    """The procedure."""

    name = "closure"
    help = "All states that are ever reached, where they are finitely many."

    def accepts(self, question: Question, run: Run) -> str | None:
        """Properties without a bound; what they depend on is integral; and networks are real functions."""
        if isinstance(question.asked, Bounded):
            return "the property has a bound"
        if question.inductive is not None:
            return "it is to be proved by the set that was given"
        system = question.system
        if question.semantics != "real" and networks_of(system):
            return "states are exact, and networks compute in float32"
        kept = Cones(system).kept(variables_of(question.shown), exact=not _sliceable(question))
        real = [name for name in system.variables if name in kept and not system.variables[name].integral]
        if real:
            return f"it depends on variable {real[0]}, which is real, so that states are not finitely many"
        return None

    def eager(self, question: Question, run: Run) -> bool:
        """It opens a portfolio."""
        return True

    def start(self, question: Question, run: Run) -> _Session:
        """Nothing is done yet."""
        return _Session(question)


def _sliceable(question: Question) -> bool:
    """Does the property say of every state that is reached that it satisfies a formula about it alone?"""
    return isinstance(question.asked, Always) and question.asked.start == 0


class _Session:
    struggling = False

    def __init__(self, question: Question) -> None:
        self.question, self.figures = question, ClosureCounts(variables=len(question.system.variables))
        self.cones = Cones(question.system)

    def advance(self, budget: Budget) -> Answer:
        try:
            asked = self.question.asked
            if isinstance(asked, Always) and _sliceable(self.question):
                return self._always(nnf(asked.invariant), budget)
            return self._labelled(budget)
        except NotExplicitError:
            return Open(Reason.OPEN, "there are too many states, or numbers too large, to take them one by one")

    def _count(self, graph: StateGraph) -> None:
        counts = self.figures
        counts.kept, counts.states = len(graph.system.variables), graph.count
        counts.initial, counts.expanded = graph.initial, graph.expanded

    # -- AG p ----------------------------------------------------------------------------------------------------------

    def _always(self, invariant: Formula, budget: Budget) -> Answer:
        whole = self.question.system
        wanted = variables_of(invariant)
        while True:
            kept = self.cones.kept(wanted, exact=False)
            part = self.cones.part(kept, exact=False)
            if real := [d.name for d in part.variables.values() if not d.integral]:
                return Open(Reason.OPEN, f"it depends on variable {real[0]}, which is real")
            graph = StateGraph(part, budget, transitions=False)
            try:
                bad = _violation(graph, invariant)
            finally:
                self._count(graph)
            if not graph.initial:
                raise ModelError(f"the initial set of system {whole.name!r} is empty: check the initial conditions")
            if bad is None and graph.left is None:
                stuck = graph.deadlock is not None and part is whole
                return Refuted(
                    "bounds",
                    deadlock=graph.state(graph.deadlock) if stuck and graph.deadlock is not None else None,
                    may_deadlock=part is not whole and whole.may_deadlock,
                    proof=inductive_set(whole, graph, budget) if self.question.certified else None,
                )
            more = self._run(graph, bad, invariant, budget)
            if isinstance(more, Witness):
                return Witnessed(more)
            if not more - kept:
                more = frozenset(whole.variables)
            if not more - kept:
                return Open(Reason.OPEN, "a path of states was found that no run of the system takes")
            wanted = kept | more

    def _run(self, graph: StateGraph, bad: int | None, invariant: Formula, budget: Budget) -> Witness | frozenset[str]:
        """The witness of a path to a bad state, or out of the box; or the variables that matter to its failing.

        Raises `ModelError` where the whole system leaves the box.
        """
        whole, part = self.question.system, graph.system
        end, leaving = (bad, None) if bad is not None else graph.left or (0, None)
        path, first = [], end
        while (step := graph.parent(first)) is not None:
            path.append(step[1])
            first = step[0]
        names = [part.branches[b].name for b in reversed(path)]
        number = {branch.name: i for i, branch in enumerate(whole.branches)}
        steps = [number[name] for name in names]
        target = nnf(Globally(Quantifier.ALL, len(path), len(path), invariant), negate=True)
        failing: frozenset[str] = frozenset(whole.variables)
        for initial in _starts(whole, graph.state(first)):
            budget()
            state, blocked = initial, None
            for branch in steps:
                found = Step(whole, state).successor(branch)
                if found is None:
                    blocked = branch
                    break
                state = dict(found.state)
            if blocked is not None:
                failing = self.cones.left_out(blocked, part.variables)
                continue
            if leaving is not None:
                Step(whole, state).successor(number[part.branches[leaving].name])  # says what is left, and how
                failing = self.cones.left_out(number[part.branches[leaving].name], part.variables)
                continue
            try:
                witness = explain(whole, target, initial, names, budget=len(path) + 1, tick=budget)
            except UndecidedError:
                witness = None
            if witness is not None:
                return witness
        return failing

    # -- other properties ----------------------------------------------------------------------------------------------

    def _labelled(self, budget: Budget) -> Answer:
        """Any property, by its fixpoints."""
        whole, shown = self.question.system, self.question.shown
        part = self.cones.part(self.cones.kept(variables_of(shown), exact=True), exact=True)
        for system in (part, whole) if part is not whole else (whole,):
            graph = StateGraph(system, budget, transitions=True)
            while graph.expand():
                pass
            self._count(graph)
            if not graph.initial:
                raise ModelError(f"the initial set of system {whole.name!r} is empty: check the initial conditions")
            labels = Labels(graph, shown, budget)
            bad = np.flatnonzero(labels.truth[shown][: graph.initial])
            if not bad.size:
                return self._holds(graph)
            if system is not whole and any(not d.integral for d in whole.variables.values()):
                return Open(Reason.OPEN, "it is violated, but its runs are shown in systems of integers only")
            if system is whole:
                ranks = labels.ranks.get(shown)
                first = int(bad[0] if ranks is None else bad[np.argmin(ranks[bad])])
                try:
                    return Witnessed(Shown(labels, budget).witness(shown, first))
                except TooLargeError:
                    return Open(Reason.OPEN, "it is violated, but the witness would have more than 20,000 states")
        raise AssertionError("the whole system ends it")

    def _holds(self, graph: StateGraph) -> Answer:
        whole, system = self.question.system, graph.system
        if graph.left is not None:
            state, branch = graph.state(graph.left[0]), graph.left[1]
            if system is whole:
                Step(whole, state).successor(branch)  # says what is left, and how
            return Open(Reason.OPEN, f"branch {system.branches[branch].name!r} leaves the declared box")
        deadlock = None if graph.deadlock is None else graph.state(graph.deadlock)
        if system is whole:
            return Refuted("bounds", deadlock=deadlock)
        return Refuted("bounds", may_deadlock=deadlock is not None)


def _violation(graph: StateGraph, invariant: Formula) -> int | None:
    """The first state that violates a formula about one state, found while the graph is closed; None: there is none."""
    atoms = [node for node in subformulas(invariant) if isinstance(node, Atom)]
    rows = AtomRows(atoms, list(graph.system.variables), graph.columns.ranges)
    looked = 0
    while True:
        while looked < graph.count:
            end = min(graph.count, looked + graph.columns.rows)
            truth = _truth(invariant, atoms, rows, graph.states(looked, end))
            if not truth.all():
                return looked + int(np.argmin(truth))
            looked = end
        if not graph.expand():
            return None


def _truth(
    invariant: Formula, atoms: list[Atom], rows: AtomRows, states: Integers
) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    known: dict[Formula, np.ndarray[tuple[int, ...], np.dtype[np.bool_]]] = {}
    known |= zip(atoms, rows.truth(states), strict=True)
    for node in subformulas(invariant):
        if isinstance(node, And | Or):
            join = np.logical_and if isinstance(node, And) else np.logical_or
            known[node] = join.reduce([known[child] for child in node.children])
        elif not isinstance(node, Atom):
            known[node] = np.full(len(states), isinstance(node, Top))
    return known[invariant]


def _starts(whole: System, state: dict[str, Fraction]) -> list[dict[str, Fraction]]:
    """Initial states of the whole system that agree with a state of a part: low ones, high ones, random ones."""
    fixed = tuple(Comparison(LinearExpr.variable(n) - LinearExpr((), v), Relation.EQ) for n, v in state.items())
    found: list[dict[str, Fraction]] = []
    for region in whole.regions:
        rows = (*region, *fixed)
        for ends in (0, 1):
            near = {name: float(ends_[ends]) for name, ends_ in whole.box.items()}
            point = snap(whole, rows, near)
            found += [point] if point is not None and point not in found else []
        if len(state) < len(whole.variables):
            found += sample(whole, rows, np.random.default_rng(0), _STARTS)
    return found


CLOSURE = Closure()
