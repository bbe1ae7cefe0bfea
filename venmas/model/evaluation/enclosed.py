"""Values of expressions at one state, exact where they are rational by their form, enclosed otherwise (design S2b).

Numbers, sums, maxima, choices and piecewise linear networks of exact values are exact rationals, and so are products
and quotients of them until they grow; everything else is a ball. A comparison, an argmax or a selector counts where the
balls decide it, else `OpenValueError` says that this precision does not; between exact values ties are allowed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from venmas.errors import ModelError
from venmas.logic.linear import LinearExpr, Relation, weighted
from venmas.model.evaluation.balls import Ball, Balls, OpenValueError
from venmas.model.evaluation.courses import BallCourse
from venmas.model.evaluation.evaluation import Evaluation, every, no_case, some
from venmas.model.expressions.expr import ArgMax, Compare, Condition, Expr, Product, Quotient, Smooth, Switch, Where
from venmas.model.expressions.smooth_functions import exact_value
from venmas.model.expressions.smooth_nodes import Apply, Flow
from venmas.nn import Network
from venmas.nn.runtime import Runtime

Real: TypeAlias = Fraction | Ball
"""An exact rational, or an enclosure of a real number."""


class Enclosed(Evaluation[Real, bool | None, Sequence[Real]]):
    """Values at a state, with so many bits where they are enclosed; a truth is None where it is open.

    runtime: what runs networks, in float32; none, they are the real functions. Raises `OpenValueError`, and
    `ModelError` where there is no value (design S1b).
    """

    def __init__(self, state: Mapping[str, Real], bits: int, runtime: Runtime | None = None) -> None:
        super().__init__()
        self.state, self.ring, self._runtime = state, Balls(bits), runtime

    def ball(self, expr: Expr) -> Ball:
        """The value as a ball."""
        return self._ball(self.value(expr))

    def _ball(self, value: Real) -> Ball:
        if isinstance(value, Fraction):
            return self.ring.constant(value)
        return value if value.bits == self.ring.bits else self.ring.taken(value)

    def linear(self, expr: LinearExpr) -> Real:
        """The value of an affine expression of the variables."""
        return self._linear([(c, self.state[name]) for name, c in expr.terms], expr.constant)

    def holds(self, condition: Condition) -> bool:
        """The truth of a condition. Raises `OpenValueError`."""
        truth = self.truth(condition)
        if truth is None:
            raise OpenValueError("a comparison is open")
        return truth

    def _constant(self, value: Fraction) -> Real:
        return value

    def _variable(self, name: str) -> Real:
        return self.state[name]

    def _linear(self, terms: Sequence[tuple[Fraction, Real]], constant: Fraction) -> Real:
        exact = [(c, v) for c, v in terms if isinstance(v, Fraction)]
        known = weighted(exact, constant)
        if len(exact) == len(terms):
            return known
        total = self.ring.constant(known)
        for c, v in terms:
            if isinstance(v, Ball):
                total = self.ring.add(total, self.ring.scale(self._ball(v), c))
        return total

    def _network(self, network: Network, inputs: Sequence[Real]) -> Sequence[Real]:
        if self._runtime is not None:
            point = np.array([[_single(v) for v in inputs]], dtype=np.float64)
            outputs = self._runtime.evaluate(network, point, "float32")[0]
            if not np.isfinite(outputs).all():
                raise ModelError(f"network {network.name!r} overflows in float32")
            return [Fraction(v) for v in outputs.tolist()]
        exact = [v for v in inputs if isinstance(v, Fraction)]
        if len(exact) == len(inputs) and not network.smooth:
            return network.evaluate_exact(exact)
        return self.ring.network(network, [self._ball(v) for v in inputs])

    def _output(self, outputs: Sequence[Real], index: int) -> Real:
        return outputs[index]

    def _maximum(self, operands: Iterable[Real]) -> Real:
        values = list(operands)
        for value in values:
            if all(_low(value) >= _high(other) for other in values if other is not value):
                return value
        return self.ring.greatest([self._ball(v) for v in values])

    def _argmax(self, node: ArgMax) -> Real:
        values = [self.value(s) for s in node.scores]
        for index, value in enumerate(values):
            before = all(_low(value) > _high(other) for other in values[:index])
            if before and all(_low(value) >= _high(other) for other in values[index + 1 :]):
                return Fraction(index)
        raise OpenValueError("an argmax is open")

    def _switch(self, node: Switch) -> Real:
        chosen = self.value(node.selector)
        if isinstance(chosen, Ball):
            raise OpenValueError("the selector of a switch is open")
        for key, case in node.cases:
            if key == chosen:
                return self.value(case)
        raise no_case(chosen, node.cases)

    def _where(self, node: Where) -> Real:
        return self.value(node.then if self.holds(node.condition) else node.otherwise)

    def _smooth(self, node: Smooth) -> Real:
        match node:
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
        return super()._smooth(node)

    def _short(self, *values: Fraction) -> bool:
        """Is a product of the values short enough to be kept as a rational?"""
        return sum(v.numerator.bit_length() + v.denominator.bit_length() for v in values) <= 16 * self.ring.bits

    def _flow(self, flow: Flow) -> BallCourse:
        return BallCourse(flow, self.ring, self.ball)

    def _known(self, value: bool) -> bool | None:
        return value

    def _compare(self, node: Compare) -> bool | None:
        try:
            return decided(node.relation, self.value(node.expr))
        except OpenValueError:
            return None

    def _every(self, truths: Iterable[bool | None]) -> bool | None:
        return every(truths)

    def _some(self, truths: Iterable[bool | None]) -> bool | None:
        return some(truths)


def decided(relation: Relation, value: Real) -> bool | None:
    """Whether ``value relation 0`` holds, None where an enclosure leaves it open."""
    if isinstance(value, Fraction):
        return relation.holds(value)
    return relation.decide(value.mid - value.rad, value.mid + value.rad)  # the unit does not change signs


def _single(value: Real) -> float:
    """The number of float32 that a value is rounded to. Raises `OpenValueError` where it may be several."""
    low, high = (float(np.float32(float(end))) for end in (_low(value), _high(value)))
    if low != high:
        raise OpenValueError("an input of a network lies between two numbers of float32")
    return low


def _low(value: Real) -> Fraction:
    return value if isinstance(value, Fraction) else value.low


def _high(value: Real) -> Fraction:
    return value if isinstance(value, Fraction) else value.high
