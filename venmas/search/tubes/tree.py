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


_COARSE = Fineness()
_FINER: tuple[dict[str, int], ...] = (
    {},
    {"slices": 4},
    {"substeps": 2, "slices": 4},
    {"substeps": 2, "slices": 16},
    {"substeps": 4, "slices": 16},
    {"substeps": 4, "slices": 16, "symbols": 60},
)


def ladder(recorded: bool) -> tuple[Fineness, ...]:
    """Finer and finer enclosures. recorded: is something recorded between steps? Slices are for that alone."""
    found = [replace(_COARSE, **step) for step in _FINER]
    return tuple(dict.fromkeys(found if recorded else [replace(fine, slices=1) for fine in found]))
