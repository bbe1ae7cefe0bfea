"""Numbers beyond what floats tell apart, in systems with smooth parts: sums that cancel, from single initial values."""

from fractions import Fraction
from random import Random

import numpy as np
import pytest

from venmas import verify
from venmas.bounds.affine.forms import Forms
from venmas.engine.report import Verdict
from venmas.model import System, maximum, sin, where


def cancelling(seed: int) -> tuple[System, int]:
    """``k' = a F + b G + c H`` of numbers of up to 58 bits, and its value, which is far smaller."""
    rng, system = Random(seed), System("cancelling")
    kind = system.integer if rng.random() < 0.7 else system.real
    a, b, c, k = (kind(name, -(2**120), 2**120) for name in "abck")
    x = system.real("x", -2, 2)
    first, second = (rng.getrandbits(rng.choice((30, 45, 50, 51, 52, 54, 58))) for _ in range(2))
    f, g = (rng.choice((1, -1)) * rng.choice((1, 2**19, 2**19 + 1, rng.getrandbits(19), 2**30 + 1)) for _ in range(2))
    h = rng.choice((1, -1, 3, 2**19))
    third = -((f * first + g * second) // h) + rng.choice((-1, 0, 1))
    value = f * first + g * second + h * third
    total = f * a + g * b + h * c
    shapes = [total, where(a > first - 1, total, total + 1), maximum(total, value - 5)]
    system.branch("go", x=sin(x), k=rng.choice(shapes))
    system.initial(x >= 0, x <= Fraction(1, 2), a == first, b == second, c == third, k == 0)
    return system, value


@pytest.mark.parametrize("seed", range(12))
def test_sums_that_cancel(seed: int) -> None:
    system, value = cancelling(seed)
    for off in (-1, 0, 1):
        for text, true in ((f"AX k <= {value + off}", off >= 0), (f"AX k == {value + off}", off == 0)):
            verdict = verify(system, text, timeout=20).verdict
            assert verdict in ((Verdict.SATISFIED, Verdict.UNKNOWN) if true else (Verdict.VIOLATED,)), text


def test_what_floats_lose_was_a_wrong_verdict() -> None:
    """(2^19 + 1) (2^51 + 1) rounds to 2^19 (2^51 + 2^32 + 1), so that k' = 1 was told as 0."""
    system = System("cancelling")
    x, k = system.real("x", -2, 2), system.integer("k", -(2**80), 2**80)
    n, m = (system.integer(name, 0, 2**60) for name in "nm")
    system.branch("go", x=sin(x), k=(2**19 + 1) * n - 2**19 * m)
    system.initial(x >= 0, x <= Fraction(1, 2), n == 2**51 + 1, m == 2**51 + 2**32 + 1, k == 0)
    assert verify(system, "AX k <= 0").verdict is Verdict.VIOLATED


@pytest.mark.parametrize("factor", [Fraction(10**20 + 1, 10**20), Fraction(2**19 + 1), Fraction(-1), Fraction(1, 3)])
def test_forms_of_integers(factor: Fraction) -> None:
    value = 2**51 + 1
    ring = Forms(1)
    form = ring.constant(Fraction(value))
    assert form.whole()
    for found in (ring.scale(form, factor), ring.combine([(factor, form)])):
        low, high = (Fraction(float(end[0])) for end in found.ends)
        assert low <= factor * value <= high
    small = ring.combine([(Fraction(3), ring.constant(Fraction(2**40)))], Fraction(1))
    assert small.whole() and np.array_equal(small.z, [[3.0 * 2**40 + 1]])
