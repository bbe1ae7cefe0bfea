"""Values of smooth expressions and flows: balls contain what mpmath says, floats are near, known solutions are met."""

from tests.needs import needs

needs("mpmath")

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from venmas import System
from venmas.errors import ModelError
from venmas.linear import Relation
from venmas.model import cos, exp, held, maximum, sigmoid, sin, sqrt, tanh
from venmas.model.expr import Expr
from venmas.model.simulate import Batch, step_batch
from venmas.model.smooth.balls import Ball, Balls, OpenValueError
from venmas.model.smooth.courses import BallCourse
from venmas.model.smooth.enclosed import Enclosed, decided
from venmas.model.smooth.nodes import Apply, Product, Quotient

mpmath.mp.dps = 60
REAL = {"sin": mpmath.sin, "cos": mpmath.cos, "tanh": mpmath.tanh, "exp": mpmath.exp, "sqrt": mpmath.sqrt}
REAL["sigmoid"] = lambda x: 1 / (1 + mpmath.exp(-x))


def number(value: Fraction) -> mpmath.mpf:
    return mpmath.mpf(value.numerator) / value.denominator


def contains(ball: Ball | Fraction, value: mpmath.mpf) -> bool:
    slack = abs(value) * mpmath.mpf(10) ** -50 + mpmath.mpf(10) ** -55
    if isinstance(ball, Fraction):
        return abs(number(ball) - value) <= slack
    return number(ball.low) - slack <= value <= number(ball.high) + slack


def three() -> tuple[System, Expr, Expr, Expr]:
    s = System("s")
    return s, s.real("x", -99, 99), s.real("y", -99, 99), s.real("z", -99, 99)


@st.composite
def graphs(draw: st.DrawFn) -> tuple[dict[str, Fraction], list[tuple[Expr, mpmath.mpf]]]:
    """A state, and expressions with their values."""
    _, x, y, _ = three()
    state = {n: draw(st.fractions(-3, 3, max_denominator=1000)) for n in "xyz"}
    pool: list[tuple[Expr, mpmath.mpf]] = [(x, number(state["x"])), (y, number(state["y"]))]
    for _ in range(draw(st.integers(1, 9))):
        (a, p), (b, q) = draw(st.sampled_from(pool)), draw(st.sampled_from(pool))
        match draw(st.sampled_from(["*", "/", "+", "max", *REAL])):
            case "*":
                pool.append((a * b, p * q))
            case "/":
                pool.append((a / (b * b + 1), p / (q * q + 1)))
            case "+":
                pool.append((a - b / 3, p - q / 3))
            case "max":
                pool.append((maximum(a, b), max(p, q)))
            case "sqrt":
                pool.append((sqrt(a * a + 1), mpmath.sqrt(p * p + 1)))
            case "exp":
                pool.append((exp(-a * a), mpmath.exp(-p * p)))
            case name:
                functions = {"sin": sin, "cos": cos, "tanh": tanh, "sigmoid": sigmoid}
                pool.append((functions[name](a), REAL[name](p)))
    return state, pool


@settings(max_examples=100, deadline=None)
@given(graphs(), st.sampled_from((64, 128)))
def test_balls_contain_the_values_of_random_expressions(graph, bits: int) -> None:
    state, pool = graph
    at = Enclosed(state, bits)
    floats = Batch({n: np.array([float(v)]) for n, v in state.items()})
    for expr, value in pool:
        if abs(value) < 10**6:
            found = at.value(expr)
            assert contains(found, value)
            assert float(floats.value(expr)[0]) == pytest.approx(float(value), rel=1e-6, abs=1e-6)


def test_what_is_rational_by_its_form_is_exact() -> None:
    _, x, y, _ = three()
    at = Enclosed({"x": Fraction(1, 3), "y": Fraction(3, 2)}, 64)
    for expr, value in {
        x * y: "1/2",
        x / y: "2/9",
        sqrt(y * y): "3/2",
        sin(x - "1/3"): "0",
        held(x): "1/3",
        maximum(x, y) * x: "1/2",
    }.items():
        assert at.value(expr) == Fraction(value)
    assert isinstance(at.value(sin(x)), Ball)


def test_products_of_rationals_do_not_grow_for_ever() -> None:
    _, x, _, _ = three()
    expr = x
    for _ in range(12):
        expr = expr * expr
    found = Enclosed({"x": Fraction(10**20 + 1, 10**20)}, 64).value(expr)
    assert isinstance(found, Ball) and contains(found, (1 + mpmath.mpf(10) ** -20) ** 4096)


