"""The core form means what the operators mean (design S5), in models with deadlocks too."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings

from venmas.errors import FormulaError, ModelError
from venmas.logic import (
    AX,
    EX,
    FALSE,
    MAX_DEPTH,
    TRUE,
    And,
    Atom,
    Bottom,
    FiniteModel,
    Formula,
    Globally,
    Iff,
    Next,
    Not,
    Or,
    Quantifier,
    Top,
    Until,
    Vocabulary,
    evaluate,
    is_temporal,
    nnf,
    parse,
    subformulas,
)
from venmas.testing.formulas import finite_atoms, finite_models, formulas

pytestmark = pytest.mark.quick

XY = Vocabulary(("x", "y"))
CORE = Top | Bottom | Atom | And | Or | EX | AX


def read(text: str) -> Formula:
    return parse(text, XY)


@pytest.mark.thorough
@settings(max_examples=400, deadline=None)
@given(formulas(finite_atoms), finite_models())
def test_core_form_keeps_the_meaning(formula, model):
    everything = frozenset(range(model.states))
    assert evaluate(nnf(formula), model) == evaluate(formula, model)
    assert evaluate(nnf(formula, negate=True), model) == everything - evaluate(formula, model)


@settings(max_examples=200, deadline=None)
@given(formulas(finite_atoms))
def test_core_form_is_core_flat_and_stable(formula):
    for core in (nnf(formula), nnf(formula, negate=True)):
        for node in subformulas(core):
            assert isinstance(node, CORE)
            assert not (isinstance(node, AX) and node.operand is TRUE)
            assert not (isinstance(node, EX) and node.operand is FALSE)
            if isinstance(node, And | Or):
                assert not any(isinstance(child, type(node) | Top | Bottom) for child in node.operands)
                assert len(set(node.operands)) == len(node.operands) >= 2
        assert nnf(core) is core
        assert core.depth <= formula.depth
    assert nnf(Not(formula)) is nnf(formula, negate=True)


@pytest.mark.parametrize(
    ("text", "core"),
    [
        ("AX^3 x>0", "AX AX AX x>0"),
        ("EX^2 x>0", "EX EX x>0"),
        ("AG^3 x>0", "AX (x>0 & AX (x>0 & AX x>0))"),
        ("EG^3 x>0", "EX (x>0 & EX (x>0 & EX x>0))"),
        ("AF^3 x>0", "AX (x>0 | AX (x>0 | AX x>0))"),
        ("EF^3 x>0", "EX (x>0 | EX (x>0 | EX x>0))"),
        ("AG[0,1] x>0", "x>0 & AX x>0"),
        ("AG[2,3] x>0", "AX AX (x>0 & AX x>0)"),
        ("EF[2,2] x>0", "EX EX x>0"),
        ("AF[2,3] x>0", "AX AX (x>0 | AX x>0)"),
        ("AF[0,0] x>0", "x>0"),
        ("A(x>0 U^2 y>0)", "y>0 | x>0 & AX (y>0 | x>0 & AX y>0)"),
        ("E(x>0 U^1 y>0)", "y>0 | x>0 & EX y>0"),
        ("A(x>0 U[1,2] y>0)", "x>0 & AX (y>0 | x>0 & AX y>0)"),
        ("A(x>0 U[0,0] y>0)", "y>0"),
        ("!A(x>0 U^1 y>0)", "y<=0 & (x<=0 | EX y<=0)"),
        ("!E(x>0 U[1,1] y>0)", "x<=0 | AX y<=0"),
        ("!AX^2 x>0", "EX EX x<=0"),
        ("!AG^2 x>0", "EX (x<=0 | EX x<=0)"),
        ("!EF^2 x>0", "AX (x<=0 & AX x<=0)"),
        ("!AF^2 x>0", "EX (x<=0 & EX x<=0)"),
        ("!EG^2 x>0", "AX (x<=0 | AX x<=0)"),
        ("!(x == 1)", "x != 1"),
        ("!(x != 1)", "x == 1"),
        ("!(x < 1)", "x >= 1"),
        ("!(x >= 1)", "x < 1"),
        ("!(x > 0 -> y > 0)", "x > 0 & y <= 0"),
        ("x > 0 <-> y > 0", "x > 0 & y > 0 | x <= 0 & y <= 0"),
        ("!(x > 0 <-> y > 0)", "x > 0 & y <= 0 | x <= 0 & y > 0"),
        ("(x > 0 & (y > 0 & x > 0)) & true", "x > 0 & y > 0"),
        ("!(x > 0 -> (y > 0 -> x > 1))", "x > 0 & y > 0 & x <= 1"),
        ("x > 0 & false | 1 < 2 & y > 0", "y > 0"),
        ("3 > 2", "true"),
        ("x - x > 0", "false"),
        ("AX true", "true"),
        ("EX false", "false"),
        ("AX false", "AX false"),
        ("EX true", "EX true"),
        ("AX^3 false", "AX AX AX false"),
        ("!AX false", "EX true"),
        ("AG^4 true", "true"),
        ("EF^4 false", "false"),
        ("EG^2 true", "EX EX true"),
    ],
)
def test_rewritings_by_hand(text, core):
    expected = read(core)
    assert nnf(read(text)) is expected
    if "<->" not in text:  # the negation of an equivalence is not spelled as its dual
        assert nnf(Not(read(text))) is nnf(expected, negate=True)


def line(*values: int, loop: bool = False) -> FiniteModel:
    """One run through the values of x, ending in a deadlock or in a self-loop; y is the negative of x."""
    last = len(values) - 1
    successors = tuple((i + 1,) if i < last else (last,) if loop else () for i in range(len(values)))
    return FiniteModel(len(values), successors, tuple({"x": Fraction(v), "y": Fraction(-v)} for v in values))


@pytest.mark.parametrize(
    ("text", "model", "states"),
    [
        ("AX x > 0", line(0, 1), {0, 1}),
        ("EX x > 0", line(0, 1), {0}),
        ("AX false", line(0, 1), {1}),
        ("AX^2 false", line(0, 1), {0, 1}),
        ("EX^2 true", line(0, 1, 2), {0}),
        ("AG^2 x > 0", line(0, 1, 0), {2}),
        ("AG^2 x > 0", line(0, 1, 1), {0, 1, 2}),
        ("AG[0,1] x > 0", line(0, 1, 1), {1, 2}),
        ("EG[0,1] x > 0", line(0, 1, 1), {1}),
        ("EG[0,1] x > 0", line(0, 1, 1, loop=True), {1, 2}),
        ("AF[0,1] x > 0", line(0, 0, 1, loop=True), {1, 2}),
        ("AF^1 x > 0", line(0, 0, 0), {2}),
        ("AF[0,5] x > 0", line(0, 0, 0), {0, 1, 2}),
        ("EF[0,2] x > 1", line(0, 1, 2), {0, 1, 2}),
        ("EF^2 x > 1", line(0, 1, 2), {0, 1}),
        ("E(x > 0 U^2 x > 1)", line(0, 1, 2), {1, 2}),
        ("A(x > 0 U^1 x > 1)", line(1, 1, 2, loop=True), {1, 2}),
        ("A(x > 0 U^5 x > 1)", line(1, 1), {0, 1}),
        ("A(x > 0 U^5 x > 1)", line(1, 0), set()),
        ("E(x > 0 U[1,2] x > 1)", line(1, 2, 2), {0, 1}),
        ("A(x > 0 U[1,1] x > 0)", line(1, 0, loop=True), set()),
        ("x + 2*y == -1 <-> true", line(0, 1), {1}),
    ],
)
def test_oracle_by_hand(text, model, states):
    assert evaluate(read(text), model) == states


def test_oracle_against_enumerated_runs():
    """All models of two states: the oracle's until and globally against a listing of the runs."""
    p, q = read("x > 0"), read("y > 0")
    cases = [(i, j) for j in range(3) for i in range(j + 1)]
    lists = [(), (0,), (1,), (0, 1)]
    bits = [Fraction(0), Fraction(1)]
    for first, second, a, b, c, d in product(lists, lists, bits, bits, bits, bits):
        model = FiniteModel(2, (first, second), ({"x": a, "y": b}, {"x": c, "y": d}))
        for state, (i, j) in product((0, 1), cases):
            runs = list(maximal_runs(model, state, j))

            def met(run, i=i, j=j, model=model):
                return any(
                    model.valuations[run[m]]["y"] > 0 and all(model.valuations[s]["x"] > 0 for s in run[:m])
                    for m in range(i, min(j, len(run) - 1) + 1)
                )

            def excused(run, j=j, model=model):
                return len(run) <= j and all(model.valuations[s]["x"] > 0 for s in run)

            def always(run, i=i, j=j, model=model):
                return len(run) == j + 1 and all(model.valuations[s]["x"] > 0 for s in run[i:])

            universal = Until(Quantifier.ALL, i, j, p, q)
            existential = Until(Quantifier.EXISTS, i, j, p, q)
            assert (state in evaluate(universal, model)) == all(met(run) or excused(run) for run in runs)
            assert (state in evaluate(existential, model)) == any(map(met, runs))
            globally = Globally(Quantifier.EXISTS, i, j, p)
            assert (state in evaluate(globally, model)) == any(map(always, runs))


