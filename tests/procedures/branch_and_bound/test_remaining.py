"""What branch and bound leaves: every initial state outside of the boxes satisfies the property, by sampling."""

import numpy as np
import pytest

from venmas.budget import Budget, BudgetError
from venmas.model import System, maximum
from venmas.model.evaluation.simulate import step_batch
from venmas.procedure import Run
from venmas.procedures.branch_and_bound.procedure import BRANCH_AND_BOUND
from venmas.question import Question, read_property


def folded() -> System:
    """A loop that folds its states: violations in a part of the initial set, and many boxes around it."""
    system = System("folded")
    x, y = system.real("x", -9, 9), system.real("y", -9, 9)
    system.branch("go", x=1 - 1.4 * maximum(x, -x) + y, y=0.3 * x)
    system.initial(x >= -1, x <= 1, y >= -0.3, y <= 0.3)
    return system


@pytest.mark.parametrize("looks", [0, 3, 20, 60])
def test_all_else_is_refuted(looks: int) -> None:
    system = folded()
    question = Question(system, read_property(system, "AG^8 (x <= 1.25)"))
    session = BRANCH_AND_BOUND.start(question, Run())
    assert session.remaining() is None  # nothing was looked at
    budget, seen = Budget(), 0

    def ends(self: Budget) -> None:
        nonlocal seen
        seen += 1
        if seen > looks:
            raise BudgetError(budget, "time", "enough")  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Budget, "__call__", ends)
        patch.setattr("venmas.procedures.branch_and_bound.bisect.glance", lambda *_: None)
        patch.setattr("venmas.procedures.branch_and_bound.bisect.confirm", lambda *_: None)
        patch.setattr("venmas.procedures.branch_and_bound.gradient.search", lambda *_: None)
        with pytest.raises(BudgetError):
            session.advance(budget)
    left = session.remaining()
    assert left is not None
    rng = np.random.default_rng(1)
    points = np.stack([rng.uniform(-1, 1, 4000), rng.uniform(-0.3, 0.3, 4000)], 1)
    state, worst = {"x": points[:, 0], "y": points[:, 1]}, np.full(4000, -np.inf)
    for _ in range(8):
        state, _ = step_batch(system, state, np.zeros(4000, int))
        worst = np.maximum(worst, state["x"])
    open_ = np.zeros(4000, bool)
    for box in left.boxes:
        (a, b), (c, d) = box["x"], box["y"]
        x, y = points.T
        open_ |= (x >= float(a)) & (x <= float(b)) & (y >= float(c)) & (y <= float(d))
    assert (worst > 1.25).any(), "the property is meant to be violated somewhere"
    assert (worst[~open_] <= 1.25).all()
    if looks == 60:
        assert not open_.all()
