"""What each part of a JANI model, of a property file and of an interface becomes."""

from fractions import Fraction

import pytest
from jani_models import automaton, bounded, counter, edge, model, op, put

from venmas import load_jani, verify
from venmas.errors import InputError
from venmas.formats.jani import load
from venmas.formats.jani.build import build
from venmas.model.evaluation.regions import is_initial
from venmas.model.evaluation.simulate import Step, successors
from venmas.procedures.explicit.graph.graph import StateGraph


def system_of(tmp_path, data, **options):
    return load_jani(put(tmp_path, data), **options).system()


def initial(system):
    graph = StateGraph(system, lambda: None, transitions=True, limit=10**5)
    return [graph.state(i) for i in range(graph.initial)]


def after(system, **state):
    return [
        {n: int(v) for n, v in t.state.items()} for t in successors(system, {n: Fraction(v) for n, v in state.items()})
    ]


def prop(name="p", **parts):
    return {"name": name, "expression": {"op": "PA", **parts}}


def unsafe(condition, **more):
    return prop(reach={"op": "state-condition", "exp": condition}, **more)


def nnet(rows, biases):
    """The text of a .nnet file of one linear layer behind a hidden one that copies non-negative inputs."""
    count, outs = len(rows[0]), len(rows)
    lines = [f"2,{count},{outs},{max(count, outs)},", f"{count},{count},{outs},", "0,"]
    lines += ["0," * count, "9," * count, "0," * (count + 1), "1," * (count + 1)]
    lines += [",".join("1" if i == j else "0" for j in range(count)) + "," for i in range(count)] + ["0,"] * count
    lines += [",".join(map(str, row)) + "," for row in rows] + [f"{b}," for b in biases]
    return "\n".join(lines) + "\n"


def labelled(tmp_path, guards=(True, True), **more):
    """Two labels that set y to 1 and to 2, a network of x that prefers the second where x > 2."""
    edges = [edge(("y", i + 1), guard=g, action=f"go-{i}") for i, g in enumerate(guards)]
    data = model(
        [bounded("x", 0, 5), bounded("y", 0, 2)],
        [automaton("a", edges)],
        ("go-0", "go-1"),
        [(["go-0"], "go-0"), (["go-1"], "go-1")],
    )
    put(tmp_path, nnet([["0", "0"], ["1", "0"]], ["2", "0"]), "n.nnet")
    interface = {
        "file": "n.nnet",
        "input": [{"name": "x", "automaton": None}, {"name": "y", "automaton": None}],
        "output": ["go-0", "go-1"],
        "elements": [2],
        **more,
    }
    return put(tmp_path, data), put(tmp_path, interface, "i.jani2nnet")


def test_a_counter(tmp_path):
    scenario = load_jani(put(tmp_path, counter(properties=[unsafe(op("≥", "x", 4))])))
    system = scenario.system()
    assert initial(system) == [{"x": 0}]
    assert after(system, x=2) == [{"x": 3}] and after(system, x=3) == []
    assert scenario.formula == "p" and system.properties == {"p": "AG !unsafe_p"}
    assert verify(system, "AG^5 !unsafe_p").verdict.value == "satisfied"
    assert verify(system, "AG^5 !(x >= 3)").verdict.value == "violated"


def test_names_are_mangled_apart(tmp_path):
    names = ["hand-empty", "hand_empty", "A", "1st", "größe"]
    system = system_of(tmp_path, model([bounded(n, 0, 1) for n in names], [automaton("a", [edge((names[0], 1))])]))
    assert list(system.variables) == ["hand_empty_2", "hand_empty", "A_", "_1st", "gr__e"]
    assert after(system, **dict.fromkeys(system.variables, 0))[0]["hand_empty_2"] == 1


def test_constants_are_expressions_or_given(tmp_path):
    constants = [
        {"name": "n", "type": "int"},
        {"name": "m", "type": "int", "value": op("+", "n", 1)},
        {"name": "third", "type": "real", "value": op("/", 1, 3)},
        {"name": "on", "type": "bool", "value": op("=", "m", 4)},
    ]
    edges = [edge(("x", {"op": "floor", "exp": op("*", "third", 7)}), guard="on")]
    data = model([bounded("x", 0, "m")], [automaton("a", edges)], constants=constants)
    scenario = load_jani(put(tmp_path, data))
    with pytest.raises(InputError, match="needs a value of 'n'"):
        scenario.system()
    assert scenario.system(n="3").variables["x"].upper == 4
    assert after(scenario.system(n=3), x=0) == [{"x": 2}] and after(scenario.system(n=4), x=0) == []
    with pytest.raises(InputError, match="'m' has a value in the model"):
        scenario.system(n=3, m=4)


