"""Truth by bounds: the present part of a formula anywhere, and the whole of it at abstract states that are points.

Explicit-state models (FrozenLake) consist of points, so their b^k paths collapse to states times steps: each (formula,
point) is decided once.
"""

from __future__ import annotations

from fractions import Fraction

from venmas.bounds import State
from venmas.logic import AX, EX, And, Atom, Bottom, Formula, Or, Top

_WIDE = 1e-6  # relative; narrower bounds may be those of a point, which the exact forms then tell
_Key = tuple[Formula, tuple[Fraction, ...]]


class Oracle:
    """Three-valued truth of core formulas in abstract states; None where the bounds leave it open."""

    def __init__(self) -> None:
        self._truth: dict[_Key, bool | None] = {}

    def truth(self, state: State, formula: Formula) -> bool | None:
        """Truth of `formula` in `state`; what lies in later steps is open unless the state is a point."""
        point = _point(state) if formula.depth else None
        if point is None:
            return _present(state, formula)
        stack = [(state, formula, (formula, point))]
        while stack:
            here, current, key = stack[-1]
            if key in self._truth:
                stack.pop()
                continue
            parts, open_part = _parts(here, current, key[1])
            missing = [p for p in parts if p[2] not in self._truth]
            if missing:
                stack.extend(missing)
                continue
            stack.pop()
            answers = [self._truth[p[2]] for p in parts]
            self._truth[key] = _combine(here, current, [*answers, None] if open_part else answers)
        return self._truth[formula, point]


def _point(state: State) -> tuple[Fraction, ...] | None:
    if any(hi - lo > _WIDE * (1 + abs(hi)) for lo, hi in map(state.bounds, state.batch.system.nodes_by_name.values())):
        return None
    values: list[Fraction] = []
    for node in state.batch.system.nodes_by_name.values():
        form = state.affine(node)
        if form is None or form.terms:
            return None
        values.append(form.constant)
    return tuple(values)


def _present(state: State, formula: Formula) -> bool | None:
    match formula:
        case Top():
            return True
        case Bottom():
            return False
        case Atom(comparison):
            return state.decide(comparison)
        case And(operands) | Or(operands):
            return _combine(state, formula, [_present(state, o) for o in operands])
    return None


def _parts(
    state: State, formula: Formula, point: tuple[Fraction, ...]
) -> tuple[list[tuple[State, Formula, _Key]], bool]:
    """What the truth of a formula at a point depends on, and whether some of it can not be asked."""
    match formula:
        case And(operands) | Or(operands):
            return [(state, o, (o, point)) for o in operands], False
        case EX(operand) | AX(operand):
            steps = state.successors()
            points = [(s.state, _point(s.state)) for s in steps if s.certain]
            known = [(s, operand, (operand, p)) for s, p in points if p is not None]
            return known, len(known) < len(steps)
    return [], False


def _combine(state: State, formula: Formula, answers: list[bool | None]) -> bool | None:
    match formula:
        case And() | AX():
            return False if False in answers else None if None in answers else True
        case Or() | EX():
            return True if True in answers else None if None in answers else False
    return _present(state, formula)
