"""The corpus in the normal suite: every entry with every solver and encoding, and some random cases."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from tests.corpus import loops, systems
from tests.corpus.check import (
    ADAPTIVE,
    EXACT,
    Config,
    Tally,
    available,
    check_entry,
    check_finite,
    check_pwl,
    configurations,
    rotated,
)
from tests.corpus.entries import Entry
from tests.corpus.entries_more import CORPUS
from tests.corpus.finite import finite_case
from tests.corpus.pwl import pwl_case
from tests.corpus.spec import build, holds
from tests.slow import some_slow
from venmas.engine.report import Verdict
from venmas.logic import FiniteModel, evaluate, nnf, parse
from venmas.model import System, satisfies
from venmas.model.evaluation.regions import sample
from venmas.model.evaluation.simulate import successors

FINITE = ("kripke", "ring", "climber", "toggles", "hot", "weights", "tally")
PARALLEL = ("kripke-14", "line-8", "shapes-2", "routes-6", "union-4", "climber-3")


def _fine(tally: Tally) -> None:
    assert not tally.wrong, "\n".join(tally.wrong)


def _ids(entry: Entry) -> str:
    return entry.name


FIRST = {at for at, entry in enumerate(CORPUS) if int(entry.name.rsplit("-", 1)[1]) % 4 == 1}
"""The places of the first entry of each kind, and of every fourth one after it."""


@pytest.mark.parametrize("entry", some_slow(CORPUS, FIRST), ids=_ids)
def test_entry(entry):
    _fine(check_entry(entry, configurations(intervals=False)))


@pytest.mark.slow
@pytest.mark.parametrize("entry", CORPUS, ids=_ids)
def test_entry_with_interval_bounds_and_exactly(entry):
    modes = [Config(m, available()[0], "big-m", "interval") for m in ("mono", "comp-seq")]
    _fine(check_entry(entry, [EXACT, *modes]))


@pytest.mark.parametrize("entry", [e for e in CORPUS if e.name in PARALLEL], ids=_ids)
def test_entry_with_a_pool(entry):
    _fine(check_entry(entry, [Config("comp-par", solver, "big-m") for solver in available()]))


@pytest.mark.slow
@pytest.mark.parametrize("entry", CORPUS, ids=_ids)
def test_every_entry_with_a_pool(entry):
    _fine(check_entry(entry, configurations(["comp-par"], intervals=False)))


@pytest.mark.parametrize("seed", some_slow(range(40), range(7)))
def test_random_finite_systems(seed):
    _fine(check_finite(f"finite {seed}", finite_case(seed), configurations()))


@pytest.mark.parametrize("seed", some_slow(range(40), range(7)))
def test_random_systems_over_reals(seed):
    _fine(check_pwl(f"pwl {seed}", pwl_case(seed), configurations()))


def test_a_rotation_asks_in_every_way_and_always_exactly():
    turns = [rotated(i, 5.0) for i in range(6 * len(available()))]
    every = configurations(["mono", "comp-seq", "comp-par"], False)
    assert {str(c) for c, _, _ in turns} == {str(c) for c in every} - {str(ADAPTIVE)}
    assert {(str(a), str(b)) for _, a, b in turns} == {(str(ADAPTIVE), str(EXACT))}


@pytest.mark.parametrize("seed", range(4))
def test_a_rotation_keeps_certificates_and_tells_wrong_verdicts(seed):
    case = finite_case(seed)
    tally = check_finite("right", case, rotated(seed, 5.0))
    _fine(tally)
    assert tally.certificates["accepted"] == case.truth
    assert len(check_finite("wrong", replace(case, truth=not case.truth), rotated(seed, 5.0)).wrong) == 3


def test_names_are_unique_and_there_are_enough():
    assert len({e.name for e in CORPUS}) == len(CORPUS) >= 300
    assert {e.verdict for e in CORPUS} == {Verdict.SATISFIED, Verdict.VIOLATED}
    assert sum(e.edge for e in CORPUS) < 25


# The verdicts of the entries themselves, against what does not use bounds, encodings or solvers.


def _explicit(system: System) -> tuple[FiniteModel, list[int]]:
    """What can be reached from the integer points of the initial set."""
    starts = [dict(p) for p in _points(system)]
    index = {tuple(s.values()): i for i, s in enumerate(starts)}
    states, edges, at = list(starts), [], 0
    while at < len(states):
        targets = []
        for move in successors(system, states[at]):
            key = tuple(move.state.values())
            if key not in index:
                index[key] = len(states)
                states.append(move.state)
            targets.append(index[key])
        edges.append(tuple(targets))
        at += 1
    return FiniteModel(len(states), tuple(edges), tuple(states)), list(range(len(starts)))


def _points(system: System):
    values = [d.values for d in system.variables.values()]
    for point in product(*values):
        state = dict(zip(system.variables, point, strict=True))
        if any(all(c.holds(state) for c in region) for region in system.regions):
            yield state


@pytest.mark.parametrize("entry", [e for e in CORPUS if e.name.rsplit("-", 1)[0] in FINITE], ids=_ids)
def test_verdicts_of_finite_entries_by_enumeration(entry):
    system = entry.system()
    model, initial = _explicit(system)
    truth = set(initial) <= evaluate(parse(entry.formula, system.vocabulary), model)
    assert truth == (entry.verdict is Verdict.SATISFIED)


@pytest.mark.parametrize("edges", [systems.KRIPKE, systems.RING])
def test_graphs_have_the_edges_that_were_drawn(edges):
    model, _ = _explicit(systems.graph(edges, edges))
    assert [tuple(dict.fromkeys(t)) for t in model.successors] == [tuple(edges[s]) for s in edges]


@pytest.mark.parametrize("entry", [e for e in CORPUS if e.verdict is Verdict.SATISFIED], ids=_ids)
def test_no_sampled_state_contradicts_a_satisfied_entry(entry):
    system = entry.system()
    formula = nnf(parse(entry.formula, system.vocabulary))
    for region in system.regions:
        for state in sample(system, region, np.random.default_rng(1), 8):
            assert satisfies(system, formula, state), state


@pytest.mark.parametrize("seed", some_slow(range(60), range(20)))
def test_the_two_readings_of_random_systems_agree(seed):
    """The simulator and the plain interpreter of the specification: on whole formulas, exactly."""
    case = pwl_case(seed, count=6)
    system, core = build(case.spec), nnf(case.formula)
    for state in case.points[:6]:
        assert satisfies(system, core, state) == holds(case.spec, case.formula, state)


@pytest.mark.parametrize("seed", [7, *(pytest.param(s, marks=pytest.mark.slow) for s in (2, 3))])
def test_random_loops_without_bounds(seed, tmp_path):
    counts = Counter()
    assert not loops.check(seed, tmp_path, counts, 1.0)
    assert sum(counts.values()) >= 12


def test_what_contradicts_is_seen():
    same = {"runs": "unknown", "all": "satisfied", "derivations": "unknown", "cells": "satisfied"}
    assert not loops.contradiction("AF q", {**same, "noise 1/8": "violated", "noise 1/2": "unknown"})
    assert loops.contradiction("AF q", {**same, "runs": "violated"})
    assert loops.contradiction("AF q", {**same, "noise 1/8": "violated", "noise 1/2": "satisfied"})
    assert loops.contradiction("AF q", {**same, "LTL": "violated"})
    weaker = {**same, "all": "violated", "cells": "violated"}
    assert not loops.contradiction("AF AG p", {**weaker, "LTL": "satisfied"})
    assert loops.contradiction("AF AG p", {**same, "LTL": "violated"})
