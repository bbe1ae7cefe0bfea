"""Batched linear bounds with rigorous rounding: the numbers behind every bound method.

A quantity of a batch of B abstract states is enclosed by two affine forms in m *roots*, the free initial variables
scaled to [-1, 1]: ``low . (1, s) <= q <= upp . (1, s)`` for every s in [-1, 1]^m, and by an interval [lo, hi]. This is
the domain of DeepPoly (Singh et al., POPL 2019) with bounds in the roots alone; with m = 0 it is interval arithmetic.
Rounding errors are bounded as `venmas.bounds.rounding` derives and widen the constants, so the bounds hold for the
real-valued function of the stored numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from venmas.bounds.relaxation import chord, rounding
from venmas.bounds.rounding import SMALLEST_NORMAL, TINY, Bools, Floats, float_beside, gamma, outward
from venmas.budget import ask

_MOST_GAPS, _CANDIDATES = 1 << 21, 32
"""Coefficients of cases that are compared with those of others in one go; cases whose linear part is tried."""


@dataclass(frozen=True, eq=False)
class Quantity:
    """Bounds of one scalar in B states: `low`, `upp` (B, m+1), constant first; `lo`, `hi` (B,).

    `values` lists the finitely many values it can take at all, `possible` (B, V) which of them are possible in a state.
    """

    low: Floats
    upp: Floats
    lo: Floats
    hi: Floats
    values: tuple[Fraction, ...] | None = None
    possible: Bools | None = None

    def rows(self, index: NDArray[np.intp]) -> Quantity:
        """The same quantity in the states `index` picks."""
        possible = None if self.possible is None else self.possible[index]
        return Quantity(self.low[index], self.upp[index], self.lo[index], self.hi[index], self.values, possible)


def magnitude(low: Floats, upp: Floats) -> Floats:
    """Greatest absolute value that either form can take: (..., m+1) -> (...)."""
    size: Floats = np.maximum(np.abs(low).sum(-1), np.abs(upp).sum(-1))
    return size


def size_of(low: Floats, upp: Floats, lo: Floats, hi: Floats) -> Floats:
    """Greatest absolute value that the forms or the interval reach: what rounding errors are relative to."""
    return np.maximum(magnitude(low, upp), np.maximum(np.abs(lo), np.abs(hi)))


def concretize(low: Floats, upp: Floats) -> tuple[Floats, Floats]:
    """Interval of two forms over all roots in [-1, 1], rounded outward; infinite where floats overflow."""
    below, above = np.abs(low), np.abs(upp)
    error = gamma(low.shape[-1])
    lo = low[..., 0] - below[..., 1:].sum(-1) - error * below.sum(-1) - TINY
    hi = upp[..., 0] + above[..., 1:].sum(-1) + error * above.sum(-1) + TINY
    return outward(lo, hi)


def widen(low: Floats, upp: Floats, error: Floats) -> None:
    """Move the constants of freshly computed forms outward by `error`, in place."""
    low[..., 0] -= error + TINY
    upp[..., 0] += error + TINY


def settle(low: Floats, upp: Floats, lo: Floats | None = None, hi: Floats | None = None) -> Quantity:
    """A quantity from forms and, where known, an interval; the tighter of the two is kept."""
    form_lo, form_hi = concretize(low, upp)
    return Quantity(
        low, upp, form_lo if lo is None else np.fmax(form_lo, lo), form_hi if hi is None else np.fmin(form_hi, hi)
    )


def constant(value: Fraction, batch: int, roots: int) -> Quantity:
    """A number; a rational between two floats is enclosed by them."""
    low_value, upp_value = float_beside(value, -1), float_beside(value, 1)
    low, upp = np.zeros((batch, roots + 1)), np.zeros((batch, roots + 1))
    low[:, 0], upp[:, 0] = low_value, upp_value
    ones = np.ones((batch, 1), dtype=bool)
    return Quantity(low, upp, low[:, 0].copy(), upp[:, 0].copy(), (value,), ones)


def affine(terms: Sequence[tuple[Fraction, Quantity]], offset: Fraction) -> Quantity:
    """``sum(coefficient * quantity) + offset``."""
    first = terms[0][1]
    low, upp = np.zeros_like(first.low), np.zeros_like(first.upp)
    lo, hi = np.zeros_like(first.lo), np.zeros_like(first.hi)
    base = float(offset)
    size = np.full(first.lo.shape, abs(base))
    low[:, 0], upp[:, 0], lo[:], hi[:] = base, base, base, base
    for coefficient, q in terms:
        c = float(coefficient)
        low += c * (q.low if c >= 0 else q.upp)
        upp += c * (q.upp if c >= 0 else q.low)
        lo += c * (q.lo if c >= 0 else q.hi)
        hi += c * (q.hi if c >= 0 else q.lo)
        size += max(abs(c), SMALLEST_NORMAL) * size_of(q.low, q.upp, q.lo, q.hi)
    if len(terms) == 1 and not offset and abs(terms[0][0]) == 1:
        return Quantity(low, upp, lo, hi)  # a sign rounds nothing
    # gamma covers the products, the sums and the rounding of the rational coefficients to floats
    error = gamma(2 * len(terms) + 2) * size
    widen(low, upp, error)
    return settle(low, upp, lo - error - TINY, hi + error + TINY)


def finite(quantity: Quantity, values: tuple[Fraction, ...], possible: Bools) -> Quantity:
    """`quantity` known to be one of `values`; a state with a single possible value gets that value as its form."""
    down, up = _enclosed(values)
    fits: Bools = possible & (up >= quantity.lo[:, None]) & (down <= quantity.hi[:, None])
    # bounds that contradict each other mark a state that can not be reached: any superset is right there
    possible = np.asarray(np.where(np.asarray(fits.any(1))[:, None], fits, True))
    lo = np.where(possible, down, np.inf).min(1)
    hi = np.where(possible, up, -np.inf).max(1)
    low, upp = quantity.low, quantity.upp
    single: Bools = np.asarray(possible.sum(1) == 1)
    return Quantity(*pinned(low, upp, lo, hi, single), lo, hi, values, possible)


@lru_cache(maxsize=4096)
def _enclosed(values: tuple[Fraction, ...]) -> tuple[Floats, Floats]:
    """The floats next to rationals, below and above."""
    return np.array([float_beside(v, -1) for v in values]), np.array([float_beside(v, 1) for v in values])


def pinned(low: Floats, upp: Floats, lo: Floats, hi: Floats, point: Bools) -> tuple[Floats, Floats]:
    """The forms with those of the states in `point` replaced by their interval, which is a single value."""
    if not point.any():
        return low, upp
    low, upp = low.copy(), upp.copy()
    low[point], upp[point] = 0.0, 0.0
    low[point, 0], upp[point, 0] = lo[point], hi[point]
    return low, upp


def join(cases: Sequence[Quantity], possible: Bools) -> Quantity:
    """Hull: the quantity is one of the cases that are `possible` (B, C) in a state.

    With one possible case its forms are kept. With several, each case's own linear part is tried as the common one (of
    many cases, some), moved until it bounds every possible case; the tightest at the centre is kept (a constant is
    tried as well).
    """
    lows, upps = np.stack([c.low for c in cases], 1), np.stack([c.upp for c in cases], 1)
    los = np.where(possible, np.stack([c.lo for c in cases], 1), np.inf).min(1)
    his = np.where(possible, np.stack([c.hi for c in cases], 1), -np.inf).max(1)
    return settle(_common(lows, possible, los), -_common(-upps, possible, -his), los, his)


def _common(lows: Floats, possible: Bools, floor: Floats) -> Floats:
    """One affine form below all possible ones: (B, C, m+1), (B, C), (B,) -> (B, m+1)."""
    batch, cases, width = lows.shape
    rows, tried = np.arange(batch), np.broadcast_to(np.arange(cases), possible.shape)
    if cases > _CANDIDATES:  # evenly among the possible ones
        evenly = np.arange(_CANDIDATES) * possible.sum(1)[:, None] // _CANDIDATES
        tried = np.take_along_axis(np.argsort(~possible, 1, kind="stable"), evenly, 1)
    slopes = np.concatenate([lows[rows[:, None], tried, 1:], np.zeros((batch, 1, width - 1))], 1)
    turn, count = max(1, _MOST_GAPS // (lows.size or 1)), slopes.shape[1]
    offsets = np.concatenate([_offsets(lows, possible, slopes[:, i : i + turn]) for i in range(0, count, turn)], 1)
    offsets[:, -1] = np.maximum(offsets[:, -1], floor)  # the constant candidate may use the interval
    offsets[:, :-1][~np.take_along_axis(possible, tried, 1)] = -np.inf
    best = offsets.argmax(1)
    return np.concatenate([offsets[rows, best][:, None], slopes[rows, best]], 1)


def _offsets(lows: Floats, possible: Bools, slopes: Floats) -> Floats:
    """Constants (B, K) with which forms of some slopes (B, K, m) are below all possible ones."""
    ask()
    gaps = lows[:, None, :, 1:] - slopes[:, :, None, :]  # candidate, case
    size = np.abs(lows).sum(-1)[:, None, :] + np.abs(slopes).sum(-1)[:, :, None]
    offsets = lows[:, None, :, 0] - np.abs(gaps).sum(-1) - 2 * gamma(lows.shape[-1]) * size - TINY
    return np.asarray(np.where(possible[:, None, :], offsets, np.inf).min(-1))


def relu(low: Floats, upp: Floats, lo: Floats, hi: Floats) -> tuple[Floats, Floats]:
    """Forms below and above ``max(z, 0)`` for z between the forms and in [lo, hi]; any leading shape.

    The relaxation of DeepPoly (see `venmas.bounds.relaxation`). Upper: the chord of ReLU over the range of the upper
    form. Lower: the lower form itself, or 0, whichever leaves the smaller area.
    """
    upp_lo, _ = concretize(upp, upp)
    _, low_hi = concretize(low, low)
    slope, lift = chord(upp_lo, hi)
    new_upp = slope[..., None] * upp
    new_upp[..., 0] += np.where(lift > 0, lift + rounding(np.abs(upp).sum(-1), lift), 0.0)
    keep = (lo >= 0) | ((low_hi > 0) & (low_hi > -lo))
    return np.where(keep[..., None], low, 0.0), new_upp
