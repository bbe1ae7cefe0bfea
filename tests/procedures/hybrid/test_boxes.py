"""Sets of boxes and their lattice: nothing is lost when they are cut, merged, met and moved."""

import tracemalloc
from fractions import Fraction
from itertools import pairwise, product
from random import Random

import numpy as np
import pytest

from venmas.budget import Budget, BudgetError, limited
from venmas.logic.linear import LinearExpr
from venmas.model import System
from venmas.model.transform.cases import UnsuitableError
from venmas.procedures.hybrid import boxes as module
from venmas.procedures.hybrid.boxes import Boxes, Grid, Known, cut, joined, merge
from venmas.procedures.hybrid.frames import MAX_COORDINATE, Frame, Map, to_boxes, unit_of
from venmas.runtime.memory import own_resident_mb

TOP = 12


def some_boxes(rng, count, dims, formulas):
    low, high = [], []
    for _ in range(count):
        a = [rng.randint(-TOP, TOP) for _ in range(dims)]
        low.append(a)
        high.append([v + rng.choice((0, 0, 1, 2, 4, rng.randint(0, TOP))) for v in a])
    wanted = np.array([[rng.random() < 0.6 for _ in range(formulas)] for _ in range(count)]).reshape(count, formulas)
    location = np.array([rng.randint(0, 1) for _ in range(count)], dtype=np.intp)
    ends = [np.array(e, dtype=np.int64).reshape(count, dims) for e in (low, high)]
    return Boxes(location, *ends, wanted.astype(bool))


def has(boxes, at, location):
    return ((boxes.low <= at) & (at <= boxes.high)).all(1) & (boxes.location == location)


def half_points(box_low, box_high):
    """Doubled coordinates of all places of a box that are multiples of a half."""
    return product(*(range(2 * a, 2 * b + 1) for a, b in zip(box_low, box_high, strict=True)))


def doubled(boxes):
    return Boxes(boxes.location, 2 * boxes.low, 2 * boxes.high, boxes.wanted)


@pytest.mark.parametrize("seed", range(60))
def test_nothing_is_lost(seed):
    """Every place of a new box is in a part with all that the box and a known one ask for there, the faces included."""
    rng = Random(f"boxes {seed}")
    dims, formulas = rng.choice((1, 2, 2, 3)), rng.randint(1, 3)
    sweep = rng.randrange(dims)

    def grid():
        cells = [rng.choice((1, 2, 4, 8)) for _ in range(dims)]
        start = np.array([rng.randint(-9, 9) for _ in range(dims)])
        return Grid(np.array(cells, dtype=np.int64), start, sweep, rng.random() < 0.5)

    old = grid()
    parts, _ = cut(some_boxes(rng, rng.randint(0, 6), dims, formulas), old)
    known, holder = merge(parts, old)
    for i in range(len(parts)):
        k = holder[i]
        assert (known.low[k] <= parts.low[i]).all() and (parts.high[i] <= known.high[k]).all()
        assert (known.wanted[k] | ~parts.wanted[i]).all() and known.location[k] == parts.location[i]
    new = some_boxes(rng, 4, dims, formulas)
    met, source = Known(known, old).meet(new)
    assert (np.diff(source) >= 0).all()
    fresh = grid()
    pieces, again = cut(met, fresh)
    nodes, where = merge(pieces, fresh)
    big, many, all_nodes = doubled(known), doubled(pieces), doubled(nodes)
    for i in range(len(new)):
        for at in rng.sample(points := list(half_points(new.low[i], new.high[i])), min(len(points), 60)):
            asked = new.wanted[i] & big.wanted[has(big, at, new.location[i])].any(0)
            mine = has(many, at, new.location[i]) & (source[again] == i)
            assert (many.wanted[mine].any(0) == asked).all()
            for part in np.flatnonzero(mine):
                assert has(all_nodes, at, new.location[i])[where[part]]


def test_cut_covers_exactly():
    rng = Random("cut")
    for _ in range(40):
        boxes = some_boxes(rng, 5, 2, 1)
        grid = Grid(np.array([rng.choice((1, 2, 4)), 4]), np.array([rng.randint(-9, 9), 3]), 1)
        parts, origin = cut(boxes, grid)
        for i in range(5):
            mine = parts.take(origin == i)
            assert (mine.low[0] == boxes.low[i]).all() and (mine.high[-1] == boxes.high[i]).all()
            assert (mine.low[1:, 0] == mine.high[:-1, 0]).all() and (
                (mine.low[:, 0] - grid.origin[0]) % grid.cell[0] == 0
            )[1:].all()


