"""Limits of time and memory are kept where parts of a system are many or large, and the peak that is told is true."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from heavy_systems import HEAVY

from venmas.answer import Unknown
from venmas.budget import Budget, BudgetError, limited
from venmas.procedures.hybrid.view import Space
from venmas.procedures.reachability.procedure import ReachabilitySession
from venmas.question import Question, chosen_for, posed, read_property
from venmas.runtime.memory import own_resident_mb

SECONDS, MEMORY = 2.0, 400
OVERRUN, BEYOND = 1.0 + 0.05 * SECONDS, 150
_ASK = """
import json, sys, time
from heavy_systems import HEAVY
from venmas import verify
system, formula = HEAVY[sys.argv[1]]()
begun = time.monotonic()
report = verify(system, formula, **json.loads(sys.argv[2]))
seconds = time.monotonic() - begun
status = open("/proc/self/status").read().split()
print(json.dumps([seconds, int(status[status.index("VmHWM:") + 1]) / 1024, report.to_json()]))
"""


TWINS = frozenset({"many_regions", "chosen", "safe_integers", "nested_choices", "noisy", "big_network"})
"""Systems that differ little from others: in slow suites alone."""


def ask(name: str, **options: object) -> tuple[float, float, dict]:
    """Seconds, true peak and result of a question in a fresh process."""
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    command = [sys.executable, "-c", _ASK, name, json.dumps(options)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path}, check=True)
    return tuple(json.loads(done.stdout))


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow) if n in TWINS else n for n in HEAVY])
def test_limits_are_kept(name) -> None:
    seconds, peak, result = ask(name, timeout=SECONDS, memory=MEMORY, workers=1)
    assert seconds <= SECONDS + OVERRUN
    assert peak <= MEMORY + BEYOND
    assert result["peak_rss_mb"] >= 0.98 * peak, "more was in use than is told"
    if result["verdict"] == "unknown":
        assert result["reason"] in ("time", "memory"), result["message"]


def test_many_wide_coordinates_are_counted_before_they_are_cut() -> None:
    """The initial set has 86: two million boxes of them would take 3 GB and many seconds, before they are too many."""
    system, formula = HEAVY["noisy"]()
    asked = posed(system, read_property(system, formula))
    question = Question(chosen_for(system, asked)[0], asked)
    budget = Budget(10)
    with limited(budget):
        session = ReachabilitySession(question, Space(question.system))
        before, begun, answer = own_resident_mb(), time.process_time(), None
        while answer is None:
            answer = session.advance(budget)
    assert isinstance(answer, Unknown) and "too many boxes" in answer.message
    assert time.process_time() - begun < 5
    assert budget.peak_mb < before + 500


def test_memory_is_looked_at_where_no_budget_was_handed_down() -> None:
    from venmas.budget import ask as look

    with limited(Budget(1000, memory_mb=1)), pytest.raises(BudgetError, match="memory limit of 1 MB"):
        look()


def test_the_peak_is_exact_between_two_looks() -> None:
    budget = Budget()
    budget()
    size = budget.peak_mb + 200
    held = bytearray(int(size * 2**20))
    held[::4096] = b"x" * len(held[::4096])
    del held
    assert budget.peak_mb > size and own_resident_mb() < size
