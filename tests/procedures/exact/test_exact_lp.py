"""The exact simplex against what it claims: points satisfy every row, weights refute."""

from fractions import Fraction

from hypothesis import strategies as st

from tests.slow import some_examples
from venmas.checker.exact.cell import Cell, Row, rational, refutes
from venmas.procedures.exact.simplex import Excluded, Point, solve_rows

SMALL = st.fractions(-3, 3, max_denominator=4)


@st.composite
def problems(draw: st.DrawFn) -> tuple[Cell, list[Row]]:
    size = draw(st.integers(0, 4))
    ends = [sorted((draw(SMALL), draw(SMALL))) for _ in range(size)]
    cell = Cell(
        tuple(f"x{i}" for i in range(size)),
        tuple(rational(a) for a, _ in ends),
        tuple(rational(b) for _, b in ends),
        (False,) * size,
    )
    forms = st.lists(SMALL.map(rational), min_size=size + 1, max_size=size + 1).map(tuple)
    return cell, draw(st.lists(st.builds(Row, forms, st.booleans()), max_size=7))


@some_examples(200, 600, problems())
def test_every_answer_is_right(problem: tuple[Cell, list[Row]]) -> None:
    cell, rows = problem
    answer = solve_rows(cell, rows)
    if isinstance(answer, Excluded):
        assert refutes(cell, rows, answer.weights)
        return
    assert isinstance(answer, Point)
    for x, a, b in zip(answer.x, cell.low, cell.high, strict=True):
        assert a <= x <= b
    for row in rows:
        value = row.form[0] + sum((c * x for c, x in zip(row.form[1:], answer.x, strict=True)), rational(0))
        assert value > 0 if row.strict else value >= 0


def test_rows_that_only_touch() -> None:
    """x + y >= 2 and x + y <= 2 leave a line; with one of them strict they leave nothing."""
    cell = Cell(("x", "y"), (rational(0), rational(0)), (rational(3), rational(3)), (False, False))
    above, below = tuple(map(rational, (-2, 1, 1))), tuple(map(rational, (2, -1, -1)))
    answer = solve_rows(cell, [Row(above), Row(below)])
    assert isinstance(answer, Point)
    assert sum(Fraction(int(v.numerator), int(v.denominator)) for v in answer.x) == 2
    assert isinstance(solve_rows(cell, [Row(above, True), Row(below)]), Excluded)
