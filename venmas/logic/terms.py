"""Comparisons and arithmetic, from the tree of a text: what bounded and linear-time formulas have in common."""

# ruff: noqa: D102 - methods are called as the rules of the grammar are

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, NoReturn

from lark import Token
from lark.visitors import Transformer_NonRecursive

from venmas.budget import ask
from venmas.errors import FormulaError
from venmas.linear import Comparison, LinearExpr, Relation
from venmas.logic.formula import FALSE, TRUE, And, Atom, Formula, Iff, Implies, Not, Or
from venmas.logic.printing import to_short_text
from venmas.logic.vocabulary import Vocabulary

MAX_TEXT = 150_000
"""Longest formula text, in characters."""

MAX_BITS = 4096
"""Largest size of a number, numerator and denominator together, also of those met on the way."""

_MAX_EXPONENT = 1000
WHOLE = re.compile(r"[0-9]+")


def readable(text: str, example: str) -> str:
    """The text with its lines as the parser counts them. Raises `FormulaError` where it is empty or too long."""
    if not isinstance(text, str):
        raise FormulaError(f"a formula is text such as {example}; got a {type(text).__name__}")
    text = "\n".join(text.splitlines())
    if len(text) > MAX_TEXT:
        raise FormulaError(f"the formula has {len(text)} characters, at most {MAX_TEXT} are read: name parts of it")
    if not text.strip():
        raise FormulaError(f"the formula is empty: write for example {example}")
    return text


@dataclass(frozen=True)
class Number:
    """An arithmetic expression; `literal` when it is nothing but a numeral."""

    expr: LinearExpr
    at: Token
    literal: bool = False


@dataclass(frozen=True)
class Truth:
    """A formula; `at` where it begins, for messages."""

    formula: Formula
    at: Token


