"""Covers: they hold all sampled runs, prove nothing that sampled runs refute, and what convex sets do not show."""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction
from functools import reduce
from operator import or_

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.procedures.covers.systems import loop, runs, task
from tests.slow import some_examples
from venmas import System, verify
from venmas.answer import Answer, Proved, Unknown
from venmas.bounds.affine.tube import Tube
from venmas.bounds.rounding import Floats
from venmas.budget import Budget, BudgetError
from venmas.checker.covers.grid import _PARTS, Axes
from venmas.checker.covers.paving import SIDE, CrowdedError, Marks, paved
from venmas.logic import TRUE, Always, Atom
from venmas.logic.linear import Comparison, LinearExpr, Relation
from venmas.model import where
from venmas.model.system.disturbances import drawn
from venmas.procedure import Run
from venmas.procedures.covers.cover import Cover
from venmas.procedures.covers.following import _ROWS, Task
from venmas.procedures.covers.frame import frames
from venmas.procedures.covers.layers import _DEEPEST, CoarseError, Layers
from venmas.procedures.covers.procedure import COVERS, CoverSearch
from venmas.question import Question, read_property

STEPS = 12


def outside(states: Floats, cover: Cover) -> int:
    """How many states, (runs, names), are in no box of what a cover says is reached by now."""
    layer = cover._layers.last
    sets = layer.sets if layer.known is None else layer.known
    at = cover._frame_of(cover.step).seen(states)
    found = np.zeros(len(at), dtype=bool)
    for low, high in zip(sets.low, sets.high, strict=True):
        found |= ((at >= low - 1e-6) & (at <= high + 1e-6)).all(1)
    return int((~found).sum())


@some_examples(
    8, 25, st.integers(0, 2**20), st.booleans(), st.booleans(), st.integers(1, 3), st.integers(0, 2), st.integers(1, 5)
)
def test_covers_hold_all_runs(seed: int, smooth: bool, noisy: bool, stride: int, which: int, along: int) -> None:
    system = loop(seed, smooth, noisy)
    asked = task(system, 99, 100)  # nothing is said before, so that sets are those of one step
    states = runs(asked, seed, STEPS + stride)
    if len(states) == 1:
        return
    suggested = frames(asked.axes.names, states)
    cover = Cover(asked, suggested[which % len(suggested)], stride, along, states)
    budget = Budget(2.0)
    with suppress(BudgetError, CoarseError):
        while cover.step + stride <= STEPS and not cover.advance(budget):
            if cover.step < len(states):
                assert outside(states[cover.step], cover) == 0