@pytest.mark.parametrize("seed", range(20))
def test_merging_in_turns_comes_to_the_same(seed):
    rng = Random(f"turns {seed}")
    cells, start = np.array([rng.choice((1, 2, 4)) for _ in range(2)]), np.array([rng.randint(-9, 9), 3])
    grid = Grid(cells, start, 1, rng.random() < 0.5)
    parts, _ = cut(some_boxes(rng, 12, 2, 2), grid)
    whole, holder = merge(parts, grid)
    ends = sorted([0, len(parts), *(rng.randint(0, len(parts)) for _ in range(2))])
    turns = [merge(parts.take(slice(a, b)), grid) for a, b in pairwise(ends)]
    again, where = merge(joined([nodes for nodes, _ in turns]), grid)
    for mine, wanted in zip(vars(again).values(), vars(whole).values(), strict=True):
        assert (mine == wanted).all()
    offsets = np.cumsum([0, *(len(nodes) for nodes, _ in turns)])
    assert (np.concatenate([where[h + o] for (_, h), o in zip(turns, offsets, strict=False)]) == holder).all()


def test_coordinates_that_are_too_large_for_codes_are_refused():
    far = np.array([[0, 0, 0], [2**40] * 3], dtype=np.int64)
    boxes = Boxes(np.zeros(2, dtype=np.intp), far, far, np.ones((2, 1), dtype=bool))
    with pytest.raises(OverflowError):
        Known(boxes, Grid(np.ones(3, dtype=np.int64), np.zeros(3, dtype=np.int64), 0))
    many = np.array([[i, i % 2 * 2**50] for i in range(5000)], dtype=np.int64)
    boxes = Boxes(np.zeros(5000, dtype=np.intp), many, many, np.ones((5000, 1), dtype=bool))
    with pytest.raises(OverflowError):
        merge(boxes, Grid(np.ones(2, dtype=np.int64), np.zeros(2, dtype=np.int64), 1))


# -- the lattice -------------------------------------------------------------------------------------------------------


def matrix(rng, size, kind):
    pick = {
        "small": lambda: Fraction(rng.randint(-3, 3)),
        "fractions": lambda: Fraction(rng.randint(-9, 9), rng.choice((1, 2, 3, 7, 10))),
        "huge": lambda: Fraction(rng.randint(-(10**9), 10**9)),
        "singular": lambda: Fraction(1),
        "long": lambda: Fraction(rng.randint(-(10**9), 10**9), 10**9 + 7),
    }[kind]
    return tuple(tuple(pick() for _ in range(size)) for _ in range(size))


def coordinates(frame, state):
    return [sum(c * s * frame.unit for c, s in zip(row, state, strict=True)) for row in frame.inverse]


