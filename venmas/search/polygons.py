"""Batches of convex polygons of initial states, with quantities that are affine on each of them, and cutting them.

A polygon is the hull of exact points, in their order round it; a segment has two of them, and a point one. For a
quantity q there is an affine function g of the points with q = g + (sum of r_k t_k) + d for some t_k in [-1, 1] and
some d, where what floats hold for g at the vertices is off by some f, and abs(d) + abs(f) <= e. A cut is made along a
chord between exact points of two edges, so that nothing is lost between the two parts, wherever rounding moved the
chord. Rounding errors are bounded as in `venmas.search.forms`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from venmas.bounds.forms import _TINY, Bools, Floats, gamma
from venmas.linear import Relation
from venmas.search.boxes import Index


@dataclass(frozen=True, eq=False)
class Polygons:
    """x (B, V, C): C quantities at up to V vertices, of which `count` (B,) are there, the others repeat the last.

    r: (B, K, C); e: (B, C), not negative; path: (B, T), the branch that was taken at a step.
    """

    x: Floats
    count: Index
    r: Floats
    e: Floats
    path: Index

    def __len__(self) -> int:
        return len(self.count)

    @property
    def width(self) -> int:
        """Number of quantities."""
        return int(self.x.shape[2])

    def take(self, rows: Index | Bools | slice) -> Polygons:
        """Some of the polygons."""
        return Polygons(self.x[rows], self.count[rows], self.r[rows], self.e[rows], self.path[rows])

    def head(self, width: int, roots: int) -> Polygons:
        """The first quantities alone, and what of r they need."""
        return Polygons(self.x[:, :, :width], self.count, self.r[:, :roots, :width], self.e[:, :width], self.path)

    def quantities(self, at: Sequence[int]) -> Polygons:
        """Some quantities alone, in that order."""
        return Polygons(self.x[:, :, at], self.count, self.r[:, :, at], self.e[:, at], self.path)

    def radius(self) -> Floats:
        """(B, C): how far a quantity may be from what floats hold for it."""
        return np.asarray((np.abs(self.r).sum(1) + self.e) * (1 + gamma(self.r.shape[1] + 2)))

    def ranges(self, at: slice | Sequence[int]) -> tuple[Floats, Floats]:
        """Intervals of some quantities, (B, n) twice, rounded outward; NaN where floats overflowed."""
        low, high, radius = self.x[:, :, at].min(1), self.x[:, :, at].max(1), self.radius()[:, at]
        return low - radius - _rounding(low, radius), high + radius + _rounding(high, radius)

    def affine(
        self,
        at: Sequence[int],
        weight: Floats,
        bias: Floats,
        weight_error: float = 0.0,
        bias_error: Floats | float = 0.0,
        keep: int | None = None,
    ) -> Polygons:
        """The first `keep` quantities, or all, and ``weight @ q + bias`` of the quantities `at` after them.

        weight: (m, n), off by `weight_error` relative to its size; bias: (m,), off by `bias_error`.
        """
        x, r, e = self.x[:, :, at], self.r[:, :, at], self.e[:, at]
        size, n = np.abs(weight), weight.shape[1]
        mass = np.abs(x).max(1) + np.abs(r).sum(1) + e
        slack = gamma(n + r.shape[1] + 2) + weight_error
        error = ((e + slack * mass) @ size.T + gamma(2) * np.abs(bias) + _TINY * (n + 1)) * (1 + gamma(n + 4))
        error = np.where(size.any(1), error, 0.0) + bias_error  # nothing but the bias is exact
        new = x @ weight.T + bias, r @ weight.T, error
        old = self.x[:, :, :keep], self.r[:, :, :keep], self.e[:, :keep]
        parts = [np.concatenate(pair, -1) for pair in zip(old, new, strict=True)]
        return Polygons(parts[0], self.count, parts[1], parts[2], self.path)

    def constant(self, values: Floats) -> Polygons:
        """With exact numbers (B, m) as further quantities."""
        x = np.concatenate([self.x, np.repeat(values[:, None], self.x.shape[1], 1)], 2)
        r = np.concatenate([self.r, np.zeros((len(self), self.r.shape[1], values.shape[1]))], 2)
        return Polygons(x, self.count, r, np.concatenate([self.e, np.zeros(values.shape)], 1), self.path)

    def rooted(self, at: Sequence[int]) -> Polygons:
        """With the errors of some quantities as further t_k: what follows from them linearly may cancel again."""
        r = np.zeros((len(self), len(at), self.width))
        e = self.e.copy()
        r[:, np.arange(len(at)), at] = e[:, at]
        e[:, at] = 0.0
        return Polygons(self.x, self.count, np.concatenate([self.r, r], 1), e, self.path)

    def relu(self, at: slice) -> Polygons:
        """With ``max(q, 0)`` in place of quantities that were cut at 0: q or 0, and what that may be off."""
        low, high = self.x[:, :, at].min(1), self.x[:, :, at].max(1)
        active = high > -low
        least, most = self.ranges(at)
        x, r, e = self.x.copy(), self.r.copy(), self.e.copy()
        x[:, :, at] *= active[:, None]
        r[:, :, at] *= active[:, None]
        off = np.where(active, e[:, at] + np.maximum(-least, 0.0), np.maximum(most, 0.0))
        e[:, at] = off * (1 + gamma(2))
        return Polygons(x, self.count, r, e, self.path)

    def slack(self, at: slice | int) -> Floats:
        """How near to 0 a quantity may be everywhere before it counts as having no sign: more than a cut rounds."""
        size = np.abs(self.x[:, :, at]).max(1)
        return np.asarray(4 * self.radius()[:, at] + gamma(60) * size + 4 * _TINY)

    def may(self, at: int, relation: Relation) -> Polygons:
        """The parts in which a quantity may be ``< 0``, ``<= 0``, ..; parts of what may be otherwise are cut off."""
        if relation is Relation.EQ:
            return self.may(at, Relation.LE).may(at, Relation.GE)
        least, most = (end[:, 0] for end in self.ranges([at]))
        if relation is Relation.NE:
            return self.take((least != 0) | (most != 0))
        sign = 1.0 if relation in (Relation.GT, Relation.GE) else -1.0
        top = most if sign > 0 else -least
        found = self.take(~(top < 0) if relation in (Relation.GE, Relation.LE) else ~(top <= 0))
        s, slack = sign * found.x[:, :, at], found.slack(at)
        mixed = (s.min(1) < -2 * slack) & (s.max(1) > -slack)
        if not mixed.any():
            return found
        some = found.take(mixed)
        kept, gone = cut(some, s[mixed] + slack[mixed, None])
        least, most = (end[:, 0] for end in gone.ranges([at]))
        whole = ~((most if sign > 0 else -least) < 0)  # no more than rounding tells the two apart
        return joined([found.take(~mixed), kept.take(~whole), some.take(whole)])


def _rounding(value: Floats, radius: Floats) -> Floats:
    return np.where(radius == 0, 0.0, gamma(2) * (np.abs(value) + radius) + _TINY)


def joined(parts: Sequence[Polygons]) -> Polygons:
    """Several batches of the same quantities as one."""
    some = [p for p in parts if len(p)] or list(parts[:1])
    if len(some) == 1:
        return some[0]
    most, roots = max(p.x.shape[1] for p in some), max(p.r.shape[1] for p in some)
    return Polygons(
        np.concatenate([_longer(p.x, most, p.x[:, -1:]) for p in some]),
        np.concatenate([p.count for p in some]),
        np.concatenate([_longer(p.r, roots, np.zeros((len(p), 1, p.width))) for p in some]),
        np.concatenate([p.e for p in some]),
        np.concatenate([p.path for p in some]),
    )


def _longer(values: Floats, size: int, by: Floats) -> Floats:
    missing = size - values.shape[1]
    return np.concatenate([values, np.repeat(by, missing, 1)], 1) if missing else values


def cut(polygons: Polygons, s: Floats) -> tuple[Polygons, Polygons]:
    """The parts on either side of a chord, near to where an affine function is 0: its positive part comes first.

    s: (B, V), the function at the vertices, positive at some and negative at others; any values make a valid cut.
    """
    size, most, _ = polygons.x.shape
    rows, order = np.arange(size), np.arange(most)[None]
    count = polygons.count[:, None]
    there = order < count
    # vertices in their order from the greatest on
    start = np.where(there, s, -np.inf).argmax(1)
    turned = np.where(there, (start[:, None] + order) % count, 0)
    x = np.take_along_axis(polygons.x, turned[:, :, None], 1)
    s = np.where(there, np.take_along_axis(s, turned, 1), np.inf)
    below = s < 0
    first, last = below.argmax(1), most - 1 - below[:, ::-1].argmax(1)
    after = (last + 1) % polygons.count

    def between(a: Index, b: Index) -> Floats:
        part = s[rows, a] / (s[rows, a] - s[rows, b])
        return np.asarray(x[rows, a] + (x[rows, b] - x[rows, a]) * part[:, None])

    every = np.concatenate([x, between(first - 1, first)[:, None], between(after, last)[:, None]], 1)
    error = polygons.e + gamma(6) * 2 * np.abs(x).max(1) + _TINY
    order = np.arange(most + 2)[None]
    one, other = first[:, None], last[:, None]
    single = polygons.count == 2  # both ends of the chord are one point of a segment
    kept = np.where(order < one, order, np.where(order < one + 2, order - one + most, order + other - one - 1))
    gone = np.where(order == 0, most, np.where(order <= other - one + 1, order + one - 1, most + 1))
    sizes = (first + 1 + polygons.count - last - single, last - first + 3 - single)
    return _picked(polygons, every, error, kept, sizes[0]), _picked(polygons, every, error, gone, sizes[1])


def _picked(polygons: Polygons, every: Floats, error: Floats, which: Index, count: Index) -> Polygons:
    ends = np.minimum(np.arange(int(count.max()))[None], count[:, None] - 1)
    places = np.take_along_axis(which, ends, 1)
    x = np.take_along_axis(every, places[:, :, None], 1)
    return Polygons(x, count, polygons.r, error, polygons.path)


def cut_at_zero(polygons: Polygons, at: slice) -> tuple[Polygons, Polygons]:
    """(settled, cut): those on which no quantity changes its sign, and the others, each cut by one that does."""
    low, high = polygons.x[:, :, at].min(1), polygons.x[:, :, at].max(1)
    both = np.where(np.minimum(-low, high) > polygons.slack(at), np.minimum(-low, high), 0.0)
    which = both.argmax(1)
    mixed = both[np.arange(len(polygons)), which] > 0
    if not mixed.any():
        return polygons, polygons.take(mixed)
    some, which = polygons.take(mixed), which[mixed]
    s = np.take_along_axis(some.x[:, :, at], which[:, None, None], 2)[:, :, 0]
    return polygons.take(~mixed), joined(cut(some, s))
