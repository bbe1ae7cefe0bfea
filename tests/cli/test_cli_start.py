"""What is imported when: help comes at once, and a verdict pays for what it uses only."""

import json
import subprocess
import sys

import pytest

HEAVY = {"numpy", "lark", "onnx", "h5py", "scipy", "rich", "highspy", "gurobipy", "pyscipopt", "hypothesis"}


def imported(*arguments):
    """The heavy modules that a command imports, and its exit status."""
    code = (
        "import json, sys\n"
        f"sys.argv = {['venmas', *arguments]!r}\n"
        "from venmas.cli.main import main\n"
        "try:\n    main()\n"
        "except SystemExit as done:\n    status = done.code\n"
        f"print(json.dumps([status, sorted({HEAVY!r} & set(sys.modules))]))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    status, modules = json.loads(done.stdout.splitlines()[-1])
    return status, set(modules)


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["verify", "--help"], ["check", "--help"]])
def test_help_imports_nothing_heavy(arguments):
    assert imported(*arguments) == (0, set())


def test_a_list_of_scenarios_reads_no_network():
    assert imported("scenarios")[1] <= {"numpy", "lark", "rich"}


def test_a_verdict_without_a_solver_imports_none():
    question = ["--scenario", "vcas", "--formula", "AX^3 safe", "--mode", "comp-seq", "--solver", "highs"]
    status, modules = imported(*question)
    assert status == 0
    assert modules <= {"numpy", "lark", "onnx", "rich"}


MISSING = {
    "resource": "import sys; sys.modules['resource'] = None",
    "os.register_at_fork": "import os; del os.register_at_fork, os.fork",
    "signal.SIGALRM": "import signal; del signal.SIGALRM",
}


def test_formulas_and_networks_are_read_without_posix():
    lines = [*MISSING.values(), "from venmas.logic import parse; from venmas.nn import load_network, relu_network"]
    lines += ["assert parse('AX^2 (x > 1)').horizon == 2", "assert relu_network([[[2.0]]], [[1.0]], name='n').sizes"]
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", MISSING)
def test_a_system_without_posix_is_told_so(name):
    """As on Windows: no traceback, and no fault of VenMAS."""
    expected = f"VenMAS needs Linux or another POSIX system: Python has no {name} here; on Windows, install it in WSL"
    for use in ("from venmas.cli.main import main; main(['solvers'])", "from venmas import verify"):
        done = subprocess.run(
            [sys.executable, "-c", f"{MISSING[name]}\n{use}"], capture_output=True, text=True, timeout=60
        )
        assert expected in done.stderr.splitlines()[-1]
        if "main" in use:
            assert (done.returncode, done.stdout) == (2, "")
            assert "Traceback" not in done.stderr and "fault" not in done.stderr
