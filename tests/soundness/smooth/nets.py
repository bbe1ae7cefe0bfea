"""Random networks of every activation by engine and checker, against Arb, and evaluations in float32: outputs at the
symbols of the inputs, and sums of them."""

from __future__ import annotations

from itertools import pairwise, zip_longest
from random import Random

import numpy as np
from flint import arb

from tests.soundness.smooth.boxes import SYMBOLS, integer_form
from tests.soundness.smooth.singles import evaluated
from tests.soundness.smooth.truth import Tally, applied, rational, scaled
from venmas.bounds.affine.forms import Form as FloatForm
from venmas.bounds.affine.forms import Forms as FloatForms
from venmas.bounds.affine.networks import through
from venmas.bounds.single import deployed
from venmas.checker.flowpipes.forms import Form, Forms
from venmas.checker.flowpipes.networks import apply_network
from venmas.checker.flowpipes.univariate import OutsideError
from venmas.nn import Network
from venmas.nn.network import Layer

_BITS = 60


def random_network(rng: Random, further: tuple[float, ...] = ()) -> Network:
    """Up to three hidden layers; weights of floats, of few bits, or huge ones. Some have a layer of equal units, more
    than have symbols that outputs share, which are off by as much at the same point. further: sizes of weights."""
    sizes = [rng.randint(1, 4), *(rng.randint(1, 6) for _ in range(rng.randint(0, 3))), 2]
    floats = np.random.default_rng(rng.getrandbits(30))
    layers = []
    for before, after in pairwise(sizes):
        scale = rng.choice((0.3, 1.0, 1.0, 30.0, 1e5, *further))
        weight, bias = floats.normal(size=(after, before)) * scale, floats.normal(size=after)
        if rng.random() < 0.3:
            weight, bias = np.round(weight * 4) / 4, np.zeros(after)
        layers.append(Layer(weight, bias, rng.choice(("relu", "tanh", "sigmoid", "linear"))))
    if rng.random() < 0.1:
        row, out = floats.normal(size=(1, sizes[0])), floats.normal(size=(2, 1))
        layers = [
            Layer(np.repeat(row, 14, 0), np.zeros(14), rng.choice(("relu", "tanh", "sigmoid"))),
            Layer(np.repeat(out, 14, 1), np.zeros(2), "linear"),
        ]
    if further and rng.random() < 0.1:  # what underflow loses is seen again
        first, out = floats.normal(size=(3, sizes[0])) * 1e-38, floats.normal(size=(2, 3)) * 1e36
        layers = [Layer(first, np.zeros(3), "linear"), Layer(out, np.zeros(2), "linear")]
    return Network(tuple(layers))


def _exact(network: Network, values: list[arb]) -> list[arb]:
    for layer in network.layers:
        sums = [
            sum((rational(w) * v for w, v in zip(row, values, strict=True)), rational(b))
            for row, b in zip(layer.exact_weight, layer.exact_bias, strict=True)
        ]
        values = [s if layer.activation == "linear" else applied(layer.activation, s) for s in sums]
    return values


