"""The recipe of `venmas.checker.rules`: a rule is added in one room, and shows where a step of it is left out."""

from __future__ import annotations

from tests.needs import needs

needs("jsonschema")

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import pytest

from tests.checker.proofs import Certified, refusal
from tests.checker.test_certificate_schema import assert_schema_has
from venmas.checker import rule as registry
from venmas.checker import rules
from venmas.checker.cell import rational
from venmas.checker.check import CheckError
from venmas.checker.file import check_certificate
from venmas.checker.goals import Goal
from venmas.checker.initial import first_goal
from venmas.checker.lemmas import Book
from venmas.checker.numbers import read_index
from venmas.checker.rule import Line, Place, Rule, Step
from venmas.engine.certify import Certificate, write_certificate
from venmas.logic import Bounded, parse
from venmas.model import System, where
from venmas.question import Question

pytestmark = pytest.mark.quick


@dataclass(frozen=True, slots=True)
class Halve(Step):
    """The cell is cut in the middle of one of its variables: the halves cover it."""

    axis: int

    @classmethod
    def from_json(cls, data: Line, at: Place) -> Self:
        (axis,) = cls.entries(data, at)
        return cls(read_index(at.line, axis, at.free))

    def apply(self, goal: Goal, at: Place) -> list[Goal]:
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


def proof(question: Question, first: Step) -> Callable[[Callable[[Rule], None]], int]:
    """What writes it."""
    return lambda write: sum(write(made) is None for made in steps(question, first))


def lines(question: Question) -> tuple[dict[str, object], ...]:
    """The lines of a proof by the rule, written by hand."""
    body = [made.to_json() for made in steps(question, Halve(0)) if not isinstance(made, Halve)]
    return (body[0], {"rule": "halve", "axis": 0}, *body[1:], {"rule": "end", "lines": len(body) + 2})


def test_a_new_rule_is_written_and_checked(registered: type[Halve], question: Question, tmp_path: Path) -> None:
    path = tmp_path / "c.gz"
    written = write_certificate(path, question, {}, proof(question, registered(0)))
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
        ({"axis": True}, "from 0 to 0"),
        ({"axis": "0"}, "from 0 to 0"),
        ({}, "no rule for this goal"),
        ({"axis": 0, "more": 0}, "no rule for this goal"),
        ({"at": 0}, "no rule for this goal"),
    ],
)
def test_its_lines_are_read_strictly(registered: type[Halve], question: Question, entries, problem) -> None:
    first, _, *rest = lines(question)
    refused = refusal(Certified(question.system, question.formula, False, (first, {"rule": "halve", **entries}, *rest)))
    assert refused is not None and "line 2" in refused and problem in refused


def test_without_registration_its_lines_are_refused(question: Question) -> None:
    refused = refusal(Certified(question.system, question.formula, False, lines(question)))
    assert refused is not None and "line 2: no rule for this goal: {'rule': 'halve'" in refused


@pytest.mark.parametrize("missing", ["from_json", "apply"])
def test_without_one_of_its_methods_it_can_not_be_registered(missing: str) -> None:
    kept = {name: Halve.__dict__[name] for name in ("from_json", "apply") if name != missing}
    part = dataclass(frozen=True)(type("Part", (Step,), {"__annotations__": {"axis": "int"}, **kept}))
    with pytest.raises(TypeError, match=f"Part lacks {missing}"):
        registry.rule("part")(part)
    assert "part" not in rules.RULES


def test_a_class_that_is_no_dataclass_and_a_name_that_is_taken_are_refused(registered: type[Halve]) -> None:
    plain = type("Plain", (Step,), {name: Halve.__dict__[name] for name in ("from_json", "apply")})
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
    assert refused is not None and 'line 1: expected the line {"rule": "region", "index": 0}' in refused


def test_a_rule_that_its_goal_does_not_follow_from_is_refused(registered: type[Halve], question: Question) -> None:
    """What `apply` raises is the refusal, with the line."""

    class Never(Halve):
        def apply(self, goal: Goal, at: Place) -> list[Goal]:
            raise CheckError(at.line, "it does not follow")

    registry.RULES["halve"] = Never
    refused = refusal(Certified(question.system, question.formula, False, lines(question)))
    assert refused == "certificate refused at line 2: it does not follow"
