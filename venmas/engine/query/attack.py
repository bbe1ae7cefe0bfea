"""Attack on a query in float32: random inputs, and a local search from those that come nearest to the property."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from venmas.bounds.rounding import Floats, float_beside
from venmas.budget import Budget
from venmas.engine.query.decide import shares
from venmas.formats.vnnlib.query import Query
from venmas.logic.formula import And, Atom, Bottom, Formula, Or, Top
from venmas.logic.linear import LinearExpr, Relation
from venmas.nn import Network
from venmas.procedures.branch_and_bound.bisect import Point

_SAMPLES = 2048
_PARENTS = 64
_ROUNDS = 24
_SHRINK = 0.7
_TRIED = 8
"""Points of one round that are run as deployed."""


def attack(
    networks: Sequence[Network],
    query: Query,
    shown: Callable[[Point], tuple[Fraction, ...] | None],
    budget: Budget,
    seconds: float,
    seed: int = 0,
) -> tuple[Point, tuple[Fraction, ...]] | None:
    """Inputs in float32, and the outputs with which the property holds there, or None after some seconds.

    shown: the outputs as deployed, where the property holds with them.
    """
    boxes = [box for case in query.cases for box in case.boxes]
    low, high = _inner(boxes)
    rng, end = np.random.default_rng(seed), budget.spent + seconds
    while boxes and budget.spent < end:
        own = rng.integers(len(boxes), size=_SAMPLES)
        where = rng.uniform(-0.25, 1.25, (_SAMPLES, query.inputs)).clip(0.0, 1.0)  # faces and corners among them
        x, radius = low[own] + where * (high[own] - low[own]), 0.25
        for _ in range(_ROUNDS):
            budget()
            x = x.astype(np.float32).astype(float)
            margins = _margins(networks, query, x)
            order = np.argsort(margins)
            for at in order[:_TRIED]:
                if margins[at] > 0:
                    break
                point = tuple(Fraction(v) for v in x[at].tolist())
                if (outputs := shown(point)) is not None:
                    return point, outputs
            if budget.spent > end:
                return None
            best = order[rng.integers(_PARENTS, size=_SAMPLES)]
            best[:_PARENTS] = order[:_PARENTS]
            step = rng.normal(0.0, radius, x.shape) * (rng.random(x.shape) < 0.5)
            step[:_PARENTS] = 0.0
            own = own[best]
            x = (x[best] + step * (high[own] - low[own])).clip(low[own], high[own])
            radius *= _SHRINK
    return None


def _inner(boxes: Sequence[Sequence[tuple[Fraction, Fraction]]]) -> tuple[Floats, Floats]:
    """The least and greatest float32 in boxes (B, n); where a side holds none, the one beside it."""
    low = np.array([[_single(a, 1) for a, _ in box] for box in boxes])
    high = np.array([[_single(b, -1) for _, b in box] for box in boxes])
    return np.minimum(low, high), np.maximum(low, high)


def _single(value: Fraction, direction: int) -> float:
    """The float32 next to a rational that is not above it (direction -1), or not below it (1)."""
    with np.errstate(over="ignore"):
        near = np.float32(float_beside(value, direction))
    if not np.isfinite(near):
        return float(np.sign(near)) * float(np.finfo(np.float32).max)
    beyond = Fraction(float(near)) >= value if direction > 0 else Fraction(float(near)) <= value
    return float(near if beyond else np.nextafter(near, np.float32(direction * np.inf)))


def _margins(networks: Sequence[Network], query: Query, x: Floats) -> Floats:
    """Distance of each input (B, n) from meeting the property, 0 where it seems to: (B,), in floats."""
    known = {f"X_{i}": x[:, i] for i in range(query.inputs)}
    number = 0
    for network, own in shares(networks):
        for column in network.evaluate_float32(x[:, own]).astype(float).T:
            known[f"Y_{number}"] = column
            number += 1
    with np.errstate(all="ignore"):
        for place, (left, right) in enumerate(query.products):
            known[f"P_{place}"] = _value(left, known) * _value(right, known)
        margin = _margin(query.assertion, known, len(x))
    return np.where(np.isnan(margin), np.inf, margin)


def _value(expr: LinearExpr, known: dict[str, Floats]) -> Floats:
    total = np.zeros_like(known["X_0"]) + float(expr.constant)
    for name, factor in expr.terms:
        total = total + float(factor) * known[name]
    return total


def _margin(condition: Formula, known: dict[str, Floats], count: int) -> Floats:
    match condition:
        case And(parts):
            return np.asarray(np.max([_margin(part, known, count) for part in parts], axis=0))
        case Or(parts):
            return np.asarray(np.min([_margin(part, known, count) for part in parts], axis=0))
        case Top() | Bottom():
            return np.full(count, 0.0 if isinstance(condition, Top) else np.inf)
        case Atom(comparison):
            value, relation = _value(comparison.expr, known), comparison.relation
            if relation is Relation.NE:
                return np.where(value == 0, np.finfo(float).tiny, 0.0)
            if relation is Relation.EQ:
                return np.abs(value)
            over = value if relation in (Relation.LE, Relation.LT) else -value
            return np.where(relation.truth(value), 0.0, np.maximum(over, np.finfo(float).tiny))
    raise TypeError(type(condition))
