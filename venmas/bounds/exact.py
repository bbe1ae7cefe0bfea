"""The exact side of an abstract state: expressions as rational affine functions of the initial state.

Along a path of branches whose choices the bounds decide, a state is an exact affine map of the initial one. Bounds in
floats can not tell "at the threshold" from "just beyond"; these forms can, and the encoders substitute them.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from venmas.budget import ask
from venmas.linear import LinearExpr
from venmas.model.expr import ArgMax, Constant, Expr, Maximum, Output, Sum, Switch, Variable, Where, add

if TYPE_CHECKING:
    from venmas.bounds.states import State

_STEPS_BACK = 20


def affine_form(state: State, expr: Expr) -> LinearExpr | None:
    """`expr` in `state` as an affine function of the initial variables, or None where it is not known to be one."""
    return _form(state, expr, local=False)


def local_form(state: State, expr: Expr) -> LinearExpr | None:
    """`expr` in `state` as an affine function of the variables in `state`, or None where it is not known to be one."""
    return _form(state, expr, local=True)


def _form(state: State, expr: Expr, local: bool) -> LinearExpr | None:
    ask()
    match expr:
        case Constant(value):
            return LinearExpr((), value)
        case Variable(name, _) if local:
            return LinearExpr.variable(name)
        case Variable(name, _):
            if name not in state.forms:
                state.forms[name] = _variable(state, name)
            return state.forms[name]
        case Sum(terms, constant):
            total: dict[str, Fraction] = {}
            for coefficient, part in terms:
                form = _form(state, part, local)
                if form is None:
                    return None
                constant += coefficient * form.constant
                for name, c in form.terms:
                    total[name] = total.get(name, Fraction(0)) + coefficient * c
            return LinearExpr.of(total, constant)
        case ArgMax():
            possible = state.possible(expr)
            return LinearExpr((), possible[0]) if possible is not None and len(possible) == 1 else None
        case Switch(selector, cases):
            values = state.possible(selector)
            if values is None:
                return None
            return _agreed(state, [e for k, e in cases if Fraction(k) in values], local)
        case Where(condition, then, otherwise):
            truth = state.truth(condition)
            return _agreed(state, [then, otherwise] if truth is None else [then if truth else otherwise], local)
        case Maximum(operands):
            bounds = [state.bounds(o) for o in operands]
            floor = max(lo for lo, _ in bounds)
            able = [o for o, (_, hi) in zip(operands, bounds, strict=True) if hi >= floor]
            forms = [_form(state, o, local) for o in able]
            numbers = [f for f in forms if f is not None and not f.terms]
            if len(numbers) == len(forms):
                return max(numbers, key=lambda f: f.constant)
            return forms[0] if len(forms) == 1 else None
        case Output(application, index):
            point: list[Fraction] = []
            for part in application.inputs:
                form = affine_form(state, part)
                if form is None or form.terms:
                    return None
                point.append(form.constant)
            key = f"network {id(application)}"
            if f"{key} 0" not in state.forms:
                for i, value in enumerate(application.network.evaluate_exact(point)):
                    state.forms[f"{key} {i}"] = LinearExpr((), value)
            return state.forms[f"{key} {index}"]
    raise TypeError(type(expr))


def exact_range(state: State, expr: Expr, steps_back: int = _STEPS_BACK) -> tuple[Fraction, Fraction]:
    """A rigorous interval of `expr` in rationals: what decides at a threshold where the exact form is not known.

    Interval arithmetic within the float bounds. The limits of ``clip(u, -0.3, 0.3)`` come out as -3/10 and 3/10, not as
    floats next to them. Variables are followed to the updates that gave them, over `steps_back` steps at most.
    """
    form = affine_form(state, expr)
    if form is not None:
        return form.range_over(state.box)
    match expr:
        case Variable(name, _) if state.parent is not None and steps_back:
            if name not in state.ranges:
                state.ranges[name] = _hull([exact_range(s, e, steps_back - 1) for s, e in state.sources(name)])
            return state.ranges[name]
        case Sum(terms, constant):
            low = high = constant
            for c, part in terms:
                ends = [c * end for end in exact_range(state, part, steps_back)]
                low, high = low + min(ends), high + max(ends)
        case Maximum(operands):
            ranges = [exact_range(state, o, steps_back) for o in operands]
            low, high = max(lo for lo, _ in ranges), max(hi for _, hi in ranges)
        case Switch(selector, cases):
            values = state.possible(selector)
            able = [e for k, e in cases if values is None or Fraction(k) in values] or [e for _, e in cases]
            low, high = _hull([exact_range(state, e, steps_back) for e in able])
        case Where(condition, then, otherwise):
            truth = state.truth(condition)
            able = [then, otherwise] if truth is None else [then if truth else otherwise]
            low, high = _hull([exact_range(state, e, steps_back) for e in able])
        case _:
            return _interval(state, expr)
    known = _interval(state, expr)
    return max(low, known[0]), min(high, known[1])


def middle(operands: tuple[Expr, ...]) -> float | None:
    """A lower bound of the greatest of two expressions with a constant sum: for ``|u| = max(u, -u)`` it is 0."""
    total = add(*operands) if len(operands) == 2 else None
    return (
        None
        if not isinstance(total, Constant)
        else float(np.nextafter(float(total.value / 2), -np.inf))
        if total.value
        else 0.0
    )


def _interval(state: State, expr: Expr) -> tuple[Fraction, Fraction]:
    low, high = state.bounds(expr)
    return Fraction(low), Fraction(high)


def _hull(ranges: list[tuple[Fraction, Fraction]]) -> tuple[Fraction, Fraction]:
    return min(lo for lo, _ in ranges), max(hi for _, hi in ranges)


def _agreed(state: State, cases: list[Expr], local: bool) -> LinearExpr | None:
    """The form of the cases where all of them have the same one."""
    first = _form(state, cases[0], local) if cases else None
    return first if first is None or all(_form(state, c, local) == first for c in cases[1:]) else None


def _variable(state: State, name: str) -> LinearExpr | None:
    if state.parent is None:
        low, high = state.box[name]
        return LinearExpr((), low) if low == high else LinearExpr.variable(name)
    (origin, source), *others = state.sources(name)
    first = affine_form(origin, source)
    return first if first is None or all(affine_form(o, e) == first for o, e in others) else None
