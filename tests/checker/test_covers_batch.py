"""Covers that are followed in batches of sets: as one by one, and where batches do not do, one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.checker.test_covers_check import FINE, check, grid, turning
from tests.procedures.covers.systems import loop, runs, task
from tests.slow import some_examples
from venmas import System
from venmas.checker.covers import check as checks
from venmas.checker.covers.alone import Alone
from venmas.checker.covers.batch.course import Came, Course, boxed
from venmas.checker.covers.grid import Axes, Finer, Grid
from venmas.checker.covers.paving import CrowdedError
from venmas.checker.file import KINDS
from venmas.checker.flowpipes.curves import BeyondError
from venmas.checker.format.about import About
from venmas.checker.format.header import Claim
from venmas.checker.format.lines import Lines
from venmas.checker.format.numbers import CheckError
from venmas.checker.format.rule import End
from venmas.logic import FALSE
from venmas.logic.linear import invert
from venmas.model import apply_network, argmax, clip, maximum, sin, switch, tanh, where
from venmas.model.evaluation.cuts import Fineness
from venmas.model.evaluation.simulate import Exact
from venmas.nn import Layer, Network

_followed = Alone.followed
_boxes = Course.boxes


class AloneError(Exception):
    """A set was followed by itself."""


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How many sets were followed in batches and one by one."""
    counts: Counter[str] = Counter()

    def boxes(self: Course, begin: Any, size: int, *rest: Any) -> Came:
        made = _boxes(self, begin, size, *rest)
        counts["batched"] += size
        return made

    def followed(self: Alone, *rest: Any) -> Any:
        counts["alone"] += 1
        return _followed(self, *rest)

    monkeypatch.setattr(Course, "boxes", boxes)
    monkeypatch.setattr(Alone, "followed", followed)
    return counts


@pytest.fixture
def batched(monkeypatch: pytest.MonkeyPatch) -> None:
    """All sets are followed in batches, or `AloneError` is raised."""

    def followed(*_: Any) -> Any:
        raise AloneError

    monkeypatch.setattr(checks, "_FEW", 1)
    monkeypatch.setattr(Alone, "followed", followed)


def all_kinds(smooth: bool = True) -> System:
    """A step with all that batches know."""
    system = System("kinds")
    x, y, z = (system.real(name, -9, 9) for name in "xyz")
    w = system.disturbance("w", "-0.1", "0.1")
    floats = np.random.default_rng(1)
    weights = floats.normal(size=(5, 2)).astype(np.float32).astype(float)
    network = Network((Layer(weights, np.zeros(5), "relu"), Layer(floats.normal(size=(3, 5)) / 3, np.zeros(3))))
    u = apply_network(network, (x, y))
    best = system.agent(argmax(tuple(u)), name="best")
    push = switch(best, {0: Fraction(-1, 8), 1: 0, 2: Fraction(1, 8)})
    more = sin(y) / 4 + tanh(u[0]) / 8 + x * z / 16 + x / (z + 9) if smooth else y / 2
    near = where(x + y > Fraction(1, 4), x / 2, y / 3)
    system.branch("go", {x: clip(x / 2 + push + w, -2, 2), y: more / 2, z: maximum(near, z / 2) + w})
    system.branch("stop", {x: 0, y: y / 3, z: z / 2 - 1}, when=(x >= 0) & (y <= 1))
    system.branch("turn", {x: y / 2, y: x / 2}, when=(x != z) | (y >= 0))
    system.initial(x >= -1, x <= 1, y >= -1, y <= 1, z >= 0, z <= 1)
    return system


