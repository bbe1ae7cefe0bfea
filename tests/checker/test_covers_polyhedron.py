"""Template polyhedra: their cells hold all real points of them, to the last unit; hostile lines are refused."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.checker.test_covers_check import check, grid, turning
from venmas import System
from venmas.bounds.rounding import Ints
from venmas.checker.covers.paving import SIDE, CrowdedError, Paving
from venmas.checker.covers.polyhedron import MOST_DIRECTIONS, STEEPEST, Polyhedron
from venmas.checker.format.numbers import CheckError


def around(directions: Ints, points: list[tuple[Fraction, ...]]) -> Polyhedron:
    """The least polyhedron with integer bounds around points."""
    rows = [*np.eye(directions.shape[1], dtype=int).tolist(), *directions.tolist()]
    ends = [[sum(c * x for c, x in zip(row, point, strict=True)) for point in points] for row in rows]
    low, high = [int(min(values) // 1) for values in ends], [int(-(-max(values) // 1)) for values in ends]
    return Polyhedron(directions, np.array(low), np.array(high))


def hold(cells: Paving, point: tuple[Fraction, ...]) -> bool:
    """Is a point in a box?"""
    lows, highs = cells.low.tolist(), cells.high.tolist()
    return any(
        all(a <= x <= b for a, x, b in zip(low, point, high, strict=True))
        for low, high in zip(lows, highs, strict=True)
    )


@settings(max_examples=80, deadline=None)
@given(st.data(), st.integers(1, 3), st.integers(1, 5), st.sampled_from([1, 3, STEEPEST]), st.integers(1, 7))
def test_cells_hold_all_points(data: Any, n: int, count: int, steepest: int, parts: int) -> None:
    """Also points that are no integer vectors, of polyhedra as narrow as they get, exactly."""
    entry = st.integers(-steepest, steepest)
    directions = np.array(data.draw(st.lists(st.lists(entry, min_size=n, max_size=n), min_size=count, max_size=count)))
    value = st.integers(-90, 90).map(lambda k: Fraction(k, parts))
    corners = data.draw(st.lists(st.tuples(*[value] * n), min_size=1, max_size=4))
    one = around(directions, corners)
    cells = one.paving()
    middle = tuple(sum(values, Fraction(0)) / len(corners) for values in zip(*corners, strict=True))
    first, last = corners[0], corners[-1]
    between = [tuple(a + (b - a) * Fraction(k, 7) for a, b in zip(first, last, strict=True)) for k in range(8)]
    assert all(hold(cells, point) for point in [*corners, middle, *between])
    sides = cells.cell[:, 1:] * SIDE
    assert (cells.cell[:, 0] == 0).all() and (sides <= cells.low).all() and (cells.high <= sides + SIDE).all()
    assert np.array_equal(np.unique(cells.cell, axis=0), cells.cell)
    assert (one.low[:n] <= cells.low).all() and (cells.high <= one.high[:n]).all()


def test_cells_keep_off_what_one_bound_cuts_off() -> None:
    """A strip along a diagonal has as many cells as it is long, not as its box has."""
    one = Polyhedron(np.array([[1, -1]]), np.array([0, 0, -2]), np.array([800, 800, 2]))
    assert 100 <= len(one.paving()) <= 310
    corner = Polyhedron(np.array([[1, 1]]), np.array([0, 0, 0]), np.array([7, 7, 4])).paving()
    assert corner.high.tolist() == [[4, 4]] and corner.low.tolist() == [[0, 0]]


@pytest.mark.parametrize("sign", [*product((-1, 1), repeat=2)])
def test_bounds_are_rounded_outward(sign: tuple[int, int]) -> None:
    """3 x <= 7 leaves 7/3, which is in no box up to 2; so with other signs."""
    coefficient, way = sign
    bounds = sorted([-7 * coefficient * way, 3 * 50 * coefficient * way])
    one = Polyhedron(np.array([[3 * coefficient]]), np.array([-50, bounds[0]]), np.array([50, bounds[1]]))
    points = [Fraction(k, 3) for k in range(-150, 151) if bounds[0] <= coefficient * k <= bounds[1]]
    cells = one.paving()
    assert points and all(hold(cells, (x,)) for x in points)


def test_what_may_wrap_is_refused() -> None:
    for far in (1 << 45, 1 << 62):
        for low, high in (([-far, 0], [0, 0]), ([0, 0], [far, 0])):
            with pytest.raises(CrowdedError):
                Polyhedron(np.array([[1]]), np.array(low), np.array(high)).paving()
    with pytest.raises(CrowdedError):
        Polyhedron(np.array([[1]]), np.array([0, 0]), np.array([1, 1 << 60])).paving()


def test_too_many_cells_are_refused() -> None:
    wide = np.array([0] * 5), np.array([1 << 12] * 4 + [1 << 20])
    with pytest.raises(CrowdedError):
        Polyhedron(np.array([[1, 1, 1, 1]]), *wide).paving()
    with pytest.raises(CrowdedError):
        Polyhedron(np.array([[1]]), np.array([0, 0]), np.array([300_000 * SIDE, 1 << 40])).paving()


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"directions": [[1]]}, "128 directions of 2 numbers"),
        ({"directions": [[1, 1, 1]]}, "128 directions of 2 numbers"),
        ({"directions": [[1, 1], []]}, "128 directions of 2 numbers"),
        ({"directions": [[1, 1]] * (MOST_DIRECTIONS + 1)}, "128 directions of 2 numbers"),
        ({"directions": [[1, STEEPEST + 1]]}, "directions"),
        ({"directions": [[1, -STEEPEST - 1]]}, "directions"),
        ({"directions": [["1", 1]]}, "directions"),
        ({"directions": [[True, 1]]}, "directions"),
        ({"directions": [[1.5, 1]]}, "directions"),
        ({"directions": [1, 1]}, "directions"),
        ({"directions": [[1, 1]], "finer": [[3, [1, 0]]]}, "either directions or finer cells"),
        ({"directions": [[1, 1]], "cuts": [[1, [[0, 0, 0]]]]}, "either directions or finer cells"),
        ({"directions": [[1, 1]], "rows": [["60", "0"], ["30", "0"]]}, "independent coordinates"),
    ],
)
def test_hostile_lines_are_refused(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(CheckError, match=told):
        check(turning(), "AG (x <= 1.1 & y <= 1.1)", grid(**changes), "always")


def test_more_than_eight_coordinates_are_refused() -> None:
    system = System("many")
    names = [system.real(f"x{i}", -9, 9) for i in range(9)]
    system.branch("go", {x: x / 2 for x in names})
    system.initial(*(x == 1 for x in names))
    rows = tuple(tuple("10" if i == j else "0" for j in range(9)) for i in range(9))
    line = grid(rows=[list(row) for row in rows])
    check(system, "AG x0 <= 1", line, "always")
    with pytest.raises(CheckError, match="at most 8 coordinates"):
        check(system, "AG x0 <= 1", line | {"directions": [[1] * 9]}, "always")


def test_octagons_of_a_turn_are_closed() -> None:
    """Around all sets of a layer; around their box alone it is not shown."""
    text = "AG (x <= 1.2 & y <= 1.2 & x + y <= 1.5)"
    octagon = grid(directions=[[1, 1], [1, -1]])
    assert check(turning(), text, octagon, "always", inside=True).lines == 2
    check(turning(), "AX^2 AG[0,5] x <= 1.1", octagon | {"stride": 3})
    with pytest.raises(CheckError, match="may break it"):
        check(turning(), text, grid(directions=[[0, 0]]), "always")
    with pytest.raises(CheckError, match="may break it"):
        check(turning(), "AG (x <= 1.2 & y <= 0.6)", octagon, "always")


def test_a_line_of_before_has_no_directions() -> None:
    assert "directions" not in grid()
    check(turning(), "AG (x <= 1.1 & y <= 1.1)", grid(), "always")
