"""The rule of rising values on random graphs, what it proves, and what certificates may not say by it."""

from __future__ import annotations

import gzip
import json
import time
from collections import Counter
from fractions import Fraction
from pathlib import Path
from random import Random

import pytest

from experiments.forever.systems import line
from tests.checker.test_forever_rules import STATES, _graph, _set, _system, evaluate
from tests.corpus.fixpoints import holding
from venmas import System, verify
from venmas.checker.file import check_certificate
from venmas.checker.forever.rising import Rises, valued
from venmas.checker.forever.sequents import Scope
from venmas.checker.format.numbers import CheckError
from venmas.errors import FormulaError
from venmas.logic import fixpoints
from venmas.model import where

HALF = Fraction(1, 2)


@pytest.mark.parametrize("graphs", [1200, pytest.param(4000, marks=pytest.mark.slow)])
def test_true_premises_have_true_conclusions(graphs: int) -> None:
    rng, system, seen = Random(3), _system(), Counter[bool]()
    for _ in range(graphs):
        (_, states), (holds, _) = _set(rng, system), _set(rng, system)
        graph = [[t for t in after if rng.random() < 0.9 or t > s] for s, after in enumerate(_graph(rng))]
        graph = [[t for t in after if t > s or rng.random() < 0.3] for s, after in enumerate(graph)]
        scope = Scope.of(system, {"S": states})
        factor, step = rng.choice((("1", "1"), ("1", "2"), ("3/2", "0"), ("2", "1")))
        rule = Rises((0, 1), "S", rng.choice(("s >= 0", "s + 1 >= 0", "-s + 4 >= 0")), factor, step, "5", holds)
        value = valued(scope, rule.value)
        more, bound = rule.needs(scope)
        assert more.before == str(value) and not bound.before
        start = evaluate(fixpoints(states), graph)
        values = [value.evaluate({"s": Fraction(s)}) for s in range(STATES)]
        true = start <= evaluate(bound.formula, graph) and all(
            first in holding(more.formula, [{"s": Fraction(s), "before": values[first]} for s in range(STATES)], graph)
            for first in start
        )
        seen[true] += 1
        assert not true or start <= evaluate(rule.shows(scope).formula, graph), (rule, graph)
    assert min(seen.values()) > graphs // 20, seen


@pytest.mark.parametrize(("factor", "step"), [("1", "0"), ("1/2", "1"), ("2", "-1")])
def test_values_that_need_not_rise(factor: str, step: str) -> None:
    scope = Scope.of(_system(), {"S": fixpoints(_set(Random(0), _system())[1])})
    with pytest.raises(FormulaError, match="becomes more"):
        Rises((0, 1), "S", "s >= 0", factor, step, "5", "s >= 3").needs(scope)


def escape() -> System:
    return line("escape", 2, 0, 1, above=True)


def filling() -> System:
    """A tank of which two cocks fill little in a step: 1600 steps of the slowest run."""
    system = System("filling")
    level, drip = system.real("level", 0, 500), system.disturbance("drip", 0, Fraction(1, 8))
    system.branch("one", level=level + Fraction(1, 8) + drip)
    system.branch("other", level=level + Fraction(1, 4) - drip)
    system.initial(level <= 1)
    return system


def coupled() -> System:
    """A value that rises along no single variable: x and y take turns."""
    system = System("coupled")
    x, y = system.real("x", -500, 500), system.real("y", -500, 500)
    system.branch("go", x=y + Fraction(1, 8), y=x)
    system.initial(x >= -1, x <= 1, y >= -1, y <= 1)
    return system


def driving() -> System:
    """A speed that no step changes, one of many."""
    system = System("driving")
    x, speed = system.real("x", -10, 500), system.real("speed", -1, 1)
    system.branch("go", x=x + speed)
    system.initial(x >= 0, x <= 1, speed >= Fraction(1, 100), speed <= Fraction(1, 50))
    return system


PROVED = [
    (escape, "AF x >= 1"),
    (escape, "AF AG x >= 1"),
    pytest.param(filling, "AF level >= 200", marks=pytest.mark.slow),
    pytest.param(coupled, "AF x + y >= 60", marks=pytest.mark.slow),
    (driving, "AF x >= 30"),
]


@pytest.mark.parametrize(("make", "text"), PROVED)
def test_what_takes_more_steps_than_any_window(make, text: str, tmp_path: Path) -> None:
    report = verify(make(), text, timeout=60, certificate=tmp_path / "c.gz")
    assert report.satisfied and report.basis == "exact", report.message
    check_certificate(tmp_path / "c.gz", make())
    assert "rises" in gzip.decompress((tmp_path / "c.gz").read_bytes()).decode()


