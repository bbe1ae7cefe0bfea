"""The recipe of a CTL operator: weak until, derived in two places, each left out; files that tell nodes apart."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

import venmas
from venmas.errors import FormulaError
from venmas.logic import FiniteModel, Formula, evaluate, parser
from venmas.logic.formula import Not, Quantifier, Until, conjunction
from venmas.logic.grammar import GRAMMAR, tree
from venmas.logic.terms import Truth
from venmas.logic.vocabulary import Vocabulary

pytestmark = pytest.mark.quick

ROOT = Path(venmas.__file__).parent
WEAK = GRAMMAR.replace("UNTIL.2: /U", "UNTIL.2: /[UW]")


class Builder(parser._Builder):
    """With the dual of until."""

    def until(self, args: list[Any]) -> Truth:
        quantifier, left, operator, *rest = args
        if operator == "U":
            return super().until(args)
        bound, right = self._bounded(operator, rest)
        other = Quantifier.EXISTS if quantifier == "A" else Quantifier.ALL
        p, q = Not(self._formula(left)), Not(self._formula(right))
        broken = Until(other, bound.start or 0, bound.end, q, conjunction((p, q)))
        return Truth(self._checked(Not(broken), bound.at), quantifier)


def parsed(text: str) -> Formula:
    return parser.parse(text, Vocabulary(("p", "q")))


def runs(model: FiniteModel, state: int, steps: int) -> Iterator[list[int]]:
    """Whole runs: of so many steps, or to a deadlock."""
    if not steps or not model.successors[state]:
        yield [state]
        return
    for target in model.successors[state]:
        for rest in runs(model, target, steps - 1):
            yield [state, *rest]


def holds(model: FiniteModel, run: list[int]) -> bool:
    """p until q, or p to the end."""
    for state in run:
        if model.valuations[state]["q"]:
            return True
        if not model.valuations[state]["p"]:
            return False
    return True


def test_it_has_its_meaning_once_both_places_know_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parser, "tree", partial(tree, grammar=WEAK))
    monkeypatch.setattr(parser, "_Builder", Builder)
    random, met = Random(1), set()
    for _ in range(100):
        successors = tuple(tuple(random.sample(range(4), random.randrange(3))) for _ in range(4))
        values = tuple({name: Fraction(random.randrange(2)) for name in "pq"} for _ in range(4))
        model = FiniteModel(4, successors, values)
        for k in (1, 3):
            every = evaluate(parsed(f"A(p == 1 W^{k} q == 1)"), model)
            expected = {s for s in range(4) if all(holds(model, run) for run in runs(model, s, k))}
            assert every == expected
            met |= {len(expected), len(parsed("A(p == 1 U^3 q == 1)").children)}
    assert {0, 4} <= met


@pytest.mark.parametrize("step", ["the grammar", "the formula"])
def test_each_step_that_is_left_out_shows(step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if step == "the grammar":
        monkeypatch.setattr(parser, "_Builder", Builder)
        with pytest.raises(FormulaError):
            parsed("A(p == 1 W^3 q == 1)")
    else:
        monkeypatch.setattr(parser, "tree", partial(tree, grammar=WEAK))
        assert str(parsed("A(p == 1 W^3 q == 1)")) == "A(p == 1 U^3 q == 1)"  # not weak: p at all steps is not enough


def test_the_recipe_names_every_place_that_tells_operators_of_time_apart() -> None:
    page = (ROOT.parent / "docs" / "recipes.md").read_text(encoding="utf-8")
    recipe = page.split("## A CTL operator")[1].split("\n## ")[0]
    tells = re.compile(r"(case .*|isinstance\(.*|class )\b(Finally|Globally|Until)\b")
    there = {f.relative_to(ROOT).as_posix() for f in ROOT.rglob("*.py") if tells.search(f.read_text(encoding="utf-8"))}
    told = set(re.findall(r"`(\w[\w/]+\.py)`", recipe))
    assert there <= told
    others = {"logic/grammar.py", "logic/parser.py", "logic/unroll.py", "cli/help_command.py", "testing/formulas.py"}
    others |= {"logic/messages.py", "model/system/declarations.py", "formats/jani/names.py"}
    assert told - there - others == {"tests/logic/test_new_ctl_operator.py"}
    assert all((ROOT / path).is_file() for path in told if not path.startswith("tests/"))
