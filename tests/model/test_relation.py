"""A comparison says of arrays and intervals what it says of numbers, one by one."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from venmas.linear import Relation

pytestmark = pytest.mark.quick

ENDS = (-3, -1, 0, 1, 2)


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("kind", [np.int64, np.float64])
def test_truth_of_arrays_is_that_of_numbers(relation: Relation, kind: type) -> None:
    values = np.array(ENDS, dtype=kind).reshape(5, 1)
    assert relation.truth(values).ravel().tolist() == [relation.holds(Fraction(v)) for v in ENDS]


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("kind", [np.int64, np.float64, object])
def test_what_is_certain_holds_at_every_point_between(relation: Relation, kind: type) -> None:
    pairs = [(a, b) for a in ENDS for b in ENDS if a <= b]
    least, greatest = (np.array([pair[i] for pair in pairs], dtype=kind) for i in (0, 1))
    found = relation.certain(least, greatest)
    assert found.dtype == bool
    between = [[relation.holds(Fraction(x, 2)) for x in range(2 * a, 2 * b + 1)] for a, b in pairs]
    assert found.tolist() == [all(row) for row in between]
