"""The rule of cells on random graphs with deadlocks: what follows from true premises is true, and true levels follow.

Premises and conclusions are evaluated as fixpoints over all states, which knows no rules.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from tests.checker.test_forever_rules import STATES, Graph, _graph, _system, evaluate
from venmas.checker.forever.cells import Cells, Settled
from venmas.checker.forever.sequents import INIT, Scope, Sequent
from venmas.checker.levels.labels import ahead
from venmas.errors import FormulaError
from venmas.logic import CoBuchi, Fixpoint, Formula, Quantifier, parse, parse_property
from venmas.model import System

pytestmark = pytest.mark.quick
SHAPES = (
    *("AF q", "EF q", "AG p", "EG p", "A(p U q)", "E(p U q)", "!A(p U q)", "!E(p U q)", "AX EX q"),
    *("AG AF q", "AG EF q", "EG EF q", "AF AG p", "EF AG p", "AF EG p", "EF EG p", "AG (q -> AF p)", "AG A(p U q)"),
    *("AG^3 p", "AX^2 AG[0,2] p & AG^2 q", "AG^2 (p | AX q)", "AX (p & EX (q & AX p))", "EG^2 p | AX^3 q"),
    *("EG AF q", "AF (AX p & EX q)", "E(EX p U AG q) | AF q", "EX p & AG (EX true)", "!AF (p & !EG q)"),
)


def _text(states: frozenset[int]) -> str:
    return " | ".join(f"s == {s}" for s in sorted(states)) or "s > 9"


def _levels(core: Formula, graph: Graph) -> list[list[int]]:
    """True levels of singletons: the rounds of least fixpoints."""
    table = []
    for part in ahead(core):
        held, row = evaluate(part, graph), [0] * STATES
        if isinstance(part, Fixpoint) and part.least:
            left, right = evaluate(part.left, graph), evaluate(part.right, graph)
            every = all if part.quantifier is Quantifier.ALL else any
            inside: set[int] = set()
            for level in range(1, STATES + 2):
                new = {
                    s
                    for s in range(STATES)
                    if s not in inside and (s in right or (s in left and every(t in inside for t in graph[s])))
                }
                for s in new:
                    row[s] = level
                inside |= new
            assert inside == held
        else:
            row = [int(s in held) for s in range(STATES)]
        table.append(row)
    return [[row[s] for row in table] for s in range(STATES)]


def _stated(rng: Random, system: System) -> tuple[Cells, Graph, frozenset[int]]:
    """The line that is true of a graph, with a cell a state."""
    graph = _graph(rng)
    p, q = (frozenset(s for s in range(STATES) if rng.random() < 0.6) for _ in range(2))
    text = rng.choice(SHAPES).replace("true", "s >= 0")
    shape = text.replace("p", f"({_text(p)})").replace("q", f"({_text(q)})")
    core = Sequent.of(INIT, parse_property(shape, system.vocabulary).formula).formula
    levels, cells = _levels(core, graph), range(STATES)
    leads = tuple(tuple(graph[s]) for s in cells)
    by, names = tuple(range(STATES + 1)), tuple(f"C{s}" for s in cells)
    return Cells(by, INIT, shape, names, tuple(map(tuple, levels)), leads, tuple(cells)), graph, evaluate(core, graph)


def _true(sequent: Sequent, graph: Graph, states: dict[str, frozenset[int]]) -> bool:
    return states[sequent.start] <= evaluate(sequent.formula, graph)


@pytest.mark.parametrize("graphs", [170, pytest.param(4000, marks=pytest.mark.slow)])
def test_true_levels_show_what_holds_and_no_levels_more(graphs: int) -> None:
    rng, system, seen = Random(3), _system(), Counter[str]()
    for _ in range(graphs):
        stated, graph, held = _stated(rng, system)
        states = {f"C{s}": frozenset({s}) for s in range(STATES)}
        # some cells are wider, some lead elsewhere, some have other levels: what is shown has to be true all the same
        wide = {n: s | {rng.randrange(STATES)} if rng.random() < 0.1 else s for n, s in states.items()}
        levels = tuple(tuple(n if rng.random() > 0.1 else rng.randint(0, 3) for n in row) for row in stated.levels)
        leads = tuple(tuple(n for n in row if rng.random() > 0.03) for row in stated.leads)
        starts = frozenset(rng.sample(range(STATES), rng.randint(1, 2)))
        for kind, line, cells in (
            ("true", stated, states),
            ("wide", stated, wide),
            ("levels", replace(stated, levels=levels), states),
            ("leads", replace(stated, leads=leads), states),
        ):
            scope = Scope.of(system, {n: parse(_text(s), system.vocabulary) for n, s in cells.items()})
            known = {**cells, INIT: held or starts if kind == "true" else starts}
            shown = all(_true(need, graph, known) for need in line.needs(scope))
            if kind == "true" and held:
                assert shown, (line, graph)
            seen[kind, shown] += 1  # type: ignore[index]
            if shown:
                assert _true(line.shows(scope), graph, known), (kind, line, graph)
    assert len(seen) == 8 and min(seen.values()) > graphs // 40, seen


def _settled_levels(graph: Graph, held: frozenset[int]) -> list[int]:
    """Levels of A F G: the most states without it on the way to the end, plus one; 0 where there may be ever more."""
    levels = [0] * STATES
    for level in range(1, STATES + 2):
        low = {s for s in range(STATES) if levels[s]}
        lower = {s for s in range(STATES) if all(t in low for t in graph[s])}
        inside = {s for s in range(STATES) if s not in low and (s in lower or s in held)}
        while True:
            left = {s for s in inside if s not in lower and any(t not in inside | low for t in graph[s])}
            if not left:
                break
            inside -= left
        for s in inside:
            levels[s] = level
    return levels


@pytest.mark.parametrize("graphs", [170, pytest.param(4000, marks=pytest.mark.slow)])
def test_runs_settle_where_levels_fall(graphs: int) -> None:
    """A F G p by levels: true ones show it wherever it holds, and others show nothing that is false."""
    rng, system, seen = Random(5), _system(), Counter[tuple[str, bool]]()
    for _ in range(graphs):
        graph, p = _graph(rng), frozenset(s for s in range(STATES) if rng.random() < 0.6)
        core = CoBuchi(parse(_text(p), system.vocabulary))
        held, cells = evaluate(core, graph), range(STATES)
        true = _settled_levels(graph, p)
        assert {s for s in cells if true[s]} == held
        states = {f"C{s}": frozenset({s}) for s in cells}
        wide = {n: s | {rng.randrange(STATES)} if rng.random() < 0.1 else s for n, s in states.items()}
        other = [n if rng.random() > 0.1 else rng.randint(0, 3) for n in true]
        starts = frozenset(rng.sample(range(STATES), rng.randint(1, 2)))
        leads = tuple(tuple(graph[s]) for s in cells)
        for kind, levels, names, start in (
            ("true", true, states, held or starts),
            ("wide", true, wide, starts),
            ("levels", other, states, starts),
        ):
            rows = tuple((n,) for n in levels)
            line = Settled(tuple(range(STATES + 1)), INIT, _text(p), tuple(names), rows, leads, tuple(cells))
            scope = Scope.of(system, {n: parse(_text(s), system.vocabulary) for n, s in names.items()})
            known = {**names, INIT: start}
            shown = all(_true(need, graph, known) for need in line.needs(scope))
            assert shown or kind != "true" or not held, (line, graph)
            seen[kind, shown] += 1
            if shown:
                assert _true(line.shows(scope), graph, known), (kind, line, graph)
    assert len(seen) == 6 and min(seen.values()) > graphs // 40, seen


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"levels": ((1,),)}, "levels"),
        ({"levels": ((1, 1), (1, 1))}, "levels"),
        ({"leads": ((0,),)}, "where steps lead"),
        ({"leads": ((0,), (2,))}, "numbered"),
        ({"first": (7,)}, "numbered"),
        ({"sets": ("C0", "C9")}, "C9"),
        ({"sets": ("C0", INIT)}, INIT),
    ],
)
def test_what_is_no_graph_is_refused(change: dict[str, object], problem: str) -> None:
    system = _system()
    scope = Scope.of(system, {n: parse(f"s == {n[1]}", system.vocabulary) for n in ("C0", "C1")})
    line = Cells((0, 1, 2), INIT, "AF s == 0", ("C0", "C1"), ((1,), (2,)), ((), (0,)), (0, 1))
    assert len(line.needs(scope)) == 3
    with pytest.raises(FormulaError, match=problem):
        replace(line, **change).needs(scope)  # type: ignore[arg-type]


def test_a_level_falls_along_every_step() -> None:
    """Cells that lead to each other with one level show nothing: the premises are false of a loop."""
    system = _system()
    scope = Scope.of(system, {n: parse(f"s == {n[1]}", system.vocabulary) for n in ("C0", "C1")})
    loop: Graph = [[1], [0], [], [], []]
    states = {"C0": frozenset({0}), "C1": frozenset({1}), INIT: frozenset({0})}
    for levels in (((1,), (1,)), ((1,), (2,)), ((2,), (1,)), ((3,), (2,))):
        for quantifier in "AE":
            line = Cells((0, 1, 2), INIT, f"{quantifier}F s == 2", ("C0", "C1"), levels, ((1,), (0,)), (0,))
            assert not all(_true(need, loop, states) for need in line.needs(scope))


def test_ends_of_runs_are_no_successors() -> None:
    system = _system()
    scope = Scope.of(system, {"C0": parse("s == 0", system.vocabulary)})
    states, ended = {"C0": frozenset({0}), INIT: frozenset({0})}, [[], [], [], [], []]
    for text, holds in (("AF s == 2", True), ("EF s == 2", False), ("EG s == 0", False), ("AG s == 0", True)):
        line = Cells((0, 1), INIT, text, ("C0",), ((1,),), ((0,),), (0,))
        assert all(_true(need, ended, states) for need in line.needs(scope)) is holds, text
