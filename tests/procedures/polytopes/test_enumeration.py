"""Enumeration by polytopes against exact runs: what is true of an initial state is left, where it is."""

from tests.needs import needs

needs("scipy")

from fractions import Fraction
from itertools import pairwise
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls
from scipy.spatial import ConvexHull

from tests.procedures.reachability.test_graph import Truth, grid_formula, grid_states, grid_system
from tests.slow import some_slow
from venmas.bounds.polytopes import Polytopes, settled
from venmas.engine.verify import verify
from venmas.logic import nnf, parse
from venmas.logic.linear import Relation
from venmas.model import System, apply_network, argmax, clip, maximum, switch, where
from venmas.model.transform.cases import UnsuitableError
from venmas.nn import Layer, Network, relu_network
from venmas.procedures.hybrid.view import Space
from venmas.procedures.polytopes.enumerate import Enumeration, _corners
from venmas.testing import adversarial_systems, formulas_over, initial_states, systems

MOST = 3_000


def left(system, target):
    """(polytopes of what is left, the enumeration) or None where it gives up, or takes too long."""
    with np.errstate(all="ignore"):
        try:
            found = Enumeration(Space(system), target)
            parts = []
            while found.count < MOST:
                try:
                    part = next(found._steps)
                except StopIteration as end:
                    assert bool(len(end.value)) == bool(parts)  # noqa: PT017
                    return parts, found
                if part is not None:
                    parts.append(part)
        except (UnsuitableError, OverflowError):
            pass
    return None


def covers(parts, point):
    """Is a point, but for rounding, a convex combination of the vertices of one of some polytopes?"""
    for part in parts:
        x = part.x[:, :, : len(point)]
        scale = np.maximum(np.abs(x).max((0, 1)), 1.0) if len(x) else 1.0
        x, at = x / scale, np.array(point) / scale
        for corners in x[np.all((x.min(1) - 1e-9 <= at) & (at <= x.max(1) + 1e-9), 1)]:
            if nnls(np.vstack([corners.T, 10 * np.ones(len(corners))]), np.append(at, 10.0))[1] < 1e-8:
                return True
    return False


def check(system, target, states):
    """All states that meet the target are left; how many these were, None where the enumeration gives up."""
    truth = Truth(system)
    good = [s for s in states if truth.holds(target, s)]
    found = left(system, target)
    if found is None:
        return None
    parts, enumeration = found
    for state in good:
        assert covers(parts, [float(state[n]) for n in enumeration.space.reals]), state
    return len(good)


HARD = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.slow
@HARD
@given(st.data())
def test_what_is_true_is_left(data):
    system = data.draw(systems() if data.draw(st.booleans()) else adversarial_systems())
    target = nnf(data.draw(formulas_over(system)))
    check(system, target, [data.draw(initial_states(system)) for _ in range(5)])


@pytest.mark.parametrize("block", some_slow(range(6), [0, 3]))
def test_what_is_true_is_left_where_polygons_touch(block):
    """Faces, guards and thresholds meet in whole numbers, and so do the states that are asked."""
    found = tried = 0
    for seed in range(block * 20, block * 20 + 20):
        rng = Random(f"grid {seed}")
        system = grid_system(rng)
        target = nnf(grid_formula(rng, system, rng.randint(2, 4)))
        count = check(system, target, grid_states(rng, system))
        tried += count is not None
        found += count or 0
    assert tried > 10 and found > 40


