"""Integer points of many boxes at once, and what linear rows leave of boxes."""

from __future__ import annotations

import numpy as np

from venmas.bounds.rounding import Ints

_ROUNDS = 4


def row_values(rows: Ints, constants: Ints, points: Ints) -> Ints:
    """(K, R, n), (K, R), (K, n) -> (K, R)."""
    found: Ints = (rows @ points[:, :, None])[:, :, 0] + constants
    return found


def shrink(low: Ints, high: Ints, rows: Ints, constants: Ints) -> tuple[Ints, Ints]:
    """What is left of boxes (B, n) by rows (B, R, n) with constants (B, R), which are to be at least 0.

    Each row bounds each of its variables by the most that the others add. A box without points has low > high.
    """
    if not rows.shape[1]:
        return low, high
    positive, negative, safe = rows > 0, rows < 0, np.where(rows == 0, 1, rows)
    for _ in range(_ROUNDS):
        most = np.where(positive, rows * high[:, None], rows * low[:, None])
        total = most.sum(2) + constants
        # rows[v] * x[v] >= -(total - most[v])
        need = most - total[:, :, None]
        lower = np.where(positive, -(-need // safe), low[:, None]).max(1)
        upper = np.where(negative, need // safe, high[:, None]).min(1)
        new_low, new_high = np.maximum(low, lower), np.minimum(high, upper)
        new_high[(total < 0).any(1), 0] = low[(total < 0).any(1), 0] - 1
        same = (new_low == low).all() and (new_high == high).all()
        low, high = new_low, new_high
        if same or (low > high).any(1).all():
            break
    return low, high


def corner_points(low: Ints, high: Ints, count: int, rng: np.random.Generator) -> Ints:
    """The low corner, the high one, the middle, and points between: (B, n) -> (B, count, n)."""
    points = _random(low, high, count, rng)
    for i, fixed in enumerate((low, high, (low + high) // 2)[:count]):
        points[:, i] = fixed
    return points


def sampled(low: Ints, high: Ints, count: int, rng: np.random.Generator) -> Ints:
    """Points (B, count, n): an eighth of them corners, an eighth with many variables at their low ends."""
    points = _random(low, high, count, rng)
    eighth, n = count // 8, low.shape[1]
    coins = rng.random((len(low), 2 * eighth, n)) < 0.5
    points[:, :eighth] = np.where(coins[:, :eighth], low[:, None], high[:, None])
    points[:, eighth : 2 * eighth] = np.where(coins[:, eighth:], low[:, None], points[:, eighth : 2 * eighth])
    return points


def enumerated(low: Ints, high: Ints) -> tuple[Ints, Ints]:
    """All points of boxes (B, n), one box after the other: the box of each (K,), and the points (K, n)."""
    width = np.maximum(high - low + 1, 0)
    count = width.prod(1)
    owner = np.repeat(np.arange(len(low)), count)
    rest = np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)
    points = low[owner]
    for v in np.flatnonzero((width > 1).any(0)).tolist():
        size = width[owner, v]
        points[:, v] += rest % size
        rest = rest // size
    return owner, points


def _random(low: Ints, high: Ints, count: int, rng: np.random.Generator) -> Ints:
    share = rng.random((len(low), count, low.shape[1]))
    width = (high - low + 1)[:, None]
    points: Ints = low[:, None] + np.minimum((share * width).astype(np.int64), width - 1)
    return points
