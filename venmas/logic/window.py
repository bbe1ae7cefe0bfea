"""Windows of steps: formulas that say the same of all states that runs pass between two steps."""

from __future__ import annotations

from typing import TypeAlias

from venmas.logic.formula import Formula, Globally, Next, Quantifier, is_temporal
from venmas.logic.property import Always, Bounded

Window: TypeAlias = tuple[int, int | None, Formula]
"""The first and the last step at which something is to hold, None for ever, and what."""


def window(asked: object) -> Window | None:
    """The window of AG p, or of AG[i,j] p below AX^n, p being about one state; None where something else is asked."""
    if isinstance(asked, Always):
        return None if asked.start else (0, None, asked.invariant)
    if not isinstance(asked, Bounded):
        return None
    formula, begin = asked.formula, 0
    while isinstance(formula, Next) and formula.quantifier is Quantifier.ALL:
        begin += formula.k
        formula = formula.operand
    match formula:
        case Globally(Quantifier.ALL, start, int(end), holds) if not is_temporal(holds):
            return begin + start, begin + end, holds
    return (begin, begin, formula) if begin and not is_temporal(formula) else None
