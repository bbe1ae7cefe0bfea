"""Floats against rationals, and both against what a step means (design S1 to S4)."""

import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from venmas.errors import ModelError
from venmas.model import System, absolute, apply_network, argmax, clip, minimum, relu, switch, where
from venmas.model.evaluation.simulate import Batch, Exact, actions, step_batch, successors
from venmas.nn import relu_network
from venmas.testing import conditions, expressions, networks, states, systems

pytestmark = pytest.mark.quick


def as_batch(points):
    return {name: np.array([float(p[name]) for p in points]) for name in points[0]}


@pytest.mark.thorough
@settings(max_examples=80, deadline=None)
@given(st.data(), st.lists(states(), min_size=1, max_size=5))
def test_floats_and_rationals_agree_on_expressions(data, points):
    system = System("s")
    x, y, m = system.real("x", -4, 4), system.real("y", -4, 4), system.integer("m", 0, 2)
    expr = data.draw(expressions((x, y), m, 2, (data.draw(networks()),)))
    condition = data.draw(conditions((expr, x), 2))
    batch = Batch(as_batch(points))
    values, truths = batch.value(expr), batch.truth(condition)
    for row, point in enumerate(points):
        exact = Exact(point)
        assert (values[row], truths[row]) == (exact.value(expr), exact.truth(condition))


@pytest.mark.thorough
@settings(max_examples=80, deadline=None)
@given(systems(), st.lists(states(), min_size=1, max_size=4), st.data())
def test_batched_steps_are_the_exact_steps(system, points, data):
    chosen = np.array([data.draw(st.integers(0, len(system.branches) - 1)) for _ in points])
    new, enabled = step_batch(system, as_batch(points), chosen)
    for row, point in enumerate(points):
        found = {t.index: t for t in successors(system, point)}
        assert enabled[row] == (chosen[row] in found)
        expected = found[chosen[row]].state if enabled[row] else point
        assert {name: new[name][row] for name in new} == expected


@settings(max_examples=40, deadline=None)
@given(systems(), states())
def test_states_keep_to_their_types(system, point):
    for transition in successors(system, point):
        assert system.branches[transition.index].name == transition.branch
        assert list(transition.state) == list(system.variables)
        assert transition.state["m"] in (0, 1, 2)
    assert actions(system, point)["choice"] in (0, 1, 2)


@settings(max_examples=20, deadline=None)
@given(systems(), states())
def test_copies_behave_the_same(system, point):
    known = [system.domains.values(agent.expr) for agent in system.agents]
    copy = pickle.loads(pickle.dumps(system))
    assert copy.domains._values == {}  # what is known by id is not carried over
    assert [copy.domains.values(agent.expr) for agent in copy.agents] == known
    assert successors(copy, point) == successors(system, point)


def one_variable(update, low=-10, high=10, when=True):
    system = System("one")
    x = system.real("x", low, high)
    system.branch("go", {x: update(x)}, when=when(x) if callable(when) else when)
    system.initial(x == 0)
    return system


FUNCTIONS = [
    (lambda x: relu(x - 1), {-2: 0, 1: 0, 3: 2}),
    (lambda x: absolute(x) - 1, {-2: 1, 0: -1, 3: 2}),
    (lambda x: clip(2 * x, -1, 3), {-4: -1, 1: 2, 4: 3}),
    (lambda x: minimum(x, 2, -x), {-4: -4, 3: -3, 1: -1}),
    (lambda x: argmax([x, 0, -x]), {2: 0, 0: 0, -1: 2}),
    (lambda x: argmax([0, x, x]), {2: 1, 0: 0, -1: 0}),
    (lambda x: where((x > 0) & ~(x == 1), 5, -5), {2: 5, 1: -5, 0: -5}),
    (lambda x: where((x < 0) | (x != 2), 1, 0), {2: 0, -1: 1, 3: 1}),
    (lambda x: switch(argmax([x, 1]), {0: x, 1: 7}), {3: 3, 1: 1, 0: 7}),
    (lambda x: (x + x) / 4 - x * 0.1, {10: 4, -10: -4}),
]


