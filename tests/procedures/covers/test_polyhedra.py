"""Template polyhedra: they hold all sampled runs, prove nothing that runs refute, and what comes of noise."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.procedures.covers.systems import chain, loop, runs, task
from tests.procedures.covers.test_covers import answer
from tests.slow import some_examples, some_slow
from venmas import System, verify
from venmas.answer import Proved, Unknown
from venmas.bounds.affine.forms import Form, Forms
from venmas.bounds.rounding import Bools, Floats, Ints
from venmas.budget import Budget, BudgetError
from venmas.checker.covers.extremes import Extremes
from venmas.checker.covers.paving import SIDE, paved
from venmas.checker.covers.polyhedron import MOST_DIRECTIONS, STEEPEST
from venmas.checker.file import check_certificate
from venmas.engine.modes import MODES, Mode, Turn, modes
from venmas.logic import FALSE, Atom
from venmas.logic.linear import Comparison, LinearExpr, Relation
from venmas.model import maximum
from venmas.procedures.covers.following import Leg
from venmas.procedures.covers.frame import directions, frames
from venmas.procedures.covers.layers import CoarseError
from venmas.procedures.covers.polyhedra import Polyhedra, Toward
from venmas.procedures.covers.procedure import POLYHEDRA

STEPS = 10


def rooms(count: int = 4) -> System:
    """Rooms in a row that warm each other, the first by a heater, with noise in all: cells are narrower than that."""
    system = System("rooms")
    t = [system.real(f"t{i}", -9, 9) for i in range(count)]
    w = [system.disturbance(f"w{i}", "-1/32", "1/32") for i in range(count)]
    heat = maximum(1 - t[0], 0) / 4 - maximum(t[0] - 1, 0) / 4
    after = {x: x * Fraction(5, 8) + w[i] for i, x in enumerate(t)}
    for i, x in enumerate(t):
        after[x] += t[max(i - 1, 0)] / 8 + t[min(i + 1, count - 1)] / 8 + (0 if i else heat)
    system.branch("go", after)
    system.initial(*(row for x in t for row in (x >= "0.5", x <= 1)))
    return system


def outside(states: Floats, one: Polyhedra) -> int:
    """How many states, (runs, names), are in no box of what is reached by now."""
    sets, at = one._known or one._sets, one._frame.seen(states)
    low, high = sets.low[:, None] - 1e-6, sets.high[:, None] + 1e-6
    return int((~((low <= at) & (at <= high)).all(2).any(0)).sum())


@some_examples(
    13, 40, st.integers(0, 2**20), st.booleans(), st.booleans(), st.integers(1, 3), st.integers(0, 2), st.integers(1, 6)
)
def test_polyhedra_hold_all_runs(seed: int, rows: bool, smooth: bool, stride: int, which: int, along: int) -> None:
    """Layer by layer, in parts of a second, and with the sets of each step alone."""
    system = chain(seed) if rows else loop(seed, smooth)
    asked = task(system, 99, 100)
    states = runs(asked, seed, STEPS + stride)
    if len(states) == 1 or not asked.axes.names:
        return
    suggested = frames(asked.axes.names, states)
    one, budget = Polyhedra(asked, suggested[which % len(suggested)], stride, along, states), Budget(1.0)
    with suppress(BudgetError, CoarseError):
        while one.step + stride <= STEPS:
            done = budget.spend(0.02, one.advance)
            if done:
                break
            if one.step < len(states):
                assert outside(states[one.step], one) == 0


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**20), st.integers(1, 3), st.booleans(), st.sampled_from([3, 40, 1000]))
def test_extremes_are_those_of_all_sets(seed: int, n: int, wrong: bool, batch: int) -> None:
    """With fewer that are followed, whatever is made of coarse ones, and all that are open."""
    rng = np.random.default_rng(seed)
    low = rng.integers(-60, 60, size=(600, n))
    sets = paved(low, low + rng.integers(0, 9, size=(600, n)))
    rows, bent = rng.integers(-3, 4, size=(5, n)), rng.integers(0, 30, size=5)

    def images(low: Ints, high: Ints) -> tuple[Ints, Bools]:
        """Ends that are no less for wider sets, and sets near a place that are open."""
        ends = np.maximum(rows * low[:, None], rows * high[:, None]).sum(2) + bent * (high - low).max(1)[:, None] // 8
        return ends, (low <= 3).all(1) & (high >= 1).all(1) & wrong

    one = Extremes(sets, 5, batch, fixed=int(rng.integers(0, n + 1)))
    while one.more():
        piece = one.left.popleft()
        assert 0 < len(piece[1]) <= batch
        one.add(piece, *images(*one.sides(piece)))
    ends, several = images(sets.low, sets.high)
    assert (several[one.open].all() and len(one.open) > 0) if several.any() else not len(one.open)
    if not several.any():
        assert np.array_equal(one.ends, ends.max(0))
    assert not one.none


def test_few_sets_of_many_are_followed() -> None:
    """A linear image of a cube goes farthest in its corners."""
    low = np.stack(np.meshgrid(*[np.arange(0, 12 * SIDE, SIDE)] * 3), -1).reshape(-1, 3)
    one, rows, followed = Extremes(paved(low, low + SIDE), 2, 50), np.array([[1, 2, 3], [-1, 1, 0]]), 0
    while one.more():
        piece = one.left.popleft()
        first, last = one.sides(piece)
        followed += len(first)
        ends = np.maximum(rows * first[:, None], rows * last[:, None]).sum(2)
        one.add(piece, ends, np.zeros(len(ends), dtype=bool))
    assert one.ends.tolist() == [6 * 12 * SIDE, 12 * SIDE] and followed < len(low) // 4


def test_no_image_has_no_extremes() -> None:
    one = Extremes(paved(np.zeros((1, 2), dtype=int), np.ones((1, 2), dtype=int)), 3, 8, coarse=False)
    assert one.more()
    one.add(one.left.popleft(), np.full((1, 3), -(1 << 62)), np.zeros(1, dtype=bool))
    assert not one.more() and one.none and not len(one.open)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**20), st.integers(1, 4))
def test_ends_in_directions_hold_all_points(seed: int, n: int) -> None:
    """Exactly, of corners of zonotopes with errors."""
    rng = np.random.default_rng(seed)
    names = [f"x{i}" for i in range(n)]
    states = rng.normal(size=(6, 30, n)) * 10.0 ** rng.integers(-3, 4, size=n) + 10.0 ** rng.integers(-2, 7)
    frame = frames(names, states)[-1]
    turned = directions(frame, frames(names, states), states)
    assert len(turned) <= MOST_DIRECTIONS and np.abs(turned).max(initial=0) <= STEEPEST
    ring, size = Forms(3), 10.0 ** rng.integers(-3, 6)
    for _ in range(3):
        ring.symbol(-np.ones(3), np.ones(3))
    state = {x: Form(rng.normal(size=(3, 4)) * size, np.abs(rng.normal(size=3)) * size) for x in names}
    low, high = frame.turned(ring, state, turned)
    for at, signs in product(range(3), product((-1, 1), repeat=3)):
        point = []
        for form in state.values():
            first, *rest = map(Fraction, form.z[at].tolist())
            more = Fraction(float(form.e[at])) * int(rng.choice([-1, 1]))
            point.append(first + sum(map(Fraction.__mul__, rest, map(Fraction, signs))) + more)
        axes = [sum(c * x for c, x in zip(row, point, strict=True)) for row in frame.rows]
        for k, row in enumerate(turned.tolist()):
            assert int(low[at, k]) <= sum(c * y for c, y in zip(row, axes, strict=True)) <= int(high[at, k])


def test_what_noise_widens_is_proved_for_ever() -> None:
    text = "AG (t0 <= 1.05 & t0 >= 0.3)"
    found = answer(rooms(), text, 20.0, part=0.3, search=POLYHEDRA)
    assert isinstance(found, Proved) and not found.leaving
    assert not isinstance(answer(rooms(), "AG t0 <= 0.99", 1.0, search=POLYHEDRA), Proved)


@pytest.mark.parametrize("margin", [-0.01, 0.2])
@pytest.mark.parametrize("seed", some_slow(range(4), range(2)))
def test_nothing_is_proved_that_runs_refute(seed: int, margin: float) -> None:
    system, last = rooms(), 5 + seed
    asked = task(system, 0, last)
    most = float(runs(asked, seed, last)[seed : last + 1, :, 0].max())
    text = (
        f"AX^{seed} AG[0,{last - seed}] t0 <= {most + margin:.4f}"
        if seed
        else f"AG[0,{last}] t0 <= {most + margin:.4f}"
    )
    found = answer(system, text, 3.0, search=POLYHEDRA)
    assert isinstance(found, Proved) == (margin > 0), text


def test_its_proof_is_accepted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(MODES, "alone", Mode("alone", "polyhedra", ((Turn("polyhedra"),),), kinds=("always",)))
    modes.cache_clear()
    try:
        path = tmp_path / "c.gz"
        report = verify(rooms(), "AG t0 <= 1.05", mode="alone", timeout=60, workers=1, certificate=path)
        assert report.satisfied and report.decided_by == "polyhedra"
        assert check_certificate(path, rooms()).lines == 2
    finally:
        modes.cache_clear()


def test_what_is_for_others() -> None:
    assert answer(rooms(3), "AG t0 <= 1.05", search=POLYHEDRA) is None


def test_the_finest_grid_ends_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("venmas.procedures.covers.rounds._ALONG", (2, 3))
    found = answer(rooms(), "AG t0 <= 0.99", 30.0, search=POLYHEDRA)
    assert isinstance(found, Unknown) and "finest grids" in found.message


def test_deadlocks_end_runs() -> None:
    system = System("ends")
    names = [system.real(f"x{i}", 0, 9) for i in range(4)]
    system.branch("go", {x: x + 1 for x in names}, when=names[0] <= 3)
    system.initial(*(row for x in names for row in (x >= 0, x <= "0.5")))
    found = answer(system, "AG^20 x0 + x1 + x2 + x3 <= 19", search=POLYHEDRA)
    assert isinstance(found, Proved) and found.may_deadlock


def test_nothing_is_known_of_what_says_nothing() -> None:
    """A state that must not be reached is nowhere: it goes on to the end of the window."""
    asked = task(rooms(), 0, 6)
    assert asked.wrong == FALSE
    states = runs(asked, 0, 6)
    one = Polyhedra(asked, frames(asked.axes.names, states)[0], 4, 3, states)
    assert not one.advance(Budget()) and one.step == 4 and not one.back(0.01)
    assert one.advance(Budget()) and one.step == one.shown == 6
    assert one.grid().directions and one.reached()["t0"][1] < 2


def small(
    first: Fraction | int, steps: dict[int, str], starts: str = "0", wide: Fraction | int = Fraction(1, 8)
) -> System:
    """Four variables that are summed up, of which the first does what is given, and the others become smaller."""
    system = System("small")
    x, *others = [system.real(f"x{i}", -9, 9) for i in range(4)]
    for number, text in steps.items():
        system.branch(f"b{number}", {x: Fraction(text) + (first * x), **{y: y / 2 + Fraction(1, 64) for y in others}})
    system.initial(
        *(row for y in others for row in (y >= "1/64", y <= "1/8")), x >= starts, x <= Fraction(starts) + wide
    )
    return system


@pytest.mark.slow
def test_a_set_at_a_time_is_followed_to_the_end() -> None:
    """Few are new in each layer, and one is open at last."""
    drifts = small(1, {0: "1/8"})
    for limit, seconds in ((1, 2.0), (3, 2.0)):
        assert not isinstance(answer(drifts, f"AG x0 + x1 + x2 + x3 <= {limit}", seconds, search=POLYHEDRA), Proved)
    text = "AG[0,7] x0 + x1 + x2 + x3 <= 1.1"
    assert isinstance(answer(drifts, text, 30.0, search=POLYHEDRA), Proved)
    assert not isinstance(answer(drifts, text.replace("1.1", "1"), 1.0, search=POLYHEDRA), Proved)


def beyond(system: System, first: int, limit: Fraction, along: int) -> Polyhedra:
    """Polyhedra that are open where x0 is beyond a limit, from a step on."""
    wrong = Atom(Comparison(LinearExpr.of({"x0": Fraction(1)}, -limit), Relation.GT))
    asked = replace(task(system, first, 99), last=None, wrong=wrong)
    states = runs(asked, 0, 8)
    return Polyhedra(asked, frames(asked.axes.names, states)[0], 1, along, states)


def test_one_new_set_is_followed_and_one_open_set_ends_it() -> None:
    """It comes nearer and nearer to 2, in sets of one cell."""
    one, fewest = beyond(small(Fraction(7, 8), {0: "1/4"}), 0, Fraction(3, 2), 1), 9
    for _ in range(8):
        assert not one.advance(Budget())
        fewest = min(fewest, len(one._sets))
    with pytest.raises(CoarseError) as raised:
        assert not any(one.advance(Budget()) for _ in range(20))
    assert fewest == 1 == round(raised.value.share * len(one._sets))


def test_what_came_before_the_window_does_not_count() -> None:
    """All that comes is among what was there before, and beyond the limit; it is asked of the fourth step."""
    one = beyond(small(Fraction(-15, 16), {0: "0"}, "-1", 2), 4, Fraction(1, 2), 3)
    assert not any(one.advance(Budget()) for _ in range(3))
    with pytest.raises(CoarseError):
        one.advance(Budget())
    assert one.step == 3


def test_images_are_those_of_their_sets() -> None:
    """Of several that are followed together, each of which several branches and choices make several of."""
    system = chain(17)
    asked = task(system, 0, 9)
    assert len(system.branches) > 1 and len(system.variables) > 3
    states = runs(asked, 17, 9)
    one = Polyhedra(asked, frames(asked.axes.names, states)[0], 1, 4, states)
    one.advance(Budget())
    low, high = one._sets.low[:40], one._sets.high[:40]
    toward = Toward(Leg(asked, one.step, 2, one._frame), one._frame, one._directions)
    ends, seen = toward(low, high)
    assert len(np.unique(ends, axis=0)) > 5
    for k in range(len(low)):
        alone = toward(low[k : k + 1], high[k : k + 1])
        assert np.abs(ends[k] - alone.ends[0]).max() <= 1 and seen.open[k] == alone.seen.open[0]
