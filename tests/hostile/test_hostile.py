"""Hostile and broken input on the command line: bounded time and memory, one clear message, and nothing executed.

Each case runs in a process of its own that is killed after 10 s and may take 1 GB (`hostile_zygote`).
"""

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import hostile_circuits
import hostile_models
import hostile_networks
import hostile_results
import hostile_texts
import pytest
from hostile_case import CANARY, LOOP, QUICK
from hostile_runner import MEGABYTES, SECONDS, Runner

from tests.needs import needs

CASES = {
    **hostile_networks.CASES,
    **hostile_texts.CASES,
    **hostile_results.CASES,
    **hostile_models.CASES,
    **hostile_circuits.CASES,
}
TWINS = frozenset(
    {
        "deep EX",
        "deep AX^1",
        "deep EG",
        "deep EF",
        "deep A(U), left",
        "deep &",
        "deep |",
        "deep & and |",
        "netlist, depth 100,000, add",
        "netlist, depth 100,000, not",
        "netlist, depth 50,000 twice",
        "netlist, depth 100,000, mul",
        "netlist, 30,000 registers",
        "netlist, 390,000 nodes",
        "netlist, product of 60,000 bits",
        "90,000 steps",
        "1,000 branches",
        "deep AF",
        "deep <->",
        "jani deep ∨ of 30,000",
        "jani deep ¬",
        "jani deep +",
        "jani deep objects",
        "jani 50 MB of spaces",
        "jani 50 MB of digits",
        "jani 50 MB of values",
        "keras 20 million objects",
        "keras config of 50 MB",
        "hdf5 nested groups",
        "jani deep lists",
        "jani deep unclosed",
        "netlist, 50 MB",
        "netlist, exponential formula",
        "60 MB of objects",
        "relu, 20,000 deep",
        "onnx of 20 million opsets",
        "onnx of 20 million dimensions",
        "a number of 100 MB",
    }
)
"""Cases that take seconds, and differ little from others: in slow suites alone."""


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    made = Runner()
    yield made
    made.close()


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow) if n in TWINS else n for n in CASES])
def test_hostile_input_ends_in_one_message(name: str, runner: Runner, tmp_path: Path) -> None:
    case = CASES[name]
    if name in hostile_circuits.CASES and case.status == hostile_circuits.ANY:  # what is read is decided, too
        needs("bitwuzla")
    folder = tmp_path / "case"
    folder.mkdir()
    if case.make is not None:
        case.make(folder)
    done = runner.run([arg.replace("{d}", str(folder)) for arg in case.args], folder)
    for large in (p for p in folder.rglob("*") if p.is_file() and not p.is_symlink() and p.stat().st_size > 1 << 20):
        large.unlink()
    print(
        f"{done.seconds:.2f} s, {done.cpu:.2f} s on a processor, {done.megabytes:.0f} MB: {done.stderr or done.stdout}"
    )  # shown with -rP
    assert not done.late, f"still running after {SECONDS} s"
    assert done.cpu < SECONDS
    assert done.megabytes < MEGABYTES
    assert done.status in case.status, done.stderr
    assert not (folder / CANARY).exists(), "code of the input was run"
    assert not done.left, "processes were left behind"
    told = done.stdout + done.stderr
    assert "Traceback" not in told and "internal error" not in told
    assert all(c == "\n" or c.isprintable() for c in told), "control characters reach the terminal"
    errors = "".join(line for line in done.stderr.splitlines(True) if not line.startswith("warning: "))
    if done.status == 2:
        assert errors.startswith("error: ") and errors.count("error: ") == 1
        assert len(done.stderr) < 2500
        assert case.prints or done.stdout == ""
    else:
        assert done.stdout.startswith({0: "satisfied", 10: "violated", 20: "unknown"}[done.status])
        assert errors == ""
    for part in case.told:
        assert part in told


def test_there_are_enough_cases() -> None:
    assert len(CASES) >= 70, len(CASES)
    assert CASES.keys() > TWINS


@pytest.mark.parametrize("closed", [False, True])
def test_standard_output_that_takes_nothing(closed: bool, tmp_path: Path) -> None:
    (tmp_path / "loop.py").write_text(LOOP)
    command = [sys.executable, "-m", "venmas", "--scenario", "loop.py", "--formula", "AX^1 x > 0", *QUICK]
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            command,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
            timeout=60,
            preexec_fn=(lambda: os.close(1)) if closed else None,
        )
    if closed:
        assert (done.returncode, done.stderr) == (10, "")
    else:
        assert done.returncode == 2
        assert done.stderr == "error: cannot write to standard output: No space left on device; send it elsewhere\n"


def test_too_little_memory_is_unknown(tmp_path: Path) -> None:
    """What the limits let through and the machine does not hold ends as unknown, not as a fault."""
    (tmp_path / "big.py").write_text("def build(networks):\n    return bytes(8 << 30)\n")

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (2 << 30, 2 << 30))

    command = [sys.executable, "-m", "venmas", "--scenario", "big.py", "--formula", "x > 0", *QUICK]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=60, preexec_fn=limited)
    assert done.returncode == 20
    assert done.stdout.startswith("unknown (memory)") and not done.stderr
