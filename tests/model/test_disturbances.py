"""Disturbances, noise that each step chooses anew: every mode against exact boxes, sampled runs and plain stepping."""

import json
from fractions import Fraction
from itertools import product
from pathlib import Path
from random import Random

import numpy as np
import pytest

from tests.corpus.noise import check_noisy
from tests.in_process import IN_PROCESS, in_process
from venmas import load_scenario, verify
from venmas.checker.file import check_certificate
from venmas.errors import FormulaError, ModelError, VenmasError
from venmas.model import Range, System, apply_network, argmax, switch
from venmas.model.evaluation.simulate import Step, step_batch
from venmas.model.system.disturbances import drawn
from venmas.model.witness.build import replay
from venmas.model.witness.noise import folded, unfolded
from venmas.nn import relu_network
from venmas.procedure import Run, Settings, unread
from venmas.procedures.registry import PROCEDURES, get_procedure
from venmas.question import Question, posed, read_property

MODES = ("adaptive", "mono", "comp-seq", "exact")
Box = tuple[tuple[Fraction, Fraction], ...]


def integrator(w: Fraction = Fraction(1, 10), e: Fraction = Fraction(1, 20)) -> System:
    """A double integrator; w pushes the plant, e disturbs the sensor of its position."""
    system = System("integrator")
    x, v = system.real("x", -100, 100), system.real("v", -100, 100)
    push, error = system.disturbance("w", -w, w), system.disturbance("e", -e, e)
    u = system.agent(-(x + error) / 2 - 9 * v / 10, "u")
    system.branch("go", {x: x + v + u / 2, v: v + u + push})
    system.initial(x >= 1, x <= 2, v >= 0, v <= Fraction(1, 2))
    return system


def reach(steps: int, w: Fraction = Fraction(1, 10), e: Fraction = Fraction(1, 20)) -> Fraction:
    """The greatest x of the integrator after so many steps, by all corners of initial box and noise: it is affine."""
    best = None
    for x, v in product((Fraction(1), Fraction(2)), (Fraction(0), Fraction(1, 2))):
        for noise in product(product((-w, w), (-e, e)), repeat=steps):
            at = x, v
            for push, error in noise:
                u = -(at[0] + error) / 2 - 9 * at[1] / 10
                at = at[0] + at[1] + u / 2, at[1] + u + push
            best = at[0] if best is None else max(best, at[0])
    assert best is not None
    return best


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("steps", [1, 2, 3])
def test_the_bounds_of_exact_boxes_are_met_and_not_passed(mode: str, steps: int, tmp_path: Path) -> None:
    most, system = reach(steps), integrator()
    proof = tmp_path / "proof.gz"
    assert verify(system, f"AX^{steps} x <= {most}", mode=mode, tune=in_process(mode), timeout=60).satisfied
    above = f"AX^{steps} x < {most + Fraction(1, 100)}"
    assert verify(system, above, mode=mode, tune=in_process(mode), timeout=60, certificate=proof).satisfied
    check_certificate(proof, system)
    for text in (f"AX^{steps} x < {most}", f"AG[{steps},{steps}] x <= {most - Fraction(1, 10**6)}"):
        report = verify(system, text, mode=mode, tune=in_process(mode), timeout=20)
        assert report.violated and report.witness is not None
        path = report.witness.path
        assert path is not None and len(path) == steps + 1
        assert all(set(node.point) == {"x", "v", "w", "e"} for node in path)


def test_a_witness_is_replayed_from_json_with_the_noise_that_it_names() -> None:
    system = integrator()
    report = verify(system, f"AX^3 x < {reach(3)}", tune=IN_PROCESS)
    assert report.witness is not None
    stored = type(report.witness).from_json(json.loads(json.dumps(report.witness.to_json())))
    question = Question(drawn(system, 3), posed(system, read_property(system, f"AX^3 x < {reach(3)}")))
    long = unfolded(system, stored, 3)
    assert folded(long).nodes == stored.nodes
    assert replay(question.system, question.shown, long).confirmed
    wrong = json.loads(json.dumps(report.witness.to_json()))
    wrong["steps"][1]["state"]["e"] = {"exact": "0", "float": 0.0}
    changed = type(report.witness).from_json(wrong)
    assert not replay(question.system, question.shown, unfolded(system, changed, 3)).confirmed
    wrong["steps"][1]["state"]["e"] = {"exact": "1", "float": 1.0}  # beyond its range
    changed = type(report.witness).from_json(wrong)
    assert not replay(question.system, question.shown, unfolded(system, changed, 3)).confirmed


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("EX AX x < 3", "some property (E)"),
        ("AG^2 EX x > 0", "some property (E)"),
        ("AX x < 1 | AX x > 1", "several runs at once"),
        ("AG^2 w < 1", "unknown name 'w'"),
    ],
)
def test_what_would_choose_noise_twice_is_refused_with_its_reason(text: str, said: str) -> None:
    with pytest.raises(FormulaError, match=said.replace("(", r"\(").replace(")", r"\)").replace("^", r"\^")):
        verify(integrator(), text)


