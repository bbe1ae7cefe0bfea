"""Properties by kind: each goes to modes and procedures that take it, from text or from Python."""

from __future__ import annotations

import pytest

from venmas import System, verify
from venmas.budget import Budget
from venmas.engine.modes import MODES
from venmas.engine.stored import read_report
from venmas.errors import FormulaError, UsageError
from venmas.logic import Always, Globally, Quantifier, parse, parse_property
from venmas.procedure import Run, unread
from venmas.procedures.registry import PROCEDURES, get_procedure
from venmas.question import Question, read_formula, read_property


def counter() -> System:
    system = System("counter")
    n = system.integer("n", 0, 3)
    system.branch("stay", {n: n})
    system.initial(n == 1)
    system.proposition("low", n <= 2)
    system.specify("lasting", "AG low")
    return system


def test_the_kind_is_kept_in_the_report():
    report = verify(counter(), "AG^3 low")
    assert report.satisfied and report.kind == "bounded"
    stored = report.to_json()
    assert stored["property"] == "bounded" and read_report(stored).kind == "bounded"
    del stored["property"]
    assert read_report(stored).kind == "bounded"


@pytest.mark.parametrize(
    "text", ["AG low", "lasting", "AG[1,*] low", "!EF !low", "AX AG low", "low & AF low", "A(low U low)"]
)
def test_what_has_no_bound_is_refused_where_it_would_be_unrolled(text):
    system = counter()
    with pytest.raises(FormulaError, match="needs a bound") as from_text:
        verify(system, text, mode="adaptive")
    assert (from_text.value.line, from_text.value.text.count("\n")) == (1, 0)
    formula = read_property(system, text).formula
    with pytest.raises(FormulaError, match="needs a bound"):
        verify(system, formula, mode="mono")
    with pytest.raises(FormulaError, match="needs a bound"):
        read_formula(system, text)
    assert verify(system, text).mode == verify(system, formula).mode == "invariant"


def test_what_has_bounds_is_refused_by_the_mode_of_the_others():
    with pytest.raises(UsageError, match=r"is for formulas without a bound.*leave the mode out, or name.*adaptive"):
        verify(counter(), "AG^3 low", mode="invariant")


def test_a_question_carries_it_and_nothing_unrolls_it():
    system = counter()
    asked = parse_property("AG low", system.vocabulary)
    question = Question(system, asked)
    low = parse("low", system.vocabulary)
    assert question.asked == Always(0, low) and asked.formula is Globally(Quantifier.ALL, 0, None, low)
    assert question.deadlocks.asked.formula.horizon is None
    for read in ("formula", "target"):
        with pytest.raises(FormulaError, match="needs a bound"):
            getattr(question, read)
    assert isinstance(question.staying(["n"]).asked, Always)


FOR_EVER = MODES["invariant"].procedures


@pytest.mark.parametrize("name", [name for name in PROCEDURES if name not in FOR_EVER])
def test_no_procedure_of_bounded_ones_answers_it(name):
    """Each says so, or meets a formula that cannot be unrolled."""
    system = counter()
    question = Question(system, parse_property("AG low", system.vocabulary))
    procedure = get_procedure(name)
    with Run() as run:
        try:
            refused = unread(procedure, question) or procedure.accepts(question, run)
            if refused is None:
                procedure.start(question, run).advance(Budget())
        except FormulaError as error:
            refused = str(error)
    assert refused


@pytest.mark.parametrize("name", sorted(FOR_EVER))
def test_a_procedure_of_mode_invariant_takes_no_bounded_one(name):
    with Run() as run:
        assert get_procedure(name).accepts(Question(counter(), parse_property("AG^3 low", counter().vocabulary)), run)
