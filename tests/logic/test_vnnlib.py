"""VNN-LIB texts: what they mean, and what is said about wrong ones."""

from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from venmas.errors import FormulaError, UsageError
from venmas.formats.vnnlib import parse_vnnlib, read_vnnlib

pytestmark = pytest.mark.quick

DECLARED = "".join(f"(declare-const {v} Real)\n" for v in ("X_0", "X_1", "Y_0", "Y_1"))
BOX = "(assert (>= X_0 0)) (assert (<= X_0 1)) (assert (and (>= X_1 -1.5e0) (<= X_1 (- 0.25))))\n"


def values(*numbers: object) -> dict[str, Fraction]:
    return dict(zip(("X_0", "X_1", "Y_0", "Y_1"), map(Fraction, numbers), strict=True))


def test_a_box_and_a_condition() -> None:
    query = parse_vnnlib(DECLARED + BOX + "; a comment (assert false)\n(assert (or (<= Y_0 Y_1) (>= (* 2.0 Y_0) 0.1)))")
    (case,) = query.cases
    assert (query.inputs, query.outputs) == (2, 2)
    assert case.boxes == (((Fraction(0), Fraction(1)), (Fraction(-3, 2), Fraction(-1, 4))),)
    assert str(case.condition) == "Y_0 - Y_1 <= 0 | 2*Y_0 >= 0.1"
    assert query.holds(values(0, -1, "1/20", 0))
    assert not query.holds(values(0, -1, "1/21", 0))
    assert query.holds(values(0, -1, "1/21", 0), slack=Fraction(1, 100))
    assert not query.holds(values(2, -1, 0, 0))


def test_boxes_in_a_disjunction_share_a_condition() -> None:
    text = DECLARED + BOX.replace("<= X_0 1", "<= X_0 3") + "(assert (or (<= X_0 1) (and (>= X_0 2) (<= X_1 -1))))"
    (case,) = parse_vnnlib(text + "(assert (<= Y_0 0))").cases
    assert [box[0] for box in case.boxes] == [(0, 1), (2, 3)]
    assert [box[1][1] for box in case.boxes] == [Fraction(-1, 4), -1]


def test_disjuncts_with_outputs_of_their_own_are_cases() -> None:
    text = DECLARED + BOX + "(assert (or (and (<= X_0 0.5) (<= Y_0 0)) (and (>= X_0 0.5) (>= Y_1 X_1))))"
    first, second = parse_vnnlib(text).cases
    assert (first.boxes[0][0], str(first.condition)) == ((0, Fraction(1, 2)), "Y_0 <= 0")
    assert (second.boxes[0][0], str(second.condition)) == ((Fraction(1, 2), 1), "-X_1 + Y_1 >= 0")


def test_strict_bounds_of_inputs_stay_conditions() -> None:
    (case,) = parse_vnnlib(DECLARED + BOX + "(assert (< X_0 1)) (assert (<= Y_0 0))").cases
    assert case.boxes[0][0] == (0, 1)
    assert str(case.condition) == "X_0 < 1 & Y_0 <= 0"


@pytest.mark.parametrize("extra", ["(assert (>= X_0 2))", "(assert false)", "(assert (<= 1 0))"])
def test_what_nothing_meets_has_no_case(extra: str) -> None:
    assert parse_vnnlib(DECLARED + BOX + extra).cases == ()


def test_other_notations() -> None:
    text = "(set-logic QF_LRA)(declare-fun X_0 () Real)(declare-const Y_0 Real)(check-sat)"
    text += "(assert (<= 0 X_0 1))(assert (not (=> (> Y_0 0) (= X_0 (/ 1 3)))))"
    query = parse_vnnlib(text)
    assert query.cases[0].boxes == (((0, 1),),)
    assert str(query.cases[0].condition) == "Y_0 > 0 & X_0 != 1/3"


CONDITIONS = st.recursive(
    st.builds(
        "({} {} {})".format,
        st.sampled_from(("<=", ">=", "<", ">", "=")),
        st.sampled_from(("X_0", "X_1", "Y_0", "(+ X_0 (* -2 Y_1))")),
        st.sampled_from(("0", "1", "-0.5", "Y_0")),
    ),
    lambda inner: st.one_of(
        st.builds("(not {})".format, inner),
        st.builds("({} {} {})".format, st.sampled_from(("and", "or", "=>")), inner, inner),
    ),
    max_leaves=6,
)


