"""Hypothesis strategies for formulas and finite models."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import strategies as st

from venmas.linear import Comparison, LinearExpr, Relation
from venmas.logic import (
    AX,
    EX,
    FALSE,
    TRUE,
    And,
    Atom,
    Finally,
    FiniteModel,
    Formula,
    Globally,
    Iff,
    Implies,
    Next,
    Not,
    Or,
    Quantifier,
    Until,
    Vocabulary,
)

# Plain and vector names, names that look like operators, and names that need quotes.
NAMES = ("h", "climb", "cell[3]", "m[1,2]", "x.y", "A", "E", "U", "e1", "AX", "true", "or", "two words", "alarm")
VOCABULARY = Vocabulary(NAMES, frozenset({"alarm"}))

quantifiers = st.sampled_from(Quantifier)
numbers = st.one_of(
    st.integers(-3, 3).map(Fraction),
    st.fractions(max_denominator=50),
    st.decimals(allow_nan=False, allow_infinity=False, min_value=-1000, max_value=1000, places=3).map(Fraction),
    st.floats(allow_nan=False, allow_infinity=False).map(Fraction),
)


def expressions(names: tuple[str, ...] = NAMES, values: st.SearchStrategy[Fraction] = numbers):
    terms = st.dictionaries(st.sampled_from(names), values, max_size=3)
    return st.builds(LinearExpr.of, terms, values)


def atoms(names: tuple[str, ...] = NAMES, values: st.SearchStrategy[Fraction] = numbers):
    return st.builds(Atom, st.builds(Comparison, expressions(names, values), st.sampled_from(Relation)))


def windows(longest: int):
    return st.tuples(st.integers(0, longest), st.integers(0, longest)).map(sorted)


def formulas(leaves: st.SearchStrategy[Formula] | None = None, longest: int = 4, size: int = 12):
    """Formulas over every kind of node; bounds up to `longest`, about `size` leaves."""

    def extend(inner: st.SearchStrategy[Formula]) -> st.SearchStrategy[Formula]:
        several = st.lists(inner, min_size=2, max_size=4).map(tuple)
        return st.one_of(
            st.builds(Not, inner),
            st.builds(And, several),
            st.builds(Or, several),
            st.builds(Implies, inner, inner),
            st.builds(Iff, inner, inner),
            st.builds(AX, inner),
            st.builds(EX, inner),
            st.builds(Next, quantifiers, st.integers(1, longest), inner),
            st.builds(lambda q, w, p: Globally(q, *w, p), quantifiers, windows(longest), inner),
            st.builds(lambda q, w, p: Finally(q, *w, p), quantifiers, windows(longest), inner),
            st.builds(lambda q, w, p, r: Until(q, *w, p, r), quantifiers, windows(longest), inner, inner),
        )

    leaves = atoms() if leaves is None else leaves
    base = st.one_of(st.sampled_from((TRUE, FALSE)), leaves, leaves, leaves)
    return st.recursive(base, extend, max_leaves=size)


FINITE_NAMES = ("x", "y")
finite_atoms = atoms(FINITE_NAMES, st.integers(-2, 2).map(Fraction))


@st.composite
def finite_models(draw: st.DrawFn, most: int = 5) -> FiniteModel:
    """Models with up to `most` states over two small integer variables; deadlocks are frequent."""
    states = draw(st.integers(1, most))
    targets = st.lists(st.integers(0, states - 1), max_size=3, unique=True).map(tuple)
    values = st.fixed_dictionaries({name: st.integers(-1, 2).map(Fraction) for name in FINITE_NAMES})
    many = {"min_size": states, "max_size": states}
    return FiniteModel(states, tuple(draw(st.lists(targets, **many))), tuple(draw(st.lists(values, **many))))
