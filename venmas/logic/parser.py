"""Text to formula, in two passes: an LALR parse, then a bottom-up pass that knows the vocabulary.

A number is written without parentheses: ``(3)`` is the third variable, as in the paper, so that ``2*(3) < 1/3`` says
that twice the third variable is below one third. Decimals, exponents and quotients are exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from lark import Token
from lark.exceptions import UnexpectedInput, VisitError

from venmas.logic.formula import AX, EX, Finally, Formula, Globally, Next, Quantifier, Until
from venmas.logic.grammar import tree
from venmas.logic.messages import explain
from venmas.logic.nnf import MAX_DEPTH
from venmas.logic.property import Branching, Place, bounded, classified
from venmas.logic.terms import WHOLE, FormulaBuilder, Truth, readable
from venmas.logic.vocabulary import Vocabulary


def parse(text: str, vocabulary: Vocabulary) -> Formula:
    """The bounded formula that a text states.

    Raises `FormulaError` as `parse_property` does, and for an operator without a bound.
    """
    return bounded(parse_property(text, vocabulary))


def parse_property(text: str, vocabulary: Vocabulary) -> Branching:
    """The property that a text states (design S5); a bare Boolean variable ``v`` is ``v == 1``, ``!v`` is ``v == 0``.

    Raises `FormulaError`, with line and column, for text that is no formula, names something unknown, is not linear,
    or looks further ahead than `MAX_DEPTH` steps by its bounds.
    """
    text = readable(text, "AX^5 (h > 100)")
    try:
        builder = _Builder(text, vocabulary)
        formula: Formula = builder.transform(tree(text))
    except UnexpectedInput as error:
        raise explain(error, text) from None
    except VisitError as error:
        raise error.orig_exc from None
    return classified(formula, builder.place())


@dataclass(frozen=True)
class _Bound:
    start: int | None  # None: an exponent, whose first step is up to the operator
    end: int | None  # None: there is no last step
    at: Token


class _Builder(FormulaBuilder):
    """One method a rule of the grammar; the arguments are tokens and what the methods returned below."""

    def __init__(self, text: str, vocabulary: Vocabulary) -> None:
        super().__init__(text, vocabulary)
        self._endless: list[Token] = []

    def place(self) -> Place | None:
        """Where the first operator without a bound stands, if there is one."""
        first = min(self._endless, key=lambda token: token.start_pos or 0, default=None)
        return None if first is None else Place(str(first), self._text, first.line or 1, first.column or 1)

    # Temporal operators

    def next(self, args: list[Any]) -> Truth:
        operator, operand = args
        made = (AX if operator[0] == "A" else EX)(self._formula(operand))
        return Truth(self._checked(made, operator), operator)

    def next_power(self, args: list[Any]) -> Truth:
        operator, bound, operand = args
        made = Next(Quantifier(operator[0]), bound.end, self._formula(operand))
        return Truth(self._checked(made, bound.at), operator)

    def globally(self, args: list[Any]) -> Truth:
        return self._windowed(Globally, *args)

    def finally_(self, args: list[Any]) -> Truth:
        return self._windowed(Finally, *args)

    def _windowed(self, kind: type[Globally] | type[Finally], operator: Token, *rest: Any) -> Truth:
        bound, operand = self._bounded(operator, rest)
        start = 1 if bound.start is None else bound.start
        made = kind(Quantifier(operator[0]), start, bound.end, self._formula(operand))
        return Truth(self._checked(made, bound.at), operator)

    def until(self, args: list[Any]) -> Truth:
        quantifier, left, operator, *rest = args
        bound, right = self._bounded(operator, rest)
        made = Until(Quantifier(quantifier), bound.start or 0, bound.end, self._formula(left), self._formula(right))
        return Truth(self._checked(made, bound.at), quantifier)

    def _bounded(self, operator: Token, rest: Sequence[Any]) -> tuple[_Bound, Any]:
        """The bound, where there is none from the present on for ever, and the operand after it."""
        bound = rest[0] if len(rest) > 1 else _Bound(0, None, operator)
        if bound.end is None:
            self._endless.append(operator)
        return bound, rest[-1]

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
        if not WHOLE.fullmatch(token):
            self._fail(f"a bound is a whole number such as 5, got {token}", token)
        if len(token) > 15 or int(token) > MAX_DEPTH:
            self._too_deep(token)
        return int(token)

    def _checked(self, formula: Formula, at: Token) -> Formula:
        if formula.horizon is not None and formula.horizon > MAX_DEPTH:
            self._too_deep(at)
        return formula

    def _too_deep(self, at: Token) -> NoReturn:
        self._fail(f"here the formula looks more than {MAX_DEPTH} steps ahead: use a smaller bound", at)
