"""Functions of numpy on expressions: the values that numpy has for numbers, and matrices in branches."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from venmas.errors import ModelError
from venmas.model import System, Vector, absolute
from venmas.model.simulate import Step

pytestmark = pytest.mark.quick

NUMBERS = [-3.0, -0.1, 0.0, 0.1, 2.0]
FUNCTIONS = {
    "maximum": lambda a, b: np.maximum(a, b),
    "minimum": lambda a, b: np.minimum(a, b),
    "fmax": lambda a, b: np.fmax(a, b),
    "reversed": lambda a, b: np.minimum(0.1, np.maximum(b, a)),
    "absolute": lambda a, b: np.abs(a) + abs(b),
    "clip": lambda a, b: np.clip(a + b, -1, 1),
    "keywords": lambda a, b: np.clip(a - b, a_min=-0.1, a_max=None),
    "above": lambda a, b: np.clip(a - b, None, 0.1),
}


def value_of(function, values, size):
    """What a branch makes of a function of two groups of variables, and of two variables for size 0."""
    s = System("s")
    a, b = (s.reals("a", size, -9, 9), s.reals("b", size, -9, 9)) if size else (s.real("a", -9, 9), s.real("b", -9, 9))
    s.branch("go", {a: function(a, b)})
    state = dict(zip(s.variables, map(Fraction, values), strict=True))
    after = Step(s, state).successor(0).state
    return [after[name] for name in s.variables][: size or 1]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_are_those_of_numpy(name):
    """Sums of floats are rounded by numpy and exact here, so that numbers are compared up to one rounding."""
    for a, b in product(NUMBERS, repeat=2):
        found = value_of(FUNCTIONS[name], [Fraction(a), Fraction(b)], 0)
        assert abs(float(found[0]) - float(FUNCTIONS[name](a, b))) <= 1e-15
    pairs = np.array([NUMBERS[:3], NUMBERS[2:]])
    found = value_of(FUNCTIONS[name], pairs.ravel(), 3)
    assert np.allclose(np.array(found, float), FUNCTIONS[name](*pairs), rtol=0, atol=1e-15)


def test_arrays_and_lists_go_with_vectors():
    s = System("s")
    v, x = s.reals("v", 2, -9, 9), s.real("x", -9, 9)
    kept = [np.maximum(v, np.array([1, 2])), np.maximum([1, 2], v), np.clip(v, [-1, -2], 1), np.minimum(x, v)]
    assert [(type(value), len(value)) for value in kept] == [(Vector, 2)] * 4
    assert str(abs(np.float64(-0.1) * x)) == str(absolute(-x / 10))


@pytest.mark.parametrize("matrix", [np.array, np.ndarray.tolist, list])
def test_a_linear_loop_is_written_as_in_the_book(matrix):
    """x' = A x + B u with the matrices of numpy or lists of rows; the group is named by keyword."""
    A, B = matrix(np.array([[1, 0.25], [0, 1]])), matrix(np.array([[0.03125], [0.25]]))
    s = System("integrator")
    x = s.reals("x", 2, -9, 9)
    u = Vector([np.clip(-x[0] - 2 * x[1], -1, 1)])
    s.branch("go", x=A @ x + B @ u)
    s.branch("twice", {(x[0], x[1]): 2 * x})
    state = {"x[1]": Fraction(1), "x[2]": Fraction(-2)}
    step = Step(s, state)
    assert step.successor(0).state == {"x[1]": Fraction(17, 32), "x[2]": Fraction(-7, 4)}
    assert step.successor(1).state == {"x[1]": Fraction(2), "x[2]": Fraction(-4)}


def test_a_group_of_another_order_is_not_taken_by_its_name():
    s = System("s")
    s.real("x[2]", 0, 1), s.real("x[1]", 0, 1)
    with pytest.raises(ModelError, match="which is no variable"):
        s.branch("go", x=[0, 1])
