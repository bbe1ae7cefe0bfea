"""The functions that scenarios are written with: ``relu``, ``argmax``, ``switch``, ``where`` and the like."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any, overload

import numpy as np

from venmas.errors import InputError, ModelError
from venmas.logic.linear import as_fraction
from venmas.model.expressions.expr import (
    Application,
    ArgMax,
    Condition,
    Constant,
    Expr,
    Maximum,
    Output,
    Scalar,
    Switch,
    Truth,
    Where,
    as_condition,
    as_expr,
    conjunction,
    disjunction,
)
from venmas.model.expressions.refusals import no_number, shortened
from venmas.model.expressions.vector import Vector, components, read_size
from venmas.nn import Network, Recurrent
from venmas.nn.trained import is_trained, network_of_trained


def maximum(*operands: Scalar) -> Expr:
    """Greatest of the operands."""
    if not operands:
        raise ModelError("maximum() needs at least one operand")
    flat = tuple(as_expr(o) for o in operands)
    constants = [o.value for o in flat if isinstance(o, Constant)]
    rest = tuple(o for o in flat if not isinstance(o, Constant))
    if not rest:
        return Constant(max(constants))
    flat = (*rest, Constant(max(constants))) if constants else rest
    return flat[0] if len(flat) == 1 else Maximum(flat)


def minimum(*operands: Scalar) -> Expr:
    """Least of the operands."""
    return -maximum(*(-as_expr(o) for o in operands))


def relu(expr: Scalar) -> Expr:
    """``max(expr, 0)``."""
    return maximum(expr, 0)


def absolute(expr: Scalar) -> Expr:
    """``|expr|``."""
    return maximum(as_expr(expr), -as_expr(expr))


def clip(expr: Scalar, low: Scalar, high: Scalar) -> Expr:
    """`expr` cut off below `low` and above `high`. Raises `ModelError` for numbers with low > high."""
    ends = (as_expr(low), as_expr(high))
    if isinstance(ends[0], Constant) and isinstance(ends[1], Constant) and ends[0].value > ends[1].value:
        raise ModelError(f"clip(x, low, high) needs low <= high, got {ends[0]} and {ends[1]}")
    return minimum(maximum(expr, low), high)


def argmax(scores: Iterable[Scalar], among: Iterable[Condition | bool] | None = None) -> Expr:
    """Index (0-based) of the greatest score, the lowest index on a tie.

    among: a condition for each index, of which only those compete whose condition holds (applicability filtering); all
    of them where none does.

    The argmax of a vector chosen by a `switch` is the switch over the argmaxes: the same function, with one winner to
    decide per case instead of a choice for every score.
    """
    vector = components(scores, "argmax()")
    if not vector:
        raise ModelError("argmax() needs at least one score")
    if among is not None:
        if isinstance(among, str | Condition) or not isinstance(among, Iterable) or getattr(among, "ndim", 1) != 1:
            raise ModelError(f"argmax(scores, among=[condition, ...]) takes a condition for each score, got {among!r}")
        return _argmax_among(vector, list(map(as_condition, among)))
    if len(vector) == 1:
        return Constant(Fraction(0))
    switches = [s for s in vector if isinstance(s, Switch)]
    if len(switches) == len(vector) and all(
        s.selector is switches[0].selector and [k for k, _ in s.cases] == [k for k, _ in switches[0].cases]
        for s in switches
    ):
        keys = [k for k, _ in switches[0].cases]
        return Switch(switches[0].selector, tuple((k, argmax(dict(s.cases)[k] for s in switches)) for k in keys))
    return ArgMax(vector)


def _argmax_among(scores: tuple[Expr, ...], among: list[Condition]) -> Expr:
    """The first index that may compete and loses to no other one that may; each comparison once for both indices."""
    if len(among) != len(scores):
        raise ModelError(f"argmax() of {len(scores)} scores takes as many conditions in among=, got {len(among)}")
    result = argmax(scores)
    for i in reversed(range(len(scores))):
        wins = [
            disjunction((~among[j], scores[i] > scores[j] if j < i else scores[i] >= scores[j]))
            for j in range(len(scores))
            if j != i
        ]
        result = where(conjunction((among[i], *wins)), i, result)
    return result


def one_hot(index: Expr, size: int) -> Vector:
    """Vector with 1 at position `index` (0-based) and 0 elsewhere."""
    chosen = as_expr(index)
    return Vector(where(chosen == i, 1, 0) for i in range(read_size(size, "one_hot()")))


@overload
def switch(selector: Scalar, cases: Mapping[int, Vector]) -> Vector: ...
@overload
def switch(selector: Scalar, cases: Mapping[int, Scalar]) -> Expr: ...
def switch(selector: Scalar, cases: Mapping[int, Vector] | Mapping[int, Scalar]) -> Vector | Expr:
    """The case that the integer `selector` names; cases are all scalars or all vectors of one length."""
    if not isinstance(cases, Mapping):
        raise ModelError(f"switch() takes its cases by integer, {{0: a, 1: b}}, got {shortened(cases)}")
    if not cases:
        raise ModelError("switch() needs at least one case")
    read = {_whole_key(k): _case(v) for k, v in cases.items()}
    chosen = as_expr(selector)
    vectors = {k: v for k, v in read.items() if isinstance(v, Vector)}
    if vectors:
        if len({len(v) for v in vectors.values()}) != 1 or len(vectors) != len(read):
            raise ModelError("the cases of a switch must be all scalars, or all vectors of one length")
        size = len(next(iter(vectors.values())))
        return Vector(switch(chosen, {k: v[i] for k, v in vectors.items()}) for i in range(size))
    scalars = tuple((k, as_expr(v)) for k, v in read.items())
    if isinstance(chosen, Constant):
        for key, case in scalars:
            if key == chosen.value:
                return case
        raise ModelError(f"switch has no case for {chosen.value}; its cases are {[k for k, _ in scalars]}")
    return Switch(chosen, scalars)


@overload
def where(condition: Condition | bool, then: Vector, otherwise: Vector) -> Vector: ...
@overload
def where(condition: Condition | bool, then: Scalar, otherwise: Scalar) -> Expr: ...
def where(condition: Condition | bool, then: Vector | Scalar, otherwise: Vector | Scalar) -> Vector | Expr:
    """`then` where the condition holds, else `otherwise`; both scalars, or both vectors of one length."""
    test = as_condition(condition)
    then, otherwise = _case(then), _case(otherwise)
    if isinstance(then, Vector) and isinstance(otherwise, Vector) and len(then) == len(otherwise):
        return Vector(where(test, t, o) for t, o in zip(then, otherwise, strict=True))
    if isinstance(then, Vector) or isinstance(otherwise, Vector):
        raise ModelError("the two sides of where() must be both scalars, or vectors of one length")
    if isinstance(test, Truth):
        return as_expr(then if test.value else otherwise)
    return Where(test, as_expr(then), as_expr(otherwise))


def apply_network(network: Network | Any, inputs: Iterable[Scalar]) -> Vector:
    """The outputs of a network for the given inputs. Raises `ModelError` when their number does not fit.

    network: a `Network`, such as that of a file, or a torch module or model of Stable-Baselines3 as it is
    (`venmas.nn.trained`), which is read at each call.
    """
    trained = is_trained(network)
    if isinstance(network, Recurrent):
        raise ModelError(f"network {network.name!r} has a memory: system.recurrent(network, [x, y]) applies it")
    if not (trained or hasattr(network, "input_size")):
        raise ModelError(
            "apply_network(network, inputs) takes a network first, "
            f'apply_network(networks.load("FILE"), [x, y]), or a torch module; got {no_number(network)}'
        )
    exprs = components(inputs, "a trained model" if trained else f"network {network.name!r}")
    read: Network = network_of_trained(network, len(exprs)) if trained else network
    if len(exprs) != read.input_size:
        raise ModelError(f"network {read.name!r} takes {read.input_size} inputs, got {len(exprs)}; give each one")
    application = Application(read, exprs)
    return Vector(Output(application, i) for i in range(read.output_size))


def _whole_key(key: object) -> int:
    try:
        number = None if isinstance(key, str) else as_fraction(key)
    except InputError:
        number = None
    if number is None or number.denominator != 1:
        raise ModelError(
            f"the cases of a switch are named by whole numbers, got {shortened(key)}; write where(condition, a, b) to "
            "choose by a condition, and the integer that a label stands for"
        )
    return number.numerator


def _case(value: Vector | Scalar) -> Vector | Scalar:
    """A case: arrays of one dimension count as vectors."""
    return Vector(value) if isinstance(value, np.ndarray) and value.ndim else value
