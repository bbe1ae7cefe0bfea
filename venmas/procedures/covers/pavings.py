"""Pavings around boxes of the search, by compiled code where there is some: the same as `paving.paved` makes."""

from __future__ import annotations

import logging
from time import monotonic
from types import ModuleType

import numpy as np

from venmas.bounds.compiled.load import beside, compiled
from venmas.bounds.rounding import Ints
from venmas.budget import ask
from venmas.checker.covers.paving import ROOM, SIDE, CrowdedError, Marks, Paving, Tick, paved, spans

log = logging.getLogger(__name__)

_KERNEL = "venmas.bounds.compiled.paving_kernel"
_WORTH = 1.0
"""Seconds in numpy, of all searches of this process, after which compiled code is worth loading."""
_spent = 0.0
_kernel: ModuleType | None = None


def around(low: Ints, high: Ints, marks: Marks, tick: Tick = ask) -> Paving:
    """The paving around boxes ``low <= y <= high``, (R, n), in the smallest units. Raises `CrowdedError`."""
    global _spent
    if not marks.depth and len(low) and _spent > _WORTH and beside("pavings", load, 0.0) and _kernel is not None:
        return _around(_kernel, low, high)
    begun = monotonic()
    made = paved(low, high, marks, tick)
    _spent += monotonic() - begun
    return made


def load() -> None:
    """Load the compiled code, or compile it; where that fails, it is not used."""
    global _kernel
    one = np.zeros((1, 1), dtype=np.int64)
    try:
        if (kernel := compiled(_KERNEL)) is not None:
            _around(kernel, one, one)
            _kernel = kernel
    except Exception as error:  # of numba, or of files
        log.warning("compiled code for pavings is not used: %s", error)


def _around(kernel: ModuleType, low: Ints, high: Ints) -> Paving:
    """The same of whole cells."""
    firsts, counts = spans(low, high, SIDE)
    first, sizes = np.stack(firsts, 1), np.stack(counts, 1)
    least = first.min(0)
    width = (first + sizes).max(0) - least
    if float(np.prod(width, dtype=float)) > ROOM:
        raise CrowdedError
    low, high = np.ascontiguousarray(low), np.ascontiguousarray(high)
    keys, lows, highs = kernel.hulls(low, high, first, sizes, least, width, SIDE)
    order = np.argsort(keys)
    rest, cell = keys[order], np.zeros((len(keys), 1 + low.shape[1]), dtype=np.int64)
    for axis in reversed(range(low.shape[1])):
        rest, cell[:, 1 + axis] = np.divmod(rest, width[axis])
    cell[:, 1:] += least
    return Paving(cell, lows[order], highs[order])
