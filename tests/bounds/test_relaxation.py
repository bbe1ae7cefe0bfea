"""The relaxation of ReLU holds between its ends, in rationals, and compiled code computes the same."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from venmas.bounds.compiled import relaxation_kernel as kernel
from venmas.bounds.relaxation import chord, rounding
from venmas.bounds.rounding import FEW, TINY

LEAST, LARGEST = 5e-324, 1.7976931348623157e308
EDGES = st.sampled_from((0.0, LEAST, 2.0**-1060, 2.0**-1022, 1.0, 1 + 2.0**-52, 1e300, LARGEST, float("inf")))
SIZES = EDGES | st.floats(0, LARGEST) | st.floats(0, 2.0**-1010)


def single(lo: float, hi: float) -> tuple[float, float]:
    slope, lift = chord(np.array([lo]), np.array([hi]))
    return float(slope[0]), float(lift[0])


def holds(slope: float, lift: float, lo: float, hi: float) -> None:
    assert 0 <= slope <= 1
    ends = [Fraction(x) for x in (lo, hi) if np.isfinite(x)]
    beyond = [Fraction(LARGEST) * (-1 if x < 0 else 1) for x in (lo, hi) if not np.isfinite(x)]
    for x in [*ends, *beyond, Fraction(0)]:
        gap = max(x, Fraction(0)) - Fraction(slope) * x
        assert gap >= 0
        assert lift == np.inf or gap <= Fraction(lift)


@settings(max_examples=400, deadline=None)
@given(SIZES, SIZES)
@example(1.0, LEAST)
@example(LEAST, 1.0)
@example(float("inf"), 1.0)
@example(1.0, float("inf"))
@example(float("inf"), float("inf"))
@example(LARGEST, LARGEST)
def test_relu_is_between_the_lines_in_numpy_and_compiled(below: float, above: float) -> None:
    lo, hi = -below, above
    slope, lift = single(lo, hi)
    if below and above:
        holds(slope, lift, lo, hi)
        other = kernel.chord(lo, hi)
        holds(*other, lo, hi)
        np.testing.assert_allclose(other, (slope, lift), rtol=4 * FEW, atol=TINY * FEW)
        if below + above < LARGEST and slope > 1e-300:  # else the slope overflowed or is denormal
            # tight: the least lift is below both ends, and a slope that is rounded moves it by u times the far end
            room = 2 * Fraction(FEW) * (Fraction(below) + Fraction(above)) + 2 * Fraction(TINY)
            assert Fraction(lift) <= Fraction(min(below, above)) + room
    else:
        assert (slope, lift) == ((0.0, 0.0) if below else (1.0, 0.0))


@pytest.mark.parametrize(
    ("lo", "hi", "slope"), [(0.0, 0.0, 1.0), (0.0, 2.0, 1.0), (-2.0, 0.0, 0.0), (3.0, 3.0, 1.0), (-3.0, -3.0, 0.0)]
)
def test_a_unit_of_known_sign_is_exact(lo: float, hi: float, slope: float) -> None:
    assert single(lo, hi) == (slope, 0.0)


@settings(max_examples=200, deadline=None)
@given(SIZES, SIZES)
def test_the_error_of_a_line_is_the_same_compiled(mass: float, lift: float) -> None:
    with np.errstate(over="ignore"):
        found = float(rounding(np.array([mass]), np.array([lift]))[0])
    np.testing.assert_allclose(kernel.rounding(mass, lift), found, rtol=FEW)
    assert found >= TINY


def test_the_formula_stands_at_one_place() -> None:
    from pathlib import Path

    import venmas

    root = Path(venmas.__file__).parent
    found = {f.relative_to(root).as_posix() for f in root.rglob("*.py") if "(1 - slope) * " in f.read_text()}
    twin = "checker/inductive/zonotopes.py"  # the checker imports no bounds
    assert found == {"bounds/relaxation.py", "bounds/compiled/relaxation_kernel.py", twin}
