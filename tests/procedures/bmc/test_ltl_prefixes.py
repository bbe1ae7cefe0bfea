"""Runs that break a property whatever comes after them: against all lassos, and of circuits whose loops are long."""

from __future__ import annotations

from tests.needs import needs

needs("jsonschema")

import json
import random
from itertools import product
from pathlib import Path

from jsonschema import Draft202012Validator

from tests.logic.automata.ltl_cases import A, B, random_formula, shapes
from venmas import verify
from venmas.budget import Budget
from venmas.formats.btor2.reader import parse_btor2
from venmas.formats.vcd import to_vcd
from venmas.logic.automata.translate import refuting
from venmas.logic.lassos import doomed, satisfying
from venmas.logic.ltl_parser import parse_ltl
from venmas.logic.paths import questioned
from venmas.model.circuit.nodes import Circuit
from venmas.model.witness.circuit import Observed
from venmas.procedures.bmc.procedure import Search
from venmas.report.page import Checks, Source, html_page

SCHEMA = Draft202012Validator(
    json.loads((Path(__file__).resolve().parents[3] / "docs" / "result.schema.json").read_text())
)
COUNTER = """
1 sort bitvec 1
2 sort bitvec 20
3 input 1 stop
4 state 2 n
5 one 2
6 zero 2
7 add 2 4 5
8 next 2 4 7
9 init 2 4 6
10 constd 2 3
11 ult 1 4 10
"""


def counter(more: str = "") -> Circuit:
    return parse_btor2(COUNTER + more)


def test_no_word_with_a_doomed_beginning_has_the_property() -> None:
    draw, found, words = random.Random(0), 0, [one for one in shapes((A, B), 4) if one.length >= 2]
    letters = [(), (A,), (B,), (A, B)]
    for _ in range(150):
        formula = random_formula(draw, draw.randint(1, 8))
        having = [satisfying(formula, one) for one in words]
        for begin in product(letters, repeat=2):
            if doomed(formula, begin):
                found += 1
                for one, good in zip(words, having, strict=True):
                    for at, letter in enumerate(begin):
                        for atom in (A, B):
                            good &= one.truth[atom][at] if atom in letter else ~one.truth[atom][at]
                    assert not good
    assert found > 300


def test_what_is_seen_and_what_is_not() -> None:
    for text, begin, expected in (
        ("X G a", [(), (A,), ()], True),
        ("X G a", [(), (A,), (A,)], False),
        ("F a", [()] * 9, False),
        ("a U b", [(A,), ()], True),
        ("a U b", [(A,), (A,)], False),
        ("G F a & G b", [(B,), ()], True),
        ("!(F a)", [(A,)], True),
        ("a <-> X b", [(A,), ()], True),
        ("a <-> X b", [(A,)], False),
        ("false", [()], True),
    ):
        assert doomed(parse_ltl(text), begin) is expected, text


def test_a_long_counter_is_refuted_by_its_first_steps() -> None:
    report = verify(counter(), "G F n == 5 & G (n == 1 -> X n != 2)")
    assert report.violated and report.lasso is not None
    assert report.lasso.back is None and [one["n"] for one in report.lasso.states][:3] == [0, 1, 2]
    SCHEMA.validate(report.to_json())
    assert "is broken, whatever comes" in html_page(report, report.circuit, Source("r.json"), Checks())
    assert "broken whatever comes" in to_vcd(report.lasso)
    deep = verify(counter(), "X G n != 40")
    assert deep.lasso is not None and deep.lasso.back is None and len(deep.lasso.states) > 40


def test_where_letters_are_constrained_a_run_may_have_no_next_step() -> None:
    """Below 3 for ever: no run is, so every property holds, `G n != 2`, too."""
    dying = counter("12 constraint 11\n")
    answer = verify(dying, "G n != 2", timeout=20)
    assert not answer.violated
    assert Observed(dying, parse_ltl("G n != 2")).replay([0], [[]] * 3, None) is None
    assert Observed(counter(), parse_ltl("G n != 2")).replay([0], [[]] * 3, None) is not None


def test_only_what_breaks_it_is_replayed() -> None:
    formula = parse_ltl("G n != 2")
    observed = Observed(counter(), formula)
    assert observed.replay([0], [[]] * 2, None) is None  # not yet
    assert observed.replay([2], [[]], None) is None  # not initial
    fair = questioned(formula, [parse_ltl("n == 7")])
    search = Search(counter(), fair, refuting(fair))
    assert search.advance(4, Budget(20)) is None and search.broken(Budget(20)) is None  # is n 7 again?
