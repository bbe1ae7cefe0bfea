"""Compilation of the sweep of queries in a process of its own, which leaves what it compiled in numba's cache.

The compiler holds the lock of the interpreter: in a thread it would slow the search beside it five times, and a search
that ends sooner would end it too, so that short runs never came to compiled code. The process outlives its parent, some
15 s, and belongs to nobody: it is no child, takes no signal of the terminal, and writes nothing but the cache.
"""

from __future__ import annotations

import fcntl
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np

import venmas
from venmas.bounds.compiled.crown import sweep
from venmas.bounds.compiled.crown_kernel import sweep_boxes
from venmas.bounds.crown_plan import plan_of
from venmas.logic import Atom
from venmas.logic.linear import Comparison, LinearExpr, Relation
from venmas.nn import Layer, Network

_ALONE = """
import os, sys
if os.fork():
    os._exit(0)
os.nice(5)
sys.path.insert(0, sys.argv[1])
from venmas.bounds.compiled.apart import fill
fill()
"""


def cached() -> bool:
    """Is the sweep in numba's cache, for this version of Python?"""
    version = f"py{sys.version_info.major}{sys.version_info.minor}"
    return any(_folder().glob(f"crown_kernel.sweep_boxes-*.{version}*.nbi"))


def compile_apart() -> None:
    """Start the process; nothing waits for it."""
    none = subprocess.DEVNULL
    place = str(Path(venmas.__file__).parent.parent)
    command = [sys.executable, "-c", _ALONE, place]
    subprocess.run(command, stdin=none, stdout=none, stderr=none, start_new_session=True, check=False)


def fill() -> None:
    """Compile the sweep, or load it, by a call; of several processes one compiles and the others wait for it."""
    with (_folder() / "crown_kernel.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        one, zero = np.ones((1, 1)), np.zeros(1)
        network = Network((Layer(one, zero, "relu"), Layer(one, zero)))
        plan = plan_of(network, Atom(Comparison(LinearExpr.of({"Y_0": Fraction(1)}), Relation.LE)))
        sweep(plan, np.zeros((1, 1)), one, 1)


def _folder() -> Path:
    return Path(str(sweep_boxes.stats.cache_path))
