"""Every univariate rule holds at points of random boxes, tiny and huge ones included, by mpmath in 60 digits."""

from tests.needs import needs

needs("mpmath")

import mpmath
import numpy as np
import pytest

from venmas.bounds.affine import values
from venmas.bounds.affine.univariate import lines

REAL = {
    "exp": mpmath.exp,
    "tanh": mpmath.tanh,
    "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)),
    "sin": mpmath.sin,
    "cos": mpmath.cos,
    "sqrt": mpmath.sqrt,
    "reciprocal": lambda x: 1 / x,
}
BOXES = 150


def boxes(rng: np.random.Generator, function: str) -> tuple[np.ndarray, np.ndarray]:
    """Boxes around zeros, inflections and anything, of widths from 2**-60 to 2**6."""
    n = BOXES
    centre = rng.normal(size=n) * 2.0 ** rng.uniform(-20, 5, n)
    special = rng.integers(0, 4, n) == 0
    centre = np.where(special, rng.integers(-6, 7, n) * np.pi / 2, centre)
    width = np.where(rng.integers(0, 8, n) == 0, 0.0, 2.0 ** rng.uniform(-60, 6, n))
    low, high = centre - width * rng.uniform(0, 1, n), centre + width * rng.uniform(0, 1, n)
    if function in ("sqrt", "reciprocal"):
        low, high = np.minimum(np.abs(low), np.abs(high)), np.maximum(np.abs(low), np.abs(high))
        low = np.where(low == 0, 2.0**-40, low)
        high = np.maximum(low, high)
        if function == "reciprocal":
            flip = rng.integers(0, 2, n) == 1
            low, high = np.where(flip, -high, low), np.where(flip, -low, high)
        else:
            low = np.where(rng.integers(0, 6, n) == 0, 0.0, low)
    return low, high


@pytest.mark.parametrize("function", list(REAL))
def test_no_point_is_outside(function: str) -> None:
    rng = np.random.default_rng(sum(map(ord, function)))
    low, high = boxes(rng, function)
    found = lines(function, low, high)
    assert found.wrong is None or not found.wrong.any()
    tight = 0
    with mpmath.workdps(60):
        for i in range(BOXES):
            a, lo, hi = (mpmath.mpf(float(v[i])) for v in (found.slope, found.lo, found.hi))
            inner = low[i] + (high[i] - low[i]) * rng.uniform(0, 1, 4)
            for x in (low[i], high[i], *np.clip(inner, low[i], high[i])):
                rest = REAL[function](mpmath.mpf(float(x))) - a * mpmath.mpf(float(x))
                assert lo <= rest <= hi, (function, i, low[i], high[i], x)
            tight += hi - lo <= 1e-9 + (high[i] - low[i]) * 4
    assert tight > BOXES / 3 or function in ("reciprocal", "exp")


def test_operands_outside_the_domain_are_told() -> None:
    with_zero = lines("reciprocal", np.array([-1.0, 0.0, 1.0]), np.array([1.0, 2.0, 2.0]))
    assert with_zero.wrong is not None and with_zero.wrong.tolist() == [True, True, False]
    negative = lines("sqrt", np.array([-1.0, 0.0, np.nan]), np.array([1.0, 2.0, np.nan]))
    assert negative.wrong is not None and negative.wrong.tolist() == [True, False, True]


def test_what_overflows_says_nothing() -> None:
    ends = np.array([-np.inf, 0.0, 800.0]), np.array([0.0, np.inf, 801.0])
    assert not np.isfinite(lines("exp", *ends).hi).any()
    assert lines("tanh", *ends).hi[:2].tolist() == [1.0, 1.0]


@pytest.mark.parametrize("name", ["exp", "tanh", "sigmoid", "sin", "cos"])
def test_values_are_within_their_error(name: str) -> None:
    rng = np.random.default_rng(3)
    x = np.concatenate([rng.normal(size=400) * 2.0 ** rng.uniform(-40, 9, 400), np.arange(-8, 9) * np.pi / 4])
    computed = values.sin_cos(x)[name == "cos"] if name in ("sin", "cos") else getattr(values, name)(x)
    error = {"exp": values.EXP_ERROR, "tanh": values.UNIT_ERROR, "sigmoid": values.UNIT_ERROR}.get(
        name, values.WAVE_ERROR
    )
    with mpmath.workdps(60):
        for point, value in zip(x.tolist(), computed.tolist(), strict=True):
            if name == "exp" and abs(point) > values.MOST_EXPONENT:
                continue
            true = REAL[name](mpmath.mpf(point))
            assert abs(mpmath.mpf(value) - true) <= error * (true if name == "exp" else 1), point
