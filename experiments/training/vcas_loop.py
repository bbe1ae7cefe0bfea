"""The closed loop of the VenMAS paper (section 7.2) run forward for all pilots at once.

Needs numpy only. The altitudes of the initial interval are sampled, so a reported minimum is an upper bound of the
exact one; deciding is the verifier's business.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from vcas_table import TAUS, H, V, cell_of

Array = npt.NDArray[Any]
Policy = Callable[[Array, Array, int, int], Array]
"""(altitudes, climb rates, tau, previous advisory 0..8) -> new advisories 0..8."""

G = 32.2
_DOWN, _UP = (-G / 3, -7 * G / 24, -G / 4), (G / 4, 7 * G / 24, G / 3)
PILOTS: Array = np.array(
    [(-G / 8, 0, G / 8), _DOWN, _UP, _DOWN, _UP, (-G / 3,) * 3, (G / 3,) * 3, (-G / 3,) * 3, (G / 3,) * 3]
)
# Climb rates an advisory asks for, in the paper's reading (numbers of ft/min compared with ft/s); infinite for COC.
TARGETS: Array = np.array([np.inf, 0, 0, 1500, 1500, 1500, 1500, 2500, 2500])
SIGNS: Array = np.array([0, -1, 1, -1, 1, -1, 1, -1, 1])
CLIMBS = tuple(-19.5 - 3 * k for k in range(9))


def network_policy(evaluate: Callable[[int, Array], Array]) -> Policy:
    """``evaluate(previous, x)`` gives scores of shape (n, 9); lowest index on a tie."""

    def policy(h: Array, climb: Array, tau: int, previous: int) -> Array:
        x = np.stack([h / 16000, climb / 5000, np.full_like(h, (tau - 20) / 40)], 1)
        return evaluate(previous, x).argmax(1)

    return policy


def table_policy(table: Array) -> Policy:
    """Greedy in the linearly interpolated table of :func:`vcas_table.solve`."""

    def policy(h: Array, climb: Array, tau: int, previous: int) -> Array:
        q = table[previous, int(np.clip(tau, TAUS[0], TAUS[-1]))]
        (i, p), (j, r) = cell_of(V, climb), cell_of(H, h)
        p, r = p[:, None], r[:, None]
        low = (1 - r) * q[i, j] + r * q[i, j + 1]
        high = (1 - r) * q[i + 1, j] + r * q[i + 1, j + 1]
        return ((1 - p) * low + p * high).argmax(1)

    return policy


def run(policy: Policy, climb: float, steps: int, samples: int = 161, tau: int = 25) -> list[dict[str, Any]]:
    """For each step: least ``|h|`` over all sampled altitudes and all pilots, and how often each advisory was given."""
    h = np.linspace(-133, -129, samples)
    states = np.stack([h, np.full_like(h, climb), np.zeros_like(h)], 1)
    report = []
    for step in range(steps):
        successors, given = [], np.zeros(9, int)
        for previous in np.unique(states[:, 2].astype(int)):
            now = states[states[:, 2] == previous]
            advisory = policy(now[:, 0], now[:, 1], tau - step, int(previous))
            given += np.bincount(advisory, minlength=9)
            complied = (advisory == previous) & (SIGNS[advisory] * now[:, 1] >= TARGETS[advisory])
            for pilot in range(3):
                a = np.where(complied, 0.0, PILOTS[advisory, pilot])
                successors.append(np.stack([now[:, 0] - now[:, 1] - a / 2, now[:, 1] + a, advisory], 1))
        states = np.unique(np.concatenate(successors).round(9), axis=0)
        report.append({"min_abs_h": round(float(np.abs(states[:, 0]).min()), 2), "advisories": given.tolist()})
    return report
