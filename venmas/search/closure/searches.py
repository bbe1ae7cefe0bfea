"""The two searches of explicit closure, in steps: whoever runs them looks at the time between two of them."""

from __future__ import annotations

from collections.abc import Generator

import numpy as np

from venmas.answer import Answer, Open, Refuted, Witnessed
from venmas.bounds.rounding import Bools
from venmas.budget import ask
from venmas.errors import ModelError, Reason
from venmas.logic import EX, TRUE, And, Atom, Formula, Or, Top, subformulas, variables_of
from venmas.model.simulate import Step
from venmas.model.system import System
from venmas.model.witness.tree import Witness
from venmas.question import Question
from venmas.search.closure.boxes import inductive_set
from venmas.search.closure.cone import Cones
from venmas.search.closure.graph import StateGraph
from venmas.search.closure.labels import Labels
from venmas.search.closure.paths import run_path
from venmas.search.closure.reasons import MAX_STATES, Shown, TooLargeError
from venmas.search.explicit.atoms import AtomRows
from venmas.search.explicit.undecided import Integers

Steps = Generator[StateGraph, None, Answer]
"""Yields the graph while it grows, and returns the answer."""


def always(question: Question, cones: Cones, invariant: Formula) -> Steps:
    """AG of a core formula about one state."""
    whole, wanted = question.system, variables_of(invariant)
    while True:
        kept = cones.kept(wanted, exact=False)
        part = cones.part(kept, exact=False)
        if real := [d.name for d in part.variables.values() if not d.integral]:
            return Open(Reason.OPEN, f"it depends on variable {real[0]}, which is real")
        graph = _started(part, transitions=False)
        yield graph
        bad = yield from _violation(graph, invariant)
        if bad is None and graph.left is None:
            return Refuted(
                "bounds",
                deadlock=graph.state(graph.deadlock) if graph.deadlock is not None and part is whole else None,
                may_deadlock=part is not whole and whole.may_deadlock,
                proof=inductive_set(whole, graph, ask) if question.certified else None,
            )
        end, leaving = (bad, None) if bad is not None else graph.left or (0, None)
        more = run_path(cones, graph, end, leaving, invariant)
        if isinstance(more, Witness):
            return Witnessed(more)
        more = more if more - kept else frozenset(whole.variables)
        if not more - kept:
            return Open(Reason.OPEN, "a path of states was found that no run of the system takes")
        wanted = kept | more


def deadlock(cones: Cones) -> Steps:
    """Has every state that is ever reached a successor?"""
    graph = _started(_exact(cones, frozenset()), transitions=False)
    yield graph
    while graph.deadlock is None and graph.expand():
        yield graph
    if graph.deadlock is None:
        return Refuted("bounds")
    found = run_path(cones, graph, graph.deadlock, None, EX(TRUE))
    return Witnessed(found) if isinstance(found, Witness) else Open(Reason.OPEN, "no run of the system shows it")


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
            return _holds(graph, whole)
        if system is not whole:
            if _open(whole):
                return Open(Reason.OPEN, "it is violated, but its runs are shown in systems of integers only")
            continue
        ranks = labels.ranks.get(shown)
        try:
            return Witnessed(Shown(labels, ask).witness(shown, int(bad[0 if ranks is None else np.argmin(ranks[bad])])))
        except TooLargeError:
            return Open(Reason.OPEN, f"it is violated, but the witness would have more than {MAX_STATES} states")
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


def _holds(graph: StateGraph, whole: System) -> Answer:
    system = graph.system
    if graph.left is not None:
        state, branch = graph.state(graph.left[0]), graph.left[1]
        if system is whole:
            Step(whole, state).successor(branch)  # says what is left, and how
        return Open(Reason.OPEN, f"branch {system.branches[branch].name!r} leaves the declared box")
    stuck = None if graph.deadlock is None else graph.state(graph.deadlock)
    return Refuted("bounds", deadlock=stuck) if system is whole else Refuted("bounds", may_deadlock=stuck is not None)


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
