"""The split tree of a search over boxes, as far as a proof needs it."""

from __future__ import annotations

from collections.abc import Sequence

from venmas.bounds.rounding import Floats

LEAF = -1
PARTS = 64
"""A box is cut at a multiple of its side over it."""
_HALF = PARTS // 2
_NEAR = 2
"""Cuts this near the middle go through it."""
_WORTH = 4
"""What is cut off where open groups leave less of a box: at least so many parts."""


class Tree:
    """Boxes of a program's inputs that were cut, and those that were closed.

    axes: by node, the input that its box is cut across, or `LEAF`; node 0 is the whole box. parts: where, in 64ths of
    its side. children: the lower one, which the upper one follows; 0 for leaves.
    """

    def __init__(self) -> None:
        self.axes, self.parts, self.children = [LEAF], [0], [0]

    def split(self, node: int, axis: int, part: int = _HALF) -> int:
        """Cut the box of a leaf; its lower one."""
        first = len(self.axes)
        self.axes[node], self.parts[node], self.children[node] = axis, part, first
        self.axes += [LEAF, LEAF]
        self.parts += [0, 0]
        self.children += [0, 0]
        return first

    @property
    def leaves(self) -> int:
        """How many parts the box has."""
        return (len(self.axes) + 1) // 2

    def copy(self) -> Tree:
        """The same, to be cut further."""
        made = Tree()
        made.axes, made.parts, made.children = list(self.axes), list(self.parts), list(self.children)
        return made


class Recorder:
    """Makes a tree of what a search does; its boxes are those of the search, or a little larger."""

    def __init__(self, low: Sequence[float] | Floats, high: Sequence[float] | Floats) -> None:
        self.tree = Tree()
        self._boxes: dict[int, tuple[list[float], list[float]]] = {
            0: ([float(a) for a in low], [float(b) for b in high])
        }

    def shrunk(self, node: int, low: Floats, high: Floats) -> int:
        """Open groups leave this of the box: the node of what is left once the rest is cut off as leaves."""
        for axis, (a, b) in enumerate(zip(low.tolist(), high.tolist(), strict=True)):
            ends = self._boxes[node]
            side = ends[1][axis] - ends[0][axis]
            below = int(PARTS * (a - ends[0][axis]) / side) if side > 0 else 0
            if _WORTH <= below < PARTS:
                node = self._cut(node, axis, below) + 1
                side = ends[1][axis] - self._boxes[node][0][axis]
            above = PARTS - int(PARTS * (ends[1][axis] - b) / side) if side > 0 else PARTS
            if 0 < above <= PARTS - _WORTH:
                node = self._cut(node, axis, above)
        return node

    def halved(self, node: int, axis: int, middle: float) -> int:
        """The box was cut there, about; its lower part."""
        low, high = (end[axis] for end in self._boxes[node])
        part = round(PARTS * (middle - low) / (high - low)) if high > low else _HALF
        return self._cut(node, axis, _HALF if abs(part - _HALF) <= _NEAR else min(max(part, 1), PARTS - 1))

    def _cut(self, node: int, axis: int, part: int) -> int:
        low, high = self._boxes.pop(node)
        at = low[axis] + (high[axis] - low[axis]) * part / PARTS
        first = self.tree.split(node, axis, part)
        self._boxes[first] = low, [at if i == axis else b for i, b in enumerate(high)]
        self._boxes[first + 1] = [at if i == axis else a for i, a in enumerate(low)], high
        return first
