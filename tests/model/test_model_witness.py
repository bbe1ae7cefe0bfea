"""Witnesses against the finite-model oracle of the logic, and replay against forged ones (design S8)."""

import json
import pickle
import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from venmas.errors import ModelError, UsageError
from venmas.logic import FiniteModel, evaluate, nnf, parse
from venmas.model import System, Witness, argmax, explain, replay, satisfies, switch, where
from venmas.model.evaluation.regions import sample
from venmas.model.evaluation.simulate import successors
from venmas.model.witness.build import UndecidedError
from venmas.model.witness.tree import Value, number_json, read_number
from venmas.testing import atoms, formulas, systems

pytestmark = pytest.mark.quick

small_formulas = formulas(atoms(("x", "y", "m"), st.integers(-2, 2).map(Fraction)), longest=2, size=4)


def unrolled(system, root, depth):
    """The states that `depth` steps from the root can reach, as a finite model; the root is state 0."""
    found, numbers, successor_lists, level = [root], {tuple(root.values()): 0}, {}, [0]
    for _ in range(depth):
        following = []
        for state in level:
            if state not in successor_lists:
                targets = []
                for transition in successors(system, found[state]):
                    key = tuple(transition.state.values())
                    if key not in numbers:
                        numbers[key] = len(found)
                        found.append(transition.state)
                    targets.append(numbers[key])
                successor_lists[state] = tuple(targets)
                following += targets
        level = following
    return FiniteModel(len(found), tuple(successor_lists.get(i, ()) for i in range(len(found))), tuple(found))


@pytest.mark.thorough
@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(systems(depth=1), small_formulas, st.integers(0, 2**32), st.data())
def test_explain_agrees_with_the_oracle_and_replays(system, formula, seed, data):
    assume(formula.depth <= 4)
    region = system.regions[0]
    points = sample(system, region, np.random.default_rng(seed), 1)
    assume(points)
    holds = 0 in evaluate(formula, unrolled(system, points[0], formula.depth))
    hints = {path: data.draw(st.integers(0, 2)) for path in ((), (0,), (0, 0))}
    for negate in (False, True):
        core = nnf(formula, negate=negate)
        witness = explain(system, core, points[0], hints)
        assert (witness is not None) == (holds is not negate) == satisfies(system, core, points[0])
        if witness is not None:
            result = replay(system, core, witness)
            assert result.confirmed, result.reason
            assert result.margin is None or result.margin >= 0  # the replay may show an EX by another successor
            assert witness.margin is None or witness.margin >= 0
            assert result.floats["float64"].difference < 1e-9
            assert Witness.from_json(json.loads(json.dumps(witness.to_json()))) == witness
            assert pickle.loads(pickle.dumps(witness)) == witness


def walker():
    """x moves by -1, 0 or 1 on 0 .. 9; 'jump' is enabled at 5 only; there is no way on from 9."""
    system = System("walker")
    x = system.integer("x", 0, 9, labels={5: "FIVE"})
    direction = system.agent(argmax([5 - x, x - 5]), name="side", labels={0: "low", 1: "high"})
    system.branch("down", {x: where(x > 0, x - 1, 0)}, when=x < 9)
    system.branch("stay", {x: x + direction * 0}, when=x < 9)
    system.branch("up", {x: x + 1}, when=x < 9)
    system.branch("jump", {x: 9}, when=x == 5)
    system.initial((x >= 3) & (x <= 5))
    return system


def shown(system, text, x=4, **options):
    return explain(system, nnf(parse(text, system.vocabulary)), {"x": Fraction(x)}, **options)


def test_a_path_names_branches_actions_and_margins():
    witness = shown(walker(), "EX(x == 5 & EX x > 8.5)")
    assert witness.branches == ("up", "jump")
    assert [node.point["x"] for node in witness.path] == [4, 5, 9]
    assert witness.nodes[1].state == (Value("x", Fraction(5), "FIVE"),)
    assert witness.nodes[0].actions == (Value("side", Fraction(0), "low"),)
    assert witness.nodes[-1].actions == ()
    assert [(m.atom, m.margin) for m in witness.nodes[2].atoms] == [("x > 8.5", Fraction(1, 2))]
    assert witness.margin == 0  # the equality
    steps = witness.to_json()["steps"]
    assert [s["branch"] for s in steps] == ["up", "jump", None]
    assert steps[1]["state"]["x"] == {"exact": "5", "float": 5.0, "label": "FIVE"}


def test_hints_choose_the_path():
    system = walker()
    assert shown(system, "EX^2 x <= 5").branches == ("down", "down")
    assert shown(system, "EX^2 x <= 5", hints=("up", "stay")).branches == ("up", "stay")
    assert shown(system, "EX^2 x <= 5", hints={(): 1, (1,): 2}).branches == ("stay", "up")
    assert shown(system, "EX^2 x <= 5", hints=("nonsense", "jump", "jump")).branches == ("down", "down")
    assert shown(system, "EX^2 x > 8", x=3, hints=("up", "up")) is None


