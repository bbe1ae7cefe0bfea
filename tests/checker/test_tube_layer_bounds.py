"""Layers over affine forms, with symbols that one unit alone has, against rationals: no rounding is lost, also where
sizes are at the limits of 64 bits."""

from __future__ import annotations

from tests.needs import needs

needs("flint")

from collections.abc import Iterator
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.checker.test_tubes_arithmetic import as_arb, exact
from venmas.bounds.zonotope import affine
from venmas.checker.flowpipes.forms import Form, Forms
from venmas.checker.flowpipes.networks import VALUES, Scaled, TooLargeError, _joined, _Pass, apply_network
from venmas.nn import Layer, Network

Ints = NDArray[np.int64]


def random_layer(rng: Random, floats: np.random.Generator) -> Layer:
    """Of weights from 2^-45 to 2^35, also side by side, some of them 0, or of a division."""
    inputs, outputs = rng.randint(1, 12), rng.randint(1, 6)
    if rng.random() < 0.1:
        return Layer.dividing(floats.uniform(0.1, 9, size=inputs))
    weight = floats.normal(size=(outputs, inputs)) * 2.0 ** rng.randint(-45, 35)
    if rng.random() < 0.5:
        weight *= 2.0 ** floats.integers(-75, 1, size=weight.shape)
    weight[floats.random(weight.shape) < rng.choice((0.0, 0.0, 0.5, 1.0))] = 0
    if rng.random() < 0.1:
        weight = np.sign(weight) * 2.0 ** rng.randint(-40, 35)
    return Layer(weight, floats.normal(size=outputs) * 2.0 ** rng.randint(-45, 9))


def random_sizes(rng: Random, floats: np.random.Generator, layer: Layer) -> tuple[Ints, Ints, Ints]:
    """Forms, radii, and symbols that one input each has, of which sums are next to 2^50, or less."""
    count, inputs = rng.randint(1, 5), layer.in_size
    norm = float(np.abs(layer.weight).sum(1).max()) or 2.0**-40
    parts = floats.random((count + 2, inputs))
    if rng.random() < 0.3:
        parts[:] = 0
        parts[rng.choice((0, count, count + 1))] = 1
    parts *= min(2.0 ** (VALUES + 2), 2.0**VALUES / norm) * rng.choice((0.99, 0.5, 2.0**-20)) / parts.sum(0)
    whole = np.floor(parts).astype(np.int64)
    for row in whole[count:]:
        row[floats.random(inputs) < rng.choice((0.0, 0.5, 1.0))] = 0
    return whole[:count] * floats.choice([-1, 1], size=(count, inputs)), whole[count], whole[count + 1]


def off(
    layer: Layer, forms: list[list[Fraction]], made: list[list[Fraction]], e: list[Fraction], unit: int
) -> Iterator[tuple[Fraction, Fraction]]:
    """How far each output may be from what was made of it, in all, and the size of its terms. unit: of values."""
    size = [sum(map(abs, column)) + radius for column, radius in zip(zip(*forms, strict=True), e, strict=True)]
    for q, (row, bias) in enumerate(zip(layer.exact_weight, layer.exact_bias, strict=True)):
        lost = sum((abs(w) * r for w, r in zip(row, e, strict=True)), Fraction(0))
        for k, (form, outputs) in enumerate(zip(forms, made, strict=True)):
            lost += abs(
                sum(w * x for w, x in zip(row, form, strict=True)) + (bias * unit if k == 0 else 0) - outputs[q]
            )
        yield lost, sum((abs(w) * s for w, s in zip(row, size, strict=True)), abs(bias) * unit)


def rationals(values: NDArray[np.float64] | Ints) -> list[list[Fraction]]:
    return [[Fraction(x) for x in row] for row in values.tolist()]


