"""Plug-ins through the command line: those of docs/plugins.md, whole, and with each step left out.

A distribution is made in a folder on the path of Python: nothing is installed, and no file of VenMAS is changed.
"""

from __future__ import annotations

from tests.needs import needs

needs("jsonschema", "markdown_it")

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from tests.docs.page_blocks import ROOT, blocks_of


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal in which no line of a table is broken."""
    monkeypatch.setenv("COLUMNS", "250")


SCHEMA = Draft202012Validator(json.loads((ROOT / "docs" / "result.schema.json").read_text()))
FILES = {b.title: b.text for b in blocks_of((ROOT / "docs" / "plugins.md").read_text()) if b.title}
ENTRIES = "toys-1.0.dist-info/entry_points.txt"
QUESTION = ("--scenario", "leak", "--formula", "AX level > 4.5")

Edit = Callable[[dict[str, str]], None]


def write(folder: Path, *edits: Edit) -> Path:
    """The distribution of the page, after edits of its files by name."""
    files = dict(FILES)
    for edit in edits:
        edit(files)
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def without(name: str, line: str = "") -> Edit:
    """Leave a file out, or the one place in it where a text stands."""

    def edit(files: dict[str, str]) -> None:
        if not line:
            del files[name]
            return
        assert files[name].count(line) == 1, (name, line)
        files[name] = files[name].replace(line, "")

    return edit


def instead(name: str, old: str, new: str) -> Edit:
    """Write something else there."""

    def edit(files: dict[str, str]) -> None:
        assert files[name].count(old) == 1, (name, old)
        files[name] = files[name].replace(old, new)

    return edit


def venmas(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "venmas", *args]
    places = (str(folder), *filter(None, [os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(places)}
    return subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=folder, env=environment)


# -- checks, each of one promise ---------------------------------------------------------------------------------------


def solver_is_listed(folder: Path) -> None:
    done = venmas(folder, "solvers")
    assert done.returncode == 0 and "middle" in done.stdout and "1.0" in done.stdout


def solver_answers(folder: Path) -> None:
    done = venmas(folder, *QUESTION, "--mode", "mono", "--solver", "middle", "--json", "-")
    assert done.returncode == 10, done.stderr
    result = json.loads(done.stdout)
    SCHEMA.validate(result)
    assert result["decided_by"] == "mono"  # not a proof in place of a solver that found nothing
    assert result["solver"] == [{"name": "middle", "version": "1.0"}]
    assert result["versions"]["toys"] == "1.0"


def mode_has_its_help(folder: Path) -> None:
    told = " ".join(venmas(folder, "verify", "--help").stdout.split())
    assert "|sampling]" in told and "sampling: exact runs from random initial states" in told


def mode_decides_and_its_figures_are_shown(folder: Path) -> None:
    stored = folder / "r.json"
    done = venmas(folder, *QUESTION, "--mode", "sampling", "--json", str(stored))
    assert done.returncode == 10, done.stderr
    assert "decided by       sampling\n" in done.stdout and "samples          " in done.stdout
    result = json.loads(stored.read_text())
    SCHEMA.validate(result)
    (tried,) = result["procedures"]
    assert (result["mode"], result["decided_by"], tried["name"], tried["why"]) == ("sampling", *["sampling"] * 2, "")
    assert tried["figures"]["samples"].endswith(" tried")
    page = venmas(folder, "report", str(stored), "--scenario", "leak", "-o", "-")
    assert page.returncode == 0, page.stderr
    assert f"<dt>samples</dt><dd>{tried['figures']['samples']}</dd>" in page.stdout


def mode_leaves_open_what_it_does_not_find(folder: Path) -> None:
    done = venmas(folder, "--scenario", "leak", "--formula", "AX level > 1", "--mode", "sampling")
    assert done.returncode == 20
    assert done.stdout.startswith("unknown (open): no random run violates it, which proves nothing\n")
    assert "samples: 100 tried" in done.stdout and "What may help" in done.stdout


def scenario_is_listed_and_described(folder: Path) -> None:
    assert "A tank that leaks." in venmas(folder, "scenarios").stdout
    told = venmas(folder, "scenarios", "leak").stdout
    assert "File: " in told and "About it: " in told and "README.md" in told


def scenario_is_decided(folder: Path) -> None:
    assert venmas(folder, "--scenario", "leak", "--formula", "AX level > 3.5", "-q").stdout == "satisfied\n"


def reader_reads(folder: Path) -> None:
    done = venmas(folder, "vnnlib", "pump.gains", "high.vnnlib", "-q")
    assert (done.returncode, done.stdout) == (0, "unsat\n"), done.stderr


SOLVER, PROCEDURE, SCENARIO, READER = "toys/solver.py", "toys/procedure.py", "toys/leak/scenario.py", "toys/reader.py"
CHECKS = (
    solver_is_listed,
    solver_answers,
    mode_has_its_help,
    mode_decides_and_its_figures_are_shown,
    mode_leaves_open_what_it_does_not_find,
    scenario_is_listed_and_described,
    scenario_is_decided,
    reader_reads,
)
STEPS: dict[str, tuple[Edit, Callable[[Path], None]]] = {
    "the solver's entry point": (without(ENTRIES, "middle = toys.solver:MIDDLE\n"), solver_is_listed),
    "the solver's name": (without(SOLVER, '    name = "middle"\n'), solver_is_listed),
    "what the solver answers": (
        instead(SOLVER, "(program.lower + program.upper) / 2", "program.upper"),
        solver_answers,
    ),
    "the procedure's entry point": (without(ENTRIES, "sampling = toys.procedure:SAMPLING\n"), mode_has_its_help),
    "the procedure's help": (
        without(PROCEDURE, '    help = "exact runs from random initial states"\n'),
        mode_has_its_help,
    ),
    "the procedure's figures": (
        instead(PROCEDURE, '[("samples", f"{self.tried} tried")]', "[]"),
        mode_decides_and_its_figures_are_shown,
    ),
    "the procedure's last word": (
        instead(
            PROCEDURE, 'return Unknown(Reason.OPEN, "no random run violates it, which proves nothing")', "raise OSError"
        ),
        mode_leaves_open_what_it_does_not_find,
    ),
    "the scenario's entry point": (without(ENTRIES, "leak = toys.leak\n"), scenario_is_decided),
    "the scenario's file": (without(SCENARIO), scenario_is_decided),
    "the scenario's README": (without("toys/leak/README.md"), scenario_is_listed_and_described),
    "the reader's entry point": (without(ENTRIES, "gains = toys.reader:read_gains\n"), reader_reads),
    "what the reader returns": (instead(READER, "return relu_network", "relu_network"), reader_reads),
}


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_plug_ins_work(check: Callable[[Path], None], tmp_path: Path) -> None:
    check(write(tmp_path))


@pytest.mark.parametrize("step", STEPS)
def test_no_step_can_be_left_out(step: str, tmp_path: Path) -> None:
    edit, check = STEPS[step]
    with pytest.raises(AssertionError):
        check(write(tmp_path, edit))


# -- what goes wrong is said, and the rest works -----------------------------------------------------------------------

WRONG: dict[str, tuple[Edit, tuple[str, ...], str]] = {
    "a solver of ours": (
        instead(ENTRIES, "middle = ", "highs = "),
        ("solvers",),
        "warning: the plug-in highs = toys.solver:MIDDLE of toys 1.0 (venmas.solvers) is left out: the name 'highs' is "
        "taken; its author can rename the entry point\n",
    ),
    "another name": (instead(ENTRIES, "middle = ", "mean = "), ("solvers",), "its own name is 'middle'"),
    "a class": (
        instead(ENTRIES, ":MIDDLE", ":Middle"),
        ("solvers",),
        "it is the class Middle: name an object, Middle()",
    ),
    "no version": (instead(SOLVER, "class Middle(BaseSolver)", "class Middle"), ("solvers",), "it has no fits, solve"),
    "an import that fails": (
        instead(SOLVER, "from venmas.solvers.milp", "import nowhere\nfrom venmas.solvers.milp"),
        ("solvers",),
        "No module",
    ),
    "a mode of ours": (
        lambda files: (
            instead(ENTRIES, "sampling = ", "adaptive = ")(files),
            instead(PROCEDURE, 'name = "sampling"', 'name = "adaptive"')(files),
        )[0],
        (*QUESTION, "-q"),
        "adaptive is a mode already",
    ),
    "no procedure": (instead(ENTRIES, ":SAMPLING", ":Samples.tried"), (*QUESTION, "-q"), "it has no name, help"),
    "a scenario of ours": (instead(ENTRIES, "leak = ", "vcas = "), ("scenarios",), "the name 'vcas' is taken"),
    "no package": (instead(ENTRIES, "leak = toys.leak", "leak = toys.solver"), ("scenarios",), "it is no package"),
    "a reader of ours": (instead(ENTRIES, "gains = ", "onnx = "), ("scenarios", "vcas"), ""),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_wrong_is_left_out_with_a_warning(wrong: str, tmp_path: Path) -> None:
    edit, command, warning = WRONG[wrong]
    done = venmas(write(tmp_path, edit), *command)
    assert done.returncode in (0, 10), done.stderr
    assert warning in done.stderr and done.stderr.count("left out") == (1 if warning else 0)
    assert "Traceback" not in done.stderr


def test_a_reader_that_fails_is_bad_input(tmp_path: Path) -> None:
    folder = write(tmp_path, instead("pump.gains", "2 0", "two nought"))
    done = venmas(folder, "vnnlib", "pump.gains", "high.vnnlib")
    assert done.returncode == 2
    assert "the reader of .gains files, which is not part of VenMAS, failed: ValueError" in done.stderr
    done = venmas(write(tmp_path), "vnnlib", "pump.other", "high.vnnlib")
    assert done.returncode == 2 and ".gains" in done.stderr


def test_a_result_does_not_start_a_scenario_that_is_plugged_in(tmp_path: Path) -> None:
    folder = write(tmp_path)
    assert venmas(folder, *QUESTION, "--witness", "w.json", "-q").returncode == 10
    refused = venmas(folder, "replay", "w.json")
    assert refused.returncode == 2 and "if you trust it, give it with --scenario" in refused.stderr
    assert venmas(folder, "replay", "w.json", "--scenario", "leak", "-q").returncode == 10
