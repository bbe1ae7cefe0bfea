"""Text to formulas of linear temporal logic (LTL), over the names of a system or over any names."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from lark import ParseTree, Token
from lark.exceptions import UnexpectedInput, VisitError

from venmas.budget import ask
from venmas.logic.formula import FALSE, TRUE, Atom, Formula, Not, is_temporal, replaced
from venmas.logic.grammar import LINEAR_GRAMMAR, tree
from venmas.logic.linear import Comparison, LinearExpr
from venmas.logic.messages import NO_BRANCHING, explain
from venmas.logic.paths import Proposition, R, U, X, finally_, globally, leaves, strong_release, weak_until
from venmas.logic.printing import RESERVED
from venmas.logic.terms import FormulaBuilder, Number, Truth, readable
from venmas.logic.vocabulary import Vocabulary

_UNARY = {"X": X, "F": finally_, "G": globally}
_BINARY = {"U": U, "R": R, "W": weak_until, "M": strong_release}


def parse_ltl(text: str, vocabulary: Vocabulary | None = None) -> Formula:
    """The formula that a text states (L3 of docs/semantics.md): X F G U R W M, ``! & | -> <->``, comparisons, names.

    vocabulary: the names of a system; a Boolean variable is a `Proposition`. None: any name may stand, and one that
    stands alone somewhere is true or false, also where it is compared.

    Raises `FormulaError`, with line and column, for text that is no such formula or names something unknown.
    """
    text = readable(text, "F G !rst -> G F done")
    try:
        parsed = tree(text, LINEAR_GRAMMAR)
        if vocabulary is not None:
            builder = _Builder(text, vocabulary)
            result: Formula = builder.transform(parsed)
            return result
        names = _names(parsed)
        builder = _Builder(text, Vocabulary(names))
        builder.flags = set()
        result = builder.transform(parsed)
        if builder.flags & builder.compared:
            result = _Builder(text, Vocabulary(names, frozenset(builder.flags))).transform(parsed)
        return result
    except UnexpectedInput as error:
        raise explain(error, text, linear=True) from None
    except VisitError as error:
        raise error.orig_exc from None


def flagged(formula: Formula, booleans: frozenset[str]) -> Formula:
    """The formula with every comparison of one Boolean variable, such as ``v == 0``, as a proposition or its negation.

    Comparisons without a variable become true or false.
    """
    atoms = (leaf for leaf in leaves(formula) if isinstance(leaf, Atom))
    return replaced(formula, {atom: _literal(atom.comparison, booleans) for atom in atoms})


def _literal(comparison: Comparison, booleans: frozenset[str]) -> Formula:
    terms = comparison.expr.terms
    if not terms:
        return TRUE if comparison.holds({}) else FALSE
    (name, _), *more = terms
    if more or name not in booleans:
        return Atom(comparison)
    at_zero, at_one = (comparison.holds({name: Fraction(value)}) for value in (0, 1))
    if at_zero is at_one:
        return TRUE if at_one else FALSE
    return Proposition(name) if at_one else Not(Proposition(name))


def _names(parsed: ParseTree) -> tuple[str, ...]:
    """Every name of a text."""
    found: dict[str, None] = {}
    stack: list[ParseTree | Token] = [parsed]
    while stack:
        ask()
        node = stack.pop()
        if not isinstance(node, Token):
            stack.extend(node.children)
        elif node.type in ("NAME", "QUOTED"):
            found[node.strip('"')] = None
    found.pop("", None)  # refused where it stands
    return tuple(found)


class _Builder(FormulaBuilder):
    """One method a rule of the grammar. flags: where not None, every variable may stand alone, and who did."""

    def __init__(self, text: str, vocabulary: Vocabulary) -> None:
        super().__init__(text, vocabulary)
        self.flags: set[str] | None = None
        self.compared: set[str] = set()

    def path(self, args: list[Any]) -> Truth:
        word, operand = args
        formula = self._formula(operand)
        for letter in reversed(word):
            formula = _UNARY[letter](formula)
        return Truth(formula, word)

    def until(self, args: list[Any]) -> Truth:
        left, operator, right = args
        return Truth(_BINARY[str(operator)](self._formula(left), self._formula(right)), left.at)

    def group(self, args: list[Any]) -> Any:
        inner = args[0]  # no variable by its position here: (3) is the number
        return Number(inner.expr, inner.at) if isinstance(inner, Number) else inner

    def name(self, args: list[Token]) -> Number | Truth:
        token = args[0]
        if token in RESERVED:
            self._fail(f"{token} {NO_BRANCHING}; a name of this kind is written in double quotes", token)
        found = super().name(args)
        if not isinstance(found, Truth):
            return found
        if is_temporal(found.formula):
            self._fail(f"{token} names a formula with temporal operators of branching time: name a condition", token)
        return Truth(flagged(found.formula, self._vocabulary.booleans), found.at)

    def _atom(self, comparison: Comparison) -> Formula:
        self.compared |= comparison.expr.variables
        return _literal(comparison, self._vocabulary.booleans)

    def _flag(self, name: str, holds: bool) -> Formula:
        if self.flags is not None:
            self.flags.add(name)
        return Proposition(name) if holds else Not(Proposition(name))

    def _boolean(self, value: Number) -> str | None:
        if self.flags is None:
            return super()._boolean(value)
        name = value.expr.terms[0][0] if value.expr.terms else None
        return name if value.expr == LinearExpr.variable(name or "") else None
