"""The decision process behind the VerticalCAS networks, solved by value iteration over the time to loss of separation.

After Julian and Kochenderfer's VerticalCAS, reduced to an intruder in level flight. Needs numpy only; about a second.

One term is ours: each second spent within 100 ft of the intruder's altitude costs ``SEPARATION_COST``. The original
process minds the altitude at the end only (tau = 0), and its best advice to an ownship that descends at 20 ft/s
towards an intruder 130 ft below is to go on through. The specification of the closed loop asks for 100 ft at every
step, so the process does too. ``solve(separation_cost=0)`` is the original.

State: altitude ``h`` of the intruder above ownship (ft), climb rate ``v`` of ownship (ft/s), previous advisory
(0..8), whether the pilot responds to it (0, 1). Advisories in order: COC, DNC, DND, DES1500, CL1500, SDES1500,
SCL1500, SDES2500, SCL2500.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

ADVISORIES = ("COC", "DNC", "DND", "DES1500", "CL1500", "SDES1500", "SCL1500", "SDES2500", "SCL2500")
COC = 0
SEPARATION_COST = 0.05  # for each second with |h| <= 100 ft and tau > 0


def _mirrored(half: Array) -> Array:
    return np.concatenate([half, -half[half < 0][::-1]])


H: Array = _mirrored(
    np.concatenate(
        [
            np.arange(-8000.0, -3999, 1000),
            np.arange(-3000.0, -1249, 250),
            np.arange(-1000.0, -799, 100),
            np.arange(-700.0, -149, 50),
            np.arange(-100.0, 1, 25),
        ]
    )
)  # 65 altitudes, ft
V: Array = _mirrored(
    np.concatenate([np.arange(-100.0, -59, 10), np.arange(-50.0, -34, 5), np.arange(-30.0, 1, 3)])
)  # 39 climb rates, ft/s
TAUS = np.arange(41)  # s

PROBABILITIES = (0.5, 0.25, 0.25)
_COC, _WEAK, _STRONG = (0.0, 3.0, -3.0), (8.33, 9.33, 7.33), (10.7, 11.7, 9.7)


def _down(up: tuple[float, float, float]) -> tuple[float, ...]:
    return tuple(-a for a in up)


ACCELERATIONS: tuple[tuple[float, ...], ...] = (  # ft/s^2, one for each probability
    _COC,
    _down(_WEAK),
    _WEAK,
    _down(_WEAK),
    _WEAK,
    _down(_STRONG),
    _STRONG,
    _down(_STRONG),
    _STRONG,
)
NOT_COMPLYING = (  # ft/s, open intervals of the climb rate
    (-100.0, 100.0),
    (0.0, 100.0),
    (-100.0, 0.0),
    (-25.0, 100.0),
    (-100.0, 25.0),
    (-25.0, 100.0),
    (-100.0, 25.0),
    (-41.67, 100.0),
    (-100.0, 41.67),
)


def allowed(previous: int, advisory: int) -> bool:
    """Strengthened advisories come only after one that orders a climb rate, 2500 only after a strengthened one."""
    return advisory <= (4 if previous <= 2 else 6 if previous <= 4 else 8)


def is_down(advisory: int) -> bool:
    return advisory % 2 == 1


def is_up(advisory: int) -> bool:
    return advisory > 0 and advisory % 2 == 0


def response_probability(previous: int, responding: bool, advisory: int) -> float:
    if advisory == COC or (responding and previous == advisory):
        return 1.0
    if previous != COC and previous % 2 == advisory % 2:
        return 1 / 4
    return 1 / 6


def reward(previous: int, advisory: int, tau: int, separation_cost: float = SEPARATION_COST) -> Array:
    """Reward of giving ``advisory`` after ``previous``; shape (climb rates, altitudes)."""
    h, v = H[None, :], V[:, None]
    separation, closure = np.abs(h), np.abs(v)
    low, high = NOT_COMPLYING[advisory]
    r = np.where((separation <= 175) & (tau == 0), -1.0, 0.0) + 0 * v
    r -= np.where((separation <= 100) & (tau > 0), separation_cost, 0.0)
    if not allowed(previous, advisory):
        r -= 1.0
    r -= np.where(closure < 50, 2.3e-3, 0.0)
    if advisory == COC:
        return r + 1e-9
    crossing = (h < 0) if is_down(advisory) else (h > 0)
    corrective = (v > low) & (v < high)
    slow, far = closure < 100 / 3, separation > 650
    r -= np.where(crossing & ~corrective, 1.0, 0.0) + np.where(crossing & (separation > 500), 0.01, 0.0)
    r -= np.where(corrective, 1e-5, 0.0) + np.where(corrective & far & slow, 0.1, 0.0)
    r -= np.where(corrective & (separation > 1000) & (closure < 200 / 3), 0.03, 0.0)
    r -= np.where(~corrective & far & slow, 0.01, 0.0)
    if previous != COC and previous % 2 != advisory % 2:
        r -= 8e-3  # reversal
    elif advisory > previous:
        r -= 5e-3  # strengthening; the first alert after COC is one
    elif advisory < previous:
        r -= 1e-3  # weakening
    fast = np.where(closure > 50, 1.0, 0.0)
    r -= 1e-4 + 5e-4 * fast if advisory in (1, 2) else 1.5e-3 * fast
    needed = np.where(corrective, np.abs((low if is_down(advisory) else high) - v), 0.0)
    return r - 3e-5 * needed - 1.5e-3 * fast


def cell_of(grid: Array, x: Array) -> tuple[Array, Array]:
    """Lower index and weight of the upper neighbour for linear interpolation; outside the grid its edge."""
    x = np.clip(x, grid[0], grid[-1])
    i = np.clip(np.searchsorted(grid, x, side="right") - 1, 0, len(grid) - 2)
    return i, (x - grid[i]) / (grid[i + 1] - grid[i])


def transition(advisory: int) -> tuple[Array, Array]:
    """Indices and weights, both of shape (points, 12), of the expectation over the accelerations of an advisory.

    Points are (climb rate, altitude) pairs in row-major order; 12 = three accelerations with four grid neighbours each.
    """
    v, h = (a.ravel() for a in np.meshgrid(V, H, indexing="ij"))
    low, high = NOT_COMPLYING[advisory]
    indices, weights = [], []
    for probability, nominal in zip(PROBABILITIES, ACCELERATIONS[advisory], strict=True):
        a = np.where((v > low) & (v < high), np.clip(v + nominal, low, high) - v, 0.0)
        (i, p), (j, q) = cell_of(V, v + a), cell_of(H, h - v - a / 2)
        for di, wi in ((0, 1 - p), (1, p)):
            for dj, wj in ((0, 1 - q), (1, q)):
                indices.append((i + di) * len(H) + j + dj)
                weights.append(probability * wi * wj)
    return np.stack(indices, 1), np.stack(weights, 1)


def solve(separation_cost: float = SEPARATION_COST) -> Array:
    """Q-values at "the pilot does not respond yet": (previous 9, tau 41, climb rate 39, altitude 65, advisory 9)."""
    count = len(ADVISORIES)
    steps = [transition(a) for a in range(count)]
    value = np.zeros((count, 2, len(V) * len(H)))
    table = np.empty((count, len(TAUS), len(V), len(H), count))
    for tau in TAUS:
        follow = [(steps[a][1] * value[a, 1][steps[a][0]]).sum(1) for a in range(count)]
        ignore = [(steps[COC][1] * value[a, 0][steps[COC][0]]).sum(1) for a in range(count)]
        new = np.empty_like(value)
        for previous in range(count):
            gains = [reward(previous, a, tau, separation_cost).ravel() for a in range(count)]
            for responding in (0, 1):
                q = np.empty((value.shape[2], count))
                for a in range(count):
                    p = response_probability(previous, bool(responding), a)
                    q[:, a] = gains[a] + p * follow[a] + (1 - p) * ignore[a]
                new[previous, responding] = q.max(1)
                if not responding:
                    table[previous, tau] = q.reshape(len(V), len(H), count)
        value = new
    return table
