"""Reach sets: every source against exact runs of random systems, tightness where what is exact is known otherwise."""

from fractions import Fraction
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import venmas.engine.reach.reach as engine
from tests.procedures.reachability.test_graph import grid_states, grid_system
from tests.random_loops import random_loop
from tests.slow import some_slow
from venmas import System, load_scenario, reach
from venmas.budget import Budget
from venmas.engine.reach.runs import farthest, sampled
from venmas.engine.reach.sets import outward
from venmas.errors import InputError, ModelError, UsageError
from venmas.logic.linear import LinearExpr
from venmas.model import apply_network, clip
from venmas.model.evaluation.regions import is_initial, sample_initial
from venmas.model.evaluation.simulate import step_batch, successors
from venmas.model.transform.cases import UnsuitableError
from venmas.nn import relu_network
from venmas.procedures.reach import Layer
from venmas.procedures.reach_registry import SOURCES, sources_for
from venmas.testing import adversarial_systems, finite_systems, initial_states, systems

STEPS = 4


def runs_of(system, start, steps, most=200):
    """The exact states after 0, 1, .. steps (some of them where they are many); they end where the box is left."""
    states = [start]
    for _ in range(steps + 1):
        yield states
        try:
            found = [t.state for state in states for t in successors(system, state)]
        except ModelError:
            return
        states = list({tuple(s.items()): s for s in found}.values())[:most]


def holds(layer, directions, state):
    return not layer.empty and all(
        Fraction(low) <= d.evaluate(state) <= Fraction(high)
        for d, low, high in zip(directions, layer.low.tolist(), layer.high.tolist(), strict=True)
    )


def patience(calls):
    """A clock by which a source gives up after so many looks at it."""
    left = iter(range(calls))

    def tick():
        if next(left, None) is None:
            raise OverflowError("it takes too long for a test")

    return tick


def check(system, starts, rng, level):
    """How many sources said something; each layer of theirs holds the exact states."""
    names = list(system.variables)
    directions = [LinearExpr.variable(n) for n in names]
    directions.append(LinearExpr.of({n: Fraction(rng.randint(-3, 3), 2) for n in names}, rng.randint(-2, 2)))
    told = 0
    for name, source in sources_for(system):
        if source.accepts(system) is not None:
            continue
        layers = []
        try:
            for layer in source.layers(system, directions, STEPS, min(level, source.finest), patience(300)):
                layers.append(layer)
        except (UnsuitableError, OverflowError):
            pass
        else:
            assert len(layers) == STEPS + 1
            told += 1
        for start in starts:
            for layer, states in zip(layers, runs_of(system, start, STEPS), strict=False):
                for state in states:
                    assert holds(layer, directions, state), (name, level, state)
    return told


@pytest.mark.parametrize("block", some_slow(range(3), [0]))
def test_layers_of_grid_systems_hold_all_exact_states(block):
    """Faces, guards and thresholds meet in whole numbers, and so do the states that are asked."""
    told = 0
    for seed in range(block * 8, block * 8 + 8):
        rng = Random(f"reach {seed}")
        system = grid_system(rng)
        starts = [s for s in grid_states(rng, system) if is_initial(system, s)][:12]
        told += check(system, starts, rng, seed % 3)
    assert told > 8


@given(finite_systems(), st.integers(0, 100))
@settings(max_examples=25, deadline=None)
def test_layers_of_finite_systems_hold_all_exact_states(system, seed):
    starts = sample_initial(system, np.random.default_rng(seed), 6)
    check(system, starts, Random(seed), 0)


@pytest.mark.slow
@given(st.data())
@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
def test_layers_of_systems_with_networks_hold_all_exact_states(data):
    system = data.draw(systems() if data.draw(st.booleans()) else adversarial_systems())
    starts = [data.draw(initial_states(system)) for _ in range(4)]
    check(system, starts, Random(0), data.draw(st.integers(0, 2)))


@pytest.mark.parametrize("seed", some_slow(range(8), range(0, 8, 3)))
def test_layers_of_random_loops_hold_all_exact_states(seed):
    system = random_loop(seed)
    starts = sample_initial(system, np.random.default_rng(seed), 12)
    assert check(system, starts, Random(seed), seed % 3) > 1


def inside(found, runs):
    """Do all values (R, steps + 1, D) lie in their sets, but for the rounding of floats?"""
    for step, layer in enumerate(found.layers):
        values = runs[:, step][~np.isnan(runs[:, step]).any(1)]
        slack = 1e-9 * np.maximum(1.0, np.abs(values).max(0, initial=0.0))
        if len(values) and not ((values >= layer.low - slack) & (values <= layer.high + slack)).all():
            return False
    return True


def sample(system, found, count, steps, seed=7):
    return sampled(system, [d.expr for d in found.directions], steps, count, seed, 0, Budget())[0]


