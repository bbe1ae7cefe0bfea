"""The mode `adaptive`: states one by one where they are finitely many, else a reach graph of regions that is refined
where something is open, with candidates tried on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from time import monotonic

import numpy as np

from venmas.checker.check import claim
from venmas.engine.certify import certify_graph, prove
from venmas.engine.deadlocks import deadlock, deadlocked, note
from venmas.engine.one_step import settle
from venmas.engine.report import Graph as Figures
from venmas.engine.report import Report, Verdict
from venmas.engine.search import StopSearchError
from venmas.logic import AX, Formula, nnf, subformulas
from venmas.milp.outcome import Reason
from venmas.model.canonical import networks_of, system_from_json, system_to_json
from venmas.model.expr import Output
from venmas.model.regions import contains
from venmas.model.system import System
from venmas.model.trace import Witness
from venmas.model.witness import UndecidedError, explain, replay
from venmas.search.explicit import explore
from venmas.search.graph import Graph
from venmas.search.proof import IncompleteError
from venmas.search.residual import UnsuitableError
from venmas.search.rollouts import rollouts
from venmas.search.space import Space, space_of
from venmas.search.trace import Candidate, candidates, slices

MAX_PASSES = 16
MAX_PIECES = 4_000_000
"""Pieces of all passes together after which another procedure is tried."""
_MAX_TRIES = 20
_SLICES = 12
_EXACT_PRODUCTS = 1_000_000
"""Products of rationals that one try may cost, which take about a second."""
_SEARCH_SHARE, _SLICE_SHARE = 0.1, 0.3
"""Parts of the time so far up to which candidates without a path, and lines of the initial set, are tried."""
_LEAST_PROOF, _MOST_PROOF = 0.1, 2.0
"""Seconds for an attempt at a proof in rationals between two passes."""


@dataclass(frozen=True)
class Wanted:
    """A certificate that is asked for: the file, and what its header says besides."""

    path: str | Path
    about: dict[str, object]


def decide(
    system: System, formula: Formula, report: Report, tick: Callable[[], None], wanted: Wanted | None = None
) -> None:
    """Decide `formula` into `report`; the verdict stays unknown where neither a proof nor a witness is found.

    wanted: a certificate to write of what the region graph proves, where rationals follow it.

    Raises `ModelError` when a run leaves the declared box, and what `tick` raises.
    """
    target = nnf(formula, negate=True)
    exact = report.semantics == "real" or not networks_of(system)  # states one by one are those of the real function
    finite = all(d.integral for d in system.variables.values())
    explored = explore(system, target, tick) if finite and exact else None
    if explored is not None:
        report.graph = Figures(1, explored.states, explored.expanded)
        _settle(report, target, system, explored.witness())
        if report.satisfied and explored.may_deadlock is not None:
            report.notes.append(note(system, explored.may_deadlock))
        return
    if wanted is None and report.semantics == "real":
        settled = settle(system, formula, tick, report.workers)
        if settled is not None:
            report.graph = Figures(1, settled.boxes, settled.boxes)
            _settle(report, target, system, settled.witness)
            if report.satisfied and settled.exact:
                report.basis = "exact"
            return
    if wanted is not None:  # equal nodes become one, as they are for who checks: choices have the same numbers
        system = system_from_json(system_to_json(system), networks_of(system))
    try:
        space = space_of(system, report.semantics == "float32")
        space.workers = report.workers
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            inside, keep = False, wanted is not None
            witness, graph = _refine(space, target, report, tick, formula, keep)
            if witness is None and graph is not None and graph.may_leave_box:
                # what is refuted holds as long as no state leaves its box: show both together
                inside = True
                witness, graph = _refine(space, claim(system, formula, True), report, tick, formula, keep)
            if graph is None:
                return
            _settle(report, target, system, witness)
            if report.satisfied and graph.may_deadlock:
                report.notes += _deadlocks(space, formula, report, tick)
            if report.satisfied and wanted is not None:
                _certify(graph, formula, inside, report, wanted)
    except (UnsuitableError, OverflowError, RecursionError) as error:
        report.notes.append(f"no reach graph: {str(error) or 'the system is nested too deeply'}")


def _settle(report: Report, target: Formula, system: System, witness: Witness | None) -> None:
    if witness is None:
        report.verdict, report.basis = Verdict.SATISFIED, "bounds"
        return
    begun = monotonic()
    checked = replay(system, target, witness)
    report.seconds.replay += monotonic() - begun
    if not checked.confirmed:
        raise AssertionError(f"a witness did not replay: {checked.reason}")
    report.verdict, report.witness, report.replay = Verdict.VIOLATED, witness, checked


def _refine(
    space: Space,
    target: Formula,
    report: Report,
    tick: Callable[[], None],
    formula: Formula | None = None,
    keep: bool = False,
) -> tuple[Witness | None, Graph | None]:
    """Passes until no initial state can meet the target, or one does. Raises `UnsuitableError` when it is given up.

    Between passes, for a part of their time, the search in rationals is tried on `formula`; no graph is returned where
    it decided.
    """
    graph, begun = Graph(space, target, tick, keep), monotonic()
    trials = _Trials(space, target, tick)
    witness = trials.rollouts(graph) or trials.slices(graph, points=False)
    if witness is not None:
        return witness, graph
    while graph.counts.passes < MAX_PASSES and graph.counts.pieces < MAX_PIECES:
        done = graph.refine()
        report.graph = Figures(graph.counts.passes, graph.counts.nodes, graph.counts.pieces)
        if done:
            return None, graph
        witness = trials.look(candidates(graph)) or trials.rollouts(graph) or trials.slices(graph, points=False)
        if witness is None and trials.branching:
            witness = trials.slices(graph, points=True)
        if witness is not None:
            return witness, graph
        if formula is not None and _proved(space.system, formula, report, tick, monotonic() - begun):
            return None, None
    raise UnsuitableError(f"{graph.counts.passes} passes over {graph.counts.pieces} regions left something open")


class _Trials:
    """Initial states that are tried in exact numbers, each once."""

    def __init__(self, space: Space, target: Formula, tick: Callable[[], None]) -> None:
        self.space, self.target, self.tick = space, target, tick
        self._tried: set[tuple[object, ...]] = set()
        self.branching = any(isinstance(f, AX) for f in subformulas(target))
        """Is a witness a tree, so that following one path is not enough?"""
        networks = {n.application.network for _, n in space.system.nodes() if isinstance(n, Output)}
        weights = max((sum(layer.weight.size for layer in n.layers) for n in networks), default=1)
        self._affordable = _EXACT_PRODUCTS // weights
        self._begun, self._searching, self._slicing = monotonic(), 0.0, 0.0

    def _may(self, spent: float, share: float) -> bool:
        """Is what was spent on something less than its share of the time so far? The first time it always is."""
        return spent <= share * (monotonic() - self._begun)

    def look(self, suggested: Iterator[Candidate]) -> Witness | None:
        """Try the first of some candidates."""
        whole = False
        for candidate in islice(suggested, _MAX_TRIES):
            key = (*candidate.state.values(), candidate.branches)
            if key in self._tried or not any(contains(r, candidate.state) for r in self.space.system.regions):
                continue
            self.tick()
            depth = self.target.depth
            # with a path only that is followed; else what the formula asks is searched for, once
            followed = bool(candidate.branches) and not self.branching
            search = not followed and not whole and self._may(self._searching, _SEARCH_SHARE)
            if followed or search:
                self._tried.add(key)
            budget = max(depth + 3, min(50 * (depth + 2), self._affordable)) if search else depth + 3
            whole |= search
            begun = monotonic()
            try:
                witness = explain(self.space.system, self.target, candidate.state, candidate.hints, budget)
            except UndecidedError:
                continue
            finally:
                self._searching += monotonic() - begun if search else 0.0
            if witness is not None:
                return witness
        return None

    def slices(self, graph: Graph, points: bool) -> Witness | None:
        """Try what is open on lines through the initial set, or at points of it."""
        root = slices(graph, _SLICES, points) if self._may(self._slicing, _SLICE_SHARE) else None
        if root is None:
            return None
        begun = monotonic()
        try:
            part = Graph(self.space, self.target, self.tick, root=root)
            return None if part.refine() else self.look(candidates(part))
        finally:
            self._slicing += monotonic() - begun

    def rollouts(self, graph: Graph) -> Witness | None:
        """Try what random runs suggest, where the root is so wide that its graph takes longer."""
        if self.branching or slices(graph, 1, points=False) is None:
            return None
        return self.look(rollouts(graph))


def _certify(graph: Graph, formula: Formula, inside: bool, report: Report, wanted: Wanted) -> None:
    begun = monotonic()
    try:
        report.certificate = certify_graph(graph, formula, inside, wanted.path, wanted.about)
        report.basis = "exact"
    except (IncompleteError, OverflowError) as error:
        report.notes.append(f"the reach graph gives no certificate: {error}")
    finally:
        report.seconds.prove += monotonic() - begun


class _EnoughError(Exception):
    """The time for an attempt is over."""


def _proved(system: System, formula: Formula, report: Report, tick: Callable[[], None], spent: float) -> bool:
    """Does the search in rationals decide within a part of the time spent so far? At ties and thresholds it does."""
    begun = monotonic()
    until = begun + min(_MOST_PROOF, _LEAST_PROOF + spent / 2)

    def limited() -> None:
        tick()
        if monotonic() > until:
            raise _EnoughError

    try:
        proof = prove(system, formula, limited, report.semantics)
    except _EnoughError:
        return False
    finally:
        report.seconds.prove += monotonic() - begun
    if proof.complete:
        report.verdict, report.basis = Verdict.SATISFIED, "exact"
    elif proof.witness is not None:
        _settle(report, nnf(formula, negate=True), system, proof.witness)
    return proof.complete or proof.witness is not None


def _deadlocks(space: Space, formula: Formula, report: Report, tick: Callable[[], None]) -> list[str]:
    """Is a state without successor reachable before the last step that the formula looks at? (design S4)"""
    figures = report.graph
    try:
        witness, _ = _refine(space, deadlock(formula.depth), report, tick)
    except UnsuitableError:
        return ["a deadlock may be reachable: there AX would hold and EX would not"]
    except StopSearchError as stop:
        if stop.reason is not Reason.TIME:
            raise
        return [f"a deadlock may be reachable: {stop.message} before it was decided"]
    finally:
        report.graph = figures
    if witness is None:
        return []
    return [note(space.system, deadlocked(witness))]