def random_plant(rng, branches, layers, units, size):
    """A network in the loop of some reals, with an argmax, a clip, and a guard; numbers of all digits."""
    system = System("plant")
    x = system.reals("x", size, -50, 50)
    sizes = (size, *(units,) * layers, 3)
    weights = [rng.normal(0, (2 / a) ** 0.5, (b, a)) for a, b in pairwise(sizes)]
    net = relu_network(weights, [rng.normal(0, 0.3, b) for b in sizes[1:]], name="net")
    scores = apply_network(net, x)
    move, push = argmax(scores), clip(scores[0], -1, 1)

    def number(scale=1.0):
        return Fraction(str(round(float(rng.normal(0, scale)), 6)))

    for i in range(branches):
        pull = switch(move, {k: number() for k in range(3)})
        bent = where(x[0] + x[1] * number() > number(), x[0] * number(0.5), maximum(x[1] * number(0.5), number()))
        updates = {v: v * number(0.5) + x[0] * number(0.3) + push * number() for v in x}
        updates[x[0]], updates[x[1]] = updates[x[0]] + pull, updates[x[1]] + bent
        system.branch(f"b{i}", updates, when=True if i == 0 else x[0] < number() + x[1])
    low = [number() for _ in x]
    system.initial(*((v >= at) & (v <= at + Fraction(1, 2)) for v, at in zip(x, low, strict=True)))
    return system, low


TEXTS = "EX EX x[1] <= {}", "AX EX x[2] >= {}", "EX (x[2] >= {} & AX x[1] <= 100)", "AX AX (x[1] <= {} | x[2] >= 3)"


@pytest.mark.parametrize("seed", some_slow(range(18), range(6)))
def test_networks_in_the_loop(seed):
    """Thresholds are values that runs meet: the state of such a run is left, and those around it decide the verdict."""
    rng, size = np.random.default_rng(seed), 2 + seed % 3
    system, low = random_plant(rng, 1 + seed % 2, 1 + seed % 2, 5, size)

    def state():
        return {f"x[{i + 1}]": at + Fraction(int(rng.integers(0, 33)), 64) for i, at in enumerate(low)}

    truth, start, decided = Truth(system), state(), 0
    for text in TEXTS:
        after = start
        for _ in range(text.count("X ") - ("100" in text)):
            after = truth.successors(after)[0]
        at = after["x[2]" if "x[2] >= {}" in text else "x[1]"]
        target = nnf(parse(text.format(f"{at.numerator}/{at.denominator}"), system.vocabulary))
        done = left(system, target)
        if done is None:
            continue
        parts, found = done
        for point in [start, *(state() for _ in range(60))]:
            assert not truth.holds(target, point) or covers(parts, [float(v) for v in point.values()])
        # and not much more than that: middles of what is left are true
        for part in parts:
            for candidate in found._candidates(part):
                spread = float(np.ptp(part.x[:, :, :size], axis=1).min())
                assert truth.holds(target, candidate.state) or spread < 1e-6
        decided += 1
    assert decided >= 2


def polytopes(x, count=None, dimension=2, facets=None):
    size, most, width = x.shape
    count = np.full(size, most) if count is None else count
    facets = np.zeros((size, most), np.uint64) if facets is None else facets
    rest = np.zeros((size, 0, width)), np.zeros((size, width)), np.zeros((size, 0), dtype=int)
    return Polytopes(dimension, x, count, facets, *rest)


def settle(parts, at):
    """What `settled` comes to."""
    steps = settled(parts, at)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


def cube(dimension):
    """From -1 to 1 in all directions."""
    corners = _corners(dimension)
    facets = (1 << (2 * np.arange(dimension) + corners)).sum(1).astype(np.uint64)
    return polytopes(2.0 * corners[None] - 1, None, dimension, facets[None])


@pytest.mark.parametrize(("dimension", "units"), [(1, 8), (2, 8), (3, 7), (4, 5)])
def test_values_lie_within_their_errors(dimension, units):
    """A deep network of units that grow: on every polytope, exact values of points are as near as is told."""
    rng = np.random.default_rng(5)
    sizes = (dimension, units, units, units, 2)
    weights = [rng.normal(0, 1.5, (b, a)) for a, b in pairwise(sizes)]
    net = relu_network(weights, [rng.normal(0, 1, b) for b in sizes[1:]], name="net")
    parts = cube(dimension)
    at = list(range(dimension))
    for layer in net.layers:
        parts = parts.affine(at, layer.weight, layer.bias, layer.weight_error, keep=dimension)
        at = list(range(dimension, parts.width))
        if layer.activation == "relu":
            parts = settle(parts, slice(dimension, None)).relu(slice(dimension, None)).rooted(at)
    assert len(parts) > 10
    volumes = (
        [ConvexHull(x[:n, :dimension]).volume for x, n in zip(parts.x, parts.count, strict=True)]
        if dimension > 1
        else [2.0**dimension]
    )
    assert abs(sum(volumes) - 2**dimension) < 1e-9  # they fill the cube, and do not overlap
    radius = parts.radius()
    for x, count, off in zip(parts.x[:400], parts.count, radius, strict=False):
        share = rng.dirichlet(np.ones(count))
        point = [Fraction(float(v)) for v in share @ x[:count, :dimension]]
        spread = np.abs(x[:count]).max() * 1e-13
        for column, value in enumerate(net.evaluate_exact(point), dimension):
            assert abs(float(value) - share @ x[:count, column]) <= off[column] + spread
    usual = 1e-9 if dimension <= 2 else 1e-8  # where edges meet a hyperplane, vertices are as far off as its values
    assert np.median(radius[:, dimension:]) < usual and radius[:, dimension:].max() < 1e-5


