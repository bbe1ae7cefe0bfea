"""Products of integers in floats, rounding and scaling: what `kernel` is made of, compiled into it."""
# mypy: disable-error-code="no-untyped-def, untyped-decorator, assignment"
# numba infers the types

from __future__ import annotations

from pathlib import Path

import numpy as np
from numba import njit

from venmas.runtime.extras import forget_stale

forget_stale(Path(__file__).parent)  # `kernel` imports this module before it is compiled

HALF_27, LOW_27, LOW_19, LOW_30 = 1 << 26, (1 << 27) - 1, (1 << 19) - 1, (1 << 30) - 1
CHUNK = 128
_EXACT = {"contract", "reassoc", "nsz"}


@njit(nogil=True, cache=True, inline="always")
def total(s00, s01, s10, s11, add, shift):
    """``floor((s00 + 2**19 s01 + 2**27 s10 + 2**46 s11 + add) / 2**shift)`` for shift <= 46."""
    total = s00 + add
    if shift >= 27:
        total = (total >> 19) + s01
        total = (total >> 8) + s10
        return (total >> (shift - 27)) + (s11 << (46 - shift))
    if shift >= 19:
        total = (total >> 19) + s01
        return (total >> (shift - 19)) + (s10 << (27 - shift)) + (s11 << (46 - shift))
    return (total >> shift) + (s01 << (19 - shift)) + (s10 << (27 - shift)) + (s11 << (46 - shift))


@njit(nogil=True, cache=True, inline="always")
def floor_product(a, b, shift):
    """``floor(a b / 2**shift)`` for |a|, |b| < 2**60 and 30 <= shift <= 60."""
    a_low, a_high, b_low, b_high = a & LOW_30, a >> 30, b & LOW_30, b >> 30
    middle = ((a_low * b_low) >> 30) + a_low * b_high + a_high * b_low
    return (middle >> (shift - 30)) + ((a_high * b_high) << (60 - shift))


@njit(nogil=True, cache=True, inline="always")
def scaled_down(x, factor, add, shift):
    """``floor((x factor + add) / 2**shift)`` for |x| < 2**60, 0 <= factor <= 2**16, 16 <= shift."""
    return ((((x & 0xFFFF) * factor + add) >> 16) + (x >> 16) * factor) >> (shift - 16)


@njit(nogil=True, cache=True, inline="always")
def up(x, shift):
    """``ceil(x / 2**shift)``."""
    return -((-x) >> shift)


@njit(nogil=True, cache=True, error_model="numpy", fastmath=_EXACT)
def limbs(floats, start, z, n_in, n_out, parts, sums):
    """Sums of products of limbs of a row of values (n_in,) with those of a matrix: sums (2, 2 n_out).

    The low limb of a value, below 2**54, is the one of least size, so that small values of either sign have no high
    one; either is at most 2**27, so that sums of 128 products with 19 bits are below 2**53.
    """
    both = 2 * n_out
    low, high = parts[0], parts[1]
    for begin in range(0, n_in, CHUNK):
        for j in range(both):
            low[j] = high[j] = 0.0
        for i in range(begin, min(n_in, begin + CHUNK)):
            v = z[i]
            if v == 0:
                continue
            upper = (v + HALF_27) >> 27
            v0, v1 = np.float64(v - (upper << 27)), np.float64(upper)
            w = floats[start + i * both : start + (i + 1) * both]
            if upper:
                for j in range(both):
                    low[j] += v0 * w[j]
                    high[j] += v1 * w[j]
            else:
                for j in range(both):
                    low[j] += v0 * w[j]
        if begin == 0:
            for j in range(both):
                sums[0, j], sums[1, j] = np.int64(low[j]), np.int64(high[j])
        else:
            for j in range(both):
                sums[0, j] += np.int64(low[j])
                sums[1, j] += np.int64(high[j])
