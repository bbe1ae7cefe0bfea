"""LTL as text, and its meaning on lassos."""

from __future__ import annotations

import pickle
import random
from fractions import Fraction

import pytest

from tests.logic.automata.ltl_cases import A, B, random_formula, shapes
from venmas.errors import FormulaError
from venmas.logic import FALSE, TRUE, And, Atom, Bottom, Formula, Iff, Implies, Not, Or, Top, Vocabulary
from venmas.logic.lassos import Lasso, holds, satisfying
from venmas.logic.linear import Comparison, LinearExpr, Relation
from venmas.logic.ltl_parser import parse_ltl
from venmas.logic.paths import Proposition, R, U, X, finally_, globally, strong_release, weak_until

C = Proposition("c")


def compared(name: str, relation: str, number: int) -> Atom:
    return Atom(Comparison(LinearExpr(((name, Fraction(1)),), Fraction(-number)), Relation(relation)))


@pytest.mark.parametrize(
    ("text", "formula"),
    [
        ("FG a -> GF b", Implies(finally_(globally(A)), globally(finally_(B)))),
        ("F G a -> G F b", Implies(finally_(globally(A)), globally(finally_(B)))),
        ("a U b U c", U(A, U(B, C))),
        ("a U b & b R c", And((U(A, B), R(B, C)))),
        ("! a U b", U(Not(A), B)),
        ("X a | G b <-> c", Iff(Or((X(A), globally(B))), C)),
        ("a -> b -> c", Implies(A, Implies(B, C))),
        ("a W b", weak_until(A, B)),
        ("(a) M (b)", strong_release(A, B)),
        ("G (state == 2)", globally(compared("state", "==", 2))),
        ("F (3) < x", finally_(compared("x", ">", 3))),
        ("G s[3]", globally(Proposition("s[3]"))),
        ('"X" U U', U(Proposition("X"), Proposition("U"))),
        ("G(rst | rst == 0)", globally(Or((Proposition("rst"), Not(Proposition("rst")))))),
        ("G true & !false", And((globally(TRUE), Not(FALSE)))),
    ],
)
def test_texts_mean_their_formulas(text: str, formula: Formula) -> None:
    assert parse_ltl(text) is formula
    assert parse_ltl(str(formula)) is formula


def test_what_is_printed_reads_back() -> None:
    draw = random.Random(3)
    odd = (
        Proposition("F"),
        Proposition("two words"),
        compared("GF", "<=", 2),
        compared("cnt", "!=", 0),
        Proposition("U"),
    )
    for _ in range(300):
        formula = random_formula(draw, draw.randint(1, 20), odd)
        assert parse_ltl(str(formula)) is formula
        assert pickle.loads(pickle.dumps(formula)) is formula


def test_names_are_those_of_the_system() -> None:
    known = Vocabulary(
        ("cnt", "rst", "X"),
        frozenset({"rst"}),
        {"late": Not(compared("rst", "==", 0)), "many": compared("cnt", ">", 7)},
        {"READY": Fraction(2)},
    )
    rst = Proposition("rst")
    assert parse_ltl("G (rst == 0) & F late & X many & cnt == READY", known) is And(
        (globally(Not(rst)), finally_(Not(Not(rst))), X(compared("cnt", ">", 7)), compared("cnt", "==", 2))
    )
    assert parse_ltl("rst >= 0 | rst > 1 | rst < 1", known) is Or((TRUE, FALSE, Not(rst)))
    assert parse_ltl('"X" > 1', known) is compared("X", ">", 1)
    with pytest.raises(FormulaError, match="unknown name 'cmt', did you mean 'cnt'"):
        parse_ltl("G cmt > 2", known)
    with pytest.raises(FormulaError, match="cnt is a number and a formula is needed here"):
        parse_ltl("G cnt", known)


