"""Constants of rounding hold what they are derived from, and bounds hold where numbers are tiny or huge."""

import os
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from venmas.bounds import crown, crown_plan, rounding
from venmas.bounds.compiled import crown_kernel as kernels
from venmas.bounds.compiled import load
from venmas.bounds.crown import Swept
from venmas.bounds.crown_plan import plan_of
from venmas.bounds.linear_forms import affine as combination
from venmas.bounds.linear_forms import constant, relu, settle
from venmas.bounds.methods import METHODS
from venmas.bounds.polytopes import Polytopes
from venmas.bounds.rounding import FEW, SMALLEST_NORMAL, TINY, UNIT_ROUNDOFF, ball, gamma
from venmas.bounds.zonotope import relax
from venmas.logic import Atom, conjunction
from venmas.logic.linear import Comparison, LinearExpr, Relation
from venmas.nn import Layer, Network, relu_network
from venmas.procedures.reachability.graph import step

U = Fraction(UNIT_ROUNDOFF)
LEAST = 2.0**-1074


def test_compiled_code_has_the_same_constants() -> None:
    from venmas.bounds import crown_slopes
    from venmas.bounds.compiled import crown_layers_kernel, crown_slopes_kernel, relaxation_kernel, zonotope_kernel

    assert (kernels.STEPS, kernels.OR) == (crown.STEPS, crown_plan.OR)
    assert (kernels.TRIAL, kernels.HOPE) == (crown_slopes.TRIAL, crown_slopes.HOPE)
    for name in ("PACE", "SQUARE", "NOISE"):
        assert getattr(crown_slopes_kernel, name) == getattr(crown_slopes, name)
    assert crown_layers_kernel.FLUSH == crown.FLUSH
    assert zonotope_kernel.MINOR == step.MINOR
    for module in (kernels, crown_layers_kernel, relaxation_kernel, zonotope_kernel):
        for name in ("TINY", "FEW", "UNIT_ROUNDOFF"):
            assert getattr(module, name, getattr(rounding, name)) == getattr(rounding, name)
        assert module.TINY == TINY


def test_no_module_has_constants_of_rounding_of_its_own() -> None:
    """Literals of rounding stand in rounding.py, and in what numba compiles (compared above), nowhere else."""
    from pathlib import Path

    import venmas

    root = Path(venmas.__file__).parent
    for room in ("bounds", "search", "encoding"):
        for file in (root / room).rglob("*.py"):
            if file.name != "rounding.py" and not file.name.endswith("_kernel.py"):
                text = file.read_text()
                for literal in ("2.0**-", "5e-324", "2.0**126"):
                    assert literal not in text, f"{file}: {literal}, name it in bounds/rounding.py"


def test_few_covers_six_roundings_and_its_own() -> None:
    assert (1 + Fraction(FEW)) * (1 - U) ** 7 >= 1


@pytest.mark.parametrize("n", [1, 2, 60, 10_000, 10**9])
def test_gamma_is_above_the_bound_of_higham_with_four_roundings_more(n: int) -> None:
    exact = (n + 4) * U / (1 - (n + 4) * U)
    assert abs(Fraction(gamma(n)) - exact) <= 3 * U * exact  # of second order: within one of the four
    assert Fraction(gamma(n)) >= (n + 3) * U / (1 - (n + 3) * U)


def test_tiny_covers_a_whole_memory_of_lost_products_also_times_a_unit_of_roundoff() -> None:
    assert Fraction(TINY) >= 2**70 * Fraction(LEAST) / 2
    assert Fraction(UNIT_ROUNDOFF * TINY) == U * Fraction(TINY) >= 2**20 * Fraction(LEAST)
    assert U * Fraction(SMALLEST_NORMAL) == Fraction(LEAST) / 2


@settings(max_examples=200, deadline=None)
@given(st.floats(-1e300, 1e300), st.floats(-1e300, 1e300))
def test_a_ball_holds_its_interval(a: float, b: float) -> None:
    lo, hi = min(a, b), max(a, b)
    centre, radius = (Fraction(float(x)) for x in ball(np.array(lo), np.array(hi)))
    assert centre - radius <= lo <= hi <= centre + radius


# -- what was lost once: each of these found a true value outside its bounds -------------------------------------------


def inputs(numbers: list[float]) -> list:
    return [constant(Fraction(x), 1, 0) for x in numbers]


@pytest.mark.parametrize("method", METHODS)
def test_a_denormal_weight_of_a_huge_input_rounds(method: str) -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        w, x = float(rng.integers(1 << 40, 1 << 42)) * LEAST, rng.uniform(1, 2) * 2.0**1000
        network = relu_network([[[w]]], [[0.0]])
        found = METHODS[method].propagate(network, inputs([x]))
        for q in (found.output(0), settle(*(e[:, 0] for e in found.combine(np.array([[3.0]]), np.zeros(1))))):
            value = network.evaluate_exact([Fraction(x)])[0] * (1 if q.hi[0] < 2 * w * x else 3)
            assert Fraction(float(q.lo[0])) <= value <= Fraction(float(q.hi[0]))


@pytest.mark.parametrize("method", METHODS)
def test_many_products_underflow_together(method: str) -> None:
    n = 1 << 13
    network = relu_network([np.full((1, n), 2.0**-537)], [[0.0]])
    x = 2.0**-538 * (1 - 2.0**-50)  # each product is just below half the least float
    q = METHODS[method].propagate(network, inputs([x] * n)).output(0)
    assert network.evaluate_exact([Fraction(x)] * n)[0] <= Fraction(float(q.hi[0]))


