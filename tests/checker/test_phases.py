"""Certificates of AG p in two phases: the two bounded proofs join, or the file is refused."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.checker.finite_systems import closure, random_property, random_system
from tests.checker.proofs import claiming
from tests.checker.test_inductive_mutations import meets
from venmas.answer import IncompleteError
from venmas.checker.file import check_certificate
from venmas.engine.certificates.file import write
from venmas.engine.certificates.kept import Certificate
from venmas.errors import InputError, ModelError
from venmas.logic import Always, parse, parse_property
from venmas.model import System, load_scenario
from venmas.model.invariant import Invariant, Phases
from venmas.procedures.kinduction.proof import PhaseProof
from venmas.question import Question

AROUND = "x[1] >= -0.291 & x[1] <= 0.309 & x[2] >= -0.2 & x[2] <= 0.2"
"""A box around the state where the double integrator comes to rest: no invariant of one step, but one of two."""


@pytest.fixture(scope="module")
def system() -> System:
    return load_scenario("double_integrator").system()


@pytest.fixture(scope="module")
def stored(system: System, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The lines of a valid certificate."""
    path = tmp_path_factory.mktemp("phases") / "c.gz"
    question = Question(system, parse_property("AG within", system.vocabulary))
    written = write(path, question, PhaseProof(Phases(parse(AROUND, system.vocabulary), 5, 2)))
    assert isinstance(written, Certificate)
    lines = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    assert check_certificate(path, system).lines == written.lines - 1 == len(lines) - 1
    return lines


def _refusal(lines: list[dict[str, Any]], system: System, path: Path) -> str:
    path.write_bytes(gzip.compress("".join(json.dumps(line) + "\n" for line in lines).encode()))
    with pytest.raises(InputError) as caught:
        check_certificate(path, system)
    return str(caught.value)


def test_the_double_integrator_stays_within_its_limits_for_ever(stored: list[dict[str, Any]]) -> None:
    assert stored[0]["proof"] == "two-phase" and stored[0]["claim"]["formula"].startswith("AG ")
    assert [line["rule"] for line in stored[1:]].count("end") == 3


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"again": 1}, "line"),
        ({"into": 2}, "line"),
        ({"set": AROUND.replace("0.309", "0")}, "line"),
        ({"set": AROUND.replace("0.309", "6")}, "line"),
        ({"set": "AX true"}, "about one state"),
        ({"set": "x[3] > 0"}, "x\\[3\\]"),
        ({"again": 0}, "whole number"),
        ({"into": True}, "whole number"),
        ({"inside": [1, 0]}, "true or false"),
        ({"more": 1}, "line 1: phases: expected the entries"),
    ],
)
def test_other_phases_are_refused(change, problem, stored, system, tmp_path) -> None:
    lines = [stored[0], {**stored[1], **change}, *stored[2:]]
    assert re.search(problem, _refusal(lines, system, tmp_path / "c.gz"))


def test_other_claims_are_refused(stored, system, tmp_path) -> None:
    for formula in ("AG (x[1] <= 2.9)", "AG^5 within", "AX AG within"):
        assert _refusal([claiming(stored[0], formula=formula), *stored[1:]], system, tmp_path / "c.gz")
    assert "inside" in _refusal([claiming(stored[0], inside=None), *stored[1:]], system, tmp_path / "c.gz")
    first = next(i for i, line in enumerate(stored) if line.get("rule") == "end")
    head, one, two, end = stored[:2], stored[2 : first + 1], stored[first + 1 : -1], stored[-1]
    for proofs in (one, [*two, *one], [*one, *two, *two], [*one, *one], [*one, *two]):
        for last in ([], [end], [{"rule": "end", "lines": 2 + len(proofs)}]):
            if last != [end] or proofs != [*one, *two]:
                assert _refusal([*head, *proofs, *last], system, tmp_path / "c.gz")


@pytest.mark.parametrize("count", [10, pytest.param(30, marks=pytest.mark.slow)])
def test_random_systems_are_proved_in_phases_only_where_that_is_true(count, tmp_path) -> None:
    rng, proved = Random(4), 0
    for _ in range(count):
        system = random_system(rng)
        states, inside = closure(system)
        holds = random_property(rng, system)
        true = inside and all(meets(system, holds, s) for s in states)
        reached = rng.sample(sorted(states), rng.randint(1, len(states))) if states and rng.random() < 0.5 else states
        phases = Phases(
            Invariant.of_states(system, sorted(reached)).formula(system), rng.randint(0, 3), rng.randint(1, 2)
        )
        try:
            written = write(tmp_path / "c.gz", Question(system, Always(0, holds)), PhaseProof(phases))
        except IncompleteError:
            continue
        except ModelError:  # a run that leaves the declared box
            assert not inside
            continue
        assert true and isinstance(written, Certificate)
        check_certificate(tmp_path / "c.gz", system)
        proved += 1
    assert proved > count // 6
