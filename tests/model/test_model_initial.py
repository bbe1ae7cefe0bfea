"""Initial sets: few regions from many cases, and conditions where a union of regions would be too long."""

import json
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from venmas import System, verify
from venmas.engine.certificates.goals import certify
from venmas.errors import ModelError
from venmas.logic import TRUE, parse, variables_of
from venmas.model.canonical.canonical import system_digest, system_from_json, system_to_json
from venmas.model.evaluation.points import initial_points
from venmas.model.evaluation.regions import contains, is_initial, sample_initial
from venmas.model.expressions.expr import Any, conjunction, disjunction
from venmas.model.system.starts import common_part, regions_of
from venmas.model.transform.cone import cones_of
from venmas.procedures.explicit.graph.graph import StateGraph
from venmas.testing.finite import finite_model

pytestmark = pytest.mark.quick

SIZE = 4


def grid(names="xyz", high=SIZE):
    system = System("grid")
    for name in names:
        system.integer(name, 0, high)
    return system


def many(count=1300):
    """More than 1,000 single states of two variables, as a condition."""
    system = System("many")
    x, y = system.integer("x", 0, 2 * count), system.integer("y", 0, 40)
    system.branch("down", y=y - 1, when=y >= 1)
    system.start(disjunction((x == 2 * i) & (y == i % 37) for i in range(count)))
    return system, {(2 * i, i % 37) for i in range(count)}


def atoms(system):
    x, y, z = (system[n] for n in "xyz")
    numbers = st.integers(-1, SIZE + 1)
    left = st.sampled_from((x, y, z, x - y, y + z, x + y - z, x * 2 - 1))
    relation = st.sampled_from(("__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__"))
    return st.builds(lambda e, r, n: getattr(e, r)(n), left, relation, numbers)


def conditions(system):
    several = lambda inner: st.lists(inner, min_size=1, max_size=3)  # noqa: E731
    joined = lambda inner: several(inner).map(conjunction) | several(inner).map(disjunction)  # noqa: E731
    return st.recursive(atoms(system), joined, max_leaves=12)


@pytest.mark.thorough
@settings(max_examples=150, deadline=None)
@given(st.data())
def test_regions_are_disjoint_and_make_up_the_formula(data):
    system = grid()
    formula = system.formula(data.draw(conditions(system)), "it")
    regions = regions_of(system.variables, formula, 1000)
    assert regions is not None
    for values in product(range(SIZE + 1), repeat=3):
        point = dict(zip("xyz", map(Fraction, values), strict=True))
        assert sum(contains(r, point) for r in regions) == _truth(system, formula, point)


def _truth(system, formula, point):
    from venmas.model.evaluation.regions import holds

    return holds(formula, point) if formula is not TRUE else True


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_points_of_a_condition_are_all_of_them_once(data):
    system = grid()
    formula = system.formula(data.draw(conditions(system)), "it")
    system.initial_set.regions, system.initial_set.condition = [()], formula
    expected = {
        v
        for v in product(range(SIZE + 1), repeat=3)
        if is_initial(system, dict(zip("xyz", map(Fraction, v), strict=True)))
    }
    blocks = [*initial_points(system, 10_000)] if formula is not TRUE else []
    found = [tuple(row) for block in blocks for row in block.tolist()]
    if formula is not TRUE:
        assert len(found) == len(set(found)) and set(found) == expected


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_what_states_have_in_common_and_the_rest_make_up_the_formula(data):
    system = grid()
    formula = system.formula(data.draw(conditions(system)), "it")
    found = common_part(system.variables, formula)
    for values in product(range(SIZE + 1), repeat=3):
        point = dict(zip("xyz", map(Fraction, values), strict=True))
        inside = found is not None and contains(found[0], point) and _truth(system, found[1], point)
        assert inside == _truth(system, formula, point)


def test_what_all_states_of_a_condition_say_is_their_region():
    """A counter that is 0 in each of them is left out of slices."""
    system, _ = many()
    x, y, z, n = system["x"], system["y"], system.integer("z", 0, 3), system.integer("n", 0, 10**9)
    system.branch("up", x=x + 1, n=n + 1, when=(x <= 2599) & (n <= 10**9 - 1))
    system.initial_set.regions, system.initial_set.condition = [], TRUE
    system.start(disjunction((x == 2 * i) & (y == i % 37) & (z >= i % 2) & (n == 0) for i in range(1300)))
    assert variables_of(system.initial_condition) == {"x", "y", "z"}
    assert cones_of(system).kept({"y"}, exact=False) == {"x", "y", "z"}


def test_a_disjunction_of_many_cases_becomes_few_regions():
    system = grid(high=9)
    x, y, z = system
    system.branch("stay")
    system.start(conjunction(disjunction((v == 1, v >= 7 - k, v == 3)) for v in (x, y, z) for k in range(4)))
    assert system.initial_condition is TRUE and len(system.regions) == 27
    with pytest.raises(ModelError, match="parts of an initial set"):
        system.initial(conjunction(disjunction((v == 1, v >= 7 - k, v == 3)) for v in (x, y, z) for k in range(4)))


