"""``venmas ltl`` on the command line: verdicts, exit statuses, what is written, what is refused."""

from __future__ import annotations

from tests.needs import needs

needs("jsonschema")

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from jsonschema import Draft202012Validator

from tests.logic.automata.hoa_reader import read_hoa
from venmas.cli.main import main
from venmas.report import page

SCHEMA = Draft202012Validator(json.loads((Path(__file__).parents[2] / "docs/ltl-result.schema.json").read_text()))

COUNTER = """
1 sort bitvec 1
2 sort bitvec 4
3 input 1 stop
4 state 2 n
5 one 2
6 zero 2
7 add 2 4 5
8 ite 2 3 6 7
9 next 2 4 8
10 constd 2 9
11 eq 1 4 10
12 output 11 nine
"""


@pytest.fixture
def design(tmp_path: Path) -> Path:
    path = tmp_path / "counter.btor2"
    path.write_text(COUNTER)
    return path


def ask(design: Path, text: str, *more: object) -> Result:
    return CliRunner().invoke(main, ["ltl", "--btor2", str(design), "--property", text, *map(str, more)])


def test_satisfied_tells_the_network_and_what_was_checked(design: Path) -> None:
    found = ask(design, "F G !stop -> G F nine")
    assert found.exit_code == 0
    assert found.stdout.startswith("satisfied\n")
    assert "V1 = " in found.stdout
    assert "proofs of" in found.stdout
    trusting = ask(design, "F G !stop -> G F nine", "--trust", "solver")
    assert "by the word of Bitwuzla" in trusting.stdout
    assert ask(design, "F G !stop -> G F nine", "--quiet").stdout == "satisfied\n"


def test_violated_shows_a_lasso(design: Path, tmp_path: Path) -> None:
    out = tmp_path / "result.json"
    found = ask(design, "G F nine", "--json", out)
    assert found.exit_code == 10
    assert "(loop)" in found.stdout
    assert "replayed by simulation" in found.stdout
    data: dict[str, Any] = json.loads(out.read_text())
    assert data["verdict"] == "violated"
    lasso = data["lasso"]
    assert len(lasso["states"]) == len(lasso["inputs"]) > lasso["back"] >= 0
    assert all(state["n"] != 9 for state in lasso["states"][lasso["back"] :])


def test_unknown_has_its_reason(design: Path) -> None:
    """Odd numbers are never reached from 0 in steps of 2, which is no proof of the runs from every state."""
    design.write_text(COUNTER.replace("5 one 2", "5 constd 2 2"))
    asked = ("G n != 3", "--init", "n == 0")
    found = ask(design, *asked, "--from", "all", "--timeout", 60, "--json", "-")
    assert found.exit_code == 20
    assert {"verdict": "unknown", "reason": "open"}.items() <= json.loads(found.stdout).items()
    assert ask(design, "G n != 3").exit_code == 10
    proved = ask(design, *asked)
    assert proved.exit_code == 0
    assert "J0 = !n[0]" in proved.stdout
    assert "from the initial states" in proved.stdout
    data = json.loads(ask(design, *asked, "--json", "-").stdout)
    assert data["certificate"]["from"] == "initial"
    assert data["certificate"]["invariant"]["clauses"]["0"] == "!n[0]"


def test_small_designs_are_enumerated(design: Path) -> None:
    needs("venmas_learners")
    design.write_text(COUNTER.replace("5 one 2", "5 constd 2 2"))
    found = ask(design, "G n != 3", "--init", "n == 0", "--learner", "milp")
    assert found.exit_code == 0
    assert "8 states of design and automaton enumerated" in found.stdout


def test_what_is_shown(design: Path) -> None:
    found = ask(design, "F G !stop -> G F nine", "--show").stdout
    assert "V1 -> V1 falls where !stop & !nine, proof of" in found
    assert "HOA: v1" in found
    assert "level 0: no weights" in found
    only = CliRunner().invoke(main, ["ltl", "--property", "G F a -> G F b", "--automaton-only"])
    assert only.exit_code == 0
    hoa, _, dot = only.stdout.partition("--END--\n")
    assert read_hoa(hoa + "--END--\n").states == 2
    assert dot.startswith("digraph") and dot.count(" [label=") == 4


