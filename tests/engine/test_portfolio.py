"""Budgets, and portfolios of toy procedures: who works when, who decides, and what happens to the others."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from venmas import System
from venmas.answer import Answer, Proved, Unknown, Violated
from venmas.budget import Budget, BudgetError, Shares, ask, limited
from venmas.engine import portfolio as engine
from venmas.engine import stage
from venmas.engine.modes import Mode, Turn
from venmas.engine.portfolio import Portfolio
from venmas.errors import Reason
from venmas.logic import Bounded
from venmas.model.system.disturbances import drawn, noise_of
from venmas.procedure import Run
from venmas.question import Question, read_formula

OPEN = Unknown(Reason.OPEN, "it is stuck")


def test_the_end_of_a_part_is_not_the_end_of_the_whole() -> None:
    budget = Budget(1000)
    assert budget.spend(0.01, lambda part: [part() for _ in iter(lambda: time.sleep(0.002), 1)]) is None
    with pytest.raises(BudgetError) as found:
        budget.within(-1)()
    assert found.value.budget is not budget and found.value.reason is Reason.TIME
    over = Budget(-1)
    with pytest.raises(BudgetError) as found:
        over.spend(1000, lambda part: part())
    assert found.value.budget is over
    assert over.spend(0, lambda _: pytest.fail("no time is left")) is None


def test_memory_is_a_limit_of_the_whole() -> None:
    budget = Budget(None, memory_mb=1)
    with pytest.raises(BudgetError, match="memory limit of 1 MB") as found:
        budget.within(1000)()
    assert found.value.budget is budget and found.value.reason is Reason.MEMORY and budget.peak_mb > 1


def test_shares_are_parts_of_the_time_so_far() -> None:
    shares = Shares({"a": 0.5, "b": 0.0}, least=0.0)
    time.sleep(0.02)
    assert shares.left("a") >= 0.01 and shares.left("b") <= 0
    shares.grant("b", 5)
    assert 4 < shares.left("b") <= 5
    assert shares.run("b", Budget(), lambda part: part.left) <= 5
    shares.run("a", Budget(), lambda _: time.sleep(0.1))
    assert shares.left("a") < 0
    shares.double("a")
    assert shares.left("a") < 0  # at most half of the time


class Toy:
    """A procedure, its session at once: gives its answers one after the other."""

    help = "a toy"
    struggling = False

    def __init__(self, *answers: Answer | None, declines: str | None = None, eager: bool = False) -> None:
        self.answers, self.declines, self.is_eager = list(answers), declines, eager
        self.asked: list[str] = []

    @property
    def figures(self) -> Toy:
        return self

    def facts(self) -> list[tuple[str, str]]:
        return [("turns", str(len(self.asked)))]

    def accepts(self, question: Question, run: Run) -> str | None:
        return self.declines

    def eager(self, question: Question, run: Run) -> bool:
        return self.is_eager

    def start(self, question: Question, run: Run) -> Toy:
        return self

    def advance(self, budget: Budget) -> Answer | None:
        assert self.answers, "it was gone on with after its end"
        self.asked.append("turn")
        budget()
        return self.answers.pop(0)


@pytest.fixture
def decide(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Answer, Portfolio]]:
    """Settles a question by stages of toys."""

    def settled(
        stages: tuple[tuple[Turn, ...], ...],
        seconds: float | None = None,
        found: Any = None,
        **toys: Toy,
    ):
        for room in (engine, stage):
            monkeypatch.setattr(room, "get_procedure", toys.__getitem__)
        system = System("toy")
        x = system.real("x", 0, 1)
        system.branch("stay")
        system.initial(x >= 0)
        budget = Budget(seconds)
        portfolio = Portfolio(Mode("toys", "toys", stages, resort=len(stages) > 1), Run(), budget, seconds)
        if found is not None:
            found.append(portfolio)
        with limited(budget):
            asked = Bounded(read_formula(system, "AX x <= 1"))
            return portfolio.settle(Question(system, asked)), portfolio

    return settled


def test_the_first_answer_decides_and_the_others_say_why_not(decide) -> None:
    stages = ((Turn("shy"),), (Turn("stuck"),), (Turn("side", first=1.0), Turn("steps")), (Turn("late"),))
    toys = {
        "shy": Toy(declines="it is shy"),
        "stuck": Toy(OPEN),
        "side": Toy(OPEN, eager=True),
        "steps": Toy(None, None, Proved("bounds")),
        "late": Toy(),
    }
    answer, portfolio = decide(stages, **toys)
    assert answer == Proved("bounds") and portfolio.decided == "steps"
    why = {name: tried.why for name, tried in portfolio.tried.items()}
    assert why == {
        "shy": "does not take it: it is shy",
        "stuck": "it is stuck",
        "side": "it is stuck",
        "steps": "",
        "late": "not tried: the run was over before",
    }
    assert len(toys["steps"].asked) == 3 and len(toys["side"].asked) == 1


class Slow(Toy):
    """It reads for so many seconds before it says whether it takes a question."""

    def __init__(self, seconds: float, *answers: Answer | None) -> None:
        super().__init__(*answers)
        self.until = seconds

    def accepts(self, question: Question, run: Run) -> str | None:
        end = time.monotonic() + self.until
        while time.monotonic() < end:
            time.sleep(0.002)
            ask()
        return None


def test_what_a_procedure_reads_is_its_time(decide) -> None:
    answer, portfolio = decide(((Turn("slow"),),), slow=Slow(0.05, Proved("bounds")))
    assert answer == Proved("bounds") and portfolio.tried["slow"].seconds >= 0.05


def test_a_limit_that_is_met_while_a_procedure_reads_names_it(decide) -> None:
    found: list[Portfolio] = []
    with pytest.raises(BudgetError):
        decide(((Turn("slow"),),), seconds=0.05, found=found, slow=Slow(60))
    tried = found[0].tried["slow"]
    assert tried.why == "the time limit was reached while it read the question" and tried.seconds > 0.01


def test_a_part_of_the_time_that_is_left_holds_for_reading(decide) -> None:
    answer, portfolio = decide(
        ((Turn("slow", left=0.1),), (Turn("next"),)), 2.0, slow=Slow(60), next=Toy(Proved("bounds"))
    )
    assert answer == Proved("bounds") and portfolio.decided == "next"
    assert "while it read" in portfolio.tried["slow"].why


def test_without_an_answer_the_last_word_is_open(decide) -> None:
    last = Unknown(Reason.OPEN, "b")
    answer, portfolio = decide(((Turn("a"),), (Turn("b"),)), a=Toy(OPEN), b=Toy(last))
    assert answer == last and portfolio.decided == ""


def test_a_refutation_of_runs_that_stay_is_followed_by_whether_they_do(decide) -> None:
    leaving = Proved("exact", leaving=frozenset("x"))
    answer, portfolio = decide(((Turn("a"),),), a=Toy(leaving, Proved("bounds")))
    assert answer == Proved("bounds") and portfolio.decided == "a"  # the weaker of both


def test_a_side_condition_is_asked_of_who_proved_the_property_first(decide) -> None:
    leaving = Proved("bounds", leaving=frozenset("x"))
    stages = ((Turn("first"),), (Turn("second"),), (Turn("third"),))
    toys = {"first": Toy(OPEN), "second": Toy(leaving, Proved("bounds")), "third": Toy()}
    answer, portfolio = decide(stages, **toys)
    assert answer == Proved("bounds") and portfolio.decided == "second"
    assert toys["first"].asked == ["turn"]  # about the property alone
    # it goes on where it had no answer yet, after those that come before it
    toys = {"first": Toy(OPEN, OPEN), "second": Toy(leaving, None, Proved("bounds")), "third": Toy()}
    answer, portfolio = decide(stages, **toys)
    assert answer == Proved("bounds") and portfolio.decided == "second"
    # the others are asked, it is not asked once more
    toys = {"first": Toy(OPEN, OPEN), "second": Toy(leaving, OPEN), "third": Toy(Proved("bounds"))}
    answer, portfolio = decide(stages, **toys)
    assert answer == Proved("bounds") and portfolio.decided == "second"


def test_an_open_side_condition_says_what_is_proved_and_names_the_variable(decide) -> None:
    leaving = Proved("exact", leaving=frozenset("x"))
    answer, portfolio = decide(((Turn("a"),), (Turn("b"),)), a=Toy(leaving, OPEN), b=Toy(OPEN))
    told = "it holds of all runs that stay in their box; whether x may leave its range is open"
    assert answer == Unknown(Reason.OPEN, f"{told}: it is stuck", frozenset("x"))
    assert portfolio.decided == ""
    assert portfolio.tried["a"].why == "it proved the property of all runs that stay in their box"
    late = Toy(leaving)
    late.advance = lambda budget: late.answers.pop() if late.answers else budget.within(-1)()  # type: ignore[method-assign]
    begun: list[Portfolio] = []
    with pytest.raises(BudgetError, match="whether x may leave its range is open: the time limit was reached"):
        decide(((Turn("a"),),), found=begun, a=late)
    assert begun[0].tried["a"].why == "it proved the property of all runs that stay in their box"


def test_noise_leaves_no_range(monkeypatch: pytest.MonkeyPatch) -> None:
    system = System("noisy")
    x, w = system.real("x", -9, 9), system.disturbance("w", -1, 1)
    system.branch("go", x=x / 2 + w)
    system.initial(x >= 0, x <= 1)
    made = drawn(system, 3)
    assert noise_of(made) == {"w", "w@1", "w@2"}
    assert noise_of(drawn(system, 1)) <= {"w"}
    toy = Toy(Proved("bounds", leaving=frozenset({"w", "w@1"})))
    for room in (engine, stage):
        monkeypatch.setattr(room, "get_procedure", {"a": toy}.__getitem__)
    portfolio = Portfolio(Mode("toys", "toys", ((Turn("a"),),)), Run(), Budget(), None)
    assert portfolio.settle(Question(made, Bounded(read_formula(made, "AG^3 x <= 9")))) == Proved("bounds")


def test_a_deadlock_that_stays_open_is_told(decide) -> None:
    answer, portfolio = decide(((Turn("a"),),), a=Toy(Proved("bounds", may_deadlock=True), OPEN))
    assert isinstance(answer, Proved) and portfolio.notes == ["a deadlock may be reachable: it is stuck"]


def test_the_word_of_a_solver_is_a_note_where_none_is_asked_for(decide) -> None:
    answer, portfolio = decide(((Turn("a"),), (Turn("b"),)), a=Toy(Proved("solver")), b=Toy(OPEN))
    assert answer == OPEN and "takes its word" in portfolio.told[0] and not isinstance(answer, Violated)


def test_who_had_not_ended_goes_on_in_the_last_resort(decide, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "_LATER", 0.0)
    stages = ((Turn("side", share=0.1), Turn("main")), (Turn("last"),))
    slow = Toy(*[None] * 2000, OPEN)
    answer, portfolio = decide(stages, side=Toy(Proved("bounds")), main=Toy(OPEN), last=slow)
    assert answer == Proved("bounds") and portfolio.decided == "side"
    assert len(slow.answers) > 1  # while the last resort was at work


@pytest.mark.parametrize("ended", [True, False])
def test_what_an_earlier_stage_has_begun_goes_on_unless_it_ended(ended: bool, decide) -> None:
    side = Toy(OPEN) if ended else Toy(None, None, Proved("bounds"))
    stages = ((Turn("side", first=1.0), Turn("main")), (Turn("side", begun=True),), (Turn("last"),))
    answer, portfolio = decide(stages, side=side, main=Toy(None, None, OPEN), last=Toy(OPEN))
    assert answer == (OPEN if ended else Proved("bounds")) and portfolio.decided == ("" if ended else "side")
    assert len(side.asked) == (1 if ended else 3)


@pytest.mark.parametrize("read", [True, False])
def test_time_for_a_last_resort_that_reads_nothing_is_that_of_the_others(
    read: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = System("toy")
    x = system.real("x", 0, 1)
    system.branch("stay")
    system.initial(x >= 0)
    toys = {"first": Toy(Proved("bounds")), "last": Toy(OPEN)}
    for room in (engine, stage):
        monkeypatch.setattr(room, "get_procedure", toys.__getitem__)
    why = None if read else "it is for other systems"
    monkeypatch.setattr(engine, "unread", lambda procedure, question: why if procedure is toys["last"] else None)
    mode = Mode("toys", "toys", ((Turn("first"),), (Turn("last"),)), resort=True)
    portfolio = Portfolio(mode, Run(), Budget(100), -1)  # the time of all but the last resort is over
    answer = portfolio.settle(Question(system, Bounded(read_formula(system, "AX x <= 1"))))
    assert isinstance(answer, Unknown) if read else answer == Proved("bounds")


def test_what_has_refuted_much_has_most_of_the_time(decide) -> None:
    class Cutting(Toy):
        proved = 0.0

        def advance(self, budget: Budget) -> Answer | None:
            time.sleep(0.01)
            self.proved += 0.02
            return Proved("bounds") if self.proved > 0.99 else None

    class Waiting(Toy):
        def advance(self, budget: Budget) -> Answer | None:
            time.sleep(0.01)
            budget()
            return None

    stages = ((Turn("cutting", share=0.05), Turn("waiting")),)
    answer, portfolio = decide(stages, 4.0, cutting=Cutting(), waiting=Waiting())
    assert answer == Proved("bounds")
    assert portfolio.tried["cutting"].seconds > portfolio.tried["waiting"].seconds / 2  # of its own it has a twentieth


def test_a_main_one_has_less_time_while_another_process_can_be_helped() -> None:
    """And all of it again where that has ended."""
    turn, elsewhere, budget = Turn("a", helping=1 / 4), SimpleNamespace(away=True, helped=True), Budget(100.0)
    made = stage.Stage(Any, Any, [turn, Turn("main")], [], {"a": elsewhere, "main": Any}, budget)  # type: ignore[arg-type]
    for _ in range(2):  # not less and less
        made._limit([turn])
        assert made.own.left is not None and 20 < made.own.left < 25
    elsewhere.away = False
    made._limit([turn])
    assert made.own is budget


def test_help_for_another_process_leaves_less_time_to_others() -> None:
    """Most is for the one there; one that keeps nothing of its own has no turn, nor time once others are over."""
    there, here = SimpleNamespace(away=True, helped=True), Toy(OPEN)
    turns = [Turn("there", share=0.4, begun=True), Turn("less", share=0.4, begun=True, beside=1 / 4)]
    turns += [Turn("none", share=0.4, beside=0.0), Turn("main", left=1 / 2)]
    sessions = {"there": there, "less": here, "none": here, "main": here}
    portfolio = SimpleNamespace(mode=Mode("toys", "toys", ((),)))
    made = stage.Stage(portfolio, Any, turns, [], sessions, Budget(100.0))  # type: ignore[arg-type]
    made._help()
    assert made.shares._parts == {"there": 0.8, "less": 0.1, "none": 0.0}
    assert made.own.left is not None and 45 < made.own.left < 50
    made.others = turns[2:3]
    assert made._others(2, set()) is None and made._without() is None  # else it asks who has no procedures
    alone = stage.Stage(Any, Any, [turns[0]], [], sessions, Budget(100.0))  # type: ignore[arg-type]
    assert alone.own.left is not None and 75 < alone.own.left < 80
    there.away = False
    assert made._beside(turns[1]) == made._beside(turns[2]) == 1


def test_who_has_turns_in_two_stages_has_them_once_at_the_end(decide) -> None:
    """It says there that it is open, when it was listed twice; the second turn found no session."""
    stages = (
        (Turn("twice", share=1.0), Turn("first")),
        (Turn("twice", share=1.0), Turn("second")),
        (Turn("resort"),),
    )
    toys = {"twice": Toy(*[None] * 2, OPEN), "first": Toy(OPEN), "second": Toy(OPEN), "resort": Toy(Proved("bounds"))}
    answer, _ = decide(stages, 9.0, **toys)
    assert answer == Proved("bounds")
