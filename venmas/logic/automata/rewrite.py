"""Formulas of LTL in core form: negation normal form over X, U, R, made smaller by laws that hold in every word.

Negations end in the leaves, and of two comparisons that are each other's negation one is kept, with whole coefficients.
A formula is *eventual* when it holds before whatever it holds of (closed under prefixes), *universal* when it holds
ever after; of one that is both, time is of no account. Laws: Etessami, Holzmann, *Optimizing Buchi Automata*, CONCUR
2000, section 3; Somenzi, Bloem, *Efficient Buchi Automata from LTL Formulae*, CAV 2000, section 3; Babiak, Kretinsky,
Rehak, Strejcek, *LTL to Buchi Automata Translation: Fast and More Deterministic*, TACAS 2012, section 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import gcd, lcm

from venmas.errors import FormulaError
from venmas.logic.automata.effort import Effort
from venmas.logic.automata.implication import Implication
from venmas.logic.formula import FALSE, TRUE, And, Atom, Bottom, Formula, Iff, Implies, Not, Or, Top, subformulas
from venmas.logic.linear import Comparison, Relation
from venmas.logic.paths import Proposition, R, U, X

_ABSORBED = 40
"""Most operands of which each is compared with each."""


def core(formula: Formula, negate: bool = False, effort: Effort | None = None) -> Formula:
    """The core form of a formula or, with `negate`, of its negation.

    Raises `FormulaError` where that takes more than the effort that translations may take, `TypeError` for no LTL.
    """
    try:
        return _Rewriting(effort or Effort()).core(formula, negate)
    except RecursionError:
        raise FormulaError(
            "the formula nests its operators too deeply to be rewritten: ask its parts as formulas of their own"
        ) from None


def literal(comparison: Comparison, negate: bool) -> Formula:
    """A comparison as a leaf or its negation, such that equal conditions, and opposite ones, have one leaf."""
    expr, relation = comparison.expr, comparison.relation
    if not expr.terms:
        return TRUE if comparison.holds({}) is not negate else FALSE
    scale = lcm(*(c.denominator for _, c in expr.terms))
    divisor = gcd(*(int(c * scale) for _, c in expr.terms))
    sign = -1 if expr.terms[0][1] < 0 else 1
    expr = expr.scaled(Fraction(sign * scale, divisor))
    if sign < 0:
        relation = relation.mirrored
    if relation in (Relation.NE, Relation.GE, Relation.GT):
        relation, negate = relation.negated, not negate
    leaf = Atom(Comparison(expr, relation))
    return Not(leaf) if negate else leaf


class _Rewriting:
    """Results so far."""

    def __init__(self, effort: Effort) -> None:
        self._effort = effort
        self._known = Implication(effort)

    def core(self, formula: Formula, negate: bool) -> Formula:
        done: dict[Formula, tuple[Formula, Formula]] = {}
        for node in subformulas(formula):
            self._effort.spend(1)
            done[node] = plain, negated = self._both(node, done)
            self._known.opposite(plain, negated)
        return done[formula][negate]

    def _both(self, node: Formula, done: dict[Formula, tuple[Formula, Formula]]) -> tuple[Formula, Formula]:
        """The core forms of a formula and of its negation."""
        match node:
            case Top():
                return TRUE, FALSE
            case Bottom():
                return FALSE, TRUE
            case Proposition():
                return node, Not(node)
            case Atom(comparison):
                return literal(comparison, False), literal(comparison, True)
            case Not(operand):
                plain, negated = done[operand]
                return negated, plain
            case And(operands) | Or(operands):
                joint = isinstance(node, And)
                both = [done[part] for part in operands]
                return self._join(joint, [p for p, _ in both]), self._join(not joint, [n for _, n in both])
            case Implies(left, right):
                (p, not_p), (q, not_q) = done[left], done[right]
                return self._join(False, (not_p, q)), self._join(True, (p, not_q))
            case Iff(left, right):
                (p, not_p), (q, not_q) = done[left], done[right]
                alike = self._join(True, (p, q)), self._join(True, (not_p, not_q))
                apart = self._join(True, (p, not_q)), self._join(True, (not_p, q))
                return self._join(False, alike), self._join(False, apart)
            case X(operand):
                plain, negated = done[operand]
                return self._next(plain), self._next(negated)
            case U(left, right) | R(left, right):
                least = isinstance(node, U)
                (p, not_p), (q, not_q) = done[left], done[right]
                return self._path(least, p, q), self._path(not least, not_p, not_q)
            case _:
                raise TypeError(f"{type(node).__name__} is no node of LTL")

    # Connectives

    def _join(self, joint: bool, operands: Sequence[Formula]) -> Formula:
        """The conjunction (`joint`) or disjunction."""
        kind, unit, zero = (And, TRUE, FALSE) if joint else (Or, FALSE, TRUE)
        parts: dict[Formula, None] = {}
        for operand in operands:
            for part in operand.operands if isinstance(operand, And | Or) and type(operand) is kind else (operand,):
                if part is zero:
                    return zero
                if part is not unit:
                    parts[part] = None
        self._effort.spend(len(parts))
        if any(self._known.negation(part) in parts for part in parts):
            return zero
        merged = self._merged(joint, list(parts))
        if len(merged) < len(parts):
            return self._join(joint, merged)
        left = self._absorbed(joint, merged)
        return unit if not left else left[0] if len(left) == 1 else kind(tuple(left))

    def _absorbed(self, joint: bool, parts: list[Formula]) -> list[Formula]:
        """Without the parts that others imply (in a conjunction), or that imply others."""
        if len(parts) > _ABSORBED:
            return parts
        self._effort.spend(len(parts) ** 2)
        left = list(parts)
        for part in parts:
            others = (other for other in left if other is not part)
            if any(self._known(other, part) if joint else self._known(part, other) for other in others):
                left.remove(part)
        return left

    def _merged(self, joint: bool, parts: list[Formula]) -> list[Formula]:
        """Parts of one form as one: ``a R b & a R c``, ``a U c & b U c``, ``F G a & F G b``."""
        groups: dict[object, list[Formula]] = {}
        for part in parts:
            key: object = part
            match part:
                case U(Top(), R(Bottom(), _)) if joint:
                    key = "almost always"
                case R(Bottom(), U(Top(), _)) if not joint:
                    key = "again and again"
                case U(left, right):
                    key = ("until", right if joint else left)
                case R(left, right):
                    key = ("release", left if joint else right)
            groups.setdefault(key, []).append(part)
        return [part[0] if len(part) == 1 else self._one(joint, part) for part in groups.values()]

    def _one(self, joint: bool, group: list[Formula]) -> Formula:
        first = group[0]
        least = isinstance(first, U)
        left, right = first.children
        if least is joint and all(part.children[0] is left for part in group):  # F G a & F G b, G F a | G F b
            below = self._join(joint, [part.children[1].children[1] for part in group])
            return self._path(least, left, self._path(not least, right.children[0], below))
        if least is joint:
            return self._path(least, self._join(joint, [part.children[0] for part in group]), right)
        return self._path(least, left, self._join(joint, [part.children[1] for part in group]))

    # Operators

    def _next(self, operand: Formula) -> Formula:
        return operand if self._known.timeless(operand) else X(operand)

    def _path(self, least: bool, p: Formula, q: Formula) -> Formula:
        """``p U q`` (`least`) or ``p R q``; every law is said of U and holds of R with everything turned round."""
        self._effort.spend(1)
        known = self._known
        always, never = (TRUE, FALSE) if least else (FALSE, TRUE)
        kind = U if least else R

        def below(a: Formula, b: Formula) -> bool:
            return known(a, b) if least else known(b, a)

        if q in (TRUE, FALSE) or p is never or below(p, q) or (known.eventual(q) if least else known.universal(q)):
            return q
        if p is not always and (opposite := known.negation(q)) is not None and below(opposite, p):
            p = always
        while type(q) is kind and not below(p, q.children[0]) and below(q.children[0], p):
            q = q.children[1]  # p U (r U s), where r implies p
        if type(q) is kind and below(p, q.children[0]):
            return q
        steps = 0
        while isinstance(q, X) and (p is always or isinstance(p, X)):
            p, q, steps = p if p is always else p.children[0], q.operand, steps + 1
        if steps:
            made = self._path(least, p, q)
            for _ in range(steps):
                made = self._next(made)
            return made
        if isinstance(q, And if least else Or):
            timeless = [part for part in q.children if known.timeless(part)]
            if timeless:  # p U (q & t)
                rest = self._join(least, [part for part in q.children if not known.timeless(part)])
                return self._join(least, [self._path(least, p, rest), *timeless])
        if p is always and type(q) is (R if least else U) and q.children[0] is never:
            return self._forever(least, q)
        return kind(p, q)

    def _forever(self, least: bool, q: Formula) -> Formula:
        """``F G h`` (`least`) or ``G F h``, where q is ``G h`` or ``F h``."""
        known, h = self._known, q.children[1]
        always, never = (TRUE, FALSE) if least else (FALSE, TRUE)
        if isinstance(h, And | Or):
            joint = isinstance(h, And)  # F G (a & e) = F G a & G e, F G (a | u) = F G a | F G u
            special = [part for part in h.children if (known.eventual(part) if joint else known.universal(part))]
            if special and len(special) < len(h.children):
                rest = self._join(joint, [part for part in h.children if part not in special])
                parts = [self._join(joint, special), rest]
                return self._join(joint, [self._path(least, always, self._path(not least, never, p)) for p in parts])
        return (U if least else R)(always, q)