def test_what_is_written(design: Path, tmp_path: Path) -> None:
    vcd, result, html = (tmp_path / name for name in ("run.vcd", "run.json", "page.html"))
    assert ask(design, "G F nine", "--witness", vcd, "--html", html, "--quiet").stdout == "violated\n"
    assert "$enddefinitions" in vcd.read_text()
    assert "</html>" in html.read_text()
    ask(design, "G F nine", "--witness", result)
    SCHEMA.validate(json.loads(result.read_text()))
    missing = ask(design, "F G !stop -> G F nine", "--witness", tmp_path / "none.vcd")
    assert missing.exit_code == 0
    assert not (tmp_path / "none.vcd").exists()
    assert "there is no lasso to write" in missing.stderr


def test_other_commands_know_these_results(design: Path, tmp_path: Path) -> None:
    ask(design, "G F nine", "--json", tmp_path / "r.json")
    for command in ("report", "replay", "archive", "plot"):
        more = ["-o", str(tmp_path / "out.png")] if command == "plot" else []
        found = CliRunner().invoke(main, [command, str(tmp_path / "r.json"), *more])
        assert found.exit_code == 2
        assert "is a result of `venmas ltl`" in found.stderr and "--html FILE" in found.stderr


def test_json_has_its_schema(design: Path) -> None:
    for text, status in (("G F nine", 10), ("F G !stop -> G F nine", 0), ("true", 0)):
        found = ask(design, text, "--json", "-")
        assert found.exit_code == status
        SCHEMA.validate(json.loads(found.stdout))


def test_lines_of_netlists_are_asked(design: Path) -> None:
    design.write_text(COUNTER + "13 bad 11\n14 justice 1 -11\n15 fair 11\n")
    for option, status in (("--bad", 10), ("--justice", 10)):
        found = CliRunner().invoke(main, ["ltl", "--btor2", str(design), option, "0", "-q"])
        assert found.exit_code == status, found.output
    none = CliRunner().invoke(main, ["ltl", "--btor2", str(design), "--bad", "1"])
    assert none.exit_code == 2
    assert "--bad 1: the netlist has bad lines 0 to 0" in none.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--btor2", "{d}"], "no question is given"),
        (["--property", "G F nine"], "one design is wanted"),
        (["--btor2", "{d}", "--property", "a", "--bad", "0"], "--property and --bad are several questions"),
        (["--automaton-only", "--bad", "0"], "--automaton-only shows the automaton of a formula"),
        (["--btor2", "{d}", "--property", "G F nine", "--witness", "run.txt"], "ends in .vcd (a waveform) or .json"),
        (["--btor2", "{d}", "--property", "G F nine", "--witness", "a.json", "--json", "a.json"], "both name"),
        (["--btor2", "{d}", "--property", "G F nine", "--json", "{d}"], "would take the place of the design"),
        (["--btor2", "{d}", "--property", "G F nine", "--html", "/nowhere/page.html"], "--html: cannot write"),
        (["--btor2", "{d}", "--bad", "-1"], "--bad"),
    ],
)
def test_options_that_do_not_fit(design: Path, options: list[str], message: str) -> None:
    found = CliRunner().invoke(main, ["ltl", *(one.replace("{d}", str(design)) for one in options)])
    assert found.exit_code == 2
    assert message in found.stderr
    assert "Traceback" not in found.stderr


@pytest.mark.parametrize(
    ("module", "message"),
    [("bitwuzla", "need the SMT solver Bitwuzla"), ("pysat.solvers", "need python-sat")],
)
def test_missing_tools(design: Path, monkeypatch: pytest.MonkeyPatch, module: str, message: str) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    found = ask(design, "F G !stop -> G F nine")
    assert found.exit_code == 2
    assert message in found.stderr and 'pip install ".[hardware]"' in found.stderr


