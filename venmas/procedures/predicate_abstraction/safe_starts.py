"""Which starts are safe where some are not: abstract starts from which a path is real are left out, one after another.

    starts := abstract states of the first predicates that hold an initial state
    refine as ever, from the starts that are left
    a path is real: the abstract start of its first state is unsafe, and is left out
    the graph is closed: all starts that are left are safe

So a verdict is split, as by Vinzent, Steinmetz, Hoffmann (ICAPS 2022, section 9.3).
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from venmas.bounds.rounding import Ints
from venmas.logic import Atom, Formula, Not, conjunction, disjunction, nnf
from venmas.logic.linear import Comparison, LinearExpr, Relation
from venmas.model.witness.tree import Witness
from venmas.procedures.predicate_abstraction.graph.box_exits import OUTSIDE
from venmas.procedures.predicate_abstraction.refinement.figures import StartCounts
from venmas.procedures.predicate_abstraction.states.cells import Cells, States, keys
from venmas.procedures.predicate_abstraction.states.conditions import states_of

if TYPE_CHECKING:
    from venmas.procedures.predicate_abstraction.cegar import Cegar


class SafeStarts:
    """Leaves out starts of a refinement that has not begun. first: the witness of the first of them."""

    def __init__(self, cegar: Cegar) -> None:
        task = cegar.task
        self._cells = Cells(task.low, task.high, cegar.predicates, task.exact.tolist())
        self.counts = StartCounts(len(states_of(cegar.starts, self._cells, task.points)[0]))
        self.first: Witness | None = None

    def leave_out(self, cegar: Cegar, start: Ints, witness: Witness) -> bool:
        """Leave out the abstract start of an initial state (n,), whose witness this is; False where none is left."""
        self.first = self.first or witness
        state = self._cells.of(start[None])
        condition = self._condition(state[0], cegar.task.names)
        self.counts.unsafe.append(str(condition))
        points = cegar.task.points
        if points is not None:
            (key,) = keys(state)
            points = points[[other != key for other in keys(self._cells.of(points))]]
        cegar.start_from(conjunction([cegar.task.starts, nnf(Not(condition))]), points)
        self.counts.closed = not self.counts.left
        return not self.counts.closed

    def _condition(self, state: States, names: tuple[str, ...]) -> Formula:
        """What holds in the states of an abstract one, as far as predicates tell."""
        cells, parts = self._cells, list[Formula]()
        low, high = (ends[0].tolist() for ends in cells.box(state[None]))
        for v in cells.cut.tolist():
            if names[v] != OUTSIDE:
                value = LinearExpr.variable(names[v])
                if low[v] > cells.low[v]:
                    parts.append(Atom(Comparison(value - LinearExpr((), low[v]), Relation.GE)))
                if high[v] < cells.high[v]:
                    parts.append(Atom(Comparison(value - LinearExpr((), high[v]), Relation.LE)))
        for p, holds in zip(cells.relational, state[cells.width :].tolist(), strict=True):
            expr = LinearExpr.of({names[v]: Fraction(c) for v, c in p.terms}, -p.bound)
            parts.append(Atom(Comparison(expr, Relation.GE if holds else Relation.LT)))
        return conjunction(parts) if parts else disjunction([conjunction([])])
