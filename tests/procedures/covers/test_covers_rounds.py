"""Which grids are tried, and parts that are covered again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from tests.procedures.covers.systems import runs, task
from venmas import System
from venmas.answer import Proved, Unknown
from venmas.budget import Budget
from venmas.checker.covers.parts import Part
from venmas.logic import TRUE, parse_property
from venmas.model import maximum
from venmas.procedure import Run
from venmas.procedures.covers import rounds as covers_rounds
from venmas.procedures.covers.cover import Cover
from venmas.procedures.covers.following import Task
from venmas.procedures.covers.procedure import COVERS
from venmas.procedures.covers.rounds import Rounds, Way
from venmas.question import Question


def turning() -> System:
    system = System("turning")
    x, y = system.real("x", -9, 9), system.real("y", -9, 9)
    w = system.disturbance("w", "-0.05", "0.05")
    system.branch("go", {x: 0.7 * (x - y) + w, y: 0.7 * (x + y) - maximum(x / 8, 0)})
    system.initial(x >= 0.5, x <= 1, y >= 0, y <= 0.5)
    return system


def tries(asked: Task, only: Way | None = None) -> Rounds:
    return Rounds(asked.axes.names, runs(asked, 0, 30), partial(Cover, asked), only)


def test_a_grid_alone_is_tried_once() -> None:
    asked = task(turning(), 0, 30)
    rounds = tries(asked, Way(0, 2, 8))
    assert rounds.covered(Budget(20)) is rounds.last and rounds.way == Way(0, 2, 8)
    assert tries(replace(asked, wrong=TRUE), Way(0, 2, 8)).covered(Budget(20)) is None


def test_one_step_at_a_time_along_variables_is_tried_on_all_grids(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is shown on any grid; each try takes no time."""
    tried = list[tuple[bool, int, int]]()

    def open_at_once(self: Rounds, one: object, budget: Budget) -> bool:
        frame, stride = one.way  # type: ignore[attr-defined]
        first = bool((np.count_nonzero(np.array(frame.rows, dtype=float), axis=1) == 1).all())
        tried.append((first, stride, one.along))  # type: ignore[attr-defined]
        one.coarse, one.reached = True, (0 if first and stride == 1 else stride, -1.0)  # type: ignore[attr-defined]
        return False

    monkeypatch.setattr(Rounds, "_tried", open_at_once)
    asked = task(turning(), 0, 30)
    assert tries(asked).covered(Budget(20)) is None
    grids = sorted({along for _, _, along in tried})
    assert grids == sorted(covers_rounds._ALONG) and all((True, 1, along) in tried for along in grids)
    assert sum(along == grids[-1] for _, _, along in tried) == 2


