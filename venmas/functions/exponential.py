"""The exponential function, by its Taylor series near 0 and squarings."""

from __future__ import annotations

import numpy as np

from venmas.functions.function import DomainError, Floats, Increasing, Pair, narrowed

LARGEST = 1 << 14
"""Operands beyond it are refused: their values fill pages."""


def exp_enclosure(x: int, bits: int) -> Pair:
    """Ends of exp(x), in units of 2^-bits. Raises `DomainError` for an operand above `LARGEST`.

    exp(x) = exp(x / 2^k)^(2^k) for x >= 0, with all terms positive: lower ends are rounded down throughout and upper
    ones up. Each squaring doubles the relative error, whence the k guard bits; exp(-x) = 1 / exp(x).
    """
    whole = abs(x) >> bits
    if whole >= LARGEST:
        if x > 0:
            raise DomainError(f"exp of more than {LARGEST} is not computed")
        return 0, 1  # exp(-16384) is below 2^-4096, and units are not finer
    k = whole.bit_length() + 8
    work = bits + 2 * k + 24 + (3 * whole >> 1 if x > 0 else 0)  # e < 2^1.5: as many bits stand before the point
    low, high = _near_zero(abs(x) << (work - bits - k), work)
    for _ in range(k):
        low, high = low * low >> work, -(-high * high >> work)
    if x < 0:
        one = 1 << (2 * work)
        low, high = one // high, -(-one // low)
    return narrowed((low, high), work - bits)


def _near_zero(r: int, work: int) -> Pair:
    """exp of 0 <= r < 2^-7. What follows a term t is at most t r / n (1 + r + ..) < 2 t r / n, and r / n < 1/2."""
    low = high = 1 << work
    least = most = 1 << work
    n = 0
    while most > 1:
        n += 1
        least = (least * r >> work) // n
        most = -((-most * r >> work) // n)
        low, high = low + least, high + most
        if not r:
            return low, low
    return low, high + most


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
