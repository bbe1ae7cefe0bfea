"""Syntax errors in words: what was found, what could stand there, and what to write."""

from __future__ import annotations

import re

from lark.exceptions import UnexpectedCharacters, UnexpectedEOF, UnexpectedInput, UnexpectedToken
from lark.lexer import Token

from venmas.errors import FormulaError

_ARITHMETIC = ("PLUS", "MINUS", "TIMES", "DIVIDE")
_WORDS = (
    (("NUMBER",), "a whole number"),
    (("CIRCUMFLEX", "LSQB"), "a bound, `^5` or `[0,5]`"),
    (("COMMA",), "`,`"),
    (("RSQB",), "`]`"),
    (("RELATION",), "a comparison (`<` `<=` `>` `>=` `==` `!=`)"),
    (_ARITHMETIC, "`+` `-` `*` `/`"),
    (("_AND", "_OR"), "`&` `|` `->` `<->`"),
    (("UNTIL",), "`U`"),
    (("RPAR",), "`)`"),
    (("$END",), "the end of the formula"),
)
NO_BRANCHING = "is an operator of branching time (CTL), and LTL speaks of all runs: write X F G U R W M without A and E"
_OTHERS = {
    "s_eventually": "F",
    "eventually": "F",
    "always": "G",
    "nexttime": "X",
    "s_until": "U",
    "until": "W",
    "implies": "->",
}
"""Words of SystemVerilog assertions and what LTL writes."""
_CHANCE = re.compile(
    r"""(?<![\w"\]])(P|S|R(\{[^}]*\})?)(max|min)?(=\?|\s*([<>]=?|=)\s*(\?|[0-9.eE+-]+))\s*(max|min)?\s*(=\?)?\s*\["""
)
"""Probabilities and rewards of PRISM and Storm: ``P=? [F p]``, ``Pmax>=0.9 [..]``, ``R{"cost"}min=? [..]``."""
_NO_CHANCE = (
    "probabilities and rewards are not decided: VenMAS says what can happen, whatever its chance. Ask AG p or AF p for "
    "what happens in every run (for P>=1 [..] it is enough), EF^k p for what can happen (P>0 [..]); for a number use a "
    "probabilistic model checker such as Storm or PRISM"
)
_TEMPORAL = ("NEXT", "ALWAYS", "SOMETIMES", "UNTIL")
_NAMED = ("NAME", "NUMBER", "QUOTED", "TRUE", "FALSE", "LPAR")
_OPENERS = ("PATH", "NOT", "NEXT", "ALWAYS", "SOMETIMES", "QUANTIFIER", *_NAMED)


def explain(error: UnexpectedInput, text: str, linear: bool = False) -> FormulaError:
    """The error of the parser generator as a `FormulaError` at the same place. linear: the text was to be LTL."""
    if (chance := _CHANCE.search(text)) is not None:
        before = text[: chance.start()].split("\n")
        return FormulaError(f"`{chance[1]}`: {_NO_CHANCE}", text, len(before), len(before[-1]) + 1)
    if isinstance(error, UnexpectedToken) and error.token.type != "$END":
        problem = f"unexpected `{_shortened(error.token)}`"
        return FormulaError(
            f"{problem}: {_advice(error, linear)}", text, error.token.line or 1, error.token.column or 1
        )
    if isinstance(error, UnexpectedCharacters):
        problem = f"unexpected character {error.char!r}"
        advice = "a name with such characters, if it is one, is written in double quotes"
        if linear and error.char in "^[":
            advice = "operators of LTL speak of all steps to come and take no bound"
        if error.char == '"':
            problem, advice = 'a `"` without its partner', 'a quoted name ends with `"` on the same line'
        return FormulaError(f"{problem}: {advice}", text, error.line, error.column)
    assert isinstance(error, UnexpectedToken | UnexpectedEOF)
    advice = _advice(error, linear) if isinstance(error, UnexpectedToken) else "expected more"
    lines = text.split("\n")
    return FormulaError(f"the formula ends too early: {advice}", text, len(lines), len(lines[-1]) + 1)


