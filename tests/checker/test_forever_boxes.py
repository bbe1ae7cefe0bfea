"""Unions of boxes, as they are said, against the plain disjunction: at points on and between all numbers."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from random import Random

import pytest

from venmas.checker.forever import boxes
from venmas.logic import And, Atom, Formula, Or, Top, conjunction, disjunction
from venmas.logic.linear import Comparison, LinearExpr, Relation

pytestmark = pytest.mark.quick
_SIDES = (Relation.LE, Relation.LT, Relation.GE, Relation.GT, Relation.EQ)


def holds(formula: Formula, at: Mapping[str, Fraction]) -> bool:
    match formula:
        case Atom(comparison):
            return comparison.holds(at)
        case And(parts):
            return all(holds(part, at) for part in parts)
        case Or(parts):
            return any(holds(part, at) for part in parts)
    return isinstance(formula, Top)


def _atom(rng: Random, name: str) -> Formula:
    factor = rng.choice((Fraction(1), Fraction(-1), Fraction(2), Fraction(-1, 3)))
    value = Fraction(rng.randint(-6, 6), rng.choice((1, 2)))
    relation = Relation.NE if rng.random() < 0.02 else rng.choice(_SIDES)
    return Atom(Comparison(LinearExpr(((name, factor),)) - LinearExpr((), value * factor), relation))


def _states(rng: Random, names: list[str]) -> Formula:
    atoms = [_atom(rng, name) for name in names for _ in range(rng.randint(0, 2))]
    if len(names) > 1 and rng.random() < 0.05:  # no box
        atoms.append(Atom(Comparison(LinearExpr.variable("x") - LinearExpr.variable("y"), Relation.GE)))
    return conjunction(atoms)


@pytest.mark.parametrize("largest", [1, 8, boxes._LARGEST])
def test_a_union_has_the_states_of_its_boxes(monkeypatch: pytest.MonkeyPatch, largest: int) -> None:
    monkeypatch.setattr(boxes, "_LARGEST", largest)
    rng, grid, seen = Random(largest), [Fraction(k, 4) for k in range(-26, 27)], set()
    for _ in range(300):
        names = ["x", "y", "z"][: rng.randint(1, 3)]
        states = [_states(rng, names) for _ in range(rng.randint(0, 6))]
        union, plain = boxes.union(states), disjunction(states)
        for _ in range(60):
            at = {name: rng.choice(grid) for name in names}
            assert holds(union, at) == holds(plain, at), (states, union, at)
            seen.add(holds(plain, at))
    assert seen == {True, False}


def test_neighbours_are_one_box() -> None:
    """Whichever of them has the face, and a hole is said as what it leaves out."""
    x = LinearExpr.variable("x")

    def side(low: int, high: int, left: Relation, right: Relation) -> Formula:
        return conjunction(
            [Atom(Comparison(x - LinearExpr((), Fraction(at)), r)) for at, r in ((low, left), (high, right))]
        )

    joined = boxes.union([side(0, 1, Relation.GE, Relation.LT), side(1, 2, Relation.GE, Relation.LE)])
    assert joined == side(0, 2, Relation.GE, Relation.LE)
    holed = boxes.union([side(0, 1, Relation.GE, Relation.LT), side(1, 2, Relation.GT, Relation.LE)])
    assert isinstance(holed, And) and not holds(holed, {"x": Fraction(1)}) and holds(holed, {"x": Fraction(3, 2)})