def test_what_a_unit_hides_is_counted():
    """Units that are not cut, as they hardly change their signs: ``max(q, 0)`` is as near as is told."""
    x = np.array([[[-1e-7], [1.0]], [[1e-7], [-1.0]], [[-1.0], [-0.5]], [[0.5], [1.0]]])
    parts = polytopes(x, dimension=1).relu(slice(0, 1))
    for before, now, off in zip(x, parts.x, parts.radius()[:, 0], strict=True):
        for share in np.linspace(0, 1, 11):
            value = (1 - share) * before[0, 0] + share * before[1, 0]
            assert abs(max(value, 0) - ((1 - share) * now[0, 0] + share * now[1, 0])) <= off
    assert parts.radius()[:2].min() >= 0.9e-7 and parts.radius()[2:].max() == 0


@pytest.mark.parametrize("dimension", [3, 4])
def test_vertices_of_a_cut_are_as_far_off_as_its_values(dimension):
    """Where values are known to 1e-3, points in which edges meet the hyperplane are told to be no better."""
    rng = np.random.default_rng(dimension)
    normal, whole = rng.normal(size=dimension), cube(dimension)
    parts = whole.affine(list(range(dimension)), normal[None], np.array([0.1]))
    parts.e[:, dimension] = 1e-3
    parts.x[:, :, dimension] += rng.uniform(-1e-3, 1e-3, parts.x.shape[:2])
    for part in parts.cut(parts.x[:, :, dimension], parts.radius()[:, dimension]):
        new = ~np.isin(part.facets[0], whole.facets)
        values = part.x[0, new, :dimension] @ normal
        told = part.e[0, :dimension] @ np.abs(normal)
        assert new.sum() >= dimension and 1e-5 < np.ptp(values) <= 2 * told < 0.1
    halves = settle(parts, slice(dimension, None))
    assert len(halves) == 2 and (halves.e[:, :dimension] >= part.e[:, :dimension] * 0.99).all()


def test_errors_that_underflow_before_a_huge_weight():
    """The output is 0, and not so in floats: 1e-313 has few digits, and weights of 1e304 make much of them."""
    rng, found = Random(1), 0
    while found < 20:
        i, j = rng.getrandbits(51) | 1, rng.getrandbits(51) | 1
        weights = [float(i) * 2.0**960, float(j) * 2.0**960, -(float(i) + float(j)) * 2.0**960]
        if sum(map(Fraction, weights)):
            continue
        system = System("tiny")
        x, y = system.real("x", -8, 8), system.real("y", -8, 8)
        out = apply_network(Network((Layer(np.array([weights]), np.zeros(1)),)), (x, x, x))[0]
        system.branch("go", y=where(out == 0, 1, 0))
        low = (rng.getrandbits(33) | 1) * Fraction(2) ** -1074
        system.initial(x >= low, x <= low + Fraction(2) ** -1070, y == 0)
        parts, _ = left(system, nnf(parse("EX y >= 1/2", system.vocabulary)))
        assert parts
        found += 1


def area(x, count):
    x, y = x[:count, 0], x[:count, 1]
    return 0.5 * float(x @ np.roll(y, -1) - y @ np.roll(x, -1))


