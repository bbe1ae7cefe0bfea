"""A network over a cell: its units enclosed by integer forms over a common denominator, layer by layer.

The affine maps are exact; a unit whose sign is open gets the relaxation of `venmas.checker.exact.enclosures`. For the
semantics of float32 every layer is moved apart by what rounding may do to it.

In reals: a layer maps x to W x + b, with ReLU or without; its weights are the rationals that are stored (a layer that
divides by c has the weights 1/c). Let D be the least common denominator of all coefficients of the inputs, and k that
of the weights and biases of a layer. All forms of the units are integers over a common unit 1/D:

- *Affine*: if the layer's input is exact, the output is, by the exact sums. Else low takes low for positive and upp for
  negative weights, upp the other way round, and the output is not exact. Then D becomes D k.
- *ReLU*: unit by unit, with sup and inf over the cell (rows included): if inf low >= 0 it stays; else if sup upp <= 0
  it is 0; else it is *undecided*. If any is, D becomes 2^20 D, and an undecided unit gets that relaxation, where t is
  rounded up to the unit: ceil(t D) / D. The layer is exact if no unit is undecided and in all that stay low equals upp.
- *Output*: if the last layer has no ReLU, affine in the last hidden layer, and exact as that is. Else low and upp of
  the unit, exact if they are equal.
- *Difference of outputs i and j*: if the last layer has no ReLU, the affine row W_i - W_j, b_i - b_j. Else low_i -
  upp_j and upp_i - low_j, exact if both are.

In float32: state and environment stay exact; a network may compute any float32 evaluation, with any order of summation,
fused or not, its weights, biases and inputs rounded to nearest first, what is below 2^-126 kept or
flushed to zero, without overflow (Higham, *Accuracy and Stability of Numerical Algorithms*, 3.1). Let e = 2^-24, h =
2^-125. *Spreading* forms by errors makes D
2^40 D, subtracts from every low and adds to every upp ceil(error * D) / D, and makes the layer not exact. The *size* of
a unit is the greatest of 0, minus the least value of low, and the greatest value of upp over the box. The inputs are
spread by e * size + h before the first layer. For a layer with n inputs of sizes s: g = (n + 4) e / (1 - (n + 4) e); a
row's error is g (sum |w| s + |b|) + (n + 4 + sum s) h. It is spread before ReLU; in the last layer without ReLU, the
error is subtracted from low and added to upp without rounding, in a difference of outputs that of both rows. If a size,
a weight of the row, or sum |w| s + |b| is 2^126 or more, or the network divides by such a number, the proof is refused:
float32 may overflow.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, lcm
from operator import mul

from venmas.budget import ask, asking
from venmas.checker.exact.cell import Cell, Form, Q, negative, plus, rational
from venmas.checker.exact.enclosures import SLOPE_BITS, Enclosure, relaxation
from venmas.errors import ModelError
from venmas.nn import Network
from venmas.nn.network import IntegerLayer, Semantics

UNIT = rational(1, 2**24)
"""Unit roundoff of float32."""
TINY = rational(1, 2**125)
"""Bound on what underflow does to one float32 operation, gradual or flushed to zero, and to its result when read."""
_ERROR_BITS = 40


class Applied:
    """One network on a cell: integer forms over a common denominator, layer by layer."""

    def __init__(
        self, cell: Cell, network: Network, inputs: Sequence[Enclosure], open_forms: list[Form], semantics: Semantics
    ) -> None:
        self.cell, self.single = cell, semantics == "float32"
        self.width = len(cell.names) + 1
        forms = [q.low for q in inputs] + [q.upp for q in inputs]
        scale = lcm(*(int(c.denominator) for form in forms for c in form))
        whole = [[int(c.numerator) * (scale // int(c.denominator)) for c in form] for form in forms]
        self.low, self.upp = whole[: len(inputs)], whole[len(inputs) :]
        self.exact = all(q.exact for q in inputs)
        self.denominator = scale
        if self.single:
            if network.float32_obstacle:
                raise ModelError(f"{network.float32_obstacle}: the property can not be shown for it")
            self._spread([UNIT * size + TINY for size in self._sizes()])  # inputs are rounded, too
        layers = network.integer_layers
        hidden = layers if layers[-1].relu else layers[:-1]
        self.last = None if layers[-1].relu else layers[-1]
        for layer in hidden:
            ask()
            errors = self._errors(layer, layer.rows, layer.bias)
            self.low, self.upp = self._affine(layer.rows, layer.bias)
            self.denominator *= layer.scale
            if self.single:
                self._spread(errors)
            if layer.relu:
                self._relu(open_forms)

    def _affine(self, rows: Sequence[Sequence[int]], bias: Sequence[int]) -> tuple[list[list[int]], list[list[int]]]:
        columns_low = [[form[c] for form in self.low] for c in range(self.width)]
        if self.exact:
            new = [[sum(map(mul, row, column)) for column in columns_low] for row in asking(rows)]
            for form, b in zip(new, bias, strict=True):
                form[0] += b * self.denominator
            return new, new
        columns_upp = [[form[c] for form in self.upp] for c in range(self.width)]
        low, upp = [], []
        for row, b in zip(asking(rows), bias, strict=True):
            plus_, minus = [max(w, 0) for w in row], [min(w, 0) for w in row]
            pairs = list(zip(columns_low, columns_upp, strict=True))
            low.append([sum(map(mul, plus_, lo)) + sum(map(mul, minus, up)) for lo, up in pairs])
            upp.append([sum(map(mul, plus_, up)) + sum(map(mul, minus, lo)) for lo, up in pairs])
            low[-1][0] += b * self.denominator
            upp[-1][0] += b * self.denominator
        return low, upp

    def _sizes(self) -> list[Q]:
        """Greatest absolute value of each entry over the box."""
        forms = [(self._form(lo), self._form(up)) for lo, up in asking(zip(self.low, self.upp, strict=True))]
        return [max(self.cell.box_max(negative(lo)), self.cell.box_max(up), rational(0)) for lo, up in forms]

    def _errors(self, layer: IntegerLayer, rows: Sequence[Sequence[int]], bias: Sequence[int]) -> list[Q]:
        """Error of float32 arithmetic by row, in any order and fused or not (Higham, section 3.1).

        Weights that are no float32 numbers are rounded first: relatively, which two more terms of gamma cover, or,
        where they underflow, by TINY, which counts as often as the input is large.
        """
        if not self.single:
            return []
        sizes = self._sizes()
        n = len(sizes) + 4
        gamma = n * UNIT / (1 - n * UNIT)
        totals = [
            (sum((abs(w) * s for w, s in zip(row, sizes, strict=True)), rational(abs(b)))) / layer.scale
            for row, b in zip(rows, bias, strict=True)
        ]
        weights = [rational(max(map(abs, row)), layer.scale) for row in rows]
        if any(v >= 2**126 for v in (*totals, *weights, *sizes)):
            raise ModelError("float32 arithmetic may overflow in a network: the property can not be shown for it")
        return [gamma * t + (n + sum(sizes)) * TINY for t in totals]

    def _spread(self, errors: Sequence[Q]) -> None:
        """Move every pair of forms apart by its error, rounded up to a unit that is made small enough for it."""
        self.denominator <<= _ERROR_BITS
        low, upp = ([[c << _ERROR_BITS for c in form] for form in forms] for forms in (self.low, self.upp))
        for lo, up, error in zip(low, upp, errors, strict=True):
            units = ceil(error * self.denominator)
            lo[0] -= units
            up[0] += units
        self.low, self.upp, self.exact = low, upp, False

    def _form(self, whole: Sequence[int]) -> Form:
        return tuple(rational(c, self.denominator) for c in whole)

    def _relu(self, open_forms: list[Form]) -> None:
        low, upp, exact = list(self.low), list(self.upp), True
        undecided: dict[int, tuple[bool, int, Q]] = {}
        for j in asking(range(len(low))):
            if self.cell.inf(tuple(self.low[j])).value >= 0:  # the common denominator does not change a sign
                exact &= self.low[j] == self.upp[j]
            elif self.cell.sup(tuple(self.upp[j])).value <= 0:
                low[j] = upp[j] = [0] * self.width
            else:
                below, above = self._form(self.low[j]), self._form(self.upp[j])
                if self.low[j][1:] == self.upp[j][1:]:
                    open_forms += dict.fromkeys((below, above))
                undecided[j] = relaxation(self.cell, below, above)
        if undecided:
            self.denominator <<= SLOPE_BITS  # slopes are multiples of the new unit: only the constant is rounded
            low, upp = ([[c << SLOPE_BITS for c in form] for form in forms] for forms in (low, upp))
        for j, (keep, slope, lift) in undecided.items():
            if not keep:
                low[j] = [0] * self.width
            upp[j] = [slope * c for c in self.upp[j]]
            upp[j][0] += ceil(lift * self.denominator)
        self.low, self.upp, self.exact = low, upp, exact and not undecided

    def output(self, index: int) -> Enclosure:
        """One output."""
        if self.last is None:
            low, upp, scale = self.low[index], self.upp[index], self.denominator
            exact = low == upp
        else:
            rows, bias = [self.last.rows[index]], [self.last.bias[index]]
            (low,), (upp,) = self._affine(rows, bias)
            exact, scale = self.exact, self.denominator * self.last.scale
        errors = self._errors(self.last, [self.last.rows[index]], [self.last.bias[index]]) if self.last else []
        return self._enclosed(low, upp, scale, exact, sum(errors, rational(0)))

    @staticmethod
    def _enclosed(low: Sequence[int], upp: Sequence[int], scale: int, exact: bool, error: Q) -> Enclosure:
        below: Form = tuple(rational(c, scale) for c in low)
        if exact and not error:
            return Enclosure(below, below)
        above = tuple(rational(c, scale) for c in upp)
        return Enclosure((below[0] - error, *below[1:]), (above[0] + error, *above[1:]))

    def difference(self, i: int, j: int) -> Enclosure:
        """``output[i] - output[j]``, without the slack of each alone."""
        if self.last is None:
            a, b = self.output(i), self.output(j)
            low = plus(a.low, b.upp, rational(-1))
            return Enclosure(low, low if a.exact and b.exact else plus(a.upp, b.low, rational(-1)))
        row = [p - q for p, q in zip(self.last.rows[i], self.last.rows[j], strict=True)]
        (lows,), (upps,) = self._affine([row], [self.last.bias[i] - self.last.bias[j]])
        scale = self.denominator * self.last.scale
        both = [self.last.rows[i], self.last.rows[j]], [self.last.bias[i], self.last.bias[j]]
        return self._enclosed(lows, upps, scale, self.exact, sum(self._errors(self.last, *both), rational(0)))
