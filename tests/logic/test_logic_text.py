"""Text to formula and back."""

from __future__ import annotations

import copy
import gc
import pickle
import subprocess
import sys
import time
from fractions import Fraction

import pytest
from hypothesis import given, settings

from tests.slow import some_slow
from venmas.errors import FormulaError, InputError, ModelError
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
    conjunction,
    disjunction,
    evaluate,
    nnf,
    parse,
    subformulas,
)
from venmas.logic.linear import Comparison, LinearExpr, Relation
from venmas.testing.formulas import VOCABULARY, formulas

pytestmark = pytest.mark.quick

ALL, EXISTS = Quantifier.ALL, Quantifier.EXISTS


def atom(terms: dict[str, int | Fraction], relation: str, right: int | str = 0) -> Atom:
    expr = LinearExpr.of({n: Fraction(c) for n, c in terms.items()}, -Fraction(right))
    return Atom(Comparison(expr, Relation(relation)))


P, Q, R = atom({"p": 1}, "==", 1), atom({"q": 1}, "==", 1), atom({"r": 1}, "==", 1)
WORDS = Vocabulary(
    ("h", "climb", "tau", "adv", "cell[1]", "cell[2]", "p", "q", "r", "A", "E", "U", "AX", "odd name"),
    frozenset({"p", "q", "r"}),
    {"safe": atom({"h": 1}, ">", 100)},
    {"COC": Fraction(1), "DNC": Fraction(2)},
)


def read(text: str) -> Formula:
    return parse(text, WORDS)


@pytest.mark.thorough
@settings(max_examples=600, deadline=None)
@given(formulas(longest=12))
def test_printed_text_parses_back(formula):
    assert parse(str(formula), VOCABULARY) is formula


@pytest.mark.thorough
@settings(max_examples=200, deadline=None)
@given(formulas(longest=3, size=6))
def test_core_text_parses_back(formula):
    assert parse(str(nnf(formula)), VOCABULARY) is nnf(formula)


@settings(max_examples=100, deadline=None)
@given(formulas())
def test_copies_are_the_same_object(formula):
    assert pickle.loads(pickle.dumps(formula)) is formula
    assert copy.deepcopy(formula) is formula


