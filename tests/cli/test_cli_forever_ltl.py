"""LTL of a system with a real variable on the command line: proofs, runs and stays, stored, checked and drawn."""

from __future__ import annotations

from tests.needs import needs

needs("jsonschema")

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from jsonschema import Draft202012Validator

from venmas.cli.main import main
from venmas.engine.stored import read_report

SCHEMA = Draft202012Validator(json.loads((Path(__file__).parents[2] / "docs/result.schema.json").read_text()))
FILE = '''"""A number that is halved."""

from fractions import Fraction

from venmas.model import System

PARAMETERS = ()


def build(networks):
    system = System("half")
    x = system.real("x", -10, 10)
    system.branch("go", x=x * Fraction(1, 2))
    system.initial(x >= 1, x <= 2)
    return system
'''


def run(*args: object) -> Result:
    return CliRunner().invoke(main, [str(a) for a in args])


@pytest.fixture
def half(tmp_path: Path) -> tuple[str, Path]:
    path = tmp_path / "half.py"
    path.write_text(FILE)
    return "--scenario", path


def test_what_holds_is_certified_checked_and_archived(half: tuple[str, Path], tmp_path: Path) -> None:
    proof, stored, journal, kept = (tmp_path / name for name in ("proof.gz", "r.json", "journal", "kept.zip"))
    done = run("verify", *half, "--formula", "F G x <= 0.5", "--certificate", proof, "--json", stored)
    assert done.exit_code == 0 and "from step 2 on" in done.stdout, done.output
    data = json.loads(stored.read_text())
    SCHEMA.validate(data)
    assert (data["property"], data["decided_by"], read_report(data).to_json()) == ("linear", "forever-ltl", data)
    assert run("check", proof, *half).exit_code == 0
    page = run("report", stored, *half, "--check", "-o", tmp_path / "r.html")
    assert page.exit_code == 0, page.output
    packed = run("archive", stored, *half, "-o", kept)
    assert packed.exit_code == 0, packed.output
    soon = run("verify", *half, "--formula", "F x <= 0.5", "--journal", journal)
    assert soon.exit_code == 0 and "Every run has shown it within 2 steps." in soon.stdout
    again = run("verify", *half, "--formula", "F x <= 0.5", "--journal", journal)
    assert "this verdict is that of an earlier run" in again.stdout


def test_a_run_that_breaks_it_is_replayed_and_drawn(half: tuple[str, Path], tmp_path: Path) -> None:
    stored = tmp_path / "r.json"
    done = run("verify", *half, "--formula", "G x >= 0.5", "--json", stored)
    assert done.exit_code == 10 and "broken, whatever comes" in done.stdout, done.output
    SCHEMA.validate(json.loads(stored.read_text()))
    assert run("replay", stored, *half).exit_code == 10
    drawn = run("plot", stored, *half, "-o", tmp_path / "r.svg")
    assert drawn.exit_code == 0, drawn.output
    data = json.loads(stored.read_text())
    data["formula"] = data["asked"]["formula"] = "G x >= 0"
    stored.write_text(json.dumps(data))
    assert run("replay", stored, *half).exit_code == 20


def test_a_stay_is_replayed_remembered_and_no_other_formula_is_shown(half: tuple[str, Path], tmp_path: Path) -> None:
    stored, journal = tmp_path / "r.json", tmp_path / "journal"
    ask = ("verify", *half, "--formula", "F x <= 0")
    done = run(*ask, "--json", stored, "--journal", journal)
    assert done.exit_code == 10 and "violated for ever" in done.stdout, done.output
    data = json.loads(stored.read_text())
    SCHEMA.validate(data)
    assert read_report(data).to_json() == data
    shown = run("replay", stored, *half)
    assert shown.exit_code == 10 and "violated for ever" in shown.stdout
    again = run(*ask, "--journal", journal)
    assert again.exit_code == 10 and "the witness was replayed again" in again.stdout
    assert run("report", stored, *half, "-o", tmp_path / "r.html").exit_code == 0
    assert run("plot", stored, *half, "-o", tmp_path / "r.svg").exit_code == 0
    data["formula"] = data["asked"]["formula"] = "F x <= 1"
    stored.write_text(json.dumps(data))
    assert run("replay", stored, *half).exit_code == 20
