"""Flowpipes in turns: what one turn leaves half done the next one goes on with, and what takes too long is left."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest

from venmas import System
from venmas.answer import Proved, Unknown
from venmas.budget import Budget, BudgetError
from venmas.errors import Reason
from venmas.model import sqrt, switch, where
from venmas.procedure import Run
from venmas.procedures.flowpipes.procedure import FLOWPIPES
from venmas.procedures.flowpipes.target import Following, TooLongError
from venmas.procedures.flowpipes.tree import ladder
from venmas.question import Question, read_property


def turning() -> System:
    """A damped turn with a kick to the left or to the right, and a store that may run over on the way."""
    system = System("turning")
    x, y, s = system.real("x", -9, 9), system.real("y", -9, 9), system.real("s", -3, 3)
    kick = where(x >= 0, -0.1, 0.1)
    system.branch("go", x=0.8 * x - 0.4 * y + kick, y=0.4 * x + 0.8 * y, s=0.9 * s + x / 4)
    system.initial(x >= -1, x <= 1, y >= -1, y <= 1, s == 0)
    return system


def session_of(text: str, system: System, about: str = "property"):
    question = Question(system, read_property(system, text))
    if about == "box":
        question = question.staying(("s",))
    run = Run()
    return FLOWPIPES.start(question, run), run, question


class Stepwise(Budget):
    """One that is over after each look but the first."""

    def __init__(self, looks: int) -> None:
        super().__init__(100)
        self.looks = looks

    def __call__(self) -> None:
        self.looks -= 1
        if self.looks < 0:
            raise BudgetError(self, Reason.TIME, "the time limit was reached")


def test_pauses_change_nothing() -> None:
    session, _, _ = session_of("AG^9 (x <= 1.3 & y >= -1.4)", turning())
    boxes = [part.box for part in session._roots()]
    level = ladder(False, True)[0]
    whole, parts = (Following(session.system, session.plan, boxes, level) for _ in range(2))
    whole.on(Budget())
    for turn in range(99):
        try:
            parts.on(Stepwise(1))
            break
        except BudgetError:
            assert parts.between and len(parts.radii) == turn + 1
    assert turn > 3
    assert [f and (f.step, f.radius, f.certain) for f in whole.failed] == [
        f and (f.step, f.radius, f.certain) for f in parts.failed
    ]
    assert all(np.array_equal(a, b) for a, b in zip(whole.radii, parts.radii, strict=True))


def test_a_turn_goes_on_where_the_last_one_ended() -> None:
    session, _, _ = session_of("AG^9 x <= 1.9", turning())
    session._looked = True
    turns, answer = 0, None
    while answer is None and turns < 999:
        turns += 1
        with suppress(BudgetError):
            answer = session.advance(Stepwise(3))
    assert isinstance(answer, Proved) and turns > 3 and session.proved == 1


def test_first_boxes_that_take_too_long_are_left_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    session, _, _ = session_of("AG^9 x <= 1.9", turning())
    session._looked = True

    def on(self: Following, budget: Budget, part: float | None = None) -> None:
        assert part is not None
        self.expected = 2 * part * 100
        raise TooLongError

    monkeypatch.setattr(Following, "on", on)
    answer = session.advance(Budget(100))
    assert isinstance(answer, Unknown) and "longer" in answer.message


def test_long_steps_are_seen_to_take_too_long() -> None:
    session, _, _ = session_of("AG^9 x <= 1.9", turning())
    following = Following(session.system, session.plan, [p.box for p in session._roots()], ladder(False, True)[0])
    following.expected = 51.0
    with pytest.raises(TooLongError):
        following.on(Budget(100), 0.5)
    following.expected = 49.0
    following.on(Budget(100), 0.5)


def test_the_box_is_asked_about_where_bounds_of_the_proof_left_it() -> None:
    """Coarse bounds of s are beyond 3 from some parts alone, and the session about the box begins with these."""
    system = turning()
    session, run, question = session_of("AG^20 (x <= 1.9 & x >= -1.9)", system)
    session._looked = True
    answer = session.advance(Budget(100))
    assert isinstance(answer, Proved)
    assert session.figures.astray is not None
    side = FLOWPIPES.start(question.staying(("s",)), run)
    assert side._stack is not None and len(side._stack) == len(session.figures.astray[1])
    assert bool(answer.leaving) == bool(session.figures.astray[1])
    other, _, _ = session_of("AG^20 x <= 1.9", system, "box")
    assert other._stack is None


def test_a_step_that_takes_longer_than_a_turn_waits() -> None:
    session, _, _ = session_of("AG^9 x <= 1.9", turning())
    following = Following(session.system, session.plan, [part.box for part in session._roots()], ladder(False, True)[0])
    following._next = 2.0
    whole = Budget(60)
    assert whole.spend(1.0, lambda part: following.on(part) or True) is None
    assert following.between and not following.radii
    assert whole.spend(5.0, lambda part: following.on(part) or True)


def test_what_no_state_chooses_is_not_evaluated() -> None:
    """Each set is followed with what its own mode chooses, as a run is; a root of the other's would not exist."""
    system = System("modes")
    x, mode = system.real("x", -9, 9), system.integer("mode", 0, 1)
    system.branch("go", x=switch(mode, {0: x / 2, 1: sqrt(x)}), mode=where(x >= 1, 1, 0))
    system.initial(x >= -1, x <= 1.5, mode == 0)
    for text in ("AG^6 (x >= -1 & x <= 1.5)", "EF^3 x > 0"):
        session, _, _ = session_of(text, system)
        answer = None
        while answer is None:
            answer = session.advance(Budget(30))
        assert isinstance(answer, Proved) == text.startswith("AG")
