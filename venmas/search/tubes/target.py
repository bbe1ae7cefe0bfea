"""What a formula says of the only run from each state of some boxes: true, false or open, step by step.

Of a system in which every state has one successor, EX f and AX f say that f holds in it.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from venmas.bounds.affine.forms import Form, Forms
from venmas.bounds.affine.step import certain
from venmas.bounds.rounding import Bools, Floats, Index
from venmas.linear import LinearExpr
from venmas.logic import AX, EX, And, Atom, Bottom, Or, Top
from venmas.search.tubes.plan import Place, Plan, parts_of
from venmas.search.tubes.run import Tube


class Verdicts:
    """What is known of the target in some boxes, while they are followed."""

    def __init__(self, plan: Plan, size: int) -> None:
        self.plan, self.size = plan, size
        self._yes: dict[Place, Bools] = {}
        self._no: dict[Place, Bools] = {}

    def look(self, tube: Tube) -> tuple[Bools, Floats, Floats, Floats]:
        """Evaluate the atoms of this step. Where is one of them not false; how far does each initial value move those
        that are open (B, axes), and how far do they go besides (B,), in parts of what they go in all; and the greatest
        radius of any (B,)."""
        open_ = np.zeros(self.size, dtype=bool)
        moves, besides = np.zeros((self.size, len(tube.axes))), np.zeros(self.size)
        radius = np.zeros(self.size)
        for atom in self.plan.atoms.get(tube.steps, ()):
            form = linear(tube.ring, atom.comparison.expr, tube.state)
            yes, no = certain(form, atom.comparison.relation)
            self._yes[atom, tube.steps], self._no[atom, tube.steps] = yes & ~tube.ring.broken, no & ~tube.ring.broken
            radius = np.maximum(radius, form.radius)
            if not no.all():
                open_ |= ~no
                by_axis, rest = tube.moved(form)
                with np.errstate(all="ignore"):
                    size = 1 / np.maximum(by_axis.sum(1) + rest, 1e-300)
                    moves += np.where((~no & ~yes)[:, None], np.nan_to_num(by_axis * size[:, None]), 0.0)
                    besides += np.where(~no & ~yes, np.nan_to_num(rest * size), 0.0)
        return open_, moves, besides, radius

    def keep(self, rows: Index) -> None:
        """Go on with some of the boxes."""
        self.size = len(rows)
        self._yes = {place: found[rows] for place, found in self._yes.items()}
        self._no = {place: found[rows] for place, found in self._no.items()}

    def fold(self, hoped: bool = False) -> tuple[Bools, Bools]:
        """Where the target certainly holds, and where it certainly does not; (B,) twice.

        hoped: atoms of later steps are taken to be false where that helps to refute it.
        """
        every, none = np.ones(self.size, dtype=bool), np.zeros(self.size, dtype=bool)
        yes, no = dict(self._yes), dict(self._no)
        for place in self.plan.order:
            formula = place[0]
            match formula:
                case Atom():
                    if place not in yes:
                        yes[place], no[place] = none, every if hoped else none
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
                    yes[place], no[place] = yes[below], no[below]
                case _:
                    raise TypeError(type(formula))
        return yes[self.plan.order[-1]], no[self.plan.order[-1]]


def linear(ring: Forms, expr: LinearExpr, state: dict[str, Form]) -> Form:
    """The form of a linear expression over the variables."""
    terms: list[tuple[Fraction, Form]] = [(c, state[name]) for name, c in expr.terms]
    return ring.combine(terms, expr.constant)
