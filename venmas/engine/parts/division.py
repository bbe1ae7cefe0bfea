"""The division of the initial set: a tree of cuts, whose leaves are decided one by one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from venmas.checker.goals.divide import MAX_DEEP, halves
from venmas.model.evaluation.regions import bounding_box
from venmas.model.system.system import System
from venmas.model.system.variables import Region

Cut = tuple[int, int, str]
"""See `venmas.checker.goals.divide.Divide`."""


@dataclass(eq=False)
class Piece:
    """A part of an initial set. depth: cuts that it comes from. cut: variable and place, where it was divided."""

    region: Region
    depth: int = 0
    cut: tuple[int, Fraction] | None = None
    pieces: tuple[Piece, ...] = ()

    def leaves(self) -> Iterator[Piece]:
        """Those that were not divided, in order."""
        stack = [self]
        while stack:
            piece = stack.pop()
            if not piece.pieces:
                yield piece
            stack += reversed(piece.pieces)

    def cuts(self, index: int) -> Iterator[Cut]:
        """The cuts that make the leaves of a set of this number, one after the other."""
        if self.cut is not None:
            low, high = self.pieces
            yield index, self.cut[0], str(self.cut[1])
            yield from low.cuts(index)
            yield from high.cuts(index + sum(1 for _ in low.leaves()))


def divide(system: System, piece: Piece, integers: bool = False) -> bool:
    """Cut a piece in the middle of its longest side, as a part of the declared range; False: it has none.

    Integers come first: states with different values of them share no box of a reachability graph, so that the pieces
    cost together what the whole does. integers: nothing else is cut. It depends on the piece alone, so that another run
    makes the same pieces.
    """
    if piece.pieces:
        return True
    box = bounding_box(system, piece.region) if piece.depth < MAX_DEEP else None
    if box is None:
        return False
    decls = list(system.variables.values())

    def length(index: int) -> tuple[bool, Fraction]:
        decl = decls[index]
        low, high = box[decl.name]
        return (decl.integral, (high - low) / (decl.upper - decl.lower)) if high > low else (False, Fraction(0))

    index = max(range(len(decls)), key=length)
    if not length(index)[1] or (integers and not decls[index].integral):
        return False
    decl, (low, high) = decls[index], box[decls[index].name]
    where = (low + high) / 2
    if decl.integral:
        where = Fraction(where.numerator // where.denominator)
    piece.cut = index, where
    piece.pieces = tuple(Piece(region, piece.depth + 1) for region in halves(piece.region, decl, where))
    return True
