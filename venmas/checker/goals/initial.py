"""First goals: the claim about one initial set of the system.

The cell over all variables has the declared ranges, those of integers rounded inward (nothing, when one is empty). It
is cut by each comparison `e r 0` of the set in order: for > >= == by e (strict for >), then for < <= == by -e (strict
for <). `!=` cuts nothing. If nothing is left, the set has no goal. Variables whose box is one point are then fixed, and
put into the rows; a row that becomes constant and does not hold means that there is no goal (constant rows that hold
stay). The obligations are, for every `!=` in order, that this atom holds after the empty path, and then that the target
does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from venmas.checker.exact.cell import Cell, Form, Row, Rows, rational
from venmas.checker.exact.initial import cut_by, declared_cell
from venmas.checker.goals.goals import Goal
from venmas.checker.goals.paths import Holds, World
from venmas.logic import Atom, Formula
from venmas.logic.linear import Relation
from venmas.model.system.system import System
from venmas.model.system.variables import Region
from venmas.nn.network import Semantics

T = TypeVar("T")


def first_goal(system: System, region: Region, target: Formula, semantics: Semantics = "real") -> Goal | None:
    """The claim for one initial region: none of its states meets `target`. None when the declared box excludes it.

    The cell starts from the declared ranges and is cut by every comparison of the region; those over several
    variables become rows, ``!=`` becomes an obligation. Variables whose range is one point are put in.
    """
    whole = cut_by(declared_cell(system), region)
    if whole is None:
        return None
    names = whole.names
    free = [i for i, (a, b) in enumerate(zip(whole.low, whole.high, strict=True)) if a != b]
    rows = Rows(Row(_project(r.form, free, whole), r.strict) for r in whole.rows)
    if any(not any(r.form[1:]) and (r.form[0] < 0 or (r.strict and r.form[0] == 0)) for r in rows):
        return None

    def pick(values: Sequence[T]) -> tuple[T, ...]:
        return tuple(values[i] for i in free)

    cell = Cell(pick(names), pick(whole.low), pick(whole.high), pick(whole.integral), rows)
    zero, one = rational(0), rational(1)
    start = {
        name: (zero if i in free else whole.low[i], *(one if i == j else zero for j in free))
        for i, name in enumerate(names)
    }
    unequal = (Holds((), Atom(c)) for c in region if c.relation is Relation.NE)
    return Goal(World(system, cell, start, semantics), (*unequal, Holds((), target)))


def _project(form: Form, free: Sequence[int], cell: Cell) -> Form:
    """A form over the free variables alone, the others at their values."""
    constant = form[0] + sum((form[1 + i] * cell.low[i] for i in range(len(cell.names)) if i not in free), rational(0))
    return (constant, *(form[1 + i] for i in free))
