"""Deciding whether some input of a program in given boxes meets its condition: points, bounds, and bisection.

A box is closed by a rigorous bound (`venmas.bounds.crown`), answered by a point that meets the condition exactly,
shrunk to what open groups leave of it, or cut in half across the input that adds most to what is open. Groups that are
closed stay closed in both halves. The box whose best point is nearest to the condition comes first. What floats cannot
decide, such as a constraint that is met with equality only, goes to `exact`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from venmas.bounds.compiled.load import beside, compiled
from venmas.bounds.crown import Swept, sweep
from venmas.bounds.crown_plan import Plan
from venmas.bounds.crown_slopes import ROUNDS
from venmas.bounds.rounding import Bools, Floats, Ints
from venmas.model.transform.program import Box
from venmas.procedures.branch_and_bound.falsify import confirm, floats, glance
from venmas.procedures.branch_and_bound.tree import Recorder

log = logging.getLogger(__name__)

Point = tuple[Fraction, ...]
Exact = Callable[[Box, float], tuple[bool, Point | None]]
"""Decides a box within seconds: whether it could, and a point that meets the condition where there is one."""

Falsify = Callable[[Plan, Sequence[Box], Callable[[], None]], Point | None]
"""Looks for a point of the boxes that meets the condition."""

_SYMBOLS, _FEW_SYMBOLS = 1000, 200
"""Most symbols of a box; and as many as it has where more did not close more boxes of a sweep."""
_COMPARED = 64
"""Boxes after which that is tried, and again after eight times as many."""
_GAIN = 1.02
"""How many times as many boxes more symbols have to close for that."""
MAX_OPEN_BYTES = 250_000_000
"""Most memory for boxes that wait; copies of them come and go."""
_NUMPY_SECONDS = 0.6
"""Seconds of sweeps in numpy by this process, all searches together, after which the compiled one is worth loading."""
_PATIENCE = 0.5
"""Seconds that are waited for it. A process of its own compiles it, where it has to be; numpy goes on meanwhile."""
_TURN = 0.5
"""Seconds of a sweep, in which nobody looks at the clock, above which the next one has fewer boxes."""
_BATCH_VALUES = 2_000_000
_MOST = 1024
_TIGHT = 1e-10
"""Part of a goal's size: when a bound is that close to deciding, halving the box tells nothing new."""
_EXACT_SHARE = 0.3
"""Part of the time that exact trials of points, or of everything, may take."""
_BOX_SECONDS = 2.0
"""Time for one small box in rationals."""
_EARLY = 16
"""Boxes beyond the first ones before a search for points, which costs as much as some of them."""
_FIRST_TRIAL, _SMALL = 1000, 5000
"""Boxes after which everything is tried in rationals, and the most weights of a program for which it is."""
_SHRUNK = 0.7
"""A box that is left with at most this part of its volume is bounded again before it is cut."""


@dataclass
class Result:
    """point: an answer, exactly; proved: there is none; neither: `why`."""

    point: Point | None = None
    proved: bool = False
    why: str = ""
    boxes: int = 0
    exact: int = 0
    compiled: bool = False


@dataclass(eq=False)
class _Open:
    """Boxes that wait: low, high (B, m), open groups (B, G), and (B,) by box: the key, the least of which comes first,
    how often it was cut, the box that was asked about which it is a part of, and its node in the tree."""

    low: Floats
    high: Floats
    groups: Bools
    key: Floats
    depth: Ints
    root: Ints
    node: Ints

    def __len__(self) -> int:
        return len(self.key)

    @property
    def bytes(self) -> int:
        """Memory, about."""
        return 2 * self.low.nbytes + self.groups.nbytes + 24 * len(self)

    def at(self, index: Bools | Ints) -> _Open:
        """Copies of some of them."""
        return _Open(*(array[index] for array in self._arrays()))

    def take(self, size: int) -> _Open:
        """Those that come first, which do not wait any more."""
        first = np.argpartition(self.key, size)[:size] if size < len(self) else np.arange(len(self))
        found, rest = self.at(first), np.ones(len(self), dtype=bool)
        rest[first] = False
        self._set([array[rest] for array in self._arrays()])
        return found

    def add(self, others: _Open) -> None:
        """More that wait."""
        pairs = zip(self._arrays(), others._arrays(), strict=True)
        self._set([np.concatenate(pair) for pair in pairs])

    def _arrays(self) -> list[NDArray[Any]]:
        return [self.low, self.high, self.groups, self.key, self.depth, self.root, self.node]

    def _set(self, arrays: Sequence[NDArray[Any]]) -> None:
        self.low, self.high, self.groups, self.key, self.depth, self.root, self.node = arrays


