"""Passes over a reach graph of regions, with candidates tried on the way; a large initial set is taken in tiles."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from time import monotonic

import numpy as np

from venmas.bounds.linear_forms import Floats
from venmas.budget import limited
from venmas.engine.certify import RationalSearch
from venmas.engine.enclosed import Enclosure
from venmas.engine.establish import Clock
from venmas.engine.report import Graph as Figures
from venmas.engine.report import Report, Verdict
from venmas.engine.search import StopSearchError
from venmas.engine.trials import Shares, Trials
from venmas.errors import ModelError, Reason, VenmasError
from venmas.logic import Formula
from venmas.milp.outcome import Unknown
from venmas.model.canonical import networks_of, system_from_json, system_to_json
from venmas.model.cases import UnsuitableError
from venmas.model.system import System
from venmas.model.witness.build import replay
from venmas.model.witness.tree import Witness
from venmas.nn import Network
from venmas.nn.network import Semantics
from venmas.search.polytopes.enumerate import Enumeration
from venmas.search.regions.boxes import Boxes
from venmas.search.regions.candidates import candidates
from venmas.search.regions.frames import Ints
from venmas.search.regions.graph import Counts, Graph
from venmas.search.regions.view import Space
from venmas.workers.mapper import Done, Job, MemoryLimitError
from venmas.workers.pool import Pool, WorkerError

log = logging.getLogger(__name__)

HASTE = 0.1
"""Seconds in which passes over a line of initial states may decide before bounds alone are tried: most of them do."""
LITTLE_PATIENCE, PATIENCE, MUCH_PATIENCE = 0.4, 1.0, 2.0
"""Seconds that bounds alone, a search in rationals, or an enumeration, have before the first pass, where no run was
found."""
MANY_PATHS = 10_000
"""Paths through branches up to which an enumeration is likely to end."""
MAX_PASSES = 16
MAX_PIECES = 20_000_000
"""Pieces of all passes together after which another procedure is tried."""


def settle_by(report: Report, target: Formula, system: System, witness: Witness | None) -> None:
    """Write down a verdict: the one of a witness, which is replayed, or the one that there is none."""
    if witness is None:
        report.verdict, report.basis = Verdict.SATISFIED, "bounds"
        return
    begun = monotonic()
    checked = replay(system, target, witness)
    report.seconds.replay += monotonic() - begun
    if not checked.confirmed:
        raise AssertionError(f"a witness did not replay: {checked.reason}")
    report.verdict, report.witness, report.replay = Verdict.VIOLATED, witness, checked


def refine(
    space: Space,
    target: Formula,
    report: Report,
    tick: Clock,
    rational: RationalSearch | None = None,
    keep: bool = False,
    root: Boxes | None = None,
    weights: Sequence[Floats] = (),
    enclosure: Enclosure | None = None,
) -> tuple[Witness | None, Graph | None]:
    """Passes until no initial state can meet the target, or one does. Raises `UnsuitableError` when it is given up.

    Between passes, for a part of their time, the search in rationals goes on, and so do bounds alone; no graph is
    returned where one of them decided.
    root: a part of the initial set. weights: see `Graph`. enclosure: bounds that are to refute the target.
    """
    graph = Graph(space, target, tick, keep, root, weights)
    trials, begun = Trials(space, target, tick), monotonic()
    # a proof that is to be kept would have to be found again
    exact = _enumeration(graph) if rational is not None and not keep else None
    hasty = rational if graph.rough and not keep else None
    found = _ahead(exact, hasty, graph, report, trials)
    if found is not None:
        return found
    if graph.rough and _enclosed(enclosure, report, trials):
        return None, None
    witness = trials.rollouts(graph) or trials.slices(graph, points=False)
    if witness is not None:
        return witness, graph
    if exact is not None and not exact.over:
        trials.shares.grant("polytopes", MUCH_PATIENCE if exact.paths <= MANY_PATHS else 0.0)
    elif hasty is not None:  # a pass may take as long
        trials.shares.grant("proof", PATIENCE)
    if graph.rough:
        trials.shares.grant("bounds", LITTLE_PATIENCE)
        if _enclosed(enclosure, report, trials):
            return None, None
    found = _ahead(exact, hasty, graph, report, trials)
    if found is not None:
        return found
    while graph.counts.passes < MAX_PASSES and graph.counts.pieces < MAX_PIECES:
        done = graph.refine()
        report.graph = Figures(graph.counts.passes, graph.counts.nodes, graph.counts.pieces)
        if done:
            return None, graph
        witness = trials.look(candidates(graph)) or trials.rollouts(graph) or trials.slices(graph, points=False)
        if witness is None and trials.branching:
            witness = trials.slices(graph, points=True)
        if witness is None and exact is not None:
            if graph.grows and exact.paths <= MANY_PATHS:
                trials.shares.double("polytopes")
            witness = _enumerated(exact, graph, report, trials)
        if witness is not None or (exact is not None and exact.refuted):
            return witness, graph
        if monotonic() - begun > HASTE and _enclosed(enclosure, report, trials):
            return None, None
        if rational is not None and _proved(rational, report, tick, trials.shares, graph.grows):
            return None, None
        tiles, told = graph.tiles() if root is None and not keep else ([], [])
        if tiles:
            return _in_tiles(space, target, report, tick, graph, tiles, told), graph
    raise UnsuitableError(f"{graph.counts.passes} passes over {graph.counts.pieces} regions left something open")


def _ahead(
    exact: Enumeration | None, rational: RationalSearch | None, graph: Graph, report: Report, trials: Trials
) -> tuple[Witness | None, Graph | None] | None:
    """Go on with an enumeration, or else in rationals, before a pass: what `refine` returns, where that decides."""
    if exact is not None and not exact.over:
        witness = _enumerated(exact, graph, report, trials)
        return (witness, graph) if witness is not None or exact.refuted else None
    if rational is not None and _proved(rational, report, trials.tick, trials.shares, False):
        return None, None
    return None


def _enumeration(graph: Graph) -> Enumeration | None:
    """An enumeration, where that is quicker than a graph: of few dimensions, and several of them or few runs."""
    space = graph.space
    if space.single or not (graph.rough or len(space.system.branches) == 1):
        return None
    try:
        return Enumeration(space, graph.target)
    except (UnsuitableError, OverflowError):
        return None


def _enumerated(exact: Enumeration, graph: Graph, report: Report, trials: Trials) -> Witness | None:
    """Go on with an enumeration for its part of the time, trying what it leaves."""
    while not exact.over:
        found = trials.shares.run("polytopes", trials.tick, exact.run)
        if not found:
            break
        witness = trials.look(iter(found))
        if witness is not None:
            return witness
    if exact.refuted:
        report.graph = Figures(1, exact.count, exact.count)
        graph.may_deadlock = graph.space.system.may_deadlock
    return None


def _enclosed(enclosure: Enclosure | None, report: Report, trials: Trials) -> bool:
    """Do bounds alone refute the target, within their part of the time so far?"""
    if enclosure is None or enclosure.over or not trials.shares.run("bounds", trials.tick, enclosure.run):
        return False
    settle_by(report, enclosure.target, enclosure.system, None)
    return True


def _mapped(pool: Pool, jobs: list[Job]) -> Iterator[Done | None]:
    try:
        yield from pool.map(iter(jobs))
    except MemoryLimitError as error:
        raise StopSearchError(Reason.MEMORY, str(error)) from error
    except WorkerError as error:
        raise UnsuitableError(str(error)) from error


@dataclass(frozen=True, eq=False)
class Searched:
    """What came out of a tile: a witness, or none; `trouble` says why neither is known."""

    witness: Witness | None = None
    counts: Counts = field(default_factory=Counts)
    may_leave_box: bool = False
    may_deadlock: bool = False
    trouble: str | None = None
    reason: Reason | None = None
    """The limit that was met, if it was one."""


@dataclass(frozen=True, eq=False)
class Tile:
    """A part of the initial set as work for another process: the system as JSON and its networks, boxes by location."""

    document: dict[str, object]
    networks: dict[str, Network]
    target: Formula
    semantics: Semantics
    unit: int
    boxes: tuple[tuple[tuple[int, ...], ...], Ints, Ints]
    weights: Sequence[Floats]

    def run(self, time_limit: float | None) -> Searched:
        """Refine it, in `time_limit` s."""
        begun = monotonic()
        report = Report(Verdict.UNKNOWN, "", "", "adaptive", "", "", semantics=self.semantics)
        clock = Clock(None if time_limit is None else begun + time_limit, None, report, None, begun)
        space = Space(system_from_json(self.document, self.networks), self.semantics == "float32")
        if space.unit != self.unit:
            return Searched(trouble="its lattice is another one")
        values, low, high = self.boxes
        where = np.array([space.number(v) for v in values], dtype=np.intp)
        try:
            with limited(clock.deadline, clock), np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                root = Boxes(where, low, high, np.ones((len(low), 1), dtype=bool))
                witness, graph = refine(space, self.target, report, clock, root=root, weights=self.weights)
            assert graph is not None
            return Searched(witness, graph.counts, graph.may_leave_box, graph.may_deadlock)
        except StopSearchError as error:
            return Searched(trouble=error.message, reason=error.reason)
        except (VenmasError, OverflowError, RecursionError) as error:
            return Searched(trouble=str(error) or type(error).__name__)


def _in_tiles(
    space: Space,
    target: Formula,
    report: Report,
    tick: Clock,
    graph: Graph,
    tiles: list[Boxes],
    weights: Sequence[Floats],
) -> Witness | None:
    """As `refine`, part by part, by as many processes as there are workers; `graph` learns what the parts may do."""
    log.info("the initial set is taken in %d parts", len(tiles))
    graph.layers.clear()
    graph.may_leave_box = graph.may_deadlock = False
    try:
        document, networks = system_to_json(space.system), networks_of(space.system)
    except ModelError as error:
        raise UnsuitableError(f"the initial set is to be taken in parts: {error}") from error
    jobs = []
    for number, tile in enumerate(tiles):
        values = tuple(space.locations[i].values for i in tile.location)
        boxes = values, tile.low, tile.high
        jobs.append(Job(number, Tile(document, networks, target, report.semantics, space.unit, boxes, weights)))
    answers = 0
    with Pool((), tick.deadline, tick.memory_mb, workers=min(report.workers, len(tiles))) as pool:
        for done in _mapped(pool, jobs):
            tick()
            if done is None:
                continue
            answers += 1
            found: object = done.outcome
            if isinstance(found, Unknown):
                found = Searched(trouble=found.message, reason=found.reason)
            assert isinstance(found, Searched)
            if found.reason in (Reason.TIME, Reason.MEMORY):
                raise StopSearchError(found.reason, found.trouble or "")
            if found.trouble is not None:
                raise UnsuitableError(f"a part of the initial set: {found.trouble}")
            graph.add(found.counts, found.may_leave_box, found.may_deadlock)
            report.graph = Figures(graph.counts.passes, graph.counts.nodes, graph.counts.pieces)
            report.peak_rss_mb = max(report.peak_rss_mb, pool.peak_rss_mb)
            if found.witness is not None:
                return found.witness
    if answers < len(jobs):
        raise AssertionError(f"{answers} answers for {len(jobs)} parts of the initial set")
    return None


def _proved(rational: RationalSearch, report: Report, tick: Callable[[], None], shares: Shares, more: bool) -> bool:
    """Does the search in rationals decide within its part of the time so far? At ties and thresholds it does.

    more: it gets a larger part from now on.
    """
    begun = monotonic()
    if more:
        shares.double("proof")
    try:
        proof = shares.run("proof", tick, rational.run)
    except (OverflowError, RecursionError):  # whoever goes on with it meets them again
        return False
    finally:
        report.seconds.prove += monotonic() - begun
    if proof is None:
        return False
    if proof.complete:
        report.verdict, report.basis = Verdict.SATISFIED, "exact"
    elif proof.witness is not None:
        settle_by(report, rational.target, rational.system, proof.witness)
    return proof.complete or proof.witness is not None
