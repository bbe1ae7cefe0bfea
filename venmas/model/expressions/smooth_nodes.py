"""Nodes that are not piecewise linear, besides products and quotients (`venmas.model.expressions.expr`).

A *flow* is the solution of an ordinary differential equation over one period, from the state that is read. In its rates
a variable that it names moves, and any other is constant; `Held` is the value of an expression at the start of the
period, such as what an agent does. All numbers are rationals: 0.1 is 1/10.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from venmas.model.expressions.expr import Expr, Product, Quotient, Smooth, Variable

__all__ = ["Apply", "End", "Extremum", "Flow", "Held", "Product", "Quotient", "Smooth"]


@dataclass(frozen=True, eq=False)
class Apply(Smooth):
    """A function of `venmas.model.evaluation.elementary`, by name, of one expression: ``exp tanh sigmoid sin cos
    sqrt``."""

    function: str
    operand: Expr

    @property
    def parts(self) -> tuple[Expr, ...]:
        """The operand."""
        return (self.operand,)


@dataclass(frozen=True, eq=False)
class Held(Smooth):
    """The value of an expression at the start of the period, in the rates of a flow; elsewhere the value itself."""

    operand: Expr

    @property
    def parts(self) -> tuple[Expr, ...]:
        """The operand."""
        return (self.operand,)


@dataclass(frozen=True, eq=False)
class Flow:
    """``variable' = rate`` for each pair, over `period`; not a scalar: see `End` and `Extremum`."""

    period: Fraction
    rates: tuple[tuple[Variable, Expr], ...]

    @property
    def parts(self) -> tuple[Expr, ...]:
        """The variables that move, whose values are where it starts, each with its derivative after it."""
        return tuple(part for pair in self.rates for part in pair)

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables that move, in the order of the rates."""
        return tuple(variable for variable, _ in self.rates)

    @property
    def names(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(variable.name for variable, _ in self.rates)


@dataclass(frozen=True, eq=False)
class End(Smooth):
    """Value of variable `name` of a flow after the period."""

    flow: Flow
    name: str

    @property
    def parts(self) -> tuple[Expr, ...]:
        """The parts of the flow."""
        return self.flow.parts


@dataclass(frozen=True, eq=False)
class Extremum(Smooth):
    """The least or `greatest` value of an expression over the closed period of a flow, both ends included."""

    flow: Flow
    expr: Expr
    greatest: bool

    @property
    def parts(self) -> tuple[Expr, ...]:
        """The parts of the flow, and the expression."""
        return (*self.flow.parts, self.expr)
