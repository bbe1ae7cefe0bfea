"""A program in integers: weights over a power of two for each layer, biases in the unit of values.

A layer is ``z = W x + b``. With the shift T of the layer and the unit ``u = 2**-bits`` of values, it is stored as

    weight  nearest integers of W 2^T:  |W_ji 2^T - weight_ji| <= 1/2, and = 0 in rows that are not `vague`
    bias    nearest integers of b / u:  |b_j / u - bias_j| <= 1/2, and = 0 where not `bias_vague`

T is the greatest number up to 40 with ``|weight| <= 2**36``. The rows of the groups of a layer are one, too, over the
values after that layer followed by the inputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil, floor

import numpy as np
from numpy.typing import NDArray

from venmas.model.transform.program import AND, INPUTS, Program, ProgramLayer, Row, layer_of

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

WEIGHT_BITS, MOST_SHIFT = 36, 40
"""Size of integer weights, and the greatest T."""

VALUE_BITS = 50
"""Values stay below 2**50 units, so that sums of 1000 of them, and their products with slopes, do not wrap."""

MAX_WIDTH, MAX_UNITS = 1000, 1 << 18
"""Widest layer, and most units in all."""

LEAST_BITS, MOST_BITS = 8, 44
"""What `bits`, the unit of values, may be."""


class UnscaledError(Exception):
    """A program that has no place in these integers; the message says why."""


@dataclass(frozen=True, eq=False)
class Scaled:
    """A layer in integers.

    weight: (out, in). shift: T. bias, vague, bias_vague, relu: (out,), see above. norm: the least integer that no row
    sum of |weight| / 2^T exceeds; most: one that no |weight| / 2^T exceeds; both at least 1. largest: the greatest
    |bias|.
    """

    weight: Ints
    shift: int
    bias: Ints
    vague: Bools
    bias_vague: Bools
    relu: Bools

    def part(self, first: int, end: int) -> Scaled:
        """Some of its outputs."""
        at = slice(first, end)
        arrays = (self.bias[at], self.vague[at], self.bias_vague[at], self.relu[at])
        return Scaled(self.weight[at], self.shift, *arrays)

    @property
    def out_size(self) -> int:
        """Number of units."""
        return len(self.bias)

    @cached_property
    def whole_rows(self) -> Bools:
        """(out,): rows whose products need no rounding, all weights being integers."""
        return np.asarray(self._whole.all(1))

    @cached_property
    def whole_columns(self) -> Bools:
        """(in,): the same of columns."""
        return np.asarray(self._whole.all(0))

    @cached_property
    def _whole(self) -> Bools:
        return np.asarray((self.weight & ((1 << self.shift) - 1)) == 0, dtype=bool)

    @cached_property
    def norm(self) -> int:
        """See above."""
        return max(1, -(-int(np.abs(self.weight).sum(1).max(initial=0)) >> self.shift))

    @cached_property
    def most(self) -> int:
        """See above."""
        return max(1, -(-int(np.abs(self.weight).max(initial=0)) >> self.shift))

    @cached_property
    def largest(self) -> int:
        """See above."""
        return int(np.abs(self.bias).max(initial=0))

    @cached_property
    def rows(self) -> list[list[int]]:
        """The weights as Python integers."""
        return list(self.weight.tolist())


@dataclass(frozen=True, eq=False)
class ScaledGroup:
    """A conjunction: `rows`, those of its layer from `first` on, are <= 0, and < 0 where `strict`."""

    layer: int
    first: int
    rows: Scaled
    strict: tuple[bool, ...]


@dataclass(frozen=True, eq=False)
class ScaledProgram:
    """A program over boxes of integers: low and high are its box, rounded outward to the unit ``2**-bits``.

    rows: by layer, the rows of the groups there as a layer over the values after it and the inputs.
    """

    bits: int
    low: tuple[int, ...]
    high: tuple[int, ...]
    layers: tuple[Scaled, ...]
    rows: Mapping[int, Scaled]
    groups: tuple[ScaledGroup, ...]
    formula: tuple[int, ...]


def scaled(program: Program, bits: int) -> ScaledProgram:
    """The program in units of ``2**-bits``. Raises `UnscaledError` where numbers or layers are too large for it."""
    low = tuple(floor(a * 2**bits) for a in program.low)
    high = tuple(ceil(a * 2**bits) for a in program.high)
    if any(max(-a, b) >= 1 << VALUE_BITS for a, b in zip(low, high, strict=True)):
        raise UnscaledError(f"an initial value is beyond {2.0 ** (VALUE_BITS - bits):g}")
    layers = sorted({g.layer for g in program.groups})
    last = layers[-1] if layers else INPUTS
    widest = max(program.sizes[: last + 2]) + len(program.inputs)
    if widest > MAX_WIDTH:
        raise UnscaledError(f"a layer has {widest} units, more than {MAX_WIDTH}")
    if sum(program.sizes) > MAX_UNITS:
        raise UnscaledError(f"there are {sum(program.sizes)} units, more than {MAX_UNITS}")
    made: dict[int, Scaled] = {}
    for layer in program.layers[: last + 1]:
        if id(layer) not in made:
            made[id(layer)] = _scaled(layer, bits)
    together: dict[int, list[Row]] = {layer: [] for layer in layers}
    places = []
    for group in program.groups:
        places.append(len(together[group.layer]))
        together[group.layer] += group.rows
    if any(len(here) > MAX_WIDTH for here in together.values()):
        raise UnscaledError(f"more than {MAX_WIDTH} comparisons are made after one layer")
    widths = (*program.sizes[1:], 0)  # the last one is what stands before the inputs
    rows = {layer: _rows(here, widths[layer], len(program.inputs), bits) for layer, here in together.items()}
    groups = [
        ScaledGroup(g.layer, first, rows[g.layer].part(first, first + len(g.rows)), tuple(r.strict for r in g.rows))
        for g, first in zip(program.groups, places, strict=True)
    ]
    return ScaledProgram(
        bits,
        low,
        high,
        tuple(made[id(layer)] for layer in program.layers[: last + 1]),
        rows,
        tuple(groups),
        program.formula,
    )


def _rows(rows: Sequence[Row], width: int, inputs: int, bits: int) -> Scaled:
    """Rows as a layer; each is divided by a power of two that makes its constant small enough."""
    made = []
    for row in rows:
        factor = Fraction(1, 1 << max(0, int(abs(row.constant)).bit_length() + bits - VALUE_BITS + 2))
        places = (*(row.outputs or (Fraction(0),) * width), *row.inputs)
        made.append(({i: c * factor for i, c in enumerate(places) if c}, row.constant * factor, False))
    return _scaled(layer_of(made, width + inputs), bits)


def _scaled(layer: ProgramLayer, bits: int) -> Scaled:
    largest = float(np.abs(layer.weights).max(initial=0.0))
    shift = min(MOST_SHIFT, WEIGHT_BITS - int(np.frexp(largest)[1])) if largest else 0
    if shift < 0:
        raise UnscaledError(f"a weight is as large as {largest:g}")
    if float(np.abs(layer.bias).max(initial=0.0)) >= 2.0 ** (VALUE_BITS - bits) / 2:
        raise UnscaledError(f"a constant is beyond {2.0 ** (VALUE_BITS - bits) / 2:g}")
    weight, vague = _nearest(np.ldexp(layer.weights, shift))
    bias, bias_vague = _nearest(np.ldexp(layer.bias, bits))
    for (i, j), value in layer.inexact.items():
        if j < layer.in_size:
            weight[i, j], vague[i, j] = round(value * 2**shift), True
        else:
            bias[i], bias_vague[i] = round(value * 2**bits), True
    return Scaled(weight, shift, bias, np.asarray(vague.any(1)), bias_vague, layer.relu)


def _nearest(values: NDArray[np.float64]) -> tuple[Ints, Bools]:
    """Nearest integers of floats, which scaling by a power of two left exact, and which of them are others."""
    near = np.rint(values)
    return near.astype(np.int64), np.asarray(near != values)


def closes(formula: Sequence[int], closed: Bools) -> Bools:
    """(B,): is the formula refuted where these groups, (B, groups), are?  AND: one refuted part is enough."""
    stack: list[Bools] = []
    codes = iter(formula)
    for code in codes:
        if code >= 0:
            stack.append(closed[:, code])
            continue
        cut = len(stack) - next(codes)
        parts = stack[cut:]
        none = np.full(len(closed), code != AND)  # an OR of nothing is false, hence refuted
        del stack[cut:]
        stack.append(np.logical_or.reduce([none, *parts]) if code == AND else np.logical_and.reduce([none, *parts]))
    return stack[0]