def test_two_runs_with_noise_of_their_own_are_not_taken_for_one() -> None:
    """x' = w: some successor is above 0 and some below; with one noise for both neither could be shown."""
    system = System("two")
    x = system.real("x", -1, 1)
    system.branch("go", {x: x})
    with pytest.raises(ModelError, match="before branches"):
        system.disturbance("w", -1, 1)
    system = System("two")
    x, w = system.real("x", -1, 1), system.disturbance("w", -1, 1)
    system.branch("go", {x: w})
    system.initial(x == 0)
    for text in ("AX x >= 0 | AX x <= 0", "!(EX x > 0 & EX x < 0)"):
        with pytest.raises(FormulaError, match="several runs"):
            verify(system, text)
    assert verify(system, "AX (x >= 0 | x <= 0)", tune=IN_PROCESS).satisfied
    assert verify(system, "AX (x >= 0 & AX x > -1)", tune=IN_PROCESS).violated
    assert verify(system, "AG^2 x <= 1", tune=IN_PROCESS).satisfied
    # noise is new in each step: where x is above 1/2 after one, it need not be after the next
    assert verify(system, "AX (x < 0.5 | AX x > -0.5)", tune=IN_PROCESS).violated


def test_nothing_reads_a_system_whose_noise_is_not_drawn() -> None:
    system = integrator()
    state = {"x": Fraction(1), "v": Fraction(0), "w": Fraction(0), "e": Fraction(0)}
    with pytest.raises(ModelError, match="another value in each step"):
        Step(system, state).successor(0)
    with pytest.raises(ModelError, match="another value in each step"):
        step_batch(system, {n: np.zeros(1) for n in system.variables}, np.zeros(1, dtype=int))
    with pytest.raises(ModelError, match="another value in each step"):
        Question(system, posed(system, read_property(system, "AG^2 x < 3")))


def test_every_procedure_is_asked_about_drawn_systems_only() -> None:
    """No question over a system with disturbances can be made, so no procedure, present or future, ignores them.

    Of the drawn system each says whether it takes it; those of integers, and those without a bound, must not.
    """
    system = integrator()
    asked = posed(system, read_property(system, "AG^2 x < 3"))
    question = Question(drawn(system, 2), asked)
    with Run(Settings(solvers=lambda: ("highs",))) as run:
        taken = {
            name
            for name in PROCEDURES
            if unread(get_procedure(name), question) is None and get_procedure(name).accepts(question, run) is None
        }
    assert {"branch-and-bound", "reachability", "exact", "mono", "comp-seq"} <= taken
    assert not {"explicit", "fixpoints", "predicate-abstraction", "k-induction"} & taken
    assert set(question.system.variables) == {"x", "v", "w", "e", "w@1", "e@1"}
    assert set(question.system.vocabulary.variables) >= {"x", "v"}
    assert system.vocabulary.variables == ("x", "v")


@pytest.mark.parametrize(
    ("declare", "said"),
    [
        (lambda s, x, w: s.initial(w >= 0), "no part of the state"),
        (lambda s, x, w: s.proposition("p", x + w > 0), "no part of the state"),
        (lambda s, x, w: s.quantity("q", x + w), "no part of the state"),
        (lambda s, x, w: s.branch("go", {w: x}), "every step has another one"),
        (lambda s, x, w: s.disturbance("w", 0, 1), "declared twice"),
        (lambda s, x, w: s.disturbance("z", 1, 0), "empty range"),
        (lambda s, x, w: s.real("w@1", 0, 1), "can not name a variable"),
    ],
)
def test_mistakes_are_named(declare, said: str) -> None:
    system = System("mistaken")
    x, w = system.real("x", 0, 1), system.disturbance("w", 0, 1)
    with pytest.raises(ModelError, match=said):
        declare(system, x, w)


def thermostat(noise: Fraction) -> System:
    """That of the README, whose sensor errs."""
    system = System("thermostat")
    t, error = system.real("t", -50, 80), system.disturbance("error", -noise, noise)
    network = relu_network([[[-1.0]], [[0.0], [1.0]]], [[1.0], [0.0, -0.825]])
    heating = system.agent(argmax(apply_network(network, ((t + error) / 100,))))
    for name, loss in (("mild", Fraction(1, 2)), ("cold", Fraction(3, 2))):
        system.branch(name, {t: t - loss + switch(heating, {0: 0, 1: 2})})
    system.initial(t >= 17, t <= 19)
    return system


