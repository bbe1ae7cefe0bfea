"""HiGHS in a process that is not ours alone: what it writes unasked, and the threads of runs before."""

import os
import subprocess
import sys
import threading

from solver_kit import feasible, small

from venmas.procedures.ranking.weights.linear import Weights
from venmas.solvers import get_solver
from venmas.solvers.highs import _made_apart, run, silent_highs


def test_what_its_making_writes_goes_nowhere(capfd):
    assert _made_apart(lambda: os.write(1, b"a greeting")) == 10
    os.write(1, b"after")
    assert capfd.readouterr() == ("after", "")


def test_nothing_is_written_by_a_new_process():
    code = (
        "import os, sys; {}from venmas.solvers import get_solver; print(get_solver('highs').version(), file=sys.stderr)"
    )
    for first in ("", "os.close(1); "):
        asked = [sys.executable, "-c", code.format(first)]
        done = subprocess.run(asked, capture_output=True, text=True, timeout=60)
        assert done.stdout == "" and done.stderr == get_solver("highs").version() + "\n"


def test_runs_with_other_numbers_of_threads():
    """A run with two threads once made every later one with one thread of the same thread an error without a word."""
    program = small([(0, 1), (0, 1)], [([0, 1], [1, 1], 1, 1)])

    def work() -> None:  # on a thread of its own, where runs are not given to another one
        for threads in (2, 1, 2):
            feasible(program, get_solver("highs").solve(program, threads=threads))
            weights = Weights([1.0, 1.0])
            weights.add([1, -1], 1)
            assert weights.solve() == [1, 0]
            highs = silent_highs(2)
            highs.addVar(0.0, 1.0)
            run(highs)
        answered.append(True)

    answered: list[bool] = []
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert answered
