"""Refuting a target by bounds alone, a step of the runs at a time: what mode mono has before any program is made."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from venmas.bounds import State, States
from venmas.bounds.reach import Reach
from venmas.encoding import Task
from venmas.encoding.encode import bounded_regions, region_formula
from venmas.encoding.points import Oracle
from venmas.engine.search import deep_runs
from venmas.logic import Formula, conjunction
from venmas.model.system import System


class Enclosure:
    """Symbolic bounds of the states that follow the initial ones; `run` goes on where it was left.

    The bounds are rigorous (docs of `venmas.bounds.linear_forms`) and thresholds that they touch are decided in rationals, so
    that what they refute is refuted. Networks are the real functions of their weights.
    """

    def __init__(self, system: System, target: Formula) -> None:
        self.system, self.target = system, target
        self.refuted = False
        """Is it shown that no initial state meets the target, and that no run left the declared box on the way?"""
        self.over = False
        """Is there nothing more to find out?"""
        self._tick: Callable[[], None] = lambda: None
        self._batches: list[States] | None = None
        self._asked: list[tuple[Oracle, State, Formula]] = []

    @property
    def may_deadlock(self) -> bool:
        """May a run that was looked at end in a state without successor?"""
        return any(batch.found.may_deadlock for batch in self._batches or ())

    def run(self, tick: Callable[[], None]) -> bool:
        """Go on until the target is `refuted`, bounds leave it open, or `tick`, called between two steps, raises."""
        self._tick = tick
        try:
            with deep_runs(Task(self.system, self.target, "monolithic")), np.errstate(over="ignore", invalid="ignore"):
                if self._batches is None:
                    self._begin()
                while self._asked and not self.over:
                    oracle, root, wanted = self._asked[-1]
                    self.over = oracle.truth(root, wanted) is not False or any(
                        batch.found.may_leave_box for batch in self._batches or ()
                    )
                    self._asked.pop()
        except (OverflowError, RecursionError):  # numbers beyond floats say nothing
            self.over = True
        self.refuted = not self.over
        self.over = True
        return self.refuted

    def _begin(self) -> None:
        """States of the initial regions: all that are points together, as runs from them may meet."""
        able = bounded_regions(self.system, self.target)
        points = [i for i, (_, _, box) in enumerate(able) if all(low == high for low, high in box.values())]
        groups = ([points] if points else []) + [[i] for i in range(len(able)) if i not in set(points)]
        self._batches = []
        for group in groups:
            states = States.initial(self.system, [able[i][2] for i in group])
            self._batches.append(states)
            oracle = Oracle(Reach(states.members, lambda _: self._tick()))
            for i, root in zip(group, states.members, strict=True):
                self._asked.append((oracle, root, conjunction([region_formula(able[i][1]), self.target])))
