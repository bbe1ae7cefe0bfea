"""Values of an expression between samples, over affine forms: its Taylor series over slices of a flow, all at once.

With coefficients a_k of t**k, a slice of middle m and half width d has, for |s| <= d,

    sum_k a_k (m + s)**k = sum_k a_k m**k + sum_{j>=1} s**j sum_{k>=j} binomial(k, j) m**(k-j) a_k

of which the first sum is kept as a form, and each other one bounded by its size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import comb

import numpy as np

from venmas.bounds.affine.boxes import Box
from venmas.bounds.affine.forms import Form, Forms
from venmas.bounds.rounding import FEW, SMALLEST_NORMAL, TINY, Floats, gamma


@dataclass(frozen=True)
class Curve:
    """Enclosures of an expression along a flow: z (N, B, 1+k) and e (N, B), over N slices, or at N times."""

    z: Floats
    e: Floats

    def ends(self, slope: Floats) -> tuple[Floats, Floats]:
        """The intervals, (N, B) twice, less a linear part, (B, 1+k) with a constant of 0."""
        n, size, _ = self.z.shape
        z = self.z - slope
        dust = FEW * (np.abs(self.z).sum(2) + np.abs(slope).sum(1)) + TINY
        low, high = Form(z.reshape(n * size, -1), (self.e + dust).reshape(-1)).ends
        return low.reshape(n, size), high.reshape(n, size)


def together(parts: Sequence[Curve]) -> Curve:
    """The slices of several parts."""
    return Curve(np.concatenate([part.z for part in parts]), np.concatenate([part.e for part in parts]))


def over(
    ring: Forms, symbols: int, length: Fraction, slices: int, known: Sequence[Form | None], rest: Box | None
) -> Curve:
    """Over equal slices of a part of so many seconds.

    symbols: how many the result has. known: coefficients; rest: of the power after theirs.
    """
    p, (rows, ends) = len(known), _slices(length, slices, len(known))
    z, e = (part.reshape(slices, p, *part.shape[1:]) for part in _combined(ring, symbols, rows, known))
    spread = (np.abs(z[:, 1:]).sum(3) + e[:, 1:]).sum(1)
    if rest is not None:
        spread = spread + ends[:, None] * rest.size * (1 + (p + 2) * FEW)
    return Curve(z[:, 0], (e[:, 0] + spread * (1 + 2 * gamma(z.shape[3] + p))) * (1 + FEW) + TINY)


def at(
    ring: Forms, symbols: int, length: Fraction, slices: int, known: Sequence[Form | None], rest: Box | None
) -> Curve:
    """At the ends of the slices, the start of the first one included; symbols, known, rest: as above."""
    last = None if rest is None else Form(rest.mid[:, None], rest.rad)
    return Curve(*_combined(ring, symbols, _times(length, slices, len(known)), [*known, last]))


@lru_cache(maxsize=64)
def _slices(length: Fraction, slices: int, p: int) -> tuple[Floats, Floats]:
    """Factors of p coefficients, p rows a slice: those of s**j, times what its size is at most; ends to the power p, or
    a little more."""
    half = length / (2 * slices)
    middles = [(2 * i + 1) * half for i in range(slices)]
    rows = [[half**j * comb(k, j) * m ** max(k - j, 0) for k in range(p)] for m in middles for j in range(p)]
    return _floats(rows), np.array([max(float((m + half) ** p), SMALLEST_NORMAL) for m in middles])


@lru_cache(maxsize=64)
def _times(length: Fraction, slices: int, p: int) -> Floats:
    """Powers 0 to p of the ends of slices, a row each."""
    return _floats([[(length * i / slices) ** k for k in range(p + 1)] for i in range(slices + 1)])


def _floats(rows: Sequence[Sequence[Fraction]]) -> Floats:
    return np.array([[float(value) for value in row] for row in rows])


def _combined(ring: Forms, symbols: int, factors: Floats, known: Sequence[Form | None]) -> tuple[Floats, Floats]:
    """Linear combinations of forms, their rational factors rounded, a row each: z (N, B, 1+k) and e (N, B)."""
    n, places = len(factors), [k for k, form in enumerate(known) if form is not None]
    forms = [form for form in known if form is not None]
    if not forms:
        return np.zeros((n, ring.size, 1 + symbols)), np.zeros((n, ring.size))
    factors = factors[:, places]
    z = factors @ np.stack([form.wide(symbols) for form in forms]).reshape(len(forms), -1)
    sizes = np.abs(factors)
    mass = np.maximum(sizes, SMALLEST_NORMAL) @ np.stack([form.mass for form in forms])
    e = sizes @ np.stack([form.e for form in forms]) + (gamma(2 * len(forms) + 3) * mass + TINY)
    return z.reshape(n, ring.size, 1 + symbols), e
