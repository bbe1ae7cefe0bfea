"""A network over many boxes at once, in fixed-point integers: which outputs can be the greatest.

A quantity x over a box is enclosed by a form with a radius, in whole numbers of the unit ``u = 2^-40``:

    |x / u  -  (z_0 + sum_k z_k s_k)|  <=  e        for all s in [-1, 1]^m, which are the places in the box,

one coefficient a coordinate of the box and one for the centre, g = m + 1 together. *Weights* are V, the integers
nearest to ``W 2^40`` (half to even, as all that is rounded to nearest). Every rule below is made of sums, products,
shifts (which are floors) and one quotient of floats, all of them exact or the same on every machine, so that any
implementation gets the same integers (tests/checker/plain_fixed.py is one, in Python's integers).

**Affine layer** ``y = W x + b``. With ``W = (V + t) / 2^40``, |t| <= 1/2, and x as above,

    y_j / u = sum_i V_ji z_i(s) / 2^40 + sum_i V_ji d_i / 2^40 + sum_i t_ji (x_i / u) / 2^40 + b_j / u,   |d_i| <= e_i.

The new coefficients are ``floor(sum_i V_ji z_ki / 2^40)``, each off by less than 1, together by less than g as all
|s_k| <= 1; to the centre comes b_j / u rounded to nearest, off by at most 1. The second sum is at most
``floor(sum_i |V_ji| e_i / 2^40) + 1``. In the third ``|x_i / u| <= mag_i = sum_k |z_ki| + e_i``; it is at most
``floor(sum_i mag_i / 2^41) + 1`` over those i whose weight is not exact, and nothing where all are. So

    e'_j = floor(|V| e / 2^40) + 1  +  (floor(R mag / 2^41) + 1, if some weight is not exact)  +  g + 1.

**ReLU** of a unit in [l, h] = z_0 -+ (sum_k |z_k| + e): itself where l >= 0, else 0 where h <= 0, else between ``s x``
and ``s x + max(-s l, (1 - s) h)`` for any s in [0, 1]: max(x, 0) - s x is convex, so greatest at an end. With
s = q / 2^20, q the floor of the float ``h / (h - l) 2^20``, cut to [0, 2^20], and ``c`` the greatest of the two ends
rounded up, half = ceil(c / 2): the coefficients are ``floor(q z_k / 2^20)``, off by less than g together, the centre
gets half, and ``e' = floor(q e / 2^20) + 1 + half + g``.

**Winner.** The differences of two outputs i < j are the affine layer with the rows W_i - W_j, b_i - b_j, formed in
rationals before they are rounded. Output i can be the argmax (lowest index on a tie, S3) unless a difference to a
higher one is negative throughout, or one to a lower one not positive anywhere.

Magnitudes stay below ``2^58`` and what grows beyond is refused (`OverflowError`), so that no sum here leaves 64 bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from venmas.budget import ask
from venmas.checker.fixed_point.limbs import Factor, Ints
from venmas.nn import Network
from venmas.nn.network import Layer

VALUE_BITS, WEIGHT_BITS, SLOPE_BITS = 40, 40, 20
LARGEST = 2**58
"""Values are less than this in units; so are weights."""
MOST_ROWS = 1024
"""Boxes that are handled together: their forms fit into a processor's cache."""


@dataclass(frozen=True, eq=False)
class _Affine:
    """A layer: weights, their sizes, and which are not exact (or None), (n, q); bias (q,); whether ReLU follows."""

    weight: Factor
    size: Factor
    vague: Factor | None
    bias: Ints
    relu: bool

    def __call__(self, z: Ints, e: Ints, g: int) -> tuple[Ints, Ints]:
        """Forms of the layer before ReLU: z (B, up to g, n), e (B, n) to (B, up to g, q), (B, q)."""
        boxes, rows, n = z.shape
        new = self.weight.shifted(z.reshape(boxes * rows, n), WEIGHT_BITS).reshape(boxes, rows, -1)
        new[:, 0] += self.bias
        error = self.size.shifted(e, WEIGHT_BITS) + (g + 2)
        if self.vague is not None:
            error += self.vague.shifted(np.abs(z).sum(1) + e, WEIGHT_BITS + 1) + 1
        check_size(new, error, g)
        return new, error


