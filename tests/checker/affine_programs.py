"""Random layered programs, and boxes of their inputs in integers."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np

from venmas.checker.affine.scaled import Ints, ScaledProgram, scaled
from venmas.model.transform.program import OR, Group, Program, ProgramLayer, Row


def random_program(rng: np.random.Generator, widths: list[int] | None = None, scales: int = 0) -> Program:
    """Some inputs, layers with weights of 20 bits and some sevenths, and groups of rows after any of them.

    scales: columns of layers are multiplied, and those of the next divided, by powers of two up to this one.
    """
    inputs = int(rng.integers(1, 5))
    sizes = [inputs, *(widths or [int(rng.integers(1, 14)) for _ in range(int(rng.integers(1, 6)))])]
    layers = [_layer(rng, a, b) for a, b in pairwise(sizes)]
    if scales:
        layers = [_scaled(rng, layer, scales) for layer in layers]
    groups = []
    for _ in range(int(rng.integers(1, 4))):
        at = int(rng.integers(-1, len(layers)))
        rows = (_row(rng, at, sizes[at + 1] if at >= 0 else 0, inputs) for _ in range(int(rng.integers(1, 4))))
        groups.append(Group(at, tuple(rows)))
    low = tuple(Fraction(int(rng.integers(-9, 0)), 3) for _ in range(inputs))
    high = tuple(a + Fraction(int(rng.integers(0, 9)), 5) for a in low)
    names, formula = tuple(f"x{i}" for i in range(inputs)), (*range(len(groups)), OR, len(groups))
    return Program(names, low, high, {}, (), tuple(layers), tuple(groups), formula, (-1,), ({},), ({},))


def _layer(rng: np.random.Generator, inputs: int, outputs: int) -> ProgramLayer:
    weights = np.round(rng.normal(size=(outputs, inputs)) * 1.5 / np.sqrt(inputs) * 2**20) / 2**20
    if rng.random() < 0.2:
        weights = np.round(weights)
    bias, inexact = rng.normal(size=outputs) * 0.3, {}
    for _ in range(int(rng.integers(0, 4))):
        i, j = int(rng.integers(outputs)), int(rng.integers(inputs + 1))
        inexact[i, j] = Fraction(int(rng.integers(-20, 20)), 7)
        (weights[i] if j < inputs else bias)[j if j < inputs else i] = float(inexact[i, j])
    return ProgramLayer(weights, bias, rng.random(outputs) < 0.8, inexact)


def _scaled(rng: np.random.Generator, layer: ProgramLayer, most: int) -> ProgramLayer:
    """Weights of very different sizes; of one row most are 0, as behind a clip, and what is inexact is one of them."""
    factors = 2.0 ** rng.integers(-most, most + 1, layer.weights.shape)
    factors[rng.random(layer.weights.shape) < 0.5] = 0
    factors[rng.integers(layer.out_size)] = 1
    weights = layer.weights * factors
    exact = {
        (i, j): v * Fraction(float(factors[i, j])) if j < layer.in_size else v for (i, j), v in layer.inexact.items()
    }
    for (i, j), value in exact.items():
        if j < layer.in_size:
            weights[i, j] = float(value)
    return ProgramLayer(weights, layer.bias, layer.relu, {at: v for at, v in exact.items() if v})


def _row(rng: np.random.Generator, layer: int, outputs: int, inputs: int) -> Row:
    def number() -> Fraction:
        return Fraction(int(rng.integers(-9, 9)), int(rng.integers(1, 4)))

    direct = tuple(number() * int(rng.random() < 0.4) for _ in range(inputs))
    constant = Fraction(int(rng.integers(-30, 90)), 7) * int(rng.choice((1, 1, 10**6)))
    return Row(layer, tuple(number() for _ in range(outputs)), direct, constant, bool(rng.random() < 0.3))


def in_integers(rng: np.random.Generator, program: Program) -> ScaledProgram:
    return scaled(program, int(rng.choice((16, 20, 30, 36, 36, 36, 40))))


def random_boxes(rng: np.random.Generator, program: ScaledProgram, count: int, deep: int = 60) -> tuple[Ints, Ints]:
    """Parts of the box, some of them a unit wide: (B, inputs) twice."""
    low, high = (np.repeat(np.array([end]), count, axis=0) for end in (program.low, program.high))
    for i in range(count):
        for _ in range(int(rng.integers(0, rng.choice((4, 12, deep))))):
            axis = int(rng.integers(low.shape[1]))
            end = high if rng.random() < 0.5 else low
            end[i, axis] = (low[i, axis] + high[i, axis]) >> 1
    return low, high


def random_weights(rng: np.random.Generator, program: ScaledProgram) -> dict[int, list[int]]:
    return {
        g: [int(rng.integers(0, 64)) * int(rng.random() < 0.7) for _ in group.strict]
        for g, group in enumerate(program.groups)
        if rng.random() < 0.3
    }


def points(
    rng: np.random.Generator, program: ScaledProgram, low: Ints, high: Ints, count: int
) -> list[tuple[Fraction, ...]]:
    """Rational points of a box: corners, and anything."""
    found = []
    for k in range(count):
        part = [
            Fraction(int(rng.integers(0, 2)) if k % 2 else int(rng.integers(0, 3001)), 1 if k % 2 else 3000)
            for _ in low
        ]
        found.append(
            tuple((int(a) + p * int(b - a)) / 2**program.bits for a, b, p in zip(low, high, part, strict=True))
        )
    return found