def test_domains() -> None:
    _, x, y, _ = three()
    at = Enclosed({"x": Fraction(-1), "y": Fraction(0)}, 64)
    for expr, message in ((sqrt(x), "sqrt's operand is negative"), (x / y, "divides by 0"), (1 / y, "divides by 0")):
        with pytest.raises(ModelError, match=message):
            at.value(expr)
    assert at.value(sqrt(y)) == 0
    zero = Product(Apply("sin", x), Apply("cos", x)) - Product(Apply("cos", x), Apply("sin", x))  # 0, but not by form
    for expr in (sqrt(zero), Quotient(x, zero)):
        with pytest.raises(OpenValueError):
            at.value(expr)


@pytest.mark.parametrize("relation", list(Relation))
def test_comparisons_are_decided_or_open_and_never_wrong(relation: Relation) -> None:
    for mid in range(-3, 4):
        for rad in range(3):
            truths = {relation.holds(Fraction(k)) for k in range(mid - rad, mid + rad + 1)}
            found = decided(relation, Ball(mid, rad, 64))
            assert found is None or truths == {found}
            if found is None:  # every open one has points on both sides
                assert len(truths | {relation.holds(Fraction(mid) + Fraction(rad, 3))}) == 2


def test_conditions_need_only_what_decides() -> None:
    _, x, _, _ = three()
    at = Enclosed({"x": Fraction(1), "y": Fraction(2)}, 64)
    tie = sin(x) ** 2 + cos(x) ** 2 >= 1
    assert at.truth(tie) is None
    assert at.truth(tie | (x > 0)) is True and at.truth(tie & (x < 0)) is False
    assert at.truth(tie & (x > 0)) is None
    with pytest.raises(OpenValueError):
        at.holds(tie)


# -- flows -------------------------------------------------------------------------------------------------------------


def course(system: System, plant, state: dict[str, Fraction], bits: int = 128) -> BallCourse:
    return BallCourse(plant.flow, Balls(bits), Enclosed(state, bits).ball)


