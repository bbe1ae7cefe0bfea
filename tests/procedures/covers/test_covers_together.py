"""Parts of a loop that one zonotope follows together: ranges against sampled runs, and what is left to covers."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.procedures.covers.systems import chain
from tests.slow import some_slow
from venmas import System, verify
from venmas.answer import Proved
from venmas.bounds.rounding import Floats
from venmas.budget import Budget
from venmas.checker.file import check_certificate
from venmas.engine.modes import MODES, Mode, Turn, modes
from venmas.logic import Bounded
from venmas.logic.window import window
from venmas.model import clip, maximum
from venmas.model.system.disturbances import drawn
from venmas.procedure import Run
from venmas.procedures.covers import procedure as module
from venmas.procedures.covers.cover import Cover
from venmas.procedures.covers.following import Following, Task
from venmas.procedures.covers.plan import Plan
from venmas.procedures.covers.procedure import COVERS
from venmas.procedures.covers.rounds import Rounds, Way
from venmas.procedures.covers.sampled import sampled
from venmas.procedures.covers.together import together
from venmas.question import Question, read_property

_ASKED = "AG^40 lead <= 2"


def row(cars: int, room: float = 9, least: float = -9) -> System:
    """Cars each of which takes the speed of the one ahead, the last one its size; noise moves the first one.

    least: declared of the last one.
    """
    system = System("row")
    lead = system.real("lead", -9, 9)
    speeds = [system.real(f"speed[{i}]", least if i == cars - 1 else -room, room) for i in range(cars)]
    push = system.disturbance("push", "-0.1", "0.1")
    ahead = [lead, *speeds]
    updates = {speed: speed + clip((ahead[i] - speed) * 0.5, -1, 1) for i, speed in enumerate(speeds)}
    updates[speeds[-1]] = 0.5 * speeds[-1] + 0.5 * maximum(ahead[-2], -ahead[-2])
    system.branch("go", {lead: 0.8 * lead + push, **updates})
    system.initial(*(c for v in ahead for c in (v >= 0.5, v <= 0.75)))
    return system


def joined(system: System, text: str) -> tuple[Plan, Any]:
    question = asked_of(system, text)
    asked = window(question.asked)
    assert asked is not None
    plan = Plan(question)
    return plan, together(plan, asked, False)


def covered(made: tuple[int, Task, Floats]) -> Following:
    """The cover of all steps at a time."""
    _, task, runs = made
    cover = Rounds(task.axes.names, runs, partial(Cover, task), Way(0, task.last or 0, 1)).covered(Budget())
    assert cover is not None
    return cover


def asked_of(system: System, text: str, **options: bool) -> Question:
    prop = read_property(system, text)
    if not isinstance(prop, Bounded):
        return Question(system, prop, **options)  # type: ignore[arg-type]
    return Question(drawn(system, 1), prop, undrawn=system, **options)  # type: ignore[arg-type]


def test_all_parts_are_one_where_a_zonotope_keeps_them() -> None:
    plan, made = joined(row(4), _ASKED)
    assert len(plan.parts) == 5 and made is not None and made[0] == 5
    plan.joins(5)
    assert plan.parts == [("lead", "speed[0]", "speed[1]", "speed[2]", "speed[3]")]


def test_those_that_leave_their_ranges_are_not_among_them() -> None:
    plan, made = joined(row(4, least=-0.05), _ASKED)
    assert made is not None and made[0] == 4
    plan.joins(4)
    assert plan.parts == [("lead", "speed[0]", "speed[1]", "speed[2]"), ("speed[3]",)]
    assert plan.part(1, again=True) == ("speed[2]", "speed[3]")
    assert set(covered(made).reached()) == {"lead", "speed[0]", "speed[1]", "speed[2]", "change of speed[2]"}


@pytest.mark.parametrize(
    ("system", "text"),
    [
        (row(4), "AG^40 lead <= 0.6"),  # p is not shown
        (row(4), "AG lead <= 2"),  # no last step
        (row(4), "AG^201 lead <= 2"),
        (row(1), _ASKED),  # two parts
        (row(4, room=0.7), _ASKED),  # the second one leaves its range
    ],
)
def test_parts_stay_alone(system: System, text: str) -> None:
    assert joined(system, text)[1] is None


def test_branches_are_left_to_covers() -> None:
    system = row(4)
    system.branch("wait", {})
    assert joined(system, _ASKED)[1] is None


@pytest.mark.parametrize("seed", some_slow(range(60), range(0, 60, 3)))
def test_ranges_have_all_sampled_runs(seed: int) -> None:
    system = chain(seed)
    system.branches = system.branches[:1]
    question = asked_of(system, "AG^12 x0 <= 9")
    plan, asked = Plan(question), window(question.asked)
    assert asked is not None
    if (made := together(plan, asked, False)) is None:
        return
    count, cover = made[0], covered(made)
    axes, ranges = cover.task.axes, cover.reached()
    runs = sampled(axes.system, axes.names, axes.noise, 12)
    assert runs is not None and 2 <= count <= len(plan.parts)
    for name, states in zip(axes.names, np.moveaxis(runs, 2, 0), strict=True):
        low, high = ranges[name]
        assert float(low) - 1e-9 <= states.min() and states.max() <= float(high) + 1e-9


def test_some_chains_are_followed_together() -> None:
    """So that the test above says something."""
    found = 0
    for seed in range(60):
        system = chain(seed)
        system.branches = system.branches[:1]
        found += joined(system, "AG^12 x0 <= 9")[1] is not None
    assert found >= 10


@pytest.fixture
def alone() -> Any:
    """Name of a mode of covers alone."""
    MODES["covers alone"] = Mode("covers alone", "", ((Turn("covers"),),))
    modes.cache_clear()
    yield "covers alone"
    del MODES["covers alone"]
    modes.cache_clear()


@pytest.mark.parametrize(("least", "lines"), [(-9, 3), (-0.05, 5)])
def test_certificates_are_accepted(alone: str, least: float, lines: int, tmp_path: Path) -> None:
    system, path = row(4, least=least), tmp_path / "proof.gz"
    report = verify(system, _ASKED, mode=alone, timeout=30, certificate=path)
    assert report.satisfied and report.certificate is not None
    assert check_certificate(path, system).lines == lines


def test_parts_are_parts_again_where_a_check_refuses_them(monkeypatch: pytest.MonkeyPatch) -> None:
    calls, real = [], module.written

    def refusing(*args: Any) -> Any:
        calls.append([names for names, _ in args[2]])
        return 0 if len(calls) == 1 else real(*args)

    monkeypatch.setattr(module, "written", refusing)
    system = row(2)
    question = asked_of(system, _ASKED, certified=True)
    answer = COVERS.start(question, Run()).advance(Budget(30))
    assert isinstance(answer, Proved) and answer.proof is not None
    assert calls == [[("lead", "speed[0]", "speed[1]")], [("lead",), ("speed[0]",), ("speed[1]",)]]


def test_a_bound_beyond_the_widest_run_is_shown_and_no_nearer_one() -> None:
    """Zonotopes of these steps lose next to nothing: lead goes to 0.5 at least, from the noise of all steps."""
    for bound, shown in ((Fraction(3, 4), True), (Fraction(74, 100), False)):
        assert (joined(row(3), f"AG[0,40] lead <= {float(bound)}")[1] is not None) == shown


def test_what_is_left_is_told_after_a_join() -> None:
    session = COVERS.start(asked_of(row(4, least=-0.05), _ASKED), Run())
    answer = session.advance(Budget(20))
    left = session.remaining()
    assert isinstance(answer, Proved) and left is not None
    assert [set(box) for box in left.boxes] == [{*session.question.system.variables}] and left.steps == 40


def test_parts_are_parts_again_where_later_ones_do_not_keep_to_their_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last one leaves its range, whatever is known of the others."""
    monkeypatch.setattr(module, "_LEVELS", (0,))
    session = COVERS.start(asked_of(row(4, least=0.3), _ASKED), Run())
    answer = session.advance(Budget(30))
    assert isinstance(answer, Proved) and answer.leaving == {"speed[3]"}
    assert not session._together and len(session._done) == 4


def test_rows_of_many_variables_round_0() -> None:
    """A set that has 0 inside along all coordinates is in as many cells as a cube has corners."""
    _, made = joined(row(22), _ASKED)
    assert made is not None and len(covered(made).task.axes.names) == 23
