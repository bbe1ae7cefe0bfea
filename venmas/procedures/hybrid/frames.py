"""Frames: affine changes of coordinates (preconditioning) in which boxes are whole numbers and moves round nothing.

In a *frame* the real variables are ``x = matrix @ y / unit``, and a region is a box of integer vectors y. When every
region of a step is moved by the same linear map A, the next frame is ``A @ matrix``: there the move is a translation,
and boxes stay boxes over any number of steps (no wrapping). What does not fall on the lattice is rounded outward.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, floor, gcd, lcm
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from venmas.bounds.rounding import TINY, Floats, Ints, gamma
from venmas.bounds.zonotope import Form
from venmas.logic.linear import LinearExpr, invert
from venmas.model.expressions.expr import Constant, Expr, Output, Sum
from venmas.model.expressions.walk import walk
from venmas.model.system.system import System
from venmas.model.transform.cases import UnsuitableError

Matrix: TypeAlias = tuple[tuple[Fraction, ...], ...]

MAX_COORDINATE = 2**50
"""Largest coordinate: a float holds it exactly, and products with small numbers fit into 64 bits."""

_MAX_FACTOR = 2**11
"""Greatest number of a frame's matrix and its inverse: greater ones lead beyond `MAX_COORDINATE` in few steps."""
_FINEST = 2**24
"""Units that a declared range is divided into at least, where the numbers of the model leave room for it."""


def unit_of(system: System, ends: Iterable[Fraction]) -> int:
    """Lattice points per unit of the real variables: their numbers fall on it where that is affordable."""
    constants, factors = [e.denominator for e in ends], [1]
    updates = [e for b in system.branches for n, e in b.updates if not system.variables[n].integral]
    for node in walk(updates, lambda node: isinstance(node, Expr) and not isinstance(node, Output)):
        if isinstance(node, Constant):
            constants.append(node.value.denominator)
        elif isinstance(node, Sum):
            constants.append(node.constant.denominator)
            factors += [c.denominator for c, _ in node.terms]
    reals = [d for d in system.variables.values() if not d.integral]
    reach = max((abs(e) for d in reals for e in (d.lower, d.upper)), default=Fraction(1)) or Fraction(1)
    most = int(MAX_COORDINATE / 2**6 / reach) or 1
    unit = lcm(*constants) * lcm(*factors)
    if unit > most:
        unit = 1
    finest = _FINEST / (min((d.upper - d.lower for d in reals if d.upper > d.lower), default=Fraction(1)))
    while unit * 2 <= most and unit < finest * 2**10:
        unit *= 2
    return unit