class Bisection:
    """The search over boxes of one plan."""

    numpy_seconds = 0.0
    """Of sweeps in this process."""

    def __init__(
        self,
        plan: Plan,
        boxes: Sequence[Box],
        tick: Callable[[], None],
        threads: int,
        exact: Exact | None,
        compiled: bool | None = None,
        recorder: Recorder | None = None,
    ) -> None:
        """exact: None where nothing decides in rationals. compiled: None to choose by time. recorder: is told what
        becomes of the one box."""
        self.plan, self.boxes, self.tick, self.threads, self.exact = plan, boxes, tick, threads, exact
        self.result, self._recorder = Result(), recorder
        self.steady = tick
        """Asked where a step is not to be ended by a share of the time."""
        self._wanted = compiled
        self._kernel: Callable[..., Swept] | None = None
        self._spent = self._confirming = 0.0
        self._waited = False
        self._many, self._compared = False, _COMPARED  # are there many symbols, and when that is asked next
        self._begun = monotonic()
        low, high = floats(boxes)
        self._open = _Open(
            low,
            high,
            np.ones((len(low), plan.groups), dtype=bool),
            np.zeros(len(low)),
            np.zeros(len(low), dtype=np.int64),
            np.arange(len(low)),
            np.zeros(len(low), dtype=np.int64),
        )
        self._deep = 20 + 10 * low.shape[1]
        self._size: int | None = None
        """Boxes at a time; None before the first look."""
        self._early: int | None = None
        """Boxes after which points are looked for; None where they were."""
        self._trial = _FIRST_TRIAL
        with np.errstate(all="ignore"):
            self._scale = plan.magnitude(0.5 * low + 0.5 * high)

    def run(self, falsify: Falsify | None = None) -> Result:
        """Decide, or go on; raises what `tick` raises, `result` then holds the counts. falsify: looks for a point
        first."""
        several = self.plan.source.steps > 1
        if self._size is None:
            self.tick()
            if falsify is not None:
                self.result.point = glance(self.plan, self.boxes)
            if self.result.point is None:
                self._step(min(len(self._open), self._most()))
            self._size, self._early = 4 * self.threads, self.result.boxes + _EARLY
        while len(self._open) and self.result.point is None:
            self.tick()
            if falsify is not None and self._early is not None and self.result.boxes >= self._early:
                self.result.point, self._early = falsify(self.plan, self.boxes, self.steady), None
                continue
            if self._open.bytes > MAX_OPEN_BYTES:
                self.result.why = f"{len(self._open)} boxes are open, and memory is given for no more"
                return self.result
            before = self._spent
            self._step(min(self._size, self._most()))
            self._size = self._size * 2 if self._spent - before < _TURN else max(self.threads, self._size // 2)
            if not several and self.result.boxes >= self._trial and self._settle_all():
                break
            self._trial = self._trial * 4 if self.result.boxes >= self._trial else self._trial
        self.result.proved = self.result.proved or (self.result.point is None and not self.result.why)
        return self.result

    @property
    def refuted(self) -> float:
        """The part of its boxes that is refuted, a cut counted as two halves."""
        return 1 - float((0.5**self._open.depth).sum()) / len(self.boxes)

    def waiting(self, root: int) -> list[Box]:
        """The boxes that wait of one of the boxes: answers lie in them, or in none that was looked at."""
        mine = self._open.root == root
        if self.result.why:  # what is given up does not wait
            return [self.boxes[root]]
        ends = zip(self._open.low[mine].tolist(), self._open.high[mine].tolist(), strict=True)
        return [self._inside(root, low, high) for low, high in ends]

    def hull(self, root: int) -> Box:
        """The least box around what waits of one of the boxes: answers lie in it, or in none that was looked at."""
        mine = self._open.root == root
        if self.result.why or not mine.any():  # what is given up does not wait
            return self.boxes[root]
        return self._inside(root, self._open.low[mine].min(0).tolist(), self._open.high[mine].max(0).tolist())

    def _inside(self, root: int, low: list[float], high: list[float]) -> Box:
        sides = zip(low, high, self.boxes[root], strict=True)
        return tuple((max(Fraction(a), c), min(Fraction(b), d)) for a, b, (c, d) in sides)

    def _most(self) -> int:
        widest = int(max(self.plan.sizes.max(), 8))
        rows = 1 + self.plan.inputs + self._cap()
        return max(4, min(_MOST, _BATCH_VALUES // (widest * rows) if self._kernel is None else _MOST))

    def _cap(self) -> int:
        return min(self.plan.symbols, _SYMBOLS if self._many else _FEW_SYMBOLS)

    def _step(self, size: int) -> None:
        taken = self._open.take(size)
        try:
            self._work(taken)
        except BaseException:
            self._open.add(taken)  # what is not done still waits
            raise

    def _work(self, taken: _Open) -> None:
        swept = self._sweep(taken)
        self.result.boxes += len(taken)
        opened = ~swept.closed
        self._try(swept, taken.root, opened)
        with np.errstate(all="ignore"):
            kept = np.nan_to_num((swept.high - swept.low) / (taken.high - taken.low), nan=1.0).prod(1) <= _SHRUNK
        taken.low, taken.high, taken.groups = swept.low, swept.high, swept.opened
        taken.key = np.nan_to_num(swept.worst, nan=0.0)
        middle = 0.5 * taken.low + 0.5 * taken.high
        able = (taken.low < middle) & (middle < taken.high)
        hopeless = ~able.any(1) | (swept.lower > -_TIGHT * self._scale) | (taken.depth >= self._deep)
        for i in np.flatnonzero(opened & hopeless):
            if self.result.point is not None:
                return
            if self._settled(taken.low[i], taken.high[i], int(taken.root[i])):
                opened[i] = False
            elif not able[i].any():
                self.result.why = "a box of single numbers stays open: neither floats nor rationals decided it"
                opened[i] = False
        if self._recorder is not None:
            for k in np.flatnonzero(opened).tolist():
                taken.node[k] = self._recorder.shrunk(int(taken.node[k]), taken.low[k], taken.high[k])
        self._open.add(taken.at(opened & kept))
        halved = opened & ~kept
        # where the influence of no input is known (an overflow), the widest is cut
        influence = np.nan_to_num(swept.influence, nan=0.0, posinf=0.0) + 1e-300 * (taken.high - taken.low)
        axis, rows = np.where(able, influence, -1.0).argmax(1)[halved], np.arange(int(halved.sum()))
        taken.depth = taken.depth + 1
        left, right, middle = taken.at(halved), taken.at(halved), middle[halved]
        left.high[rows, axis] = right.low[rows, axis] = middle[rows, axis]
        if self._recorder is not None:
            for k, across in enumerate(axis.tolist()):
                left.node[k] = self._recorder.halved(int(left.node[k]), across, float(middle[k, across]))
            right.node = left.node + 1
        self._open.add(left)
        self._open.add(right)

    def _sweep(self, taken: _Open) -> Swept:
        worth = self._wanted or Bisection.numpy_seconds > _NUMPY_SECONDS
        if self._kernel is None and self._wanted is not False and worth:
            self._load(taken)
        begun = monotonic()
        found = self._bounds(taken)
        if self.result.boxes >= self._compared and not self._many and self.plan.symbols > _FEW_SYMBOLS:
            self._compared = 8 * (self.result.boxes + len(taken))
            self._many = True
            more = self._bounds(taken)
            self._many = more.closed.sum() >= _GAIN * found.closed.sum() + 1
            found = more
        if not self.result.compiled:
            Bisection.numpy_seconds += monotonic() - begun
        self._spent += monotonic() - begun
        return found

    def _load(self, taken: _Open) -> None:
        """Go on with compiled code, once it is there; where nothing was compiled yet, that is begun apart from this."""
        name, low, high, groups = "venmas.bounds.compiled.apart", taken.low[:1], taken.high[:1], taken.groups[:1]

        def first() -> None:
            apart = compiled(name)
            if apart is not None and apart.cached():
                apart.sweep(self.plan, low, high, 1, 1, groups)
            elif apart is not None:
                apart.compile_apart()

        if self._wanted or beside(name, first, 0.0 if self._waited else _PATIENCE):
            apart = compiled(name)
            if apart is None:
                self._kernel = sweep
            elif self._wanted or apart.cached():
                self._kernel, self.result.compiled = apart.sweep, True
        self._waited = True

    def _bounds(self, taken: _Open) -> Swept:
        # with a recorder, boxes are to be closed as the checker closes them; the first look is to be cheap
        rounds = ROUNDS if self._recorder is None and self.result.boxes else 0
        if self.result.compiled and self._kernel is not None:
            return self._kernel(
                self.plan, taken.low, taken.high, self._cap(), self.threads, taken.groups, rounds=rounds
            )
        return sweep(self.plan, taken.low, taken.high, self._cap(), taken.groups, rounds=rounds)

    def _try(self, swept: Swept, root: np.ndarray, opened: Bools) -> None:
        """Confirm points that floats promise, as long as that takes a part of the time only."""
        begun = monotonic()
        for i in np.flatnonzero(opened & (swept.worst <= 0))[:20]:
            now = monotonic()
            if self._confirming + now - begun > 0.1 + _EXACT_SHARE * (now - self._begun):
                break
            self.steady()
            self.result.point = confirm(self.plan, self.boxes[root[i]], swept.tried[i])
            if self.result.point is not None:
                break
        self._confirming += monotonic() - begun

    def _settled(self, low: Floats, high: Floats, root: int) -> bool:
        """Decide a small box exactly."""
        box = tuple(
            (max(Fraction(a), c), min(Fraction(b), d))
            for a, b, (c, d) in zip(low.tolist(), high.tolist(), self.boxes[root], strict=True)
        )
        if any(a > b for a, b in box):
            return True
        if self.exact is None:
            return False
        self.steady()
        self.result.exact += 1
        decided, self.result.point = self.exact(box, _BOX_SECONDS)
        return decided

    def _settle_all(self) -> bool:
        """Try everything in rationals, in which ties cost nothing, as long as a part of the time."""
        if self.exact is None or sum(layer.weights.size for layer in self.plan.source.layers) > _SMALL:
            return False
        until = monotonic() + _EXACT_SHARE * (monotonic() - self._begun)
        for box in self.boxes:
            self.result.exact += 1
            decided, self.result.point = self.exact(box, until - monotonic())
            if not decided or self.result.point is not None:
                return decided
        self.result.proved = True
        return True