def test_the_verdict_is_told_where_a_page_cannot_be_made(
    design: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "_environment", page._environment.__wrapped__)
    monkeypatch.setitem(sys.modules, "jinja2", None)
    found = ask(design, "G F nine", "-q", "--html", tmp_path / "page.html")
    assert (found.exit_code, found.stdout) == (2, "violated\n")
    assert "pages need jinja2" in found.stderr


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_control_c_is_an_unknown(tmp_path: Path) -> None:
    """In the middle of a query that takes the solver minutes: the product of two primes of 41 bits."""
    primes = 1099511627791 * 1099511627803
    (tmp_path / "hard.btor2").write_text(
        "1 sort bitvec 1\n2 sort bitvec 45\n3 sort bitvec 90\n4 state 2 a\n5 state 2 b\n6 next 2 4 4\n7 next 2 5 5\n"
        f"8 uext 3 4 45\n9 uext 3 5 45\n10 mul 3 8 9\n11 constd 3 {primes}\n12 eq 1 10 11\n13 constd 2 3\n"
        "14 ugt 1 4 13\n15 ugt 1 5 4\n16 and 1 14 15\n17 and 1 16 12\n18 output 17 hit\n"
    )
    command = [
        sys.executable,
        "-m",
        "venmas",
        "ltl",
        "--btor2",
        "hard.btor2",
        "--property",
        "G !hit",
        "--json",
        "r.json",
    ]
    running = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while running.poll() is None and cpu_seconds(running.pid) < 2.5:  # imports and reading take a third of that
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=30)
    assert (running.returncode, err) == (20, "")
    assert out.startswith("unknown\n") and "interrupted" in out
    data = json.loads((tmp_path / "r.json").read_text())
    SCHEMA.validate(data)
    assert data["reason"] == "interrupted"


@pytest.mark.parametrize(
    ("text", "more", "message"),
    [
        ("G F nne", (), "no signal 'nne'"),
        ("G F nine &", (), "column"),
        ("AG nine", (), "branching time"),
        ("G F n", (), "compare it (n != 0)"),
        ("G F nine", ("--init", "stop"), "depends on inputs"),
        ("G F nine", ("--init", "G nine"), "says nothing of time"),
        ("G F nine", ("--fair", "n["), "column"),
    ],
)
def test_bad_input_is_one_message(design: Path, text: str, more: tuple[str, ...], message: str) -> None:
    found = ask(design, text, *more)
    assert found.exit_code == 2
    assert message in found.stderr
    assert "Traceback" not in found.stderr


def test_netlists_that_are_not_read(design: Path, tmp_path: Path) -> None:
    design.write_text(COUNTER + "13 fair 11\n")
    assert "`fair` lines" in ask(design, "G F nine").stderr
    clocks = COUNTER.replace("9 next 2 4 8", "9 next 2 4 8\n90 next 2 4 7")
    design.write_text(
        clocks.replace("10 constd", "91 constd").replace("11 eq 1 4 10\n12 output 11", "92 eq 1 4 91\n93 output 92")
    )
    assert "a second next of state 4" in ask(design, "G F nine").stderr
    design.write_text(COUNTER + "13 uaddo 1 4 4\n")
    assert "line 14: operator 'uaddo'" in ask(design, "G F nine").stderr
    design.write_text("1 sort array 2 3\n")
    assert "line 1: sort 'array 2 3'" in ask(design, "G F nine").stderr
    assert "cannot read the netlist" in ask(tmp_path / "none.btor2", "G F nine").stderr


def test_a_network_that_cannot_be_written_takes_no_verdict_away(design: Path, tmp_path: Path) -> None:
    """A counter of 60 bits: its rank is of integers that no double holds."""
    design.write_text(COUNTER.replace("2 sort bitvec 4", "2 sort bitvec 60"))
    path = tmp_path / "rank.onnx"
    found = ask(design, "F G !stop -> G F nine", "--network", path)
    assert found.exit_code == 2
    assert found.stdout.startswith("satisfied\n")
    assert "--network: cannot write" in found.stderr and "a double has 53" in found.stderr
    assert not path.exists()


def test_certificates_are_written_and_checked(design: Path, tmp_path: Path) -> None:
    stored = tmp_path / "c.gz"
    assert ask(design, "F G !stop -> G F nine", "--certificate", stored).exit_code == 0
    found = CliRunner().invoke(main, ["check", str(stored), "--btor2", str(design)])
    assert found.exit_code == 0 and found.output.startswith("proved\n")
    other = tmp_path / "other.btor2"
    other.write_text(COUNTER.replace("constd 2 9", "constd 2 8"))
    refused = CliRunner().invoke(main, ["check", str(stored), "--btor2", str(other)])
    assert refused.exit_code == 30 and "another netlist" in refused.output
    assert "constraint" not in found.output
    other.write_text(COUNTER + "13 ulte 1 4 10\n14 constraint 13\n")
    assert ask(other, "F G !stop -> G F nine", "--certificate", stored).exit_code == 0
    found = CliRunner().invoke(main, ["check", str(stored), "--btor2", str(other)])
    assert found.exit_code == 0 and "that meet its `constraint` line at every step" in found.output