@pytest.mark.parametrize(
    ("text", "formula"),
    [
        ("h > 100", atom({"h": 1}, ">", 100)),
        ("100 < h", atom({"h": 1}, ">", 100)),
        ("100 < h <= 200", And((atom({"h": 1}, ">", 100), atom({"h": 1}, "<=", 200)))),
        ("h = 3", atom({"h": 1}, "==", 3)),
        ("h != 3", atom({"h": 1}, "!=", 3)),
        ("2*h - climb/4 + 3 >= tau", atom({"h": 2, "climb": Fraction(-1, 4), "tau": -1}, ">=", -3)),
        ("2*(h - 3*(climb + 1))/4 < 1", atom({"h": Fraction(1, 2), "climb": Fraction(-3, 2)}, "<", "5/2")),
        ("h*2 > 1/3", atom({"h": 2}, ">", "1/3")),
        ("h > 1.5e-3", atom({"h": 1}, ">", "0.0015")),
        ("h > .1", atom({"h": 1}, ">", "1/10")),
        ("-h > -2", atom({"h": -1}, ">", -2)),
        ("h - -2 > + 1", atom({"h": 1}, ">", -1)),
        ("h + h > climb - climb", atom({"h": 2}, ">", 0)),
        ("h > climb", atom({"h": 1, "climb": -1}, ">", 0)),
        ("h<-3", atom({"h": 1}, "<", -3)),
        ("2 < 1", Atom(Comparison(LinearExpr(constant=Fraction(1)), Relation.LT))),
        ("(3) > 0.5", atom({"tau": 1}, ">", "0.5")),
        ("(1) + (2) < 2", atom({"h": 1, "climb": 1}, "<", 2)),
        ("2*(3) < 1/3", atom({"tau": 2}, "<", "1/3")),
        ("((3)) > 2", atom({"tau": 1}, ">", 2)),
        ("h > (3.0)", atom({"h": 1}, ">", 3)),
        ("h > (-3)", atom({"h": 1}, ">", -3)),
        ("h > (3 + 1)", atom({"h": 1}, ">", 4)),
        ("AX(3) > 2", AX(atom({"tau": 1}, ">", 2))),
        ("AX^2(3) > 2", Next(ALL, 2, atom({"tau": 1}, ">", 2))),
        ("cell[2] > cell[1]", atom({"cell[2]": 1, "cell[1]": -1}, ">", 0)),
        ("adv == COC", atom({"adv": 1}, "==", 1)),
        ("adv == COC + DNC/2", atom({"adv": 1}, "==", 2)),
        ("safe & p", And((atom({"h": 1}, ">", 100), P))),
        ("p", P),
        ("!p", atom({"p": 1}, "==", 0)),
        ("!(p)", atom({"p": 1}, "==", 0)),
        ("!(p == 1)", Not(P)),
        ("p + q + r >= 2", atom({"p": 1, "q": 1, "r": 1}, ">=", 2)),
        ("true", TRUE),
        ("false", FALSE),
        ("not (p and q or r)", Not(Or((And((P, Q)), R)))),
        ("p && q || r", Or((And((P, Q)), R))),
        ("~safe", Not(atom({"h": 1}, ">", 100))),
        ("AX p", AX(P)),
        ("EX p", EX(P)),
        ("AX^1 p", Next(ALL, 1, P)),
        ("EX ^ 3 p", Next(EXISTS, 3, P)),
        ("AG^4 p", Globally(ALL, 1, 4, P)),
        ("AG[1,4] p", Globally(ALL, 1, 4, P)),
        ("EG[0,4] p", Globally(EXISTS, 0, 4, P)),
        ("AF^2 p", Finally(ALL, 1, 2, P)),
        ("EF[ 2 , 5 ] p", Finally(EXISTS, 2, 5, P)),
        ("A(p U^3 q)", Until(ALL, 0, 3, P, Q)),
        ("E (p U[1,4] q)", Until(EXISTS, 1, 4, P, Q)),
        ("A(E(p U^1 q) U^2 !A(p U^3 q))", Until(ALL, 0, 2, Until(EXISTS, 0, 1, P, Q), Not(Until(ALL, 0, 3, P, Q)))),
        ("A(p -> q U^2 q | r)", Until(ALL, 0, 2, Implies(P, Q), Or((Q, R)))),
        ("A > E", atom({"A": 1, "E": -1}, ">", 0)),
        ("A(U > 1 U^2 U + A < 2)", Until(ALL, 0, 2, atom({"U": 1}, ">", 1), atom({"U": 1, "A": 1}, "<", 2))),
        ('"AX" > "odd name"', atom({"AX": 1, "odd name": -1}, ">", 0)),
        ('"h" > 1', atom({"h": 1}, ">", 1)),
        ("AX\n  h > 100\n", AX(atom({"h": 1}, ">", 100))),
    ],
)
def test_reading(text, formula):
    assert read(text) is formula
    assert read(str(formula)) is formula


@pytest.mark.parametrize(
    ("text", "grouped"),
    [
        ("p & q | r", "(p & q) | r"),
        ("p | q & r", "p | (q & r)"),
        ("p -> q -> r", "p -> (q -> r)"),
        ("p | q -> r & p", "(p | q) -> (r & p)"),
        ("p <-> q -> r", "p <-> (q -> r)"),
        ("p -> q <-> r", "(p -> q) <-> r"),
        ("p <-> q <-> r", "(p <-> q) <-> r"),
        ("AX p & q", "(AX p) & q"),
        ("AG^3 p | q", "(AG^3 p) | q"),
        ("EF[0,3] p -> q", "(EF[0,3] p) -> q"),
        ("!AX q & r", "(!(AX q)) & r"),
        ("AX !EX q | r", "(AX (!(EX q))) | r"),
        ("!h > 3 & q", "(!(h > 3)) & q"),
        ("AX h + 1 > 3 & q", "(AX (h + 1 > 3)) & q"),
        ("h + 2*tau - 1 > 3*h", "((h + (2*tau)) - 1.0) > (3*h)"),
        ("h/2*3 > 1", "((h/2)*3) > 1"),
        ("-h*2 > 1", "(-h)*2 > 1"),
        ("AX^2 E(p U^2 q) & r", "(AX^2 (E(p U^2 q))) & r"),
        ("p & q & r", "p & q & r"),
    ],
)
def test_precedence(text, grouped):
    assert read(text) is read(grouped)


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        (And((And((P, Q)), R)), "(p == 1 & q == 1) & r == 1"),
        (Or((And((P, Q)), R)), "p == 1 & q == 1 | r == 1"),
        (And((Or((P, Q)), R)), "(p == 1 | q == 1) & r == 1"),
        (Implies(Implies(P, Q), R), "(p == 1 -> q == 1) -> r == 1"),
        (Implies(P, Implies(Q, R)), "p == 1 -> q == 1 -> r == 1"),
        (Iff(P, Iff(Q, R)), "p == 1 <-> (q == 1 <-> r == 1)"),
        (Not(AX(Next(EXISTS, 2, P))), "!AX EX^2 (p == 1)"),
        (Globally(ALL, 0, 3, TRUE), "AG[0,3] true"),
        (Globally(ALL, 1, 3, P), "AG^3 (p == 1)"),
        (Finally(EXISTS, 0, 0, P), "EF[0,0] (p == 1)"),
        (Until(ALL, 0, 2, P, Implies(P, Q)), "A(p == 1 U^2 p == 1 -> q == 1)"),
        (Until(EXISTS, 0, 0, P, Q), "E(p == 1 U[0,0] q == 1)"),
        (atom({"odd name": 1, "AX": Fraction(-1, 3)}, ">", "0.25"), '-1/3*"AX" + "odd name" > 0.25'),
    ],
)
def test_printing(formula, text):
    assert str(formula) == text
    assert read(text) is formula