def test_decimals_are_exact(tmp_path):
    data = model([bounded("r", 0, 1, 0.1, base="real")], [automaton("a", [edge(("r", op("*", "r", 0.3)))])])
    (state,) = Step(system_of(tmp_path, data), {"r": Fraction(1, 10)}).successors()
    assert state.state == {"r": Fraction(3, 100)}


def test_assignments_are_simultaneous_and_indices_order_groups(tmp_path):
    swap = edge(("x", "y"), ("y", "x"))
    system = system_of(tmp_path, model([bounded("x", 0, 9), bounded("y", 0, 9)], [automaton("a", [swap])]))
    assert after(system, x=2, y=5) == [{"x": 5, "y": 2}]
    ordered = edge(("y", op("+", "x", 1), 1), ("x", op("+", "x", 1)), ("x", op("+", "y", "x"), 2))
    system = system_of(tmp_path, model([bounded("x", 0, 9), bounded("y", 0, 9)], [automaton("a", [ordered])]))
    assert after(system, x=1, y=0) == [{"x": 5, "y": 3}]


def test_transient_variables_carry_values_within_a_step(tmp_path):
    variables = [bounded("x", 0, 9), bounded("t", 0, 9, 1, transient=True)]
    step = edge(("t", op("+", "t", "x"), 0), ("x", "t", 1))
    system = system_of(tmp_path, model(variables, [automaton("a", [step])]))
    assert list(system.variables) == ["x"]
    assert after(system, x=3) == [{"x": 4}]


def test_booleans_are_assigned_compared_and_negated(tmp_path):
    flag = {"name": "b", "type": "bool", "initial-value": True}
    steps = [
        edge(("b", {"op": "¬", "exp": "b"}), ("c", op("=", "b", "c")), guard=op("≠", "b", "c")),
        edge(
            ("c", {"op": "ite", "if": "b", "then": op("<", "x", 2), "else": "c"}), guard=op("⇒", "b", op("=", "x", 1))
        ),
    ]
    variables = [flag, {"name": "c", "type": "bool", "initial-value": False}, bounded("x", 0, 3)]
    system = system_of(tmp_path, model(variables, [automaton("a", steps)]))
    for b in (0, 1):
        for c in (0, 1):
            for x in range(4):
                expected = [{"b": 1 - b, "c": int(b == c), "x": x}] if b != c else []
                expected += [{"b": b, "c": int(x < 2) if b else c, "x": x}] if not b or x == 1 else []
                assert after(system, b=b, c=c, x=x) == expected


def test_numbers_of_expressions(tmp_path):
    inner = op("max", op("min", "x", 3), {"op": "abs", "exp": op("-", "x", op("+", 2, 1))})
    value = {"op": "ite", "if": op("≥", op("*", 2, "x"), 9), "then": 0, "else": inner}
    system = system_of(tmp_path, model([bounded("x", 0, 9)], [automaton("a", [edge(("x", value))])]))
    for x in range(10):
        assert after(system, x=x) == [{"x": 0 if 2 * x >= 9 else max(min(x, 3), abs(x - 3))}]


def test_outcomes_of_probability_zero_do_not_exist(tmp_path):
    both = edge(("x", 1), probability={"exp": op("-", 1, "p")})
    both["destinations"].append(
        {"location": "l", "assignments": [{"ref": "x", "value": 2}], "probability": {"exp": "p"}}
    )
    data = model([bounded("x", 0, 2)], [automaton("a", [both])], type="mdp", constants=[{"name": "p", "type": "real"}])
    scenario = load_jani(put(tmp_path, data))
    assert [s["x"] for s in after(scenario.system(p="0.25"), x=0)] == [1, 2]
    assert [s["x"] for s in after(scenario.system(p=0), x=0)] == [1]
    assert [s["x"] for s in after(scenario.system(p=1), x=0)] == [2]
    assert any("probabilities are forgotten" in note for note in scenario.notes)


def test_a_probability_of_the_state_is_possible_with_a_note(tmp_path):
    step = edge(("x", 1), probability={"exp": op("/", "x", 2)})
    scenario = load_jani(put(tmp_path, model([bounded("x", 0, 2)], [automaton("a", [step])], type="mdp")))
    assert after(scenario.system(), x=0) == [{"x": 1}]
    assert any("depends on the state" in note for note in scenario.notes)


