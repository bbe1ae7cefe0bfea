"""Flowpipes and branch and bound between turns: whatever ends one, no part of the initial set that is open is lost."""

from __future__ import annotations

from fractions import Fraction as Q

import numpy as np
import pytest

from venmas.answer import Unknown
from venmas.budget import Budget, BudgetError
from venmas.errors import Reason
from venmas.model import System, absolute
from venmas.procedure import Run
from venmas.procedures.branch_and_bound import bisect, gradient
from venmas.procedures.branch_and_bound.bisect import Bisection
from venmas.procedures.branch_and_bound.procedure import BRANCH_AND_BOUND, BranchAndBound
from venmas.procedures.flowpipes.procedure import FLOWPIPES, FlowpipeSearch
from venmas.procedures.flowpipes.refine import Refining
from venmas.procedures.flowpipes.violations import Violations
from venmas.question import Question, read_property


def folded() -> System:
    """A tent in two directions, whose middle is the only open place."""
    system = System("folded")
    x, y = system.real("x", -9, 9), system.real("y", -9, 9)
    system.branch("go", {x: 1 - absolute(x) / 2 - absolute(y) / 2, y: absolute(x) / 2 - absolute(y) / 3})
    system.initial(x >= -1, x <= 1, y >= -1, y <= 1)
    return system


def question(text: str) -> Question:
    system = folded()
    return Question(system, read_property(system, text))


def covered(boxes: tuple[dict[str, tuple[Q, Q]], ...], point: tuple[float, float]) -> bool:
    ends = zip(("x", "y"), point, strict=True)
    here = dict(ends)
    return any(all(low <= here[n] <= high for n, (low, high) in box.items() if n in here) for box in boxes)


@pytest.mark.parametrize("procedure", [FLOWPIPES, BRANCH_AND_BOUND])
def test_between_turns_every_violating_start_is_left(
    procedure: FlowpipeSearch | BranchAndBound, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Starts near the middle violate it, which nobody looks for; what is far from it is done with."""
    monkeypatch.setattr(Violations, "of", lambda *_: None)
    monkeypatch.setattr(bisect, "glance", lambda *_: None)
    monkeypatch.setattr(Bisection, "_try", lambda *_: None)
    monkeypatch.setattr(Bisection, "_settled", lambda *_: False)
    monkeypatch.setattr(gradient, "search", lambda *_: None)
    session = procedure.start(question("AG^3 x < 99/100"), Run())
    session._looked = True  # type: ignore[union-attr]
    whole, rng, told = Budget(30), np.random.default_rng(2), 0
    far = (0.9, 0.9)
    for turn in range(600):  # a step that takes longer than a turn waits for a longer one
        assert whole.spend(0.01 + turn / 5000, session.advance) is None
        left = session.remaining()  # type: ignore[union-attr]
        for x, y in rng.uniform(-0.012, 0.012, (40, 2)) if left is not None else ():
            if 1 - abs(x) / 2 - abs(y) / 2 > 0.99:
                told += 1
                assert covered(left.boxes, (x, y))
        if told > 100 and left is not None and not covered(left.boxes, far):
            return
    raise AssertionError("nothing is done with")


@pytest.mark.parametrize("where", ["follow", "replay"])
def test_a_part_that_is_open_stays_so_when_the_budget_ends(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """While it is followed, or while the middle of one that was given up is replayed: going on proves nothing."""
    search: FlowpipeSearch = FLOWPIPES
    session = search.start(question("AG^3 x < 1/2"), Run())
    session._looked = True

    def ended(self: object, work: object, budget: Budget) -> None:
        raise BudgetError(budget, Reason.TIME, "it ended")

    monkeypatch.setattr(Refining, "after", lambda *_: None)
    monkeypatch.setattr(Violations, "of", lambda *_: None)
    with monkeypatch.context() as patch:
        patch.setattr(*((type(session), "_follow") if where == "follow" else (Violations, "replayed")), ended)
        with pytest.raises(BudgetError):
            session.advance(Budget(5))
    left = session.remaining()
    assert left is not None and covered(left.boxes, (0.0, 0.0))
    monkeypatch.setattr(Violations, "replayed", lambda *_: None)
    assert isinstance(session.advance(Budget(5)), Unknown)
    left = session.remaining()
    assert left is not None and covered(left.boxes, (0.0, 0.0))