def networks(seed: int, count: int, engine: bool, single: bool = False) -> Tally:
    """So many networks, each at one point of its inputs; `single`: as real functions, or evaluated in float32."""
    rng, tally = Random(seed), Tally()
    for _ in range(count):
        network = random_network(rng, (1e-30, 1e30, 1e-38) if single else ())
        symbols = [rng.choice((-1024, 1024, rng.randint(-1024, 1024))) for _ in range(SYMBOLS)]
        forms = [integer_form(rng, _BITS) for _ in range(network.layers[0].in_size)]
        share, few = rng.choice((-1, 0, 1)), rng.choice((0, 0, 1, SYMBOLS))
        if not engine:  # rounding shows where there are few symbols, each of which has room for one unit more
            forms = [Form(f.c, f.g[:few], rng.choice((0, f.e))) for f in forms]
        if engine:
            z = [[float(v) / 2**_BITS for v in (f.c, *f.g, *(0,) * (SYMBOLS - len(f.g)))] for f in forms]
            given = [FloatForm(np.array([row]), np.array([f.e / 2**_BITS])) for row, f in zip(z, forms, strict=True)]
            inputs = [_at(f.z[0].tolist(), symbols) + share * arb(float(f.e[0])) for f in given]
            with np.errstate(all="ignore"):
                found = through(FloatForms(1, SYMBOLS), network, given, single)
            rows = [[arb(g) for g in (*f.z[0].tolist(), float(f.e[0]))] for f in found]
            known = symbols
        else:
            inputs = [scaled((f.c << 10) + sum(map(_times, f.g, symbols)), _BITS + 10) for f in forms]
            inputs = [x + share * scaled(f.e, _BITS) for x, f in zip(inputs, forms, strict=True)]
            try:
                found = apply_network(network, forms, Forms(_BITS, few), single)
            except OutsideError:
                tally.refused += 1
                continue
            rows = [[scaled(g, _BITS) for g in (f.c, *f.g, f.e)] for f in found]
            known = symbols[:few]
        tally.looked += 1
        a, b = rows
        for x, y in [evaluated(rng, network, inputs) for _ in range(6)] if single else [_exact(network, inputs)]:
            # symbols that outputs share have one value: told by sums and differences of both
            for factors, true in (((1, 0), x), ((0, 1), y), ((1, 1), x + y), ((1, -1), x - y)):
                centre, radius = _of_both(factors, a, b, known)
                if radius.is_finite() and centre.is_finite():
                    sizes = [layer.in_size for layer in network.layers]
                    tally.point(centre - radius, true, centre + radius, f"network of {sizes} at {symbols}, seed {seed}")
    return tally


def queries(seed: int, count: int) -> Tally:
    """How far evaluations of so many networks in float32 are from the real outputs, at points of boxes."""
    rng, tally = Random(seed), Tally()
    for _ in range(count):
        network, radius = random_network(rng, (1e-30, 1e30, 1e-38)), rng.choice((0.0, 2.0**-12, 0.5))
        centre = [rng.randint(-256, 256) / 64 for _ in range(network.input_size)]
        box = (np.array([[x + side * radius for x in centre]]) for side in (-1, 1))
        found, where = deployed(network, *box), [arb(x + rng.choice((-1, 0, 1)) * radius) for x in centre]
        tally.looked += 1
        for _ in range(6):
            ends = zip(found.low[0], found.high[0], found.error[0], strict=True)
            outputs = zip(_exact(network, where), evaluated(rng, network, where), ends, strict=True)
            for exact, single, (low, high, error) in outputs:
                if np.isfinite([low, high, error]).all():
                    what = f"network of {network.sizes} at {where}, seed {seed}"
                    tally.point(arb(float(low)), exact, arb(float(high)), what)
                    tally.point(exact - arb(float(error)), single, exact + arb(float(error)), what)
    return tally


def _of_both(factors: tuple[int, int], a: list[arb], b: list[arb], symbols: list[int]) -> tuple[arb, arb]:
    """Centre and radius of a sum of two forms, (c, g.., e), at values of the first symbols."""
    p, q = factors
    whole = [p * g + q * h for g, h in zip_longest(a[:-1], b[:-1], fillvalue=arb(0))]
    first = 1 + len(symbols)
    centre = sum((g * s for g, s in zip(whole[1:first], symbols, strict=False)), arb(0)) / 1024
    return whole[0] + centre, sum(map(abs, whole[first:]), arb(0)) + abs(p) * a[-1] + abs(q) * b[-1]


def _times(g: int, s: int) -> int:
    return g * s


def _at(z: list[float], symbols: list[int]) -> arb:
    return arb(z[0]) + sum((arb(g) * s for g, s in zip(z[1:], symbols, strict=False)), arb(0)) / 1024