def test_representation_is_short():
    shared = P
    for _ in range(200):  # as text, 2**200 copies of p
        shared = And((AX(shared), EX(shared)))
    assert len(repr(shared)) < 300


def test_python_operators():
    assert P & Q is And((P, Q))
    assert P | Q is Or((P, Q))
    assert ~P is Not(P)
    with pytest.raises(FormulaError, match=r"write & \| ~"):
        bool(P and Q)
    with pytest.raises(TypeError):
        _ = P & 1
    assert conjunction([]) is TRUE
    assert disjunction([]) is FALSE
    assert conjunction([P, TRUE, And((Q, And((P, R))))]) is And((P, Q, R))
    assert disjunction([P, TRUE]) is TRUE
    assert conjunction([P, P]) is P


def test_malformed_nodes_are_refused():
    for make in (
        lambda: And((P,)),
        lambda: Or(()),
        lambda: Next(ALL, 0, P),
        lambda: Globally(ALL, 3, 2, P),
        lambda: Finally(EXISTS, -1, 2, P),
        lambda: Until(EXISTS, 2, 1, P, Q),
    ):
        with pytest.raises(FormulaError):
            make()


def test_nodes_are_interned_and_forgotten():
    first = Globally(ALL, 0, 3, atom({"forgotten": 1}, ">", 5))
    assert first is Globally(quantifier=ALL, start=0, end=3, operand=atom({"forgotten": 1}, ">", 5))
    assert first is not Globally(ALL, 0, 4, first.operand)
    assert len({first, first.operand, Finally(ALL, 0, 3, first.operand)}) == 3
    with pytest.raises(AttributeError):
        first.start = 1
    del first
    gc.collect()
    assert not any("forgotten" in str(node) for node in list(type(Formula).table.values()) if (node.horizon or 0) < 10)


def test_pickle_in_another_process():
    formula = read("AG^3 (h > 100 -> A(safe U^2 !p))")
    code = "import pickle, sys; print(pickle.load(sys.stdin.buffer))"
    run = subprocess.run([sys.executable, "-c", code], input=pickle.dumps(formula), capture_output=True, check=True)
    assert read(run.stdout.decode()) is formula


DEEP = 10_000


@pytest.mark.thorough
@pytest.mark.parametrize("kind", some_slow(["AX", "!", "EG[0,1]", "p ->", "p & (", "A(p U^1"], range(5)))
def test_deep_formulas(kind):
    opened = f"{kind} " * DEEP
    text = opened + "h > 1" + ")" * (DEEP if "(" in kind else 0)
    formula = read(text)
    assert read(str(formula)) is formula
    assert pickle.loads(pickle.dumps(formula)) is formula
    assert sum(1 for _ in subformulas(formula)) >= DEEP
    assert hash(formula) == hash(read(text))
    values = {name: Fraction(2) for name in WORDS.variables}
    model = FiniteModel(1, ((0,),), (values,))
    if kind in ("EG[0,1]", "A(p U^1"):  # each level has the operands of all below it: too large, and that is said
        with pytest.raises(FormulaError, match="parts when its bounds are unrolled"):
            nnf(formula)
    else:
        assert evaluate(nnf(formula), model) == evaluate(formula, model)
        assert evaluate(nnf(formula, negate=True), model) == {0} - evaluate(formula, model)
    del formula
    gc.collect()


