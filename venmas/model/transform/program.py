"""A closed loop over some steps as one layered program: what `venmas.model.transform.unroll` writes, search and checker
read.

    v_0 = the inputs (initial values of variables, those that are one number left out), in a box
    v_k = where(relu, max(0, W v_(k-1) + b), W v_(k-1) + b)                        layer k - 1, 0-based in `layers`
    is there an input in the box for which the formula, AND and OR over groups of rows, holds?

A unit without ReLU carries a value, or is affine. Rows speak of the values after one layer, and of the inputs. All is
exact: floats stand for the rationals that they denote, and the few coefficients that no float is are kept beside.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import gcd, lcm
from operator import mul
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from venmas.budget import ask

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Box: TypeAlias = tuple[tuple[Fraction, Fraction], ...]
"""Ends of the inputs, in their order."""

AND, OR = -1, -2
"""Codes of `Program.formula`, each followed by how many it joins."""

INPUTS = -1
"""The layer of rows that speak of inputs only."""


@dataclass(frozen=True, eq=False)
class ProgramLayer:
    """One layer of a program; the same object stands wherever a step is the same.

    weights (out, in), bias (out,): floats nearest to the true coefficients. relu (out,): which units are rectified.
    inexact: by (i, j), the true coefficients that are no floats; j = in for the bias.
    """

    weights: Floats
    bias: Floats
    relu: Bools
    inexact: Mapping[tuple[int, int], Fraction]

    @staticmethod
    def of(
        weights: Floats, bias: Floats, relu: Bools | bool, inexact: Mapping[tuple[int, int], Fraction]
    ) -> ProgramLayer:
        """A layer of read-only arrays. relu: of all units, or of each."""
        mask = np.array(np.broadcast_to(relu, bias.shape), dtype=bool)
        for array in (weights, bias, mask):
            array.flags.writeable = False
        return ProgramLayer(weights, bias, mask, inexact)

    @property
    def out_size(self) -> int:
        """Number of units."""
        return len(self.bias)

    @property
    def in_size(self) -> int:
        """Number of values that it reads."""
        return int(self.weights.shape[1])

    @cached_property
    def integers(self) -> tuple[tuple[tuple[int, ...], ...], tuple[int, ...], int]:
        """(rows, bias, scale): the true coefficients times `scale`, a positive integer; rows are (out, in)."""
        ratios = [[v.as_integer_ratio() for v in row] for row in self.weights.tolist()]
        for row, b in zip(ratios, self.bias.tolist(), strict=True):
            row.append(b.as_integer_ratio())
        for (i, j), value in self.inexact.items():
            ratios[i][j] = value.as_integer_ratio()
        scale = lcm(*{denominator for row in ratios for _, denominator in row})
        whole = [[numerator * (scale // denominator) for numerator, denominator in row] for row in ratios]
        return tuple(tuple(row[:-1]) for row in whole), tuple(row[-1] for row in whole), scale

    def apply(self, values: Sequence[int], denominator: int) -> tuple[list[int], int]:
        """The layer at ``values / denominator``, as integers over a denominator in lowest terms together."""
        rows, bias, scale = self.integers
        out = [sum(map(mul, row, values), b * denominator) for row, b in zip(rows, bias, strict=True)]
        out = [0 if relu and v < 0 else v for v, relu in zip(out, self.relu.tolist(), strict=True)]
        denominator *= scale
        common = gcd(denominator, *out)
        return [v // common for v in out], denominator // common


@dataclass(frozen=True)
class Row:
    """``outputs . v + inputs . x + constant <= 0`` (``< 0`` where strict), for values v after its layer and inputs x.

    layer: 0-based; `INPUTS` where there are no outputs. outputs, inputs: one coefficient each.
    """

    layer: int
    outputs: tuple[Fraction, ...]
    inputs: tuple[Fraction, ...]
    constant: Fraction
    strict: bool

    def value(self, x: Sequence[Fraction], v: Sequence[Fraction]) -> Fraction:
        """The exact left-hand side."""
        return sum((c * a for c, a in zip(self.outputs, v, strict=True) if c), self.constant) + sum(
            (c * a for c, a in zip(self.inputs, x, strict=True) if c), Fraction(0)
        )

    def holds(self, x: Sequence[Fraction], v: Sequence[Fraction]) -> bool:
        """Decide exactly."""
        value = self.value(x, v)
        return value < 0 or (value == 0 and not self.strict)


@dataclass(frozen=True)
class Group:
    """Rows that stand side by side below one AND: all hold, after `layer`, or on inputs."""

    layer: int
    rows: tuple[Row, ...]


@dataclass(frozen=True, eq=False)
class Program:
    """What is asked: does some x of the box meet the formula?

    inputs: variables of the system, in the order of x. low, high: the box, closed. fixed: the value of each other
    variable that is one number, or that nothing asked depends on, in the initial states that x stands for.
    polytope: rows on inputs that cut the box; they are a part of every group already, and of the formula.
    formula: postfix over groups: a number pushes that group; AND or OR, then k, joins the last k (none: true, false).
    step_layer: by step, the layer after which the values hold what is asked about that step (-1: the inputs).
    places: by step, the index in these values of each variable; known: by step, values of variables that are numbers.
    """

    inputs: tuple[str, ...]
    low: tuple[Fraction, ...]
    high: tuple[Fraction, ...]
    fixed: Mapping[str, Fraction]
    polytope: tuple[Row, ...]
    layers: tuple[ProgramLayer, ...]
    groups: tuple[Group, ...]
    formula: tuple[int, ...]
    step_layer: tuple[int, ...]
    places: tuple[Mapping[str, int], ...]
    known: tuple[Mapping[str, Fraction], ...]

    @property
    def steps(self) -> int:
        """How many steps it looks ahead."""
        return len(self.step_layer) - 1

    @property
    def sizes(self) -> tuple[int, ...]:
        """Widths: the inputs, then each layer."""
        return (len(self.inputs), *(layer.out_size for layer in self.layers))

    def values(self, x: Sequence[Fraction], last: int | None = None) -> list[tuple[Fraction, ...]]:
        """The values after each layer, up to `last` (0-based, None: all of them) at an input, exactly."""
        denominator = lcm(*(a.denominator for a in x))
        now = [a.numerator * (denominator // a.denominator) for a in x]
        found = []
        for layer in self.layers if last is None else self.layers[: last + 1]:
            ask()
            now, denominator = layer.apply(now, denominator)
            found.append(tuple(Fraction(v, denominator) for v in now))
        return found

    def holds(self, x: Sequence[Fraction]) -> bool:
        """Does the formula hold at an input, exactly?"""
        after = self.values(x, max((g.layer for g in self.groups), default=-1))
        met = [all(r.holds(x, () if r.layer == INPUTS else after[r.layer]) for r in g.rows) for g in self.groups]
        stack: list[bool] = []
        at = 0
        while at < len(self.formula):
            code = self.formula[at]
            at += 1
            if code >= 0:
                stack.append(met[code])
                continue
            cut = len(stack) - self.formula[at]
            at += 1
            stack[cut:] = [all(stack[cut:]) if code == AND else any(stack[cut:])]
        return stack[0]

    def inside(self, x: Sequence[Fraction]) -> bool:
        """Is an input in the box and in the polytope, exactly?"""
        boxed = all(a <= v <= b for a, v, b in zip(self.low, x, self.high, strict=True))
        return boxed and all(row.holds(x, ()) for row in self.polytope)

    def state(self, x: Sequence[Fraction]) -> dict[str, Fraction]:
        """The initial state of the system that an input stands for."""
        return {**self.fixed, **dict(zip(self.inputs, x, strict=True))}


def layer_of(rows: Iterable[tuple[Mapping[int, Fraction], Fraction, bool]], width: int) -> ProgramLayer:
    """A layer from sparse rows: coefficients by index of what is read, the constant, rectified or not."""
    listed = list(rows)
    weights, bias = np.zeros((len(listed), width)), np.zeros(len(listed))
    inexact: dict[tuple[int, int], Fraction] = {}
    for i, (terms, constant, _) in enumerate(listed):
        for j, c in (*terms.items(), (width, constant)):
            near = float(c)
            if j < width:
                weights[i, j] = near
            else:
                bias[i] = near
            if near.as_integer_ratio() != c.as_integer_ratio():  # both in lowest terms
                inexact[i, j] = c
    return ProgramLayer(weights, bias, np.array([relu for *_, relu in listed], dtype=bool), inexact)
