"""Strategies for formulas, over any names or over a given system, and for finite models to evaluate them on."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from hypothesis import strategies as st

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
from venmas.logic.linear import Comparison, LinearExpr, Relation
from venmas.model.evaluation.simulate import Step
from venmas.model.system.system import System
from venmas.testing.systems import initial_states

NAMES = ("h", "climb", "cell[3]", "m[1,2]", "x.y", "A", "E", "U", "e1", "AX", "true", "or", "two words", "alarm")
"""Plain and vector names, names that look like operators, and names that need quotes."""

VOCABULARY = Vocabulary(NAMES, frozenset({"alarm"}))
"""The names as variables; `alarm` is Boolean."""

FINITE_NAMES = ("x", "y")
"""The variables of `finite_models`."""

OFFSETS = (Fraction(0), Fraction(0), *(sign * Fraction(1, 10**k) for k in (1, 6, 9, 12, 20) for sign in (1, -1)))
"""How far the limit of a touching atom lies from a value that a run takes: often not at all."""

quantifiers = st.sampled_from(Quantifier)

numbers: st.SearchStrategy[Fraction] = st.one_of(
    st.integers(-3, 3).map(Fraction),
    st.fractions(max_denominator=50),
    st.decimals(allow_nan=False, allow_infinity=False, min_value=-1000, max_value=1000, places=3).map(Fraction),
    st.floats(allow_nan=False, allow_infinity=False).map(Fraction),
)
"""Rationals: small integers, quotients, decimals, and floats of any size, denormals included."""


def linear_expressions(
    names: tuple[str, ...] = NAMES, values: st.SearchStrategy[Fraction] = numbers
) -> st.SearchStrategy[LinearExpr]:
    """Affine expressions of at most three terms."""
    terms = st.dictionaries(st.sampled_from(names), values, max_size=3)
    return st.builds(LinearExpr.of, terms, values)


def atoms(names: tuple[str, ...] = NAMES, values: st.SearchStrategy[Fraction] = numbers) -> st.SearchStrategy[Formula]:
    """Comparisons of affine expressions."""
    return st.builds(Atom, st.builds(Comparison, linear_expressions(names, values), st.sampled_from(Relation)))


def windows(longest: int) -> st.SearchStrategy[tuple[int, int]]:
    """Windows of steps ``0 <= start <= end <= longest``."""
    return st.integers(0, longest).flatmap(lambda end: st.tuples(st.integers(0, end), st.just(end)))


def formulas(
    leaves: st.SearchStrategy[Formula] | None = None, longest: int = 4, size: int = 12, unbounded: bool = False
) -> st.SearchStrategy[Formula]:
    """Formulas over every kind of node; bounds up to `longest`, about `size` leaves, `atoms()` where none are given.

    unbounded: some windows have no end.
    """
    spans: st.SearchStrategy[tuple[int, int | None]] = windows(longest)
    if unbounded:
        spans |= st.tuples(st.integers(0, longest), st.none())

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
            st.builds(lambda q, w, p: Globally(q, w[0], w[1], p), quantifiers, spans, inner),
            st.builds(lambda q, w, p: Finally(q, w[0], w[1], p), quantifiers, spans, inner),
            st.builds(lambda q, w, p, r: Until(q, w[0], w[1], p, r), quantifiers, spans, inner, inner),
        )

    leaves = atoms() if leaves is None else leaves
    base = st.one_of(st.sampled_from((TRUE, FALSE)), leaves, leaves, leaves)
    return st.recursive(base, extend, max_leaves=size)


@st.composite
def formulas_over(draw: st.DrawFn, system: System, deepest: int = 3, size: int = 5) -> Formula:
    """Formulas over a system that look at most `deepest` steps ahead.

    Besides its propositions, the atoms are comparisons whose limit is a value that a run takes, or lies next to one:
    there strict and non-strict comparisons differ, and tolerances show.
    """
    start = draw(initial_states(system))
    runs = [start]
    for _ in range(deepest):
        options = [t.state for t in Step(system, runs[-1]).successors()]
        if not options:
            break
        runs.append(dict(options[draw(st.integers(0, len(options) - 1))]))
    leaves = touching_atoms(runs)
    if system.propositions:
        leaves |= st.sampled_from(list(system.propositions.values()))
    least = min(deepest, draw(st.integers(0, 2)))
    return draw(formulas(leaves, max(1, deepest), size).filter(lambda f: least <= f.depth <= deepest))


@st.composite
def touching_atoms(draw: st.DrawFn, runs: list[dict[str, Fraction]]) -> Formula:
    """Comparisons whose limit one of the states meets, exactly or up to one of `OFFSETS`."""
    at: Mapping[str, Fraction] = draw(st.sampled_from(runs))
    names = draw(st.lists(st.sampled_from(sorted(at)), min_size=1, max_size=2, unique=True))
    terms = {name: Fraction(draw(st.sampled_from((1, -1, 2, -3)))) for name in names}
    limit = sum((c * at[n] for n, c in terms.items()), draw(st.sampled_from(OFFSETS)))
    return Atom(Comparison(LinearExpr.of(terms, -limit), draw(st.sampled_from(Relation))))


finite_atoms = atoms(FINITE_NAMES, st.integers(-2, 2).map(Fraction))
"""Atoms over the variables of `finite_models`."""


@st.composite
def finite_models(draw: st.DrawFn, most: int = 5) -> FiniteModel:
    """Models with up to `most` states over two small integer variables; deadlocks are frequent."""
    states = draw(st.integers(1, most))
    targets = st.lists(st.integers(0, states - 1), max_size=3, unique=True).map(tuple)
    values = st.fixed_dictionaries({name: st.integers(-1, 2).map(Fraction) for name in FINITE_NAMES})
    successors = draw(st.lists(targets, min_size=states, max_size=states))
    valuations = draw(st.lists(values, min_size=states, max_size=states))
    return FiniteModel(states, tuple(successors), tuple(valuations))
