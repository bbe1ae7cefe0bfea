"""Which systems the reach graph keeps one space for."""

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import product as product_of
from operator import mul
from random import Random

import numpy as np
import pytest

from venmas.engine.verify import verify
from venmas.model import System, apply_network, argmax
from venmas.model.expressions.expr import to_linear
from venmas.model.transform.cases import UnsuitableError
from venmas.nn import Layer, Network
from venmas.procedures.hybrid.frames import Map, product
from venmas.procedures.hybrid.view import Space, space_of


def network(slope=1.0, dtype="float64"):
    return Network((Layer(np.array([[slope], [-slope]]), np.zeros(2), "linear"),), dtype=dtype)


def walk(step="1/4", high="1/2", net=None):
    """x moves away from 0, by a step that an argmax chooses."""
    system = System("walk")
    x = system.real("x", -8, 8)
    right = argmax(apply_network(net or network(), (x,)))
    system.branch("go", x=x + Fraction(step) * (1 - 2 * right))
    system.initial(x >= Fraction(1, 4), x <= Fraction(high))
    return system


def of(system, single=False):
    with space_of(system, single) as space:
        return space


def test_a_system_that_is_built_again_has_the_space_of_the_first():
    first = of(walk())
    assert of(walk()) is first and of(walk(net=network())) is first


@pytest.mark.parametrize(
    "other", [{"step": "1/8"}, {"high": "3/4"}, {"net": network(2.0)}, {"net": network(dtype="float32")}]
)
def test_what_differs_has_a_space_of_its_own(other):
    first = of(walk())
    assert of(walk(**other)) is not first
    assert of(walk(), single=True) is not first
    assert of(walk()) is first


def test_a_space_that_is_in_use_or_was_interrupted_is_nobody_elses():
    system = walk()
    first = of(system)
    with space_of(system) as mine, space_of(system) as other:
        assert mine is first and other is not mine
    with pytest.raises(KeyboardInterrupt), space_of(system) as broken:
        raise KeyboardInterrupt
    assert of(system) is not broken


def test_a_system_that_is_changed_afterwards_is_another_one():
    """What is kept is a copy: else a branch that its owner adds would be taken by equal systems of before."""
    first = walk()
    kept = of(first)
    first.branch("jump", {first["x"]: first["x"] + 3})
    assert of(walk()) is kept and len(kept.system.branches) == 1
    assert verify(walk(), "AX x <= 1").satisfied and verify(first, "AX x <= 1").violated


def test_a_location_that_cannot_be_made_has_no_number():
    """Else the next one would be taken for it."""
    space = Space(walk())
    good, space.system = space.system, None
    with pytest.raises(AttributeError):
        space.number(())
    space.system = good
    assert space.known(()) is None and space.locations[space.number(())].values == ()


def test_verdicts_of_systems_that_differ_in_little_are_their_own():
    """The last few spaces are kept, and what is asked in turn is answered as if it were asked alone."""
    cases = [(walk(), "satisfied"), (walk(high="3/4"), "violated"), (walk(step="1/2"), "violated")]
    for system, verdict in cases * 2:
        assert verify(system, "AX^2 x <= 1").verdict == verdict
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda _: str(verify(walk(), "AX^3 x <= 1.2").verdict), range(16)))
    assert set(found) == {"violated"}


def test_a_system_without_reals_has_no_space():
    system = System("integers")
    n = system.integer("n", 0, 3)
    system.branch("stay", n=n)
    system.initial(n == 0)
    with pytest.raises(UnsuitableError), space_of(system):
        pass


def test_equal_frames_are_one_so_that_rows_and_maps_of_their_steps_are():
    """A quarter turn comes back after four steps: the fifth finds everything done, and equal to what is made anew."""
    system = System("turn")
    x, y = system.real("x", -9, 9), system.real("y", -9, 9)
    system.branch("go", x=-y + 1, y=x)
    system.initial(x >= 0, x <= 1, y == 0)
    space = of(system)
    (move,) = space.locations[space.number(())].cases(())[0].moves
    expected = [space.frames[0]]
    for step in range(1, 9):
        space.choose_frame(step, [move])
        expected.append(expected[-1].after(space.linear(move, move.affine)))
    assert [f.matrix for f in space.frames] == [f.matrix for f in expected]
    assert len({id(f) for f in space.frames}) == 4
    rows = [space.row(to_linear(x - y), step) for step in range(8)]
    maps = [space.map(move, step) for step in range(8)]
    assert rows[:4] == rows[4:] and maps[:4] == maps[4:]  # objects
    assert len(set(map(id, rows))) == len(set(map(id, maps))) == 4
    for step, (row, map_) in enumerate(zip(rows, maps, strict=True)):
        here, after = expected[step : step + 2]
        assert np.array_equal(row.plus, here.row(space.reals, to_linear(x - y)).plus)
        matrix = product(after.inverse, product(space.linear(move, move.affine), here.matrix))
        assert np.array_equal(map_.shift, here.map_to(after, matrix, [a.constant for a in move.affine]).shift)


@pytest.mark.parametrize("seed", range(20))
def test_long_numbers_are_rounded_outward(seed):
    """Matrices of ten digits, which no common denominator of 64 bits holds: images of corners are in the box."""
    rng = Random(seed)

    def long(size):
        return Fraction(rng.randint(-(10**10), 10**10), rng.choice([10**10, 7**11])) * size

    matrix = tuple(tuple(long(2) for _ in range(3)) for _ in range(3))
    offset = [long(2**20) for _ in range(3)]
    made = Map.of(matrix, offset)
    assert made.plus.dtype == np.float64
    largest = 2 ** rng.choice([10, 30, 50])
    low = np.array([[rng.randint(-largest, largest) for _ in range(3)] for _ in range(8)])
    high = np.minimum(low + rng.randint(0, 2**8), largest)
    least, most = made.apply(low, high)
    for a, b, c, d in zip(low, high, least, most, strict=True):
        for corner in product_of(*zip(a.tolist(), b.tolist(), strict=True)):
            image = [sum(map(mul, row, corner), start) for row, start in zip(matrix, offset, strict=True)]
            assert all(x <= y <= z for x, y, z in zip(c.tolist(), image, d.tolist(), strict=True))
            if largest <= 2**30:
                assert all(z - x <= 2**13 for x, z in zip(c.tolist(), d.tolist(), strict=True))


def test_a_plant_of_six_digits_stays_for_ever():
    """A converter of long numbers that switches: cells are parts of what its runs reach, not of its declared box."""
    system = System("converter")
    x = system.reals("x", 2, -60, 60)
    on = argmax((Fraction(0), 5 - x[1]))
    system.branch(
        "go",
        {
            x[0]: Fraction("0.952301") * x[0] - Fraction("0.088913") * x[1] + Fraction("1.171234") * on,
            x[1]: Fraction("0.088913") * x[0] + Fraction("0.774467") * x[1] + Fraction("0.057701") * on,
        },
    )
    system.initial(x[0] >= 0, x[0] <= Fraction(1, 2), x[1] >= 0, x[1] <= 1)
    assert verify(system, "AG x[2] <= 12", mode="invariant", timeout=60).satisfied
