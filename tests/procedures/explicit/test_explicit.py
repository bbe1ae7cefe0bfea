"""The explicit search against the oracle of the logic and against the exact search for witnesses."""

import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from experiments.benchmarks import frozenlake_nets
from tests.corpus.entries_more import CORPUS
from tests.corpus.finite import finite_case
from tests.corpus.spec import build
from venmas.engine.report import Verdict
from venmas.errors import ModelError
from venmas.logic import FALSE, evaluate, nnf, parse
from venmas.logic.linear import Relation
from venmas.model import System, apply_network, argmax, load_scenario, one_hot, replay, switch, where
from venmas.model.expressions.expr import compare
from venmas.nn import Layer, Network, relu_network
from venmas.procedures.explicit import evaluate as explicit
from venmas.procedures.explicit.evaluate import explore
from venmas.procedures.explicit.states import atoms as rows
from venmas.testing import atoms, formulas
from venmas.testing.finite import finite_model, finite_systems


def quiet():
    pass


def decide(system, formula):
    """What is found for a formula, with its witness replayed."""
    parsed = formula if not isinstance(formula, str) else parse(formula, system.vocabulary)
    target = nnf(parsed, negate=True)
    found = explore(system, target, quiet)
    assert found is not None
    witness = found.witness()
    assert (witness is None) == (found.violating is None)
    if witness is not None:
        assert witness.initial == found.violating
        result = replay(system, target, witness)
        assert result.confirmed, result.reason
    return found


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(finite_systems(), formulas(atoms(("i", "j", "b"), st.integers(-2, 2).map(Fraction)), longest=3, size=5))
def test_agrees_with_the_oracle(system, formula):
    model, initial = finite_model(system)
    assert (decide(system, formula).violating is None) == (initial <= evaluate(formula, model))


@pytest.mark.parametrize("seed", range(150))
def test_random_finite_cases(seed):
    case = finite_case(seed)
    assert (decide(build(case.spec), case.formula).violating is None) == case.truth


FINITE = [e for e in CORPUS if all(d.integral for d in e.system().variables.values())]


@pytest.mark.parametrize("entry", FINITE, ids=lambda e: e.name)
def test_corpus(entry):
    assert (decide(entry.system(), entry.formula).violating is None) == (entry.verdict is Verdict.SATISFIED)


def test_the_corpus_has_enough_finite_entries():
    assert len(FINITE) > 50


def counter(size=10):
    """x counts up to its upper bound, and there is a way back to 0 from 3."""
    system = System("counter")
    x = system.integer("x", 0, size)
    system.branch("up", {x: x + 1})
    system.branch("back", {x: 0}, when=x == 3)
    system.initial(x <= 1)
    return system


def test_long_runs_come_with_linear_witnesses():
    found = decide(counter(5000), "AX^4000 x < 4001")
    assert found.violating == {"x": 1} and found.states == 4002
    found = decide(counter(50), "AG^20000 (x < 3 | EX^2 x == 1)")
    assert found.violating == {"x": 1}


def test_the_shortest_witness_is_found():
    system = counter(50)
    found = decide(system, "AG^40 x != 7")
    assert found.violating == {"x": 1} and len(found.witness().nodes) == 7


def test_leaving_the_box_is_an_error_where_nothing_is_violated():
    system = counter(5)
    assert explore(system, nnf(parse("AG^4 x < 6", system.vocabulary), negate=True), quiet).violating is None
    with pytest.raises(ModelError, match="branch 'up' of system 'counter' leaves the declared box"):
        explore(system, nnf(parse("AG^5 x < 6", system.vocabulary), negate=True), quiet)
    found = decide(system, "AG^9 x < 4")
    assert found.violating == {"x": 1} and found.left_box == ({"x": 5}, 0)
    # what is shown does not go through the state that leaves the box
    with pytest.raises(ModelError):
        explore(system, nnf(parse("EX^6 x < 9", system.vocabulary), negate=True), quiet)


def test_deadlocks():
    system = System("stop")
    x = system.integer("x", -3, 3)
    system.branch("up", {x: x + 1}, when=x < 2)
    system.initial(x == -1)
    found = decide(system, "AX^9 false")
    assert found.violating is None and found.may_deadlock == {"x": 2}
    assert decide(system, "AX^3 x < 5").may_deadlock is None  # the state at step 3 is not stepped from
    assert decide(system, "EX^4 true").violating == {"x": -1}


