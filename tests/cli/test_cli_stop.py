"""Ctrl-C, a time limit and the death of a worker in the middle of a long run."""

from tests.needs import needs

needs("jsonschema", "psutil")

import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
from jsonschema import Draft202012Validator

from tests.slow import some_slow
from venmas.cli.interrupt import interruptible
from venmas.cli.main import main

SCHEMA = json.loads((Path(__file__).resolve().parents[2] / "docs" / "result.schema.json").read_text())
VCAS = ["--scenario", "vcas", "--mode", "comp-par", "--solver", "highs", "--workers", "2"]
WIDE = ["--set", "climb0=-45..45", "--set", "h_min=-400", "--set", "h_max=400"]
LONG = [*VCAS, *WIDE, "--formula", "AX^2 (h > -489)"]
"""One step away from the least altitude in reach: bounds do not help, and each program takes HiGHS long."""

SHORT = [*VCAS, "--set", "climb0=-22.5..-18.7", "--formula", "safe3"]
"""Some seconds; satisfied."""


@contextmanager
def started(*args: str) -> Iterator[subprocess.Popen[str]]:
    """A run in the background; afterwards nothing of it may be left."""
    command = [sys.executable, "-m", "venmas", *args]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    family: set[psutil.Process] = set()
    try:
        yield process
        family |= _children(process)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    _, alive = psutil.wait_procs(family, timeout=5)
    assert not alive, f"processes left: {alive}"


def _children(process: subprocess.Popen[str]) -> set[psutil.Process]:
    try:
        return set(psutil.Process(process.pid).children(recursive=True))
    except psutil.NoSuchProcess:
        return set()


