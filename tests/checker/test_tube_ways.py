"""AX over sets that guards split: each group of branches can be taken by some states, and gaps between guards show."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from random import Random

import pytest

from venmas import System, verify
from venmas.checker.exact.initial import initial_box
from venmas.checker.file import check_certificate
from venmas.checker.flowpipes.target import states_of
from venmas.checker.flowpipes.ways import ways
from venmas.model import sin
from venmas.model.evaluation.cuts import Fineness
from venmas.model.expressions.conditions import Condition
from venmas.model.expressions.expr import Expr

FINE = Fineness(order=4, substeps=1, slices=1, symbols=20)


def two(gap: str = "0") -> System:
    """To the right from below, to the left from above, and nowhere from between."""
    system = System("two")
    x = system.real("x", -4, 4)
    system.branch("right", {x: x / 2 - sin(x) / 8 + Fraction(1, 2)}, when=x <= Fraction(1, 4))
    system.branch("left", {x: x / 2 + sin(x) / 8 - Fraction(1, 2)}, when=-2 * x < -Fraction(1, 2) - 2 * Fraction(gap))
    system.branch("off", {x: 2 + sin(x) / 8}, when=x > Fraction(1, 5))
    system.initial((x >= -1) & (x <= 1))
    return system


def test_what_some_run_does_is_shown_where_guards_split_a_set(tmp_path: Path) -> None:
    path = tmp_path / "proof"
    report = verify(two(), "EG^6 (x <= 1.2 & x >= -1.2)", certificate=path, workers=1)
    assert report.verdict == "satisfied" and not report.notes
    assert check_certificate(path, two()).leaves == 1
    assert verify(two(), "AG^6 (x <= 1.2 & x >= -1.2)", workers=1).verdict == "violated"


def test_a_gap_between_guards_is_seen() -> None:
    """In it only the branch that leads off can be taken."""
    assert verify(two("0.01"), "EG^2 (x <= 1.2 & x >= -1.2)", workers=1).verdict == "violated"
    system = two("0.01")
    box = initial_box(system, system.regions[0])
    assert box is not None
    groups = ways(states_of(system, box, 60, FINE), system.branches)
    assert ["off"] in [[branch.name for branch in group] for group in groups]


@pytest.mark.parametrize("seed", range(20))
def test_from_every_state_all_branches_of_one_group_can_be_taken(seed: int) -> None:
    rng = Random(seed)
    system = System("random")
    x, y = system.real("x", -2, 2), system.real("y", -2, 2)
    compared: list[Expr] = [x, x - y, 2 * y + 1, x * y, sin(x)]

    def condition() -> Condition:
        expr = rng.choice(compared) * rng.choice((1, -1, 3, Fraction(-1, 2)))
        end = rng.choice((0, 0, 1))
        return rng.choice((expr <= end, expr < end, expr >= end, expr > end))

    for i in range(4):
        guard = condition()
        for _ in range(rng.randint(0, 2)):
            guard = guard & condition() if rng.random() < 0.5 else guard | condition()
        system.branch(f"b{i}", {x: x}, when=guard)
    low, high = sorted(Fraction(rng.randint(-8, 8), 8) for _ in range(2))
    system.initial((x >= low) & (x <= high) & (y >= low) & (y <= high))
    box = initial_box(system, system.regions[0])
    assert box is not None
    groups = [{branch.name for branch in group} for group in ways(states_of(system, box, 60, FINE), system.branches)]
    for _ in range(60):
        point = {
            n: low + (high - low) * rng.choice((Fraction(0), Fraction(1), Fraction(rng.randint(0, 16), 16)))
            for n in "xy"
        }
        state = states_of(system, tuple((point[n], point[n]) for n in "xy"), 200, FINE)
        truths = {branch.name: state.truth(branch.guard) for branch in system.branches}
        possible = {name for name, truth in truths.items() if truth is not False}
        assert any(group <= possible for group in groups)