def test_a_tree_has_every_enabled_branch():
    system = walker()
    assert shown(system, "AX EX x <= 6", x=5) is None  # not after the jump
    witness = shown(system, "AX (x == 9 | EX x == 5)", x=5)
    assert witness.path is None
    assert witness.branches is None
    assert [name for name, _ in witness.nodes[0].children] == ["down", "stay", "up", "jump"]
    assert witness.nodes[dict(witness.nodes[0].children)["jump"]].children == ()
    assert next(row["children"] for row in witness.to_json()["tree"]) == dict(witness.nodes[0].children)


def test_deadlocks_are_reported():
    witness = shown(walker(), "EX AX false", x=5)
    assert witness.branches == ("jump",)
    assert witness.deadlocks == (1,)
    assert witness.nodes[1].actions[0].label == "high"
    assert shown(walker(), "EX EX true", x=9) is None
    assert replay(walker(), nnf(parse("EX AX false", walker().vocabulary)), witness).confirmed


def test_the_better_of_two_atoms_is_reported():
    witness = shown(walker(), "x > 3.9 | x < 9 | x == 0", x=4)
    assert [(m.atom, m.margin) for m in witness.nodes[0].atoms] == [("x < 9", 5)]


def test_shared_states_are_stored_once():
    witness = shown(walker(), "AX^3 (x >= 1)", x=4)
    assert len(witness.nodes) == 1 + 3 + 6 + 8  # instead of 1 + 3 + 9 + 30


def test_the_budget_is_no_refutation():
    system = walker()
    with pytest.raises(UndecidedError, match="budget of 3"):
        shown(system, "EX^6 x > 8", budget=3)
    assert shown(system, "EX^6 x > 8", budget=100).branches[-1] == "jump"
    assert shown(system, "EX^2 x > 8", x=3, budget=100) is None


def test_what_is_called_in_every_state_may_end_a_search():
    with pytest.raises(ZeroDivisionError):
        shown(walker(), "EX^6 x > 8", tick=lambda: 1 / 0)


def test_a_thousand_steps():
    witness = shown(walker(), "EX^1500 x == 4", hints=("stay",) * 1500)
    assert len(witness.path) == 1501
    assert replay(walker(), nnf(parse("EX^1500 x == 4", walker().vocabulary)), witness).confirmed
    assert pickle.loads(pickle.dumps(witness)) == witness


def test_no_state_no_witness():
    with pytest.raises(ModelError, match="x = 11 is outside"):
        shown(walker(), "EX true", x=11)
    with pytest.raises(ModelError, match="no value for 'x'"):
        explain(walker(), nnf(parse("EX true", walker().vocabulary)), {})


def forged(witness, number, **changes):
    nodes = list(witness.nodes)
    nodes[number] = replace(nodes[number], **changes)
    return Witness(tuple(nodes))


def value(x, label=""):
    return (Value("x", Fraction(x), label),)


PATH, TREE = "EX(x == 5 & EX x > 8.5)", "AX AX (x <= 6 | x == 9)"
FORGERIES = [
    ("another initial state", PATH, lambda w: forged(w, 0, state=value(5)), "action|after branch 'up'"),
    ("an initial state outside the set", PATH, lambda w: forged(w, 0, state=value(7)), "not in the initial set"),
    ("an initial state outside the box", PATH, lambda w: forged(w, 0, state=value(70)), "outside its range"),
    ("a fractional integer", PATH, lambda w: forged(w, 0, state=value("7/2")), "no integer"),
    ("a later state", PATH, lambda w: forged(w, 1, state=value("9/2")), "x is 4.5 in the witness and 5 in the system"),
    ("the last state", PATH, lambda w: forged(w, 2, state=value(8)), "x is 8 in the witness and 9"),
    ("an action", PATH, lambda w: forged(w, 0, actions=(Value("side", Fraction(1)),)), "side is 1 .* and 0"),
    ("no action", PATH, lambda w: forged(w, 0, actions=()), "expected values of side"),
    ("an unknown branch", PATH, lambda w: forged(w, 0, children=(("fly", 1),)), "no branch 'fly'"),
    ("a disabled branch", PATH, lambda w: forged(w, 0, children=(("jump", 1),)), "'jump' is not enabled"),
    ("another branch", PATH, lambda w: forged(w, 0, children=(("stay", 1),)), "after branch 'stay'"),
    ("a cut path", PATH, lambda w: forged(w, 1, children=()), "do not show"),
    ("a false deadlock", PATH, lambda w: forged(w, 1, children=(), deadlock=True), "said to have no successor"),
    ("a missing branch", TREE, lambda w: forged(w, 0, children=w.nodes[0].children[:-1]), "do not show"),
    ("another variable", PATH, lambda w: forged(w, 0, state=(Value("y", Fraction(4)),)), "over the variables y"),
]