def test_automata_synchronise_and_keep_locations(tmp_path):
    first = automaton("a", [edge(("x", op("+", "x", 1)), action="s", to="m"), edge(location="m", to="m")], ("l", "m"))
    second = automaton(
        "b",
        [edge(("y", "x"), action="s"), edge(("y", "own"), action="r"), edge(("own", 2), action="never")],
        variables=[bounded("own", 0, 2, 1)],
    )
    third = automaton("c", [edge(("z", 1), action="s")])
    data = model(
        [bounded(n, 0, 3) for n in "xyz"],
        [first, second, third],
        ("s", "r", "never", "shown"),
        [(["s", "s", None], "shown"), ([None, "r", "s"], None)],
    )
    scenario = load_jani(put(tmp_path, data))
    system = scenario.system()
    assert list(system.variables) == ["x", "y", "z", "b_own", "a_location"]
    assert dict(system.variables["a_location"].labels) == {0: "l", 1: "m"}
    assert [b.name for b in system.branches] == ["a#1", "shown#0+0+-", "silent#-+1+0"]
    start = {"x": 1, "y": 0, "z": 0, "b_own": 1, "a_location": 0}
    assert after(system, **start) == [start | {"x": 2, "y": 1, "a_location": 1}, start | {"y": 1, "z": 1}]
    assert after(system, **start | {"a_location": 1})[0] == start | {"a_location": 1}
    assert any("'never' take part in no synchronisation" in note for note in scenario.notes)


def test_start_conditions_locations_and_lists_of_states(tmp_path):
    places = automaton("a", [edge(location="m", to="l")], ("l", "m"))
    at = [{"automaton": "a", "location": "m"}]
    condition = {"op": "state-condition", "exp": op("∨", op("=", "x", 1), op("≥", "x", 4)), "locations": at}
    data = model([bounded("x", 0, 5)], [places], properties=[unsafe(op("<", "x", 0), start=condition)])
    found = {(int(s["x"]), int(s["a_location"])) for s in initial(system_of(tmp_path, data))}
    assert found == {(1, 1), (4, 1), (5, 1)}
    more = initial(system_of(tmp_path, data, with_initial=True))
    assert {(int(s["x"]), int(s["a_location"])) for s in more} == {(1, 1), (4, 1), (5, 1), (0, 0)}
    states = {
        "op": "states-values",
        "values": [{"variables": [{"var": "x", "value": 3}]}, {"variables": [], "locations": at}],
    }
    data["properties"] = [unsafe(op("<", "x", 0), start=states)]
    found = {(int(s["x"]), int(s["a_location"])) for s in initial(system_of(tmp_path, data))}
    assert found == {(3, 0), (0, 1)}


def test_a_let_and_comments_wrap_conditions(tmp_path):
    body = {"op": "let", "expression": {"exp": op("=", "x", 2), "comment": "two"}}
    start = {"op": "let", "variables": [], "expression": {"op": "state-condition", "exp": body}}
    data = counter(properties=[unsafe(body, start=start)])
    assert initial(system_of(tmp_path, data)) == [{"x": 2}]


def test_without_an_initial_value_any_value_is_initial(tmp_path):
    free = bounded("y", 0, 2)
    del free["initial-value"]
    restricted = counter(**{"restrict-initial": {"exp": op("≠", "y", 1)}})
    restricted["variables"].append(free)
    assert [(int(s["x"]), int(s["y"])) for s in initial(system_of(tmp_path, restricted))] == [(0, 0), (0, 2)]


def test_files_that_a_property_names(tmp_path):
    put(tmp_path, {"op": "state-condition", "exp": op("≥", "x", 2)}, "sub/unsafe.jani")
    put(tmp_path, [op("≤", 1, "x"), op("=", "x", 3)], "sub/preds.jani")
    parts = {"reach": {"file": "sub/unsafe.jani"}, "predicates": {"file": "sub/preds.jani"}}
    named = put(tmp_path, {"properties": [prop(**parts)]}, "p.jani")
    scenario = load_jani(put(tmp_path, counter()), named)
    assert str(scenario.system().propositions["unsafe_p"]) == "x >= 2"
    assert [str(p) for p in scenario.predicates()] == ["x >= 1", "x == 3"]
    assert [str(p) for p in scenario.predicates(put(tmp_path, [op("<", "x", 2)], "q.jani"))] == ["x < 2"]
    for outside in ("../x.jani", str(tmp_path / "sub/unsafe.jani"), "/etc/passwd"):
        named = put(tmp_path / "inner", {"properties": [prop(reach={"file": outside})]}, "p.jani")
        with pytest.raises(InputError, match="is not in the folder of the file that names it"):
            load_jani(tmp_path / "m.jani", named).system()
    (tmp_path / "link.jani").symlink_to("/etc/hostname")
    named = put(tmp_path, {"properties": [prop(reach={"file": "link.jani"})]}, "p.jani")
    with pytest.raises(InputError, match="is not in the folder"):
        load_jani(tmp_path / "m.jani", named).system()


