"""Certificates of covers about loops whose runs are known to the last bit: accepted where it is so, and else refused.

Values are whole units of the grid, or far from each other, and the constants of steps are exact. So are the sets that
the checker follows, and the only thing that could go wrong is which of them it looks at, and when.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest

from tests.checker.test_covers_check import FINE, check
from tests.slow import some_slow
from venmas import System
from venmas.checker.covers.check import Following
from venmas.checker.covers.grid import Axes, Cut, Finer, Grid
from venmas.checker.covers.paving import CrowdedError, Marks, paved
from venmas.checker.file import KINDS
from venmas.checker.format.about import About
from venmas.checker.format.header import Claim
from venmas.checker.format.lines import Lines
from venmas.checker.format.numbers import CheckError
from venmas.checker.format.rule import End
from venmas.logic import parse_property
from venmas.logic.window import window
from venmas.model import apply_network, where
from venmas.nn import Layer, Network

UNIT = Fraction(1, 64)


def loop(states: list[Fraction], back: int = 0, most: int = 99) -> System:
    """A loop that takes x from one of these states to the next, and from the last back to one of them."""
    system = System("loop")
    x = system.real("x", 0, most)
    order = sorted(zip(states, [*states[1:], states[back]], strict=True))
    after: Any = order[-1][1]
    for (here, to), (beyond, _) in reversed([*pairwise(order)]):
        after = where(x < (here + beyond) / 2, to, after)
    system.branch("go", {x: after})
    system.initial(x == states[0])
    return system


def states_of(states: list[Fraction], back: int, steps: int) -> list[Fraction]:
    """The states of its run."""
    return [
        states[k] if k < len(states) else states[back + (k - back) % (len(states) - back)] for k in range(steps + 1)
    ]


def line(stride: int = 1, *finer: Finer, cuts: tuple[Cut, ...] = ()) -> Grid:
    return Grid(((str(1 / UNIT),),), finer, cuts, stride, 500, **FINE)


CUTS = (
    Cut(0, ((0, 0, 0), (1, 0, 1))),
    Cut(1, tuple((0, k) for k in range(0, 90, 2))),
    Cut(3, tuple((level, k) for level in (0, 1, 3) for k in range(0, 200, 3))),
    Cut(5, ((0, 0), (1, 0), (1, 1), (2, 0), (3, 0), (0, 24))),
)
"""Cells that are cut, here and there, also such as are in none that is."""


def accepted(system: System, text: str, grid: Grid, kind: str = "bounded") -> bool:
    """Is it, or refused as a state may break it?"""
    try:
        check(system, text, grid, kind)
    except CheckError as error:
        if "may break it" in str(error):
            return False
        raise
    return True


FAR = [Fraction(n) for n in (9, 7, 0, 1, 2, 3)]
NEAR = [9 + UNIT, *(k * UNIT for k in range(4)), Fraction(3), Fraction(4)]
"""Four states in one cell, which grows."""


@pytest.mark.parametrize("finer", [(), (Finer(4, (1,)), Finer(6, (3,))), (Finer(0, (2,)), Finer(5, (0,)))])
@pytest.mark.parametrize("stride", some_slow([1, 2, 3, 5], [0, 2]))
@pytest.mark.parametrize("cuts", [(), CUTS])
def test_each_step_of_each_window_is_looked_at(stride: int, finer: tuple[Finer, ...], cuts: tuple[Cut, ...]) -> None:
    """Two states, and then four in turn: a window has one of them or not."""
    system, run, grid = loop(FAR, 2), states_of(FAR, 2, 14), line(stride, *finer, cuts=cuts)
    for first, length, at in product((0, 1, 2, 4, 5, 7), (0, 1, 2, 5), (7, 1, 3)):
        text = f"AX^{first} AG[0,{length}] x != {at}" if first else f"AG[0,{length}] x != {at}"
        assert accepted(system, text, grid) is (at not in run[first : first + length + 1]), text


@pytest.mark.parametrize(
    "finer", [(), (Finer(3, (2,)),), (Finer(4, (1,)), Finer(2, (3,))), (Finer(0, (2,)), Finer(5, (0,)))]
)
@pytest.mark.parametrize("stride", some_slow([1, 2, 4], [0, 1]))
@pytest.mark.parametrize("cuts", [(), CUTS])
def test_cells_that_grow_are_followed_again(stride: int, finer: tuple[Finer, ...], cuts: tuple[Cut, ...]) -> None:
    system, grid = loop(NEAR, 1), line(stride, *finer, cuts=cuts)
    for at in (3, 4):
        assert not accepted(system, f"AG x != {at}", grid, "always")
        assert not accepted(system, f"AX^2 AG[0,9] x != {at}", grid)
    assert accepted(system, "AG (x <= 4 | x >= 9) ", grid, "always")
    assert not accepted(system, "AX^3 AG[0,99] (x < 3 & x > 0)", grid)


@pytest.mark.parametrize(
    ("begin", "later", "first", "second", "cuts"),
    [
        *((0, 1, 2, 1, ()), (1, 0, 1, 2, ())),
        *((0, 1, 1, 2, (Cut(1, ((0, 8),)),)), (0, 1, 2, 1, (Cut(1, ((0, 16),)),))),
        *((0, 1, 2, 1, (Cut(3, ((0, 16),)),)), (0, 1, 1, 2, (Cut(3, ((0, 16),)),))),
        *((0, 1, 2, 1, (Cut(3, ((0, 8),)),)), (0, 1, 1, 2, (Cut(1, ((0, 8),)), Cut(3, ((0, 32),))))),
    ],
)
def test_boxes_in_other_units_are_others(
    begin: int, later: int, first: int, second: int, cuts: tuple[Cut, ...]
) -> None:
    """One state has the coordinates that another one had before units were halved, or were not any more."""
    system = loop([Fraction(n) for n in (9, first, 3, second, 5)], 4)
    grid = line(1, Finer(0, (begin,)), Finer(3, (later,)), cuts=cuts)
    assert not accepted(system, "AG x != 5", grid, "always")
    assert accepted(system, "AG (x <= 5 | x >= 9)", grid, "always")


def test_what_was_reached_in_other_units_is_not_followed_again() -> None:
    """Half as many boxes as there are steps are enough."""
    system = loop([Fraction(n) for n in (9, 1, 3, 2, 1, 3, 2)], 4)
    for cuts in ((), CUTS[1:3]):
        grid = replace(line(1, Finer(4, (1,)), cuts=cuts), boxes=4)
        assert accepted(system, "AG x != 5", grid, "always")
        assert accepted(system, "AG[0,9] x != 5", grid)
        with pytest.raises(CheckError, match="more than 4 boxes"):
            accepted(system, "AX^9 x != 5", grid)


def test_few_grids_of_before_are_looked_at() -> None:
    """Units change in each of many steps, and nothing comes back."""
    system = System("on")
    x = system.real("x", 0, 999)
    system.branch("go", {x: x + 1})
    system.initial(x == 0)
    grid = replace(line(1, *(Finer(k, (k % 2,)) for k in range(1, 90))), boxes=5000)
    asked = window(parse_property("AG[0,90] x <= 99", system.vocabulary))
    assert asked is not None
    follow = Following(Axes(system), asked, grid, False, False)
    follow.run(lambda: None)
    assert follow.step == 90 and len(follow._others) == 64


@pytest.mark.parametrize("way", [1, -1])
def test_less_than_a_unit_in_each_step_is_not_lost(way: int) -> None:
    system = System("slow")
    x = system.real("x", -9, 9)
    system.branch("go", {x: x + way * UNIT / 4})
    system.initial(x >= 0, x <= 1)
    text = f"AG[0,20] (x <= {1 + 4 * UNIT} & x >= {-4 * UNIT})"
    assert not accepted(system, text, line())
    assert not accepted(system, f"AX^20 (x != {way * 5 * UNIT})", line())


@pytest.mark.parametrize("stride", [1, 2, 4])
def test_what_was_reached_before_the_window_is_followed(stride: int) -> None:
    system = loop([Fraction(0)])
    for first in (1, 2, 3, 7, 8):
        assert not accepted(system, f"AX^{first} AG[0,5] x >= 1", line(stride))
        assert accepted(system, f"AX^{first} AG[0,5] x <= 0", line(stride))


@pytest.mark.parametrize("stride", [1, 2, 3])
def test_noise_is_another_one_in_each_step(stride: int) -> None:
    """x is the difference of the noise of two steps, and then of that of a step and of what was there at first."""
    system = System("differences")
    x, y = system.real("x", -9, 9), system.real("y", -9, 9)
    w = system.disturbance("w", -1, 1)
    system.branch("go", {x: y - w, y: w})
    system.initial(x == 0, y >= -1, y <= 1)
    grid = Grid((("9", "0"), ("0", "9")), (), (), stride, 5000, **FINE)
    for text in ("AG[0,1] x <= 1.9", "AX^2 AG[0,3] x <= 1.9", "AX^2 x >= -1.9"):
        with pytest.raises(CheckError, match="may break it"):
            check(system, text, grid)
    check(system, "AG (x <= 2.5 & x >= -2.5)", grid, "always", inside=True)


@pytest.mark.parametrize("stride", [1, 2, 5])
def test_ranges_are_looked_at_before_the_window(stride: int) -> None:
    """x is 9 after two steps."""
    states = [Fraction(n) for n in (5, 7, 9, 0, 1)]
    text = "AX^3 AG[0,9] x <= 1"
    check(loop(states, 3, most=9), text, line(stride), inside=True)
    check(loop(states, 3, most=8), text, line(stride))
    with pytest.raises(CheckError, match="x may leave its range after 2 steps"):
        check(loop(states, 3, most=8), text, line(stride), inside=True)


def jumping() -> System:
    """Steps that some states alone can take."""
    system = System("jumping")
    x = system.real("x", 0, 9)
    system.branch("stay", {x: 0})
    system.branch("jump", {x: 5}, when=x >= 2)
    system.branch("never", {x: 8}, when=x >= 7)
    system.initial(x >= 0, x <= 3)
    return system


def starts() -> System:
    """Several initial sets, and a variable that no branch changes."""
    system = System("starts")
    x, q = system.real("x", 0, 9), system.real("q", 0, 9)
    k = system.integer("k", 0, 9)
    system.branch("go", {x: q + k})
    for at in (0, 4, 1):
        system.initial(x == 0, q == at, k == 2)
    return system


@pytest.mark.parametrize("stride", [1, 3])
@pytest.mark.parametrize(
    ("system", "so", "no"),
    [
        (jumping(), ("AG x <= 8", "AX^2 AG[0,9] x <= 8"), ("AG x <= 4", "AX^1 AG[0,3] x <= 4")),
        (
            starts(),
            ("AX^2 AG[0,3] x <= 8", "AX^1 x >= 3/2", "AG[0,3] k == 2"),
            ("AX^1 x <= 5.9", "AX^1 x >= 2.1", "AX^1 x <= 3.5", "AG k != 2"),
        ),
    ],
    ids=["branches", "starts"],
)
def test_all_branches_and_all_starts_are_followed(
    system: System, so: tuple[str, ...], no: tuple[str, ...], stride: int
) -> None:
    rows = (("2", "0"), ("0", "2")) if "q" in system.variables else (("1/4",),)
    grid = Grid(rows, (), (), stride, 500, **FINE)
    for text, told in (*((t, True) for t in so), *((t, False) for t in no)):
        kind = "bounded" if "AX" in text or "[" in text else "always"
        assert accepted(system, text, grid, kind) is told, text


def test_sets_that_branches_multiply_are_refused() -> None:
    system = System("free")
    x = system.real("x", -9, 9)
    for number in range(13):
        system.branch(f"to{number}", {x: Fraction(number, 3)})
    system.initial(x == 0)
    with pytest.raises(CheckError, match="one set becomes more than 4096"):
        check(system, "AG[0,16] x <= 9", line(16))
    check(system, "AG x <= 9", line(3), "always")


def test_boxes_of_many_coordinates_are_not_cut_into_too_many_parts() -> None:
    """They took 5 GB."""
    low = np.zeros((200, 16), dtype=np.int64)
    with pytest.raises(CrowdedError):
        paved(low, low + 9)
    assert len(paved(low[:, :6], low[:, :6] + 9)) == 64


@pytest.mark.slow
def test_cuts_of_many_levels_do_not_make_too_many_parts() -> None:
    """Each level has fewer than are too many for one; together they took 11 GB."""
    cells = np.array(list(product((0, 1), repeat=12))[:200], dtype=np.int64)
    marks = Marks((cells,) * 9)
    low = np.zeros((1, 12), dtype=np.int64)
    with pytest.raises(CrowdedError):
        paved(low, low + (16 << 9), marks)
    assert len(paved(low[:, :2], low[:, :2] + (16 << 9), Marks((cells[:1, :2],) * 9))) == 4 + 3 * 9


@pytest.mark.parametrize("first", [1, 2])
def test_networks_in_float32_are_so_in_each_round(first: int) -> None:
    """x := (x / 3 + 1) x, which is just below the limit as a real number."""
    network = Network((Layer([[1 / 3]], [0.0], "relu"), Layer([[1.0]], [1.0])))
    system = System("tight")
    x = system.real("x", -100, 100)
    (factor,) = apply_network(network, (x,))
    system.branch("go", {x: factor * x})
    system.initial(x == 1)
    most = Fraction(1)
    for _ in range(first):
        most *= most * Fraction(1 / 3) + 1
    grid = Grid(((str(1 << 34),),), (), (), 1, 9999, **FINE)
    text = f"AX^{first} x <= {most + Fraction(1, 10**9)}"
    about = About(Claim(text, "bounded"), system, {})
    lines = [grid.to_json(), End(2).to_json()]
    assert KINDS["covers"].check(about, Lines(lines)).lines == 2
    with pytest.raises(CheckError, match="may break it"):
        KINDS["covers"].check(replace(about, claim=Claim(text, "bounded", "float32")), Lines(lines))


def test_pavings_of_many_parts_end_between_their_operations() -> None:
    """A limit of time once had to wait for all of millions of parts."""
    low, seen = np.zeros((3, 2), dtype=np.int64), []
    whole = paved(low, low + 60)
    assert np.array_equal(paved(low, low + 60, tick=lambda: seen.append(1)).cell, whole.cell)
    assert len(seen) >= 4  # for each coordinate, before cells are sorted, and after
    for first in range(len(seen)):
        ticks = iter(range(first))
        with pytest.raises(StopIteration):
            paved(low, low + 60, tick=lambda ticks=ticks: next(ticks))  # type: ignore[misc]
