"""Smooth values in floats, in batches: for simulation, sampling and search, never for proofs.

Flows are followed by their Taylor series of order 8, in steps whose last terms are below 1e-13 of the state (or 1), at
most 500 of them; a run that would need more, or has no value (a root of a negative number), is nan from there on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from venmas.budget import ask
from venmas.model.evaluation.jets import Jets
from venmas.model.expressions.expr import Expr
from venmas.model.expressions.smooth_nodes import Extremum, Flow
from venmas.nn.network import SMOOTH

Array: TypeAlias = npt.NDArray[np.float64]

_ORDER, _TOLERANCE, _STEPS = 12, 1e-13, 500
_SLICES = np.linspace(0.0, 1.0, 17)
"""Where a step is looked at for the least and greatest values of an expression."""
_FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    **SMOOTH,
    "exp": np.exp,
    "sin": np.sin,
    "cos": np.cos,
    "sqrt": np.sqrt,
}


class Floats:
    """The ring of batches of floats, arrays of shape (B,); what has no value is nan or infinite."""

    def __init__(self, size: int) -> None:
        self._size = size

    def constant(self, value: Fraction) -> Array:
        """A rational, rounded."""
        return np.full(self._size, float(value))

    def add(self, left: Array, right: Array) -> Array:
        """Sum."""
        return left + right

    def scale(self, value: Array, factor: Fraction) -> Array:
        """Multiple."""
        return float(factor) * value

    def multiply(self, left: Array, right: Array) -> Array:
        """Product."""
        with np.errstate(over="ignore", invalid="ignore"):
            return left * right

    def dot(self, terms: Sequence[tuple[int, Array, Array]], divisor: int = 1) -> Array:
        """``sum n left right / divisor``."""
        total = np.zeros(self._size)
        with np.errstate(over="ignore", invalid="ignore"):
            for n, left, right in terms:
                part = left * right
                total += part if n == divisor else (n / divisor) * part
        return total

    def divide(self, left: Array, right: Array) -> Array:
        """Quotient."""
        with np.errstate(all="ignore"):
            return left / right

    def apply(self, function: str, value: Array) -> Array:
        """A function of expressions."""
        with np.errstate(all="ignore"):
            return np.asarray(_FUNCTIONS[function](value))


class Course:
    """A flow followed over its period: `ends`, by variable, and the extrema of expressions on the way."""

    def __init__(self, flow: Flow, size: int, value: Callable[[Expr], Array]) -> None:
        """value: of expressions where the period starts, shape (B,). Every row has steps of its own."""
        self._pieces: list[tuple[Array, Jets[Array]]] = []
        state = {v.name: value(v) for v in flow.variables}
        left, ring = np.full(size, float(flow.period)), Floats(size)
        for _ in range(_STEPS):
            ask()
            jets = Jets(ring, flow, state, value)
            with np.errstate(all="ignore"):
                length = np.minimum(left, _length(jets, state))
                state = {name: _polynomial(row, length) for name, row in jets.upto(_ORDER).items()}
            self._pieces.append((length, jets))
            left = left - length
            if not (left > 0).any():  # nan is none
                break
        self._lost = ~(left <= 0)
        self.ends = {name: np.where(self._lost, np.nan, values) for name, values in state.items()}

    def extremum(self, node: Extremum) -> Array:
        """The least or greatest value, of those at 17 times of each step; shape (B,)."""
        choose = np.maximum if node.greatest else np.minimum
        best = np.full(len(self._lost), -np.inf if node.greatest else np.inf)
        for length, jets in self._pieces:
            terms = jets.of(node.expr, _ORDER)
            with np.errstate(all="ignore"):
                for part in _SLICES:
                    best = choose(best, _polynomial(terms, part * length))
        return np.where(self._lost, np.nan, best)


def _length(jets: Jets[Array], state: dict[str, Array]) -> Array:
    """For each row, a step at whose end the last two terms of every series are small; shape (B,)."""
    least = np.full(len(next(iter(state.values()))), np.inf)
    for name, row in jets.upto(_ORDER).items():
        size = np.maximum(1.0, np.abs(state[name]))
        for k in (_ORDER - 1, _ORDER):
            if (term := row[k]) is not None:
                least = np.minimum(least, (_TOLERANCE * size / np.abs(term)) ** (1.0 / k))
    return least


def _polynomial(terms: list[Array | None], t: Array) -> Array:
    total = np.zeros(len(t))
    for term in reversed(terms[: _ORDER + 1]):
        total = total * t + (0.0 if term is None else term)
    return total