@pytest.mark.parametrize(
    "text",
    [
        "(" * 1_000_000,
        "h > 1 & " * 125_000 + "p",
        "(" * 190_000,
        "(" * 90_000 + "h > 1" + ")" * 90_000,
        "!" * 190_000 + "(h > 1)",
        "AX^1000000000 p",
        f"AX^{'9' * 5000} p",
        "AG^9 " * 39_000 + "p",
        "h > 1e999999999",
        f"h > {'9' * 100_000}",
        "1e1000*" * 28_000 + "h > 1",
        "+".join(f"1/{n}" for n in range(3, 25_000)) + " > h",
        "h > 1 <" * 25_000,
        '"' * 100_000,
        "\x00" * 1000,
        "\ud800 > 3",
        "h\r\v\f> 3",
    ],
    ids=lambda text: ascii(text[:12]),
)
def test_hostile_text_is_quick(text):
    begin = time.perf_counter()
    try:
        result = str(type(read(text)))
    except FormulaError as error:
        result = str(error)
    assert len(result) < 1000
    assert time.perf_counter() - begin < 30  # a few seconds here; the rest is for slow machines


BAD = [
    # text, line, column, what the message must say
    ("", 0, 0, ["empty", "AX^5"]),
    ("  \n ", 0, 0, ["empty"]),
    ("h", 1, 1, ["h is a number", "compare it"]),
    ("h & p", 1, 1, ["h is a number", "compare it"]),
    ("p & 2*h", 1, 5, ["2*h is a number"]),
    ("heigth > 3", 1, 1, ["'heigth'", "Known variables: h, climb"]),
    ("clim > 3", 1, 1, ["unknown name 'clim'", "did you mean 'climb'?", "propositions: safe", "constants: COC, DNC"]),
    ("AX saef", 1, 4, ["'saef'", "did you mean 'safe'?"]),
    ("adv == COG", 1, 8, ["'COG'", "did you mean 'COC'?"]),
    ("cell[3] > 0", 1, 1, ["'cell[3]'", "did you mean 'cell["]),
    ("cell[0] > 0", 1, 1, ["'cell[0]'", "did you mean 'cell[1]'? Formulas count components from 1: there is cell[1]"]),
    ("cell > 0", 1, 1, ["'cell'", "count components from 1: there is cell[1]"]),
    ("cell[i] > 0", 1, 5, ["`[`", "whole number"]),
    ("True", 1, 1, ["did you mean 'true'?"]),
    ("p &\n  clim > 3", 2, 3, ["'clim'"]),
    ("h > 3 &", 1, 8, ["ends too early", "expected a formula"]),
    ("h >", 1, 4, ["ends too early", "a number or a name"]),
    ("(h > 3", 1, 7, ["ends too early", "`)`"]),
    ("h > 3)", 1, 6, ["unexpected `)`", "the end"]),
    ("h > 3 p", 1, 7, ["unexpected `p`", "*"]),
    ("2h > 3", 1, 2, ["unexpected `h`", "2*h"]),
    ("AG p", 1, 1, ["AG needs a bound", "AG^5 p", "AG[0,5] p"]),
    ("p & EF (h > 3)", 1, 5, ["EF needs a bound", "bounded"]),
    ("A(p U q)", 1, 5, ["U needs a bound", "U^5"]),
    ("p &\n AX AG[1,*] p", 2, 5, ["AG needs a bound", "AG[0,5]"]),
    ("AG^3 (p -> AF q) & EF p", 1, 12, ["AF needs a bound", "for ever"]),
    ("EG EG p", 1, 1, ["EG needs a bound"]),
    ("AG", 1, 3, ["ends too early", "a bound", "a formula"]),
    ("AG & p", 1, 4, ["AG is followed by a bound and a formula"]),
    ("A(p U & q)", 1, 7, ["U is followed by a bound"]),
    ("AG 5 p", 1, 6, ["AG^5"]),
    ("AG[*,5] p", 1, 4, ["a whole number"]),
    ("AG[100001,*] p", 1, 4, ["100000"]),
    ("AX^100001 AG p", 1, 4, ["100000"]),
    ("A(p & q)", 1, 8, ["`)`", "`U`"]),
    ("p U^2 q", 1, 3, ["within A( ) or E( )"]),
    ("AX[1,2] p", 1, 3, ["AX", "no window", "AX^3 p"]),
    ("AX^0 p", 1, 4, ["from 1", "[0,0]"]),
    ("A(p U^0 q)", 1, 7, ["from 1"]),
    ("AX^2.5 p", 1, 4, ["whole number", "2.5"]),
    ("AX^k p", 1, 4, ["whole number"]),
    ("AX^-1 p", 1, 4, ["whole number"]),
    ("AG[5,2] p", 1, 4, ["[5,2] is empty", "i <= j"]),
    ("AG[5] p", 1, 5, ["unexpected `]`", "`,`"]),
    ("AG[1 2] p", 1, 6, ["unexpected `2`", "`,`"]),
    ("AX^1000000000 p", 1, 4, ["100000 steps"]),
    ("AX^60000 p & AX^50000 AX^50001 p", 1, 17, ["100000 steps"]),
    ("h*climb > 3", 1, 2, ["not linear", "(h) * (climb)"]),
    ("3/h > 1", 1, 2, ["not linear", "division"]),
    ("h/(2 - 2) > 1", 1, 2, ["division by zero"]),
    ("h^2 > 3", 1, 2, ["powers are not linear"]),
    ("|h| > 100", 1, 1, ["absolute value", "e > c | e < -c"]),
    ("h > (99)", 1, 6, ["(99)", "positions 1 to 14", "without parentheses"]),
    ("h > (0)", 1, 6, ["(0)", "without parentheses"]),
    ("safe > 3", 1, 1, ["only numbers can be compared", "safe"]),
    ("safe + 1 > 3", 1, 1, ["only numbers can be added"]),
    ("2*(p & q) > 3", 1, 4, ["only numbers can be multiplied", "p == 1 & q == 1"]),
    ("-safe > 3", 1, 2, ["only numbers can be negated"]),
    ("(h > 3) == safe", 1, 2, ["only numbers can be compared", "<->"]),
    ("h => 3", 1, 4, [">=", "->"]),
    ("p <=> q", 1, 5, ["<->"]),
    ("h > $3", 1, 5, ["unexpected character '$'"]),
    ('h > "climb', 1, 5, ["without its partner"]),
    ("h > 1e5000", 1, 5, ["4096 bits"]),
    ("G(h > 3)", 1, 2, ["G is taken as a name", "AG"]),
    ("AX", 1, 3, ["ends too early", "bound"]),
    ("AX > 3", 1, 4, ["unexpected `>`"]),
]


