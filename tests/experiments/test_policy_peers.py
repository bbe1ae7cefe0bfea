"""Engines of others for queries on policies: what they say beside enumeration, and what becomes of a crash."""

from __future__ import annotations

from tests.needs import needs

needs("z3")

from importlib.util import find_spec
from time import monotonic

import numpy as np
import pytest

from experiments.policies import integer_queries
from experiments.policies.integer_queries import truth
from experiments.policies.peer_process import Peers
from experiments.policies.peers import ENGINES, OVER, Query, base, installed
from tests.random_queries import random_policy, random_queries

MARABOU = find_spec("maraboupy") is not None


def single(policy, queries, q: int) -> Query:
    fields = (queries.low[q], queries.high[q], queries.rows[q], queries.constants[q])
    return Query(policy, int(queries.label[q]), *(f.tolist() for f in fields))


@pytest.fixture(scope="module")
def asked():
    """Policies of three inputs, with ties, rows and free labels among the queries."""
    rng = np.random.default_rng(5)
    found = []
    for ties in (True, False, True):
        policy = random_policy(rng, 3, 5, 3, ties)
        found.append((policy, random_queries(rng, policy, 8, rows=2, most=200)))
    return found


def test_z3_says_what_enumeration_does(asked) -> None:
    said = set()
    for policy, queries in asked:
        for q in range(len(queries)):
            query = single(policy, queries, q)
            reply = base(query, monotonic() + 60)
            assert reply.said == ("sat" if truth(policy, queries, q) else "unsat")
            assert reply.point is None or query.meets(reply.point)
            said.add((reply.said, query.label >= 0))
    assert len(said) >= 3


def test_fixed_activations_are_believed(asked) -> None:
    """Every unit switched off: the policy picks the label of the greatest bias everywhere."""
    policy, queries = asked[1]
    phases = {(n, i): False for n, layer in enumerate(policy.network.layers[:-1]) for i in range(layer.out_size)}
    best = int(np.argmax(policy.network.layers[-1].bias))
    for label in range(3):
        query = Query(policy, label, queries.low[0].tolist(), queries.high[0].tolist(), [], [])
        reply = base(query, monotonic() + 60, phases)
        assert reply.said == "unsat" if label != best else reply.said != "unsat"


@pytest.mark.skipif(not MARABOU, reason="maraboupy is not installed")
@pytest.mark.parametrize("name", [name for name in ENGINES if "marabou" in name])
def test_marabou_and_what_is_built_around_it(name: str, asked) -> None:
    decided = 0
    with Peers() as peers:
        for policy, queries in asked:
            peers.about(policy.network)
            for q in range(len(queries)):
                reply = peers.ask(name, queries, q, 60)
                right = "sat" if truth(policy, queries, q) else "unsat"
                assert reply["said"] in (right, "unknown"), (name, q)
                decided += reply["said"] != "unknown"
    assert decided >= (24 if name != "marabou" else 8)


def test_a_process_that_ends_is_no_answer(asked) -> None:
    policy, queries = asked[0]
    with Peers() as peers:
        peers.about(policy.network)
        assert peers.ask("nobody", queries, 0, 1)["note"].startswith("crashed")
        reply = peers.ask("z3", queries, 0, 60)
    assert reply["said"] == ("sat" if truth(policy, queries, 0) else "unsat")
    assert OVER.said == "unknown"


def test_the_command_lists_what_is_wrong_and_keeps_answers(tmp_path, capsys, monkeypatch) -> None:
    few = ["--count", "20", "--sizes", "16", "--solved", "3", "--engines", "highs", "z3", "--out", str(tmp_path)]
    assert "z3" in installed() and integer_queries.main(few) == 0
    first = capsys.readouterr().out
    assert "| 2x16 | ours | 20 | 0 | 0 |" in first and "| 2x16 | z3 | 3 |" in first
    monkeypatch.setattr(integer_queries, "truth", lambda *_: True)
    monkeypatch.setattr(Peers, "ask", lambda *_: pytest.fail("a kept answer was asked again"))
    assert integer_queries.main(few) == 1
    assert "| ours | 2x16 | 0." in capsys.readouterr().out
