"""Zonotopes along the runs from boxes of initial states: one set of states a row, a set for each answer to a set.

    one step: for each branch that some state of a set can take                       (`venmas.bounds.affine.guards`)
                  what it makes of the part of the set where its guard holds          (`venmas.bounds.affine.halves`)
                  where an argmax or a condition in it is open, each option makes a set of its own, kept to the
                  states that take it, while these are not too many
              too many sets of a box: those that are near each other become one       (`venmas.bounds.affine.join`)

Nothing is lost: what follows a state of a set is in one of the sets that follow it. Where there are many values of
noise, that of a step has a symbol from this step on, as an input of it.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from venmas.bounds.affine.forms import Form, Forms
from venmas.bounds.affine.guards import Answers, answers
from venmas.bounds.affine.halves import not_negative, where
from venmas.bounds.affine.join import joined, near
from venmas.bounds.affine.laws import Laws
from venmas.bounds.affine.reduce import reduced
from venmas.bounds.affine.step import OpenChoiceError, Values
from venmas.bounds.rounding import Bools, Floats, Index, Ints, float_beside
from venmas.logic.linear import LinearExpr
from venmas.model.evaluation.cuts import Fineness
from venmas.model.expressions.expr import Switch, Variable
from venmas.model.expressions.walk import walk
from venmas.model.system.disturbances import ahead, disturbance_of
from venmas.model.system.parts import Branch
from venmas.model.system.system import System
from venmas.model.system.variables import Box

_NOISE = 36
"""Values of noise up to which all of them are followed from the start, so that their ranges may be cut."""
_FORKS = 64
"""Sets of a box beyond which open choices make no more where no number is given, or near ones are joined."""
_FAR = Fraction(10) ** 200
"""Thresholds that are floats for sure."""


@dataclass
class Link:
    """The sets after a step, from those before it.

    before, branch, after: (E,), a set of states, a branch that some of them take, and a set that has their successors.
    """

    before: Index
    branch: Ints
    after: Index
    answers: Answers


class Tube:
    """The states after so many steps, from several boxes at once, in sets: one a row of `ring`.

    state: forms of the variables. boxes: which box a set is from. axes: the variables to whose initial values the first
    symbols belong, in order. alone: has every state had one successor? single: networks in any float32 evaluation.
    """

    def __init__(self, system: System, boxes: Sequence[Box], fine: Fineness, single: bool = False) -> None:
        ring = Forms(len(boxes))
        state: dict[str, Form] = {}
        axes: list[str] = []
        noise = [name for name in system.variables if ahead(name)]
        later: dict[str, list[tuple[Floats, Floats]]] = {}
        if len(noise) > _NOISE:
            for name in noise:
                later.setdefault(disturbance_of(name), []).append(_beside([box[name] for box in boxes]))
        for name in system.variables:
            if later and ahead(name):
                continue
            lo = np.array([float_beside(box[name][0], -1) for box in boxes])
            hi = np.array([float_beside(box[name][1], 1) for box in boxes])
            if all(box[name][0] == box[name][1] for box in boxes):
                state[name] = ring.between(lo, hi)
            else:
                axes.append(name)
                state[name] = ring.symbol(lo, hi)
        self._begin(system, ring, state, fine, single, axes, later)

    @classmethod
    def over(cls, system: System, ring: Forms, state: dict[str, Form], fine: Fineness, single: bool = False) -> Tube:
        """The states that follow those of some sets, one a row, whose forms are given."""
        self = cls.__new__(cls)
        self._begin(system, ring, state, fine, single, [], {})
        return self

    def _begin(
        self,
        system: System,
        ring: Forms,
        state: dict[str, Form],
        fine: Fineness,
        single: bool,
        axes: list[str],
        later: dict[str, list[tuple[Floats, Floats]]],
    ) -> None:
        self.system, self.fine, self.steps, self.single = system, fine, 0, single
        self.ring, self.state, self.boxes, self.alone = ring, state, np.arange(ring.size), True
        self._count = ring.size
        self.axes, self._later = axes, later
        """By disturbance, the ranges in the steps to come, by box, where these are no variables that are followed."""
        self._laws: dict[Hashable, Laws] | None = system.once("laws", dict) if fine.sets == 1 and not single else None
        self._modes: list[str] = system.once("modes of flowpipes", lambda: _modes(system))
        """The variables that say which of several expressions is meant, as a network for each of their values."""
        # noise of later steps brings no symbols; to have fewer takes time, which many sets are worth
        self._symbols = fine.symbols * sum(len(system.branches) == 1 or not ahead(name) for name in state)

    @np.errstate(all="ignore")  # what overflows says nothing
    def advance(self) -> Link:
        """One step of all sets."""
        ring, state, boxes, branches = self.ring, self.state, self.boxes, self.system.branches
        found = answers(branches, Values(ring, state, self.fine, single=self.single))
        made: list[tuple[Forms, dict[str, Form]]] = []
        before: list[Index] = []
        taken: list[Ints] = []
        for index, branch in enumerate(branches):
            for rows in _alike(np.flatnonzero(found.may[:, index]), [state[name] for name in self._modes]):
                self.ring, self.state, self.boxes = ring, state, boxes
                if len(branches) > 1 or len(rows) < ring.size:
                    self.keep(rows)
                if not branch.always:
                    values = Values(self.ring, self.state, self.fine, single=self.single)
                    self.state = where(values, branch.guard, self.fine)
                origin = rows[self._take(branch)]
                made.append((self.ring, self.state))
                before.append(origin)
                taken.append(np.full(len(origin), index))
        self.steps, self.alone = self.steps + 1, self.alone and found.one
        if not made:  # no state has a successor
            self.ring, self.state, self.boxes = ring, state, boxes
            self.keep(np.arange(0))
            return Link(np.arange(0), np.arange(0), np.arange(0), found)
        link = Link(np.concatenate(before), np.concatenate(taken), np.arange(sum(map(len, before))), found)
        self.ring, self.state = _together(made)
        self.boxes = boxes[link.before]
        if self.fine.sets and not self.alone and np.bincount(self.boxes).max() > self.fine.sets:
            groups = near(self.state, self.boxes, self.fine.sets)
            self.ring, self.state = joined(self.ring, self.state, groups)
            self.boxes = self.boxes[[group[0] for group in groups]]
            link.after[np.concatenate(groups)] = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
        return link

    def _take(self, branch: Branch) -> Index:
        """The step by a branch, in all rows; where forms leave choices open, each option has a row of its own.

        Returns which row each one comes from. Beyond so many rows of a box, what several options give is enclosed in
        one.
        """
        assumed: dict[int, Ints] = {}
        origin = np.arange(self.ring.size)
        ring, symbols, broken = self.ring, self.ring.symbols, self.ring.broken.copy()
        while True:
            try:
                self._step(branch, assumed)
                return origin
            except OpenChoiceError as choice:
                rows, options = np.nonzero(self._forked(choice.able))
                options -= 1
                assumed = {key: taken[rows] for key, taken in assumed.items()}
                assumed[choice.key] = options
                origin = origin[rows]
                ring.symbols, ring.broken = symbols, broken
                self.keep(rows)
                self.state = _taking(self.state, choice, rows, options)
                ring, broken = self.ring, self.ring.broken.copy()

    def _forked(self, able: Bools) -> Bools:
        """(B, 1 + options): which options get a row, the first place being for all that are possible in one."""
        several = len(self.system.branches) > 1
        most = max(_FORKS, 2 * self.fine.sets) if several else self.fine.sets or _FORKS
        left = most - np.bincount(self.boxes, minlength=self._count)
        chosen = np.zeros((len(able), 1 + able.shape[1]), dtype=bool)
        for row, more in enumerate((able.sum(1) - 1).tolist()):
            box = self.boxes[row]
            if more <= left[box]:
                left[box] -= more
                chosen[row, 1:] = able[row]
            else:
                chosen[row, 0] = True
        return chosen

    def _step(self, branch: Branch, assumed: Mapping[int, Ints]) -> None:
        values = Values(self.ring, self.state, self.fine, assumed, True, self._laws, self.single)
        updates = [u for u in branch.updates if not self._later or disturbance_of(u[0]) not in self._later]
        changed = {name: self._typed(name, values.value(expr)) for name, expr in updates}
        for name, ranges in self._later.items():
            lo, hi = ranges[min(self.steps, len(ranges) - 1)]
            changed[name] = self.ring.between(lo[self.boxes], hi[self.boxes])
        state = {**self.state, **changed}
        self.ring, self.state = reduced(self.ring, state, self._symbols, len(self.axes))

    def _typed(self, name: str, form: Form) -> Form:
        """An integer that is known is exact."""
        if not self.system.variables[name].integral or form.whole():
            return form
        lo, hi = np.ceil(form.ends[0]), np.floor(form.ends[1])
        return Form(lo[:, None], np.zeros(len(lo))) if bool(np.all(lo == hi)) else form

    def again(self, fine: Fineness) -> Tube:
        """The same sets, to be followed in another way."""
        other = copy(self)
        other.fine = fine
        other.keep(np.arange(self.ring.size))
        return other

    def keep(self, rows: Index) -> None:
        """Follow some of the sets only."""
        ring = Forms(len(rows), self.ring.symbols)
        ring.broken = self.ring.broken[rows]
        self.ring, self.boxes = ring, self.boxes[rows]
        self.state = {name: form.rows(rows) for name, form in self.state.items()}

    def moved(self, form: Form) -> tuple[Floats, Floats]:
        """How far each initial value moves a form, (B, axes), and how far it goes besides, (B,)."""
        sizes = np.abs(form.z[:, 1 : 1 + len(self.axes)])
        sizes = np.pad(sizes, ((0, 0), (0, len(self.axes) - sizes.shape[1])))
        return sizes, np.abs(form.z[:, 1 + len(self.axes) :]).sum(1) + form.e

    @np.errstate(all="ignore")
    def moved_most(self) -> tuple[Floats, Floats]:
        """The same of the state as a whole, each variable by its share."""
        moves, besides = np.zeros((self.ring.size, len(self.axes))), np.zeros(self.ring.size)
        for form in self.state.values():
            by_axis, rest = self.moved(form)
            size = 1 / np.maximum(by_axis.sum(1) + rest, 1e-300)
            moves, besides = moves + by_axis * size[:, None], besides + rest * size
        return moves, besides

    @np.errstate(all="ignore")
    def ends(self) -> Mapping[str, tuple[Floats, Floats]]:
        """The box of each variable, over all sets: (B,) twice."""
        return {name: form.ends for name, form in self.state.items()}


def linear(ring: Forms, expr: LinearExpr, state: dict[str, Form]) -> Form:
    """The form of a linear expression over the variables; of what is known of it, the signs count."""
    terms: list[tuple[Fraction, Form]] = [(c, state[name]) for name, c in expr.terms]
    form = ring.combine(terms, expr.constant)
    # which side of a number a variable is on is told by its ends, without rounding
    if len(terms) == 1 and abs(expr.constant) < _FAR * abs(terms[0][0]):
        ((factor, value),) = terms
        at, (low, high) = -expr.constant / factor, value.ends
        ends = low - float_beside(at, 1), high - float_beside(at, -1)
        form.known = ends if factor > 0 else (-ends[1], -ends[0])
    return form


def _beside(ends: Sequence[tuple[Fraction, Fraction]]) -> tuple[Floats, Floats]:
    """Floats below the first and above the second of each pair: (B,) twice."""
    one = ends[:1] if all(pair is ends[0] for pair in ends) else ends  # mostly the same
    low, high = (np.array([float_beside(pair[i], 2 * i - 1) for pair in one]) for i in (0, 1))
    return np.broadcast_to(low, len(ends)), np.broadcast_to(high, len(ends))


def _alike(rows: Index, modes: Sequence[Form]) -> list[Index]:
    """Rows that have the same values of some forms together: what these choose is then evaluated in no others."""
    if not modes or len(rows) < 2:
        return [rows] if len(rows) else []
    ends = np.stack([end[rows] for form in modes for end in form.ends], 1)
    _, group = np.unique(ends, axis=0, return_inverse=True)
    return [rows[group.reshape(-1) == number] for number in range(int(group.max()) + 1)]


def _taking(state: dict[str, Form], choice: OpenChoiceError, rows: Index, options: Ints) -> dict[str, Form]:
    """The states that take an option, and maybe others: one of a choice in each row, made of `rows` of it."""
    guards = {f" {k}": form for k, form in enumerate(choice.guards(rows, options))}  # no names of variables
    forms = {**state, **guards}
    for name in guards:
        forms = not_negative(forms, forms[name])
    return {name: forms[name] for name in state}


def _together(parts: Sequence[tuple[Forms, dict[str, Form]]]) -> tuple[Forms, dict[str, Form]]:
    """Rows of several rings in one."""
    if len(parts) == 1:
        return parts[0]
    ring = Forms(sum(part.size for part, _ in parts), max(part.symbols for part, _ in parts))
    ring.broken = np.concatenate([part.broken for part, _ in parts])
    state: dict[str, Form] = {}
    for name in parts[0][1]:
        forms = [forms[name] for _, forms in parts]
        width = max(form.z.shape[1] for form in forms) - 1
        z = np.concatenate([form.wide(width) for form in forms])
        e, mass = (np.concatenate([getattr(form, part) for form in forms]) for part in ("e", "mass"))
        low, high = (np.concatenate([form.ends[end] for form in forms]) for end in (0, 1))
        state[name] = Form(z, e, mass, (low, high))
    return ring, state


def _modes(system: System) -> list[str]:
    """Variables that select one of several expressions."""
    updates = [expr for branch in system.branches for _, expr in branch.updates]
    selectors = {node.selector for node in walk(updates) if isinstance(node, Switch)}
    return sorted(by.name for by in selectors if isinstance(by, Variable))