@some_examples(
    8, 25, st.integers(0, 2**20), st.booleans(), st.integers(1, 2), st.integers(0, 2), st.integers(0, 6), st.booleans()
)
def test_covers_whose_cells_are_cut_hold_all_runs(
    seed: int, smooth: bool, stride: int, which: int, first: int, units: bool
) -> None:
    """A limit is near what runs reach, so that sets are open again and again."""
    system = loop(seed, smooth)
    states = runs(task(system, 99, 100), seed, STEPS + stride)
    if len(states) <= STEPS:
        return
    most = float(states[first:, :, 0].max())
    wrong = Atom(Comparison(LinearExpr.of({"x0": Fraction(1)}, -Fraction(most + 0.02)), Relation.GT))
    asked = Task(Axes(system), first, STEPS, wrong, False)
    suggested = frames(asked.axes.names, states)
    cover, ended, budget = Cover(asked, suggested[which % len(suggested)], stride, 2, states), False, Budget(0.5)
    cover._layers._wanted = [(k // 4 if units else 0,) * len(asked.axes.names) for k in range(STEPS + 1)]
    if units:  # which are halved: what was reached before does not count then
        goes_on = cover._layers.goes_on
        cover._layers.goes_on = lambda step, _: goes_on(step, False)  # type: ignore[method-assign]
    with suppress(BudgetError):
        while not ended:
            try:
                ended = cover.advance(budget)
            except CoarseError as error:
                if not cover.back(error.share):
                    break
            if cover.step and not ended:
                assert outside(states[cover.step], cover) == 0
    assert cover._layers.marks(STEPS).depth <= _DEEPEST


def test_cells_that_lead_to_open_sets_are_cut() -> None:
    """A coarse grid in which some sets are open decides it in the end."""
    system = bent()
    wrong = Atom(Comparison(LinearExpr.of({"y": Fraction(1)}, -Fraction(21, 10)), Relation.GT))
    asked = Task(Axes(system), 0, 30, wrong, False)
    states = runs(asked, 0, 30)
    cover, proved, cuts = Cover(asked, frames(asked.axes.names, states)[0], 1, 3, states), False, 0
    while not proved:
        try:
            proved = cover.advance(Budget())
        except CoarseError as error:
            cuts += 1
            if not cover.back(error.share):
                break
    assert proved and 0 < cuts <= len(cover.grid().cuts)


@pytest.mark.slow
def test_cells_that_are_too_many_to_be_cut_end_a_cover(monkeypatch: pytest.MonkeyPatch) -> None:
    crowds: list[Layers] = []

    def crowded(layers: Layers) -> bool:
        crowds.append(layers)
        raise CrowdedError

    monkeypatch.setattr(Layers, "back", crowded)
    monkeypatch.setattr("venmas.procedures.covers.rounds._FEW", 0.1)  # few sets: one of them is more than a few
    system = bent()
    for margin in range(40):
        answer(system, f"AG y <= {2 + Fraction(margin, 40)}", 0.5)
    assert crowds and len(crowds) == len(set(map(id, crowds)))  # none is gone on with


def answer(
    system: System, text: str, seconds: float = 5.0, part: float | None = None, search: CoverSearch = COVERS
) -> Answer | None:
    """What covers say; None where it takes longer. part: seconds at a time."""
    asked = read_property(system, text)
    depth = 1 if isinstance(asked, Always) else asked.formula.depth
    made = system if isinstance(asked, Always) else drawn(system, depth)
    question = Question(made, asked, undrawn=system)
    if search.accepts(question, Run()) is not None:
        return None
    session, whole = search.start(question, Run()), Budget(seconds)
    found = None
    with suppress(BudgetError):
        while found is None:
            found = session.advance(whole) if part is None else whole.spend(part, session.advance)
    return found


@some_examples(
    8,
    25,
    st.integers(0, 2**20),
    st.booleans(),
    st.integers(0, 6),
    st.integers(0, 6),
    st.sampled_from([-0.02, 0.0, 0.3]),
)
def test_nothing_is_proved_that_runs_refute(seed: int, smooth: bool, begin: int, more: int, margin: float) -> None:
    system = loop(seed, smooth)
    last = max(begin + more, 5)
    states = runs(task(system, 0, last), seed, last)
    if len(states) <= last:
        return
    most = float(states[begin : last + 1, :, 0].max())
    limit = Fraction(round(most + margin, 3)).limit_denominator(1000)
    text = f"AX^{begin} (AG[0,{last - begin}] x0 <= {float(limit)})" if begin else f"AG[0,{last}] x0 <= {float(limit)}"
    found = answer(system, text, 0.5)
    assert not (isinstance(found, Proved) and most > float(limit) + 1e-9), text


def turned(noise: str) -> System:
    """Turned by a quarter in each step."""
    system = System("turned")
    x, y = system.real("x", -4, 4), system.real("y", -4, 4)
    w = system.disturbance("w", f"-{noise}", noise) if float(noise) else Fraction(0)
    system.branch("go", {x: -y + w, y: x})
    system.initial(x >= 0.9, x <= 1.1, y >= -0.1, y <= 0.1)
    return system


def test_what_follows_a_set_counts_once_all_of_it_is_looked_at() -> None:
    """After four steps at a time the set is where it was, and what comes in between violates it from step 7 on only."""
    assert isinstance(answer(turned("0"), "AX^7 (AG[0,33] y <= 1.2)"), Proved)
    assert not isinstance(answer(turned("0"), "AX^7 (AG[0,33] y <= 0.5)", 1.0), Proved)
    assert isinstance(answer(turned("0"), "AX^7 (AG[0,1] y <= 0.5)"), Proved)


def bent() -> System:
    """Pulled to 0 along x, against noise, and to the distance from there along y."""
    system = System("bent")
    x, y = system.real("x", -4, 4), system.real("y", -4, 4)
    w = system.disturbance("w", "-0.5", "0.5")
    system.branch("go", {x: x / 2 + w, y: y / 2 + where(x >= 0, x, -x)})
    system.initial(x >= -1, x <= 1, y >= 0, y <= 1)
    return system


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("AG y <= 2.2", True),
        ("AG^60 y <= 2.2", True),
        ("AG (y <= 2.2 & x + y >= -1.1)", True),
        ("AX^20 (AG[0,30] y >= -0.01)", True),
        ("AG^40 y <= 1.2", False),
        ("AG x <= 0.9", False),
    ],
)
def test_what_is_around_all_that_is_reached_is_proved(text: str, holds: bool) -> None:
    found = answer(bent(), text, 10.0 if holds else 1.0)
    assert isinstance(found, Proved) is holds
    if holds:
        again = answer(bent(), text, 60.0, part=0.05)  # in short turns
        assert isinstance(again, Proved)


