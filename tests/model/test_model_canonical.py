"""The canonical form of a system: it comes back as it was, says all that matters, and nothing else is let in."""

import copy
import hashlib
import json
import pickle
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies_model import states, systems

from venmas.errors import ModelError
from venmas.logic import TRUE, Not, parse
from venmas.model import System, absolute, apply_network, argmax, load_scenario, relu, switch, where
from venmas.model.canonical.canonical import canonical_text, system_digest, system_from_json, system_to_json
from venmas.model.evaluation.regions import sample
from venmas.model.evaluation.simulate import actions, step_batch, successors
from venmas.model.expressions.expr import Sum, Variable, add
from venmas.model.system.networks import networks_of
from venmas.nn import relu_network

ROOT = Path(__file__).resolve().parents[2]
SCENARIOS = ("blocks", "cruise", "double_integrator", "frozenlake", "pendulum", "vcas")
QUICK = settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))


def rebuilt(system):
    return system_from_json(json.loads(canonical_text(system_to_json(system))), networks_of(system))


def assert_same_behaviour(one, two, state):
    assert actions(one, state) == actions(two, state)
    assert successors(one, state) == successors(two, state)
    assert one.propositions == two.propositions  # formulas are interned: the same objects


def assert_same_floats(one, two, points):
    state = {n: np.array([float(p[n]) for p in points]) for n in one.variables}
    ends = [step_batch(system, state, np.zeros(len(points), int))[0] for system in (one, two)]
    assert all(np.array_equal(ends[0][n], ends[1][n]) and np.isfinite(ends[0][n]).all() for n in state)
    assert one.propositions == two.propositions


def small():
    system = System("small", "all kinds of nodes")
    x = system.real("x", "-7/3", 4, unit="m")
    m, b = system.integer("m", 0, 2, labels={0: "off", 2: "on"}), system.boolean("b")
    net = relu_network([[[1.0, 2.0], [0.5, -1.0]]], [[0.25, 1.0]])
    scores = apply_network(net, (x / 2, m))
    action = system.agent(argmax(scores), "choice", "1", {0: "zero", 1: "one"})
    moved = where((x > 1) & ((m == 2) | (b != 0)), relu(x - 1), switch(m, {0: x / 3, 1: 1, 2: -x / 4}))
    system.branch("go", {x: moved, m: action, b: where(scores[1] >= 0, 1, b)}, when=(x < 3) | (action == 1))
    system.branch("stay")
    system.initial((x >= 0) & (x + 2 * m < 1), m != 1)
    system.proposition("near", (x <= 1) & ((m == 0) | (x - m > -2)))
    system.proposition("always", x == x)
    system.specify("stays", "AX near")
    return system


@pytest.mark.parametrize("name", SCENARIOS)
def test_bundled_scenarios_come_back(name):
    first, again = load_scenario(name).system(), load_scenario(name).system()
    form = system_to_json(first)
    assert canonical_text(form) == canonical_text(system_to_json(again))
    two = rebuilt(first)
    assert canonical_text(system_to_json(two)) == canonical_text(form)
    assert two.variables == first.variables
    assert (two.regions, two.properties) == (first.regions, first.properties)
    rng = np.random.default_rng(1)
    points = [p for region in first.regions for p in sample(first, region, rng, 4)]
    if first.smooth:  # states after the first are no rationals
        assert_same_floats(first, two, points)
        return
    points += [t.state for p in points[:2] for t in successors(first, p)]
    assert len(points) > 2
    for point in points:
        assert_same_behaviour(first, two, point)


@QUICK
@given(systems(), st.lists(states(), min_size=1, max_size=4))
def test_random_systems_come_back(system, points):
    two = rebuilt(system)
    assert canonical_text(system_to_json(two)) == canonical_text(system_to_json(system))
    assert system_digest(pickle.loads(pickle.dumps(system))) == system_digest(system)
    for point in points:
        assert_same_behaviour(system, two, point)


def test_the_form_of_a_small_system():
    system = small()
    form = system_to_json(system)
    x, m = {"x": Fraction(1, 2), "m": Fraction(0), "b": Fraction(1)}, form["variables"][1]
    assert_same_behaviour(system, rebuilt(system), x)
    assert m["labels"] == [[0, "off"], [2, "on"]]
    assert form["variables"][0] == {
        "name": "x", "kind": "real", "lower": "-7/3", "upper": "4", "unit": "m", "labels": []
    }  # fmt: skip
    assert form["nodes"][:6] == [
        ["variable", 0],
        ["sum", [["1/2", 0]], "0"],
        ["variable", 1],
        ["network", next(iter(networks_of(system))), [1, 2]],
        ["output", 3, 0],
        ["output", 3, 1],
    ]
    assert form["agents"] == [{"name": "choice", "value": 6, "unit": "1", "labels": [[0, "zero"], [1, "one"]]}]
    assert {row[0] for row in form["nodes"]} == {
        "constant", "variable", "sum", "network", "output", "maximum", "argmax", "switch", "where",
        "truth", "compare", "all", "any",
    }  # fmt: skip
    assert system_digest(system) == hashlib.sha256(canonical_text(form).encode()).hexdigest()


