"""Programs, builders and reductions."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from solver_kit import INF, small

from venmas.errors import ModelError
from venmas.solvers.milp.program import Kind, ProgramBuilder
from venmas.solvers.milp.reduce import lower_indicators, relax, substitute_fixed

B, I = Kind.BINARY, Kind.INTEGER  # noqa: E741


def program():
    return small(
        [(0, 4), (0, 1, B), (-3, 3, I)],
        [([0, 2, 0], [1, 1, 2], -1, 5), ([1], [0.0], -INF, 0)],
        [(1, True, [0], [1], -INF, 2, None), (1, False, [0, 2], [1, -1], 1, 1, (-3, 7))],
        objective=[1, 2, 3],
    )


def test_counts_and_rows():
    p = program()
    assert (p.variables, p.binaries, p.integers, p.rows, p.indicators) == (3, 1, 1, 2, 2)
    assert p.indices.tolist() == [0, 2]  # summed, the zero dropped
    assert p.data.tolist() == [3, 1]
    assert p.indptr.tolist() == [0, 2, 2]
    assert p.objective.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("point", "violation"),
    [
        ([1, 1, 1], 0),
        ([-0.5, 1, 1], 0.5),  # lower bound
        ([2, 1, 3], 4),  # row, 9 <= 5
        ([1, 1, 1.25], 0.25),  # integrality
        ([1, 0.9, 1], 0.1),
        ([2.5, 1, -3], 0.5),  # indicator, 2.5 <= 2
        ([2, 0, -1], 2),  # the other one, 3 == 1
        ([1, 0, 0], 0),
        ([np.nan, 0, 0], INF),
        ([INF, 0, 0], INF),
    ],
)
def test_violation(point, violation):
    p = program()
    assert p.violation(point) == pytest.approx(violation)
    assert pickle.loads(pickle.dumps(p)).violation(point) == pytest.approx(violation)


def test_violation_wants_the_right_shape():
    with pytest.raises(ValueError, match=r"shape \(3,\)"):
        program().violation([1, 2])


@pytest.mark.parametrize(
    "fault",
    [
        lambda b: b.add_row([0, 9], [1, 1], 0, 1),
        lambda b: b.add_row([-1], [1], 0, 1),
        lambda b: b.add_row([0, 1], [1], 0, 1),
        lambda b: b.add_row([0], [INF], 0, 1),
        lambda b: b.add_row([0], [1], float("nan"), 1),
        lambda b: b.add_row([0], [1], INF, INF),
        lambda b: b.add_variable(float("nan"), 1),
        lambda b: b.add_variable(0, 2, B),
        lambda b: b.add_indicator(0, True, [0], [1], 0, 1, None),
        lambda b: b.maximize([5], [1]),
    ],
)
def test_faults_of_the_caller(fault):
    builder = ProgramBuilder()
    builder.add_variable(0, 1)
    builder.add_variable(0, 1, B)
    with pytest.raises(ValueError, match=r"column|coefficient|bounds|binary"):
        fault(builder)


def test_builder_goes_on_after_build():
    builder = ProgramBuilder()
    builder.add_variable(0, 1, name="x")
    first = builder.build()
    builder.add_variable(0, 1)
    builder.add_row(np.array([0, 1]), np.array([1.0, 1.0]), 0, 1)
    assert (first.variables, first.rows, first.name(0)) == (1, 0, "x")
    assert (builder.build().variables, builder.build().rows, builder.build().name(1)) == (2, 1, "x1")


def test_lowering_needs_bounds():
    p = small([(0, 1, B), (0, INF)], [], [(0, True, [1], [1], -INF, 2, None)])
    with pytest.raises(ModelError, match=r"x1.*activity"):
        lower_indicators(p)


def test_lowering_leaves_out_what_holds_anyway():
    p = small([(0, 1, B), (0, 1)], [], [(0, True, [1], [1], -1, 2, None)])
    assert lower_indicators(p).program.rows == 0


def test_activity_never_replaces_the_indicator():
    """An activity that follows from the indicator itself must not make its row vanish."""
    p = small([(1, 1, B), (0, 9)], [], [(0, True, [1], [1], -INF, 2, (0, 2))])
    assert lower_indicators(p).program.violation([1, 5]) == 3


def test_relaxing_keeps_equations_and_integers():
    p = small([(0, 1), (0, 1, B)], [([0, 1], [1, 1], 1, 1), ([0, 1], [1, 2], 0, 2)])
    relaxed = relax(p, 0.5).program
    assert relaxed.lower.tolist() == [-0.5, 0]
    assert relaxed.upper.tolist() == [1.5, 1]
    assert relaxed.row_lower.tolist() == [1, -0.5]
    assert relaxed.row_upper.tolist() == [1, 2.5]


@st.composite
def programs_and_points(draw):
    """Boxed programs, many variables fixed, and points within the bounds whose integers are whole."""
    n = draw(st.integers(1, 5))
    kinds = [B, *(draw(st.sampled_from(list(Kind))) for _ in range(n - 1))]
    boxes = [sorted(draw(st.tuples(*[st.integers(0, 1) if k is B else st.integers(-3, 3)] * 2))) for k in kinds]
    whole = [draw(st.integers(lo, hi)) for lo, hi in boxes]

    def row():
        columns = draw(st.lists(st.integers(0, n - 1), max_size=4))
        low = draw(st.integers(-6, 6))
        ends = [(low, low + 2), (low, low), (low, INF), (-INF, low), (-INF, INF)]
        return columns, [draw(st.integers(-3, 3)) for _ in columns], *draw(st.sampled_from(ends))

    rows = [row() for _ in range(draw(st.integers(0, 3)))]
    indicators = [(0, draw(st.booleans()), *row(), None) for _ in range(draw(st.integers(0, 3)))]
    return small([(*box, k) for box, k in zip(boxes, kinds, strict=True)], rows, indicators), np.array(whole, float)


@given(programs_and_points())
def test_substitution_keeps_the_points(case):
    p, point = case
    reduced, invert = substitute_fixed(p)
    if reduced is None:
        assert p.violation(point) > 0
        return
    free = p.lower < p.upper
    inside = reduced.variables == free.sum()
    if inside:
        assert (reduced.violation(point[free]) == 0) == (p.violation(point) == 0)
        np.testing.assert_array_equal(invert(point[free]), point)
    else:  # an indicator that cannot hold fixed the binary
        forced = invert(np.zeros(reduced.variables))[0]
        assert p.violation(point) > 0 or point[0] == forced
    assert (reduced.lower < reduced.upper).all()
    assert (np.diff(reduced.indptr) > 0).all()


@given(programs_and_points())
def test_lowering_keeps_the_points(case):
    p, point = case
    lowered = lower_indicators(p).program
    assert lowered.indicators == 0
    assert (lowered.violation(point) < 1e-9) == (p.violation(point) == 0)
