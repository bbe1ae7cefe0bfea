"""`--timeout` begins with the command: a limit that is met while its input is read is an unknown, told as elsewhere."""

from __future__ import annotations

from tests.clock import now
from tests.needs import needs

needs("jsonschema")

import gc
import json
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from jsonschema import Draft202012Validator

from venmas.cli.limits import limits, reading
from venmas.cli.main import main
from venmas.errors import LimitError

SCHEMA = json.loads((Path(__file__).resolve().parents[2] / "docs" / "result.schema.json").read_text())
LIMIT = 0.5
SLOW = """import time
from venmas import System
from venmas.model import Parameter

PARAMETERS = (Parameter("wait", {wait}, "seconds"),)


def build(networks, wait):
    s = System("slow")
    x = s.integer("x", 0, 3)
    s.initial(x == 0)
    s.branch("stay", x=x)
    end = time.monotonic() + wait
    while time.monotonic() < end:
        pass
    return s
"""
QUERY = "(declare-const X_0 Real)(declare-const Y_0 Real)(assert (>= X_0 0))(assert (<= X_0 1))(assert (>= Y_0 9))"


def netlist(path: Path, lines: int) -> str:
    """A state whose next value is a long sum."""
    text = ["1 sort bitvec 8", "2 input 1 a", "3 state 1 s", "4 zero 1", "5 init 1 3 4"]
    for i in range(6, lines):
        text.append(f"{i} add 1 {i - 1 if i > 6 else 3} 2")
    text += [f"{lines} next 1 3 {lines - 1}", f"{lines + 1} sort bitvec 1"]
    text += [f"{lines + 2} eq {lines + 1} 3 4", f"{lines + 3} bad {lines + 2}"]
    path.write_text("\n".join(text))
    return str(path)


@pytest.fixture
def run() -> Callable[..., tuple[Result, float]]:
    """Invokes a command, and says how long it took."""

    def ran(*args: str) -> tuple[Result, float]:
        begun = now()
        found = CliRunner().invoke(main, [*args, "--timeout", str(LIMIT)])
        return found, now() - begun

    ran("verify", "--scenario", "vcas", "--formula", "AX h < -1000")  # modules are loaded
    return ran


def slow(folder: Path, wait: float = 60) -> str:
    path = folder / "slow.py"
    path.write_text(SLOW.format(wait=wait))
    return str(path)


def test_building_a_scenario(run, tmp_path: Path) -> None:
    stored = tmp_path / "result.json"
    asked = ("verify", "--scenario", slow(tmp_path), "--formula", "AX x <= 3")
    found, seconds = run(*asked, "--json", str(stored))
    assert found.exit_code == 20 and seconds < LIMIT + 2
    assert found.stdout.startswith("unknown (time): the limit of 0.5 s was reached while the input was read")
    result = json.loads(stored.read_text())
    Draft202012Validator(SCHEMA).validate(result)
    assert result["verdict"] == "unknown" and result["reason"] == "time"
    assert run(*asked, "--quiet")[0].stdout.count("\n") == 1


@pytest.mark.parametrize(
    "command",
    [
        ("reach", "--steps", "2"),
    ],
)
def test_building_a_scenario_for_other_commands(run, command: tuple[str, ...], tmp_path: Path) -> None:
    stored = tmp_path / "result.json"
    found, seconds = run(*command, "--scenario", slow(tmp_path), "--json", str(stored))
    assert found.exit_code == 20 and seconds < LIMIT + 2
    assert "unknown (time)" in found.stdout and "no file is written" in found.stdout and not stored.exists()


def test_building_a_scenario_for_several_formulas(run, tmp_path: Path) -> None:
    found, seconds = run("verify", "--scenario", slow(tmp_path), "--formula", "a", "--formula", "b", "--json", "-")
    rows = json.loads(found.stdout)["results"]
    assert found.exit_code == 20 and seconds < LIMIT + 2
    assert [(row["formula"], row["verdict"], row["reason"]) for row in rows] == [
        ("a", "unknown", "time"),
        ("b", "unknown", "time"),
    ]


