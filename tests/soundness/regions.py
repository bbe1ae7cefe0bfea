"""What a network does on a segment or on a polygon, exactly: its linear regions, one by one, in rationals.

Written without the verifier: the set of inputs is cut at the zeros of every unit, layer by layer, as small convex
polygons of exact vertices (a segment has two). Each piece then carries its outputs as values at its vertices, between
which they are affine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import gmpy2

from venmas.nn import Network

Q: TypeAlias = Any
Vector: TypeAlias = tuple[Q, ...]
q = gmpy2.mpq


@dataclass(frozen=True)
class Piece:
    """A convex set by its vertices in order (1: a point, 2: a segment, more: a polygon); `values` at each vertex."""

    points: tuple[Vector, ...]
    values: tuple[Vector, ...]

    def mapped(self, f: Callable[[Vector, Vector], Vector]) -> Piece:
        """New values, from point and value; `f` must be affine on the piece."""
        return Piece(self.points, tuple(f(p, v) for p, v in zip(self.points, self.values, strict=True)))

    def cut(self, signs: Sequence[Q]) -> list[tuple[Piece, int]]:
        """The parts where a function, given at the vertices, is positive or negative, with its sign; zero: either."""
        if all(s >= 0 for s in signs) or all(s <= 0 for s in signs):
            return [(self, 1 if any(s > 0 for s in signs) else -1)]
        return [(self._side(signs), 1), (self._side([-s for s in signs]), -1)]

    def _side(self, signs: Sequence[Q]) -> Piece:
        kept: list[tuple[Vector, Vector]] = []
        size = len(self.points)
        for i in range(size):
            a, b = signs[i], signs[(i + 1) % size]
            if a >= 0:
                kept.append((self.points[i], self.values[i]))
            if (a > 0 > b or a < 0 < b) and (size > 2 or i == 0):
                share = a / (a - b)
                j = (i + 1) % size
                kept.append(
                    (_between(self.points[i], self.points[j], share), _between(self.values[i], self.values[j], share))
                )
        return Piece(tuple(p for p, _ in kept), tuple(v for _, v in kept))


def _between(a: Vector, b: Vector, share: Q) -> Vector:
    return tuple(x + share * (y - x) for x, y in zip(a, b, strict=True))


def through(network: Network, piece: Piece) -> Iterator[Piece]:
    """The pieces of a piece whose values are the network's inputs; the values become its outputs."""
    layers = [
        ([[q(w) for w in row] for row in layer.exact_weight], [q(b) for b in layer.exact_bias], layer.activation)
        for layer in network.layers
    ]

    def affine(rows: list[list[Q]], bias: list[Q], v: Vector) -> Vector:
        return tuple(sum((w * x for w, x in zip(r, v, strict=True)), b) for r, b in zip(rows, bias, strict=True))

    stack = [(piece, 0)]
    while stack:
        here, at = stack.pop()
        if at == len(layers):
            yield here
            continue
        rows, bias, activation = layers[at]
        parts = [here.mapped(lambda _, v, rows=rows, bias=bias: affine(rows, bias, v))]
        if activation == "relu":
            for unit in range(len(bias)):
                sides = [side for part in parts for side in part.cut([v[unit] for v in part.values])]
                parts = [_clipped(side, unit, sign) for side, sign in sides]
        stack += [(p, at + 1) for p in parts]


def _clipped(piece: Piece, unit: int, sign: int) -> Piece:
    if sign > 0:
        return piece
    return piece.mapped(lambda _, v: (*v[:unit], q(0), *v[unit + 1 :]))


def box(*ends: tuple[Q, Q]) -> Piece:
    """A segment or a rectangle as a piece whose values are its points."""
    if len(ends) == 1:
        points = [(q(e),) for e in ends[0]]
    else:
        (a, b), (c, d) = ends
        points = [(q(x), q(y)) for x, y in ((a, c), (b, c), (b, d), (a, d))]
    return Piece(tuple(points), tuple(points))


def winning(network: Network, piece: Piece, j: int) -> tuple[Q, bool | None]:
    """The most by which output j exceeds all others, and whether it wins a tie there (None: not at one vertex only)."""
    others = [i for i in range(network.output_size) if i != j]
    best: Q = None
    places: dict[Vector, Vector] = {}
    for part in through(network, piece):
        cells = [part]
        for n, i in enumerate(others):  # where i is the greatest of the others so far, or not
            for k in others[:n]:
                cells = [c for cell in cells for c, _ in cell.cut([v[i] - v[k] for v in cell.values])]
        for cell in cells:
            for p, v in zip(cell.points, cell.values, strict=True):
                margin = v[j] - max(v[i] for i in others)
                if best is None or margin > best:
                    best, places = margin, {}
                if margin == best:
                    places[p] = v
    if len(places) > 1:
        return best, None
    (scores,) = places.values()
    top = max(scores[i] for i in others)
    return best, all(scores[i] < top for i in range(j))
