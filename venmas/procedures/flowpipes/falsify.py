"""Runs in floats that may violate the property: samples, corners, and steps along slopes of what is missing.

Where there are several branches, the runs from a sample are a tree, and thinned out where that grows too wide.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from venmas.bounds.rounding import Floats, Index
from venmas.budget import ask
from venmas.logic import AX, EX, And, Atom, Bottom, Formula, Or, Top
from venmas.logic.linear import LinearExpr, Relation
from venmas.model.evaluation.simulate import Precision, random_branches, step_batch
from venmas.model.system.disturbances import at_once
from venmas.model.system.system import System
from venmas.model.system.variables import Box
from venmas.procedures.hybrid.through_time import Way, noise_of, pays, slopes

if TYPE_CHECKING:
    from venmas.procedures.flowpipes.plan import Plan

_SAMPLES = 200
_BEST, _ROUNDS = 8, 2
_LARGEST = 4096
"""Runs that are followed at the same time where there are several branches, at most."""
_LENGTHS = (0.5, 0.25, 0.1, 0.03, 0.01)
"""Steps that are tried, in parts of a side."""


def candidates(
    system: System,
    plan: Plan,
    boxes: Sequence[Box],
    tick: Callable[[], None],
    seed: int = 1,
    deep: bool = False,
    precision: Precision = "float64",
) -> list[tuple[dict[str, Fraction], list[str]]]:
    """Initial states from which floats meet the target, the clearest first; none of them is proved to.

    Each with the branches that one of the runs takes by which it is met. deep: where no sample does, the best ones go
    downhill. precision: of networks.
    """
    names = [n for n in system.variables if any(box[n][0] < box[n][1] for box in boxes)]
    low, high = (np.array([[float(box[n][end]) for n in names] for box in boxes]) for end in (0, 1))
    rng = np.random.default_rng(seed)
    root = rng.integers(len(boxes), size=_SAMPLES)
    part = rng.random((_SAMPLES, len(names)))
    part[::2] = np.rint(part[::2])  # corners
    part[0] = 0.5

    def sampled(root: Index, part: Floats) -> Sampled:
        tick()
        return missed(
            system, plan, [boxes[i] for i in root], names, low[root] + part * (high[root] - low[root]), precision
        )

    def missing(root: Index, part: Floats) -> Floats:
        return sampled(root, part).total

    def slope(root: Index, part: Floats) -> Floats:
        return np.asarray(sampled(root, part).slope(system, names) * (high - low)[root])

    found = missing(root, part)
    if not (found <= 0).any() and deep and names:
        best = np.argsort(found, kind="stable")[:_BEST]
        root, part, found = root[best], part[best], found[best]
        for _ in range(_ROUNDS):
            part, found = downhill(missing, root, part, found, slope if pays(system, names) else None)
            if (found <= 0).any():
                break
    chosen = [i for i in np.argsort(found, kind="stable")[:_BEST] if found[i] <= 0]
    if not chosen:
        return []
    paths: list[list[str]] = [[] for _ in chosen]
    if len(system.branches) > 1:
        runs = sampled(root[chosen], part[chosen])
        paths = [[system.branches[b].name for b in runs.path(i)] for i in range(len(chosen))]
    return [(point_of(system, boxes[root[i]], names, part[i]), path) for i, path in zip(chosen, paths, strict=True)]


def downhill(
    missing: Callable[[Index, Floats], Floats],
    root: Index,
    part: Floats,
    found: Floats,
    slope: Callable[[Index, Floats], Floats] | None = None,
) -> tuple[Floats, Floats]:
    """Better parts of boxes (B, n), and what they miss (B,), by one of some steps along the signs of the slope.

    slope: by parts, (B, n); of differences, if it is not given.
    """
    by_part = differences(missing, root, part, found) if slope is None else slope(root, part)
    steps = np.array([0.0, *_LENGTHS])[:, None, None] * np.sign(by_part)
    there = np.clip(part - steps, 0, 1).reshape(-1, part.shape[1])
    reached = missing(np.tile(root, len(steps)), there).reshape(len(steps), -1)
    best = reached.argmin(0)
    return there.reshape(steps.shape)[best, np.arange(len(best))], reached.min(0)


def differences(missing: Callable[[Index, Floats], Floats], root: Index, part: Floats, found: Floats) -> Floats:
    """Differences towards the farther side, by initial value: (B, n)."""
    count, width = part.shape
    step = np.where(part < 0.5, 1e-4, -1e-4)
    moved = part[:, None, :] + np.eye(width) * step[:, None, :]
    there = missing(np.repeat(root, width), moved.reshape(-1, width)).reshape(count, width)
    with np.errstate(invalid="ignore"):  # where nothing is known
        return np.nan_to_num((there - found[:, None]) / step)


def point_of(system: System, box: Box, names: Sequence[str], part: Floats, fine: int = 1024) -> dict[str, Fraction]:
    """A state by its place in a box. fine: parts of a side that are told apart."""
    point = {name: low for name, (low, _) in box.items()}
    for name, share in zip(names, part.tolist(), strict=True):
        low, high = box[name]
        # short numbers, so that the witness is read with ease
        at = low + Fraction(round(share * fine), fine) * (high - low)
        point[name] = Fraction(round(at)) if system.variables[name].integral else at
    return point


def missed(
    system: System,
    plan: Plan,
    boxes: Sequence[Box],
    names: Sequence[str],
    x: Floats,
    precision: Precision = "float64",
) -> Sampled:
    """By how much the target is missed from each state of a batch: x is (B, names), the others are those of boxes."""
    known = [{n: float(low) for n, (low, _) in box.items()} for box in {id(box): box for box in boxes}.values()]
    place = {id(box): i for i, box in enumerate({id(box): box for box in boxes}.values())}
    which = np.array([place[id(box)] for box in boxes], dtype=np.intp)
    state = {n: np.array([ends[n] for ends in known])[which] for n in system.variables}
    for i, name in enumerate(names):
        state[name] = np.rint(x[:, i]) if system.variables[name].integral else x[:, i]
    later = {name: [state.pop(each) for each in values] for name, values in noise_of(system).items()}
    root = np.arange(len(x))
    system = at_once(system)
    found = Sampled(plan, len(x), precision)
    found.states.append(state)
    with np.errstate(all="ignore"):
        for step in range(plan.steps + 1):
            ask()
            if step:
                root = root[found.steps[-1][0]]
                state.update({n: values[min(step, len(values)) - 1][root] for n, values in later.items()})
            for atom in plan.atoms.get(step, ()):
                found.known[atom, step] = distance(atom.comparison.expr, atom.comparison.relation, state)
            if step < plan.steps:
                state = found.step(system, state)
                found.states.append(state)
        found.fold()
    return found


class Sampled:
    """Runs of a batch in floats as trees, and by how much formulas are missed in each state of them.

    states: by step. steps: for each, the state that each one after it comes from, and by which branch. total:
    (B,), of the target, not above 0 where it is met; infinite where unknown.
    """

    def __init__(self, plan: Plan, size: int, precision: Precision = "float64") -> None:
        self.plan, self.sizes, self._precision = plan, [size], precision
        self.steps: list[tuple[Index, Index]] = []
        self.states: list[dict[str, Floats]] = []
        self.known: dict[tuple[Formula, int], Floats] = {}
        self._rng = np.random.default_rng(size)

    def step(self, system: System, state: dict[str, Floats]) -> dict[str, Floats]:
        """The states that follow: by all branches while these are few, else by one that is drawn."""
        size, count = self.sizes[-1], len(system.branches)
        if size * count <= max(_LARGEST, self.sizes[0]):
            before, branch = np.repeat(np.arange(size), count), np.tile(np.arange(count), size)
        else:
            before, branch = np.arange(size), random_branches(system, state, self._rng)[0]
        state, enabled = step_batch(system, {n: v[before] for n, v in state.items()}, branch, self._precision)
        self.steps.append((before[enabled], branch[enabled]))
        self.sizes.append(int(enabled.sum()))
        return {n: values[enabled] for n, values in state.items()}

    def fold(self) -> None:
        """All formulas from those at their operands."""
        known = self.known
        for place in self.plan.order:
            formula, step = place
            match formula:
                case Top() | Bottom():
                    known[place] = np.full(self.sizes[step], -np.inf if isinstance(formula, Top) else np.inf)
                case And() | Or():
                    join = np.maximum if isinstance(formula, And) else np.minimum
                    known[place] = join.reduce([known[part, step] for part in formula.operands])
                case EX(operand) | AX(operand):
                    worst, join = (np.inf, np.minimum) if isinstance(formula, EX) else (-np.inf, np.maximum)
                    known[place] = np.full(self.sizes[step], worst)
                    join.at(known[place], self.steps[step][0], known[operand, step + 1])
                case Atom():
                    known[place] = np.nan_to_num(known[place], nan=np.inf, posinf=np.inf, neginf=-np.inf)
        self.total = known[self.plan.order[-1]]

    def path(self, row: int) -> list[int]:
        """The branches by which the target is missed least from a state, along one path."""
        return [branch for branch, _ in self.walk(row)]

    def slope(self, system: System, names: Sequence[str]) -> Floats:
        """Slopes of the total by initial values: (B, names)."""
        return slopes(system, self.states, [self.deciding(row) for row in range(self.sizes[0])], names)

    def deciding(self, row: int) -> Way:
        """The branches, and rows, to the state in which one comparison decides by how much a run misses the target."""
        (formula, step), way = self.plan.order[-1], list[tuple[int, int]]()
        while not isinstance(formula, Atom | Top | Bottom):
            if isinstance(formula, And | Or):
                pick = max if isinstance(formula, And) else min
                formula = pick(formula.operands, key=lambda part: float(self.known[part, step][row]))
                continue
            least = isinstance(formula, EX)
            (formula,) = formula.children
            before, branch = self.steps[step]
            after = np.flatnonzero(before == row)
            if not len(after):
                return way, None
            values = self.known[formula, step + 1][after]
            row = int(after[values.argmin() if least else values.argmax()])
            way.append((int(branch[row]), row))
            step += 1
        return way, formula.comparison if isinstance(formula, Atom) else None

    def walk(self, row: int) -> list[tuple[int, int]]:
        """The same, with the row of the state after each."""
        (formula, step), found = self.plan.order[-1], list[tuple[int, int]]()
        while formula.depth:
            if isinstance(formula, And | Or):
                pick = max if isinstance(formula, And) else min
                temporal = [part for part in formula.operands if part.depth or isinstance(formula, Or)]
                formula = pick(temporal, key=lambda part: float(self.known[part, step][row]))
                continue
            (formula,) = formula.children
            before, branch = self.steps[step]
            after = np.flatnonzero(before == row)
            if not len(after):
                break
            row = int(after[self.known[formula, step + 1][after].argmin()])
            found.append((int(branch[row]), row))
            step += 1
        return found


def lacking(formula: Formula, state: dict[str, Floats]) -> Floats:
    """By how much states (runs,) miss a formula about one state: not above 0 where it holds."""
    match formula:
        case Atom(comparison):
            value = distance(comparison.expr, comparison.relation, state)
            return np.nan_to_num(value, nan=np.inf, posinf=np.inf, neginf=-np.inf)
        case And() | Or():
            join = np.maximum if isinstance(formula, And) else np.minimum
            return np.asarray(join.reduce([lacking(part, state) for part in formula.operands]))
        case Top() | Bottom():
            return np.full(len(next(iter(state.values()))), -np.inf if isinstance(formula, Top) else np.inf)
    raise TypeError(f"{type(formula).__name__} is not about one state")


def distance(expr: LinearExpr, relation: Relation, state: dict[str, Floats]) -> Floats:
    """By how much states miss a comparison with 0: not above 0 where it holds."""
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