@dataclass(frozen=True, eq=False)
class Frame:
    """``x = matrix @ y / unit``; `inverse` is that of the matrix."""

    matrix: Matrix
    inverse: Matrix
    unit: int

    @staticmethod
    def identity(size: int, unit: int) -> Frame:
        """The frame whose coordinates are the variables."""
        eye = tuple(tuple(Fraction(i == j) for j in range(size)) for i in range(size))
        return Frame(eye, eye, unit)

    def after(self, linear: Matrix) -> Frame:
        """The frame in which the map ``x -> linear @ x`` moves nothing; the identity if that has no small numbers."""
        matrix = product(linear, self.matrix)
        inverse = invert(matrix)
        plain = all(
            c.denominator <= 2**6 and abs(c) <= _MAX_FACTOR for m in (matrix, inverse or ()) for r in m for c in r
        )
        return Frame(matrix, inverse, self.unit) if inverse and plain else Frame.identity(len(matrix), self.unit)

    @cached_property
    def floats(self) -> Floats:
        """``matrix / unit`` in floats, (n, n)."""
        return np.array([[float(c / self.unit) for c in row] for row in self.matrix]).reshape(len(self.matrix), -1)

    def place(self, point: Sequence[Fraction]) -> tuple[int, ...] | None:
        """The coordinates of a point, ``unit * inverse @ x``; None where it is not on the lattice."""
        found = [sum((c * x for c, x in zip(row, point, strict=True) if c), Fraction(0)) for row in self.inverse]
        scaled = [value * self.unit for value in found]
        return tuple(v.numerator for v in scaled) if all(v.denominator == 1 for v in scaled) else None

    def forms(self, names: Sequence[str], low: Ints, high: Ints, roots: NDArray[np.intp]) -> dict[str, Form]:
        """Forms of the variables over boxes (B, n); `roots` are the coordinates that are not points."""
        middle = (low + high) / 2  # exact: coordinates are small
        radius = (high - low) / 2
        mass = (np.abs(middle) + radius) @ np.abs(self.floats).T
        error = gamma(low.shape[1] + 2) * mass + TINY
        centre = middle @ self.floats.T
        found = {}
        for i, name in enumerate(names):
            z = np.concatenate([centre[:, i, None], self.floats[i, roots] * radius[:, roots]], 1)
            found[name] = Form(z, error[:, i])
        return found

    def row(self, names: Sequence[str], expr: LinearExpr) -> Row:
        """An affine expression of the real variables over boxes of this frame, scaled to whole numbers."""
        given, (matrix, bottom) = expr.coefficients, self._whole
        terms = [(given[n], row) for n, row in zip(names, matrix, strict=True) if n in given]
        shared = lcm(*(c.denominator for c, _ in terms))
        factors = [(_times(c, shared), row) for c, row in terms]
        weights = [sum(c * row[j] for c, row in factors) for j in range(len(names))]  # over `bottom`
        bottom *= shared
        shared = gcd(bottom, *weights)
        scale = lcm(expr.constant.denominator, bottom // shared)
        return Row([w // shared * scale // (bottom // shared) for w in weights], _times(expr.constant, scale), scale)

    @cached_property
    def _whole(self) -> tuple[list[list[int]], int]:
        """``matrix / unit`` as whole numbers over one denominator."""
        scale = lcm(*(c.denominator for row in self.matrix for c in row))
        return [[_times(c, scale) for c in row] for row in self.matrix], scale * self.unit

    def map_to(self, other: Frame, matrix: Matrix, constants: Sequence[Fraction]) -> Map:
        """The map of boxes of this frame to boxes of another one that ``x' = linear @ x + constants`` makes.

        matrix: ``other.inverse @ linear @ self.matrix``, which maps with the same linear part share.
        """
        offset = [
            self.unit * sum((c * b for c, b in zip(row, constants, strict=True) if c and b), Fraction(0))
            for row in other.inverse
        ]
        return Map.of(matrix, offset)


class Row:
    """``weights @ y + constant`` in whole numbers: `scale` times some affine expression."""

    def __init__(self, weights: Sequence[int], constant: int, scale: int) -> None:
        self.big = sum(map(abs, weights)) * MAX_COORDINATE + abs(constant) >= 2**62
        kind: type = object if self.big else np.int64
        self.plus: Ints = np.array([max(w, 0) for w in weights], dtype=kind)
        self.minus: Ints = np.array([min(w, 0) for w in weights], dtype=kind)
        self.constant, self.scale = constant, scale
        self._few = np.flatnonzero([w != 0 for w in weights])
        """Coordinates that count: of many, most are often without weight."""

    def range(self, low: Ints, high: Ints) -> tuple[Floats, Floats]:
        """Least and greatest values over boxes (B, n), exact (64-bit, or Python's integers)."""
        plus, minus = self.plus, self.minus
        if len(self._few) == 1 and not self.big:  # the usual row: a bound of one variable
            (at,) = self._few
            weight = plus[at] + minus[at]
            ends = low[:, at] * weight + self.constant, high[:, at] * weight + self.constant
            return ends if weight > 0 else ends[::-1]
        if 2 * len(self._few) < len(plus):
            low, high, plus, minus = low[:, self._few], high[:, self._few], plus[self._few], minus[self._few]
        if self.big:
            low, high = low.astype(object), high.astype(object)
        least = low @ plus + high @ minus + self.constant
        greatest = high @ plus + low @ minus + self.constant
        return least, greatest


@dataclass(frozen=True, eq=False)
class Map:
    """An affine map of integer boxes, rounded outward: a translation, numerators over a common denominator, or, where
    these are too long for 64 bits, floats over 1."""

    shift: Ints | None
    plus: Ints | Floats
    minus: Ints | Floats
    offset: Ints | Floats
    denominator: int

    @staticmethod
    def of(matrix: Matrix, offset: Sequence[Fraction]) -> Map:
        """From rationals. Raises `UnsuitableError` for moves that lead too far."""
        size = len(matrix)
        identity = all(matrix[i][j] == (i == j) for i in range(size) for j in range(size))
        scale = lcm(*(o.denominator for o in offset), *(c.denominator for r in matrix for c in r))
        if identity and scale == 1:
            if any(abs(o) > 2 * MAX_COORDINATE for o in offset):
                raise UnsuitableError("a move is too long for the lattice of the reachability graph")
            shift = np.array([int(o) for o in offset], dtype=np.int64)
            return Map(shift, np.zeros((0, 0), np.int64), np.zeros((0, 0), np.int64), shift, 1)
        rows = [[_times(c, scale) for c in r] for r in matrix]
        offsets = [_times(o, scale) for o in offset]
        longest = max(sum(map(abs, r)) * MAX_COORDINATE + abs(o) for r, o in zip(rows, offsets, strict=True))
        if scale > 2**40 or longest >= 2**62:
            if max(sum(map(abs, r)) for r in matrix) > 2**11 or any(abs(o) > 2**61 for o in offset):
                raise UnsuitableError("a move is too long for the lattice of the reachability graph")
            near = np.array([[float(c) for c in r] for r in matrix]).reshape(size, size)
            return Map(None, np.maximum(near, 0), np.minimum(near, 0), np.array([float(o) for o in offset]), 1)
        array = np.array(rows, dtype=np.int64).reshape(size, size)
        return Map(None, np.maximum(array, 0), np.minimum(array, 0), np.array(offsets, dtype=np.int64), scale)

    def apply(self, low: Ints, high: Ints) -> tuple[Ints, Ints]:
        """Boxes around the images of boxes (B, n)."""
        if self.shift is not None:
            return low + self.shift, high + self.shift
        least = low @ self.plus.T + high @ self.minus.T + self.offset
        greatest = high @ self.plus.T + low @ self.minus.T + self.offset
        if self.plus.dtype == np.float64:  # coordinates are exact in floats, and sums stay below 2**62
            mass = np.maximum(np.abs(low), np.abs(high)) @ (self.plus - self.minus).T + np.abs(self.offset)
            error = gamma(2 * low.shape[1] + 3) * mass + TINY
            return np.floor(least - error).astype(np.int64), np.ceil(greatest + error).astype(np.int64)
        ends = least // self.denominator, -(-greatest // self.denominator)
        return np.asarray(ends[0], dtype=np.int64), np.asarray(ends[1], dtype=np.int64)


def check_size(low: Ints, high: Ints) -> None:
    """Raises `UnsuitableError` for boxes beyond `MAX_COORDINATE`, where 64 bits might overflow."""
    if len(low) and max(int(high.max()), -int(low.min())) > MAX_COORDINATE:
        raise UnsuitableError("coordinates of regions are too large")


def to_boxes(
    frame: Frame, names: Sequence[str], boxes: Iterable[dict[str, tuple[Fraction, Fraction]]]
) -> tuple[Ints, Ints]:
    """Boxes of the variables as boxes of the identity frame, rounded outward."""
    low = [[floor(b[n][0] * frame.unit) for n in names] for b in boxes]
    high = [[ceil(b[n][1] * frame.unit) for n in names] for b in boxes]
    return np.array(low, dtype=np.int64).reshape(-1, len(names)), np.array(high, dtype=np.int64).reshape(-1, len(names))


def _times(number: Fraction, scale: int) -> int:
    """A multiple that is whole."""
    return number.numerator * (scale // number.denominator)


def product(a: Matrix, b: Matrix) -> Matrix:
    """Matrix product."""
    columns = list(zip(*b, strict=True))  # most numbers are 0
    return tuple(
        tuple(sum((x * y for x, y in zip(r, c, strict=True) if x and y), Fraction(0)) for c in columns) for r in a
    )
