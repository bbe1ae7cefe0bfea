"""Affine forms: at any values of their symbols, what they were computed from is within their radius, exactly."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import pairwise
from math import cos, exp, sin

import numpy as np
import pytest

from venmas.bounds.affine.boxes import Boxes
from venmas.bounds.affine.flow import Course
from venmas.bounds.affine.forms import Form, Forms
from venmas.bounds.affine.networks import through
from venmas.bounds.affine.reduce import reduced
from venmas.model import System
from venmas.model.evaluation.cuts import Fineness
from venmas.model.expressions.expr import Expr
from venmas.model.expressions.flows import Motion
from venmas.nn import Network
from venmas.nn.network import Layer

FINE = Fineness(order=5, substeps=2, slices=8, symbols=20)


def at(form: Form, row: int, symbols: list[Fraction]) -> tuple[Fraction, Fraction]:
    """Centre and radius of a form at values of its symbols."""
    z = [Fraction(v) for v in form.z[row].tolist()]
    return z[0] + sum(c * s for c, s in zip(z[1:], symbols, strict=False)), Fraction(float(form.e[row]))


def random_form(rng: np.random.Generator, size: int, symbols: int) -> Form:
    scale = 2.0 ** rng.integers(-40, 20)
    z = rng.normal(size=(size, 1 + symbols)) * scale
    return Form(z, np.abs(rng.normal(size=size)) * scale * rng.choice([0.0, 0.1, 1.0]))


@pytest.mark.parametrize("seed", range(8))
def test_sums_and_products_enclose_exactly(seed: int) -> None:
    rng = np.random.default_rng(seed)
    ring, size = Forms(3, 6), 3
    for _ in range(12):
        x, y = random_form(rng, size, int(rng.integers(0, 6))), random_form(rng, size, int(rng.integers(0, 6)))
        factor = Fraction(int(rng.integers(-50, 50)), 7)
        for row in range(size):
            symbols = [Fraction(int(v), 8) for v in rng.integers(-8, 9, 6)]
            inside = {}
            for name, form in (("x", x), ("y", y)):
                centre, radius = at(form, row, symbols)
                inside[name] = centre + radius * Fraction(int(rng.integers(-4, 5)), 4)
            a, b = inside["x"], inside["y"]
            for found, true in (
                (ring.add(x, y), a + b),
                (ring.scale(x, factor), factor * a),
                (ring.combine([(factor, x), (Fraction(1, 3), y)], Fraction(1, 7)), factor * a + b / 3 + Fraction(1, 7)),
                (ring.multiply(x, y), a * b),
                (ring.multiply(x, x), a * a),
                (ring.dot(((3, x, y), (2, x, x)), 7), (3 * a * b + 2 * a * a) / 7),
                (ring.fresh(x), a),
            ):
                low, high = found.ends
                assert Fraction(float(low[row])) <= true <= Fraction(float(high[row]))
                if found.z.shape[1] <= 7:  # no symbol of its own, whose value is not known here
                    centre, radius = at(found, row, symbols)
                    assert abs(true - centre) <= radius


@pytest.mark.parametrize("seed", range(4))
def test_boxes_enclose_exactly(seed: int) -> None:
    """Intervals without symbols: remainders of flows."""
    rng = np.random.default_rng(seed)
    ring = Boxes(5)
    for _ in range(20):
        centre = rng.normal(size=(2, 5)) * 2.0 ** rng.integers(-30, 20)
        radius = np.abs(rng.normal(size=(2, 5))) * rng.choice([0.0, 1e-9, 1.0], (2, 5)) * np.abs(centre)
        low, high = centre - radius, centre + radius
        x, y = (ring.between(*ends) for ends in zip(low, high, strict=True))
        factor = Fraction(int(rng.integers(-50, 50)), 7)
        for row in range(5):
            a, b = (Fraction(float(rng.choice([low[i, row], high[i, row]]))) for i in range(2))
            for found, true in (
                (ring.add(x, y), a + b),
                (ring.scale(x, factor), factor * a),
                (ring.multiply(x, y), a * b),
                (ring.multiply(x, x), a * a),
                (ring.dot(((3, x, y), (2, x, x)), 7), (3 * a * b + 2 * a * a) / 7),
                (ring.constant(factor), factor),
            ):
                ends = [Fraction(float(end[row])) for end in found.ends]
                assert ends[0] <= true <= ends[1]


def test_a_row_without_a_value_is_broken_alone() -> None:
    ring = Forms(3)
    x = ring.symbol(np.array([-1.0, 1.0, 2.0]), np.array([1.0, 2.0, np.inf]))
    with np.errstate(all="ignore"):
        low, high = ring.divide(ring.constant(Fraction(1)), x).ends
    assert ring.broken.tolist() == [True, False, False]  # nothing is known of what has overflowed
    assert low[1] <= 0.5 and 1 <= high[1] < 1.1 and np.isinf(high[[0, 2]]).all()


@pytest.mark.parametrize("activation", ["relu", "tanh", "sigmoid"])
def test_networks_enclose_what_they_give(activation: str) -> None:
    rng = np.random.default_rng(4)
    sizes = [3, 12, 9, 2]
    layers = [
        Layer(rng.normal(size=(b, a)), rng.normal(size=b), activation if b > 2 else "linear")  # type: ignore[arg-type]
        for a, b in pairwise(sizes)
    ]
    network = Network(tuple(layers))
    for width in (1e-9, 0.01, 0.3, 5.0):
        ring = Forms(2, 4)
        inputs = [Form(rng.normal(size=(2, 5)) * width + np.eye(5)[0], np.full(2, 0.1 * width)) for _ in range(3)]
        outputs = through(ring, network, inputs)
        assert ring.symbols <= 14  # those of eight units at most, and one an output
        for row in range(2):
            symbols = rng.uniform(-1, 1, (200, 4))
            symbols[::2] = np.sign(symbols[::2])
            point = np.stack(
                [f.z[row, 0] + symbols @ f.z[row, 1:] + f.e[row] * rng.uniform(-1, 1, 200) for f in inputs], 1
            )
            values = network.evaluate(point)
            first, second = (np.pad(form.z[row], (0, 15 - form.z.shape[1])) for form in outputs)
            for p, q in ((1, 0), (0, 1), (1, 1), (1, -1)):  # what outputs share is told by sums
                z = p * first + q * second
                rest = np.abs(values @ [p, q] - z[0] - symbols @ z[1:5])
                assert (rest <= np.abs(z[5:]).sum() + 1e-9).all()
    assert outputs[0].ends[1][0] - outputs[0].ends[0][0] < 1e3


def test_fewer_symbols_enclose_and_keep_the_first() -> None:
    rng = np.random.default_rng(5)
    ring = Forms(4, 60)
    forms = {n: Form(rng.normal(size=(4, 61)) * 0.5 ** rng.integers(0, 9, 61), np.full(4, 0.01)) for n in "xyz"}
    few, after = reduced(ring, forms, 10, 2)
    assert few.symbols == 13
    for factors in rng.normal(size=(20, 3)):
        terms = [Fraction(float(f)) for f in factors]
        low, high = ring.combine(list(zip(terms, forms.values(), strict=True))).ends
        less, more = few.combine(list(zip(terms, after.values(), strict=True))).ends
        assert (less <= low + 1e-9).all() and (high <= more + 1e-9).all()
    for name in "xyz":
        assert np.array_equal(after[name].z[:, :3], forms[name].z[:, :3])


def follow(motion: Motion, start: Mapping[str, tuple[float, float]], fine: Fineness = FINE) -> tuple[Forms, Course]:
    ring = Forms(1)
    forms = {n: ring.symbol(np.array([a]), np.array([b])) for n, (a, b) in start.items()}

    def outside(expr: Expr) -> Form:
        raise AssertionError(f"{expr} is read from outside of the flow")

    with np.errstate(all="ignore"):
        return ring, Course(ring, motion.flow, forms, outside, fine)


def test_an_oscillator_has_its_extrema_inside_the_period() -> None:
    system = System("s")
    x, v = system.real("x", -9, 9), system.real("v", -9, 9)
    motion = system.flow(2, {x: v, v: -x})
    _, course = follow(motion, {"x": (0.9, 1.0), "v": (0.5, 0.5)}, Fineness(8, 4, 16, 20))
    low, high = (float(e[0]) for e in course.ends["x"].ends)
    ends = [a * cos(2) + 0.5 * sin(2) for a in (0.9, 1.0)]
    assert low <= min(ends) and max(ends) <= high and high - low < max(ends) - min(ends) + 1e-3
    # x is greatest inside, where its amplitude is reached: sqrt(a**2 + 1/4)
    low, high = (float(e[0]) for e in course.extremum(motion.greatest(x)).ends)  # type: ignore[arg-type]
    tops = [(a * a + 0.25) ** 0.5 for a in (0.9, 1.0)]
    assert low <= tops[0] and tops[1] <= high and high - low < tops[1] - tops[0] + 0.02
    low, high = (float(e[0]) for e in course.extremum(motion.least(x * x + v * v)).ends)  # type: ignore[arg-type]
    assert low <= 0.81 + 0.25 and high >= 1.25


def test_solutions_that_end_before_the_period_does_are_broken() -> None:
    system = System("s")
    x = system.real("x", -9, 9)
    blow_up = system.flow(1, {x: x * x})
    ring, _ = follow(blow_up, {"x": (1.0, 1.1)})
    assert ring.broken.all()
    ring, course = follow(blow_up, {"x": (0.4, 0.5)}, Fineness(5, 16, 1, 20))
    low, high = (float(e[0]) for e in course.ends["x"].ends)
    assert not ring.broken.any() and low <= 0.4 / 0.6 and 1.0 <= high < 1.1


def test_euler_is_another_plant() -> None:
    system = System("s")
    x = system.real("x", -9, 9)
    _, course = follow(system.flow("0.5", {x: -x}), {"x": (1.0, 1.0)})
    low, high = (float(e[0]) for e in course.ends["x"].ends)
    assert low <= exp(-0.5) <= high and high - low < 1e-6 and not low <= 0.5 <= high


def test_constants_keep_none_of_many_symbols() -> None:
    """Those of a network whose outputs nothing reads."""
    ring = Forms(2, 60)
    few, after = reduced(ring, {"x": ring.constant(Fraction(1, 2))}, 10, 1)
    assert few.symbols == 1 and after["x"].z.shape == (2, 1)
