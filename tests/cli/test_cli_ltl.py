"""``venmas ltl`` on the command line: verdicts, exit statuses, what is written, what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from venmas.cli.main import main

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
    found = ask(design, *asked, "--from", "all", "--timeout", 3, "--json", "-")
    assert found.exit_code == 20
    assert {"verdict": "unknown", "reason": "open"}.items() <= json.loads(found.stdout).items()
    assert ask(design, "G n != 3").exit_code == 10
    proved = ask(design, *asked)
    assert proved.exit_code == 0
    assert "J0 = !n[0]" in proved.stdout
    assert "from the initial states" in proved.stdout
    data = json.loads(ask(design, *asked, "--json", "-").stdout)
    assert data["from"] == "initial"
    assert data["invariant"]["clauses"]["0"] == "!n[0]"


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
    design.write_text("1 sort array 2 3\n")
    assert "line 1: sort 'array 2 3'" in ask(design, "G F nine").stderr
    assert "cannot read the netlist" in ask(tmp_path / "none.btor2", "G F nine").stderr
