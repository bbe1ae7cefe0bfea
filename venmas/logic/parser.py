"""Text to formula, in two passes: an LALR parse, then a bottom-up pass that knows the vocabulary.

A number is written without parentheses: ``(3)`` is the third variable, as in the paper, so that ``2*(3) < 1/3`` says
that twice the third variable is below one third. Decimals, exponents and quotients are exact.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, NoReturn

from lark import Token
from lark.exceptions import UnexpectedInput, VisitError
from lark.visitors import Transformer_NonRecursive

from venmas.budget import ask
from venmas.errors import FormulaError
from venmas.linear import Comparison, LinearExpr, Relation
from venmas.logic.formula import (
    AX,
    EX,
    FALSE,
    TRUE,
    And,
    Atom,
    Finally,
    Formula,
    Globally,
    Iff,
    Implies,
    Next,
    Not,
    Or,
    Quantifier,
    Until,
)
from venmas.logic.grammar import tree
from venmas.logic.messages import explain
from venmas.logic.nnf import MAX_DEPTH
from venmas.logic.printing import to_short_text
from venmas.logic.property import Place, Property, bounded, classified
from venmas.logic.vocabulary import Vocabulary

MAX_TEXT = 150_000
"""Longest formula text, in characters."""

MAX_BITS = 4096
"""Largest size of a number, numerator and denominator together, also of those met on the way."""

_MAX_EXPONENT = 1000
_WHOLE = re.compile(r"[0-9]+")


def parse(text: str, vocabulary: Vocabulary) -> Formula:
    """The bounded formula that a text states.

    Raises `FormulaError` as `parse_property` does, and for an operator without a bound.
    """
    return bounded(parse_property(text, vocabulary))


def parse_property(text: str, vocabulary: Vocabulary) -> Property:
    """The property that a text states (design S5); a bare Boolean variable ``v`` is ``v == 1``, ``!v`` is ``v == 0``.

    Raises `FormulaError`, with line and column, for text that is no formula, names something unknown, is not linear,
    or looks further ahead than `MAX_DEPTH` steps by its bounds.
    """
    text = "\n".join(text.splitlines())
    if len(text) > MAX_TEXT:
        raise FormulaError(f"the formula has {len(text)} characters, at most {MAX_TEXT} are read: name parts of it")
    if not text.strip():
        raise FormulaError("the formula is empty: write for example AX^5 (h > 100)")
    try:
        builder = _Builder(text, vocabulary)
        formula: Formula = builder.transform(tree(text))
    except UnexpectedInput as error:
        raise explain(error, text) from None
    except VisitError as error:
        raise error.orig_exc from None
    return classified(formula, builder.place())


@dataclass(frozen=True)
class _Number:
    """An arithmetic expression; `literal` when it is nothing but a numeral."""

    expr: LinearExpr
    at: Token
    literal: bool = False


@dataclass(frozen=True)
class _Truth:
    formula: Formula
    at: Token


@dataclass(frozen=True)
class _Bound:
    start: int | None  # None: an exponent, whose first step is up to the operator
    end: int | None  # None: there is no last step
    at: Token


class _Builder(Transformer_NonRecursive[Token, Any]):
    """One method a rule of the grammar; the arguments are tokens and what the methods returned below."""

    def __init__(self, text: str, vocabulary: Vocabulary) -> None:
        super().__init__()
        self._text, self._vocabulary = text, vocabulary
        self._variables = frozenset(vocabulary.variables)
        self._endless: list[Token] = []

    def place(self) -> Place | None:
        """Where the first operator without a bound stands, if there is one."""
        first = min(self._endless, key=lambda token: token.start_pos or 0, default=None)
        return None if first is None else Place(str(first), self._text, first.line or 1, first.column or 1)

    def _fail(self, message: str, at: Token) -> NoReturn:
        raise FormulaError(message, self._text, at.line or 1, at.column or 1)

    # Formulas

    def start(self, args: list[Any]) -> Formula:
        return self._formula(args[0])

    def equivalence(self, args: list[Any]) -> _Truth:
        return _Truth(Iff(self._formula(args[0]), self._formula(args[1])), args[0].at)

    def implication(self, args: list[Any]) -> _Truth:
        return _Truth(Implies(self._formula(args[0]), self._formula(args[1])), args[0].at)

    def disjunction(self, args: list[Any]) -> _Truth:
        return _Truth(Or(tuple(map(self._formula, args))), args[0].at)

    def conjunction(self, args: list[Any]) -> _Truth:
        return _Truth(And(tuple(map(self._formula, args))), args[0].at)

    def negation(self, args: list[Any]) -> _Truth:
        sign, operand = args
        if isinstance(operand, _Number) and (name := self._boolean(operand)):
            return _Truth(Atom(Comparison(LinearExpr.variable(name), Relation.EQ)), sign)
        return _Truth(Not(self._formula(operand)), sign)

    def next(self, args: list[Any]) -> _Truth:
        operator, operand = args
        made = (AX if operator[0] == "A" else EX)(self._formula(operand))
        return _Truth(self._shallow(made, operator), operator)

    def next_power(self, args: list[Any]) -> _Truth:
        operator, bound, operand = args
        made = Next(Quantifier(operator[0]), bound.end, self._formula(operand))
        return _Truth(self._shallow(made, bound.at), operator)

    def globally(self, args: list[Any]) -> _Truth:
        return self._windowed(Globally, *args)

    def finally_(self, args: list[Any]) -> _Truth:
        return self._windowed(Finally, *args)

    def _windowed(self, kind: type[Globally] | type[Finally], operator: Token, *rest: Any) -> _Truth:
        bound, operand = self._bounded(operator, rest)
        start = 1 if bound.start is None else bound.start
        made = kind(Quantifier(operator[0]), start, bound.end, self._formula(operand))
        return _Truth(self._shallow(made, bound.at), operator)

    def until(self, args: list[Any]) -> _Truth:
        quantifier, left, operator, *rest = args
        bound, right = self._bounded(operator, rest)
        made = Until(Quantifier(quantifier), bound.start or 0, bound.end, self._formula(left), self._formula(right))
        return _Truth(self._shallow(made, bound.at), quantifier)

    def _bounded(self, operator: Token, rest: Sequence[Any]) -> tuple[_Bound, Any]:
        """The bound, where there is none from the present on for ever, and the operand after it."""
        bound = rest[0] if len(rest) > 1 else _Bound(0, None, operator)
        if bound.end is None:
            self._endless.append(operator)
        return bound, rest[-1]

    def true(self, args: list[Token]) -> _Truth:
        return _Truth(TRUE, args[0])

    def false(self, args: list[Token]) -> _Truth:
        return _Truth(FALSE, args[0])

    def upto(self, args: list[Token]) -> _Bound:
        end = self._whole(args[0])
        if end == 0:
            self._fail(
                "an exponent counts steps from 1: for the present step write [0,0], or no operator at all", args[0]
            )
        return _Bound(None, end, args[0])

    def window(self, args: list[Token]) -> _Bound:
        start = self._whole(args[0])
        end = None if args[1].type == "TIMES" else self._whole(args[1])
        if end is not None and start > end:
            self._fail(f"the window [{start},{end}] is empty: write [i,j] with i <= j", args[0])
        return _Bound(start, end, args[1])

    def _whole(self, token: Token) -> int:
        if not _WHOLE.fullmatch(token):
            self._fail(f"a bound is a whole number such as 5, got {token}", token)
        if len(token) > 15 or int(token) > MAX_DEPTH:
            self._too_deep(token)
        return int(token)

    def _shallow(self, formula: Formula, at: Token) -> Formula:
        if formula.horizon is not None and formula.horizon > MAX_DEPTH:
            self._too_deep(at)
        return formula

    def _too_deep(self, at: Token) -> NoReturn:
        self._fail(f"here the formula looks more than {MAX_DEPTH} steps ahead: use a smaller bound", at)

    # Atoms

    def comparison(self, args: list[Any]) -> _Truth:
        sides = [self._expr(side, "compared") for side in args[::2]]
        atoms = [
            Atom(self._comparison(left, relation, right))
            for (left, right), relation in zip(pairwise(sides), args[1::2], strict=True)
        ]
        return _Truth(atoms[0] if len(atoms) == 1 else And(tuple(atoms)), args[0].at)

    def _comparison(self, left: LinearExpr, sign: Token, right: LinearExpr) -> Comparison:
        relation = Relation("==" if sign == "=" else sign)
        if right.terms and not left.terms:  # 100 < h reads better as h > 100
            left, relation, right = right, relation.mirrored, left
        return Comparison(self._total([(1, left), (-1, right)], sign), relation)

    def sum(self, args: list[Any]) -> _Number:
        signs = [1, *(1 if sign.type == "PLUS" else -1 for sign in args[1::2])]
        terms = [(sign, self._expr(part, "added")) for sign, part in zip(signs, args[::2], strict=True)]
        return _Number(self._total(terms, args[0].at), args[0].at)

    def _total(self, terms: list[tuple[int, LinearExpr]], at: Token) -> LinearExpr:
        coefficients: dict[str, Fraction] = {}
        constant = Fraction(0)
        for sign, expr in terms:
            constant = self._small(constant + sign * expr.constant, at)
            for name, coefficient in expr.terms:
                coefficients[name] = self._small(coefficients.get(name, Fraction(0)) + sign * coefficient, at)
        return LinearExpr.of(coefficients, constant)

    def product(self, args: list[Any]) -> _Number:
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
        return _Number(result, args[0].at)

    def negative(self, args: list[Any]) -> _Number:
        return _Number(-self._expr(args[1], "negated"), args[0])

    def positive(self, args: list[Any]) -> _Number:
        return _Number(self._expr(args[1], "given a sign"), args[0])

    def number(self, args: list[Token]) -> _Number:
        ask()
        token = args[0]
        mantissa, _, exponent = token.lower().partition("e")
        if len(mantissa) > MAX_BITS // 4 or len(exponent) > 9 or abs(int(exponent or 0)) > _MAX_EXPONENT:
            self._too_large(token)
        return _Number(LinearExpr(constant=self._small(Fraction(str(token)), token)), token, literal=True)

    def name(self, args: list[Token]) -> _Number | _Truth:
        ask()
        token = args[0]
        name, known = token.strip('"'), self._vocabulary
        if name in self._variables:
            return _Number(LinearExpr.variable(name), token)
        if name in known.constants:
            return _Number(LinearExpr(constant=known.constants[name]), token)
        if name in known.propositions:
            return _Truth(known.propositions[name], token)
        self._fail(known.unknown(name), token)

    def group(self, args: list[Any]) -> Any:
        inner = args[0]
        if not isinstance(inner, _Number) or not inner.literal:
            return inner
        if not _WHOLE.fullmatch(inner.at):
            return _Number(inner.expr, inner.at)
        names = self._vocabulary.variables
        position = int(inner.expr.constant)
        if not 1 <= position <= len(names):
            self._fail(
                f"({inner.at}) names a variable by position, and there are positions 1 to {len(names)}: "
                f"write the number {inner.at} without parentheses",
                inner.at,
            )
        return _Number(LinearExpr.variable(names[position - 1]), inner.at)

    # Conversions

    def _formula(self, value: _Number | _Truth) -> Formula:
        if isinstance(value, _Truth):
            return self._shallow(value.formula, value.at)
        if name := self._boolean(value):
            return Atom(Comparison(LinearExpr(((name, Fraction(1)),), Fraction(-1)), Relation.EQ))
        self._fail(
            f"{value.expr} is a number and a formula is needed here: compare it, as in {value.expr} > 0", value.at
        )

    def _expr(self, value: _Number | _Truth, done: str) -> LinearExpr:
        if isinstance(value, _Number):
            return value.expr
        named = self._vocabulary.propositions.get(value.at.strip('"')) is value.formula
        shown = value.at if named else to_short_text(value.formula)
        self._fail(
            f"only numbers can be {done}, and this is a formula: {shown}; formulas are joined by & | -> <->", value.at
        )

    def _boolean(self, value: _Number) -> str | None:
        """The name, if the expression is one Boolean variable."""
        name = value.expr.terms[0][0] if value.expr.terms else None
        return name if name in self._vocabulary.booleans and value.expr == LinearExpr.variable(name) else None

    def _small(self, number: Fraction, at: Token) -> Fraction:
        if number.numerator.bit_length() + number.denominator.bit_length() > MAX_BITS:
            self._too_large(at)
        return number

    def _too_large(self, at: Token) -> NoReturn:
        self._fail(f"a number here needs more than {MAX_BITS} bits: round it", at)
