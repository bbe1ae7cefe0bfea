"""Numbers between 0 and the least float are numbers as others are: no verdict ends in an overflow."""

from __future__ import annotations

from fractions import Fraction

import pytest

from venmas import System, verify
from venmas.engine.report import Verdict

TINY = Fraction(1, 10**308)


@pytest.mark.parametrize(
    ("formula", "verdict"),
    [
        ("AX^3 x <= 0.5", Verdict.SATISFIED),
        ("AX^3 x <= 1e-301", Verdict.VIOLATED),
        ("AG^30 x < 2e-300", Verdict.SATISFIED),
        ("AF x >= 0.5", None),
    ],
)
def test_steps_that_no_float_sees(formula: str, verdict: Verdict | None) -> None:
    system = System("tiny")
    x = system.real("x", 0, 1)
    system.branch("b", x=x + TINY)
    system.initial(x >= 0, x <= Fraction(1, 10**300))
    report = verify(system, formula, timeout=30 if verdict else 1)
    assert report.verdict is (verdict or Verdict.UNKNOWN)
