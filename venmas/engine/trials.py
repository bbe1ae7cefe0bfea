"""Initial states that are tried in exact numbers while a reach graph is refined, for a part of the time each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import islice
from time import monotonic
from typing import TypeVar

from venmas.logic import AX, Formula, subformulas
from venmas.model.canonical import networks_of
from venmas.model.regions import contains
from venmas.model.witness.build import UndecidedError, explain
from venmas.model.witness.tree import Witness
from venmas.search.regions.candidates import Candidate, candidates, slices, wide
from venmas.search.regions.falsify import rollouts
from venmas.search.regions.graph import Graph
from venmas.search.regions.view import Space

_SHARES = {
    "search": 0.03,
    "paths": 0.03,
    "runs": 0.03,
    "slices": 0.03,
    "polytopes": 0.1,
    "proof": 0.1,
    "bounds": 0.05,
}
"""Parts of the time so far that go to candidates without a path and with one, to random runs, to lines of the initial
set, to polytopes of it, to a proof in rationals, and to bounds alone."""
_STEADY = ("polytopes", "proof", "bounds")
"""What goes on where it was left."""
_HALF, _QUARTER = 0.5, 0.25
"""What a part may grow to where passes do not decide, and that of searches where they end undecided."""
_LEAST, _MOST = 0.1, 2.0
"""Seconds that each may take beyond its part, and at most at a time, but for what goes on where it was left."""
_MAX_TRIES = 20
_SLICES = 6
_EXACT_PRODUCTS = 1_000_000
"""Products of rationals that one try may cost, which take about a second."""

_Found = TypeVar("_Found")


class _EnoughError(Exception):
    """The time for an attempt is over."""


class Shares:
    """Who may take how much of the time."""

    def __init__(self) -> None:
        self._begun, self._spent = monotonic(), dict.fromkeys(_SHARES, 0.0)
        self._parts = dict(_SHARES)

    def double(self, kind: str, most: float = _HALF) -> None:
        """Give twice as large a part of the time to something, up to `most` of it."""
        self._parts[kind] = min(most, 2 * self._parts[kind])

    def grant(self, kind: str, seconds: float) -> None:
        """Give some time to something beyond its part."""
        self._spent[kind] -= seconds

    def left(self, kind: str) -> float:
        """Seconds that are left for something."""
        found = _LEAST + self._parts[kind] * (monotonic() - self._begun) - self._spent[kind]
        return found if kind in _STEADY else min(_MOST, found)

    def run(self, kind: str, tick: Callable[[], None], work: Callable[[Callable[[], None]], _Found]) -> _Found | None:
        """Do some work, which calls what it is given now and then; None where its time is over."""
        begun = monotonic()
        until = begun + self.left(kind)

        def limited() -> None:
            tick()
            if monotonic() > until:
                raise _EnoughError

        try:
            return work(limited) if until > begun else None
        except _EnoughError:
            return None
        finally:
            self._spent[kind] += monotonic() - begun


class Trials:
    """Initial states that are tried in exact numbers, each once."""

    def __init__(self, space: Space, target: Formula, tick: Callable[[], None]) -> None:
        self.space, self.target, self.tick, self.shares = space, target, tick, Shares()
        self._patience = 1
        """What the budget of a search is multiplied by."""
        self._tried: set[tuple[object, ...]] = set()
        self.branching = any(isinstance(f, AX) for f in subformulas(target))
        """Is a witness a tree, so that following one path is not enough?"""

    @cached_property
    def _affordable(self) -> int:
        """States that may be stepped from in one try."""
        networks = networks_of(self.space.system).values()
        weights = max((sum(layer.weight.size for layer in n.layers) for n in networks), default=1)
        return _EXACT_PRODUCTS // weights

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
            search = not followed and not whole and self.shares.left("search") > 0
            if followed or search:
                self._tried.add(key)
            whole |= search
            budget = depth + 3
            if search:
                budget = self._patience * max(budget, min(50 * (depth + 2), self._affordable))
            try:
                witness = self.shares.run(
                    "search" if search else "paths",
                    self.tick,
                    lambda _: self._explained(candidate, budget, search),  # noqa: B023
                )
            except UndecidedError:
                if search:  # a tree of many states wants more
                    self._tried.discard(key)
                    self._patience *= 2
                    self.shares.double("search", _QUARTER)
                continue
            if witness is not None:
                return witness
        return None

    def _explained(self, candidate: Candidate, budget: int, again: bool) -> Witness | None:
        """again: without the path, too, where it leads nowhere within the budget: fewer states may be enough then."""
        system, state = self.space.system, candidate.state
        try:
            return explain(system, self.target, state, candidate.hints, budget, self.tick)
        except UndecidedError:
            if not (again and candidate.branches):
                raise
        return explain(system, self.target, state, None, budget, self.tick)

    def slices(self, graph: Graph, points: bool) -> Witness | None:
        """Try what is open on lines through the initial set, or at points of it."""
        root = slices(graph, _SLICES, points)
        if root is None:
            return None

        def refined(limited: Callable[[], None]) -> Graph | None:
            part = Graph(self.space, self.target, limited, root=root)
            try:
                return None if part.refine() else part
            except OverflowError:  # too much for a trial
                return None

        found = self.shares.run("slices", self.tick, refined)
        return None if found is None else self.look(candidates(found))

    def rollouts(self, graph: Graph) -> Witness | None:
        """Try what random runs suggest, where the root is so wide that its graph takes longer."""
        if self.branching or not wide(graph):
            return None
        found = self.shares.run("runs", self.tick, lambda _: list(rollouts(graph)))
        return self.look(iter(found or ()))
