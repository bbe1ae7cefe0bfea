"""Batches of integer states: successors, truth of conditions, and the initial states.

Bounds decide what they can, in 64-bit integers and outward rounded floats as for inductive sets; each state that they
leave open is stepped from in exact rationals. So every step is exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from venmas.budget import ask
from venmas.checker.inductive.batch import Batch
from venmas.checker.inductive.claims import Claims
from venmas.checker.inductive.constraints import Bools, Boxes, Ends, Linear
from venmas.checker.inductive.intervals import Intervals
from venmas.errors import InputError
from venmas.logic.formula import TRUE
from venmas.logic.linear import Comparison
from venmas.model.evaluation.regions import is_initial
from venmas.model.evaluation.simulate import Step
from venmas.model.invariant import Invariant
from venmas.model.system.system import System

_BOXES = 4096
"""Boxes of initial states that are cut at a time."""


class Points:
    """The states of a system as rows of integers (B, variables), in the order of declaration.

    Raises `InputError` for systems with reals, disturbances, or numbers too large.
    """

    def __init__(self, system: System) -> None:
        self.system = system
        self._batch = Batch(Claims(system, TRUE, Invariant((), ("",))))
        if not self._batch.possible or system.disturbances or system.quantities:
            raise InputError("it is about systems of integers of moderate size, without disturbances")
        self.ranges = self._batch.ranges

    def named(self, state: Ends) -> dict[str, Fraction]:
        """A state (variables,) by name."""
        return {name: Fraction(value) for name, value in zip(self.system.variables, state.tolist(), strict=True)}

    def steps(self, states: Ends) -> Iterator[tuple[int, NDArray[np.intp], Ends]]:
        """Of each branch: its index, the rows that have a step by it, and where that leads. Raises `ModelError`."""
        seen = Intervals(self._batch.number, Boxes(states, states))
        exact: dict[int, Step] = {}
        for index, branch in enumerate(self.system.branches):
            may, may_not = seen.truth(branch.guard)
            taken, open_, new = may.copy(), may & may_not, states.copy()
            for name, expr in branch.updates:
                at = self._batch.number[name]
                least, most = seen.value(expr)
                low, high = self.ranges[:, at]
                sure = (least == most) & (np.trunc(least) == least) & (least >= low) & (least <= high)
                open_ |= may & ~sure
                new[sure, at] = least[sure]
            for row in np.flatnonzero(open_).tolist():
                step = exact.get(row) or exact.setdefault(row, Step(self.system, self.named(states[row])))
                successor = step.successor(index)
                taken[row] = successor is not None
                if successor is not None:
                    new[row] = [int(successor.state[name]) for name in self.system.variables]
            rows = np.flatnonzero(taken)
            yield index, rows, new[rows]

    def truth(self, comparison: Comparison, states: Ends) -> Bools:
        """Mask of a linear comparison (B,)."""
        linear = Linear.of(comparison, self._batch.number, self.ranges)
        if linear is None:
            return np.array([comparison.holds(self.named(state)) for state in states], dtype=bool)
        values = states[:, linear.places] @ np.array(linear.factors, dtype=np.int64) + linear.constant
        return comparison.relation.truth(values)

    def initial(self) -> Iterator[Ends]:
        """All initial states, in blocks; one may come several times."""
        for claim in self._batch.claims.starts:
            waiting = [self._batch.whole(1)]
            while waiting:
                ask()
                boxes = self._batch.shrunk(claim, waiting.pop())
                boxes = boxes[np.flatnonzero(boxes.alive)]
                wide = np.argmax(boxes.high - boxes.low, axis=1) if len(boxes.low) else np.zeros(0, np.int64)
                rows = np.arange(len(wide))
                single = boxes.high[rows, wide] == boxes.low[rows, wide]
                points = boxes.low[single]
                yield points[[is_initial(self.system, self.named(point)) for point in points]]
                parts = self._halves(boxes, rows[~single], wide[~single])
                starts = range(0, len(parts.low), _BOXES)
                waiting += [parts[np.arange(at, min(at + _BOXES, len(parts.low)))] for at in starts]

    @staticmethod
    def _halves(boxes: Boxes, rows: NDArray[np.intp], wide: NDArray[np.intp]) -> Boxes:
        """The boxes of these rows, each cut in the middle of one variable."""
        low, high = boxes.low[rows], boxes.high[rows]
        which = np.arange(len(rows))
        middle = low[which, wide] + (high[which, wide] - low[which, wide]) // 2
        left, right = high.copy(), low.copy()
        left[which, wide], right[which, wide] = middle, middle + 1
        return Boxes(np.concatenate([low, right]), np.concatenate([left, high]))