@pytest.mark.parametrize(("name", "text", "forge", "reason"), FORGERIES, ids=[f[0] for f in FORGERIES])
def test_replay_rejects(name, text, forge, reason):
    system = walker()
    witness = shown(system, text)
    core = nnf(parse(text, system.vocabulary))
    assert replay(system, core, witness).confirmed
    result = replay(system, core, forge(witness))
    assert not result.confirmed
    assert re.search(reason, result.reason), result.reason


def test_replay_judges_the_formula_it_is_given():
    system = walker()
    result = replay(system, nnf(parse("EX x > 5", system.vocabulary)), shown(system, "EX x == 5"))
    assert not result.confirmed
    assert "do not show" in result.reason


def test_a_violation_that_floats_do_not_show():
    """x = 2**60 is even; adding 1 is lost in floats."""
    system = System("absorbing")
    x = system.real("x", 0, 2**62)
    system.branch("add", {x: x + 1})
    system.initial(x == 2**60)
    core = nnf(parse(f"EX x > {2**60}", system.vocabulary))
    result = replay(system, core, explain(system, core, {"x": Fraction(2**60)}))
    assert result.confirmed
    assert (result.margin, result.floats["float64"].violated) == (1, False)
    assert result.floats["float64"].difference == 0  # the float of the exact state is the same
    assert result.to_json()["float64"] == {"difference": 0.0, "violated": False, "runtime": "numpy"}


def test_a_float_run_that_breaks_off():
    """y - 2**60 is 1; in floats it is 0, and the switch has no such case."""
    system = System("cases")
    y = system.integer("y", 2**60 + 1, 2**60 + 2)
    z = system.integer("z", 0, 5)
    system.branch("step", {z: switch(y - 2**60, {1: 4, 2: 5})})
    system.initial(y == 2**60 + 1, z == 0)
    core = nnf(parse("EX z == 4", system.vocabulary))
    result = replay(system, core, explain(system, core, {"y": Fraction(2**60 + 1), "z": Fraction(0)}))
    assert result.confirmed
    assert result.to_json()["float32"] == {"difference": None, "violated": False, "runtime": "numpy"}


BAD_JSON = [
    (None, "expected an object with 'steps'"),
    ({}, "expected an object with 'steps'"),
    ({"steps": None, "initial": {}}, "'tree'"),
    ({"steps": [], "initial": {}}, "no states"),
    ({"steps": 3, "initial": {}}, "wrong type int"),
    ({"steps": [{"branch": "up"}], "initial": {}}, "every step but the last"),
    ({"steps": [{"branch": None}], "initial": {}}, "step 0: expected an object with 'state'"),
    ({"steps": [{"branch": None, "state": {"x": {"exact": 3}}}], "initial": {}}, "wrong type int"),
    ({"steps": [{"branch": None, "state": {"x": {"exact": "1e9"}}}], "initial": {}}, "exact number"),
    ({"steps": [{"branch": None, "state": {"x": {"exact": "1/0"}}}], "initial": {}}, "is 0"),
]


@pytest.mark.parametrize(("data", "message"), BAD_JSON)
def test_bad_witness_files(data, message):
    with pytest.raises(UsageError, match=message):
        Witness.from_json(data)


def test_trees_in_files_have_no_cycles():
    data = shown(walker(), TREE).to_json()
    data["tree"][1]["children"] = {"up": 0}
    with pytest.raises(UsageError, match="index of a later node"):
        Witness.from_json(data)


@pytest.mark.parametrize(
    "number", [Fraction(-3, 7), Fraction(5), Fraction(-1, 2**40000), Fraction(2**40000 + 1, 2**40000)]
)
def test_numbers_of_any_length(number):
    assert read_number(json.loads(json.dumps(number_json(number)))["exact"], "here") == number


def test_the_margin_of_a_tree_is_its_least():
    system = walker()
    core = nnf(parse("x >= 2 & AX (x <= 7 & x > 0.5)", system.vocabulary))
    witness = explain(system, core, {"x": Fraction(4)})
    assert witness.margin == replay(system, core, witness).margin == 2
    core = nnf(parse("x < 7 & x < 9", system.vocabulary))
    assert replay(system, core, explain(system, core, {"x": Fraction(4)})).margin == 3
    core = nnf(parse("x < 9 & x < 7", system.vocabulary))
    assert replay(system, core, explain(system, core, {"x": Fraction(4)})).margin == 3


def test_two_runs_share_their_beginning():
    witness = shown(walker(), "EX EX x == 4 & EX EX x == 2")
    assert [name for name, _ in witness.nodes[0].children] == ["down"]
    middle = witness.nodes[witness.nodes[0].children[0][1]]
    assert [name for name, _ in middle.children] == ["down", "up"]
    assert len(witness.nodes) == 4
    assert replay(walker(), nnf(parse("EX EX x == 4 & EX EX x == 2", walker().vocabulary)), witness).confirmed
