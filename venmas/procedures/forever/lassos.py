"""Lassos in rationals: runs that close a loop exactly, found beside runs in floats.

    runs in floats, branches at random, those first whose states satisfy what is wanted
    for steps i < j of a run with equal integers and near reals
        F := the branches from i to j,  x := the state at i, rounded
        repeat 6 times:  x := x + d with (I - J) d = F(x) - x,  J by exact differences in the piece of x
        F(x) == x: a loop;  an initial state that leads to x, by the same for the branches from 0 to i
        the run that it makes shows what is wanted: a witness

Everything after the first line is exact. A piece of a piecewise linear loop is affine, so that one step is enough where
it does not change (Newton's method; Garg, Madhusudan, Neider and Roth search invariants alike, from samples).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from venmas.bounds.rounding import Floats
from venmas.budget import ask
from venmas.errors import ModelError
from venmas.logic import Formula
from venmas.model.evaluation.regions import is_initial
from venmas.model.evaluation.simulate import Batch, Step, misfit
from venmas.model.system.system import System
from venmas.model.witness.build import Place, draw
from venmas.model.witness.tree import Witness
from venmas.procedures.kinduction.runs import Runs

State = dict[str, Fraction]
_RUNS, _LENGTHS = 48, (14, 40, 160)
_LOOP, _STEM, _TRIES = 64, 12, 12
_DELTA = Fraction(1, 1 << 20)
_ROUNDED = 1_000_000
_MOST_BITS = 4000
"""Longest numbers of a loop: those of a piece that does not close grow with each correction."""


@dataclass(frozen=True)
class Loop:
    """A run in rationals: states, the branch that each takes, and the number of the one that follows the last."""

    states: list[State]
    branches: list[int]
    back: int


def lassos(system: System, wanted: Formula) -> Iterator[Witness]:
    """Exact lassos of a piecewise linear system without noise, those first that satisfy `wanted`, of one state."""
    for loop in loops(system, wanted):
        yield _drawn(system, loop)


def loops(system: System, wanted: Formula) -> Iterator[Loop]:
    """The same as runs."""
    sampled = Runs(system)
    with np.errstate(all="ignore"):
        starts = sampled.initial()
        if not len(starts):
            return
        for round_, length in enumerate(_LENGTHS):
            rows = starts[np.arange(_RUNS) % len(starts)]
            states, branches = _float_runs(system, sampled, rows, length, wanted, np.random.default_rng(round_))
            good = [sampled.holds(wanted, layer) for layer in states]
            for row in range(len(rows)):
                steps = [int(b[row]) for b in branches]
                steps = steps[: next((i for i, b in enumerate(steps) if b < 0), len(steps))]
                run = np.array([layer[row] for layer in states[: len(steps) + 1]])
                yield from _of_run(system, run, steps, np.array([layer[row] for layer in good[: len(run)]]))


def _float_runs(
    system: System, runs: Runs, rows: Floats, length: int, wanted: Formula, rng: np.random.Generator
) -> tuple[list[Floats], list[Floats]]:
    """The states of runs step by step, and the branches taken, -1 where there is none."""
    names, states, taken = list(system.variables), [rows], []
    low, high = (np.array([float(d[i]) for d in system.box.values()]) for i in (0, 1))
    for _ in range(length):
        ask()
        at = Batch(dict(zip(names, states[-1].T, strict=True)))
        score, after = [], []
        for branch in system.branches:
            new = states[-1].copy()
            for name, expr in branch.updates:
                new[:, names.index(name)] = at.value(expr)
            inside = ((new >= low) & (new <= high)).all(1) & at.truth(branch.guard)
            score.append(np.where(inside, rng.random(len(new)) + 1 + 2 * runs.holds(wanted, new), 0))
            after.append(np.where(inside[:, None], new, states[-1]))
        best = np.argmax(score, axis=0)
        taken.append(np.where(np.max(score, axis=0) > 0, best, -1))
        states.append(np.array(after)[best, np.arange(len(best))])
    return states, taken


def _of_run(system: System, run: Floats, branches: Sequence[int], good: Floats) -> Iterator[Loop]:
    whole = np.array([d.integral for d in system.variables.values()])
    spread = np.maximum(np.ptp(run, axis=0), 1e-9)
    pairs = []
    for i in range(len(run) - 1):
        for j in range(i + 1, min(len(run), i + _LOOP + 1)):
            if (run[i][whole] == run[j][whole]).all():
                apart = float(np.max(np.abs(run[i] - run[j]) / spread))
                pairs.append((not good[i:j].all(), round(apart, 1), min(i, _STEM + 1), j - i, i, j))
    for *_, i, j in sorted(pairs)[:_TRIES]:
        ask()
        found = _closed(system, run, branches, i, j)
        if found is not None:
            yield found


def _closed(system: System, run: Floats, branches: Sequence[int], i: int, j: int) -> Loop | None:
    """The lasso of the branches of a run, with a stem of i steps, and the loop from i to j."""
    loop = branches[i:j]
    at = _solved(system, _exact(system, run[i]), loop, None)
    if at is None:
        return None
    stem: Sequence[int] = ()
    start: State | None = at
    if not is_initial(system, at):
        if i > _STEM:
            return None
        stem, start = branches[:i], _solved(system, _exact(system, run[0]), branches[:i], at)
    if start is None or not is_initial(system, start):
        return None
    states = _path(system, start, [*stem, *loop])
    if states is None or states[-1] != states[len(stem)]:
        return None
    return Loop(states[:-1], [*stem, *loop], len(stem))


def _drawn(system: System, loop: Loop) -> Witness:
    states = loop.states
    keys: dict[tuple[Fraction, ...], int] = {}
    numbers = [keys.setdefault(tuple(state.values()), number) for number, state in enumerate(states)]
    after = [*numbers[1:], numbers[loop.back]]
    steps: dict[int, dict[int, int]] = {}
    for number, branch, successor in zip(numbers, loop.branches, after, strict=True):
        steps.setdefault(number, {})[branch] = successor
    places = {number: Place((), steps[number], True) for number in dict.fromkeys(numbers)}
    return draw(system, _Reasons(system, states), places)


class _Reasons:
    """The states of a lasso, and their steps."""

    def __init__(self, system: System, states: list[State]) -> None:
        self._system, self._states = system, states

    def state(self, key: int) -> Mapping[str, Fraction]:
        return self._states[key]

    def step(self, key: int) -> Step:
        return Step(self._system, self._states[key])

    def chosen(self, formula: Formula, key: int) -> tuple[Formula, ...]:
        return ()

    def followed(self, formula: Formula, key: int) -> tuple[tuple[int, int], ...]:
        return ()


def _exact(system: System, row: Floats) -> State:
    found = {}
    for (name, decl), value in zip(system.variables.items(), row.tolist(), strict=True):
        exact = Fraction(round(value)) if decl.integral else Fraction(round(value * _ROUNDED), _ROUNDED)
        found[name] = min(max(exact, decl.lower), decl.upper)
    return found


def _path(system: System, state: State, branches: Sequence[int]) -> list[State] | None:
    """The states of a run, None where it is none."""
    states = [state]
    for branch in branches:
        ask()
        if any(value.denominator.bit_length() > _MOST_BITS for value in states[-1].values()):
            return None
        try:
            found = Step(system, states[-1]).successor(branch)
        except ModelError:
            return None
        if found is None:
            return None
        states.append(found.state)
    return states


def _solved(system: System, state: State, branches: Sequence[int], goal: State | None) -> State | None:
    """A state from which the branches lead to the goal, or (None) back to itself, near the one that is given."""
    real = [name for name, decl in system.variables.items() if not decl.integral]
    for _ in range(6):
        path = _path(system, state, branches)
        if path is None:
            return None
        end, to = path[-1], state if goal is None else goal
        if end == to:
            return state
        if any(end[name] != to[name] for name in system.variables if name not in real):
            return None
        columns = []
        for name in real:
            moved = next((m for sign in (1, -1) if (m := _moved(system, state, name, sign, branches))), None)
            if moved is None:
                return None
            sign, other = moved
            columns.append([(other[n] - end[n]) / (sign * _DELTA) for n in real])
        matrix = [
            [(-1 if r == c and goal is None else 0) + columns[c][r] for c in range(len(real))] for r in range(len(real))
        ]
        change = solve(matrix, [to[n] - end[n] for n in real])
        if change is None:
            return None
        state = {**state, **{n: state[n] + d for n, d in zip(real, change, strict=True)}}
        if misfit(system, state):
            return None
    return None


def _moved(system: System, state: State, name: str, sign: int, branches: Sequence[int]) -> tuple[int, State] | None:
    moved = {**state, name: state[name] + sign * _DELTA}
    path = None if misfit(system, moved) else _path(system, moved, branches)
    return None if path is None else (sign, path[-1])


def solve(matrix: list[list[Fraction]], right: list[Fraction]) -> list[Fraction] | None:
    """The solution of linear equations in rationals, free variables 0; None where there is none."""
    rows, free = [[*row, value] for row, value in zip(matrix, right, strict=True)], len(matrix)
    pivots: list[int] = []
    for column in range(free):
        at = next((i for i in range(len(pivots), len(rows)) if rows[i][column]), None)
        if at is None:
            continue
        top = len(pivots)
        rows[top], rows[at] = rows[at], rows[top]
        rows[top] = [value / rows[top][column] for value in rows[top]]
        for i, row in enumerate(rows):
            if i != top and row[column]:
                rows[i] = [a - row[column] * b for a, b in zip(row, rows[top], strict=True)]
        pivots.append(column)
    if any(row[-1] for row in rows[len(pivots) :]):
        return None
    found = [Fraction(0)] * free
    for row, column in zip(rows, pivots, strict=False):
        found[column] = row[-1]
    return found
