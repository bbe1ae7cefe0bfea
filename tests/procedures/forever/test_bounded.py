"""Bounded formulas by cells alone, against all states of finite twins; and changes to their certificates."""

from __future__ import annotations

import copy
import gzip
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.checker.test_forever_mutants import accepted, stated
from tests.checker.test_forever_rules import STATES, evaluate
from tests.procedures.forever import loops
from tests.procedures.forever.test_cells import twin
from venmas import System, Verdict, verify
from venmas.checker.file import check_certificate
from venmas.engine import modes
from venmas.errors import ModelError
from venmas.logic import fixpoints, parse_property
from venmas.model import argmax, switch, where
from venmas.procedures.forever import bounded
from venmas.question import staying

HALF = Fraction(1, 2)
SHAPES = ("AG^4 p", "AX^3 AG[0,2] p", "AG[1,3] p & AG^2 q", "AX^2 p & AX^4 q", "AG^6 (p | q)", "AG^2 AX p")


@pytest.fixture
def cells_alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    alone = replace(modes.ADAPTIVE, name="cells", stages=((modes.Turn("cells"),),), resort=False)
    monkeypatch.setitem(modes.MODES, "cells", alone)
    monkeypatch.setattr(bounded, "_LONG", 2)
    modes.modes.cache_clear()
    yield
    modes.modes.cache_clear()


def lift(steps: int = 30) -> System:
    """A platform that a policy of two thrusts holds: by and by it leaves the range of its height."""
    system = System("lift")
    x, y = system.real("x", 0, Fraction(steps, 8) + 1), system.real("y", -2, 2)
    thrust = switch(argmax([y, -y]), {0: Fraction(-1, 4), 1: Fraction(1, 4)})
    system.branch("go", x=x + Fraction(1, 8), y=y + thrust)
    system.initial(x >= 0, x <= HALF, y >= -HALF, y <= HALF)
    return system


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (loops.thermostat, "AG^30 warm"),
        (loops.thermostat, "AX^20 AG[0,10] (t >= 15 & t < 20)"),
        (lambda: loops.thermostat(HALF), "AG^40 t > 14"),
        (loops.tank, "AG^25 ok & AX^20 AG[1,4] level >= 0"),
        pytest.param(loops.relay, "AG^30 upright", marks=pytest.mark.slow),
        (loops.smooth, "AX^21 AG[0,30] near"),
        (lift, "AG^30 (y <= 0.75 & y >= -0.75)"),
    ],
)
@pytest.mark.usefixtures("cells_alone")
def test_they_are_shown_with_certificate(make: Any, text: str, tmp_path: Path) -> None:
    report = verify(make(), text, timeout=60, mode="cells", certificate=tmp_path / "c.gz")
    assert report.satisfied and report.decided_by == "cells", (report.verdict, report.message)
    check_certificate(tmp_path / "c.gz", make())


@pytest.mark.slow
@pytest.mark.usefixtures("cells_alone")
def test_a_range_that_runs_leave_is_not_kept() -> None:
    """The formula holds of all states that are reached in its steps; in the last one they leave their range."""
    assert verify(lift(30), "AG^32 (y <= 0.75 & y >= -0.75)", timeout=20, mode="cells").satisfied
    assert not verify(lift(30), "AG^39 (y <= 0.75 & y >= -0.75)", timeout=20, mode="cells").satisfied


@pytest.mark.parametrize("text", ["AG^20 EX low", "AF^20 low", "EG^20 warm", "AG^20 warm | AG^30 low", "AX warm"])
@pytest.mark.usefixtures("cells_alone")
def test_other_formulas_are_not_taken(text: str) -> None:
    report = verify(loops.thermostat(), text, timeout=20, mode="cells")
    assert report.verdict is Verdict.UNKNOWN and "does not take it" in report.procedures[0].why


@pytest.mark.parametrize("count", [10, pytest.param(30, marks=pytest.mark.slow)])
@pytest.mark.usefixtures("cells_alone")
def test_random_twins_contradict_no_verdict(count: int, tmp_path: Path) -> None:
    """Also where the box of the twin is smaller than where its runs go."""
    rng, seen = Random(4), Counter[Verdict]()
    for _ in range(count):
        system, graph = twin(rng)
        most = STATES - 1
        if rng.random() < 0.4:
            most = STATES - 2
            system = smaller(graph, most)
        p, q = ([s for s in range(STATES) if rng.random() < 0.85] or [0] for _ in range(2))
        shape = rng.choice(SHAPES)

        def text(name: str, states: list[int]) -> str:
            return "(" + " | ".join(f"({name} >= {s - 0.25} & {name} <= {s + 0.25})" for s in states) + ")"

        numbers = System("numbers")
        numbers.integer("s", 0, most)
        plain = shape.replace("p", text("s", p)).replace("q", text("s", q))
        formula = parse_property(plain, numbers.vocabulary).formula
        inside = evaluate(fixpoints(staying(numbers, ["s"], formula.depth)), graph)
        try:
            asked = shape.replace("p", text("x", p)).replace("q", text("x", q))
            report = verify(system, asked, timeout=10, mode="cells", certificate=tmp_path / "c.gz")
        except ModelError:
            assert 0 not in inside
            continue
        true = 0 in evaluate(fixpoints(formula), graph) & inside
        assert report.satisfied <= true, (shape, p, q, graph, most)
        seen[report.verdict] += 1
        if report.satisfied:
            check_certificate(tmp_path / "c.gz", system)
        if report.verdict is Verdict.UNKNOWN and true:
            seen["missed"] += 1  # type: ignore[index]
    # a search for a certificate in rationals finds the violations
    assert min(seen[Verdict.SATISFIED], seen[Verdict.VIOLATED]) > count // 6 and not seen["missed"], seen  # type: ignore[index]


