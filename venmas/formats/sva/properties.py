"""Text of an assertion to a formula of LTL over conditions, which are texts in Verilog.

s_eventually p: F p      always p: G p        nexttime p: X p       p s_until q: p U q      p until q: p W q
a |-> p: a -> p          a |=> p: a -> X p    p s_until_with q: q M p                       p until_with q: q R p
a ##2 b |-> p: a & X X b -> X X p: every match of a sequence of bounded length is written out
disable iff (c) p: an attempt that c overtakes holds; c is looked at once a step
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from lark import Token, Tree
from lark.exceptions import UnexpectedInput

from venmas.formats.sva.grammar import PARSER, refused
from venmas.logic.formula import FALSE, TRUE, And, Formula, Iff, Implies, Not, Or, conjunction, disjunction
from venmas.logic.paths import Proposition, R, U, X, finally_, globally, strong_release, weak_until

_MOST = 1000
"""Matches of a sequence, and steps of one."""

_Match = tuple[frozenset[tuple[int, str]], int]
"""Conditions with the steps at which they hold, and the last step."""


class AssertionRefused(Exception):  # noqa: N818
    """Something is not read. at: where in the text."""

    def __init__(self, at: int, message: str) -> None:
        super().__init__(message)
        self.at = at


@dataclass(frozen=True)
class Meaning:
    """Formula that an assertion states. attempt: of each step at which it starts. clock: its edge and name, if any."""

    attempt: Formula
    clock: tuple[str, str] | None
    disabled: str | None


def meaning(text: str) -> Meaning:
    """The meaning of what stands between the brackets of ``assert property``. Raises `AssertionRefused`."""
    if (refusal := refused(text)) is not None:
        raise AssertionRefused(*refusal)
    try:
        parsed = PARSER.parse(text)
    except UnexpectedInput as error:
        at = len(text) if error.pos_in_stream is None or error.pos_in_stream < 0 else error.pos_in_stream
        if isinstance(token := getattr(error, "token", None), Token) and token.type == "$END":
            at = len(text)
        what = re.match(r"\S\w*", text[at:])
        raise AssertionRefused(
            at, f"unexpected {f'`{what[0]}`' if what else 'end'} in a property; docs/hardware.md says what is read"
        ) from None
    reader = _Reader(text)
    *before, body = parsed.children
    for part in before:
        assert isinstance(part, Tree)
        if part.data == "clocking":
            edge, name = part.children if len(part.children) == 2 else ("", part.children[0])
            reader.clock = (str(edge), str(name))
        else:
            reader.disabled = reader.condition(part.children[0])
    return Meaning(reader.formula(body), reader.clock, reader.disabled)


def stated(attempt: Formula, disabled: Formula | None, once: bool) -> Formula:
    """The formula of an assertion that is tried at every step, or once."""
    formula = attempt if disabled is None else _overtaken(attempt, disabled, FALSE)
    return formula if once else globally(formula)


def _overtaken(formula: Formula, accept: Formula, reject: Formula) -> Formula:
    """The formula, true as soon as `accept` comes before it is decided, false with `reject`.

    Logic with resets: Armoni, Bustan, Kupferman, Vardi, TACAS 2003.
    """

    def inner(part: Formula) -> Formula:
        return _overtaken(part, accept, reject)

    match formula:
        case Not(operand):
            return Not(_overtaken(operand, reject, accept))
        case Implies(left, right):
            return Implies(_overtaken(left, reject, accept), inner(right))
        case Iff(left, right):
            return inner(And((Implies(left, right), Implies(right, left))))
        case And(parts) | Or(parts):
            return type(formula)(tuple(map(inner, parts)))
        case X(operand):
            return _joined(X(inner(operand)), accept, reject)
        case U(left, right):
            return U(inner(left), inner(right))
        case R(left, right):
            return R(inner(left), inner(right))
    return _joined(formula, accept, reject)


def _joined(formula: Formula, accept: Formula, reject: Formula) -> Formula:
    return conjunction((disjunction((accept, formula)), TRUE if reject is FALSE else Not(reject)))


@dataclass
class _Reader:
    text: str
    clock: tuple[str, str] | None = None
    disabled: str | None = None

    def formula(self, node: Any) -> Formula:
        match node.data:
            case "follows":
                left, operator, right = node.children
                return self._follows(self._matches(left), self.formula(right), int(operator.type == "DELAYED"))
            case "implies":
                return Implies(self.formula(node.children[0]), self.formula(node.children[2]))
            case "iff":
                return Iff(self.formula(node.children[0]), self.formula(node.children[2]))
            case "until":
                left, word, right = node.children
                return _UNTIL[str(word)](self.formula(left), self.formula(right))
            case "or":
                return Or(tuple(self.formula(part) for part in node.children[::2]))
            case "and":
                return And(tuple(self.formula(part) for part in node.children[::2]))
            case "negated":
                return Not(self.formula(node.children[1]))
            case "next":
                times = int(node.children[1]) if len(node.children) == 3 else 1
                return _later(self.formula(node.children[-1]), times)
            case "low":
                word, operand = node.children
                return (globally if word == "always" else finally_)(self.formula(operand))
            case "choice":
                condition = Proposition(self.condition(node.children[0]))
                parts = [Implies(condition, self.formula(node.children[1]))]
                if len(node.children) == 3:
                    parts.append(Implies(Not(condition), self.formula(node.children[2])))
                return conjunction(parts)
            case "strong":  # sequences here have bounded length, and runs no end
                return self.formula(node.children[1])
            case "condition" if (inner := self._bracketed(node)) is not None:
                return self.formula(inner)
        return disjunction(_word(match) for match in self._matches(node))

    def _follows(self, matches: list[_Match], then: Formula, more: int) -> Formula:
        return conjunction(Implies(_word(match), _later(then, match[1] + more)) for match in matches)

    def _matches(self, node: Any) -> list[_Match]:
        """The matches of a sequence."""
        if node.data == "condition":
            inner = self._bracketed(node)
            if inner is None or inner.data == "condition":
                return [(frozenset({(0, self.condition(node))}), 0)]
            return self._matches(inner)
        if node.data == "repeated":
            operand, times = node.children
            low, high = _window(times)
            if low == 0:
                self._fail(times, f"`{times}` is not read: a sequence of no steps")
            one = self._matches(operand)
            matches, held = [], one
            for count in range(1, high + 1):
                if count > 1:
                    held = self._after(held, one, (1, 1), times)
                matches += held if count >= low else []
            return matches
        if node.data == "sequence":
            matches, gap = [(frozenset(), 0)], (0, 0)
            for at, part in enumerate(node.children):
                if isinstance(part, Token):
                    gap = _window(part)
                else:
                    matches = self._after(matches, self._matches(part), gap if at else (0, 0), part)
            return matches
        self._fail(node, "a sequence of conditions is expected here, joined by ##")

    def _after(self, first: list[_Match], second: list[_Match], gap: tuple[int, int], at: Any) -> list[_Match]:
        if len(first) * len(second) * (gap[1] - gap[0] + 1) > _MOST or gap[1] > _MOST:
            self._fail(at, f"a sequence has more than {_MOST} matches or steps")
        return [
            (one | {(end + wait + step, text) for step, text in two}, end + wait + last)
            for one, end in first
            for two, last in second
            for wait in range(gap[0], gap[1] + 1)
        ]

    def condition(self, node: Any) -> str:
        """The text of a condition. Raises `AssertionRefused` where it holds a property."""
        for part in node.find_pred(lambda one: one.data in _PROPERTIES):
            self._fail(part, "a property stands within a condition: join properties by and, or, not, implies")
        return " ".join(self.text[node.meta.start_pos : node.meta.end_pos].split())

    def _bracketed(self, node: Any) -> Any:
        """Content of the brackets that are all of a condition."""
        while node.data in ("condition", "operand", "primary") and len(node.children) == 1:
            (node,) = node.children
            if isinstance(node, Token):
                return None
        return None if node.data in ("condition", "operand", "primary", "braces", "call") else node

    def _fail(self, node: Any, message: str) -> NoReturn:
        at: int = (node.start_pos or 0) if isinstance(node, Token) else node.meta.start_pos
        raise AssertionRefused(at, message)


_PROPERTIES = frozenset(
    ("follows", "implies", "iff", "until", "or", "and", "negated", "next", "low", "choice", "strong", "sequence")
) | {"repeated"}
_UNTIL: dict[str, Callable[[Formula, Formula], Formula]] = {
    "until": weak_until,
    "s_until": U,
    "until_with": lambda left, right: R(right, left),
    "s_until_with": lambda left, right: strong_release(right, left),
}


def _later(formula: Formula, steps: int) -> Formula:
    for _ in range(steps):
        formula = X(formula)
    return formula


def _word(match: _Match) -> Formula:
    return conjunction(_later(Proposition(text), step) for step, text in sorted(match[0]))


def _window(token: Token) -> tuple[int, int]:
    numbers = [int(number) for number in re.findall(r"\d+", token)]
    return numbers[0], numbers[-1]
