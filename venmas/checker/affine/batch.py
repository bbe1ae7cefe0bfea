"""The pass of `venmas.checker.affine.definition` over many boxes at once, with the same numbers.

The order in which symbols are stored is free, as only sums over all of them enter: each layer makes as many places as
the box with most new symbols needs, and the first of them that a box needs are its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from venmas.budget import ask
from venmas.checker.affine import advice
from venmas.checker.affine.definition import (
    ACC_LIMIT,
    FLUSH_BITS,
    FLUSH_LEAST,
    LEAST_SIZE,
    MOST_LIMIT,
    ROW_BITS,
    ROW_LIMIT,
    SLOPE_BITS,
    SUM_LIMIT,
    Weights,
)
from venmas.checker.affine.products import Factor, floor_product, scaled_down
from venmas.checker.affine.scaled import VALUE_BITS, Bools, Ints, Scaled, ScaledGroup, ScaledProgram, closes
from venmas.model.transform.program import INPUTS, Floats

Places = NDArray[np.intp]
Interval = tuple[Ints, Ints]
Given = Sequence[Weights] | None

_DIRECT = 1 << 46
"""Values below it are multiplied with slopes as they are."""


@dataclass(eq=False)
class Layer:
    """A layer with what the products with it need."""

    scaled: Scaled

    @cached_property
    def forward(self) -> Factor:
        """Its weights, transposed."""
        return Factor(np.ascontiguousarray(self.scaled.weight.T))

    @cached_property
    def sizes(self) -> Factor:
        """Their absolute values, transposed."""
        return Factor(np.ascontiguousarray(np.abs(self.scaled.weight).T))

    @cached_property
    def backward(self) -> Factor:
        """Its weights."""
        return Factor(self.scaled.weight)

    @cached_property
    def ends(self) -> Factor:
        """Factors of lower ends of values, and then of upper ones, for lower ends of z."""
        w = self.scaled.weight
        return Factor(np.concatenate([np.maximum(w, 0), np.minimum(w, 0)], axis=1).T)

    def interval(self, x: Forms) -> Interval:
        """Ends (2) of `definition` of z, (B, out) both."""
        s, (low, high) = self.scaled, x.interval
        both = np.concatenate([np.concatenate([low, high], axis=1), -np.concatenate([high, low], axis=1)])
        least, most = np.split(self.ends.times(both, 0, s.shift), 2)
        lost = np.where(s.vague, -(-x.magnitudes.sum(1) >> (s.shift + 1))[:, None], 0) + s.bias_vague
        return least + s.bias - lost, s.bias + lost - most


@dataclass(eq=False)
class Forms:
    """Forms of n quantities in B boxes: z (B, 1 + g, n), the constants first; radii, magnitudes (B, n).

    interval: lower and upper ends, (B, n) both. size: (B,), as of `definition`; symbols: (B,), the number of a box, of
    which some of the g places may be more. shares: see `advice`.
    """

    z: Ints
    radii: Ints
    magnitudes: Ints
    interval: Interval
    size: Ints
    symbols: Ints
    shares: Floats | None = None

    def of(self, boxes: Places) -> Forms:
        """Those of some boxes."""
        shares = None if self.shares is None else self.shares[boxes]
        interval = self.interval[0][boxes], self.interval[1][boxes]
        arrays = self.z[boxes], self.radii[boxes], self.magnitudes[boxes]
        return Forms(*arrays, interval, self.size[boxes], self.symbols[boxes], shares)


@dataclass(eq=False)
class Verdicts:
    """Of each box: bounds, ranged, closed (B, groups), bounded, refuted (B,).

    ranged: where `bounds` says something. influence: (B, inputs), how much each input moves what is open, as floats;
    where nothing is known, how wide it is. mixes: for open groups of several rows, boxes, and weights for each of them.
    """

    bounds: Ints
    ranged: Bools
    closed: Bools
    bounded: Bools
    refuted: Bools
    influence: Floats
    mixes: dict[int, tuple[Places, Ints]] = field(default_factory=dict)


class Batch:
    """The pass for one program."""

    def __init__(self, program: ScaledProgram) -> None:
        self.program = program
        made: dict[int, Layer] = {}
        self.layers = [made.setdefault(id(s), Layer(s)) for s in program.layers]
        self.groups = [Layer(g.rows) for g in program.groups]
        self.rows = {at: Layer(rows) for at, rows in program.rows.items()}

    def check(self, low: Ints, high: Ints, weights: Given = None, moving: bool = False, until: float = inf) -> Verdicts:
        """Decide boxes (B, inputs) of integers; weights: of each box, by group.

        moving: find what may help, too: `Verdicts.influence` and `mixes`. Raises `TimeoutError` after `until`.
        """
        return _Pass(self, low, high, weights, moving).run(until)


class _Pass:
    def __init__(self, batch: Batch, low: Ints, high: Ints, weights: Given, moving: bool) -> None:
        self.batch, self.low, self.high, self.weights, self.moving = batch, low, high, weights, moving
        self.count = len(low)
        self.bounded = np.ones(self.count, dtype=bool)
        self.mixes: dict[int, tuple[Places, Ints]] = {}
        self.size = np.zeros(self.count, dtype=np.int64)
        self.magnitudes: list[Ints] = []
        self.ends: list[Interval] = []
        self.slopes: list[Ints] = []

    def run(self, until: float) -> Verdicts:
        program = self.batch.program
        values = self._inputs()
        self._note(values)
        joined_layers = {g.layer for g in program.groups}
        after = {INPUTS: values}
        for at, layer in enumerate(self.batch.layers):
            ask()
            values = self._units(layer, *self._affine(layer, values), values)
            self._note(values)
            if at in joined_layers:
                after[at] = values
        joined = {at: _joined(after, at) for at in joined_layers}
        lowest = {at: self._lowest(at, joined[at]) for at in joined_layers}
        shape = self.count, len(program.groups)
        bounds, ranged = np.zeros(shape, dtype=np.int64), np.ones(shape, dtype=bool)
        closed, influence = np.zeros(shape, dtype=bool), np.zeros(self.low.shape)
        for i, group in enumerate(program.groups):
            ask()
            if monotonic() > until:
                raise TimeoutError
            if not group.strict:
                continue
            lower = lowest[group.layer][:, group.first : group.first + len(group.strict)]
            _, bounds[:, i], closed[:, i] = _best(lower, group)
            left = np.flatnonzero(~closed[:, i] & self.bounded)
            if len(left):
                bound = self._group(i, left, joined[group.layer].of(left))
                bounds[left, i], ranged[left, i], closed[left, i], moved = bound
                if moved is not None:
                    influence[left] += np.where(closed[left, i], 0.0, 1.0)[:, None] * moved
        for array in (bounds, ranged, closed):
            array[~self.bounded] = 0
        influence = np.where(self.bounded[:, None], influence, self.high - self.low)
        refuted = closes(program.formula, closed) & self.bounded
        return Verdicts(bounds, ranged, closed, self.bounded, refuted, influence, self.mixes)

    def _note(self, values: Forms) -> None:
        self.magnitudes.append(values.magnitudes)
        self.bounded &= values.size < 1 << VALUE_BITS
        self.size = np.maximum(self.size, values.size)

    # -- forward -------------------------------------------------------------------------------------------------------

    def _inputs(self) -> Forms:
        low, high = self.low, self.high
        count, m = low.shape
        z = np.zeros((count, 1 + m, m), dtype=np.int64)
        centre = (low + high) >> 1
        z[:, 0] = centre
        z[:, 1 + np.arange(m), np.arange(m)] = high - centre
        magnitudes = np.maximum(np.abs(low), np.abs(high))
        size, symbols = np.abs(z).sum(1).max(1, initial=LEAST_SIZE), np.full(count, m)
        shares = np.broadcast_to(np.eye(m), (count, m, m)) if self.moving else None
        return Forms(z, np.zeros_like(low), magnitudes, (low, high), size, symbols, shares)

    def _affine(self, layer: Layer, x: Forms, boxes: Places | slice = slice(None)) -> tuple[Ints, Ints]:
        """Forms and radii of z, in some of the boxes."""
        s = layer.scaled
        self.bounded[boxes] &= x.size <= (SUM_LIMIT - 1) // s.norm
        z = layer.forward.times(x.z, (1 << s.shift) >> 1, s.shift)
        z[:, 0] += s.bias
        radii = layer.sizes.times(x.radii, (1 << s.shift) - 1, s.shift)
        if s.vague.any():
            lost = -(-x.magnitudes.sum(1) >> (s.shift + 1))
            radii += np.where(s.vague, lost[:, None], 0)
        radii += np.where(s.whole_rows, 0, _roundings(x.symbols)) + s.bias_vague
        return z, radii

    def _units(self, layer: Layer, z: Ints, radii: Ints, x: Forms) -> Forms:
        """Forms of y."""
        spread, relu = np.abs(z[:, 1:]).sum(1), layer.scaled.relu
        low, high = z[:, 0] - spread - radii, z[:, 0] + spread + radii
        size = np.maximum(high, -low)
        least, most = layer.interval(x)
        low, high = np.maximum(low, least), np.minimum(high, most)
        keep = ~relu | (low >= 0)
        open_ = ~keep & (high > 0)
        slope = np.where(keep, 1 << SLOPE_BITS, 0)
        slope[open_], half = _lines(low[open_], high[open_])
        new = np.where(keep & (radii > (spread >> FLUSH_BITS) + FLUSH_LEAST), radii, 0)
        rounding = np.broadcast_to(_roundings(x.symbols), radii.shape)
        new[open_] = half + scaled_down(radii[open_], slope[open_], 0xFFFF, SLOPE_BITS) + rounding[open_]
        self.ends.append((low, high))
        self.slopes.append(slope)
        born = new > 0
        y = _times(z, slope, new, born, bool(size.max(initial=0) < _DIRECT))
        y[:, 0][open_] += half
        least, most = (np.where(relu, np.maximum(end, 0), end) for end in (low, high))
        magnitudes = np.maximum(most, -least)
        radii = np.where(keep & ~born, radii, 0)
        shares = None if x.shares is None else advice.shares(z, x.shares, born, y.shape[1])
        symbols = x.symbols + born.sum(1)
        return Forms(y, radii, magnitudes, (least, most), size.max(1, initial=LEAST_SIZE), symbols, shares)

    # -- groups --------------------------------------------------------------------------------------------------------

    def _lowest(self, at: int, joined: Forms) -> Ints:
        """(B, rows): lower ends (2) of the rows of a layer."""
        rows = self.batch.rows[at]
        self.bounded &= joined.size <= (SUM_LIMIT - 1) // rows.scaled.norm
        return rows.interval(joined)[0]

    def _group(self, index: int, left: Places, joined: Forms) -> tuple[Ints, Bools, Bools, Floats | None]:
        """Of the boxes `left`, the bounds of a group, where they are in range, where it is closed, and influences."""
        group, rows = self.batch.program.groups[index], self.batch.groups[index]
        z, radii = self._affine(rows, joined, left)
        lower = z[:, 0] - np.abs(z[:, 1:]).sum(1) - radii
        best, bound, closed = _best(lower, group)
        each, moved = np.arange(len(left)), None
        if joined.shares is not None:
            moved = (np.abs(z[each, 1:, best].astype(np.float64))[:, None] @ joined.shares)[:, 0]
        ranged, again = np.ones(len(left), dtype=bool), np.flatnonzero(~closed)
        if len(again):
            chosen = (np.arange(len(group.strict)) == best[again, None]).astype(np.int64)
            for k, i in enumerate(left[again].tolist()):
                if self.weights is not None and index in self.weights[i]:
                    chosen[k] = self.weights[i][index]
            acc, fine = self._backward(group, rows, left[again], chosen, joined.magnitudes[again])
            strict = ((chosen > 0) & np.array(group.strict)).any(1)
            bound[again], ranged[again] = np.where(fine, acc, 0), fine
            closed[again] = fine & chosen.any(1) & ((acc > 0) | ((acc == 0) & strict))
        still = np.flatnonzero(~closed)
        if moved is not None and len(group.strict) > 1 and len(still):
            self.mixes[index] = left[still], advice.weights(z[still], radii[still], best[still])
        return bound, ranged, closed, moved

    def _backward(
        self, group: ScaledGroup, rows: Layer, left: Places, weights: Ints, magnitudes: Ints
    ) -> tuple[Ints, Bools]:
        """Lower bounds of combinations of rows over the boxes `left`, and where they are in range."""
        fine = np.ones(len(left), dtype=bool)
        acc, size = np.zeros(len(left), dtype=np.int64), self.size[left]
        a, acc = _through_layer(rows, weights << ROW_BITS, acc, magnitudes, size, fine)
        m = self.low.shape[1]
        if group.layer == INPUTS:
            total = a
        else:
            a, total = a[:, :-m], a[:, -m:] if m else a[:, :0]
        for at in range(group.layer, INPUTS, -1):
            layer = self.batch.layers[at]
            low, high = self.ends[at][0][left], self.ends[at][1][left]
            slope = self.slopes[at][left]
            a = np.where(layer.scaled.relu & (high <= 0), 0, a)
            kept = a.copy()
            open_ = layer.scaled.relu & (low < 0) & (high > 0)
            kept[open_ & (a >= 0) & (high <= -low)] = 0
            box, unit = np.nonzero(open_ & (a < 0))
            v, lo, hi = a[box, unit], low[box, unit], high[box, unit]
            k = scaled_down(v, slope[box, unit], 0, SLOPE_BITS)
            kept[box, unit] = k
            gain = np.minimum(floor_product(-k, lo, ROW_BITS), floor_product(v - k, hi, ROW_BITS))
            gains = np.zeros_like(a)
            gains[box, unit] = gain
            acc = acc + gains.sum(1)
            a, acc = _through_layer(layer, kept, acc, self.magnitudes[at][left], size, fine)
        if group.layer != INPUTS:
            total = total + a
        _in_range(total, size, fine)
        low, high = self.low[left], self.high[left]
        acc = acc + floor_product(total, np.where(total >= 0, low, high), ROW_BITS).sum(1)
        return acc, fine


def _times(z: Ints, slope: Ints, new: Ints, born: Bools, small: bool) -> Ints:
    """Forms times slopes, and the coefficients of new symbols where units have one."""
    rank = np.cumsum(born, axis=1)
    count, rows, n = z.shape
    more = int(rank[:, -1].max(initial=0)) if n else 0
    y = np.empty((count, rows + more, n), dtype=np.int64)
    half, old = 1 << (SLOPE_BITS - 1), y[:, :rows]
    if small:
        np.multiply(z, slope[:, None], out=old)
        old += half
        old >>= SLOPE_BITS
    else:
        old[...] = scaled_down(z, slope[:, None], half, SLOPE_BITS)
    y[:, rows:] = 0
    box, unit = np.nonzero(born)
    y[box, rows - 1 + rank[box, unit], unit] = new[box, unit]
    return y


def _roundings(symbols: Ints) -> Ints:
    """(B, 1): half of the number of coefficients, rounded up."""
    return np.asarray((symbols + 2) // 2)[:, None]


def _best(lower: Ints, group: ScaledGroup) -> tuple[Places, Ints, Bools]:
    """By box, the row of the greatest bound (B, rows), this bound, and whether it closes the group."""
    best = lower.argmax(1)
    bound = lower[np.arange(len(lower)), best]
    return best, bound, (bound > 0) | ((bound == 0) & np.array(group.strict)[best])


def _lines(low: Ints, high: Ints) -> tuple[Ints, Ints]:
    """Slopes, and half of the greater offset, of `units.Rectified` for units that are open."""
    slope = ((high >> 4) << SLOPE_BITS) // (((high - low) >> 4) + 1)
    below = -scaled_down(low, slope, 0, SLOPE_BITS + 1)
    above = -scaled_down(-high, (1 << SLOPE_BITS) - slope, 0, SLOPE_BITS + 1)
    return slope, np.maximum(below, above)


def _through_layer(layer: Layer, a: Ints, acc: Ints, magnitudes: Ints, size: Ints, fine: Bools) -> tuple[Ints, Ints]:
    """As of `definition`; `fine` becomes false where a row is out of range."""
    s = layer.scaled
    absolute, weight = np.abs(a), magnitudes.sum(1)
    part = (absolute.sum(1) >> ROW_BITS) + 1
    lost = -(-(absolute * s.vague).sum(1) >> (s.shift + 1))
    fine &= part <= (SUM_LIMIT - 1) // max(1, s.largest)
    fine &= part <= (MOST_LIMIT - 1) // s.most
    fine &= (lost >> 16) + 1 <= (SUM_LIMIT - 1) // ((weight >> 16) + 1)
    fine &= np.abs(acc) < ACC_LIMIT
    acc = acc + floor_product(a, s.bias, ROW_BITS).sum(1)
    acc -= -(-(absolute * s.bias_vague).sum(1) >> (ROW_BITS + 1))
    acc -= -floor_product(-lost, weight, ROW_BITS)
    acc -= -(-(magnitudes * ~s.whole_columns).sum(1) >> (ROW_BITS + 1))
    new = layer.backward.times(a, (1 << s.shift) >> 1, s.shift)
    _in_range(new, size, fine)
    return new, acc


def _in_range(a: Ints, size: Ints, fine: Bools) -> None:
    absolute = np.abs(a)
    fine &= (absolute < ROW_LIMIT).all(1)
    fine &= (absolute.sum(1) >> ROW_BITS) + 1 <= (SUM_LIMIT - 1) // np.maximum(1, size)


def _joined(after: dict[int, Forms], layer: int) -> Forms:
    """The values after a layer, followed by the inputs."""
    values, inputs = after[layer], after[INPUTS]
    if layer == INPUTS:
        return inputs
    count, rows, n = values.z.shape
    z = np.zeros((count, rows, n + inputs.z.shape[2]), dtype=np.int64)
    z[:, :, :n], z[:, : inputs.z.shape[1], n:] = values.z, inputs.z
    return Forms(
        z,
        np.concatenate([values.radii, inputs.radii], axis=1),
        np.concatenate([values.magnitudes, inputs.magnitudes], axis=1),
        (
            np.concatenate([values.interval[0], inputs.interval[0]], axis=1),
            np.concatenate([values.interval[1], inputs.interval[1]], axis=1),
        ),
        np.maximum(values.size, inputs.size),
        values.symbols,
        values.shares,
    )
