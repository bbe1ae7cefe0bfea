"""LTL of designs on the command line: verdicts, exit statuses, what is written, what is refused."""

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
from tests.netlists import counting
from venmas.checker.file import read_certificate
from venmas.cli.claims import agree
from venmas.cli.main import main
from venmas.errors import RefusedError
from venmas.formats.btor2.reader import parse_btor2

SCHEMA = Draft202012Validator(json.loads((Path(__file__).parents[2] / "docs/result.schema.json").read_text()))

COUNTER = counting()


@pytest.fixture
def design(tmp_path: Path) -> Path:
    path = tmp_path / "counter.btor2"
    path.write_text(COUNTER)
    return path


def ask(design: Path, text: str, *more: object) -> Result:
    return CliRunner().invoke(main, ["verify", "--scenario", str(design), "--formula", text, *map(str, more)])


def test_satisfied_tells_the_network_and_what_was_checked(design: Path) -> None:
    found = ask(design, "F G !stop -> G F nine")
    assert found.exit_code == 0
    assert found.stdout.startswith("satisfied\n")
    assert "V1 = " in found.stdout
    assert "no solver is trusted" in found.stdout
    trusting = ask(design, "F G !stop -> G F nine", "--trust", "solver")
    assert "the word of Bitwuzla" in trusting.stdout and "no solver is trusted" not in trusting.stdout
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
    assert len(lasso["steps"]) > lasso["back"] >= 0
    assert all(step["state"]["n"] != 9 for step in lasso["steps"][lasso["back"] :])


def test_unknown_has_its_reason(design: Path) -> None:
    """Odd numbers are never reached from 0 in steps of 2, which is no proof of the runs from every state."""
    design.write_text(counting(by=2))
    asked = ("G n != 3", "--initial", "n == 0")
    found = ask(design, *asked, "--tune", "ranking.from=all", "--timeout", 60, "--json", "-")
    assert found.exit_code == 20
    assert {"verdict": "unknown", "reason": "open"}.items() <= json.loads(found.stdout).items()
    assert ask(design, "G n != 3").exit_code == 10
    proved = ask(design, *asked)
    assert proved.exit_code == 0
    assert "J0 = !n[0]" in proved.stdout
    assert "of the runs from the initial states" in proved.stdout
    data = json.loads(ask(design, *asked, "--json", "-").stdout)
    assert data["proof"]["from"] == "initial"
    assert data["proof"]["texts"] == ["J0 = !n[0]", "J1 = false"]


def test_small_designs_are_enumerated(design: Path) -> None:
    needs("venmas_learners")
    design.write_text(counting(by=2))
    found = ask(design, "G n != 3", "--initial", "n == 0", "--tune", "ranking.learner=milp")
    assert found.exit_code == 0
    assert "All 8 pairs of a state and a state of the automaton" in found.stdout


def test_what_is_shown(design: Path) -> None:
    found = ask(design, "F G !stop -> G F nine", "-v").stdout
    assert "V1 -> V1" in found and "falls" in found and "!stop & !nine" in found and "clauses, checked" in found
    assert "2 states, 3 edges" in found
    only = CliRunner().invoke(main, ["export", "automaton", "G F a -> G F b"])
    assert only.exit_code == 0
    assert read_hoa(only.stdout).states == 2
    dot = design.with_name("a.dot")
    assert CliRunner().invoke(main, ["export", "automaton", "G F a -> G F b", "-o", str(dot)]).exit_code == 0
    assert dot.read_text().startswith("digraph") and dot.read_text().count(" [label=") == 4


def test_what_is_written(design: Path, tmp_path: Path) -> None:
    vcd, result = tmp_path / "run.vcd", tmp_path / "run.json"
    assert ask(design, "G F nine", "--witness", vcd, "--quiet").stdout == "violated\n"
    assert "$enddefinitions" in vcd.read_text()
    ask(design, "G F nine", "--witness", result)
    SCHEMA.validate(json.loads(result.read_text()))
    missing = ask(design, "F G !stop -> G F nine", "--witness", tmp_path / "none.vcd")
    assert missing.exit_code == 0
    assert not (tmp_path / "none.vcd").exists()
    assert "there is no witness to write" in missing.stderr


def test_other_commands_take_these_results(design: Path, tmp_path: Path) -> None:
    """A netlist is no bundled one: it is named again, as nothing that is data names a file to open."""
    stored, named = tmp_path / "r.json", ["--scenario", str(design)]
    ask(design, "G F nine", "--json", stored)
    refused = CliRunner().invoke(main, ["replay", str(stored)])
    assert refused.exit_code == 2 and "give it with --scenario" in refused.stderr
    replayed = CliRunner().invoke(main, ["replay", str(stored), *named])
    assert replayed.exit_code == 10 and replayed.stdout.startswith("violated\n") and "(loop)" in replayed.stdout
    page_ = CliRunner().invoke(main, ["report", str(stored), *named])
    assert page_.exit_code == 0 and "computed anew for this page" in (tmp_path / "r.html").read_text()
    drawn = CliRunner().invoke(main, ["plot", str(stored), *named, "-o", str(tmp_path / "run.svg")])
    assert drawn.exit_code == 0 and (tmp_path / "run.svg").read_text().count("<svg") == 1
    data = json.loads(stored.read_text())
    for change in ({"state": {"n": 3}}, {"state": {"n": 99}}, {"inputs": {"stop": 1}}):
        changed = json.loads(stored.read_text())
        changed["lasso"]["steps"][0] |= change
        (tmp_path / "changed.json").write_text(json.dumps(changed))
        found = CliRunner().invoke(main, ["replay", str(tmp_path / "changed.json"), *named])
        if changed["lasso"] != data["lasso"]:
            assert found.exit_code in (10, 20), found.output
            assert found.exit_code == 20 or found.stdout.startswith("violated")


