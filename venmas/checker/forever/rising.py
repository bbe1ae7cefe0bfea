"""The rule of rising values: what all runs come to, as a value rises in each step before, and is bounded.

    remembering(S, V)    the states of S, beside `before`, which no step changes and which is V of them
    S, V |- f            every state of `remembering(S, V)` satisfies f, which speaks of `before`

    rises    S, V |- AX (c | (S & V >= g before + d));  S |- V <= M & V > 0                  S |- A(true U c)

with g = 1 and d > 0, or g > 1 and d >= 0; V is linear, M a number, and V > 0 is left out where g is 1. A run from S
that does not come to c stays in S while it goes on, and V after k steps is at least V + k d, or g^k V, of the first
state: at last more than M. So each run comes to c, or ends; after how many steps depends on the first state where g is
more than 1, as no window tells (x' = 2x from x > 0). (Ranking functions: Floyd 1967; d is a constant, as a value may
rise for ever by less and less.) `tests/checker/test_forever_rising.py` tries the rule on random graphs.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from fractions import Fraction

from venmas.checker.forever.rules import By, Derived, Name, until
from venmas.checker.forever.sequents import Scope, Sequent
from venmas.checker.format.fields import Number
from venmas.checker.format.numbers import read_number
from venmas.checker.format.rule import rule
from venmas.errors import FormulaError
from venmas.logic import AX, TRUE, Atom, Formula, conjunction, disjunction
from venmas.logic.linear import Comparison, LinearExpr, Relation
from venmas.model.system.memo import Memo
from venmas.model.system.system import System

BEFORE = "before"


@rule("rises")
@dataclass(frozen=True, slots=True)
class Rises(Derived):
    """A value rises in each step from a set until a formula holds, and is bounded there.

    value: what rises, as the left side of `>= 0`. It becomes at least `factor` times itself, and `step` more.
    """

    by: By
    start: Name
    value: str
    factor: Number
    step: Number
    most: Number
    holds: str

    def needs(self, scope: Scope) -> list[Sequent]:  # noqa: D102
        value, states = valued(scope, self.value), scope.states(self.start)
        factor, step, most = (read_number(0, text) for text in (self.factor, self.step, self.most))
        if factor < 1 or step < 0 or (factor == 1 and not step):
            raise FormulaError("a value that rises becomes more by a number, or by a factor that is more than 1")
        more = rising(states, value, factor, step, scope.read(self.holds))
        return [
            replace(Sequent.of(self.start, more), before=str(value)),
            Sequent.of(self.start, bounded(value, factor, most)),
        ]

    @property
    def said(self) -> str:
        """The rise in words."""
        value = self.value.removesuffix(" >= 0")
        if self.factor == "1":
            return f"{value} rises by {self.step} at least in each step before"
        return f"{value} becomes {self.factor} times as much at least in each step before"

    def shows(self, scope: Scope) -> Sequent:  # noqa: D102
        return Sequent.of(self.start, until("A", None, TRUE, scope.read(self.holds)))


def valued(scope: Scope, text: str) -> LinearExpr:
    """The value of which a comparison says that it is at least 0. Raises `FormulaError`."""
    read = scope.read(text)
    if isinstance(read, Atom):
        if read.comparison.relation is Relation.GE:
            return read.comparison.expr
        if read.comparison.relation is Relation.LE:
            return -read.comparison.expr
    raise FormulaError(f"a value that rises is written as a comparison, value >= 0: {text}"[:300])


def rising(states: Formula, value: LinearExpr, factor: Fraction, step: Fraction, holds: Formula) -> Formula:
    """``AX (holds | (states & value >= factor * before + step))``."""
    more = value - LinearExpr.variable(BEFORE).scaled(factor) - LinearExpr((), step)
    return AX(disjunction([holds, conjunction([states, Atom(Comparison(more, Relation.GE))])]))


def bounded(value: LinearExpr, factor: Fraction, most: Fraction) -> Formula:
    """``value <= most``, and ``value > 0`` where it is to become a multiple."""
    least = [Atom(Comparison(value, Relation.GT))] if factor > 1 else []
    return conjunction([Atom(Comparison(value - LinearExpr((), most), Relation.LE)), *least])


def remembering(system: System, states: Formula, value: LinearExpr) -> System:
    """The states of a set, beside `before`, which is the value of each.

    Raises `FormulaError` where that name is taken.
    """
    if BEFORE in system.vocabulary.names or BEFORE in system.vocabulary.others:
        raise FormulaError(f"a name of the system is {BEFORE!r}, which values that rise use")
    made = copy(system)
    made._memo = Memo()
    made.__dict__.pop("domains", None)
    made.variables = dict(system.variables)
    made.nodes_by_name = dict(system.nodes_by_name)
    low, high = value.range_over(system.box)
    made.real(BEFORE, low, high)
    same = Atom(Comparison(value - LinearExpr.variable(BEFORE), Relation.EQ))
    return made.starting(conjunction([states, same]))