@settings(max_examples=60, deadline=None)
@given(CONDITIONS)
def test_cases_say_what_the_assertion_says(condition: str) -> None:
    box = "(assert (<= -1 X_0 1))(assert (<= -1 X_1 1))"
    query = parse_vnnlib(DECLARED + box + f"(assert {condition})")
    numbers = (Fraction(-3, 2), Fraction(-1, 2), Fraction(0), Fraction(1))
    for point in product(numbers, repeat=4):
        at = values(*point)
        inside = [
            all(low <= at[f"X_{i}"] <= high for i, (low, high) in enumerate(box))
            and type(query)(2, 2, case.condition, ()).holds(at)
            for case in query.cases
            for box in case.boxes
        ]
        assert any(inside) == query.holds(at)


@pytest.mark.parametrize(
    ("text", "told", "line", "column"),
    [
        ("(assert (<= X_0 1)", "not closed", 1, 1),
        ("(assert (<= X_0 1))", "X_0 is not declared", 1, 13),
        (DECLARED + "(assert (<= X_0 1)))", "closes nothing", 5, 20),
        (DECLARED + "(assert (=< X_0 1))", "no operator", 5, 10),
        (DECLARED + "(assert (<= (* X_0 Y_0) 1))", "not linear", 5, 13),
        (DECLARED + "(assert (<= (/ X_0 0) 1))", "do not divide by 0", 5, 13),
        (DECLARED + "(assert (<= X_0 1.2.3))", "expected a number", 5, 17),
        (DECLARED + "(assert (<= X_0 1e9999))", "beyond 1e100", 5, 17),
        (DECLARED + f"(assert (<= (* 1.{'0' * 400}1 X_0) (+ X_0 1)))", "closer to 0 than 1e-100", 5, 9),
        (DECLARED + "(assert (<= X_0))", "compares two terms", 5, 9),
        (DECLARED + "(assert (and))", "does not take 0 conditions", 5, 9),
        (DECLARED + "(assert X_0)", "expected a condition", 5, 9),
        (DECLARED + "(assert)", "takes one condition", 5, 1),
        (DECLARED + "(push 1)", "no command", 5, 1),
        (DECLARED + "assert", "no command", 5, 1),
        (DECLARED + "()", "no command", 5, 1),
        (DECLARED + "(declare-const X_0 Real)", "declared twice", 5, 16),
        (DECLARED + "(declare-const Z Real)", "expected (declare-const X_0 Real)", 5, 1),
        (DECLARED + "(declare-const X_3 Real)", "X_2 is not declared", 5, 16),
        (DECLARED + "(assert (<= X_0 1))", "X_0 has no lower bound", 5, 20),
        ("(declare-const X_0 Real)", "no output is declared", 1, 25),
        ("", "no input is declared", 1, 1),
        ("(" * 200, "inside each other", 1, 101),
        (DECLARED + f"(assert (<= X_0 {'1' * 2000}))", "characters", 5, 17),
    ],
)
def test_errors_name_line_and_column(text: str, told: str, line: int, column: int) -> None:
    with pytest.raises(FormulaError) as caught:
        parse_vnnlib(text, "p.vnnlib")
    assert str(caught.value).startswith("p.vnnlib: ")
    assert told in str(caught.value)
    assert (caught.value.line, caught.value.column) == (line, column)


def test_too_many_boxes() -> None:
    either = "".join(f"(assert (or (<= X_0 0.{i}1) (>= X_1 0.{i}2)))" for i in range(20))
    with pytest.raises(FormulaError, match="split the property"):
        parse_vnnlib(DECLARED + BOX + either)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="check the path"):
        read_vnnlib(tmp_path / "none.vnnlib")
    (tmp_path / "bytes.vnnlib").write_bytes(b"\xff\xfe(")
    with pytest.raises(UsageError, match="UTF-8"):
        read_vnnlib(tmp_path / "bytes.vnnlib")
    with pytest.raises(UsageError):
        read_vnnlib("a\0b")


def test_the_properties_of_acas_xu(data_dir: Path) -> None:
    for number in range(1, 11):
        query = read_vnnlib(data_dir / "acasxu" / "vnnlib" / f"prop_{number}.vnnlib")
        assert (query.inputs, query.outputs, len(query.cases)) == (5, 5, 1)
        assert len(query.cases[0].boxes) == (2 if number == 6 else 1)
