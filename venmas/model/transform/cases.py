"""Case distinction: what a system does once its integers are known, and which choices that then hangs on.

A *location* is a value for every integer variable. Partial evaluation (`venmas.model.expressions.simplify`) leaves
branches as expressions over the real variables, whose open *choices* are argmaxes, comparisons and maxima. A *case*
fixes the choices that matter, and what is left is mostly an affine map of the state. Choices are fixed one after the
other along a decision tree (`Decision`), which is built as far as somebody asks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from venmas.budget import ask
from venmas.errors import VenmasError
from venmas.logic.linear import LinearExpr
from venmas.model.expressions.expr import ArgMax, Compare, Condition, Constant, Expr, Maximum, Sum, Truth, to_linear
from venmas.model.expressions.simplify import STAYS, OpenError, Simplifier
from venmas.model.expressions.walk import walk
from venmas.model.system.system import System

Choice: TypeAlias = "ArgMax | Maximum | Sign"
"""An open decision; outcomes are the index of the winner (argmax, maximum), or 0, 1, 2 for negative, zero, positive."""

MAX_CASES = 256
"""Cases of one region above which it is cut before they are looked at."""


class UnsuitableError(VenmasError):
    """A system whose cases cannot be told apart, or computed with, in floats; another procedure must take it."""


@dataclass(frozen=True, eq=False)
class Sign:
    """The sign of `expr`, on which comparisons hang; each with True where its own side is a negative multiple of it."""

    expr: Expr
    comparisons: list[tuple[Compare, bool]]

    def truths(self, outcome: int) -> tuple[int, ...]:
        """Truth of the comparisons when the sign is outcome - 1."""
        return tuple(
            int(c.relation.holds(Fraction(1 - outcome if mirrored else outcome - 1)))
            for c, mirrored in self.comparisons
        )


def operands(choice: Choice) -> tuple[Expr, ...]:
    """What a choice compares: with zero, or with each other."""
    match choice:
        case Sign(expr, _):
            return (expr,)
        case ArgMax(scores):
            return scores
        case Maximum(parts):
            return parts


@dataclass(frozen=True, eq=False)
class Move:
    """What some branches, which answer alike, do in a case: the new integers, and the reals as expressions.

    `affine` holds the new reals where all of them are affine in the old ones.
    """

    branches: tuple[int, ...]
    integers: tuple[int, ...]
    reals: tuple[Expr, ...]
    affine: tuple[LinearExpr, ...] | None


@dataclass(frozen=True, eq=False)
class Case:
    """The moves of one way to fix the choices; none at all is a deadlock."""

    moves: tuple[Move, ...]


@dataclass(frozen=True, eq=False)
class Asked:
    """The choice that is open next, by its index too; operands: what it compares, where those come first."""

    index: int
    choice: Choice
    operands: tuple[Expr, ...]


class Decision:
    """A node of a decision tree over the choices of a location: the case that was reached, or the choice asked next.

    operands_first: no choice is asked before those that its operands hang on, and each is asked with its operands, in
    which nothing is open. Otherwise the first that a case needs is asked, and an open maximum may stay an expression.
    """

    def __init__(self, operands_first: bool = False, fixed: Mapping[int, int] | None = None) -> None:
        self.operands_first, self.fixed = operands_first, fixed or {}
        self._found: Case | Asked | None = None
        self._after: dict[object, Decision] = {}

    def reached(self, location: Location) -> Case | Asked:
        """The case that follows from what is fixed, or what is to be fixed next. Raises `UnsuitableError`."""
        if self._found is None:
            self._found = self._look(location)
        return self._found

    def _look(self, location: Location) -> Case | Asked:
        try:
            return location.case(self.fixed)
        except OpenError as error:
            node = error.node
        simplifier = Simplifier({}, self.fixed, not location.single)
        while True:
            index = location.position[id(node)]
            choice = location.choices[index]
            if not self.operands_first:
                return Asked(index, choice, ())
            try:
                return Asked(index, choice, tuple(map(simplifier.expr, operands(choice))))
            except OpenError as error:
                node = error.node

    def after(self, choice: Choice, outcomes: Iterable[int]) -> list[Decision]:
        """The nodes that follow some outcomes of the choice; one for all signs that its comparisons do not tell."""
        if isinstance(choice, Sign):
            nodes = [id(c) for c, _ in choice.comparisons]
            signs = dict.fromkeys(map(choice.truths, outcomes))
            return [self._next(truths, zip(nodes, truths, strict=True)) for truths in signs]
        return [self._next(outcome, [(id(choice), outcome)]) for outcome in outcomes]

    def _next(self, outcome: object, fixed: Iterable[tuple[int, int]]) -> Decision:
        if outcome not in self._after:
            self._after[outcome] = Decision(self.operands_first, {**self.fixed, **dict(fixed)})
        return self._after[outcome]


class Location:
    """The system with its integers at `values`; `single`: networks in any float32 evaluation."""

    def __init__(self, system: System, values: tuple[int, ...], single: bool = False) -> None:
        self.system, self.values, self.single = system, values, single
        decls = system.variables.values()
        self.integers = [d.name for d in decls if d.integral]
        self.reals = [d.name for d in decls if not d.integral]
        known = {n: Fraction(v) for n, v in zip(self.integers, values, strict=True)}
        simplifier = Simplifier(known, folds=not single)
        self.branches: list[tuple[Condition, dict[str, Expr]]] = []
        for branch in system.branches:
            updates = {d.name: simplifier.expr(system[d.name]) for d in decls}
            updates.update({name: simplifier.expr(e) for name, e in branch.updates})
            self.branches.append((simplifier.condition(branch.guard), updates))
        self.choices = self._choices()
        self._tree = Decision()
        self._cases: dict[tuple[int, ...], tuple[Case, ...] | None] = {}

    def _choices(self) -> tuple[Choice, ...]:
        found: list[Choice] = []
        signs: dict[object, Sign] = {}
        self.position: dict[int, int] = {}
        roots: list[Expr | Condition] = [guard for guard, _ in self.branches]
        roots += [e for _, updates in self.branches for e in updates.values()]
        for node in walk(roots):
            if isinstance(node, ArgMax | Maximum):
                found.append(node)
            elif isinstance(node, Compare):
                key, mirrored = _direction(node.expr)
                if key not in signs:
                    signs[key] = Sign(-node.expr if mirrored else node.expr, [])
                    found.append(signs[key])
                signs[key].comparisons.append((node, mirrored))
        for i, choice in enumerate(found):
            self.position |= {id(c): i for c, _ in choice.comparisons} if isinstance(choice, Sign) else {id(choice): i}
        return tuple(found)

    def cases(self, signature: tuple[int, ...]) -> tuple[Case, ...] | None:
        """The cases for a set of possible outcomes (as bits) of every choice; one, when nothing that matters is open.

        A maximum that is open stays an expression. None beyond `MAX_CASES`.
        """
        if signature not in self._cases:
            self._cases[signature] = self._enumerate(signature)
        return self._cases[signature]

    def _enumerate(self, signature: tuple[int, ...]) -> tuple[Case, ...] | None:
        found: list[Case] = []
        waiting = [self._tree]
        while waiting:
            ask()
            if len(found) + len(waiting) > MAX_CASES:
                return None
            node = waiting.pop()
            reached = node.reached(self)
            if isinstance(reached, Case):
                found.append(reached)
                continue
            bits = signature[reached.index]
            outcomes = [i for i in range(bits.bit_length()) if bits >> i & 1]
            if len(outcomes) > 1 and isinstance(reached.choice, Maximum):
                outcomes = [STAYS]
            waiting += node.after(reached.choice, outcomes)
        return tuple(found)

    def case(self, fixed: Mapping[int, int]) -> Case:
        """The case of some choices, by the ids of their nodes; raises `OpenError` where one that matters is missing."""
        simplifier = Simplifier({}, fixed, not self.single)
        moves: dict[object, Move] = {}
        for index, (guard, updates) in enumerate(self.branches):
            test = simplifier.condition(guard)
            assert isinstance(test, Truth)
            if not test.value:
                continue
            integers = []
            for name in self.integers:
                value = simplifier.expr(updates[name])
                if not isinstance(value, Constant):
                    raise UnsuitableError(f"the new value of integer {name!r} is not decided by choices")
                integers.append(int(value.value))
            reals = tuple(simplifier.expr(updates[name]) for name in self.reals)
            affine = [to_linear(e) for e in reals]
            exact = tuple(a for a in affine if a is not None)
            move = Move((index,), tuple(integers), reals, exact if len(exact) == len(reals) else None)
            key = (move.integers, move.affine if move.affine is not None else index)
            if key in moves:
                move = Move((*moves[key].branches, index), move.integers, move.reals, move.affine)
            moves[key] = move
        return Case(tuple(moves.values()))


def _direction(expr: Expr) -> tuple[object, bool]:
    """What positive multiples of an expression have in common, and whether the expression is a negative one of it."""
    terms, constant = (expr.terms, expr.constant) if isinstance(expr, Sum) else (((Fraction(1), expr),), Fraction(0))
    ordered = sorted(terms, key=lambda t: id(t[1]))
    lead = ordered[0][0]
    return (tuple((c / lead, id(e)) for c, e in ordered), constant / lead), lead < 0
