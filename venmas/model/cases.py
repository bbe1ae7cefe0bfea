"""Partial evaluation: what a system is once its integers are known, and which choices its behaviour then hangs on.

A *location* is a value for every integer variable. In a location, branches are expressions over the real variables
whose open *choices* are argmaxes, comparisons and maxima; a *case* fixes the choices that matter, and what is left is
mostly an affine map of the state.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from venmas.budget import ask
from venmas.errors import VenmasError
from venmas.linear import LinearExpr
from venmas.model.expr import (
    All,
    Any,
    Application,
    ArgMax,
    Compare,
    Condition,
    Constant,
    Expr,
    Maximum,
    Output,
    Sum,
    Switch,
    Truth,
    Variable,
    Where,
    add,
    children,
    compare,
    conjunction,
    disjunction,
    scale,
    to_linear,
)
from venmas.model.functions import maximum
from venmas.model.system import System

Choice: TypeAlias = "ArgMax | Maximum | Sign"
"""An open decision; outcomes are the index of the winner (argmax, maximum), or 0, 1, 2 for negative, zero, positive."""

_STAYS = -1
"""Outcome of a maximum that is left as an expression."""

MAX_CASES = 256
"""Cases of one region above which it is cut before they are looked at."""


class UnsuitableError(VenmasError):
    """The region graph cannot treat this system; another procedure must."""


class OpenError(Exception):
    """Simplification met a choice that is not fixed."""

    def __init__(self, node: ArgMax | Compare | Maximum) -> None:
        self.node = node


class Simplifier:
    """Rewrites expressions for known values of variables and fixed choices; shared nodes stay shared.

    folds: networks of known inputs become numbers, those of the real function.
    """

    def __init__(
        self, values: Mapping[str, Fraction], fixed: Mapping[int, int] | None = None, folds: bool = True
    ) -> None:
        self.values, self.fixed, self.folds = values, fixed, folds
        self._exprs: dict[int, Expr] = {}
        self._conditions: dict[int, Condition] = {}
        self._applications: dict[int, Application] = {}
        self._kept: list[object] = []

    def expr(self, node: Expr) -> Expr:
        """The rewritten expression; `OpenError` where choices are to be fixed and one that is needed is not."""
        key = id(node)
        if key not in self._exprs:
            self._kept.append(node)
            self._exprs[key] = self._rewrite(node)
        return self._exprs[key]

    def _rewrite(self, node: Expr) -> Expr:
        ask()
        match node:
            case Variable(name, _) if name in self.values:
                return Constant(self.values[name])
            case Constant() | Variable():
                return node
            case Sum(terms, constant):
                total: Expr = Constant(constant)
                for factor, part in terms:
                    total = add(total, scale(self.expr(part), factor))
                return total
            case Output(application, index):
                return self._output(application, index)
            case Maximum(operands):
                winner = self._chosen(node)
                if winner is None:
                    self._open(node)
                if winner is None or winner == _STAYS:
                    return maximum(*map(self.expr, operands))
                return self.expr(operands[winner])
            case ArgMax(scores):
                winner = self._chosen(node)
                if winner is not None:
                    return Constant(Fraction(winner))
                new = tuple(map(self.expr, scores))
                numbers = [s.value for s in new if isinstance(s, Constant)]
                if len(numbers) == len(new):
                    return Constant(Fraction(numbers.index(max(numbers))))
                self._open(node)
                return node if all(a is b for a, b in zip(new, scores, strict=True)) else ArgMax(new)
            case Switch(selector, cases):
                chosen = self.expr(selector)
                if isinstance(chosen, Constant):
                    return self.expr(next((e for k, e in cases if k == chosen.value), cases[0][1]))
                return Switch(chosen, tuple((k, self.expr(e)) for k, e in cases))
            case Where(condition, then, otherwise):
                test = self.condition(condition)
                if isinstance(test, Truth):
                    return self.expr(then if test.value else otherwise)
                return Where(test, self.expr(then), self.expr(otherwise))
        raise TypeError(type(node))

    def _chosen(self, node: ArgMax | Compare | Maximum) -> int | None:
        return None if self.fixed is None else self.fixed.get(id(node))

    def _open(self, node: ArgMax | Compare | Maximum) -> None:
        if self.fixed is not None:
            raise OpenError(node)

    def _output(self, application: Application, index: int) -> Expr:
        key = id(application)
        if key not in self._applications:
            self._kept.append(application)
            inputs = tuple(map(self.expr, application.inputs))
            same = all(a is b for a, b in zip(inputs, application.inputs, strict=True))
            self._applications[key] = application if same else Application(application.network, inputs)
        new = self._applications[key]
        point = [i.value for i in new.inputs if isinstance(i, Constant)]
        if self.folds and len(point) == len(new.inputs):
            return Constant(new.network.evaluate_exact(point)[index])
        return Output(new, index)

    def condition(self, node: Condition) -> Condition:
        """The rewritten condition; with fixed choices a `Truth`, or `OpenError` where an open choice decides."""
        key = id(node)
        if key not in self._conditions:
            self._kept.append(node)
            self._conditions[key] = self._judge(node)
        return self._conditions[key]

    def _judge(self, node: Condition) -> Condition:
        match node:
            case Compare(expr, relation):
                outcome = self._chosen(node)
                if outcome is not None:
                    return Truth(bool(outcome))
                new = compare(self.expr(expr), relation, 0)
                if isinstance(new, Compare):
                    self._open(node)
                    return node if new.expr is expr else new
                return new
            case All(operands) | Any(operands):
                settles = isinstance(node, Any)
                parts: list[Condition] = []
                waiting: OpenError | None = None
                for operand in operands:
                    try:
                        part = self.condition(operand)
                    except OpenError as error:
                        waiting = error
                        continue
                    if isinstance(part, Truth) and part.value is settles:
                        return part
                    parts.append(part)
                if waiting is not None:
                    raise waiting
                return disjunction(parts) if settles else conjunction(parts)
        return node


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


class _Node:
    """A node of the decision tree of a location: the choice that is asked next, or the case that was reached."""

    def __init__(self) -> None:
        self.choice: int | None = None
        self.case: Case | None = None
        self.children: dict[object, _Node] = {}


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
        self._tree = _Node()
        self._cases: dict[tuple[int, ...], tuple[Case, ...] | None] = {}

    def _choices(self) -> tuple[Choice, ...]:
        found: list[Choice] = []
        signs: dict[object, Sign] = {}
        self.position: dict[int, int] = {}
        seen: set[int] = set()
        stack: list[Expr | Condition] = [guard for guard, _ in self.branches]
        stack += [e for _, updates in self.branches for e in updates.values()]
        while stack:
            node = stack.pop()
            if id(node) in seen:
                continue
            seen.add(id(node))
            ask()
            stack.extend(children(node))
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
        waiting: list[tuple[_Node, dict[int, int]]] = [(self._tree, {})]
        while waiting:
            ask()
            if len(found) + len(waiting) > MAX_CASES:
                return None
            node, fixed = waiting.pop()
            if node.case is None and node.choice is None:
                try:
                    node.case = self.case(fixed)
                except OpenError as error:
                    node.choice = self.position[id(error.node)]
            if node.case is not None:
                found.append(node.case)
                continue
            assert node.choice is not None
            bits, choice = signature[node.choice], self.choices[node.choice]
            outcomes = [i for i in range(bits.bit_length()) if bits >> i & 1]
            if isinstance(choice, Sign):
                for truths in dict.fromkeys(choice.truths(o) for o in outcomes):
                    known = {id(c): t for (c, _), t in zip(choice.comparisons, truths, strict=True)}
                    waiting.append((node.children.setdefault(truths, _Node()), {**fixed, **known}))
                continue
            if len(outcomes) > 1 and isinstance(choice, Maximum):
                outcomes = [_STAYS]
            for outcome in outcomes:
                waiting.append((node.children.setdefault(outcome, _Node()), {**fixed, id(choice): outcome}))
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
