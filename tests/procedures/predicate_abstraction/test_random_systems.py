"""Abstract graphs and every variant of refinement on random systems; `make abstraction` takes 3,000 of them."""

from __future__ import annotations

import numpy as np
import pytest

from tests.procedures.predicate_abstraction.random_systems import check_graph, check_verdict, variants
from tests.random_policies import random_predicates, random_system
from tests.slow import some_slow
from venmas import System, abstract
from venmas.model.expressions.functions import apply_network, argmax
from venmas.nn import relu_network
from venmas.procedures.predicate_abstraction.graph.graph import AbstractGraph


@pytest.mark.parametrize("first", range(0, 40, 10))
def test_abstract_graphs_are_those_of_all_states(first: int) -> None:
    for seed in range(first, first + 10):
        check_graph(seed)


@pytest.mark.parametrize("first", some_slow(range(0, 40, 10), [0, 3]))
def test_every_variant_says_what_is_so(first: int) -> None:
    """The default on each, and each of the others on every eighth."""
    chosen = variants()
    for seed in range(first, first + 10):
        check_verdict(10_000 + seed, [chosen[0], *chosen[1 + seed % 8 :: 8]])


def steps(graph: AbstractGraph) -> set[tuple[str, str]]:
    return {(graph.text(s), graph.text(t)) for s, t in graph.pairs.tolist()}


def test_relaxed_graphs_have_every_step_of_the_exact_ones() -> None:
    more = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        system = random_system(rng)
        predicates = random_predicates(rng, system, 3)
        exact = abstract(system, predicates, system.propositions["bad"], seed)
        relaxed = abstract(system, predicates, system.propositions["bad"], seed, relaxed=True)
        assert steps(exact) <= steps(relaxed) and exact.starts == relaxed.starts
        more += len(relaxed.pairs) > len(exact.pairs)
    assert more


def test_a_step_between_integers_is_one_of_the_relaxed_graph_only() -> None:
    """Label 1 is picked between 0.25 and 0.75, and so in no state."""
    s = System("between")
    x, y = s.integer("x", 0, 1), s.integer("y", 0, 1)
    fold = [np.array([[1.0], [-1.0]]), np.array([[0.0, 0.0], [-1.0, -1.0]])]
    network = relu_network(fold, [np.array([-0.5, 0.5]), np.array([0.0, 0.25])], name="fold")
    action = s.agent(argmax(apply_network(network, [x])))
    s.branch("rise", y=1, when=action == 1)
    s.branch("rest", when=action == 0)
    s.initial(y == 0)
    found = [abstract(s, ["y >= 1"], "y >= 1", relaxed=relaxed).to_json() for relaxed in (False, True)]
    assert [(f["states"], f["unsafe"]) for f in found] == [(1, 0), (2, 1)]
