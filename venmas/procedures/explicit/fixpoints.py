"""CTL fixpoints on explicit states: all states that are ever reached, one by one, after slicing.

    keep := variables of p                                                             for AG p, p about one state
    repeat
        part := cone of influence of keep                                              (`cone`)
        reach the states of the part, breadth first, until one violates p              (`graph`)
        none: proved, the states are an inductive set
        run its path in the whole system; it runs: violated
        keep := keep and what the guard reads that blocked it

    other properties: label the states of an exact cone with fixpoints of one step     (`labels`, `reasons`)

The part of `AG p` has more runs than the whole, so that refining it is abstraction refinement on variables (cone of
influence and localisation reduction: Kurshan, 1994). States are exact, argmax included
(`procedures.explicit.states.vectorised`).
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace

import numpy as np

from venmas.answer import Answer, Proved, Unknown, Violated
from venmas.bounds.rounding import Bools
from venmas.budget import Budget, ask
from venmas.errors import ModelError, Reason
from venmas.logic import EX, TRUE, Always, And, Atom, Bounded, Formula, Or, Top, nnf, subformulas, variables_of
from venmas.model.evaluation.simulate import Step
from venmas.model.system.networks import networks_of
from venmas.model.system.system import System
from venmas.model.transform.cone import Cones, cones_of
from venmas.model.witness.tree import Witness
from venmas.procedure import Run
from venmas.procedures.explicit.graph.boxes import inductive_set
from venmas.procedures.explicit.graph.graph import StateGraph
from venmas.procedures.explicit.graph.labels import Labels
from venmas.procedures.explicit.graph.reasons import MAX_STATES, Shown, TooLargeError
from venmas.procedures.explicit.labelled import LabelsProof
from venmas.procedures.explicit.paths import Path, path_to, run_path
from venmas.procedures.explicit.random_runs import random_run
from venmas.procedures.explicit.states.atoms import AtomRows
from venmas.procedures.explicit.states.integers import Integers, NotExplicitError
from venmas.procedures.inductive.proof import Inductive
from venmas.question import Question

_FEW = 256
"""States that are found before random runs look for a deadlock."""

Steps = Generator[StateGraph, None, Answer]
"""Yields the graph while it grows, and returns the answer."""


@dataclass
class FixpointCounts:
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


class Fixpoints:
    """The procedure."""

    name = "fixpoints"
    help = "All states that are ever reached, where they are finitely many."
    conditions = True

    def accepts(self, question: Question, run: Run) -> str | None:
        """Properties without a bound; what they depend on is integral; and networks are real functions."""
        if isinstance(question.asked, Bounded):
            return "the property has a bound"
        if question.inductive is not None:
            return "it is to be proved by the set that was given"
        if question.about == "property" and run.settings.tune.get("predicates.starts") == "split":
            return "the verdict is to be split by abstract start, which abstraction does"
        system = question.system
        if question.semantics != "real" and networks_of(system):
            return "states are exact, and networks compute in float32"
        kept = cones_of(question.system).kept(variables_of(question.shown), exact=not _sliceable(question))
        real = [name for name in system.variables if name in kept and not system.variables[name].integral]
        if real:
            return f"it depends on variable {real[0]}, which is real, so that states are not finitely many"
        return None

    def start(self, question: Question, run: Run) -> _Session:
        """Nothing is done yet."""
        return _Session(question, cones_of(question.system))


def _sliceable(question: Question) -> bool:
    """Does the property say of every state that is reached that it satisfies a formula about it alone?"""
    return isinstance(question.asked, Always) and question.asked.start == 0


class _Session:
    """Goes on where it was when its time was over."""

    def __init__(self, question: Question, cones: Cones) -> None:
        self._steps = _search(question, cones)
        self._graph: StateGraph | None = None
        self._variables = len(question.system.variables)

    @property
    def figures(self) -> FixpointCounts:
        """Of the part that was closed last."""
        graph = self._graph
        if graph is None:
            return FixpointCounts(variables=self._variables)
        return FixpointCounts(len(graph.system.variables), self._variables, graph.count, graph.initial, graph.expanded)

    def advance(self, budget: Budget) -> Answer:
        try:
            while True:
                budget()
                self._graph = next(self._steps)
        except StopIteration as done:
            answer: Answer = done.value
            return answer
        except NotExplicitError:
            return Unknown(Reason.OPEN, "there are too many states, or numbers too large, to take them one by one")


def _search(question: Question, cones: Cones) -> Steps:
    if question.about == "deadlock":
        return deadlock(cones)
    if isinstance(question.asked, Always) and _sliceable(question):
        return always(question, cones, nnf(question.asked.invariant))
    return labelled(question, cones)


def always(question: Question, cones: Cones, invariant: Formula) -> Steps:
    """AG of a core formula about one state."""
    whole, wanted = question.system, variables_of(invariant)
    while True:
        kept = cones.kept(wanted, exact=False)
        part = cones.part(kept, exact=False)
        if real := [d.name for d in part.variables.values() if not d.integral]:
            return Unknown(Reason.OPEN, f"it depends on variable {real[0]}, which is real")
        graph = _started(part, transitions=False)
        yield graph
        bad = yield from _violation(graph, invariant)
        if bad is None and graph.left is None:
            found = inductive_set(whole, graph) if question.certified else None
            return Proved(
                "bounds",
                deadlock=graph.state(graph.deadlock) if graph.deadlock is not None and part is whole else None,
                may_deadlock=part is not whole and whole.may_deadlock,
                proof=None if found is None else Inductive(found),
            )
        path = _leaving(graph) if bad is None else path_to(graph, bad)
        more = run_path(cones, part, path, invariant)
        if isinstance(more, Witness):
            return Violated(more)
        more = more if more - kept else frozenset(whole.variables)
        if not more - kept:
            return Unknown(Reason.OPEN, "a path of states was found that no run of the system takes")
        wanted = kept | more


def _leaving(graph: StateGraph) -> Path:
    """The path that leaves the box."""
    assert graph.left is not None
    path = path_to(graph, graph.left[0])
    return replace(path, branches=(*path.branches, graph.left[1]))


def deadlock(cones: Cones) -> Steps:
    """Has every state that is ever reached a successor?"""
    graph = _started(_exact(cones, frozenset()), transitions=False)
    yield graph
    path, tried = None, False
    while graph.deadlock is None and path is None and graph.expand():
        yield graph
        if graph.count > _FEW and not tried:
            path, tried = random_run(graph), True
    if graph.deadlock is not None:
        path = path_to(graph, graph.deadlock)
    if path is None:
        return Proved("bounds")
    found = run_path(cones, graph.system, path, EX(TRUE))
    return Violated(found) if isinstance(found, Witness) else Unknown(Reason.OPEN, "no run of the system shows it")


def labelled(question: Question, cones: Cones) -> Steps:
    """Any property, by its fixpoints."""
    whole, shown = question.system, question.shown
    part = _exact(cones, variables_of(shown))
    for system in dict.fromkeys((part, whole)):
        graph = _started(system, transitions=True)
        yield graph
        while graph.expand():
            yield graph
        labels = Labels(graph, shown, ask)
        bad = np.flatnonzero(labels.truth[shown][: graph.initial])
        if not bad.size and (graph.left is None or system is whole or _open(whole)):
            return _holds(graph, question)
        if system is not whole:
            if _open(whole):
                return Unknown(Reason.OPEN, "it is violated, but its runs are shown in systems of integers only")
            continue
        ranks = labels.ranks.get(shown)
        try:
            return Violated(Shown(labels, ask).witness(shown, int(bad[0 if ranks is None else np.argmin(ranks[bad])])))
        except TooLargeError:
            return Unknown(Reason.OPEN, f"it is violated, but the witness would have more than {MAX_STATES} states")
    raise AssertionError("the whole system ends it")


def _open(system: System) -> bool:
    """Are its states not finitely many?"""
    return any(not d.integral for d in system.variables.values())


def _exact(cones: Cones, wanted: frozenset[str]) -> System:
    return cones.part(cones.kept(wanted, exact=True), exact=True)


def _started(system: System, transitions: bool) -> StateGraph:
    graph = StateGraph(system, ask, transitions)
    if not graph.initial:
        raise ModelError(f"the initial set of system {system.name!r} is empty: check the initial conditions")
    return graph


def _holds(graph: StateGraph, question: Question) -> Answer:
    system, whole = graph.system, question.system
    if graph.left is not None:
        state, branch = graph.state(graph.left[0]), graph.left[1]
        if system is whole:
            Step(whole, state).successor(branch)  # says what is left, and how
        return Unknown(Reason.OPEN, f"branch {system.branches[branch].name!r} leaves the declared box")
    stuck = None if graph.deadlock is None else graph.state(graph.deadlock)
    proof = LabelsProof(graph) if question.certified and not _open(whole) else None
    if system is whole:
        return Proved("bounds", deadlock=stuck, proof=proof)
    return Proved("bounds", may_deadlock=stuck is not None, proof=proof)


def _violation(graph: StateGraph, invariant: Formula) -> Generator[StateGraph, None, int | None]:
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
        yield graph
        if not graph.expand():
            return None


def _truth(invariant: Formula, atoms: list[Atom], rows: AtomRows, states: Integers) -> Bools:
    known: dict[Formula, Bools] = dict(zip(atoms, rows.truth(states), strict=True))
    for node in subformulas(invariant):
        if isinstance(node, And | Or):
            join = np.logical_and if isinstance(node, And) else np.logical_or
            known[node] = np.asarray(join.reduce([known[child] for child in node.children]))
        elif not isinstance(node, Atom):
            known[node] = np.full(len(states), isinstance(node, Top))
    return known[invariant]


FIXPOINTS = Fixpoints()