def test_double_integrator_is_exact():
    """The initial set is a square with 200 points to a side: their runs reach all but what lies between them."""
    system = load_scenario("double_integrator").system()
    found = reach(system, 20, ["x[1] + x[2]", "x[1] - 2*x[2]"])
    assert len(found) == 21
    assert max(found.slack(k) for k in range(21)) < 1e-5
    assert inside(found, sample(system, found, 3000, 20))
    a, b = np.meshgrid(np.linspace(2.5, 3, 200), np.linspace(-0.25, 0.25, 200))
    state = {"x[1]": a.ravel(), "x[2]": b.ravel()}
    for step in range(12):  # later ones are so small that the grid is coarse for them
        x, v = state["x[1]"], state["x[2]"]
        values = np.stack([x, v, x + v, x - 2 * v])
        layer, width = found.layers[step], values.max(1) - values.min(1)
        assert (layer.high - layer.low <= 1.05 * width + 1e-12).all()
        state, _ = step_batch(system, state, np.zeros(a.size, dtype=int))


def test_vertical_cas_with_all_pilots_is_exact():
    """All states that a hundred initial altitudes lead to, in exact numbers, over the first steps."""
    system = load_scenario("vcas").system()
    found = reach(system, 20, ["h + climb"])
    assert found.tight
    assert len(found) == 21
    assert inside(found, sample(system, found, 1000, 20))
    polytopes = dict(sources_for(system))["polytopes"]
    directions = [d.expr for d in found.directions]
    for mine, other in zip(found.layers, polytopes.layers(system, directions, 6, 0, lambda: None), strict=False):
        assert (mine.high - mine.low <= 1.05 * (other.high - other.low) + 1e-9).all()
    for h in (-133, -130.3, -129):
        start = {"h": Fraction(h), "climb": Fraction(-39, 2), "tau": Fraction(25), "adv": Fraction(1)}
        for layer, states in zip(found.layers, runs_of(system, start, 4, 10**6), strict=False):
            assert all(holds(layer, [d.expr for d in found.directions], s) for s in states)


def loop_4d():
    """A stable loop of four variables with a random controller, and a box to begin in."""
    rng = np.random.default_rng(3)
    a = rng.normal(size=(4, 4))
    a = (a * 0.9 / max(abs(np.linalg.eigvals(a)))).round(3)
    b = rng.normal(0, 0.3, (4, 1)).round(3)
    weights = [rng.normal(0, 0.6, shape) for shape in ((6, 4), (1, 6))]
    net = relu_network(weights, [rng.normal(0, 0.1, 6), np.zeros(1)], name="controller")
    system = System("loop")
    x = system.reals("x", 4, -100, 100)
    u = clip(apply_network(net, list(x))[0], -1, 1)
    system.branch("step", {x[i]: sum((x[j] * a[i, j] for j in range(4)), u * b[i, 0]) for i in range(4)})
    system.initial(*(c for v in x for c in (v >= Fraction("0.4"), v <= Fraction("0.6"))))
    return system


def test_a_loop_of_four_variables_is_tight_over_20_steps():
    system = loop_4d()
    found = reach(system, 20, ["x[1] + x[2]", "x[3] - x[4]"])
    assert found.tight
    assert inside(found, sample(system, found, 3000, 20))


def test_what_runs_reach_is_never_wider_than_the_sets():
    """Also what the search for far states meets: slack is then a width, and not negative by chance."""
    system = load_scenario("vcas").system()
    found = reach(system, 12)
    directions = [d.expr for d in found.directions]
    runs, left = sampled(system, directions, 12, 500, 3, 0, Budget())
    far = farthest(system, directions, 12, runs, 3, 0, Budget())
    assert left is None
    assert inside(found, far.transpose(2, 0, 1))
    assert (far[:, :, 0] <= np.nanmin(runs, 0)).all()
    assert (far[:, :, 1] >= np.nanmax(runs, 0)).all()


def counter(most=30):
    system = System("counter")
    n = system.integer("n", 0, most)
    system.branch("one", n=n + 1, when=n < 3)
    system.initial(n == 0)
    return system


def test_integers_and_the_end_of_all_runs():
    found = reach(counter(), 5, ["2*n - 1"])
    assert [found.interval("n", k) for k in range(4)] == [(k, k) for k in range(4)]
    assert found.interval("2*n - 1", 2) == (3, 3)
    assert found.box(4) == {}
    assert [found.status(k) for k in range(6)] == ["exact"] * 4 + ["none"] * 2
    assert found.interval("n", 5) is None
    assert "no run" in str(found)


