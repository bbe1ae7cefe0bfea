"""Rounds of tries: covers of one part of a loop on finer and finer grids, in the frames that led farthest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from venmas.bounds.rounding import Floats
from venmas.budget import Budget
from venmas.procedures.covers.following import Following
from venmas.procedures.covers.frame import Frame, frames
from venmas.procedures.covers.layers import CoarseError

_ALONG, _ALONG_MANY = (2, 3, 5, 8, 12, 18, 27, 40, 60, 90, 135, 200), (3, 5, 8, 12, 15, 20, 27, 40, 60, 90)
"""Cells along what runs reach of a coordinate, of few of them and of many."""
_MANY = 4
"""Coordinates that are many: finer grids take long."""
_STRIDES = (1, 2, 4)
_WAYS = (5, 4, 3, 2)
"""Frames with numbers of steps at a time that are tried on the second grid, the third, .."""
_LONGER, _WAITING = 2, 6
"""Covers that go on in the next round, and those that may in a later one."""
_FEW, _OPEN = 0.005, 0.1
"""Shares of sets that are open, up to which cells that lead to them are cut: at once, and where none is farther, if
there are many coordinates or no finer grid."""
_BEHIND, _FULL = 2 / 3, 8
"""Part of the steps of the way that led farthest twice, below which others are given up, where coordinates are many;
and the times as long that it goes on then as others would."""
_FAR = 60
"""Steps that are expected where all are asked about."""
_FIRST = 0.3
"""Seconds for a cover on the first grid; on each finer one, twice as many."""


class Way(NamedTuple):
    """A grid: the number of the frame, steps at a time, and cells along each coordinate."""

    frame: int
    stride: int
    along: int


@dataclass
class _Try:
    """A cover on a grid. reached: the step after which it was too coarse, or is, and less the share of sets that were
    open, all where they were too many.

    open: share of the sets that are open where it was too coarse; refined: are cells cut there?
    """

    way: tuple[Frame, int]
    along: int
    cover: Following
    reached: tuple[int, float] = (0, 0.0)
    coarse: bool = False
    open: float = 0.0
    refined: bool = False
    spent: float = 0.0

    @property
    def expected(self) -> float:
        """Seconds that it takes in all, about."""
        last = self.cover.task.last
        return self.spent * max(1.0, (_FAR if last is None else last) / max(1, self.reached[0]))


class Rounds:
    """The rounds of some variables. runs: sampled ones (T, B, n). cover: makes the one of a frame, of steps at a time,
    and of cells along each coordinate. last, way: the one that was followed last, and its grid. only: the grid, if
    there is one alone."""

    def __init__(
        self,
        names: Sequence[str],
        runs: Floats,
        cover: Callable[[Frame, int, int, Floats], Following],
        only: Way | None = None,
    ) -> None:
        self._runs, self._cover, self._many = runs, cover, len(names) >= _MANY
        self.last: Following | None = None
        self.way = Way(0, 1, 0)
        self.reached: tuple[int, frozenset[str]] | None = None
        """Steps up to which the cover that went farthest shows it, and what may leave its range there."""
        self._frames = frames(names, runs)
        self._ways = [(frame, stride) for frame in self._frames for stride in _STRIDES]
        self._along: Sequence[int] = _ALONG_MANY if self._many else _ALONG
        if only is not None:
            self._ways, self._along = [(self._frames[only.frame], only.stride)], (only.along,)
        self._round = 0
        self._seconds = _FIRST
        """Of a cover in this round."""
        self._tries = self._on(self._along[0])
        self._waiting: list[_Try] = []
        self._reached: dict[tuple[Frame, int], dict[int, tuple[int, float]]] = {}
        """How far a way led, on each grid."""
        self._best: tuple[Frame, int] | None = None
        self._lost: set[tuple[Frame, int]] = set()
        """The way that led farthest by the round before, and those far behind it."""
        self._number, self._leads = 0, False
        """Those of the round, those that wait for another one, the number of the one at hand, and whether the first is
        expected to end."""
        self._left = self._slot

    @property
    def proved(self) -> float:
        """Part of its time that is over, if the cover that is expected to end first ends as expected."""
        left = [one.expected - one.spent for one in self._tries if one.spent and not one.coarse]
        spent = sum(one.spent for one in self._tries)
        return spent / (spent + min(left)) if left else 0.0

    def covered(self, budget: Budget) -> Following | None:
        """The cover that shows it; None where not even the finest grids do. It goes on where a budget ended."""
        while self._tries:
            if self._number == len(self._tries):
                self._next()
                continue
            one = self._tries[self._number]
            done = self._tried(one, budget)
            self.last = one.cover
            self.way = Way(self._frames.index(one.way[0]), one.way[1], one.along)
            self._number += 1
            self._left = self._slot
            if done:
                return one.cover
        return None

    def _tried(self, one: _Try, budget: Budget) -> bool:
        """Does a cover show it in its part of the time?"""
        begun, cover = budget.spent, one.cover
        try:
            done = budget.spend(self._left, lambda part: _followed(one, part))
        except CoarseError as error:
            if error.step >= one.reached[0]:
                one.reached = error.step, -error.share or -1.0
            one.coarse, one.open = True, error.share
            return False
        finally:  # also where the turn ends sooner
            self._left -= budget.spent - begun
            one.spent += budget.spent - begun
            if cover.shown > (0 if self.reached is None else self.reached[0]):
                self.reached = cover.shown, frozenset(cover.leaving)
        one.reached, one.coarse = max(one.reached, (cover.step, 0.0)), done is not None
        return bool(done)

    def _next(self) -> None:
        """The next round: what takes longer, and the ways that led farthest on a finer grid."""
        last = [one for one in self._tries if one.along == self._along[min(self._round, len(self._along) - 1)]]
        best = sorted(last, key=lambda one: one.reached, reverse=True)
        known = [*self._tries, *self._waiting]
        # a finer grid leads farther, and more often to the end; so does a way that led farther on another one
        for one in known:
            self._reached.setdefault(one.way, {})[one.along] = one.reached
        before, self._best = self._best, max(self._reached, key=self._led)
        given_up = set[tuple[Frame, int]]()
        if self._many:
            behind = {way for way in self._reached if self._behind(way)}
            given_up, self._lost = behind if self._best == before else behind & self._lost, behind
            known = [one for one in known if one.way not in given_up and one.along >= self._farthest(one.way)]
        ways = [one.way for one in best if one.way not in given_up] or [self._best]
        self._ways = self._kept(ways, _WAYS[min(self._round, len(_WAYS) - 1)])
        going = [one for one in known if not one.coarse]
        going.sort(key=lambda one: (one.along, self._led(one.way)), reverse=True)
        coarse = [one for one in known if one.coarse and 0 < one.open <= _OPEN and not one.refined]
        coarse.sort(key=lambda one: one.reached, reverse=True)
        if not self._many and self._round + 1 < len(self._along):
            coarse = []  # a finer grid takes less time than many cuts
        longer = [*going[:_LONGER], *coarse[:1]]
        for one in coarse[:1]:
            one.refined = True
        self._waiting = [*going[_LONGER:], *coarse[1:]][:_WAITING]
        self._round, self._number, self._seconds = self._round + 1, 0, 2 * self._seconds
        self._leads = bool(longer) and not longer[0].coarse
        self._tries = longer + (self._on(self._along[self._round]) if self._round < len(self._along) else [])
        self._left = self._slot

    def _farthest(self, way: tuple[Frame, int]) -> int:
        """The finest grid of those on which a way led farthest."""
        return max((reached[0], along) for along, reached in self._reached[way].items())[1]

    def _led(self, way: tuple[Frame, int]) -> tuple[int, float]:
        """Steps that it led to there, and less the open share."""
        return self._reached[way][self._farthest(way)]

    def _behind(self, way: tuple[Frame, int]) -> bool:
        """Did the best way lead much farther, or is much less open where both ended?"""
        assert self._best is not None
        (step, less), (most, least) = self._led(way), self._led(self._best)
        return less * _BEHIND < least < 0 if step == most else step < _BEHIND * most

    @property
    def _slot(self) -> float:
        """Seconds of the cover at hand: half of the round, at least, for the one that goes on and leads farthest."""
        if not self._leads or self._number:
            return self._seconds
        return self._seconds * (_FULL if self._many else max(1, len(self._tries) - 1))

    def _kept(self, ways: Sequence[tuple[Frame, int]], count: int) -> list[tuple[Frame, int]]:
        """The first ways, among them one step at a time along variables: it loses most on a coarse grid, least on a
        fine one."""
        single = next((way for way in ways if way[0] is self._frames[0] and way[1] == 1), None)
        kept = list(ways[:count])
        return kept if single is None or single in kept else [*kept[: max(1, count - 1)], single]

    def _on(self, along: int) -> list[_Try]:
        return [_Try(way, along, self._cover(*way, along, self._runs)) for way in self._ways]


def _followed(one: _Try, budget: Budget) -> bool:
    cover = one.cover
    if one.coarse and not cover.back(one.open):
        raise CoarseError(one.reached[0], one.open)
    one.coarse = False
    while True:
        try:
            while not cover.advance(budget):
                pass
            return True
        except CoarseError as error:
            if error.share > (_OPEN if one.refined else _FEW) or not cover.back(error.share):
                raise
