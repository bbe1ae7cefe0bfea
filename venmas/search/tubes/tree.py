"""The cuts of an initial box, and how finely what is left was followed: what a proof consists of."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import floor

from venmas.bounds.affine.flow import Fineness
from venmas.model.system import System
from venmas.model.variables import Box


class Tree:
    """A box of initial states, cut into parts.

    axes: by node, the variable that its box is cut across, or None where it is not; node 0 is the whole box. children:
    the lower part, which the upper one follows; 0 for leaves. fine: with what the target was refuted on a leaf.
    """

    def __init__(self, box: Box) -> None:
        self.box = box
        self.axes: list[str | None] = [None]
        self.children = [0]
        self.fine: list[Fineness | None] = [None]

    def split(self, node: int, axis: str) -> int:
        """Cut the box of a leaf; its lower one."""
        first = len(self.axes)
        self.axes[node], self.children[node] = axis, first
        self.axes += [None, None]
        self.children += [0, 0]
        self.fine += [None, None]
        return first

    @property
    def leaves(self) -> int:
        """How many parts the box has."""
        return (len(self.axes) + 1) // 2


def halves(system: System, box: Box, axis: str) -> tuple[Box, Box]:
    """A box cut in the middle of a side; an integer is in one of the parts."""
    low, high = box[axis]
    middle = (low + high) / 2
    above = middle
    if system.variables[axis].integral:
        middle = Fraction(floor(middle))
        above = middle + 1
    return {**box, axis: (low, middle)}, {**box, axis: (above, high)}


MOST = Fineness(order=4, substeps=4, slices=16, symbols=60)


def finer(fine: Fineness, recorded: bool) -> Fineness | None:
    """The next finer enclosures: slices where something is recorded between steps, substeps, symbols; None at the end."""
    if recorded and fine.slices < 4:
        return replace(fine, slices=4)
    if fine.substeps < 2:
        return replace(fine, substeps=2)
    if recorded and fine.slices < MOST.slices:
        return replace(fine, slices=MOST.slices)
    if fine.substeps < MOST.substeps:
        return replace(fine, substeps=MOST.substeps)
    if fine.symbols < MOST.symbols:
        return replace(fine, symbols=MOST.symbols)
    return None