def _advice(error: UnexpectedToken, linear: bool) -> str:
    state = error.interactive_parser.parser_state
    *_, operator, before = (None, None, *(t if isinstance(t, Token) else None for t in state.value_stack[-2:]))
    accepted: set[str] = error.interactive_parser.accepts()  # type: ignore[no-untyped-call]
    if linear and (advice := _linear_hint(before, error.token)):
        return advice
    if before is not None and before.type == "NUMBER" and operator is not None and operator.type in _TEMPORAL:
        return f"the bound of {operator} is written with ^ or as a window: {operator}^{before} or AG[0,5]"
    return _hint(before, error.token, accepted) or f"expected {_expected(accepted)}"


def _linear_hint(before: Token | None, found: Token) -> str:
    """The same for LTL."""
    kind = before.type if before is not None else ""
    for word in (str(before), str(found)):
        if word in _OTHERS:
            return f"{word} is not read, LTL writes {_OTHERS[word]}"
        if word in ("Y", "O", "H", "S", "T", "Z") and "NAME" in (kind, found.type) and found.type in ("PATH", *_NAMED):
            return f"operators of the past such as {word} are not read: write what follows what, with X F G U R W M"
    if re.fullmatch("[AE][XFG]", before or "") or (before in ("A", "E") and found == "("):
        return f"{before} {NO_BRANCHING}"
    if kind in ("PATH", "UNTIL") and found.type == "LSQB":
        return f"{before} speaks of all steps to come and takes no bound"
    if kind == "PATH" and found.type in ("RELATION", *_ARITHMETIC):
        return f'{before} is an operator: a signal of this name is written "{before}"'
    return f"{before} is followed by a formula" if kind == "UNTIL" else ""


def _hint(before: Token | None, found: Token, accepted: set[str]) -> str:
    """What to write instead, for the mistakes that people make."""
    kind = before.type if before is not None else ""
    if kind in ("ALWAYS", "SOMETIMES") and found.type != "$END":
        return (
            f"{before} is followed by a bound and a formula: "
            f"write {before}^5 p (steps 1 to 5) or {before}[0,5] p (the present to step 5)"
        )
    if kind == "UNTIL":
        return "U is followed by a bound and a formula: write p U^5 q or p U[0,5] q"
    if kind == "NEXT" and found.type == "LSQB":
        return f"{before} speaks of one step and takes no window: write {before}^3 p, or for several steps AG[2,5] p"
    if kind == "CIRCUMFLEX":
        return "a bound is a whole number, as in AX^5 p"
    if found.type == "CIRCUMFLEX":
        return "`^` gives the bound of a temporal operator and follows it directly; powers are not linear"
    if found.type == "UNTIL":
        return "U stands within A( ) or E( ): write A(p U^5 q) or E(p U^5 q)"
    if kind == "RELATION" and found.type == "RELATION":
        return "comparisons are < <= > >= == !=, implication is -> and equivalence is <->"
    if found.type == "_OR" and "NAME" in accepted:
        return "expected an operand before it; an absolute value |e| > c is written e > c | e < -c"
    if kind == "NUMBER" and "TIMES" in accepted and found.type in ("NAME", "QUOTED", "LPAR", "NUMBER"):
        return "a product is written with *, as in 2*h, and units are left out"
    if found.type == "LSQB":
        return "an index is one whole number, counted from 1, without spaces, as in cell[3]"
    if kind == "NAME" and found == "in":
        return f"membership in a range is written as two comparisons: {before} >= 0 & {before} <= 1"
    if kind == "NAME" and found.type == "LPAR" and before in ("abs", "max", "min", "relu"):
        return (
            f"formulas know no {before}: |e| > c is written e > c | e < -c, max(a, b) > c is written a > c | b > c; "
            "or have the scenario name it, as a proposition or a variable"
        )
    if kind in ("NAME", "QUOTED") and found.type == "LPAR":
        return f"{before} is taken as a name; temporal operators are AX EX AG EG AF EF, A(p U^k q), E(p U^k q)"
    return ""


def _expected(accepted: set[str]) -> str:
    words = []
    rest = set(accepted)
    if "NAME" in rest:
        words.append("a formula" if "NOT" in rest else "a number or a name")
        rest -= {*_OPENERS, "PLUS", "MINUS"}
    words += [word for kinds, word in _WORDS if rest.intersection(kinds)]
    return " or ".join(words) or "nothing more"


def _shortened(token: Token) -> str:
    return token if len(token) <= 40 else f"{token[:40]}..."
