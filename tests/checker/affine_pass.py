"""The pass of `venmas.checker.affine.definition` over one box, in Python integers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import mul

import numpy as np

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
from venmas.checker.affine.scaled import VALUE_BITS, Scaled, ScaledGroup, ScaledProgram, closes
from venmas.model.transform.program import INPUTS


class Rectified:
    """``max(z, 0)`` over an interval with 0 within."""

    def lines(self, low: int, high: int) -> tuple[int, int, int]:
        """The chord's slope, rounded; from 0 to the greater one of the two ends' distances."""
        slope = ((high >> 4) << SLOPE_BITS) // (((high - low) >> 4) + 1)
        rest = (1 << SLOPE_BITS) - slope
        # an even offset, so that its middle is a whole number
        return slope, 0, 2 * max(-((low * slope) >> (SLOPE_BITS + 1)), -((-high * rest) >> (SLOPE_BITS + 1)))

    def through(self, a: int, low: int, high: int) -> tuple[int, int]:
        """See the definition."""
        if a >= 0:
            return (a if high > -low else 0), 0
        slope, _, _ = self.lines(low, high)
        kept = (a * slope) >> SLOPE_BITS
        return kept, min((-kept * low) >> ROW_BITS, ((a - kept) * high) >> ROW_BITS)


RECTIFIED = Rectified()
Box = tuple[Sequence[int], Sequence[int]]
"""Lower and upper ends."""

Interval = tuple[int, int]
"""Lower and upper end."""


def nearest(x: int, k: int) -> int:
    """``floor(x / 2**k + 1/2)``."""
    return (x + ((1 << k) >> 1)) >> k


def up(x: int, k: int) -> int:
    """``ceil(x / 2**k)``."""
    return -(-x >> k)


class RangeError(Exception):
    """A number is beyond what the pass may hold."""


@dataclass
class Values:
    """Forms of a vector: coefficients [c, G_1, ..], radius, magnitude, interval of each entry, and M before units."""

    forms: list[list[int]]
    radii: list[int]
    magnitudes: list[int]
    intervals: list[Interval]
    size: int


@dataclass
class Trace:
    """Record of a pass: by layer, ends of z; M of all; values after each layer (-1: the inputs)."""

    ends: list[list[Interval]] = field(default_factory=list)
    values: list[Values] = field(default_factory=list)
    size: int = 0


@dataclass(frozen=True)
class Verdict:
    """Result for a box: by group, the bound of the last pass (None: out of range), and whether it is closed.

    bounded: no value went out of range. refuted: no point of the box meets the formula.
    """

    bounds: tuple[int | None, ...]
    closed: tuple[bool, ...]
    bounded: bool
    refuted: bool


def check_box(program: ScaledProgram, low: Sequence[int], high: Sequence[int], weights: Weights) -> Verdict:
    """Decide one box of integers, low <= high within that of the program; weights: of the groups that have some."""
    count, box = len(program.groups), (low, high)
    try:
        trace = forward(program, low, high)
        intervals = _lowest(program, trace)
        bounds = [
            _group(program, box, g, trace, intervals[g.layer], weights.get(i)) for i, g in enumerate(program.groups)
        ]
    except RangeError:
        return Verdict((None,) * count, (False,) * count, False, False)
    closed = tuple(c for _, c in bounds)
    refuted = bool(closes(program.formula, np.array([closed], dtype=bool).reshape(1, count))[0])
    return Verdict(tuple(b for b, _ in bounds), closed, True, refuted)


def forward(program: ScaledProgram, low: Sequence[int], high: Sequence[int]) -> Trace:
    """Forms of all values. Raises `RangeError`."""
    trace = Trace()
    values = _inputs(low, high)
    trace.values.append(values)
    trace.size = _sized(values.size)
    for layer in program.layers:
        values, ends = _units(layer, *_affine(layer, values), _intervals(layer, values))
        trace.values.append(values)
        trace.ends.append(ends)
        trace.size = max(trace.size, _sized(values.size))
    return trace


def _inputs(low: Sequence[int], high: Sequence[int]) -> Values:
    forms = []
    for i, (a, b) in enumerate(zip(low, high, strict=True)):
        centre = (a + b) >> 1
        forms.append([centre, *(b - centre if k == i else 0 for k in range(len(low)))])
    magnitudes = [max(abs(a), abs(b)) for a, b in zip(low, high, strict=True)]
    size = max([LEAST_SIZE, *(sum(map(abs, f)) for f in forms)])
    return Values(forms, [0] * len(forms), magnitudes, list(zip(low, high, strict=True)), size)


def _affine(layer: Scaled, x: Values) -> tuple[list[list[int]], list[int]]:
    """Forms and radii of z."""
    if x.size * layer.norm >= SUM_LIMIT:
        raise RangeError
    count = len(x.forms[0]) if x.forms else 1
    columns = [[form[k] for form in x.forms] for k in range(count)]
    total = sum(x.magnitudes)
    forms, radii = [], []
    for j, row in enumerate(layer.rows):
        form = [nearest(sum(map(mul, row, column)), layer.shift) for column in columns]
        form[0] += int(layer.bias[j])
        radius = up(sum(abs(w) * e for w, e in zip(row, x.radii, strict=True)), layer.shift)
        radius += up(total, layer.shift + 1) if layer.vague[j] else 0
        radius += 0 if layer.whole_rows[j] else (count + 1) // 2
        forms.append(form)
        radii.append(radius + int(layer.bias_vague[j]))
    return forms, radii


def _intervals(layer: Scaled, x: Values) -> list[Interval]:
    """Ends (2) of z."""
    total = up(sum(x.magnitudes), layer.shift + 1)
    ends = []
    for j, row in enumerate(layer.rows):
        lost = (total if layer.vague[j] else 0) + int(layer.bias_vague[j])
        least = sum(w * x.intervals[i][w < 0] for i, w in enumerate(row))
        most = sum(w * x.intervals[i][w > 0] for i, w in enumerate(row))
        bias = int(layer.bias[j])
        ends.append(((least >> layer.shift) + bias - lost, up(most, layer.shift) + bias + lost))
    return ends


def _units(
    layer: Scaled, forms: list[list[int]], radii: list[int], within: Sequence[Interval]
) -> tuple[Values, list[Interval]]:
    """Forms of y, and the ends of z. within: ends (2) of z."""
    count = len(forms[0]) if forms else 1
    kept, ends, magnitudes, size = [], [], [], LEAST_SIZE
    symbols: dict[int, int] = {}
    for j, (form, e) in enumerate(zip(forms, radii, strict=True)):
        spread = sum(map(abs, form[1:]))
        low, high = max(form[0] - spread - e, within[j][0]), min(form[0] + spread + e, within[j][1])
        ends.append((low, high))
        size = max(size, abs(form[0]) + spread + e)
        if not layer.relu[j] or low >= 0:
            if e > (spread >> FLUSH_BITS) + FLUSH_LEAST:
                symbols[j], e = e, 0
        elif high <= 0:
            form, e = [0] * count, 0
        else:
            slope, below, above = RECTIFIED.lines(low, high)
            middle = (below + above) >> 1
            form = [nearest(slope * c, SLOPE_BITS) for c in form]
            form[0] += middle
            symbols[j], e = above - middle + up(slope * e, SLOPE_BITS) + (count + 1) // 2, 0
        kept.append((form, e))
        magnitudes.append(max(high, 0) if layer.relu[j] else max(abs(low), abs(high)))
    places = {j: k for k, j in enumerate(symbols)}
    more = [[symbols[j] if places.get(j) == k else 0 for k in range(len(symbols))] for j in range(len(kept))]
    forms = [f + m for (f, _), m in zip(kept, more, strict=True)]
    between = [(max(a, 0), max(b, 0)) if relu else (a, b) for (a, b), relu in zip(ends, layer.relu, strict=True)]
    return Values(forms, [e for _, e in kept], magnitudes, between, size), ends


def _lowest(program: ScaledProgram, trace: Trace) -> dict[int, list[int]]:
    """By layer, lower ends (2) of all rows there. Raises `RangeError`."""
    lowest = {}
    for at, layer in program.rows.items():
        joined = _joined(trace.values[1 + at], trace.values[0], at)
        if joined.size * layer.norm >= SUM_LIMIT:
            raise RangeError
        lowest[at] = [low for low, _ in _intervals(layer, joined)]
    return lowest


def _group(
    program: ScaledProgram,
    box: Box,
    group: ScaledGroup,
    trace: Trace,
    intervals: Sequence[int],
    weights: Sequence[int] | None,
) -> tuple[int | None, bool]:
    """The bound of a group, and whether it is closed; intervals: bounds of all rows of its layer."""
    size = len(group.strict)
    if not size:
        return 0, False
    lowest = intervals[group.first : group.first + size]
    best = max(range(size), key=lowest.__getitem__)
    if lowest[best] > 0 or (lowest[best] == 0 and group.strict[best]):
        return lowest[best], True
    joined = _joined(trace.values[1 + group.layer], trace.values[0], group.layer)
    forms, radii = _affine(group.rows, joined)
    lowest = [f[0] - sum(map(abs, f[1:])) - e for f, e in zip(forms, radii, strict=True)]
    best = max(range(size), key=lowest.__getitem__)
    if lowest[best] > 0 or (lowest[best] == 0 and group.strict[best]):
        return lowest[best], True
    chosen = [int(r == best) for r in range(size)] if weights is None else list(weights)
    try:
        bound = _backward(program, box, group, trace, joined.magnitudes, chosen)
    except RangeError:
        return None, False
    strict = any(w > 0 and s for w, s in zip(chosen, group.strict, strict=True))
    return bound, any(chosen) and (bound > 0 or (bound == 0 and strict))


def _joined(after: Values, inputs: Values, layer: int) -> Values:
    """The values after a layer, followed by the inputs."""
    if layer == INPUTS:
        return inputs
    more = len(after.forms[0]) - len(inputs.forms[0])
    return Values(
        [*after.forms, *(f + [0] * more for f in inputs.forms)],
        [*after.radii, *inputs.radii],
        [*after.magnitudes, *inputs.magnitudes],
        [*after.intervals, *inputs.intervals],
        max(after.size, inputs.size),
    )


def _backward(
    program: ScaledProgram,
    box: Box,
    group: ScaledGroup,
    trace: Trace,
    magnitudes: Sequence[int],
    weights: Sequence[int],
) -> int:
    """A lower bound of the combination of rows over the box, in units. Raises `RangeError`."""
    low, high = box
    a, acc = _through_layer(group.rows, [w << ROW_BITS for w in weights], 0, magnitudes, trace.size)
    cut = len(a) - len(low)
    a, direct = (a[:cut], a[cut:]) if cut else (a, [0] * len(low))
    for at in range(group.layer, INPUTS, -1):
        layer = program.layers[at]
        kept = []
        for value, relu, (l, h) in zip(a, layer.relu, trace.ends[at], strict=True):  # noqa: E741
            if not relu or l >= 0:
                gain = 0
            elif h <= 0:
                value, gain = 0, 0
            else:
                value, gain = RECTIFIED.through(value, l, h)
            kept.append(value)
            acc += gain
        a, acc = _through_layer(layer, kept, acc, trace.values[at].magnitudes, trace.size)
    total = [x + y for x, y in zip(a, direct, strict=True)]
    _in_range(total, trace.size)
    return acc + sum((v * (lo if v >= 0 else hi)) >> ROW_BITS for v, lo, hi in zip(total, low, high, strict=True))


def _through_layer(
    layer: Scaled, a: Sequence[int], acc: int, magnitudes: Sequence[int], size: int
) -> tuple[list[int], int]:
    """The row over the values that a layer reads, and acc."""
    part, weight = (sum(map(abs, a)) >> ROW_BITS) + 1, sum(magnitudes)
    lost = up(sum(abs(v) for v, vague in zip(a, layer.vague, strict=True) if vague), layer.shift + 1)
    if (
        part * layer.largest >= SUM_LIMIT
        or part * layer.most >= MOST_LIMIT
        or ((lost >> 16) + 1) * ((weight >> 16) + 1) >= SUM_LIMIT
        or abs(acc) >= ACC_LIMIT
    ):
        raise RangeError
    acc += sum((v * int(b)) >> ROW_BITS for v, b in zip(a, layer.bias, strict=True))
    acc -= up(sum(abs(v) for v, vague in zip(a, layer.bias_vague, strict=True) if vague), ROW_BITS + 1)
    acc -= up(lost * weight, ROW_BITS)
    acc -= up(sum(m for m, whole in zip(magnitudes, layer.whole_columns, strict=True) if not whole), ROW_BITS + 1)
    new = [0] * len(magnitudes)
    for v, row in zip(a, layer.rows, strict=True):
        if v:
            new = [n + v * w for n, w in zip(new, row, strict=True)]
    new = [nearest(n, layer.shift) for n in new]
    _in_range(new, size)
    return new, acc


def _in_range(a: Sequence[int], size: int) -> None:
    if any(abs(v) >= ROW_LIMIT for v in a) or ((sum(map(abs, a)) >> ROW_BITS) + 1) * size >= SUM_LIMIT:
        raise RangeError


def _sized(size: int) -> int:
    if size >= 1 << VALUE_BITS:
        raise RangeError
    return size
