"""Taylor coefficients in time along a flow, over any ring: floats, balls, affine forms, integers with outward rounding.

A *jet* is the list of coefficients of a quantity, of t^0, t^1, ...; those of the state follow from the rates,
x_{k+1} = f_k / (k + 1), and those of f by the rules of power series (Leibniz; Moore, *Interval Analysis*, 1966, chapter
11): of u = g(a) with u' = w a', k u_k = sum_{i=1..k} i a_i w_{k-i}. Coefficients that are 0 by their form are None.

The ring says what an operation gives; where it encloses, so do the coefficients, of every solution from the start that
was given. A Lagrange remainder is the last coefficient from a box that the solution stays in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Generic, Protocol, TypeVar

from venmas.model.expr import Constant, Expr, Product, Quotient, Sum, Variable
from venmas.model.smooth.nodes import Apply, Flow, Held

Q = TypeVar("Q")


class Ring(Protocol[Q]):
    """What quantities are, and what operations on them give. Every one may raise where it has no value."""

    def constant(self, value: Fraction) -> Q:
        """A rational."""
        ...

    def add(self, left: Q, right: Q) -> Q:
        """Sum."""
        ...

    def scale(self, value: Q, factor: Fraction) -> Q:
        """Multiple."""
        ...

    def multiply(self, left: Q, right: Q) -> Q:
        """Product; of one object with itself, its square."""
        ...

    def divide(self, left: Q, right: Q) -> Q:
        """Quotient."""
        ...

    def apply(self, function: str, value: Q) -> Q:
        """A function of `venmas.functions`."""
        ...


class Jets(Generic[Q]):
    """The jets along one flow from one start, made longer as they are asked for.

    start: values of the variables that move. outside: the value of what is constant over the period: of variables that
    do not move, and of what is held.
    """

    def __init__(self, ring: Ring[Q], flow: Flow, start: Mapping[str, Q], outside: Callable[[Expr], Q]) -> None:
        self.ring, self.flow = ring, flow
        self._outside = outside
        self.state: dict[str, list[Q | None]] = {name: [start[name]] for name in flow.names}
        """Coefficients of the variables that move, as far as they are known."""
        self._terms: dict[object, list[Q | None]] = {}
        self._slopes: dict[object, list[Q | None]] = {}
        self._kept: list[Expr] = []

    def upto(self, order: int) -> dict[str, list[Q | None]]:
        """The coefficients 0 to `order` at least of each variable that moves."""
        while (known := min(map(len, self.state.values()))) <= order:
            found = {v.name: self.of(rate, known - 1)[known - 1] for v, rate in self.flow.rates}
            for name, value in found.items():
                self.state[name].append(None if value is None else self.ring.scale(value, Fraction(1, known)))
        return self.state

    def of(self, expr: Expr, order: int) -> list[Q | None]:
        """The coefficients 0 to `order` at least of an expression along the flow."""
        if isinstance(expr, Variable) and expr.name in self.state:
            return self.upto(order)[expr.name]
        key: object = (expr.function, id(expr.operand)) if isinstance(expr, Apply) else id(expr)
        if key not in self._terms:
            self._kept.append(expr)  # an id is only unique while the node lives
            self._terms[key] = []
        terms = self._terms[key]
        while len(terms) <= order:
            terms.append(self._next(expr, key, terms))
        return terms

    def _next(self, expr: Expr, key: object, known: Sequence[Q | None]) -> Q | None:
        """The coefficient after those that are known."""
        k = len(known)
        match expr:
            case Constant(value):
                return self.ring.constant(value) if not k and value else None
            case Variable() | Held():
                return None if k else self._outside(expr.operand if isinstance(expr, Held) else expr)
            case Sum(terms, constant):
                total = self.ring.constant(constant) if constant and not k else None
                for factor, part in terms:
                    total = self._plus(total, self._scaled(self.of(part, k)[k], factor))
                return total
            case Product(left, right):
                return self._convolved(self.of(left, k), self.of(right, k), k, 0, k)
            case Quotient(left, right):
                divisor = self.of(right, k)
                rest = self._minus(self.of(left, k)[k], self._convolved(divisor, known, k, 1, k))
                return self._over(rest, divisor[0], k)
            case Apply(function, operand):
                inner = self.of(operand, k)
                if not k:
                    return self.ring.apply(function, self._some(inner[0]))
                return self._applied(function, operand, inner, key, known)
        raise TypeError(type(expr))

    def _applied(
        self, function: str, operand: Expr, inner: Sequence[Q | None], key: object, known: Sequence[Q | None]
    ) -> Q | None:
        """Coefficient k = len(known) >= 1 of a function; inner: those of its operand."""
        k = len(known)
        match function:
            case "exp":
                return self._chained(inner, known, k)
            case "sin":
                return self._chained(inner, self.of(Apply("cos", operand), k - 1), k)
            case "cos":
                return self._scaled(self._chained(inner, self.of(Apply("sin", operand), k - 1), k), Fraction(-1))
            case "tanh" | "sigmoid":
                slope = self._slopes.setdefault(key, [])
                while len(slope) < k:
                    j = len(slope)
                    square = self._convolved(known, known, j, 0, j)
                    whole = known[j] if function == "sigmoid" else None if j else self.ring.constant(Fraction(1))
                    slope.append(self._minus(whole, square))
                return self._chained(inner, slope, k)
            case "sqrt":
                rest = self._minus(inner[k], self._convolved(known, known, k, 1, k - 1))
                return self._over(rest, self._scaled(known[0], Fraction(2)), k)
        raise TypeError(function)

    # -- coefficients, None being 0 ------------------------------------------------------------------------------------

    def _some(self, value: Q | None) -> Q:
        return self.ring.constant(Fraction(0)) if value is None else value

    def _scaled(self, value: Q | None, factor: Fraction) -> Q | None:
        return value if value is None or factor == 1 else self.ring.scale(value, factor)

    def _plus(self, left: Q | None, right: Q | None) -> Q | None:
        if left is None or right is None:
            return right if left is None else left
        return self.ring.add(left, right)

    def _minus(self, left: Q | None, right: Q | None) -> Q | None:
        return self._plus(left, self._scaled(right, Fraction(-1)))

    def _over(self, value: Q | None, divisor: Q | None, k: int) -> Q | None:
        """A quotient; a divisor is divided by at least once, so that it is told where it may be 0."""
        return None if value is None and k else self.ring.divide(self._some(value), self._some(divisor))

    def _convolved(
        self, left: Sequence[Q | None], right: Sequence[Q | None], k: int, first: int, last: int
    ) -> Q | None:
        """``sum left_i right_{k-i}``, i from `first` to `last`; of a jet with itself each pair is multiplied once."""
        same = left is right and first + last == k
        total: Q | None = None
        for i in range(first, k // 2 + 1 if same else last + 1):
            a, b = left[i], right[k - i]
            if a is not None and b is not None:
                total = self._plus(total, self._scaled(self.ring.multiply(a, b), Fraction(1 + (same and 2 * i < k))))
        return total

    def _chained(self, inner: Sequence[Q | None], slope: Sequence[Q | None], k: int) -> Q | None:
        """``(1 / k) sum i inner_i slope_{k-i}``, i from 1 to k."""
        total: Q | None = None
        for i in range(1, k + 1):
            a, w = inner[i], slope[k - i]
            if a is not None and w is not None:
                total = self._plus(total, self._scaled(self.ring.multiply(a, w), Fraction(i, k)))
        return total