def after(system: System, state: dict[str, Fraction]) -> Iterator[dict[str, Fraction]]:
    """The states that follow one, exactly, but for noise, which stays."""
    for branch in system.branches:
        values = Exact(state)
        if values.truth(branch.guard):
            yield {**state, **{name: values.value(expr) for name, expr in branch.updates}}


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**20), st.integers(1, 3), st.sampled_from([-8, 2, 20]), st.booleans())
def test_exact_states_are_in_the_boxes(seed: int, steps: int, fine: int, kinds: bool) -> None:
    """From points of boxes in skew coordinates, by all branches, with noise from its range in each step."""
    rng = np.random.default_rng(seed)
    axes = Axes(all_kinds(smooth=False) if kinds else loop(seed))
    system, n = axes.system, len(axes.names)
    rows = tuple(
        tuple(Fraction(float(c)) for c in row) for row in (np.eye(n) + 0.3 * rng.normal(size=(n, n))) * 2.0**fine * 8
    )
    columns = invert(rows)
    assert columns is not None
    size = 8
    middle = np.floor(rng.uniform(-1, 1, size=(size, n)) @ np.array(rows, dtype=float).T).astype(np.int64)
    wide = rng.integers(0, 3 if fine < 20 else 1 << 20, size=(size, n))
    low, high = middle - wide, middle + wide
    course = Course(axes, FALSE, 0, Fineness(4, 1, 1, 3), False, False)
    try:
        found = course.boxes(boxed(axes.names, columns, low, high), size, 1, steps, rows, lambda: None)
    except (BeyondError, CrowdedError):  # too many
        return
    for k in range(size):
        for _ in range(5):
            shares = [Fraction(float(rng.choice([0, 1, rng.random()]))) for _ in range(n)]
            at = [int(a) + int(b - a) * s for a, b, s in zip(low[k], high[k], shares, strict=True)]
            start = {
                name: sum(map(Fraction.__mul__, column, at)) for name, column in zip(axes.names, columns, strict=True)
            }
            states = [{**axes.fixed, **start}]
            for _ in range(steps):
                for state in states:
                    for name, (least, most) in axes.noise.items():
                        state[name] = least + (most - least) * Fraction(float(rng.choice([0, 1, rng.random()])))
                states = [made for state in states for made in after(system, state)]
            for state in states:
                seen = [sum(c * state[name] for c, name in zip(row, axes.names, strict=True)) for row in rows]
                assert any(
                    all(a <= v <= b for a, b, v in zip(*ends, seen, strict=True))
                    for ends in zip(found.low[found.of == k].tolist(), found.high[found.of == k].tolist(), strict=True)
                )


@pytest.mark.usefixtures("batched")
@some_examples(
    8,
    25,
    st.integers(0, 2**20),
    st.booleans(),
    st.integers(1, 4),
    st.integers(1, 6),
    st.sampled_from([-0.02, -1e-9, 0.0, 0.1]),
    st.booleans(),
)
def test_no_batch_shows_what_runs_refute(
    seed: int, smooth: bool, stride: int, along: int, margin: float, forever: bool
) -> None:
    """Random systems and coordinates, limits at and just below what runs reach, and nothing is followed alone."""
    system, rng = loop(seed, smooth), np.random.default_rng(seed)
    asked = task(system, 0, 12)
    states = runs(asked, seed, 12)
    assume(len(states) == 13)
    n = len(asked.axes.names)
    skew = (rng.normal(size=(n, n)) * 0.4 + np.eye(n)) * 8 * along / np.maximum(np.ptp(states, axis=(0, 1)), 1e-3)
    rows = tuple(tuple(str(Fraction(float(c)).limit_denominator(1000)) for c in row) for row in skew)
    reached = float(states[:, :, 0].max())
    limit = Fraction(reached) + Fraction(margin)
    text = f"AG x0 <= {limit}" if forever else f"AG[0,12] x0 <= {limit}"
    try:
        check(
            system, text, Grid(rows, (Finer(3, (1,) * n),), (), stride, 400, **FINE), "always" if forever else "bounded"
        )
    except (CheckError, AloneError):
        return
    assert reached <= limit


CLAIMS = [
    ("AG x <= 1.1", "always", True),
    ("AG x <= 0.99", "always", False),
    ("AG (x <= 1.1 & y <= 0.8)", "always", True),
    ("AG (x <= 1.1 & y <= 0.65)", "always", False),
    ("AX^1 AG[0,9] (y <= 0.85 | x >= 0.9)", "bounded", True),
    ("AX^3 AG[0,9] x <= 0.55", "bounded", True),
    ("AX^3 AG[0,9] x <= -0.3", "bounded", False),
    ("AX^2 x != 0", "bounded", False),
    ("AX^2 (x < 3 & true)", "bounded", True),
    ("AX^2 (x > 3 | false)", "bounded", False),
    ("AX^20 AG[0,3] (x <= 0.5 & !(y > 0.4))", "bounded", True),
]


