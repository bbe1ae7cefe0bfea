"""Flows in batches of the sets of a cover: as one by one."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.checker.test_covers_batch import lines_of, told
from tests.checker.test_covers_check import check
from venmas import System
from venmas.checker.covers.batch.forms import Form, Forms
from venmas.checker.covers.batch.states import Sets
from venmas.checker.flowpipes import state as scalar
from venmas.checker.flowpipes.curves import BeyondError
from venmas.checker.format.numbers import CheckError
from venmas.model import sin
from venmas.model.evaluation.cuts import Fineness
from venmas.model.system.disturbances import drawn

__all__ = ["told"]


def flowing(extremum: bool = False) -> System:
    """A pendulum that is slowed down."""
    system = System("falls")
    x, y = system.real("x", -9, 9), system.real("y", -9, 9)
    push = system.disturbance("push", "-0.1", "0.1")
    motion = system.flow("0.1", {x: y, y: push - sin(x) - y * y * y})
    most = motion.greatest(x) if extremum else motion.end[x]
    system.branch("go", {x: most / 2 + motion.end[x] / 2, y: motion.end[y]})
    system.initial(x >= 0, x <= 1, y >= 0, y <= 1)
    return system


def test_flows_are_followed_in_batches(told: Counter[str]) -> None:
    check(flowing(), "AG[0,3] x <= 2", lines_of(flowing(), "64"))
    assert told["batched"] > 9 * told["alone"]
    with pytest.raises(CheckError, match="may break it"):
        check(flowing(), "AG[0,3] x <= 1", lines_of(flowing(), "64"))


def test_extrema_of_flows_are_followed_one_by_one(told: Counter[str]) -> None:
    check(flowing(True), "AG[0,1] x <= 2", lines_of(flowing(True), "64"))
    assert told["alone"] > 4 and not told["batched"]


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**20), st.integers(1, 2))
def test_flows_hold_what_single_points_do(seed: int, substeps: int) -> None:
    """From a point of a set, the finest enclosure of single sets meets the form of the batch for the same symbols."""
    system, rng = drawn(flowing(), 1), np.random.default_rng(seed)
    bits, size, one = 48, 4, 1 << 48
    z = (rng.uniform(-0.2, 0.2, size=(3, size, 4)) * one).astype(np.int64)
    none = np.zeros(size, dtype=np.int64)
    forms = {name: Form(part, none, 1 << 60) for name, part in zip(system.variables, z, strict=True)}
    made = Sets(system, Forms(size, bits, 3), forms, Fineness(4, substeps, 1, 20), False)
    after = made.after(system.branches[0], None)
    assert after is not None
    for row in range(size):
        symbols = [Fraction(float(s)) for s in rng.choice([-1.0, 1.0, rng.uniform(-1, 1)], 3)]
        tables = {name: form.z[row].tolist() for name, form in forms.items()}
        at = {n: (c + sum(map(Fraction.__mul__, symbols, g))) / one for n, (c, *g) in tables.items()}
        ring = scalar.Forms(120, 0)
        start = scalar.States(system, {n: ring.constant(v) for n, v in at.items()}, 0, 120, Fineness(12, 4, 1, 20))
        (point,) = start.after(system.branches[0])
        for name, form in after[0].forms.items():
            whole = form.wide(40)[row].tolist()
            centre = whole[0] + sum(g * s for g, s in zip(whole[1:4], symbols, strict=True))
            room = sum(map(abs, whole[4:])) + int(form.e[row])
            low, high = (Fraction(end, 1 << 120 - bits) for end in point.forms[name].range)
            assert centre - room <= high and low <= centre + room
            assert high - low < one >> 20 and room < one


def test_boxes_that_a_flow_may_leave_are_none() -> None:
    """x' = x^2 from 1 is beyond all numbers after a second, and about 1.18 after 0.15 s."""
    for period, most in (("0.9", None), ("0.15", 1.2)):
        system = System("square")
        x = system.real("x", -99, 99)
        system.branch("go", system.flow(period, {x: x * x}).end)
        system.initial(x == 1)
        forms = {"x": Form(np.full((2, 1), 1 << 48), np.zeros(2, dtype=np.int64), 1 << 48)}
        sets = Sets(system, Forms(2, 48, 0), forms, Fineness(2, 1, 1, 20), False)
        if most is None:
            with pytest.raises(BeyondError):
                sets.after(system.branches[0], None)
            continue
        after = sets.after(system.branches[0], None)
        assert after is not None
        low, high = (end / (1 << 48) for end in after[0].forms["x"].ends)
        assert (low <= 1 / (1 - 0.15)).all() and (high >= 1 / (1 - 0.15)).all() and (high < most).all()
