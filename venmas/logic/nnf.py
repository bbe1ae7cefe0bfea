"""Negation normal form in the core: Top, Bottom, Atom, And, Or, EX, AX, and Fixpoint for what has no bound.

Negations end in the atoms and are exact there: ``!(a <= c)`` is ``a > c``, ``!(a == c)`` is ``a != c`` (design S6).
Only constants are simplified, so that the meaning is the same in every system, with deadlocks or without.

Core formulas are true, false, atoms `affine expression r 0`, And and Or of two operands or more, EX and AX. Negation is
pushed to the atoms (A and E, `&` and `|` change places; relations become their complements; an atom without variables
becomes true or false). `p -> q` is `!p | q`; `p <-> q` is `(p & q) | (!p & !q)`, its negation `(p & !q) | (!p & q)`.
With C(.., ..) for And and D(.., ..) for Or:

- Q X^k p is QX applied k times; AX true is true and EX false is false (the quantifier being the one after negation).
- Q(p U[i,j] q): start from q; j - i times replace r by D(q, C(p, QX r)); i times replace r by C(p, QX r).
- The negation of Q(p U[i,j] q), with Q' the other quantifier, p' and q' the core forms of !p and !q: start from q'; j -
  i times replace r by C(q', D(p', Q'X r)); i times replace r by D(p', Q'X r).
- QF[i,j] q is Q(true U[i,j] q). QG[i,j] q is the second construction with p' = false, q' = q, Q' = Q, since QG = !Q'F!.
  Their negations are the constructions for the other operator over the negated operand.

C and D flatten operands of their own kind, drop true (false) operands, become false (true) when an operand is, drop all
but the first of equal operands, and become the operand when one is left. Conjunctions (disjunctions) nested in each
other in the text, negations between them counted, are one C (D) with their operands from left to right.
"""

from __future__ import annotations

from types import UnionType

from venmas.budget import ask
from venmas.errors import FormulaError
from venmas.logic import unroll
from venmas.logic.formula import (
    AX,
    EX,
    FALSE,
    TRUE,
    And,
    Atom,
    Bottom,
    Finally,
    Formula,
    Globally,
    Iff,
    Implies,
    Next,
    Not,
    Or,
    Quantifier,
    Top,
    Until,
    Window,
    conjunction,
    disjunction,
    subformulas,
)

MAX_DEPTH = 100_000
"""Largest number of steps that a formula may look ahead."""

MAX_CORE_SIZE = 1_000_000
"""Largest number of nodes and operands of a formula in core form."""

MAX_NESTING = 200
"""Most alternations of & and | inside each other that speak of one state."""

_Key = tuple[Formula, bool]  # a formula, and whether its negation is meant


def nnf(formula: Formula, negate: bool = False) -> Formula:
    """The core form of a bounded formula or, with `negate`, of its negation: every bound is unrolled.

    Raises `FormulaError` for an operator without a bound, and where the result would pass `MAX_DEPTH`, `MAX_CORE_SIZE`
    or `MAX_NESTING`.
    """
    if formula.depth > MAX_DEPTH:
        raise FormulaError(
            f"the formula looks {formula.depth} steps ahead, at most {MAX_DEPTH} are possible: use smaller bounds"
        )
    return fixpoints(formula, negate)