@pytest.mark.parametrize(("text", "kind", "so"), CLAIMS)
@pytest.mark.parametrize("stride", [1, 3])
def test_what_batches_show_is_what_single_sets_do(
    text: str, kind: str, so: bool, stride: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same claims are accepted, and true ones with about as many boxes."""
    line, boxes = grid(stride=stride), []

    def accepted() -> bool:
        try:
            boxes.append(check(turning(), text, line, kind, inside=True).boxes)
        except CheckError:
            return False
        return True

    with monkeypatch.context() as alone:
        alone.setattr(checks, "_FEW", 1 << 30)
        assert accepted() is so
    assert accepted() is so
    assert not so or abs(boxes[0] - boxes[1]) <= 0.05 * boxes[0] + 2


@pytest.mark.usefixtures("batched")
@pytest.mark.parametrize(("text", "kind", "so"), CLAIMS)
def test_batches_alone_accept_what_is_so_and_nothing_else(text: str, kind: str, so: bool) -> None:
    if so:
        assert check(turning(), text, grid(), kind, inside=True).boxes > 2
        return
    with pytest.raises((AloneError, CheckError)):  # the first sets are looked at by themselves as well
        check(turning(), text, grid(), kind, inside=True)


@pytest.mark.usefixtures("batched")
@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.parametrize("side", [1, -1])
def test_ranges_are_looked_at_in_batches(most: int, side: int) -> None:
    """y is 1.2, or -1.2, after a step alone."""
    system = System("narrow")
    x, y = system.real("x", -9, 9), system.real("y", -most, most)
    system.branch("go", {x: 0, y: x * side * Fraction(6, 5)})
    system.initial(x >= "0.9", x <= 1, y >= 0, y <= "0.1")
    check(system, "AG[0,6] x <= 1.1", grid())
    if most > 1:
        check(system, "AG[0,6] x <= 1.1", grid(), inside=True)
        return
    with pytest.raises(AloneError):
        check(system, "AG[0,6] x <= 1.1", grid(), inside=True)


def lines_of(system: System, scale: str, stride: int = 1) -> Grid:
    n = len(Axes(system).names)
    return Grid(
        tuple(tuple(scale if i == j else "0" for i in range(n)) for j in range(n)), (), (), stride, 9999, **FINE
    )


def test_every_construct_is_followed_in_batches(told: Counter[str]) -> None:
    check(
        all_kinds(), "AG (x <= 2.2 & x >= -2.2 & y <= 2 & z <= 2)", lines_of(all_kinds(), "16"), "always", inside=True
    )
    assert told["batched"] > 10 * told["alone"]


@pytest.mark.usefixtures("batched")
@pytest.mark.parametrize(("first", "wrong"), [(True, "y >= 1"), (False, "y <= -1")])
def test_the_first_of_equal_scores_is_taken(first: bool, wrong: str) -> None:
    """x is up to 0, and is compared with 0: as the first of both scores it is the greatest where it is 0 alone."""
    system = System("ties")
    x, y = system.real("x", -9, 9), system.real("y", -9, 9)
    best = system.agent(argmax((x, 0) if first else (0, x)), name="best")
    system.branch("go", {x: x, y: switch(best, {0: 0, 1: 1})})
    system.initial(x >= -1, x <= 0, y >= 0, y <= 1)
    with pytest.raises(AloneError):
        check(system, f"AX^1 {wrong}", lines_of(system, "16"))
    check(system, "AX^1 y <= 1" if first else "AX^1 y <= 0", lines_of(system, "16"))


@pytest.mark.usefixtures("batched")
@pytest.mark.parametrize("stride", [1, 2, 4])
def test_no_more_than_there_is_is_followed(stride: int) -> None:
    """Some sets are the last of their runs, and after three steps all are."""
    system = System("ends")
    x, y = system.real("x", -9, 9), system.real("y", -9, 9)
    system.branch("go", {x: x + 1, y: y / 2}, when=x <= 2)
    system.initial(x >= 0, x <= 1, y >= 0, y <= 1)
    check(system, "AG x <= 3.2", lines_of(system, "16", stride), "always")
    with pytest.raises(AloneError):
        check(system, "AG x <= 2.9", lines_of(system, "16", stride), "always")


@pytest.mark.parametrize(("size", "unit"), [(1, 0), (10**4, 1), (10**7, 2), (10**9, None)])
def test_values_beyond_a_unit_are_followed_in_another_one(size: int, unit: int | None, told: Counter[str]) -> None:
    """The last one has no unit."""
    system = System("large")
    x, y = system.real("x", -9 * size, 9 * size), system.real("y", -9 * size, 9 * size)
    system.branch("go", {x: (x - y) * Fraction(3, 5), y: (x + y) * Fraction(3, 5)})
    system.initial(x >= Fraction(9, 10) * size, x <= size, y >= 0, y <= Fraction(1, 10) * size)
    line = lines_of(system, str(Fraction(60, size)))
    check(system, f"AG (x <= {size * 11}/10 & y <= {size})", line, "always", inside=True)
    with pytest.raises(CheckError, match="may break it"):
        check(system, f"AG x <= {size * 99}/100", line, "always", inside=True)
    assert (told["alone"] > 9 * told["batched"]) if unit is None else (told["batched"] > 9 * told["alone"])


def test_sets_in_which_a_value_may_not_exist_are_refused(told: Counter[str]) -> None:
    system = System("quotient")
    x, y = system.real("x", -9, 9), system.real("y", -9, 9)
    system.branch("go", {x: x / (y + 2), y: y - Fraction(1, 2)})
    system.initial(x >= 0, x <= 1, y >= 0, y <= 1)
    check(system, "AG[0,3] x <= 9", lines_of(system, "16"))
    with pytest.raises(CheckError, match="may be 0"):
        check(system, "AG[0,5] x <= 1000000", lines_of(system, "16"))
    assert told["batched"] > told["alone"] > 0


def test_sets_that_branches_multiply_are_refused_in_batches() -> None:
    system = System("free")
    x = system.real("x", -9, 9)
    for number in range(13):
        system.branch(f"to{number}", {x: x / 9 + Fraction(number, 3)})
    system.initial(x >= 0, x <= 1)
    with pytest.raises(CheckError, match="one set becomes more than 4096"):
        check(system, "AG[0,16] x <= 9", lines_of(system, "90", 16))


def test_sets_that_become_many_are_followed_in_smaller_batches(
    monkeypatch: pytest.MonkeyPatch, told: Counter[str]
) -> None:
    monkeypatch.setattr("venmas.checker.covers.batch.course._MOST", 64)
    system = System("threes")
    x, y = system.real("x", -9, 9), system.real("y", -9, 9)
    for number in range(3):
        system.branch(f"to{number}", {x: x / 3 + number, y: y / 2})
    system.initial(x >= 0, x <= 1, y >= 0, y <= 1)
    check(system, "AG x <= 3.2", lines_of(system, "16", 2), "always")
    assert told["batched"] > 9 * told["alone"]


def test_long_factors_of_nothing_but_zeros() -> None:
    """They were no integers of numpy's."""
    system = System("zeros")
    x, y = system.real("x", -9, 9), system.real("y", -9, 9)
    system.branch("go", {x: x / 2, y: y * 3})
    system.initial(x >= 0, x <= 1, y >= 0, y <= 0)
    rows = (("64", "0"), ("0", f"1/{10**25}"))
    check(system, "AG[0,5] x <= 2", Grid(rows, (), (), 1, 5000, **FINE))


def test_a_choice_with_many_outcomes_is_followed_one_by_one(told: Counter[str]) -> None:
    """Eight conditions of which each may hold or not make 256 sets."""
    system = System("many")
    x = system.reals("x", 3, -9, 9)
    total: Any = 0
    for number in range(8):
        side = x[0] + x[1] * (number - 3) / 4 + x[2] * (number % 3) > 0
        total = total + where(side, Fraction(number, 64), Fraction(-number, 64))
    system.branch("go", {x[0]: x[0] / 2 + total, x[1]: x[1] / 2, x[2]: x[2] / 2})
    system.initial(*(c for v in x for c in (v >= -1, v <= 1)))
    check(system, "AG[0,2] x[1] <= 1", lines_of(system, "1"))
    assert told["alone"]


@pytest.mark.usefixtures("batched")
def test_open_sets_are_told_by_their_batch() -> None:
    """One of many sets may break it."""
    axes = Axes(turning())
    wrong = checks.nnf(checks.parse_property("AG x <= 1", axes.system.vocabulary).invariant, negate=True)  # type: ignore[union-attr]
    course = Course(axes, wrong, 0, Fineness(4, 1, 1, 20), False, False)
    columns = ((Fraction(1, 60), Fraction(0)), (Fraction(0), Fraction(1, 60)))
    rows = ((Fraction(60), Fraction(0)), (Fraction(0), Fraction(60)))
    low = np.array([[k, 0] for k in range(60)])

    def followed(high: int) -> Came:
        return course.boxes(boxed(axes.names, columns, low, low + high), 60, 1, 1, rows, lambda: None)

    assert len(followed(1).low) == 60 and not followed(1).open.any()
    low[7] = 200, 9
    came = followed(1)
    assert np.flatnonzero(came.open).tolist() == [7] and sorted(came.of.tolist()) == [k for k in range(60) if k != 7]
    low[7] = 1 << 44, 9
    with pytest.raises(BeyondError):
        followed(1 << 43)


@pytest.mark.usefixtures("batched")
@pytest.mark.parametrize("semantics", ["real", "float32"])
def test_batches_are_in_the_semantics_that_is_claimed(semantics: Any) -> None:
    """x := (x / 3 + 1) x, from points just below the limit as real numbers."""
    network = Network((Layer([[1 / 3]], [0.0], "relu"), Layer([[1.0]], [1.0])))
    system = System("tight")
    x, y = system.real("x", -100, 100), system.real("y", -9, 9)
    (factor,) = apply_network(network, (x,))
    system.branch("go", {x: factor * x, y: y})
    system.initial(x == 1, y >= 0, y <= 1)
    grid = Grid(((str(1 << 34), "0"), ("0", "90")), (), (), 1, 9999, **FINE)
    text = f"AX^1 x <= {Fraction(1 / 3) + 1 + Fraction(1, 10**9)}"
    about = replace(About(Claim(text, "bounded"), system, {}), claim=Claim(text, "bounded", semantics))
    lines = Lines([grid.to_json(), End(2).to_json()])
    if semantics == "real":
        assert KINDS["covers"].check(about, lines).lines == 2
        return
    with pytest.raises(AloneError):
        KINDS["covers"].check(about, lines)
