"""Formulas with an open bound, such as ``AG^k safe``: at which bounds they can be read, and what more steps do to them.

The bound is the letter k after ``^`` or in a window, wherever it stands; elsewhere, k is a name like others.
"""

from __future__ import annotations

import re
from typing import Literal

from venmas.errors import FormulaError
from venmas.logic.formula import Finally, Formula, Globally, Iff, Implies, Not, Until, Window
from venmas.logic.parser import parse_property
from venmas.logic.vocabulary import Vocabulary

Course = Literal["rises", "falls", "same", ""]
"""With a greater bound, what holds goes on to hold, or what fails to fail; nothing changes; or neither is known."""

_BOUND = re.compile(r'"[^"\n]*"|\^\s*k(?![A-Za-z0-9_])|\[\s*(?:k|\d+)\s*,\s*(?:k|\d+|\*)\s*\]')
_LETTER = re.compile(r"\bk\b")


def at_bound(text: str, k: int) -> str:
    """The text with the number k for its open bound. Raises `FormulaError` where it has none."""

    def filled(match: re.Match[str]) -> str:
        return match[0] if match[0].startswith('"') else _LETTER.sub(str(k), match[0])

    made = _BOUND.sub(filled, text)
    if made == text:
        raise FormulaError(
            f"{text.strip()[:200]!r} has no open bound to search for: write the letter k where the number of steps "
            "would stand, as in AG^k safe or AF[0,k] (x > 1)"
        )
    return made


def first_bound(text: str, most: int, vocabulary: Vocabulary) -> int:
    """The least bound from 0 to `most` at which the text is a formula, 0 or 1 in most. Raises `FormulaError`."""
    parse_property(at_bound(text, most), vocabulary)  # says what is wrong at any bound
    low = 0
    while low < most:
        try:
            parse_property(at_bound(text, low), vocabulary)
        except FormulaError:
            low += 1
        else:
            break
    return low


def course(text: str, low: int, vocabulary: Vocabulary) -> Course:
    """What a greater bound does to a formula, by the signs of the operators that stand around it.

    ``G`` falls with its last step and rises with its first one, ``F`` and ``U`` the other way round, whatever the
    quantifier: a run of j + 1 steps goes on from one of j steps. ``X`` does neither.
    """
    one, other = (parse_property(at_bound(text, k), vocabulary).formula for k in (low, low + 1))
    known: dict[tuple[Formula, Formula], Course] = {}

    def of(a: Formula, b: Formula) -> Course:
        if a is b:
            return "same"
        if (a, b) not in known:
            known[a, b] = _joined([_own(a, b), *(_turned(a, i, of(*pair)) for i, pair in enumerate(_pairs(a, b)))])
        return known[a, b]

    try:
        return of(one, other)
    except RecursionError:  # nested very deeply: then bounds are asked one by one
        return ""


def _pairs(a: Formula, b: Formula) -> list[tuple[Formula, Formula]]:
    return list(zip(a.children, b.children, strict=False))


def _own(a: Formula, b: Formula) -> Course:
    """What the numbers of a node itself do."""
    if type(a) is not type(b) or len(a.children) != len(b.children):
        return ""
    if not isinstance(a, Window) or not isinstance(b, Window):
        numbers = [[v for v in node._fields() if isinstance(v, int)] for node in (a, b)]
        return "same" if numbers[0] == numbers[1] else ""
    assert isinstance(a, Globally | Finally | Until)
    later: Course = "rises" if isinstance(a, Globally) else "falls"
    longer: Course = "falls" if isinstance(a, Globally) else "rises"
    return _joined(["same" if a.start == b.start else later, "same" if a.end == b.end else longer])


def _turned(node: Formula, position: int, inner: Course) -> Course:
    """The course of an operand, as the node hands it on."""
    if isinstance(node, Iff) and inner != "same":
        return ""
    if isinstance(node, Not) or (isinstance(node, Implies) and position == 0):
        return {"rises": "falls", "falls": "rises"}.get(inner, inner)  # type: ignore[return-value]
    return inner


def _joined(courses: list[Course]) -> Course:
    """The course of parts together."""
    found = set(courses) - {"same"}
    return "same" if not found else found.pop() if len(found) == 1 else ""
