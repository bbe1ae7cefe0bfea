"""The grammar of formulas.

Formulas and arithmetic share one hierarchy, since ``(`` may open either; what is a number and what is a truth value is
sorted out by the parser's second pass, which can say so in words. Loosest first: ``<->``, ``->`` (to the right), ``|``,
``&``, operators with one operand (``!``, ``AX`` ...), comparisons, sums, products, signs.

``A`` and ``E`` are quantifiers only directly before ``(``, and ``U`` is an operator only where one may stand: all three
can be names of variables. The other words of the language (`printing.RESERVED`) are names in double quotes only.
"""

from functools import cache, lru_cache

from lark import Lark, ParseTree, Token

from venmas.budget import ask
from venmas.logic.lalr import parser
from venmas.logic.printing import NAME_PATTERN

_END = r"(?![A-Za-z0-9_])"

CONNECTIVES = """
start: equivalence
?equivalence: implication | equivalence _IFF implication
?implication: disjunction | disjunction _IMPLIES implication
?disjunction: conjunction (_OR conjunction)*
"""
"""The loosest operators, down to ``conjunction``, which is a grammar's own."""

TERMS = rf"""
?comparison: sum (RELATION sum)*
?sum: product ((PLUS | MINUS) product)*
?product: factor ((TIMES | DIVIDE) factor)*
?factor: MINUS factor -> negative
       | PLUS factor -> positive
       | NUMBER -> number
       | NAME -> name
       | QUOTED -> name
       | "(" equivalence ")" -> group

NUMBER: /(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?/
TRUE.2: /true{_END}/
FALSE.2: /false{_END}/
NOT.2: /!(?!=)|~|not{_END}/
_AND.2: /&&?|and{_END}/
_OR.2: /\|\|?|or{_END}/
_IFF.2: "<->"
_IMPLIES.2: "->"
RELATION: /<=|>=|==|!=|<|>|=/
PLUS: "+"
MINUS: "-"
TIMES: "*"
DIVIDE: "/"
NAME: /{NAME_PATTERN}/
QUOTED: /"[^"\n]*"/
%ignore /\s+/
"""
"""Comparisons, arithmetic, names and the words of every logic."""

GRAMMAR = rf"""
{CONNECTIVES}?conjunction: unary (_AND unary)*
?unary: NOT unary -> negation
      | NEXT unary -> next
      | NEXT upto unary -> next_power
      | ALWAYS bound? unary -> globally
      | SOMETIMES bound? unary -> finally_
      | QUANTIFIER "(" equivalence UNTIL bound? equivalence ")" -> until
      | TRUE -> true
      | FALSE -> false
      | comparison
?bound: upto | "[" NUMBER "," (NUMBER | TIMES) "]" -> window
upto: "^" NUMBER
QUANTIFIER.2: /[AE](?=\s*\()/
NEXT.2: /[AE]X{_END}/
ALWAYS.2: /[AE]G{_END}/
SOMETIMES.2: /[AE]F{_END}/
UNTIL.2: /U{_END}/
{TERMS}"""
"""Bounded logic, and that of branching time without bounds."""

LINEAR_GRAMMAR = rf"""
{CONNECTIVES}?conjunction: until (_AND until)*
?until: unary | unary UNTIL until
?unary: NOT unary -> negation
      | PATH unary -> path
      | TRUE -> true
      | FALSE -> false
      | comparison
PATH.2: /[XFG]+{_END}/
UNTIL.2: /[URWM]{_END}/
{TERMS}"""
"""Linear temporal logic. A word of the letters X, F and G is as many operators: ``GF p`` is ``G F p``.

``U``, ``R``, ``W``, ``M`` bind tighter than ``&`` and to the right; where none of them may stand they are names.
"""


NAMES = {GRAMMAR: "branching", LINEAR_GRAMMAR: "linear"}
"""Under which their tables are stored."""

_FREQUENT = ("NUMBER", "NAME", "QUOTED", "TRUE", "FALSE", "NOT", "NEXT", "PATH", "PLUS", "MINUS", "LPAR")
"""Of these tokens one occurs in every formula again and again, so that there the clock is asked."""

_SHORT = 1000
"""Characters of a text whose tree is kept."""


@cache
def _parser(grammar: str) -> Lark:
    """The LALR parser of a grammar, one in a process."""
    return parser(NAMES.get(grammar), grammar, dict.fromkeys(_FREQUENT, _asked))


def tree(text: str, grammar: str = GRAMMAR) -> ParseTree:
    """The tree of a text. That of a short one is kept: a formula is asked of many systems. Raises as `Lark.parse`."""
    return _kept(text, grammar) if len(text) <= _SHORT else _parser(grammar).parse(text)


@lru_cache(maxsize=64)
def _kept(text: str, grammar: str) -> ParseTree:
    return _parser(grammar).parse(text)


def _asked(token: Token) -> Token:
    ask()
    return token
