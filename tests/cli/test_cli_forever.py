"""Formulas without a bound on the command line: modes, loops shown, stored results, journals, certificates, sets."""

from __future__ import annotations

from tests.needs import needs

needs("jsonschema")

import json
from pathlib import Path

from click.testing import CliRunner, Result
from jsonschema import Draft202012Validator

from venmas.cli.main import main
from venmas.engine.stored import read_report

SCHEMA = Draft202012Validator(json.loads((Path(__file__).parents[2] / "docs/result.schema.json").read_text()))
LAKE = ("--scenario", "frozenlake")


def run(*args: object) -> Result:
    return CliRunner().invoke(main, [str(a) for a in args])


def test_a_loop_is_shown_stored_replayed_and_remembered(tmp_path: Path) -> None:
    stored, journal = tmp_path / "r.json", tmp_path / "journal"
    done = run(*LAKE, "--formula", "AF goal", "--json", stored, "--journal", journal)
    assert done.exit_code == 10, done.output
    assert "The last state is that of step 0: the run goes on so for ever." in done.stdout
    assert "mode             invariant" in done.stdout and "decided by       fixpoints" in done.stdout
    data = json.loads(stored.read_text())
    SCHEMA.validate(data)
    assert (data["property"], data["mode"], read_report(data).to_json()) == ("unbounded", "invariant", data)
    replayed = run("replay", stored)
    assert replayed.exit_code == 10 and "goes on so for ever" in replayed.stdout
    again = run(*LAKE, "--formula", "AF goal", "--journal", journal)
    assert again.exit_code == 10 and "this verdict is that of an earlier run" in again.stdout
    data["witness"]["steps"][1]["state"]["cell[1]"] = {"exact": "0", "float": 0.0}
    stored.write_text(json.dumps(data))
    assert run("replay", stored).exit_code in (2, 20)


def test_all_states_that_are_reached_are_shown_with_their_loops() -> None:
    done = run(*LAKE, "--formula", "EF cell[3]")
    assert done.exit_code == 10 and "A tree of runs" in done.stdout and "(again #0)" in done.stdout


def test_a_certificate_of_ag_is_checked_by_the_command_and_the_report(tmp_path: Path) -> None:
    proof, stored = tmp_path / "proof.gz", tmp_path / "r.json"
    done = run(*LAKE, "--formula", "AG safe", "--certificate", proof, "--json", stored)
    assert done.exit_code == 0 and json.loads(stored.read_text())["property"] == "always"
    assert run("check", proof).exit_code == 0
    page = run("report", stored, "--check", "-o", tmp_path / "r.html")
    assert page.exit_code == 0 and "for ever" in (tmp_path / "r.html").read_text()


def test_a_given_set_is_kept_with_the_result(tmp_path: Path) -> None:
    stored = tmp_path / "r.json"
    integrator = ("--scenario", "double_integrator", "--formula", "AG within")
    done = run(*integrator, "--invariant", "near", "--json", stored, "-q")
    assert done.exit_code == 20 and "the set is not inductive" in done.stdout
    data = json.loads(stored.read_text())
    SCHEMA.validate(data)
    assert data["asked"]["invariant"] == "near"
    assert run(*integrator, "--invariant", "nowhere").exit_code == 2
    bounded = run("--scenario", "double_integrator", "--formula", "AG^3 within", "--invariant", "near")
    assert bounded.exit_code == 2 and "leave the set out" in bounded.stderr