def smaller(graph: list[list[int]], most: int) -> System:
    """A twin of a graph in a smaller box."""
    system = System("twin")
    x = system.real("x", 0, most)
    for number in range(2):
        value = Fraction(graph[-1][-number]) + 0 * x
        for at in range(STATES - 2, -1, -1):
            value = where(x <= at + HALF, graph[at][-number], value)
        system.branch(f"b{number}", x=value)
    system.initial(x == 0)
    return system


def rows_of(make: Any, text: str, path: Path) -> list[dict[str, Any]]:
    assert verify(make(), text, timeout=60, mode="cells", certificate=path).satisfied
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (loops.thermostat, "AG^21 warm"),
        pytest.param(lambda: loops.thermostat(HALF), "AX^20 AG[0,2] t > 14", marks=pytest.mark.slow),
    ],
)
@pytest.mark.usefixtures("cells_alone")
def test_its_certificate_shows_nothing_else(make: Any, text: str, tmp_path: Path) -> None:
    rng, rows = Random(1), rows_of(make, text, tmp_path / "c.gz")
    assert accepted(rows, make())
    claims: list[dict[str, Any]] = [
        *({"formula": other} for other in ("AG^22 warm", "AG^20 warm", "AG^21 t >= 17", "AG warm", "EF^21 warm")),
        *({"formula": other, "kind": "always"} for other in ("AG warm", "AG t > 14", text)),
        {"inside": False},
        {"chosen": ["w"]},
    ]
    for change in claims:
        mutant = copy.deepcopy(rows)
        mutant[0]["claim"].update(change)
        assert not accepted(mutant, make()), change
    line = stated(rows)
    for place, row in enumerate(line["levels"]):
        if not any(row):
            continue
        mutant = copy.deepcopy(rows)
        stated(mutant)["levels"][place] = [0] * len(row)
        assert not accepted(mutant, make()), place
    for place in range(2, len(rows) - 1, 1 + len(rows) // 40):
        mutant = [row for number, row in enumerate(rows) if number != place]
        mutant[-1] = {**mutant[-1], "lines": len(mutant) - 1}
        assert not accepted(mutant, make()), rows[place]
    for other in ("AG^21 t >= 18", "AX^21 t >= 17", "AX^20 AG[0,2] t >= 17"):
        for _ in range(4):
            mutant = copy.deepcopy(rows)
            wrong = stated(mutant)
            mutant[0]["claim"]["formula"] = wrong["holds"] = other
            if rng.random() < 0.5:
                wrong["levels"] = [[rng.choice((0, 1)) for _ in row] for row in wrong["levels"]]
            wrong["leads"] = [[n for n in row if rng.random() < 0.8] for row in wrong["leads"]]
            assert not accepted(mutant, make()), other


@pytest.mark.usefixtures("cells_alone")
def test_strange_numbers_and_texts_are_refused(tmp_path: Path) -> None:
    """Whatever a file says, it is refused in words."""
    rows = rows_of(loops.thermostat, "AG^21 warm", tmp_path / "c.gz")
    deep = "AX (" * 5000 + "warm" + ")" * 5000
    for change in (
        *({"levels": levels} for levels in ([], [[1]], [[10**30] * 21] * 3, "1", [[-1] * 21])),
        *({"holds": text} for text in ("", "AG^999999999 warm", deep, "AX^20 (", "here", "AG^21 EX warm")),
        *({"first": first} for first in ([10**9], [-1], None)),
        *({"leads": leads} for leads in ([[0] * 10**5], [], [[99999]])),
    ):
        mutant = copy.deepcopy(rows)
        stated(mutant).update(change)
        assert not accepted(mutant, loops.thermostat()), change
    for formula in (deep, "AG^999999999 warm", "AG^100000 warm"):
        mutant = copy.deepcopy(rows)
        mutant[0]["claim"]["formula"] = formula
        assert not accepted(mutant, loops.thermostat()), formula[:50]