@pytest.mark.parametrize("kind", ["small", "fractions", "huge", "singular", "long"])
def test_moves_rows_and_frames(kind):
    """Exact images lie in the boxes that a map makes, values of a row in its range; or the numbers are refused."""
    rng, names, refused, done = Random(kind), ("x", "y"), 0, 0
    for _ in range(60):
        unit = rng.choice((1, 60, 2**20, 2**33))
        frame = Frame.identity(2, unit)
        for _ in range(rng.randint(0, 2)):
            frame = frame.after(matrix(rng, 2, rng.choice(("small", kind))))
        linear = matrix(rng, 2, kind)
        after = frame.after(linear)
        constants = [Fraction(rng.randint(-(10**6), 10**6), rng.choice((1, 4, 3))) for _ in names]
        size = rng.choice((100, MAX_COORDINATE // 2))
        low = np.array([[rng.randint(-size, size) for _ in names]], dtype=np.int64)
        high = low + np.array([[rng.choice((0, 1, size)) for _ in names]])
        place = [int(rng.choice((a, b, (a + b) // 2))) for a, b in zip(low[0], high[0], strict=True)]
        state = [sum(c * p for c, p in zip(r, place, strict=True)) / unit for r in frame.matrix]
        new = [sum(c * s for c, s in zip(r, state, strict=True)) + k for r, k in zip(linear, constants, strict=True)]
        row = frame.row(names, LinearExpr.of(dict(zip(names, linear[0], strict=True)), constants[0]))
        least, greatest = row.range(low, high)
        assert int(least[0]) <= new[0] * row.scale <= int(greatest[0])
        env = frame.forms(names, low, high, np.arange(2))
        for name, value in zip(names, state, strict=True):
            lo, hi = env[name].range()
            assert Fraction(lo[0]) <= value <= Fraction(hi[0])
        try:
            found = Map.of(*image(frame, after, linear, constants))
        except UnsuitableError:
            refused += 1
            continue
        done += 1
        first, last = found.apply(low, high)
        for a, v, b in zip(first[0], coordinates(after, new), last[0], strict=True):
            assert int(a) <= v <= int(b)
    assert done > 20 if kind in ("small", "fractions", "singular", "long") else refused > 0


def image(frame, after, linear, constants):
    """The map of coordinates, by rationals."""

    def times(a, b):
        return tuple(tuple(sum(x * y for x, y in zip(r, c, strict=True)) for c in zip(*b, strict=True)) for r in a)

    offset = [frame.unit * sum(c * k for c, k in zip(r, constants, strict=True)) for r in after.inverse]
    return times(after.inverse, times(linear, frame.matrix)), offset


def test_long_shifts_are_refused_and_long_numbers_rounded_outward():
    eye = ((Fraction(1),),)
    for far in (2**52, 2**62, -(2**63), 2**64):
        with pytest.raises(UnsuitableError):
            Map.of(eye, [Fraction(far)])
    with pytest.raises(UnsuitableError):
        Map.of(((Fraction(2**13),),), [Fraction(0)])
    for entry in (Fraction(1, 2**41), Fraction(1, 3**30), Fraction(10**15 + 1, 10**15)):  # in floats, rounded outward
        place = np.array([[MAX_COORDINATE // 2 - 1]])
        low, high = Map.of(((entry,),), [Fraction(1, 3**30)]).apply(place, place)
        least, most, exact = int(low[0, 0]), int(high[0, 0]), entry * int(place[0, 0]) + Fraction(1, 3**30)
        assert least <= exact <= most <= least + 2**12


def test_the_lattice_holds_the_numbers_of_a_system_or_rounds_outward():
    system = System("thirds")
    x = system.real("x", 0, 1)
    system.branch("step", x=x / 3)
    unit = unit_of(system, [Fraction(1, 10)])
    assert unit % 30 == 0
    low, high = to_boxes(Frame.identity(1, unit), ["x"], [{"x": (Fraction(1, 7), Fraction(1, 7))}])
    assert low[0, 0] < Fraction(unit, 7) < high[0, 0] == low[0, 0] + 1


def large(dims, parts):
    """A box whose sides are so many cells of a grid each, and the grid."""
    low = np.zeros((1, dims), dtype=np.int64)
    box = Boxes(np.zeros(1, dtype=np.intp), low, low + 4 * parts, np.ones((1, 1), dtype=bool))
    return box, Grid(np.full(dims, 4, dtype=np.int64), np.zeros(dims, dtype=np.int64), 0)


def traced(work):
    """What some work takes at its peak, MB."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1] / 2**20
    finally:
        tracemalloc.stop()


def test_parts_are_counted_before_they_are_made():
    box, grid = large(80, 2)
    parts, _ = large(80, 1)
    known = Known(Boxes(*(np.repeat(a, 2, 0) for a in (box.location, box.low, parts.high, box.wanted))), grid)

    def refused(work):
        with pytest.raises(OverflowError, match="too many boxes"):
            work()

    assert traced(lambda: refused(lambda: cut(box, grid))) < 1
    known._span[:] = 2  # as if it had some in every cell
    assert traced(lambda: refused(lambda: known.meet(box))) < 1


def test_parts_for_which_the_memory_limit_leaves_no_room_are_not_made():
    box, grid = large(16, 2)  # 32768 parts of 16 coordinates
    cut(*large(17, 2))
    with limited(Budget(memory_mb=int(own_resident_mb() + 40))):
        cut(box, grid)
        with pytest.raises(OverflowError, match="memory limit leaves no room for 65536 regions"):
            cut(*large(17, 2))


def test_every_turn_of_a_cut_looks_at_the_limit(monkeypatch):
    box, grid = large(8, 2)
    monkeypatch.setattr(module, "_TURN", 64)
    found = module.cuts(box, grid)
    assert len(next(found)[0]) == 8
    with limited(Budget(-1)), pytest.raises(BudgetError):
        next(found)


@pytest.mark.parametrize("seed", range(30))
def test_turns_make_the_same_parts(seed, monkeypatch):
    rng = Random(f"turns {seed}")
    dims = rng.choice((1, 2, 3))

    def grid():
        cells = np.array([rng.choice((1, 2, 4, 8)) for _ in range(dims)], dtype=np.int64)
        return Grid(cells, np.array([rng.randint(-9, 9) for _ in range(dims)]), rng.randrange(dims), rng.random() < 0.5)

    one, other = grid(), grid()
    boxes, old = (some_boxes(rng, rng.randint(1, 9), dims, 2) for _ in range(2))
    known = Known(merge(*(cut(old, other)[0], other))[0], other)
    expected = [*cut(boxes, one), *known.meet(boxes)]
    for turn in (1, 7, 50):
        monkeypatch.setattr(module, "_TURN", turn)
        found = [*cut(boxes, one), *known.meet(boxes)]
        for a, b in zip(expected, found, strict=True):
            for x, y in zip(*((vars(v).values() if isinstance(v, Boxes) else [v]) for v in (a, b)), strict=True):
                assert (x == y).all() and x.shape == y.shape
