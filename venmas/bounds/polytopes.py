"""Batches of polytopes of initial states, with quantities that are affine on each of them, and cutting them.

A polytope is the hull of exact points. For each of them x holds, in floats and up to an error, the value of a quantity
q. Write a point of the polytope as any convex combination of these points: the value of q there is the same combination
of x, plus (sum of r_k t_k) + d for some t_k in [-1, 1] and some abs(d) <= e. Apart from errors of its own q is affine;
at a vertex this affine function differs from x by at most the sum of all abs(r_k), plus e. Rounding errors are bounded
as in `venmas.bounds.zonotope`.

In at most two dimensions the points are in their order round a polygon (a segment has two, a point one). A cut is made
along a chord between exact points of two edges: both parts have these points, so rounding leaves no gap between them.
In more dimensions a cut is a hyperplane on which the affine function of a quantity has a value that it has at no
vertex: floats tell on which side each of them is, so that the polytope stays simple, and two vertices are ends of an
edge where they have all but one of their facets in common (Ziegler, *Lectures on Polytopes*, section 3.4).
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from venmas.bounds.rounding import TINY, Bools, Floats, Index, gamma
from venmas.budget import ask
from venmas.logic.linear import Relation

Masks = NDArray[np.uint64]
_Number = TypeVar("_Number", np.float64, np.uint64)

MOST = 1 << 22
"""Numbers at vertices that a batch may come to."""
_PAIRS = 1 << 22
"""Pairs of vertices that are looked at in one go."""
_CERTAIN = 8
"""Errors of a value by which it has to differ from that of a cut."""


@dataclass(frozen=True, eq=False)
class Polytopes:
    """x (B, V, C): C quantities at up to V vertices, of which `count` (B,) are there, the others repeat the last.

    dimension: of the polytopes. facets: (B, V), those that a vertex is on, as bits. r: (B, K, C); e: (B, C), not
    negative; path: (B, T), the branch that was taken at a step.
    """

    dimension: int
    x: Floats
    count: Index
    facets: Masks
    r: Floats
    e: Floats
    path: Index

    def __len__(self) -> int:
        return len(self.count)

    @property
    def width(self) -> int:
        """Number of quantities."""
        return int(self.x.shape[2])

    def take(self, rows: Index | Bools | slice) -> Polytopes:
        """Some of the polytopes."""
        if not isinstance(rows, slice) and rows.dtype == bool:
            rows = np.flatnonzero(rows)
        rest = self.facets[rows], self.r[rows], self.e[rows], self.path[rows]
        return Polytopes(self.dimension, self.x[rows], self.count[rows], *rest)

    def head(self, width: int, roots: int) -> Polytopes:
        """The first quantities alone, and what of r they need."""
        return self._valued(self.x[:, :, :width], self.r[:, :roots, :width], self.e[:, :width])

    def quantities(self, at: Sequence[int]) -> Polytopes:
        """Some quantities alone, in that order."""
        return self._valued(self.x[:, :, at], self.r[:, :, at], self.e[:, at])

    def _valued(self, x: Floats, r: Floats, e: Floats) -> Polytopes:
        return Polytopes(self.dimension, x, self.count, self.facets, r, e, self.path)

    def radius(self) -> Floats:
        """(B, C): how far a quantity may be from what floats hold for it."""
        return np.asarray((np.abs(self.r).sum(1) + self.e) * (1 + gamma(self.r.shape[1] + 2)))

    def ranges(self, at: slice | Sequence[int]) -> tuple[Floats, Floats]:
        """Intervals of some quantities, (B, n) twice, rounded outward; NaN where floats overflowed."""
        low, high, radius = self.x[:, :, at].min(1), self.x[:, :, at].max(1), self.radius()[:, at]
        return low - radius - _rounding(low, radius), high + radius + _rounding(high, radius)

    def affine(
        self,
        at: slice | Sequence[int],
        weight: Floats,
        bias: Floats,
        weight_error: float = 0.0,
        bias_error: Floats | float = 0.0,
        keep: int | None = None,
    ) -> Polytopes:
        """The first `keep` quantities, or all, and ``weight @ q + bias`` of the quantities `at` after them.

        weight: (m, n), off by `weight_error` relative to its size; bias: (m,), off by `bias_error`.
        """
        ask()
        x, r, e = self.x[:, :, at], self.r[:, :, at], self.e[:, at]
        size, n = np.abs(weight), weight.shape[1]
        mass = np.abs(x).max(1) + np.abs(r).sum(1) + e
        slack = gamma(n + r.shape[1] + 2) + weight_error
        slack = slack * mass + np.where(mass > 0, TINY, 0.0)  # what underflows here may meet a huge weight
        error = ((e + slack) @ size.T + gamma(2) * np.abs(bias) + TINY * (n + 1)) * (1 + gamma(n + 4))
        error = np.where(size.any(1), error, 0.0) + bias_error  # nothing but the bias is exact
        return self._more(x @ weight.T + bias, r @ weight.T, error, keep)

    def _more(self, x: Floats, r: Floats, e: Floats, keep: int | None = None) -> Polytopes:
        old = self.x[:, :, :keep], self.r[:, :, :keep], self.e[:, :keep]
        return self._valued(*(np.concatenate(pair, -1) for pair in zip(old, (x, r, e), strict=True)))

    def constant(self, values: Floats) -> Polytopes:
        """With exact numbers (B, m) as further quantities."""
        x = np.repeat(values[:, None], self.x.shape[1], 1)
        return self._more(x, np.zeros((len(self), self.r.shape[1], values.shape[1])), np.zeros(values.shape))

    def rooted(self, at: Sequence[int]) -> Polytopes:
        """With the errors of some quantities as further t_k: what follows from them linearly may cancel again."""
        r, e = np.zeros((len(self), len(at), self.width)), self.e.copy()
        r[:, np.arange(len(at)), at] = e[:, at]
        e[:, at] = 0.0
        return self._valued(self.x, np.concatenate([self.r, r], 1), e)

    def relu(self, at: slice) -> Polytopes:
        """With ``max(q, 0)`` in place of quantities that were cut at 0: q or 0, and what that may be off."""
        low, high = self.x[:, :, at].min(1), self.x[:, :, at].max(1)
        active = high > -low
        least, most = self.ranges(at)
        x, r, e = self.x.copy(), self.r.copy(), self.e.copy()
        x[:, :, at] *= active[:, None]
        r[:, :, at] *= active[:, None]
        off = np.where(active, e[:, at] + np.maximum(-least, 0.0), np.maximum(most, 0.0))
        e[:, at] = off * (1 + gamma(2))
        return self._valued(x, r, e)

    def slack(self, at: slice | int) -> Floats:
        """Size below which a quantity counts as having no sign: more than a cut rounds.

        Only progress rests on this number: what is sound rests on `ranges`, whatever the slack. A cut at q = 0 leaves a
        new vertex at which q is off by the rounding of an interpolation, ``gamma(6) * 2 * size`` or 20 u size at most,
        and enlarges `off` by as much. ``gamma(60)``, 64 u, is three times that, and 4 off is four times the radius: a
        quantity that was just cut is not cut there again. In three or more dimensions a cut may also be moved by
        `_CERTAIN` errors, for each vertex that is in its way.
        """
        off, size = self.radius()[:, at], np.abs(self.x[:, :, at]).max(1)
        certain = 0.0 if self.dimension <= 2 else _CERTAIN * (self.x.shape[1] + 2) * (off + gamma(4) * size + TINY)
        return np.asarray(4 * off + gamma(60) * size + certain + 4 * TINY)

    def may(self, at: int, relation: Relation) -> Polytopes:
        """The parts in which a quantity may be ``< 0``, ``<= 0``, ..; parts of what may be otherwise are cut off."""
        if relation is Relation.EQ:
            return self.may(at, Relation.LE).may(at, Relation.GE)
        least, most = (end[:, 0] for end in self.ranges([at]))
        if relation is Relation.NE:
            return self.take((least != 0) | (most != 0))
        sign = 1.0 if relation in (Relation.GT, Relation.GE) else -1.0
        top = most if sign > 0 else -least
        part = self.take(~(top < 0) if relation in (Relation.GE, Relation.LE) else ~(top <= 0))
        s, slack = sign * part.x[:, :, at], part.slack(at)
        mixed = (s.min(1) < -2 * slack) & (s.max(1) > -slack)
        if not mixed.any():
            return part
        some = part.take(mixed)
        kept, gone = some.cut(s[mixed] + slack[mixed, None], some.radius()[:, at])
        least, most = (end[:, 0] for end in gone.ranges([at]))
        whole = ~((most if sign > 0 else -least) < 0)  # no more than rounding tells the two apart
        return joined([part.take(~mixed), kept.take(~whole), some.take(whole)])

    def cut(self, s: Floats, off: Floats) -> tuple[Polytopes, Polytopes]:
        """The parts on either side of where a function is about 0: that where it is positive comes first.

        s: (B, V), a quantity or its negative, and a number a row: positive at some vertices, negative at others.
        off: (B,), the radius of that quantity.
        """
        if self.dimension <= 2:
            return self._chord(s)
        step = max(1, _PAIRS // self.x.shape[1] ** 2)
        parts = [slice(first, first + step) for first in range(0, len(self), step)]
        planes = [self.take(rows)._plane(s[rows], off[rows]) for rows in parts]
        return joined([a for a, _ in planes]), joined([b for _, b in planes])

    def _chord(self, s: Floats) -> tuple[Polytopes, Polytopes]:
        """Any values at the vertices make a valid cut."""
        size, most, _ = self.x.shape
        rows, order = np.arange(size), np.arange(most)[None]
        count = self.count[:, None]
        there = order < count
        # vertices in their order from the greatest on
        start = np.where(there, s, -np.inf).argmax(1)
        turned = np.where(there, (start[:, None] + order) % count, 0)
        x = np.take_along_axis(self.x, turned[:, :, None], 1)
        s = np.where(there, np.take_along_axis(s, turned, 1), np.inf)
        below = s < 0
        first, last = below.argmax(1), most - 1 - below[:, ::-1].argmax(1)
        after = (last + 1) % self.count

        def between(a: Index, b: Index) -> Floats:
            part = s[rows, a] / (s[rows, a] - s[rows, b])
            return np.asarray(x[rows, a] + (x[rows, b] - x[rows, a]) * part[:, None])

        every = np.concatenate([x, between(first - 1, first)[:, None], between(after, last)[:, None]], 1)
        # an interpolation rounds a difference, the share, a product and a sum of numbers below 2 max(abs(x)); with the
        # factor a radius still grows where what is added to it is below half its last place
        error = (self.e + gamma(6) * 2 * np.abs(x).max(1) + TINY) * (1 + gamma(2))
        order = np.arange(most + 2)[None]
        one, other = first[:, None], last[:, None]
        single = self.count == 2  # both ends of the chord are one point of a segment
        kept = np.where(order < one, order, np.where(order < one + 2, order - one + most, order + other - one - 1))
        gone = np.where(order == 0, most, np.where(order <= other - one + 1, order + one - 1, most + 1))
        sizes = (first + 1 + self.count - last - single, last - first + 3 - single)
        parts = []
        for which, number in zip((kept, gone), sizes, strict=True):
            ends = np.minimum(np.arange(int(number.max()))[None], number[:, None] - 1)
            places = np.take_along_axis(which, ends, 1)
            vertices = np.take_along_axis(every, places[:, :, None], 1)
            parts.append(replace(self, x=vertices, count=number, e=error, facets=np.zeros(places.shape, np.uint64)))
        return parts[0], parts[1]

    def _plane(self, s: Floats, off: Floats) -> tuple[Polytopes, Polytopes]:
        """By the hyperplane next to s = 0 that all vertices keep off."""
        ask()
        there = np.arange(self.x.shape[1])[None] < self.count[:, None]
        off = off + gamma(4) * np.abs(s).max(1) + TINY
        s = _shifted(s, there, _CERTAIN * off)
        above, below = there & (s > 0), there & (s < 0)
        common = self.facets[:, :, None] & self.facets[:, None]
        edges = above[:, :, None] & below[:, None] & (np.bitwise_count(common) >= self.dimension - 1)
        b, i, j = np.nonzero(edges)
        used = np.bitwise_or.reduce(self.facets, 1)
        bit = ~used & (used + np.uint64(1))
        if not bit.all():
            raise OverflowError("too many facets")
        length, across = s[b, i] - s[b, j], self.x[b, j] - self.x[b, i]
        points = self.x[b, i] + across * (s[b, i] / length)[:, None]
        # how far the exact point of the edge may be from there, as a part of the edge
        share = off[b] / (length - 2 * off[b]) * (1 + gamma(6)) + gamma(4)
        moved = np.zeros(self.e.shape)
        np.maximum.at(moved, b, np.abs(across) * share[:, None])
        error = (self.e + moved + gamma(8) * 2 * np.abs(self.x).max(1) + TINY) * (1 + gamma(6))
        masks = common[b, i, j] | bit[b]
        parts = []
        for side in (above, below):
            row, vertex = np.nonzero(side)
            every = np.concatenate([row, b])
            number = np.bincount(every, minlength=len(self))
            order = np.argsort(every, kind="stable")
            first = np.cumsum(number) - number
            ends = np.minimum(np.arange(int(number.max()))[None], number[:, None] - 1)
            places = order[first[:, None] + ends]
            x = np.concatenate([self.x[row, vertex], points])[places]
            facets = np.concatenate([self.facets[row, vertex], masks])[places]
            parts.append(replace(self, x=x, count=number, facets=facets, e=error))
        return parts[0], parts[1]


def _shifted(s: Floats, there: Bools, margin: Floats) -> Floats:
    """Values less the number next to 0, between two of them, that differs from all by a margin (B,)."""
    near = there & (np.abs(s) <= margin[:, None])
    if not near.any():
        return s
    ordered = np.sort(np.where(there, s, np.inf), 1)
    least = 1.25 * margin[:, None]
    with np.errstate(invalid="ignore"):
        low, high = ordered[:, :-1] + least, ordered[:, 1:] - least
        levels = np.where(np.isfinite(high) & (low < high), np.clip(0.0, low, high), np.inf)
    which = np.abs(levels).argmin(1)
    level = np.where(near.any(1), levels[np.arange(len(s)), which], 0.0)
    if not np.isfinite(level).all():
        raise OverflowError("vertices cannot be told apart")
    return np.asarray(s - level[:, None])


def _rounding(value: Floats, radius: Floats) -> Floats:
    return np.where(radius == 0, 0.0, gamma(2) * (np.abs(value) + radius) + TINY)


def joined(parts: Sequence[Polytopes]) -> Polytopes:
    """Several batches of the same quantities as one. Raises `OverflowError` beyond `MOST` numbers."""
    some = [p for p in parts if len(p)] or list(parts[:1])
    if len(some) == 1:
        return some[0]
    if sum(p.x.size for p in some) > MOST:
        raise OverflowError("too many polytopes")
    most, roots = max(p.x.shape[1] for p in some), max(p.r.shape[1] for p in some)
    return Polytopes(
        some[0].dimension,
        np.concatenate([_longer(p.x, most, p.x[:, -1:]) for p in some]),
        np.concatenate([p.count for p in some]),
        np.concatenate([_longer(p.facets, most, p.facets[:, -1:]) for p in some]),
        np.concatenate([_longer(p.r, roots, np.zeros((len(p), 1, p.width))) for p in some]),
        np.concatenate([p.e for p in some]),
        np.concatenate([p.path for p in some]),
    )


def _longer(values: NDArray[_Number], size: int, by: NDArray[_Number]) -> NDArray[_Number]:
    missing = size - values.shape[1]
    return np.concatenate([values, np.repeat(by, missing, 1)], 1) if missing else values


def settled(polytopes: Polytopes, at: slice) -> Generator[None, None, Polytopes]:
    """Polytopes cut until none of some quantities changes its sign on any. Raises `OverflowError` as `joined` does."""
    done = [polytopes.take(slice(0, 0))]
    while len(polytopes):
        some, polytopes = _cut_at_zero(polytopes, at)
        done.append(some)
        if sum(p.x.size for p in (*done, polytopes)) > MOST:
            raise OverflowError("too many polytopes")
        yield
    return joined(done)


def _cut_at_zero(polytopes: Polytopes, at: slice) -> tuple[Polytopes, Polytopes]:
    """(settled, cut): those on which no quantity changes its sign, and the others, each cut by one that does."""
    low, high = polytopes.x[:, :, at].min(1), polytopes.x[:, :, at].max(1)
    both = np.where(np.minimum(-low, high) > polytopes.slack(at), np.minimum(-low, high), 0.0)
    which = both.argmax(1)
    mixed = both[np.arange(len(polytopes)), which] > 0
    if not mixed.any():
        return polytopes, polytopes.take(slice(0, 0))
    some, which = polytopes.take(mixed), which[mixed]
    s = np.take_along_axis(some.x[:, :, at], which[:, None, None], 2)[:, :, 0]
    off = np.take_along_axis(some.radius()[:, at], which[:, None], 1)[:, 0]
    return polytopes.take(~mixed), joined(some.cut(s, off))
