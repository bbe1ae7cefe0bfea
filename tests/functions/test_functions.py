"""Enclosures of functions against the balls of Arb, and floats against enclosures."""

from __future__ import annotations

from tests.needs import needs

needs("flint")

from collections.abc import Iterator
from random import Random

import numpy as np
import pytest
from flint import arb, ctx, fmpz

from venmas.functions.function import DomainError, Function
from venmas.functions.registry import FUNCTIONS
from venmas.functions.trigonometry import pi_enclosure

ALL = pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)


def ball(function: Function, x: int, bits: int, slope: bool = False) -> arb:
    """The true value by Arb, with many more bits."""
    ctx.prec = 3 * bits + 200 + 2 * abs(x).bit_length()
    at = arb(fmpz(x)) / arb(fmpz(1 << bits))
    value = {
        "exp": at.exp, "tanh": at.tanh, "sin": at.sin, "cos": at.cos, "sqrt": at.sqrt,
        "sigmoid": lambda: 1 / (1 + (-at).exp()),
    }[function.name]()  # fmt: skip
    if not slope:
        return value
    return {
        "exp": value, "tanh": 1 - value * value, "sigmoid": value * (1 - value), "sin": at.cos(), "cos": -at.sin(),
        "sqrt": 1 / (2 * value) if x else value,
    }[function.name]  # fmt: skip


def holds(pair: tuple[int, int], value: arb, bits: int, width: int = 0) -> None:
    low, high = pair
    unit = arb(fmpz(1 << bits))
    assert not arb(fmpz(low)) > value * unit and not arb(fmpz(high)) < value * unit
    assert not width or high - low <= width


def points(function: Function, seed: int, count: int) -> Iterator[tuple[int, int]]:
    """Operands and precisions: tiny and large ones, next to turning points, at 0."""
    rng = Random(seed)
    for i in range(count):
        bits = rng.choice((40, 60, 64, 96, 128, 256, 1024 if i % 20 == 0 else 80))
        most = 12 if function.name == "exp" else 20 if function.name != "sqrt" else 60
        x = rng.getrandbits(bits + rng.randint(-bits + 1, most - 1)) if i % 50 else 0
        if function.name in {"sin", "cos"} and i % 3 == 0:
            x = rng.randint(-40, 40) * pi_enclosure(bits)[rng.random() < 0.5] // 2 + rng.randint(-2, 2)
        yield (x if function.name == "sqrt" else rng.choice((-1, 1)) * x), bits


@ALL
def test_enclosures_hold_the_values(function: Function) -> None:
    for x, bits in points(function, 1, 600):
        holds(function.value(x, bits), ball(function, x, bits), bits, width=3)
        if function.name != "sqrt" or x > 0:
            holds(function.slope(x, bits), ball(function, x, bits, slope=True), bits)


@ALL
def test_ranges_hold_all_values_between(function: Function) -> None:
    rng = Random(2)
    for x, bits in points(function, 3, 300):
        span = rng.getrandbits(rng.randint(1, bits + 3))
        low, high = (x, x + span) if function.name != "exp" else (x - span, x)
        pair = function.over(low, high, bits)
        for t in (low, high, *(rng.randint(low, high) for _ in range(6))):
            holds(pair, ball(function, t, bits), bits)
        if function.name in {"sin", "cos"} and span < 3 << bits:
            each = [float(ball(function, low + span * i // 400, bits)) for i in range(401)]
            assert max(each) + 1e-3 > pair[1] / 2**bits and min(each) - 1e-3 < pair[0] / 2**bits


@ALL
def test_curvature_is_that_of_chords(function: Function) -> None:
    rng, told = Random(4), 0
    for x, bits in points(function, 5, 300):
        span = rng.getrandbits(rng.randint(8, bits + 2))
        low, high = (x, x + span) if function.name != "exp" else (x - span, x)
        bent = function.curvature(low, high, bits)
        told += bent != 0
        if not bent or span < 8:
            continue
        a, b = sorted(rng.randint(low, high) for _ in range(2))
        middle = (a + b) // 2
        a = 2 * middle - b
        if a < low:
            continue
        gap = ball(function, a, bits) + ball(function, b, bits) - 2 * ball(function, middle, bits)
        assert not (gap * bent < 0)
    assert told > 60


@ALL
def test_floats_are_as_close_as_they_say(function: Function) -> None:
    rng = np.random.default_rng(6)
    x = rng.choice([-1.0, 1.0], 4000) * np.exp2(rng.uniform(-40, 9, 4000))
    x = np.abs(x) if function.name == "sqrt" else x
    for point, value in zip(x.tolist(), function.at(x).tolist(), strict=True):
        top, bottom = point.as_integer_ratio()
        bits = 160 + bottom.bit_length()
        low, high = function.value((top << bits) // bottom, bits)
        ulp = float(np.spacing(abs(value)))
        if value > 1e300 or abs(value) < 1e-280:
            continue
        assert low / 2**bits - function.ulps * ulp <= value <= high / 2**bits + function.ulps * ulp


def test_exact_values_have_no_width() -> None:
    one = 1 << 96
    for name, x, y in (("exp", 0, one), ("tanh", 0, 0), ("sigmoid", 0, one // 2), ("sin", 0, 0), ("cos", 0, one)):
        assert FUNCTIONS[name].value(x, 96) == (y, y)
    assert FUNCTIONS["sqrt"].value(4 * one, 96) == (2 * one, 2 * one)


def test_domains() -> None:
    for call in (FUNCTIONS["sqrt"].value, FUNCTIONS["sqrt"].slope):
        with pytest.raises(DomainError, match=r"negative|derivative"):
            call(-1, 60)
    with pytest.raises(DomainError, match="derivative"):
        FUNCTIONS["sqrt"].slope(0, 60)
    with pytest.raises(DomainError, match="more than"):
        FUNCTIONS["exp"].value(1 << 90, 60)
    assert FUNCTIONS["exp"].value(-1 << 90, 60) == (0, 1)
    assert FUNCTIONS["sin"].value(1 << 160, 60) == (-1 << 60, 1 << 60)
    assert FUNCTIONS["tanh"].value(-1 << 160, 60)[0] == -1 << 60
