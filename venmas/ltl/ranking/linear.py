"""Output weights as a linear program over counterexamples, rounded to integers and checked on them exactly."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import highspy
import numpy as np


class Weights:
    """The linear program: one weight for each column, rows ``row . w >= bound`` that counterexamples add.

    The cost of a weight is that of its column times its absolute value.
    """

    def __init__(self, costs: Sequence[float]) -> None:
        self._size = len(costs)
        self._highs = highspy.Highs()
        self._highs.setOptionValue("output_flag", False)
        self._highs.setOptionValue("threads", 1)
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
        self._highs.run()
        if self._highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        columns = np.asarray(self._highs.getSolution().col_value)
        weights = columns[: self._size] - columns[self._size :]
        sizes = sorted({abs(value) for value in weights if abs(value) > 1e-10})
        scales = [*range(1, 9), *(part / value for value in sizes[:20] for part in (1, 2, 3))]
        for scale in sorted(scales):  # small weights first: large odd ones are dear to the solver
            rounded = [round(value * scale) for value in weights]
            if self.meets(rounded):
                return rounded
        exact = [Fraction(value).limit_denominator(1 << 12) for value in weights]
        whole = int(np.lcm.reduce([value.denominator for value in exact if value] or [1]))
        found = [int(value * whole) for value in exact]
        return found if self.meets(found) else None

    def meets(self, weights: Sequence[int]) -> bool:
        """Do integer weights meet every row, exactly?"""
        return all(
            sum(value * weight for value, weight in zip(row, weights, strict=True) if value and weight) >= bound
            for row, bound in zip(self._rows, self._bounds, strict=True)
        )
