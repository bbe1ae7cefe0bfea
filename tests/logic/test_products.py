"""Disjuncts left out of conditions with products: never one that some point meets."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

from hypothesis import strategies as st

from tests.slow import some_examples
from venmas.formats.vnnlib.query import meets
from venmas.logic.formula import FALSE, Atom, Formula, conjunction, disjunction
from venmas.logic.linear import Comparison, LinearExpr, Relation
from venmas.logic.products import possible

X, Y = LinearExpr.variable("X_0"), LinearExpr.variable("Y_0")
PRODUCTS = [(X, X), (X, Y), (Y + LinearExpr((), Fraction(1)), X + Y), (LinearExpr.variable("P_0"), Y)]
BOUNDS = {"X_0": (Fraction(-2), Fraction(1)), "Y_0": (Fraction(-1), Fraction(2))}
NAMES = ["X_0", "Y_0", *(f"P_{i}" for i in range(4))]


def atom(text: str, relation: Relation = Relation.LE, **factors: int) -> Atom:
    return Atom(Comparison(LinearExpr.of({n: Fraction(c) for n, c in factors.items()}, Fraction(text)), relation))


@st.composite
def conditions(draw: st.DrawFn, depth: int = 2) -> Formula:
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        terms = draw(st.dictionaries(st.sampled_from(NAMES), st.integers(-2, 2), min_size=1, max_size=3))
        if not any(terms.values()):
            terms = {"X_0": 1}
        return atom(str(draw(st.integers(-4, 4))), draw(st.sampled_from(list(Relation))), **terms)
    join = draw(st.sampled_from([conjunction, disjunction]))
    return join([draw(conditions(depth - 1)) for _ in range(draw(st.integers(2, 3)))])


@some_examples(100, 300, conditions())
def test_what_is_left_holds_at_the_same_points(condition: Formula) -> None:
    left = possible(condition, BOUNDS, PRODUCTS)
    for i, j in product(range(-12, 7), range(-6, 13)):
        values = {"X_0": Fraction(i, 6), "Y_0": Fraction(j, 6)}
        for number, (a, b) in enumerate(PRODUCTS):
            values[f"P_{number}"] = a.evaluate(values) * b.evaluate(values)
        assert meets(condition, values) == meets(left, values)


def test_products_of_comparisons_rule_out_what_bounds_do_not() -> None:
    # 0 <= -X <= Y / 10, and X X >= X Y - .. : then 2 Y > X X holds for all Y > 0
    parts = [atom("0", X_0=1), atom("0", X_0=-10, Y_0=-1), atom("0", Relation.LT, Y_0=-1), atom("0", Y_0=2, P_0=-1)]
    assert possible(conjunction(parts), BOUNDS, PRODUCTS) == FALSE
    assert possible(conjunction(parts[1:]), BOUNDS, PRODUCTS) != FALSE
    assert possible(atom("0", Relation.LT, P_0=1), BOUNDS, PRODUCTS) == FALSE  # a square is not negative
    assert possible(atom("0", P_0=1), BOUNDS, PRODUCTS) != FALSE


def test_a_product_of_a_strict_and_a_weak_comparison_may_be_zero() -> None:
    parts = [atom("0", Relation.LT, Y_0=-1), atom("0", X_0=-1), atom("0", P_1=1)]  # Y > 0, X >= 0, X Y <= 0
    assert possible(conjunction(parts), BOUNDS, PRODUCTS) != FALSE
    parts[1] = atom("0", Relation.LT, X_0=-1)
    assert possible(conjunction(parts), BOUNDS, PRODUCTS) == FALSE