@pytest.mark.parametrize("bits", [64, 300])
def test_the_harmonic_oscillator(bits: int) -> None:
    s, x, y, _ = three()
    plant = s.flow("1.7", {x: y, y: -x})
    found = course(s, plant, {"x": Fraction(1), "y": Fraction(0)}, bits)
    assert contains(found.ends["x"], mpmath.cos(mpmath.mpf("1.7")))
    assert contains(found.ends["y"], -mpmath.sin(mpmath.mpf("1.7")))
    assert all(ball.high - ball.low < Fraction(1, 2 ** (bits - 12)) for ball in found.ends.values())
    least, most = found.extremum(plant.least(x * y)), found.extremum(plant.greatest(x * x + y / 2))
    assert least.low <= Fraction(-1, 2) <= least.high and contains(most, mpmath.mpf(1))
    assert least.high - least.low < Fraction(1, 2 ** (bits // 2))


SOLUTIONS = {
    "logistic": (lambda x: x * (1 - x), lambda p, t: 1 / (1 + (1 / p - 1) * mpmath.exp(-t)), "1/4"),
    "growth": (lambda x: x, lambda p, t: p * mpmath.exp(t), "1/3"),
    "square": (lambda x: -x * x, lambda p, t: p / (1 + p * t), "2"),
    "sine": (lambda x: sin(x), lambda p, t: 2 * mpmath.atan(mpmath.tan(p / 2) * mpmath.exp(t)), "1/2"),
    "root": (lambda x: sqrt(x), lambda p, t: (mpmath.sqrt(p) + t / 2) ** 2, "2"),
    "quotient": (lambda x: 1 / x, lambda p, t: mpmath.sqrt(p * p + 2 * t), "1"),
    "exp": (lambda x: exp(-x), lambda p, t: mpmath.log(mpmath.exp(p) + t), "1/5"),
    "tanh": (lambda x: tanh(x), lambda p, t: mpmath.asinh(mpmath.sinh(p) * mpmath.exp(t)), "3/4"),
    "cosine": (lambda x: 1 / cos(x), lambda p, t: mpmath.asin(mpmath.sin(p) + t), "-1/2"),
    "sigmoid": (
        lambda x: sigmoid(x),
        lambda p, t: mpmath.findroot(lambda x: x - mpmath.exp(-x) - (p - mpmath.exp(-p)) - t, p),
        "-1/2",
    ),
    "power": (lambda x: x**3, lambda p, t: p / mpmath.sqrt(1 - 2 * p * p * t), "1/2"),
}


@pytest.mark.parametrize("name", SOLUTIONS)
def test_known_solutions(name: str) -> None:
    rate, solution, start = SOLUTIONS[name]
    s, x, _, _ = three()
    plant = s.flow("0.7", {x: rate(x)})
    s.branch("go", plant.end)
    value = solution(number(Fraction(start)), mpmath.mpf("0.7"))
    for bits in (64, 160):
        ball = course(s, plant, {"x": Fraction(start)}, bits).ends["x"]
        assert contains(ball, value)
        assert ball.high - ball.low < Fraction(1, 2 ** (bits - 16))
    state = {n: np.array([float(Fraction(start))]) for n in "xyz"}
    new, _ = step_batch(s, state, np.zeros(1, dtype=int))
    assert new["x"][0] == pytest.approx(float(value), rel=1e-11)


def test_a_solution_that_ends_is_refused() -> None:
    s, x, _, _ = three()
    plant = s.flow(1, {x: x * x})
    s.branch("go", plant.end)
    assert contains(course(s, plant, {"x": Fraction(1, 2)}).ends["x"], mpmath.mpf(1))
    with pytest.raises(OpenValueError, match="may have no solution"):
        course(s, plant, {"x": Fraction(3, 2)})
    rows = {n: np.array([0.5, 1.5, 0.25]) for n in "xyz"}
    new, _ = step_batch(s, rows, np.zeros(3, dtype=int))  # a row fails alone
    assert new["x"][0] == pytest.approx(1) and np.isnan(new["x"][1]) and new["x"][2] == pytest.approx(1 / 3)


def test_a_root_that_moves_from_0_is_no_flow() -> None:
    """x' = sqrt(x) has many solutions from 0."""
    s, x, _, _ = three()
    with pytest.raises(OpenValueError):
        course(s, s.flow(1, {x: sqrt(x)}), {"x": Fraction(0)})


def test_the_step_of_euler_is_another_plant() -> None:
    s, x, y, _ = three()
    plant = s.flow("0.1", {x: y, y: -x})
    ends = course(s, plant, {"x": Fraction(1), "y": Fraction(0)}).ends
    assert decided(Relation.LT, Ball(ends["x"].mid - (1 << 128), ends["x"].rad, 128)) is True  # Euler stays at 1


def test_decimals_in_rates_are_rationals() -> None:
    s, x, _, _ = three()
    ball = course(s, s.flow(1, {x: Fraction(0) * x + "0.1"}), {"x": Fraction(0)}, 256).ends["x"]
    assert ball.low <= Fraction(1, 10) <= ball.high and not ball.low <= Fraction(0.1) <= ball.high


def test_what_is_held_does_not_move() -> None:
    s, x, _, _ = three()
    free, sampled = s.flow(1, {x: -x}), s.flow(1, {x: -held(x)})
    state = {"x": Fraction(1)}
    assert contains(course(s, free, state).ends["x"], mpmath.exp(-1))
    ball = course(s, sampled, state).ends["x"]
    assert ball.low <= 0 <= ball.high


def test_noise_is_constant_over_a_period() -> None:
    s, x, _, _ = three()
    w = s.disturbance("w", -1, 1)
    ball = course(s, s.flow(2, {x: w * w}), {"x": Fraction(0), "w": Fraction(1, 2)}).ends["x"]
    assert ball.low <= Fraction(1, 2) <= ball.high


@settings(max_examples=8, deadline=None)
@given(st.fractions(-2, 2, max_denominator=50), st.fractions(-2, 2, max_denominator=50), st.integers(1, 8))
def test_extrema_enclose_dense_samples(p: Fraction, q: Fraction, tenths: int) -> None:
    s, x, y, _ = three()
    plant = s.flow(Fraction(tenths, 4), {x: y, y: -sin(x)})
    expr = x * y - x
    state = {"x": p, "y": q}
    found = course(s, plant, state, 64)
    least, most = found.extremum(plant.least(expr)), found.extremum(plant.greatest(expr))
    values = []
    for k in range(1, 9):
        part = s.flow(Fraction(tenths * k, 32), {x: y, y: -sin(x)})
        ends = course(s, part, state, 64).ends
        values.append(Enclosed(ends, 64).ball(expr))
    assert all(v.high >= least.low and v.low <= most.high for v in values)
    assert least.high - least.low < Fraction(1, 10**6) and most.high - most.low < Fraction(1, 10**6)
