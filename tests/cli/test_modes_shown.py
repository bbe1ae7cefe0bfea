"""What the terminal, the page and the JSON say of how a verdict came about: what was used, and nothing else."""

from __future__ import annotations

from tests.needs import needs

needs("jsonschema")

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from jsonschema import Draft202012Validator

from venmas.cli.main import main
from venmas.engine.modes import MODES, of_bounded, with_programs
from venmas.engine.stored import read_report
from venmas.errors import UsageError
from venmas.report import Checks, Source, html_page

pytestmark = pytest.mark.quick


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal in which no line of a table is broken."""
    monkeypatch.setenv("COLUMNS", "250")


ROOT = Path(__file__).resolve().parents[2]
SCHEMA = Draft202012Validator(json.loads((ROOT / "docs" / "result.schema.json").read_text()))
OF_PROGRAMS = ("big-m", "symbolic", "subproblems", "largest program", "encode")
OTHERS = {"abstract graph", "proof", "polytopes", "states", "boxes"}
"""What procedures without programs count."""
HOLDS, FALLS = ("--formula", "AX^2 safe"), ("--set", "climb0=-25.5", "--formula", "safe3")


def run(*args: str) -> Result:
    return CliRunner().invoke(main, ["verify", "--scenario", "vcas", *args])


def figures(text: str) -> dict[str, str]:
    """The figures on the terminal, by name."""
    lines = text.split("\n\n")[1].splitlines()
    return {line[:16].strip(): line[17:] for line in lines}


@pytest.mark.parametrize("question", [HOLDS, FALLS], ids=["holds", "falls"])
@pytest.mark.parametrize("mode", of_bounded())
def test_a_mode_prints_what_is_its_own(mode: str, question: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    done = run(*question, "--mode", mode, "--json", str(path))
    assert done.exit_code in (0, 10), done.output
    shown = figures(done.stdout)
    procedures = MODES[mode].procedures
    stored = json.loads(path.read_text())
    SCHEMA.validate(stored)
    assert stored["decided_by"] in procedures
    assert {p["name"] for p in stored["procedures"]} == procedures
    assert [p["name"] for p in stored["procedures"] if not p["why"]] == [stored["decided_by"]]
    assert shown["decided by"] == stored["decided_by"]
    if mode in with_programs():
        assert {"programs", "subproblems"} <= shown.keys() and not shown.keys() & OTHERS
        assert shown["programs"] == "big-m encoding, symbolic bounds"
    else:
        assert not any(word in done.stdout for word in OF_PROGRAMS), done.stdout
        assert shown.keys() & OTHERS
    # the page and the terminal tell the same of it
    report = read_report(stored)
    assert report.to_json() == stored
    page = html_page(report, None, Source("r.json"), Checks(undescribed="not here"))
    for name, text in shown.items():
        assert f"<dt>{name}</dt><dd>{text}</dd>" in page, name
    for tried in stored["procedures"]:
        assert tried["name"] in page and all(text in page for text in tried["figures"].values())


COUNTER = """from venmas.model import System, where


def build(networks):
    system = System("counter")
    n = system.integer("n", 0, 9)
    system.branch("count", n=where(n <= 6, n + 1, 0))
    system.initial(n == 0)
    return system
"""
FOR_EVER = {
    "fixpoints": {"states"},
    "predicate-abstraction": {"iterations", "predicates", "abstract states", "queries"},
}
"""What the procedures count that decide about it."""


@pytest.mark.parametrize(("formula", "status"), [("AG n <= 7", 0), ("AG n <= 3", 10)])
@pytest.mark.parametrize("mode", sorted(MODES.keys() - {*of_bounded(), "linear"}))
def test_a_mode_for_ever_prints_what_is_its_own(mode: str, formula: str, status: int, tmp_path: Path) -> None:
    path, scenario = tmp_path / "r.json", tmp_path / "counter.py"
    scenario.write_text(COUNTER)
    asked = ["verify", "--scenario", str(scenario), "--formula", formula, "--mode", mode, "--json", str(path)]
    done = CliRunner().invoke(main, asked)
    assert done.exit_code == status, done.output
    shown, stored = figures(done.stdout), json.loads(path.read_text())
    SCHEMA.validate(stored)
    procedures = MODES[mode].procedures
    assert {p["name"] for p in stored["procedures"]} == procedures and stored["decided_by"] in procedures
    assert not any(word in done.stdout for word in OF_PROGRAMS) and stored["solver"] == []
    general = {"mode", "decided by", "workers", "seconds", "peak memory"}
    assert shown.keys() - general == FOR_EVER[stored["decided_by"]]
    assert ("workers" in shown) is MODES[mode].workers


def test_unknown_says_why_and_what_to_try(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    done = run("--set", "climb0=-39", "--formula", "AX^10 safe", "--memory", "1", "--json", str(path))
    assert done.exit_code == 20
    stored = json.loads(path.read_text())
    SCHEMA.validate(stored)
    assert stored["decided_by"] == "" and all(p["why"] for p in stored["procedures"])
    assert "decided by" not in done.stdout
    for tried in stored["procedures"]:
        assert any(tried["name"] in line and tried["why"] in line for line in done.stdout.splitlines()), tried
    assert "What may help:\n- Allow more memory (it was 1 MB): --memory.\n" in done.stdout
    assert "What may help" not in run("--formula", "AX^10 safe", "--memory", "1", "-q").stdout


def test_all_procedures_are_told_with_v() -> None:
    told = run(*HOLDS, "-v").stdout
    assert "does not take it: variable h is real" in told
    assert "does not take it" not in run(*HOLDS).stdout


def test_a_proof_that_was_owed_has_decided() -> None:
    """The solver's word is not what the verdict rests on."""
    path_free = ("--set", "climb0=-22.5..-18.7", "--formula", "AX^2 safe", "--mode", "comp-seq", "--solver", "highs")
    believed = json.loads(run(*path_free, "--trust", "solver", "--json", "-").stdout)
    assert (believed["basis"], believed["decided_by"]) == ("solver", "comp-seq")
    proved = json.loads(run(*path_free, "--trust", "exact", "--json", "-").stdout)
    SCHEMA.validate(proved)
    assert (proved["basis"], proved["decided_by"]) == ("exact", "exact")
    why = {p["name"]: p["why"] for p in proved["procedures"]}
    assert why == {"comp-seq": "the word of a solver was not enough: a proof was owed", "exact": ""}


def test_results_of_earlier_versions_are_shown_with_what_they_counted() -> None:
    stored = json.loads(run(*HOLDS, "--mode", "mono", "--json", "-").stdout)
    for later in ("decided_by", "procedures"):
        del stored[later]
    SCHEMA.validate(stored)
    page = html_page(read_report(stored), None, Source("r.json"), Checks(undescribed="not here"))
    assert "<dt>subproblems</dt><dd>0 created, 1 discarded by bounds" in page
    assert "an earlier run, whose verdict was kept" in page


@pytest.mark.parametrize("wrong", ["x", [1], [{"name": 1}], [{"name": "a", "seconds": -1, "why": "", "figures": {}}]])
def test_procedures_that_are_none_are_refused(wrong: object) -> None:
    stored = json.loads(run(*HOLDS, "--json", "-").stdout)
    with pytest.raises(UsageError, match=r"expected|should be"):
        read_report({**stored, "procedures": wrong})