def test_several_properties_are_chosen_by_name_or_number(tmp_path):
    several = [
        unsafe(op("≥", "x", 4)),
        {**unsafe(op("≥", "x", 2)), "name": "q"},
        {"name": "f", "expression": {"op": "filter"}},
    ]
    path = put(tmp_path, counter(properties=several))
    with pytest.raises(InputError, match="1: 'p', 2: 'q', 3: 'f'"):
        load_jani(path).system()
    for name in ("q", 2, "2"):
        assert load_jani(path, property_name=name).formula == "q"
    with pytest.raises(InputError, match="'filter' are not read, only PA"):
        load_jani(path, property_name="f")
    with pytest.raises(InputError, match="no single property 'z'"):
        load_jani(path, property_name="z")


def test_a_policy_chooses_labels_and_the_lowest_on_a_tie(tmp_path):
    path, interface = labelled(tmp_path)
    system = load_jani(path, policy=interface).system()
    assert dict(system.agents[0].labels) == {0: "go-0", 1: "go-1"}
    assert [after(system, x=x, y=0)[0]["y"] for x in range(6)] == [1, 1, 1, 2, 2, 2]
    assert len(after(load_jani(path, policy="none").system(), x=0, y=0)) == 2


def test_an_inapplicable_choice_is_a_deadlock_unless_it_is_filtered(tmp_path):
    path, interface = labelled(tmp_path, (op("≠", "x", 1), op("<", "x", 4)))
    system = load_jani(path, policy=interface).system()
    assert [len(after(system, x=x, y=0)) for x in range(6)] == [1, 0, 1, 1, 0, 0]
    filtered = load_jani(path, policy=interface, masking=True).system()
    assert [[s["y"] for s in after(filtered, x=x, y=0)] for x in range(6)] == [[1], [2], [1], [2], [1], [1]]
    _, interface = labelled(tmp_path, (op("<", "x", 1), op("<", "x", 1)), filter=True)
    nothing = load_jani(path, policy=interface).system()
    chosen = [int(Step(nothing, {"x": Fraction(x), "y": Fraction(0)}).actions()["action"]) for x in (1, 5)]
    assert chosen == [0, 1] and after(nothing, x=5, y=0) == []


def test_a_bare_network_takes_names_of_inputs_and_outputs(tmp_path):
    path, interface = labelled(tmp_path)
    bare = load_jani(path, policy=tmp_path / "n.nnet", inputs=["x", "y"], outputs=["go-0", "go-1"]).system()
    named = load_jani(path, policy=interface).system()
    for x in range(6):
        assert after(bare, x=x, y=0) == after(named, x=x, y=0)
    with pytest.raises(InputError, match=r"jani.inputs=A,B and --set jani.outputs"):
        load_jani(path, policy=tmp_path / "n.nnet")


def test_labels_that_the_policy_does_not_choose_are_free(tmp_path):
    path, interface = labelled(tmp_path, output=["go-0"], input=[{"name": "x", "automaton": None}], elements=[1])
    put(tmp_path, nnet([["1"]], ["0"]), "n.nnet")
    scenario = load_jani(path, policy=interface)
    assert len(after(scenario.system(), x=0, y=0)) == 2
    assert any("does not choose go-1" in note for note in scenario.notes)


def test_locations_are_inputs_by_their_index(tmp_path):
    data = model(
        [bounded("y", 0, 2)],
        [automaton("a", [edge(("y", 1), location="m", to="m", action="g")], ("l", "m"))],
        ("g",),
        [(["g"], "g")],
    )
    interface = {
        "file": "n.nnet",
        "input": [{"name": "a", "index": 0}, {"name": "y", "automaton": None}],
        "output": ["g"],
    }
    put(tmp_path, nnet([["1", "1"]], ["0"]), "n.nnet")
    system = load_jani(put(tmp_path, data), policy=put(tmp_path, interface, "i.jani2nnet")).system()
    assert len(after(system, y=0, a_location=1)) == 1


def test_headers_of_networks_are_ignored_with_a_note(tmp_path):
    path, interface = labelled(tmp_path)
    text = (tmp_path / "n.nnet").read_text().splitlines()
    text[5] = "3,3,0,"
    (tmp_path / "n.nnet").write_text("\n".join(text) + "\n")
    scenario = load_jani(path, policy=interface)
    assert [after(scenario.system(), x=x, y=0)[0]["y"] for x in range(6)] == [1, 1, 1, 2, 2, 2]
    assert any("header of n.nnet are ignored" in note for note in scenario.notes)


