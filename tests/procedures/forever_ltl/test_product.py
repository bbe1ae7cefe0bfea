"""LTL by the product with an automaton: fairness and branches over the reals, its certificates, and their mutants."""

from __future__ import annotations

import copy
import gzip
import json
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.checker.test_forever_mutants import accepted
from tests.corpus.spec import build
from tests.procedures.forever import loops
from tests.soundness.ltl_systems import random_question, read
from venmas import System, verify
from venmas.checker.forever.product import product
from venmas.checker.forever.rules import settled
from venmas.checker.levels.check import Runs
from venmas.checker.netlists.simulation import Edge
from venmas.logic import Atom, Deadlock, parse
from venmas.logic.automata.translate import refuting
from venmas.logic.lassos import Lasso, holds
from venmas.logic.paths import Leaf, leaves
from venmas.logic.printing import to_text
from venmas.model import where
from venmas.model.evaluation.simulate import Exact
from venmas.model.system.letters import branch_name

Rows = list[dict[str, Any]]
LIFT = ['"branch up" | "branch top"']


def stairs(more: bool = False) -> System:
    """Climbs by one, or stays; up to the top. more: may fall from the top."""
    system = System("stairs")
    x = system.real("x", 0, 6)
    system.initial(x <= 1)
    system.branch("up", when=x <= 5, x=x + 1)
    system.branch("top", when=x > 5, x=x)
    system.branch("stay", x=x)
    if more:
        system.branch("fall", when=x > 5, x=x - 5)
    return system


def windy() -> System:
    """Climbs by what the wind lets it, or stays; a name of the product is taken."""
    system = System("windy")
    x, w, one = system.real("x", 0, 6), system.disturbance("w", "-0.25", "0.25"), system.disturbance("state", 1, 1)
    system.initial(x <= 1)
    system.branch("up", x=where(x <= 4, x + w + one, x))
    system.branch("stay", x=x)
    return system


@pytest.mark.parametrize(
    ("make", "text", "fair", "deadlock", "verdict"),
    [
        pytest.param(stairs, "F x >= 3", LIFT, "error", "satisfied", marks=pytest.mark.slow),
        pytest.param(stairs, "F G x >= 3", LIFT, "error", "satisfied", marks=pytest.mark.slow),
        pytest.param(stairs, "F x >= 3", ['"branch up"'], "error", "satisfied", marks=pytest.mark.slow),
        (stairs, "F x >= 3", [], "error", "violated"),
        (stairs, "F x > 5", ['"branch stay"'], "error", "violated"),
        pytest.param(lambda: stairs(True), "G F x >= 4", LIFT, "error", "satisfied", marks=pytest.mark.slow),
        (lambda: stairs(True), "F G x >= 4", LIFT, "error", "violated"),
        pytest.param(stairs, 'G F "branch up" -> F x > 5', [], "error", "satisfied", marks=pytest.mark.slow),
        (stairs, 'F G "branch up"', [], "error", "violated"),
        (windy, "F x >= 3", ['"branch up"'], "error", "satisfied"),
        (loops.thermostat, "F low", ["t <= 18"], "error", "satisfied"),
        (loops.smooth, "F G near", ["true"], "error", "satisfied"),
    ],
)
def test_fair_runs_and_branches_over_the_reals(
    make: Any, text: str, fair: Sequence[str], deadlock: Deadlock, verdict: str, tmp_path: Path
) -> None:
    path = tmp_path / "c.gz"
    report = verify(make(), text, fair=fair, deadlock=deadlock, timeout=120, certificate=path)
    assert report.verdict == verdict
    if report.satisfied:
        assert accepted(_rows(path), make())
    else:
        assert report.lasso is not None


def test_what_is_shown_of_a_product_is_told() -> None:
    assert "A F G (x >= 3)" in str(settled("S", parse("x >= 3", stairs().vocabulary)))


def test_the_product_accepts_the_runs_that_break_a_property() -> None:
    """Random systems of integers, runs that repeat: one of the product beside is accepted iff the formula fails."""
    rng, seen = Random(3), {True: 0, False: 0}
    for seed in range(60):
        spec, formula, _, _ = random_question(seed)
        system = build(spec)
        formula = read(system, to_text(formula))
        automaton = refuting(formula)
        if not automaton.edges:
            continue
        edges = [Edge(e.source, e.label.care, e.label.value, e.target, e.marks) for e in automaton.edges]
        runs = Runs(automaton.states, automaton.marks, list(automaton.atoms), edges)
        made, _ = product(system, runs)
        for _ in range(5):
            run = _lasso(system, rng)
            if run is None:
                continue
            letters, at = _letters(system, run, leaves(formula)), run[1]
            breaks = not holds(formula, Lasso(tuple(letters[:at]), tuple(letters[at:])))
            assert _accepted(made, system, automaton.marks, run) is breaks, (seed, formula)
            seen[breaks] += 1
    assert min(seen.values()) > 20, seen


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Rows:
    path = tmp_path_factory.mktemp("product") / "c.gz"
    assert verify(stairs(), "F x >= 3", fair=LIFT, timeout=120, certificate=path).satisfied
    return _rows(path)


