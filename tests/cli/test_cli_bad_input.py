"""Whatever is wrong with the input ends in status 2 and one message with the remedy."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from venmas.cli.main import main

GOOD = ["--scenario", "vcas", "--formula", "AX^1 safe"]
ICE = ["--scenario", "frozenlake", "--formula"]

COUNTER = """
from venmas.model import Parameter, System
{extra}
def build(networks):
    system = System("counter")
    x = system.integer("x", 0, 3)
    system.initial(x == 0)
    system.branch("up", x={new})
    return system
"""

FILES = {
    "counter.py": COUNTER.format(extra="", new="x + 1"),
    "fraction.py": COUNTER.format(extra="", new="x / 2"),
    "syntax.py": "def build(networks:\n",
    "nobuild.py": "x = 1\n",
    "raises.py": "1 / 0\n",
    "exits.py": "import sys\nsys.exit(0)\n",
    "returns.py": "def build(networks):\n    return 5\n",
    "declares.py": COUNTER.format(extra="PARAMETERS = (Parameter('speed', 1, 'unused'),)", new="x"),
    "branchless.py": "from venmas.model import System\ndef build(networks):\n    s = System('s')\n"
    "    s.real('x', 0, 1)\n    return s\n",
    "needs.py": "def build(networks):\n    return networks.load('agent.onnx')\n",
    "empty.txt": "   \n",
    "two.txt": "AX^1 safe\nAX^1\n",
    "list.json": "[]",
    "object.json": "{}",
    "text.json": "not json",
    "satisfied.json": json.dumps({"verdict": "satisfied", "witness": None, "formula": "true"}),
}


def _witness(**changes: object) -> str:
    """A stored result over counter.py with something changed."""
    state = {"state": {"x": {"exact": "0"}}, "actions": {}, "atoms": [], "deadlock": False, "branch": None}
    witness = {"initial": {"x": {"exact": "0"}}, "steps": [state], "tree": None}
    result = {
        "formula": "x > 0",
        "parameters": {},
        "origin": {"scenario": "counter.py", "networks": None, "digests": {}},
    }
    return json.dumps({**result, "witness": witness, **changes})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bad")
    for name, text in FILES.items():
        (folder / name).write_text(text)
    (folder / "proof.gz").write_bytes(gzip.compress(b"lines", mtime=0))
    (folder / "latin.txt").write_bytes("AX^1 h > 1 # hö".encode("latin-1"))
    (folder / "ok.json").write_text(_witness())
    (folder / "origin.json").write_text(_witness(origin={"scenario": str(folder / "gone.py"), "digests": {}}))
    (folder / "python.json").write_text(_witness(origin=None))
    (folder / "halves.json").write_text(
        _witness(witness={"initial": {"x": {"exact": "1/0"}}, "steps": [], "tree": None})
    )
    (folder / "number.json").write_text(_witness().replace('"exact": "0"', '"exact": "zero"'))
    (folder / "formula.json").write_text(
        _witness(formula="y > 0", origin={"scenario": str(folder / "counter.py"), "digests": {}})
    )
    (folder / "settings.json").write_text(_witness(parameters={"x": 5}))
    (folder / "nets").mkdir()
    (folder / "broken").mkdir()
    (folder / "broken" / "agent.onnx").write_bytes(b"this is no protocol buffer")
    (folder / "nnet").mkdir()
    (folder / "nnet" / "agent.nnet").write_text("// header\n2,9,4\n")
    return folder


CASES = {
    # formula
    "no formula": (GOOD[:2], ["no formula", "--formula", "safe1"]),
    "blank formula": ([*GOOD[:2], "--formula", "  "], ["no formula", "@FILE"]),
    "formula ends early": ([*GOOD[:2], "--formula", "AX^5 (h > 100"], ["line 1, column 14", "^"]),
    "unknown name": ([*GOOD[:2], "--formula", "AX^5 (hh > 100)"], ["unknown name 'hh'", "did you mean 'h'"]),
    "no bound": ([*GOOD[:2], "--formula", "AG safe", "--mode", "adaptive"], ["AG needs a bound", "AG^5 p"]),
    "no bound below a step": (
        [*GOOD[:2], "--formula", "AX^2 AG safe", "--mode", "adaptive"],
        ["AG needs a bound", "line 1, column 6"],
    ),
    "no bound, joined": (
        [*GOOD[:2], "--formula", "AG^3 safe & EF safe", "--mode", "adaptive"],
        ["EF needs a bound", "column 13"],
    ),
    "bounds in a mode for ever": (
        [*GOOD[:2], "--formula", "AG^3 safe", "--mode", "invariant"],
        ["mode invariant is for formulas without a bound", "leave the mode out"],
    ),
    "zero bound": ([*GOOD[:2], "--formula", "AX^0 safe"], ["line 1", "1"]),
    "product": ([*GOOD[:2], "--formula", "h * climb > 1"], ["line 1"]),
    "bare variable": ([*GOOD[:2], "--formula", "AX h"], ["line 1"]),
    "position": ([*GOOD[:2], "--formula", "AX ((9) > 1)"], ["line 1"]),
    "strange character": ([*GOOD[:2], "--formula", "AX (h > 1 €)"], ["unexpected character", "line 1"]),
    "formula file missing": ([*GOOD[:2], "--formula", "@{tmp}/none.txt"], ["none.txt", "check the path"]),
    "formula file is a folder": ([*GOOD[:2], "--formula", "@{tmp}"], ["cannot read", "directory"]),
    "formula file empty": ([*GOOD[:2], "--formula", "@{tmp}/empty.txt"], ["is empty", "one formula"]),
    "formula file latin-1": ([*GOOD[:2], "--formula", "@{tmp}/latin.txt"], ["no UTF-8 text"]),
    "formula file wrong": ([*GOOD[:2], "--formula", "@{tmp}/two.txt"], ["line 2"]),
    # scenario
    "no scenario": (["--formula", "AX^1 safe"], ["no scenario", "--scenario", "vcas"]),
    "unknown scenario": (["--scenario", "vcsa", "--formula", "x"], ["no scenario 'vcsa'", "did you mean 'vcas'"]),
    "scenario file missing": (["--scenario", "{tmp}/none.py", "--formula", "x"], ["no scenario file", "frozenlake"]),
    "scenario syntax": (["--scenario", "{tmp}/syntax.py", "--formula", "x"], ["syntax.py, line 1"]),
    "scenario without build": (["--scenario", "{tmp}/nobuild.py", "--formula", "x"], ["no function build"]),
    "scenario raises": (["--scenario", "{tmp}/raises.py", "--formula", "x"], ["raises.py, line 1", "division by zero"]),
    "scenario exits": (["--scenario", "{tmp}/exits.py", "--formula", "x"], ["exits.py, line 2", "SystemExit"]),
    "scenario returns no system": (["--scenario", "{tmp}/returns.py", "--formula", "x"], ["must return a System"]),
    "scenario signature": (["--scenario", "{tmp}/declares.py", "--formula", "x"], ["'speed'", "add it there"]),
    "scenario without branches": (["--scenario", "{tmp}/branchless.py", "--formula", "x > 0"], ["no branches", "add"]),
    "integer made a fraction": (["--scenario", "{tmp}/fraction.py", "--formula", "x > 0"], ["x is an integer"]),
    "state leaves its box": (
        ["--scenario", "{tmp}/counter.py", "--formula", "AG^5 x >= 0"],
        ["x = 4 is outside its range [0, 3]", "Widen the range"],
    ),
    "describe unknown scenario": (["scenarios", "vcass"], ["no scenario 'vcass'", "did you mean 'vcas'"]),
    # parameters
    "unknown parameter": ([*GOOD, "--set", "climb=1"], ["no parameter 'climb'", "did you mean 'climb0'"]),
    "parameter without value": ([*GOOD, "--set", "climb0"], ["expected NAME=VALUE"]),
    "parameter without name": ([*GOOD, "--set", "=1"], ["expected NAME=VALUE"]),
    "parameter not a number": ([*GOOD, "--set", "h_min=low"], ["'h_min'", "expected a number", "'low'"]),
    "parameter not finite": ([*GOOD, "--set", "h_min=nan"], ["'h_min'", "expected a number"]),
    "parameter range reversed": ([*GOOD, "--set", "climb0=3..1"], ["low..high", "'3..1'"]),
    "parameter no choice": ([*GOOD, "--set", "pilot=best"], ["one of all, middle, worst", "'best'"]),
    "parameter twice": ([*GOOD, "--set", "h_min=1", "--set", "h_min=2"], ["'h_min' twice", "once"]),
    "parameters do not fit": ([*ICE, "safe1", "--set", "holes=3,77"], ["cell 77", "size=3"]),
    "initial set empty": ([*GOOD, "--set", "h_min=5", "--set", "h_max=1"], ["no initial states", "change its bounds"]),
    # networks
    "networks missing": ([*GOOD, "--networks", "{tmp}/none"], ["no folder", "network files"]),
    "networks empty": ([*GOOD, "--networks", "{tmp}/nets"], ["none of the files", "--networks DIR"]),
    "network broken": ([*ICE, "safe1", "--networks", "{tmp}/broken"], ["agent.onnx"]),
    "network truncated": ([*ICE, "safe1", "--networks", "{tmp}/nnet"], ["agent.nnet"]),
    "network does not fit": ([*ICE, "safe1", "--set", "size=4"], ["16 inputs", "--networks"]),
    "networks of own scenario missing": (
        ["--scenario", "{tmp}/needs.py", "--formula", "x"],
        ["agent.onnx", "--networks"],
    ),
    # solver, mode, limits
    "unknown solver": ([*GOOD, "--solver", "cplex"], ["'cplex'", "highs"]),
    "solver missing": ([*GOOD, "--solver", "scip"], ["SCIP is not installed", "pip install pyscipopt"]),
    "unknown mode": ([*GOOD, "--mode", "par"], ["'par'", "comp-par"]),
    "unknown encoding": ([*GOOD, "--tune", "milp.encoding=bigm"], ["'bigm'", "big-m"]),
    "unknown bounds": ([*GOOD, "--tune", "milp.bounds=exact"], ["'exact'", "symbolic"]),
    "timeout negative": ([*GOOD, "--timeout", "-1"], ["--timeout", "above 0"]),
    "timeout zero": ([*GOOD, "--timeout", "0"], ["--timeout", "above 0"]),
    "timeout nan": ([*GOOD, "--timeout", "nan"], ["--timeout", "above 0"]),
    "timeout with unit": ([*GOOD, "--timeout", "5s"], ["--timeout", "'5s'"]),
    "workers zero": ([*GOOD, "--workers", "0"], ["--workers", "1"]),
    "workers not whole": ([*GOOD, "--workers", "1.5"], ["--workers", "1.5"]),
    "memory negative": ([*GOOD, "--memory", "-5"], ["--memory", "-5"]),
    # output files
    "json into no folder": ([*GOOD, "--json", "{tmp}/none/out.json"], ["--json", "no folder", "create it"]),
    "json onto a folder": ([*GOOD, "--json", "{tmp}"], ["--json", "is a folder"]),
    "json below a file": ([*GOOD, "--json", "{tmp}/empty.txt/out.json"], ["--json", "no folder"]),
    "json name too long": ([*GOOD, "--json", "{tmp}/" + "x" * 300], ["--json", "too long"]),
    "json without name": ([*GOOD, "--json", ""], ["--json", "empty"]),
    "json not permitted": ([*GOOD, "--json", "/proc/out.json"], ["--json", "cannot write", "elsewhere"]),
    "witness to stdout": ([*GOOD, "--witness", "-"], ["--witness takes a file", "--json -"]),
    "journal over json": (
        [*GOOD, "--json", "{tmp}/a", "--journal", "{tmp}/./a"],
        ["--json and --journal both name"],
    ),
    "certificate over witness": (
        [*GOOD, "--witness", "{tmp}/a", "--certificate", "{tmp}/./a"],
        ["--witness and --certificate both name"],
    ),
    "journal to stdout": ([*GOOD, "--journal", "-"], ["--journal takes a file"]),
    "certificate to stdout": ([*GOOD, "--certificate", "-"], ["--certificate takes a file"]),
    "witness over json": ([*GOOD, "--json", "{tmp}/a", "--witness", "{tmp}/a"], ["both name"]),
    # usage
    "check of a page without --check": (
        ["report", "{tmp}/satisfied.json", "--timeout", "5"],
        ["that is not asked: add --check, or leave it out"],
    ),
    "plane without a picture": (
        ["reach", "--scenario", "{tmp}/counter.py", "--steps", "1", "--plane", "x,x"],
        ["there is none: add --plot FILE, or leave it out"],
    ),
    "batch that is no text": (["verify", "--batch", "{tmp}/latin.txt"], ["no CSV in UTF-8: byte 14"]),
    "unknown option": ([*GOOD, "--wokers", "2"], ["--wokers", "--workers"]),
    "unknown command": (["verfy"], ["'verfy'", "did you mean 'verify'"]),
    "option without value": ([*GOOD, "--set"], ["--set", "argument"]),
    "stray argument": ([*GOOD, "AX"], ["AX"]),
    # simulate
    "simulate unknown branch": (["simulate", "--scenario", "vcas", "--branch", "a9"], ["'a9'", "a1, a2, a3"]),
    "simulate wrong count": (["simulate", "--scenario", "vcas", "--branches", "a1,a2", "--steps", "3"], ["each step"]),
    "simulate both": (
        ["simulate", "--scenario", "vcas", "--branch", "a1", "--branches", "a1,a2"],
        ["give one of them"],
    ),
    "simulate unknown variable": (["simulate", "--scenario", "vcas", "--initial", "x=1"], ["'x'", "h, climb"]),
    "simulate outside": (["simulate", "--scenario", "vcas", "--initial", "h=5"], ["no initial state", "h = 5"]),
    "simulate no number": (["simulate", "--scenario", "vcas", "--initial", "h=up"], ["finite number", "'up'"]),
    "simulate out of the box": (
        ["simulate", "--scenario", "{tmp}/counter.py", "--steps", "4"],
        ["x = 4 is outside its range", "Widen"],
    ),
    "simulate many out of the box": (
        ["simulate", "--scenario", "{tmp}/counter.py", "--steps", "4", "--runs", "3"],
        ["x = 4 is outside its range", "Widen"],
    ),
    "simulate no steps": (["simulate", "--scenario", "vcas", "--steps", "-1"], ["--steps", "-1"]),
    # replay
    "replay nothing": (["replay"], ["WITNESS.json"]),
    "replay missing": (["replay", "{tmp}/none.json"], ["none.json", "--witness FILE"]),
    "replay no json": (["replay", "{tmp}/text.json"], ["no JSON", "--witness FILE"]),
    "replay a certificate": (["replay", "{tmp}/proof.gz"], ["gzip", "`venmas check` takes those"]),
    "replay latin-1": (["replay", "{tmp}/latin.txt"], ["no JSON", "(it is no text in UTF-8)"]),
    "replay a list": (["replay", "{tmp}/list.json"], ["list", "expected the object"]),
    "replay an empty object": (["replay", "{tmp}/object.json"], ["no 'witness'", "--witness FILE"]),
    "replay satisfied": (["replay", "{tmp}/satisfied.json"], ["holds no witness", "'satisfied'"]),
    "replay bad number": (["replay", "{tmp}/number.json"], ["expected an exact number", "'zero'"]),
    "replay no steps": (["replay", "{tmp}/halves.json"], ["no states"]),
    "replay scenario gone": (["replay", "{tmp}/origin.json"], ["gone.py", "--scenario"]),
    "replay made in Python": (["replay", "{tmp}/python.json"], ["give --scenario"]),
    "replay unknown name": (
        ["replay", "{tmp}/formula.json", "--scenario", "{tmp}/counter.py"],
        ["unknown name 'y'"],
    ),
    "replay would run a file": (["replay", "{tmp}/formula.json"], ["counter.py", "which is code", "--scenario"]),
    "replay bad parameters": (["replay", "{tmp}/settings.json"], ["'parameters'", "texts"]),
    "replay other parameter": (
        ["replay", "{tmp}/ok.json", "--scenario", "{tmp}/counter.py", "--set", "z=1"],
        ["no parameter 'z'", "override"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_bad_input_is_one_message_with_the_remedy(
    case: str, folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    args, told = CASES[case]
    monkeypatch.chdir(tmp_path)
    if case == "solver missing":
        monkeypatch.setattr("importlib.util.find_spec", lambda name, *_: None)
    result = CliRunner().invoke(main, [arg.replace("{tmp}", str(folder)) for arg in args])
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert [line.startswith("error: ") for line in result.stderr.splitlines()].count(True) == 1, result.stderr
    assert result.stderr.startswith("error: ")
    assert "Traceback" not in result.stderr
    assert len(result.stderr) < 1200, result.stderr
    for part in told:
        assert part in result.stderr, f"{part!r} not in: {result.stderr}"
    assert not list(tmp_path.iterdir())


def test_there_are_enough_cases() -> None:
    assert len(CASES) >= 45


def test_a_fault_of_the_program_asks_for_a_report(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise np.linalg.LinAlgError("singular")

    monkeypatch.setattr("venmas.engine.verify.verify", broken)
    quiet = CliRunner().invoke(main, GOOD)
    assert quiet.exit_code == 1
    assert "internal error: LinAlgError: singular" in quiet.stderr
    assert "report it" in quiet.stderr
    assert "Traceback" not in quiet.stderr
    loud = CliRunner().invoke(main, [*GOOD, "-v"])
    assert loud.exit_code == 1
    assert "Traceback" in loud.stderr


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("a.onnx", "--networks"),
        ("a.vnnlib", "venmas vnnlib"),
        ("a.gz", "venmas check"),
    ],
)
def test_a_file_of_another_kind_is_not_run_as_a_scenario(name, remedy, tmp_path):
    (tmp_path / name).write_text("raise SystemExit(7)\n")
    done = CliRunner().invoke(main, ["--scenario", str(tmp_path / name), "--formula", "AX x > 0"])
    assert done.exit_code == 2 and "is no scenario" in done.stderr and remedy in done.stderr


def test_an_empty_direction_is_named():
    done = CliRunner().invoke(main, ["reach", "--scenario", "vcas", "--steps", "2", "--direction", ""])
    assert done.exit_code == 2 and "write a linear expression" in done.stderr
