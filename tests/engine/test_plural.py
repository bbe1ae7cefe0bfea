"""Several questions: searches over the bound against all bounds, and rows that nothing takes with it."""

import csv
import io
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

import venmas.engine.plural as plural
from venmas import Report, System, Verdict, load_scenario, verify, verify_all
from venmas.engine.bound_search import BoundSearch
from venmas.errors import FormulaError, Reason, UsageError

SAT, VIOL, OPEN = Verdict.SATISFIED, Verdict.VIOLATED, Verdict.UNKNOWN


def counter() -> System:
    """n counts up to 12, or skips a number at will."""
    system = System("counter")
    n = system.integer("n", 0, 30)
    system.branch("one", n=n + 1, when=n < 12)
    system.branch("two", n=n + 2, when=n < 12)
    system.branch("stay", n=n, when=n >= 12)
    system.initial(n == 0)
    system.specify("low", "AG^4 (n < 9)")
    return system


@st.composite
def searches(draw: st.DrawFn) -> tuple[str, str, list[Verdict], list[Verdict]]:
    """What is sought, the course, the truth at the bounds from 1, and what is told of it."""
    course = draw(st.sampled_from(["rises", "falls", "same", ""]))
    truth = draw(st.lists(st.booleans(), min_size=1, max_size=12))
    if course:
        truth = sorted(truth, reverse=course == "falls") if course != "same" else truth[:1] * len(truth)
    told = [(SAT if t else VIOL) if draw(st.integers(0, 4)) else OPEN for t in truth]
    return draw(st.sampled_from(["least", "most"])), course, [SAT if t else VIOL for t in truth], told


@given(searches(), st.booleans())
def test_a_search_finds_what_all_bounds_say(case: Any, all_known: bool) -> None:
    sought, course, truth, told = case
    asked: list[int] = []

    def ask(k: int) -> Verdict:
        asked.append(k)
        return (truth if all_known else told)[k - 1]

    search = BoundSearch(sought, 1, len(truth), course, ask)
    search.run()
    assert len(asked) == len(set(asked))
    held = [k for k, verdict in enumerate(truth, 1) if verdict is SAT]
    failed = [k for k, verdict in enumerate(truth, 1) if verdict is VIOL]
    right = (min(failed, default=len(truth) + 1) - 1 or None) if sought == "most" else min(held, default=None)
    assert search.exact or not all_known
    if search.exact:
        assert search.bound == right
    assert search.told()


@pytest.mark.parametrize(
    "formula", ["AG^k (n < 9)", "AX^k (n < 9)", "AF^k (n >= 5)", "EF[0,k] (n == 7)", "EX^k (n == 4)"]
)
@pytest.mark.parametrize("sought", ["least", "most"])
def test_bounds_are_those_of_single_questions(formula: str, sought: str) -> None:
    system = counter()
    low = 0 if "[" in formula else 1
    holds = {k: verify(system, formula.replace("k", str(k), 1)).satisfied for k in range(low, 11)}
    first = {"least": True, "most": False}[sought]
    at = next((k for k in holds if holds[k] is first), None)
    (row,) = verify_all(system, [formula], **{sought: 10})
    last = 10 if at is None else at - 1
    expected = at if sought == "least" else last if last >= low else None
    assert row.bound == expected
    assert row.verdict is (VIOL if expected is None else SAT)
    assert row.report is not None and row.message


def test_many_steps_are_not_asked_one_by_one() -> None:
    (row,) = verify_all(counter(), ["AG^k (n < 40)"], most=1000)
    assert row.bound == 1000 and len(row.searched) <= 12
    assert row.message == "most k = 1000 or larger"


