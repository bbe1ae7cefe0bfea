"""Single changes to certificates that are graphs of regions: refused, or every lemma that they state is still true.

What the changed lines claim is told without the checker, by exact runs from the corners and points of their regions.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from functools import cache
from random import Random

import numpy as np
import pytest

from tests.checker.graphs import KINDS, another_graph_line, false_lemma, graph_certificates
from tests.checker.mutants import another_claim
from tests.checker.proofs import Certified, Line, is_violated, refusal
from tests.slow import some_slow
from venmas.errors import ModelError
from venmas.model.evaluation.regions import sample


@cache
def _short() -> list[Certified]:
    """Those that are checked soon, one of every rule among them."""
    found = [c for c in graph_certificates().values() if len(c.lines) < 500]
    rules = {line["rule"] for c in found for line in c.lines}
    assert rules == {"frame", "lemma", "region", "expand", "split", "case", "keep", "within", "end"}
    return found


def _run(count: int, seed: int) -> Counter[tuple[str, str]]:
    rng, found = Random(seed), Counter[tuple[str, str]]()
    rich = [c for c in _short() if {"split", "case"} & {line["rule"] for line in c.lines}]
    while found.total() < count:
        base = rng.choice(rich if rng.random() < 0.4 else _short())
        kind, mutant = another_graph_line(rng, base)
        problem = refusal(mutant)
        if problem is None:
            assert false_lemma(mutant, rng) is None, (kind, mutant)
        found[kind, "accepted" if problem is None else "refused"] += 1
    return found


@pytest.mark.parametrize("seed", some_slow(range(4), [1]))
def test_single_changes_to_graphs(seed):
    found = _run(200, seed)
    shown = "\n".join(f"{n:4} {kind:9} {answer}" for (kind, answer), n in sorted(found.items()))
    print(shown)
    assert {kind for kind, _ in found} == set(KINDS)
    for kind in ("integers", "formula", "frame", "entry", "dropped", "within", "keep", "swapped"):
        assert found[kind, "refused"] > found[kind, "accepted"], shown
    assert sum(n for (_, answer), n in found.items() if answer == "refused") >= 100, shown


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 120))
def test_many_single_changes_to_graphs(seed):
    _run(500, seed)


# -- false claims ------------------------------------------------------------------------------------------------------


def _false_claims() -> list[Certified]:
    """The lines of a true claim for one near by that an exact run contradicts."""
    rng, found = Random(5), []
    for base in _short():
        tries = 0
        for _ in range(40):
            changed = another_claim(rng, base)
            if changed is not None and tries < 3 and _contradicted(changed[1]):
                tries += 1
                found.append(changed[1])
    return found


def _contradicted(certified: Certified) -> bool:
    for region in certified.system.regions:
        for state in sample(certified.system, region, np.random.default_rng(1), 6):
            try:
                if is_violated(certified.system, certified.formula, state):
                    return True
            except ModelError:
                return False
    return False


def _widened(rng: Random, lines: tuple[Line, ...]) -> tuple[Line, ...]:
    """Some lemmas say more: their boxes grow, so that `within` fits more often."""
    share, by = rng.choice((0.1, 0.5, 1)), rng.choice((1, 2**20, 2**30, 2**40))
    found = []
    for line in lines:
        if line["rule"] == "lemma" and rng.random() < share:
            low, high = ([str(Fraction(v) + d) for v in line[e]] for e, d in (("low", -by), ("high", by)))
            line = {**line, "low": low, "high": high}
        found.append(line)
    return tuple(found)


@pytest.mark.slow
def test_no_change_to_the_proof_of_a_claim_near_by_proves_a_false_one():
    rng, kinds = Random(7), Counter[str]()
    claims = _false_claims()
    assert len(claims) >= 40
    for false in claims:
        assert refusal(false) is not None
        for _ in range(6):
            mutant = replace(false, lines=_widened(rng, false.lines)) if rng.random() < 0.5 else false
            for _ in range(rng.randint(1, 3)):
                kind, mutant = another_graph_line(rng, mutant)
                kinds[kind] += 1
            assert refusal(mutant) is not None
    assert kinds.keys() == set(KINDS)
