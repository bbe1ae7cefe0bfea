"""Concretisation of abstract counterexamples: suggested initial states, tried in exact numbers.

Tries have parts of the time so far, so that none of them holds up the procedure that suggests them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import islice

from venmas.budget import Budget, Shares
from venmas.logic import AX, Formula, subformulas
from venmas.model.evaluation.regions import contains
from venmas.model.system.networks import networks_of
from venmas.model.system.system import System
from venmas.model.witness.build import UndecidedError, explain
from venmas.model.witness.tree import Witness

SHARES = {"search": 0.03, "paths": 0.03}
"""Parts of the time so far that go to candidates without a path, and with one."""
LEAST = 0.1
"""Seconds that each kind of tries may take beyond its part."""
MOST = 2.0
"""Seconds that each kind may take at a time."""
_QUARTER = 0.25
"""What the part of searches may grow to where they end undecided."""
_MAX_TRIES = 20
"""Candidates of one suggestion that are looked at."""
_EXACT_PRODUCTS = 1_000_000
"""Products of rationals that one try may cost, which take about a second."""


@dataclass(frozen=True)
class Candidate:
    """An initial state and the branches that its run should take."""

    state: dict[str, Fraction]
    branches: tuple[int, ...]

    @property
    def hints(self) -> dict[tuple[int, ...], int]:
        """For `venmas.model.witness.build.explain`."""
        return {self.branches[:i]: b for i, b in enumerate(self.branches)}


class Trials:
    """Candidates of a system, each tried once for a witness of `target`."""

    def __init__(self, system: System, target: Formula) -> None:
        self.system, self.target = system, target
        self._shares = Shares(SHARES, LEAST)
        self._patience = 1
        """What the budget of a search is multiplied by."""
        self._tried: set[tuple[object, ...]] = set()
        self.branching = any(isinstance(f, AX) for f in subformulas(target))
        """Is a witness a tree, so that following one path is not enough?"""

    @cached_property
    def _affordable(self) -> int:
        """States that may be stepped from in one try."""
        networks = networks_of(self.system).values()
        weights = max((sum(layer.weight.size for layer in n.layers) for n in networks), default=1)
        return _EXACT_PRODUCTS // weights

    def look(self, suggested: Iterator[Candidate], budget: Budget) -> Witness | None:
        """Try the first of some candidates."""
        whole = False
        for candidate in islice(suggested, _MAX_TRIES):
            key = (*candidate.state.values(), candidate.branches)
            if key in self._tried or not any(contains(r, candidate.state) for r in self.system.regions):
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
                    MOST,
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
        system, state = self.system, candidate.state
        try:
            return explain(system, self.target, state, candidate.hints, states, budget)
        except UndecidedError:
            if not (again and candidate.branches):
                raise
        return explain(system, self.target, state, None, states, budget)
