"""Runs in floats that may violate AG p in a window of steps: beam search over noise and branches.

    for each comparison of p, runs from samples of the boxes:
        step by step, noise at random, mostly at an end of its range, and branches at random
        those go on that are farthest towards breaking the comparison, and others at random

Noise of long runs is too many values for samples of all of them, and choices of networks leave slopes nothing to tell.
The farthest states of a step may come from few runs, which differ in what follows (importance splitting: Kahn, Harris,
1951).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import numpy as np

from venmas.bounds.rounding import Floats, Index
from venmas.logic import Atom, nnf, subformulas
from venmas.logic.window import Window
from venmas.model.evaluation.simulate import random_branches, step_batch
from venmas.model.system.system import System
from venmas.model.system.variables import Box
from venmas.procedures.flowpipes.falsify import lacking, point_of
from venmas.procedures.flowpipes.places import Places, drawn
from venmas.procedures.hybrid.through_time import noise_of

_RUNS, _FAR = 4000, 800
_ENDS = 0.75
"""Part of the noise that is at an end of its range."""
_MOST, _BEST = 4, 4
"""Comparisons, and initial states, at most."""


def beams(
    system: System, asked: Window, boxes: Sequence[Box], tick: Callable[[], None], seed: int
) -> list[tuple[dict[str, Fraction], list[str]]]:
    """Initial states of a `drawn` system from which floats break p, the clearest first; none of them is proved to.

    Each with the branches of the run.
    """
    first, last, holds = asked
    if last is None or (not system.disturbances and not noise_of(system) and len(system.branches) == 1):
        return []
    wrong = nnf(holds, negate=True)
    atoms = [node for node in subformulas(wrong) if isinstance(node, Atom)]
    rng = np.random.default_rng(seed)
    best: list[tuple[float, dict[str, Fraction], list[str]]] = []
    for atom in atoms[:_MOST]:
        beam = _Beam(system, boxes, rng)
        for step in range(last + 1):
            tick()
            if step >= first:
                missing = lacking(wrong, beam.state)
                row = int(missing.argmin())
                if missing[row] <= 0:
                    best.append((float(missing[row]), *beam.run(row)))
            if step == last or not beam.advance(lacking(atom, beam.state)):
                break
    return [(point, path) for _, point, path in sorted(best, key=lambda one: one[0])[:_BEST]]


class _Beam:
    """Runs that are followed together; in each step some of the states before are left out, and others doubled."""

    def __init__(self, system: System, boxes: Sequence[Box], rng: np.random.Generator) -> None:
        self._drawn, self._boxes, self._places, self._rng = system, boxes, Places(system, boxes), rng
        self._system, self._from = self._places.system, np.arange(_RUNS)
        self._root = rng.integers(len(boxes), size=_RUNS)
        self._part = drawn(rng, (_RUNS, len(self._places.names)), 0.5)
        self.state = self._places.initial(self._root, self._part)
        # `_from`: the number of the initial state of each run, of which `_root` says in which box it is
        self._before: list[tuple[Index, Index, Floats]] = []
        """Of each step: of each state the one before, the branch, and the places of the noise after it."""

    def advance(self, missing: Floats) -> bool:
        """A step of the states that miss least, and of others; False where none has a successor."""
        rng, number = self._rng, len(self._before)
        first = np.argsort(missing, kind="stable")[:_FAR]
        kept = np.concatenate([first, rng.permutation(_RUNS)[: _RUNS - _FAR]])
        with np.errstate(all="ignore"):
            branch, alive = random_branches(self._system, self._kept(kept), rng)
            if not alive.any():
                return False
            kept, branch = (each[alive][np.arange(_RUNS) % alive.sum()] for each in (kept, branch))
            state, _ = step_batch(self._system, self._kept(kept), branch)
        noise = self._places.noise
        parts, self._from = drawn(rng, (_RUNS, len(noise)), _ENDS), self._from[kept]
        for i, (name, values) in enumerate(noise.items()):
            state[name] = self._places.at(values[min(number, len(values) - 1)], self._root[self._from], parts[:, i])
        self.state = dict(state)
        self._before.append((kept, branch, parts))
        return True

    def _kept(self, rows: Index) -> Mapping[str, Floats]:
        return {name: values[rows] for name, values in self.state.items()}

    def run(self, row: int) -> tuple[dict[str, Fraction], list[str]]:
        """The initial state, and the branches, of the run to a state."""
        noise, path = list[tuple[str, float]](), list[str]()
        for step in range(len(self._before), 0, -1):
            kept, branch, places = self._before[step - 1]
            noise += [
                (values[step - 1], float(places[row, i]))
                for i, values in enumerate(self._places.noise.values())
                if step <= len(values)
            ]
            path.append(self._drawn.branches[int(branch[row])].name)
            row = int(kept[row])
        names = [*self._places.names, *(name for name, _ in noise)]
        parts = np.array([*self._part[row].tolist(), *(part for _, part in noise)])
        return point_of(self._drawn, self._boxes[self._root[row]], names, parts), path[::-1]
