"""The timeout is shared between solvers and the proof that is owed after them."""

import time
from pathlib import Path

import pytest

from tests.in_process import IN_PROCESS
from venmas import System, verify
from venmas.budget import Budget, ask, limited
from venmas.checker.file import check_certificate
from venmas.engine.partial.partial import kept
from venmas.engine.report import Verdict
from venmas.errors import Reason
from venmas.model import maximum, minimum
from venmas.procedures.exact import search as _search  # noqa: F401, loaded before time is taken
from venmas.solvers import registry
from venmas.solvers.highs import Highs
from venmas.solvers.milp.program import Unknown

TIMEOUT = 2.0


class Slow(Highs):
    """Uses up its time and answers nothing, or answers in the last moment."""

    def __init__(self, last: float | None = None) -> None:
        self.last = last
        self.given: list[float] = []

    def _run(self, program, time_limit, threads):
        self.given.append(time_limit)
        if self.last is None:
            time.sleep(time_limit)
            return Unknown(Reason.TIME, "slow")
        time.sleep(max(0.0, time_limit - self.last))
        return super()._run(program, None, threads)


def pair() -> System:
    """The level after a step is x + y, which bounds of the two parts do not see."""
    system = System("pair")
    x, y = system.real("x", -1, 1), system.real("y", -1, 1)
    level = system.real("level", -9, 9)
    system.branch("add", level=maximum(x, y) + minimum(x, y))
    system.initial(level == 0, x + y <= 1)
    return system


@pytest.fixture
def slow(monkeypatch) -> Slow:
    solver = Slow()
    monkeypatch.setitem(registry._REGISTRY, "highs", solver)
    return solver


def asked(formula: str, **options):
    begun = time.monotonic()
    options = {"mode": "comp-par", **options}
    report = verify(pair(), formula, solver="highs", tune=IN_PROCESS, timeout=TIMEOUT, **options)
    return report, time.monotonic() - begun


@pytest.mark.parametrize("mode", ["mono", "comp-seq"])
def test_what_a_slow_solver_leaves_open_is_proved(mode, slow) -> None:
    report, seconds = asked("AX level < 1.25", mode=mode, trust="exact")
    assert (report.verdict, report.basis, report.reason) == (Verdict.SATISFIED, "exact", "")
    assert slow.given and max(slow.given) <= (TIMEOUT - kept(TIMEOUT)) * 2 / 3 <= seconds < TIMEOUT


def test_what_a_slow_solver_leaves_open_is_refuted(slow) -> None:
    report, _ = asked("AX level < 1", mode="mono", trust="exact")
    assert report.violated and report.replay.confirmed and not report.notes


@pytest.mark.parametrize("trust", ["solver", "auto"])
def test_where_no_proof_is_owed_the_solver_has_all_the_time(trust, slow) -> None:
    report, seconds = asked("AX level < 1.25", mode="mono", trust=trust)
    assert (report.verdict, report.reason) == (Verdict.UNKNOWN, "time")
    assert seconds >= TIMEOUT - 0.1 and max(slow.given) > TIMEOUT * 2 / 3


def test_a_certificate_is_owed_too(slow, tmp_path: Path) -> None:
    report, _ = asked("AX level < 1.25", mode="mono", certificate=tmp_path / "proof.gz")
    assert report.satisfied and report.basis == "exact"
    check_certificate(tmp_path / "proof.gz", pair())


def test_the_whole_timeout_is_kept(slow, monkeypatch) -> None:
    """The proof ends with it as well."""

    def endless(self, tick):
        while True:
            time.sleep(0.01)
            tick()

    monkeypatch.setattr("venmas.procedures.exact.session.ExactSession.advance", endless)
    report, seconds = asked("AX level < 1.25", mode="mono", trust="exact")
    assert (report.verdict, report.reason) == (Verdict.UNKNOWN, "time")
    assert 0.98 * TIMEOUT <= seconds < TIMEOUT + 0.5  # a fiftieth is kept to tell how far it got


def test_an_answer_in_the_last_moment_leaves_time_for_its_proof(monkeypatch) -> None:
    monkeypatch.setitem(registry._REGISTRY, "highs", Slow(last=0.2))
    report, _ = asked("AX level < 1.25", mode="mono", trust="exact")
    assert report.satisfied and report.basis == "exact" and report.subproblems.solved


def test_slow_progress_leaves_time_for_the_work() -> None:
    """Nine tenths of the time at least: `ask` looks at every step, and a look may tell progress."""
    told = 0

    def slow(_: object) -> None:
        nonlocal told
        told += 1
        time.sleep(0.05)

    budget = Budget(progress=slow)
    budget._shown -= 1.0
    begun = time.monotonic()
    with limited(budget):
        while time.monotonic() - begun < 0.5:
            ask()
    assert told == 1


def test_work_that_cannot_stop_waits_for_a_share_that_is_long_enough() -> None:
    whole = Budget(5.0)

    def work(part: Budget) -> str:
        part.wait_for(1.0)
        return "begun"

    assert whole.spend(0.5, work) is None
    assert whole.spend(0.5, lambda part: part.spend(9.0, work)) is None
    assert whole.spend(2.0, lambda part: part.spend(0.5, work) or "its own was short") == "its own was short"
    assert whole.spend(2.0, work) == "begun"
    assert Budget(0.5).spend(0.4, lambda part: work(part.whole)) == "begun"  # no longer one will come
