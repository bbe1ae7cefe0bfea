"""Flows over affine forms of many sets at once: `venmas.checker.flowpipes.flow`, where nothing is asked on the way.

Intervals are forms without symbols. Of a step of length h, all sets have boxes B with ``X + [0, h] f(B)`` inside B
before it is made, each side being widened in those sets alone where it is left.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from venmas.budget import ask
from venmas.checker.covers.batch.forms import Bools, Ends, Form, Forms, between
from venmas.checker.flowpipes.curves import BeyondError, UnsupportedError
from venmas.model.evaluation.cuts import Fineness
from venmas.model.evaluation.jets import Jets
from venmas.model.expressions.expr import Expr
from venmas.model.expressions.smooth_nodes import Extremum, Flow

Ints = NDArray[np.int64]

_TRIES = 40
"""Boxes that are tried for a step."""


class Moved:
    """A flow from sets of states: what moves after the period.

    start: forms of the variables that move. outside: form of what is constant over the period. Raises `BeyondError`.
    """

    def __init__(
        self, ring: Forms, flow: Flow, start: Mapping[str, Form], outside: Callable[[Expr], Form], fine: Fineness
    ) -> None:
        self.ring, self.flow, self.outside, self.fine = ring, flow, outside, fine
        self.ends = dict(start)
        self._plain = Forms(ring.size, ring.bits, 0)
        self._length = flow.period / fine.substeps
        for _ in range(fine.substeps):
            ask()
            self._step()

    def extremum(self, node: Extremum) -> Form:
        """Not of batches. Raises `UnsupportedError`."""
        raise UnsupportedError("an extremum of a flow")

    def _step(self) -> None:
        order, h = self.fine.order, self._length
        rest = Jets(self._plain, self.flow, self._box(), self._constant).upto(order + 1)
        terms = Jets(self.ring, self.flow, self.ends, self.outside).upto(order)
        for name in self.flow.names:
            parts = [(h**k, term) for k, term in enumerate(terms[name][: order + 1]) if term is not None]
            if (last := rest[name][order + 1]) is not None:
                parts.append((h ** (order + 1), between(*last.ends)))
            self.ends[name] = self.ring.fresh(self.ring.combine(parts))

    def _box(self) -> dict[str, Form]:
        """Boxes that every solution stays in."""
        start = {name: form.ends for name, form in self.ends.items()}
        box = dict(start)
        for _ in range(_TRIES):
            forms = {name: between(*ends) for name, ends in box.items()}
            rates = Jets(self._plain, self.flow, forms, self._constant).upto(1)
            reached = {name: self._swept(start[name], rates[name][1]) for name in box}
            left = {n: (low < box[n][0]) | (box[n][1] < high) for n, (low, high) in reached.items()}
            if not any(rows.any() for rows in left.values()):
                return {name: between(*ends) for name, ends in reached.items()}
            box = {name: _wider(box[name], reached[name], rows) for name, rows in left.items()}
        raise BeyondError("no box is found that the flow stays in over a step")

    def _swept(self, start: Ends, rate: Form | None) -> Ends:
        """``start + [0, h] rate``."""
        if rate is None:
            return start
        low, high = self._plain.scale(rate, self._length).ends
        return start[0] + np.minimum(low, 0), start[1] + np.maximum(high, 0)

    def _constant(self, expr: Expr) -> Form:
        return between(*self.outside(expr).ends)


def _wider(box: Ends, reached: Ends, rows: Bools) -> Ends:
    """Around both, and a twentieth of it further, in some of the sets."""
    low, high = np.minimum(box[0], reached[0]), np.maximum(box[1], reached[1])
    more = (high - low) // 20 + 1
    return np.where(rows, low - more, box[0]), np.where(rows, high + more, box[1])
