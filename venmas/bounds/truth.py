"""Truth by bounds: the present part of a formula anywhere, and the whole of it at abstract states that are points.

What is asked of initial regions, and how deep the stack may be then, stands here, too.

Explicit-state models (FrozenLake) consist of points, so their b^k paths collapse to states times steps: each (formula,
point) is decided once.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction

from venmas.bounds.reach import Outcome, Reach
from venmas.bounds.states import State
from venmas.budget import ask
from venmas.logic import AX, EX, And, Atom, Bottom, Formula, Or, Top, conjunction
from venmas.model.evaluation.regions import bounding_box
from venmas.model.system.system import System
from venmas.model.system.variables import Box, Region

_WIDE = 1e-6  # relative; narrower bounds may be those of a point, which the exact forms then tell
_FRAMES = 100
"""Calls on the stack for one step of a run, at most."""
BoundedRegion = tuple[int, Region, Box]
"""An initial region: its number, its comparisons, and a box of its states."""
_Place = tuple[Fraction, ...] | int
_Key = tuple[Formula, _Place]


class Oracle:
    """Three-valued truth of core formulas in abstract states; None where the bounds leave it open.

    What lies in later steps is told in the nodes of `reach`, and without it in states that are points.
    """

    def __init__(self, reach: Reach | None = None) -> None:
        self._reach = reach
        self._truth: dict[_Key, bool | None] = {}

    def outcomes(self, node: State) -> tuple[Outcome, ...]:
        """The outcomes of a node of the reach graph."""
        assert self._reach is not None
        return self._reach.outcomes(node)

    def truth(self, state: State, formula: Formula) -> bool | None:
        """Truth of `formula` in `state`."""
        place = self._place(state) if formula.depth else None
        if place is None:
            return _present(state, formula)
        stack = [(state, formula, (formula, place))]
        while stack:
            ask()
            here, current, key = stack[-1]
            if key in self._truth:
                stack.pop()
                continue
            cases = self._cases(here, current, key[1])
            missing = [
                (part.state, part.formula, part.key)
                for case in cases
                for part in case
                if part.key is not None and part.key not in self._truth
            ]
            if missing:
                stack.extend(missing)
                continue
            stack.pop()
            verdicts = [
                _verdict(current, [(p.certain, None if p.key is None else self._truth[p.key]) for p in case])
                for case in cases
            ]
            same = verdicts[0] if verdicts and all(v is verdicts[0] for v in verdicts) else None
            self._truth[key] = same if cases else _present(here, current)
        return self._truth[formula, place]

    def _place(self, state: State) -> _Place | None:
        return _point(state) if self._reach is None else id(state)

    def _cases(self, state: State, formula: Formula, place: _Place) -> list[list[_Part]]:
        """What the truth of a formula depends on, in each outcome of the state; nothing where it is no later state."""
        match formula:
            case And(operands) | Or(operands):
                return [[_Part(True, state, o, (o, place)) for o in operands]]
            case EX(operand) | AX(operand):
                if self._reach is None:
                    points = [(s.certain, s.state, _point(s.state)) for s in state.successors()]
                    return [[_Part(c, s, operand, None if p is None else (operand, p)) for c, s, p in points]]
                return [
                    [_Part(a.step.certain, a.target, operand, (operand, id(a.target))) for a in outcome.arcs]
                    for outcome in self._reach.outcomes(state)
                ]
        return []


@dataclass(frozen=True, eq=False)
class _Part:
    """A formula in a state, which may not be there when it is not `certain`; no key: it can not be asked."""

    certain: bool
    state: State
    formula: Formula
    key: _Key | None


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
    ask()
    match formula:
        case Top():
            return True
        case Bottom():
            return False
        case Atom(comparison):
            return state.decide(comparison)
        case And(operands) | Or(operands):
            return _verdict(formula, [(True, _present(state, o)) for o in operands])
    return None


def _verdict(formula: Formula, answers: list[tuple[bool, bool | None]]) -> bool | None:
    """Truth of a conjunction (And, AX) or disjunction of parts that are there for certain or may be."""
    weak = isinstance(formula, And | AX)  # the value that all parts must have; one certain part decides for the other
    if any(certain and answer is (not weak) for certain, answer in answers):
        return not weak
    return weak if all(answer is weak for _, answer in answers) else None


@contextmanager
def deep_runs(target: Formula) -> Iterator[None]:
    """Room on the stack: bounds, forms and terms of a state are made from those of the state before it."""
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(max(usual, 2000 + _FRAMES * target.depth))
    try:
        yield
    finally:
        sys.setrecursionlimit(usual)


def bounded_regions(system: System, target: Formula) -> list[BoundedRegion]:
    """The initial regions by number, with the box of those of their states in which `target` may hold.

    What the target says of the initial state by itself narrows the box, down to a point where it can; regions without
    such a state are left out.
    """
    present = _comparisons(target)
    boxes = [(i, r, bounding_box(system, r + present)) for i, r in enumerate(system.regions)]
    return [(i, r, b) for i, r, b in boxes if b is not None]


def _comparisons(target: Formula) -> Region:
    operands = target.operands if isinstance(target, And) else (target,)
    return tuple(o.comparison for o in operands if isinstance(o, Atom))


def region_formula(region: Region) -> Formula:
    """The comparisons of a region as a formula about the initial state."""
    return conjunction([Atom(c) for c in region])
