"""Single changes to valid certificates: what no longer proves a true claim is refused.

A change to the lines leaves the claim true. A change to the claim may make it false, which is told without the checker:
by a sampled initial state that violates it exactly, or by the prover's witness, which is replayed.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product
from math import prod
from random import Random

import numpy as np
import pytest

from tests.checker.corpus import certificates
from tests.checker.mutants import another_claim, another_line
from tests.checker.proofs import Certified, SearchTooLongError, is_violated, prover, refusal
from tests.slow import some_slow
from venmas.errors import ModelError
from venmas.logic import nnf
from venmas.model import System
from venmas.model.evaluation.regions import contains, sample
from venmas.model.expressions.expr import Output
from venmas.model.witness.build import replay


def _verdict(certified: Certified, seed: int, steps: int) -> str:
    """Is the claim true? By all initial states, where they are finitely many; else by samples, then by a proof."""
    system, formula = certified.system, certified.formula
    states = _all_states(system)
    applied = any(isinstance(node, Output) for _, node in system.nodes())
    finite = states is not None and (certified.semantics == "real" or not applied)
    for region in system.regions:
        rng = np.random.default_rng(seed)
        for state in (s for s in states if contains(region, s)) if states else sample(system, region, rng, 12):
            try:
                if is_violated(system, formula, state):
                    return "false"
            except ModelError:  # this run leaves the declared box: no violation, but the claim is none either
                return "leaves the box"
    if finite:
        return "true"
    try:
        proof, _ = prover(system, formula, certified.inside, steps=steps)
    except ModelError:
        return "leaves the box"
    except SearchTooLongError:
        return "not decided"
    if proof.witness is not None:
        return "false" if replay(system, nnf(formula, negate=True), proof.witness).confirmed else "not decided"
    return "true" if proof.complete else "not decided"


def _all_states(system: System) -> list[dict[str, Fraction]] | None:
    """All states of the declared box, when they are finitely many and few."""
    values = [d.values for d in system.variables.values()]
    if any(v is None for v in values) or prod(len(v or ()) for v in values) > 1000:
        return None
    return [dict(zip(system.variables, point, strict=True)) for point in product(*[v or () for v in values])]


def _run(count: int, seed: int) -> Counter[tuple[str, str, str]]:
    """(kind of change, truth of the claim, answer of the checker) -> number of mutants."""
    rng, found = Random(seed), Counter()
    valid = list(certificates().values())
    rich = [c for c in valid if {"split", "refute"} <= {line["rule"] for line in c.lines}]
    while found.total() < count:
        base = rng.choice(rich if rng.random() < 0.5 else valid)
        if rng.random() < 0.25:
            name, mutant = another_line(rng, base)
            if mutant.lines == base.lines:
                continue
            truth = "true"
        else:
            changed = another_claim(rng, base)
            if changed is None:
                continue
            name, mutant = changed
            truth = ""
        problem = refusal(mutant)
        if not truth:
            truth = _verdict(mutant, found.total(), 50 if problem else 600)
        found[name, truth, "accepted" if problem is None else "refused"] += 1
    return found


def _judge(found: Counter[tuple[str, str, str]]) -> None:
    shown = "\n".join(f"{n:5} {kind:20} {truth:15} {answer}" for (kind, truth, answer), n in sorted(found.items()))
    print(shown)
    totals = Counter[tuple[str, str]]()
    for (_, truth, answer), n in found.items():
        totals[truth, answer] += n
    print(dict(totals))
    assert totals["false", "accepted"] == 0, shown
    assert totals["leaves the box", "accepted"] == 0, shown
    assert totals["not decided", "accepted"] == 0, shown
    assert totals["false", "refused"] >= 0.1 * found.total(), shown
    assert totals["true", "refused"] >= 0.2 * found.total(), shown


@pytest.mark.parametrize("seed", some_slow(range(4), [2]))
def test_single_changes(seed):
    _judge(_run(400, seed))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 120))
def test_many_single_changes(seed):
    _judge(_run(1000, seed))
