"""Tubes of systems with several branches: all runs are held, guards are looked at together, sets are joined."""

from __future__ import annotations

from tests.needs import needs

needs("scipy")

from contextlib import suppress
from fractions import Fraction
from itertools import product
from math import inf
from pathlib import Path

import numpy as np
import pytest

from tests.corpus.smooth_branching import check
from tests.slow import some_slow
from venmas import verify
from venmas.answer import Proved, Unknown, Violated
from venmas.bounds.affine.forms import Form, Forms
from venmas.bounds.affine.halves import where
from venmas.bounds.affine.join import joined, near
from venmas.bounds.affine.step import Values
from venmas.bounds.affine.tube import Tube
from venmas.budget import Budget, BudgetError
from venmas.errors import ModelError
from venmas.logic import nnf
from venmas.model import System, cos, exp, held, sin, sqrt, switch, tanh
from venmas.model.evaluation.cuts import Fineness
from venmas.model.evaluation.simulate import Batch, step_batch
from venmas.model.witness.build import explain
from venmas.procedure import Run
from venmas.procedures.flowpipes.procedure import FLOWPIPES
from venmas.question import Question, read_property

FINE = Fineness(4, 1, 1, 20)
WAYS = [(1, 0), (0, 1), (1, 1), (1, -1), (2, 1), (-1, 3)]


def decided(system: System, formula: str, seconds: float = 20.0) -> object:
    question = Question(system, read_property(system, formula))
    assert FLOWPIPES.accepts(question, Run()) is None
    return FLOWPIPES.start(question, Run()).advance(Budget(seconds))


def two(guarded: bool = False) -> System:
    """x' = sin(x) / 2 or x**2 / 4 - 1/4; guarded: the first one above 0 and the second one elsewhere."""
    system = System("two")
    x = system.real("x", -9, 9)
    system.branch("sine", {x: sin(x) / 2}, when=x > 0 if guarded else 1 + 0 * x > 0)
    system.branch("square", {x: x * x / 4 - Fraction(1, 4)}, when=-2 * x >= 0 if guarded else 1 + 0 * x > 0)
    system.initial(x >= -1, x <= 1)
    return system


@pytest.mark.parametrize("sets", [0, 3])
@pytest.mark.parametrize("guarded", [False, True])
def test_sets_hold_all_runs(sets: int, guarded: bool) -> None:
    """Every run by every word of branches, with and without joins; what is not joined is one set a word."""
    system, steps = two(guarded), 5
    tube = Tube(system, [{"x": (Fraction(-1), Fraction(1))}], Fineness(4, 1, 1, 20, sets))
    runs = [(np.linspace(-1, 1, 201), {0})]
    for _ in range(steps):
        link, after = tube.advance(), []
        for (x, rows), branch in product(runs, range(2)):
            new, enabled = step_batch(system, {"x": x}, np.full(len(x), branch))
            edges = zip(link.before.tolist(), link.branch.tolist(), link.after.tolist(), strict=True)
            # in the sets that follow along the branches that were taken, not in any
            after.append((new["x"][enabled], {row for begin, by, row in edges if begin in rows and by == branch}))
        runs = [(x, rows) for x, rows in after if len(x)]
        low, high = tube.ends()["x"]
        for x, rows in runs:
            held = [(low[row] - 1e-12 <= x) & (x <= high[row] + 1e-12) for row in rows]
            assert np.any(held, axis=0).all()
    assert len(tube.boxes) == (3 if sets else 2**steps) or (guarded and not sets)
    reached = max(float(x.max()) for x, _ in runs), min(float(x.min()) for x, _ in runs)
    assert tube.ends()["x"][1].max() < reached[0] + 0.2 and tube.ends()["x"][0].min() > reached[1] - 0.2


