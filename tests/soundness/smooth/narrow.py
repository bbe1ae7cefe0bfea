"""Narrow forms in integers, where single units decide: corners of forms that a function is nearly linear over.

Rounding loses less than a unit for each coefficient, and lines around a function have up to a unit to spare where they
are not touched. At random both are rarely tight together: coefficients are chosen here so that nearly all that can be
lost is lost at a corner beside an end that the line touches.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from random import Random

import numpy as np
from flint import arb

from tests.soundness.smooth.truth import Tally, applied, rational, scaled
from venmas.checker.flowpipes.forms import Form, Forms
from venmas.checker.flowpipes.networks import apply_network
from venmas.checker.flowpipes.univariate import SLOPE_BITS, OutsideError, relaxed
from venmas.model.evaluation.elementary.registry import FUNCTIONS
from venmas.nn import Network
from venmas.nn.network import Layer

_AROUND = {"exp": (-6.0, 0.0), "sqrt": (0.5, 200.0), "reciprocal": (1.2, 20.0), "relu": (0.0, 0.0)}
_ONE, _UNIT = 1 << SLOPE_BITS, 40
"""1 in units of slopes, and bits of values in networks (docs/certificates.md)."""


def narrow_forms(seed: int, count: int) -> Tally:
    """Functions of forms with at most three symbols, at all corners."""
    rng, tally = Random(seed), Tally()
    for _ in range(count):
        name, bits = rng.choice((*FUNCTIONS, "reciprocal")), rng.choice((40, 60, 60, 96))
        ring = Forms(bits, 3)
        form = _narrow(rng, name, int(rng.uniform(*_AROUND.get(name, (-5.0, 5.0))) * 2**bits), bits)
        try:
            found = ring.apply(name, form)
        except OutsideError:
            tally.refused += 1
            continue
        tally.looked += 1
        for signs in product((-1, 1), repeat=len(form.g)):
            for r in {-form.e, form.e}:
                true = applied(name, scaled(_at(form, signs) + r, bits))
                _compared(tally, found, signs, bits, true, f"{name} of {form} at {signs}, {r} of {bits} bits")
    return tally


def narrow_networks(seed: int, count: int) -> Tally:
    """Networks of one unit of one input: flat parts of functions, and weights far below 1."""
    rng, tally = Random(seed), Tally()
    for _ in range(count):
        bits, activation = rng.choice((_UNIT, 60)), rng.choice(("linear", "tanh", "sigmoid", "relu"))
        centre = int(rng.uniform(1.5, 4.5) * 2**_UNIT) * (rng.choice((-1, 1)) if activation != "relu" else 0)
        if activation == "linear":
            weight = Fraction(2 * rng.randint(-40, 40) + 1, _ONE)
            bias = Fraction(rng.choice((0, rng.getrandbits(10))), 2**_UNIT * rng.choice((1, 16)))
            form = _rounded(rng, centre, weight.numerator)
        else:
            weight, bias = Fraction(1), Fraction(0)
            form = _narrow(rng, activation, centre, _UNIT, 4)
        down = bits - _UNIT
        form = Form(form.c << down, tuple(g << down for g in form.g), form.e << down)
        network = Network((Layer(np.array([[float(weight)]]), np.array([float(bias)]), activation),))
        try:
            (found,) = apply_network(network, [form], Forms(bits, len(form.g)))
        except OutsideError:
            tally.refused += 1
            continue
        tally.looked += 1
        for signs in product((-1, 1), repeat=len(form.g)):
            for r in {-form.e, form.e}:
                before = rational(weight) * scaled(_at(form, signs) + r, bits) + rational(bias)
                true = before if activation == "linear" else applied(activation, before)
                what = f"network {weight} x + {bias}, {activation}, of {form} at {signs}, {r} of {bits} bits"
                _compared(tally, found, signs, bits, true, what)
    return tally


def _narrow(rng: Random, name: str, centre: int, bits: int, grown: int = 0) -> Form:
    """A form with one part of up to 2^21 units, a symbol or the radius, and small ones.

    Most are such that, at +1, all that is floored by the slope is nearly a unit: what a small negative coefficient,
    times the slope, is short of one, centre and large part are short of together. grown: by how much more than the
    form's the radius is that meets the slope.
    """
    size, few = rng.getrandbits(rng.choice((8, 18, 19, 20))), rng.randint(-8, 8)
    slope = relaxed(name, centre - size, centre + size, bits)[0]
    if slope % 2:
        few = -rng.randint(1, max(1, _ONE // abs(slope)))
        inverse, short = pow(slope, -1, _ONE), -few * slope % _ONE
        part = rng.randint(0, short)
        centre, size = (_next(x, -b * inverse) for x, b in ((centre, part), (size, short - part)))
    if rng.random() < 0.5:
        return Form(centre, (few, size), rng.choice((0, 0, 1)))
    return Form(centre, (few,) * rng.randint(0, 1), max(_next(size, size - grown), 0))


def _rounded(rng: Random, centre: int, weight: int) -> Form:
    """A form of which all parts, times a weight in units of 2^-16, are little short of a unit, or of half of one."""
    short = rng.choice((0, _ONE // 2))
    inverse = pow(weight, -1, _ONE)
    parts = [
        _next(rng.getrandbits(20), -(short + rng.getrandbits(12)) * inverse) for _ in range(rng.choice((2, 2, 3, 5)))
    ]
    return Form(_next(centre, parts[0]), tuple(parts[2:]), rng.choice((0, parts[1])))


def _next(x: int, rest: int) -> int:
    """The next number that is `rest` modulo one."""
    return x + (rest - x) % _ONE


def _at(form: Form, signs: tuple[int, ...]) -> int:
    return form.c + sum(g * s for g, s in zip(form.g, signs, strict=False))


def _compared(tally: Tally, found: Form, signs: tuple[int, ...], bits: int, true: arb, what: str) -> None:
    """Note a value at a corner; symbols that are not given may be anything."""
    rest = found.e + sum(map(abs, found.g[len(signs) :]))
    at = found.c + sum(g * s for g, s in zip(found.g, signs, strict=False))
    tally.point(scaled(at - rest, bits), true, scaled(at + rest, bits), what)
