"""The exact side of an abstract state: expressions as rational affine functions of the initial state.

Along a path of branches whose choices the bounds decide, a state is an exact affine map of the initial one. Bounds in
floats can not tell "at the threshold" from "just beyond"; these forms can, and the encoders substitute them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Protocol

from venmas.bounds.rounding import float_beside
from venmas.budget import ask
from venmas.logic.linear import LinearExpr
from venmas.model.expressions.expr import (
    Application,
    ArgMax,
    Condition,
    Constant,
    Expr,
    Maximum,
    Output,
    Sum,
    Switch,
    Variable,
    Where,
    add,
)

_STEPS_BACK = 20


class AbstractState(Protocol):
    """The part of an abstract state (`venmas.bounds.states.State`) that exact forms are read from."""

    forms: dict[str, LinearExpr | None]
    """Forms that are known: of variables by name, of the outputs of networks at points."""
    ranges: dict[str, tuple[Fraction, Fraction]]
    """Intervals of variables that are known."""

    @property
    def box(self) -> Mapping[str, tuple[Fraction, Fraction]]:
        """The box of the initial states."""

    @property
    def parent(self) -> object | None:
        """The state before this one; None in an initial one."""

    def sources(self, name: str) -> Sequence[tuple[AbstractState, Expr]]:
        """The expressions, and the states they are of, that give a variable its value here."""

    def bounds(self, expr: Expr) -> tuple[float, float]:
        """A rigorous interval in floats."""

    def possible(self, expr: Expr) -> tuple[Fraction, ...] | None:
        """The values an expression may take, where they are tracked."""

    def truth(self, condition: Condition) -> bool | None:
        """The truth of a condition, None where it is open."""

    def affine(self, expr: Expr) -> LinearExpr | None:
        """`affine_form` of an expression."""


def affine_form(state: AbstractState, expr: Expr) -> LinearExpr | None:
    """`expr` in `state` as an affine function of the initial variables, or None where it is not known to be one."""
    return _Forms(state, local=False).of(expr)


def local_form(state: AbstractState, expr: Expr) -> LinearExpr | None:
    """`expr` in `state` as an affine function of the variables in `state`, or None where it is not known to be one."""
    return _Forms(state, local=True).of(expr)


def exact_range(state: AbstractState, expr: Expr) -> tuple[Fraction, Fraction]:
    """A rigorous interval of `expr` in rationals: what decides at a threshold where the exact form is not known.

    Interval arithmetic within the float bounds. The limits of ``clip(u, -0.3, 0.3)`` come out as -3/10 and 3/10, not as
    floats next to them. Variables are followed to the updates that gave them, over a bounded number of steps.
    """
    return _Ranges(state, _STEPS_BACK).of(expr)


class _Forms:
    """Exact forms of the expressions in one state, each node once: a node is shared by many.

    local: in the variables of the state, else in those of the initial states.
    """

    def __init__(self, state: AbstractState, local: bool) -> None:
        self.state, self.local = state, local
        self._known: dict[int, LinearExpr | None] = {}

    def of(self, expr: Expr) -> LinearExpr | None:
        """The form of a node of an expression that outlives this object; None where none is known."""
        if id(expr) not in self._known:
            ask()
            self._known[id(expr)] = self._compute(expr)
        return self._known[id(expr)]

    def _compute(self, expr: Expr) -> LinearExpr | None:
        match expr:
            case Constant(value):
                return LinearExpr((), value)
            case Variable(name, _):
                return LinearExpr.variable(name) if self.local else _variable(self.state, name)
            case Sum(terms, constant):
                return self._sum(terms, constant)
            case ArgMax():
                possible = self.state.possible(expr)
                return LinearExpr((), possible[0]) if possible is not None and len(possible) == 1 else None
            case Switch(selector, _):
                # without tracked values of the selector, any case may be meant
                return None if self.state.possible(selector) is None else self._agreed(_able(self.state, expr))
            case Where():
                return self._agreed(_able(self.state, expr))
            case Maximum(operands):
                return self._maximum(operands)
            case Output(application, index):
                return self._output(application, index)
        raise TypeError(type(expr))

    def _sum(self, terms: Sequence[tuple[Fraction, Expr]], constant: Fraction) -> LinearExpr | None:
        total: dict[str, Fraction] = {}
        for coefficient, part in terms:
            form = self.of(part)
            if form is None:
                return None
            constant += coefficient * form.constant
            for name, c in form.terms:
                total[name] = total.get(name, Fraction(0)) + coefficient * c
        return LinearExpr.of(total, constant)

    def _maximum(self, operands: Sequence[Expr]) -> LinearExpr | None:
        bounds = [self.state.bounds(o) for o in operands]
        floor = max(lo for lo, _ in bounds)
        forms = [self.of(o) for o, (_, hi) in zip(operands, bounds, strict=True) if hi >= floor]
        numbers = [f for f in forms if f is not None and not f.terms]
        if len(numbers) == len(forms):
            return max(numbers, key=lambda f: f.constant)
        return forms[0] if len(forms) == 1 else None

    def _output(self, application: Application, index: int) -> LinearExpr | None:
        """The output at a point."""
        point: list[Fraction] = []
        for part in application.inputs:
            form = affine_form(self.state, part) if self.local else self.of(part)
            if form is None or form.terms:
                return None
            point.append(form.constant)
        key, forms = f"network {id(application)}", self.state.forms
        if f"{key} 0" not in forms:
            for i, value in enumerate(application.network.evaluate_exact(point)):
                forms[f"{key} {i}"] = LinearExpr((), value)
        return forms[f"{key} {index}"]

    def _agreed(self, cases: Sequence[Expr]) -> LinearExpr | None:
        """The form of the cases where all of them have the same one."""
        first = self.of(cases[0]) if cases else None
        return first if first is None or all(self.of(c) == first for c in cases[1:]) else None


class _Ranges:
    """Exact intervals of the expressions in one state, each node once; see `exact_range`."""

    def __init__(self, state: AbstractState, steps_back: int) -> None:
        self.state, self.steps_back = state, steps_back
        self._forms = _Forms(state, local=False)
        self._known: dict[int, tuple[Fraction, Fraction]] = {}

    def of(self, expr: Expr) -> tuple[Fraction, Fraction]:
        """The interval of a node of an expression that outlives this object."""
        if id(expr) not in self._known:
            form = self._forms.of(expr)
            self._known[id(expr)] = self._compute(expr) if form is None else form.range_over(self.state.box)
        return self._known[id(expr)]

    def _compute(self, expr: Expr) -> tuple[Fraction, Fraction]:
        match expr:
            case Variable(name, _) if self.state.parent is not None and self.steps_back:
                return self._variable(name)
            case Sum(terms, constant):
                low = high = constant
                for c, part in terms:
                    ends = [c * end for end in self.of(part)]
                    low, high = low + min(ends), high + max(ends)
            case Maximum(operands):
                ranges = [self.of(o) for o in operands]
                low, high = max(lo for lo, _ in ranges), max(hi for _, hi in ranges)
            case Switch(_, cases):
                low, high = _hull([self.of(e) for e in _able(self.state, expr) or [e for _, e in cases]])
            case Where():
                low, high = _hull([self.of(e) for e in _able(self.state, expr)])
            case _:
                return _interval(self.state, expr)
        known = _interval(self.state, expr)
        return max(low, known[0]), min(high, known[1])

    def _variable(self, name: str) -> tuple[Fraction, Fraction]:
        ranges = self.state.ranges
        if name not in ranges:
            ranges[name] = _hull([_Ranges(s, self.steps_back - 1).of(e) for s, e in self.state.sources(name)])
        return ranges[name]


def middle(operands: tuple[Expr, ...]) -> float | None:
    """A lower bound of the greatest of two expressions with a constant sum: for ``|u| = max(u, -u)`` it is 0."""
    total = add(*operands) if len(operands) == 2 else None
    return float_beside(total.value / 2, -1) if isinstance(total, Constant) else None


def _able(state: AbstractState, expr: Switch | Where) -> list[Expr]:
    """The cases that the bounds leave possible."""
    match expr:
        case Switch(selector, cases):
            values = state.possible(selector)
            return [e for k, e in cases if values is None or Fraction(k) in values]
        case Where(condition, then, otherwise):
            truth = state.truth(condition)
            return [then, otherwise] if truth is None else [then if truth else otherwise]


def _interval(state: AbstractState, expr: Expr) -> tuple[Fraction, Fraction]:
    low, high = state.bounds(expr)
    return Fraction(low), Fraction(high)


def _hull(ranges: list[tuple[Fraction, Fraction]]) -> tuple[Fraction, Fraction]:
    return min(lo for lo, _ in ranges), max(hi for _, hi in ranges)


def _variable(state: AbstractState, name: str) -> LinearExpr | None:
    """The form of a variable in the initial ones, kept with the state."""
    if name not in state.forms:
        state.forms[name] = _traced(state, name)
    return state.forms[name]


def _traced(state: AbstractState, name: str) -> LinearExpr | None:
    if state.parent is None:
        low, high = state.box[name]
        return LinearExpr((), low) if low == high else LinearExpr.variable(name)
    (origin, source), *others = state.sources(name)
    first = affine_form(origin, source)
    return first if first is None or all(affine_form(o, e) == first for o, e in others) else None