def test_ties_are_decided_in_rationals():
    """0.1 + 0.2 is above 0.3 as sums of floats, 0.1 and 0.2 and 0.3 being binary numbers; the real sums decide."""
    weights = [0.1, 0.2, 0.3]
    above = sum(map(Fraction, weights[:2])) - Fraction(weights[2])
    assert above > 0 and 0.1 + 0.2 != 0.3
    for shift in (Fraction(0), above, 2 * above):
        system = System("tie")
        x = system.integer("x", 0, 1)
        a = apply_network(relu_network([[[0.1, 0.2]]], [[0.0]]), [x, x])[0]
        b = apply_network(relu_network([[[0.3]]], [[0.0]]), [x])[0]
        action = system.agent(argmax([a, b + shift * x, a]), name="action")
        hot = one_hot(action, 3)
        y = system.integer("y", 0, 5)
        system.branch("go", {y: hot[1] + where(a == b + shift * x, 3, 0)})
        system.initial(x == 1, y == 0)
        exact = (1 if shift > above else 0) + (3 if shift == above else 0)
        assert decide(system, f"AX y == {exact}").violating is None
        assert decide(system, f"AX y != {exact}").violating is not None


def test_equal_scores_take_the_lowest_index():
    system = System("equal")
    x = system.integer("x", -2, 2)
    scores = apply_network(relu_network([[[1.0], [0.1], [0.1]], np.eye(3)], [[0, 0, 0], [0, 0, 0]]), [x / 3])
    system.branch("go", {x: argmax([scores[1], scores[2], scores[1]])})
    system.initial(x >= 1)
    assert decide(system, "AX x == 0").violating is None


def test_divisions_and_large_weights_stay_exact():
    third = Network((Layer.dividing([3.0]),))
    system = System("third")
    x, y = system.integer("x", 0, 9), system.boolean("y")
    system.branch("go", {y: where(apply_network(third, [x])[0] * 3 == x, 1, 0)})
    system.initial(y == 0)
    assert decide(system, "AX y").violating is None
    huge = relu_network([[[1e300], [1e300]], [[1e300, -1e300]]], [[0, 0], [0]])  # inf - inf in floats
    system = System("huge")
    x, y = system.integer("x", 0, 9), system.boolean("y")
    system.branch("go", {y: where(apply_network(huge, [x])[0] == 0, 1, 0)})
    system.initial(y == 0)
    assert decide(system, "AX y").violating is None


def test_switches_of_integers_and_all_relations():
    system = System("mix")
    x, y = system.integer("x", -4, 4), system.integer("y", 0, 40, labels={7: "SEVEN"})
    tests = [where(compare(x * Fraction(1, 3) - 0.5, r, 0), 2**i, 0) for i, r in enumerate((Relation.LT, Relation.GE))]
    system.branch("go", {y: switch(x, {k: abs(k) for k in range(-4, 5)}) + 10 * (tests[0] + tests[1])}, when=~(x == 4))
    system.initial(y == 0)
    for value in range(-4, 4):
        truth = abs(value) + 10 * (1 if Fraction(value, 3) < Fraction(1, 2) else 2)
        assert decide(system, f"x == {value} -> AX y == {truth}").violating is None
    assert decide(system, "x == 4 -> AX false").violating is None


def test_initial_sets_are_searched():
    system = System("one of many")
    cell = system.booleans("cell", 60)
    system.branch("on", {cell[(i + 1) % 60]: cell[i] for i in range(60)})
    system.initial(sum(cell) == 1, cell[7] == 0, cell[9] - cell[11] >= 0)
    found = decide(system, "AX^60 (!cell[8] & !cell[12])")
    assert found.violating is None and found.states == 60
    assert decide(system, "AX^60 cell[1] == 0").violating == {f"cell[{i}]": int(i == 1) for i in range(1, 61)}