@pytest.mark.slow
def test_what_is_not_shown_is_refused(stored: Rows) -> None:
    assert accepted(stored, stairs())
    assert not accepted(stored, stairs(True))
    for changed in ({"fair": []}, {"fair": ['"branch stay"']}, {"formula": "F x > 5.5"}, {"formula": "F x < 0"}):
        mutant = copy.deepcopy(stored)
        mutant[0]["claim"] |= changed
        assert not accepted(mutant, stairs()), changed
    (at,) = (i for i, row in enumerate(stored) if row.get("rule") == "automaton")
    for index in range(len(stored[at]["edges"])):
        mutant = copy.deepcopy(stored)
        del mutant[at]["edges"][index]
        assert not accepted(mutant, stairs()), index
    ends = [i for i, row in enumerate(stored) if row.get("rule") == "end"]
    without = [*stored[: at + 1], *stored[-1:]]
    assert not accepted(without, stairs()) and len(ends) > 2


@pytest.mark.parametrize("count", [4, pytest.param(12, marks=pytest.mark.slow)])
def test_levels_that_do_not_fall_are_refused(stored: Rows, count: int) -> None:
    (at,) = (i for i, row in enumerate(stored) if row.get("rule") == "settled")
    rng, rows = Random(1), stored[at]
    for _ in range(count):
        cell = rng.randrange(len(rows["levels"]))
        others = sorted({row[0] for row in rows["levels"]} - {0})
        level = rng.choice([n for n in (0, *others) if n < rows["levels"][cell][0]])
        mutant = copy.deepcopy(stored)
        mutant[at]["levels"][cell] = [level]
        assert not accepted(mutant, stairs()), (cell, level)
    for changed in ({"holds": "true"}, {"first": []}, {"leads": [[] for _ in rows["leads"]]}):
        mutant = copy.deepcopy(stored)
        mutant[at] |= changed
        assert not accepted(mutant, stairs()), changed


def _rows(path: Path) -> Rows:
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]


_Run = tuple[list[tuple[dict[str, Fraction], int]], int]
"""States, each with the branch taken there, and where the loop begins."""


def _lasso(system: System, rng: Random) -> _Run | None:
    """A run that repeats, by random steps from a random initial state."""
    names = list(system.variables)
    ranges = [range(int(d.lower), int(d.upper) + 1) for d in system.variables.values()]
    for _ in range(200):
        state = {n: Fraction(rng.choice(r)) for n, r in zip(names, ranges, strict=True)}
        if any(all(part.holds(state) for part in region) for region in system.regions):
            break
    else:
        return None
    met: list[tuple[dict[str, Fraction], int]] = []
    for _ in range(12):
        if (places := [i for i, (old, _) in enumerate(met) if old == state]) and rng.random() < 0.7:
            return met, rng.choice(places)
        at = Exact(state)
        open_ = [i for i, branch in enumerate(system.branches) if at.truth(branch.guard)]
        if not open_:
            return None
        index = rng.choice(open_)
        met.append((state, index))
        state = {**state, **{n: at.value(e) for n, e in system.branches[index].updates}}
    return None


def _letters(system: System, run: _Run, atoms: Sequence[Leaf]) -> list[frozenset[Leaf]]:
    names = [branch_name(branch.name) for branch in system.branches]

    def true(leaf: Leaf, state: dict[str, Fraction], branch: int) -> bool:
        if isinstance(leaf, Atom):
            return leaf.comparison.holds(state)
        return bool(state[leaf.name]) if leaf.name in state else leaf.name == names[branch]

    return [frozenset(leaf for leaf in atoms if true(leaf, *at)) for at in run[0]]


def _accepted(made: System, system: System, marks: int, run: _Run) -> bool:
    """Does the product have a run over that of the system on which `set` is at its end again and again?"""
    states, back = run
    extra = [n for n in made.variables if n not in system.variables]
    steps: dict[tuple[int, tuple[Fraction, ...]], list[tuple[int, tuple[Fraction, ...]]]] = {}
    waiting = [(0, (Fraction(0), Fraction(0)))]
    while waiting:
        node = waiting.pop()
        if node in steps:
            continue
        place, held = node
        state, branch = states[place]
        at = Exact({**state, **dict(zip(extra, held, strict=True))})
        after = place + 1 if place + 1 < len(states) else back
        steps[node] = []
        for one in made.branches:
            if one.name.split()[0] == str(branch) and at.truth(one.guard):
                new = dict(one.updates)
                steps[node].append((after, tuple(at.value(new[n]) for n in extra)))
        waiting += steps[node]

    def comes_back(node: tuple[int, tuple[Fraction, ...]]) -> bool:
        met, waiting = set(), list(steps[node])
        while waiting:
            new = waiting.pop()
            if new not in met:
                met.add(new)
                waiting += steps[new]
        return node in met

    return any(node[1][1] == marks and comes_back(node) for node in steps)
