"""Abstract graphs and every variant of refinement on random systems; `make abstraction` takes 3,000 of them."""

from __future__ import annotations

import pytest

from tests.abstraction.random_systems import check_graph, check_verdict, variants


@pytest.mark.parametrize("first", range(0, 40, 10))
def test_abstract_graphs_are_those_of_all_states(first: int) -> None:
    for seed in range(first, first + 10):
        check_graph(seed)


@pytest.mark.parametrize("first", range(0, 40, 10))
def test_every_variant_says_what_is_so(first: int) -> None:
    """The default on each, and each of the others on every eighth."""
    chosen = variants()
    for seed in range(first, first + 10):
        check_verdict(10_000 + seed, [chosen[0], *chosen[1 + seed % 8 :: 8]])