def test_a_lasso_of_another_design_does_not_replay(design: Path, tmp_path: Path) -> None:
    ask(design, "G F nine", "--json", tmp_path / "r.json")
    other = tmp_path / "other.btor2"
    other.write_text(COUNTER.replace("state 2 n", "state 2 m"))
    found = CliRunner().invoke(main, ["replay", str(tmp_path / "r.json"), "--scenario", str(other)])
    assert found.exit_code == 20 and "does not replay" in found.stdout


def test_proofs_are_archived_and_checked(design: Path, tmp_path: Path) -> None:
    stored, proof, named = tmp_path / "r.json", tmp_path / "r.gz", ["--scenario", str(design)]
    for text, more in (("F G !stop -> G F nine", ()), ("G n <= 15", ("--tune", "ranking.learner=milp"))):
        assert ask(design, text, *more, "--json", stored, "--certificate", proof).exit_code == 0
        packed = CliRunner().invoke(main, ["archive", str(stored), *named])
        assert packed.exit_code == 0, packed.output
        checked = CliRunner().invoke(main, ["check", str(tmp_path / "r.zip")])
        assert checked.exit_code == 0 and checked.stdout.startswith("proved\n"), checked.output
        found = CliRunner().invoke(main, ["report", str(stored), "--check", *named])
        assert found.exit_code == 0 and "line by line" in (tmp_path / "r.html").read_text(), found.output
    result = json.loads(stored.read_text())
    result["formula"] = "G n <= 14"
    stored.write_text(json.dumps(result))
    doubted = CliRunner().invoke(main, ["report", str(stored), "--check", *named])
    assert doubted.exit_code == 20 and "it is about the formula" in (tmp_path / "r.html").read_text()


def test_json_has_its_schema(design: Path) -> None:
    for text, status in (("G F nine", 10), ("F G !stop -> G F nine", 0), ("true", 0)):
        found = ask(design, text, "--json", "-")
        assert found.exit_code == status
        SCHEMA.validate(json.loads(found.stdout))


def test_lines_of_netlists_are_asked(design: Path) -> None:
    design.write_text(COUNTER + "13 bad 11\n14 justice 1 -11\n15 fair 11\n")
    for name in ("bad0", "justice0"):
        assert ask(design, name, "-q").exit_code == 10
    none = ask(design, "bad1")
    assert none.exit_code == 2
    assert "bad1: the netlist has bad lines 0 to 0" in none.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--scenario", "{d}"], "no formula is given"),
        (["--formula", "G F nine"], "no scenario is given"),
        (["--scenario", "{d}", "--formula", "G F nine", "--witness", "a.json", "--json", "a.json"], "both name"),
        (["--scenario", "{d}", "--formula", "G F nine", "--json", "{d}"], "would take the place of the design"),
        (["--scenario", "{d}", "--formula", "G F nine", "--networks", "x"], "is a design, which has none"),
        (["--scenario", "{d}", "--formula", "G F nine", "--set", "k=1"], "has no parameters"),
        (["--scenario", "{d}", "--formula", "G F nine", "--mode", "adaptive"], "is one of LTL"),
        (["--scenario", "{d}", "--formula", "G F nine", "--invariant", "nine"], "of LTL leave it out"),
        (["--scenario", "{d}", "--formula", "G F nine", "--deadlock", "stutter"], "asked of systems"),
        (["--scenario", "frozenlake", "--formula", "F goal", "--initial", "cell == 1"], "is about designs"),
        (["--scenario", "frozenlake", "--formula", "AF^5 goal", "--fair", "cell == 1"], "of CTL"),
    ],
)
def test_options_that_do_not_fit(design: Path, options: list[str], message: str) -> None:
    found = CliRunner().invoke(main, ["verify", *(one.replace("{d}", str(design)) for one in options)])
    assert found.exit_code == 2
    assert message in found.stderr
    assert "Traceback" not in found.stderr


def test_the_old_command_names_the_new_one() -> None:
    found = CliRunner().invoke(main, ["ltl", "--property", "G F a"])
    assert found.exit_code == 2 and "venmas verify --scenario NAME|FILE --formula" in found.stderr


