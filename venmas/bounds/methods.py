"""Bounds through networks: one protocol, interchangeable methods.

`symbolic` propagates affine forms in the roots through the layers (symbolic interval propagation: Wang et al., *Formal
security analysis of neural networks using symbolic intervals*, USENIX Security 2018; the method the paper uses,
section 7). `interval` is the same without roots (interval bound propagation). Both intersect the forms' ranges with
interval arithmetic layer by layer, and, where the inputs are not exactly affine in the roots, with forms in the inputs
themselves as fresh roots.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from venmas.bounds.linear_forms import Quantity, concretize, relu, settle, size_of, widen
from venmas.bounds.rounding import TINY, Bools, Floats, ball, gamma
from venmas.budget import ask
from venmas.nn import Layer, Network

_PAIRS = 4096
"""Differences of two outputs that are bounded in one go."""


@dataclass(frozen=True, eq=False)
class Activations:
    """Bounds inside a network for B states.

    `pre` holds per ReLU layer the pre-activation interval ((B, n), (B, n)), None for a layer without ReLU. `low`, `upp`
    (B, n, m+1) and `lo`, `hi` (B, n) bound the inputs of `last`, the final affine map (the identity where the network
    ends in a ReLU), from which `combine` bounds any linear combination of outputs, such as a difference of two scores,
    without the slack of bounding each output alone.
    """

    network: Network
    last: Layer
    pre: tuple[tuple[Floats, Floats] | None, ...]
    low: Floats
    upp: Floats
    lo: Floats
    hi: Floats

    def combine(self, matrix: Floats, offsets: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Bounds of ``matrix @ outputs + offsets``: forms (B, q, m+1) twice and interval (B, q) twice."""
        last = self.last
        size = np.abs(matrix) @ np.abs(last.weight), np.abs(matrix) @ np.abs(last.bias) + np.abs(offsets)
        weight, bias = matrix @ last.weight, matrix @ last.bias + offsets
        # the products of the two matrices round; twice the error of the weights covers that they are multiplied by it
        slack = gamma(matrix.shape[1]) + 2 * last.weight_error
        return _affine(weight, bias, (*size, slack), self.low, self.upp, self.lo, self.hi)

    def output(self, index: int) -> Quantity:
        """Bounds of one output."""
        if self.network.layers[-1].rectified:  # `last` is the identity, which rounds nothing
            return settle(self.low[:, index], self.upp[:, index], self.lo[:, index], self.hi[:, index])
        row = np.zeros((1, self.network.output_size))
        row[0, index] = 1.0
        low, upp, lo, hi = self.combine(row, np.zeros(1))
        return settle(low[:, 0], upp[:, 0], lo[:, 0], hi[:, 0])

    def winners(self) -> Bools:
        """(B, n): which outputs can be the argmax (lowest index on a tie, design S3)."""
        n = self.network.output_size
        turn = max(1, _PAIRS // n)
        return beaten(np.concatenate([self._gaps(range(i, min(n, i + turn))) for i in range(0, n, turn)], 1))

    def _gaps(self, some: range) -> Floats:
        """(B, len(some), n): upper bounds of the differences of some outputs to all."""
        ask()
        n, size = self.network.output_size, len(some)
        matrix = np.zeros((size, n, n))
        matrix[np.arange(size), :, some] += 1.0
        matrix[:, np.arange(n), np.arange(n)] -= 1.0
        _, _, _, hi = self.combine(matrix.reshape(size * n, n), np.zeros(size * n))
        return hi.reshape(-1, size, n)


def beaten(hi: Floats) -> Bools:
    """Possible winners from upper bounds (B, n, n) of ``score[i] - score[j]``: >= 0 for j > i and > 0 for j < i."""
    n = hi.shape[1]
    index = np.arange(n)
    strict = index[None, :] < index[:, None]
    winning: Bools = np.asarray(np.where(strict, hi > 0, hi >= 0))
    winning[:, index, index] = True
    possible: Bools = np.asarray(winning.all(2))
    possible[~possible.any(1)] = True
    return possible


class BoundMethod(Protocol):
    """A way to bound networks. `roots` tells how many of the roots its forms use: all, or none."""

    name: str
    uses_roots: bool

    def propagate(self, network: Network, inputs: Sequence[Quantity]) -> Activations:
        """Bound every pre-activation of `network` for inputs that are given as quantities of B states each."""
        ...


class Symbolic:
    """Affine forms in the roots, intersected with forms in the network's own inputs."""

    name = "symbolic"
    uses_roots = True

    def propagate(self, network: Network, inputs: Sequence[Quantity]) -> Activations:
        """See `BoundMethod`."""
        low, upp = np.stack([q.low for q in inputs], 1), np.stack([q.upp for q in inputs], 1)
        lo, hi = np.stack([q.lo for q in inputs], 1), np.stack([q.hi for q in inputs], 1)
        local = None
        # fresh roots help only where the forms have lost the relation of the inputs to the initial state
        if np.any(np.abs(upp - low).sum(-1) > 1e-6 * (1 + hi - lo)):
            local = _propagate(network, *_fresh(lo, hi), lo, hi, None).pre
        return _propagate(network, low, upp, lo, hi, local)


class Interval:
    """Interval arithmetic alone."""

    name = "interval"
    uses_roots = False

    def propagate(self, network: Network, inputs: Sequence[Quantity]) -> Activations:
        """See `BoundMethod`."""
        lo, hi = np.stack([q.lo for q in inputs], 1), np.stack([q.hi for q in inputs], 1)
        return _propagate(network, lo[..., None].copy(), hi[..., None].copy(), lo, hi, None)


METHODS: dict[str, BoundMethod] = {method.name: method for method in (Symbolic(), Interval())}
"""By name (`venmas.runtime.choices.BOUNDS`)."""


def _fresh(lo: Floats, hi: Floats) -> tuple[Floats, Floats]:
    """Forms of n independent inputs in n roots of their own."""
    batch, n = lo.shape
    centre, radius = ball(lo, hi)
    low = np.zeros((batch, n, n + 1))
    low[..., 0] = centre
    low[:, np.arange(n), np.arange(n) + 1] = radius
    return low, low.copy()


def _propagate(
    network: Network,
    low: Floats,
    upp: Floats,
    lo: Floats,
    hi: Floats,
    known: tuple[tuple[Floats, Floats] | None, ...] | None,
) -> Activations:
    pre: list[tuple[Floats, Floats] | None] = []
    hidden, last = network.hidden_and_last
    for index, layer in enumerate(hidden):
        ask()
        off = (np.abs(layer.weight), np.abs(layer.bias), layer.weight_error) if layer.weight_error else None
        low, upp, lo, hi = _affine(layer.weight, layer.bias, off, low, upp, lo, hi)
        if not layer.rectified:
            pre.append(None)
            continue
        if known is not None and (held := known[index]) is not None:
            lo, hi = np.maximum(lo, held[0]), np.minimum(hi, held[1])
        pre.append((lo, hi))
        low, upp = relu(low, upp, lo, hi)
        lo, hi = np.maximum(lo, 0.0), np.maximum(hi, 0.0)
    return Activations(network, last, tuple(pre), low, upp, lo, hi)


def _affine(
    weight: Floats,
    bias: Floats,
    off: tuple[Floats, Floats, float] | None,
    low: Floats,
    upp: Floats,
    lo: Floats,
    hi: Floats,
) -> tuple[Floats, Floats, Floats, Floats]:
    """Bounds of ``W x + b``: (B, n, m+1) -> (B, q, m+1), (B, n) -> (B, q).

    off: sizes S (q, n) and t (q,) and a factor r, where W and b are only near to the true ones, by ``r S`` and ``r t``.

    Rounding: a coefficient is an inner product of n terms, to which a sum, the bias and the widening come, within the
    margin of gamma. Factors are multiplied with the sizes of the inputs, not with the weights: ``gamma(n) * W`` is 0
    where W is denormal, though inputs may be huge. TINY is added to what a weight multiplies, as that weight may be
    huge where the product of the other two underflows.
    """
    plus, minus = np.maximum(weight, 0.0), np.minimum(weight, 0.0)
    new_low, new_upp = plus @ low + minus @ upp, plus @ upp + minus @ low
    new_low[..., 0] += bias
    new_upp[..., 0] += bias
    new_lo = lo @ plus.T + hi @ minus.T + bias
    new_hi = hi @ plus.T + lo @ minus.T + bias
    size, g = size_of(low, upp, lo, hi), gamma(weight.shape[1])
    error = (g * size + TINY) @ np.abs(weight).T
    if off is not None:
        weight_size, bias_size, relative = off
        error += (relative * size + TINY) @ weight_size.T + TINY * size.sum(-1, keepdims=True) + relative * bias_size
    error = error * (1 + g) + gamma(1) * np.abs(bias) + TINY
    widen(new_low, new_upp, error)
    form_lo, form_hi = concretize(new_low, new_upp)
    return new_low, new_upp, np.fmax(form_lo, new_lo - error), np.fmin(form_hi, new_hi + error)