class FormulaBuilder(Transformer_NonRecursive[Token, Any]):
    """One method a rule that both grammars have; the arguments are tokens and what the methods returned below."""

    def __init__(self, text: str, vocabulary: Vocabulary) -> None:
        super().__init__()
        self._text, self._vocabulary = text, vocabulary
        self._variables = frozenset(vocabulary.variables)

    def _fail(self, message: str, at: Token) -> NoReturn:
        raise FormulaError(message, self._text, at.line or 1, at.column or 1)

    # Formulas

    def start(self, args: list[Any]) -> Formula:
        return self._formula(args[0])

    def equivalence(self, args: list[Any]) -> Truth:
        return Truth(Iff(self._formula(args[0]), self._formula(args[1])), args[0].at)

    def implication(self, args: list[Any]) -> Truth:
        return Truth(Implies(self._formula(args[0]), self._formula(args[1])), args[0].at)

    def disjunction(self, args: list[Any]) -> Truth:
        return Truth(Or(tuple(map(self._formula, args))), args[0].at)

    def conjunction(self, args: list[Any]) -> Truth:
        return Truth(And(tuple(map(self._formula, args))), args[0].at)

    def negation(self, args: list[Any]) -> Truth:
        sign, operand = args
        if isinstance(operand, Number) and (name := self._boolean(operand)):
            return Truth(self._flag(name, False), sign)
        return Truth(Not(self._formula(operand)), sign)

    def true(self, args: list[Token]) -> Truth:
        return Truth(TRUE, args[0])

    def false(self, args: list[Token]) -> Truth:
        return Truth(FALSE, args[0])

    # Atoms

    def comparison(self, args: list[Any]) -> Truth:
        sides = [self._expr(side, "compared") for side in args[::2]]
        atoms = [
            self._atom(self._comparison(left, relation, right))
            for (left, right), relation in zip(pairwise(sides), args[1::2], strict=True)
        ]
        return Truth(atoms[0] if len(atoms) == 1 else And(tuple(atoms)), args[0].at)

    def _comparison(self, left: LinearExpr, sign: Token, right: LinearExpr) -> Comparison:
        relation = Relation("==" if sign == "=" else sign)
        if right.terms and not left.terms:  # 100 < h reads better as h > 100
            left, relation, right = right, relation.mirrored, left
        return Comparison(self._total([(1, left), (-1, right)], sign), relation)

    def sum(self, args: list[Any]) -> Number:
        signs = [1, *(1 if sign.type == "PLUS" else -1 for sign in args[1::2])]
        terms = [(sign, self._expr(part, "added")) for sign, part in zip(signs, args[::2], strict=True)]
        return Number(self._total(terms, args[0].at), args[0].at)

    def _total(self, terms: list[tuple[int, LinearExpr]], at: Token) -> LinearExpr:
        coefficients: dict[str, Fraction] = {}
        constant = Fraction(0)
        for sign, expr in terms:
            constant = self._small(constant + sign * expr.constant, at)
            for name, coefficient in expr.terms:
                coefficients[name] = self._small(coefficients.get(name, Fraction(0)) + sign * coefficient, at)
        return LinearExpr.of(coefficients, constant)

    def product(self, args: list[Any]) -> Number:
        result = self._expr(args[0], "multiplied")
        for sign, part in zip(args[1::2], args[2::2], strict=True):
            factor = self._expr(part, "multiplied")
            if sign.type == "DIVIDE":
                if factor.terms:
                    self._fail(f"not linear: only division by a number is possible, not by {factor}", sign)
                if not factor.constant:
                    self._fail("division by zero", sign)
                factor = LinearExpr(constant=1 / factor.constant)
            if result.terms and factor.terms:
                self._fail(f"not linear: one factor of a product must be a number, got ({result}) * ({factor})", sign)
            if factor.terms:
                result, factor = factor, result
            result = result.scaled(factor.constant)
            for number in (result.constant, *(coefficient for _, coefficient in result.terms)):
                self._small(number, sign)
        return Number(result, args[0].at)

    def negative(self, args: list[Any]) -> Number:
        return Number(-self._expr(args[1], "negated"), args[0])

    def positive(self, args: list[Any]) -> Number:
        return Number(self._expr(args[1], "given a sign"), args[0])

    def number(self, args: list[Token]) -> Number:
        ask()
        token = args[0]
        mantissa, _, exponent = token.lower().partition("e")
        if len(mantissa) > MAX_BITS // 4 or len(exponent) > 9 or abs(int(exponent or 0)) > _MAX_EXPONENT:
            self._too_large(token)
        return Number(LinearExpr(constant=self._small(Fraction(str(token)), token)), token, literal=True)

    def name(self, args: list[Token]) -> Number | Truth:
        ask()
        token = args[0]
        name, known = token.strip('"'), self._vocabulary
        if name in self._variables:
            return Number(LinearExpr.variable(name), token)
        if name in known.constants:
            return Number(LinearExpr(constant=known.constants[name]), token)
        if name in known.propositions:
            return Truth(known.propositions[name], token)
        self._fail(known.unknown(name), token)

    def group(self, args: list[Any]) -> Any:
        inner = args[0]
        if not isinstance(inner, Number) or not inner.literal:
            return inner
        if not WHOLE.fullmatch(inner.at):
            return Number(inner.expr, inner.at)
        names = self._vocabulary.variables
        position = int(inner.expr.constant)
        if not 1 <= position <= len(names):
            self._fail(
                f"({inner.at}) names a variable by position, and there are positions 1 to {len(names)}: "
                f"write the number {inner.at} without parentheses",
                inner.at,
            )
        return Number(LinearExpr.variable(names[position - 1]), inner.at)

    # What the two logics do differently

    def _flag(self, name: str, holds: bool) -> Formula:
        """The formula that a Boolean variable is true, or false."""
        return Atom(Comparison(LinearExpr(((name, Fraction(1)),), Fraction(-holds)), Relation.EQ))

    def _atom(self, comparison: Comparison) -> Formula:
        return Atom(comparison)

    def _checked(self, formula: Formula, at: Token) -> Formula:
        return formula

    # Conversions

    def _formula(self, value: Number | Truth) -> Formula:
        if isinstance(value, Truth):
            return self._checked(value.formula, value.at)
        if name := self._boolean(value):
            return self._flag(name, True)
        self._fail(
            f"{value.expr} is a number and a formula is needed here: compare it, as in {value.expr} > 0", value.at
        )

    def _expr(self, value: Number | Truth, done: str) -> LinearExpr:
        if isinstance(value, Number):
            return value.expr
        named = self._vocabulary.propositions.get(value.at.strip('"')) is value.formula
        shown = value.at if named else to_short_text(value.formula)
        self._fail(
            f"only numbers can be {done}, and this is a formula: {shown}; formulas are joined by & | -> <->", value.at
        )

    def _boolean(self, value: Number) -> str | None:
        """The name, if the expression is one Boolean variable."""
        name = value.expr.terms[0][0] if value.expr.terms else None
        return name if name in self._vocabulary.booleans and value.expr == LinearExpr.variable(name) else None

    def _small(self, number: Fraction, at: Token) -> Fraction:
        if number.numerator.bit_length() + number.denominator.bit_length() > MAX_BITS:
            self._too_large(at)
        return number

    def _too_large(self, at: Token) -> NoReturn:
        self._fail(f"a number here needs more than {MAX_BITS} bits: round it", at)
