"""Flows as scenarios write them: ``plant = system.flow(0.2, {x: v * cos(th)})``, then ``plant.end``, ``plant.least``.

Agents act once a period: where a rate mentions what an agent does, it is held at its value at the start (`Held`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from venmas.errors import InputError, ModelError
from venmas.logic.linear import as_fraction
from venmas.model.expressions.expr import (
    Constant,
    Expr,
    Product,
    Quotient,
    Scalar,
    Sum,
    Variable,
    add,
    as_expr,
    children,
    divide,
    multiply,
    scale,
)
from venmas.model.expressions.limits import check_nesting
from venmas.model.expressions.refusals import shortened
from venmas.model.expressions.smooth_nodes import Apply, End, Extremum, Flow, Held
from venmas.model.expressions.vector import Vector
from venmas.model.expressions.walk import walk

if TYPE_CHECKING:
    from venmas.model.system.system import System


@dataclass(frozen=True, eq=False)
class Motion:
    """A flow of a system as its author uses it.

    end: what the variables that move are after the period, by variable, ready for the updates of a branch.
    """

    flow: Flow
    end: Mapping[Variable | Vector, Scalar | Vector]
    _holding: Holding

    def least(self, expr: Scalar) -> Expr:
        """The least value of an expression over the closed period, between samples too. Raises `ModelError`."""
        return Extremum(self.flow, self._holding.read(as_expr(expr), "the expression of least()"), False)

    def greatest(self, expr: Scalar) -> Expr:
        """The greatest value of an expression over the closed period, between samples too. Raises `ModelError`."""
        return Extremum(self.flow, self._holding.read(as_expr(expr), "the expression of greatest()"), True)


def flow_of(system: System, period: object, rates: Mapping[Variable, Scalar]) -> Motion:
    """The flow of `System.flow`."""
    try:
        length = as_fraction(period)
    except InputError as error:
        raise ModelError(f"the period of a flow: {error}") from error
    if length <= 0:
        raise ModelError(f"the period of a flow is above 0, got {shortened(period)}; give a positive number")
    if not isinstance(rates, Mapping) or not rates:
        raise ModelError(f"a flow takes {{variable: derivative}} of at least one variable, got {shortened(rates)}")
    for variable in rates:
        if not isinstance(variable, Variable) or system.nodes_by_name.get(variable.name) is not variable:
            raise ModelError(
                f"a flow moves {shortened(variable)}, which is no variable of system {system.name!r}; take real ones"
            )
        if variable.integral or variable.name in system.disturbances:
            kind = "an integer" if variable.integral else "a disturbance"
            raise ModelError(
                f"a flow moves {variable.name!r}, which is {kind}: only real variables of the state move; take others"
            )
    holding = Holding(a.expr for a in system.agents)
    pairs = tuple((v, holding.read(as_expr(e), f"the derivative of {v.name!r}")) for v, e in rates.items())
    holding.check()
    flow = Flow(length, pairs)
    return Motion(flow, {v: End(flow, v.name) for v in rates}, holding)


def held(value: Scalar) -> Expr:
    """The value of an expression at the start of the period, in the derivatives of a flow: a sampled input."""
    expr = as_expr(value)
    return expr if isinstance(expr, Constant | Held) else Held(expr)


class Holding:
    """Derivatives with the actions of agents held.

    An action that is a sum is taken apart by the sums that it stands in. Its terms are held where they can be nothing
    but an action (outputs of networks, maxima, choices); where it has others, its author has to write ``held(u)``.
    """

    def __init__(self, actions: Iterable[Expr]) -> None:
        self._held: dict[int, Held] = {}
        self._unclear: dict[int, Expr] = {}
        self._known: dict[int, tuple[Expr, Expr]] = {}
        self._seen: set[int] = set()
        self._read: set[str] = set()
        for action in actions:
            parts = [e for _, e in action.terms] if isinstance(action, Sum) else [action]
            if isinstance(action, Variable) or (isinstance(action, Sum) and any(map(_moving, parts))):
                self._unclear[id(action)] = action
            else:
                self._held.update((id(part), Held(part)) for part in parts)

    def read(self, expr: Expr, where: str) -> Expr:
        """The expression with what agents do held. Raises `ModelError` for what has no place in a derivative."""
        check_nesting(where, [expr])
        return self._found(expr, where)

    def _found(self, expr: Expr, where: str) -> Expr:
        if id(expr) not in self._known:
            self._known[id(expr)] = expr, self._rewrite(expr, where)
        return self._known[id(expr)][1]

    def _rewrite(self, expr: Expr, where: str) -> Expr:
        if id(expr) in self._held:
            return self._held[id(expr)]
        match expr:
            case Constant():
                return expr
            case Variable(name, _):
                self._read.add(name)
                return expr
            case Held(operand):
                self._seen.add(id(operand))
                return expr
            case Sum(terms, constant):
                new = [self._found(e, where) for _, e in terms]
                if all(a is b for a, (_, b) in zip(new, terms, strict=True)):
                    return expr
                return add(constant, *(scale(e, c) for e, (c, _) in zip(new, terms, strict=True)))
            case Product(left, right):
                return _same(expr, multiply(self._found(left, where), self._found(right, where)))
            case Quotient(left, right):
                return _same(expr, divide(self._found(left, where), self._found(right, where)))
            case Apply(function, operand):
                return _same(expr, Apply(function, self._found(operand, where)))
        raise ModelError(
            f"{where} has {_KINDS.get(type(expr).__name__, 'another flow')}: over a period only sums, products, "
            "quotients and functions such as sin are followed; register it as the action of an agent, or write "
            "held(e) for its value at the start of the period"
        )

    def check(self) -> None:
        """Refuse derivatives in which an action that is not told from the state may stand. Raises `ModelError`."""
        for action in self._unclear.values():
            if id(action) not in self._seen and _names(action) & self._read:
                raise ModelError(
                    f"an agent's action, {action}, is a sum over variables, which a derivative takes apart so that it "
                    "would follow the state over the period: write held(u) for an action u that is sampled; where no "
                    "derivative mentions it, register the agent after the flow"
                )


_KINDS = {
    "Output": "the output of a network",
    "Maximum": "a maximum",
    "ArgMax": "an argmax",
    "Switch": "a switch",
    "Where": "a where",
    "Drawn": "a disturbance of the next step",
}


def _moving(part: Expr) -> bool:
    """May the term follow the state over a period, if it stands in a derivative?"""
    followed = walk([part], lambda node: isinstance(node, Sum | Product | Quotient | Apply))
    return any(isinstance(node, Variable) for node in followed)


def _names(expr: Expr) -> set[str]:
    return {node.name for node in walk([expr], lambda node: isinstance(node, Expr)) if isinstance(node, Variable)}


def _same(old: Expr, new: Expr) -> Expr:
    """The old node where the new one has its parts, so that what was shared stays so."""
    kept = type(new) is type(old) and all(a is b for a, b in zip(children(old), children(new), strict=True))
    return old if kept else new


def follows(expr: Expr, where: str) -> None:
    """Check what is read of a derivative, as `Holding.read` does of one that is written. Raises `ModelError`."""
    Holding(()).read(expr, where)
