"""Programs in the free MPS format, with the same names as in the LP format (`venmas.solvers.milp.lp_format`).

Columns are x0, x1, ..., row i is ``r<i>``, and where both of its sides are finite and differ ``r<i>l`` and ``r<i>u``: a
RANGES section gives the width of a row, which in floats need not lead back to its other side. Numbers are written such
that they read back as they are. Indicators go to a section INDICATORS, which CPLEX introduced, and which Gurobi and
SCIP read; HiGHS knows no indicators: lower them first (`venmas.solvers.milp.reduce.lower_indicators`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from venmas.solvers.milp.program import Floats, Ints, Kind, Program

_Row = tuple[str, str, "Ints | list[int]", "Floats | list[float]", float]


def to_mps(program: Program, name: str = "program", comments: Iterable[str] = ()) -> str:
    """The text of the file; each comment is a line at its top. name: without spaces."""
    return "\n".join([*(f"* {c}" for c in comments), *_lines(program, name), "ENDATA", ""])


def _lines(program: Program, name: str) -> Iterator[str]:
    rows, gates = _rows(program)
    columns = range(program.variables)
    yield f"NAME {name}"
    if program.objective is not None:
        yield from ("OBJSENSE", "    MAX")
    yield from ("ROWS", " N obj")
    yield from (f" {sense} {row}" for row, sense, *_ in rows)
    entries: list[list[tuple[str, float]]] = [[] for _ in columns]
    if program.objective is not None:
        for column in columns:
            if program.objective[column]:
                entries[column].append(("obj", float(program.objective[column])))
    for row, _, where, coefficients, _ in rows:
        for column, coefficient in zip(where, coefficients, strict=True):
            entries[int(column)].append((row, float(coefficient)))
    yield "COLUMNS"
    whole = False
    for column in columns:
        if (program.kinds[column] != Kind.CONTINUOUS) != whole:
            whole = not whole
            yield _marker(column, whole)
        # a column without entries is named all the same
        yield from (f" x{column} {row} {value!r}" for row, value in entries[column] or [("obj", 0.0)])
    if whole:
        yield _marker(program.variables, False)
    yield "RHS"
    yield from (f" RHS {row} {side!r}" for row, _, _, _, side in rows if side)
    yield "BOUNDS"
    for column in columns:
        if program.kinds[column] == Kind.BINARY:
            yield f" BV BND x{column}"
        else:
            yield from _bounds(f"x{column}", float(program.lower[column]), float(program.upper[column]))
    if gates:
        yield "INDICATORS"
        yield from (f" IF {row} x{binary} {value}" for row, binary, value in gates)


def _rows(program: Program) -> tuple[list[_Row], list[tuple[str, int, int]]]:
    """Name, sense, terms and side of every row, those of indicators last; and name, binary and value of the latter.

    SCIP takes indicators of binary columns only, and HiGHS heeds the first bound of a column and no second: the bounds
    of a binary that are not 0 and 1 become rows.
    """
    rows: list[_Row] = []
    for row in range(program.rows):
        at = slice(program.indptr[row], program.indptr[row + 1])
        terms = program.indices[at], program.data[at]
        rows += _sides(f"r{row}", *terms, float(program.row_lower[row]), float(program.row_upper[row]))
    for column in (program.kinds == Kind.BINARY).nonzero()[0].tolist():
        sides = float(program.lower[column]), float(program.upper[column])
        if sides != (0.0, 1.0):
            rows += _sides(f"b{column}", [column], [1.0], *sides)
    gates: list[tuple[str, int, int]] = []
    for number, i in enumerate(program.implications):
        made = _sides(f"i{number}", i.columns, i.coefficients, float(i.lower), float(i.upper))
        gates += [(name, i.binary, int(i.value)) for name, *_ in made]
        rows += made
    return rows, gates


def _sides(
    name: str, columns: Ints | list[int], coefficients: Floats | list[float], lower: float, upper: float
) -> list[_Row]:
    if lower == upper:
        return [(name, "E", columns, coefficients, lower)]
    sides: list[_Row] = []
    if lower > -float("inf"):
        sides.append((f"{name}l", "G", columns, coefficients, lower))
    if upper < float("inf"):
        sides.append((f"{name}u", "L", columns, coefficients, upper))
    return sides


def _marker(number: int, begins: bool) -> str:
    return f" M{number} 'MARKER' '{'INTORG' if begins else 'INTEND'}'"


def _bounds(name: str, lower: float, upper: float) -> Iterator[str]:
    """Both bounds, whatever a reader would take for granted."""
    if lower == -float("inf") and upper == float("inf"):
        yield f" FR BND {name}"
        return
    yield f" MI BND {name}" if lower == -float("inf") else f" LO BND {name} {lower!r}"
    yield f" PL BND {name}" if upper == float("inf") else f" UP BND {name} {upper!r}"
