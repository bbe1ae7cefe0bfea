"""AG p over the reals: sets that runs come back to, given or found, and what is said where there is none."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from venmas import System, load_scenario, verify
from venmas.answer import Proved, Violated
from venmas.budget import Budget, BudgetError
from venmas.checker.file import check_certificate
from venmas.errors import FormulaError, ModelError, UsageError
from venmas.logic import Always, Bounded
from venmas.model import apply_network, argmax, clip, replay, switch
from venmas.nn.network import relu_network
from venmas.procedure import Run
from venmas.procedures.kinduction.procedure import K_INDUCTION
from venmas.procedures.kinduction.runs import Runs
from venmas.question import Question, read_property
from venmas.testing.systems import systems


def thermostat(start: float = 18) -> System:
    """A network heats below 17.5 degrees, or hardly above; the weather is free."""
    system = System("thermostat")
    t = system.real("t", -50, 80)
    network = relu_network([[[-1.0], [0.0]], [[0.0, 0.0], [1.0, 0.0]]], [[0.175, 0.0], [0.0, 0.0]])
    heating = system.agent(argmax(apply_network(network, (t / 100,))))
    for name, loss in (("mild", 0.5), ("cold", 1.5)):
        system.branch(name, t=t - loss + switch(heating, {0: 0, 1: 2}))
    system.initial(t >= start - 1, t <= start + 1)
    system.proposition("warm", t > 15)
    return system


def test_a_set_is_found_and_certified(tmp_path):
    report = verify(thermostat(), "AG warm", certificate=tmp_path / "proof.gz")
    assert report.satisfied and report.decided_by == "k-induction" and report.basis == "exact", report.message
    check_certificate(tmp_path / "proof.gz", thermostat())


def test_the_double_integrator_comes_back_to_a_set_after_two_steps():
    system = load_scenario("double_integrator").system()
    report = verify(system, "AG within", timeout=120)
    assert report.satisfied
    (figures,) = (p.figures for p in report.procedures if p.name == "k-induction")
    assert "come back to after 2" in figures["inductive set"]
    assert verify(system, "AG[5,*] near", timeout=120).satisfied
    late = verify(system, "AG near", timeout=120)
    assert late.violated and late.witness.path is not None and len(late.witness.nodes) == 1


@pytest.mark.parametrize(("text", "steps"), [("AG t > 16.5", 1), ("AG t >= 16", 6)])
def test_what_is_violated_is_shown_by_a_run(text, steps):
    system = thermostat()
    report = verify(system, text)
    assert report.violated and len(report.witness.path) <= steps + 1
    assert replay(system, Question(system, read_property(system, text)).shown, report.witness).confirmed


def test_leaving_the_declared_range_is_an_error_of_the_model():
    system = System("away")
    x = system.real("x", -10, 10)
    system.branch("go", x=x + 1)
    system.initial(x >= 0, x <= 1)
    with pytest.raises(ModelError, match="leaves the declared box"):
        verify(system, "AG x <= 30")
    assert verify(system, "AG x <= 3").violated


@pytest.mark.parametrize(("end", "note"), [(5, ""), (1, "a deadlock is reachable")])
def test_deadlocks_are_told(end, note):
    system = System("halving")
    x = system.real("x", -10, 10)
    system.branch("half", {x: x / 2 + 1}, when=x < end)
    system.initial(x >= 0, x <= 0.9)
    report = verify(system, "AG x <= 3")
    assert report.satisfied and [n[: len(note)] for n in report.notes] == ([note] if note else [])


# -- a set that is given -----------------------------------------------------------------------------------------------


def test_a_given_set_proves_it(tmp_path):
    system = thermostat()
    system.proposition("held", (system["t"] >= 15.9) & (system["t"] <= 19.2))
    report = verify(system, "AG warm", invariant="held", certificate=tmp_path / "proof.gz")
    assert report.satisfied and report.asked.invariant == "held"
    check_certificate(tmp_path / "proof.gz", system)
    (figures,) = (p.figures for p in report.procedures if p.name == "k-induction")
    assert figures["sets"].startswith("1 tried")


@pytest.mark.parametrize(
    ("given_set", "why"),
    [
        ("t >= 17 & t <= 19.2", r"the set is not inductive: t = .* goes by cold to t = 16"),
        ("t >= 14 & t <= 19.2", r"the set is not inductive: t = 14.* violates the property"),
        ("t > 15.9 & t < 19", r"not every initial state is in the set: t = 19"),
    ],
)
def test_why_a_given_set_proves_nothing(given_set, why):
    report = verify(thermostat(), "AG warm", invariant=given_set)
    assert report.verdict == "unknown" and report.reason == "open"
    assert re.match(why, report.message), report.message


def test_a_violation_is_found_beside_a_given_set():
    assert verify(thermostat(), "AG t > 16.5", invariant="t >= 15.9 & t <= 19.2").violated


def test_sets_that_are_none_are_refused():
    with pytest.raises(FormulaError, match="a formula about one state"):
        verify(thermostat(), "AG warm", invariant="AX warm")
    with pytest.raises(UsageError, match="leave the set out"):
        verify(thermostat(), "AG^3 warm", invariant="warm")


# -- soundness ---------------------------------------------------------------------------------------------------------


@settings(max_examples=8, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(systems(depth=1), st.integers(-3, 3))
def test_no_sampled_run_contradicts_a_proof(system, limit):
    asked = read_property(system, f"AG x <= {limit}")
    assert isinstance(asked, Always)
    try:
        found = K_INDUCTION.start(Question(system, asked), Run(decide=decide)).advance(Budget(2))
    except BudgetError:
        return
    runs = Runs(system, seed=1)
    if isinstance(found, Proved):
        assert all(runs.holds(asked.invariant, states).all() for states, _ in runs.layers(30))
    if isinstance(found, Violated):
        assert replay(system, Question(system, asked).shown, found.witness).confirmed


def decide(question, budget):
    """A bounded question, by the default mode."""
    from venmas.engine.modes import ADAPTIVE
    from venmas.engine.portfolio import Portfolio

    assert isinstance(question.asked, Bounded)
    with Run() as run:
        return Portfolio(ADAPTIVE, run, budget, None).settle(question)


def test_it_takes_questions_only_where_something_answers_bounded_ones():
    system = thermostat()
    question = Question(system, read_property(system, "AG warm"))
    with Run() as run:
        assert "nothing decides" in K_INDUCTION.accepts(question, run)
    with Run(decide=decide) as run:
        assert K_INDUCTION.accepts(question, run) is None


def test_samples_stay_in_what_clips_them():
    system = System("clipped")
    x = system.real("x", -1, 1)
    system.branch("go", {x: clip(2 * x, -1, 1)})
    system.initial(x >= -0.5, x <= 0.5)
    last = list(Runs(system).layers(5))[-1][0]
    assert np.abs(last).max() == 1 and verify(system, "AG x <= 1").satisfied


def test_a_set_of_measured_states_is_not_taken_for_one_of_no_states():
    """What is said of measured states only is false of those that are not, from which the claim begins."""
    system = System("slow")
    x = system.real("x", 0, 10)
    system.proposition("small", apply_network(relu_network([[[1.0]], [[1.0]]], [[0.0], [-8.0]]), (x,))[0] <= 0)
    system.branch("go", x=clip(x + 0.1, 0, 10))  # leaves `small` after 70 steps
    system.initial(x <= 1)
    for said in ("measured", "measured & small", "measured == 1 & x <= 8", "!(measured == 0) & x <= 8"):
        assert not verify(system, "AG small", invariant=said, timeout=20).satisfied, said
    assert verify(system, "AG x <= 10", invariant="measured & x >= 0", timeout=20).satisfied
