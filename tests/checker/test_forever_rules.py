"""The rules of derivations on random graphs with deadlocks: what follows from true premises is true.

Premises and conclusions are evaluated as fixpoints over all states, which knows no rules.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from random import Random

import pytest

from tests.corpus.fixpoints import holding
from tests.slow import some_slow
from venmas.checker.forever.later import Later, Resume
from venmas.checker.forever.rules import (
    Arrive,
    Both,
    Cases,
    Chain,
    Close,
    Constant,
    Derived,
    Itself,
    Persist,
    Recur,
    Replace,
    Stay,
    Window,
)
from venmas.checker.forever.sequents import INIT, Scope, Sequent
from venmas.errors import FormulaError
from venmas.logic import (
    Formula,
    disjunction,
    fixpoints,
    parse,
)
from venmas.model import System

pytestmark = pytest.mark.quick
STATES = 5
Graph = list[list[int]]
States = frozenset[int]


def _system() -> System:
    system = System("numbers")
    system.integer("s", 0, STATES - 1)
    return system


def _set(rng: Random, system: System) -> tuple[str, Formula]:
    some = [s for s in range(STATES) if rng.random() < 0.6] or [rng.randrange(STATES)]
    text = " | ".join(f"s == {s}" for s in some)
    return text, parse(text, system.vocabulary)


def _graph(rng: Random) -> Graph:
    return [[t for t in range(STATES) if rng.random() < 0.25] for _ in range(STATES)]


def evaluate(core: Formula, graph: Graph) -> States:
    """The states of a graph that satisfy a core formula."""
    return holding(core, [{"s": Fraction(s), "k": Fraction(s % 2)} for s in range(STATES)], graph)


def _rule(rng: Random, texts: list[str]) -> Derived:
    start, q = rng.choice((INIT, "S")), rng.choice("AE")
    n, t, k = rng.randint(1, 3), rng.randint(0, 3), rng.randint(0, 3)
    b, c = texts[0], rng.choice((texts[1], f"AF^2 ({texts[1]})", f"EF ({texts[1]})", f"EX ({texts[1]})"))
    context = rng.choice(("here", "AG here", "EF here", "AX here", f"({b}) | EX here", f"A(({b}) U here)"))
    match rng.randrange(9):
        case 0:
            return Window((0,), start, context, q, b, c, max(k, n - 1), rng.randint(0, n - 1))
        case 1:
            return Chain((0, 1), start, "S", q, b, c, k)
        case 2:
            return Close((0, 1), start, "S", 0 if start == "S" else t, n, rng.choice((b, f"EF^2 ({b})")))
        case 3:
            return Recur((0, 1, 2), start, "S", 0 if start == "S" else t, n, b, k)
        case 4:
            return Stay((0, 1), start, "S", 0 if start == "S" else t, n, b)
        case 5:
            return Replace((0, 1), start, context, "S", c)
        case 6:
            return Cases((0, 1, 2), start, ("S", "T"), c)
        case 7:
            return Arrive((0, 1), start, "S", c, t)
        case _:
            return Both((0, 1), start, (b, c))


@pytest.mark.parametrize("graphs", [600, pytest.param(12_000, marks=pytest.mark.slow)])
def test_true_premises_have_true_conclusions(graphs: int) -> None:
    rng, system, seen = Random(7), _system(), Counter[str]()
    for _ in range(graphs):
        parts = {name: _set(rng, system) for name in ("init", "S", "T", "b", "c")}
        graph = _graph(rng)
        scope = Scope.of(system, {name: parts[name][1] for name in ("S", "T")})
        stated = _rule(rng, [parts["b"][0], parts["c"][0]])
        states = {name: evaluate(fixpoints(formula), graph) for name, (_, formula) in parts.items()}

        def true(sequent: Sequent, graph: Graph = graph, states: dict[str, States] = states) -> bool:
            return states[sequent.start] <= evaluate(sequent.formula, graph)

        if all(map(true, stated.needs(scope))):
            seen[stated.name] += 1
            assert true(stated.shows(scope)), (stated, graph)
    assert len(seen) == 9 and min(seen.values()) >= graphs // 300, seen


@pytest.mark.parametrize("steps", [0, 1, 3])
def test_what_some_steps_always_lead_to_is_kept_in_the_end(steps: int) -> None:
    rng, system, seen = Random(steps), _system(), Counter[bool]()
    for _ in range(400):
        (_, states), (text, _) = _set(rng, system), _set(rng, system)
        graph, scope = _graph(rng), Scope.of(system, {"S": states})
        rule = Later((0,), "S", steps, rng.choice((text, f"AF^2 ({text})", f"EX ({text})")))
        (need,), shows = rule.needs(scope), rule.shows(scope)
        start = evaluate(fixpoints(states), graph)
        true = start <= evaluate(need.formula, graph)
        seen[true] += 1
        assert not true or start <= evaluate(shows.formula, graph), (rule, graph)
    assert min(seen.values()) > 30, seen


@pytest.mark.parametrize(("entry", "steps"), some_slow([(0, 0), (0, 2), (2, 0), (1, 1), (2, 3)], [0, 3]))
def test_what_holds_until_it_does_for_ever_holds_always(entry: int, steps: int) -> None:
    rng, system, seen = Random(entry + 7 * steps), _system(), Counter[bool]()
    for _ in range(800):
        sets = {name: _set(rng, system)[1] for name in "ST"}
        (text, _), graph = _set(rng, system), _graph(rng)
        scope = Scope.of(system, sets)
        rule = Resume((0, 1, 2), "S", "T", entry, steps, rng.choice((text, f"AF^2 ({text})", f"EX ({text})")))
        states = {name: evaluate(fixpoints(formula), graph) for name, formula in sets.items()}
        needs = rule.needs(scope)
        assert len(needs) == (3 if entry + steps else 2)
        true = all(states[need.start] <= evaluate(need.formula, graph) for need in needs)
        seen[true] += 1
        assert not true or states["S"] <= evaluate(rule.shows(scope).formula, graph), (rule, graph)
    assert min(seen.values()) > 10, seen


def test_runs_that_come_to_states_that_keep_it_have_it_in_the_end() -> None:
    """AF AG p shows A F G p; it is not said by it, as the last graph shows: 0 may stay, and may not."""
    rng, system, seen = Random(2), _system(), Counter[bool]()
    for _ in range(400):
        (_, states), (text, _) = _set(rng, system), _set(rng, system)
        graph, scope = _graph(rng), Scope.of(system, {"S": states})
        rule = Persist((0,), "S", text)
        (need,), shows = rule.needs(scope), rule.shows(scope)
        start = evaluate(fixpoints(states), graph)
        seen[start <= evaluate(need.formula, graph)] += 1
        assert not start <= evaluate(need.formula, graph) or start <= evaluate(shows.formula, graph), (rule, graph)
    assert min(seen.values()) > 40, seen
    rule = Persist((0,), "S", "s != 1")
    scope = Scope.of(system, {"S": parse("s == 0", system.vocabulary)})
    graph = [[0, 1], [2], [2], [], []]
    assert 0 not in evaluate(rule.needs(scope)[0].formula, graph)
    assert 0 in evaluate(rule.shows(scope).formula, graph)


def test_a_set_is_in_itself() -> None:
    scope = Scope.of(_system(), {"S": parse("s == 0 | s == 3", _system().vocabulary)})
    rule = Itself((), "S")
    assert not rule.needs(scope) and rule.shows(scope) == Sequent.of("S", parse("s == 3 | s == 0", scope.vocabulary))
    for name in ("T", INIT):  # what is initial has no formula
        with pytest.raises(FormulaError):
            Itself((), name).shows(scope)


@pytest.mark.slow
def test_what_no_branch_changes_holds_along_runs() -> None:
    """Graphs whose edges keep the parity k of a state."""
    rng, system, seen = Random(3), _system(), Counter[bool]()
    s, _ = system["s"], system.integer("k", 0, 1)
    system.branch("go", s=s)
    contexts = ("AX here", "EF here", "AG here", "s <= 2 | EX here", "A(s <= 3 U here)", "EG here")
    for _ in range(3000):
        graph = [[t for t in after if t % 2 == at % 2] for at, after in enumerate(_graph(rng))]
        scope = Scope.of(system, {"S": _set(rng, system)[1]})
        rule = Constant((0, 1), "S", rng.choice(contexts), _set(rng, system)[0], f"k == {rng.randint(0, 1)}")
        states = evaluate(fixpoints(scope.states("S")), graph)
        if all(states <= evaluate(needed.formula, graph) for needed in rule.needs(scope)):
            seen[True] += 1
            assert states <= evaluate(rule.shows(scope).formula, graph), (rule, graph)
    assert seen[True] > 50
    scope = Scope.of(system, {"S": _set(rng, system)[1]})
    for still in ("s == 1", "k == 1 | s == 0", "AX k == 1", "true U^1 k == 1", "k + s <= 2"):
        with pytest.raises(FormulaError):
            Constant((0, 1), "S", "AX here", "s == 1", still).needs(scope)


def test_tempting_forms_are_not_rules() -> None:
    """AG EF q needs EF[0,k] q along the way, and EG p a step that is made: both fail where they are left out."""
    rng, system, wrong = Random(1), _system(), Counter[str]()
    for _ in range(3000):
        (states, p, q), graph = [_set(rng, system) for _ in range(3)], _graph(rng)
        scope = Scope.of(system, {"S": states[1]})

        def holds(text: str, graph: Graph = graph, scope: Scope = scope) -> bool:
            return evaluate(fixpoints(scope.states("S")), graph) <= evaluate(fixpoints(scope.read(text)), graph)

        if holds(f"AX^2 S & EF^2 ({q[0]})") and not holds(f"AG EF ({q[0]})"):
            wrong["AG EF"] += 1
        if wrong["EG"] < 2 and holds(f"E(({p[0]}) U^2 S)") and not holds(f"EG ({p[0]})"):
            wrong["EG"] += 1
        if min(wrong["AG EF"], wrong["EG"]) > 1:
            break
    assert min(wrong["AG EF"], wrong["EG"]) > 1, wrong


@pytest.mark.parametrize("context", ["!here", "here -> s == 0", "AG !here", "s == 0 <-> here", "!AF here"])
def test_nothing_is_put_in_below_a_negation(context: str) -> None:
    scope = Scope.of(_system(), {"S": disjunction([])})
    with pytest.raises(FormulaError, match="negation"):
        Replace((0, 1), "S", context, "S", "s == 1").needs(scope)
    with pytest.raises(FormulaError, match="negation"):
        Window((0,), "S", context, "A", "true", "s == 1", 2).shows(scope)


@pytest.mark.parametrize("name", ["init", "here", "s"])
def test_sets_have_names_of_their_own(name: str) -> None:
    with pytest.raises(FormulaError, match="taken"):
        Scope.of(_system(), {name: disjunction([])})
