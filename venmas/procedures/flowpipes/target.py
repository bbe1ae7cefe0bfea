"""What a formula says of the states of some boxes, from sets that are reached step by step: true, false or open.

Sets and the steps between them are a graph (`venmas.bounds.affine.tube.Link`). EX f is false of a set if f is of
all sets after it; AX f is if, whichever branches its states can take, f is false of all sets after it by one of these.

While every state has had one successor, EX f and AX f say that f holds in it, and each run is looked at for itself:
that tells more where a formula is about several steps at once.

Boxes are followed together (`Following`); a pause between two steps loses nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic

import numpy as np

from venmas.bounds.affine.tube import Link, Tube, linear
from venmas.bounds.evaluation import certain
from venmas.bounds.rounding import Bools, Floats, Index
from venmas.budget import Budget
from venmas.logic import AX, EX, And, Atom, Bottom, Formula, Or, Top
from venmas.model.evaluation.cuts import Fineness
from venmas.model.system.system import System
from venmas.model.system.variables import Box
from venmas.procedures.flowpipes.plan import Failed, Plan, parts_of

_GROWTH = 16.0
"""Times the seconds of a step that the next one is expected to take, at most."""


@dataclass
class _Layer:
    """Sets after some steps. boxes: (B,), whose they are. link: from the sets before. yes, no: (B,) by atom: does it
    certainly hold in all their states, in none?"""

    boxes: Index
    link: Link | None = None
    yes: dict[Formula, Bools] = field(default_factory=dict)
    no: dict[Formula, Bools] = field(default_factory=dict)

    def rows(self, rows: Index) -> _Layer:
        """Some of the sets, without a link."""
        yes, no = ({atom: found[rows] for atom, found in known.items()} for known in (self.yes, self.no))
        return _Layer(self.boxes[rows], None, yes, no)


class Verdicts:
    """What is known of the target in some boxes, while they are followed."""

    def __init__(self, plan: Plan, size: int) -> None:
        self.plan, self.size = plan, size
        self._layers = [_Layer(np.arange(size))]
        self._alone = True

    def follow(self, tube: Tube, link: Link) -> None:
        """A step has been made."""
        self._layers.append(_Layer(tube.boxes, link))
        self._alone = tube.alone

    @np.errstate(all="ignore")
    def look(self, tube: Tube) -> tuple[Bools, Floats, Floats, Floats]:
        """Evaluate the atoms of this step. Where is one of them not false; how far does each initial value move those
        that are open (B, axes), and how far do they go besides (B,), in parts of what they go in all; and the greatest
        radius of any (B,). Row by row."""
        here, size = self._layers[-1], tube.ring.size
        open_ = np.zeros(size, dtype=bool)
        moves, besides = np.zeros((size, len(tube.axes))), np.zeros(size)
        radius = np.zeros(size)
        for atom in self.plan.atoms.get(tube.steps, ()):
            form = linear(tube.ring, atom.comparison.expr, tube.state)
            yes, no = certain(form.ends, atom.comparison.relation)
            here.yes[atom], here.no[atom] = yes & ~tube.ring.broken, no & ~tube.ring.broken
            radius = np.maximum(radius, form.radius)
            if not no.all():
                open_ |= ~no
                by_axis, rest = tube.moved(form)
                share = 1 / np.maximum(by_axis.sum(1) + rest, 1e-300)
                moves += np.where((~no & ~yes)[:, None], np.nan_to_num(by_axis * share[:, None]), 0.0)
                besides += np.where(~no & ~yes, np.nan_to_num(rest * share), 0.0)
        return open_, moves, besides, radius

    def keep(self, rows: Index) -> None:
        """Go on with some of the sets."""
        here = self._layers[-1]
        kept = here.rows(rows)
        if here.link is not None:
            place = np.full(len(here.boxes), -1)
            place[rows] = np.arange(len(rows))
            link = here.link
            edges = np.flatnonzero(place[link.after] >= 0)
            kept.link = Link(link.before[edges], link.branch[edges], place[link.after[edges]], link.answers)
        self._layers[-1] = kept

    def fold(self, hoped: bool = False) -> tuple[Bools, Bools]:
        """Of which boxes all states meet the target, and of which none does; (boxes,) twice. Of boxes without any set
        that is followed, anything is said.

        hoped: atoms of later steps are taken to be false where that helps to refute it.
        """
        layers = self._runs() if self._alone else self._layers
        last = len(layers) - 1
        yes: dict[tuple[Formula, int], Bools] = {}
        no: dict[tuple[Formula, int], Bools] = {}
        for place in self.plan.order:
            formula, step = place
            if step > last:  # no set is followed so far
                yes[place], no[place] = np.zeros(0, dtype=bool), np.ones(0, dtype=bool)
                continue
            layer = layers[step]
            every, none = np.ones(len(layer.boxes), dtype=bool), np.zeros(len(layer.boxes), dtype=bool)
            match formula:
                case Atom():
                    yes[place], no[place] = layer.yes[formula], layer.no[formula]
                case Top():
                    yes[place], no[place] = every, none
                case Bottom():
                    yes[place], no[place] = none, every
                case And() | Or():
                    parts = parts_of(place)
                    join, meet = np.logical_or.reduce, np.logical_and.reduce
                    first, second = (meet, join) if isinstance(formula, And) else (join, meet)
                    yes[place] = np.asarray(first([yes[p] for p in parts]))
                    no[place] = np.asarray(second([no[p] for p in parts]))
                case EX() | AX():
                    (below,) = parts_of(place)
                    if step == last:
                        yes[place], no[place] = none, every if hoped else none
                    elif self._alone:
                        yes[place], no[place] = yes[below], no[below]
                    else:
                        link = layers[step + 1].link
                        assert link is not None
                        some, all_ = (_somehow, _everywhere) if isinstance(formula, EX) else (_everywhere, _somehow)
                        yes[place], no[place] = some(link, yes[below], every), all_(link, no[below], every)
                case _:
                    raise TypeError(type(formula))
        target = self.plan.order[-1]
        return tuple(self._by_box(layers[0].boxes, found[target]) for found in (yes, no))  # type: ignore[return-value]

    def _by_box(self, boxes: Index, rows: Bools) -> Bools:
        found = np.ones(self.size, dtype=bool)
        found[boxes[~rows]] = False
        return found

    def _runs(self) -> list[_Layer]:
        """The layers with a row for each run, the same in all, where each set is after one set."""
        rows = np.arange(len(self._layers[-1].boxes))
        found = []
        for layer in reversed(self._layers):
            found.append(layer.rows(rows))
            if layer.link is not None:
                before = np.zeros(len(layer.boxes), dtype=np.intp)
                before[layer.link.after] = layer.link.before
                rows = before[rows]
        return found[::-1]


def _everywhere(link: Link, told: Bools, every: Bools, branch: int | None = None) -> Bools:
    """Before a step: is it told of all sets after it, by a branch or any? every: (B,), true."""
    found = every.copy()
    wrong = ~told[link.after] if branch is None else ~told[link.after] & (link.branch == branch)
    found[link.before[wrong]] = False
    return found


def _somehow(link: Link, told: Bools, every: Bools) -> Bools:
    """Before a step: can each state take a branch by which it is told of all sets after it? every: (B,), true."""
    truth = every.copy()
    for group, sets in link.answers.ways:
        by = [_everywhere(link, told, every, branch) for branch in group]
        truth &= np.logical_or.reduce([~sets, *by])
    return truth


class TooLongError(Exception):
    """The steps to come take more than their part of the time."""


class Following:
    """Boxes (B,) that are followed until the target is refuted on them, or seen to stay open.

    failed: (B,), why each is not refuted; None where it is, and before the end. radii: by step, how wide what stays
    open is (B,). seen: by step, the box of each set, and the ends of its variables.
    single: networks in any float32 evaluation.
    """

    def __init__(self, system: System, plan: Plan, boxes: Sequence[Box], level: Fineness, single: bool = False) -> None:
        self.failed: list[Failed | None] = [None] * len(boxes)
        self.radii: list[Floats] = []
        self.seen: list[tuple[Index, Mapping[str, tuple[Floats, Floats]]]] = []
        self.between, self.expected = True, 0.0
        self._took = self._next = 0.0
        """Seconds of the last step, and what the next one is expected to take."""
        self._steps = plan.steps
        self._tube = Tube(system, boxes, level, single)
        self._verdicts = Verdicts(plan, len(boxes))
        self._alive = np.ones(len(boxes), dtype=bool)
        self._moves, self._besides = np.zeros((len(boxes), len(self._tube.axes))), np.zeros(len(boxes))

    def on(self, budget: Budget, part: float | None = None) -> None:
        """Go on to the end. Raises `BudgetError` between two steps; called again, it goes on from there.

        part: of the time that is left, which the steps to come may be expected to take: else `TooLongError` is raised.
        """
        while len(self.radii) <= self._steps and self._alive.any():
            budget()
            left = budget.whole.left
            if part is not None and left is not None and self.expected > part * left:
                raise TooLongError
            budget.wait_for(self._next)
            self.between, begun, sets = False, monotonic(), self._tube.ring.size
            self._step(len(self.radii))
            took = monotonic() - begun
            grown = max(1.0, self._tube.ring.size / max(sets, 1), took / self._took if self._took else 1.0)
            self._took, self._next = took, took * min(grown, _GROWTH)
            self.between, self.expected = True, (self._steps + 1 - len(self.radii)) * took

    def _step(self, step: int) -> None:
        tube, verdicts, alive = self._tube, self._verdicts, self._alive
        before = tube.boxes, *tube.moved_most()
        if step:
            verdicts.follow(tube, tube.advance())
        open_, more, further, radius = verdicts.look(tube)
        np.add.at(self._moves, tube.boxes, more)
        np.add.at(self._besides, tube.boxes, further)
        broken = np.zeros(len(alive), dtype=bool)
        broken[tube.boxes[tube.ring.broken]] = True
        self.radii.append(np.where(alive, 0.0, np.inf))
        np.maximum.at(self.radii[-1], tube.boxes, np.where(tube.ring.broken | np.isnan(radius), np.inf, radius))
        last = step == self._steps
        yes, no = verdicts.fold(hoped=not last) if open_.any() or last else (~alive, alive)
        failing = alive & (broken | ~no)
        for i in np.flatnonzero(failing).tolist():
            if broken[i]:
                self._moves[i], self._besides[i] = (part[before[0] == i].sum(0) for part in before[1:])
            self.failed[i] = Failed(
                step,
                tube.axes,
                float(self.radii[-1][i]),
                self._moves[i],
                float(self._besides[i]),
                bool(broken[i]),
                bool(yes[i] and not broken[i]),
            )
        if failing.any():
            alive &= ~failing
            if not alive.any():
                return
            left = np.flatnonzero(alive[tube.boxes])
            tube.keep(left)
            verdicts.keep(left)
        self.seen.append((tube.boxes, tube.ends()))
