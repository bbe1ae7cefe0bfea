"""Where a measurement was made: machine, versions, revision, and memory of this process."""

from __future__ import annotations

import multiprocessing
import os
import platform
import resource
import subprocess
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import ParamSpec, TypeVar

from venmas.engine.report import versions

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("VENMAS_DATA", ROOT.parent / "shared" / "data"))

P = ParamSpec("P")
T = TypeVar("T")


def apart(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call in another process, so that its memory is not counted with this one's."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *args, **kwargs).result()


def header() -> list[str]:
    """Lines that say where, with what and under which load (other jobs make times worse)."""
    try:
        load = f", load {os.getloadavg()[0]:.1f} at the start"
    except OSError:
        load = ""
    found = versions()
    for package in ("scipy", "numba", "maraboupy"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return [
        f"{_cpu()}, {os.cpu_count()} cores, {_memory_gb():.0f} GB, {platform.system()} {platform.release()}{load}",
        ", ".join(f"{name} {number}" for name, number in found.items()) + f", revision {_revision()}",
    ]


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _memory_gb() -> float:
    return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")) / 2**30


def _revision() -> str:
    def git(*words: str) -> str:
        done = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=False)
        return done.stdout.strip()

    try:
        return f"{git('rev-parse', '--short', 'HEAD') or 'unknown'}{' with changes' if git('diff', 'HEAD') else ''}"
    except OSError:
        return "unknown"


def peak_mb() -> float:
    """The most memory that this process was ever resident with, MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def peak_children_mb() -> float:
    """The same of the largest process that this one waited for."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
