"""Evaluations of networks in float32: in many orders of operations, as runtimes do them, and as the model of rounding
errors allows at worst."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np
from flint import arb

from tests.soundness.smooth.truth import applied
from venmas.nn import Network
from venmas.nn.network import SMOOTH, Layer

_UNIT, _NORMAL, _SMOOTH = arb(2) ** -24, 2.0**-126, arb(2) ** -20
Single = np.float32


def evaluated(rng: Random, network: Network, inputs: Sequence[arb]) -> list[arb]:
    """Outputs of one evaluation; no number where it overflows."""
    if rng.random() < 0.5:
        return _moved(rng, network, inputs)
    with np.errstate(all="ignore"):
        return [arb(float(v)) for v in _run(rng, network, inputs)]


def _moved(rng: Random, network: Network, inputs: Sequence[arb]) -> list[arb]:
    """Every result off by a unit roundoff of it, so that the unit's sum is moved to one side."""

    def off(value: arb, side: int) -> arb:
        return value + side * _UNIT * abs(value)

    values = [off(x, rng.choice((-1, 1))) for x in inputs]
    for layer in network.layers:
        found = []
        for row, b in zip(layer.weight.tolist(), layer.bias.tolist(), strict=True):
            side = rng.choice((-1, 1))
            total = off(arb(b), side)
            for w, x in rng.sample(list(zip(row, values, strict=True)), len(row)):
                rounded = off(arb(w), side if (x * w > 0 and w > 0) or (x * w <= 0 and w < 0) else -side)
                total = off(total + off(rounded * x, side), side)
            found.append(_unit(rng, layer, total))
        values = found
    return values


def _unit(rng: Random, layer: Layer, total: arb) -> arb:
    if layer.activation == "linear":
        return total
    value = applied(layer.activation, total)
    return value + rng.choice((-1, 1)) * _SMOOTH if layer.activation in SMOOTH else value


def _run(rng: Random, network: Network, inputs: Sequence[arb]) -> list[np.float32]:
    flushing, values = rng.random() < 0.5, [Single(float(x)) for x in inputs]

    def kept(value: np.float32) -> np.float32:
        return Single(0) if flushing and abs(value) < _NORMAL else value

    values = [kept(x) for x in values]
    for layer in network.layers:
        found = []
        for row, b in zip(layer.weight.tolist(), layer.bias.tolist(), strict=True):
            products = [(kept(Single(w)), x) for w, x in zip(row, values, strict=True)]
            rng.shuffle(products)
            sums = [kept(Single(b))]
            at = rng.randint(0, len(products))  # where the bias is added
            fused = rng.random() < 0.5
            for i, (w, x) in enumerate(products):
                if i == at or not fused or rng.random() < 0.2:
                    sums.append(kept(Single(w * x)))  # one partial sum more
                else:
                    place = rng.randrange(len(sums))
                    sums[place] = kept(Single(float(w) * float(x) + float(sums[place])))
            while len(sums) > 1:
                one, other = (sums.pop(rng.randrange(len(sums))) for _ in range(2))
                sums.append(kept(Single(one + other)))
            found.append(kept(_activated(rng, layer.activation, sums[0])))
        values = found
    return values


def _activated(rng: Random, kind: str, total: np.float32) -> np.float32:
    if kind == "relu":
        return np.maximum(total, Single(0))
    if kind not in SMOOTH:
        return total
    return Single(SMOOTH[kind](np.float64(total)) + rng.uniform(-15, 15) * 2.0**-24)
