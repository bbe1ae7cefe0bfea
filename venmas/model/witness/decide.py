"""Deciding a core formula (Top, Bottom, Atom, And, Or, EX, AX) at a point, lazily and without recursion.

The same search runs over three structures: the exact system (`explain`), and a stored tree of runs re-computed exactly
and in floats (`replay`). It returns the margin: how far inside the satisfied side the atoms lie that show the formula,
the least over conjunctions and universal steps. None means that the formula does not hold; a margin of 0 is possible
for non-strict atoms, and infinity when no atom was needed.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from fractions import Fraction
from math import inf
from typing import Generic, Protocol, TypeAlias, TypeVar

from venmas.budget import ask
from venmas.logic import AX, EX, And, Atom, Bottom, Formula, Or, Top
from venmas.logic.linear import Relation

Margin: TypeAlias = Fraction | float
"""A Fraction in exact structures, a float in those of floats, `inf` where no atom is involved."""

Key = TypeVar("Key")


class Trail:
    """The branches taken so far, last one first, their number, and a `mark` of the structure's own.

    Trails share their beginnings.
    """

    __slots__ = ("before", "branch", "depth", "mark")

    def __init__(self, before: Trail | None, branch: int) -> None:
        self.before, self.branch = before, branch
        self.depth: int = 0 if before is None else before.depth + 1
        self.mark: object = None


class Structure(Protocol[Key]):
    """What a formula is decided in; a key names a state (and possibly a place in a tree)."""

    def value(self, atom: Atom, key: Key) -> Margin:
        """The left side of the atom's comparison with 0."""
        ...

    def some(self, key: Key, trail: Trail, formula: Formula) -> Iterable[tuple[int, Key]]:
        """Successors (branch index, key) in which EX wants the formula, the most promising first."""
        ...

    def every(self, key: Key, trail: Trail, formula: Formula) -> Iterable[tuple[int, Key]] | None:
        """All successors, in which AX wants the formula; None when not all are known, or it is known to fail in one."""
        ...


_Asked: TypeAlias = tuple[Formula, Key, Trail]
_Work: TypeAlias = Generator[_Asked[Key], Margin | None, Margin | None]


class Decider(Generic[Key]):
    """Answers with their reasons, memoised by formula and key, so that shared states cost once."""

    def __init__(self, structure: Structure[Key]) -> None:
        self.structure = structure
        self.margins: dict[tuple[Formula, Key], Margin | None] = {}
        self.chosen: dict[tuple[Formula, Key], tuple[Formula, ...]] = {}
        """The operands of And and Or that show it."""
        self.followed: dict[tuple[Formula, Key], tuple[tuple[int, Key], ...]] = {}
        """The steps of EX and AX that show it."""
        self._ordered: dict[Formula, list[Formula]] = {}

    def decide(self, formula: Formula, key: Key) -> Margin | None:
        """Decide the formula at a state; the reasons are left in `chosen` and `followed`."""
        first: _Asked[Key] = (formula, key, Trail(None, -1))
        stack = [(first, self._work(*first))]
        answer: Margin | None = None
        while stack:
            ask()
            question, work = stack[-1]
            try:
                asked = work.send(answer)
            except StopIteration as done:
                answer = self.margins[question[:2]] = done.value
                stack.pop()
                continue
            if asked[:2] in self.margins:
                answer = self.margins[asked[:2]]
            else:
                stack.append((asked, self._work(*asked)))
                answer = None
        return answer

    def _order(self, formula: Formula, operands: tuple[Formula, ...]) -> list[Formula]:
        if formula not in self._ordered:
            self._ordered[formula] = sorted(operands, key=_depth)
        return self._ordered[formula]

    def _work(self, formula: Formula, key: Key, trail: Trail) -> _Work[Key]:
        """Yields the questions it needs answered, and returns the margin."""
        match formula:
            case Top():
                return inf
            case Bottom():
                return None
            case Atom():
                return self._atom(formula, key)
            case And(operands):
                least: Margin = inf
                for operand in self._order(formula, operands):  # what speaks of the present is refuted fastest
                    margin = self._atom(operand, key) if type(operand) is Atom else (yield operand, key, trail)
                    if margin is None:
                        return None
                    least = min(least, margin)
                self.chosen[formula, key] = operands
                return least
            case Or(operands):
                best: Margin | None = None
                for operand in self._order(formula, operands):
                    if best is not None and operand.depth > 0:
                        break
                    margin = self._atom(operand, key) if type(operand) is Atom else (yield operand, key, trail)
                    if margin is not None and (best is None or margin > best):
                        best, self.chosen[formula, key] = margin, (operand,)
                return best
            case EX(operand):
                for index, successor in self.structure.some(key, trail, operand):
                    margin = yield operand, successor, Trail(trail, index)
                    if margin is not None:
                        self.followed[formula, key] = ((index, successor),)
                        return margin
                return None
            case AX(operand):
                steps = self.structure.every(key, trail, operand)
                if steps is None:
                    return None
                least, taken = inf, []
                for index, successor in steps:
                    margin = yield operand, successor, Trail(trail, index)
                    if margin is None:
                        return None
                    least = min(least, margin)
                    taken.append((index, successor))
                self.followed[formula, key] = tuple(taken)
                return least
        raise TypeError(f"{type(formula).__name__} is no core formula: pass it through nnf() first")

    def _atom(self, atom: Atom, key: Key) -> Margin | None:
        """The margin of an atom: what most questions are about, so that it is looked up without a generator."""
        if (atom, key) not in self.margins:
            value = self.structure.value(atom, key)
            self.margins[atom, key] = comparison_margin(atom.comparison.relation, value)
        return self.margins[atom, key]


def _depth(formula: Formula) -> int:
    return formula.depth


def comparison_margin(relation: Relation, value: Margin) -> Margin | None:
    """The distance of a value to the side where a comparison with 0 fails, or None on that side."""
    size: Margin = -value if value < 0 else value
    match relation:
        case Relation.LT:
            return -value if value < 0 else None
        case Relation.LE:
            return -value if value <= 0 else None
        case Relation.GT:
            return value if value > 0 else None
        case Relation.GE:
            return value if value >= 0 else None
        case Relation.EQ:
            return size if value == 0 else None
        case Relation.NE:
            return size if value != 0 else None
