"""What is no integer in the states of a batch: floats with bounds on their errors, used only to decide.

Rounding errors of networks, sums and the like are bounded a priori (Higham, *Accuracy and Stability of Numerical
Algorithms*, 2nd ed., Lemma 3.1). An argmax or a comparison that the bounds leave open in a row is decided there in
exact rationals.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from venmas.bounds.rounding import SMALLEST_NORMAL, TINY, UNIT_ROUNDOFF, Bools, Floats, gamma
from venmas.logic.linear import Relation
from venmas.model.evaluation.simulate import Exact
from venmas.model.expressions.expr import Application, Constant, Expr, Maximum, Output, Sum, Switch, Where
from venmas.nn import Network
from venmas.procedures.explicit.states.integers import Integers

if TYPE_CHECKING:
    from venmas.procedures.explicit.states.vectorised import Columns

_SPARSE = 32


class StateRows:
    """The columns of some states, and approximations with error bounds of what is no column."""

    def __init__(self, columns: Columns, matrix: Integers) -> None:
        self._columns, self.matrix = columns, matrix
        self._known: dict[int, tuple[Floats, Floats]] = {}
        self._outputs: dict[int, tuple[Floats, Floats]] = {}
        self._exact: dict[int, Exact] = {}

    def exact(self, row: int) -> Exact:
        """The reader of a row in rationals."""
        if row not in self._exact:
            state = {
                n: Fraction(int(x)) for n, x in zip(self._columns.system.variables, self.matrix[row], strict=False)
            }
            self._exact[row] = Exact(state)
        return self._exact[row]

    def compare(self, expr: Expr, relation: Relation) -> Bools:
        """The truth of a comparison with 0, shape (B,)."""
        low, high = _ends(*self._approximate(expr))
        truth: Bools = np.where(low > 0, relation.holds(Fraction(1)), relation.holds(Fraction(-1)))
        for row in np.flatnonzero(~((low > 0) | (high < 0))).tolist():
            truth[row] = relation.holds(self.exact(row).value(expr))
        return truth

    def argmax(self, scores: tuple[Expr, ...]) -> NDArray[np.int64]:
        """The index of the greatest score, the lowest one on a tie, shape (B,)."""
        pairs = [self._approximate(s) for s in scores]
        values = np.stack([v for v, _ in pairs], 1)
        low, high = _ends(values, np.stack([e for _, e in pairs], 1))
        best = np.argmax(values, 1)[:, None]
        np.put_along_axis(high, best, -np.inf, 1)
        found: NDArray[np.int64] = best[:, 0].astype(np.int64)
        for row in np.flatnonzero(~(np.take_along_axis(low, best, 1)[:, 0] > high.max(1))).tolist():
            at = self.exact(row)
            exact = [at.value(s) for s in scores]
            found[row] = exact.index(max(exact))
        return found

    def _approximate(self, expr: Expr) -> tuple[Floats, Floats]:
        """Floats near the values and bounds on their errors, each (B,); not finite where floats overflow."""
        if id(expr) not in self._known:
            self._known[id(expr)] = self._compute(expr)
        return self._known[id(expr)]

    def _compute(self, expr: Expr) -> tuple[Floats, Floats]:
        if self._columns.integral(expr):
            value = self.matrix[:, self._columns.column[id(expr)]].astype(np.float64)
            return value, np.zeros(len(value))
        match expr:
            case Constant(number):
                value = np.full(len(self.matrix), float(number))
                return value, np.abs(value) * gamma(1) + TINY
            case Sum(terms, constant):
                value = np.full(len(self.matrix), float(constant))
                size, error = np.abs(value), np.zeros(len(self.matrix))
                for coefficient, part in terms:
                    c = float(coefficient)
                    v, e = self._approximate(part)
                    value += c * v
                    size += max(abs(c), SMALLEST_NORMAL) * np.abs(v)
                    error += max(abs(c), SMALLEST_NORMAL) * e
                g = gamma(2 * len(terms) + 2)  # the products, the sums, the rounding of the coefficients
                return value, (g * size + error) * (1 + 4 * g) + TINY
            case Output(application, index):
                outputs, errors = self._apply(application)
                return outputs[:, index], errors[:, index]
            case Maximum(operands):
                pairs = [self._approximate(o) for o in operands]
                return np.max([v for v, _ in pairs], axis=0), np.max([e for _, e in pairs], axis=0)
            case Switch(selector, cases):
                chosen = self.matrix[:, self._columns.column[id(selector)]]
                masks = [chosen == key for key, _ in cases]
                pairs = [self._approximate(case) for _, case in cases]
                return np.select(masks, [v for v, _ in pairs]), np.select(masks, [e for _, e in pairs])
            case Where(condition, then, otherwise):
                test = self.matrix[:, self._columns.column[id(condition)]] != 0
                (v, e), (w, f) = self._approximate(then), self._approximate(otherwise)
                return np.where(test, v, w), np.where(test, e, f)
        raise TypeError(type(expr))

    def _apply(self, application: Application) -> tuple[Floats, Floats]:
        if id(application) not in self._outputs:
            error: Floats | None = None
            if all(self._columns.integral(i) for i in application.inputs):
                inputs = self.matrix.take(self._columns.inputs(application), axis=1)
                if np.count_nonzero(inputs) * _SPARSE < inputs.size:  # such as positions in one-hot form
                    self._outputs[id(application)] = self._network(
                        application.network, *self._first(application, inputs)
                    )
                    return self._outputs[id(application)]
                x = inputs.astype(np.float64)
            else:
                pairs = [self._approximate(i) for i in application.inputs]
                x, error = np.stack([v for v, _ in pairs], 1), np.stack([e for _, e in pairs], 1)
            self._outputs[id(application)] = self._network(application.network, x, error)
        return self._outputs[id(application)]

    def _first(self, application: Application, inputs: Integers) -> tuple[Floats, Floats, int]:
        """The values of the first layer for inputs most of which are 0, bounds on their errors, and the next layer."""
        layer = application.network.layers[0]
        rows, columns = np.nonzero(inputs)
        x, weight = inputs[rows, columns].astype(np.float64)[:, None], self._columns.transposed(layer.weight)
        parts = x * weight[columns]
        value, size = np.tile(layer.bias, (len(inputs), 1)), np.tile(np.abs(layer.bias), (len(inputs), 1))
        if len(rows):
            present, starts = np.unique(rows, return_index=True)
            value[present] += np.add.reduceat(parts, starts, axis=0)
            size[present] += np.add.reduceat(np.abs(parts), starts, axis=0)
        g = gamma(layer.in_size + 3)
        error = g * size * (1 + 4 * g) + TINY
        return (np.maximum(value, 0.0) if layer.rectified else value), error, 1

    def _network(self, network: Network, x: Floats, error: Floats | None, start: int = 0) -> tuple[Floats, Floats]:
        """Outputs near those of the real function and bounds on the errors: (B, in) -> (B, out) each.

        error: bounds on those of the inputs (B, in), None for exact ones. ReLU does not enlarge an error. start: the
        layer that takes x.
        """
        for layer in network.layers[start:]:
            g, size = gamma(layer.in_size + 3), self._columns.absolute(layer.weight)
            new = g * (np.abs(x) @ size.T + np.abs(layer.bias))
            if error is not None:
                new += error @ size.T
            error = new * (1 + 4 * g) + TINY
            x = x @ layer.weight.T + layer.bias
            if layer.rectified:
                x = np.maximum(x, 0.0)
        return x, error if error is not None else np.zeros_like(x)


def _ends(value: Floats, error: Floats) -> tuple[Floats, Floats]:
    slack = error + 4 * UNIT_ROUNDOFF * np.abs(value) + TINY
    return value - slack, value + slack