def test_sets_end_where_a_run_leaves_its_range():
    system = System("drift")
    x = system.real("x", 0, 3)
    system.branch("step", x=x + 1)
    system.initial((x >= 0) & (x <= Fraction(1, 2)))
    found = reach(system, 6)
    assert found.left == 3
    assert len(found) == 3
    assert "leaves the declared range" in str(found)


def test_noise_is_part_of_the_sets_and_no_direction():
    system = System("noisy")
    x = system.real("x", -100, 100)
    w = system.disturbance("w", -1, 1)
    system.branch("step", x=x / 2 + w)
    system.initial(x == 0)
    found = reach(system, 3)
    assert [d.name for d in found.directions] == ["x"]
    for step, reached in enumerate((0, 1, Fraction(3, 2), Fraction(7, 4))):
        low, high = found.interval("x", step)
        assert low <= -reached
        assert reached <= high <= reached * 1.05
    with pytest.raises(UsageError, match="disturbance"):
        reach(system, 3, ["x + w"])


def test_quantities_are_measured_first():
    found = reach(load_scenario("double_integrator").system(value=True), 2)
    plain = reach(load_scenario("double_integrator").system(), 2)
    assert [d.name for d in found.directions] == ["x[1]", "x[2]", "V"]
    for step in range(3):
        for name in ("x[1]", "x[2]"):
            assert found.interval(name, step) == pytest.approx(plain.interval(name, step), rel=0.05)


def test_initial_states_of_a_condition_are_taken_one_by_one_or_refused():
    system = System("many")
    x = [system.integer(f"x[{i}]", 0, 3) for i in range(1, 9)]
    system.branch("turn", {x[0]: x[7], x[7]: x[0]})
    system.initial(*((v == 0) | (v == 2) for v in x))
    found = reach(system, 2)
    assert found.interval("x[1]", 2) == (0, 2)
    assert found.tight


class Wide:
    """A source of another package: it knows little, and stops in the middle."""

    name, help, finest = "wide", "Little.", 0

    def __init__(self, stop):
        self.stop = stop

    def accepts(self, system):
        return None

    def layers(self, system, directions, steps, level, tick):
        for step in range(steps + 1):
            if step == 2:
                raise self.stop
            yield Layer.around(np.full(len(directions), -50.0), np.full(len(directions), 50.0))


def test_another_source_plugs_in_and_is_met_with_the_others(monkeypatch):
    def sources(system):
        return [("wide", Wide(OverflowError("too much"))), *sources_for(system)]

    monkeypatch.setattr(engine, "sources_for", sources)
    found = reach(load_scenario("double_integrator").system(), 3)
    assert found.tight
    assert (found.worked[0].name, found.worked[0].why) == ("wide", "too much")


def test_ctrl_c_leaves_what_is_known(monkeypatch):
    monkeypatch.setattr(engine, "sources_for", lambda system: [("wide", Wide(KeyboardInterrupt()))])
    found = reach(load_scenario("double_integrator").system(), 5)
    assert found.reason == "interrupted"
    assert len(found) == 2
    assert found.status(1) == "wider"
    assert found.interval("x[1]", 1) == (-50, 50)
    assert "Of the steps 2 to 5 nothing is known." in str(found)


def test_a_time_limit_leaves_sound_sets():
    found = reach(load_scenario("vcas").system(), 20, timeout=0.3)
    assert len(found) <= 21
    assert inside(found, sample(load_scenario("vcas").system(), found, 200, 20))
    assert found.reason == ("time" if len(found) < 21 or not found.tight else "")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("h +", "expected a number or a name"),
        ("hh", "did you mean 'h'"),
        ("h > 3", "is a formula"),
        ("h | h", "is a number"),
        ("h * climb", "not linear"),
        ("3", "the same in every state"),
        ("h - h", "the same in every state"),
        ("", "is empty"),
    ],
)
def test_directions_that_are_none_are_refused(text, told):
    with pytest.raises(InputError, match=told):
        reach(load_scenario("vcas").system(), 2, [text])


def test_what_cannot_be_asked_is_refused():
    system = counter()
    with pytest.raises(UsageError, match="number of steps"):
        reach(system, -1)
    with pytest.raises(UsageError, match="list of expressions"):
        reach(system, 1, "n")
    found = reach(system, 1)
    with pytest.raises(UsageError, match="did you mean"):
        found.interval("nn", 0)
    with pytest.raises(UsageError, match="nothing is known of step 7"):
        found.box(7)


@given(st.floats(-1e20, 1e20), st.floats(-1e20, 1e20))
def test_ends_are_written_outward(a, b):
    low, high = sorted((a, b))
    below, above = outward(low, high)
    assert Fraction(below) <= Fraction(low)
    assert Fraction(above) >= Fraction(high)
    assert float(below) == pytest.approx(low, rel=2e-5, abs=1e-289)


def test_every_source_is_listed():
    assert [name for name, _ in sources_for(counter())] == list(SOURCES)
