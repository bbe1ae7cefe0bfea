"""Resident memory of processes, in MB. Exact on Linux; elsewhere the largest so far stands for the present one."""

from __future__ import annotations

import os
import resource
import sys


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
        unit = 2**20 if sys.platform == "darwin" else 2**10
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
