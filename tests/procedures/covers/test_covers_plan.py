"""Covers in parts: all that p depends on first, then what might leave its range."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from venmas import System, verify
from venmas.answer import Proved, Unknown
from venmas.budget import Budget
from venmas.checker.file import check_certificate
from venmas.engine.modes import MODES, Mode, Turn, modes
from venmas.model import argmax, clip, switch
from venmas.procedure import Run
from venmas.procedures.covers import procedure as module
from venmas.procedures.covers.plan import Plan
from venmas.procedures.covers.procedure import COVERS
from venmas.question import Question, read_property


def queue(cars: int, room: float = 50) -> System:
    """Cars follow each other; the first turns round 0 with noise."""
    system = System("queue")
    x, y = system.real("x", -9, 9), system.real("y", -9, 9)
    gaps = system.reals("gap", cars, -room, room)
    w = system.disturbance("w", "-0.02", "0.02")
    turned = {x: 0.6 * (x - y) + w, y: 0.6 * (x + y)}
    ahead = [x, *gaps]
    followed = {gap: 0.5 * gap + clip(ahead[i] * 0.3, -1, 1) for i, gap in enumerate(gaps)}
    system.branch("go", {**turned, **followed})
    system.initial(x >= 0.8, x <= 1, y >= 0, y <= 0.2, *(c for g in gaps for c in (g >= 0, g <= 0.1)))
    return system


def plan(system: System, text: str, **options: bool) -> Plan:
    return Plan(Question(system, read_property(system, text), **options))  # type: ignore[arg-type]


def test_parts_are_in_the_order_in_which_they_read() -> None:
    made = plan(queue(3), "AG x <= 2")
    assert made.parts == [("x", "y"), ("gap[1]",), ("gap[2]",), ("gap[3]",)]
    assert not made.rest and made.unsuited is None
    assert plan(queue(3), "AG gap[2] <= 2").parts == [("x", "y", "gap[1]", "gap[2]"), ("gap[3]",)]
    assert plan(queue(3), "AG gap[3] <= 2").parts == [()]
    assert plan(queue(3), "AG x + gap[3] <= 2").parts == [()]
    assert "at most 6" in str(plan(queue(7), "AG gap[6] <= 2").unsuited)


def test_loops_of_many_variables_are_covered_by_what_p_depends_on(tmp_path: Path) -> None:
    system, path = queue(7), tmp_path / "proof.gz"
    text = "AG (x <= 1.3 & y <= 1.3)"
    question = Question(system, read_property(system, text))  # type: ignore[arg-type]
    assert COVERS.accepts(question, Run()) is None
    answer = COVERS.start(question, Run()).advance(Budget(20))
    assert isinstance(answer, Proved) and not answer.leaving
    MODES["covers alone"] = Mode("covers alone", "", ((Turn("covers"),),), kinds=("bounded", "always"))
    modes.cache_clear()
    try:
        report = verify(system, text, mode="covers alone", timeout=20, certificate=path)
        assert report.satisfied and report.certificate is not None
        assert check_certificate(path, system).lines == 17
    finally:
        del MODES["covers alone"]
        modes.cache_clear()


def test_others_that_might_leave_their_ranges_are_named() -> None:
    question = Question(queue(3, 0.3), read_property(queue(3, 0.3), "AG x <= 1.3"))  # type: ignore[arg-type]
    session = COVERS.start(question, Run())
    answer = session.advance(Budget(4))
    assert isinstance(answer, Proved) and answer.leaving == {"gap[1]", "gap[2]", "gap[3]"} and not answer.inside
    assert isinstance(COVERS.start(question.boxed, Run()).advance(Budget(20)), Unknown)


def test_integers_of_others_are_left_to_others() -> None:
    system = System("counts")
    x, n = system.real("x", -9, 9), system.integer("n", 0, 3)
    system.branch("go", {x: x / 2, n: 3 - n})
    system.initial(x >= 0, x <= 1, n == 0)
    question = Question(system, read_property(system, "AG x <= 1.1"))  # type: ignore[arg-type]
    answer = COVERS.start(question, Run()).advance(Budget(4))
    assert isinstance(answer, Proved) and answer.leaving == {"n"}
    assert "whether n keep" in str(COVERS.accepts(question.boxed, Run()))
    assert verify(system, "AG x <= 1.1", timeout=20).satisfied


def test_guards_and_modes_are_read() -> None:
    system = System("modes")
    x, y, z = (system.real(name, -9, 9) for name in "xyz")
    best = system.agent(argmax((x, 0.5 - x)), name="best")
    system.branch("a", {x: x / 2, y: switch(best, {0: y / 2, 1: y / 4}), z: z / 2}, when=y <= 5)
    system.branch("b", {x: x / 4, y: y / 2, z: z / 4})
    system.initial(*(c for v in (x, y, z) for c in (v >= 0, v <= 1)))
    assert plan(system, "AG z <= 1").parts == [()]
    assert plan(system, "AG x <= 1").parts == [("x", "y"), ("z",)]


def test_a_value_that_stays_is_no_noise() -> None:
    system = System("values")
    x, c, y = system.real("x", -9, 9), system.real("c", -2, 2), system.real("y", -9, 9)
    system.branch("go", {x: c - x, y: y / 2 + x / 8})
    system.initial(x >= 0, x <= 1, c >= 0, c <= 1, y == 0)
    assert plan(system, "AG x <= 2").parts == [()]
    question = Question(system, read_property(system, "AG[0,30] x <= 2"))  # type: ignore[arg-type]
    assert isinstance(COVERS.start(question, Run()).advance(Budget(8)), Proved)


def test_ranges_that_were_not_shown_are_asked_of_all_where_that_fits() -> None:
    assert plan(queue(2), "AG x <= 2", inside=True).parts == [()]
    assert plan(queue(3), "AG x <= 2", inside=True).parts == [("x", "y"), ("gap[1]",), ("gap[2]",), ("gap[3]",)]
    assert len(plan(queue(7), "AG x <= 2", inside=True).parts) == 8


def test_the_part_that_a_check_refuses_is_covered_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first check refuses the second of three parts."""
    calls, real = [], module.written

    def refusing(*args: Any) -> Any:
        calls.append([names for names, _ in args[2]])
        return 1 if len(calls) == 1 else real(*args)

    monkeypatch.setattr(module, "written", refusing)
    question = Question(queue(2), read_property(queue(2), "AG x <= 1.3"), certified=True)  # type: ignore[arg-type]
    session = COVERS.start(question, Run())
    answer = session.advance(Budget(20))
    assert isinstance(answer, Proved) and answer.proof is not None and len(answer.proof.rules) == 6
    assert calls == [[("x", "y"), ("gap[1]",), ("gap[2]",)]] * 2
