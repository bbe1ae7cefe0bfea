"""Bounds of queries: never above an exact value, tight where they should be, compiled and not compiled alike."""

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from venmas.bounds import crown as query_sweep
from venmas.bounds.compiled import crown as query_compiled
from venmas.bounds.crown import Swept
from venmas.bounds.crown_plan import Plan, plan_of
from venmas.formats.vnnlib.query import meets
from venmas.logic import Atom, Formula, conjunction, disjunction
from venmas.logic.linear import Comparison, LinearExpr, Relation
from venmas.nn import Layer, Network, relu_network
from venmas.procedures.branch_and_bound.falsify import confirm, floats
from venmas.testing.networks import adversarial_networks, networks

Sweep = Callable[..., Swept]
SWEEPS = pytest.mark.parametrize("sweep", [query_sweep.sweep, query_compiled.sweep], ids=["numpy", "numba"])
QUIET = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))


def atom(terms: dict[str, Fraction], threshold: Fraction, relation: Relation = Relation.LE) -> Formula:
    return Atom(Comparison(LinearExpr.of(terms, -threshold), relation))


def exact(network: Network, terms: dict[str, Fraction], x: tuple[Fraction, ...]) -> Fraction:
    named = {f"X_{i}": v for i, v in enumerate(x)} | {f"Y_{i}": v for i, v in enumerate(network.evaluate_exact(x))}
    return LinearExpr.of(terms).evaluate(named)


@st.composite
def problems(draw: st.DrawFn) -> tuple[Network, dict[str, Fraction], np.ndarray, np.ndarray]:
    network = draw(st.one_of(networks((2, 4, 3)), networks((2, 3, 3, 3)), adversarial_networks()))
    ninths = st.integers(-9, 9).map(lambda n: Fraction(n, 9))
    terms = {name: draw(ninths) for name in ("Y_0", "Y_1", "Y_2", "X_0")}
    centre = np.array([draw(st.floats(-2, 2)) for _ in range(2)])
    radius = draw(st.sampled_from([0.0, 1e-9, 0.01, 0.5, 2.0]))
    return network, terms, (centre - radius)[None], (centre + radius)[None]


@SWEEPS
@QUIET
@given(problems())
def test_a_box_with_a_point_on_the_threshold_stays_open(
    sweep: Sweep, problem: tuple[Network, dict[str, Fraction], np.ndarray, np.ndarray]
) -> None:
    network, terms, low, high = problem
    ends = [tuple(Fraction(v) for v in (a, (a + b) / 2, b)) for a, b in zip(low[0], high[0], strict=True)]
    least = min(exact(network, terms, x) for x in product(*ends))
    if abs(least) > 10**90:
        return
    plan = plan_of(network, atom(terms, least))
    swept = sweep(plan, low, high, 50)
    assert not swept.closed[0]
    assert swept.lower[0] <= 0
    assert not sweep(plan, low, high, 1).closed[0]  # with fewer symbols than ReLUs
    above = plan_of(network, atom(terms, least, Relation.EQ))
    assert not sweep(above, low, high, 50).closed[0]


@SWEEPS
@QUIET
@given(networks((2, 4, 4, 2)), st.floats(-1, 1), st.floats(-1, 1))
def test_a_point_is_bounded_tightly(sweep: Sweep, network: Network, a: float, b: float) -> None:
    terms = {"Y_0": Fraction(1), "Y_1": Fraction(-2)}
    value = exact(network, terms, (Fraction(a), Fraction(b)))
    low = np.array([[a, b]])
    near = Fraction(1, 10**9) * (1 + abs(value))
    assert sweep(plan_of(network, atom(terms, value - near)), low, low, 50).closed[0]
    assert sweep(plan_of(network, atom(terms, value + near, Relation.GE)), low, low, 50).closed[0]
    strict = sweep(plan_of(network, atom(terms, value, Relation.LT)), low, low, 50)
    assert strict.closed[0] or strict.lower[0] > -near


@pytest.mark.parametrize("seed", range(20))
def test_compiled_and_not_are_alike(seed: int) -> None:
    random = np.random.default_rng(seed)
    sizes = (3, 6, 5, 3)
    network = relu_network(
        [random.normal(size=(b, a)) for a, b in pairwise(sizes)], [random.normal(size=b) for b in sizes[1:]]
    )
    low = random.uniform(-2, 1, (9, 3))
    high = low + random.uniform(0, 1, (9, 1))
    condition = disjunction(
        [
            atom({f"Y_{i}": Fraction(1), f"Y_{j}": Fraction(-1), "X_1": Fraction(1, 3)}, Fraction(i, 7))
            for i, j in ((0, 1), (1, 2), (2, 0))
        ]
    )
    plan = plan_of(network, condition)
    one, two = query_sweep.sweep(plan, low, high, 100), query_compiled.sweep(plan, low, high, 100, 2)
    size = 1e-9 * plan.magnitude(low)
    clear = np.abs(np.where(np.isfinite(one.lower), one.lower, 1)) > size
    assert (one.closed == two.closed)[clear].all()
    opened = ~one.closed & ~two.closed
    np.testing.assert_allclose(one.lower[opened], two.lower[opened], rtol=1e-6, atol=size)
    np.testing.assert_allclose(one.influence[opened], two.influence[opened], rtol=1e-6, atol=size)
    seen = np.isfinite(two.worst)
    values = plan.violation(plan.values(two.tried))
    np.testing.assert_allclose(values[seen], two.worst[seen], rtol=1e-6, atol=size)