@pytest.mark.parametrize(("function", "table"), FUNCTIONS)
def test_functions_by_a_table(function, table):
    system = one_variable(function)
    for x, expected in table.items():
        assert successors(system, {"x": Fraction(x)})[0].state["x"] == expected
        assert step_batch(system, {"x": np.array([float(x)])}, np.array([0]))[0]["x"][0] == pytest.approx(expected)


def test_exactness_beyond_floats():
    system = one_variable(lambda x: where(x * 3 == 1, 1, 0))
    assert successors(system, {"x": Fraction(1, 3)})[0].state["x"] == 1
    assert successors(system, {"x": Fraction(1 / 3)})[0].state["x"] == 0


def test_leaving_the_box_is_named():
    system = one_variable(lambda x: 3 * x)
    with pytest.raises(ModelError, match=r"branch 'go' .* leaves the declared box: x = 12 is outside .*\[-10, 10\]"):
        successors(system, {"x": Fraction(4)})


def test_a_fractional_integer_is_named():
    system = System("s")
    n, x = system.integer("n", 0, 5), system.real("x", 0, 5)
    system.branch("go", {n: where(x > 1, 2 * (n * 0.25), 0)})
    with pytest.raises(ModelError, match=r"n = 0\.5 is no integer"):
        successors(system, {"n": Fraction(1), "x": Fraction(3)})


def test_guards_and_deadlocks():
    system = one_variable(lambda x: x + 1, when=lambda x: x < 1)
    assert [t.state["x"] for t in successors(system, {"x": Fraction(0)})] == [1]
    assert successors(system, {"x": Fraction(1)}) == []
    assert not step_batch(system, {"x": np.array([1.0])}, np.array([0]))[1][0]


def test_a_branch_whose_guard_fails_may_leave_the_box():
    system = one_variable(lambda x: 100 + x, when=lambda x: x > 5)
    assert successors(system, {"x": Fraction(0)}) == []


class Counting:
    """A network that counts its evaluations."""

    input_size, output_size, name = 1, 2, "counting"

    def __init__(self):
        self.calls = 0
        self.inner = relu_network([np.array([[1.0], [-1.0]])], [np.zeros(2)])

    def evaluate(self, x):
        self.calls += 1
        return self.inner.evaluate(x)

    def evaluate_integers(self, x):
        self.calls += 1
        return self.inner.evaluate_integers(x)


def test_networks_run_once_and_only_when_needed():
    system = System("s")
    x = system.real("x", -1, 1)
    used, unused = Counting(), Counting()
    outputs = apply_network(used, [x])
    other = apply_network(unused, [x])[0]
    choice = where(x > 0, outputs[0] + outputs[1], switch(argmax(outputs), {0: other, 1: x}))
    exact = Exact({"x": Fraction(1, 2)})
    assert (exact.value(choice), exact.value(outputs[0])) == (0, Fraction(1, 2))
    assert (used.calls, unused.calls) == (1, 0)
    batch = Batch({"x": np.array([-0.5, -0.25])})
    assert list(batch.value(choice + 1) - batch.value(choice)) == [1, 1]
    assert (used.calls, unused.calls) == (2, 0)


def test_float32_networks_round():
    net = relu_network([np.array([[0.1]])], [np.zeros(1)])
    system = System("s")
    x = system.real("x", 0, 1)
    out = apply_network(net, [x])[0]
    state = {"x": np.array([0.3])}
    exact, rounded = (Batch(state, precision).value(out)[0] for precision in ("float64", "float32"))
    assert exact == pytest.approx(0.03, abs=1e-17)
    assert 0 < abs(rounded - exact) < 1e-8


def test_a_label_names_one_value():
    system = System("s")
    system.integer("a", 0, 2, labels={1: "on"})
    system.integer("b", 0, 2, labels={1: "on", 2: "off"})
    with pytest.raises(ModelError, match="label 'off' of 'c' names another value of 'b'"):
        system.integer("c", 0, 2, labels={1: "off"})