@pytest.mark.parametrize("method", METHODS)
def test_a_tiny_unit_meets_a_huge_weight(method: str) -> None:
    first, second = 2.0**-1030, 2.0**1000
    rng = np.random.default_rng(2)
    for x in rng.uniform(0.5, 1, 20):
        network = Network((Layer([[first]], [0.0]), Layer([[second]], [0.0])))
        q = METHODS[method].propagate(network, inputs([float(x)])).output(0)
        value = network.evaluate_exact([Fraction(x)])[0]
        assert Fraction(float(q.lo[0])) <= value <= Fraction(float(q.hi[0]))


@pytest.mark.parametrize("scale", [2.0**-1065, 2.0**-1050, 2.0**-1022, 1.0, 2.0**900])
def test_relaxations_hold_for_tiny_forms(scale: float) -> None:
    rng = np.random.default_rng(3)
    for _ in range(50):
        z = rng.uniform(-1, 1, (1, 40)) * scale
        s = np.sign(rng.uniform(-1, 1, 39))
        exact = Fraction(float(z[0, 0])) + sum(
            (Fraction(float(a)) * int(b) for a, b in zip(z[0, 1:], s, strict=True)), Fraction(0)
        )
        value = max(exact, Fraction(0))
        q = settle(z, z)
        low, upp = relu(q.low, q.upp, q.lo, q.hi)
        new, e = relax(z[:, :, None], np.zeros((1, 1)))
        at = [
            Fraction(float(f[0]))
            + sum((Fraction(float(a)) * int(b) for a, b in zip(f[1:], s, strict=True)), Fraction(0))
            for f in (low[0], upp[0], new[0, :, 0])
        ]
        assert at[0] <= value <= at[1]
        assert abs(value - at[2]) <= Fraction(float(e[0, 0]))


def test_combinations_of_many_tiny_terms() -> None:
    terms = [(Fraction(1, 2), constant(Fraction(LEAST), 1, 100)) for _ in range(5000)]
    q = combination(terms, Fraction(0))
    assert Fraction(2500) * Fraction(LEAST) <= Fraction(float(q.upp[0, 0]))


def test_the_bias_of_a_goal_takes_part_in_the_sums_over_all_inputs() -> None:
    """The form of a goal is computed by adding m products to its bias, which then rounds m times."""
    m, ulp = 200, 2.0**-52
    network = relu_network([np.zeros((1, m))], [[0.0]])
    terms = {"Y_0": Fraction(1)} | {f"X_{i}": Fraction(0.51 * ulp) for i in range(m)}
    condition = conjunction([Atom(Comparison(LinearExpr.of(terms, Fraction(1)), Relation.LE))])
    plan = plan_of(Network((Layer([[0.0] * m], [0.0], "relu"), Layer([[1.0]], [0.0]))), condition)
    g, error, base = np.zeros((1, 1 + m)), np.zeros(1), np.zeros(1)
    goals = (plan.goal, plan.goal_error, plan.goal_bias, plan.bias_error, plan.direct, plan.strict)
    bounds = rounding.gammas(4 * m)
    z, nothing = np.zeros((1 + m, 1)), np.zeros(1)
    kernels._goals(goals, (0, 1), bounds, np.ones(m), np.zeros(m), z, nothing, nothing, 1, 1 + m, g, error, base)
    exact = 1 + m * Fraction(0.51 * ulp)
    assert network.evaluate_exact([Fraction(1)] * m)[0] + exact == exact
    assert Fraction(float(g[0, 0])) != exact
    assert abs(Fraction(float(g[0, 0])) - exact) <= Fraction(float(error[0]))


def test_a_radius_grows_with_every_cut() -> None:
    """Where values are small beside the radius, what a cut adds is below half its last place, and must not be lost."""
    x = np.array([[[-0.015], [0.015]]])
    segment = Polytopes(
        1, x, np.array([2]), np.zeros((1, 2), np.uint64), np.zeros((1, 0, 1)), np.ones((1, 1)), np.zeros((1, 0), int)
    )
    for _ in range(30):
        kept, _ = segment.cut(segment.x[:, :, 0] - segment.x[:, :, 0].mean(1, keepdims=True), np.zeros(1))
        needed = 4 * U * Fraction(float(np.abs(segment.x).max()))
        assert Fraction(float(kept.e[0, 0])) >= Fraction(float(segment.e[0, 0])) + needed
        segment = kept


def test_both_sweeps_agree_where_many_inputs_are_in_a_goal() -> None:
    from venmas.bounds.compiled import crown as compiled

    rng = np.random.default_rng(5)
    sizes = (30, 4, 2)
    network = relu_network([rng.normal(size=(b, a)) for a, b in pairwise(sizes)], [np.ones(4), np.ones(2)])
    terms = {"Y_0": Fraction(1)} | {f"X_{i}": Fraction(int(rng.integers(-9, 9)), 7) for i in range(30)}
    plan = plan_of(network, Atom(Comparison(LinearExpr.of(terms, Fraction(1, 3)), Relation.LE)))
    low = rng.normal(size=(5, 30))
    found: list[Swept] = [sweep(plan, low, low + 0.1, 20) for sweep in (crown.sweep, compiled.sweep)]
    np.testing.assert_allclose(found[0].lower, found[1].lower, rtol=1e-6, atol=1e-9)


def test_stale_compiled_code_is_forgotten(tmp_path, monkeypatch) -> None:
    source, cache = tmp_path / "one_kernel.py", tmp_path / "__pycache__"
    cache.mkdir()
    source.write_text("")
    old, fresh = cache / "two_kernel.f-1.py311.nbi", cache / "one_kernel.g-1.py311.nbi"
    for index, age in ((old, -10), (fresh, 10)):
        index.write_text("")
        os.utime(index, (source.stat().st_mtime + age,) * 2)
    monkeypatch.setattr(load, "__file__", str(tmp_path / "load.py"))
    load.forget_stale()
    assert not old.exists()
    assert fresh.exists()