@pytest.mark.parametrize(
    ("formula", "verdict"),
    [
        ("AG^4 (x < 0.421)", Proved),  # sin(1) / 2 = 0.42073..
        ("AG^4 (x < 0.420)", Violated),
        ("AX^2 (x < 0.21)", Proved),
        ("EX (x > 0.4) | EX (x <= 0.4)", Proved),
        ("AX EX (x < 0)", Proved),  # by the square
        ("AX EX (x > 0)", Violated),
        ("EF^4 (x < -0.2)", Proved),
        ("AF^3 (x < -0.2)", Violated),
        ("EG^3 (x > -0.26)", Proved),
        ("AX AX EX (x > -0.2501 & x < -0.2)", Proved),
    ],
)
def test_formulas_of_two_branches(formula: str, verdict: type) -> None:
    assert isinstance(decided(two(), formula), verdict)


def test_guards_that_leave_none_out_are_known_to() -> None:
    """x > 0 and -2 x >= 0: one of them holds in every state, though both are open in a box around 0."""
    assert isinstance(decided(two(True), "AG^3 EX (x < 9)"), Proved)
    assert isinstance(decided(two(True), "EF^1 (x < 0.43)"), Proved)
    above = two(True)
    above.initial_set.regions.clear()
    above.initial(above["x"] >= Fraction(1, 2), above["x"] <= 1)
    assert isinstance(decided(above, "EX (x > 0.2)"), Proved)
    assert isinstance(decided(above, "EX (x < 0.2)"), Violated)  # there is no successor by the other branch
    gap = System("gap")
    x = gap.real("x", -9, 9)
    gap.branch("up", {x: sin(x)}, when=x > 0)
    gap.branch("down", {x: tanh(x)}, when=x < 0)
    gap.initial(x >= -1, x <= 1)
    assert isinstance(decided(gap, "AG^1 EX (x < 9)"), Violated | Unknown)  # no successor from 0 alone
    assert isinstance(decided(gap, "AG^2 (x < 0.8415)"), Proved)
    report = verify(gap, "AG^2 (x < 0.8415)", timeout=10)
    assert report.satisfied and any("deadlock" in note for note in report.notes)
    assert not any("deadlock" in note for note in verify(two(True), "AG^2 (x < 0.43)", timeout=10).notes)


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("first", [True, False])
def test_guards_that_are_constants(constant: bool, first: bool) -> None:
    system = System("constant")
    x = system.real("x", -9, 9)
    guards = {"sine": 0 * x >= 0, "half": (0 * x >= 0) if constant else (x - x > 1)}
    for name in guards if first else reversed(guards):
        system.branch(name, {x: sin(x) if name == "sine" else x / 2}, when=guards[name])
    system.initial(x >= 1, x <= 2)
    assert verify(system, "AX^2 (x < 1.2)", timeout=10).satisfied
    assert verify(system, "EX (x < 0.6)" if constant else "AX (x > 0.8)", timeout=10).verdict == (
        "violated" if constant else "satisfied"
    )  # a half of 2 is 1


def test_modes_stay_apart() -> None:
    """A thermostat of two modes; guards compare the mode, and what cools never counts as what heats."""
    system = System("modes")
    t, mode = system.real("t", -50, 80), system.integer("mode", 0, 1)
    rate = switch(mode, {0: -t / 10, 1: 4 - t / 10})
    system.branch("stay", system.flow("0.5", {t: held(rate)}).end)
    system.branch("heat", {mode: 1}, when=(mode == 0) & (t < 20))
    system.branch("cool", {mode: 0}, when=(mode == 1) & (t > 18))
    system.initial(t >= 19, t <= 20, mode == 0)
    assert isinstance(decided(system, "AG^6 (t > 13 & t < 25)"), Proved)
    assert isinstance(decided(system, "AG^2 (mode == 0 | t > 18)"), Proved)  # from 19 * 0.95 on
    assert isinstance(decided(system, "AG^6 (t < 24)"), Violated)
    assert isinstance(decided(system, "AX^3 (t > 18.5)"), Violated)


