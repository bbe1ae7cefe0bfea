"""Properties without a bound over finitely many states, against the oracle of the logic."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.corpus.forever import check
from tests.slow import some_examples
from venmas import System, verify
from venmas.errors import ModelError
from venmas.logic import EX, TRUE, Globally, Quantifier, evaluate
from venmas.model import Witness, replay, where
from venmas.model.evaluation.simulate import Step
from venmas.model.transform.cone import Cones
from venmas.procedures.explicit.graph.graph import StateGraph
from venmas.procedures.explicit.paths import run_path
from venmas.procedures.explicit.random_runs import random_run
from venmas.procedures.explicit.states.integers import NotExplicitError
from venmas.question import Question, deadlocked, read_property
from venmas.testing import atoms, formulas
from venmas.testing.finite import finite_model, finite_systems

leaves = atoms(("i", "j", "b"), st.integers(-2, 2).map(Fraction))


def decided(system, formula, **options):
    """The report; a violation replays."""
    report = verify(system, formula, **options)
    if report.violated:
        shown = Question(system, read_property(system, formula)).shown
        assert replay(system, shown, report.witness).confirmed
    return report


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(finite_systems(), formulas(leaves, longest=3, size=5, unbounded=True).filter(lambda f: f.horizon is None))
def test_agrees_with_the_oracle(system, formula):
    model, initial = finite_model(system)
    truth = initial <= evaluate(formula, model)
    report = decided(system, formula)
    assert (report.satisfied, report.violated) == (truth, not truth), (report.message, str(formula))


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(finite_systems(), formulas(leaves, longest=1, size=3).filter(lambda f: f.depth == 0))
def test_invariants_agree_with_the_oracle(system, formula):
    always = Globally(Quantifier.ALL, 0, None, formula)
    model, initial = finite_model(system)
    report = decided(system, always)
    assert report.satisfied == (initial <= evaluate(always, model)) != report.violated


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(finite_systems(), formulas(leaves, longest=3, size=5, unbounded=True).filter(lambda f: f.horizon is None))
def test_initial_states_of_a_condition_are_taken(system, formula):
    """As where there are too many regions: the whole initial set becomes one."""
    model, initial = finite_model(system)
    system.initial_set._widen(())
    truth = initial <= evaluate(formula, model)
    report = decided(system, formula)
    assert (report.satisfied, report.violated) == (truth, not truth), (report.message, str(formula))


# -- slices ------------------------------------------------------------------------------------------------------------


def worker(guarded: bool = True) -> System:
    """A machine that goes round, and counts what it costs until a budget is used up; a real value is of no use."""
    system = System("worker")
    at, cost = system.integer("at", 0, 3), system.integer("cost", 0, 1000)
    heat = system.real("heat", 0, 10)
    when = cost + 1 <= 1000 if guarded else True
    system.branch("on", {at: where(at < 3, at + 1, 0), cost: cost + 1, heat: heat / 2}, when=when)
    system.initial(at == 0, cost == 0, heat <= 5)
    return system


def figures(report):
    (found,) = (p.figures for p in report.procedures if p.name == "fixpoints")
    return found


def test_what_does_not_matter_is_left_out():
    report = decided(worker(), "AG at <= 3")
    assert report.satisfied and figures(report)["slice"] == "1 of 3 variables"
    assert figures(report)["states"].startswith("4 found")
    assert len(report.notes) == 1 and "deadlock" in report.notes[0]


# -- runs that do not end ----------------------------------------------------------------------------------------------


def test_leaving_the_box_is_an_error_though_a_slice_satisfies_the_property():
    system = System("sliced")
    i, j = system.integer("i", 0, 3), system.integer("j", 0, 3)
    system.branch("go", {i: i + 1, j: 3 - j})
    system.initial(i == 0, j == 1)
    system.integer("k", 0, 1)
    with pytest.raises(ModelError, match="i = 4 is outside its range"):
        verify(system, "AF AG i >= 0")


@pytest.mark.parametrize(
    ("spent", "formula", "slice_"), [(0, "AG at <= 3", "1 of 2 variables"), (9, "AG at <= 0", None)]
)
def test_a_counter_of_failures_is_left_out_unless_it_matters(spent, formula, slice_):
    """Both outcomes of an action have its guard, and only one of them counts."""
    system = System("trials")
    at, cost = system.integer("at", 0, 3), system.integer("cost", 0, 9)
    allowed = cost + 1 <= 9
    system.branch("works", {at: where(at < 3, at + 1, 0)}, when=allowed)
    system.branch("fails", {cost: cost + 1}, when=allowed)
    system.initial(at == 0, cost == spent)
    report = verify(system, formula)
    assert report.satisfied and report.decided_by == "fixpoints"
    assert figures(report).get("slice") == slice_


def test_a_loop_is_a_run_that_does_not_end():
    system = System("loop")
    x = system.integer("x", 0, 9)
    system.branch("up", {x: x + 1}, when=x < 3)
    system.branch("round", {x: 1}, when=x == 3)
    system.branch("out", {x: 5}, when=x == 3)
    system.initial(x == 0)
    report = decided(system, "AF x == 5")
    assert [int(node.point["x"]) for node in report.witness.path] == [0, 1, 2, 3, 1]
    assert decided(system, "EF x == 5").satisfied and decided(system, "EG x <= 3").satisfied
    assert decided(system, "AG (x == 5 | EF x == 5)").satisfied
    assert decided(system, "EF x == 7").violated
    assert decided(system, "AF x == 3").satisfied


def test_a_run_that_ends_is_none_for_ever():
    """AF asks nothing of runs that end, and EG needs one that does not (S5)."""
    system = System("end")
    x = system.integer("x", 0, 2)
    system.branch("up", {x: x + 1}, when=x < 2)
    system.initial(x == 0)
    assert decided(system, "AF x > 5").satisfied and decided(system, "EG x >= 0").violated


def test_a_forged_loop_is_no_witness():
    system = System("loop")
    x = system.integer("x", 0, 9)
    system.branch("up", {x: x + 1}, when=x < 3)
    system.branch("round", {x: 1}, when=x == 3)
    system.initial(x == 0)
    shown = Question(system, read_property(system, "AF x == 5")).shown
    nodes = decided(system, "AF x == 5").witness.nodes
    assert not replay(system, shown, Witness((*nodes[:-2], replace(nodes[-2], children=())))).confirmed  # left open
    last = replace(nodes[-1], state=(replace(nodes[-1].state[0], exact=Fraction(0)),))
    assert not replay(system, shown, Witness((*nodes[:-1], last))).confirmed  # closed where no step leads
    stray = replace(nodes[1], children=(("up", 6),))
    forged = Witness((replace(nodes[0], children=()), *nodes[1:], stray, nodes[2]))
    assert not replay(system, shown, forged).confirmed  # what is not reached shows nothing


def test_a_million_states_and_more_than_there_is_room_for():
    system = System("grid")
    x, y = system.integer("x", 0, 299), system.integer("y", 0, 299)
    system.branch("right", {x: x + 1}, when=x < 299)
    system.branch("up", {y: y + 1}, when=y < 299)
    system.initial(x == 0, y == 0)
    whole = StateGraph(system, lambda: None, transitions=False)
    assert len([None for _ in range(10**6) if whole.count < 90000 and whole.expand()]) and whole.count == 90000
    assert decided(system, "AG x + y <= 598").satisfied
    graph = StateGraph(system, lambda: None, transitions=False, limit=1000)
    with pytest.raises(NotExplicitError):
        _ = [None for _ in range(10**6) if not graph.expand()]


@pytest.mark.parametrize("seed", range(80))
def test_random_cases_with_certificates(seed, tmp_path):
    kind, problem = check(seed, tmp_path)
    assert not problem, kind


# -- deadlocks ---------------------------------------------------------------------------------------------------------


@some_examples(20, 60, finite_systems(), suppress_health_check=list(HealthCheck))
def test_random_runs_that_end_are_deadlocks_of_the_oracle(system):
    graph = StateGraph(system, lambda: None, transitions=False)
    path = random_run(graph)
    while graph.expand():
        pass
    if path is None:
        return
    assert graph.deadlock is not None
    found = run_path(Cones(system), system, path, EX(TRUE))
    assert isinstance(found, Witness)
    assert not list(Step(system, deadlocked(found)).successors())


def test_a_random_run_finds_a_deep_deadlock():
    """Breadth first, 64^3 states lie above it."""
    system = System("deep")
    counters = [system.integer(name, 0, 63) for name in "abc"]
    for counter in counters:
        system.branch(f"count {counter.name}", {counter: counter + 1}, when=counter <= 62)
    system.initial(*(counter == 0 for counter in counters))
    path = random_run(StateGraph(system, lambda: None, transitions=False))
    assert path is not None and set(path.first.values()) == {0}
    assert Counter(path.branches) == {0: 63, 1: 63, 2: 63}


def test_random_runs_that_leave_the_box_are_no_deadlocks():
    system = System("off")
    x = system.integer("x", 0, 3)
    system.branch("on", {x: x + 1})
    system.initial(x == 0)
    assert random_run(StateGraph(system, lambda: None, transitions=False)) is None
