"""LTL of circuits in Python: the report, its JSON and schema, its page."""

from __future__ import annotations

from tests.needs import needs

needs("jsonschema")

import json
import xml.etree.ElementTree as ET
from base64 import b64decode
from dataclasses import replace
from pathlib import Path
from re import findall, search
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import venmas
from tests.netlists import counting
from venmas.engine import linear
from venmas.errors import FormulaError, UsageError
from venmas.formats.btor2.reader import parse_btor2
from venmas.logic.automata.translate import refuting
from venmas.logic.ltl_parser import parse_ltl
from venmas.model.circuit.nodes import Circuit
from venmas.procedures.ranking.learners import MINED, learner_names
from venmas.report.automaton_picture import automaton_picture
from venmas.report.page import Checks, Source, html_page
from venmas.runtime.choices import LEARNERS, TRUSTS

SCHEMA = Draft202012Validator(
    json.loads((Path(__file__).resolve().parents[2] / "docs" / "result.schema.json").read_text())
)


def counter(bits: int = 4, by: int = 1) -> Circuit:
    return parse_btor2(counting(bits=bits, by=by))


def test_words_that_are_none_of_the_choices_are_refused() -> None:
    """A trust that nobody knows is not taken for that in a solver."""
    with pytest.raises(UsageError, match="unknown trust 'proofs': choose one of"):
        venmas.verify(counter(), "F G !stop -> G F nine", trust="proofs")
    with pytest.raises(UsageError, match="unknown learner 'best'"):
        venmas.verify(counter(), "F G !stop -> G F nine", tune={"ranking.learner": "best"})


def test_choices_have_what_stands_for_them() -> None:
    assert set(MINED) < set(LEARNERS) <= set(learner_names())
    assert SCHEMA.schema["properties"]["trust"]["enum"] == list(TRUSTS)


def test_a_proof_in_python() -> None:
    report = venmas.verify(counter(), "F G !stop -> G F nine")
    assert report.satisfied and report.verdict is venmas.Verdict.SATISFIED
    assert report.lasso is None and (report.reason, report.message) == ("", "")
    data = report.to_json()
    SCHEMA.validate(data)
    assert data["proof"]["by"] == "ranking functions" and data["decided_by"] == "ranking"
    assert data["proof"]["texts"] == ["V1 = -n + 16 [n>8]"]
    assert data["proof"]["obligations"][0]["clauses"] > 0
    assert data["basis"] == "exact" and data["seconds"]["total"] > 0


def test_the_word_of_the_solver_is_told() -> None:
    data = venmas.verify(counter(), "F G !stop -> G F nine", trust="solver").to_json()
    SCHEMA.validate(data)
    assert data["basis"] == "solver" and "Bitwuzla" in data["proof"]["said"]
    assert data["proof"]["obligations"][0]["clauses"] is None


def test_the_word_of_two_solvers_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """No certificate was asked for, and nothing is said of one."""
    monkeypatch.setattr(linear, "second_solver", lambda: ("another", lambda question, budget: True))
    report = venmas.verify(counter(), "F G !stop -> G F nine", trust="two")
    SCHEMA.validate(report.to_json())
    assert report.to_json()["trust"] == "two"
    assert report.satisfied and report.proof is not None
    assert search(r"^Bitwuzla \d+\.\d+\S* and another$", str(report.proof["said"])) or report.basis == "exact"
    needs("venmas_learners")
    small = venmas.verify(counter(by=2), "G n != 3", initial="n == 0", tune={"ranking.learner": "milp"}, trust="two")
    assert small.to_json()["proof"]["by"] == "enumeration" and small.basis == "exact"
    assert all(note.startswith("decided by explicit-ltl, not by the learner milp") for note in small.notes)


def test_a_violation_in_python() -> None:
    report = venmas.verify(counter(), parse_ltl("G F nine"), initial="n == 3")
    assert report.violated and report.lasso is not None
    assert report.lasso.states[0] == {"n": 3}
    data = report.to_json()
    SCHEMA.validate(data)
    assert data["certificate"] is None and data["proof"] is None
    assert data["property"] == "linear" and data["asked"]["initial"] == "n == 3"
    for step in data["lasso"]["steps"]:
        assert step["conditions"] == {"nine": step["state"]["n"] == 9}


def test_an_enumeration_and_an_unknown() -> None:
    """From 0 in steps of 2 no odd number is reached: all runs of 4 bits are looked at, of 64 bits they are not."""
    needs("venmas_learners")
    milp = {"ranking.learner": "milp"}  # which has no invariants
    small = venmas.verify(counter(by=2), "G n != 3", initial="n == 0", tune=milp)
    assert small.satisfied
    data = small.to_json()
    SCHEMA.validate(data)
    assert data["proof"]["by"] == "enumeration" and data["proof"]["states"] == 8
    large = venmas.verify(counter(64, by=2), "G n != 3", initial="n == 0", tune={"ranking.from": "all"}, timeout=1)
    assert not large.satisfied and not large.violated
    SCHEMA.validate(large.to_json())
    if large.verdict is venmas.Verdict.UNKNOWN:
        assert large.message


