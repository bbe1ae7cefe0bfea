"""Strategies for ReLU networks: small exact ones, and ones that are hard on floating-point arithmetic.

The hard ones are small networks with one or two twists applied, where verifiers that compute in floats have been wrong:
small weights absorbed by large ones that cancel (Zombori et al., ICLR 2021), errors of a unit in the last place that
are amplified (Jia and Rinard, SAS 2021), big-M constraints that leak, ties, subnormal numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from venmas.nn import Layer, Network, relu_network

Array = NDArray[np.float64]
Twist = Callable[[st.DrawFn, list[Layer]], list[Layer]]


def _halves(draw: st.DrawFn, *shape: int) -> Array:
    count = int(np.prod(shape))
    values = draw(st.lists(st.integers(-4, 4), min_size=count, max_size=count))
    return np.array(values, dtype=float).reshape(shape) / 2


@st.composite
def networks(draw: st.DrawFn, sizes: tuple[int, ...] = (2, 4, 3)) -> Network:
    """A ReLU network of the given widths; weights are small multiples of 1/2, which float64 computes exactly."""
    weights = [_halves(draw, m, n) for n, m in pairwise(sizes)]
    return relu_network(weights, [_halves(draw, m) for m in sizes[1:]], name="random")


@st.composite
def adversarial_networks(
    draw: st.DrawFn, inputs: int = 2, outputs: int = 3, kinds: tuple[str, ...] = (), most: int = 2
) -> Network:
    """A network with one to `most` twists out of `kinds`, names of `TWISTS` (all of them by default)."""
    layers = list(draw(networks((inputs, draw(st.integers(1, 3)), outputs))).layers)
    chosen = draw(st.lists(st.sampled_from(kinds or tuple(TWISTS)), min_size=1, max_size=most, unique=True))
    for kind in chosen:
        layers = TWISTS[kind](draw, layers)
    return Network(tuple(layers), "-".join(chosen))


def _hidden(draw: st.DrawFn, layers: list[Layer]) -> int | None:
    """Position of a ReLU layer that is stored as a matrix, and so is the layer after it."""
    able = [i for i, (a, b) in enumerate(pairwise(layers)) if a.divisor is None and b.divisor is None]
    return draw(st.sampled_from(able)) if able else None


def _widened(layers: list[Layer], at: int, weight: Array, bias: Array, after: Array) -> list[Layer]:
    """Layer `at` and the weight of the next one replaced."""
    new = list(layers)
    new[at] = Layer(weight, bias, "relu")
    new[at + 1] = Layer(after, layers[at + 1].bias, layers[at + 1].activation)
    return new


def _inserted(layers: list[Layer], at: int, factors: tuple[float, ...]) -> list[Layer]:
    """After layer `at`, ReLU layers that multiply by each of the factors."""
    size = layers[at].out_size
    extra = [Layer(np.eye(size) * f, np.zeros(size), "relu") for f in factors]
    return [*layers[: at + 1], *extra, *layers[at + 1 :]]


def cancelling(draw: st.DrawFn, layers: list[Layer]) -> list[Layer]:
    """Two copies of a hidden layer enter the next one with large weights that cancel."""
    at = _hidden(draw, layers)
    if at is None:
        return layers
    w, b, after = layers[at].weight, layers[at].bias, layers[at + 1].weight
    large = draw(st.sampled_from((1e17, 2.0**53, 1e7, 1e30))) * np.sign(_halves(draw, *after.shape))
    parts = (after, large, -large)
    order = [parts[i] for i in draw(st.permutations(range(3)))]
    return _widened(layers, at, np.vstack([w, w, w]), np.concatenate([b, b, b]), np.hstack(order))


def squeezed(draw: st.DrawFn, layers: list[Layer]) -> list[Layer]:
    """A hidden layer scaled down below any tolerance, and up again over one to three layers."""
    at = _hidden(draw, layers)
    small = draw(st.sampled_from((1e-7, 8e-10, 2.0**-30, 1e-12, 1e-30)))
    steps = draw(st.integers(1, 3))
    return layers if at is None else _inserted(layers, at, (small, *[(1 / small) ** (1 / steps)] * steps))


def denormal(draw: st.DrawFn, layers: list[Layer]) -> list[Layer]:
    """A hidden layer scaled into the subnormal floats, and up again; or subnormal biases where there are none."""
    at = _hidden(draw, layers)
    if at is None:
        return layers
    if draw(st.booleans()):
        return _inserted(layers, at, (2.0**-1074, 2.0**537, 2.0**537))
    b = layers[at].bias
    bias = np.where(b == 0, draw(st.sampled_from((5e-324, -5e-324, 2.0**-1030))), b)
    return _widened(layers, at, layers[at].weight, bias, layers[at + 1].weight)


def steep(draw: st.DrawFn, layers: list[Layer]) -> list[Layer]:
    """Each hidden unit z becomes ``relu(s z) - relu(s z - 1)``: a step as steep as the large factor s."""
    at = _hidden(draw, layers)
    if at is None:
        return layers
    factor = draw(st.sampled_from((1e3, 1e6, 1e7)))
    w, b, after = layers[at].weight * factor, layers[at].bias * factor, layers[at + 1].weight
    return _widened(layers, at, np.vstack([w, w]), np.concatenate([b, b - 1]), np.hstack([after, -after]))


def one_ulp(draw: st.DrawFn, layers: list[Layer]) -> list[Layer]:
    """Each hidden unit z becomes ``2^53 (relu(z) - relu(z - 2^-53))``, which floats lose where z >= 1."""
    at = _hidden(draw, layers)
    if at is None:
        return layers
    w, b, after = layers[at].weight, np.zeros(layers[at].out_size), layers[at + 1].weight * 2.0**53
    return _widened(layers, at, np.vstack([w, w]), np.concatenate([b, b - 2.0**-53]), np.hstack([after, -after]))


def duplicated(draw: st.DrawFn, layers: list[Layer]) -> list[Layer]:
    """Every hidden unit twice, with half the weight each."""
    at = _hidden(draw, layers)
    if at is None:
        return layers
    w, b, after = layers[at].weight, layers[at].bias, layers[at + 1].weight / 2
    return _widened(layers, at, np.vstack([w, w]), np.concatenate([b, b]), np.hstack([after, after]))


def dead(draw: st.DrawFn, layers: list[Layer]) -> list[Layer]:
    """A hidden layer with some or all units off, by far or just so."""
    at = _hidden(draw, layers)
    if at is None:
        return layers
    w, b = layers[at].weight, layers[at].bias
    off = np.array(draw(st.lists(st.booleans(), min_size=len(b), max_size=len(b)))) | draw(st.booleans())
    edge = -np.abs(w).sum(axis=1) * draw(st.sampled_from((1.0, 4.0, 1e6)))
    return _widened(layers, at, w, np.where(off, edge, b), layers[at + 1].weight)


def constant(draw: st.DrawFn, layers: list[Layer]) -> list[Layer]:
    """A layer of zero weights: what follows does not depend on the input."""
    at = _hidden(draw, layers)
    if at is None:
        return layers
    return _widened(layers, at, layers[at].weight * 0, layers[at].bias, layers[at + 1].weight)


def tied(draw: st.DrawFn, layers: list[Layer]) -> list[Layer]:
    """Two outputs that are always equal, or differ by next to nothing."""
    last = layers[-1]
    if last.out_size < 2 or last.divisor is not None:
        return layers
    i, j = draw(st.permutations(range(last.out_size)))[:2]
    weight, bias = last.weight.copy(), last.bias.copy()
    weight[i] = weight[j]
    bias[i] = bias[j] + draw(st.sampled_from((0.0, 0.0, 1e-7, -1e-7, 1e-12, 5e-324)))
    return [*layers[:-1], Layer(weight, bias, last.activation)]


def relu_ended(draw: st.DrawFn, layers: list[Layer]) -> list[Layer]:
    """ReLU after the last layer too: outputs tie at zero."""
    last = layers[-1]
    return [*layers[:-1], Layer(last.weight, last.bias, "relu", last.divisor)]


def divided(draw: st.DrawFn, layers: list[Layer]) -> list[Layer]:
    """A layer that divides by constants, before or after any other."""
    at = draw(st.integers(0, len(layers)))
    size = layers[0].in_size if at == 0 else layers[at - 1].out_size
    divisors = draw(st.lists(st.sampled_from((3.0, 7.0, 0.1, -10.0, 2.0)), min_size=size, max_size=size))
    return [*layers[:at], Layer.dividing(divisors), *layers[at:]]


TWISTS: dict[str, Twist] = {
    "cancelling": cancelling,
    "squeezed": squeezed,
    "denormal": denormal,
    "steep": steep,
    "one_ulp": one_ulp,
    "duplicated": duplicated,
    "dead": dead,
    "constant": constant,
    "tied": tied,
    "relu_ended": relu_ended,
    "divided": divided,
}
"""What can be done to a network, by name; a twist leaves it alone where there is no place for it."""