def test_equal_nodes_are_one_row_however_they_are_shared():
    forms = []
    for shared in (True, False):
        system = System("s")
        x = system.real("x", -1, 1)
        left = relu(x)
        system.branch("b", {x: left - (left if shared else relu(x)) / 2})
        system.initial(x >= 0)
        forms.append(system_to_json(system))
    assert len(forms[0]["nodes"]) == len(forms[1]["nodes"])  # relu(x) once, although two objects


def test_the_documented_example():
    text = (ROOT / "docs" / "system.md").read_text(encoding="utf-8")
    form = json.loads(text.split("```json")[1].split("```")[0])
    system = system_from_json(form, {})
    assert f"`{system_digest(system)}`" in text
    assert system.propositions["near"] is parse("near", system.vocabulary)
    for before, after in ((Fraction(3, 4), Fraction(3, 8)), (Fraction(1, 4), Fraction(1, 4))):
        assert [t.state for t in successors(system, {"x": before})] == [{"x": after}]


# -- changes -----------------------------------------------------------------------------------------------------------


def leaves(value, path=()):
    if isinstance(value, dict | list):
        yield path, value
        for key, part in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(part, (*path, key))
    else:
        yield path, value


def changes(value):
    if isinstance(value, bool):
        return [not value, int(value)]
    if isinstance(value, int):
        return [value + 1, value - 1, -1, 10**6, float(value), str(value), value == 1, None]
    if isinstance(value, str):
        more = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "all": "any", "any": "all", "maximum": "argmax"}
        number = [str(Fraction(value) * 2 + 1), value + "/1"] if value.lstrip("-").replace("/", "").isdigit() else []
        return [value + "0", more.get(value, "constant"), "", 1, [], *number]
    if isinstance(value, list):
        return [value[1:], value[:-1], value[::-1], [*value, *value[:1]], {}, None] if value else [[0], [[]], None]
    return [{k: v for k, v in value.items() if k != "name"}, value | {"extra": 1}, list(value)]


def replaced(form, path, value):
    if not path:
        return value
    new = copy.deepcopy(form)
    at = new
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return new


def judge(form, path, value, networks):
    """True when the change is refused; one that is accepted is another system, which says so."""
    changed = replaced(form, path, value)
    try:
        other = system_from_json(changed, networks)
    except ModelError:
        return True
    text = canonical_text(system_to_json(other))
    assert text == canonical_text(changed) != canonical_text(form), (path, value)
    return False


def test_every_change_is_seen():
    system = small()
    form, networks = system_to_json(system), networks_of(system)
    fates = [
        judge(form, path, new, networks)
        for path, old in leaves(form)
        for new in changes(old)
        if canonical_text(new) != canonical_text(old)
    ]
    assert len(fates) > 1500
    assert 100 < fates.count(False) < len(fates) / 2  # other numbers and names are other systems, the rest is refused


@QUICK
@given(systems(), st.data())
def test_changes_of_random_systems_are_seen(system, data):
    form = system_to_json(system)
    path, old = data.draw(st.sampled_from(list(leaves(form))))
    new = data.draw(st.sampled_from(changes(old)))
    if canonical_text(new) != canonical_text(old):
        judge(form, path, new, networks_of(system))


@pytest.mark.parametrize(
    ("path", "value", "place"),
    [
        (("format",), "venmas-system-2", "format"),
        (("nodes", 1), ["sum", [["1/2", 1]], "0"], r"nodes\[1\]"),
        (("nodes", 1), ["sum", [["1/2", 5]], "0"], r"nodes\[1\]"),
        (("nodes", 1), ["sum", [["2/4", 0]], "0"], r"nodes\[1\]"),
        (("nodes", 1), ["sum", [["1/0", 0]], "0"], r"nodes\[1\]"),
        (("nodes", 1), ["sum", [["9" * 5000, 0]], "0"], r"nodes\[1\]"),
        (("nodes", 1), ["exec", 0], r"nodes\[1\]"),
        (("nodes", 1), [[]], r"nodes\[1\]"),
        (("nodes", 3, 1), "0" * 64, r"nodes\[3\]"),
        (("nodes", 2), ["variable", 0], r"nodes\[2\].*repeats"),
        (("nodes", 6), ["switch", 0, [[10**5000, 0]]], r"nodes\[6\]"),
        (("nodes", 6), ["switch", 0, [[1, 0], [1, 2]]], r"nodes\[6\]"),
        (("nodes", 4, 2), 2, r"nodes\[4\]"),
        (("nodes", 4, 1), 2, r"nodes\[4\]"),
        (("nodes", 6), ["argmax", []], r"nodes\[6\]"),
        (("agents", 0, "value"), 3, r"agents\[0\]"),
        (("branches", 0, "guard"), 0, r"branches\[0\]"),
        (("branches", 0, "updates", 0, 0), "y", "'y'"),
        (("initial", 0, 0), 0, r"initial\[0\]"),
        (("initial", 0, 0), 10**30, r"initial\[0\]"),
        (("propositions", 0, 0), "x", "'x'"),
        (("variables", 0, "kind"), "complex", r"variables\[0\]"),
        (("variables", 2, "upper"), "2", r"variables\[2\]"),
        (("variables", 1, "labels"), [[2, "on"], [0, "off"]], r"variables\[1\]"),
        ((), [], "the top"),
        ((), None, "the top"),
    ],
)
def test_messages_name_the_place(path, value, place):
    system = small()
    with pytest.raises(ModelError, match=place):
        system_from_json(replaced(system_to_json(system), path, value), networks_of(system))


