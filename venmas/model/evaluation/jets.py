"""Taylor coefficients in time along a flow, over any ring: floats, balls, affine forms, integers with outward rounding.

A *jet* is the list of coefficients of a quantity, of t^0, t^1, ...; those of the state follow from the rates,
x_{k+1} = f_k / (k + 1), and those of f by the rules of power series (Leibniz; Moore, *Interval Analysis*, 1966, chapter
11): of u = g(a) with u' = w a', k u_k = sum_{i=1..k} i a_i w_{k-i}. Coefficients that are 0 by their form are None.

The ring says what an operation gives; where it encloses, so do the coefficients, of every solution from the start that
was given. A Lagrange remainder is the last coefficient from a box that the solution stays in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Generic, Protocol, TypeVar

from venmas.model.expressions.expr import Constant, Expr, Product, Quotient, Sum, Variable
from venmas.model.expressions.smooth_nodes import Apply, Flow, Held

Q = TypeVar("Q")
_MINUS = Fraction(-1)


class Ring(Protocol[Q]):
    """Ring of quantities with their operations. Every one may raise where it has no value."""

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
        """A function of `venmas.model.evaluation.elementary`."""
        ...

    def dot(self, terms: Sequence[tuple[int, Q, Q]], divisor: int = 1) -> Q:
        """``sum n_i left_i right_i / divisor`` of one term at least, n_i and the divisor above 0; of one object with
        itself, its square."""
        ...


@dataclass(frozen=True, slots=True)
class _Step:
    """Recurrence of one expression's coefficients from those of others. place, parts: indices of lists of terms."""

    place: int
    rule: str
    expr: Expr
    parts: tuple[int, ...]


class _Plan:
    """The order in which the coefficients along a flow are made; shared by all jets along it."""

    def __init__(self, flow: Flow) -> None:
        self.steps: list[_Step] = []
        self.count = len(flow.names)
        self._places: dict[object, int] = {v.name: i for i, v in enumerate(flow.variables)}
        self._needed: dict[int, tuple[_Step, ...]] = {}
        self.rates = [self.place(rate) for _, rate in flow.rates]
        self.moving = self._from(self.rates)

    def place(self, expr: Expr) -> int:
        """Index of the coefficients of an expression."""
        if isinstance(expr, Variable) and expr.name in self._places:
            return self._places[expr.name]
        key: object = (expr.function, expr.operand) if isinstance(expr, Apply) else expr
        if key not in self._places:
            match expr:
                case Constant() | Variable() | Held():
                    self._add(key, "known", expr)
                case Sum(terms):
                    self._add(key, "sum", expr, *(self.place(part) for _, part in terms))
                case Product(left, right) | Quotient(left, right):
                    rule = "product" if isinstance(expr, Product) else "quotient"
                    self._add(key, rule, expr, self.place(left), self.place(right))
                case Apply(function, operand):
                    inner = self.place(operand)
                    if function in ("sin", "cos"):  # each is the other's derivative
                        for name, other in (("sin", self.count + 1), ("cos", self.count)):
                            self._add((name, operand), name, Apply(name, operand), inner, other)
                    else:
                        self._add(key, function, expr, inner)
                case _:
                    raise TypeError(type(expr))
        return self._places[key]

    def _add(self, key: object, rule: str, expr: Expr, *parts: int) -> None:
        self.steps.append(_Step(self.count, rule, expr, parts))
        self._places[key] = self.count
        self.count += 1

    def needed(self, place: int) -> tuple[_Step, ...]:
        """The steps that lead to some coefficients, operands first."""
        if place not in self._needed:
            self._needed[place] = self._from([place])
        return self._needed[place]

    def _from(self, places: Sequence[int]) -> tuple[_Step, ...]:
        indices: set[int] = set()
        stack = list(places)
        first = self.count - len(self.steps)
        while stack:
            place = stack.pop()
            if place >= first and place not in indices:
                indices.add(place)
                stack.extend(self.steps[place - first].parts)
        return tuple(self.steps[place - first] for place in sorted(indices))


@lru_cache(maxsize=64)
def _plan(flow: Flow) -> _Plan:
    return _Plan(flow)


