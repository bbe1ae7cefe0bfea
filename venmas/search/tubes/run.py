"""Boxes of initial states, followed step by step as affine forms over their initial values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from venmas.bounds.affine.forms import Form, Forms
from venmas.bounds.affine.reduce import reduced
from venmas.bounds.affine.step import OpenChoiceError, Values
from venmas.bounds.rounding import Floats, Index, Ints, float_beside
from venmas.model.smooth.cuts import Fineness
from venmas.model.system import System
from venmas.model.variables import Box

_FORKS = 64
"""Ways through open choices that are followed from a box, at most."""


class Tube:
    """The states of a system with one branch after so many steps, from several boxes at once.

    state: forms of the variables. axes: the variables to whose initial values the first symbols belong, in order.
    """

    def __init__(self, system: System, boxes: Sequence[Box], fine: Fineness) -> None:
        self.system, self.fine, self.steps = system, fine, 0
        self.ring = Forms(len(boxes))
        self._most = _FORKS * len(boxes)
        self.state: dict[str, Form] = {}
        self.axes: list[str] = []
        for name in system.variables:
            lo = np.array([float_beside(box[name][0], -1) for box in boxes])
            hi = np.array([float_beside(box[name][1], 1) for box in boxes])
            if all(box[name][0] == box[name][1] for box in boxes):
                self.state[name] = self.ring.between(lo, hi)
            else:
                self.axes.append(name)
                self.state[name] = self.ring.symbol(lo, hi)

    def advance(self) -> Index | None:
        """One step, in all boxes. Where forms leave choices open, each option has a row of its own from here on.

        Returns which row each one comes from; None where nothing was forked. Beyond `_FORKS` rows a box, what several
        options give is enclosed in one.
        """
        assumed: dict[int, Ints] = {}
        origin: Index | None = None
        ring, symbols, broken = self.ring, self.ring.symbols, self.ring.broken.copy()
        while True:
            try:
                with np.errstate(all="ignore"):  # what overflows says nothing
                    self._step(assumed, self.ring.size <= self._most)
                break
            except OpenChoiceError as choice:
                rows, options = np.nonzero(choice.able)
                assumed = {key: taken[rows] for key, taken in assumed.items()}
                assumed[choice.key] = options
                origin = rows if origin is None else origin[rows]
                ring.symbols, ring.broken = symbols, broken
                self.keep(rows)
                ring, broken = self.ring, self.ring.broken.copy()
        self.steps += 1
        return origin

    def _step(self, assumed: Mapping[int, Ints], forking: bool) -> None:
        (branch,) = self.system.branches
        values = Values(self.ring, self.state, self.fine, assumed, forking)
        changed = {name: self._typed(name, values.form(expr)) for name, expr in branch.updates}
        state = {**self.state, **changed}
        self.ring, self.state = reduced(self.ring, state, self.fine.symbols * len(state), len(self.axes))

    def _typed(self, name: str, form: Form) -> Form:
        """An integer that is known is exact."""
        if not self.system.variables[name].integral or form.whole():
            return form
        lo, hi = np.ceil(form.ends[0]), np.floor(form.ends[1])
        return Form(lo[:, None], np.zeros(len(lo))) if bool(np.all(lo == hi)) else form

    def keep(self, rows: Index) -> None:
        """Follow some of the boxes only."""
        ring = Forms(len(rows), self.ring.symbols)
        ring.broken = self.ring.broken[rows]
        self.ring = ring
        self.state = {name: form.rows(rows) for name, form in self.state.items()}

    def moved(self, form: Form) -> tuple[Floats, Floats]:
        """How far each initial value moves a form, (B, axes), and how far it goes besides, (B,)."""
        sizes = np.abs(form.z[:, 1 : 1 + len(self.axes)])
        sizes = np.pad(sizes, ((0, 0), (0, len(self.axes) - sizes.shape[1])))
        return sizes, np.abs(form.z[:, 1 + len(self.axes) :]).sum(1) + form.e

    def moved_most(self) -> tuple[Floats, Floats]:
        """The same of the state as a whole, each variable by its share."""
        moves, besides = np.zeros((self.ring.size, len(self.axes))), np.zeros(self.ring.size)
        for form in self.state.values():
            by_axis, rest = self.moved(form)
            size = 1 / np.maximum(by_axis.sum(1) + rest, 1e-300)
            moves, besides = moves + by_axis * size[:, None], besides + rest * size
        return moves, besides

    def ends(self) -> Mapping[str, tuple[Floats, Floats]]:
        """The box of each variable, over all boxes: (B,) twice."""
        return {name: form.ends for name, form in self.state.items()}