@pytest.mark.parametrize(
    ("module", "message"),
    [("bitwuzla", "need the SMT solver Bitwuzla"), ("pysat.solvers", "need python-sat")],
)
def test_missing_tools(design: Path, monkeypatch: pytest.MonkeyPatch, module: str, message: str) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    found = ask(design, "F G !stop -> G F nine")
    assert found.exit_code == 2
    assert message in found.stderr and 'pip install ".[hardware]"' in found.stderr


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
        "verify",
        "--scenario",
        "hard.btor2",
        "--formula",
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
    assert out.startswith("unknown (interrupted)")
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
        ("G F nine", ("--initial", "stop"), "depends on inputs"),
        ("G F nine", ("--initial", "G nine"), "says nothing of time"),
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


def test_ranks_are_written_as_a_network_where_doubles_hold_them(design: Path, tmp_path: Path) -> None:
    path = tmp_path / "rank.onnx"
    asked = ["export", "ranks", "--scenario", str(design), "--formula", "F G !stop -> G F nine", "-o", str(path)]
    assert CliRunner().invoke(main, asked).exit_code == 0 and path.stat().st_size > 100
    path.unlink()
    design.write_text(COUNTER.replace("2 sort bitvec 4", "2 sort bitvec 60"))
    found = CliRunner().invoke(main, asked)
    assert found.exit_code == 2
    assert "cannot write" in found.stderr and "a double has 53" in found.stderr
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


def test_a_proof_of_fewer_runs_is_none_of_the_result(design: Path, tmp_path: Path) -> None:
    """A result about all initial states beside the certificate of some of them, on the page and in an archive."""
    stored, proof, named = tmp_path / "r.json", tmp_path / "r.gz", ["--scenario", str(design)]
    written = ("--json", stored, "--certificate", proof)
    assert ask(design, "n == 3 | n == 4", "--initial", "n == 3", *written).exit_code == 0
    with_initial = CliRunner().invoke(main, ["report", str(stored), "--check", *named])
    assert with_initial.exit_code == 0, with_initial.output
    archived = CliRunner().invoke(main, ["archive", str(stored), *named])
    assert archived.exit_code == 0, archived.output
    checked = CliRunner().invoke(main, ["check", str(tmp_path / "r.zip")])
    assert checked.exit_code == 0, checked.output
    result = json.loads(stored.read_text())
    result["asked"]["initial"] = ""
    stored.write_text(json.dumps(result))
    doubted = CliRunner().invoke(main, ["report", str(stored), "--check", *named])
    assert doubted.exit_code == 20
    assert "initial states" in (tmp_path / "r.html").read_text()
    header, _ = read_certificate(proof)
    netlist = parse_btor2(str(header.netlist))
    with pytest.raises(RefusedError, match="differ: initial states"):
        agree(result, header, netlist, result["certificate"]["sha256"])
    # a proof of all initial states is one of some of them, too
    assert ask(design, "G (n <= 9 | F stop | n > 9)", *written).exit_code == 0
    result = json.loads(stored.read_text())
    result["asked"]["initial"] = "n == 3"
    stored.write_text(json.dumps(result))
    assert CliRunner().invoke(main, ["report", str(stored), "--check", *named]).exit_code == 0


def test_a_certificate_of_a_design_is_none_of_a_system(design: Path, tmp_path: Path) -> None:
    """And the reverse: each is checked against its own kind only."""
    of_design, of_system, proof = tmp_path / "d.json", tmp_path / "s.json", tmp_path / "d.gz"
    assert ask(design, "G true", "--json", of_design, "--certificate", proof).exit_code == 0
    asked = ask(Path("frozenlake"), "G true", "--json", of_system, "--certificate", tmp_path / "s.gz")
    assert asked.exit_code == 0, asked.output
    for stored, other, more in ((of_system, proof, []), (of_design, tmp_path / "s.gz", ["--scenario", str(design)])):
        found = CliRunner().invoke(main, ["report", str(stored), "--check", "--certificate", str(other), *more])
        assert found.exit_code == 20, found.output
        assert "system or design" in stored.with_suffix(".html").read_text()


@pytest.mark.parametrize(
    "change", [{"asked": {"fair": 5}}, {"asked": {"deadlock": "maybe"}}, {"asked": {"initial": 7}}, {"asked": [1]}]
)
def test_options_of_a_stored_result_that_are_none(design: Path, tmp_path: Path, change: dict[str, Any]) -> None:
    stored = tmp_path / "r.json"
    ask(design, "G F nine", "--json", stored)
    stored.write_text(json.dumps(json.loads(stored.read_text()) | change))
    for command in ("replay", "report", "archive", "plot"):
        found = CliRunner().invoke(main, [command, str(stored), "--scenario", str(design)])
        assert found.exit_code in (2, 20), (command, found.output)


def test_steps_of_a_stored_run_have_the_same_names(design: Path, tmp_path: Path) -> None:
    stored = tmp_path / "r.json"
    ask(design, "G F nine", "--json", stored)
    for field in ("state", "inputs", "conditions"):
        changed = json.loads(stored.read_text())
        changed["lasso"]["steps"][-1][field] = {}
        (tmp_path / "changed.json").write_text(json.dumps(changed))
        for command in ("replay", "report"):
            found = CliRunner().invoke(main, [command, str(tmp_path / "changed.json"), "--scenario", str(design)])
            assert found.exit_code == 2 and "each step has values of the same" in found.stderr, found.output