def _workers(process: subprocess.Popen[str], busy: float = 1.5) -> list[psutil.Process]:
    """The workers, once one of them has used its core for `busy` seconds: more than it needs to start."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        children = _children(process)
        try:
            if any(sum(c.cpu_times()[:2]) > busy for c in children):
                return sorted(children, key=lambda c: c.pid)
        except psutil.NoSuchProcess:
            pass
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    raise AssertionError("no worker has begun to work")


def _checked(text: str) -> dict[str, Any]:
    result = json.loads(text)
    Draft202012Validator(SCHEMA).validate(result)
    return dict(result)


def _gone(workers: list[psutil.Process]) -> bool:
    return not psutil.wait_procs(workers, timeout=5)[1]


def test_ctrl_c_ends_with_unknown_interrupted() -> None:
    with started(*LONG, "--json", "-") as process:
        workers = _workers(process)
        begun = time.monotonic()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
        assert time.monotonic() - begun < 10
        result = _checked(out)
        assert (process.returncode, result["verdict"], result["reason"]) == (20, "unknown", "interrupted")
        assert result["subproblems"]["created"] > 0
        assert "Traceback" not in err
        assert _gone(workers)


def test_a_terminating_signal_is_an_interrupt() -> None:
    with started(*LONG, "-q") as process:
        workers = _workers(process)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=20)
        assert (process.returncode, err) == (20, "")
        assert out.startswith("unknown (interrupted)")
        assert _gone(workers)


@pytest.mark.parametrize(
    "delay", some_slow([0.02, 0.06, 0.1, 0.14], [0])
)  # while workers are stopped, and while the process ends
def test_two_interrupts_leave_no_traceback_and_no_process(delay: float) -> None:
    with started(*LONG) as process:
        workers = _workers(process)
        process.send_signal(signal.SIGINT)
        time.sleep(delay)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
        assert process.returncode == 20
        assert "interrupted" in out + err
        assert "Traceback" not in err
        assert _gone(workers)


@pytest.mark.parametrize("delay", some_slow([0.0, 0.1, 0.3], [1]))
@pytest.mark.parametrize("command", [[*LONG, "-q"], ["simulate", "--scenario", "vcas", "--runs", "10000"]])
def test_an_early_interrupt_is_no_fault(command: list[str], delay: float) -> None:
    with started(*command) as process:
        while not any("numpy" in m.path for m in psutil.Process(process.pid).memory_maps()):
            time.sleep(0.01)  # the command has begun
        time.sleep(delay)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
        assert process.returncode == 20, err
        assert "interrupted" in out + err
        assert "Traceback" not in err


def interrupted_in(tmp_path: Path, code: str) -> str:
    """What is printed where an interrupt comes, to the process itself, in the course of some code."""
    (tmp_path / "loaded.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nprint('loaded')\n")
    wait = "\n    time.sleep(5)\n    print('went on')"
    lines = ["import os, signal, sys, time", "from venmas.cli.interrupt import interruptible"]
    lines += ["from venmas.errors import VenmasError"]
    lines += ["class Dying:", "    def __del__(self):", "        os.kill(os.getpid(), signal.SIGINT)"]
    lines += ["with interruptible(20):", f"    {code}{wait}"]
    command = [sys.executable, "-c", "\n".join(lines)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, cwd=tmp_path, check=False)
    assert done.stderr.endswith("KeyboardInterrupt\n")
    assert "ignored" not in done.stderr
    return done.stdout


def test_an_interrupt_waits_for_the_end_of_an_import(tmp_path: Path) -> None:
    assert interrupted_in(tmp_path, "import loaded; print('next')") in ("loaded\n", "loaded\nnext\n")


def test_an_interrupt_in_a_finalizer_is_not_lost(tmp_path: Path) -> None:
    assert interrupted_in(tmp_path, "dying = Dying(); del dying") == ""


@pytest.mark.parametrize("error", ["TypeError", "VenmasError('of the input') from TypeError()"])
def test_an_interrupt_that_became_another_error_is_one(error: str, tmp_path: Path) -> None:
    code = f"try: os.kill(os.getpid(), signal.SIGINT); time.sleep(5)\n    except KeyboardInterrupt: raise {error}"
    assert interrupted_in(tmp_path, code) == ""


def test_an_alarm_of_others_is_theirs() -> None:
    rang: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, _: rang.append(number))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with interruptible():
            time.sleep(0.2)
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with interruptible():
            pass
        time.sleep(0.2)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert len(rang) == 2


def test_commands_run_in_any_thread(capsys: pytest.CaptureFixture[str]) -> None:
    with ThreadPoolExecutor() as threads:
        ended = threads.submit(main, ["--version"]).exception()
    assert isinstance(ended, SystemExit)
    assert ended.code == 0
    assert capsys.readouterr().out


def test_a_time_limit_ends_with_unknown_time() -> None:
    begun = time.monotonic()
    with started(*LONG, "--timeout", "1", "--json", "-") as process:
        out, err = process.communicate(timeout=30)
    assert time.monotonic() - begun < 15
    result = _checked(out)
    assert (process.returncode, result["verdict"], result["reason"]) == (20, "unknown", "time")
    assert 0.9 < result["seconds"]["total"] < 6
    assert err == ""


@pytest.mark.parametrize("delay", some_slow([0.0, 1.2], [0]))
def test_a_killed_worker_does_not_change_the_verdict(delay: float) -> None:
    with started(*SHORT, "--json", "-") as process:
        victims = _workers(process, busy=0.05)
        time.sleep(delay)
        assert process.poll() is None, "the run is too short for this test"
        os.kill(victims[0].pid, signal.SIGKILL)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, json.loads(out)["verdict"]) == (0, "satisfied"), err
    assert "Traceback" not in err


@pytest.mark.slow
def test_workers_killed_again_and_again_make_it_unknown() -> None:
    with started(*LONG, "--json", "-", "--timeout", "12") as process:
        end = time.monotonic() + 30
        while process.poll() is None and time.monotonic() < end:
            for worker in _children(process):
                with suppress(psutil.NoSuchProcess):
                    if sum(worker.cpu_times()[:2]) > 1.0:
                        worker.kill()
            time.sleep(0.05)
        out, err = process.communicate(timeout=20)
    result = _checked(out)
    assert (process.returncode, result["verdict"]) == (20, "unknown"), err
    assert result["reason"] in ("failure", "time")
    assert "Traceback" not in err
    assert "worker died" in err


def test_the_main_process_killed_takes_its_workers_along() -> None:
    with started(*LONG) as process:
        workers = _workers(process)
        process.kill()
        process.communicate(timeout=10)
        assert _gone(workers)


def test_a_terminal_shows_progress_and_colours_and_clears_up() -> None:
    main, terminal = pty.openpty()
    command = [sys.executable, "-m", "venmas", *LONG, "--timeout", "3"]
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "120"}
    process = subprocess.Popen(command, stdin=terminal, stdout=terminal, stderr=terminal, env=environment)
    os.close(terminal)
    shown = b""
    try:
        while block := os.read(main, 65536):
            shown += block
    except OSError:  # the other end is closed
        pass
    finally:
        os.close(main)
    assert process.wait(timeout=20) == 20
    text = shown.decode()
    assert "discarded by bounds" in text and "in flight, depth" in text
    assert "\x1b[1;33munknown" in text
    assert "\x1b[?25h" in text  # the cursor is back
