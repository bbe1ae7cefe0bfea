"""What is known of the published systems without the verifier: explicit enumeration and dense simulation."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from venmas.logic import FiniteModel
from venmas.nn import Network

G = 32.2
ACCELERATIONS = {
    **dict.fromkeys((2, 4), (-G / 3, -7 * G / 24, -G / 4)),
    **dict.fromkeys((3, 5), (G / 4, 7 * G / 24, G / 3)),
    **dict.fromkeys((6, 8), (-G / 3,) * 3),
    **dict.fromkeys((7, 9), (G / 3,) * 3),
    1: (-G / 8, 0.0, G / 8),
}
COMPLIES = {2: (-np.inf, 0), 3: (0, np.inf), 4: (-np.inf, -1500), 6: (-np.inf, -1500)}
COMPLIES |= {5: (1500, np.inf), 7: (1500, np.inf), 8: (-np.inf, -2500), 9: (2500, np.inf)}


def least_separation(
    networks: Sequence[Network], climb0: float, steps: int, points: int = 401, most: int | None = None
) -> list[float]:
    """Least |h| (ft) at steps 1..steps over `points` initial altitudes and all pilots (verticalcas.md, section 1).

    most: go on from a random sample of so many states where there are more, so that the result is too great, if wrong.
    """
    rng = np.random.default_rng(0)
    h = np.linspace(-133, -129, points)
    states = np.stack([h, np.full(points, climb0), np.ones(points)], 1)
    least: list[float] = []
    for step in range(steps):
        states = np.unique(np.round(states, 9), axis=0)
        if most is not None and len(states) > most:
            states = rng.choice(states, most, replace=False)
        advice = np.zeros(len(states))
        for adv in np.unique(states[:, 2]).astype(int):
            rows = states[:, 2] == adv
            x = np.stack(
                [states[rows, 0] / 16000, states[rows, 1] / 5000, np.full(rows.sum(), (25 - step - 20) / 40)], 1
            )
            advice[rows] = 1 + np.argmax(networks[adv - 1].evaluate(x), 1)
        climb = states[:, 1]
        low = np.array([COMPLIES.get(int(a), (np.inf, np.inf))[0] for a in advice])
        high = np.array([COMPLIES.get(int(a), (-np.inf, -np.inf))[1] for a in advice])
        keeps = (advice == states[:, 2]) & (climb >= low) & (climb <= high)
        pulls = np.array([ACCELERATIONS[int(a)] for a in advice])
        pulls[keeps] = 0.0
        parts = [np.stack([states[:, 0] - climb - pulls[:, i] / 2, climb + pulls[:, i], advice], 1) for i in range(3)]
        states = np.concatenate(parts)
        least.append(float(np.abs(states[:, 0]).min()))
    return least


def frozen_lake(network: Network) -> FiniteModel:
    """The 3x3 FrozenLake of the paper (Example 1), written down on its own; state i is cell i + 1."""
    policy = np.argmax(network.evaluate(np.eye(9)), 1)

    def move(cell: int, direction: int) -> int:
        row, column = cell // 3, cell % 3
        row += {1: 1, 3: -1}.get(direction, 0)
        column += {0: -1, 2: 1}.get(direction, 0)
        return row * 3 + column if row in range(3) and column in range(3) else cell

    successors = tuple(tuple(move(c, (int(policy[c]) + turn) % 4) for turn in (-1, 0, 1)) for c in range(9))
    valuations = tuple({f"cell[{j + 1}]": Fraction(int(j == c)) for j in range(9)} for c in range(9))
    return FiniteModel(9, successors, valuations)
