"""The predicates that an abstract path to an unsafe state lacks, with their weakest preconditions along it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from venmas.bounds.rounding import Ints
from venmas.procedures.predicate_abstraction.graph.explore import AbstractPath
from venmas.procedures.predicate_abstraction.refinement.concretise import Blocked, Concrete, Concretiser
from venmas.procedures.predicate_abstraction.refinement.shrink import separated
from venmas.procedures.predicate_abstraction.states.cells import Cells
from venmas.procedures.predicate_abstraction.states.predicates import Predicate, open_over
from venmas.procedures.predicate_abstraction.states.queries import QueryEngine
from venmas.procedures.predicate_abstraction.states.task import Task

if TYPE_CHECKING:
    from venmas.procedures.predicate_abstraction.settings import Choices

Kind = Literal["guard", "target", "policy", "cell"]


@dataclass(frozen=True)
class Refinement:
    """New predicates, and what was spurious: a guard, the unsafe condition, the policy, or the way through cells."""

    kind: Kind
    predicates: tuple[Predicate, ...]


class Refiner:
    """Makes refinements for a task."""

    def __init__(
        self, task: Task, engine: QueryEngine, concretiser: Concretiser, choices: Choices, rng: np.random.Generator
    ) -> None:
        self.task, self.engine, self.concretiser, self.choices, self.rng = task, engine, concretiser, choices, rng

    def refine(self, path: AbstractPath, cells: Cells, known: list[Predicate]) -> Refinement | Ints:
        """What tells the path from real ones; a real path (n + 1 states) where there is one."""
        found = self.concretiser.check(path, cells)
        if isinstance(found, Blocked):
            wanted = self._blocked(found)
            return self._made("target" if found.target else "guard", wanted, found.step, path, known)
        if found.deviates is None:
            return found.points
        away = self._away(path, cells, found) if self.choices.cells == "on" else None
        if away is not None:
            step, wanted = away
            return self._made("cell", wanted, step, path, known)
        step = found.deviates
        return self._made("policy", self._decided(path, cells, found, step), step, path, known)

    def _blocked(self, found: Blocked) -> list[Predicate]:
        state = found.points[-1].tolist()
        if self.choices.guards == "all":
            return [p for p, _ in found.atoms]
        return [p for p, truth in found.atoms if p.value(state) != truth]

    def _away(self, path: AbstractPath, cells: Cells, found: Concrete) -> tuple[int, list[Predicate]] | None:
        """The first abstract state up to the deviation that the concrete path is not in: what it violates of it."""
        assert found.deviates is not None
        mine = cells.of(found.points[: found.deviates + 1])
        off = np.flatnonzero((mine != path.states[: found.deviates + 1]).any(1))
        if not len(off):
            return None
        step = int(off[0])
        words = cells.words(np.stack([mine[step], path.states[step]]))
        wanted = [p for p, a, b in zip(cells.predicates, *words.tolist(), strict=True) if a != b]
        for v in np.flatnonzero(mine[step, : cells.width] != path.states[step, : cells.width]).tolist():
            ends = sorted((int(mine[step, v]), int(path.states[step, v])))
            wanted.append(Predicate(((v, 1),), int(cells.begin[v][ends[0] + 1])))  # of variables kept exactly
        return step, wanted

    def _decided(self, path: AbstractPath, cells: Cells, found: Concrete, step: int) -> list[Predicate]:
        """Between the witness of the abstract transition and the state where the policy picks another label."""
        state, witness = found.points[step], path.witnesses[step]
        abstract = path.states[step]

        def stays(point: Ints) -> bool:
            return bool((cells.of(point[None])[0] == abstract).all())

        label = self.task.operators[path.operators[step]].label
        ranges = (self.task.low, self.task.high)
        wanted = separated(
            self.engine, witness, state, label, stays, ranges, self.choices.refine, self.choices.split, self.rng
        )
        if self.choices.entailed == "on":
            fixed = [
                p for p in wanted if self.concretiser.fixed(path, cells, step, p.terms[0][0], int(state[p.terms[0][0]]))
            ]
            return fixed or wanted
        return wanted

    def _made(
        self, kind: Kind, wanted: list[Predicate], step: int, path: AbstractPath, known: list[Predicate]
    ) -> Refinement:
        """With preconditions along the path up to `step`, without what is known or decided by ranges."""
        found = list(wanted)
        layer: list[Predicate] = wanted
        for o in reversed(path.operators[:step]):
            before = (self.task.operators[o].before(p) for p in layer)
            layer = list(dict.fromkeys(p for p in before if p is not None))
            found += layer
        new = open_over(found, self.task.low.tolist(), self.task.high.tolist(), known)
        return Refinement(kind, tuple(new))
