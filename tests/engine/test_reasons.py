"""Every reason of the schema is that of some run, which has its message and remedies, and fits the schema."""

from __future__ import annotations

from tests.needs import needs

needs("jsonschema")

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.in_process import IN_PROCESS
from venmas import System, load_scenario, verify
from venmas.engine.report import Report, Verdict
from venmas.engine.stored import read_report
from venmas.errors import Reason
from venmas.model import apply_network, cos, sin
from venmas.nn import relu_network
from venmas.report.words import remedies
from venmas.solvers import registry
from venmas.solvers.base import Features, SizeLimit
from venmas.solvers.highs import Highs
from venmas.solvers.milp.program import Feasible, Outcome, Program, Unknown

SCHEMA = json.loads((Path(__file__).resolve().parents[2] / "docs" / "result.schema.json").read_text())
REASONS = [reason for reason in SCHEMA["properties"]["reason"]["enum"] if reason]


def system() -> System:
    """One step through a network that computes x / 10 in floats."""
    made = System("tenth")
    x, y = made.real("x", -1, 1), made.real("y", -1, 1)
    made.branch("apply", y=apply_network(relu_network([[[0.1]]], [[0.0]]), [x])[0])
    made.initial(x >= 0, x <= 1, y == 0)
    return made


class Odd(Highs):
    """HiGHS, which behaves in some other way."""

    def __init__(self, answer: Callable[[Program], Outcome] | None = None, limit: SizeLimit | None = None) -> None:
        self.answer = answer
        self.features = Features(indicators=False, size_limit=limit, time_limit=True)

    def _run(self, program: Program, time_limit: float | None, threads: int) -> Outcome:
        return super()._run(program, time_limit, threads) if self.answer is None else self.answer(program)


def raising(error: BaseException) -> Callable[[Program], Outcome]:
    def answer(_program: Program) -> Outcome:
        raise error

    return answer


SOLVERS: dict[str, Odd] = {
    "licence": Odd(limit=SizeLimit(0, 0)),
    "tolerance": Odd(lambda program: Feasible(program.upper + 1)),
    "failure": Odd(raising(RuntimeError("broken"))),
    "unbounded": Odd(lambda _program: Unknown(Reason.UNBOUNDED, "it says unbounded")),
    "interrupted": Odd(raising(KeyboardInterrupt())),
}
"""Solvers that end a run so."""

LIMITS: dict[str, dict[str, Any]] = {"time": {"timeout": 1e-6}, "memory": {"memory": 1}}


def asked(reason: str, monkeypatch: pytest.MonkeyPatch) -> Report:
    """A run that ends for that reason."""
    if reason in LIMITS:
        return verify(system(), "AX y < 0.05", **LIMITS[reason])
    if reason in SOLVERS:
        monkeypatch.setitem(registry._REGISTRY, "highs", SOLVERS[reason])
        options: dict[str, Any] = {"mode": "mono", "solver": "highs", "trust": "solver", "tune": IN_PROCESS}
        return verify(system(), "AX y < 0.05", **options)
    if reason == "tie":  # of the one initial state the value is 1, which no enclosure shows
        made = System("circle")
        x, y = made.real("x", -1, 1), made.real("y", -9, 9)
        made.branch("go", y=sin(x) ** 2 + cos(x) ** 2)
        made.initial(x == 1, y == 0)
        return verify(made, "AX y < 1", timeout=30)
    assert reason == "open", f"no run ends with {reason!r}: add one"
    # the exact product has the property, of which single precision may be on either side
    return verify(system(), f"AX y <= {Fraction(0.1)}", mode="exact", semantics="float32")


@pytest.mark.parametrize("reason", REASONS)
def test_every_reason_is_that_of_some_run(reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    report = asked(reason, monkeypatch)
    assert (report.verdict, report.reason) == (Verdict.UNKNOWN, reason), report.message
    assert report.message and report.decided_by == "" and remedies(report)
    stored = report.to_json()
    Draft202012Validator(SCHEMA).validate(stored)
    assert read_report(stored).to_json() == stored
    assert all(tried["why"] for tried in stored["procedures"])


def test_a_question_that_nobody_takes_is_told_why() -> None:
    report = verify(load_scenario("double_integrator").system(), "AG within", mode="abstraction", timeout=10)
    assert report.reason == "open" and "abstraction: variable 'x[1]' is real" in report.message
