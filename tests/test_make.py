"""What `make` would do: sets up what is missing or older than what is installed, and touches no other environment."""

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

pytestmark = pytest.mark.quick

ROOT = Path(__file__).parents[1]
ASKS, TESTS = "-m venmas --scenario vcas", "-m pytest"
LEARNERS = "experiments/learners/pyproject.toml"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A fresh clone, as far as make sees it."""
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    (tmp_path / LEARNERS).parent.mkdir(parents=True)
    for name in ("Makefile", "setup.cfg", "pyproject.toml", LEARNERS):
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def make(folder: Path, *words: str) -> str:
    """The commands that make would run, in an environment that holds nothing."""
    clean = {"PATH": os.environ["PATH"], "HOME": str(folder), "LANG": "C.UTF-8"}
    return subprocess.run(
        ["make", "-n", *words], cwd=folder, env=clean, check=True, capture_output=True, text=True
    ).stdout


def stamp(folder: Path, name: str, age: int = 0) -> None:
    at = folder / ".venv" / name
    at.parent.mkdir(exist_ok=True)
    at.touch()
    newest = max((folder / name).stat().st_mtime for name in ("setup.cfg", "pyproject.toml", LEARNERS))
    os.utime(at, (newest + 10 - age, newest + 10 - age))


def installed(commands: str) -> list[str]:
    return re.findall(r'pip install .*-e "(.*)"', commands)


def test_the_first_call_sets_up(folder: Path) -> None:
    demo, test = make(folder, "demo"), make(folder, "test")
    assert "python3 -m venv .venv" in demo and "python3 -m venv .venv" in test
    assert installed(demo) == ["."] and f".venv/bin/python {ASKS}" in demo
    assert installed(test) == [".[test]"] and f".venv/bin/python {TESTS}" in test


def test_the_second_call_does_not(folder: Path) -> None:
    stamp(folder, ".demo")
    assert make(folder, "demo").count("\n") == 1
    assert installed(make(folder, "test")) == [".[test]"]
    stamp(folder, ".test")
    for target in ("test", "corpus", "docs"):
        assert make(folder, target).count("\n") == 1, target


@pytest.mark.parametrize("changed", ["setup.cfg", "pyproject.toml"])
def test_what_has_changed_is_installed_again(folder: Path, changed: str) -> None:
    stamp(folder, ".demo")
    stamp(folder, ".test")
    os.utime(folder / changed, (later := (folder / ".venv/.test").stat().st_mtime + 10, later))
    assert installed(make(folder, "demo")) == ["."] and installed(make(folder, "lint")) == [".[test]"]


def test_a_python_that_is_named_is_taken_as_it_is(folder: Path) -> None:
    for target in ("demo", "test", "quick", "lint", "corpus", "setup"):
        commands = make(folder, target, "PYTHON=mine")
        assert not installed(commands) and "venv" not in commands, target
        assert all(line.startswith("mine ") for line in commands.splitlines() if "Nothing to be done" not in line)


def test_every_target_runs_in_the_environment(folder: Path) -> None:
    stamp(folder, ".demo")
    stamp(folder, ".test")
    text = (ROOT / "Makefile").read_text()
    targets = " ".join(re.findall(r"^(?:DEVELOP|LONG) := (.*)$", text, re.MULTILINE)).split()
    assert {"demo", "test", "quick", "lint", "corpus"} <= set(targets)
    for target in targets:
        for line in make(folder, target).splitlines():
            assert ".venv/bin/python " in line or "Nothing to be done" in line, line


def test_readme_begins_with_them_and_ci_calls_them() -> None:
    page, run = (ROOT / "README.md").read_text(), (ROOT / ".ci/run").read_text()
    first = page.split("```sh\n")[1].split("```")[0]
    assert page.index(first) < 400 and re.findall(r"^make (\w+)", first, re.MULTILINE) == ["demo", "test"]
    assert re.findall(r"\bmake (\w+)", run) == ["demo", "lint", "test"]


def test_the_fast_tests_are_those_marked_quick(folder: Path) -> None:
    marks = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]["markers"]
    assert {"quick", "thorough"} <= {mark.partition(":")[0] for mark in marks}
    assert '-m pytest -m "quick and not thorough"' in make(folder, "quick")
