"""A policy followed from all its starts, without the verifier: what it meets, in float64."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from experiments.domains.learn import follow
from experiments.domains.task import Task
from experiments.training.export import read_onnx
from venmas.runtime.blas import on_one_thread

_MOST = 2_000_000


@on_one_thread
def enumerated(build: Callable[[], Task], network: Path) -> dict[str, Any]:
    """Verdict, states, CPU seconds; `satisfied` only where nothing but these states is ever met.

    Where the policy reads counters of failures, what was followed is a sample: an unsafe state is a violation, and
    without one nothing is known.
    """
    task, begun = build(), process_time()
    s = follow(task, read_onnx(network), np.random.default_rng(0), scale=np.ones(len(task.scale)), most=_MOST)
    bad = bool(task.unsafe(s).any())
    sure = task.complete and len(s) < _MOST
    verdict = "violated" if bad else "satisfied" if sure else "unknown"
    by = "enumeration" if sure else "a sample"
    return {"verdict": verdict, "by": by, "states": len(s), "CPU": round(process_time() - begun, 2)}
