"""Verdicts about designs in a journal: told again with a run that is replayed, found only for the same question."""

from __future__ import annotations

from tests.needs import needs

needs("jsonschema")

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator
from venmas.engine.certificates.trust import decide_trusted
from venmas.engine.ltl_design_journal import DesignJournal
from venmas.report.ltl import ltl_page

import venmas
from venmas.cli.main import main
from venmas.engine import ltl
from venmas.formats.btor2.reader import parse_btor2
from venmas.logic.ltl_parser import parse_ltl
from venmas.model.circuit.nodes import Circuit

SCHEMA = Draft202012Validator(
    json.loads((Path(__file__).resolve().parents[2] / "docs" / "ltl-result.schema.json").read_text())
)
COUNTER = """
1 sort bitvec 1
2 sort bitvec 4
3 input 1 stop
4 state 2 n
5 constd 2 {by}
6 zero 2
7 add 2 4 5
8 ite 2 3 6 7
9 next 2 4 8
10 constd 2 9
11 eq 1 4 10
12 output 11 nine
"""
PROVED, BROKEN = "F G !stop -> G F nine", "G F nine"


def counter(by: int = 1) -> Circuit:
    return parse_btor2(COUNTER.format(by=by))


@pytest.fixture
def decided(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What was not recalled."""
    found: list[object] = []
    monkeypatch.setattr(ltl, "decide_trusted", lambda *about: found.append(about) or decide_trusted(*about))
    return found


def test_a_verdict_is_told_again(tmp_path: Path, decided: list[object]) -> None:
    journal, design = tmp_path / "journal.db", counter()
    questions = [(PROVED, ()), (BROKEN, ()), ("G F n == 0", ("nine",))]
    first = [venmas.verify_ltl(design, text, fair=fair, journal=journal) for text, fair in questions]
    assert len(decided) == 3
    again = [venmas.verify_ltl(design, text, fair=fair, journal=journal) for text, fair in questions]
    assert len(decided) == 3 and [one.verdict.value for one in again] == ["satisfied", "violated", "satisfied"]
    for one, other in zip(first, again, strict=True):
        assert (one.verdict, one.lasso, one.work.cone) == (other.verdict, other.lasso, other.work.cone)
        assert not one.recalled and "an earlier run" in other.recalled
        data = other.to_json()
        SCHEMA.validate(data)
        assert data["notes"] == [other.recalled] and data["certificate"] is None
        assert "an earlier run" in ltl_page(other)


def test_another_question_is_not_that_one(tmp_path: Path, decided: list[object]) -> None:
    """Design, initial states, what a proof is about, learner and trust are parts of it; unknowns are not kept."""
    journal = tmp_path / "journal.db"
    assert venmas.verify_ltl(counter(), PROVED, journal=journal).satisfied
    assert venmas.verify_ltl(counter(3), PROVED, journal=journal).satisfied
    assert venmas.verify_ltl(counter(), PROVED, journal=journal, init="n == 3").satisfied
    assert venmas.verify_ltl(counter(), PROVED, journal=journal, initial=False).satisfied
    assert venmas.verify_ltl(counter(), PROVED, journal=journal, learner="mined").satisfied
    assert venmas.verify_ltl(counter(), PROVED, journal=journal, trust="solver").satisfied
    assert venmas.verify_ltl(counter(2), PROVED, journal=journal, init="n == 0", timeout=1e-9).reason == "time"
    assert venmas.verify_ltl(counter(2), PROVED, journal=journal, init="n == 0").violated
    assert len(decided) == 8


def test_a_proof_that_is_wanted_is_made_anew(tmp_path: Path, decided: list[object]) -> None:
    journal, design = tmp_path / "journal.db", counter()
    for options in ({}, {"certificate": tmp_path / "proof.gz"}, {"anew": True}):
        assert venmas.verify_ltl(design, PROVED, journal=journal, **options).ranked
    assert len(decided) == 3 and (tmp_path / "proof.gz").exists()


def test_an_odd_entry_is_not_believed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    journal, design = tmp_path / "journal.db", counter()
    assert venmas.verify_ltl(design, BROKEN, journal=journal).violated
    about = (journal, design, parse_ltl(BROKEN), [], "exact", "auto", True)
    with DesignJournal(*about) as kept:
        stored = kept._store.get(kept._key)
        assert stored is not None and kept.recall(True) is not None
    for odd in ({"back": 99}, {"inputs": [[0]] * 3}, {"first": []}, {"verdict": "maybe"}, {"cone": 3}, {"seconds": ""}):
        with DesignJournal(*about) as kept:
            kept._store.put(kept._key, {**stored, **odd})
            assert kept.recall(False) is None
    assert "sought anew" in caplog.text


def test_the_command(tmp_path: Path) -> None:
    design, page = tmp_path / "counter.btor2", tmp_path / "page.html"
    design.write_text(COUNTER.format(by=1))
    asked = ["ltl", "--btor2", str(design), "--journal", str(tmp_path / "j"), "--html", str(page), "--property"]
    for text, status in ((PROVED, 0), (BROKEN, 10)):
        assert CliRunner().invoke(main, [*asked, text]).exit_code == status
        done = CliRunner().invoke(main, [*asked, text])
        assert done.exit_code == status and "this verdict is that of an earlier run" in done.output
        assert "an earlier run" in page.read_text()
    assert "(loop)" in done.output
    network = tmp_path / "ranks.onnx"
    assert CliRunner().invoke(main, [*asked, PROVED, "--network", str(network)]).exit_code == 0 and network.exists()
    over = CliRunner().invoke(main, ["ltl", "--btor2", str(design), "--journal", str(design), "--property", PROVED])
    assert over.exit_code == 2 and design.read_text() == COUNTER.format(by=1)