def test_goals_may_be_terminal(tmp_path):
    goal = {"op": "objective", "goal": {"op": "state-condition", "exp": op("=", "x", 1)}, "accumulate": ["steps"]}
    path = put(tmp_path, counter(properties=[unsafe(op("≥", "x", 2), objective=goal)]))
    assert after(load_jani(path).system(), x=1) == [{"x": 2}]
    ending = load_jani(path, goal_terminal=True).system()
    assert after(ending, x=1) == [] and after(ending, x=0) == [{"x": 1}]
    assert "goal_p" in ending.propositions
    with pytest.raises(InputError, match="no goal that could be terminal"):
        load_jani(put(tmp_path, counter()), goal_terminal=True).system()


def test_leaving_the_range_is_an_error_or_no_step(tmp_path):
    data = model([bounded("x", 0, 2)], [automaton("a", [edge(("x", op("+", "x", 1)))])])
    with pytest.raises(InputError, match=r"leaves|outside"):
        verify(system_of(tmp_path, data), "AG^5 x <= 2")
    blocking = system_of(tmp_path, data, leave_range="block")
    assert after(blocking, x=1) == [{"x": 2}] and after(blocking, x=2) == []


def test_a_deep_chain_is_flat(tmp_path):
    guard = op("≤", 0, "x")
    for i in range(700):
        guard = op("∧" if i % 350 else "∨", guard, op("≤", "x", 5)) if i % 2 else op("∧", op("≤", 0, "x"), guard)
    assert after(system_of(tmp_path, model([bounded("x", 0, 9)], [automaton("a", [edge(("x", 1), guard=guard)])])), x=2)


def test_one_region_or_many_states_are_the_same_set(tmp_path):
    """A list of 1,200 states is too long for regions: it is kept as a condition."""
    values = [{"variables": [{"var": "x", "value": i}, {"var": "y", "value": (7 * i) % 31}]} for i in range(1200)]
    variables = [bounded("x", 0, 1500), bounded("y", 0, 30)]
    step = edge(("y", op("-", "y", 1)), guard=op("≥", "y", 1))
    start = {"op": "states-values", "values": values}
    data = model(variables, [automaton("a", [step])], properties=[unsafe(op("≥", "y", 31), start=start)])
    system = system_of(tmp_path, data)
    assert {(int(s["x"]), int(s["y"])) for s in initial(system)} == {(i, (7 * i) % 31) for i in range(1200)}
    assert is_initial(system, {"x": Fraction(3), "y": Fraction(21)})
    assert not is_initial(system, {"x": Fraction(3), "y": Fraction(20)})
    assert verify(system, "AG^2 y <= 30").verdict.value == "satisfied"
    report = verify(system, "AG^2 !(x == 3 & y == 20)")
    assert report.verdict.value == "violated" and report.witness.initial["y"] == 21


def test_interfaces_check_the_sizes_of_networks(tmp_path):
    path, interface = labelled(tmp_path, elements=[7])
    with pytest.raises(InputError, match=r"hidden layers of \[2\] neurons, the interface says \[7\]"):
        load_jani(path, policy=interface).system()
    path, interface = labelled(tmp_path, output=["go-0"])
    with pytest.raises(InputError, match="has 2 inputs and 2 outputs"):
        load_jani(path, policy=interface).system()
    path, interface = labelled(tmp_path, output=["go-0", "no"])
    with pytest.raises(InputError, match="the model has no action 'no'"):
        load_jani(path, policy=interface).system()


def test_pickles_are_never_loaded(tmp_path):
    path, _ = labelled(tmp_path)
    for name in ("n.pt", "n.pth", "n.pkl"):
        put(tmp_path, "x", name)
        with pytest.raises(InputError, match="is a pickle, which is code"):
            load_jani(path, policy=tmp_path / name, inputs=["x"], outputs=["go-0"])


def test_predicates_are_those_of_the_model_that_was_built_last(tmp_path, monkeypatch):
    """With the same constants it is not built again, with others it is."""
    data = counter(properties=[unsafe(op("≥", "x", 3), predicates=[op("≥", "x", "k")])])
    data["constants"] = [{"name": "k", "type": "int"}]
    scenario, built = load_jani(put(tmp_path, data)), []
    monkeypatch.setattr(load, "build", lambda *given: built.append(given[1]["k"]) or build(*given))
    scenario.system(k=1)
    for k in (1, "1", 2, 2):
        assert [str(p) for p in scenario.predicates(k=k)] == [f"x >= {k}"]
    assert built == [1, 2]
