"""Affine successor maps of a system for known integers and outcomes of choices, in rationals.

Integers are constants then, a choice (argmax, comparison) that was settled has its outcome, and what is left must be
affine in the real variables. Nothing is enclosed here: the result is what the expressions are.

Where the integers are known and choices have outcomes, expressions are evaluated without enclosures,
as affine forms of the real variables: an argmax among the choices is its index, a comparison its truth; else a
comparison and what a switch selects must be about constants, and so must the operands of a maximum; all and any are
decided by a part that decides them. For every combination of outcomes of the choices of a kind (at most 256; in the
order of the lists, the last choice changing first; rising outcomes), each branch whose guard is true gives a move: the
new integers, the new real variables as forms, and the set of variables that it updates. Equal moves are one, numbered
in the order in which they are found; those of a combination are a case. What can not be evaluated so is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TypeAlias

from venmas.budget import ask
from venmas.checker.exact.cell import Form, Q, fraction, plus, rational
from venmas.model.expressions.expr import (
    All,
    Any,
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
)
from venmas.model.system.system import System
from venmas.nn import Network

MOST_CASES = 256
"""Combinations of outcomes of the choices of one kind of cell."""
MOST_OUTCOMES = 62

Choice: TypeAlias = ArgMax | Compare


class OpenChoiceError(Exception):
    """The outcome of a choice is needed."""

    def __init__(self, node: Choice) -> None:
        self.node = node
        super().__init__("a choice that matters is not settled")


class NotAffineError(Exception):
    """An expression is not affine where integers and outcomes are known; the message says what it is."""


class Reading:
    """Expressions where integers are known; outcomes: of choices, by identity of the node.

    A value is a form: its constant, then a coefficient for every real variable in the order of declaration.
    """

    def __init__(self, system: System, integers: Sequence[int], outcomes: Mapping[int, int] | None = None) -> None:
        self.outcomes = outcomes or {}
        self.reals = [d.name for d in system.variables.values() if not d.integral]
        names = [d.name for d in system.variables.values() if d.integral]
        self._env = {name: self.constant(value) for name, value in zip(names, integers, strict=True)}
        one = rational(1)
        for i, name in enumerate(self.reals, 1):
            self._env[name] = tuple(one if i == j else one - one for j in range(len(self.reals) + 1))
        self._known: dict[int, Form] = {}

    def constant(self, value: object) -> Form:
        """The form of a number."""
        return (rational(value), *(rational(0),) * len(self.reals))

    def value(self, expr: Expr) -> Form:
        """The form of an expression. Raises `OpenChoiceError`, `NotAffineError`."""
        if id(expr) not in self._known:
            self._known[id(expr)] = self._compute(expr)
        return self._known[id(expr)]

    def _compute(self, expr: Expr) -> Form:
        match expr:
            case Constant(value):
                return self.constant(value)
            case Variable(name, _):
                return self._env[name]
            case Sum(terms, constant):
                total = self.constant(constant)
                for c, part in terms:
                    total = plus(total, self.value(part), rational(c))
                return total
            case ArgMax():
                if id(expr) not in self.outcomes:
                    raise OpenChoiceError(expr)
                return self.constant(self.outcomes[id(expr)])
            case Switch(selector, cases):
                key = self.number(selector)
                for k, case in cases:
                    if k == key:
                        return self.value(case)
                raise NotAffineError("no case of a switch fits")
            case Where(condition, then, otherwise):
                return self.value(then if self.truth(condition) else otherwise)
            case Maximum(operands):
                return self.constant(max(self.number(o) for o in operands))
            case Output():
                raise NotAffineError("an output of a network is used as a number")
        raise TypeError(type(expr))

    def number(self, expr: Expr) -> Q:
        """The value of an expression that is a constant."""
        form = self.value(expr)
        if any(form[1:]):
            raise NotAffineError("what has to be known hangs on real variables")
        return form[0]

    def truth(self, condition: Condition) -> bool:
        """The truth of a condition. Raises `OpenChoiceError`, `NotAffineError`."""
        match condition:
            case Truth(value):
                return value
            case Compare(expr, relation):
                if id(condition) in self.outcomes:
                    return bool(self.outcomes[id(condition)])
                form = self.value(expr)
                if any(form[1:]):
                    raise OpenChoiceError(condition)
                return relation.holds(fraction(form[0]))
            case All(operands) | Any(operands):
                settled, open_ = isinstance(condition, Any), None
                for operand in operands:  # one that settles it may come after one that is open
                    try:
                        if self.truth(operand) is settled:
                            return settled
                    except OpenChoiceError as error:
                        open_ = open_ or error
                if open_ is not None:
                    raise open_
                return not settled
        raise TypeError(type(condition))


@dataclass(frozen=True, eq=False)
class Scores:
    """Operands of an argmax: some outputs of a network on affine inputs, or (without one) the affine forms."""

    network: Network | None
    outputs: tuple[int, ...]
    forms: tuple[Form, ...]


def operands(system: System, integers: Sequence[int], node: Choice) -> Scores | Form:
    """Operands of a choice, compared with each other or with 0, for known integers. Raises `NotAffineError`."""
    reading = Reading(system, integers)
    try:
        if isinstance(node, Compare):
            return reading.value(node.expr)
        if len(node.scores) > MOST_OUTCOMES:
            raise NotAffineError(f"an argmax of more than {MOST_OUTCOMES} scores")
        shared = node.application
        if shared is None:
            return Scores(None, (), tuple(map(reading.value, node.scores)))
        return Scores(shared.network, node.places, tuple(map(reading.value, shared.inputs)))
    except OpenChoiceError as error:
        raise NotAffineError("a choice hangs on another one") from error


@dataclass(frozen=True, eq=False)
class Move:
    """New integers, and new reals as forms; reals, integers that the branch sets: `sets` (in order of declaration)."""

    integers: tuple[int, ...]
    forms: tuple[Form, ...]
    sets: frozenset[str]


@dataclass(frozen=True, eq=False)
class Behaviour:
    """The different moves, and for every combination of outcomes those that are possible in it, by number."""

    moves: tuple[Move, ...]
    cases: tuple[tuple[int, ...], ...]


def behaviour(system: System, integers: Sequence[int], outcomes: Sequence[tuple[Choice, int]]) -> Behaviour:
    """Moves of a system for all combinations of some choices' possible outcomes, given as bits.

    Combinations are in order, the last choice's outcome changing first. Raises `OpenChoiceError`, `NotAffineError`.
    """
    ranges = [[o for o in range(bits.bit_length()) if bits >> o & 1] for _, bits in outcomes]
    count = 1
    for r in ranges:
        count *= len(r)
    if count > MOST_CASES:
        raise NotAffineError(f"more than {MOST_CASES} combinations of outcomes")
    moves: dict[object, Move] = {}
    places: dict[object, int] = {}
    cases = []
    for combination in product(*ranges):
        ask()
        reading = Reading(system, integers, {id(n): o for (n, _), o in zip(outcomes, combination, strict=True)})
        case: dict[int, None] = {}
        for index, branch in enumerate(system.branches):
            if not reading.truth(branch.guard):
                continue
            move = _move(system, reading, index)
            key = move.integers, move.forms, move.sets
            moves.setdefault(key, move)
            case[places.setdefault(key, len(places))] = None
        cases.append(tuple(case))
    return Behaviour(tuple(moves.values()), tuple(cases))


def _move(system: System, reading: Reading, branch: int) -> Move:
    updates = dict(system.branches[branch].updates)
    integers, forms = [], []
    for name, decl in system.variables.items():
        expr = updates.get(name, system[name])
        if decl.integral:
            value = fraction(reading.number(expr))
            if value.denominator != 1:
                raise NotAffineError(f"{name} is not whole")
            integers.append(int(value))
        else:
            forms.append(reading.value(expr))
    return Move(tuple(integers), tuple(forms), frozenset(updates))
