"""Verdicts split by abstract start: which starts lead to an unsafe state, against looking at every state."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.random_policies import State, holds, initial_states, random_system, successors
from venmas import System, verify
from venmas.logic import Not, parse
from venmas.model.expressions.functions import where


def endangered(system: System, start: State) -> bool:
    """Is a bad state reached from the start?"""
    seen, waiting = {start}, [start]
    while waiting:
        state = waiting.pop()
        if holds(system, system.propositions["bad"], state):
            return True
        new = {after for _, after in successors(system, state) if after is not None} - seen
        seen |= new
        waiting += new
    return False


@pytest.mark.parametrize("first", range(0, 40, 10))
def test_starts_are_told_apart_as_they_are(first: int) -> None:
    for seed in range(first, first + 10):
        system = random_system(np.random.default_rng(seed))
        asked = f"AG {Not(system.propositions['bad'])}"
        report = verify(
            system,
            asked,
            mode="abstraction",
            tune={"predicates.starts": "split", "predicates.slice": ("on", "off")[seed % 2]},
        )
        assert report.invariant is not None, report.message
        found = report.invariant["starts"]
        bad = {s for s in initial_states(system) if endangered(system, s)}
        assert report.violated is bool(bad) and found["open"] == 0
        assert found["safe"] + len(found["unsafe"]) == found["abstract"]
        conditions = [parse(text, system.vocabulary) for text in found["unsafe"]]
        for condition in conditions:
            assert any(holds(system, condition, s) for s in bad)
        assert all(any(holds(system, c, s) for c in conditions) for s in bad)


def test_the_rest_is_proved_with_a_certificate(tmp_path: Path) -> None:
    """What was left out is said as a condition, so that the others are an initial set of their own."""
    s = System("three")
    x, y = s.integer("x", 0, 9), s.integer("y", 0, 3)
    s.branch("go", x=x + 1, y=where(y >= 2, y - 1, y), when=(y >= 1) & (x <= 8))
    s.branch("rest", when=y == 0)
    s.initial(x <= 2)
    report = verify(s, "AG x <= 6", tune={"predicates.starts": "split"})  # of mode invariant, abstraction alone does it
    assert report.violated and report.decided_by == "predicate-abstraction" and report.invariant is not None
    found = report.invariant["starts"]
    assert found["safe"] >= 1 and found["unsafe"]
    left = " & ".join(["x <= 2", *(f"!({text})" for text in found["unsafe"])])
    rest = s.starting(parse(left, s.vocabulary))
    assert verify(rest, "AG x <= 6", certificate=tmp_path / "c.gz").certificate is not None


def test_when_time_is_over_what_is_known_is_told() -> None:
    """A start of many is unsafe; the others take longer than there is time for."""
    s = System("long")
    x, y = s.integer("x", 0, 300_000), s.integer("y", 0, 1)
    z = s.integer("z", 0, 300_000)
    s.branch("go", x=x + 1, when=(y == 0) & (x <= 20))
    s.branch("both", x=x + 1, z=z + 1, when=(y == 1) & (x <= 299_999) & (z <= 299_999))
    s.initial(x == 0, z == 0)
    asked = "AG !(x == 2 & z == 0 | x == 299999 & z == 299998)"
    report = verify(
        s, asked, mode="abstraction", tune={"predicates.starts": "split", "predicates.search": "breadth"}, timeout=2
    )
    assert report.violated and report.invariant is not None
    found = report.invariant["starts"]
    assert (found["abstract"], found["open"], len(found["unsafe"])) == (2, 1, 1)