class Jets(Generic[Q]):
    """The jets along one flow from one start, made longer as they are asked for.

    start: values of the variables that move. outside: the value of what is constant over the period: of variables that
    do not move, and of what is held.
    """

    def __init__(self, ring: Ring[Q], flow: Flow, start: Mapping[str, Q], outside: Callable[[Expr], Q]) -> None:
        self.ring, self._outside, self._plan = ring, outside, _plan(flow)
        self.state: dict[str, list[Q | None]] = {name: [start[name]] for name in flow.names}
        """Coefficients of the variables that move, as far as they are known."""
        self._terms: list[list[Q | None]] = list(self.state.values())
        self._slopes: dict[int, list[Q | None]] = {}

    def upto(self, order: int) -> dict[str, list[Q | None]]:
        """The coefficients 0 to `order` at least of each variable that moves."""
        plan, terms = self._plan, self._terms
        for k in range(len(terms[0]), order + 1):
            self._extend(plan.moving, k - 1)
            factor = Fraction(1, k)
            for state, place in zip(self.state.values(), plan.rates, strict=True):
                value = terms[place][k - 1]
                state.append(value if value is None or k == 1 else self.ring.scale(value, factor))
        return self.state

    def of(self, expr: Expr, order: int) -> list[Q | None]:
        """The coefficients 0 to `order` at least of an expression along the flow."""
        self.upto(order)
        place = self._plan.place(expr)
        steps = self._plan.needed(place)
        for k in range(order + 1):
            self._extend(steps, k)
        return self._terms[place]

    def _extend(self, steps: Sequence[_Step], k: int) -> None:
        """Make the coefficients k of all steps, where those before k are known."""
        terms = self._terms
        terms += [[] for _ in range(self._plan.count - len(terms))]
        for step in steps:
            if len(terms[step.place]) == k:
                terms[step.place].append(self._next(step, k))

    def _next(self, step: _Step, k: int) -> Q | None:
        terms, ring, expr = self._terms, self.ring, step.expr
        known, inner = terms[step.place], terms[step.parts[0]] if step.parts else []
        match step.rule:
            case "known":
                return None if k else self._start(expr)
            case "sum":
                assert isinstance(expr, Sum)
                total = ring.constant(expr.constant) if expr.constant and not k else None
                for place, (factor, _) in zip(step.parts, expr.terms, strict=True):
                    total = self._plus(total, self._scaled(terms[place][k], factor))
                return total
            case "product":
                return self._convolved(inner, terms[step.parts[1]], k, 0, k)
            case "quotient":
                divisor = terms[step.parts[1]]
                return self._over(self._minus(inner[k], self._convolved(divisor, known, k, 1, k)), divisor[0], k)
            case function if not k:
                return ring.apply(function, self._some(inner[0]))
            case "exp":
                return self._chained(inner, known, k)
            case "sin":
                return self._chained(inner, terms[step.parts[1]], k)
            case "cos":
                return self._minus(None, self._chained(inner, terms[step.parts[1]], k))
            case "tanh" | "sigmoid":
                slope = self._slopes.setdefault(step.place, [])
                square = self._convolved(known, known, k - 1, 0, k - 1)
                whole = known[k - 1] if step.rule == "sigmoid" else ring.constant(Fraction(1)) if k == 1 else None
                slope.append(self._minus(whole, square))
                return self._chained(inner, slope, k)
            case "sqrt":
                rest = self._minus(inner[k], self._convolved(known, known, k, 1, k - 1))
                return self._over(rest, self._scaled(known[0], Fraction(2)), k)
        raise TypeError(step.rule)

    def _start(self, expr: Expr) -> Q | None:
        """Nodes that are constant over the period."""
        if isinstance(expr, Constant):
            return self.ring.constant(expr.value) if expr.value else None
        return self._outside(expr.operand if isinstance(expr, Held) else expr)

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
        return self._plus(left, None if right is None else self.ring.scale(right, _MINUS))

    def _over(self, value: Q | None, divisor: Q | None, k: int) -> Q | None:
        """A quotient; a divisor is divided by at least once, so that it is told where it may be 0."""
        return None if value is None and k else self.ring.divide(self._some(value), self._some(divisor))

    def _convolved(
        self, left: Sequence[Q | None], right: Sequence[Q | None], k: int, first: int, last: int
    ) -> Q | None:
        """``sum left_i right_{k-i}``, i from `first` to `last`; of a jet with itself each pair is multiplied once."""
        same = left is right and first + last == k
        places = range(first, k // 2 + 1 if same else last + 1)
        return self._dot([(2 if same and 2 * i < k else 1, left[i], right[k - i]) for i in places])

    def _chained(self, inner: Sequence[Q | None], slope: Sequence[Q | None], k: int) -> Q | None:
        """``(1 / k) sum i inner_i slope_{k-i}``, i from 1 to k."""
        return self._dot([(i, inner[i], slope[k - i]) for i in range(1, k + 1)], k)

    def _dot(self, terms: Sequence[tuple[int, Q | None, Q | None]], divisor: int = 1) -> Q | None:
        known = [(n, a, b) for n, a, b in terms if a is not None and b is not None]
        if len(known) == 1 and known[0][0] == divisor:
            return self.ring.multiply(*known[0][1:])
        return self.ring.dot(known, divisor) if known else None
