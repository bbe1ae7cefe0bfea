"""Mixed-integer linear programs that know no solver.

A program has variables with bounds and kinds, ranged rows ``lower <= a.x <= upper``, indicators
``(x[binary] == value) => lower <= a.x <= upper`` and, where wanted, an objective to maximise. `ProgramBuilder`
collects, `Program` is the frozen, picklable result with the rows in compressed sparse row (CSR) form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from venmas.solvers.milp.outcome import Feasible, Infeasible, Outcome, Unknown

__all__ = [
    "Feasible",
    "Indicator",
    "Infeasible",
    "Kind",
    "NotFiniteError",
    "Outcome",
    "Program",
    "ProgramBuilder",
    "Unknown",
    "sum_terms",
]

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int32]


class NotFiniteError(ValueError):
    """A number of a program is infinite or no number: what it should say is beyond what floats hold."""


class Kind(IntEnum):
    """Domain of a variable."""

    CONTINUOUS = 0
    INTEGER = 1
    BINARY = 2


@dataclass(frozen=True, eq=False)
class Indicator:
    """``(x[binary] == value) => lower <= coefficients . x[columns] <= upper``.

    `activity` holds bounds of ``coefficients . x[columns]`` that are valid at every point of the program; None when
    nothing is known beyond the bounds of the variables.
    """

    binary: int
    value: bool
    columns: Ints
    coefficients: Floats
    lower: float
    upper: float
    activity: tuple[float, float] | None = None


@dataclass(frozen=True, eq=False)
class Program:
    """A mixed-integer linear program with n variables and m rows.

    `lower`, `upper`: (n,) bounds, infinite where open. `kinds`: (n,) values of `Kind`. `names`: n names, empty where
    none was given. Row i has the columns ``indices[indptr[i]:indptr[i + 1]]`` (no column twice), the coefficients
    ``data`` of the same slice and the bounds ``row_lower[i]``, ``row_upper[i]``. `objective`: (n,) coefficients to
    maximise, or None where any feasible point will do.
    """

    lower: Floats
    upper: Floats
    kinds: NDArray[np.int8]
    names: tuple[str, ...]
    indptr: Ints
    indices: Ints
    data: Floats
    row_lower: Floats
    row_upper: Floats
    implications: tuple[Indicator, ...] = ()
    objective: Floats | None = None

    @property
    def variables(self) -> int:
        """Number of variables of every kind."""
        return len(self.lower)

    @property
    def binaries(self) -> int:
        """Number of binary variables."""
        return int(np.count_nonzero(self.kinds == Kind.BINARY))

    @property
    def integers(self) -> int:
        """Number of integer variables, the binary ones not counted."""
        return int(np.count_nonzero(self.kinds == Kind.INTEGER))

    @property
    def rows(self) -> int:
        """Number of linear rows, the indicators not counted."""
        return len(self.row_lower)

    @property
    def indicators(self) -> int:
        """Number of indicators."""
        return len(self.implications)

    @cached_property
    def row_of_entry(self) -> NDArray[np.intp]:
        """The row of each stored coefficient, shape of `data`."""
        return np.repeat(np.arange(self.rows), np.diff(self.indptr))

    def name(self, column: int) -> str:
        """Name of a variable, ``x<column>`` where none was given."""
        return self.names[column] or f"x{column}"

    def activities(self, point: Floats) -> Floats:
        """``a.x`` of every row, shape (m,)."""
        terms = self.data * point[self.indices]
        return np.bincount(self.row_of_entry, weights=terms, minlength=self.rows).astype(np.float64)

    def violation(self, point: ArrayLike) -> float:
        """Largest absolute violation of a bound, row, integrality or indicator at a point of shape (n,), at least 0.

        An indicator counts when its binary rounds to `value`. A point that is not finite violates by infinity.
        """
        x = np.asarray(point, dtype=np.float64)
        if x.shape != (self.variables,):
            raise ValueError(f"a point of this program has shape ({self.variables},), got {x.shape}")
        if not np.isfinite(x).all():
            return float("inf")
        activities = self.activities(x)
        whole = x[self.kinds != Kind.CONTINUOUS]
        worst = [self.lower - x, x - self.upper, self.row_lower - activities, activities - self.row_upper]
        worst.append(np.abs(whole - np.rint(whole)))
        for i in self.implications:
            if (x[i.binary] > 0.5) == i.value:
                activity = i.coefficients @ x[i.columns]
                worst.append(np.array([i.lower - activity, activity - i.upper]))
        return float(max(0.0, *(part.max(initial=0.0) for part in worst)))


class ProgramBuilder:
    """Collects variables and constraints; `build` freezes them.

    Wrong columns, bounds that are not numbers or coefficients that are not finite raise `ValueError` (the last two
    `NotFiniteError`): they are faults of the caller, not of a user. Bounds that exclude each other are allowed: such a
    program is infeasible.
    """

    def __init__(self) -> None:
        self._lower: list[float] = []
        self._upper: list[float] = []
        self._kinds: list[int] = []
        self._names: list[str] = []
        self._columns: list[Ints] = []
        self._coefficients: list[Floats] = []
        self._row_lower: list[float] = []
        self._row_upper: list[float] = []
        self._indicators: list[Indicator] = []
        self._objective: tuple[Ints, Floats] | None = None

    @property
    def variables(self) -> int:
        """Number of variables so far."""
        return len(self._lower)

    def add_variable(self, lower: float, upper: float, kind: Kind = Kind.CONTINUOUS, name: str = "") -> int:
        """Add a variable and return its column. The bounds of a binary must lie in [0, 1]."""
        lower, upper = _bounds(lower, upper, f"variable {name or self.variables}")
        if kind is Kind.BINARY and not (0 <= lower <= 1 and 0 <= upper <= 1):
            raise ValueError(f"binary variable {name or self.variables}: bounds [{lower}, {upper}] leave [0, 1]")
        self._lower.append(lower)
        self._upper.append(upper)
        self._kinds.append(kind)
        self._names.append(name)
        return self.variables - 1

    def add_row(self, columns: Sequence[int] | Ints, coefficients: ArrayLike, lower: float, upper: float) -> None:
        """Add ``lower <= coefficients . x[columns] <= upper``; repeated columns are summed."""
        where, values = self._terms(columns, coefficients, f"row {len(self._row_lower)}")
        lower, upper = _bounds(lower, upper, f"row {len(self._row_lower)}")
        self._columns.append(where)
        self._coefficients.append(values)
        self._row_lower.append(lower)
        self._row_upper.append(upper)

    def add_indicator(
        self,
        binary: int,
        value: bool,
        columns: Sequence[int] | Ints,
        coefficients: ArrayLike,
        lower: float,
        upper: float,
        activity: tuple[float, float] | None = None,
    ) -> None:
        """Add ``(x[binary] == value) => lower <= coefficients . x[columns] <= upper``.

        `activity`: bounds of the row that are known to hold at every point of the program, whatever the binary; they
        become the big-M where indicators are lowered to rows.
        """
        what = f"indicator {len(self._indicators)}"
        if not 0 <= binary < self.variables or self._kinds[binary] != Kind.BINARY:
            raise ValueError(f"{what}: column {binary} is not a binary variable of this program")
        where, values = self._terms(columns, coefficients, what)
        lower, upper = _bounds(lower, upper, what)
        if activity is not None:
            activity = _bounds(*activity, f"{what}, activity")
        self._indicators.append(Indicator(binary, bool(value), where, values, lower, upper, activity))

    def maximize(self, columns: Sequence[int] | Ints, coefficients: ArrayLike) -> None:
        """Set the objective, replacing an earlier one."""
        self._objective = self._terms(columns, coefficients, "objective")

    def build(self) -> Program:
        """Freeze what was collected; the builder may be used further."""
        objective = None
        if self._objective is not None:
            objective = np.zeros(self.variables)
            objective[self._objective[0]] = self._objective[1]
        return Program(
            lower=np.array(self._lower, dtype=np.float64),
            upper=np.array(self._upper, dtype=np.float64),
            kinds=np.array(self._kinds, dtype=np.int8),
            names=tuple(self._names),
            indptr=np.cumsum([0, *map(len, self._columns)], dtype=np.int32),
            indices=np.concatenate([np.empty(0, np.int32), *self._columns]),
            data=np.concatenate([np.empty(0), *self._coefficients]),
            row_lower=np.array(self._row_lower, dtype=np.float64),
            row_upper=np.array(self._row_upper, dtype=np.float64),
            implications=tuple(self._indicators),
            objective=objective,
        )

    def _terms(self, columns: Sequence[int] | Ints, coefficients: ArrayLike, what: str) -> tuple[Ints, Floats]:
        """Check and copy the terms of a row: sorted columns, none twice, no zero coefficients."""
        where = np.asarray(columns, dtype=np.int32).ravel()
        values = np.asarray(coefficients, dtype=np.float64).ravel()
        if where.shape != values.shape:
            raise ValueError(f"{what}: {where.size} columns but {values.size} coefficients")
        if where.size and not (where.min() >= 0 and where.max() < self.variables):
            raise ValueError(f"{what}: columns must lie in 0..{self.variables - 1}, got {where.min()}..{where.max()}")
        if not np.isfinite(values).all():
            raise NotFiniteError(f"{what}: a coefficient is not finite")
        return sum_terms(where, values)


def sum_terms(columns: Ints, coefficients: Floats) -> tuple[Ints, Floats]:
    """Sort terms by column, sum repeated columns and drop coefficients that are zero."""
    unique, inverse = np.unique(columns, return_inverse=True)
    summed = np.bincount(inverse, weights=coefficients, minlength=unique.size)
    return unique[summed != 0], summed[summed != 0]


def _bounds(lower: float, upper: float, what: str) -> tuple[float, float]:
    """Return bounds as floats; -inf and inf are allowed on their own side only."""
    lower, upper = float(lower), float(upper)
    if not (lower < float("inf") and upper > float("-inf")):
        raise NotFiniteError(f"{what}: [{lower}, {upper}] are not bounds")
    return lower, upper
