"""What is true of a VerticalCAS encounter, without the verifier: every pilot, and every initial altitude.

Along a run the altitude is the initial one plus a constant, and only the initial altitude is free. So the states after
some steps are finitely many lines (advisory, climb rate, constant, intervals of the initial altitude), and each line is
cut where the network that looks at it changes its mind: at the kinks of its piecewise linear scores, found layer by
layer. Nothing is sampled. Numbers are doubles, so that a separation this close to a threshold is not told from it:
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from experiments.published.checks import ACCELERATIONS, COMPLIES
from venmas.nn import Network

CLOSE = 1e-6
"""ft."""
LOW, HIGH, TAU = -133.0, -129.0, 25
"""The initial altitudes (ft) and the initial tau (s), section 7.2.1 of the paper."""
UNSAFE = 100.0
"""ft."""

Array = NDArray[np.float64]
Interval = tuple[float, float]
Line = tuple[int, float, float]
"""Advisory given last, climb rate (ft/s), altitude minus initial altitude (ft)."""


def least_distances(networks: Sequence[Network], climb0: float, steps: int, pilot: str = "all") -> list[float]:
    """Least |h| (ft) after 1..steps seconds over all initial altitudes and all that `pilot` may do.

    networks: by the advisory given last. pilot: ``all``, ``middle`` or ``worst``, as in the scenario.
    """
    lines: dict[Line, list[Interval]] = {(1, climb0, 0.0): [(LOW, HIGH)]}
    found = []
    for step in range(steps):
        following: dict[Line, list[Interval]] = {}
        for (last, climb, offset), intervals in lines.items():
            for low, high in intervals:
                for a, b, advisory in _advice(networks[last - 1], climb, offset, TAU - step, low, high):
                    for pull in _pulls(last, advisory, climb, pilot):
                        line = advisory, round(climb + pull, 9), round(offset - climb - pull / 2, 9)
                        following.setdefault(line, []).append((a, b))
        lines = {line: _united(intervals) for line, intervals in following.items()}
        found.append(
            min(_nearest(low + line[2], high + line[2]) for line, parts in lines.items() for low, high in parts)
        )
    return found


def verdict(distance: float) -> str:
    """Of ``|h| > 100`` at a step, by the least |h| there; empty where doubles do not tell."""
    if abs(distance - UNSAFE) < CLOSE:
        return ""
    return "satisfied" if distance > UNSAFE else "violated"


def _pulls(last: int, advisory: int, climb: float, pilot: str) -> tuple[float, ...]:
    low, high = COMPLIES.get(advisory, (np.inf, -np.inf))
    if advisory == last and low <= climb <= high:
        return (0.0,)
    pulls = tuple(float(a) for a in ACCELERATIONS[advisory])
    if pilot == "all":
        return tuple(dict.fromkeys(pulls))
    return (pulls[1] if pilot == "middle" else min(pulls, key=abs),)


def _advice(
    network: Network, climb: float, offset: float, tau: int, low: float, high: float
) -> Iterator[tuple[float, float, int]]:
    """Parts of the line, each with the advisory that scores best on it."""
    ends = np.array([[h / 16000, climb / 5000, (tau - 20) / 40] for h in (low + offset, high + offset)])
    places, values = np.array([0.0, 1.0]), ends
    for layer in network.layers:
        values = values @ layer.weight.T + layer.bias
        if layer.activation == "relu":
            places, values = _cut(places, values, values)
            values = np.maximum(values, 0)
    if len(np.unique(np.argmax(values, 1))) > 1:
        differences = np.stack([values[:, i] - values[:, j] for i, j in combinations(range(values.shape[1]), 2)], 1)
        places, values = _cut(places, values, differences)
    middles = np.argmax(values[:-1] + values[1:], 1) + 1
    begin = 0
    for i in range(1, len(middles) + 1):
        if i == len(middles) or middles[i] != middles[begin]:
            a, b = (low + (high - low) * float(t) for t in (places[begin], places[i]))
            yield a, b, int(middles[begin])
            begin = i


def _cut(places: Array, values: Array, signs: Array) -> tuple[Array, Array]:
    """Further places (n,) where a column of `signs` (n, m), linear between the places, is zero; values there, too."""
    before, after = signs[:-1], signs[1:]
    rows, columns = np.nonzero(before * after < 0)
    if not len(rows):
        return places, values
    first, second = before[rows, columns], after[rows, columns]
    part = first / (first - second)
    new = places[rows] + (places[rows + 1] - places[rows]) * part
    between = values[rows] + (values[rows + 1] - values[rows]) * part[:, None]
    order = np.argsort(np.concatenate([places, new]), kind="stable")
    return np.concatenate([places, new])[order], np.concatenate([values, between])[order]


def _united(intervals: list[Interval]) -> list[Interval]:
    """The same points in as few intervals; gaps below a billionth of a foot are closed."""
    found: list[Interval] = []
    for low, high in sorted(intervals):
        if found and low <= found[-1][1] + 1e-9:
            found[-1] = found[-1][0], max(found[-1][1], high)
        else:
            found.append((low, high))
    return found


def _nearest(low: float, high: float) -> float:
    return 0.0 if low <= 0 <= high else min(abs(low), abs(high))
