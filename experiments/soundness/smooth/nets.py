"""Random networks of every activation by engine and checker, against Arb: outputs at the symbols of the inputs."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import numpy as np
from flint import arb

from experiments.soundness.smooth.boxes import SYMBOLS, integer_form
from experiments.soundness.smooth.truth import Tally, applied, rational, scaled
from venmas.bounds.affine.forms import Form as FloatForm
from venmas.bounds.affine.networks import through
from venmas.checker.smooth.forms import Form, Forms
from venmas.checker.smooth.networks import apply_network
from venmas.checker.smooth.univariate import OutsideError
from venmas.nn import Network
from venmas.nn.network import Layer

_BITS = 60


def random_network(rng: Random) -> Network:
    """Up to three hidden layers; weights of floats, of few bits, or huge ones."""
    sizes = [rng.randint(1, 4), *(rng.randint(1, 6) for _ in range(rng.randint(0, 3))), 2]
    floats = np.random.default_rng(rng.getrandbits(30))
    layers = []
    for before, after in pairwise(sizes):
        scale = rng.choice((0.3, 1.0, 1.0, 30.0, 1e5))
        weight, bias = floats.normal(size=(after, before)) * scale, floats.normal(size=after)
        if rng.random() < 0.3:
            weight, bias = np.round(weight * 4) / 4, np.zeros(after)
        layers.append(Layer(weight, bias, rng.choice(("relu", "tanh", "sigmoid", "linear"))))
    return Network(tuple(layers))


def _exact(network: Network, values: list[arb]) -> list[arb]:
    for layer in network.layers:
        sums = [
            sum((rational(w) * v for w, v in zip(row, values, strict=True)), rational(b))
            for row, b in zip(layer.exact_weight, layer.exact_bias, strict=True)
        ]
        values = [s if layer.activation == "linear" else applied(layer.activation, s) for s in sums]
    return values


def networks(seed: int, count: int, engine: bool) -> Tally:
    """So many networks, each at one point of its inputs."""
    rng, tally = Random(seed), Tally()
    for _ in range(count):
        network = random_network(rng)
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
                ends = [(_at(f.z[0].tolist(), symbols), arb(float(f.e[0]))) for f in through(network, given)]
        else:
            inputs = [scaled((f.c << 10) + sum(map(_times, f.g, symbols)), _BITS + 10) for f in forms]
            inputs = [x + share * scaled(f.e, _BITS) for x, f in zip(inputs, forms, strict=True)]
            try:
                found = apply_network(network, forms, Forms(_BITS, few))
            except OutsideError:
                tally.refused += 1
                continue
            ends = []
            for f in found:
                centre = (f.c << 10) + sum(map(_times, f.g[:few], symbols))
                ends.append((scaled(centre, _BITS + 10), scaled(f.e + sum(map(abs, f.g[few:])), _BITS)))
        tally.looked += 1
        for (centre, radius), true in zip(ends, _exact(network, inputs), strict=True):
            if radius.is_finite() and centre.is_finite():
                sizes = [layer.in_size for layer in network.layers]
                tally.point(centre - radius, true, centre + radius, f"network of {sizes} at {symbols}, seed {seed}")
    return tally


def _times(g: int, s: int) -> int:
    return g * s


def _at(z: list[float], symbols: list[int]) -> arb:
    return arb(z[0]) + sum((arb(g) * s for g, s in zip(z[1:], symbols, strict=False)), arb(0)) / 1024
