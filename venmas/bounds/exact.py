"""The exact side of an abstract state: expressions as rational affine functions of the initial state.

Along a path of branches whose choices the bounds decide, a state is an exact affine map of the initial one. Bounds in
floats can not tell "at the threshold" from "just beyond"; these forms can, and the encoders substitute them.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from venmas.linear import LinearExpr
from venmas.model.expr import ArgMax, Constant, Expr, Maximum, Output, Sum, Switch, Variable, Where

if TYPE_CHECKING:
    from venmas.bounds.states import State


def affine_form(state: State, expr: Expr) -> LinearExpr | None:
    """`expr` in `state` as an affine function of the initial variables, or None where it is not known to be one."""
    match expr:
        case Constant(value):
            return LinearExpr((), value)
        case Variable(name, _):
            if name not in state.forms:
                state.forms[name] = _variable(state, name)
            return state.forms[name]
        case Sum(terms, constant):
            total = LinearExpr((), constant)
            for coefficient, part in terms:
                form = affine_form(state, part)
                if form is None:
                    return None
                total += form.scaled(coefficient)
            return total
        case ArgMax():
            possible = state.possible(expr)
            return LinearExpr((), possible[0]) if possible is not None and len(possible) == 1 else None
        case Switch(selector, cases):
            values = state.possible(selector)
            if values is None:
                return None
            return _agreed(state, [e for k, e in cases if Fraction(k) in values])
        case Where(condition, then, otherwise):
            truth = state.truth(condition)
            return _agreed(state, [then, otherwise] if truth is None else [then if truth else otherwise])
        case Maximum(operands):
            bounds = [state.bounds(o) for o in operands]
            floor = max(lo for lo, _ in bounds)
            able = [o for o, (_, hi) in zip(operands, bounds, strict=True) if hi >= floor]
            forms = [affine_form(state, o) for o in able]
            numbers = [f for f in forms if f is not None and not f.terms]
            if len(numbers) == len(forms):
                return max(numbers, key=lambda f: f.constant)
            return forms[0] if len(forms) == 1 else None
        case Output(application, index):
            inputs = [affine_form(state, i) for i in application.inputs]
            point = [f.constant for f in inputs if f is not None and not f.terms]
            if len(point) < len(inputs):
                return None
            key = f"network {id(application)}"
            if f"{key} 0" not in state.forms:
                for i, value in enumerate(application.network.evaluate_exact(point)):
                    state.forms[f"{key} {i}"] = LinearExpr((), value)
            return state.forms[f"{key} {index}"]
    raise TypeError(type(expr))


def _agreed(state: State, cases: list[Expr]) -> LinearExpr | None:
    """The form of the cases where all of them have the same one."""
    first = affine_form(state, cases[0]) if cases else None
    if first is None or all(affine_form(state, c) == first for c in cases[1:]):
        return first
    return None


def _variable(state: State, name: str) -> LinearExpr | None:
    if state.parent is None:
        low, high = state.box[name]
        return LinearExpr((), low) if low == high else LinearExpr.variable(name)
    branches = state.parent.batch.system.branches
    found: list[LinearExpr | None] = []
    for index in state.branches if state.joined else state.branches[:1]:
        update = dict(branches[index].updates).get(name)
        source = update if update is not None else state.parent.batch.system[name]
        found.append(affine_form(state.parent, source))
    return found[0] if all(f == found[0] for f in found) else None