def test_what_one_branch_can_not_compute_does_not_spoil_the_others() -> None:
    system = System("root")
    x = system.real("x", -9, 9)
    system.branch("root", {x: sqrt(x)}, when=x >= 0)
    system.branch("turn", {x: exp(x) / 4}, when=x < 0)
    system.initial(x >= -1, x <= -Fraction(1, 2))
    assert isinstance(decided(system, "AG^3 (x < 0.7)"), Proved)
    for bound, others in product((0, 5), (False, True)):  # a guard without a value, however it is compared
        wrong = System("wrong")
        y = wrong.real("y", -9, 9)
        if others:
            wrong.branch("go", {y: sin(y)})
        wrong.branch("root", {y: cos(y)}, when=sqrt(y + 1) > bound)
        wrong.initial(y >= -2, y <= 2)
        found = None
        with suppress(ModelError, BudgetError):
            found = decided(wrong, "AG^1 (y < 5)", 2.0)
        assert not isinstance(found, Proved)


def test_a_witness_is_found_whichever_branches_are_tried_first() -> None:
    system = two()
    target = nnf(read_property(system, "AX^2 (x < 0.2)").formula, negate=True)
    for hints in (["sine", "sine"], ["square", "square"], ["square"], ["no branch"], None):
        witness = explain(system, target, {"x": Fraction(1)}, hints=hints)
        assert witness is not None and [n.children[0][0] for n in witness.nodes[:2]] == ["sine", "sine"]
        assert explain(system, target, {"x": Fraction(1, 8)}, hints=hints) is None


def test_long_horizons_are_joined() -> None:
    """Two branches for 20 steps: a million words. What both do alone stays below the bound, by their fixed points."""
    system = System("long")
    x, y = system.real("x", -9, 9), system.real("y", -9, 9)
    system.branch("left", {x: x / 2 + sin(y) / 4, y: y / 2})
    system.branch("right", {x: x / 2 - cos(x) / 4, y: y / 2 + x / 4})
    system.initial(x >= 0, x <= Fraction(1, 5), y == 1)
    assert isinstance(decided(system, "AG^20 (x < 0.5 & x > -0.75)"), Proved)
    answer = decided(system, "AG^20 (x > -0.3)")
    assert isinstance(answer, Violated)
    assert "right" in {branch for node in answer.witness.nodes for branch, _ in node.children}


def test_joined_rows_hold_what_they_are_made_of() -> None:
    rng, ring = np.random.default_rng(5), Forms(40, 6)
    ring.broken[7] = True
    z = rng.normal(size=(40, 7)) * 10.0 ** rng.integers(-3, 4, (40, 1))
    forms = {
        "x": Form(z, rng.random(40)),
        "n": Form(np.rint(z[:, :1]), np.zeros(40)),
        "c": Form(np.full((40, 1), 0.1), np.zeros(40)),
    }
    boxes = np.repeat([0, 1], [30, 10])
    groups = near(forms, boxes, 12)
    assert sorted(np.concatenate(groups).tolist()) == list(range(40))
    assert all(len({int(boxes[i]) for i in group}) == 1 for group in groups)
    assert len(groups) == 22 and sum(len(group) == 1 for group in groups) >= 10
    made, found = joined(ring, forms, groups)
    assert found["c"].radius.max() == 0.0 and made.broken.sum() == 1
    for number, group in enumerate(groups):
        for row in group:
            for _ in range(20):
                s = rng.choice([-1.0, 1.0, 0.3], size=6)
                value = z[row, 0] + z[row, 1:] @ s + forms["x"].e[row] * rng.choice([-1, 1])
                # the same symbols: what else it takes is in those of its own
                middle = found["x"].z[number, 0] + found["x"].z[number, 1:7] @ s
                room = np.abs(found["x"].z[number, 7:]).sum()
                assert abs(value - middle) <= room + 1e-14 * np.abs(z[row]).sum()  # what the test itself rounds
            low, high = found["n"].ends
            assert low[number] <= forms["n"].z[row, 0] <= high[number]
    spoilt = {"x": Form(np.where(np.arange(40)[:, None] == 3, inf, z), forms["x"].e)}
    _, found = joined(ring, spoilt, near(spoilt, boxes, 12))
    assert np.isinf(found["x"].ends[1]).any()


@pytest.mark.parametrize("seed", some_slow(range(12), range(0, 12, 3)))
def test_random_systems_beside_sampled_runs(seed: int, tmp_path: Path) -> None:
    verdict, wrong = check(seed, tmp_path)
    assert not wrong, (verdict, wrong)


