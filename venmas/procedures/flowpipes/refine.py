"""How one goes on with a box that was not refuted: in two parts, or with finer enclosures.

A box is cut across the initial value that moves most what stayed open. Finer enclosures are tried where rather they are
what is wide, with one box at a time, and kept for others where they leave clearly less open. Where a flow is not shown
to exist not even from the middle of a box, cuts do not help: it takes more steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from venmas.bounds.rounding import Floats
from venmas.model.evaluation.cuts import Fineness
from venmas.model.system.disturbances import ahead, disturbance_of
from venmas.model.system.variables import Box
from venmas.procedures.flowpipes.plan import Failed
from venmas.procedures.flowpipes.tree import Tree

_RATHER = 2.0
"""Finer enclosures are tried rather than a cut where they account for so many times what the initial values do, .."""
_WORTH, _PAUSE = 0.5, 4
""".. and kept where they leave less than this part of what was open; else not tried for so many cuts."""
_SOME = 0.05
"""Part of what all initial values move from which on a state is cut rather than noise."""
_DEEPEST, _MOST = 30, 180
"""Cuts above each other for each initial value, and in all."""
_NARROWEST = 1e-12


@dataclass(frozen=True)
class Part:
    """A box that is to be refuted: a leaf of the tree of its region."""

    tree: Tree
    node: int
    box: Box
    level: int = 0
    depth: int = 0
    tried: Failed | None = None
    before: int = 0
    """What it failed by at the level before, where this one is a trial, and that level."""
    reached: int = -1
    """Up to this step nothing meets the target, as far as boxes around it told."""

    def better(self, radii: list[Floats], row: int) -> bool:
        """Does this trial leave clearly less open after the step where it failed before? radii: of steps, by row."""
        if self.tried is None or self.tried.step >= len(radii):
            return False
        return bool(radii[self.tried.step][row] < _WORTH * self.tried.radius)


class Refining:
    """What was learnt from trials so far.

    levels: finer and finer enclosures. exists: do runs from the middle of a box exist, as far as those of a level tell?
    """

    def __init__(self, levels: Sequence[Fineness], exists: Callable[[Box, int], bool]) -> None:
        self._levels, self._exists = levels, exists
        self._good = self._next_trial = self._next_look = 0
        self._trying = False

    def tried(self, part: Part, better: bool) -> None:
        """Note whether finer enclosures of a box were worth it: there is one trial at a time."""
        self._trying = False
        if better:
            self._good = max(self._good, part.level)
        else:
            self._next_trial = part.depth + _PAUSE

    def after(self, part: Part, why: Failed) -> Part | str | None:
        """The box with finer enclosures, or the variable that it is to be cut across; None: neither is possible."""
        deepest = min(_DEEPEST * max(2, len(why.axes)), _MOST)
        able = [part.depth < deepest and _divisible(part.box, name) for name in why.axes]
        # slices do not help a flow to exist
        coarse = self._levels[part.level].substeps if why.broken else 0
        finer = [n for n in range(part.level + 1, len(self._levels)) if self._levels[n].substeps > coarse]
        if not any(able):  # a box that is nearly a point: nothing but finer enclosures is left
            return replace(part, level=finer[0], tried=None) if finer else None
        level = self.level_of(part)
        wanted = why.besides > _RATHER * float(why.moves.sum()) or why.broken
        if part.tried is not None:
            wanted &= level == part.level
        if wanted and not why.broken and finer and level >= self._good and not self._trying:
            if part.depth >= self._next_trial:
                self._trying = True
                return replace(part, level=finer[0], tried=why, before=level)
        elif why.broken and level >= self._good and part.depth >= self._next_look:
            self._next_look = part.depth + _PAUSE
            if not self._exists(part.box, level):
                enough = next((i for i, n in enumerate(finer, 1) if self._exists(part.box, n)), len(finer))
                self._good = finer[min(enough, len(finer) - 1)] if finer else level  # the whole box needs a little more
        if wanted and level < self._good:
            return replace(part, level=self._good, tried=None)
        widths = [float(part.box[name][1] - part.box[name][0]) for name in why.axes]
        moves = why.moves.tolist()
        noise = {disturbance_of(name) for name in why.axes if ahead(name)}
        states = [disturbance_of(name) not in noise for name in why.axes]
        if any(can and of and m > _SOME * sum(moves) for can, of, m in zip(able, states, moves, strict=True)):
            able = [can and of for can, of in zip(able, states, strict=True)]  # noise of a step is one of many
        # what units of a network add is theirs by their forms, and due to the values that are still wide
        wide = [w / max(whole, 1e-300) for w, whole in zip(widths, self._whole(part, why.axes), strict=True)]
        moves = [m + why.besides * w / max(sum(wide), 1e-300) for m, w in zip(moves, wide, strict=True)]
        scores = [(m, w) if can else (-1.0, 0.0) for can, m, w in zip(able, moves, widths, strict=True)]
        return why.axes[scores.index(max(scores))]

    @staticmethod
    def _whole(part: Part, axes: Sequence[str]) -> list[float]:
        """The widths of initial values before any cut."""
        return [float(part.tree.whole[name][1] - part.tree.whole[name][0]) for name in axes]

    def level_of(self, part: Part) -> int:
        """The level to go on with: that of a trial only where it was worth it."""
        return part.level if part.tried is None or part.level <= self._good else part.before


def _divisible(box: Box, name: str) -> bool:
    low, high = box[name]
    return float(high - low) > _NARROWEST * max(abs(float(low)), abs(float(high)))
