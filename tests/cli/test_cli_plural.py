"""Several questions on the command line: one table, files for others, statuses, and nothing lost to a bad one."""

from tests.needs import needs

needs("jsonschema")

import csv
import io
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result
from jsonschema import Draft202012Validator

from venmas.cli.main import main
from venmas.engine import plural

ROOT = Path(__file__).parents[2]
SCHEMA, ONE = (
    Draft202012Validator(json.loads((ROOT / "docs" / name).read_text()))
    for name in ("results.schema.json", "result.schema.json")
)
HOLDS, FAILS, BAD = "AG^2 (n < 9)", "AG^5 (n < 9)", "AG^5 (m < 9)"

COUNTER = """
from fractions import Fraction
from venmas.model import Parameter, System

PARAMETERS = (Parameter("step", 2, "largest step"), Parameter("start", 0, "where it begins"))

def build(networks, step, start):
    system = System("counter")
    n = system.integer("n", 0, 60)
    system.branch("one", n=n + 1)
    system.branch("far", n=n + step)
    system.initial(n == start)
    return system
"""


@pytest.fixture
def counter(tmp_path: Path) -> list[str]:
    path = tmp_path / "counter.py"
    path.write_text(COUNTER)
    return ["--scenario", str(path)]


def run(*args: str) -> Result:
    return CliRunner().invoke(main, ["verify", *args], catch_exceptions=False)


def asked(*formulas: str) -> list[str]:
    return [part for formula in formulas for part in ("--formula", formula)]


@pytest.mark.parametrize(
    ("formulas", "more", "status"),
    [
        ((HOLDS, HOLDS), (), 0),
        ((HOLDS, FAILS, BAD), (), 10),
        ((HOLDS, BAD), (), 2),
        ((HOLDS, HOLDS), ("--timeout", "1e-9"), 20),
        (("AG^k (n < 9)",), ("--most", "9"), 0),
        (("AG^k (n > 0)",), ("--least", "9"), 0),
        (("AG^k (n < 1)",), ("--most", "9"), 10),
    ],
)
def test_statuses(counter: list[str], formulas: tuple[str, ...], more: tuple[str, ...], status: int) -> None:
    done = run(*counter, *asked(*formulas), *more)
    assert done.exit_code == status, done.output
    assert all(formula in done.stdout for formula in formulas)


def test_one_formula_is_asked_as_before(counter: list[str]) -> None:
    done = run(*counter, *asked(FAILS), "--json", "-")
    assert done.exit_code == 10
    ONE.validate(json.loads(done.stdout))


def test_files_for_others(counter: list[str], tmp_path: Path) -> None:
    names = {name: str(tmp_path / f"r.{name}") for name in ("json", "csv", "latex", "junit")}
    listed = tmp_path / "formulas.txt"
    listed.write_text(f"# first\n{FAILS}\n\n  {BAD}\n")
    files = [part for name, path in names.items() for part in (f"--{name}", path)]
    done = run(*counter, *asked(HOLDS), "--formulas", str(listed), *files)
    assert done.exit_code == 10
    assert "1 satisfied, 1 violated, 1 refused" in done.stdout
    data = json.loads(Path(names["json"]).read_text())
    SCHEMA.validate(data)
    assert [row["formula"] for row in data["results"]] == [HOLDS, FAILS, BAD]
    for row in data["results"][:2]:
        ONE.validate(row["report"])
        assert row["report"]["origin"]["scenario"] == counter[1]
    assert data["results"][2]["report"] is None
    rows = list(csv.DictReader(io.StringIO(Path(names["csv"]).read_text())))
    assert [row["verdict"] for row in rows] == ["satisfied", "violated", "unknown"]
    suite = ElementTree.parse(names["junit"]).getroot()
    assert [suite.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["3", "1", "1", "0"]
    assert Path(names["latex"]).read_text().startswith(r"\begin{tabular}{lll}")


def test_a_search_in_json(counter: list[str]) -> None:
    done = run(*counter, *asked("AG^k (n < 9)", "EG^k (n < 9)"), "--most", "20", "--json", "-")
    data = json.loads(done.stdout)
    SCHEMA.validate(data)
    assert [row["search"]["bound"] for row in data["results"]] == [4, 8]
    for row in data["results"]:
        for report in row["search"]["reports"].values():
            ONE.validate(report)


def test_a_sweep_asks_each_with_each(counter: list[str]) -> None:
    sweep = ["--sweep", "step=1..3:1", "--sweep", "start=4,0"]
    done = run(*counter, *asked("AG^k (n < 9)", HOLDS), *sweep, "--csv", "-")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert len(rows) == 12 and done.exit_code == 10
    assert [row["reason"] for row in rows[::2]] == ["refused"] * 6  # without --most it is no formula
    done = run(*counter, *asked("AG^k (n < 9)"), *sweep, "--most", "9", "--csv", "-")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    found = {(int(row["step"]), int(row["start"])): int(row["most"]) for row in rows}
    assert found == {(step, start): (8 - start) // step for step in (1, 2, 3) for start in (4, 0)}


def test_values_that_the_scenario_refuses_are_rows(counter: list[str]) -> None:
    done = run(*counter, *asked(HOLDS), "--sweep", "step=1,x,3", "--csv", "-")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [row["reason"] for row in rows] == ["", "refused", ""]
    assert done.exit_code == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--sweep", "step=1..3"], "a step is missing, as in step=1..3:5"),
        (["--sweep", "step=1..3:0"], "a step above 0"),
        (["--sweep", "step=1:2"], "expected two numbers"),
        (["--sweep", "step=1..x:2"], "expected two numbers"),
        (["--sweep", "step=1..1000000:1"], "more than 10000"),
        (["--sweep", "step=1,,2"], "expected values"),
        (["--sweep", "step"], "expected NAME=VALUE"),
        (["--sweep", "step=1,2", "--set", "step=1"], "both give 'step'"),
        (["--sweep", "step=1..900:1", "--sweep", "start=1..900:1"], "810000 combinations"),
        (["--least", "3", "--most", "3"], "two questions"),
        (["--most", "3", "--certificate", "x"], "--certificate is about one formula"),
        (["--most", "3", "--witness", "x"], "--witness is about one formula"),
        (["--formulas", "nowhere"], "--formulas: cannot read 'nowhere'"),
        (["--csv", "x", "--latex", "x"], "--csv and --latex both name 'x'"),
        (["--csv", "-", "--json", "-"], "both name '-'"),
    ],
)
def test_what_is_wrong_with_the_whole(counter: list[str], options: list[str], message: str) -> None:
    done = run(*counter, *asked("AG^k (n < 9)"), *options)
    assert (done.exit_code, done.stdout) == (2, "")
    assert message in done.stderr and len(done.stderr.splitlines()) <= 2


def test_an_interrupt_shows_what_is_done(counter: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    real = plural.answer

    def pressed(row: Any, *rest: Any) -> None:
        if row.formula == FAILS:
            raise KeyboardInterrupt
        real(row, *rest)

    monkeypatch.setattr(plural, "answer", pressed)
    done = run(*counter, *asked(HOLDS, FAILS, HOLDS))
    assert done.exit_code == 20
    assert "1 satisfied, 2 unknown" in done.stdout and done.stdout.count("interrupted: not asked") == 2


def test_quiet_is_a_verdict_a_line(counter: list[str]) -> None:
    assert run(*counter, *asked(HOLDS, FAILS, BAD), "-q").stdout == "satisfied\nviolated\nunknown\n"
