"""Tubes of piecewise linear systems: random ones against a plain interpreter on exact states, and the checker."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

import pytest

from tests.corpus.check import false_witness
from tests.corpus.noise import _sampled as sampled
from tests.corpus.noise import false_witness as false_noisy_witness
from tests.corpus.noise import noisy_case
from tests.corpus.pwl import pwl_case
from tests.corpus.spec import build, holds
from tests.slow import some_slow
from venmas.answer import Answer, IncompleteError, Proved, Violated
from venmas.budget import Budget, BudgetError
from venmas.checker.file import check_certificate
from venmas.engine.certificates.file import write
from venmas.errors import ModelError
from venmas.logic import Bounded
from venmas.model.witness.noise import folded
from venmas.procedure import Run
from venmas.procedures.flowpipes.procedure import FLOWPIPES, FlowpipeSearch
from venmas.question import Question, drawn_for


def answered(question: Question, seconds: float = 0.3) -> Answer | None:
    """What the procedure says, without the first look; None where it is not asked, or has no answer in time."""
    search: FlowpipeSearch = FLOWPIPES
    if search.accepts(question, Run()) is not None:
        return None
    session = search.start(question, Run())
    session._looked = True
    try:
        return session.advance(Budget(seconds))
    except BudgetError:
        return None


def certified(question: Question, answer: Proved, path: Path) -> bool:
    """Is there a certificate, which is accepted then?"""
    assert answer.proof is not None
    try:
        write(path, question.boxed, answer.proof, Budget(20), {})
    except IncompleteError:
        return False
    check_certificate(path, question.system)
    return True


@pytest.mark.parametrize(("count", "least"), some_slow([(50, 5), (150, 20)], [0]))
def test_random_systems_contradict_no_verdict(count: int, least: int, tmp_path: Path) -> None:
    """Of systems with argmaxes, conditions, guards, integers and strict ends, half of them certified."""
    found: Counter[str] = Counter()
    for seed in range(count):
        case = pwl_case(3000 + seed)
        question = Question(build(case.spec), Bounded(case.formula), certified=seed % 2 == 0)
        answer = answered(question)
        found[type(answer).__name__] += 1
        if isinstance(answer, Proved):
            wrong = [point for point in case.points if not holds(case.spec, case.formula, point)]
            assert not wrong or answer.leaving, (seed, case.formula, wrong[:1])
            found["certified"] += answer.proof is not None and certified(question, answer, tmp_path / "proof")
        if isinstance(answer, Violated):
            assert false_witness(case.spec, case.formula, answer.witness) is None, seed
    assert min(found["Proved"], found["Violated"]) > least and found["certified"] > count // 30, found


@pytest.mark.slow
def test_random_systems_with_noise_contradict_no_verdict(tmp_path: Path) -> None:
    """The same over noise, against runs under values of it that were tried."""
    found: Counter[str] = Counter()
    for seed in range(100):
        try:
            case, rng = noisy_case(4000 + seed), Random(seed)
        except ModelError:  # a range of one number
            continue
        if {*case.spec.noise} != {*case.system.disturbances}:
            continue
        asked = Bounded(case.formula)
        question = Question(drawn_for(case.system, asked), asked, certified=seed % 2 == 0)
        answer = answered(question)
        found[type(answer).__name__] += 1
        if isinstance(answer, Proved):
            assert sampled(rng, case) is None or answer.leaving, (seed, case.formula)
            found["certified"] += answer.proof is not None and certified(question, answer, tmp_path / "proof")
        if isinstance(answer, Violated):
            assert false_noisy_witness(case, folded(answer.witness)) is None, seed
    assert found["Proved"] > 15 and found["Violated"] > 10 and found["certified"] > 5, found