def fixpoints(formula: Formula, negate: bool = False) -> Formula:
    """The core form of any formula or, with `negate`, of its negation: `nnf`, with what has no bound as `Fixpoint`.

    Raises `FormulaError` where the result would pass `MAX_CORE_SIZE` or `MAX_NESTING`.
    """
    work = _Rewriting()
    root = _stripped(formula, negate)
    stack = [root]
    while stack:
        ask()
        key = stack[-1]
        missing = [need for need in work.needs(key) if need not in work.done] if key not in work.done else []
        if missing:
            stack.extend(missing)
        else:
            stack.pop()
            if key not in work.done:
                work.done[key] = work.build(*key)
    # an operator becomes two alternations at most: few formulas are so deep that their long core needs a look
    if _nests(formula, Formula, MAX_NESTING // 2) and _nests(work.done[root], And | Or, MAX_NESTING):
        # what reads core formulas recurses within a state, while it works step by step along a run
        raise FormulaError(
            f"the formula nests more than {MAX_NESTING} alternations of & and | when its operators are rewritten: "
            "split it into several formulas"
        )
    return work.done[root]


def _nests(formula: Formula, kinds: type | UnionType, most: int) -> bool:
    """Are nodes of some kinds nested directly inside each other more than `most` times?"""
    levels: dict[Formula, int] = {}
    for node in subformulas(formula):
        if isinstance(node, kinds):
            levels[node] = 1 + max((levels.get(child, 0) for child in node.children), default=0)
            if levels[node] > most:
                return True
    return False


def _stripped(node: Formula, negate: bool) -> _Key:
    while isinstance(node, Not):
        node, negate = node.operand, not negate
    return node, negate


def _conjunctive(node: Formula, negate: bool) -> bool | None:
    """True for what becomes a conjunction, False for what becomes a disjunction, None for the rest."""
    match node:
        case And():
            return not negate
        case Or() | Implies():
            return negate
        case _:
            return None


def _signed(node: Formula, negate: bool) -> list[_Key]:
    """The operands with their polarity."""
    match node:
        case Implies(left, right):
            return [_stripped(left, not negate), _stripped(right, negate)]
        case Iff(left, right):
            return [_stripped(side, sign) for side in (left, right) for sign in (False, True)]
        case _:
            return [_stripped(child, negate) for child in node.children]


class _Rewriting:
    """Results so far, by formula and polarity, and what they cost together."""

    def __init__(self) -> None:
        self.done: dict[_Key, Formula] = {}
        self._size = 0
        self._regions: dict[_Key, list[_Key]] = {}

    def needs(self, key: _Key) -> list[_Key]:
        """What must be done before `build`."""
        if _conjunctive(*key) is None:
            return _signed(*key)
        if key not in self._regions:
            self._regions[key] = self._region(key)
        return self._regions[key]

    def _region(self, key: _Key) -> list[_Key]:
        """The operands of the largest conjunction (or disjunction) that begins here.

        ``a & (b & (c & ...))`` is one node in the end; rewriting each level by itself would take quadratic time.
        """
        kind, seen, operands, stack = _conjunctive(*key), {key}, [], [key]
        while stack:
            ask()
            part = stack.pop()
            if _conjunctive(*part) is not kind:
                operands.append(part)
                continue
            for child in reversed(_signed(*part)):
                if child not in seen:
                    seen.add(child)
                    stack.append(child)
        self._spend(len(seen))
        return operands

    def _get(self, node: Formula, negate: bool) -> Formula:
        return self.done[_stripped(node, negate)]

    def build(self, node: Formula, negate: bool) -> Formula:
        """The core form of `node`, or of its negation, from the parts that are done."""
        match node:
            case Top() | Bottom():
                return TRUE if isinstance(node, Top) is not negate else FALSE
            case Atom(comparison):
                literal = comparison.negated if negate else comparison
                if literal.expr.terms:
                    return Atom(literal)
                return TRUE if literal.holds({}) else FALSE
            case And() | Or() | Implies():
                join = conjunction if _conjunctive(node, negate) else disjunction
                return join(self.done[part] for part in self._regions[node, negate])
            case Iff(left, right):
                # Both or neither; negated, one but not the other.
                with_left = conjunction((self._get(left, False), self._get(right, negate)))
                return disjunction((with_left, conjunction((self._get(left, True), self._get(right, not negate)))))
            case _:
                return self._unrolled(node, negate)

    def _unrolled(self, node: Formula, negate: bool) -> Formula:
        def meant(quantifier: Quantifier) -> Quantifier:
            return quantifier.dual if negate else quantifier

        operands = [self._get(child, negate) for child in node.children]
        width = 2 + sum(len(operand.children) if isinstance(operand, And | Or) else 1 for operand in operands)
        steps = node.k if isinstance(node, Next) else 1
        if isinstance(node, Window):
            steps = node.start if node.end is None else node.end
        self._spend(steps * width)
        match node:
            case AX(_):
                return unroll.step(meant(Quantifier.ALL), operands[0])
            case EX(_):
                return unroll.step(meant(Quantifier.EXISTS), operands[0])
            case Next(quantifier, k, _):
                return unroll.step(meant(quantifier), operands[0], k)
            case Globally(quantifier, start, int(end), _):
                unrolled = unroll.finally_ if negate else unroll.globally
                return unrolled(meant(quantifier), start, end, operands[0])
            case Finally(quantifier, start, int(end), _):
                unrolled = unroll.globally if negate else unroll.finally_
                return unrolled(meant(quantifier), start, end, operands[0])
            case Until(quantifier, start, int(end), _, _):
                combine = unroll.release if negate else unroll.until
                return combine(meant(quantifier), start, end, *operands)
            case Window(quantifier, start, None):
                least = isinstance(node, Globally) is negate
                left = operands[0] if isinstance(node, Until) else TRUE if least else FALSE
                return unroll.fixpoint(least, meant(quantifier), start, left, operands[-1])
            case _:
                raise TypeError(f"{type(node).__name__} is no node of a formula")

    def _spend(self, amount: int) -> None:
        self._size += amount
        if self._size > MAX_CORE_SIZE:
            raise FormulaError(
                f"the formula has more than {MAX_CORE_SIZE} parts when its bounds are unrolled: use smaller bounds"
            )
