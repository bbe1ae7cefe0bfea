"""Runs in floats that may violate AG p in a window of steps: noise and branches of whole runs, which evolve.

    runs from samples of the boxes, with noise that is held for some steps
    again and again, of the runs that are nearest to breaking p:
        one value goes to either end of its range; some values are drawn anew; noise is held at an end for some steps
        the best of all go on

What breaks p late is often to be brought about early, when the states that it goes through are in no way near to it:
a search step by step leaves these out. Evolution strategies (Rechenberg, 1973; Schwefel, 1977) and local search.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import numpy as np

from venmas.bounds.rounding import Bools, Floats, Index
from venmas.logic import nnf
from venmas.logic.window import Window
from venmas.model.evaluation.simulate import Batch, step_batch
from venmas.model.system.system import System
from venmas.model.system.variables import Box
from venmas.procedures.flowpipes.falsify import lacking, point_of
from venmas.procedures.flowpipes.places import Places, drawn

_RUNS, _KEPT, _PARENTS, _CHILDREN = 4000, 40, 12, 200
"""Runs at first; those that go on, those that have children, and of each how many of either kind."""
_ENDS, _HELD = 0.75, 20
"""Part of the values that are at an end of their range; steps for which noise is held, at most."""
_ROUNDS, _PATIENCE = 60, 6
"""Rounds, and those without a better run, at most."""
_FOUND = 4


def evolved(
    system: System, asked: Window, boxes: Sequence[Box], tick: Callable[[], None], seed: int
) -> list[tuple[dict[str, Fraction], list[str]]]:
    """Initial states of a `drawn` system from which floats break p, the clearest first; none of them is proved to.

    Each with the branches of the run.
    """
    if not asked[1]:  # of no steps there is no noise
        return []
    runs = _Runs(system, asked, boxes, tick)
    if not runs.width:
        return []
    rng = np.random.default_rng(seed)
    root, part = rng.integers(len(boxes), size=_RUNS), runs.first(rng)
    missing, since = runs.missing(root, part), 0
    for _ in range(_ROUNDS):
        best = np.unique(missing, return_index=True)[1][:_KEPT]
        root, part, missing = root[best], part[best], missing[best]
        if missing[0] <= 0 or since == _PATIENCE:
            break
        parents = np.repeat(np.arange(min(_PARENTS, len(best))), 2 * _CHILDREN)
        children = runs.changed(rng, part[parents])
        after = runs.missing(root[parents], children)
        since = 0 if after.min() < missing[0] else since + 1
        missing = np.concatenate([missing, after])
        root, part = np.concatenate([root, root[parents]]), np.concatenate([part, children])
    order = np.argsort(missing, kind="stable")[:_FOUND]
    return [runs.run(int(root[i]), part[i]) for i in order if missing[i] <= 0]


class _Runs:
    """Runs as rows of numbers from 0 to 1: parts of the ranges of initial values, and of noise, and choices of
    branches, each of all steps.

    width: how many numbers a run has.
    """

    def __init__(self, system: System, asked: Window, boxes: Sequence[Box], tick: Callable[[], None]) -> None:
        self._first, last, holds = asked
        assert last is not None
        self._drawn, self._boxes, self._places, self._tick = system, boxes, Places(system, boxes), tick
        self._system, self._names = self._places.system, self._places.names
        self._steps, self._wrong = last, nnf(holds, negate=True)
        self._noise = {name: values[:last] for name, values in self._places.noise.items()}
        self._several = len(system.branches) > 1
        self._inputs = [*map(len, self._noise.values()), *([self._steps] if self._several else [])]
        self.width = len(self._names) + sum(self._inputs)

    def first(self, rng: np.random.Generator) -> Floats:
        """Samples (runs, width)."""
        part = drawn(rng, (_RUNS, self.width), _ENDS)
        begin = len(self._names)
        for length in self._inputs:
            held = rng.integers(1, _HELD + 1, size=(_RUNS, 1))
            at = np.minimum((np.arange(length) + rng.integers(_HELD, size=(_RUNS, 1))) // held, length - 1)
            own = part[:, begin : begin + length]
            part[:, begin : begin + length] = np.take_along_axis(own, at, 1)
            begin += length
        return part

    def changed(self, rng: np.random.Generator, part: Floats) -> Floats:
        """Children of runs, one a row."""
        count, rows = len(part), np.arange(len(part))
        made, how = part.copy(), rng.random(count)
        single = how < 1 / 2
        made[rows[single], rng.integers(self.width, size=int(single.sum()))] = rng.integers(2, size=int(single.sum()))
        anew = np.flatnonzero(how >= 3 / 4)
        mask = rng.random((len(anew), self.width)) < rng.integers(2, 6, size=(len(anew), 1)) / self.width
        made[anew] = np.where(mask, drawn(rng, mask.shape, _ENDS), made[anew])
        begins = np.cumsum([len(self._names), *self._inputs])
        for row in np.flatnonzero(~single & (how < 3 / 4)) if self._inputs else ():
            which = int(rng.integers(len(self._inputs)))
            start = int(rng.integers(begins[which], begins[which + 1]))
            made[row, start : min(start + int(rng.integers(1, _HELD)), begins[which + 1])] = rng.integers(2)
        return made

    def missing(self, root: Index, part: Floats) -> Floats:
        """By how much runs miss to break p, in the step where they miss least: (runs,)."""
        state, noise, branches = self._begun(root, part)
        least = np.full(len(part), np.inf)
        for step in range(self._steps + 1):
            self._tick()
            if step >= self._first:
                least = np.minimum(least, lacking(self._wrong, state))
            if step < self._steps:
                state, alive = self._after(state, noise, branches, step)
                for name in state if not alive.all() else ():
                    state[name] = np.where(alive, state[name], np.nan)
        return least

    def run(self, root: int, part: Floats) -> tuple[dict[str, Fraction], list[str]]:
        """The initial state of a run, and its branches."""
        names = [*self._names, *(name for values in self._noise.values() for name in values)]
        point = point_of(self._drawn, self._boxes[root], names, part[: len(names)])
        path = list[str]()
        if self._several:
            state, noise, branches = self._begun(np.array([root]), part[None])
            for step in range(self._steps):
                path.append(self._drawn.branches[int(self._branch(state, branches, step)[0][0])].name)
                state, _ = self._after(state, noise, branches, step)
        return point, path

    def _begun(self, root: Index, part: Floats) -> tuple[dict[str, Floats], dict[str, Floats], Floats]:
        """Initial states of runs, the noise after each step, and the choices of branches."""
        at, noise, places = len(self._names), dict[str, Floats](), self._places
        for name, later in self._noise.items():
            noise[name] = np.stack([places.at(n, root, part[:, at + i]) for i, n in enumerate(later)], 1)
            at += len(later)
        return places.initial(root, part), noise, part[:, at:]

    def _after(
        self, state: dict[str, Floats], noise: Mapping[str, Floats], branches: Floats, step: int
    ) -> tuple[dict[str, Floats], Bools]:
        """The states after a step, and which runs have one."""
        branch, alive = self._branch(state, branches, step)
        with np.errstate(all="ignore"):
            state, _ = step_batch(self._system, state, branch)
        state = dict(state)
        for name, values in noise.items():
            state[name] = values[:, min(step, values.shape[1] - 1)]
        return state, alive

    def _branch(self, state: dict[str, Floats], branches: Floats, step: int) -> tuple[Index, Bools]:
        """The branch of each run, one of those that are enabled, and whether there is one."""
        at = Batch(state)
        enabled = np.stack([at.truth(branch.guard) for branch in self._system.branches], 1)
        count = enabled.sum(1)
        pick = np.minimum((branches[:, step] * count).astype(int), count - 1) if self._several else np.zeros_like(count)
        return (np.cumsum(enabled, 1) > pick[:, None]).argmax(1), count > 0
