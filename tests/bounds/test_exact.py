"""Exact forms of expressions: shared nodes are read once."""

from fractions import Fraction

import pytest

from venmas.bounds.exact import affine_form, exact_range, local_form
from venmas.bounds.states import States
from venmas.logic.linear import LinearExpr
from venmas.model import System, maximum, where
from venmas.model.expressions.expr import Expr

DEPTH = 60


@pytest.fixture
def system() -> System:
    system = System("shared")
    system.real("x", -1, 1)
    system.initial(system["x"] >= -1)
    system.branch("stay", x=system["x"])
    return system


def initial(system: System):
    return States.initial(system, [{"x": (Fraction(-1), Fraction(1))}]).members[0]


def test_a_node_that_is_shared_by_many_is_read_once(system: System) -> None:
    """Each level has the one before it twice: without a memory of nodes this takes 2^60 steps."""
    x = system["x"]
    same: Expr = x
    other: Expr = x
    for _ in range(DEPTH):
        same = where(x > 0, same / 2 + x / 2, x / 2 + same / 2)
        other = maximum(other / 2, -other / 2)
    state = initial(system)
    assert affine_form(state, same) == local_form(state, same) == LinearExpr.variable("x")
    assert affine_form(state, other) is None
    low, high = exact_range(state, other)
    assert 0 <= low <= high <= Fraction(1, 2**DEPTH)


def test_there_is_no_circle() -> None:
    """The circle of states, expressions and exact forms is cut: `exact` and `expressions` know no `states`."""
    from pathlib import Path

    import venmas.bounds

    for name in ("exact", "expressions"):
        assert "bounds.states import" not in (Path(venmas.bounds.__file__).parent / f"{name}.py").read_text()
