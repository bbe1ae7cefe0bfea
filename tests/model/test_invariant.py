"""Inductive sets as words over predicates."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from random import Random

import pytest

from venmas.errors import InputError
from venmas.model.invariant import Invariant
from venmas.model.system import System

pytestmark = pytest.mark.quick


def _system() -> System:
    system = System("three")
    for name, upper in (("a", 4), ("b", 3)):
        system.integer(name, 0, upper)
    system.real("x", -1, 1)
    return system


def test_boxes_hold_their_points_and_no_others() -> None:
    system, rng = _system(), Random(3)
    for _ in range(60):
        boxes = []
        for _ in range(rng.randint(0, 4)):
            ends = {"a": sorted(rng.choices(range(5), k=2)), "b": rng.choices(range(4), k=2), "x": (0.25, 0.5)}
            boxes.append({n: (ends[n][0], ends[n][1]) for n in rng.sample(sorted(ends), rng.randint(1, 3))})
        found = Invariant.of_boxes(system, boxes)
        formula = found.formula(system)
        for point in product(range(5), range(4), (Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(51, 100))):
            expected = any(
                all(
                    Fraction(box[n][0]) <= v <= Fraction(box[n][1])
                    for n, v in zip("abx", point, strict=True)
                    if n in box
                )
                for box in boxes
            )
            assert found.holds(point) == expected
            assert _holds(formula, dict(zip("abx", map(Fraction, point), strict=True))) == expected


def _holds(formula: object, point: dict[str, Fraction]) -> bool:
    from venmas.logic import And, Atom, Bottom, Or, Top

    match formula:
        case Atom(comparison):
            return comparison.holds(point)
        case And(operands):
            return all(_holds(o, point) for o in operands)
        case Or(operands):
            return any(_holds(o, point) for o in operands)
        case Top() | Bottom():
            return isinstance(formula, Top)
    raise TypeError(type(formula))


def test_states_are_the_states_given() -> None:
    system = _system()
    found = Invariant.of_states(system, [(1, 2, "0.5"), (4, 0, 1)])
    assert found.holds((1, 2, Fraction(1, 2))) and found.holds((4, 0, 1))
    assert not found.holds((1, 0, 1)) and not found.holds((4, 2, Fraction(1, 2)))


@pytest.mark.parametrize(
    ("predicates", "words", "problem"),
    [
        (((1, 2), (1, 2, 3)), (), "equally many numbers"),
        (((1, 2),), ("01",), "one of 0, 1 and -"),
        (((1, 2),), ("x",), "one of 0, 1 and -"),
        ((1, 2), (), "rows of numbers"),
        (((1, "a"),), (), "finite number"),
    ],
)
def test_other_shapes_are_refused(predicates: tuple, words: tuple[str, ...], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        Invariant(predicates, words)


def test_a_box_of_no_variable_is_refused() -> None:
    with pytest.raises(InputError, match="no variable 'z'"):
        Invariant.of_boxes(_system(), [{"z": (0, 1)}])
