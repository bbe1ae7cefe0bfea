"""The mode `adaptive`: states one by one where they are finitely many, else a reach graph of regions that is refined
where something is open, with candidates tried on the way."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from time import monotonic

import numpy as np

from venmas.checker.check import claim
from venmas.engine.certify import RationalSearch, certify_graph
from venmas.engine.deadlocks import deadlock, deadlocked, note
from venmas.engine.enclosed import Enclosure
from venmas.engine.establish import Clock, prove_by_enclosures
from venmas.engine.refine import PATIENCE, refine, settle_by
from venmas.engine.report import Graph as Figures
from venmas.engine.report import Report
from venmas.engine.search import StopSearchError
from venmas.errors import Reason
from venmas.logic import Formula
from venmas.model.canonical import networks_of
from venmas.model.cases import UnsuitableError
from venmas.search.explicit.evaluate import explore
from venmas.search.network.one_step import settle
from venmas.search.regions.certificate import IncompleteError
from venmas.search.regions.graph import Graph
from venmas.search.regions.view import Space, space_of

_BY_BOUNDS = "symbolic bounds alone decided it, before the reach graph"
_MAY_DEADLOCK = "a deadlock may be reachable: there AX would hold and EX would not"


@dataclass(frozen=True)
class Wanted:
    """A certificate that is asked for: the file, and what its header says besides."""

    path: str | Path
    about: dict[str, object]


def decide(rational: RationalSearch, report: Report, tick: Clock, wanted: Wanted | None = None) -> None:
    """Decide the formula of `rational` into `report`; the verdict stays unknown where no proof and no witness is found.

    rational: gets part of the time, and may be gone on with. wanted: a certificate to write of what the region graph
    proves, where rationals follow it.

    Raises `ModelError` when a run leaves the declared box, and what `tick` raises.
    """
    system, formula, target = rational.system, rational.formula, rational.target
    exact = report.semantics == "real" or not networks_of(system)  # states one by one are those of the real function
    finite = all(d.integral for d in system.variables.values())
    explored = explore(system, target, tick) if finite and exact else None
    if explored is not None:
        report.graph = Figures(1, explored.states, explored.expanded)
        settle_by(report, target, system, explored.witness())
        if report.satisfied and explored.may_deadlock is not None:
            report.notes.append(note(system, explored.may_deadlock))
        return
    if wanted is None and report.semantics == "real":
        settled = settle(system, formula, tick, report.workers, None if tick.left is None else tick.left / 2)
        if settled is not None:
            report.graph = Figures(1, settled.boxes, settled.boxes)
            settle_by(report, target, system, settled.witness)
            if report.satisfied and settled.exact:
                report.basis = "exact"
            return
    # bounds of the real function say nothing of float32
    enclosure = Enclosure(system, target) if report.semantics == "real" else None
    try:
        with (
            space_of(system, report.semantics == "float32") as space,
            np.errstate(over="ignore", invalid="ignore", divide="ignore"),
        ):
            space.workers = report.workers
            inside, keep = False, wanted is not None
            witness, graph = refine(space, target, report, tick, rational, keep, enclosure=enclosure)
            if graph is None and enclosure is not None and enclosure.refuted:
                report.notes.append(_BY_BOUNDS)
                if wanted is not None and not _written(rational, report, tick, wanted):
                    witness, graph = refine(space, target, report, tick, rational, keep)
            if witness is None and graph is not None and graph.may_leave_box:
                # what is refuted holds as long as no state leaves its box: show both together
                inside = True
                witness, graph = refine(space, claim(system, formula, True), report, tick, rational, keep)
            if graph is None:
                if report.satisfied and system.may_deadlock:
                    limited = tick.within(max(1.0, monotonic() - tick.started))
                    report.notes += _deadlocks(space, formula, report, limited)
                return
            settle_by(report, target, system, witness)
            if report.satisfied and graph.may_deadlock:
                report.notes += _deadlocks(space, formula, report, tick)
            if report.satisfied and wanted is not None:
                _certify(graph, formula, inside, report, wanted)
    except (UnsuitableError, OverflowError, RecursionError) as error:
        if not report.satisfied:
            report.notes.append(f"no reach graph: {str(error) or 'the system is nested too deeply'}")
            _enclose(rational, enclosure, report, tick, wanted)


def _written(rational: RationalSearch, report: Report, tick: Clock, wanted: Wanted) -> bool:
    """Is there a certificate of what bounds have refuted?"""
    return prove_by_enclosures(rational, report, tick, wanted.path, wanted.about)


def _enclose(
    rational: RationalSearch, enclosure: Enclosure | None, report: Report, tick: Clock, wanted: Wanted | None
) -> None:
    """Let bounds alone, where there is no graph, refute the target in a limited time."""
    limited = tick.within(PATIENCE)
    try:
        if enclosure is None or enclosure.over or not enclosure.run(limited):
            return
    except StopSearchError as stop:
        if stop.reason is not Reason.TIME or limited.deadline == tick.deadline:
            raise
        return
    settle_by(report, enclosure.target, enclosure.system, None)
    if enclosure.may_deadlock:
        report.notes.append(_MAY_DEADLOCK)
    report.notes.append(_BY_BOUNDS)
    if wanted is not None:
        _written(rational, report, tick, wanted)


def _certify(graph: Graph, formula: Formula, inside: bool, report: Report, wanted: Wanted) -> None:
    begun = monotonic()
    try:
        report.certify(certify_graph(graph, formula, inside, wanted.path, wanted.about))
    except (IncompleteError, OverflowError) as error:
        report.notes.append(f"the reach graph gives no certificate: {error}")
    finally:
        report.seconds.prove += monotonic() - begun


def _deadlocks(space: Space, formula: Formula, report: Report, tick: Clock) -> list[str]:
    """Is a state without successor reachable before the last step that the formula looks at? (design S4)"""
    figures = report.graph
    try:
        witness, _ = refine(space, deadlock(formula.depth), report, tick)
    except (UnsuitableError, OverflowError, RecursionError):
        return [_MAY_DEADLOCK]
    except StopSearchError as stop:
        if stop.reason is not Reason.TIME:
            raise
        return [f"a deadlock may be reachable: {stop.message} before it was decided"]
    finally:
        report.graph = figures
    if witness is None:
        return []
    return [note(space.system, deadlocked(witness))]