@pytest.mark.parametrize("text", [pytest.param("F x >= 1", marks=pytest.mark.slow), "F G x >= 1"])
def test_no_number_of_steps_is_told_of_runs(text: str) -> None:
    report = verify(escape(), text, timeout=60)
    assert report.satisfied and report.proof is not None and report.proof["within"] is None
    told = " ".join(report.proof["texts"])
    assert "times as much" in told and "within" not in told and "from step" not in told, told


@pytest.mark.slow
def test_ways_that_were_not_shown_are_not_told() -> None:
    """Steps into sets that samples suggest, of which enclosures show nothing."""
    system = System("bent")
    x = system.real("x", -200, 200)
    system.branch("go", x=where(x >= 50, x / 2 + 50, 2 * x))
    system.initial(x > 0, x <= 1)
    report = verify(system, "AF AG x >= 60", timeout=60)
    assert report.satisfied, report.message
    told = dict(report.procedures[-1].figures)
    assert "in the end" in told and "within" not in told, told


@pytest.mark.slow
def test_values_of_huge_ranges_and_many_variables() -> None:
    """They are left out, in the time of a question."""
    system = System("huge")
    x, y = system.real("x", -9e99, 9e99), system.real("y", -9e99, 9e99)
    system.branch("go", x=y + Fraction(1, 8), y=x)
    system.initial(x >= -1, x <= 1, y >= -1, y <= 1)
    assert not verify(system, "AF x + y >= 60", timeout=3).violated
    many = System("many")
    x = many.reals("x", 60, -50, 50)
    many.branch("go", {x[i]: x[(i + 1) % 60] + Fraction(1, 50) for i in range(60)})
    many.initial(*(c for i in range(60) for c in (x[i] >= 0, x[i] <= 1)))
    begun = time.monotonic()
    assert not verify(many, "AF x[1] >= 40", timeout=4).violated
    assert time.monotonic() - begun < 8


def test_what_does_not_rise_is_not_proved() -> None:
    assert verify(line("escape", 2, 0, 1), "AF x >= 1", timeout=60).violated  # 0 stays 0
    assert not verify(line("half", HALF, 0, 1, above=True), "AF x >= 1", timeout=3).satisfied
    assert not verify(line("half", HALF, 0, 1, above=True), "AF x <= 0", timeout=3).satisfied  # by less and less


@pytest.mark.parametrize(
    "change",
    [
        {"factor": "2.5"},
        {"factor": "1", "step": "1/1000000"},
        {"factor": "1"},
        {"value": "x - 1/2 >= 0"},
        {"value": "x <= 0"},
        {"most": "1/2"},
        {"holds": "x >= 2"},
        {"by": [1, 1]},
        {"by": [0, 0]},
    ],
)
def test_other_values_are_refused(change: dict[str, object], tmp_path: Path) -> None:
    path = tmp_path / "c.gz"
    assert verify(escape(), "AF x >= 1", timeout=60, certificate=path).satisfied
    lines = [json.loads(row) for row in gzip.decompress(path.read_bytes()).splitlines()]
    (place,) = (i for i, row in enumerate(lines) if row.get("rule") == "rises")
    lines[place] |= change
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, lines)).encode()))
    with pytest.raises(CheckError):
        check_certificate(path, escape())


@pytest.mark.parametrize("before", ["", "x - 1/2 >= 0", "2*x >= 0", "x + before >= 0", "x == 0", "x >= 0 | x >= 1"])
def test_claims_about_other_values_before_are_refused(before: str, tmp_path: Path) -> None:
    path = tmp_path / "c.gz"
    assert verify(escape(), "AF x >= 1", timeout=60, certificate=path).satisfied
    lines = [json.loads(row) for row in gzip.decompress(path.read_bytes()).splitlines()]
    (place,) = (i for i, row in enumerate(lines) if row.get("before"))
    lines[place]["before"] = before
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, lines)).encode()))
    with pytest.raises(CheckError):
        check_certificate(path, escape())


def test_a_variable_of_that_name(tmp_path: Path) -> None:
    """The rule is left out, and told by no traceback."""
    system = System("named")
    before = system.real("before", -100, 100)
    system.branch("go", before=before * 2)
    system.initial(before > 0, before <= 1)
    report = verify(system, "AF before >= 1", timeout=2)
    assert not report.satisfied and not report.violated
