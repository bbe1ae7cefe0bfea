"""The split tree of a search over boxes, as far as a proof needs it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

LEAF = -1


@dataclass
class Tree:
    """Boxes of a program's inputs that were cut in the middle, and those that were closed.

    axes: by node, the input that its box is cut across, or `LEAF`; node 0 is the whole box. children: by node, its
    lower part, which the upper one follows; 0 for leaves. weights: by leaf and group, of the group's rows, not negative
    and not all 0; where nothing is said, the best single row will do.
    """

    axes: list[int] = field(default_factory=lambda: [LEAF])
    children: list[int] = field(default_factory=lambda: [0])
    weights: dict[int, Mapping[int, Sequence[float]]] = field(default_factory=dict)

    def split(self, node: int, axis: int) -> int:
        """Cut the box of a leaf; its lower part."""
        first = len(self.axes)
        self.axes[node], self.children[node] = axis, first
        self.axes += [LEAF, LEAF]
        self.children += [0, 0]
        self.weights.pop(node, None)
        return first

    @property
    def leaves(self) -> int:
        """How many parts the box has."""
        return (len(self.axes) + 1) // 2
