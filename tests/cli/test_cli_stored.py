"""Stored files name nothing that is opened: no code, no folder of networks, no file outside what the user named."""

from __future__ import annotations

import gzip
import json
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.needs import needs
from venmas.cli.limits import LimitError, limits
from venmas.cli.main import main
from venmas.engine.certify import certify
from venmas.logic import parse
from venmas.model import load_scenario

FORMULA = "AX^1 (h > 100 | h < -100)"
PARAMETERS = {"climb0": "-19.5"}
ORIGIN: dict[str, Any] = {"scenario": "vcas", "networks": None, "digests": {}}


def run(*args: object) -> Result:
    return CliRunner().invoke(main, [str(a) for a in args])


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a certificate, a violated result, a satisfied one with its certificate, and a run."""
    folder = tmp_path_factory.mktemp("stored")
    system = load_scenario("vcas").system(**PARAMETERS)
    about = {"origin": ORIGIN, "parameters": PARAMETERS}
    assert certify(system, parse(FORMULA, system.vocabulary), folder / "proof.gz", about)[1] is not None
    vcas = ("--scenario", "vcas", "--set", "climb0=-19.5", "-q")
    proof = ("--json", folder / "satisfied.json", "--certificate", folder / "proof.gz", "--trust", "exact")
    assert run(*vcas, "--formula", FORMULA, *proof).exit_code == 0
    violated = ("--scenario", "vcas", "--set", "climb0=-25.5", "--formula", "safe3", "-q")
    assert run(*violated, "--json", folder / "violated.json").exit_code == 10
    assert run("simulate", "--scenario", "vcas", "--steps", "2", "--json", folder / "run.json").exit_code == 0
    return folder


def edit_header(source: Path, target: Path, **changes: object) -> None:
    head, *rest = gzip.decompress(source.read_bytes()).split(b"\n", 1)
    target.write_bytes(gzip.compress(b"\n".join([json.dumps(json.loads(head) | changes).encode(), *rest])))


def edit(source: Path, target: Path, **changes: object) -> None:
    if source.suffix == ".gz":
        edit_header(source, target, **changes)
    else:
        target.write_text(json.dumps(json.loads(source.read_text()) | changes))


COMMANDS: dict[str, tuple[str, Callable[[Path, Path], list[object]]]] = {
    "check": ("proof.gz", lambda f, _: ["check", f]),
    "replay": ("violated.json", lambda f, _: ["replay", f]),
    "export witness": ("violated.json", lambda f, _: ["export", "witness", f]),
    "plot": ("violated.json", lambda f, out: ["plot", f, "-o", out / "o.svg"]),
    "plot a run": ("run.json", lambda f, out: ["plot", f, "-o", out / "o.svg"]),
    "report": ("violated.json", lambda f, out: ["report", f, "-o", out / "o.html"]),
    "report --check": ("satisfied.json", lambda f, out: ["report", f, "--check", "-o", out / "o.html"]),
}
"""What is read, and the command that reads it."""

EVIL = "import pathlib\npathlib.Path({canary!r}).touch()\n"


def scenario_names(folder: Path) -> Iterator[tuple[str, str]]:
    """Names under which a scenario file may be found, and where it then lies."""
    (folder / "sub").mkdir()
    yield str(folder / "evil.py"), "evil.py"
    yield "evil.py", "evil.py"
    yield "./sub/../evil.py", "evil.py"
    yield "sub", "sub/scenario.py"
    yield "vcas/../evil.py", "evil.py"
    yield str(folder / "link.py"), "evil.py"


@pytest.mark.parametrize("name", COMMANDS)
def test_no_stored_file_runs_code(name: str, stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs("jinja2", "matplotlib")
    monkeypatch.chdir(tmp_path)
    file, command = COMMANDS[name]
    (tmp_path / "proof.gz").write_bytes((stored / "proof.gz").read_bytes())
    canary = tmp_path / "canary"
    (tmp_path / "vcas").mkdir()
    os.symlink("evil.py", tmp_path / "link.py")
    for told, place in scenario_names(tmp_path):
        (tmp_path / place).write_text(EVIL.format(canary=str(canary)))
        changes: dict[str, object] = {"origin": {**ORIGIN, "scenario": told}}
        edit(stored / file, tmp_path / file, **(changes | ({"scenario": told} if file == "run.json" else {})))
        done = run(*command(tmp_path / file, tmp_path))
        assert not canary.exists(), told
        assert "Traceback" not in done.output
        assert "which is code" in done.stderr, done.output
        assert done.exit_code == (0 if name in ("plot", "plot a run", "report") else 2), done.output


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "plot a run"])
def test_no_stored_file_chooses_where_networks_come_from(
    name: str, stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder of the file is never opened; that of an option is, though the file names another."""
    needs("jinja2", "matplotlib")
    monkeypatch.chdir(tmp_path)
    opened: list[str] = []

    def folder(path: object) -> Any:
        opened.append(str(path))
        return made(path)

    from venmas.model import parameters

    made = parameters.NetworkFolder
    monkeypatch.setattr("venmas.model.NetworkFolder", folder)
    file, command = COMMANDS[name]
    (tmp_path / "proof.gz").write_bytes((stored / "proof.gz").read_bytes())
    nets = Path(load_scenario("vcas").networks)
    for told in (str(tmp_path / "nets"), "nets", "/dev", "/proc/self/root"):
        (tmp_path / "nets").mkdir(exist_ok=True)
        edit(stored / file, tmp_path / file, origin={**ORIGIN, "networks": told})
        done = run(*command(tmp_path / file, tmp_path))
        assert opened == []
        assert "not a stored file" in done.stderr, done.output
        assert done.exit_code == (0 if name in ("plot", "report") else 2), done.output
    done = run(*command(tmp_path / file, tmp_path), "--networks", nets)
    assert done.exit_code in (0, 10) and set(opened) == {str(nets)}, done.output