class Fixed:
    """The argmax of some outputs of a network in integers. Raises `OverflowError` where its weights are too large."""

    def __init__(self, network: Network, outputs: Sequence[int]) -> None:
        layers = network.layers
        last = None if layers[-1].rectified else layers[-1]
        self.hidden = [_layer(layer) for layer in layers if layer is not last]
        self.count = len(outputs)
        self.last = _differences(last, layers[-1].out_size, outputs)

    def winners(self, z: Ints, e: Ints) -> Ints:
        """Possible argmaxes of the outputs, as bits (B,), of inputs z (B, g, n), e (B, n)."""
        g = z.shape[1]
        z = z[:, [0, *(k for k in range(1, g) if z[:, k].any())]]  # rows of zeros stay what they are
        parts = [slice(at, at + MOST_ROWS) for at in range(0, max(1, len(z)), MOST_ROWS)]
        return np.concatenate([self._winners(z[part], e[part], g) for part in parts])

    def _winners(self, z: Ints, e: Ints, g: int) -> Ints:
        for layer in self.hidden:
            ask()
            z, e = layer(z, e, g)
            if layer.relu:
                z, e = rectified(z, e, g)
        z, e = self.last(z, e, g)
        low, high = ends(z, e)
        return winners(low, high, self.count)


_KNOWN: WeakKeyDictionary[Network, dict[tuple[int, ...], Fixed]] = WeakKeyDictionary()


def fixed(network: Network, outputs: tuple[int, ...]) -> Fixed:
    """The argmax of some outputs, made once for a network and kept as long as it is."""
    known = _KNOWN.setdefault(network, {})
    if outputs not in known:
        known[outputs] = Fixed(network, outputs)
    return known[outputs]


def winners(low: Ints, high: Ints, count: int) -> Ints:
    """Possible argmaxes of some scores, as bits (B,); low, high: of all differences i < j, (B, pairs)."""
    possible = np.ones((len(low), count), dtype=bool)
    for pair, (i, j) in enumerate(zip(*np.triu_indices(count, 1), strict=True)):
        possible[:, i] &= high[:, pair] >= 0
        possible[:, j] &= low[:, pair] < 0
    bits: Ints = possible @ (np.int64(1) << np.arange(count, dtype=np.int64))
    return bits


def ends(z: Ints, e: Ints) -> tuple[Ints, Ints]:
    """Least and greatest values of forms z (B, g, n), e (B, n)."""
    radius = np.abs(z[:, 1:]).sum(1) + e
    low: Ints = z[:, 0] - radius
    high: Ints = z[:, 0] + radius
    return low, high


def rectified(z: Ints, e: Ints, g: int) -> tuple[Ints, Ints]:
    """Forms of max(x, 0): z (B, up to g, n), e (B, n)."""
    low, high = ends(z, e)
    off = high <= 0
    z, e = np.where(off[:, None], 0, z), np.where(off, 0, e)
    box, unit = np.nonzero((low < 0) & ~off)
    if len(box):
        l, h = low[box, unit], high[box, unit]  # noqa: E741
        top = h.astype(float)
        slope = np.floor(top / (top - l.astype(float)) * 2.0**SLOPE_BITS).astype(np.int64)
        slope = np.clip(slope, 0, 1 << SLOPE_BITS)
        most = np.maximum(-_scaled(slope, l), -_scaled((1 << SLOPE_BITS) - slope, -h))
        half = (most + 1) >> 1
        forms = _scaled(slope[:, None], z[box, :, unit])
        forms[:, 0] += half
        z[box, :, unit] = forms
        e[box, unit] = _scaled(slope, e[box, unit]) + (1 + g) + half
    return z, e


def _scaled(slope: Ints, value: Ints) -> Ints:
    """``floor(slope * value / 2^20)`` for slopes up to 2^20, in two parts that 64 bits hold."""
    low = value & ((1 << SLOPE_BITS) - 1)
    scaled: Ints = slope * (value >> SLOPE_BITS) + (slope * low >> SLOPE_BITS)
    return scaled