@pytest.mark.parametrize(("text", "line", "column", "fragments"), BAD, ids=[case[0] for case in BAD])
def test_bad_formulas(text, line, column, fragments):
    with pytest.raises(FormulaError) as caught:
        read(text)
    error = caught.value
    assert (error.line, error.column) == (line, column)
    for fragment in fragments:
        assert fragment in str(error)
    # No word of the parser generator reaches the user.
    assert not any(word in str(error) for word in ("LPAR", "RPAR", "NAME", "RELATION", "CIRCUMFLEX", "$END", "Token"))
    if line:
        *_, shown, caret = str(error).split("\n")
        assert shown == "    " + text.split("\n")[line - 1]
        assert caret == " " * (4 + column - 1) + "^"
        assert f"line {line}, column {column}" in str(error)


def test_caret_in_a_long_line():
    with pytest.raises(FormulaError) as caught:
        read("p & " * 1000 + "oops")
    shown, caret = str(caught.value).split("\n")[-2:]
    assert len(shown) <= 104
    assert shown[caret.index("^") :].startswith("oops")


@pytest.mark.parametrize(
    "make",
    [
        lambda: Vocabulary(("h", "h")),
        lambda: Vocabulary(("h",), frozenset({"g"})),
        lambda: Vocabulary(("h",), propositions={"h": TRUE}),
        lambda: Vocabulary(("h",), constants={"h": Fraction(1)}),
        lambda: Vocabulary(('say "h"',)),
        lambda: Vocabulary(("",)),
    ],
)
def test_bad_vocabularies(make):
    with pytest.raises(ModelError) as caught:
        make()
    assert isinstance(caught.value, InputError)


def test_long_vocabularies_are_cut():
    names = tuple(f"cell[{i}]" for i in range(1, 401))
    with pytest.raises(FormulaError, match=r"cell\[24\], \.\.\. \(400 in all\)"):
        parse("room[3] > 0", Vocabulary(names))


@pytest.mark.parametrize(
    "text",
    [
        "P=? [ F x > 3 ]",
        "Pmax>=0.9 [ F x > 3 ]",
        "P>=1 [ G x > 3 ]",
        'R{"c"}min=? [ F x > 3 ]',
        "!P<0.1 [x > 3]",
    ],
)
def test_probabilities_are_refused_in_words(text: str) -> None:
    """They were unexpected characters, with advice about names and indices."""
    with pytest.raises(
        FormulaError, match=r"probabilities and rewards are not decided: .* EF\^k p for what can happen"
    ):
        parse(text, Vocabulary(variables=("x",)))


def test_a_variable_called_p_stays_one() -> None:
    assert str(parse("AX P >= 1", Vocabulary(variables=("P",))))
    with pytest.raises(FormulaError, match="index is one whole number"):
        parse("AX P[ 1 ] > 0", Vocabulary(variables=("P",)))
