"""What a JANI model says beyond the states: values that none keeps, labels of one automaton, sums of probabilities."""

import pytest
from jani_models import automaton, bounded, edge, model, op, put

from venmas import load_jani, verify
from venmas.errors import InputError

T = bounded("t", 0, 5, transient=True)


def passing(value, guard=True, low=0, high=9, **more):
    data = model([bounded("x", low, high), T], [automaton("a", [edge(("t", value), ("x", 1, 1), guard=guard, **more)])])
    return data


def twice(first, guard=True):
    """x gets a value, and then 0."""
    return model([bounded("x", 0, 5)], [automaton("a", [edge(("x", first, 0), ("x", 0, 1), guard=guard)])])


@pytest.mark.parametrize(
    "data",
    [
        passing(6),
        passing(-1),
        passing("x"),
        passing("x", op("<", "x", 7)),
        passing(op("*", 2, "x"), op("≤", "x", 3)),
        twice(7),
        twice(op("+", "x", 1)),
    ],
)
def test_a_value_out_of_range_that_no_state_keeps_is_refused(tmp_path, data):
    with pytest.raises(InputError, match=r"assignments\[0\].value: the value of [tx] may leave its range 0 to 5"):
        load_jani(put(tmp_path, data)).system()


@pytest.mark.parametrize(
    "data",
    [
        passing(5),
        passing("x", op("≤", "x", 5)),
        passing("x", op("∧", op("<", "x", 6), op(">", "x", 1))),
        twice(5),
        twice(op("+", "x", 1), op("<", "x", 5)),
    ],
)
def test_a_value_within_range_is_taken(tmp_path, data):
    load_jani(put(tmp_path, data)).system().validate()


@pytest.mark.parametrize(("value", "reached"), [(op("+", "x", 5), True), (op("+", "x", 6), False)])
def test_with_block_such_a_step_is_none(tmp_path, value, reached):
    system = load_jani(put(tmp_path, passing(value)), leave_range="block").system()
    assert verify(system, "EX (x == 1)").satisfied is reached


def one(syncs=None, **more):
    up = edge(("x", op("+", "x", 1)), guard=op("<", "x", 3), action="up")
    return model([bounded("x", 0, 5)], [automaton("a", [up, edge(("x", 5), action="jump")])], ("up", "jump"), syncs)


def test_labelled_edges_of_one_automaton_without_syncs_are_its_edges(tmp_path):
    """As Storm reads it: the composition of one automaton is the automaton."""
    scenario = load_jani(put(tmp_path, one()))
    system = scenario.system()
    assert [branch.name for branch in system.branches] == ["up#0", "jump#1"]
    assert verify(system, "EF^3 (x == 3)").satisfied
    assert verify(system, "AG^3 (x <= 3)").violated
    assert not any("never happen" in note for note in scenario.notes)


def test_where_syncs_are_given_they_are_all(tmp_path):
    scenario = load_jani(put(tmp_path, one([(("up",), "up")])))
    assert verify(scenario.system(), "AG^4 (x <= 3)").satisfied
    assert any("'jump' take part in no synchronisation: they never happen" in note for note in scenario.notes)


def chances(*values, kind="mdp", high=2):
    step = edge(("x", 1))
    step["destinations"] = [
        {
            "location": "l",
            "assignments": [{"ref": "x", "value": i}],
            **({} if v is None else {"probability": {"exp": v}}),
        }
        for i, v in enumerate(values)
    ]
    return model([bounded("x", 0, high)], [automaton("a", [step])], type=kind)


@pytest.mark.parametrize(
    "values",
    [(0.5, 0.4), (0.5,), (0.5, 0.6), (None, None), (0.5, None), (0,), (op("/", "x", 8), op("/", "x", 8))],
)
def test_probabilities_that_do_not_add_up_to_1_are_refused(tmp_path, values):
    with pytest.raises(InputError, match=r"edges\[0\].destinations: the probabilities of an edge add up to 1"):
        load_jani(put(tmp_path, chances(*values))).system()


@pytest.mark.parametrize(
    "values",
    [
        (0.1, 0.9),
        (0.1, 0.2, 0.7),
        (0.333333333, 0.333333333, 0.333333333),
        (None,),
        (None, 0),
        (1, 0),
        (op("/", "x", 2), op("-", 1, op("/", "x", 2))),
    ],
)
def test_probabilities_that_add_up_to_1_are_taken(tmp_path, values):
    load_jani(put(tmp_path, chances(*values))).system().validate()
