"""Points of initial sets: all of them exact members."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from venmas.errors import ModelError
from venmas.model import System
from venmas.model.regions import bounding_box, contains, sample, snap, snaps
from venmas.model.simulate import misfit
from venmas.testing import systems

pytestmark = pytest.mark.quick


def space(*conditions):
    system = System("space")
    x, y, z = (system.real(n, -4, 4) for n in "xyz")
    n = system.integer("n", 0, 9)
    for condition in conditions:
        system.initial(*condition(x, y, z, n))
    return system


def checked(system):
    system.initial_set.check()


def point(x=0.0, y=0.0, z=0.0, n=0.0):
    return {"x": x, "y": y, "z": z, "n": n}


REGIONS = [
    lambda x, y, z, n: (x >= -1, x < 2, n > 3),
    lambda x, y, z, n: (x + y + z == 1, x - y - z == 0),
    lambda x, y, z, n: (x + y <= 1, x + y >= 1, y == z),
    lambda x, y, z, n: (x == y / 3, n * 2 == 6),
    lambda x, y, z, n: (x + y + z > 11, n == 9),
    lambda x, y, z, n: (3 * x + 7 * y == 0.1, z < x, z > y),
    lambda x, y, z, n: (n == x + y, z == n / 4),
    lambda x, y, z, n: (x > 1, x < 1.000001),
    lambda x, y, z, n: (x != 0, x >= 0),
]


@pytest.mark.parametrize("region", REGIONS)
def test_snap_and_sample_give_members(region):
    system = space(region)
    rng = np.random.default_rng(1)
    for rows in system.regions:
        box = bounding_box(system, rows)
        if box is None:
            assert sample(system, rows, rng, 3) == []
            continue
        found = sample(system, rows, rng, 20)
        assert len(found) == 20
        for exact in found:
            assert contains(rows, exact)
            assert misfit(system, exact) is None
            assert all(box[name][0] <= value <= box[name][1] for name, value in exact.items())
            noisy = {name: float(value) + rng.uniform(-1e-7, 1e-7) for name, value in exact.items()}
            near = snap(system, rows, noisy)
            assert near is not None
            assert contains(rows, near)
            assert misfit(system, near) is None
            assert all(abs(near[name] - value) < 1e-5 for name, value in exact.items())


@pytest.mark.thorough
@settings(max_examples=60, deadline=None)
@given(systems(depth=0, max_branches=1), st.integers(0, 2**32), st.floats(0, 1e-6))
def test_random_regions_give_members(system, seed, noise):
    rng = np.random.default_rng(seed)
    for rows in system.regions:
        box = bounding_box(system, rows)
        for exact in sample(system, rows, rng, 3):
            assert box is not None
            assert contains(rows, exact)
            assert misfit(system, exact) is None
            for near in snaps(system, rows, {name: float(value) + noise for name, value in exact.items()}):
                assert contains(rows, near)
                assert misfit(system, near) is None
            assert snap(system, rows, {name: float(value) for name, value in exact.items()}) is not None


def test_a_neat_point_is_left_alone():
    system = space(lambda x, y, z, n: (x >= 0, x <= 1))
    exact = snap(system, system.regions[0], point(x=0.3333333333, y=-0.1, n=2.0000001))
    assert exact == {"x": Fraction(1, 3), "y": Fraction(-1, 10), "z": 0, "n": 2}


def test_points_outside_are_moved_to_the_nearest_bound():
    system = space(lambda x, y, z, n: (x >= 0, x <= 1, n < 5))
    assert snap(system, system.regions[0], point(x=1.0000003, n=7.2)) == {"x": 1, "y": 0, "z": 0, "n": 4}


def test_strict_bounds_are_not_touched():
    system = space(lambda x, y, z, n: (x > 0, x < 1))
    exact = snap(system, system.regions[0], point(x=1.0))
    assert 1 - Fraction(1, 10**6) < exact["x"] < 1


EMPTY = [
    lambda x, y, z, n: (x > 0, x < 0),
    lambda x, y, z, n: (x > 0, x <= 0),
    lambda x, y, z, n: (x >= 1, y >= 1, x + y <= 1),
    lambda x, y, z, n: (n > 3, n < 4),
    lambda x, y, z, n: (x == 1, x == 2),
    lambda x, y, z, n: (x + y > 8, n >= 0),
    lambda x, y, z, n: (n * 2 == 3,),
    lambda x, y, z, n: (x == 1, x != 1),
]


@pytest.mark.parametrize("region", EMPTY)
def test_empty_regions(region):
    system = space(region)
    for rows in system.regions:
        assert bounding_box(system, rows) is None
        assert snap(system, rows, point(x=0.5)) is None


def test_bounds_go_through_rows_and_round_inward():
    system = space(lambda x, y, z, n: (x + y <= -6, x == z, n > 2.5, n <= 7.9, n + x <= 3))
    box = bounding_box(system, system.regions[0])
    assert box == {"x": (-4, -2), "y": (-4, -2), "z": (-4, -2), "n": (3, 7)}


def test_one_hot_sums_are_sampled():
    system = System("hot")
    cells = system.booleans("c", 16)
    system.initial(sum(cells) == 1)
    rng = np.random.default_rng(0)
    found = sample(system, system.regions[0], rng, 30)
    assert len(found) == 30
    assert all(sorted(p.values()) == [0] * 15 + [1] for p in found)
    assert len({tuple(p.values()) for p in found}) > 5
    near = snap(system, system.regions[0], {f"c[{i}]": 0.9999999 if i == 7 else 1e-9 for i in range(1, 17)})
    assert near["c[7]"] == 1


OUTSIDE = [
    lambda x, y, z, n: (x <= 5,),
    lambda x, y, z, n: (x >= 0, -2 * y < 8.5),
    lambda x, y, z, n: (x == 0, n < 11),
    lambda x, y, z, n: (n > -1.5,),
]


@pytest.mark.parametrize("region", OUTSIDE)
def test_initial_sets_outside_the_ranges_are_refused(region):
    with pytest.raises(ModelError, match=r"reach outside the declared range of [xyn] "):
        checked(space(region))


INSIDE = [
    lambda x, y, z, n: (x <= 4, n < 10, n > -1),
    lambda x, y, z, n: (x <= 3, 0.25 * x < 1.0625),
    lambda x, y, z, n: (x == 0, x < 100),
    lambda x, y, z, n: (x + y < 100,),
    lambda x, y, z, n: (x != 4,),
]


@pytest.mark.parametrize("region", INSIDE)
def test_initial_sets_inside_the_ranges_are_taken(region):
    checked(space(region))


def test_one_of_several_sets_may_be_empty():
    checked(space(EMPTY[0], INSIDE[0]))
    with pytest.raises(ModelError, match="no initial states: nothing satisfies x > 0 & x < 0"):
        checked(space(EMPTY[0], EMPTY[1]))