def test_cuts_lose_nothing():
    """Any values at the vertices make a cut: areas add up, and parts are convex and in order."""
    rng = np.random.default_rng(1)
    angles = np.sort(rng.uniform(0, 2 * np.pi, (200, 7)))
    x = np.stack([np.cos(angles), np.sin(angles)], 2)
    count = rng.integers(3, 8, 200)
    for row, n in enumerate(count):
        x[row, n:] = x[row, n - 1]
    parts = polytopes(x, count)
    whole = [area(a, n) for a, n in zip(parts.x, parts.count, strict=True)]
    for _ in range(4):
        s = (parts.x - parts.x.mean(1, keepdims=True)) @ rng.normal(size=2)
        s += rng.normal(0, 1e-3, s.shape)
        there = np.arange(s.shape[1])[None] < parts.count[:, None]
        mixed = (np.where(there, s, -1).max(1) > 0) & (np.where(there, s, 1).min(1) < 0)
        one, other = parts.take(mixed).cut(s[mixed], np.zeros(mixed.sum()))
        for before, a, b in zip(np.flatnonzero(mixed), range(len(one)), range(len(other)), strict=True):
            first, second = area(one.x[a], one.count[a]), area(other.x[b], other.count[b])
            assert first > -1e-12 and second > -1e-12
            assert abs(first + second - area(parts.x[before], parts.count[before])) < 1e-12
        parts = one
    assert len(parts) > 20 and max(whole) > 1


def test_a_segment_keeps_two_ends():
    x = np.array([[[0.0, 0.0], [8.0, 4.0]]])
    parts = polytopes(x, dimension=1)
    for at in (6.0, 3.0, 1.0):
        _, parts = parts.cut(parts.x[:, :, 0] - at, np.zeros(1))
        assert parts.count.tolist() == [2] and parts.x[0, :, 0].max() == at and parts.x[0, :, 0].min() == 0


@pytest.mark.parametrize("relation", list(Relation))
def test_what_may_hold_at_a_point_on_the_line(relation):
    """Of a polygon that ends at 0, and of one that is 0, exact numbers tell which comparisons are possible."""
    x = np.array([[[0.0], [1.0]], [[0.0], [0.0]], [[-1.0], [0.0]]])
    parts = polytopes(x, np.array([2, 1, 2]), 1)
    kept = parts.may(0, relation)
    values = np.unique(np.round(kept.x[:, :, 0], 9)).tolist()
    possible = [v for v in (-1.0, 0.0, 1.0) if relation.holds(Fraction(int(v)))]
    assert set(possible) <= set(values) <= {*possible, 0.0}
    whole = {Relation.GE: 3, Relation.LE: 3, Relation.EQ: 3, Relation.GT: 1, Relation.LT: 1, Relation.NE: 2}
    assert len(kept) == whole[relation]


# -- in mode adaptive --------------------------------------------------------------------------------------------------


def spiral():
    system = System("spiral")
    x, y = system.real("x", -4, 4), system.real("y", -4, 4)
    net = Network((Layer(np.array([[1.0, 1.0], [1.0, -1.0]]), np.array([0.1, -0.1]), "relu"),), name="net")
    a, b = apply_network(net, (x, y))
    system.branch("turn", x=clip(x * Fraction(3, 5) - a * Fraction(4, 5), -4, 4), y=clip(y / 2 + b, -4, 4))
    system.initial(x >= 0, x <= 1, y >= 0, y <= 1)
    return system


def test_a_face_that_is_nearly_met_is_decided_at_once():
    """The greatest y after three steps is a vertex: a millionth more is safe, a millionth less is not."""
    system, truth = spiral(), Truth(spiral())
    corners = [{"x": Fraction(i, 40), "y": Fraction(j, 40)} for i in range(41) for j in range(41)]
    ends = [truth.successors(truth.successors(truth.successors(s)[0])[0])[0]["y"] for s in corners]
    parts, _ = left(system, nnf(parse("EX^3 y >= -100", system.vocabulary)))
    assert parts
    top = float(max(ends))
    for above, verdict in ((1e-6, "satisfied"), (-1e-6, "violated")):
        report = verify(system, f"AX^3 y <= {top + above:.9f}")
        assert report.verdict == verdict and report.graph.passes <= 1
    assert verify(system, f"AX^3 y <= {top + 1e-6:.9f}", semantics="float32").verdict in ("satisfied", "unknown")


