"""What some noise brings about for ever: few values of it are chosen, and nothing is proved that noise cannot do."""

from __future__ import annotations

import copy
import gzip
import json
from collections import Counter
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.procedures.forever import loops
from venmas import System, verify
from venmas.answer import Unknown
from venmas.checker.file import check_certificate, check_claim, opened
from venmas.errors import InputError, ModelError, Reason
from venmas.model import where
from venmas.model.system.disturbances import fixed
from venmas.procedures.forever.procedure import ForeverSession

HALF, GUST = Fraction(1, 2), Fraction(1, 50)


def pushed(noise: Fraction | int = GUST) -> System:
    """The loop that a sine draws to 0, with a push that keeps it away, and a gust."""
    system = loops.smooth(noise)
    x = system["x"]
    calm = dict(system.branches[0].updates)["x"]
    system.branch("push", {x: calm + Fraction(1, 4)})  # type: ignore[dict-item]
    return system


@pytest.mark.parametrize("text", ["EF high", "EG warm", "AG EF low", "EF EG t > 35/2", "E(warm U high)"])
def test_noise_brings_about_what_is_certified(text: str, tmp_path: Path) -> None:
    report = verify(loops.thermostat(HALF), text, timeout=120, certificate=tmp_path / "c.gz")
    assert report.satisfied and report.basis == "exact" and report.certificate is not None, report.notes
    check_certificate(tmp_path / "c.gz", loops.thermostat(HALF))


@pytest.mark.parametrize("text", ["AF low", "AG AF low", "AG (high -> AF low)"])
def test_noise_prevents_what_runs_without_it_show(text: str) -> None:
    assert verify(loops.thermostat(), text, timeout=120).satisfied
    report = verify(loops.thermostat(HALF), text, timeout=120)
    assert report.violated and report.witness is not None and report.witness.stay
    assert report.replay is not None and report.replay.confirmed


@pytest.mark.parametrize(("noise", "text"), [(0, "EG x >= 1/3"), (GUST, "EG x >= 1/3"), (GUST, "EF x <= 1/4")])
def test_smooth_systems_choose_branches_and_noise(noise: Fraction | int, text: str, tmp_path: Path) -> None:
    report = verify(pushed(noise), text, timeout=120, certificate=tmp_path / "c.gz")
    assert report.satisfied and report.certificate is not None, (report.message, report.notes)
    check_certificate(tmp_path / "c.gz", pushed(noise))
    assert verify(pushed(noise), "AF x <= 1/4", timeout=120).violated


def walk(rng: Random) -> System:
    """A walk over a few integers, in which the sign of noise has a say in each step."""
    system = System("walk")
    x = system.integer("x", 0, 5)
    w = system.disturbance("w", -1, 1)
    up = w > 0
    for name in ("first", "second")[: rng.randint(1, 2)]:
        moved = x + where(up, rng.choice((-1, 0, 1)), rng.choice((-1, 0, 1)))
        if rng.random() < 0.5:
            moved = moved + where(x >= rng.randint(1, 4), -1, 0)
        clipped = where(moved < 0, 0, where(moved > 5, 5, moved))
        system.branch(name, {x: clipped}, when=(x >= rng.randint(-1, 2)) if rng.random() < 0.3 else True)
    low = rng.randint(0, 5)
    system.initial(x >= low, x <= min(5, low + 1))
    return system


@pytest.mark.parametrize("count", [5, pytest.param(14, marks=pytest.mark.slow)])
def test_walks_agree_with_all_states_and_signs(count: int) -> None:
    """Noise of which the sign alone counts is two branches for each, which are looked at state by state."""
    rng, seen = Random(3), Counter[str]()
    for _ in range(count):
        system = walk(rng)
        p, q = (f"x {rng.choice(('<=', '>='))} {rng.randint(1, 4)}" for _ in range(2))
        shape = rng.choice(("EF q", "EG p", "AG EF q", "AF q", "AG AF q", "E(p U q)", "EF EG p", "AG (p -> EF q)"))
        text = shape.replace("p", f"({p})").replace("q", f"({q})")
        truth = verify(fixed(system, [[Fraction(-1)], [Fraction(1)]]), text).verdict
        found = verify(system, text, timeout=30).verdict
        assert found in (truth, "unknown"), (text, truth, found)
        seen[f"{truth}, {found}"] += 1
    assert min(seen["satisfied, satisfied"], seen["violated, violated"]) >= count // 4, seen


def test_choices_are_values_of_the_noise() -> None:
    for choices in ([[HALF * 3]], [[HALF, HALF]], [[]]):
        with pytest.raises(ModelError, match="choice of noise"):
            fixed(loops.thermostat(HALF), choices)


def test_certificates_with_other_choices_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ForeverSession, "_on_cells", lambda *_: Unknown(Reason.OPEN, ""))  # of which any choice may do
    assert verify(loops.thermostat(HALF), "EF EG t > 35/2", timeout=120, certificate=tmp_path / "c.gz").satisfied
    lines = gzip.decompress((tmp_path / "c.gz").read_bytes()).splitlines()
    rows: list[dict[str, Any]] = [json.loads(line) for line in lines]

    def accepted(rows: list[dict[str, Any]], noise: Fraction = HALF) -> bool:
        try:
            check_claim(*opened(rows), loops.thermostat(noise))
        except InputError:
            return False
        return True

    assert accepted(rows)
    places = [i for i, row in enumerate(rows) if row.get("choices")]
    assert places
    for place in places:
        others: list[list[list[str]]] = [[], [["-3/5"]], [["-1/2", "0"]], [[]], [["x"]]]
        for choices in [*others, *([[["1/2"]], [["0"]]] if "EX" in rows[place]["formula"] else [])]:
            mutant = copy.deepcopy(rows)
            mutant[place]["choices"] = choices
            assert not accepted(mutant), choices
        mutant = copy.deepcopy(rows)  # what is chosen is not what all noise does
        mutant[place]["formula"] = mutant[place]["formula"].replace("EX", "AX").replace("E(", "A(")
        assert mutant != rows
        assert not accepted(mutant)
    ends = [i for i, row in enumerate(rows) if row.get("rule") == "end"]
    for end in ends:  # each proof is needed: also that no noise leads out of the box
        begin = max((i for i in range(end) if rows[i].get("rule") in ("end", "bounded")), default=0) + 1
        mutant = [*rows[:begin], *rows[end + 1 :]]
        mutant[-1] = {**mutant[-1], "lines": len(mutant) - 1}
        assert not accepted(mutant)
    assert not accepted(rows, Fraction(1, 4))


def test_choices_where_an_action_reads_noise(tmp_path: Path) -> None:
    system = System("pushed")
    x = system.real("x", -4, 4)
    w = system.disturbance("w", -1, 1)
    push = system.agent(where(x + w >= 0, -1, 1), name="push")
    system.branch("go", x=x / 2 + push)
    system.initial(x >= 0, x <= 1)
    certified = 0
    for text in ("EG x >= 0", "EF x >= 1.4", "AG EF x >= 1", "EF x <= -1/2"):
        report = verify(system, text, timeout=5, certificate=tmp_path / "c.gz")
        if report.satisfied and report.certificate is not None:
            certified += check_certificate(tmp_path / "c.gz", system) is not None
    assert certified


def test_too_many_choices_are_refused() -> None:
    system = System("many")
    x = system.real("x", 0, 1)
    w = system.disturbance("w", 0, 1)
    for number in range(20):
        system.branch(f"b{number}", x=(x + w) / 2)
    with pytest.raises(ModelError, match="with choices"):
        fixed(system, [(Fraction(1, 2),)] * 1000)
