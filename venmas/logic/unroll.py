"""Unrolling: temporal operators in terms of one step, AX and EX (design S5; paper section 2.2).

The functions take the quantifier that is meant after a negation has been pushed through (``!AX p = EX !p``) and
operands in core form. Each result is linear in its bound, because parts are shared.
"""

from __future__ import annotations

from venmas.budget import ask
from venmas.logic.core import Fixpoint
from venmas.logic.formula import AX, EX, FALSE, TRUE, Formula, Quantifier, conjunction, disjunction


def step(quantifier: Quantifier, operand: Formula, k: int = 1) -> Formula:
    """``AX^k`` or ``EX^k``. `AX true` is true and `EX false` is false; `AX false` and `EX true` speak of deadlocks."""
    idle, kind = (TRUE, AX) if quantifier is Quantifier.ALL else (FALSE, EX)
    for _ in range(k):
        ask()
        if operand is idle:
            break
        operand = kind(operand)
    return operand


def until(quantifier: Quantifier, start: int, end: int, left: Formula, right: Formula) -> Formula:
    """``Q(p U[0,m] q) = q | (p & QX Q(p U[0,m-1] q))``, ``Q(p U[i,j] q) = p & QX Q(p U[i-1,j-1] q)`` for i > 0."""
    result = right
    for _ in range(end - start):
        ask()
        later = step(quantifier, result)
        result = disjunction((right, later if left is TRUE else conjunction((left, later))))
    for _ in range(start):
        ask()
        result = conjunction((left, step(quantifier, result)))
    return result


def release(quantifier: Quantifier, start: int, end: int, left: Formula, right: Formula) -> Formula:
    """The dual of `until`, ``!A(p U q) = E(!p R !q)``: ``q & (p | QX ...)`` in the window, ``p | QX ...`` before it."""
    result = right
    for _ in range(end - start):
        ask()
        later = step(quantifier, result)
        result = conjunction((right, later if left is FALSE else disjunction((left, later))))
    for _ in range(start):
        ask()
        result = disjunction((left, step(quantifier, result)))
    return result


def globally(quantifier: Quantifier, start: int, end: int, operand: Formula) -> Formula:
    """``QG[i,j] p = QX^i (p & QX (p & ...))``; for AG because AX distributes over ``&``, in deadlocks too."""
    return release(quantifier, start, end, FALSE, operand)


def finally_(quantifier: Quantifier, start: int, end: int, operand: Formula) -> Formula:
    """``QF[i,j] p = QX^i (p | QX (p | ...))``; for EF because EX distributes over ``|``, in deadlocks too."""
    return until(quantifier, start, end, TRUE, operand)


def fixpoint(least: bool, quantifier: Quantifier, start: int, left: Formula, right: Formula) -> Formula:
    """`until` without end (`least`), or its dual `release`; the steps before `start` are unrolled."""
    result: Formula = Fixpoint(least, quantifier, left, right)
    join = conjunction if least else disjunction
    for _ in range(start):
        ask()
        result = join((left, step(quantifier, result)))
    return result
