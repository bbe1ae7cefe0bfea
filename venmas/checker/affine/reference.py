"""The pass over one box, in Python integers: the definition of what a leaf of a split tree shows.

**Values.** All values are in the unit u = 2^-bits. In a box every quantity q has a *form*: integers c, G_1, .., G_g and
a radius e >= 0, so that at each point of the box there are eps_k, theta in [-1, 1], eps_k the same for all quantities:

    q / u = c + G_1 eps_1 + .. + G_g eps_g + theta e.                                                            (1)

|G| below is the sum of the |G_k|, the *size* of a form is |c| + |G| + e, its ends are l = c - |G| - e, h = c + |G| + e.
nearest(x, k) = floor(x / 2^k + 1/2), so |nearest(x, k) - x / 2^k| <= 1/2; up(x, k) = ceil(x / 2^k).

**Inputs.** An input in the integer box [l, h] has c = floor((l + h) / 2) and a symbol of its own, G = h - c >= c - l.

**Layer** z = W x + b (`scaled`: W^, T, b^). With m_i >= |x_i| / u at every point of the box,

    c_j = nearest(sum W^_ji c_i, T) + b^_j,   G_kj = nearest(sum W^_ji G_ki, T)
    e_j = up(sum |W^_ji| e_i, T) + [vague_j] up(sum m_i, T + 1) + [not whole_j] ceil((g + 1) / 2) + [bias vague_j].

By (1) for the x_i, sum W^_ji x_i 2^-T is the sum of the unrounded coefficients times eps, and at most the first term of
e_j; the g + 1 roundings move it by at most (g + 1) / 2, and by nothing where all W^_ji 2^-T are integers (whole);
|W_ji - W^_ji 2^-T| <= 2^-(T+1) makes the second term, and the last one covers the bias.

**Intervals.** Besides its form, each value y has an interval [lo, hi] with  u lo <= y <= u hi  in the whole box: [l, h]
of the box for inputs. For z = W x + b, with [lo_i, hi_i] of the x_i, and with A and B the sums over i of W^_ji lo_i and
W^_ji hi_i where W^_ji > 0, and of W^_ji hi_i and W^_ji lo_i where W^_ji < 0,

    floor(A / 2^T) + b^_j - D <= z_j / u <= up(B, T) + b^_j + D,
    D = [vague_j] up(sum m_i, T + 1) + [bias vague_j].                                                           (2)

A <= sum W^_ji x_i / u <= B as each product is between those with the ends of x_i; the two parts of D are, as above,
what the stored weights and the stored bias differ from the true ones by. No term of (2) is rounded inward.

**Ends** of z are the greater of l, the lower end of its form, and that of (2), and the less of h and the upper one:
both pairs hold z / u in the whole box, so these do, and they are in order, as a box has points. A form forgets the
ends of a unit: behind a clip of a wide range it may be as wide as that, which intervals are not. Everything below that
needs ends of z needs only that they hold z / u in the box; the form of z is the same with either. The interval of y =
z are the ends of z, and that of y = relu(z) is [max(l, 0), max(h, 0)].

**Unit** y = relu(z) with ends l, h of z. l >= 0: the form of z. h <= 0: 0. Else, with s z + t- <= relu(z) <= s z + t+
(`units`; s over 2^16), mid = floor((t- + t+) / 2) and half = t+ - mid >= mid - t-:

    c = nearest(s c, 16) + mid,  G_k = nearest(s G_k, 16),  e = 0, and a new symbol with the coefficient
    half + up(s e, 16) + ceil((g + 1) / 2):  y - s z - mid is at most half as z is within its ends; the rest are the
    radius and the roundings.

**Flush.** A form that is kept, of a unit without ReLU or with l >= 0, whose radius is e > floor(|G| / 2^16) + 2^10,
gives it to a new symbol: (1) allows for any theta, so for eps. Radii are pushed through |W| and symbols through W;
this is what keeps radii small over hundreds of layers. New symbols are numbered by unit.

**Magnitudes** m of y: max(h, 0) for rectified units, max(|l|, |h|) for others and for inputs, of the ends.

**Groups.** A group is closed where a combination of its rows f_r with weights w_r >= 0 is positive in the whole box, or
not negative while a strict row has a positive weight: then not all of f_r <= 0 (< 0) hold anywhere in it. The rows are
a layer over the values y after the group's layer and the inputs. Three times it is tried, and the first bound that is
positive (or 0 with a strict row) closes the group. First by intervals, the greatest lower end (2) of a row; then by
forms, the greatest l_r of a row; then backward, from the weights of the leaf for the group, or from 1 for the row with
the greatest l_r, the first of these:

**Backward.** A row of integers a over 2^32 and a number acc in units, with  sum w_r f_r >= u acc + sum a_i y_i 2^-32.
(3) It starts with a_r = w_r 2^32 over the rows f_r, and acc = 0. Through a layer y = W x + b, where |x_i| <= m_i u:

    acc += sum floor(a_j b^_j / 2^32) - up(sum of |a_j| over bias vague j, 33)
           - up(V sum m_i, 32) - up(sum of m_i over columns i that are not whole, 33)
    a_i = nearest(sum a_j W^_ji, T),   V = up(sum of |a_j| over vague j, T + 1).

The true coefficient sum a_j W_ji differs from a_i by at most V, and by 1/2 more where it was rounded; this is times
|x_i| <= m_i u. Through units, a_j becomes a'_j with `through`, which adds its gain, rounded down, to acc. At the
inputs, x_i in [l, h], acc += floor(a_i (l or h) / 2^32), l where a_i >= 0. Then (3) says that the combination is at
least u acc.

**Range.** So that 64 bits hold everything in `batch`, a box is not decided (`bounded` is false) where M >= 2^50 for a
layer, M being 2^20 or the greatest size of its forms before the units (of those of inputs), or where M of the layer
below times the norm of a layer (or of the rows of a group) is 2^60 or more. A group is not closed backward where this
fails, with N the greatest M, P = floor(sum |a_i| / 2^32) + 1 and X = sum m_i: for every row of a before the units,
|a_i| < 2^51 and P N < 2^60; for every row that goes into a layer, P max |b^_j| < 2^60, P most < 2^28, |acc| < 2^61 and
(floor(V / 2^16) + 1) (floor(X / 2^16) + 1) < 2^60.

Then no result wraps: a form after units has at most the size 2 M + g + 4 < 3 M (there are at most 2^18 units), so that
the size of forms of z is below 3 M norm + 2^20 < 2^62; products of a and values are below P N 2^32, |a_i| after a layer
is at most P most 2^32 + 1 <= 2^60, and acc changes by less than 2^62 in a layer. Ends are within those of the form, so
at most M in size, and intervals, too: A 2^-T and B 2^-T are at most M norm < 2^60.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import mul

import numpy as np

from venmas.checker.affine.scaled import VALUE_BITS, Scaled, ScaledGroup, ScaledProgram, closes
from venmas.checker.affine.units import ROW_BITS, SLOPE_BITS, Rectified, Unit
from venmas.model.transform.program import INPUTS

LEAST_SIZE = 1 << 20
FLUSH_BITS, FLUSH_LEAST = 16, 1 << 10
SUM_LIMIT, ROW_LIMIT, ACC_LIMIT, MOST_LIMIT = 1 << 60, 1 << 51, 1 << 61, 1 << 28
RECTIFIED: Unit = Rectified()

Box = tuple[Sequence[int], Sequence[int]]
"""Lower and upper ends."""

Interval = tuple[int, int]
"""Lower and upper end."""

Weights = Mapping[int, Sequence[int]]
"""By group, the weight of each of its rows."""


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