def test_fairness_and_bad_formulas() -> None:
    assert venmas.verify(counter(), "G F n == 0", fair=["nine"]).satisfied
    assert venmas.verify(counter(), "G F n == 0 & G F nine").violated
    with pytest.raises(FormulaError):
        venmas.verify(counter(), "G F &")


def test_designs_are_read_from_files(tmp_path: Path) -> None:
    (tmp_path / "counter.btor2").write_text(counting(bits=4, by=1))
    design = venmas.load_circuit(tmp_path / "counter.btor2")
    assert venmas.verify(design, "F G !stop -> G F nine").satisfied
    both = venmas.verify_all(design, ["G F nine", "G n <= 15"])
    assert [row.verdict for row in both] == ["violated", "satisfied"]


def test_interrupted_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("venmas.procedures.ranking.procedure.rank", interrupt)
    report = venmas.verify(counter(64), "F G !stop -> G F nine")
    assert (report.verdict.value, report.reason) == ("unknown", "interrupted")
    SCHEMA.validate(report.to_json())


def page_of(report: venmas.Report) -> str:
    return html_page(report, report.circuit, Source("r.json"), Checks())


def test_a_page_tells_the_invariant_and_the_certificate(tmp_path: Path) -> None:
    report = venmas.verify(counter(64, by=2), "G n != 3", initial="n == 0", certificate=tmp_path / "proof.gz")
    page = page_of(report)
    assert report.satisfied and report.certificate is not None
    assert "J0" in page and "!n[0]" in page and "the initial states" in page and report.certificate.sha256 in page
    every = page_of(venmas.verify(counter(), "F G !stop -> G F nine"))
    assert "every state" in every and "J0" not in every


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("F G !stop -> G F nine", ("satisfied", "-n + 16 [n&gt;8]", "V1 -&gt; V1", "falls")),
        ("G F nine", ("violated", "(loop)", "then step", "for ever")),
        ('G F nine & F "n[2]"', ("violated", "&amp;")),
    ],
)
def test_pages(text: str, parts: tuple[str, ...]) -> None:
    page = page_of(venmas.verify(replace(counter(), title="<script>x</script>"), text))
    assert all(part in page for part in parts), page
    assert "<script" not in page
    for picture in findall(r"data:image/svg\+xml;base64,([^\"]+)", page):
        ET.fromstring(b64decode(picture))


@pytest.mark.parametrize(
    "text", ["G F a", "a U (b U c)", "F G a -> G F b & G F c", "(a U b) U (c U d)", "false", "true"]
)
def test_pictures_show_every_state_and_edge(text: str) -> None:
    automaton = refuting(parse_ltl(text))
    picture = automaton_picture(automaton, "title")
    assert picture is not None
    root = ET.fromstring(picture.svg)
    space = "{http://www.w3.org/2000/svg}"
    assert len(root.findall(f"{space}circle")) == automaton.states
    labels = [one.text for one in root.findall(f"{space}text")]
    assert len(labels) == automaton.states + len(automaton.edges)
    wide, high = (float(root.attrib[name]) for name in ("width", "height"))
    for one in root.findall(f"{space}text"):
        assert 0 < float(one.attrib["x"]) < wide and 0 < float(one.attrib["y"]) < high


def test_large_automata_have_no_picture() -> None:
    assert automaton_picture(refuting(parse_ltl("X " * 12 + "a")), "title") is None


def test_the_page_of_a_written_proof_does_not_contradict_itself(tmp_path: Path) -> None:
    cases: list[tuple[int, Any]] = [(64, "exact"), (4, "exact"), (4, "solver")]
    for bits, trusted in cases:  # obligations as gates, and by every value
        path = tmp_path / "proof.gz"
        report = venmas.verify(counter(bits), "F G !stop -> G F nine", trust=trusted, certificate=path)
        assert report.certificate is not None and report.basis == "exact"
        page = page_of(report)
        assert "no solver is trusted" in page and "in the certificate" in page
        assert "word of" not in page and "It rests on" not in page
    plain = page_of(venmas.verify(counter(), "F G !stop -> G F nine", trust="solver"))
    assert "It rests on the word of Bitwuzla" in plain and "no solver is trusted" not in plain


@pytest.mark.parametrize(
    "text",
    [
        "F G !stopped_for_good -> G F (nine_is_here & ready)",
        "G (request -> X (grant_one U (grant_two & !request))) & G F done_with_it",
        "F G a_long_name_of_a_signal | G F another_long_name_of_one",
    ],
)
def test_no_label_lies_on_another_or_outside(text: str) -> None:
    picture = automaton_picture(refuting(parse_ltl(text)), "title")
    assert picture is not None
    root = ET.fromstring(picture.svg)
    wide, high = float(root.attrib["width"]), float(root.attrib["height"])
    boxes = []
    for node in root.iter("{http://www.w3.org/2000/svg}text"):
        x, y, half = float(node.attrib["x"]), float(node.attrib["y"]), len(node.text or "") * 3.1
        assert x - half >= 0 and x + half <= wide and 10 <= y <= high
        boxes.append((x - half, x + half, y))
    for i, (left, right, y) in enumerate(boxes):
        for other in boxes[:i]:
            assert abs(y - other[2]) >= 11 or right < other[0] or other[1] < left
