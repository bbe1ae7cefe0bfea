"""A search for violations over the whole initial set, where a formula is about a few steps.

Many samples, the best of which go on along the signs of slopes, by steps that become smaller and are made whether or
not they are better: what is missed is a greatest of several values, and edges of such are no way out by better steps
alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from venmas.model.evaluation.simulate import Precision
from venmas.model.system.system import System
from venmas.model.system.variables import Box
from venmas.procedures.flowpipes.falsify import differences, missed, point_of
from venmas.procedures.flowpipes.plan import Plan

_SAMPLES, _BEST, _ROUNDS = 10_000, 200, 60
_LENGTH, _SHORTER = 0.05, 0.93
"""Parts of a side: of the first step, at most; each is so much shorter than the one before."""
_FINE = 1 << 20
"""Parts of a side in which points are given: violations may be small."""


def hunt(
    system: System,
    plan: Plan,
    boxes: Sequence[Box],
    tick: Callable[[], None],
    seed: int,
    precision: Precision = "float64",
) -> list[dict[str, Fraction]]:
    """An initial state of the boxes from which floats meet the target, if one is met with."""
    names = [n for n in system.variables if any(box[n][0] < box[n][1] for box in boxes)]
    if not names:
        return []
    low, high = (np.array([[float(box[n][end]) for n in names] for box in boxes]) for end in (0, 1))
    rng = np.random.default_rng(seed)
    root, part = rng.integers(len(boxes), size=_SAMPLES), rng.random((_SAMPLES, len(names)))

    def missing(root: np.ndarray, part: np.ndarray) -> np.ndarray:
        tick()
        x = low[root] + part * (high[root] - low[root])
        return missed(system, plan, [boxes[i] for i in root], names, x, precision).total

    lacks = missing(root, part)
    best = np.argsort(lacks, kind="stable")[:_BEST]
    root, part, lacks = root[best], part[best], lacks[best]
    length = _LENGTH
    for _ in range(_ROUNDS):
        if (lacks <= 0).any():
            break
        slope = np.sign(differences(missing, root, part, lacks))
        part = np.clip(part - length * rng.random(part.shape) * slope, 0, 1)
        lacks, length = missing(root, part), _SHORTER * length
    first = int(lacks.argmin())
    return [point_of(system, boxes[root[first]], names, part[first], _FINE)] if lacks[first] <= 0 else []
