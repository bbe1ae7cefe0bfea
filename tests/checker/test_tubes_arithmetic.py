"""Affine forms in integers against Arb: every operation holds what it should, for the same symbols."""

from __future__ import annotations

from tests.needs import needs

needs("flint")

from fractions import Fraction
from itertools import pairwise, zip_longest
from math import exp, pi
from random import Random

import numpy as np
import pytest
from flint import arb, ctx, fmpq

from tests.operands import random_boxes
from venmas.checker.flowpipes.forms import Form, Forms, not_negative
from venmas.checker.flowpipes.networks import apply_network
from venmas.checker.flowpipes.univariate import SLOPE_BITS, OutsideError, relaxed
from venmas.model.evaluation.elementary.registry import FUNCTIONS
from venmas.nn import Network
from venmas.nn.network import Layer

BITS = 60


def as_arb(value: Fraction) -> arb:
    return arb(fmpq(value.numerator, value.denominator))


def applied(name: str, x: arb) -> arb:
    if name == "sigmoid":
        return 1 / (1 + (-x).exp())
    if name == "reciprocal":
        return 1 / x
    if name == "relu":
        return x if x >= 0 else arb(0)
    found: arb = getattr(x, name)()
    return found


@pytest.mark.parametrize("name", [*FUNCTIONS, "reciprocal", "relu"])
def test_lines_hold_the_function(name: str) -> None:
    """Over random intervals, tiny and huge ones, next to 0 and to turns: no point outside of both lines."""
    ctx.prec = 400
    rng, looked = Random(7), 0
    for low, high in random_boxes(name, BITS, 700, seed=8):
        try:
            slope, least, most = relaxed(name, low, high, BITS)
        except OutsideError:
            assert name in ("reciprocal", "sqrt", "exp")
            continue
        looked += 1
        for x in (low, high, (low + high) // 2, *(rng.randint(low, high) for _ in range(3))):
            at = as_arb(Fraction(x, 1 << BITS))
            rest = applied(name, at) - at * slope / (1 << SLOPE_BITS)
            assert not rest < as_arb(Fraction(least, 1 << BITS)) and not rest > as_arb(Fraction(most, 1 << BITS))
    assert looked > 400


def test_lines_are_close() -> None:
    """Not only right: within the fourth of the square of the width, or so."""
    for name, middle in (("exp", 0.3), ("tanh", 0.8), ("sin", 1.0), ("cos", 0.2), ("sqrt", 2.0), ("sigmoid", -1.0)):
        for width in (1e-3, 0.1):
            low, high = (int((middle + s * width / 2) * 2**BITS) for s in (-1, 1))
            _, least, most = relaxed(name, low, high, BITS)
            assert (most - least) / 2**BITS < 0.5 * width * width * exp(0.4) + 2**-15 * width


def test_lines_around_turns_are_close() -> None:
    """Over an inflection of sine and cosine: within a third of the cube of half the width."""
    for name, turn in (("sin", 0.0), ("sin", pi), ("cos", pi / 2), ("cos", -pi / 2)):
        for half in (1e-3, 0.05, 0.5):
            for off in (0.0, half / 4):
                low, high = (int((turn + off + s * half) * 2**BITS) for s in (-1, 1))
                _, least, most = relaxed(name, low, high, BITS)
                assert (most - least) / 2**BITS < half**2 * (off + half / 3) * 1.01 + 2**-14 * half


def random_form(rng: Random, symbols: int) -> Form:
    size = 2.0 ** rng.randint(-30, 3)
    g = tuple(int(rng.uniform(-1, 1) * size * 2**BITS) for _ in range(rng.randint(0, symbols)))
    return Form(int(rng.uniform(-4, 4) * 2**BITS), g, rng.choice((0, 1, int(size * 2 ** (BITS - 12)))))


def point(form: Form, symbols: list[Fraction], rng: Random) -> Fraction:
    """A value that the form holds at these symbols."""
    rest = form.e * Fraction(rng.choice((-1, 0, 1, rng.uniform(-1, 1))))
    return Fraction(form.c + sum(g * s for g, s in zip(form.g, symbols, strict=False)) + rest) / (1 << BITS)


def holds(form: Form, symbols: list[Fraction], value: arb) -> bool:
    """May the form have the value at these symbols?"""
    centre = Fraction(form.c + sum(g * s for g, s in zip(form.g, symbols, strict=False)))
    low, high = (as_arb((centre + sign * form.e) / (1 << BITS)) for sign in (-1, 1))
    return not value < low and not value > high


def test_operations_hold_for_the_same_symbols() -> None:
    """Also at corners, where squares of symbols are 1: no value outside of centre, coefficients and radius."""
    ctx.prec = 400
    rng = Random(9)
    for _ in range(2500):
        ring, symbols = Forms(BITS, 6), [Fraction(rng.choice((-1, 1, rng.uniform(-1, 1)))) for _ in range(6)]
        a, b = random_form(rng, 6), random_form(rng, 6)
        x, y = point(a, symbols, rng), point(b, symbols, rng)
        factor = Fraction(rng.randint(-50, 50), rng.choice((1, 3, 7, 10)))
        assert holds(ring.add(a, b), symbols, as_arb(x + y))
        assert holds(ring.scale(a, factor), symbols, as_arb(x * factor))
        assert holds(ring.multiply(a, b), symbols, as_arb(x * y))
        assert holds(ring.multiply(a, a), symbols, as_arb(x * x))
        assert holds(ring.maximum(a, b), symbols, as_arb(max(x, y)))
        assert holds(ring.constant(factor), symbols, as_arb(factor))
        for name in (*FUNCTIONS, "reciprocal"):
            try:
                found = ring.apply(name, a)
            except OutsideError:
                continue
            assert holds(found, symbols, applied(name, as_arb(x)))


def random_network(rng: Random) -> Network:
    sizes = [rng.randint(1, 4), *(rng.randint(1, 9) for _ in range(rng.randint(1, 3))), 2]
    floats = np.random.default_rng(rng.getrandbits(30))
    layers = []
    for before, after in pairwise(sizes):
        scale = rng.choice((0.3, 1.0, 30.0))
        weight, bias = floats.normal(size=(after, before)) * scale, floats.normal(size=after)
        if rng.random() < 0.5:
            weight, bias = weight.astype(np.float32).astype(float), np.zeros(after)
        layers.append(Layer(weight, bias, rng.choice(("relu", "tanh", "sigmoid", "linear"))))
    if rng.random() < 0.3:
        layers.insert(0, Layer.dividing(floats.uniform(0.5, 9, size=sizes[0])))
    return Network(layers)


def exact(network: Network, values: list[arb]) -> list[arb]:
    for layer in network.layers:
        sums = [
            sum((as_arb(w) * v for w, v in zip(row, values, strict=True)), as_arb(b))
            for row, b in zip(layer.exact_weight, layer.exact_bias, strict=True)
        ]
        values = [s if layer.activation == "linear" else applied(layer.activation, s) for s in sums]
    return values


def tiny_form(rng: Random) -> Form:
    """Of a few units, so that roundings count."""
    return Form(rng.randint(-9, 9), tuple(rng.randint(-9, 9) for _ in range(3)), rng.choice((0, 0, 9)))


def test_what_is_left_where_a_guard_holds() -> None:
    """Points at which a form is not negative are in the forms that are left, by what these say of both together."""
    rng, met, smaller = Random(19), 0, 0
    for turn in range(400):
        guard, x, y = (tiny_form(rng) if turn % 2 else random_form(rng, 4) for _ in range(3))
        made = not_negative({"x": x, "y": y}, guard)
        smaller += made["x"].size < 0.9 * x.size
        for _ in range(40):
            symbols = [Fraction(rng.choice((-1, 1, rng.uniform(-1, 1)))) for _ in range(4)]
            if point(guard, symbols, rng) < 0:
                continue
            met += 1
            at = [point(form, symbols, rng) * (1 << BITS) for form in (x, y)]
            for a, b in ((1, 0), (0, 1), (1, 1), (1, -1), (3, -2)):
                g = [a * p + b * q for p, q in zip_longest(made["x"].g, made["y"].g, fillvalue=0)]
                room = sum(map(abs, g)) + abs(a) * made["x"].e + abs(b) * made["y"].e
                assert abs(a * at[0] + b * at[1] - a * made["x"].c - b * made["y"].c) <= room
    assert met > 1000 and smaller > 10


def test_networks_hold_for_the_same_symbols() -> None:
    """Up to the symbols that are theirs; points keep their precision."""
    ctx.prec = 300
    rng = Random(10)
    for _ in range(250):
        network = random_network(rng)
        symbols = [Fraction(rng.choice((-1, 1, rng.uniform(-1, 1)))) for _ in range(5)]
        inputs = [random_form(rng, 5) for _ in range(network.layers[0].in_size)]
        values = exact(network, [as_arb(point(f, symbols, rng)) for f in inputs])
        ring = Forms(BITS, 5)
        for form, value in zip(apply_network(network, inputs, ring), values, strict=True):
            own = Form(form.c, form.g[:5], form.e + sum(map(abs, form.g[5:])))
            assert holds(own, symbols, value)
        sharp = [Form(f.c) for f in inputs]
        tame = max(float(np.abs(layer.weight).max()) for layer in network.layers) < 5
        assert not tame or all(f.size < 2 ** (BITS - 18) for f in apply_network(network, sharp, Forms(BITS, 0)))


def test_networks_of_huge_values_are_refused() -> None:
    """A tanh of what may be anything on both sides of 0 is enclosed up to 2^30, and refused beyond."""

    def steep(weight: float) -> Form:
        layers = [Layer(np.array([[weight]]), np.zeros(1), "tanh"), Layer(np.ones((1, 1)), np.zeros(1))]
        return apply_network(Network(layers), [Form(0, (1 << BITS,))], Forms(BITS, 1))[0]

    for weight in (1e5, 1e8):
        low, high = steep(weight).range
        assert low <= -(1 << BITS) + (1 << 30) and high >= (1 << BITS) - (1 << 30)
    for weight in (1e10, 1e20):
        with pytest.raises(OutsideError, match="too large"):
            steep(weight)


def test_ends_of_a_moved_form_are_those_of_the_sum() -> None:
    rng = Random(37)
    for _ in range(500):
        bits = rng.choice((1, 8, 40))
        ring = Forms(bits, 3)
        known = rng.choice((None, (-rng.randint(0, 300), rng.randint(0, 300))))
        form = Form(rng.randint(-99, 99), tuple(rng.randint(-99, 99) for _ in range(3)), rng.randint(0, 9), known)
        constant, sign = Fraction(rng.randint(-50, 50), rng.randint(1, 9)), rng.choice((1, -1))
        whole = ring.add(ring.constant(constant), ring.scale(form, Fraction(sign)))
        assert ring.ends(form, sign, constant) == whole.range
