"""Sessions that go on in another process: their answers end what is done here, and nothing is left of them."""

from __future__ import annotations

import subprocess
import time
from typing import Any

import pytest

from tests.engine.apart_toys import MAIN, Toy
from tests.procedures.covers.systems import loop
from tests.slow import some_slow
from venmas import System
from venmas.answer import Answer, Proved, Unknown
from venmas.budget import Budget, BudgetError
from venmas.engine import apart, portfolio, stage
from venmas.engine.modes import Mode, Turn
from venmas.engine.portfolio import Portfolio
from venmas.errors import Reason
from venmas.logic import Bounded
from venmas.model.system.disturbances import drawn
from venmas.procedure import Run, Settings
from venmas.procedures.covers import rounds
from venmas.question import Question, read_formula, read_property

BESIDE = ((Turn("toy", first=0.1, share=0.5), Turn("other")),)


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[Any]]:
    """Sessions leave at once; the processes that were started."""
    monkeypatch.setattr(apart, "_HERE", 0.0)
    processes: list[subprocess.Popen[Any]] = []

    class Noted(apart.WorkerProcess[None]):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            processes.append(self.process)

    monkeypatch.setattr(apart, "WorkerProcess", Noted)
    return processes


def settle(
    monkeypatch: pytest.MonkeyPatch,
    stages: Any,
    workers: int = 2,
    budget: Budget | None = None,
    seconds: float | None = None,
    certified: bool = False,
    **toys: Toy,
) -> tuple[Answer, Portfolio]:
    for room in (portfolio, stage):
        monkeypatch.setattr(room, "get_procedure", toys.__getitem__)
    system = System("toy")
    x = system.real("x", 0, 1)
    system.branch("stay")
    system.initial(x >= 0)
    with Run(Settings(workers)) as run:
        made = Portfolio(Mode("toys", "toys", stages), run, budget or Budget(60), seconds)
        question = Question(system, Bounded(read_formula(system, "AX x <= 1")), certified=certified)
        return made.settle(question), made


def test_an_answer_from_elsewhere_ends_what_is_done_here(monkeypatch: pytest.MonkeyPatch, soon) -> None:
    begun = time.monotonic()
    answer, made = settle(monkeypatch, BESIDE, toy=Toy(0.5), other=Toy(apart=False))
    assert answer == Proved("bounds") and made.decided == "toy" and time.monotonic() - begun < 30
    facts = dict(made.tried["toy"].figures.facts())
    assert facts["pid"] == str(soon[0].pid) and facts["in a process of its own"].endswith(" s")
    assert len(soon) == 1 and soon[0].poll() is not None
    assert made.tried["other"].why != ""


def test_what_is_alone_is_waited_for(monkeypatch: pytest.MonkeyPatch, soon) -> None:
    for stages in (((Turn("toy"),),), ((Turn("toy"),), (Turn("other", begun=True),))):
        answer, _ = settle(monkeypatch, stages, toy=Toy(0.5), other=Toy(apart=False))
        assert answer == Proved("bounds") and soon[-1].poll() is not None


@pytest.mark.parametrize(
    ("ends", "why"), [("killed", "signal 9"), ("failed", "it is broken"), ("stuck", "it is stuck")]
)
def test_others_go_on_after_an_end_without_an_answer(
    monkeypatch: pytest.MonkeyPatch, soon, ends: str, why: str
) -> None:
    answer, made = settle(monkeypatch, BESIDE, toy=Toy(0.1, ends), other=Toy(1.0))
    assert answer == Proved("bounds") and made.decided == "other" and why in made.tried["toy"].why
    assert [process.poll() is None for process in soon] == [False, False]


def test_the_reason_of_one_that_is_stuck_elsewhere_is_told(monkeypatch: pytest.MonkeyPatch, soon) -> None:
    answer, _ = settle(monkeypatch, ((Turn("toy"),),), toy=Toy(0.1, "stuck"))
    assert answer == Unknown(Reason.OPEN, "it is stuck")


def test_nothing_is_left_of_an_interrupted_run(monkeypatch: pytest.MonkeyPatch, soon) -> None:
    with pytest.raises(KeyboardInterrupt):
        settle(monkeypatch, BESIDE, toy=Toy(60), other=Toy(ends="stopped", apart=False))
    assert len(soon) == 1 and soon[0].poll() is not None


def test_the_limit_is_kept(monkeypatch: pytest.MonkeyPatch, soon) -> None:
    budget, begun = Budget(5.0), time.monotonic()
    with pytest.raises(BudgetError):
        settle(monkeypatch, BESIDE, budget=budget, toy=Toy(60), other=Toy(apart=False))
    assert time.monotonic() - begun < 7 and len(soon) == 1 and soon[0].poll() is not None


@pytest.mark.parametrize(
    ("workers", "memory", "ignored"), some_slow([(1, None, None), (2, 10**6, None), (2, None, lambda: 0)], [1])
)
def test_some_stay(monkeypatch: pytest.MonkeyPatch, soon, workers: int, memory: int | None, ignored: object) -> None:
    """One core; a limit of memory, of one process; and what cannot be pickled."""
    budget = Budget(5.0, memory)
    with pytest.raises(BudgetError):
        settle(monkeypatch, BESIDE, workers, budget, toy=Toy(ignored=ignored), other=Toy(apart=False))
    assert [process.poll() is None for process in soon] == ([False] if ignored else [])


