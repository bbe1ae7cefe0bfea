"""What the strategies promise: exactness, runs inside the box, networks of the kinds that are asked for."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

from venmas.errors import ModelError
from venmas.logic import parse
from venmas.model import System
from venmas.model.evaluation.regions import contains
from venmas.model.evaluation.simulate import misfit, successors
from venmas.nn import Network
from venmas.testing import (
    TWISTS,
    adversarial_networks,
    adversarial_systems,
    boxes,
    finite_model,
    finite_systems,
    formulas_over,
    initial_states,
    states_of,
)

first = settings(max_examples=1000, deadline=None, database=None, phases=[Phase.generate])
quick = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@quick
@given(st.data())
def test_runs_stay_in_the_box(data: st.DataObject) -> None:
    system = data.draw(adversarial_systems())
    for state in (data.draw(states_of(system)), start := data.draw(initial_states(system))):
        assert misfit(system, state) is None
        assert all(misfit(system, t.state) is None for t in successors(system, state))
    assert any(contains(region, start) for region in system.regions)


@quick
@given(st.data())
def test_formulas_are_over_the_system_and_no_deeper_than_asked(data: st.DataObject) -> None:
    system = data.draw(finite_systems())
    formula = data.draw(formulas_over(system, deepest=2))
    assert formula.depth <= 2
    assert parse(str(formula), system.vocabulary) == formula


@quick
@given(finite_systems())
def test_finite_systems_have_initial_states_and_only_known_successors(system: System) -> None:
    model, initial = finite_model(system)
    assert initial
    assert all(t < model.states for targets in model.successors for t in targets)


@quick
@given(st.data())
def test_boxes_lie_inside(data: st.DataObject) -> None:
    system = data.draw(adversarial_systems())
    box = data.draw(boxes(system))
    state = data.draw(states_of(system, box))
    for name, (least, most) in system.box.items():
        assert least <= box[name][0] <= state[name] <= box[name][1] <= most


@pytest.mark.parametrize("kind", TWISTS)
def test_networks_of_every_kind(kind: str) -> None:
    @settings(max_examples=15, deadline=None)
    @given(adversarial_networks(2, 3, (kind,)))
    def shaped(network: Network) -> None:
        assert network.input_size == 2 and network.output_size == 3
        assert len(network.evaluate_exact((Fraction(1, 3), Fraction(-2)))) == 3

    shaped()


@pytest.mark.parametrize("kind", ["cancelling", "one_ulp"])
def test_floats_are_wrong_about_hard_networks(kind: str) -> None:
    """The point of these: there are some where float64 misses the exact value by more than 1/10."""
    x = (Fraction(2), Fraction(3))

    def missed(network: Network) -> bool:
        floats, exact = network.evaluate([float(v) for v in x]), network.evaluate_exact(x)
        return bool(np.max(np.abs(floats - np.array([float(e) for e in exact]))) > 0.1)

    assert find(adversarial_networks(2, 3, (kind,), most=1), missed, settings=first)


@pytest.mark.parametrize("guards", ["deadlock", "overlap"])
def test_guards_leave_states_out_and_overlap(guards: str) -> None:
    counts = {"deadlock": lambda n: n == 0, "overlap": lambda n: n > 1}

    @st.composite
    def steps(draw: st.DrawFn) -> int:
        system = draw(adversarial_systems())
        return len(successors(system, draw(initial_states(system))))

    find(steps(), counts[guards], settings=first)


def test_finite_model_refuses_reals() -> None:
    system = System("real")
    system.branch("still", {system.real("x", 0, 1): 0})
    with pytest.raises(ModelError, match="too many values"):
        finite_model(system)


def test_without_hypothesis_the_extra_is_named() -> None:
    code = "import sys; sys.modules['hypothesis'] = None; import venmas.testing"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert ".[testing]" in done.stderr.splitlines()[-1]
