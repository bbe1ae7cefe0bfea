"""One entry for formulas of CTL and LTL: which of the two a text is, and what is said where it is neither."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import venmas
from venmas import System, verify
from venmas.errors import FormulaError, InputError
from venmas.logic import Bounded, Formula, Linear, is_linear
from venmas.logic.either import parse_either
from venmas.logic.ltl_parser import parse_ltl
from venmas.logic.parser import parse_property
from venmas.model.scenario.scenario import scenario_names
from venmas.model.system.letters import letters_of
from venmas.question import read_system_property

_SIGN = re.compile(r"^[^\n]{0,300}(?:[<>=]|\b[AE][XFG])[^\n]{0,300}$")


def named(*names: str) -> System:
    system = System("named")
    for name in names:
        system.integer(name, 0, 9)
    system.initial(*(system[name] == 0 for name in names))
    system.branch("stay")
    return system


def read(text: str, system: System | None = None) -> object:
    system = system or named("p", "q")
    return parse_either(text, system.vocabulary, lambda one: parse_ltl(one, letters_of(system)))


@pytest.mark.parametrize(
    "text",
    ["AG p >= 1", "AG^5 p >= 1", "E (p >= 1 U^3 q >= 1)", "p >= 1", "A (p >= 1 U q >= 1)", "EF p >= 1 & AX q >= 1"],
)
def test_what_ctl_reads_is_ctl(text: str) -> None:
    assert read(text) == parse_property(text, named("p", "q").vocabulary)


@pytest.mark.parametrize(
    "text",
    [
        "G F p >= 1",
        "GF p >= 1",
        "X p >= 1",
        "p >= 1 U q >= 1",
        "p >= 1 R q >= 1",
        "p >= 1 W q >= 1",
        "p >= 1 M q >= 1",
        'F "branch stay"',
        "!(F G p >= 1)\n-> G q == 0",
    ],
)
def test_what_only_ltl_reads_is_ltl(text: str) -> None:
    found = read(text)
    assert isinstance(found, Formula) and is_linear(found)
    assert isinstance(read_system_property(named("p", "q"), text), Linear)


@pytest.mark.parametrize(
    ("text", "linear", "branching", "line", "column"),
    [
        ("AG (F p >= 1)", "F", "AG", 1, 5),
        ("G (EF p >= 1)", "G", "EF", 1, 1),
        ("AG p >= 1 &\n X q >= 1", "X", "AG", 2, 2),
        ("G F (E (p >= 1 U q >= 1))", "G", "E", 1, 1),
        ("AF GF p >= 1", "GF", "AF", 1, 4),
    ],
)
def test_mixtures_are_refused_by_both_operators(text: str, linear: str, branching: str, line: int, column: int) -> None:
    with pytest.raises(FormulaError, match=f"`{linear}` is an operator of LTL .*`{branching}` one of CTL") as caught:
        read(text)
    assert f"line {line}, column {column}" in str(caught.value) or (caught.value.line, caught.value.column) == (
        line,
        column,
    )


def test_names_of_the_system_win() -> None:
    """X, F, G, R, W and M are variables here (U is none in CTL): comparisons of these are of CTL."""
    system = named("X", "F", "G", "R", "W", "M")
    for text in ("X > 1", "AG X > 1", "F + G <= 3 & G == R", "AX (W == 0 | M == 0)"):
        assert read(text, system) == parse_property(text, system.vocabulary)
    report = verify(system, "AG^2 X == 0")
    assert report.satisfied and report.kind == Bounded.kind


@pytest.mark.parametrize(
    "text", ["p >", "AG", "G", "p >= 1 &", "m >= 1", "G m >= 1", "p U", '"F p"', "AG^x p >= 1", ""]
)
def test_what_is_of_neither_is_a_formula_error(text: str) -> None:
    with pytest.raises(FormulaError):
        read(text)


def test_errors_of_ctl_stay_those_of_ctl() -> None:
    """A text without an operator of LTL is told what the parser of CTL says."""
    for text in ("AG p >", "m >= 1", "AG^5 (p >= 1"):
        with pytest.raises(FormulaError) as ours:
            read(text)
        with pytest.raises(FormulaError) as theirs:
            parse_property(text, named("p", "q").vocabulary)
        assert str(ours.value) == str(theirs.value)


def test_formulas_of_scenarios_and_tests_are_read_as_before() -> None:
    """Every text in the tests and scenarios that CTL reads over letters of its own is still read by it."""
    system = named("p", "q", "x", "n")
    count = 0
    for path in sorted(
        [*Path(__file__).parents[1].rglob("*.py"), *Path(__file__).parents[2].glob("scenarios/**/*.py")]
    ):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and _SIGN.search(node.value):
                try:
                    expected = parse_property(node.value, system.vocabulary)
                except FormulaError:
                    continue
                count += 1
                assert read(node.value, system) == expected
    assert count > 200


def test_bundled_scenarios_ask_what_they_asked() -> None:
    """Named properties of every bundled scenario that needs no file are properties of CTL, as CTL reads them."""
    count = 0
    for known in scenario_names():
        try:
            system = venmas.load_scenario(known).system()
        except InputError:
            continue
        for name, text in system.properties.items():
            asked = parse_property(text, system.vocabulary)
            assert read_system_property(system, name) == asked
            count += 1
    assert count >= 20, count
