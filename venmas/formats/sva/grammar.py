"""The grammar of properties, and what is not read.

Properties and conditions share one hierarchy, as ``(`` may open either. Conditions are expressions of Verilog, which
Yosys evaluates: here they are only taken apart from each other. Operators bind as in table 16-3; `LOW` ones reach as
far to the right as they can, which is how the parser decides where two readings are possible.
"""

import re

from lark import Lark

_END = r"(?![A-Za-z0-9_$])"

_GRAMMAR = rf"""
start: clocking? disable? property
clocking: "@" "(" EDGE NAME ")" | "@" NAME
disable: "disable" "iff" "(" condition ")"
?property: follows
?follows: implies ((OVERLAPPED | DELAYED) follows)?
?implies: until (IMPLIES implies)?
?until: iff (UNTIL until)?
?iff: or (IFF iff)?
?or: and (OR and)*
?and: unary (AND unary)*
?unary: NOT unary -> negated
      | NEXT ("[" NUMBER "]")? unary -> next
      | LOW property -> low
      | "if" "(" condition ")" property ("else" property)? -> choice
      | STRONG "(" property ")" -> strong
      | sequence
?sequence: repeated
         | repeated (DELAY repeated)+ -> sequence
         | DELAY repeated (DELAY repeated)* -> sequence
?repeated: condition REPEAT?
condition: operand (BINARY operand)*
operand: (PREFIX | BINARY)* primary
primary: (NAME | SYSTEM | NUMBER | STRING | "(" property ")" | braces | call) (braces | index | call | DOT NAME)*
braces: "{{" inside "}}"
index: "[" inside "]"
call: SYSTEM "(" inside? ")"
inside: condition ((",") condition | braces)*

EDGE.5: /(pos|neg)edge{_END}/
NOT.5: /not{_END}/
AND.5: /and{_END}/
OR.5: /or{_END}/
IFF.5: /iff{_END}/
IMPLIES.5: /implies{_END}/
UNTIL.5: /(s_)?until(_with)?{_END}/
NEXT.5: /(s_)?nexttime{_END}/
LOW.5: /(always|s_eventually){_END}/
STRONG.5: /(strong|weak){_END}/
OVERLAPPED.6: "|->"
DELAYED.6: "|=>"
DELAY.6: /##\s*([0-9]+|\[\s*[0-9]+\s*:\s*[0-9]+\s*\])/
REPEAT.6: /\[\*\s*[0-9]+\s*(:\s*[0-9]+\s*)?\]/
BINARY.3: /<<<|>>>|===|!==|==\?|!=\?|&&|\|\||==|!=|<=|>=|<<|>>|\*\*|\+:|-:|~\^|\^~|~&|~\||[-+*\/%<>&|^?:]/
PREFIX.2: /[!~]/
DOT.2: /\.|::/
NUMBER.2: /([0-9][0-9_]*)?\s*'[sS]?[bodhBODH]\s*[0-9a-fA-FxXzZ?_]+|'[01]|[0-9][0-9_]*/
STRING: /"[^"\n]*"/
SYSTEM: /\$[A-Za-z_][A-Za-z0-9_$]*/
NAME: /`?[A-Za-z_][A-Za-z0-9_$]*|\\[^\s]+/
%ignore /\s+/
"""

_BACK = "looks back, and LTL speaks of what comes: keep the earlier value in a register of the design"
_LONG = "matches sequences of any length: write it with s_eventually, until or |->"
REFUSED = {
    **dict.fromkeys(("$past", "$rose", "$fell", "$stable", "$changed"), _BACK),
    **dict.fromkeys(("throughout", "within", "intersect", "first_match"), _LONG),
    **dict.fromkeys(("accept_on", "reject_on", "sync_accept_on", "sync_reject_on"), "ends an attempt: use disable iff"),
    "s_always": "has bounds: write nexttime, or ##[m:n]",
    "eventually": "has bounds: write s_eventually, or ##[m:n]",
    "case": "chooses between properties: write if and else",
    "#-#": "follows a sequence: write it with |-> and and",
    "#=#": "follows a sequence: write it with |=> and and",
    "[->": _LONG,
    "[=": _LONG,
}
"""What of SystemVerilog is refused by name, and what to write instead."""

_WORDS = "|".join(re.escape(word) + (_END if word[-1].isalpha() else "") for word in sorted(REFUSED, key=len)[::-1])
_REFUSED = re.compile(
    rf"(?<![A-Za-z0-9_$\\.])(?:{_WORDS})|##\s*\[\s*(?:[*+]|[^\]]*\$)[^\]]*\]|\[[*+]\s*(?:\]|[^\]]*\$)"
)


def refused(text: str) -> tuple[int, str] | None:
    """Place in a text of something that is not read, and why it is not."""
    match = _REFUSED.search(text)
    if match is None:
        return None
    word = match[0]
    return match.start(), f"`{word}` is not read: it {REFUSED.get(word, _LONG)}"


PARSER = Lark(_GRAMMAR, parser="lalr", lexer="contextual", propagate_positions=True, maybe_placeholders=False)
