"""Random boxes and forms that rules are asked about: tiny, huge, points, at 0, at ends of domains, across periods."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from random import Random

import numpy as np

from tests.operands import random_boxes
from venmas.bounds.affine.forms import Form as FloatForm
from venmas.checker.flowpipes.forms import Form

SYMBOLS = 4
Array = np.ndarray
_FAR = {"exp": 9.6, "scale": 200.0, "sin": 20.2, "cos": 20.2, "tanh": 10.0, "sigmoid": 11.0}
"""Logarithms of the greatest operands: a little beyond where values are computed."""

_HARD = {("sin", 20): [(135063561 - 68163, 135063561 + 68163)]}
"""Boxes where a unit of the tangent's slope is all that keeps an end inside: found among 4 * 10^9."""


def integer_boxes(name: str, bits: int, count: int, seed: int) -> Iterator[tuple[int, int]]:
    """`random_boxes`, points among them, and boxes that cross a turn of a wave by little or are about 3 wide."""
    rng, one = Random(seed), 1 << bits
    yield from _HARD.get((name, bits), ())
    for i, (low, high) in enumerate(random_boxes(name, bits, count, seed)):
        if i % 50 == 7:
            high = low
        elif i % 50 == 8 and name in ("sin", "cos"):
            high = low + 3 * one + rng.randint(-2, 2)
        elif i % 50 == 10 and name in ("sin", "cos"):
            low, high = (end << rng.randint(1, 60) for end in (low, high))
            low, high = sorted((low, high))
        elif i % 50 == 9:
            high = low + 64 + rng.randint(-2, 2)
        elif i % 10 == 1 and name == "reciprocal":  # flat: a unit of the slope counts as often as the box is wide
            low = rng.choice((-1, 1)) * rng.getrandbits(bits + bits // 2) or 1
            high = low + rng.getrandbits(max(1, low.bit_length() - rng.randint(2, 10)))
            low, high = (low, high) if high < 0 or low > 0 else (1, 1)
        if name in ("sqrt", "exp") and high > one << 6:
            high = max(low, one << 6 if name == "exp" else high)
        yield low, high


def float_boxes(name: str, count: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Boxes of floats, (count,) twice."""
    far = _FAR.get(name, 60.0)
    sign = rng.choice([-1.0, 1.0], count)
    centre = sign * np.exp2(rng.choice([rng.uniform(-60, far, count), rng.uniform(-4, 4, count)]))
    kind = rng.integers(0, 12, count)
    centre = np.where(kind == 0, 0.0, centre)
    if name in ("sin", "cos"):
        turn = rng.integers(-20, 21, count) * (np.pi / 2)
        turn = np.where(rng.random(count) < 0.1, rng.integers(-(2**19), 2**19, count) * (np.pi / 2), turn)
        centre = np.where(kind < 6, turn, centre)
    width = np.exp2(rng.uniform(-58, 2, count)) * np.where(rng.random(count) < 0.5, 1.0, np.abs(centre))
    width = np.where(kind == 1, 0.0, width)
    width = np.where(kind == 2, np.spacing(centre) * rng.integers(1, 5, count), width)
    width = np.where((kind == 3) & (centre < 500), np.exp2(rng.uniform(0, min(far, 40.0), count)), width)
    shift = rng.choice([0.0, 0.5, 1.0], count)
    low = centre - width * shift
    high = np.maximum(low + width, low)
    if name in ("sin", "cos"):
        high = np.where(kind == 4, low + 3.0, high)
    if name in ("sqrt", "reciprocal"):
        positive = np.abs(low)
        flip = (name == "reciprocal") & (rng.random(count) < 0.5)
        positive = np.where((name == "sqrt") & (kind == 5), 0.0, positive)
        end = positive + width
        low, high = np.where(flip, -end, positive), np.where(flip, -positive, end)
        if name == "reciprocal":
            low, high = np.where((low == 0) | (high == 0), 1.0, low), np.where((low == 0) | (high == 0), 1.0, high)
    return low, high


def integer_form(rng: Random, bits: int) -> Form:
    """A form over up to `SYMBOLS` symbols; a point, or with a radius, at times."""
    size = 2.0 ** rng.randint(-bits, 3)
    g = tuple(int(rng.uniform(-1, 1) * size * 2**bits) for _ in range(rng.choice((0, 1, SYMBOLS, SYMBOLS))))
    centre = rng.choice((0, 1, int(rng.uniform(-4, 4) * 2**bits), int(rng.uniform(-1, 1) * 2 ** rng.randint(0, bits))))
    return Form(centre, g, rng.choice((0, 1, int(size * 2 ** (bits - 12)), int(size * 2**bits))))


def float_form(rng: np.random.Generator, size: int, whole: bool = False) -> FloatForm:
    """Forms of a batch: rows differ by up to 2^60, a few are huge; or integers of up to 52 bits."""
    if whole:
        return FloatForm(np.rint(rng.uniform(-1, 1, (size, 1)) * 2.0 ** rng.integers(0, 53, (size, 1))), np.zeros(size))
    symbols = int(rng.choice([0, 1, SYMBOLS]))
    z = rng.normal(size=(size, 1 + symbols)) * np.exp2(rng.integers(-30, 20, size))[:, None]
    z *= np.where(rng.random(size) < 0.05, 2.0**200, 1.0)[:, None]
    z[:, 1:] *= np.exp2(rng.integers(-60, 1, size))[:, None]
    z[rng.random(size) < 0.1, 0] = 0.0
    e = np.abs(rng.normal(size=size)) * rng.choice([0.0, 1e-15, 0.1, 1.0], size) * np.abs(z).sum(1)
    return FloatForm(z, e)


def factors(rng: Random) -> Fraction:
    """A rational: a short one, an integer, one that floats round to 1, or a tiny one."""
    short = Fraction(rng.randint(-50, 50), rng.choice((1, 3, 7, 10, 10**6)))
    near = rng.choice((-1, 1)) * (1 + Fraction(rng.randint(-9, 9), 10**17))
    return rng.choice((short, short, Fraction(rng.getrandbits(rng.randint(1, 30))), near, short / 10**318))
