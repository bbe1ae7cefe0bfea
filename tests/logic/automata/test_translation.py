"""Automata of formulas against the meaning of formulas on lassos, by brute force; their sizes."""

from __future__ import annotations

import json
import pickle
import random
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.logic.automata.ltl_cases import A, B, C, random_formula, random_formulas, shapes
from venmas.errors import AutomatonError, FormulaError
from venmas.logic import Formula
from venmas.logic.automata import (
    Automaton,
    Edge,
    Label,
    accepted,
    accepts,
    automaton_of,
    components,
    degeneralised,
    refuting,
)
from venmas.logic.automata.effort import Effort
from venmas.logic.automata.label import TRUE, cover, covered
from venmas.logic.automata.rewrite import core
from venmas.logic.automata.tableau import cubes, tableau
from venmas.logic.lassos import Lasso, satisfying
from venmas.logic.ltl_parser import parse_ltl
from venmas.logic.paths import Leaf, leaves


def differences(formulas: Iterable[Formula], longest: int, atoms: tuple[Leaf, ...] = (A, B)) -> list[str]:
    """Formulas whose automaton, or that of the negation, accepts other words of at most so many letters."""
    found = []
    for formula in formulas:
        plain, negated = automaton_of(formula), refuting(formula)
        for words in shapes(atoms, longest):
            meant = satisfying(formula, words)
            if accepted(plain, words) != meant or accepted(negated, words) != words.every & ~meant:
                found.append(str(formula))
                break
    return found


def test_automata_accept_what_their_formulas_mean() -> None:
    assert differences(random_formulas(1, 400), 4) == []


def test_automata_of_larger_formulas() -> None:
    draw = random.Random(2)
    assert differences((random_formula(draw, draw.randint(9, 25)) for _ in range(120)), 3) == []
    assert differences((random_formula(draw, draw.randint(3, 12), (A, B, C)) for _ in range(100)), 3, (A, B, C)) == []


@pytest.mark.slow
def test_automata_of_5000_formulas() -> None:
    assert differences(random_formulas(7, 5000), 5) == []


def test_every_step_keeps_the_language() -> None:
    for formula in random_formulas(5, 200, largest=12):
        small = core(formula)
        raw, whole = tableau(small, Effort()), automaton_of(formula)
        one = degeneralised(whole)
        assert one.marks <= 1
        for words in shapes((A, B), 3):
            meant = satisfying(formula, words)
            assert satisfying(small, words) == meant
            assert accepted(raw, words) == accepted(whole, words) == accepted(one, words) == meant
        assert whole.states <= raw.states


SIZES = [
    ("FG a -> GF b", 2, 3),
    ("FG a -> GF (b & X !b)", 3, 6),
    ("FG a -> GF b & GF c", 3, 5),
    ("GF a & GF b", 3, 5),
    ("GF a & GF b & GF c & GF d", 5, 9),
    ("G (a -> F b)", 2, 3),
    ("GF a -> GF b", 2, 4),
    ("!(a U b)", 2, 3),
    ("true", 1, 0),
    ("false", 1, 1),
]


@pytest.mark.parametrize(("text", "states", "edges"), SIZES)
def test_sizes_of_negated_properties(text: str, states: int, edges: int) -> None:
    automaton = refuting(parse_ltl(text))
    assert automaton.states <= states
    assert len(automaton.edges) <= edges


def test_fairness_is_acceptance() -> None:
    fair = refuting(parse_ltl("F goal"), [parse_ltl("wind")])
    goal, wind = parse_ltl("goal"), parse_ltl("wind")
    assert fair.states == 1 and fair.marks == 1
    assert accepts(fair, Lasso((), ({wind}, ())))
    assert not accepts(fair, Lasso(({wind},), ((),)))
    assert not accepts(fair, Lasso(({wind, goal},), ({wind},)))


def test_equal_and_opposite_comparisons_are_one_atom() -> None:
    automaton = automaton_of(parse_ltl("F (2*x < 4) & G !(x >= 2 & y != 1) | G (y == 1 & 4 <= 2*x)"))
    assert sorted(map(str, automaton.atoms)) == ["x < 2", "y == 1"]
    assert automaton_of(parse_ltl("F (x > 3 & x <= 3)")).edges == ()


