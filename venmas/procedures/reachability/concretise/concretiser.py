"""Concretisation: abstract counterexamples, random runs and slices of the initial set, tried in exact numbers.

Each kind has a part of the time so far, so that none of them holds up the passes over the reachability graph.
"""

from __future__ import annotations

from time import monotonic

from venmas.budget import Budget, Shares
from venmas.logic import Formula
from venmas.model.evaluation.regions import contains
from venmas.model.witness.build import UndecidedError, explain
from venmas.model.witness.tree import Witness
from venmas.procedures.hybrid.trials import LEAST, MOST, Trials
from venmas.procedures.hybrid.view import Space
from venmas.procedures.reachability.concretise.candidates import candidates, point, slices, state_at, wide
from venmas.procedures.reachability.concretise.rollouts import rollouts
from venmas.procedures.reachability.concretise.single import Runs
from venmas.procedures.reachability.graph.graph import Graph

_SHARES = {"runs": 0.03, "slices": 0.03, "points": 0.1}
"""Parts of the time so far that go to random runs, to lines of the initial set, and to single states of it."""
_POINTS = 6.0
"""Seconds beyond its part that the last may take: its graph is of use only as a whole, and small (`Runs`)."""
_SLICES = 6
"""Lines, or points, of the initial set that one graph is made of: more are likelier to meet a violation in one
graph."""
_TREES = 8192
"""States of a tree that is looked for in the runs from one state, at first; twice as many where they are too few."""


class Concretiser(Trials):
    """Initial states that a graph suggests, each tried once in exact numbers."""

    def __init__(self, space: Space, target: Formula) -> None:
        super().__init__(space.system, target)
        self.space = space
        self._ledger = Shares(_SHARES, LEAST)
        self._ledger.grant("points", _POINTS)
        self._trees, self._longest = _TREES, 0.0
        """States of a tree that is looked for now; seconds that the last point took."""

    def point(self, graph: Graph, budget: Budget) -> Witness | None:
        """Try one initial state whose runs are looked at in floats before: a tree may have thousands of states."""
        if self._ledger.left("points") < 2 * self._longest:
            return None
        root, begun = point(graph), monotonic()

        def runs(limited: Budget) -> Runs | None:
            try:
                return Runs(self.space, self.target, root, limited)
            except OverflowError:
                return None

        found = self._ledger.run("points", budget, runs)
        self._longest = monotonic() - begun
        if found is None or found.excluded:
            return None
        state = state_at(graph, root.low[0], int(root.location[0]))
        if not any(contains(r, state) for r in self.system.regions):
            return None
        try:
            return explain(self.system, self.target, state, None, self._trees, budget, found.possible)
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

        found = self._ledger.run("slices", budget, refined, MOST)
        return None if found is None else self.look(candidates(found), budget)

    def rollouts(self, graph: Graph, budget: Budget) -> Witness | None:
        """Try what random runs suggest, where the root is so wide that its graph takes longer."""
        if self.branching or not wide(graph):
            return None
        found = self._ledger.run("runs", budget, lambda _: list(rollouts(graph)), MOST)
        return self.look(iter(found or ()), budget)
