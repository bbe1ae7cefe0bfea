"""Queries of VNN-LIB: a condition on inputs and outputs, as boxes of inputs and what must hold in each besides."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import NoReturn, TypeAlias

from venmas.formats.vnnlib.implied import ends_of, with_bounds
from venmas.logic.formula import TRUE, And, Atom, Bottom, Formula, Or, Top, conjunction, disjunction
from venmas.logic.linear import LinearExpr, Relation
from venmas.model.transform.program import Box as Box

MAX_CASES = 10_000
"""Most boxes of inputs that one property may name."""
_LARGEST = Fraction(10) ** 100
_TOO_MANY = f"the disjunctions over inputs make more than {MAX_CASES} boxes: split the property into several files"


def hull(boxes: Sequence[Box]) -> Box:
    """The least box that contains boxes."""
    sides = zip(*boxes, strict=True)
    return tuple((min(low for low, _ in side), max(high for _, high in side)) for side in sides)


@dataclass(frozen=True)
class Case:
    """Inputs in one of `boxes` (closed) that meet `condition`, in negation normal form over X_i and Y_j."""

    boxes: tuple[Box, ...]
    condition: Formula


@dataclass(frozen=True)
class Tensor:
    """An input, output or hidden node that a query declares; onnx: what the file of the network calls a hidden node."""

    name: str
    shape: tuple[int, ...]
    onnx: str = ""

    @property
    def size(self) -> int:
        """The number of its elements."""
        return prod(self.shape)


@dataclass(frozen=True)
class Declared:
    """A network that a query declares, and the network that it says it is like.

    relation: ``equal-to`` (the same network), ``isomorphic-to`` (the same shape) or nothing.
    """

    name: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    hidden: tuple[Tensor, ...] = ()
    relation: str = ""
    other: str = ""

    @property
    def hidden_names(self) -> tuple[str, ...]:
        """Hidden nodes as the file of the network calls them."""
        return tuple(tensor.onnx for tensor in self.hidden)

    @property
    def input_size(self) -> int:
        """The number of inputs."""
        return sum(tensor.size for tensor in self.inputs)

    @property
    def output_size(self) -> int:
        """The number of outputs, to which hidden nodes count."""
        return sum(tensor.size for tensor in (*self.outputs, *self.hidden))


@dataclass(frozen=True)
class Query:
    """A property: a counterexample meets `assertion` (in negation normal form), which says the same as `cases`.

    products: the factors of P_0, P_1, .., over X_i, Y_j and the P_k before; conditions may mention these.
    networks: those that VNN-LIB 2.0 declares, whose inputs, and outputs, follow each other; hidden nodes are outputs
    after those of their network.
    """

    inputs: int
    outputs: int
    assertion: Formula
    cases: tuple[Case, ...]
    networks: tuple[Declared, ...] = ()
    products: tuple[tuple[LinearExpr, LinearExpr], ...] = ()

    def at(self, inputs: Iterable[Fraction], outputs: Iterable[Fraction]) -> dict[str, Fraction]:
        """Values of X_i and Y_j by name."""
        return {f"X_{i}": v for i, v in enumerate(inputs)} | {f"Y_{i}": v for i, v in enumerate(outputs)}

    def holds(self, values: Mapping[str, Fraction], slack: Fraction = Fraction(0)) -> bool:
        """Does the assertion hold for exact values of X_i and Y_j, each comparison missed by at most `slack`?"""
        known = dict(values)
        for number, (left, right) in enumerate(self.products):
            known[f"P_{number}"] = left.evaluate(known) * right.evaluate(known)
        return meets(self.assertion, known, slack)


def meets(condition: Formula, values: Mapping[str, Fraction], slack: Fraction = Fraction(0)) -> bool:
    """Truth of a condition in negation normal form without operators of time; see `Query.holds`."""
    match condition:
        case And(parts):
            return all(meets(part, values, slack) for part in parts)
        case Or(parts):
            return any(meets(part, values, slack) for part in parts)
        case Top() | Bottom():
            return isinstance(condition, Top)
        case Atom(comparison):
            value = comparison.expr.evaluate(values)
            return comparison.relation.holds(value) or (slack > 0 and abs(value) <= slack)
    raise TypeError(type(condition))


def within_floats(expr: LinearExpr) -> bool:
    """Are the numbers of an expression ones that floats hold, and quotients of two of them?"""
    return all(1 / _LARGEST <= abs(c) <= _LARGEST for c in (expr.constant, *(c for _, c in expr.terms)) if c)


def cases_of(assertion: Formula, names: Sequence[str], fail: Callable[[str], NoReturn]) -> tuple[Case, ...]:
    """The cases of an assertion in negation normal form; names: of the inputs, as messages call them."""
    inputs = len(names)
    boxes: dict[Formula, dict[Box, None]] = {}
    for bounds, rest in _boxes(with_bounds(assertion, inputs), lambda: fail(_TOO_MANY)):
        if isinstance(rest, Bottom):
            continue
        box = []
        for i, name in enumerate(names):
            low, high = bounds.get(i, (None, None))
            if low is None or high is None:
                side = "lower" if low is None else "upper"
                remedy = f"add (assert ({'>=' if low is None else '<='} {name} ..))"
                fail(f"input {name} has no {side} bound: {remedy} or a bound in every disjunct")
            box.append((low, high))
        if all(low <= high for low, high in box):
            boxes.setdefault(rest, {})[tuple(box)] = None
    return tuple(Case(tuple(bounds), rest) for rest, bounds in boxes.items())


_Bounds: TypeAlias = dict[int, tuple[Fraction | None, Fraction | None]]


def _boxes(condition: Formula, too_many: Callable[[], NoReturn]) -> list[tuple[_Bounds, Formula]]:
    """Bounds of inputs, and what must hold besides: the condition is that one of them is met."""
    if isinstance(condition, Atom):
        return [_bound(condition)]
    if isinstance(condition, And):
        parts = [_boxes(part, too_many) for part in condition.operands]
        bounds: _Bounds = {}
        rests = []
        for ((own, rest),) in (part for part in parts if len(part) == 1):
            _meet(bounds, own)
            rests.append(rest)
        boxes: list[tuple[_Bounds, Formula]] = [(bounds, conjunction(rests))]
        for several in (part for part in parts if len(part) != 1):
            if len(boxes) * len(several) > MAX_CASES:
                too_many()
            boxes = [(_meet(dict(a), b), conjunction((p, q))) for a, p in boxes for b, q in several]
        return boxes
    if isinstance(condition, Or):
        merged: dict[tuple[object, ...], tuple[_Bounds, list[Formula]]] = {}
        for part in condition.operands:
            for bounds, rest in _boxes(part, too_many):
                merged.setdefault(tuple(sorted(bounds.items())), (bounds, []))[1].append(rest)
        if len(merged) > MAX_CASES:
            too_many()
        return [(bounds, disjunction(rests)) for bounds, rests in merged.values()]
    return [({}, condition)]


def _bound(atom: Atom) -> tuple[_Bounds, Formula]:
    """A comparison of one input with a number is a bound; where it is strict, it stays as a condition as well."""
    expr, relation = atom.comparison.expr, atom.comparison.relation
    if len(expr.terms) != 1 or not expr.terms[0][0].startswith("X_") or relation is Relation.NE:
        return {}, atom
    name, ends = ends_of(atom.comparison)
    return {int(name[2:]): ends}, atom if relation.strict else TRUE


def _meet(bounds: _Bounds, more: _Bounds) -> _Bounds:
    """Intersect in place."""
    for i, ends in more.items():
        other = bounds.get(i, (None, None))
        lows, highs = ([e for e in side if e is not None] for side in zip(ends, other, strict=True))
        bounds[i] = (max(lows, default=None), min(highs, default=None))
    return bounds