def maximal_runs(model, state, steps):
    """Runs of `steps` steps, or fewer where they end in a deadlock."""
    if not steps or not model.successors[state]:
        yield (state,)
        return
    for target in model.successors[state]:
        for rest in maximal_runs(model, target, steps - 1):
            yield (state, *rest)


@pytest.mark.parametrize("operator", ["AG", "EG", "AF", "EF", "!AG", "!EF"])
def test_unrolling_is_linear(operator):
    sizes = [sum(1 for _ in subformulas(nnf(read(f"{operator}^{k} (x>0 & y>0)")))) for k in (100, 200)]
    assert sizes[1] - sizes[0] <= 2 * 100 + 1


def test_nested_unrolling_is_linear():
    text = "AG[0,300] EF[0,300] A(x>0 U^300 EG^300 y>0)"
    assert sum(1 for _ in subformulas(nnf(read(text)))) < 300 * 4 * 3


def test_iff_does_not_explode():
    formula = read("x > 0")
    for i in range(60):
        formula = Iff(AX(formula), read(f"y > {i}"))
    assert sum(1 for _ in subformulas(nnf(formula))) < 60 * 12


@pytest.mark.thorough
def test_too_large_is_said():
    deep = Next(Quantifier.ALL, MAX_DEPTH + 1, read("x > 0"))
    with pytest.raises(FormulaError, match=f"{MAX_DEPTH + 1} steps ahead, at most {MAX_DEPTH}"):
        nnf(deep)
    with pytest.raises(FormulaError, match="more than 1000000 parts"):
        nnf(read(" & ".join(f"AX^90000 x > {i}" for i in range(1000))))


def test_depth_and_temporality():
    for text, depth, temporal in [
        ("x > 0 & !(y > 0)", 0, False),
        ("AX x > 0 | EX^4 y > 0", 4, True),
        ("AG[0,0] x > 0", 0, True),
        ("A(AX^5 x > 0 U^2 y > 0)", 6, True),
        ("E(x > 0 U[1,3] AF^2 y > 0)", 5, True),
    ]:
        formula = read(text)
        assert (formula.depth, is_temporal(formula)) == (depth, temporal)
        assert nnf(formula).depth == depth


def test_constants_of_the_model():
    assert nnf(TRUE, negate=True) is FALSE
    assert nnf(FALSE, negate=True) is TRUE
    for states, successors in [(2, ((),)), (1, ((1,),)), (1, ((-1,),))]:
        with pytest.raises(ModelError):
            FiniteModel(states, successors, ({},) * states)
