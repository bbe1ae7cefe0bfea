"""Bounded formulas about single runs, step by step: the same states as of the formula and of runs that stay inside."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from tests.checker.test_forever_rules import STATES, _graph, evaluate
from venmas.checker.forever.along import along_runs
from venmas.errors import FormulaError
from venmas.logic import fixpoints, parse_property
from venmas.logic.window import window
from venmas.model import System
from venmas.question import staying

pytestmark = pytest.mark.quick
SHAPES = (
    *("p", "AX p", "AG^3 p", "AX^2 AG[0,2] p", "AG[1,3] p & AX q", "AG^2 AX^2 p & AG^2 q", "p & AX (q & AX (p | q))"),
    *("AX AX true", "AG^2 (p -> q) & AX^3 true", "!EF^2 !p", "!EX (!p | EX !q)", "AG^2 AG^2 (p & AX q)"),
)
OTHERS = ("EX p", "AF^2 p", "AG^2 p | AG^2 q", "AG^2 (p | AX q)", "A(p U^2 q)", "AG^2 EX p")


def _box(least: int, most: int) -> System:
    system = System("numbers")
    system.integer("s", least, most)
    return system


def test_it_says_the_formula_and_that_runs_stay_inside() -> None:
    rng, seen = Random(2), Counter[bool]()
    for _ in range(600):
        graph, least = _graph(rng), rng.choice((0, 0, 1))
        most = rng.choice((STATES - 1, STATES - 1, STATES - 2))
        system = _box(least, most)
        p, q = (" | ".join(f"s == {s}" for s in range(STATES) if s in (0, 3) or rng.random() < 0.7) for _ in range(2))
        text = rng.choice(SHAPES).replace("true", "s >= 0").replace("p", f"({p})").replace("q", f"({q})")
        formula = parse_property(text, _box(0, STATES - 1).vocabulary).formula
        if not formula.depth:  # a claim that runs stay is about one step at least
            with pytest.raises(FormulaError, match="of 1 to"):
                along_runs(system, formula)
            continue
        holds = evaluate(fixpoints(formula), graph) & evaluate(fixpoints(staying(system, ["s"], formula.depth)), graph)
        assert evaluate(along_runs(system, formula), graph) == holds, (text, graph, least, most)
        seen[bool(holds) and len(holds) < STATES] += 1
    assert min(seen.values()) > 100, seen


def test_a_state_beside_the_box_is_no_successor_at_any_step() -> None:
    system, graph = _box(0, 3), [[1], [2], [3], [4], [4]]
    for depth in range(1, 6):
        formula = parse_property(f"AX^{depth} s >= 0", system.vocabulary).formula
        assert (0 in evaluate(along_runs(system, formula), graph)) is (depth <= 3)


@pytest.mark.parametrize("text", OTHERS)
def test_other_formulas_are_refused(text: str) -> None:
    text = text.replace("p", "s >= 2").replace("q", "s <= 3")
    formula = parse_property(text, _box(0, 4).vocabulary).formula
    with pytest.raises(FormulaError, match="conjunctions"):
        along_runs(_box(0, 4), formula)


@pytest.mark.parametrize("holds", ["p", "!(p & !q)", "p <-> !(q -> p)", "true", "!(!p | (q -> false))"])
@pytest.mark.parametrize("ahead", ["AX^20 ({})", "AG^20 ({})", "AX^3 AG[2,20] ({})", "AG[3,20] ({})"])
def test_windows_are_of_that_form(ahead: str, holds: str) -> None:
    """Procedures take them for cells by their window alone."""
    text = ahead.format(holds).replace("true", "s >= 0").replace("false", "s < 0")
    text = text.replace("p", "(s >= 2 | s == 1)").replace("q", "s <= 3")
    asked = parse_property(text, _box(0, 4).vocabulary)
    assert window(asked) is not None
    assert along_runs(_box(0, 4), asked.formula).depth == asked.formula.depth
