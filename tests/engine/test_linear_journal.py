"""LTL of designs in the journal: verdicts that are told again, lassos that are replayed, proofs that are made anew."""

from __future__ import annotations

from tests.needs import needs

needs("jsonschema")

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

import venmas
from tests.netlists import counting
from venmas.cli.main import main
from venmas.engine.journal import Journal
from venmas.engine.linear import LinearVerification
from venmas.formats.btor2.reader import parse_btor2
from venmas.model.circuit.nodes import Circuit

SCHEMA = Draft202012Validator(
    json.loads((Path(__file__).resolve().parents[2] / "docs" / "result.schema.json").read_text())
)
PROVED, BROKEN = "F G !stop -> G F nine", "G F nine"


def counter(by: int = 1) -> Circuit:
    return parse_btor2(counting(by=by))


@pytest.fixture
def decided(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What was not recalled."""
    found: list[object] = []
    decide = LinearVerification.decide
    monkeypatch.setattr(LinearVerification, "decide", lambda *about: found.append(about) or decide(*about))
    return found


def test_a_verdict_is_told_again(tmp_path: Path, decided: list[object]) -> None:
    journal, design = tmp_path / "journal.db", counter()
    questions = [(PROVED, ()), (BROKEN, ()), ("G F n == 0", ("nine",))]
    first = [venmas.verify(design, text, fair=fair, journal=journal) for text, fair in questions]
    assert len(decided) == 3
    again = [venmas.verify(design, text, fair=fair, journal=journal) for text, fair in questions]
    assert len(decided) == 3 and [one.verdict.value for one in again] == ["satisfied", "violated", "satisfied"]
    for one, other in zip(first, again, strict=True):
        assert (one.verdict, one.lasso, one.cone, one.basis) == (other.verdict, other.lasso, other.cone, other.basis)
        assert not one.notes and "an earlier run" in other.notes[-1]
        data = other.to_json()
        SCHEMA.validate(data)
        assert data["certificate"] is None and data["proof"] is None


def test_another_question_is_not_that_one(tmp_path: Path, decided: list[object]) -> None:
    """Design, initial states, what a proof is about, learner and trust are parts of it; unknowns are not kept."""
    journal = tmp_path / "journal.db"
    assert venmas.verify(counter(), PROVED, journal=journal).satisfied
    assert venmas.verify(counter(3), PROVED, journal=journal).satisfied
    assert venmas.verify(counter(), PROVED, journal=journal, initial="n == 3").satisfied
    assert venmas.verify(counter(), PROVED, journal=journal, tune={"ranking.from": "all"}).satisfied
    assert venmas.verify(counter(), PROVED, journal=journal, tune={"ranking.learner": "mined"}).satisfied
    assert venmas.verify(counter(), PROVED, journal=journal, trust="solver").satisfied
    assert venmas.verify(counter(2), PROVED, journal=journal, initial="n == 0", timeout=1e-9).reason == "time"
    assert venmas.verify(counter(2), PROVED, journal=journal, initial="n == 0").violated
    assert venmas.verify(counter(), PROVED, journal=journal, fair=["nine"]).satisfied
    assert len(decided) >= 8


def test_a_proof_that_is_wanted_is_made_anew(tmp_path: Path, decided: list[object]) -> None:
    journal, design = tmp_path / "journal.db", counter()
    assert venmas.verify(design, PROVED, journal=journal).proof is not None
    assert venmas.verify(design, PROVED, journal=journal, certificate=tmp_path / "proof.gz").proof is not None
    assert len(decided) == 2 and (tmp_path / "proof.gz").exists()


@pytest.mark.parametrize(
    "odd",
    [
        {"lasso": {"back": 99, "steps": [], "widths": {}}},
        {"lasso": None},
        {"verdict": "maybe"},
        {"seconds": None},
        {"basis": 3, "verdict": "satisfied", "solvers": 7},
    ],
)
def test_an_odd_entry_is_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, decided: list[object], odd: dict[str, object]
) -> None:
    journal, design = tmp_path / "journal.db", counter()
    assert venmas.verify(design, BROKEN, journal=journal).violated
    plain = Journal.get
    monkeypatch.setattr(
        Journal, "get", lambda self, key: None if (stored := plain(self, key)) is None else {**stored, **odd}
    )
    assert venmas.verify(design, BROKEN, journal=journal).violated
    assert len(decided) == 2


def test_a_run_of_another_design_is_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, decided: list[object]
) -> None:
    """Whatever an entry says, its run is simulated."""
    journal, design = tmp_path / "journal.db", counter()
    assert venmas.verify(design, BROKEN, journal=journal).violated
    plain = Journal.get

    def changed(self: Journal, key: str) -> object:
        stored = plain(self, key)
        if stored is not None:
            stored["lasso"]["steps"][0]["state"] = {"m": 3}
        return stored

    monkeypatch.setattr(Journal, "get", changed)
    assert venmas.verify(design, BROKEN, journal=journal).violated
    assert len(decided) == 2


def test_the_command(tmp_path: Path) -> None:
    design = tmp_path / "counter.btor2"
    design.write_text(counting(by=1))
    asked = ["verify", "--scenario", str(design), "--journal", str(tmp_path / "j"), "--formula"]
    for text, status in ((PROVED, 0), (BROKEN, 10)):
        assert CliRunner().invoke(main, [*asked, text]).exit_code == status
        done = CliRunner().invoke(main, [*asked, text])
        assert done.exit_code == status and "this verdict is that of an earlier run" in done.output
    assert "(loop)" in done.output
    over = CliRunner().invoke(
        main, ["verify", "--scenario", str(design), "--journal", str(design), "--formula", PROVED]
    )
    assert over.exit_code == 2 and design.read_text() == counting(by=1)