def test_the_way_that_led_farthest_goes_on_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the first grid the last way comes farthest; all go on on the second one."""
    order, number = list[int](), iter(range(10**6))

    def later(self: Rounds, one: object, budget: Budget) -> bool:
        at = next(number)
        way = one.way  # type: ignore[attr-defined]
        one.coarse, one.spent = False, 1.0  # type: ignore[attr-defined]
        one.reached = (9 if way[1] == 4 else 1, 0.0)  # type: ignore[attr-defined]
        order.append(way[1])
        return at == 12

    monkeypatch.setattr(Rounds, "_tried", later)
    asked = task(turning(), 0, 30)
    assert tries(asked).covered(Budget(20)) is not None
    assert order[:9] == [1, 2, 4] * 3 and order[9:11] == [4, 4]


def follower(room: float = 9) -> System:
    """|x| <= 1, and z sums what x changes by, 0.2 at most, with a sign that turns: |z| <= 2. Of any x in each step it
    would be up to 20."""
    system = System("follower")
    x, y, z = system.real("x", -2, 2), system.real("y", -9, 9), system.real("z", -room, room)
    w = system.disturbance("w", "-0.1", "0.1")
    system.branch("go", {x: 0.9 * x + w, y: x + z / 1000, z: x - y - 0.9 * z})
    system.initial(*(c for v in (x, y, z) for c in (v >= -0.01, v <= 0.01)))
    return system


def test_parts_are_covered_again_with_what_they_read() -> None:
    system = follower()
    question = Question(system, parse_property("AG x <= 1.2", system.vocabulary), certified=True)  # type: ignore[arg-type]
    answer = COVERS.start(question, Run()).advance(Budget(30))
    assert isinstance(answer, Proved) and answer.inside and not answer.leaving and answer.proof is not None
    assert [rule.names for rule in answer.proof.rules if isinstance(rule, Part)] == [("x",), ("x", "y", "z")]


def test_parts_that_leave_their_ranges_are_left_open() -> None:
    """As x goes up and down, z goes beyond 1."""
    system = follower(0.5)
    question = Question(system, parse_property("AG x <= 1.2", system.vocabulary))  # type: ignore[arg-type]
    answer = COVERS.start(question, Run()).advance(Budget(60))
    assert isinstance(answer, Proved) and answer.leaving == {"y", "z"}


def test_a_first_part_that_a_check_refuses_is_not_taken_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """All are covered for the second time by then; the search goes on with the first part, and ends with it."""
    calls = list[int]()

    def refusing(*args: object) -> int:
        calls.append(1)
        return 0

    monkeypatch.setattr("venmas.procedures.covers.procedure.written", refusing)
    system = follower()
    question = Question(system, parse_property("AG x <= 1.2", system.vocabulary), certified=True)  # type: ignore[arg-type]
    session = COVERS.start(question, Run())
    assert isinstance(session.advance(Budget(60)), Unknown)
    assert len(calls) <= 2


def four() -> System:
    """Four variables that read each other."""
    system = System("four")
    v = [system.real(f"x{i}", -9, 9) for i in range(4)]
    w = system.disturbance("w", "-0.05", "0.05")
    system.branch("go", {x: 0.5 * x - 0.4 * v[i - 1] + (w if i else maximum(v[1] / 8, 0)) for i, x in enumerate(v)})
    system.initial(*(c for x in v for c in (x >= 0, x <= 0.5)))
    return system


Reach = Callable[[bool, int, int], "tuple[int, float]"]


@pytest.mark.parametrize(
    ("reach", "left"),
    [
        (lambda best, along, number: (10 if best else 6, -0.5), 1),  # far behind
        (lambda best, along, number: (10 if best else 7, -0.5), 9),
        (lambda best, along, number: (10, -0.2 if best else -0.4), 1),  # much more is open where both end
        (lambda best, along, number: (10, -0.2 if best else -0.28), 9),
        (lambda best, along, number: (10, 0.0 if best else -0.4), 9),  # one is not at its end
        (lambda best, along, number: (20 if number % 2 == (along == 5) else 9, -1.0), 9),  # they take turns
    ],
)
def test_ways_that_are_behind_twice_are_given_up(monkeypatch: pytest.MonkeyPatch, reach: Reach, left: int) -> None:
    """Of many coordinates; left: ways that are still tried on the third grid, if it is not for their number."""
    tried = dict[int, set[int]]()
    ways = list[object]()

    def open_at_once(self: Rounds, one: object, budget: Budget) -> bool:
        way, along = one.way, one.along  # type: ignore[attr-defined]
        if way not in ways:
            ways.append(way)
        number = ways.index(way)
        tried.setdefault(along, set()).add(number)
        one.reached = reach(number == 1, along, number)  # type: ignore[attr-defined]
        one.coarse, one.open = one.reached[1] < 0, -one.reached[1]  # type: ignore[attr-defined]
        return along == 12

    monkeypatch.setattr(Rounds, "_tried", open_at_once)
    monkeypatch.setattr(covers_rounds, "_WAYS", (9,))
    assert tries(task(four(), 0, 30)).covered(Budget(20)) is not None
    assert [*tried] == [3, 5, 8, 12] and len(tried[3]) == len(ways) and 1 in tried[8]
    assert len(tried[8]) == (left if left < 9 else len(ways))
