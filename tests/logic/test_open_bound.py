"""Formulas with an open bound: what is claimed of their course holds in random finite models."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies_logic import finite_models
from venmas.errors import FormulaError
from venmas.logic import FiniteModel, Formula, Vocabulary, evaluate, parse
from venmas.logic.open_bound import at_bound, course, first_bound

pytestmark = pytest.mark.quick

VOCABULARY = Vocabulary(("x", "y"))
P, Q = "(x > 0)", "(y <= 0)"


def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    bounds = st.sampled_from(["^k", "^2", "[0,k]", "[1,k]", "[k,4]", "[k,k]"])
    windowed = st.builds("{}{} ({})".format, st.sampled_from(["AG", "EG", "AF", "EF"]), bounds, inner)
    until = st.builds("{}(({}) U{} ({}))".format, st.sampled_from("AE"), inner, bounds, inner)
    joined = st.builds("({}) {} ({})".format, inner, st.sampled_from(["&", "|", "->", "<->"]), inner)
    nexts = st.builds("{} ({})".format, st.sampled_from(["!", "AX", "EX^k", "AX^k"]), inner)
    return windowed | until | joined | nexts


TEXTS = st.recursive(st.sampled_from([P, Q]), larger, max_leaves=4).filter(lambda text: "k" in text)


@given(TEXTS, finite_models())
def test_the_course_is_that_of_the_meaning(text: str, model: FiniteModel) -> None:
    low = first_bound(text, 4, VOCABULARY)
    found = course(text, low, VOCABULARY) if low < 4 else ""
    holds = [evaluate(parse(at_bound(text, k), VOCABULARY), model) for k in range(low, 5)]
    for fewer, more in pairwise(holds):
        if found in ("rises", "same"):
            assert fewer <= more, text
        if found in ("falls", "same"):
            assert fewer >= more, text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"AG^k {P}", "falls"),
        (f"EG[2,k] {P}", "falls"),
        (f"AF^k {P}", "rises"),
        (f"E({P} U^k {Q})", "rises"),
        (f"AG[k,9] {P}", "rises"),
        (f"AF[k,9] {P}", "falls"),
        (f"!AG^k {P} | EF^k {Q}", "rises"),
        (f"AF^k {P} -> AG^k {Q}", "falls"),
        (f"AX^k {P}", ""),
        (f"AG^k (EF^k {P})", ""),
        (f"AG^k {P} <-> {Q}", ""),
        (f"AG[k,k] {P}", ""),
    ],
)
def test_courses_that_are_known(text: str, expected: str) -> None:
    assert course(text, 3, VOCABULARY) == expected


def test_only_bounds_are_filled() -> None:
    assert at_bound('AG[ 0 , k ] (k > 1 & "^k" < 2) | EF^ k p', 7) == 'AG[ 0 , 7 ] (k > 1 & "^k" < 2) | EF^ 7 p'
    for text in ("AG^5 k", '"AG^k" > 1', "AG^kk p", ""):
        with pytest.raises(FormulaError, match="no open bound"):
            at_bound(text, 3)


def test_the_first_bound() -> None:
    assert first_bound(f"AX^k {P}", 9, VOCABULARY) == 1
    assert first_bound(f"AG[0,k] {P}", 9, VOCABULARY) == 0
    assert first_bound(f"AG[4,k] {P}", 9, VOCABULARY) == 4
    with pytest.raises(FormulaError, match=r"window \[4,3\]"):
        first_bound(f"AG[4,k] {P}", 3, VOCABULARY)


def test_what_is_nested_deeply_has_no_known_course() -> None:
    deep: str = "AF^k (" * 3000 + P + ")" * 3000
    assert isinstance(parse(at_bound(deep, 1), VOCABULARY), Formula)
    assert course(deep, 1, VOCABULARY) == ""
