"""The fixed-point rules of docs/certificates.md for one cell, in Python's integers and rationals: slow and plain.

`venmas.checker.fixed_point.networks` has to give the same integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations
from math import floor

from venmas.nn import Network

UNIT = Fraction(1, 2**40)
Form = tuple[list[int], int]
"""Coefficients, the one of the centre first, and the radius."""


def inputs(forms: Sequence[Sequence[Fraction]], low: Sequence[int], high: Sequence[int]) -> list[Form]:
    """Affine forms (constant first) over a box."""
    found = []
    for constant, *weights in forms:
        middle = constant + sum(w * Fraction(a + b, 2) for w, a, b in zip(weights, low, high, strict=True))
        sides = [w * Fraction(b - a, 2) for w, a, b in zip(weights, low, high, strict=True)]
        found.append(([floor(v / UNIT) for v in (middle, *sides)], len(weights) + 1))
    return found


Rows = tuple[tuple[Fraction, ...], ...]


@cache
def integers(weight: Rows) -> tuple[list[list[int]], list[list[bool]]]:
    """The nearest integers of ``W 2^40``, and which of them are not exact."""
    whole = [[round(w * 2**40) for w in row] for row in weight]
    return whole, [[w * 2**40 != v for w, v in zip(*rows, strict=True)] for rows in zip(weight, whole, strict=True)]


def affine(weight: Rows, bias: Sequence[Fraction], x: Sequence[Form]) -> list[Form]:
    """A layer without ReLU."""
    found, g = [], len(x[0][0])
    whole, odd = integers(weight)
    for v, vague, b in zip(whole, odd, bias, strict=True):
        z = [sum(a * unit[0][k] for a, unit in zip(v, x, strict=True)) // 2**40 for k in range(g)]
        z[0] += round(b / UNIT)
        e = sum(abs(a) * unit[1] for a, unit in zip(v, x, strict=True)) // 2**40 + g + 2
        if any(map(any, odd)):
            e += sum(sum(map(abs, unit[0])) + unit[1] for o, unit in zip(vague, x, strict=True) if o) // 2**41 + 1
        found.append((z, e))
    return found


@cache
def differences(network: Network, outputs: tuple[int, ...]) -> tuple[Rows, tuple[Fraction, ...]]:
    """The rows of all differences of two of some outputs, over the last hidden layer."""
    last = network.layers[-1]
    weight, bias = last.exact_weight, last.exact_bias
    if last.rectified:
        weight = tuple(tuple(Fraction(i == j) for j in range(last.out_size)) for i in range(last.out_size))
        bias = (Fraction(0),) * last.out_size
    pairs = list(combinations(outputs, 2))
    rows = tuple(tuple(p - q for p, q in zip(weight[i], weight[j], strict=True)) for i, j in pairs)
    return rows, tuple(bias[i] - bias[j] for i, j in pairs)


def ends(form: Form) -> tuple[int, int]:
    z, e = form
    radius = sum(map(abs, z[1:])) + e
    return z[0] - radius, z[0] + radius


def relu(form: Form) -> Form:
    (low, high), (z, e) = ends(form), form
    if low >= 0:
        return z, e
    if high <= 0:
        return [0] * len(z), 0
    q = min(max(floor(float(high) / (float(high) - float(low)) * 2.0**20), 0), 2**20)
    half = (max(-(q * low // 2**20), -((2**20 - q) * -high // 2**20)) + 1) // 2
    new = [q * c // 2**20 for c in z]
    new[0] += half
    return new, q * e // 2**20 + 1 + len(z) + half


def hidden(network: Network, x: list[Form]) -> list[Form]:
    """The inputs of the last affine layer, or what a last ReLU leaves."""
    for layer in network.layers if network.layers[-1].rectified else network.layers[:-1]:
        x = affine(layer.exact_weight, layer.exact_bias, x)
        x = [relu(form) for form in x] if layer.rectified else x
    return x


def gaps(network: Network, outputs: Sequence[int], x: list[Form]) -> dict[tuple[int, int], tuple[int, int]]:
    """Ends of the differences of two of some outputs, by their places."""
    found = affine(*differences(network, tuple(outputs)), hidden(network, x))
    return dict(zip(combinations(range(len(outputs)), 2), map(ends, found), strict=True))


def winners(network: Network, outputs: Sequence[int], x: list[Form]) -> int:
    """Which of some outputs can be the argmax, as bits."""
    told = gaps(network, outputs, x)
    lost = {a for (a, _), (_, high) in told.items() if high < 0} | {b for (_, b), (low, _) in told.items() if low >= 0}
    return sum(1 << i for i in range(len(outputs)) if i not in lost)
