"""The search of an abstract graph for an unsafe state: greedy best first, or breadth first.

Each abstract state is found once, by the first transition that has a witness; transitions to known states are not
asked for. The distance of a state is the number of predicates whose truth the unsafe condition entails and that the
state has otherwise (Vinzent, Sharma, Hoffmann, AAAI 2023); of equals the last one found comes first, or, with a seed
other than 0, any.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from venmas.bounds.rounding import Bools, Ints
from venmas.budget import ask
from venmas.procedures.predicate_abstraction.graph.graph import Unsafe
from venmas.procedures.predicate_abstraction.graph.successors import Steps
from venmas.procedures.predicate_abstraction.states.cells import Cells, States, keys
from venmas.procedures.predicate_abstraction.states.memory import Memory
from venmas.procedures.predicate_abstraction.states.queries import Queries

_MOST = 2048
"""Most abstract states that are stepped from at once: their queries share sweeps."""


@dataclass(frozen=True, eq=False)
class AbstractPath:
    """States (L + 1, n + m), the operators between them, and a witness (n,) of each transition."""

    states: States
    operators: tuple[int, ...]
    witnesses: tuple[Ints, ...]


@dataclass(eq=False)
class Explored:
    """The abstract states that were found, and a path to an unsafe one if there is one. leaving: as of the graph.

    parents: the state and the operator by which each was found, None of initial ones. unsafe: where the path ends.
    """

    states: States
    starts: int
    expanded: int
    transitions: int
    path: AbstractPath | None
    leaving: Bools
    parents: list[tuple[int, int] | None]
    unsafe: int = -1


@dataclass(eq=False)
class AbstractSearch:
    """A search over `cells` from `starts` (S, n + m). entailed: (P,), 1 or 0 where the unsafe condition entails it.

    ties: which of equally distant states comes first; None: the last one found.
    """

    steps: Steps
    cells: Cells
    starts: States
    unsafe: Unsafe
    memory: Memory
    entailed: NDArray[np.int8]
    breadth: bool = False
    screen: Callable[[Queries], Bools] | None = None
    tests: str = "none"
    ties: np.random.Generator | None = None
    tick: Callable[[int], None] = field(default=lambda states: None)

    def run(self) -> Explored:
        """Search until an unsafe state is found or there is no other."""
        number: dict[bytes, int] = {}
        rows: list[States] = []
        parent: list[tuple[int, int, Ints] | None] = []
        queue: list[tuple[int, float, int]] = []
        leaving = np.zeros(len(self.steps.task.low), bool)
        expanded = transitions = 0

        def add(states: States, parents: list[tuple[int, int, Ints] | None]) -> int | None:
            """Number new states; the first that is unsafe."""
            bad = self.unsafe.holds(states)
            distance = self._distance(states)
            for i, key in enumerate(keys(states)):
                at = number[key] = len(rows)
                rows.append(states[i])
                parent.append(parents[i])
                if bad[i]:
                    return at
                tie = -at if self.ties is None else self.ties.random()
                heapq.heappush(queue, (0, at, at) if self.breadth else (int(distance[i]), tie, at))
            return None

        reached = add(self.starts, [None] * len(self.starts))
        batch = 1
        while queue and reached is None:
            ask()
            self.tick(len(rows))
            take = [heapq.heappop(queue)[2] for _ in range(min(batch, len(queue)))]
            expanded += len(take)
            batch = min(_MOST, max(1, expanded // 4))
            numbers = np.array(take)
            for moves in self.steps.moves(np.stack([rows[i] for i in take]), self.screen, self.tests):
                leaving |= moves.leaving.any(0)
                groups: dict[bytes, list[int]] = {}
                for i, key in enumerate(keys(moves.target)):
                    if key not in number:
                        groups.setdefault(key, []).append(i)
                # one query for each new state, then two, ..: the others are not needed where it has a witness
                new: list[tuple[int, Ints]] = []
                waiting, turn = list(groups.values()), 1
                while waiting:
                    asked = np.array([i for group in waiting for i in group[:turn]])
                    found, points = self.memory.ask(moves.queries.take(asked))
                    met = {int(i): p for i, p, yes in zip(asked, points, found, strict=True) if yes}
                    first = [next((i for i in group[:turn] if i in met), None) for group in waiting]
                    new += [(i, met[i]) for i in first if i is not None]
                    waiting = [g[turn:] for g, i in zip(waiting, first, strict=True) if i is None and len(g) > turn]
                    turn *= 2
                if not new:
                    continue
                new.sort(key=lambda pair: pair[0])
                transitions += len(new)
                at = np.array([i for i, _ in new])
                parents: list[tuple[int, int, Ints] | None] = [
                    (int(numbers[moves.source[i]]), int(moves.operator[i]), p) for i, p in new
                ]
                reached = add(moves.target[at], parents)
                if reached is not None:
                    break
        path = None if reached is None else self._path(rows, parent, reached)
        parents_of = [None if step is None else step[:2] for step in parent]
        end = -1 if reached is None else reached
        return Explored(np.array(rows), len(self.starts), expanded, transitions, path, leaving, parents_of, end)

    def _distance(self, states: States) -> Ints:
        words = self.cells.words(states).astype(np.int8)
        found: Ints = ((words != self.entailed) & (self.entailed >= 0)).sum(1)
        return found

    def _path(self, rows: list[States], parent: list[tuple[int, int, Ints] | None], end: int) -> AbstractPath:
        states, operators, witnesses = [rows[end]], list[int](), list[Ints]()
        while (step := parent[end]) is not None:
            end = step[0]
            states.append(rows[end])
            operators.append(step[1])
            witnesses.append(step[2])
        return AbstractPath(np.array(states[::-1]), tuple(operators[::-1]), tuple(witnesses[::-1]))
