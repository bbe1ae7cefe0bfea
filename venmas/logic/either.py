"""Text to a property of either logic: CTL first, LTL where that fails and the text has an operator of it.

The two languages have no text in common but formulas about one state (counted over all formulas of tests, scenarios
and experiments), so that nothing has to be said beside a formula.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from venmas.errors import FormulaError
from venmas.logic.formula import Formula
from venmas.logic.parser import parse_property
from venmas.logic.property import Branching
from venmas.logic.vocabulary import Vocabulary

_QUOTED = re.compile(r'"[^"\n]*"')
_BRANCHING = re.compile(r"(?<![\w.])([AE][XFG](?!\w)|[AE](?=\s*\())")
_LINEAR = re.compile(r"(?<![\w.])([XFG]+|[URWM])(?!\w)")


def parse_either(text: str, vocabulary: Vocabulary, linear: Callable[[str], Formula]) -> Branching | Formula:
    """The property of CTL that a text states, else its formula of LTL, which `linear` reads.

    Names of the vocabulary are no operators. Raises `FormulaError`, also for a text with operators of both.
    """
    try:
        return parse_property(text, vocabulary)
    except FormulaError as error:
        words = _QUOTED.sub(lambda found: " " * len(found[0]), text)
        named = {*vocabulary.variables, *vocabulary.propositions}
        found = [one for one in _LINEAR.finditer(words) if one[1] not in named]
        branching = _BRANCHING.search(words)
        paths = [one for one in found if branching is None or one[1] not in "URWM"]
        if not paths:
            raise
        if branching is None:
            return linear(text)
        before = text[: paths[0].start()].split("\n")
        raise FormulaError(
            f"`{paths[0][1]}` is an operator of LTL (all runs), and `{branching[1]}` one of CTL (states): a formula is "
            "of one of the two, so write A before it (AG, AF, AX), or leave A and E out everywhere",
            text,
            len(before),
            len(before[-1]) + 1,
        ) from error