@pytest.mark.parametrize(
    "stages",
    [
        ((Turn("toy"),),),  # it is waited for
        ((Turn("toy", left=1 / 50),), (Turn("other", left=1 / 50),), (Turn("toy", left=1 / 2),)),  # in its turn
    ],
)
def test_this_process_helps_while_it_waits(monkeypatch: pytest.MonkeyPatch, soon, stages: Any) -> None:
    answer, made = settle(monkeypatch, stages, toy=Toy(0.5, "helped"), other=Toy(apart=False))
    facts = dict(made.tried["toy"].figures.facts())
    assert answer == Proved("bounds") and facts["pid"] == str(MAIN)


def test_it_is_helped_in_its_part_of_the_time(monkeypatch: pytest.MonkeyPatch, soon) -> None:
    """Beside a main one that works here."""
    stages = ((Turn("toy", left=1 / 50),), (Turn("toy", share=0.5, begun=True), Turn("other", pause=0.1)))
    answer, made = settle(monkeypatch, stages, toy=Toy(1.0, "helped"), other=Toy(apart=False))
    facts = dict(made.tried["toy"].figures.facts())
    assert answer == Proved("bounds") and facts["pid"] == str(MAIN) and made.tried["other"].seconds > 0.1


def test_a_main_one_ends_sooner_where_another_process_can_be_helped(monkeypatch: pytest.MonkeyPatch, soon) -> None:
    stages = ((Turn("toy", first=0.1, share=0.5, helping=1 / 20), Turn("other", pause=0.1)), (Turn("toy"),))
    answer, made = settle(monkeypatch, stages, budget=Budget(40.0), toy=Toy(0.5, "helped"), other=Toy(apart=False))
    facts = dict(made.tried["toy"].figures.facts())
    assert answer == Proved("bounds") and facts["pid"] == str(MAIN) and 1 < made.tried["other"].seconds < 10


def test_one_that_is_to_leave_has_the_time_for_that_at_once(monkeypatch: pytest.MonkeyPatch, soon) -> None:
    """Its own part of the time would be too short."""
    monkeypatch.setattr(apart, "_HERE", 0.5)
    stages = ((Turn("toy", share=0.01), Turn("other", pause=0.1)),)
    answer, _ = settle(monkeypatch, stages, budget=Budget(20.0), toy=Toy(), other=Toy(apart=False))
    assert answer == Proved("bounds") and len(soon) == 1


def test_it_goes_on_where_the_question_is_asked_without_a_proof(monkeypatch: pytest.MonkeyPatch, soon) -> None:
    """The time for a proof is over before; it is not begun again."""
    stages = ((Turn("again", again=True),), *BESIDE)
    toys = {"toy": Toy(4.0), "other": Toy(apart=False), "again": Toy(apart=False)}
    answer, made = settle(monkeypatch, stages, seconds=1.5, certified=True, **toys)
    assert answer == Proved("bounds") and made.decided == "toy" and len(soon) == 1
    assert soon[0].poll() is not None


def test_it_is_waited_for_where_the_time_of_others_is_over(monkeypatch: pytest.MonkeyPatch, soon) -> None:
    answer, _ = settle(monkeypatch, BESIDE, seconds=1.0, toy=Toy(4.0), other=Toy(apart=False))
    assert answer == Proved("bounds") and len(soon) == 1


def test_one_that_never_listens_is_waited_for_no_longer(monkeypatch: pytest.MonkeyPatch, soon) -> None:
    """However often it is looked at meanwhile: nothing is sent to it that it does not read."""
    monkeypatch.setattr(apart, "_LOOK", 0.001)
    monkeypatch.setattr("venmas.budget._LOOK", 0.001)
    stages, begun = (
        ((Turn("toy", left=1 / 50),), (Turn("other", left=1 / 50),), (Turn("toy", left=1 / 2),)),
        time.monotonic(),
    )
    with pytest.raises(BudgetError):
        settle(monkeypatch, stages, budget=Budget(8.0), toy=Toy(60), other=Toy(apart=False))
    assert time.monotonic() - begun < 10 and soon[0].poll() is not None


def test_a_proof_that_is_not_written_counts_where_the_session_ends(monkeypatch: pytest.MonkeyPatch, soon) -> None:
    answer, made = settle(monkeypatch, ((Turn("toy"),),), certified=True, toy=Toy(0.1, "refused"))
    assert answer == Proved("bounds") and made.decided == "toy"


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_what_is_proved_without_a_proof_to_be_written_counts(
    monkeypatch: pytest.MonkeyPatch, soon, workers: int
) -> None:
    """Said before the time is over, by a session in another process or in this one."""
    stages, begun = ((Turn("toy"),),), MAIN if workers == 2 else 0
    answer, made = settle(
        monkeypatch, stages, workers, Budget(6 * workers), certified=True, toy=Toy(0.1, "unwritten", begun=begun)
    )
    assert answer == Proved("bounds") and made.decided == "toy" and made.tried["toy"].why == ""
    assert len(soon) == workers - 1


def test_covers_go_on_elsewhere(monkeypatch: pytest.MonkeyPatch, soon) -> None:
    """With noise, choices and several branches; proved to be what it is, with the same number of boxes."""
    monkeypatch.setattr(apart, "_HERE", 0.01)  # they begin here, and leave after that
    monkeypatch.setattr(rounds, "_FIRST", 60.0)  # the first grid is followed to its end, however slow the machine
    for seed in range(3):
        system, text = loop(seed), "AG^12 x0 <= 1000"
        made, asked = drawn(system, 12), []
        for workers in (1, 2):
            with Run(Settings(workers)) as run:
                found = Portfolio(Mode("covers", "covers", ((Turn("covers"),),)), run, Budget(60), None)
                assert isinstance(found.settle(Question(made, read_property(system, text), undrawn=system)), Proved)
                asked.append(found.tried["covers"].figures.facts()[0])
        assert asked[0] == asked[1]
    assert len(soon) == 3
