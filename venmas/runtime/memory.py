"""Resident memory of processes, in MB, and how often garbage is collected.

Memory is exact on Linux; elsewhere the largest so far stands for the present one.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache, wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

_KEPT = ((-2, 64 << 20), (-1, 128 << 20), (-3, 32 << 20))
"""M_TOP_PAD, M_TRIM_THRESHOLD and M_MMAP_THRESHOLD of `mallopt` (3), the last one at its largest."""
_SELDOM = 100_000, 50, 100
"""Thresholds of `gc`. What is built lives as long as it is of use, and is in no cycles; the usual (700, 10, 10) walks
over all of it again and again, which was a third of the time of a witness with thousands of states."""
_before: list[tuple[int, int, int]] = []
"""What was set when each of those that run now began, in whatever thread; the first one of them is restored."""


@lru_cache(maxsize=1)
def keep_freed_memory() -> None:
    """Have the C library keep what is freed for what is allocated next, where it is that of GNU.

    Arrays of some megabytes are made and freed in every step of a search; returned to the system each time, their pages
    are mapped and zeroed again and again: four fifths of all page faults, and most of the time in the kernel. At most
    128 MB are kept.
    """
    if sys.platform != "linux":
        return
    with suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        for option, value in _KEPT:
            mallopt(option, value)


def seldom_collected(function: Callable[P, R]) -> Callable[P, R]:
    """Run a function with cyclic garbage collected seldom; what was set before holds again after the last one.

    Freed memory is kept from then on (`keep_freed_memory`).
    """

    @wraps(function)
    def calm(*args: P.args, **kwargs: P.kwargs) -> R:
        keep_freed_memory()
        _before.append(before := gc.get_threshold())
        gc.set_threshold(*(max(pair) if before[0] else 0 for pair in zip(before, _SELDOM, strict=True)))
        try:
            return function(*args, **kwargs)
        finally:
            before = _before.pop()
            if not _before:
                gc.set_threshold(*before)

    return calm


def resident_mb(pid: int) -> float | None:
    """Resident memory of a process; None where the system does not tell or the process is gone."""
    try:
        with open(f"/proc/{pid}/statm") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
    except (OSError, IndexError):
        return None


def own_resident_mb() -> float:
    """Resident memory of this process."""
    now = resident_mb(os.getpid())
    return peak_mb() if now is None else now


def peak_mb() -> float:
    """Largest resident memory of this process so far.

    `ru_maxrss` alone would not do on Linux: there a process inherits it from the one that started it, across exec.
    """
    try:
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        import resource  # not everywhere: formulas and networks are read without it

        unit = 2**20 if sys.platform == "darwin" else 2**10
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
