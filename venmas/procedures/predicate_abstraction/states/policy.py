"""The choice of a network at many integer points at once, exactly: floats decide, rationals where floats do not.

The errors of floats are bounded a priori (Higham, *Accuracy and Stability of Numerical Algorithms*, 2nd ed., Lemma
3.1), for all points of a batch together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from venmas.bounds.crown import Swept
from venmas.bounds.rounding import TINY, UNIT_ROUNDOFF, Bools, Floats, Ints, gamma
from venmas.budget import ask
from venmas.logic.linear import as_fraction
from venmas.nn import Network

if TYPE_CHECKING:
    from venmas.procedures.predicate_abstraction.states.box_condition import BoxCondition

_REMEMBERED = 100_000
"""Exact choices that are kept."""


class Policy:
    """``argmax network(x[inputs])``, the lowest index on a tie.

    inputs: for each input of the network the column of a state that it reads, or the number that it always is. among:
    which labels compete in a state; all by default.
    """

    def __init__(self, network: Network, inputs: Sequence[int | Fraction], among: Filter | None = None) -> None:
        self.network, self.inputs, self.among = network, tuple(inputs), among
        self.columns: Ints = np.array([i if isinstance(i, int) else -1 for i in inputs], dtype=np.int64)
        self.constants: Floats = np.array([0.0 if isinstance(i, int) else float(i) for i in inputs])
        self.read: Ints = np.unique(self.columns[self.columns >= 0])
        """The columns that it reads, those of conditions among them."""
        if among is not None:
            self.read = np.union1d(self.read, among.read)
        self.exact = 0
        self._choices: dict[bytes, int] = {}
        self._sizes = [np.abs(layer.weight) for layer in network.layers]

    @property
    def labels(self) -> int:
        """Number of choices."""
        return self.network.output_size

    def gather(self, states: Ints | Floats) -> Floats:
        """States (.., n) as inputs of the network (.., m)."""
        if (self.columns >= 0).all():
            return states[..., self.columns].astype(np.float64)
        return np.where(self.columns >= 0, states[..., self.columns], self.constants).astype(np.float64)

    def choose(self, states: Ints) -> Ints:
        """The choice in each state: (B, n) -> (B,)."""
        values, error = self._competing(states)
        best: Ints = values.argmax(1).astype(np.int64)
        rows = np.arange(len(values))
        low = values[rows, best] - error[best]
        high = values + error
        high[rows, best] = -np.inf
        for row in np.flatnonzero(~(low > high.max(1, initial=-np.inf))).tolist():
            best[row] = self._exactly(states[row])
        return best

    def picks(self, states: Ints, label: Ints) -> Bools:
        """Is the choice in state b label[b]? (B, n), (B,) -> (B,)."""
        values, error = self._competing(states)
        rows = np.arange(len(values))
        own = values[rows, label]
        low = values - error
        high = values + error
        low[rows, label], high[rows, label] = -np.inf, -np.inf
        margin = error[label]
        sure: Bools = own - margin > high.max(1, initial=-np.inf)
        for row in np.flatnonzero(~sure & ~(own + margin < low.max(1, initial=-np.inf))).tolist():
            sure[row] = self._exactly(states[row]) == label[row]
        return sure

    def _competing(self, states: Ints) -> tuple[Floats, Floats]:
        """As `_values`, and minus infinity for labels that do not compete."""
        values, error = self._values(states)
        return (values if self.among is None else np.where(self.among.allowed(states), values, -np.inf)), error

    def _values(self, states: Ints) -> tuple[Floats, Floats]:
        """Outputs (B, k) and bounds on their errors (k,), the rounding of what is made of them counted in."""
        x = self.gather(states)
        with np.errstate(all="ignore"):
            values = self.network.evaluate(x)
            mass: Floats = np.abs(x).max(0, initial=0.0)
            error: Floats = np.zeros(len(mass))
            for layer, size in zip(self.network.layers, self._sizes, strict=True):
                g = gamma(layer.in_size + 3)
                reach = (size @ mass + np.abs(layer.bias)) * (1 + 4 * g)
                error = (g * reach + size @ error) * (1 + 4 * g) + TINY
                mass = reach + error
            return values, error + 8 * UNIT_ROUNDOFF * mass

    def _exactly(self, state: Ints) -> int:
        key = state[self.read].tobytes()
        choice = self._choices.get(key)
        if choice is None:
            ask()
            self.exact += 1
            point = [Fraction(int(state[i])) if isinstance(i, int) else as_fraction(i) for i in self.inputs]
            outputs = self.network.evaluate_exact(point)
            on = np.arange(self.labels) if self.among is None else np.flatnonzero(self.among.allowed(state[None])[0])
            choice = max(on.tolist(), key=lambda label: (outputs[label], -label))
            if len(self._choices) < _REMEMBERED:
                self._choices[key] = choice
        return choice


class Filter:
    """Labels that compete: their conditions over integers, the first columns of states (`with_exits` adds one).

    Over boxes of states the conditions are true, false or open:

        the label's own is false, and some other is true: it is not picked
        it has to win against each label whose condition is true; against all where every condition is false
        open ones are cut, as they matter to what is picked
    """

    def __init__(self, conditions: Sequence[BoxCondition]) -> None:
        self.conditions = tuple(conditions)
        self.width = len(conditions[0].low)
        self.read: Ints = np.unique(np.concatenate([np.flatnonzero((c.rows != 0).any(0)) for c in conditions]))
        """The variables that conditions read."""

    def allowed(self, states: Ints) -> Bools:
        """Labels that compete in states (B, n): (B, labels)."""
        states = states[:, : self.width]
        truths = np.stack([c.over(states, states).truth for c in self.conditions], 1) == 1
        return np.asarray(truths | ~truths.any(1, keepdims=True))

    def swept(self, label: int, low: Ints, high: Ints, ask: Callable[[tuple[int, ...], Ints], Swept]) -> Swept:
        """Bounds' verdicts about boxes (B, n), where `ask` bounds some of them for rivals of the label."""
        a, b = low[:, : self.width], high[:, : self.width]
        truths = np.stack([c.over(a, b).truth for c in self.conditions], 1)
        sure = truths == 1
        never = (truths[:, label] == -1) & sure.any(1)
        rivals = np.where((truths == -1).all(1)[:, None], True, sure)
        rivals[:, label] = False
        kinds, kind = np.unique(rivals, axis=0, return_inverse=True)
        found: Swept | None = None
        for number, row in enumerate(kinds):
            at = np.flatnonzero(kind.reshape(-1) == number)
            some = tuple(np.flatnonzero(row).tolist())
            # without a rival nothing closes the box: what is bounded tells where to look
            part = ask(some or tuple(j for j in range(len(self.conditions)) if j != label), at)
            if not some:
                part = replace(part, closed=np.zeros(len(at), bool))
            found = _placed(found, part, at, len(low))
        assert found is not None
        return replace(found, closed=found.closed | never)

    def influence(self, low: Ints, high: Ints) -> Floats:
        """(B, n): how many open conditions a variable of a box matters to, as a part of all."""
        found = np.zeros(low.shape)
        for c in self.conditions:
            matter = c.over(low[:, : self.width], high[:, : self.width]).matter
            found[:, : self.width] += ((matter.T.astype(np.float64) @ (c.rows != 0)) > 0) / len(self.conditions)
        return found


def _placed(found: Swept | None, part: Swept, at: Ints, count: int) -> Swept:
    """Verdicts about all boxes, with those about some."""
    names = ("closed", "lower", "influence", "tried", "worst", "low", "high")
    if found is None:
        empty = {name: np.zeros((count, *getattr(part, name).shape[1:]), getattr(part, name).dtype) for name in names}
        found = replace(part, **empty, opened=np.zeros((count, 0), bool))
    for name in names:
        getattr(found, name)[at] = getattr(part, name)
    return found