def test_a_clip_at_the_end_of_the_declared_range_is_no_way_out():
    system = System("clipped")
    x, y = system.real("x", -1, 1), system.real("y", -1, 1)
    system.branch("grow", x=clip(2 * x + y / 3, -1, 1), y=clip(y * 3 - x, -1, 1))
    system.initial(x >= -1, x <= 1, y >= -1, y <= 1)
    parts, found = left(system, nnf(parse("EX^3 (x >= 0.999 & y <= -2)", system.vocabulary)))
    assert not parts and found.count > 3


@pytest.mark.parametrize("factor", [2, -2])
def test_leaving_the_declared_range_ends_it(factor):
    system = System("leaves")
    x, m = system.real("x", -1, 1), system.integer("m", 0, 1)
    system.branch("grow", x=factor * x)
    system.initial(x >= 0, x <= Fraction(3, 4), m == 0)
    assert left(system, nnf(parse("EX m >= 1", system.vocabulary))) is None
    other = System("counts")
    x, m = other.real("x", -1, 1), other.integer("m", 0, 1)
    other.branch("count", m=m + factor)
    other.initial(x >= 0, x <= 1, m == 0)
    assert left(other, nnf(parse("EX x >= 2", other.vocabulary))) is None


def test_a_formula_that_is_nested_too_deeply_ends_it():
    system = System("deep")
    x = system.real("x", -8, 8)
    system.branch("half", x=x / 2)
    system.initial(x >= 0, x <= 1)
    found = Enumeration(Space(system), nnf(parse("AX^1000 x <= 2", system.vocabulary), negate=True))
    assert found.run(lambda: None) == [] and found.over and not found.refuted
    assert verify(system, "AX^1000 x <= 2").satisfied


def test_a_deadlock_is_told():
    system = System("stuck")
    x = system.real("x", -8, 8)
    system.branch("go", {x: x + 1}, when=x <= 1)
    system.initial(x >= 0, x <= 1)
    for formula in ("AX^2 x <= 3", "x >= 1/2 | AX^3 x <= 4"):
        report = verify(system, formula)
        assert report.satisfied and any("a deadlock is reachable" in n for n in report.notes)


@pytest.mark.parametrize("dimension", [3, 4])
def test_planes_next_to_vertices(dimension):
    """Cuts through corners, along faces, and twice at one place leave simple polytopes that fill the cube."""
    rng = np.random.default_rng(dimension)
    parts = cube(dimension)
    between = np.r_[1.0, -1.0, np.zeros(dimension - 2)]
    normals = [*np.eye(dimension)[:2], np.ones(dimension), between, rng.normal(size=dimension)]
    for normal in [*normals, *normals[2:]]:
        for level in (0.0, float(normal.sum()), 1e-15):
            valued = parts.affine(list(range(dimension)), normal[None], np.array([-level]))
            parts = settle(valued, slice(dimension, None)).head(dimension, 0)
    assert 20 < len(parts) < 400
    volumes = [ConvexHull(x[:n]).volume for x, n in zip(parts.x, parts.count, strict=True)]
    assert abs(sum(volumes) - 2**dimension) < 1e-9 and min(volumes) > 1e-9
    for facets, n in zip(parts.facets, parts.count, strict=True):
        assert (np.bitwise_count(facets[:n]) == dimension).all() and len(set(facets[:n].tolist())) == n


def test_more_free_dimensions_are_left_to_others():
    system = System("space")
    x = system.reals("x", 5, -1, 1)
    system.branch("stay", {x[0]: x[0]})
    system.initial(*(v >= 0 for v in x))
    with pytest.raises(UnsuitableError, match="free dimensions"):
        Enumeration(Space(system), nnf(parse("x[1] <= 1", system.vocabulary), negate=True))