@pytest.mark.slow
def test_the_thermostat_with_a_sensor_that_errs_keeps_warm_as_far_as_it_can(tmp_path: Path) -> None:
    """Heating is off down to 17.5 - 1/2 at worst, and the weather takes 1.5 from there: 15.5 is the least."""
    system, proof = thermostat(Fraction(1, 2)), tmp_path / "proof.gz"
    assert verify(system, "AG^8 t > 15.25", tune=IN_PROCESS, timeout=60, certificate=proof).satisfied
    check_certificate(proof, system)
    for mode in ("adaptive", "exact"):
        report = verify(system, "AG^8 t > 15.51", mode=mode, tune=in_process(mode), timeout=60)
        assert report.violated and report.witness is not None
    # with a smaller error the least is 15.75
    assert verify(thermostat(Fraction(1, 4)), "AG^8 t > 15.55", tune=IN_PROCESS, timeout=60).satisfied


def test_bundled_loops_with_noise_are_certified_or_replayed(tmp_path: Path) -> None:
    proof = tmp_path / "proof.gz"
    cruise = load_scenario("cruise").system(noise="0.1")
    assert verify(cruise, "AG^13 safe", tune=IN_PROCESS, timeout=30, certificate=proof).satisfied
    check_certificate(proof, cruise)
    slow = load_scenario("cruise").system(noise="0.1", lead=Range(20, Fraction("20.2")))
    report = verify(slow, "AG^10 safe", tune=IN_PROCESS, timeout=30)
    assert report.violated and report.witness is not None and {"push", "push_lead"} <= set(report.witness.initial)
    vcas = load_scenario("vcas").system(sensor=1)
    assert verify(vcas, "AG^10 safe", tune=IN_PROCESS, timeout=60, certificate=proof).satisfied
    check_certificate(proof, vcas)
    with pytest.raises(VenmasError):  # of the same loop without noise it says nothing
        check_certificate(proof, load_scenario("vcas").system())


def test_quantities_are_measured_under_noise() -> None:
    system = System("valued")
    x, w = system.real("x", -9, 9), system.disturbance("w", -1, 1)
    value = apply_network(relu_network([[[1.0]]], [[0.0]]), (x,))[0]
    system.proposition("low", value <= 3)
    system.branch("go", {x: x + w})
    system.initial(x >= -1, x <= 1)
    assert verify(system, "AG^2 low", tune=IN_PROCESS).satisfied
    report = verify(system, "AG^3 low", tune=IN_PROCESS)
    assert report.violated and report.witness is not None


@pytest.mark.parametrize("seed", [Random(19).randint(0, 10**6) + i for i in range(8)])
def test_random_systems_agree_with_runs_under_sampled_noise(seed: int) -> None:
    assert check_noisy(seed).wrong == []


def still(value: Fraction) -> System:
    """A system whose noise has one value."""
    system = System("still")
    x = system.real("x", -5, 5)
    w = system.disturbance("w", value, value)
    system.branch("go", x=x / 2 + w)
    system.initial(x >= -1, x <= 1)
    return system


@pytest.mark.parametrize("value", [Fraction(0), Fraction(1, 10)])
def test_a_disturbance_of_one_value_is_that_number(value: Fraction, tmp_path: Path) -> None:
    """No noise: formulas without a bound and with E are decided, proved and replayed as without it."""
    system, proof = still(value), tmp_path / "proof.gz"
    report = verify(system, "AG x < 2", certificate=proof)
    assert report.satisfied
    check_certificate(proof, system)
    assert verify(system, "EF^3 x > 0").satisfied is (value > 0)  # from x = -1
    for mode in MODES:
        assert verify(system, f"AX x <= {Fraction(1, 2) + value}", mode=mode, tune=in_process(mode)).satisfied
        report = verify(system, f"AX x < {Fraction(1, 2) + value}", mode=mode, tune=in_process(mode))
        assert report.violated and report.replay is not None and report.replay.confirmed
        assert report.witness is not None and [v.name for v in report.witness.nodes[0].state] == ["x"]


def test_the_name_of_a_disturbance_of_one_value_stays_taken_and_is_explained() -> None:
    system = still(Fraction(1, 10))
    with pytest.raises(FormulaError, match=r"'w': it is a disturbance of one value: write 0.1 for it"):
        verify(system, "AG w < 2")
    with pytest.raises(ModelError, match=r"no variable 'w' .* is the one number 0.1; write 0.1 for it"):
        system["w"]
    for again in (lambda: system.real("w", 0, 1), lambda: system.proposition("w", system["x"] > 0)):
        with pytest.raises(ModelError, match=r"twice|taken"):
            again()


def test_noise_zero_of_scenarios_leaves_no_noise() -> None:
    """`--set noise=0` is the system without noise."""
    for name, parameter in (("cruise", "noise"), ("vcas", "sensor")):
        assert load_scenario(name).system(**{parameter: 0}).disturbances == ()