@pytest.mark.parametrize("single", [False, True])
def test_radii_of_the_checker_hold_what_is_lost(single: bool) -> None:
    rng, looked, large = Random(4), 0, 0
    for _ in range(400):
        floats = np.random.default_rng(rng.getrandbits(30))
        layer, bits = random_layer(rng, floats), rng.choice((40, 30, 20))
        if not (made := Scaled(layer, bits)).fits:
            continue
        z, radii, alone = random_sizes(rng, floats, layer)
        try:
            out, spread = _Pass(bits, Forms(60, len(z) - 1), single)._affine(made, z, radii, alone)
        except TooLargeError:
            continue
        looked, large = looked + 1, large + (int(alone.max()) >= 1 << VALUES)
        (e,) = rationals(radii[None])
        narrow = Fraction(layer.in_size + 4, (1 << 24) - layer.in_size - 4) if single else 0
        for (lost, mass), room in zip(
            off(layer, rationals(_joined(z, alone)), rationals(out), e, 1 << bits), spread.tolist(), strict=True
        ):
            assert lost + narrow * mass <= room
    assert looked > 300 and large > 5


@pytest.mark.parametrize("single", [False, True])
def test_radii_of_the_search_hold_what_is_lost(single: bool) -> None:
    rng = Random(5)
    for _ in range(300):
        floats = np.random.default_rng(rng.getrandbits(30))
        layer = random_layer(rng, floats)
        z, e, alone = (
            floats.normal(size=s) * 2.0 ** rng.randint(-40, 9) for s in ((3, layer.in_size),) + 2 * ((layer.in_size,),)
        )
        e, alone = np.abs(e) * rng.choice((0, 1)), np.abs(alone) * (floats.random(layer.in_size) < 0.7)
        z *= rng.choice((0, 1))
        made, error = affine(layer.weight, layer.bias, layer.weight_error, z[None], e[None], single, alone[None])
        joined = np.concatenate([z, np.diag(alone)[alone > 0]])
        narrow = Fraction(layer.in_size + 4, (1 << 24) - layer.in_size - 4) if single else 0
        (radii,) = rationals(e[None])
        for (lost, mass), room in zip(
            off(layer, rationals(joined), rationals(made[0]), radii, 1), error[0].tolist(), strict=True
        ):
            assert lost + narrow * mass <= Fraction(room)


def test_many_layers_hold_the_network_at_corners() -> None:
    """Layers of one object, without activations between, of units that are all 0: along the corners of all symbols."""
    rng, looked = Random(8), 0
    for _ in range(120):
        floats = np.random.default_rng(rng.getrandbits(30))
        size, count = rng.randint(1, 12), rng.randint(1, 5)
        layer = Layer(
            floats.normal(size=(size, size)) * rng.choice((0.01, 0.3, 1.0)) * (floats.random((size, size)) < 0.7),
            floats.normal(size=size) - rng.choice((0, 0, 30)),
            rng.choice(("relu", "relu", "tanh", "sigmoid", "linear")),
        )
        network = Network((layer,) * count)
        inputs = [
            Form(
                rng.randint(-2 << 60, 2 << 60),
                tuple(rng.randint(-1 << 55, 1 << 55) for _ in range(3)),
                rng.choice((0, 1 << 54)),
            )
            for _ in range(size)
        ]
        outputs = apply_network(network, inputs, Forms(60, 3))
        for _ in range(4):
            symbols, share = [rng.choice((-1, 1)) for _ in range(3)], rng.choice((-1, 1))
            at = [
                Fraction(f.c + sum(g * s for g, s in zip(f.g, symbols, strict=True)) + share * f.e, 1 << 60)
                for f in inputs
            ]
            for form, value in zip(outputs, exact(network, [as_arb(x) for x in at]), strict=True):
                centre = form.c + sum(g * s for g, s in zip(form.g[:3], symbols, strict=True))
                room = sum(map(abs, form.g[3:])) + form.e
                looked += 1
                assert not abs(value * (1 << 60) - centre) > room
    assert looked > 1000