@pytest.mark.parametrize("seed", range(80))
def test_points_of_random_regions(seed):
    rng = np.random.default_rng(seed)
    system = System("region")
    xs = [system.integer(f"x{i}", int(rng.integers(-2, 1)), int(rng.integers(1, 3))) for i in range(3)]
    rows = []
    for _ in range(rng.integers(1, 4)):
        row = sum((x * Fraction(int(rng.integers(-3, 4)), 2) for x in xs), Fraction(int(rng.integers(-4, 5)), 3))
        if not isinstance(row, Fraction):
            rows.append(compare(row, list(Relation)[rng.integers(6)], 0))
    system.initial_set.regions = []
    system.branch("stay", {})
    system.initial(*rows)
    _, initial = finite_model(system)
    target = nnf(FALSE)
    if not initial:
        with pytest.raises(ModelError, match="initial set of system 'region' is empty"):
            explore(system, target, quiet)
    else:
        found = explore(system, target, quiet)
        assert found.violating is None and found.states == len(initial)


def test_what_is_not_explicit():
    system = System("real")
    x = system.real("x", 0, 1)
    system.branch("stay", {x: x})
    system.initial(x == 0)
    assert explore(system, nnf(FALSE), quiet) is None
    system = System("wide")
    x = system.integer("x", 0, 10**6)
    system.branch("stay", {x: x})
    system.initial(x >= 1)
    assert explore(system, nnf(FALSE), quiet) is None
    system = counter(300)
    assert explore(system, nnf(parse("AX^150 x < 300", system.vocabulary), negate=True), quiet, limit=100) is None


def test_formulas_too_large_to_keep_are_explained_by_a_search(monkeypatch):
    system = counter(30)
    target = nnf(parse("AG^20 x < 18", system.vocabulary), negate=True)
    first = explore(system, target, quiet).witness()
    monkeypatch.setattr(explicit, "MAX_KEPT", 100)
    second = explore(system, target, quiet).witness()
    assert replay(system, target, second).confirmed and len(second.nodes) == len(first.nodes)


def test_atoms_of_many_terms_are_looked_at_in_small_blocks(monkeypatch):
    system, asked = counter(300), []
    target = nnf(parse(" & ".join(f"AX^{250 + i} (x != {i})" for i in range(40)), system.vocabulary), negate=True)
    found = []
    for terms in (rows._TERMS, 200):
        monkeypatch.setattr(rows, "_TERMS", terms)
        asked.append(0)

        def tick():
            asked[-1] += 1

        found.append(explore(system, target, tick).witness())
    assert found[0] == found[1]
    assert asked[1] - asked[0] >= 290 * 40 // 200 - 1  # blocks of five states


def test_the_clock_can_stop_it():
    class StopError(Exception):
        pass

    def stop():
        raise StopError

    with pytest.raises(StopError):
        explore(counter(), nnf(FALSE), stop)


@pytest.mark.parametrize(("formula", "holds"), [("safe10", True), ("succ10", False), ("EF^4 goal", True)])
def test_frozenlake(formula, holds):
    system = load_scenario("frozenlake").system()
    text = system.properties.get(formula, formula)
    found = decide(system, text)
    assert (found.violating is None) is holds and found.states <= 9
    assert pickle.loads(pickle.dumps(found.witness())) == found.witness()


@pytest.mark.parametrize("careless", [0.0, 0.03, 0.1])
def test_grids_from_every_safe_cell(tmp_path, careless):
    """Against a walk over the grid itself."""
    grid = frozenlake_nets.write(tmp_path, 12, careless=careless, seed=4)
    system = load_scenario("frozenlake").system(tmp_path, **grid)
    network = system.agents[0].expr.scores[0].application.network
    actions = network.evaluate(np.eye(144)).argmax(1)
    holes = {h - 1 for h in grid["holes"]}
    safe = set(range(144)) - holes

    def moved(cell, direction):
        row, column = (x + d for x, d in zip(divmod(cell, 12), frozenlake_nets.MOVES[direction % 4], strict=True))
        return row * 12 + column if 0 <= row < 12 and 0 <= column < 12 else cell

    good = all(moved(cell, actions[cell] + turn) in safe for cell in safe for turn in (-1, 0, 1))
    assert good is (careless == 0)
    found = decide(system, "AG^1000 safe")
    assert (found.violating is None) is good and found.states >= len(safe)
    assert decide(system, "EF^40 goal").violating is None


def test_a_hundred_steps_across_a_grid_replay(tmp_path):
    grid = frozenlake_nets.write(tmp_path, 12) | {"start": (1,)}
    system = load_scenario("frozenlake").system(tmp_path, **grid)
    found = decide(system, "EX^200 goal")
    assert found.violating is None
    assert len(decide(system, "AX^300 (!goal & safe)").witness().nodes) == 301
