"""Goals of a proof, and the goals that remain of one after a step (docs/certificates.md).

A goal says: no initial state in this cell meets all these obligations and facts. Its steps are `expand` (what the first
obligation means, one step further), `split` (the cell in two along a hyperplane), `case` and `keep`; its rows are what
weights may exclude. Nothing here searches, and nothing trusts whoever chose the step.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any as Any_

from venmas.checker.exact.cell import Form, Row, negative
from venmas.checker.goals.paths import Holds, Obligation, Path, Requires, Unless, World
from venmas.logic import AX, EX, And, Atom, Bottom, Or, Top
from venmas.logic.linear import Relation
from venmas.model.expressions.expr import All, Any, ArgMax, Compare, Condition, Expr, Truth


@dataclass(frozen=True, eq=False)
class Fact:
    """``expr relation 0`` after the path (never !=); open on the cell where it was noted.

    after: rows of the facts before it.
    """

    path: Path
    expr: Expr
    relation: Relation
    after: int = 0

    @property
    def rows(self) -> int:
        """Number of its rows."""
        return 2 if self.relation is Relation.EQ else 1


@dataclass(frozen=True, eq=False)
class Goal:
    """No initial state in the cell of `world` meets all of `todo` and `facts`."""

    world: World
    todo: tuple[Obligation, ...]
    facts: tuple[Fact, ...] = ()

    def rows(self) -> list[Row]:
        """Rows that hold wherever cell and facts do: those of the cell, then one or two a fact."""
        return list(self.rows_when_named())

    def rows_when_named(self) -> Sequence[Row]:
        """The same, each row computed when it is asked for."""
        return _GoalRows(self)

    def split(self, form: Form) -> list[Goal]:
        """The goal on the sides ``form >= 0`` and ``form < 0`` of its cell; a side outside the box is left out.

        Exact states on the path of the first obligation stay what they are: a network is not evaluated again.
        """
        cell, world = self.world.cell, self.world
        path = self.todo[0].path if self.todo else ()
        sides = [cell.cut(form), cell.cut(negative(form), strict=True)]
        return [replace(self, world=world.within(s, path)) for s in sides if s is not None]

    def case(self, node: ArgMax | Compare) -> list[Goal]:
        """The goal for every outcome of a choice that is possible in the state of its first obligation."""
        path = self.todo[0].path
        state = self.world.state(path)
        if isinstance(node, ArgMax):
            outcomes = state.winners(node)
        else:
            truth = state.truth(node)
            outcomes = [1, 0] if truth is None else [int(truth)]
        return [replace(self, world=self.world.assuming(path, node, o)) for o in outcomes]

    def keep(self, at: int) -> Goal:
        """The goal with one of its obligations only: what does not meet this one does not meet all."""
        return replace(self, todo=(self.todo[at],))

    def expand(self) -> list[Goal]:
        """Goals that remain when the first obligation is spelled out; none when the cell excludes it."""
        head, rest = self.todo[0], self.todo[1:]
        last = self.facts[-1] if self.facts else None
        after = last.after + last.rows if last else 0
        return [
            Goal(self.world, (*new, *rest), (*self.facts, *(replace(f, after=after) for f in facts)))
            for new, facts in self._ways(head)
        ]

    def _ways(self, head: Obligation) -> Iterator[tuple[Sequence[Obligation], Sequence[Fact]]]:
        state, branches = self.world.state(head.path), self.world.system.branches
        match head:
            case Requires(path, condition):
                yield from self._condition(path, condition)
            case Unless(path, branch, operand):
                guard = branches[branch].guard
                if state.truth(guard) is not True:
                    yield [Requires(path, ~guard)], []
                if state.truth(guard) is not False:
                    yield [Holds((*path, branch), operand)], []
            case Holds(_, Top()):
                yield [], []
            case Holds(_, Bottom()):
                return
            case Holds(path, Atom(comparison)):
                yield from self._compare(path, self.world.atom(comparison), comparison.relation)
            case Holds(path, And() as conjunction):
                yield self.world.parts(path, conjunction), []
            case Holds(path, Or(operands)):
                for o in operands:
                    yield [Holds(path, o)], []
            case Holds(path, EX(operand)):
                for i, branch_ in enumerate(branches):
                    if state.truth(branch_.guard) is not False:
                        yield [Requires(path, branch_.guard), Holds((*path, i), operand)], []
            case Holds(path, AX(operand)):
                yield [Unless(path, i, operand) for i in range(len(branches))], []
            case _:
                raise TypeError(f"not an obligation over core formulas: {head}")

    def _condition(self, path: Path, condition: Condition) -> Iterator[tuple[Sequence[Obligation], Sequence[Fact]]]:
        truth = self.world.state(path).truth(condition)
        match condition:
            case _ if truth is not None:
                if truth:
                    yield [], []
            case Compare(expr, relation):
                yield from self._compare(path, expr, relation)
            case All(operands):
                yield [Requires(path, c) for c in operands], []
            case Any(operands):
                for c in operands:
                    yield [Requires(path, c)], []
            case Truth(value):
                if value:
                    yield [], []
            case _:
                raise TypeError(type(condition))

    def _compare(
        self, path: Path, expr: Expr, relation: Relation
    ) -> Iterator[tuple[Sequence[Obligation], Sequence[Fact]]]:
        state = self.world.state(path)
        truth = state.compare(state.value(expr), relation)
        if truth:
            yield [], []
        elif truth is None and relation is Relation.NE:
            yield [], [Fact(path, expr, Relation.LT)]
            yield [], [Fact(path, expr, Relation.GT)]
        elif truth is None:
            yield [], [Fact(path, expr, relation)]


class _GoalRows(Sequence[Row]):
    """Rows of a goal: those of its cell, then of each fact one or two."""

    def __init__(self, goal: Goal) -> None:
        self.goal, self.cell_rows, self.facts = goal, goal.world.cell.rows, goal.facts

    def __len__(self) -> int:
        return len(self.cell_rows) + (self.facts[-1].after + self.facts[-1].rows if self.facts else 0)

    def __getitem__(self, place: Any_) -> Any_:
        if place < len(self.cell_rows):
            return self.cell_rows[place]
        among = place - len(self.cell_rows)
        at = bisect_right(self.facts, among, key=lambda fact: fact.after) - 1
        if at < 0 or among >= self.facts[at].after + self.facts[at].rows:
            raise IndexError(place)
        fact = self.facts[at]
        q = self.goal.world.state(fact.path).value(fact.expr)
        if among == fact.after and fact.relation in (Relation.GT, Relation.GE, Relation.EQ):
            return Row(q.upp, fact.relation.strict)
        return Row(negative(q.low), fact.relation.strict)
