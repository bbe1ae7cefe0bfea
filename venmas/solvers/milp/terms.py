"""Affine terms over the columns of a program, and the builder that knows their ranges and how to gate rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import TypeAlias

from venmas.budget import ask
from venmas.runtime import choices
from venmas.solvers.milp.program import Kind, ProgramBuilder

ReluEncoding: TypeAlias = choices.ReluEncoding

MARGIN = 1e-2
"""Greatest slack that the margin column asks strict rows for when a witness at the boundary does not replay."""

_ROUNDING = 1e-9
"""Ranges here are computed in plain floats: only what misses by more than this (relative) is called impossible."""


@dataclass(eq=False)
class Term:
    """``sum(coefficient * column) + constant``. Treated as immutable."""

    columns: dict[int, float] = field(default_factory=dict)
    constant: float = 0.0

    def plus(self, other: Term, factor: float = 1.0) -> Term:
        """``self + factor * other``."""
        merged = dict(self.columns)
        for column, coefficient in other.columns.items():
            total = merged.get(column, 0.0) + factor * coefficient
            if total:
                merged[column] = total
            else:
                merged.pop(column, None)
        return Term(merged, self.constant + factor * other.constant)

    def shifted(self, offset: float) -> Term:
        """``self + offset``."""
        return Term(self.columns, self.constant + offset)

    def scaled(self, factor: float) -> Term:
        """``factor * self``."""
        return Term({c: factor * v for c, v in self.columns.items()} if factor else {}, factor * self.constant)


ONE = Term({}, 1.0)
ZERO = Term()


def complement(literal: Term) -> Term:
    """``1 - literal``."""
    return literal.scaled(-1.0).shifted(1.0)


def total(terms: Iterable[Term]) -> Term:
    """Sum of terms."""
    columns: dict[int, float] = {}
    constant = 0.0
    for term in terms:
        constant += term.constant
        for column, coefficient in term.columns.items():
            columns[column] = columns.get(column, 0.0) + coefficient
    return Term({c: v for c, v in columns.items() if v}, constant)


class Contradiction(Exception):  # noqa: N818 - a result, not an error: the bounds refute the subproblem
    """A constraint without a gate that can not hold."""


class GatedBuilder:
    """A program under construction whose rows may be gated by literals (terms that are 0 or 1).

    A gated row is a big-M row, with the range of the row as M, or an indicator. Rows of strict comparisons carry the
    margin column: it is fixed to 0, and only freed to look for a witness away from the boundary (never for a proof).
    """

    def __init__(self, encoding: ReluEncoding) -> None:
        self.program = ProgramBuilder()
        self.encoding = encoding
        self._ranges: list[tuple[float, float]] = []
        self.margin = self.variable(0.0, 0.0)

    def variable(self, lower: float, upper: float, kind: Kind = Kind.CONTINUOUS) -> int:
        """Add a column."""
        self._ranges.append((lower, upper))
        return self.program.add_variable(lower, upper, kind)

    def binary(self) -> Term:
        """A new 0/1 column as a literal."""
        return Term({self.variable(0.0, 1.0, Kind.BINARY): 1.0})

    def one_of(self, count: int) -> list[Term]:
        """`count` literals of which exactly one holds; two share a binary."""
        if count == 1:
            return [ONE]
        if count == 2:
            first = self.binary()
            return [first, complement(first)]
        literals = [self.binary() for _ in range(count)]
        self.row(total(literals), 1.0, 1.0)
        return literals

    def range(self, term: Term) -> tuple[float, float]:
        """Interval of a term from the bounds of its columns."""
        low = high = term.constant
        for column, coefficient in term.columns.items():
            lo, hi = self._ranges[column]
            low += coefficient * (lo if coefficient > 0 else hi)
            high += coefficient * (hi if coefficient > 0 else lo)
        return low, high

    def row(self, term: Term, lower: float, upper: float) -> None:
        """``lower <= term <= upper``."""
        ask()
        if not term.columns:
            slack = _ROUNDING * (1 + abs(term.constant))
            if not lower - slack <= term.constant <= upper + slack:
                raise Contradiction
            return
        self.program.add_row(
            list(term.columns), list(term.columns.values()), lower - term.constant, upper - term.constant
        )

    def implied(
        self,
        gate: Term,
        term: Term,
        lower: float,
        upper: float,
        bounds: tuple[float, float] | None = None,
        strict: bool = False,
    ) -> None:
        """``gate == 1 implies lower <= term <= upper``; `bounds` is a range of `term` known to be valid."""
        if not gate.columns and gate.constant < 0.5:
            return
        low, high = self.range(term)
        if bounds is not None:
            low, high = max(low, bounds[0]), min(high, bounds[1])
        if strict:
            term = term.plus(Term({self.margin: 1.0}), 1.0 if upper < inf else -1.0)
            low, high = low - MARGIN, high + MARGIN
        if not gate.columns:
            if term.columns:
                self.row(term, lower, upper)
            elif not lower <= term.constant <= upper:
                # a number that was added up in plain floats refutes nothing: the solver says it of a row that is empty
                self.program.add_row([self.margin], [0.0], lower - term.constant, upper - term.constant)
            return
        slack = _ROUNDING * (1 + abs(low) + abs(high))
        if low > upper + slack or high < lower - slack:  # the row can never hold: neither can the gate
            self.row(gate, 0.0, 0.0)
            return
        if self.encoding == "indicator":
            self._indicator(gate, term, lower, upper, (low, high))
            return
        if upper < high:  # term <= upper + (high - upper)(1 - gate)
            self.row(term.plus(gate, high - upper), -inf, high)
        if lower > low:
            self.row(term.plus(gate, low - lower), low, inf)

    def _indicator(self, gate: Term, term: Term, lower: float, upper: float, bounds: tuple[float, float]) -> None:
        column, value = self._flag(gate)
        columns, coefficients = list(term.columns), list(term.columns.values())
        if not columns:
            return
        activity = bounds[0] - term.constant, bounds[1] - term.constant
        self.program.add_indicator(
            column, value, columns, coefficients, lower - term.constant, upper - term.constant, activity
        )

    def _flag(self, gate: Term) -> tuple[int, bool]:
        """A single binary column that equals the gate (or its complement)."""
        if len(gate.columns) == 1:
            (column, coefficient), constant = next(iter(gate.columns.items())), gate.constant
            if (coefficient, constant) == (1.0, 0.0):
                return column, True
            if (coefficient, constant) == (-1.0, 1.0):
                return column, False
        flag = self.binary()
        self.row(flag.plus(gate, -1.0), 0.0, 0.0)
        gate.columns, gate.constant = flag.columns, flag.constant  # the next row with this gate finds its binary
        return next(iter(flag.columns)), True

    def both(self, literals: Sequence[Term]) -> Term:
        """A literal that holds exactly when all of them hold."""
        open_ones = [t for t in literals if t.columns]
        if any(not t.columns and t.constant < 0.5 for t in literals):
            return ZERO
        if len(open_ones) <= 1:
            return open_ones[0] if open_ones else ONE
        joint = self.binary()
        for literal in open_ones:
            self.row(literal.plus(joint, -1.0), 0.0, inf)
        self.row(total(open_ones).plus(joint, -1.0), -inf, len(open_ones) - 1.0)
        return joint

    def either(self, literals: Sequence[Term]) -> Term:
        """A literal that holds exactly when at least one of them holds."""
        return complement(self.both([complement(t) for t in literals]))