def test_components_have_least_acceptance_sets() -> None:
    (component,) = components(automaton_of(parse_ltl("GF a & GF b")))
    assert len(component.sets) == 2 and all(len(edges) < len(component.edges) for edges in component.sets)
    (component,) = components(automaton_of(parse_ltl("FG a")))
    assert component.sets == (frozenset(component.edges),)
    loop = [Edge(0, TRUE, 0, 0), Edge(0, TRUE, 1, 3), Edge(1, TRUE, 1, 1), Edge(1, TRUE, 2, 2), Edge(2, TRUE, 1, 0)]
    (component,) = components(Automaton((), 3, 2, tuple(loop)))
    assert component.states == {1, 2}
    assert sorted(map(sorted, component.sets)) == [[loop[2]], [loop[3]]]


def test_translation_is_the_same_everywhere() -> None:
    formula = parse_ltl("FG !rst -> GF (sig & X !sig) & GF (state == 2)")
    assert refuting(formula) == refuting(pickle.loads(pickle.dumps(formula)))
    assert pickle.loads(pickle.dumps(refuting(formula))) == refuting(formula)


def test_labels_by_brute_force() -> None:
    draw = random.Random(4)
    effort = Effort()
    for _ in range(200):
        cares = [draw.randrange(16) for _ in range(draw.randint(0, 5))]
        labels = [Label(care, draw.randrange(16) & care) for care in cares]
        met = {letter for letter in range(16) if any(label.meets(letter) for label in labels)}
        care = draw.randrange(16)
        label = Label(care, draw.randrange(16) & care)
        assert covered(label, labels, effort) is all(n in met for n in range(16) if label.meets(n))
        found = cover(labels, effort)
        assert {letter for letter in range(16) if any(label.meets(letter) for label in found)} == met
        assert len(found) <= len(set(labels))


def test_automata_that_are_none_are_refused() -> None:
    with pytest.raises(AutomatonError, match="no edge between 1 states"):
        Automaton((), 1, 0, (Edge(0, TRUE, 1, 0),))
    with pytest.raises(AutomatonError, match="one state or more"):
        Automaton((), 0, 0, ())
    with pytest.raises(AutomatonError, match="each atom once"):
        Automaton((A, A), 1, 0, ())
    with pytest.raises(FormulaError, match="takes more than 10 steps"):
        tableau(core(parse_ltl("a U b & c U d & e U f")), Effort(10))


def handwritten(accepting: list[int], rows: list[tuple[int, int, str]]) -> Automaton:
    """An automaton of the data; an accepting state is a mark on the edges that leave it."""
    conditions = [core(parse_ltl(label)) for *_, label in rows]
    atoms = tuple(dict.fromkeys(leaf for condition in conditions for leaf in leaves(condition)))
    edges = []
    for (source, target, _), condition in zip(rows, conditions, strict=True):
        (label,) = cubes(condition, atoms, Effort())
        edges.append(Edge(source, label, target, int(source in accepting)))
    return Automaton(atoms, 1 + max(edge.target for edge in edges), 1, tuple(edges))


def test_automata_of_the_published_properties(data_dir: Path) -> None:
    data = json.loads((data_dir / "ltl" / "automata24.json").read_text())
    lines = (data_dir / "ltl" / "properties24.csv").read_text().splitlines()[1:]
    properties = {line.split(",")[0]: line.split(",", 4)[4].rsplit(",", 1)[0] for line in lines}
    single = data["single"]["correct"]
    cases = {
        name: {**single, "edges": [[p, q, text.replace("bad", data["bad"][name])] for p, q, text in single["edges"]]}
        for name in data["single"]["for"]
    }
    for names in ("delay_b,gray_b", "gray_c", "seven_seg_b"):
        cases |= dict.fromkeys(names.split(","), data[names]["correct"])
    assert sorted(cases) == sorted(properties)
    for name, described in cases.items():
        by_hand = handwritten(described["accepting"], described["edges"])
        ours = refuting(parse_ltl(properties[name]))
        assert ours.states <= by_hand.states
        atoms = tuple(dict.fromkeys((*ours.atoms, *by_hand.atoms)))
        for words in shapes(atoms, 4 if len(atoms) < 3 else 3):
            assert accepted(ours, words) == accepted(by_hand, words), name
