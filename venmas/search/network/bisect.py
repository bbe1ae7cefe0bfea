"""Deciding whether some input of a network in given boxes meets a condition: points first, then bounds and bisection.

A box is closed by a rigorous bound (`venmas.bounds.crown`), answered by a point that meets the condition exactly,
or cut in half across the input that adds most to what is open. The box whose best point is nearest to the condition
comes first. What floats cannot decide, such as a constraint that is met with equality only, goes to `exact`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from time import monotonic

import numpy as np

from venmas.bounds.compiled.load import compiled
from venmas.bounds.crown import Swept, sweep
from venmas.bounds.crown_plan import Plan
from venmas.bounds.rounding import Bools, Floats
from venmas.formats.vnnlib import Box
from venmas.search.network.falsify import Falsifier, confirm, floats

log = logging.getLogger(__name__)

Point = tuple[Fraction, ...]
Exact = Callable[[Box, float], tuple[bool, Point | None]]
"""Decides a box within seconds: whether it could, and a point that meets the condition where there is one."""

MAX_OPEN_BYTES = 250_000_000
"""Most memory for boxes that wait; copies of them come and go."""
_NUMPY_SECONDS = 1.0
"""After this long the compiled sweep is worth its loading."""
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
_FIRST_TRIAL, _SMALL = 1000, 5000
"""Boxes after which everything is tried in rationals, and the most weights of a network for which it is."""


@dataclass
class Result:
    """point: an answer, exactly; proved: there is none; neither: `why`."""

    point: Point | None = None
    proved: bool = False
    why: str = ""
    boxes: int = 0
    exact: int = 0
    compiled: bool = False


class Bisection:
    """The search over boxes of one plan."""

    def __init__(
        self,
        plan: Plan,
        boxes: Sequence[Box],
        tick: Callable[[], None],
        threads: int,
        exact: Exact,
        compiled: bool | None = None,
    ) -> None:
        """compiled: None to choose by time."""
        self.plan, self.boxes, self.tick, self.threads, self.exact = plan, boxes, tick, threads, exact
        self.result = Result()
        self._wanted = compiled
        self._kernel: Callable[..., Swept] | None = None
        self._spent = self._confirming = 0.0
        self._begun = monotonic()
        low, high = floats(boxes)
        self._low, self._high = low, high
        self._key, self._depth = np.zeros(len(low)), np.zeros(len(low), dtype=np.int64)
        self._root = np.arange(len(low))
        self._deep = 20 + 10 * low.shape[1]
        with np.errstate(all="ignore"):
            self._scale = plan.magnitude(0.5 * low + 0.5 * high)

    def run(self, falsify: bool = True) -> Result:
        """Decide; raises what `tick` raises, `result` then holds the counts."""
        if falsify:
            self.result.point = Falsifier(self.plan, self.boxes, self.tick).run()
        size, trial = 4 * self.threads, _FIRST_TRIAL
        while len(self._low) and self.result.point is None:
            self.tick()
            if 2 * self._low.nbytes + 24 * len(self._low) > MAX_OPEN_BYTES:
                self.result.why = f"{len(self._low)} boxes are open, and memory is given for no more"
                return self.result
            before = self._spent
            self._step(min(size, self._most()))
            size = size * 2 if self._spent - before < _TURN else max(self.threads, size // 2)
            if self.result.boxes >= trial and self._settle_all():
                break
            trial = trial * 4 if self.result.boxes >= trial else trial
        self.result.proved = self.result.proved or (self.result.point is None and not self.result.why)
        return self.result

    def _most(self) -> int:
        widest = int(max(self.plan.sizes.max(), 8))
        rows = 1 + self.plan.inputs + self._cap()
        return max(4, min(_MOST, _BATCH_VALUES // (widest * rows) if self._kernel is None else _MOST))

    def _cap(self) -> int:
        return int(min(self.plan.sizes[1:].sum(), 1000))

    def _step(self, size: int) -> None:
        take = np.argpartition(self._key, size)[:size] if size < len(self._key) else np.arange(len(self._key))
        low, high, depth, root = self._low[take], self._high[take], self._depth[take], self._root[take]
        keep = np.ones(len(self._key), dtype=bool)
        keep[take] = False
        swept = self._sweep(low, high)
        self.result.boxes += len(low)
        opened = ~swept.closed
        self._try(swept, root, opened)
        middle = 0.5 * low + 0.5 * high
        able = (low < middle) & (middle < high)
        hopeless = ~able.any(1) | (swept.lower > -_TIGHT * self._scale) | (depth >= self._deep)
        for i in np.flatnonzero(opened & hopeless):
            if self.result.point is not None:
                return
            if self._settled(low[i], high[i], int(root[i])):
                opened[i] = False
            elif not able[i].any():
                self.result.why = "a box of single numbers stays open: neither floats nor rationals decided it"
                opened[i] = False
        # where the influence of no input is known (an overflow), the widest is cut
        influence = np.where(able, np.nan_to_num(swept.influence, nan=0.0, posinf=0.0) + 1e-300 * (high - low), -1.0)
        axis, rows = influence.argmax(1)[opened], np.arange(int(opened.sum()))
        low, high, middle = low[opened], high[opened], middle[opened]
        left, right = high.copy(), low.copy()
        left[rows, axis] = right[rows, axis] = middle[rows, axis]
        worst = np.nan_to_num(swept.worst[opened], nan=0.0)
        self._low = np.concatenate([self._low[keep], low, right])
        self._high = np.concatenate([self._high[keep], left, high])
        self._key = np.concatenate([self._key[keep], worst, worst])
        self._depth = np.concatenate([self._depth[keep], depth[opened] + 1, depth[opened] + 1])
        self._root = np.concatenate([self._root[keep], root[opened], root[opened]])

    def _sweep(self, low: Floats, high: Floats) -> Swept:
        if self._kernel is None and self._wanted is not False and (self._wanted or self._spent > _NUMPY_SECONDS):
            fast = compiled("venmas.bounds.compiled.crown")
            self._kernel = fast.sweep if fast else sweep
            self.result.compiled = self._kernel is not sweep
        begun = monotonic()
        if self.result.compiled and self._kernel is not None:
            found = self._kernel(self.plan, low, high, self._cap(), self.threads)
        else:
            found = sweep(self.plan, low, high, self._cap())
        self._spent += monotonic() - begun
        return found

    def _try(self, swept: Swept, root: np.ndarray, opened: Bools) -> None:
        """Confirm points that floats promise, as long as that takes a part of the time only."""
        begun = monotonic()
        for i in np.flatnonzero(opened & (swept.worst <= 0))[:20]:
            now = monotonic()
            if self._confirming + now - begun > 0.1 + _EXACT_SHARE * (now - self._begun):
                break
            self.tick()
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
        self.tick()
        self.result.exact += 1
        decided, self.result.point = self.exact(box, _BOX_SECONDS)
        return decided

    def _settle_all(self) -> bool:
        """Try everything in rationals, in which ties cost nothing, as long as a part of the time."""
        if sum(layer.weight.size for layer in self.plan.network.layers) > _SMALL:
            return False
        until = monotonic() + _EXACT_SHARE * (monotonic() - self._begun)
        for box in self.boxes:
            self.result.exact += 1
            decided, self.result.point = self.exact(box, until - monotonic())
            if not decided or self.result.point is not None:
                return decided
        self.result.proved = True
        return True
