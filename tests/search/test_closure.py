"""Properties without a bound over finitely many states, against the oracle of the logic."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from venmas import verify
from venmas.logic import Globally, Quantifier, evaluate
from venmas.model import replay
from venmas.question import Question, read_property
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


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(finite_systems(), formulas(leaves, longest=3, size=5, unbounded=True).filter(lambda f: f.horizon is None))
def test_agrees_with_the_oracle(system, formula):
    model, initial = finite_model(system)
    truth = initial <= evaluate(formula, model)
    report = decided(system, formula)
    assert (report.satisfied, report.violated) == (truth, not truth), (report.message, str(formula))


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(finite_systems(), formulas(leaves, longest=1, size=3).filter(lambda f: f.depth == 0))
def test_invariants_agree_with_the_oracle(system, formula):
    always = Globally(Quantifier.ALL, 0, None, formula)
    model, initial = finite_model(system)
    report = decided(system, always)
    assert report.satisfied == (initial <= evaluate(always, model)) != report.violated
