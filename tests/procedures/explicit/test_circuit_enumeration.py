"""Certificates of circuits all states of which were enumerated: each is accepted, and lies about them are not."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from experiments.certificates.liveness import accepts, mutants
from tests.soundness.circuits import Plain, broken, random_circuit, random_property
from venmas import verify
from venmas.answer import Broken, Proved
from venmas.budget import Budget, limited
from venmas.checker.file import check_certificate
from venmas.checker.format.json_lines import json_lines
from venmas.checker.netlists.check import Checked
from venmas.engine.certificates.file import write
from venmas.errors import InputError
from venmas.formats.btor2.reader import parse_btor2
from venmas.logic import Linear
from venmas.logic.ltl_parser import parse_ltl
from venmas.procedure import LinearQuestion, Run
from venmas.procedures.explicit.enumeration import EnumerationProof
from venmas.procedures.explicit.linear import EXPLICIT_LTL


def random_question(seed: int) -> tuple[Plain, LinearQuestion]:
    """A circuit, and a property of it; every second is asked of runs on which up to three conditions are fair."""
    rng = random.Random(seed)
    plain = random_circuit(rng)
    fair = [random_property(rng, rng.randint(1, 2)) for _ in range(rng.randint(0, 3) * (seed % 2))]
    text = random_property(rng, rng.randint(2, 5))
    asked = Linear(parse_ltl(text), tuple(map(parse_ltl, fair)))
    return plain, LinearQuestion(parse_btor2(plain.text), asked, certified=True)


def enumerated(question: LinearQuestion) -> EnumerationProof | None:
    """The proof where the property holds. The second turn takes every circuit that is small enough."""
    budget = Budget(60)
    with limited(budget), Run() as run:
        assert EXPLICIT_LTL.accepts(question, run) is None
        session = EXPLICIT_LTL.start(question, run)
        first, answer = session.advance(budget), session.advance(budget)
    assert not isinstance(first, Proved)
    if isinstance(first, Broken) or isinstance(answer, Broken):
        return None
    assert isinstance(answer, Proved) and answer.basis == "exact", answer
    assert isinstance(answer.proof, EnumerationProof)
    return answer.proof


def lines_of(question: LinearQuestion, proof: EnumerationProof, path: Path) -> list[dict[str, Any]]:
    write(path, question, proof, Budget(60))
    return [dict(line) for line in json_lines(path)]


def certified(first: int, count: int, path: Path) -> Counter[str]:
    """What came of so many questions, each against another search (`tests.soundness.circuits.broken`)."""
    found: Counter[str] = Counter()
    for seed in range(first, first + count):
        plain, question = random_question(seed)
        truth = broken(plain, question.formula)
        proof = enumerated(question)
        assert (proof is None) is truth, (seed, question.formula)
        if proof is None:
            found["violated"] += 1
            continue
        try:
            lines = lines_of(question, proof, path)
        except InputError as error:  # of the checker: its view of automata is incomplete
            if "it is not seen that the automaton accepts every run" not in str(error):
                raise
            found["automaton not seen"] += 1
            continue
        assert accepts(lines), (seed, question.formula)
        found["certified"] += 1
        found["ranks"] += sum(line.get("rule") == "rank" for line in lines)
    return found


@pytest.mark.parametrize("seed", [10019, 10567])
def test_where_cycles_meet_several_sets_in_turns_one_set_is_stated(seed: int, tmp_path: Path) -> None:
    _, question = random_question(seed)
    proof = enumerated(question)
    assert proof is not None and question.automaton.marks > 1
    lines = lines_of(question, proof, tmp_path / "c.gz")
    assert lines[1]["marks"] == 1 and accepts(lines)


@pytest.mark.parametrize("first", range(0, 240, 60))
def test_every_property_that_holds_has_a_certificate(first: int, tmp_path: Path) -> None:
    """`python -m tests.procedures.explicit.test_circuit_enumeration` asks thousands."""
    found = certified(first, 60, tmp_path / "c.gz")
    assert found["automaton not seen"] <= 1 and found["certified"] >= 15 and found["ranks"] >= 10, found


def test_lies_are_refused_where_the_claim_is_false(tmp_path: Path) -> None:
    refused = taken = 0
    for seed in range(1000, 1050):
        rng = random.Random(seed)
        plain, question = random_question(seed)
        proof = enumerated(question)
        if proof is None:
            continue
        lines = lines_of(question, proof, tmp_path / "c.gz")
        for kind, changed in mutants(lines, rng, 10):
            if not accepts(changed):
                refused += 1
                continue
            taken += 1
            claim = changed[0]["claim"]
            about = LinearQuestion(
                parse_btor2(changed[0]["subject"]["netlist"]),
                Linear(parse_ltl(claim["formula"]), tuple(map(parse_ltl, claim.get("fair", [])))),
            )
            same = kind != "netlist" and not broken(plain, about.formula)
            assert same or enumerated(about) is not None, (seed, kind)
    assert refused > taken > 0, (refused, taken)


def test_verify_writes_it_where_nothing_is_ranked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole way, also where a lower trust is asked for: an enumeration is exact."""
    monkeypatch.setattr("venmas.procedures.ranking.procedure.Prover.prove", lambda self, budget: None)
    path, count = tmp_path / "c.gz", 0
    for seed in range(2000, 2020):
        plain = random_question(2 * seed)[0]
        text = random_property(random.Random(seed), 4)
        trust = ("auto", "exact", "two", "solver")[seed % 4]
        report = verify(parse_btor2(plain.text), text, certificate=path, trust=trust)
        assert report.violated is broken(plain, parse_ltl(text))
        if report.violated:
            continue
        assert report.basis == "exact" and report.decided_by == "explicit-ltl"
        assert report.proof is not None and report.proof["by"] == "enumeration"
        if report.certificate is None:
            assert "it is not seen" in report.notes[-1]
            continue
        found = check_certificate(path)
        assert isinstance(found, Checked) and not found.solvers()
        count += 1
    assert count >= 6


if __name__ == "__main__":
    import sys
    from tempfile import TemporaryDirectory

    begin, many = map(int, sys.argv[1:] or ["10000", "3000"])
    with TemporaryDirectory() as folder:
        print(dict(certified(begin, many, Path(folder) / "c.gz")))