def test_a_limit_that_is_met_as_soon_as_it_begins() -> None:
    """The timer may also come while it is taken away."""
    before = signal.getsignal(signal.SIGALRM)
    for i in range(200):
        with pytest.raises(LimitError), reading(1e-6):
            time.sleep(0.0097 + 2e-6 * i)
        assert signal.getsignal(signal.SIGALRM) is before


def test_a_swept_scenario_tells_the_row(run, tmp_path: Path) -> None:
    asked = ("verify", "--scenario", slow(tmp_path, 0), "--formula", "AX x <= 3", "--sweep", "wait=0,60")
    found, seconds = run(*asked, "--json", "-")
    rows = json.loads(found.stdout)["results"]
    assert [row["verdict"] for row in rows] == ["satisfied", "unknown"] and seconds < 2 * LIMIT + 2
    assert "while the input was read" in rows[1]["message"]


def test_what_reading_takes_is_not_there_for_deciding(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    given: list[float] = []
    from venmas.engine import verify as engine

    whole = engine.verify
    monkeypatch.setattr(engine, "verify", lambda *a, **k: given.append(k["timeout"]) or whole(*a, **k))
    asked = ["verify", "--scenario", slow(tmp_path, 0.3), "--formula", "AX x <= 3", "--timeout", "60", "--json", "-"]
    found = CliRunner().invoke(main, asked)
    assert found.exit_code == 0 and given[0] <= 59.7
    assert json.loads(found.stdout)["asked"]["timeout"] == 60


def test_a_netlist(run, tmp_path: Path) -> None:
    found, seconds = run("verify", "--scenario", netlist(tmp_path / "long.btor2", 200_000), "--formula", "bad0")
    assert found.exit_code == 20 and seconds < LIMIT + 2 and found.stdout.startswith("unknown (time)")


def test_a_collector_that_calls_back() -> None:
    """What is raised in a callback of the collector is swallowed by it: the timer comes again soon."""

    def called(_phase: str, _info: dict[str, int]) -> None:
        sum(range(10_000))

    def endless() -> None:
        while True:  # a quarter of the time is the collector's
            gc.collect(0)
            sum(range(60_000))

    gc.callbacks.append(called)
    try:
        for _ in range(20):
            begun = now()
            with pytest.raises(LimitError), reading(0.05):
                endless()
            assert now() - begun < 1
    finally:
        gc.callbacks.remove(called)


def test_a_network(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(*_: object) -> None:
        while True:
            np.zeros(1)

    prop = tmp_path / "p.vnnlib"
    prop.write_text(QUERY)
    monkeypatch.setattr("venmas.engine.query.files.load_network", endless)
    (tmp_path / "n.onnx").write_bytes(b"")
    found, seconds = run("vnnlib", str(tmp_path / "n.onnx"), str(prop))
    assert found.exit_code == 20 and seconds < LIMIT + 2 and found.stdout == "timeout\n"


def test_what_is_left_of_a_limit() -> None:
    with reading(None) as left:
        assert left() is None
    with reading(60, None) as left:
        pass
    assert 59 < left() <= 60
    with pytest.raises(LimitError, match=re.escape("while the input was read; --timeout")), reading(0.01, None):
        time.sleep(0.02)
    with pytest.raises(LimitError, match="s was reached; --timeout"), limits(0.01, None):
        time.sleep(0.2)


def test_the_timer_that_the_process_had_is_given_back() -> None:
    rang = []
    before = signal.signal(signal.SIGALRM, lambda *_: rang.append(1))
    signal.setitimer(signal.ITIMER_REAL, 0.3, 50)
    try:
        with limits(60, None):
            time.sleep(0.5)
        time.sleep(0.1)
        left, period = signal.getitimer(signal.ITIMER_REAL)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert rang and left > 40 and period == 50
