"""Bounds of forms over cells: parallel half-spaces are found, whatever the scale and the kind of the numbers."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from venmas.checker.exact.cell import Bound, Cell, Row, Rows, rational

COEFFICIENTS = st.tuples(*[st.integers(-2, 2)] * 3)


@given(st.lists(st.tuples(COEFFICIENTS, st.booleans()), max_size=5), COEFFICIENTS, st.integers(1, 7), st.booleans())
def test_a_bound_is_the_tighter_of_the_box_and_the_parallel_rows(rows, form, scale, whole):
    cell = Cell(
        ("a", "b"),
        (rational(-1),) * 2,
        (rational(1),) * 2,
        (False,) * 2,
        Rows(Row(tuple(rational(c) for c in row), strict) for row, strict in rows),
    )
    # Forms scaled to integers occur as Python integers; a third of one must not become a float.
    scaled = tuple(scale * c for c in form) if whole else tuple(rational(c, scale) for c in form)
    factor = Fraction(scale) if whole else Fraction(1, scale)
    best, attained = factor * (form[0] + abs(form[1]) + abs(form[2])), True
    for row, strict in rows:
        turned = row[1] * form[2] == row[2] * form[1] and row[1] * form[1] + row[2] * form[2] < 0
        if turned:  # form = -ratio * row + offset, and row >= 0
            ratio = factor * max(Fraction(abs(form[i]), abs(row[i])) for i in (1, 2) if row[i])
            offset = factor * form[0] + ratio * row[0]
            if offset < best or (offset == best and strict):
                best, attained = offset, not strict
    found = cell.sup(scaled)
    assert found == Bound(rational(best), attained)
    assert type(found.value) in (int, type(rational(1)))
    assert cell.inf(tuple(-c for c in scaled)) == Bound(-found.value, attained)