def test_what_may_leave_its_range_is_named() -> None:
    system = System("off")
    x, y = system.real("x", -1, 1), system.real("y", -2, 2)
    system.branch("go", {x: x * 0.5 + y, y: y * 0.5})
    system.initial(x >= 0, x <= 1, y >= 0.8, y <= 1)
    found = answer(system, "AG^20 y <= 1.1")
    assert isinstance(found, Proved) and found.leaving == {"x"}


def test_what_is_not_for_covers() -> None:
    run = Run()
    for text in ("AF^20 y <= 1", "EG^20 y <= 2.2", "AG^2 y <= 9", "AG (AX y <= 9)", "AX^9 (AG x <= 1)"):
        system = bent()
        asked = read_property(system, text)
        assert COVERS.accepts(Question(drawn(system, 30), asked, undrawn=system), run) is not None, text
    counting = System("counting")
    n = counting.integer("n", 0, 9)
    counting.branch("go", n=where(n >= 9, 0, n + 1))
    counting.initial(n == 0)
    assert COVERS.accepts(Question(counting, read_property(counting, "AG n <= 9")), run) == "integers change"


def test_initial_states_that_are_no_union_of_boxes() -> None:
    system = System("many")
    v = [system.real(f"v{i}", -1, 1) for i in range(5)]
    system.branch("go", {name: name / 2 for name in v})
    system.start(*((name <= k / 16) | (name >= k / 16 + 0.01) for name in v for k in range(8)))
    why = COVERS.accepts(Question(system, read_property(system, "AG v0 <= 1")), Run())
    assert why is not None and "condition with too many cases" in why


def test_runs_that_go_beyond_all_numbers() -> None:
    system = System("far")
    x, y = system.real("x", -9, 9), system.real("y", -9, 9)
    system.branch("go", {x: x * 10**9 + y * y, y: y * 10**9})
    system.initial(x >= 0, x <= 1, y >= 0, y <= 1)
    assert not isinstance(answer(system, "AG[0,60] x <= 9"), Proved)


def test_deadlocks_end_runs() -> None:
    system = System("ends")
    x = system.real("x", 0, 9)
    system.branch("go", {x: x + 1}, when=x <= 3)
    system.initial(x >= 0, x <= 0.5)
    found = answer(system, "AG^20 x <= 4.5")
    assert isinstance(found, Proved) and found.may_deadlock
    assert not isinstance(answer(system, "AG^20 x <= 3.4", 1.0), Proved)


