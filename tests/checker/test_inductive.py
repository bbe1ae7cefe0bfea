"""Certificates of AG p for ever: what is written is accepted, and says the truth."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

from tests.checker.finite_systems import closure, random_property, random_system
from tests.checker.test_inductive_mutations import meets
from venmas.answer import IncompleteError
from venmas.checker.file import check_certificate
from venmas.engine.certify import Certificate, certify_inductive
from venmas.logic import Always
from venmas.model.invariant import Invariant
from venmas.question import Question


def test_closures_of_random_systems_are_certified_exactly_where_the_property_holds(tmp_path: Path) -> None:
    rng, seen = Random(11), Counter[str]()
    for _ in range(150):
        system = random_system(rng)
        states, inside = closure(system)
        holds = random_property(rng, system)
        true = inside and all(meets(system, holds, s) for s in states)
        asked = Question(system, Always(0, holds))
        invariant = Invariant.of_states(system, sorted(states))
        try:
            written = certify_inductive(asked, invariant, tmp_path / "c.gz", {})
        except IncompleteError:
            written = None
        assert (written is not None) == true
        if isinstance(written, Certificate):
            assert check_certificate(tmp_path / "c.gz", system).lines == written.lines - 1
        seen["true" if true else "false"] += 1
    assert min(seen.values()) > 30, seen