def test_what_is_no_header_of_ours_is_no_fault(stored: Path, tmp_path: Path) -> None:
    for origin in (None, 5, [], "vcas", {}, {"scenario": ["vcas"]}, {"scenario": {"a": 1}}, {"networks": "x"}):
        edit(stored / "proof.gz", tmp_path / "proof.gz", origin=origin)
        done = run("check", tmp_path / "proof.gz")
        assert done.exit_code == 2 and "--scenario" in done.stderr and "internal" not in done.stderr, done.output
        done = run("check", tmp_path / "proof.gz", "--scenario", "vcas", "--set", "climb0=-19.5", "-q")
        assert done.stdout == "proved\n"


def test_a_result_does_not_choose_the_certificate(stored: Path, tmp_path: Path) -> None:
    """Only a file beside it is opened, whatever its path says; the user may name another."""
    needs("jinja2", "matplotlib")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "proof.gz").write_bytes((stored / "proof.gz").read_bytes())
    here = tmp_path / "here"
    here.mkdir()
    result, page = here / "satisfied.json", tmp_path / "o.html"
    for told in (str(elsewhere / "proof.gz"), "../elsewhere/proof.gz", "..", "", "a\0b", "x" * 5000):
        edit(stored / "satisfied.json", result, certificate={"path": told, "lines": 1, "size": 1})
        done = run("report", result, "--check", "-o", page)
        assert done.exit_code == 2 and "--certificate FILE" in done.stderr, done.output
    os.symlink(elsewhere / "proof.gz", here / "proof.gz")
    edit(stored / "satisfied.json", result, certificate={"path": "proof.gz", "lines": 1, "size": 1})
    done = run("report", result, "--check", "-o", page)
    assert done.exit_code == 2 and "--certificate FILE" in done.stderr, done.output
    done = run("report", result, "--check", "--certificate", elsewhere / "proof.gz", "-o", page)
    assert done.exit_code == 0 and "was checked for this page" in page.read_text()
    assert run("report", result, "--certificate", "x", "-o", page).exit_code == 2
    (here / "proof.gz").unlink()
    (here / "proof.gz").write_bytes((stored / "proof.gz").read_bytes())
    edit(stored / "satisfied.json", result, certificate={"path": "/gone/proof.gz", "lines": 1, "size": 1})
    assert run("report", result, "--check", "-o", page).exit_code == 0


def test_a_formula_in_a_stored_file_names_no_file(stored: Path, tmp_path: Path) -> None:
    """``@FILE`` is read on the command line only."""
    (tmp_path / "f.txt").write_text(FORMULA)
    for file in ("violated.json", "proof.gz"):
        edit(stored / file, tmp_path / file, formula=f"@{tmp_path / 'f.txt'}")
    for command in ("replay", "export witness", "check"):
        source, arguments = COMMANDS[command]
        done = run(*arguments(tmp_path / source, tmp_path))
        assert done.exit_code == (30 if command == "check" else 2) and FORMULA not in done.output, done.output


def test_limits_hold_in_loops_that_nobody_asks_and_leave_nothing_behind() -> None:
    """Handlers of errors do not swallow them; other errors pass as they are; threads ask by themselves."""

    def endless() -> None:
        while True:
            with suppress(Exception):
                for _ in iter(int, 1):
                    pass

    before = signal.getsignal(signal.SIGALRM)
    begun = monotonic()
    with pytest.raises(LimitError, match=r"0\.2 s"), limits(0.2, 10**6):
        endless()
    assert 0.2 <= monotonic() - begun < 2
    with pytest.raises(LimitError, match="-1 MB"), limits(60, -1) as ask:
        ask()
    with pytest.raises(ZeroDivisionError), limits(60, 10**6):
        _ = 1 // 0
    assert signal.getsignal(signal.SIGALRM) == before and signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    met: list[str] = []

    def elsewhere() -> None:
        try:
            with limits(0.01, 10**6) as ask:
                while True:
                    ask()
        except LimitError as stop:
            met.append(stop.reason)

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join(5)
    assert met == ["time"]
