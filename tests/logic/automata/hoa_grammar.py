"""The grammar of HOA v1 as far as it is read, and its errors in words."""

from __future__ import annotations

from functools import cache

from lark import Lark, ParseTree
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from venmas.budget import ask
from venmas.errors import AutomatonError

_GRAMMAR = r"""
start: "HOA:" IDENTIFIER item* "--BODY--" state* "--END--"
item: "States:" INT -> states
    | "Start:" INT (AND INT)* -> initial
    | "AP:" INT STRING* -> propositions
    | "Alias:" ALIAS label -> alias
    | "Acceptance:" INT acceptance -> acceptance_sets
    | HEADER (STRING | INT | IDENTIFIER)* -> other
?acceptance: conjuncts | acceptance OR conjuncts -> refused
?conjuncts: set (AND set)* -> together
?set: IDENTIFIER "(" [NOT] INT ")" -> condition
    | IDENTIFIER -> constant
    | "(" acceptance ")"
state: "State:" ["[" label "]"] INT [STRING] [marks] edge*
edge: ["[" label "]"] INT (AND INT)* [marks]
marks: "{" INT* "}"
?label: product | label OR product -> either
?product: literal | product AND literal -> both
?literal: NOT literal -> negation
        | INT -> proposition
        | ALIAS -> named
        | IDENTIFIER -> truth
        | "(" label ")"
NOT: "!"
AND: "&"
OR: "|"
INT: /0|[1-9][0-9]*/
STRING: /"[^"\\]*(?:\\.[^"\\]*)*"/s
ALIAS: /@[0-9a-zA-Z_-]+/
HEADER.-1: /[a-zA-Z_][0-9a-zA-Z_-]*:/
IDENTIFIER: /[a-zA-Z_][0-9a-zA-Z_-]*(?![0-9a-zA-Z_:-])/
COMMENT: /\/\*[^*]*\*+(?:[^\/*][^*]*\*+)*\//
%ignore COMMENT
%ignore /\s+/
"""


def hoa_tree(text: str) -> ParseTree:
    """The tree of a text. Raises `AutomatonError`, with line and column, where it is no HOA."""
    ask()
    try:
        return _parser().parse(text)
    except UnexpectedInput as error:
        raise _explained(error, text) from None


@cache
def _parser() -> Lark:
    return Lark(_GRAMMAR, parser="lalr", lexer="contextual", maybe_placeholders=True)


_WORDS = {
    "IDENTIFIER": "a word",
    "INT": "a number",
    "STRING": "a text in double quotes",
    "ALIAS": "@name",
    "$END": "the end",
}


def _explained(error: UnexpectedInput, text: str) -> AutomatonError:
    expected = "one automaton in HOA v1 (https://adl.github.io/hoaf)"
    line, column, found = text.count("\n") + 1, len(text) - text.rfind("\n"), "the text ends too early"
    if isinstance(error, UnexpectedToken):
        patterns = {t.name: str(t.pattern.value) for t in _parser().terminals}
        named = (_WORDS.get(name) or f"`{patterns.get(name, name)}`" for name in error.expected)
        expected = " or ".join(sorted(named)) or expected
        if error.token.type != "$END":
            line, column, found = (
                error.token.line or 1,
                error.token.column or 1,
                f"unexpected `{str(error.token)[:40]}`",
            )
    elif isinstance(error, UnexpectedCharacters):
        line, column, found = error.line, error.column, f"unexpected character {error.char!r}"
    return AutomatonError(f"{found}: expected {expected}", text, line, column)
