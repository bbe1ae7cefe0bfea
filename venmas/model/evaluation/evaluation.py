"""Reading of the expression graph, the same for every domain in which expressions are computed.

A *domain* says what numbers, sums, networks and choices come to: exact rationals, batches of floats, balls, bounds.
`Evaluation` walks the graph for it: every node once, and only when it is asked for. What a domain does not have it
refuses, so that a node which it does not know is never taken for another one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Generic, Protocol, TypeVar

from venmas.budget import ask
from venmas.errors import ModelError
from venmas.model.expressions.conditions import All, Any, Compare, Condition, Truth
from venmas.model.expressions.expr import (
    Application,
    ArgMax,
    Constant,
    Drawn,
    Expr,
    Maximum,
    Output,
    Smooth,
    Sum,
    Switch,
    Variable,
    Where,
)
from venmas.model.expressions.smooth_nodes import End, Extremum, Flow, Held
from venmas.nn import Network

V = TypeVar("V")
"""Values."""
T = TypeVar("T")
"""Truths."""
N = TypeVar("N")
"""All outputs of a network."""
_V = TypeVar("_V", covariant=True)


class Course(Protocol[_V]):
    """A flow followed over its period."""

    @property
    def ends(self) -> Mapping[str, _V]:
        """The values of its variables after the period."""

    def extremum(self, node: Extremum) -> _V:
        """The least or greatest value of an expression on the way."""


class Domain(Generic[V, T, N]):
    """Operations on values and truths. Choices are given their parts unevaluated, to ask for those that matter."""

    def _refusal(self, operation: str) -> TypeError:
        return TypeError(f"{type(self).__name__} has no {operation}")

    def _constant(self, value: Fraction) -> V:
        """A number."""
        raise self._refusal("constants")

    def _variable(self, name: str) -> V:
        """A variable of the state."""
        raise self._refusal("variables")

    def _linear(self, terms: Sequence[tuple[Fraction, V]], constant: Fraction) -> V:
        """``sum(coefficient * value) + constant``."""
        raise self._refusal("sums")

    def _network(self, network: Network, inputs: Sequence[V]) -> N:
        """All outputs of a network."""
        raise self._refusal("networks")

    def _output(self, outputs: N, index: int) -> V:
        """One of them."""
        raise self._refusal("networks")

    def _maximum(self, operands: Iterable[V]) -> V:
        """The greatest of some values, which are computed as they are drawn."""
        raise self._refusal("maximum")

    def _argmax(self, node: ArgMax) -> V:
        """The index of the greatest score, the lowest one on a tie (design S3)."""
        raise self._refusal("argmax")

    def _switch(self, node: Switch) -> V:
        """The case that the selector names."""
        raise self._refusal("switch")

    def _where(self, node: Where) -> V:
        """One of two expressions, as the condition says."""
        raise self._refusal("where")

    def _smooth(self, node: Smooth) -> V:
        """A product, a quotient, or a function; flows, and what is held, are left to `Evaluation`."""
        raise TypeError(type(node))

    def _flow(self, flow: Flow) -> Course[V]:
        """A flow from where the period starts."""
        raise self._refusal("flows")

    def _known(self, value: bool) -> T:
        """A truth that hangs on no state."""
        raise self._refusal("truths")

    def _compare(self, node: Compare) -> T:
        """The truth of a comparison."""
        raise self._refusal("comparisons")

    def _every(self, truths: Iterable[T]) -> T:
        """The conjunction of truths, which are computed as they are drawn."""
        raise self._refusal("conjunctions")

    def _some(self, truths: Iterable[T]) -> T:
        """The disjunction of truths, which are computed as they are drawn."""
        raise self._refusal("disjunctions")


class Evaluation(Domain[V, T, N]):
    """Values of expressions and truths of conditions in one state of a domain (or a batch of states)."""

    def __init__(self) -> None:
        # Nodes are kept with their values: an id is only unique while the node lives.
        self._values: dict[int, tuple[Expr, V]] = {}
        self._networks: dict[int, tuple[Application, N]] = {}
        self._courses: dict[int, tuple[Flow, Course[V]]] = {}

    def value(self, expr: Expr) -> V:
        """The value of an expression."""
        known = self._values.get(id(expr))
        if known is None:
            known = self._values[id(expr)] = (expr, self._compute(expr))
        return known[1]

    def outputs(self, application: Application) -> N:
        """The outputs of a network."""
        known = self._networks.get(id(application))
        if known is None:
            computed = self._network(application.network, [self.value(i) for i in application.inputs])
            known = self._networks[id(application)] = (application, computed)
        return known[1]

    def truth(self, condition: Condition) -> T:
        """The truth of a condition."""
        match condition:
            case Truth(value):
                return self._known(value)
            case Compare():
                return self._compare(condition)
            case All(operands):
                return self._every(self.truth(c) for c in operands)
            case Any(operands):
                return self._some(self.truth(c) for c in operands)
        raise TypeError(type(condition))

    def _compute(self, expr: Expr) -> V:
        ask()
        match expr:
            case Constant(value):
                return self._constant(value)
            case Variable(name, _):
                return self._variable(name)
            case Sum(terms, constant):
                return self._linear([(c, self.value(e)) for c, e in terms], constant)
            case Output(application, index):
                return self._output(self.outputs(application), index)
            case Maximum(operands):
                return self._maximum(self.value(o) for o in operands)
            case ArgMax():
                return self._argmax(expr)
            case Switch():
                return self._switch(expr)
            case Where():
                return self._where(expr)
            case Smooth():
                return self._smooth(expr)
            case Drawn(name):
                raise undrawn(name)
        raise TypeError(type(expr))

    def _smooth(self, node: Smooth) -> V:
        match node:
            case Held(operand):
                return self.value(operand)
            case End(flow, name):
                return self._course(flow).ends[name]
            case Extremum(flow, _, _):
                return self._course(flow).extremum(node)
        return super()._smooth(node)

    def _course(self, flow: Flow) -> Course[V]:
        if id(flow) not in self._courses:
            self._courses[id(flow)] = flow, self._flow(flow)
        return self._courses[id(flow)][1]


def undrawn(name: str) -> ModelError:
    """The error for running a system whose noise was not drawn."""
    return ModelError(
        f"the disturbance {name!r} has another value in each step: run `drawn(system, steps)` of "
        "venmas.model.system.disturbances, whose initial states have the values of all steps"
    )


def no_case(value: object, cases: Sequence[tuple[int, Expr]]) -> ModelError:
    """The error for a selector that names no case."""
    return ModelError(f"a switch has no case for the value {value} of its selector; it has {[k for k, _ in cases]}")


def every(truths: Iterable[bool | None]) -> bool | None:
    """The conjunction where None is open; all of the truths are computed."""
    values = set(truths)
    return False if False in values else None if None in values else True


def some(truths: Iterable[bool | None]) -> bool | None:
    """The disjunction where None is open; all of the truths are computed."""
    values = set(truths)
    return True if True in values else None if None in values else False