@SWEEPS
def test_no_point_of_a_closed_box_meets_the_condition(sweep: Sweep) -> None:
    random = np.random.default_rng(4)
    network = relu_network(
        [random.normal(size=(12, 2)), random.normal(size=(12, 12)), random.normal(size=(3, 12))],
        [random.normal(size=12), random.normal(size=12), random.normal(size=3)],
    )
    one, mean = Fraction(1), network.evaluate(random.uniform(-2, 2, (1000, 2))).mean(0)
    condition = conjunction(
        [
            atom({"Y_0": one, "Y_1": -one}, Fraction(mean[0] - mean[1])),
            atom({"Y_1": one, "Y_2": -one}, Fraction(mean[1] - mean[2]), Relation.LT),
            disjunction([atom({"X_0": one}, Fraction(0)), atom({"X_1": one, "Y_2": one}, Fraction(1))]),
        ]
    )
    plan = plan_of(network, condition)
    low = random.uniform(-2, 2, (300, 2))
    high = low + 10.0 ** random.uniform(-3, 0, (300, 1))
    swept = sweep(plan, low, high, 50)
    assert 100 < swept.closed.sum() < 290  # bounds that close nothing, or everything, show nothing
    for a, b in zip(low[swept.closed], high[swept.closed], strict=True):
        for point in random.uniform(a, b, (5, 2)):
            assert not plan.holds(tuple(map(Fraction, point.tolist())))


@pytest.mark.parametrize("size", [1e200, 1e308])
@SWEEPS
def test_overflow_closes_nothing(sweep: Sweep, size: float) -> None:
    network = relu_network([[[size], [-size]], [[size, size]]], [[0, 0], [0]])
    plan = plan_of(network, atom({"Y_0": Fraction(1)}, Fraction(-1)))
    assert not sweep(plan, np.array([[-2.0]]), np.array([[2.0]]), 10).closed[0]


TINY, SMALLEST = Fraction(1, 10**51), Fraction(24, 10**325)


@pytest.mark.parametrize(
    ("weights", "relu", "coefficient", "threshold"),
    [
        ((1e300, 1e-200, 1e-150), False, Fraction(-1), -5 * TINY),  # products of slopes that a float does not hold
        ((1e300, 1e-200, 1e-150), True, Fraction(-1), -5 * TINY),
        ((1e300, 1e-160, 1e-150, 1e-10, 1e-30), True, Fraction(-1), -5 * TINY),
        ((-1e308,), False, SMALLEST, Fraction(-1, 10**17)),  # a coefficient that a float does not hold
        ((1e300, -1e8), True, SMALLEST, Fraction(-1, 10**17)),
    ],
)
@SWEEPS
def test_underflow_closes_nothing(
    sweep: Sweep, weights: tuple[float, ...], relu: bool, coefficient: Fraction, threshold: Fraction
) -> None:
    kinds = ["relu" if relu else "linear"] * (len(weights) - 1) + ["linear"]
    network = Network(tuple(Layer([[w]], [0.0], kind) for w, kind in zip(weights, kinds, strict=True)))
    plan = plan_of(network, atom({"Y_0": coefficient}, threshold))
    assert plan.holds((Fraction(1),))
    assert not sweep(plan, np.array([[0.0]]), np.array([[1.0]]), 10).closed[0]
    beyond = plan_of(network, atom({"Y_0": coefficient}, 10**30 * threshold))
    assert coefficient == SMALLEST or sweep(beyond, np.array([[0.0]]), np.array([[1.0]]), 10).closed[0]


@QUIET
@given(st.data(), networks((2, 3, 2)))
def test_plans_decide_points_as_formulas_do(data: st.DataObject, network: Network) -> None:
    whole = st.integers(-2, 2).map(Fraction)
    leaf = st.builds(
        lambda a, b, c, relation: atom({"Y_0": a, "Y_1": b, "X_0": c}, a + b, relation),
        *(whole, whole, whole, st.sampled_from(list(Relation))),
    ).filter(lambda f: f.comparison.expr.terms)  # type: ignore[attr-defined]
    trees = st.recursive(
        leaf,
        lambda inner: st.one_of(
            st.lists(inner, min_size=2, max_size=3).map(conjunction),
            st.lists(inner, min_size=2, max_size=3).map(disjunction),
        ),
        max_leaves=6,
    )
    condition = data.draw(trees)
    x = (data.draw(whole), data.draw(whole))
    named = {f"X_{i}": v for i, v in enumerate(x)} | {f"Y_{i}": v for i, v in enumerate(network.evaluate_exact(x))}
    plan = plan_of(network, condition)
    assert plan.holds(x) == meets(condition, named)
    value = plan.violation(plan.values(np.array([x], dtype=float)))[0]
    assert value <= 0 if plan.holds(x) else value >= 0


def test_points_are_confirmed_inside_the_exact_box() -> None:
    network = relu_network([[[1.0, 1.0]]], [[0.0]])
    plan: Plan = plan_of(network, atom({"Y_0": Fraction(1)}, Fraction(10)))
    tenth, third = Fraction(1, 10), Fraction(1, 3)
    box = ((tenth, tenth), (third, 2 * third))
    low, high = floats([box])
    assert Fraction(low[0, 0]) < tenth < Fraction(high[0, 0])
    assert Fraction(low[0, 1]) < third and Fraction(high[0, 1]) > 2 * third
    for x in (low[0], high[0]):
        point = confirm(plan, box, x)
        assert point is not None and point[0] == tenth
        assert third <= point[1] <= 2 * third
        assert point[1] == Fraction(float(np.float32(point[1])))
    never = plan_of(network, atom({"Y_0": Fraction(1)}, Fraction(0)))
    assert confirm(never, box, low[0]) is None
