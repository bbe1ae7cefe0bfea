"""The relaxation of ReLU of `venmas.bounds.relaxation` for compiled code: one number at a time."""
# mypy: disable-error-code="no-untyped-def, untyped-decorator"
# numba infers the types

from __future__ import annotations

from numba import njit

from venmas.bounds.compiled.load import forget_stale

forget_stale()  # each kernel imports this module before it is compiled

FEW, TINY = 2.0**-50, 2.0**-1000  # those of bounds.rounding


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def chord(lo, hi):
    """(slope, lift) for lo < 0 < hi; see `relaxation.chord`."""
    slope = hi / (hi - lo)
    # inf / inf is no number: any slope in [0, 1] is sound, and 1 keeps the line finite where hi is infinite
    slope = 1.0 if slope != slope else min(max(slope, 0.0), 1.0)
    # 0 * inf is no number either: with such a slope the other end alone counts
    lift = -lo if slope >= 1.0 else hi if slope <= 0.0 else max(-slope * lo, (1 - slope) * hi)
    # error budget: three roundings, below FEW; underflow, below TINY
    return slope, lift * (1 + FEW) + TINY


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def rounding(mass, lift):
    """The error of ``slope z + lift``; see `relaxation.rounding`."""
    return FEW * (mass + lift) + TINY
