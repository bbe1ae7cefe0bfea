"""Closed ends of clips, roots and squares: decided at the threshold itself, and certified; not beyond it."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from venmas import verify
from venmas.bounds.affine.forms import Forms
from venmas.checker.file import check_certificate
from venmas.checker.flowpipes.forms import Forms as Exact
from venmas.model import System, absolute, clip, maximum, minimum, relu, sin, sqrt, tanh
from venmas.model.expressions.expr import Expr

STEPS: dict[str, Callable[[Expr], Expr]] = {
    "clip": lambda x: clip(x + sin(x), -1, 1),
    "relu": lambda x: relu(sin(x) - Fraction(1, 4)) / 1,
    "least": lambda x: minimum(x + sin(x), Fraction(3, 4)),
    "root": lambda x: sqrt(x + 1),
    "power": lambda x: x**16 / 1,
    "square": lambda x: x * x,
    "size": lambda x: absolute(sin(x)),
    "unit": lambda x: tanh(x) + 0 * sin(x),
    "wave": lambda x: sin(8 * x),
    "most": lambda x: maximum(x + sin(x), -1) * 1,
}


def loop(step: str) -> System:
    system = System(step)
    x = system.real("x", -9, 9)
    system.branch("go", {x: STEPS[step](x)})
    system.initial(x >= -Fraction(1, 2), x <= Fraction(1, 2))
    return system


@pytest.mark.parametrize(
    ("step", "formula"),
    [
        ("clip", "AG^5 x <= 1"),
        ("clip", "AG^5 x >= -1"),
        ("relu", "AG^5 x >= 0"),
        ("least", "AG^5 x <= 0.75"),
        ("root", "AX x >= 0"),
        ("power", "AG^3 x >= 0"),
        ("square", "AG^3 x >= 0"),
        ("unit", "AG^4 x <= 1"),
        ("wave", "AG^3 x <= 1"),
        ("most", "AG^4 x >= -1"),
    ],
)
def test_the_end_itself_is_kept(step: str, formula: str, tmp_path: Path) -> None:
    report = verify(loop(step), formula, timeout=20, certificate=tmp_path / "proof")
    assert report.satisfied, str(report)
    assert report.certificate is not None
    check_certificate(tmp_path / "proof", loop(step))


@pytest.mark.parametrize(
    ("step", "formula"),
    [
        ("clip", "AG^8 x < 1"),
        ("least", "AG^8 x < 0.75"),
        ("square", "AG^2 x > 0"),
        ("size", "AG^2 x > 0"),
        ("relu", "AG^2 x > 0"),
    ],
)
def test_what_is_reached_is_not_excluded(step: str, formula: str) -> None:
    """The end is met by some run, so that the strict comparison is not proved."""
    assert verify(loop(step), formula, timeout=3).verdict != "satisfied"


def test_ends_hold_all_values() -> None:
    """Of random clips, maxima, squares and functions over boxes, in floats and in integers."""
    rng = np.random.default_rng(5)
    for _ in range(200):
        low, high = np.sort(rng.uniform(-2, 2, 2))
        at, scale = rng.uniform(low, high, 50), float(rng.choice([-1, 1]))
        ring, exact = Forms(1), Exact(60, 0)
        form = ring.symbol(np.array([low]), np.array([high]))
        whole = exact.fresh(exact.constant(Fraction(low)))
        assert whole.range[0] <= low * 2**60 <= whole.range[1]
        for function, value in (("relu", np.maximum), ("tanh", None), ("sin", None), ("exp", None)):
            ends = ring.apply(function, ring.scale(form, Fraction(int(scale)))).ends
            told = np.maximum(scale * at, 0) if value is not None else getattr(np, function)(scale * at)
            assert (ends[0][0] <= told + 1e-12).all() and (told - 1e-12 <= ends[1][0]).all()
        square = ring.multiply(form, form).ends
        assert square[0][0] >= 0 and (at * at <= square[1][0] + 1e-12).all()
        other = ring.combine([(Fraction(1), form)], Fraction(1, 3)).ends
        assert (other[0][0] <= at + 1 / 3 + 1e-12).all() and (at + 1 / 3 - 1e-12 <= other[1][0]).all()
