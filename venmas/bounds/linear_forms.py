"""Batched linear bounds with rigorous rounding: the numbers behind every bound method.

A quantity of a batch of B abstract states is enclosed by two affine forms in m *roots*, the free initial variables
scaled to [-1, 1]: ``low . (1, s) <= q <= upp . (1, s)`` for every s in [-1, 1]^m, and by an interval [lo, hi]. With
m = 0 this is interval arithmetic. Rounding errors are bounded a priori (Higham, *Accuracy and Stability of Numerical
Algorithms*, 2nd ed., Lemma 3.1: gamma_n = n u / (1 - n u)) and widen the constants, so the bounds hold for the
real-valued function of the stored numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from venmas.budget import ask

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

UNIT_ROUNDOFF = 2.0**-53
_NORMAL = 2.0**-1022  # a coefficient below it may have lost all its digits
_TINY = 5e-324 * 2**10  # absorbs underflow, which relative error bounds do not cover

_MOST_GAPS = 1 << 21
"""Coefficients of cases that are compared with those of others in one go."""


def gamma(n: int) -> float:
    """Relative error bound of a sum or inner product of n terms, with a margin for the operations around it."""
    return (n + 4) * UNIT_ROUNDOFF / (1 - (n + 4) * UNIT_ROUNDOFF)


def float_beside(value: Fraction, direction: int) -> float:
    """The float next to a rational that is not above it (direction -1), or not below it (1)."""
    near = float(value)
    beyond = Fraction(near) >= value if direction > 0 else Fraction(near) <= value
    return near if beyond else float(np.nextafter(near, direction * np.inf))


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


def concretize(low: Floats, upp: Floats) -> tuple[Floats, Floats]:
    """Interval of two forms over all roots in [-1, 1], rounded outward; infinite where floats overflow."""
    below, above = np.abs(low), np.abs(upp)
    error = gamma(low.shape[-1])
    lo = low[..., 0] - below[..., 1:].sum(-1) - error * below.sum(-1) - _TINY
    hi = upp[..., 0] + above[..., 1:].sum(-1) + error * above.sum(-1) + _TINY
    return np.where(np.isnan(lo), -np.inf, lo), np.where(np.isnan(hi), np.inf, hi)


def widen(low: Floats, upp: Floats, error: Floats) -> None:
    """Move the constants of freshly computed forms outward by `error`, in place."""
    low[..., 0] -= error + _TINY
    upp[..., 0] += error + _TINY


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
        size += max(abs(c), _NORMAL) * np.maximum(magnitude(q.low, q.upp), np.maximum(np.abs(q.lo), np.abs(q.hi)))
    if len(terms) == 1 and not offset and abs(terms[0][0]) == 1:
        return Quantity(low, upp, lo, hi)  # a sign rounds nothing
    # gamma covers the products, the sums and the rounding of the rational coefficients to floats
    error = gamma(2 * len(terms) + 2) * size
    widen(low, upp, error)
    return settle(low, upp, lo - error - _TINY, hi + error + _TINY)


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

    With one possible case its forms are kept. With several, each case's own linear part is tried as the common one,
    moved until it bounds every possible case; the tightest at the centre is kept (a constant is tried as well).
    """
    lows, upps = np.stack([c.low for c in cases], 1), np.stack([c.upp for c in cases], 1)
    los = np.where(possible, np.stack([c.lo for c in cases], 1), np.inf).min(1)
    his = np.where(possible, np.stack([c.hi for c in cases], 1), -np.inf).max(1)
    return settle(_common(lows, possible, los), -_common(-upps, possible, -his), los, his)


def _common(lows: Floats, possible: Bools, floor: Floats) -> Floats:
    """One affine form below all possible ones: (B, C, m+1), (B, C), (B,) -> (B, m+1)."""
    batch, cases, width = lows.shape
    slopes = np.concatenate([lows[:, :, 1:], np.zeros((batch, 1, width - 1))], 1)
    turn = max(1, _MOST_GAPS // (lows.size or 1))
    offsets = np.concatenate([_offsets(lows, possible, slopes[:, i : i + turn]) for i in range(0, cases + 1, turn)], 1)
    offsets[:, -1] = np.maximum(offsets[:, -1], floor)  # the constant candidate may use the interval
    offsets[:, :-1][~possible] = -np.inf
    best = offsets.argmax(1)
    rows = np.arange(batch)
    return np.concatenate([offsets[rows, best][:, None], slopes[rows, best]], 1)


def _offsets(lows: Floats, possible: Bools, slopes: Floats) -> Floats:
    """Constants (B, K) with which forms of some slopes (B, K, m) are below all possible ones."""
    ask()
    gaps = lows[:, None, :, 1:] - slopes[:, :, None, :]  # candidate, case
    size = np.abs(lows).sum(-1)[:, None, :] + np.abs(slopes).sum(-1)[:, :, None]
    offsets = lows[:, None, :, 0] - np.abs(gaps).sum(-1) - 2 * gamma(lows.shape[-1]) * size - _TINY
    return np.asarray(np.where(possible[:, None, :], offsets, np.inf).min(-1))


def relu(low: Floats, upp: Floats, lo: Floats, hi: Floats) -> tuple[Floats, Floats]:
    """Forms below and above ``max(z, 0)`` for z between the forms and in [lo, hi]; any leading shape.

    Upper: the chord of ReLU over the range of the upper form. Lower: the lower form itself, or 0, whichever leaves the
    smaller area (Singh et al., *An abstract domain for certifying neural networks*, POPL 2019, section 3).
    """
    upp_lo, _ = concretize(upp, upp)
    _, low_hi = concretize(low, low)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        slope = np.where(upp_lo >= 0, 1.0, np.where(hi <= 0, 0.0, hi / (hi - upp_lo)))
    slope = np.clip(np.nan_to_num(slope, nan=1.0), 0.0, 1.0)
    lift = np.maximum(-slope * upp_lo, (1 - slope) * hi)  # the least offset that makes the line bound both end points
    lift = np.where((upp_lo >= 0) | (hi <= 0), 0.0, lift + 4 * UNIT_ROUNDOFF * (np.abs(upp_lo) + np.abs(hi)))
    new_upp = slope[..., None] * upp
    new_upp[..., 0] += lift
    keep = (lo >= 0) | ((low_hi > 0) & (low_hi > -lo))
    new_low = np.where(keep[..., None], low, 0.0)
    touched = (slope > 0) & (slope < 1)
    error = np.where(touched, 4 * UNIT_ROUNDOFF * (np.abs(upp).sum(-1) + lift), 0.0)
    new_upp[..., 0] += error
    return new_low, new_upp
