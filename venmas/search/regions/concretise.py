"""Concretisation: abstract counterexamples, random runs and slices of the initial set, tried in exact numbers.

Each kind has a part of the time so far, so that none of them holds up the passes over the region graph.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import islice
from time import monotonic

from venmas.budget import Budget, Shares
from venmas.logic import AX, Formula, subformulas
from venmas.model.canonical import networks_of
from venmas.model.regions import contains
from venmas.model.witness.build import UndecidedError, explain
from venmas.model.witness.tree import Witness
from venmas.search.regions.candidates import Candidate, candidates, point, slices, state_at, wide
from venmas.search.regions.falsify import rollouts
from venmas.search.regions.graph import Graph
from venmas.search.regions.single import Runs
from venmas.search.regions.view import Space

_SHARES = {"search": 0.03, "paths": 0.03, "runs": 0.03, "slices": 0.03, "points": 0.1}
"""Parts of the time so far that go to candidates without a path and with one, to random runs, to lines of the initial
set, and to single states of it."""
_POINTS = 6.0
"""Seconds beyond its part that the last may take: its graph is of use only as a whole, and small (`Runs`)."""
_LEAST = 0.1
"""Seconds that each may take beyond its part."""
_MOST = 2.0
"""Seconds that each may take at a time."""
_QUARTER = 0.25
"""What the part of searches may grow to where they end undecided."""
_MAX_TRIES = 20
_SLICES = 6
_TREES = 8192
_EXACT_PRODUCTS = 1_000_000
"""Products of rationals that one try may cost, which take about a second."""


class Concretiser:
    """Initial states that are tried in exact numbers, each once."""

    def __init__(self, space: Space, target: Formula) -> None:
        self.space, self.target = space, target
        self._shares = Shares(_SHARES, _LEAST)
        self._shares.grant("points", _POINTS)
        self._patience = 1
        """What the budget of a search is multiplied by."""
        self._trees, self._longest = _TREES, 0.0
        """States of a tree that is looked for in the runs from one state; seconds that the last of those took."""
        self._tried: set[tuple[object, ...]] = set()
        self.branching = any(isinstance(f, AX) for f in subformulas(target))
        """Is a witness a tree, so that following one path is not enough?"""

    @cached_property
    def _affordable(self) -> int:
        """States that may be stepped from in one try."""
        networks = networks_of(self.space.system).values()
        weights = max((sum(layer.weight.size for layer in n.layers) for n in networks), default=1)
        return _EXACT_PRODUCTS // weights

    def look(self, suggested: Iterator[Candidate], budget: Budget) -> Witness | None:
        """Try the first of some candidates."""
        whole = False
        for candidate in islice(suggested, _MAX_TRIES):
            key = (*candidate.state.values(), candidate.branches)
            if key in self._tried or not any(contains(r, candidate.state) for r in self.space.system.regions):
                continue
            budget()
            depth = self.target.depth
            # with a path only that is followed; else what the formula asks is searched for, once
            followed = bool(candidate.branches) and not self.branching
            search = not followed and not whole and self._shares.left("search") > 0
            if followed or search:
                self._tried.add(key)
            whole |= search
            states = depth + 3
            if search:
                states = self._patience * max(states, min(50 * (depth + 2), self._affordable))
            try:
                witness = self._shares.run(
                    "search" if search else "paths",
                    budget,
                    # the whole budget: a try is bounded by its states, and would only be made again
                    lambda _: self._explained(candidate, states, search, budget),  # noqa: B023
                    _MOST,
                )
            except UndecidedError:
                if search:  # a tree of many states wants more
                    self._tried.discard(key)
                    self._patience *= 2
                    self._shares.double("search", _QUARTER)
                continue
            if witness is not None:
                return witness
        return None

    def _explained(self, candidate: Candidate, states: int, again: bool, budget: Budget) -> Witness | None:
        """again: without the path, too, where it leads nowhere within `states`: fewer may be enough then."""
        system, state = self.space.system, candidate.state
        try:
            return explain(system, self.target, state, candidate.hints, states, budget)
        except UndecidedError:
            if not (again and candidate.branches):
                raise
        return explain(system, self.target, state, None, states, budget)

    def point(self, graph: Graph, budget: Budget) -> Witness | None:
        """Try one initial state whose runs are looked at in floats before: a tree may have thousands of states."""
        if self._shares.left("points") < 2 * self._longest:
            return None
        root, begun = point(graph), monotonic()

        def runs(limited: Budget) -> Runs | None:
            try:
                return Runs(self.space, self.target, root, limited)
            except OverflowError:
                return None

        found = self._shares.run("points", budget, runs)
        self._longest = monotonic() - begun
        if found is None or found.excluded:
            return None
        state = state_at(graph, root.low[0], int(root.location[0]))
        if not any(contains(r, state) for r in self.space.system.regions):
            return None
        try:
            return explain(self.space.system, self.target, state, None, self._trees, budget, found.possible)
        except UndecidedError:
            self._trees *= 2
        return None

    def slices(self, graph: Graph, points: bool, budget: Budget) -> Witness | None:
        """Try what is open on lines through the initial set, or at points of it."""
        root = slices(graph, _SLICES, points)
        if root is None:
            return None

        def refined(limited: Budget) -> Graph | None:
            part = Graph(self.space, self.target, limited, root=root)
            try:
                return None if part.refine() else part
            except OverflowError:  # too much for a trial
                return None

        found = self._shares.run("slices", budget, refined, _MOST)
        return None if found is None else self.look(candidates(found), budget)

    def rollouts(self, graph: Graph, budget: Budget) -> Witness | None:
        """Try what random runs suggest, where the root is so wide that its graph takes longer."""
        if self.branching or not wide(graph):
            return None
        found = self._shares.run("runs", budget, lambda _: list(rollouts(graph)), _MOST)
        return self.look(iter(found or ()), budget)