def test_the_finest_grid_ends_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("venmas.procedures.covers.rounds._ALONG", (2, 3))
    found = answer(bent(), "AG^40 y <= 1.2", 30.0)
    assert isinstance(found, Unknown) and "finest grids" in found.message


def test_a_portfolio_agrees() -> None:
    report = verify(bent(), "AG^60 (y <= 2.2 & x + y >= -1.1)", timeout=20)
    assert report.satisfied
    assert verify(bent(), "AG^60 y <= 1.2", timeout=20).violated


@given(
    st.lists(st.tuples(st.integers(-40, 40), st.integers(0, 30), st.integers(-40, 40), st.integers(0, 30)), max_size=6)
)
def test_pavings_hold_their_boxes_and_no_more_than_their_hull(boxes: list[tuple[int, int, int, int]]) -> None:
    low = np.array([[a, c] for a, _, c, _ in boxes], dtype=np.int64).reshape(-1, 2)
    high = low + np.array([[b, d] for _, b, _, d in boxes], dtype=np.int64).reshape(-1, 2)
    found = paved(low, high)
    assert len(np.unique(found.cell, axis=0)) == len(found)
    place = found.cell[:, 1:]
    assert (found.cell[:, 0] == 0).all()
    assert ((found.low >= place * SIDE) & (found.high <= (place + 1) * SIDE) & (found.low <= found.high)).all()

    def inside(point: tuple[int, int], lows: np.ndarray, highs: np.ndarray) -> bool:  # type: ignore[type-arg]
        return bool(((point >= lows) & (point <= highs)).all(1).any()) if len(lows) else False

    for a, b in zip(low, high, strict=True):
        for point in {(int(x), int(y)) for x in (a[0], b[0], (a[0] + b[0]) // 2) for y in (a[1], b[1])}:
            assert inside(point, found.low, found.high)
    again, fresh = found.joined(found)
    assert len(fresh) == 0 and len(again) == len(found)
    if len(boxes):
        more, fresh = found.joined(paved(low + 1, high + 1))
        assert {tuple(row) for row in fresh.cell.tolist()} <= {tuple(row) for row in more.cell.tolist()}
        rest = {(*a, *b) for a, b in zip(more.low.tolist(), more.high.tolist(), strict=True)}
        known = {(*a, *b) for a, b in zip(found.low.tolist(), found.high.tolist(), strict=True)}
        assert {(*a, *b) for a, b in zip(fresh.low.tolist(), fresh.high.tolist(), strict=True)} == rest - known


@given(
    st.lists(st.tuples(st.integers(-40, 40), st.integers(0, 30), st.integers(-40, 40), st.integers(0, 30)), max_size=4),
    st.lists(st.tuples(st.integers(0, 2), st.integers(-12, 12), st.integers(-12, 12)), max_size=30),
)
def test_marked_cells_are_cut(boxes: list[tuple[int, int, int, int]], cut: list[tuple[int, int, int]]) -> None:
    marks = Marks().having(np.array(cut, dtype=np.int64).reshape(-1, 3))
    low = np.array([[a, c] for a, _, c, _ in boxes], dtype=np.int64).reshape(-1, 2)
    high = low + np.array([[b, d] for _, b, _, d in boxes], dtype=np.int64).reshape(-1, 2)
    found, known = paved(low, high, marks), set(cut)
    for (level, *place), a, b in zip(found.cell.tolist(), found.low, found.high, strict=True):
        side = SIDE << marks.depth - level
        assert (a >= np.array(place) * side).all() and (b <= (np.array(place) + 1) * side).all()
        assert (level, *place) not in known
        assert all((up, *(k >> level - up for k in place)) in known for up in range(level))
    for a, b in zip(low, high, strict=True):
        for point in [(x, y) for x in range(a[0], b[0] + 1, 3) for y in range(a[1], b[1] + 1, 3)]:
            assert ((point >= found.low) & (point <= found.high)).all(1).any()
    again = paved(low >> marks.depth, -(-high >> marks.depth)).cut(Marks(), marks)
    assert len(again.found(again)) == len(again) and (again.found(again) == np.arange(len(again))).all()
    for a, b in zip(low, high, strict=True):
        assert all(((end >= again.low) & (end <= again.high)).all(1).any() for end in (a, b))


def test_coordinates_are_inverted_exactly() -> None:
    with suppress(ValueError):
        states = np.random.default_rng(1).normal(size=(9, 50, 3)).cumsum(0)
        for frame in frames(("a", "b", "c"), states):
            rows = frame.scaled([Fraction(1, 3), Fraction(2), Fraction(5, 7)])
            for i in range(3):
                for j in range(3):
                    total = sum((rows.rows[i][k] * rows.columns[k][j] for k in range(3)), Fraction(0))
                    assert total == (i == j)


def growing(factor: int, least: int) -> System:
    """A variable that doubles often, beside one that is halved."""
    system = System("growing")
    x, y = system.real("x", "-1e99", "1e99"), system.real("y", -2, 2)
    system.branch("go", {x: x * factor, y: y / 2})
    system.initial(x >= least, x <= 1, y >= -1, y <= 1)
    return system


@pytest.mark.parametrize(("factor", "least"), [(100, 1), (10**50, 1), (10**50, -1)])
def test_runs_that_overflow_suggest_no_coordinates(factor: int, least: int) -> None:
    states = runs(task(growing(factor, least), 0, 200), 0, 200)
    assert len(states) > 1 and np.abs(states).max() <= 1e100
    assert frames(("x", "y"), states)
    assert not isinstance(answer(growing(factor, least), "AG^200 x <= 9", 0.5), Proved)


def test_parts_of_a_condition_are_left_to_others() -> None:
    """A box of the initial states is asked about, and the noise is that of the system with the condition."""
    system = System("parts")
    v = [system.real(f"x{i}", 0, 9) for i in range(4)]
    w = system.disturbance("w", 0, 1)
    system.branch("go", {x: x / 2 + w for x in v})
    system.start(*(reduce(or_, ((x >= k * 1.5) & (x <= k * 1.5 + 1) for k in range(6))) for x in v))
    made = drawn(system, 20)
    assert system.initial_condition is not TRUE
    asked = read_property(system, "AG^20 x0 <= 9")
    question = Question(made.with_regions([()]), asked, undrawn=system)
    assert "condition" in str(COVERS.accepts(question, Run()))


def test_many_regions_share_the_parts() -> None:
    system = System("many")
    v = [system.real(f"x{i}", -9, 9) for i in range(6)]
    system.branch("go", {x: x / 2 for x in v})
    for k in range(20):
        system.initial(*(c for x in v for c in (x >= Fraction(k, 40), x <= Fraction(k, 40) + 1)))
    asked = task(system, 0, 9)
    states = runs(asked, 0, 9)
    cover = Cover(asked, frames(asked.axes.names, states)[0], 1, 90, states)
    assert cover._layers.last.size <= _PARTS


def test_branches_that_multiply_sets_end_a_cover(monkeypatch: pytest.MonkeyPatch) -> None:
    system = System("free")
    x = system.real("x", -9, 9)
    for k in range(30):
        system.branch(f"b{k}", {x: x / 2 + Fraction(k, 100)})
    system.initial(x >= 0, x <= 1)
    asked = task(system, 0, 9)
    states = runs(asked, 0, 9)
    sizes: list[int] = []
    advance = Tube.advance
    monkeypatch.setattr(Tube, "advance", lambda self: (sizes.append(self.ring.size), advance(self)))
    with pytest.raises(CoarseError):
        Cover(asked, frames(asked.axes.names, states)[0], 4, 5, states).advance(Budget())
    assert max(sizes) * 30 <= _ROWS