@pytest.mark.parametrize(
    ("text", "column", "told"),
    [
        ("", 0, "is empty"),
        ("G AG p", 6, "AG is an operator of branching time"),
        ("E(a U b)", 2, "E is an operator of branching time"),
        ("A > 2 & EF", 9, "EF is an operator of branching time"),
        ("G^5 p", 2, "take no bound"),
        ("F[0,3] p", 2, "take no bound"),
        ("always p", 8, "always is not read, LTL writes G"),
        ("p s_until q", 3, "LTL writes U"),
        ("a S b", 3, "operators of the past"),
        ("X > 3", 3, 'a signal of this name is written "X"'),
        ("a U", 4, "U is followed by a formula"),
        ("a U & b", 5, "U is followed by a formula"),
        ("G (a", 5, "ends too early"),
        ("a & & b", 5, "expected a formula"),
        ("a $ b", 3, "unexpected character '\\$'"),
        ("a*b > 2", 2, "not linear"),
        ('G ""', 3, "unknown name ''"),
    ],
)
def test_errors_say_what_and_where(text: str, column: int, told: str) -> None:
    with pytest.raises(FormulaError, match=told) as error:
        parse_ltl(text)
    assert error.value.column == column
    assert not column or str(error.value).splitlines()[-1].index("^") == 4 + column - 1


def direct(formula: Formula, lasso: Lasso, i: int = 0) -> bool:
    """The definitions, word for word, over steps far enough to have seen the loop twice."""
    stem, loop = len(lasso.stem), len(lasso.loop)
    letter = lasso.letters[i if i < stem else stem + (i - stem) % loop]
    far = range(i, max(i, stem) + loop)
    match formula:
        case Top() | Bottom():
            return formula is TRUE
        case Proposition():
            return formula in letter
        case Not(p):
            return not direct(p, lasso, i)
        case And(parts):
            return all(direct(p, lasso, i) for p in parts)
        case Or(parts):
            return any(direct(p, lasso, i) for p in parts)
        case Implies(p, q):
            return not direct(p, lasso, i) or direct(q, lasso, i)
        case Iff(p, q):
            return direct(p, lasso, i) is direct(q, lasso, i)
        case X(p):
            return direct(p, lasso, i + 1)
        case U(p, q):
            return any(direct(q, lasso, j) and all(direct(p, lasso, k) for k in range(i, j)) for j in far)
        case R(p, q):
            return all(direct(q, lasso, j) or any(direct(p, lasso, k) for k in range(i, j)) for j in far)
    raise AssertionError(formula)


def test_lassos_follow_the_definitions() -> None:
    draw = random.Random(11)
    letters = [frozenset(x for x in (A, B) if draw.random() < 0.5) for _ in range(50)]
    for _ in range(150):
        formula = random_formula(draw, draw.randint(1, 7))
        lasso = Lasso(
            tuple(draw.choices(letters, k=draw.randint(0, 3))), tuple(draw.choices(letters, k=draw.randint(1, 3)))
        )
        assert holds(formula, lasso) is direct(formula, lasso)


def test_words_of_a_shape_are_each_word() -> None:
    draw = random.Random(12)
    for words in shapes((A, B), 3):
        formula = random_formula(draw, 6)
        found = satisfying(formula, words)
        for number in range(words.every.bit_length()):
            letters = [frozenset(x for x in (A, B) if words.truth[x][i] >> number & 1) for i in range(words.length)]
            lasso = Lasso(tuple(letters[: words.back]), tuple(letters[words.back :]))
            assert holds(formula, lasso) is bool(found >> number & 1)
        assert (
            len({tuple(words.truth[x][i] >> n & 1 for x in (A, B) for i in range(words.length)) for n in range(16)}) > 1
        )


def test_words_without_a_loop_or_a_leaf_are_refused() -> None:
    with pytest.raises(FormulaError, match="one letter or more"):
        Lasso((frozenset(),), ())
    with pytest.raises(FormulaError, match="says nothing of c"):
        satisfying(C, shapes((A,), 1)[0])