def test_rows_stand_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    real = plural.verify

    def faulty(system: System, formula: Any, **options: Any) -> Report:
        if formula == "boom":
            raise ZeroDivisionError("broken")
        return real(system, formula, **options)

    monkeypatch.setattr(plural, "verify", faulty)
    results = verify_all(counter(), ["low", "AG^2 (m < 1)", "boom", "AG^9 (n < 9)", "AG (n <= 13)"])
    assert [r.verdict for r in results] == [SAT, OPEN, OPEN, VIOL, SAT]
    assert [r.reason for r in results] == ["", "refused", "fault", "", ""]
    assert "m" in results[1].message and "ZeroDivisionError: broken" in results[2].message
    assert results.counts == {"satisfied": 2, "violated": 1, "unknown": 0, "refused": 1, "fault": 1}
    assert repr(results) == "<Results: 2 satisfied, 1 violated, 1 refused, 1 fault>"
    cases = list(ElementTree.fromstring(results.to_junit()))
    assert [[child.tag for child in case] for case in cases] == [[], ["error"], ["error"], ["failure"], []]


def test_an_interrupt_keeps_what_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    real = plural.verify

    def pressed(system: System, formula: Any, **options: Any) -> Report:
        if formula == "low":
            raise KeyboardInterrupt
        return real(system, formula, **options)

    monkeypatch.setattr(plural, "verify", pressed)
    results = verify_all(counter(), ["AG^2 (n < 9)", "low", "AG^3 (n < 9)"])
    assert [r.verdict for r in results] == [SAT, OPEN, OPEN]
    assert [r.reason for r in results] == ["", Reason.INTERRUPTED, Reason.INTERRUPTED]
    assert "skipped" in results.to_junit()


def test_what_is_refused_at_once() -> None:
    with pytest.raises(UsageError, match="a list of formulas"):
        verify_all(counter(), "low")
    with pytest.raises(UsageError, match="two questions"):
        verify_all(counter(), ["AG^k (n < 9)"], least=3, most=3)
    with pytest.raises(UsageError, match="from 1 to"):
        verify_all(counter(), ["AG^k (n < 9)"], most=0)
    with pytest.raises(UsageError, match="certificate"):
        verify_all(counter(), ["low"], certificate="x.cert")
    (row,) = verify_all(counter(), ["low"], most=5)
    assert row.reason == "refused" and "open bound" in row.message
    with pytest.raises(FormulaError):
        verify(counter(), "AG^k (n < 9)")


def test_a_limit_in_a_search_leaves_the_bound_open() -> None:
    (row,) = verify_all(counter(), ["AG^k (n < 9)"], most=10, timeout=1e-9)
    assert (row.verdict, row.reason, row.bound) == (OPEN, "time", None)


def test_forms() -> None:
    results = verify_all(counter(), ["AG^k (n < 9 | n > 10)", "AF^k (n > 2)  & true"], most=6)
    records = results.records()
    assert [r["most"] for r in records] == [4, None]
    read = list(csv.DictReader(io.StringIO(results.to_csv())))
    assert [row["formula"] for row in read] == [r["formula"] for r in records]
    latex = results.to_latex()
    assert r"AG\^{}k (n \textless{} 9 \textbar{} n \textgreater{} 10) & 4 & satisfied" in latex
    assert r"\& true & -- & violated" in latex
    assert latex.count(r"\\") == 3


@pytest.mark.parametrize("formula", ["AX^k safe", "AG^k safe", "AF^k (climb > -15)", "EF[0,k] (h > -90)"])
def test_bounds_over_verticalcas_are_those_of_single_questions(formula: str) -> None:
    system = load_scenario("vcas").system(climb0="-25.5")
    bounds = range(1 - formula.count("["), 9)
    holds = [k for k in bounds if verify(system, formula.replace("k", str(k), 1)).satisfied]
    fails = [k for k in bounds if k not in holds]
    (least,) = verify_all(system, [formula], least=8)
    (most,) = verify_all(system, [formula], most=8)
    assert least.bound == min(holds, default=None)
    before = min(fails, default=9) - 1
    assert most.bound == (before if before in bounds else None)
