"""Must-show 8 of issue 2: Ctrl-C, a time limit and the death of a worker in the middle of a long run."""

import json
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
import pytest

LONG = ["--scenario", "vcas", "--set", "climb0=-40.5", "--formula", "safe10", "--solver", "highs", "--workers", "2"]


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


def _workers(process: subprocess.Popen[str], busy: float = 0.5) -> list[psutil.Process]:
    """The workers, once they have worked for a while."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        children = _children(process)
        try:
            if children and sum(sum(c.cpu_times()[:2]) for c in children) > busy * len(children) + 0.5:
                return sorted(children, key=lambda c: c.pid)
        except psutil.NoSuchProcess:
            pass
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    raise AssertionError("no worker has begun to work")


def _gone(workers: list[psutil.Process]) -> bool:
    return not psutil.wait_procs(workers, timeout=5)[1]


def test_ctrl_c_ends_with_unknown_interrupted() -> None:
    with started(*LONG, "--json", "-") as process:
        workers = _workers(process)
        begun = time.monotonic()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
        assert time.monotonic() - begun < 10
        result = json.loads(out)
        assert (process.returncode, result["verdict"], result["reason"]) == (20, "unknown", "interrupted")
        assert result["subproblems"]["discarded"] > 0
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


def test_two_interrupts_leave_no_traceback_and_no_process() -> None:
    with started(*LONG) as process:
        workers = _workers(process)
        process.send_signal(signal.SIGINT)
        time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
        assert process.returncode == 20
        assert "interrupted" in out + err
        assert "Traceback" not in err
        assert _gone(workers)


@pytest.mark.parametrize("delay", [0.0, 0.15, 0.3, 0.6])
def test_an_early_interrupt_is_no_fault(delay: float) -> None:
    with started(*LONG, "-q") as process:
        while not psutil.Process(process.pid).memory_maps() and process.poll() is None:
            time.sleep(0.01)
        time.sleep(0.25 + delay)  # the interpreter itself is up
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
        assert process.returncode == 20, err
        assert "interrupted" in out + err
        assert "Traceback" not in err


def test_a_time_limit_ends_with_unknown_time() -> None:
    begun = time.monotonic()
    with started(*LONG, "--timeout", "1", "--json", "-") as process:
        out, err = process.communicate(timeout=30)
    assert time.monotonic() - begun < 15
    result = json.loads(out)
    assert (process.returncode, result["verdict"], result["reason"]) == (20, "unknown", "time")
    assert 0.9 < result["seconds"]["total"] < 6
    assert err == ""


def test_a_killed_worker_is_replaced() -> None:
    with started(*LONG, "--timeout", "12", "--json", "-") as process:
        victim = _workers(process)[0]
        os.kill(victim.pid, signal.SIGKILL)
        time.sleep(2)
        if process.poll() is None:
            assert len([c for c in _children(process) if c.status() != psutil.STATUS_ZOMBIE]) >= 1
        out, err = process.communicate(timeout=60)
    result = json.loads(out)
    assert "Traceback" not in err
    # The run is too long for the time limit; whoever finishes it must find what the table of the networks says.
    assert (process.returncode, result["verdict"]) in ((20, "unknown"), (0, "satisfied"))
    assert result["verdict"] == "satisfied" or result["reason"] in ("time", "failure")


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
    assert "discarded by bounds" in text and "in flight; depth" in text
    assert "\x1b[1;33munknown" in text
    assert "\x1b[?25h" in text  # the cursor is back
