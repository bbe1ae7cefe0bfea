"""Abstract graphs and every variant of refinement on random systems; `make test-abstraction` takes 3,000 of them."""

from __future__ import annotations

import os

import pytest

from tests.abstraction.random_systems import check_graph, check_verdict, variants

COUNT = int(os.environ.get("VENMAS_ABSTRACTION_SYSTEMS", "40"))


@pytest.mark.parametrize("first", range(0, COUNT, 10))
def test_abstract_graphs_are_those_of_all_states(first: int) -> None:
    for seed in range(first, first + 10):
        check_graph(seed)


@pytest.mark.parametrize("first", range(0, COUNT, 10))
def test_every_variant_says_what_is_so(first: int) -> None:
    """Each variant on every tenth system here, and all on each where there are many."""
    chosen = variants()
    for seed in range(first, first + 10):
        check_verdict(10_000 + seed, chosen if COUNT > 100 else [chosen[0], *chosen[seed % 8 :: 8]])
