"""`--batch`: a table of questions about many models, of which a broken one costs no other its answer."""

import csv
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

import venmas
from tests.cli.test_cli_plural import COUNTER, SCHEMA
from venmas.cli.main import main


def run(*args: str) -> Result:
    return CliRunner().invoke(main, ["verify", *args], catch_exceptions=False)


@pytest.fixture
def batch(tmp_path: Path) -> Path:
    """Two models, one that fails, one that is missing."""
    (tmp_path / "counter.py").write_text(COUNTER)
    (tmp_path / "broken.py").write_text("def build(networks):\n    return 1 / 0\n")
    names = {name: tmp_path / f"{name}.py" for name in ("counter", "broken", "missing")}
    lines = [
        "scenario,formula,step,start,side",
        f"{names['counter']},AG^2 (n < 9),,,",
        f"{names['counter']},AG^5 (n < 9),,,",
        f"{names['broken']},AX true,,,",
        f"{names['missing']},AX true,,,",
        "",
        f"{names['counter']},AG^5 (n < 9),1,3,",
        f'{names["counter"]},"AG[0,2] (n < 9)",3,x,',
        f"{names['counter']},AG^2 (m < 9),,,",
        "frozenlake,AG^1 safe,,,4",
    ]
    path = tmp_path / "batch.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


NETWORK = """from venmas.model import System, apply_network


def build(networks):
    system = System("net")
    x = system.real("x", -9, 9)
    system.branch("go", x=apply_network(networks.load("*.nnet"), (x,))[0])
    system.initial(x == 0)
    return system
"""


VERDICTS = ["satisfied", "violated", "unknown", "unknown", "satisfied", "unknown", "unknown", "unknown"]


def test_one_table_and_every_file(batch: Path, tmp_path: Path) -> None:
    out = {name: tmp_path / f"r.{name}" for name in ("csv", "json", "junit")}
    done = run("--batch", str(batch), *[part for name, path in out.items() for part in (f"--{name}", str(path))])
    assert done.exit_code == 10, done.output
    assert "2 satisfied, 1 violated, 5 refused" in done.stdout
    rows = list(csv.DictReader(out["csv"].open(newline="")))
    assert [row["verdict"] for row in rows] == VERDICTS
    assert [row["parameters"] for row in rows[:2]] == ["step=2; start=0"] * 2
    assert rows[4]["parameters"] == "step=1; start=3" and rows[4]["model"] == "counter"
    assert {(row["venmas_version"], row["seed"]) for row in rows} == {(venmas.__version__, "fixed")}
    assert "ZeroDivisionError" in rows[2]["message"] and "missing.py" in rows[3]["message"]
    data = json.loads(out["json"].read_text())
    SCHEMA.validate(data)
    assert [row["verdict"] for row in data["results"]] == VERDICTS
    suite = ElementTree.parse(out["junit"]).getroot()
    assert [suite.get(name) for name in ("tests", "failures", "errors")] == ["8", "1", "5"]


def test_rows_tell_models_apart_that_differ_in_their_networks(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(NETWORK)
    for name, sign in (("up", 1), ("down", -1)):
        (tmp_path / f"{name}.nnet").write_text(f"1,1,1,1,\n1,1,\n0,\n0,\n1,\n0,0,\n1,1,\n0,\n{sign},\n")
    scenario, formula = tmp_path / "net.py", "AX (x <= 0)"
    lines = [f"{scenario},{formula},{tmp_path / name}.nnet" for name in ("up", "down")]
    (tmp_path / "batch.csv").write_text("\n".join(["scenario,formula,networks", *lines]))
    out = tmp_path / "rows.csv"
    done = run("--batch", str(tmp_path / "batch.csv"), "--csv", str(out), "--junit", str(tmp_path / "rows.xml"))
    rows = list(csv.DictReader(out.open(newline="")))
    assert [(Path(row["networks"]).name, row["verdict"]) for row in rows] == [
        ("up.nnet", "violated"),
        ("down.nnet", "satisfied"),
    ], done.output
    cases = ElementTree.parse(tmp_path / "rows.xml").getroot().findall(".//testcase")
    assert len({case.get("name") for case in cases}) == 2


def test_a_journal_resumes_a_batch(batch: Path, tmp_path: Path) -> None:
    journal = str(tmp_path / "j")
    run("--batch", str(batch), "--journal", journal, "--quiet")

    done = run("--batch", str(batch), "--journal", journal, "--json", "-")
    reports = [row["report"] for row in json.loads(done.stdout)["results"] if row["report"]]
    assert len(reports) == 3
    assert all("that of an earlier run, in the journal" in report["notes"][0] for report in reports)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no column 'scenario'"),
        ("scenario,step\nvcas,1\n", "has no column 'formula'"),
        ("scenario,formula,formula\n", "names the column 'formula' twice"),
        ("scenario,formula\n", "asks nothing"),
        ("scenario,formula\nvcas,AG[0,2] safe\n", "row 2 has 3 cells for 2 columns"),
    ],
)
def test_files_that_are_no_batch(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "batch.csv"
    path.write_text(text)
    done = run("--batch", str(path))
    assert done.exit_code == 2 and message in done.output


@pytest.mark.parametrize(
    "more",
    [
        ["--scenario", "vcas"],
        ["--formula", "AX safe"],
        ["--set", "a=1"],
        ["--networks", "."],
        ["--sweep", "a=1,2"],
        ["--formulas", "f"],
        ["--certificate", "c"],
        ["--witness", "w"],
    ],
)
def test_what_does_not_go_with_a_batch(batch: Path, more: list[str]) -> None:
    done = run("--batch", str(batch), *more)
    assert done.exit_code == 2 and more[0] in done.output
