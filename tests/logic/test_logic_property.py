"""Properties by kind: what has no bound is read, printed and given its meaning, and is never unrolled."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given, settings

from venmas.errors import FormulaError
from venmas.linear import Comparison, LinearExpr, Relation
from venmas.logic import (
    TRUE,
    Always,
    And,
    Atom,
    Bounded,
    Finally,
    FiniteModel,
    Formula,
    Globally,
    Next,
    Not,
    Or,
    Quantifier,
    Unbounded,
    Until,
    Vocabulary,
    classified,
    evaluate,
    nnf,
    parse,
    parse_property,
    subformulas,
)
from venmas.logic.formula import Window
from venmas.testing.formulas import FINITE_NAMES, VOCABULARY, finite_atoms, finite_models, formulas, quantifiers

pytestmark = pytest.mark.quick

ALL, EXISTS = Quantifier.ALL, Quantifier.EXISTS
WORDS = Vocabulary(FINITE_NAMES)
X = Atom(Comparison(LinearExpr.variable("x"), Relation.GT))
Y = Atom(Comparison(LinearExpr.variable("y"), Relation.GT))


def endless(formula: Formula) -> bool:
    return any(isinstance(node, Window) and node.end is None for node in subformulas(formula))


@pytest.mark.parametrize(
    ("text", "asked", "printed"),
    [
        ("AG^4 x > 0", Bounded(Globally(ALL, 1, 4, X)), "AG^4 (x > 0)"),
        ("AG x > 0", Always(0, X), "AG (x > 0)"),
        ("AG[0,*] x > 0", Always(0, X), "AG (x > 0)"),
        ("AG [ 1 , * ] x > 0", Always(1, X), "AG[1,*] (x > 0)"),
        ("AG (x > 0 & !(y > 0))", Always(0, And((X, Not(Y)))), "AG (x > 0 & !(y > 0))"),
        ("EF x > 0", Unbounded(Finally(EXISTS, 0, None, X)), "EF (x > 0)"),
        ("EG[2,*] x > 0", Unbounded(Globally(EXISTS, 2, None, X)), "EG[2,*] (x > 0)"),
        ("AG AG^2 x > 0", Unbounded(Globally(ALL, 0, None, Globally(ALL, 1, 2, X))), "AG AG^2 (x > 0)"),
        ("AG AF x > 0", Unbounded(Globally(ALL, 0, None, Finally(ALL, 0, None, X))), "AG AF (x > 0)"),
        ("A(x > 0 U y > 0)", Unbounded(Until(ALL, 0, None, X, Y)), "A(x > 0 U y > 0)"),
        ("E(x > 0 U[0,*] y > 0)", Unbounded(Until(EXISTS, 0, None, X, Y)), "E(x > 0 U y > 0)"),
        ("E(x > 0 U[3,*] y > 0)", Unbounded(Until(EXISTS, 3, None, X, Y)), "E(x > 0 U[3,*] y > 0)"),
        ("y > 0 & AG x > 0", Unbounded(And((Y, Globally(ALL, 0, None, X)))), "y > 0 & AG (x > 0)"),
    ],
)
def test_kinds(text, asked, printed):
    assert parse_property(text, WORDS) == asked
    assert type(parse_property(text, WORDS)) is type(asked)
    assert str(asked.formula) == printed


@pytest.mark.thorough
@settings(max_examples=400, deadline=None)
@given(formulas(longest=12, unbounded=True))
def test_printed_text_parses_back(formula):
    asked = parse_property(str(formula), VOCABULARY)
    assert asked.formula is formula
    assert asked == classified(formula)
    assert isinstance(asked, Bounded) is not endless(formula)
    assert pickle.loads(pickle.dumps(asked)) == asked


@pytest.mark.thorough
@settings(max_examples=200, deadline=None)
@given(formulas(unbounded=True).filter(endless))
def test_nothing_unrolls_what_has_no_bound(formula):
    for use in (lambda: formula.depth, lambda: nnf(formula), lambda: nnf(formula, True), lambda: Bounded(formula)):
        with pytest.raises(FormulaError, match="bound"):
            use()
    with pytest.raises(FormulaError, match="needs a bound") as caught:
        parse(str(formula), VOCABULARY)
    operator = caught.value.text[caught.value.column - 1 :][:2]
    assert operator in ("AG", "EG", "AF", "EF", "U ", "U[")


@pytest.mark.thorough
@settings(max_examples=300, deadline=None)
@given(formulas(finite_atoms, size=6, unbounded=True).filter(endless), finite_models())
def test_no_bound_is_a_bound_beyond_all_states(formula, model):
    """After as many steps as there are states a run has come back to one: further steps show nothing new."""
    assert evaluate(formula, model) == evaluate(ended(formula, model.states), model)


@pytest.mark.thorough
@settings(max_examples=200, deadline=None)
@given(quantifiers, formulas(finite_atoms, size=3), formulas(finite_atoms, size=3), finite_models())
def test_one_step_more_changes_nothing(quantifier, left, right, model):
    """Operators without a bound are fixpoints of one step, deadlocks included."""
    for start in (0, 2):
        until = Until(quantifier, start, None, left, right)
        assert evaluate(until, model) == evaluate(Until(quantifier, start, start, left, right | ahead(until)), model)
    always = Globally(quantifier, 0, None, left)
    assert evaluate(always, model) == evaluate(left & ahead(always), model)
    other = Finally(quantifier.dual, 0, None, Not(left))
    assert evaluate(always, model) == evaluate(Not(other), model)


def ahead(node: Until | Globally) -> Formula:
    """The same operator from the present on, in the next state."""
    operands = node.children
    step = Next(node.quantifier, 1, type(node)(node.quantifier, 0, None, *operands))
    return step if isinstance(node, Globally) else operands[0] & step


def ended(formula: Formula, states: int) -> Formula:
    """The formula with an end for every window: so many steps after its start."""
    done: dict[Formula, Formula] = {}
    for node in subformulas(formula):
        children = [done[child] for child in node.children]
        if isinstance(node, Window):
            end = node.start + states if node.end is None else node.end
            done[node] = type(node)(node.quantifier, node.start, end, *children)
        elif isinstance(node, And | Or):
            done[node] = type(node)(tuple(children))
        else:
            plain = [v for v in node._fields() if not isinstance(v, Formula)]
            done[node] = type(node)(*plain, *children)
    return done[formula]


def test_deadlocks():
    """0 -> 1 -> 2 without a successor, and 3 for ever: AF asks nothing of runs that end, EG needs one that does not."""
    model = FiniteModel(4, ((1,), (2,), (), (3,)), ({"x": 0},) * 4)  # type: ignore[arg-type]
    never, every = parse_property("AF x > 0", WORDS).formula, frozenset(range(4))
    assert evaluate(never, model) == {0, 1, 2}
    assert evaluate(Globally(EXISTS, 0, None, TRUE), model) == {3}
    assert evaluate(Globally(ALL, 0, None, TRUE), model) == every
    assert evaluate(parse_property("EF[3,*] true", WORDS).formula, model) == {3}


@pytest.mark.thorough
def test_deep_nesting_is_read_and_kept():
    text = "AX " * 20_000 + "AG x > 0"
    asked = parse_property(text, WORDS)
    assert asked.formula.horizon is None and pickle.loads(pickle.dumps(asked)) == asked
    with pytest.raises(FormulaError) as caught:
        parse(text, WORDS)
    assert caught.value.column == 60_001
