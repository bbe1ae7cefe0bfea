"""Programs in the CPLEX LP format, which every solver reads: for bug reports, and to look at.

Columns are called x0, x1, ..., so that no name has to be escaped; numbers are written such that they read back as they
are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from venmas.solvers.milp.program import Floats, Indicator, Ints, Kind, Program

_TERMS = 8
"""Terms on a line: some readers limit the length of lines."""


def to_lp(program: Program, comments: Iterable[str] = ()) -> str:
    """The text of the file; each comment is a line at its top."""
    return "\n".join([*(f"\\ {c}" for c in comments), *_lines(program), "End", ""])


def _lines(program: Program) -> Iterator[str]:
    columns = range(program.variables)
    yield "Maximize"
    objective = [] if program.objective is None else [c for c in columns if program.objective[c]]
    yield " obj: " + (_sum(objective, [float(program.objective[c]) for c in objective]) if objective else "0 x0")  # type: ignore[index]
    yield "Subject To"
    for row in range(program.rows):
        at = slice(program.indptr[row], program.indptr[row + 1])
        left = _sum(program.indices[at], program.data[at])
        yield from _sides(f"r{row}", left, program.row_lower[row], program.row_upper[row])
    for number, i in enumerate(program.implications):
        yield from _indicator(number, i)
    yield "Bounds"
    for c in columns:
        yield f" {_bound(program.lower[c])} <= x{c} <= {_bound(program.upper[c])}"
    for title, kind in (("General", Kind.INTEGER), ("Binary", Kind.BINARY)):
        if chosen := [c for c in columns if program.kinds[c] == kind]:
            yield title
            yield from (f" x{c}" for c in chosen)


def _indicator(number: int, i: Indicator) -> Iterator[str]:
    left = f"x{i.binary} = {int(i.value)} -> {_sum(i.columns, i.coefficients)}"
    yield from _sides(f"i{number}", left, i.lower, i.upper)


def _sides(name: str, left: str, lower: float, upper: float) -> Iterator[str]:
    """One row for an equation, else one for each finite side."""
    if lower == upper:
        yield f" {name}: {left} = {_number(lower)}"
        return
    if lower > -float("inf"):
        yield f" {name}l: {left} >= {_number(lower)}"
    if upper < float("inf"):
        yield f" {name}u: {left} <= {_number(upper)}"


def _sum(columns: Ints | list[int], coefficients: Floats | list[float]) -> str:
    terms = [
        f"{'-' if c < 0 else '+'} {_number(abs(c))} x{column}" for column, c in zip(columns, coefficients, strict=True)
    ]
    lines = [" ".join(terms[at : at + _TERMS]) for at in range(0, len(terms), _TERMS)]
    return "\n   ".join(lines) or "0 x0"


def _bound(value: float) -> str:
    infinity = float("inf")
    return {infinity: "+inf", -infinity: "-inf"}.get(value, _number(value))


def _number(value: float) -> str:
    return repr(float(value))
