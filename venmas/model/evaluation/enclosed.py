"""Values of expressions at one state, exact where they are rational by their form, enclosed otherwise (design S2b).

Numbers, sums, maxima, choices and piecewise linear networks of exact values are exact rationals, and so are products
and quotients of them until they grow; everything else is a ball. A comparison, an argmax or a selector counts where the
balls decide it, else `OpenValueError` says that this precision does not; between exact values ties are allowed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TypeAlias

from venmas.errors import ModelError
from venmas.logic.linear import LinearExpr, Relation, weighted
from venmas.model.evaluation.balls import Ball, Balls, OpenValueError
from venmas.model.evaluation.courses import BallCourse
from venmas.model.expressions.expr import (
    All,
    Any,
    Application,
    ArgMax,
    Compare,
    Condition,
    Constant,
    Drawn,
    Expr,
    Maximum,
    Output,
    Product,
    Quotient,
    Smooth,
    Sum,
    Switch,
    Truth,
    Variable,
    Where,
)
from venmas.model.expressions.smooth_functions import exact_value
from venmas.model.expressions.smooth_nodes import Apply, End, Extremum, Flow, Held

Real: TypeAlias = Fraction | Ball
"""An exact rational, or an enclosure of a real number."""


class Enclosed:
    """Values at a state, with so many bits where they are enclosed; each node once and only when asked for."""

    def __init__(self, state: Mapping[str, Real], bits: int) -> None:
        self.state, self.ring = state, Balls(bits)
        self._values: dict[int, tuple[Expr, Real]] = {}
        self._outputs: dict[int, tuple[Application, Sequence[Real]]] = {}
        self._courses: dict[int, tuple[Flow, BallCourse]] = {}

    def value(self, expr: Expr) -> Real:
        """The value of an expression. Raises `OpenValueError`, and `ModelError` where there is none (design S1b)."""
        known = self._values.get(id(expr))
        if known is None:
            known = self._values[id(expr)] = (expr, self._compute(expr))
        return known[1]

    def ball(self, expr: Expr) -> Ball:
        """The value as a ball."""
        return self._ball(self.value(expr))

    def _ball(self, value: Real) -> Ball:
        if isinstance(value, Fraction):
            return self.ring.constant(value)
        return value if value.bits == self.ring.bits else self.ring.taken(value)

    def linear(self, expr: LinearExpr) -> Real:
        """The value of an affine expression of the variables."""
        return self._sum([(c, self.state[name]) for name, c in expr.terms], expr.constant)

    def holds(self, condition: Condition) -> bool:
        """The truth of a condition. Raises `OpenValueError`."""
        found = self.truth(condition)
        if found is None:
            raise OpenValueError("a comparison is open")
        return found

    def truth(self, condition: Condition) -> bool | None:
        """The truth of a condition, None where it is open."""
        match condition:
            case Truth(value):
                return value
            case Compare(expr, relation):
                try:
                    return decided(relation, self.value(expr))
                except OpenValueError:
                    return None
            case All(operands):
                found = {self.truth(c) for c in operands}
                return False if False in found else None if None in found else True
            case Any(operands):
                found = {self.truth(c) for c in operands}
                return True if True in found else None if None in found else False
        raise TypeError(type(condition))

    def _compute(self, expr: Expr) -> Real:
        match expr:
            case Constant(value):
                return value
            case Variable(name, _):
                return self.state[name]
            case Drawn(name):
                raise ModelError(f"the disturbance {name!r} was not drawn: run `drawn(system, steps)`")
            case Sum(terms, constant):
                return self._sum([(c, self.value(e)) for c, e in terms], constant)
            case Output(application, index):
                return self._apply(application)[index]
            case Maximum(operands):
                return self._greatest([self.value(o) for o in operands])
            case ArgMax(scores):
                return self._winner([self.value(s) for s in scores])
            case Switch(selector, cases):
                chosen = self.value(selector)
                if isinstance(chosen, Ball):
                    raise OpenValueError("the selector of a switch is open")
                for key, case in cases:
                    if key == chosen:
                        return self.value(case)
                raise ModelError(f"a switch has no case for the value {chosen} of its selector")
            case Where(condition, then, otherwise):
                return self.value(then if self.holds(condition) else otherwise)
            case Smooth():
                return self._smooth(expr)
        raise TypeError(type(expr))

    def _smooth(self, expr: Smooth) -> Real:
        match expr:
            case Held(operand):
                return self.value(operand)
            case Product(left, right):
                a, b = self.value(left), self.value(right)
                if isinstance(a, Fraction) and isinstance(b, Fraction) and self._short(a, b):
                    return a * b
                first = self._ball(a)
                return self.ring.multiply(first, first if left is right else self._ball(b))
            case Quotient(left, right):
                a, b = self.value(left), self.value(right)
                if isinstance(a, Fraction) and isinstance(b, Fraction) and b and self._short(a, b):
                    return a / b
                return self.ring.divide(self._ball(a), self._ball(b))
            case Apply(function, operand):
                a = self.value(operand)
                exact = exact_value(function, a) if isinstance(a, Fraction) else None
                return self.ring.apply(function, self._ball(a)) if exact is None else exact
            case End(flow, name):
                return self._course(flow).ends[name]
            case Extremum(flow, _, _):
                return self._course(flow).extremum(expr)
        raise TypeError(type(expr))

    def _short(self, *values: Fraction) -> bool:
        """Is a product of the values short enough to be kept as a rational?"""
        return sum(v.numerator.bit_length() + v.denominator.bit_length() for v in values) <= 16 * self.ring.bits

    def _course(self, flow: Flow) -> BallCourse:
        if id(flow) not in self._courses:
            self._courses[id(flow)] = flow, BallCourse(flow, self.ring, self.ball)
        return self._courses[id(flow)][1]

    def _sum(self, terms: Sequence[tuple[Fraction, Real]], constant: Fraction) -> Real:
        exact = [(c, v) for c, v in terms if isinstance(v, Fraction)]
        known = weighted(exact, constant)
        if len(exact) == len(terms):
            return known
        total = self.ring.constant(known)
        for c, v in terms:
            if isinstance(v, Ball):
                total = self.ring.add(total, self.ring.scale(self._ball(v), c))
        return total

    def _greatest(self, values: Sequence[Real]) -> Real:
        for value in values:
            if all(_low(value) >= _high(other) for other in values if other is not value):
                return value
        return self.ring.greatest([self._ball(v) for v in values])

    def _winner(self, values: Sequence[Real]) -> Fraction:
        """The index of the greatest, the lowest one of equal ones."""
        for index, value in enumerate(values):
            before = all(_low(value) > _high(other) for other in values[:index])
            if before and all(_low(value) >= _high(other) for other in values[index + 1 :]):
                return Fraction(index)
        raise OpenValueError("an argmax is open")

    def _apply(self, application: Application) -> Sequence[Real]:
        known = self._outputs.get(id(application))
        if known is None:
            inputs, network = [self.value(i) for i in application.inputs], application.network
            exact = [v for v in inputs if isinstance(v, Fraction)]
            outputs: Sequence[Real]
            if len(exact) == len(inputs) and not network.smooth:
                outputs = network.evaluate_exact(exact)
            else:
                outputs = self.ring.network(network, [self._ball(v) for v in inputs])
            known = self._outputs[id(application)] = (application, outputs)
        return known[1]


def decided(relation: Relation, value: Real) -> bool | None:
    """Whether ``value relation 0`` holds, None where an enclosure leaves it open."""
    if isinstance(value, Fraction):
        return relation.holds(value)
    return relation.decide(value.mid - value.rad, value.mid + value.rad)  # the unit does not change signs


def _low(value: Real) -> Fraction:
    return value if isinstance(value, Fraction) else value.low


def _high(value: Real) -> Fraction:
    return value if isinstance(value, Fraction) else value.high