@pytest.mark.thorough
def test_more_than_1000_states_stay_a_condition():
    system, states = many()
    assert system.initial_condition is not TRUE
    with pytest.raises(ModelError, match="neither bounded nor certified"):
        _ = system.regions
    graph = StateGraph(system, lambda: None, transitions=True, limit=10**5)
    found = {(int(s["x"]), int(s["y"])) for s in map(graph.state, range(graph.initial))}
    assert found == states
    for x, y in ((0, 0), (2, 1), (1, 0), (2, 2)):
        assert is_initial(system, {"x": Fraction(x), "y": Fraction(y)}) is ((x, y) in states)
    drawn = sample_initial(system, np.random.default_rng(1), 50)
    assert len(drawn) == 50 and all((int(p["x"]), int(p["y"])) in states for p in drawn)
    assert len({p["x"] for p in drawn}) > 30


@pytest.mark.slow
@pytest.mark.thorough
def test_verdicts_of_a_condition(tmp_path):
    system, _ = many()
    assert verify(system, "AG^3 y <= 36").verdict.value == "satisfied"
    assert verify(system, "AG^3 !(x == 4 & y == 1)").verdict.value == "violated"  # 2 falls to 1
    outside = verify(system, "AG^3 !(x == 4 & y == 3)")
    assert outside.verdict.value == "satisfied"
    for mode in ("mono", "comp-seq", "exact"):
        report = verify(system, "AG^1 y <= 36", mode=mode)
        assert report.verdict.value == "unknown"
        assert any("condition" in tried.why for tried in report.procedures)
    path = tmp_path / "c.gz"
    report = verify(system, "AG^3 y <= 36", certificate=path)
    assert report.verdict.value == "satisfied" and report.certificate is None and not path.exists()
    assert any("not certified" in note for note in report.notes)
    with pytest.raises(ModelError, match="neither bounded nor certified"):
        certify(system, parse("AG^1 y <= 36", system.vocabulary), path, {})


def test_slices_of_a_condition():
    """What is said of the variables that are left out is dropped; that starts agree with the whole is looked at."""
    system = System("parts")
    x, y, z = (system.integer(name, 0, 60) for name in "xyz")
    system.branch("up", x=x + 1, when=x <= 49)
    system.branch("count", z=z + 1, when=z <= 59)
    system.start(conjunction([disjunction((x == i) & (y == (7 * i) % 41) for i in range(40)), y != z, x != z, x != y]))
    assert system.initial_condition is not TRUE
    for formula, expected in (("x <= 50", "satisfied"), ("!(x == 0 & y == 0)", "satisfied"), ("x <= 49", "violated")):
        report = verify(system, f"AG {formula}", mode="invariant")
        assert (report.verdict.value, report.decided_by) == (expected, "fixpoints"), formula


@pytest.mark.thorough
def test_witnesses_of_a_condition_are_replayed():
    system, states = many()
    report = verify(system, "AG^3 !(x == 4 & y == 1)")
    start = report.witness.initial
    assert (int(start["x"]), int(start["y"])) in states


def test_sets_that_are_added_to_a_condition_widen_it():
    system, states = many()
    x, y = system
    system.initial(x == 1, y == 40)
    assert is_initial(system, {"x": Fraction(1), "y": Fraction(40)})
    assert is_initial(system, {"x": Fraction(2), "y": Fraction(1)})
    assert StateGraph(system, lambda: None, transitions=True, limit=10**5).initial == len(states) + 1


def test_a_condition_has_a_canonical_form():
    system, _ = many()
    form = json.loads(json.dumps(system_to_json(system)))
    again = system_from_json(form, {})
    assert system_digest(again) == system_digest(system)
    assert again.initial_condition is system.initial_condition
    plain = grid("x")
    plain.branch("stay")
    plain.start(plain["x"] >= 1)
    assert "initial_condition" not in system_to_json(plain)
    broken = {**system_to_json(plain), "initial_condition": 0}
    with pytest.raises(ModelError):
        system_from_json(broken, {})


def test_a_condition_that_holds_nowhere_is_refused():
    system = grid("xy", high=3000)
    x, y = system
    system.branch("stay")
    system.initial_set.regions = [()]
    system.initial_set.condition = system.formula(Any(((x <= 3) & (x >= 5), (y == 1) & (y >= 2))), "it")
    with pytest.raises(ModelError, match="no initial states"):
        system.validate()


def test_explicit_models_of_the_tests_honour_a_condition():
    system = grid("x")
    system.branch("stay")
    system.initial_set.regions = [()]
    system.initial_set.condition = system.formula(disjunction((system["x"] == 1, system["x"] == 3)), "it")
    assert finite_model(system)[1] == {1, 3}
