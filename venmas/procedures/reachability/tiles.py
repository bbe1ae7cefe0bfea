"""Tiles of a wide initial set, which several processes search as graphs of their own."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from venmas.answer import Unknown, Violated
from venmas.bounds.rounding import Floats, Ints
from venmas.budget import Budget, BudgetError, limited
from venmas.errors import ModelError, Reason, VenmasError
from venmas.logic import Bounded, Formula
from venmas.model.canonical.canonical import system_from_json, system_to_json
from venmas.model.system.networks import networks_of
from venmas.model.transform.cases import UnsuitableError
from venmas.model.witness.tree import Witness
from venmas.nn import Network
from venmas.nn.network import Semantics
from venmas.procedures.hybrid.boxes import Boxes
from venmas.procedures.hybrid.view import Space
from venmas.procedures.reachability.graph.figures import Regions
from venmas.procedures.reachability.graph.graph import Graph
from venmas.question import Question
from venmas.solvers.milp import outcome as solved
from venmas.solvers.workers.mapper import Done, Job, MemoryLimitError
from venmas.solvers.workers.pool import Pool, WorkerError

if TYPE_CHECKING:
    from venmas.procedures.reachability.procedure import ReachabilitySession

log = logging.getLogger(__name__)


Begin: TypeAlias = "Callable[[Question, Space, Boxes, Sequence[Floats]], ReachabilitySession]"
"""Begins a session; a worker process finds it by its name."""


@dataclass(frozen=True, eq=False)
class Searched:
    """What came out of a tile: a witness, or none; `trouble` says why neither is known."""

    witness: Witness | None = None
    counts: Regions = field(default_factory=Regions)
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
    formula: Formula
    inside: bool
    semantics: Semantics
    unit: int
    boxes: tuple[tuple[tuple[int, ...], ...], Ints, Ints]
    weights: Sequence[Floats]
    begin: Begin

    def run(self, time_limit: float | None) -> Searched:
        """Search it, in `time_limit` s."""
        budget = Budget(time_limit)
        space = Space(system_from_json(self.document, self.networks), self.semantics == "float32")
        if space.unit != self.unit:
            return Searched(trouble="its lattice is another one")
        values, low, high = self.boxes
        where = np.array([space.number(v) for v in values], dtype=np.intp)
        question = Question(space.system, Bounded(self.formula), self.semantics, inside=self.inside)
        try:
            root = Boxes(where, low, high, np.ones((len(low), 1), dtype=bool))
            with limited(budget):
                session = self.begin(question, space, root, self.weights)
                answer = None
                while answer is None:
                    answer = session.advance(budget)
            if isinstance(answer, Unknown):
                return Searched(trouble=answer.message)
            graph, witness = session.graph, answer.witness if isinstance(answer, Violated) else None
            return Searched(witness, graph.counts, graph.may_leave_box, graph.may_deadlock)
        except BudgetError as error:
            return Searched(trouble=error.message, reason=error.reason)
        except (VenmasError, OverflowError, RecursionError) as error:
            return Searched(trouble=str(error) or type(error).__name__)


def search_tiles(
    question: Question, graph: Graph, tiles: list[Boxes], weights: Sequence[Floats], begin: Begin, budget: Budget
) -> Witness | None:
    """Search all tiles, each in a session of `begin`; `graph` learns what runs in them may do.

    Raises `UnsuitableError` where one stays open.
    """
    space = graph.space
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
        work = Tile(
            document, networks, question.formula, question.inside, question.semantics, space.unit, boxes, weights, begin
        )
        jobs.append(Job(number, work))
    answers = 0
    deadline = None if budget.left is None else budget.deadline
    with Pool((), deadline, budget.memory_mb, workers=min(space.workers, len(tiles))) as pool:
        for done in _mapped(pool, jobs, budget):
            budget()
            if done is None:
                continue
            answers += 1
            found: object = done.outcome
            if isinstance(found, solved.Unknown):
                found = Searched(trouble=found.message, reason=found.reason)
            assert isinstance(found, Searched)
            if found.reason in (Reason.TIME, Reason.MEMORY):
                raise BudgetError(budget, found.reason, found.trouble or "")
            if found.trouble is not None:
                raise UnsuitableError(f"a part of the initial set: {found.trouble}")
            graph.add(found.counts, found.may_leave_box, found.may_deadlock)
            budget.saw(pool.peak_rss_mb)
            if found.witness is not None:
                return found.witness
    if answers < len(jobs):
        raise AssertionError(f"{answers} answers for {len(jobs)} parts of the initial set")
    return None


def _mapped(pool: Pool, jobs: list[Job], budget: Budget) -> Iterator[Done | None]:
    try:
        yield from pool.map(iter(jobs))
    except MemoryLimitError as error:
        raise BudgetError(budget, Reason.MEMORY, str(error)) from error
    except WorkerError as error:
        raise UnsuitableError(str(error)) from error
