"""The recipe of a kind of proof: one that says that the declared box is inductive, and each step left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

from venmas.checker import file
from venmas.checker.format import rule as registry
from venmas.checker.format.about import About
from venmas.checker.format.lines import Checked, Lines
from venmas.checker.format.numbers import CheckError
from venmas.checker.format.rule import Rule
from venmas.checker.inductive.check import check_inductive
from venmas.engine.certificates.file import write
from venmas.engine.certificates.kept import Certificate
from venmas.logic import parse_property
from venmas.model import System
from venmas.model.invariant import Invariant
from venmas.procedures.inductive.trees import closed
from venmas.question import Question, always

pytestmark = pytest.mark.quick

BOX = Invariant((), ("",))


@dataclass(frozen=True, slots=True)
class Whole(Rule):
    """The set is the declared box; the trees of its claims follow."""


@dataclass(frozen=True)
class BoxProof:
    """Its line, and the trees."""

    kind: ClassVar[str] = "whole-box"

    def lines(self, question: Question, tick: Callable[[], None]) -> Iterator[Rule]:
        yield Whole()
        yield from closed(question.system, always(question).invariant, BOX, tick)


class EmptyProof(BoxProof):
    """Without its line."""

    def lines(self, question: Question, tick: Callable[[], None]) -> Iterator[Rule]:
        yield from closed(question.system, always(question).invariant, BOX, tick)


def proved(about: About, lines: Lines) -> Checked:
    lines.next(Whole)
    return check_inductive(about.system, about.invariant, BOX, lines, "real")


@pytest.fixture
def ruled(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first step of the recipe: the rule is registered."""
    monkeypatch.setattr(registry, "RULES", dict(registry.RULES))
    registry.rule("whole")(Whole)


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second: the kind is known."""
    kinds = {**file.KINDS, "whole-box": file.Kind(("always",), frozenset({"inside"}), __name__)}
    monkeypatch.setattr(file, "KINDS", kinds)


@pytest.fixture
def question() -> Question:
    """Two variables that change places."""
    system = System("turn")
    x, y = system.real("x", 0, 1), system.real("y", 0, 1)
    system.branch("go", x=y, y=1 - x)
    system.initial(x == 0)
    return Question(system, parse_property("AG x <= 1", system.vocabulary))


def written(folder: Path, question: Question, proof: BoxProof) -> Path:
    path = folder / "c.gz"
    assert isinstance(write(path, question, proof), Certificate)
    return path


@pytest.mark.usefixtures("ruled", "known")
def test_it_is_written_and_checked(question: Question, tmp_path: Path) -> None:
    assert file.check_certificate(written(tmp_path, question, BoxProof()), question.system).leaves


@pytest.mark.usefixtures("ruled", "known")
def test_a_false_claim_is_refused(tmp_path: Path) -> None:
    system = System("leaving")
    x = system.real("x", 0, 1)
    system.branch("go", x=x + 1)
    system.initial(x == 0)
    false = Question(system, parse_property("AG x <= 1", system.vocabulary))

    class Lie(BoxProof):
        def lines(self, question: Question, tick: Callable[[], None]) -> Iterator[Rule]:
            yield Whole()

    with pytest.raises(CheckError):
        file.check_certificate(written(tmp_path, false, Lie()), system)


@pytest.mark.usefixtures("known")
def test_without_its_rule_it_is_refused(question: Question, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Whole, "name", "whole", raising=False)
    path = written(tmp_path, question, BoxProof())
    with pytest.raises(CheckError, match="expected whole"):
        file.check_certificate(path, question.system)


@pytest.mark.usefixtures("ruled")
def test_a_kind_that_is_not_listed_is_refused(question: Question, tmp_path: Path) -> None:
    with pytest.raises(CheckError, match="its kind of proof is none of"):
        file.check_certificate(written(tmp_path, question, BoxProof()), question.system)


@pytest.mark.usefixtures("ruled", "known")
def test_without_its_line_it_is_refused(question: Question, tmp_path: Path) -> None:
    with pytest.raises(CheckError, match="expected whole"):
        file.check_certificate(written(tmp_path, question, EmptyProof()), question.system)


def test_the_page_has_a_row_for_each_kind() -> None:
    page = (Path(__file__).parents[2] / "docs" / "certificates.md").read_text(encoding="utf-8")
    table = page.split("| kind of proof |")[1].split("\n\n")[0]
    cells = " ".join(row.split("|")[1] for row in table.splitlines() if row.startswith("| `"))
    assert {name for name in (*file.KINDS, file.NETLIST) if f"`{name}`" not in cells} == set()
