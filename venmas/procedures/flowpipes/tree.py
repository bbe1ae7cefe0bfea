"""The cuts of an initial box, and how finely what is left was followed: what a proof consists of."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import floor

from venmas.model.evaluation.cuts import Chosen, Cut, Fineness
from venmas.model.evaluation.cuts import Tree as Proof
from venmas.model.system.system import System
from venmas.model.system.variables import Box


class Tree:
    """A box of initial states, cut into parts.

    axes: by node, the variable that its box is cut across, and where, or None where it is not; node 0 is the whole
    box. children: the lower part, which the upper one follows; 0 for leaves. fine: with what the target was refuted.
    noise: of leaves, where it may be chosen. whole: the box.
    """

    def __init__(self, whole: Box) -> None:
        self.whole = whole
        self.axes: list[tuple[str, Fraction] | None] = [None]
        self.children = [0]
        self.fine: list[Fineness | None] = [None]
        self.noise: dict[int, tuple[Fraction, ...]] = {}

    def split(self, system: System, node: int, box: Box, axis: str) -> list[tuple[int, Box]]:
        """The parts of a leaf that is cut in the middle of a side; an integer is in one of them."""
        low, high = box[axis]
        middle = (low + high) / 2
        above = middle
        if system.variables[axis].integral:
            middle = Fraction(floor(middle))
            above = middle + 1
        first = len(self.axes)
        self.axes[node], self.children[node] = (axis, middle), first
        self.axes += [None, None]
        self.children += [0, 0]
        self.fine += [None, None]
        return [(first, {**box, axis: (low, middle)}), (first + 1, {**box, axis: (above, high)})]

    def proof(self) -> Proof | None:
        """The tree with the fineness of every leaf, None where one has none."""
        made: list[Proof] = []  # the last node first, so that parts are there before what they are parts of
        last = len(self.axes) - 1
        for node in range(last, -1, -1):
            axis, first, fine = self.axes[node], self.children[node], self.fine[node]
            if axis is not None:
                made.append(Cut(*axis, made[last - first], made[last - first - 1]))
            elif fine is None:
                return None
            else:
                made.append(Chosen(self.noise[node], fine) if node in self.noise else fine)
        return made[-1]


_COARSE = Fineness(order=4, substeps=1, slices=1, symbols=20)
_FINER: tuple[dict[str, int], ...] = (
    {},
    {"slices": 4},
    {"substeps": 2, "order": 5, "slices": 4},
    {"substeps": 2, "order": 6, "slices": 16},
    {"substeps": 4, "order": 8, "slices": 16},
    {"substeps": 8, "order": 10, "slices": 64, "symbols": 60},
)
USUAL = len(_FINER)
"""So many levels are not for steep flows alone."""
_SETS = (16, 32, 64, 64, 128, 256)
_STEEP = tuple(Fineness(order=6, substeps=2**n, slices=4, symbols=60, sets=256) for n in range(4, 9))
"""For flows that no longer step of a period encloses."""

LAWFUL = (replace(_COARSE, sets=1, symbols=60),)
"""One set, in which open choices of actions are affine laws (`venmas.bounds.affine.laws`): those of each step leave a
symbol, of which 20 are too few for plants that swing for long."""


def ladder(recorded: bool, several: bool, pieces: int = 0) -> tuple[Fineness, ...]:
    """Finer and finer enclosures. recorded: is something recorded between steps? Slices are for that alone. several:
    are there several branches? pieces: of the inputs of networks, from the second level on."""
    found = [replace(_COARSE, **step, sets=sets) for step, sets in zip(_FINER, _SETS, strict=True)]
    found = [fine if several else replace(fine, sets=0) for fine in (*found, *_STEEP)]
    levels = list(dict.fromkeys(found if recorded else [replace(fine, slices=1) for fine in found]))
    return tuple(levels[:1] + [replace(fine, pieces=pieces) for fine in (levels if pieces else levels[1:])])


def middle(system: System, box: Box) -> dict[str, Fraction]:
    """The state in the middle of a box."""
    found = {name: (low + high) / 2 for name, (low, high) in box.items()}
    return {name: Fraction(floor(at)) if system.variables[name].integral else at for name, at in found.items()}
