"""Answers that are kept (Proposition 6), places of splits, concretisations at random: against plain definitions."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor

import numpy as np
import pytest

from tests.procedures.predicate_abstraction.random_systems import random_moves
from tests.random_policies import random_predicates, random_system
from venmas import System, abstract, verify
from venmas.errors import UsageError
from venmas.procedures.predicate_abstraction.cegar import Cegar
from venmas.procedures.predicate_abstraction.refinement.refine import Refinement
from venmas.procedures.predicate_abstraction.refinement.shrink import _threshold, separated
from venmas.procedures.predicate_abstraction.settings import TESTS, Choices
from venmas.procedures.predicate_abstraction.states.memory import Memory
from venmas.procedures.predicate_abstraction.states.queries import Queries, QueryEngine
from venmas.procedures.predicate_abstraction.states.task import task_of


def engine(seed: int) -> tuple[System, QueryEngine]:
    system = random_system(np.random.default_rng(seed))
    return system, QueryEngine(task_of(system).policy, np.random.default_rng(seed))


def boxes(rng: np.random.Generator, system: System, count: int, labels: int) -> Queries:
    """Random boxes, with a random row on half of them."""
    low = np.array([int(d.lower) for d in system.variables.values()])
    high = np.array([int(d.upper) for d in system.variables.values()])
    ends = np.sort(rng.integers(low, high + 1, (2, count, len(low))), axis=0)
    rows = rng.integers(-2, 3, (count, 1, len(low))) * (rng.random((count, 1, 1)) < 0.5)
    constants = rng.integers(-3, 4, (count, 1)) * rows.any(2)
    return Queries(rng.integers(0, labels, count), ends[0], ends[1], rows, constants)


def test_kept_answers_are_those_of_an_engine_that_keeps_none() -> None:
    """Refuted boxes and witnesses are used, and a witness is in the box, meets the row and has the label."""
    known = 0
    for seed in range(30):
        system, fresh = engine(seed)
        policy = fresh.policy
        if policy is None:
            continue
        memory = Memory(engine(seed)[1])
        rng = np.random.default_rng(seed)
        for _ in range(6):
            asked = boxes(rng, system, 40, policy.labels)
            found, points = memory.ask(asked)
            assert (found == fresh.ask(asked)[0]).all(), seed
            at = np.flatnonzero(found)
            assert ((asked.low[at] <= points[at]) & (points[at] <= asked.high[at])).all()
            assert ((asked.rows[at] @ points[at][:, :, None])[:, :, 0] + asked.constants[at] >= 0).all()
            assert (policy.choose(points[at]) == asked.label[at]).all()
        figures = memory.to_json()
        assert figures["remembered"] == sum(figures[f"known_{k}"] for k in ("same", "refuted", "witnessed"))
        assert figures["count"] + figures["remembered"] <= 240  # equal ones are asked once
        known += memory.within > 0 and memory.pooled > 0
    assert known > 5


def test_a_box_in_a_refuted_one_is_not_asked() -> None:
    """The policy picks 1 from x = 6 on; rows only take states away."""
    s = System("line")
    x = s.integer("x", 0, 9)
    from venmas.model.expressions.functions import apply_network, argmax
    from venmas.nn import relu_network

    network = relu_network([np.array([[-1.0], [1.0]])], [np.array([5.5, -5.5])], name="p")
    action = s.agent(argmax(apply_network(network, [x])))
    s.branch("up", x=x + 1, when=(action == 0))
    s.initial(x == 0)
    memory = Memory(QueryEngine(task_of(s).policy))

    def ask(low: int, high: int, *row: int) -> bool:
        rows = np.array([[[row[0] if row else 0]]]), np.array([[row[1] if row else 0]])
        return bool(memory.ask(Queries(np.array([1]), np.array([[low]]), np.array([[high]]), *rows))[0][0])

    assert not ask(0, 5) and memory.engine.counts.queries == 1
    assert not ask(2, 4) and not ask(1, 5, 1, -3) and memory.engine.counts.queries == 1 and memory.within == 2
    assert ask(5, 9) and memory.engine.counts.queries == 2  # not within it
    assert ask(6, 9) and memory.engine.counts.queries == 2 + (memory.pooled == 0)


@pytest.mark.parametrize("eps", [1.0, 0.5, 0.25, 0.125])
def test_splits_are_where_the_paper_has_them(eps: float) -> None:
    """``v <= s_w + f (s - s_w)``, and mirrored, with f = 0, 1/2 and eps; never beyond the other state."""
    rng = np.random.default_rng(0)
    for w, s in ((w, s) for w in range(-4, 5) for s in range(-4, 5) if w != s):
        for split, share in (("witness", Fraction(0)), ("mid", Fraction(1, 2)), ("eps", Fraction(eps))):
            bound = _threshold(0, np.array([w]), np.array([s]), split, eps, rng).bound
            place = w + share * (s - w)
            wanted = min(floor(place), s - 1) + 1 if s > w else max(ceil(place), s + 1)
            assert bound == wanted, (w, s, split)


def wide(found: QueryEngine) -> bool:
    return found.policy is not None and len(found.policy.read) > 2


def test_random_selection_is_a_set_that_is_not_empty() -> None:
    """One to all of the variables that differ, every number of them, each with its own place."""
    system, queries = next(found for seed in range(99) if wide((found := engine(seed))[1]))
    assert queries.policy is not None
    n = len(system.variables)
    read = queries.policy.read
    witness, state = np.zeros(n, np.int64), np.full(n, 9, np.int64)
    ranges = np.zeros(n, np.int64), np.full(n, 9, np.int64)
    counts = set()
    for seed in range(200):
        found = separated(
            queries, witness, state, 0, lambda p: True, ranges, "random", "random", np.random.default_rng(seed)
        )
        variables = [p.terms[0][0] for p in found]
        assert len(set(variables)) == len(variables) and set(variables) <= set(read.tolist())
        assert all(1 <= p.bound <= 9 for p in found)
        counts.add(len(found))
    assert counts == set(range(1, len(read) + 1))


def test_concrete_paths_at_random_are_of_the_same_abstract_path() -> None:
    """Both kinds run along the operators from the same abstract start, and random ones are not all the same."""
    different = 0
    for seed in range(40):
        system = random_system(np.random.default_rng(seed))
        starts = set()
        for number in range(1, 5):
            chosen = Choices(first="none", concretise="random", seed=number)
            loop = Cegar(task_of(system), system.propositions["bad"], chosen)
            low, high = loop.task.low, loop.task.high
            none = np.zeros((0, len(low)), np.int64), np.zeros(0, np.int64)
            point = loop.refiner.concretiser._point(low, high, *none)
            assert point is not None and loop.starts.over(point[None], point[None]).truth[0] == 1
            starts.add(tuple(point.tolist()))
        different += len(starts) > 1
    assert different > 10


def kinds(cells: str) -> set[str]:
    found: set[str] = set()
    for seed in range(100):
        system = random_moves(np.random.default_rng(seed))
        chosen = Choices(first="none", refine="ws", guards="all", cells=cells, seed=seed)
        loop = Cegar(task_of(system), system.propositions["bad"], chosen)
        loop._runs = lambda steps, starts: None  # type: ignore[method-assign]
        assert not loop.predicates
        while isinstance(step := loop.iterate(), Refinement):
            found.add(step.kind)
    return found


@pytest.mark.slow
def test_published_refinement_has_no_cell_refinement() -> None:
    """By guards, the unsafe condition and the policy alone; that every verdict stays is in `test_random_systems`."""
    assert kinds("off") == {"target", "policy"}
    assert "cell" in kinds("on")


def test_tests_leave_the_graph_as_it_is_and_others_are_refused() -> None:
    fewer = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        system = random_system(rng)
        predicates = random_predicates(rng, system, 4)
        graphs = [abstract(system, predicates, system.propositions["bad"], tests=tests) for tests in TESTS]
        told = [{k: v for k, v in g.to_json().items() if k != "queries"} for g in graphs]
        assert all(t == told[0] for t in told)
        relaxed, plain = (graphs[TESTS.index(t)].queries for t in ("relaxed-both", "none"))
        fewer += relaxed["count"] + relaxed["remembered"] < plain["count"] + plain["remembered"]
    assert fewer
    with pytest.raises(UsageError, match="tests: expected none, selection"):
        abstract(system, [], tests="exact")


def test_incremental_answers_are_counted_in_reports() -> None:
    s = System("count")
    x = s.integer("x", 0, 9)
    s.branch("up", x=x + 1, when=x <= 4)
    s.initial(x == 0)
    report = verify(
        s,
        "AG x <= 5",
        mode="abstraction",
        tune={"predicates.first": "none", "predicates.guards": "all", "predicates.cells": "off"},
    )
    assert report.satisfied and report.invariant is not None
    assert {"known_same", "known_refuted", "known_witnessed"} <= report.invariant["queries"].keys()
