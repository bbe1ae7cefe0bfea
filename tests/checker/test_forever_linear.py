"""Properties of linear time by ones of branching time, on all short words and on random graphs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest

from tests.checker.test_forever_rules import Graph, evaluate
from tests.logic.automata.ltl_cases import random_formula, shapes
from venmas.checker.forever.linear import branching, demanded
from venmas.logic import AX, EX, FALSE, TRUE, And, Atom, Formula, Or, Quantifier, fixpoints, subformulas
from venmas.logic.automata.degeneralise import degeneralised
from venmas.logic.automata.translate import refuting
from venmas.logic.formula import Finally, Globally, Not, Until
from venmas.logic.lassos import Lasso, holds, truth_table
from venmas.logic.linear import Comparison, LinearExpr, Relation
from venmas.logic.ltl_parser import parse_ltl
from venmas.logic.paths import U, X, finally_, globally, leaves
from venmas.model import System
from venmas.model.system.letters import letters_of

pytestmark = pytest.mark.quick
STATES = 4
EVERY, SOME = Quantifier.ALL, Quantifier.EXISTS


def _atom(end: int) -> Atom:
    return Atom(Comparison(LinearExpr.variable("s") - LinearExpr((), Fraction(end)), Relation.GE))


ATOMS = (_atom(1), Atom(Comparison(LinearExpr.variable("s") - LinearExpr((), Fraction(2)), Relation.EQ)))


def _total(rng: Random) -> Graph:
    graph = [[t for t in range(STATES) if rng.random() < 0.3] for _ in range(STATES)]
    return [[*row] or [rng.randrange(STATES)] for row in graph] + [[4]]  # a fifth, which the fixpoints know of


def _stripped(formula: Formula) -> Formula:
    """The formula of linear time without its quantifiers."""
    done: dict[Formula, Formula] = {}
    for node in subformulas(formula):
        parts = [done[child] for child in node.children]
        match node:
            case AX() | EX():
                done[node] = X(parts[0])
            case Finally():
                done[node] = finally_(parts[0])
            case Globally():
                done[node] = globally(parts[0])
            case Until():
                done[node] = U(*parts)
            case And() | Or():
                done[node] = type(node)(tuple(parts))
            case Atom() if node not in ATOMS:
                done[node] = Not(Atom(node.comparison.negated))
            case _:
                done[node] = node
    return done[formula]


def _letter(state: int, atoms: tuple[Formula, ...]) -> frozenset[Formula]:
    return frozenset(a for a in atoms if isinstance(a, Atom) and a.comparison.holds({"s": Fraction(state)}))


def _lassos(graph: Graph, start: int, longest: int = 6) -> Iterator[list[int]]:
    """Runs from a state that end where they were before."""
    stack = [[start]]
    while stack:
        run = stack.pop()
        for after in graph[run[-1]]:
            if after in run:
                yield [*run, after]
            if len(run) < longest:
                stack.append([*run, after])


def _violated(graph: Graph, start: int, formula: Formula) -> bool:
    """Does some run break the formula? By the product with a Büchi automaton, whose loops are searched for."""
    automaton = degeneralised(refuting(formula))
    steps: dict[tuple[int, int], list[tuple[tuple[int, int], bool]]] = {}
    waiting = [(start, 0)]
    while waiting:
        node = waiting.pop()
        if node in steps:
            continue
        true = _letter(node[0], automaton.atoms)
        bits = sum(1 << i for i, atom in enumerate(automaton.atoms) if atom in true)
        steps[node] = [
            ((after, edge.target), edge.marks == automaton.all_marks)
            for edge in automaton.leaving[node[1]]
            if edge.label.meets(bits)
            for after in graph[node[0]]
        ]
        waiting += [after for after, _ in steps[node]]

    def leads(begin: tuple[int, int], end: tuple[int, int]) -> bool:
        seen, rest = {begin}, [begin]
        while rest:
            node = rest.pop()
            if node == end:
                return True
            fresh = [after for after, _ in steps[node] if after not in seen]
            seen.update(fresh)
            rest += fresh
        return False

    return any(marked and leads(after, node) for node, edges in steps.items() for after, marked in edges)


def _formulas(seed: int, count: int) -> Iterator[tuple[Random, Formula]]:
    rng = Random(seed)
    for _ in range(count):
        yield rng, random_formula(rng, rng.randint(2, 8), ATOMS)


def test_words_have_the_formula_where_they_have_the_column() -> None:
    """Without its quantifiers either column says no less than the formula, of all words of up to four letters."""
    weaker = Counter[bool]()
    for _, formula in _formulas(3, 400):
        for quantifier in (EVERY, SOME):
            column = _stripped(branching(formula, quantifier))
            for words in shapes(ATOMS, 4):
                table, other = truth_table(formula, words)[formula][0], truth_table(column, words)[column][0]
                assert not other & ~table, (formula, column)
                weaker[other == table] += 1
    assert weaker[True] > 3000 and weaker[False] > 100


def test_runs_have_the_formula_where_states_have_the_column() -> None:
    """On graphs without deadlocks, against all short lassos and against the product with an automaton."""
    seen = Counter[tuple[Quantifier, bool, bool]]()
    for rng, formula in _formulas(5, 800):
        graph = _total(rng)
        every, some = (evaluate(fixpoints(branching(formula, q)), graph) for q in (EVERY, SOME))
        start = rng.randrange(STATES)
        broken, kept = (_violated(graph, start, one) for one in (formula, Not(formula)))
        atoms = leaves(formula)
        for run in _lassos(graph, start, 5):
            back = run.index(run[-1])
            letters = [_letter(state, atoms) for state in run[:-1]]
            true = holds(formula, Lasso(tuple(letters[:back]), tuple(letters[back:])))
            assert true or broken, "the product misses a run"
            assert true or start not in every, (formula, graph, run)
        assert start not in every or not broken, (formula, graph)
        assert start not in some or kept, (formula, graph)
        seen[EVERY, start in every, not broken] += 1
        seen[SOME, start in some, kept] += 1
    assert seen[EVERY, True, True] > 150 and seen[EVERY, False, False] > 150, seen
    assert seen[SOME, True, True] > 150 and seen[SOME, False, False] > 150, seen
    assert seen[EVERY, False, True] < 0.1 * seen[EVERY, True, True], "it says next to nothing"


EXACT = ["G a", "F a", "X X a", "a U b", "G F a", "G (a -> F b)", "F a | F b", "G F a | G F b", "X b | X !a"]
EXACT += ["G (a -> X (b | F !a))", "G F a & (b | G !a)", "G G F F a", "F G F a", "a <-> X b", "G (a -> b U !a)"]


@pytest.mark.parametrize("text", EXACT)
def test_common_forms_are_exact(text: str) -> None:
    """What people ask most holds of all runs exactly where its column does, so that nothing is lost."""
    system = System("numbers")
    system.integer("s", 0, STATES)
    known = replace(letters_of(system), propositions=dict(zip("ab", ATOMS, strict=True)))
    formula, rng, seen = parse_ltl(text, known), Random(11), set()
    core = fixpoints(branching(formula, EVERY))
    for _ in range(60):
        graph = _total(rng)
        states = evaluate(core, graph)
        for start in range(STATES):
            assert (start in states) is not _violated(graph, start, formula), (graph, start)
            seen.add(start in states)
    assert seen == {True, False}


def test_for_ever_in_the_end_is_weaker_than_its_column() -> None:
    """0 may stay, 1 may not, and 2 is for ever: each run is in p in the end, and none knows when."""
    p, graph = Not(_atom(1)) | _atom(2), [[0, 1], [2], [2], [3], [4]]
    formula = finally_(globally(p))
    assert not _violated(graph, 0, formula)
    assert 0 not in evaluate(fixpoints(branching(formula, EVERY)), graph)
    assert branching(formula, SOME) is not FALSE


def test_branches_are_no_matter_of_states() -> None:
    system = System("one")
    system.integer("s", 0, 4)
    system.branch("go", {"s": 0})
    for text, quantifier in (('G "branch go"', EVERY), ('!F "branch go"', EVERY), ('X "branch go"', SOME)):
        assert branching(parse_ltl(text, letters_of(system)), quantifier) is FALSE
    formula = parse_ltl('F "branch go" | G s >= 1', letters_of(system))
    assert branching(formula, EVERY) == Globally(EVERY, 0, None, _atom(1))


def test_runs_that_go_on_are_demanded() -> None:
    system = System("guarded")
    s = system.integer("s", 0, 4)
    system.branch("up", {s: s + 1}, when=s <= 3)
    formula = parse_ltl("F s >= 1", letters_of(system))
    about, shown = demanded(system, formula)
    assert about is system and Globally(EVERY, 0, None, EX(TRUE)) in shown.children
    about, shown = demanded(system, formula, "stutter")
    assert len(about.branches) == 2 and Globally(EVERY, 0, None, TRUE) in shown.children
    system.branch("stay", {s: s})
    for deadlock in ("error", "stutter"):
        about, shown = demanded(system, formula, deadlock)  # type: ignore[arg-type]
        assert about is system and Globally(EVERY, 0, None, TRUE) in shown.children
    assert demanded(system, parse_ltl('G "branch up"', letters_of(system)))[1] is FALSE


def test_noise_under_which_some_branch_is_open_is_no_reason_to_stay() -> None:
    system = System("gusty")
    x = system.real("x", 0, 4)
    gust = system.disturbance("w", -1, 1)
    system.branch("go", {x: x}, when=x + gust >= 0)
    formula = parse_ltl("F x >= 1", letters_of(system))
    for deadlock in ("error", "stutter"):
        assert demanded(system, formula, deadlock) == (system, FALSE)  # type: ignore[arg-type]
