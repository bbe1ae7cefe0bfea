"""Text of formulas. What is printed parses back to the same formula."""

from __future__ import annotations

import re
from collections.abc import Iterator

from venmas.budget import ask
from venmas.logic.core import Buchi, CoBuchi, Fixpoint
from venmas.logic.formula import (
    AX,
    EX,
    And,
    Atom,
    Bottom,
    Finally,
    Formula,
    Globally,
    Iff,
    Implies,
    Next,
    Not,
    Or,
    Top,
    Until,
)
from venmas.logic.linear import Comparison, LinearExpr
from venmas.logic.paths import Proposition, R, U, X

RESERVED = frozenset(("true", "false", "not", "and", "or", "AX", "EX", "AG", "EG", "AF", "EF"))
"""Words that are never names by themselves; a variable so called is written in double quotes."""

NAME_PATTERN = r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*(?:\[[0-9]+(?:,[0-9]+)*\])*"
"""Names that need no quotes: words, joined by dots, with indices as in ``cell[3]``."""

_PLAIN = re.compile(NAME_PATTERN)
_SHORT = 200
_PATH = re.compile(r"[XFG]+")  # operators of LTL
_IFF, _IMPLIES, _OR, _AND, _UNTIL, _UNARY, _PRIMARY = range(7)


def quoted(name: str) -> str:
    """The name as a formula writes it: in double quotes where it would read as something else."""
    plain = _PLAIN.fullmatch(name) and name not in RESERVED and not _PATH.fullmatch(name)
    return name if plain else f'"{name}"'


def to_text(formula: Formula) -> str:
    """The whole formula. An unrolled formula shares its parts, its text does not: it may be very much longer."""
    return "".join(_pieces(formula))


def to_short_text(formula: Formula, most: int = _SHORT) -> str:
    """The beginning of the text, `most` characters of it, for messages and debugging."""
    text = ""
    for piece in _pieces(formula):
        text += piece
        if len(text) > most:
            return text[:most] + "..."
    return text


def comparison_text(comparison: Comparison) -> str:
    """The comparison with its names quoted where needed."""
    expr = comparison.expr
    shown = LinearExpr(tuple((quoted(name), c) for name, c in expr.terms), expr.constant)
    return str(Comparison(shown, comparison.relation))


def _pieces(formula: Formula) -> Iterator[str]:
    stack: list[str | tuple[Formula, int]] = [(formula, _IFF)]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            yield item
            continue
        ask()
        node, required = item
        level, parts = _layout(node)
        if level < required:
            parts = ["(", *parts, ")"]
        stack.extend(reversed(parts))


def _layout(node: Formula) -> tuple[int, list[str | tuple[Formula, int]]]:
    """How tightly the node binds, and its text, in which operands carry how tightly they have to bind."""
    match node:
        case Top():
            return _PRIMARY, ["true"]
        case Bottom():
            return _PRIMARY, ["false"]
        case Atom(comparison):
            # Below an operator with one operand it is put in parentheses for the reader, not for the parser.
            return _AND, [comparison_text(comparison)]
        case Not(operand):
            return _UNARY, ["!", (operand, _UNARY)]
        case AX(operand):
            return _UNARY, ["AX ", (operand, _UNARY)]
        case EX(operand):
            return _UNARY, ["EX ", (operand, _UNARY)]
        case Next(quantifier, k, operand):
            return _UNARY, [f"{quantifier.value}X^{k} ", (operand, _UNARY)]
        case Globally(quantifier, start, end, operand):
            return _UNARY, [f"{quantifier.value}G{_window(start, end, 1)} ", (operand, _UNARY)]
        case Finally(quantifier, start, end, operand):
            return _UNARY, [f"{quantifier.value}F{_window(start, end, 1)} ", (operand, _UNARY)]
        case Until(quantifier, start, end, left, right):
            between = f" U{_window(start, end, 0)} "
            return _PRIMARY, [f"{quantifier.value}(", (left, _IFF), between, (right, _IFF), ")"]
        case Fixpoint(least, quantifier, left, right):  # for messages: nothing parses it
            between = " U " if least else " R "
            return _PRIMARY, [f"{quantifier.value}(", (left, _IFF), between, (right, _IFF), ")"]
        case CoBuchi(operand) | Buchi(operand):
            return _UNARY, ["A F G " if isinstance(node, CoBuchi) else "E G F ", (operand, _UNARY)]
        case Proposition(name):
            return _PRIMARY, [quoted(name)]
        case X(operand):
            return _UNARY, ["X ", (operand, _UNARY)]
        case U(Top(), operand):
            return _UNARY, ["F ", (operand, _UNARY)]
        case R(Bottom(), operand):
            return _UNARY, ["G ", (operand, _UNARY)]
        case U(left, right) | R(left, right):
            return _UNTIL, [(left, _UNARY), f" {type(node).__name__} ", (right, _UNTIL)]
        case And(operands):
            return _AND, _separated(operands, " & ", _AND)
        case Or(operands):
            return _OR, _separated(operands, " | ", _OR)
        case Implies(left, right):
            return _IMPLIES, [(left, _OR), " -> ", (right, _IMPLIES)]
        case Iff(left, right):
            return _IFF, [(left, _IFF), " <-> ", (right, _IMPLIES)]
        case _:
            raise TypeError(f"{type(node).__name__} is no node of a formula")


def _window(start: int, end: int | None, implied: int) -> str:
    """``^k`` where the first step is the one that an exponent implies and k >= 1, else ``[i,j]``.

    Without end nothing, which begins at the present, or ``[i,*]``.
    """
    if end is None:
        return f"[{start},*]" if start else ""
    return f"^{end}" if start == implied and end >= 1 else f"[{start},{end}]"


def _separated(operands: tuple[Formula, ...], separator: str, level: int) -> list[str | tuple[Formula, int]]:
    parts: list[str | tuple[Formula, int]] = []
    for operand in operands:
        # An operand of the same kind keeps its parentheses, so that it stays one operand.
        below = level if isinstance(operand, Atom) else level + 1
        parts += [separator, (operand, below)]
    return parts[1:]


Formula._printed = staticmethod(lambda formula, short: to_short_text(formula) if short else to_text(formula))
