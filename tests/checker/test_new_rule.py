"""The recipe of `venmas.checker.goals.rules`: a rule is added in one room, and shows where a step of it is left out."""

from __future__ import annotations

from tests.needs import needs

needs("jsonschema")

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

from tests.checker.proofs import Certified, refusal
from tests.checker.test_certificate_schema import assert_schema_has
from venmas.checker.exact.cell import rational
from venmas.checker.file import check_certificate
from venmas.checker.format import rule as registry
from venmas.checker.format.fields import Count
from venmas.checker.format.numbers import CheckError
from venmas.checker.format.rule import Rule
from venmas.checker.goals import rules
from venmas.checker.goals.goals import Goal
from venmas.checker.goals.initial import first_goal
from venmas.checker.goals.lemmas import Book
from venmas.checker.goals.rule import Place, Step
from venmas.engine.certificates.file import write
from venmas.engine.certificates.kept import Certificate
from venmas.logic import Bounded, parse
from venmas.model import System, where
from venmas.question import Question

pytestmark = pytest.mark.quick


@dataclass(frozen=True, slots=True)
class Halve(Step):
    """The cell is cut in the middle of one of its variables: the halves cover it."""

    axis: Count

    def apply(self, goal: Goal, at: Place) -> list[Goal]:
        at.index(self.axis, at.free)
        cell = goal.world.cell
        middle = (cell.low[self.axis] + cell.high[self.axis]) / 2
        return goal.split((-middle, *(rational(int(i == self.axis)) for i in range(len(cell.names)))))


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> type[Halve]:
    """The rule, registered for one test."""
    monkeypatch.setattr(registry, "RULES", dict(registry.RULES))
    return registry.rule("halve")(Halve)


@pytest.fixture
def question() -> Question:
    """Where x >= 0 is open enclosures do not tell: the set has to be halved."""
    system = System("square")
    x = system.real("x", -1, 1)
    system.branch("step", x=where(x >= 0, x / 2, -x))
    system.initial(x >= -1)
    return Question(system, Bounded(parse("AX (x >= 0 & x <= 1)", system.vocabulary)), certified=True)


def steps(question: Question, first: Step) -> Iterator[Rule]:
    """A proof that begins with a step, and expands what it leaves."""
    system = question.system
    goal = first_goal(system, system.regions[0], question.target)
    assert goal is not None
    yield rules.Region(0)
    yield first
    left = list(first.apply(goal, Place(2, Book(system, question.target, "real"), 1, 1)))
    while left:
        yield rules.Expand()
        left[-1:] = reversed(left[-1].expand())


@dataclass(frozen=True)
class Halved:
    """The proof by a step."""

    first: Step
    kind: ClassVar[str] = "goals"

    def lines(self, question: Question, tick: Callable[[], None]) -> Iterator[Rule]:
        """Its lines."""
        return steps(question, self.first)


def lines(question: Question) -> tuple[dict[str, object], ...]:
    """The lines of a proof by the rule, written by hand."""
    body = [made.to_json() for made in steps(question, Halve(0)) if not isinstance(made, Halve)]
    return (body[0], {"rule": "halve", "axis": 0}, *body[1:], {"rule": "end", "lines": len(body) + 2})


def test_a_new_rule_is_written_and_checked(registered: type[Halve], question: Question, tmp_path: Path) -> None:
    path = tmp_path / "c.gz"
    written = write(path, question, Halved(registered(0)))
    assert isinstance(written, Certificate)
    assert check_certificate(path, question.system).lines == written.lines - 1
    by_hand = Certified(question.system, question.formula, False, lines(question))
    assert refusal(by_hand) is None
    without = (*by_hand.lines[:1], *by_hand.lines[2:])
    assert refusal(by_hand.but(lines=without)) is not None  # the proof rests on the rule


@pytest.mark.parametrize(
    ("entries", "problem"),
    [
        ({"axis": 1}, "from 0 to 0"),
        ({"axis": -1}, "halve: expected a whole number from 0 as axis, got -1"),
        ({"axis": True}, "halve: expected a whole number from 0 as axis, got True"),
        ({"axis": "0"}, "halve: expected a whole number from 0 as axis, got '0'"),
        ({}, "halve: expected the entries axis, got []"),
        ({"axis": 0, "more": 0}, "halve: expected the entries axis, got ['axis', 'more']"),
        ({"at": 0}, "halve: expected the entries axis, got ['at']"),
    ],
)
def test_its_lines_are_read_strictly(registered: type[Halve], question: Question, entries, problem) -> None:
    first, _, *rest = lines(question)
    refused = refusal(Certified(question.system, question.formula, False, (first, {"rule": "halve", **entries}, *rest)))
    assert refused is not None and "line 2" in refused and problem in refused


def test_without_registration_its_lines_are_refused(question: Question) -> None:
    refused = refusal(Certified(question.system, question.formula, False, lines(question)))
    assert refused is not None and "line 2: expected a step of a proof of a goal: {'rule': 'halve'" in refused


def test_without_its_method_it_can_not_be_registered() -> None:
    half = dataclass(frozen=True)(type("Half", (Step,), {"__annotations__": {"axis": "int"}}))
    with pytest.raises(TypeError, match="Half lacks apply"):
        registry.rule("half")(half)
    assert "half" not in rules.RULES


def test_a_field_of_a_type_that_no_line_has_can_not_be_registered() -> None:
    odd = {"__annotations__": {"axis": "float"}, "apply": Halve.apply}
    with pytest.raises(TypeError, match="no entry of a certificate is of the type <class 'float'>"):
        registry.rule("odd")(dataclass(frozen=True)(type("Odd", (Step,), odd)))
    assert "odd" not in rules.RULES


def test_a_class_that_is_no_dataclass_and_a_name_that_is_taken_are_refused(registered: type[Halve]) -> None:
    plain = type("Plain", (Step,), {"apply": Halve.apply})
    with pytest.raises(TypeError, match="no dataclass"):
        registry.rule("plain")(plain)
    with pytest.raises(TypeError, match="'split' exists already: Split"):
        registry.rule("split")(Halve)


def test_without_its_documentation_the_schema_disagrees(registered: type[Halve]) -> None:
    with pytest.raises(AssertionError, match="halve"):
        assert_schema_has(registry.RULES)


def test_a_step_is_no_statement(registered: type[Halve], question: Question) -> None:
    first, step, *rest = lines(question)
    refused = refusal(Certified(question.system, question.formula, False, (step, first, *rest)))
    assert refused is not None and "line 1: expected frame or lemma or table or region or program" in refused


def test_a_rule_that_its_goal_does_not_follow_from_is_refused(registered: type[Halve], question: Question) -> None:
    """What `apply` raises is the refusal, with the line."""

    @dataclass(frozen=True)
    class Never(Halve):
        def apply(self, goal: Goal, at: Place) -> list[Goal]:
            raise CheckError(at.line, "it does not follow")

    del registry.RULES["halve"]
    registry.rule("halve")(Never)
    refused = refusal(Certified(question.system, question.formula, False, lines(question)))
    assert refused == "certificate refused at line 2: it does not follow"
