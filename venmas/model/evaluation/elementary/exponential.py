"""The exponential function, by its Taylor series near 0 and squarings."""

from __future__ import annotations

import numpy as np

from venmas.model.evaluation.elementary.function import DomainError, Floats, Increasing, Pair, narrowed

LARGEST = 1 << 14
"""Operands beyond it are refused: their values fill pages."""


def exp_enclosure(x: int, bits: int) -> Pair:
    """Ends of exp(x), in units of 2^-bits. Raises `DomainError` for an operand above `LARGEST`.

    exp(x) = exp(x / 2^k)^(2^k) for x >= 0, with all rounded down; exp(-x) = 1 / exp(x). With u = 2^-work the logarithm
    of what was lost is at most (2 n + 2) u after n terms, and 2 e + 2 u after a squaring where it was e, as values are
    1 at least; so it is at most 2^k (2 n + 4) u in the end, far below 1, and the value off by twice that, relatively.
    """
    if not x:
        return 1 << bits, 1 << bits
    whole = abs(x) >> bits
    if whole >= LARGEST:
        if x > 0:
            raise DomainError(f"exp of more than {LARGEST} is not computed")
        return 0, 1  # exp(-16384) is below 2^-4096, and units are not finer
    k = whole.bit_length() + 8
    work = bits + 2 * k + 24 + (3 * whole >> 1 if x > 0 else 0)  # e < 2^1.5: as many bits stand before the point
    low, terms = _near_zero(abs(x) << (work - bits - k), work)
    for _ in range(k):
        low = low * low >> work
    high = low - (-low * ((terms + 2) << (k + 2)) >> work)
    if x < 0:
        one = 1 << (2 * work)
        low, high = one // high, -(-one // low)
    return narrowed((low, high), work - bits)


def _near_zero(r: int, work: int) -> tuple[int, int]:
    """A lower end of exp of 0 < r < 2^-7, and the number n of terms; it is off by less than 2 n + 2 units.

    A term is off by less than (2 r + 1) / n + 1 < 2, its predecessor by less than 2 (that of n = 1 by less than 1); the
    last one is rounded to 0, and what follows it is less than 2.
    """
    low = term = 1 << work
    n = 0
    while term:
        n += 1
        term = (term * r >> work) // n
        low += term
    return low, n


class Exponential(Increasing):
    """exp: convex, and its own derivative."""

    name, ulps = "exp", 16

    def at(self, x: Floats) -> Floats:
        """See `Function`."""
        with np.errstate(over="ignore"):
            return np.exp(x)

    def value(self, x: int, bits: int) -> Pair:
        """See `Function`."""
        return exp_enclosure(x, bits)

    def slope(self, x: int, bits: int) -> Pair:
        """See `Function`."""
        return exp_enclosure(x, bits)

    def curvature(self, low: int, high: int, bits: int) -> int:
        """See `Function`."""
        return 1


EXP = Exponential()
