"""Runs in floats that may violate the property: samples, corners, and steps along differences of what is missing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from venmas.bounds.rounding import Floats, Index
from venmas.linear import LinearExpr, Relation
from venmas.logic import AX, EX, And, Atom, Bottom, Formula, Or, Top
from venmas.model.simulate import step_batch
from venmas.model.system import System
from venmas.model.variables import Box
from venmas.search.tubes.plan import Plan

_SAMPLES = 200
_BEST, _ROUNDS = 8, 2
_LENGTHS = (0.5, 0.25, 0.1, 0.03, 0.01)
"""Steps that are tried, in parts of a side."""


def candidates(
    system: System, plan: Plan, boxes: Sequence[Box], tick: Callable[[], None], seed: int = 1, deep: bool = False
) -> list[dict[str, Fraction]]:
    """Initial states from which floats meet the target, the clearest first; none of them is proved to.

    deep: where no sample does, the best ones go downhill.
    """
    names = [n for n in system.variables if any(box[n][0] < box[n][1] for box in boxes)]
    low, high = (np.array([[float(box[n][end]) for n in names] for box in boxes]) for end in (0, 1))
    rng = np.random.default_rng(seed)
    root = rng.integers(len(boxes), size=_SAMPLES)
    part = rng.random((_SAMPLES, len(names)))
    part[::2] = np.rint(part[::2])  # corners
    part[0] = 0.5

    def missing(root: Index, part: Floats) -> Floats:
        tick()
        return _missing(system, plan, [boxes[i] for i in root], names, low[root] + part * (high[root] - low[root]))

    found = missing(root, part)
    if not (found <= 0).any() and deep and names:
        best = np.argsort(found, kind="stable")[:_BEST]
        root, part, found = root[best], part[best], found[best]
        for _ in range(_ROUNDS):
            slope = _slope(missing, root, part, found)
            steps = np.array([0.0, *_LENGTHS])[:, None, None] * np.sign(slope)
            there = np.clip(part - steps, 0, 1).reshape(-1, len(names))
            reached = missing(np.tile(root, len(steps)), there).reshape(len(steps), -1)
            best = reached.argmin(0)
            part, found = there.reshape(steps.shape)[best, np.arange(len(best))], reached.min(0)
            if (found <= 0).any():
                break
    chosen = [i for i in np.argsort(found, kind="stable")[:_BEST] if found[i] <= 0]
    return [_point(system, boxes[root[i]], names, part[i]) for i in chosen]


def _slope(missing: Callable[[Index, Floats], Floats], root: Index, part: Floats, found: Floats) -> Floats:
    """Differences towards the farther side, by initial value: (B, n)."""
    count, width = part.shape
    step = np.where(part < 0.5, 1e-4, -1e-4)
    moved = part[:, None, :] + np.eye(width) * step[:, None, :]
    there = missing(np.repeat(root, width), moved.reshape(-1, width)).reshape(count, width)
    return (there - found[:, None]) / step


def _point(system: System, box: Box, names: Sequence[str], part: Floats) -> dict[str, Fraction]:
    point = {name: low for name, (low, _) in box.items()}
    for name, share in zip(names, part.tolist(), strict=True):
        low, high = box[name]
        # short numbers, so that the witness is read with ease
        at = low + Fraction(round(share * 1024), 1024) * (high - low)
        point[name] = Fraction(round(at)) if system.variables[name].integral else at
    return point


def _missing(system: System, plan: Plan, boxes: Sequence[Box], names: Sequence[str], x: Floats) -> Floats:
    """By how much the target is missed from each state (B,), not above 0 where it is met; infinite where unknown."""
    state = {n: np.array([float(box[n][0]) for box in boxes]) for n in system.variables}
    for i, name in enumerate(names):
        state[name] = np.rint(x[:, i]) if system.variables[name].integral else x[:, i]
    known: dict[tuple[Formula, int], Floats] = {}
    chosen = np.zeros(len(x), dtype=np.int64)
    with np.errstate(all="ignore"):
        for step in range(plan.steps + 1):
            for atom in plan.atoms.get(step, ()):
                known[atom, step] = _distance(atom.comparison.expr, atom.comparison.relation, state)
            if step < plan.steps:
                state, _ = step_batch(system, state, chosen)
        for place in plan.order:
            formula, step = place
            match formula:
                case Top() | Bottom():
                    known[place] = np.full(len(x), -np.inf if isinstance(formula, Top) else np.inf)
                case And() | Or():
                    join = np.maximum if isinstance(formula, And) else np.minimum
                    known[place] = join.reduce([known[part, step] for part in formula.operands])
                case EX(operand) | AX(operand):
                    known[place] = known[operand, step + 1]
                case Atom():
                    pass
    return np.nan_to_num(known[plan.order[-1]], nan=np.inf, posinf=np.inf, neginf=-np.inf)


def _distance(expr: LinearExpr, relation: Relation, state: dict[str, Floats]) -> Floats:
    value = sum((float(c) * state[name] for name, c in expr.terms), np.zeros(len(next(iter(state.values())))))
    value = value + float(expr.constant)
    match relation:
        case Relation.LT | Relation.LE:
            return np.where(value == 0, 1e-300 if relation is Relation.LT else 0.0, value)
        case Relation.GT | Relation.GE:
            return np.where(value == 0, 1e-300 if relation is Relation.GT else 0.0, -value)
        case Relation.EQ:
            return np.abs(value)
        case _:
            return np.where(value == 0, 1.0, -np.abs(value))
