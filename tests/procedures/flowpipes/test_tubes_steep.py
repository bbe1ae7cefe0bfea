"""Flows that no single step of a period encloses: more steps, not cuts, and nothing where there is no solution."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from venmas import verify
from venmas.bounds.affine.flow import Course
from venmas.bounds.affine.forms import Forms
from venmas.checker.file import check_certificate
from venmas.engine.reach.reach import reach
from venmas.engine.report import Verdict
from venmas.model import System, sin, tanh
from venmas.model.evaluation.cuts import Fineness

HALF = Fraction(1, 2)


def logistic() -> System:
    """Steep at 2 only, where one step of the period is not enough, nor two."""
    system = System("logistic")
    x = system.real("x", -1000, 1000)
    motion = system.flow(HALF, {x: sin(x) - x * x})
    system.branch("go", dict(motion.end))
    system.initial(x >= 1, x <= 2)
    return system


def actuator(rate: int) -> System:
    """A state that follows another one within 1 / rate seconds."""
    system = System("actuator")
    x, y = system.real("x", -1000, 1000), system.real("y", -100, 100)
    motion = system.flow(HALF, {x: rate * (sin(y) - x), y: tanh(x) - y})
    system.branch("go", dict(motion.end))
    system.initial(x >= 1, x <= 2, y >= 0, y <= HALF)
    return system


def predators() -> System:
    """The model of Lotka and Volterra; enclosures of its middle break at a later step than those of its box."""
    system = System("predators")
    x, y = system.real("x", -100000, 100000), system.real("y", -100000, 100000)
    motion = system.flow(Fraction(1, 10), {x: x * Fraction(3, 2) - x * y, y: x * y - 3 * y})
    system.branch("go", dict(motion.end))
    system.initial(x >= 1, x <= Fraction(6, 5), y >= Fraction(4, 5), y <= 1)
    return system


def boxes(report: object) -> int:
    """How many were followed."""
    (flowpipes,) = (one for one in report.procedures if one.name == "flowpipes")  # type: ignore[attr-defined]
    return int(dict(flowpipes.figures)["boxes"].split()[0])


@pytest.mark.parametrize(
    ("system", "text"),
    [
        (logistic(), "AX x > 1/2"),
        (logistic(), "AG^4 (x > 1/2 & x < 2)"),
        pytest.param(actuator(40), "AG^3 x < 1", marks=pytest.mark.slow),
        (predators(), "AG^20 x < 8"),
    ],
)
def test_steep_flows_take_few_boxes(system: System, text: str, tmp_path: Path) -> None:
    proof = tmp_path / "steep.cert"
    report = verify(system, text, timeout=60, certificate=proof)
    assert report.verdict is Verdict.SATISFIED and boxes(report) < 40
    assert check_certificate(proof, system).leaves < 20


def test_violations_of_steep_flows_replay() -> None:
    """At 50 a second a replay has no digits left unless it takes short steps."""
    report = verify(actuator(50), "AX^3 x < 3/10", timeout=60)
    assert report.verdict is Verdict.VIOLATED


@pytest.mark.slow
def test_steep_flows_have_tubes() -> None:
    found = reach(actuator(40), steps=3, timeout=20)
    assert all(np.isfinite(layer.low).all() and np.isfinite(layer.high).all() for layer in found.layers)
    assert found.layers[3].high[0] < 1


@pytest.mark.parametrize("start", [1.0, 3.0, 1e30])
def test_a_flow_without_a_solution_is_broken(start: float) -> None:
    """x' = x^2 is infinite after 1 / x: that the whole line maps into itself shows nothing."""
    system = System("escape")
    x, y = system.real("x", -(10**90), 10**90), system.real("y", -10, 10)
    motion = system.flow(1 / Fraction(start) * 2, {x: x * x, y: -y})
    ring = Forms(1)
    state = {"x": ring.symbol(np.array([start]), np.array([start * 1.01])), "y": ring.constant(HALF)}
    with np.errstate(all="ignore"):
        Course(ring, motion.flow, state, lambda _: ring.constant(HALF), Fineness(4, 1, 1, 20))
    assert ring.broken.all()
