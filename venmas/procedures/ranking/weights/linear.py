"""Output weights as a linear program over counterexamples, as integers that are checked on them exactly.

Rounded where that meets them; else the program is solved again in rationals (`rational`), as offsets of registers with
many bits are beyond the precision of its floats.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import lcm

import highspy
import numpy as np

from venmas.procedures.ranking.weights.rational import cheapest
from venmas.solvers.highs import run, silent_highs

_LARGE = 1 << 24
"""Coefficients above it make the solver's tolerances doubtful."""


class Weights:
    """The linear program: one weight for each column, rows ``row . w >= bound`` that counterexamples add.

    The cost of a weight is that of its column times its absolute value.
    """

    def __init__(self, costs: Sequence[float]) -> None:
        self._size = len(costs)
        self._costs = [Fraction(cost).limit_denominator(1 << 20) for cost in costs]
        self._highs = silent_highs()
        for tolerance in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
            self._highs.setOptionValue(tolerance, 1e-9)
        inf = highspy.kHighsInf
        for cost in (*costs, *costs):  # positive and negative parts
            self._highs.addVar(0.0, inf)
            self._highs.changeColCost(self._highs.getNumCol() - 1, cost * 1e3)
        self._rows: list[list[int]] = []
        self._bounds: list[int] = []

    @property
    def rows(self) -> int:
        """Counterexamples so far."""
        return len(self._rows)

    def add(self, row: Sequence[int], bound: int) -> None:
        """Demand ``row . w >= bound``."""
        exact = [int(value) for value in row]
        self._rows.append(exact)
        self._bounds.append(bound)
        used = [at for at, value in enumerate(exact) if value]
        indices = np.array([*used, *(at + self._size for at in used)], dtype=np.int32)
        coefficients = np.array([exact[at] for at in used] + [-exact[at] for at in used], dtype=float)
        self._highs.addRow(float(bound), highspy.kHighsInf, len(indices), indices, coefficients)

    def solve(self) -> list[int] | None:
        """Integer weights that meet every row exactly; None where the program has none, or none was found."""
        run(self._highs)
        if self._highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            # floats say that there is none: believed where they are far finer than the numbers
            return self._exact() if any(abs(value) > _LARGE for row in self._rows for value in row) else None
        columns = np.asarray(self._highs.getSolution().col_value)
        weights = columns[: self._size] - columns[self._size :]
        sizes = sorted({abs(value) for value in weights if abs(value) > 1e-10})
        scales = [*range(1, 9), *(part / value for value in sizes[:20] for part in (1, 2, 3))]
        for scale in sorted(scales):  # small weights first: large odd ones are dear to the solver
            rounded = [round(value * scale) for value in weights]
            if self.meets(rounded):
                return rounded
        return self._exact()

    def _exact(self) -> list[int] | None:
        found = cheapest(self._costs, self._rows, self._bounds)
        if found is None:
            return None
        whole = lcm(*(value.denominator for value in found))
        weights = [int(value * whole) for value in found]
        return weights if self.meets(weights) else None

    def meets(self, weights: Sequence[int]) -> bool:
        """Do integer weights meet every row, exactly?"""
        return all(
            sum(value * weight for value, weight in zip(row, weights, strict=True) if value and weight) >= bound
            for row, bound in zip(self._rows, self._bounds, strict=True)
        )
