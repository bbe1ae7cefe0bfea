"""Reductions: a program becomes a simpler one with the same answer, and points of that go back to points of the first.

`substitute_fixed` and `lower_indicators` are exact up to rounding, `scale_columns` is exact. `relax` adds points and
cuts off none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from venmas.errors import ModelError
from venmas.solvers.milp.program import Floats, Indicator, Ints, Kind, Program, sum_terms

TOLERANCE = 1e-6
"""Violation up to which bounds that cross and rows without variables are put down to rounding."""

_EPS = float(np.finfo(np.float64).eps)
_ROUNDING = 2.0**-46
"""What rounding may do to a row, relative to the sum of the sizes of its terms."""
_LARGE = 2.0**14
"""Columns of larger numbers are scaled."""
_DROPPED = 1e-9
"""Coefficients that a solver may take for zero (SCIP does so up to this size, HiGHS and Gurobi to smaller ones)."""


class Reduced(NamedTuple):
    """The simpler program, None when it was found infeasible, and the map of its points to those of the first."""

    program: Program | None
    invert: Callable[[Floats], Floats]


def substitute_fixed(program: Program) -> Reduced:
    """Replace variables whose bounds leave one value by that value.

    Integer variables are rounded to the integers inside their bounds first. Rows that have no variable left are checked
    and dropped, as are rows without bounds; indicators with a fixed binary become rows or vanish, and an indicator
    whose row has no variable left and does not hold fixes its binary.
    """
    bounds = _tightened(program)
    if bounds is None:
        return Reduced(None, _identity)
    lower, upper = bounds
    _fix_forced_binaries(program, lower, upper)
    fixed = lower == upper
    value = np.where(fixed, lower, 0.0)

    def invert(point: Floats) -> Floats:
        full = value.copy()
        full[~fixed] = point
        return full

    free = ~fixed
    active = [i for i in program.implications if fixed[i.binary] and (value[i.binary] > 0.5) == i.value]
    full = _with_rows(program, active)
    shift = full.activities(value)
    entry = free[full.indices]
    counts = np.bincount(full.row_of_entry[entry], minlength=full.rows)
    row_lower, row_upper = full.row_lower - shift, full.row_upper - shift
    rounding = TOLERANCE + _ROUNDING * np.bincount(
        full.row_of_entry, weights=np.abs(full.data * value[full.indices]), minlength=full.rows
    )
    if bool(np.any((counts == 0) & ((row_lower > rounding) | (row_upper < -rounding)))):
        return Reduced(None, invert)
    keep = (counts > 0) & ((row_lower > -np.inf) | (row_upper < np.inf))
    entry &= keep[full.row_of_entry]
    column = np.cumsum(free, dtype=np.int32) - 1
    reduced = Program(
        lower=lower[free],
        upper=upper[free],
        kinds=program.kinds[free],
        names=tuple(n for n, f in zip(program.names, free, strict=True) if f),
        indptr=np.concatenate([[0], np.cumsum(counts[keep])]).astype(np.int32),
        indices=column[full.indices[entry]].astype(np.int32),
        data=full.data[entry],
        row_lower=row_lower[keep],
        row_upper=row_upper[keep],
        implications=tuple(
            _restrict(i, free, value, column) for i in program.implications if free[i.binary] and free[i.columns].any()
        ),
        objective=None if program.objective is None else program.objective[free],
    )
    return Reduced(reduced, invert)


def lower_indicators(program: Program) -> Reduced:
    """Replace indicators by big-M rows.

    With M an upper bound of the activity ``a.x``, ``(b == 1) => a.x <= u`` becomes ``a.x + (M - u) b <= M`` and
    ``(b == 0) => a.x <= u`` becomes ``a.x - (M - u) b <= u``; lower bounds likewise. M is the tighter one of the
    indicator's `activity` and the interval of the row over the bounds of its variables, widened by its rounding error.
    A side that this interval rules out is left out. What `activity` alone rules out stays as a row: `activity` may
    have been derived from the indicator itself.

    Raises `ModelError` when neither gives a finite M.
    """
    rows: list[Indicator] = []
    for i in program.implications:
        low, high = _interval(program, i)
        known_low, known_high = i.activity or (low, high)
        if i.upper < high:
            rows.append(_big_m_row(program, i, i.upper, max(i.upper, min(high, known_high)), upper_side=True))
        if i.lower > low:
            rows.append(_big_m_row(program, i, i.lower, min(i.lower, max(low, known_low)), upper_side=False))
    return Reduced(replace(_with_rows(program, rows), implications=()), _identity)


def relax(program: Program, slack: float) -> Reduced:
    """Widen every inequality by `slack`: bounds of continuous variables, rows and indicators; equations stay.

    What is infeasible afterwards was infeasible before with something to spare, which a solver that works with
    tolerances decides more reliably. Points may violate the first program by `slack`, and more where the numbers are
    so large that rounding is, or where a solver may drop a coefficient that matters; there equations give way too.
    """
    real, ranged = program.kinds == Kind.CONTINUOUS, program.row_lower < program.row_upper
    size = _sizes(program)
    scales = _scales(program)
    spread = slack + _beyond(_ROUNDING * size, slack)
    weights = _give(program.data, program.indices, size, scales)
    lost = np.bincount(program.row_of_entry, weights=weights, minlength=program.rows).astype(np.float64)
    give = _beyond(lost, slack) + np.where(ranged, slack, 0.0)

    def loosened(i: Indicator) -> Indicator:
        lost: Floats = np.array([float(_give(i.coefficients, i.columns, size, scales).sum())])
        by = float(_beyond(lost, slack)[0]) + (slack if i.lower < i.upper else 0.0)
        return replace(i, lower=i.lower - by, upper=i.upper + by, activity=None)

    relaxed = replace(
        program,
        lower=np.where(real, program.lower - spread, program.lower),
        upper=np.where(real, program.upper + spread, program.upper),
        row_lower=program.row_lower - give,
        row_upper=program.row_upper + give,
        implications=tuple(map(loosened, program.implications)),
    )
    return Reduced(relaxed, _identity)


def scale_columns(program: Program) -> Reduced:
    """Measure continuous variables of large numbers in a power of two of their size, so that nothing is rounded.

    A coefficient of 1e-10 on a variable of up to 1e10 decides a row, but is below what solvers take for zero.
    """
    scales = _scales(program)
    if bool(np.all(scales == 1.0)):
        return Reduced(program, _identity)
    scaled = replace(
        program,
        lower=program.lower / scales,
        upper=program.upper / scales,
        data=program.data * scales[program.indices],
        implications=tuple(replace(i, coefficients=i.coefficients * scales[i.columns]) for i in program.implications),
        objective=None if program.objective is None else program.objective * scales,
    )
    return Reduced(scaled, lambda point: point * scales)


def _sizes(program: Program) -> Floats:
    """Greatest absolute value of each variable, 0 where it has no bounds."""
    size: Floats = np.maximum(np.abs(program.lower), np.abs(program.upper))
    return np.where(np.isfinite(size), size, 0.0)


def _scales(program: Program) -> Floats:
    size = _sizes(program)
    large = (program.kinds == Kind.CONTINUOUS) & (size > _LARGE)
    return np.where(large, 2.0 ** np.floor(np.log2(np.where(large, size, 1.0))), 1.0)


def _beyond(lost: Floats, slack: float) -> Floats:
    """Loss that the half of `slack` left over by tolerances does not cover."""
    return np.where(lost > slack / 2, lost, 0.0)


def _give(coefficients: Floats, columns: Ints, size: Floats, scales: Floats) -> Floats:
    """Change of a row by rounding, or by dropping a small coefficient, by entry."""
    terms = np.abs(coefficients) * size[columns]
    dropped = np.abs(coefficients) * scales[columns] <= _DROPPED
    return np.where(dropped, terms, _ROUNDING * terms)


def _big_m_row(program: Program, i: Indicator, bound: float, limit: float, upper_side: bool) -> Indicator:
    """One side of an indicator, ``a.x <= bound`` or ``a.x >= bound``, as a row with side `limit` when off."""
    if not np.isfinite(limit):
        open_ended = [c for c in i.columns if not np.isfinite(program.lower[c]) or not np.isfinite(program.upper[c])]
        raise ModelError(
            f"the indicator on {program.name(i.binary)} cannot be written with a big-M: its row is unbounded "
            f"because of {', '.join(program.name(c) for c in open_ended)}; give these variables bounds, state bounds "
            "of the row (activity=), or use the indicator encoding with a solver that takes indicators"
        )
    columns = np.append(i.columns, np.int32(i.binary))
    coefficients = np.append(i.coefficients, limit - bound if i.value else bound - limit)
    side = limit if i.value else bound
    lower, upper = (-np.inf, side) if upper_side else (side, np.inf)
    return Indicator(i.binary, i.value, columns, coefficients, lower, upper)


def _interval(program: Program, i: Indicator) -> tuple[float, float]:
    """The interval of the row of an indicator over the bounds of its variables, rounded outwards."""
    ends = np.stack([program.lower[i.columns], program.upper[i.columns]]) * i.coefficients
    error = _EPS * (len(i.columns) + 1) * float(np.abs(ends[np.isfinite(ends)]).sum())
    return float(ends.min(axis=0).sum()) - error, float(ends.max(axis=0).sum()) + error


def _tightened(program: Program) -> tuple[Floats, Floats] | None:
    """Copies of the bounds, integer ones rounded inwards; None when they cross by more than `TOLERANCE`."""
    lower, upper = program.lower.copy(), program.upper.copy()
    whole = program.kinds != Kind.CONTINUOUS
    lower[whole] = np.ceil(lower[whole] - TOLERANCE)
    upper[whole] = np.floor(upper[whole] + TOLERANCE)
    if bool(np.any(lower > upper + TOLERANCE + _ROUNDING * _sizes(program))):
        return None
    crossed = lower > upper
    lower[crossed] = upper[crossed] = (lower[crossed] + upper[crossed]) / 2
    return lower, upper


def _fix_forced_binaries(program: Program, lower: Floats, upper: Floats) -> None:
    """Fix, in place, binaries whose indicator has a row that is constant and does not hold.

    Where both values of a binary are ruled out the last one written stays, and the row of the other indicator, active
    then, shows the program infeasible.
    """
    changed = bool(program.implications)
    while changed:
        changed = False
        for i in program.implications:
            if lower[i.binary] == upper[i.binary] or not (lower[i.columns] == upper[i.columns]).all():
                continue
            activity = float(i.coefficients @ lower[i.columns])
            slack = TOLERANCE + _ROUNDING * float(np.abs(i.coefficients * lower[i.columns]).sum())
            if activity < i.lower - slack or activity > i.upper + slack:
                lower[i.binary] = upper[i.binary] = 1 - i.value
                changed = True


def _restrict(i: Indicator, free: NDArray[np.bool_], value: Floats, column: Ints) -> Indicator:
    """The indicator over the free variables, the fixed ones moved into its bounds."""
    keep = free[i.columns]
    shift = float(i.coefficients[~keep] @ value[i.columns[~keep]])
    activity = None if i.activity is None else (i.activity[0] - shift, i.activity[1] - shift)
    return Indicator(
        int(column[i.binary]),
        i.value,
        column[i.columns[keep]],
        i.coefficients[keep],
        i.lower - shift,
        i.upper - shift,
        activity,
    )


def _with_rows(program: Program, rows: list[Indicator]) -> Program:
    """The program with the rows of `rows` added unconditionally; repeated columns of a row are summed."""
    if not rows:
        return program
    columns, coefficients = zip(*(sum_terms(r.columns, r.coefficients) for r in rows), strict=True)
    ends = program.indptr[-1] + np.cumsum([len(c) for c in columns])
    return replace(
        program,
        indptr=np.append(program.indptr, ends).astype(np.int32),
        indices=np.concatenate([program.indices, *columns]),
        data=np.concatenate([program.data, *coefficients]),
        row_lower=np.append(program.row_lower, [r.lower for r in rows]),
        row_upper=np.append(program.row_upper, [r.upper for r in rows]),
    )


def _identity(point: Floats) -> Floats:
    return point