def check_size(z: Ints, e: Ints, g: int) -> None:
    """Raises `OverflowError` for forms of large numbers."""
    mass = max(int(z.max(initial=0)), -int(z.min(initial=0))) * g + int(e.max(initial=0))
    if mass >= LARGEST:
        raise OverflowError("values of a network are too large for the integers of tables")


def _layer(layer: Layer) -> _Affine:
    if layer.divisor is None and np.abs(layer.weight).max() < 2.0 ** (57 - WEIGHT_BITS):
        scaled = np.ldexp(layer.weight, WEIGHT_BITS)  # upward by a power of two: exact
        whole = np.rint(scaled)
        return _affine(whole.astype(np.int64), whole != scaled, layer.bias.tolist(), layer.rectified)
    return _rational(layer.exact_weight, layer.exact_bias, layer.rectified, layer.in_size)


def _differences(last: Layer | None, size: int, outputs: Sequence[int]) -> _Affine:
    """The differences of two of some outputs; last: the layer that they are of, None: the identity."""
    if last is None:
        weight = [[Fraction(i == j) for j in range(size)] for i in range(size)]
        bias = [Fraction(0)] * size
    else:
        weight, bias = [list(row) for row in last.exact_weight], list(last.exact_bias)
    pairs = [(i, j) for at, i in enumerate(outputs) for j in outputs[at + 1 :]]
    if last is not None and (whole := _integers(last)) is not None and pairs:
        bits, numbers = whole
        first, second = (list(places) for places in zip(*pairs, strict=True))
        rounded, vague = _rounded(numbers[first] - numbers[second], bits - WEIGHT_BITS)
        return _affine(rounded, vague, [last.exact_bias[i] - last.exact_bias[j] for i, j in pairs], False)
    rows = [[a - b for a, b in zip(weight[i], weight[j], strict=True)] for i, j in pairs]
    return _rational(rows, [bias[i] - bias[j] for i, j in pairs], False, len(weight[0]))


def _integers(layer: Layer) -> tuple[int, Ints] | None:
    """(bits, weights times 2^bits), exactly and less than 2^60 in size; None where there are none."""
    most = float(np.abs(layer.weight).max())
    bits = 60 - int(np.frexp(most)[1])
    if layer.divisor is not None or not WEIGHT_BITS < bits < 1000 or most >= 2.0 ** (57 - WEIGHT_BITS):
        return None
    scaled = np.ldexp(layer.weight, bits)
    return (bits, scaled.astype(np.int64)) if (scaled == np.rint(scaled)).all() else None


def _rounded(numbers: Ints, shift: int) -> tuple[Ints, NDArray[np.bool_]]:
    """The integers nearest to numbers over 2^shift, half to even, and which are not exact; shift > 0."""
    down, half = numbers >> shift, 1 << (shift - 1)
    rest = numbers - (down << shift)
    up = (rest > half) | ((rest == half) & (down & 1 == 1))
    return down + up, rest != 0


def _rational(weight: Sequence[Sequence[Fraction]], bias: Sequence[Fraction], relu: bool, size: int) -> _Affine:
    scaled = [[w * 2**WEIGHT_BITS for w in row] for row in weight]
    whole = [[round(w) for w in row] for row in scaled]
    if any(abs(w) >= LARGEST for row in whole for w in row):
        raise OverflowError("weights of a network are too large for the integers of tables")
    vague = np.array([[w.denominator != 1 for w in row] for row in scaled], dtype=bool).reshape(len(whole), size)
    return _affine(np.array(whole, dtype=np.int64).reshape(vague.shape), vague, bias, relu)


def _affine(weight: Ints, vague: NDArray[np.bool_], bias: Sequence[float | Fraction], relu: bool) -> _Affine:
    units = [round(Fraction(b) * 2**VALUE_BITS) for b in bias]
    if any(abs(b) >= LARGEST for b in units):
        raise OverflowError("biases of a network are too large for the integers of tables")
    inexact = Factor(np.ascontiguousarray(vague.T.astype(np.int64))) if vague.any() else None
    columns = np.ascontiguousarray(weight.T)
    return _Affine(Factor(columns), Factor(np.abs(columns)), inexact, np.array(units, dtype=np.int64), relu)