def test_guards_keep_the_part_where_they_hold() -> None:
    """Points that meet a guard are in the forms that are left, also by what these say of both variables together."""
    rng, system = np.random.default_rng(3), System("half")
    x, y = system.real("x", -99, 99), system.real("y", -99, 99)
    guards = [x - y > 0, (x + y <= 1) & (x >= 0), x * y >= 1, sin(x) < -y, x != y, x + 2 * y == 0]
    smaller = 0
    for guard, turn in product(guards, range(8)):
        ring, z, e = Forms(1, 4), rng.normal(size=(2, 1, 5)), 0.3 * (turn % 2) * (guard is not guards[-1])
        forms = {n: Form(z[i], np.array([e])) for i, n in enumerate("xy")}
        found = where(Values(ring, forms, FINE), guard, FINE)
        sums = [(ring.combine([(Fraction(a), found["x"]), (Fraction(b), found["y"])]), a, b) for a, b in WAYS]
        smaller += sum(float(found[n].radius[0]) < 0.95 * float(forms[n].radius[0]) for n in "xy")
        for _ in range(500):
            s = rng.choice([-1.0, 1.0, rng.uniform(-1, 1)], size=4)
            if guard is guards[-1]:  # the last symbol such that it is met
                c = z[0, 0] + 2 * z[1, 0]
                s[3] = -(c[0] + c[1:4] @ s[:3]) / c[4]
                if abs(s[3]) > 1:
                    continue
            at = {n: forms[n].z[0, 0] + forms[n].z[0, 1:] @ s + rng.choice([-e, e]) for n in "xy"}
            if guard is guards[-1] or Batch({n: np.array([v]) for n, v in at.items()}).truth(guard)[0]:
                for form, a, b in sums:
                    low, high = form.ends
                    assert low[0] - 1e-12 <= a * at["x"] + b * at["y"] <= high[0] + 1e-12
    assert smaller > 10


def test_a_guard_at_the_edge_leaves_little() -> None:
    """x from 0 to 1, y = x + noise: where x >= 3/4, y is not below 3/4 less the noise."""
    ring = Forms(1)
    x = ring.symbol(np.array([0.0]), np.array([1.0]))
    y = ring.add(x, ring.symbol(np.array([-0.1]), np.array([0.1])))
    system = System("edge")
    v = system.real("x", -9, 9)
    found = where(Values(ring, {"x": x, "y": y}, FINE), v >= Fraction(3, 4), FINE)
    (x_low, x_high), (y_low, y_high) = found["x"].ends, found["y"].ends
    assert (
        0.7499 < x_low[0] <= 0.75 and 1 <= x_high[0] < 1.001 and 0.6499 < y_low[0] <= 0.65 and 1.1 <= y_high[0] < 1.101
    )


def test_formulas_over_noise_and_branches() -> None:
    system = System("noisy")
    x = system.real("x", -9, 9)
    w = system.disturbance("w", -Fraction(1, 10), Fraction(1, 10))
    system.branch("sine", {x: sin(x) / 2 + w})
    system.branch("cosine", {x: cos(x) / 4 + w * x})
    system.initial(x >= 0, x <= 1)
    assert verify(system, "AG^3 (x < 0.53)", timeout=20).satisfied
    report = verify(system, "AG^3 (x < 0.51)", timeout=20)
    assert report.violated and report.witness is not None
    assert verify(system, "EF^3 (x < 0)", timeout=20).satisfied
    assert verify(system, "EX (x < 0)", timeout=20).violated


def test_what_is_not_linear_is_measured_and_asked_about() -> None:
    """A distance as a proposition: its step of measuring is a branch with a guard."""
    system = System("far")
    x, y = system.real("x", -9, 9), system.real("y", -9, 9)
    system.proposition("near", x * x + y * y < Fraction(9, 10))
    system.branch("go", {x: x / 2 + sin(y) / 2, y: -x / 2})
    system.initial(x >= Fraction(1, 2), x <= Fraction(9, 10), y >= 0, y <= Fraction(1, 4))
    assert verify(system, "AG^3 near", timeout=10).satisfied
    assert verify(system, "AX (near & !near | x < 0.5)", timeout=10).violated