def test_a_network_under_the_digest_of_another_is_refused():
    system, other = small(), relu_network([[[1.0, 2.0], [0.5, -1.0]]], [[0.25, 1.5]])
    with pytest.raises(ModelError, match="sha256"):
        system_from_json(system_to_json(system), dict.fromkeys(networks_of(system), other))


# -- size --------------------------------------------------------------------------------------------------------------


def chain(depth, step):
    system = System("deep")
    x, m = system.real("x", -1, 1), system.integer("m", 0, 3)
    real, whole = x, m
    for _ in range(depth):
        real, whole = step(real), step(whole)
    system.branch("b", {x: real, m: whole})
    system.initial(x >= 0)
    return system


def test_deep_graphs_do_not_recurse():
    system = chain(10_000, lambda e: relu(e) - 1)  # 40 000 nodes, 20 000 deep
    form = system_to_json(system)
    assert len(form["nodes"]) > 40_000
    assert canonical_text(system_to_json(rebuilt(system))) == canonical_text(form)


def test_shared_parts_are_looked_at_once():
    system = chain(300, absolute)  # 2 ** 300 paths
    assert system_digest(rebuilt(system)) == system_digest(system)


def test_deep_conditions_do_not_recurse():
    system = chain(1, relu)
    form = system_to_json(system)
    nodes = form["nodes"]
    for _ in range(5_000):
        nodes += [["all", [len(nodes) - 1, len(nodes) - 1]], ["any", [len(nodes), len(nodes)]]]
    form["propositions"] = [["deep", len(nodes) - 1]]
    assert canonical_text(system_to_json(system_from_json(form, {}))) == canonical_text(form)


def test_too_much_work_is_refused():
    system = System("wide")
    x, m = system.real("x", -1, 1), system.integer("m", 0, 3000)
    selector = m
    for _ in range(2000):
        selector = relu(selector + 1) - 1
    system.branch("b", {x: switch(selector, dict.fromkeys(range(3001), 0))})
    system.initial(x >= 0)
    with pytest.raises(ModelError, match="too many values"):
        system_from_json(system_to_json(system), {})
    for i in range(5000):
        system.specify(f"p{i}", "true")
    with pytest.raises(ModelError, match="at most 4096 properties"):
        system_to_json(system)


def test_what_has_no_form_is_refused():
    long, foreign, other = chain(1, relu), chain(1, relu), chain(1, relu)
    long.branch("c", {long["x"]: Sum(((Fraction(10**5000), long["x"]),), Fraction(0))})
    foreign.branch("c", {foreign["x"]: relu(Variable("x", False))})
    other.propositions["p"] = Not(TRUE)
    for system, match in ((long, "bits"), (foreign, "another system"), (other, "Not")):
        with pytest.raises(ModelError, match=match):
            system_to_json(system)


def test_a_large_grid_is_written_and_read_again(tmp_path):
    """One Boolean for each cell, and one sum over all of them."""
    system = System("cells")
    cells = system.booleans("cell", 5000)
    system.branch("turn", {cells[i]: cells[i - 1] for i in range(5000)})
    system.initial(add(*cells) == 1)
    form = system_to_json(system)
    assert system_to_json(system_from_json(json.loads(json.dumps(form)), {})) == form


def test_too_many_variables():
    system = System("many")
    system.booleans("cell", 16384)
    with pytest.raises(ModelError, match="more than 16384 are not supported"):
        system.boolean("one_more")


def test_labels_that_contradict_each_other_far_apart():
    system = System("labels")
    system.integer("a", 0, 3, labels={1: "GO", 2: "STOP"})
    system.integer("b", 0, 3, labels={1: "GO", 3: "WAIT"})
    with pytest.raises(ModelError, match="label 'WAIT' of 'c' names another value of 'b'"):
        system.integer("c", 0, 3, labels={1: "WAIT"})
