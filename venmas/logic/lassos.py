"""Infinite words that end in a loop, and what LTL says of them: the meaning itself, as fixpoints on the ring.

Nothing here rewrites a formula, so that translations can be compared with it. Many words of one shape are decided
together: a leaf has, for each position, an integer whose bit w is its truth in word w.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from venmas.budget import ask
from venmas.errors import FormulaError
from venmas.logic.formula import And, Atom, Bottom, Formula, Iff, Implies, Not, Or, Top, subformulas
from venmas.logic.paths import Leaf, Proposition, R, U, X, leaves

Letter: TypeAlias = Collection[Leaf]
"""The leaves that are true at a step; every other one is false there."""


@dataclass(frozen=True)
class Lasso:
    """The word ``stem loop loop loop ...``. Raises `FormulaError` for an empty loop."""

    stem: tuple[Letter, ...]
    loop: tuple[Letter, ...]

    def __post_init__(self) -> None:
        if not self.loop:
            raise FormulaError("the loop of a lasso has one letter or more: an infinite word repeats something")

    @property
    def letters(self) -> tuple[Letter, ...]:
        """Stem and loop, once."""
        return self.stem + self.loop

    def packed(self, atoms: Collection[Leaf]) -> Words:
        """The one word with its letters as bits."""
        truth = {atom: tuple(int(atom in letter) for letter in self.letters) for atom in atoms}
        return Words(truth, len(self.letters), len(self.stem), 1)


@dataclass(frozen=True)
class Words:
    """Words of one shape: `length` positions, after the last of which comes position `back`.

    truth: of each leaf and position the words in which it holds there, as bits; every: the bits of all words.
    """

    truth: Mapping[Leaf, Sequence[int]]
    length: int
    back: int
    every: int

    def following(self, values: Sequence[int]) -> list[int]:
        """At each position the value of the next one."""
        return [*values[1:], values[self.back]]


def holds(formula: Formula, lasso: Lasso) -> bool:
    """Does the word satisfy the formula?"""
    return bool(satisfying(formula, lasso.packed(leaves(formula))))


def doomed(formula: Formula, letters: Sequence[Letter]) -> bool:
    """Does no infinite word that begins with these letters satisfy the formula? No where operators do not tell it.

    Of each subformula and position: must it hold, may it, whatever letters come? After the last one all is open, so
    that a True is right, and what several operators say together may be missed.
    """
    table: dict[Formula, list[tuple[bool, bool]]] = {}
    for node in subformulas(formula):
        ask()
        table[node] = _bounds(node, table, letters)
    return not table[formula][0][1]


def _bounds(
    node: Formula, table: Mapping[Formula, list[tuple[bool, bool]]], letters: Sequence[Letter]
) -> list[tuple[bool, bool]]:
    """At each position and after the last whether it must hold, and whether it may."""
    size, open_ = len(letters), (False, True)
    match node:
        case Top() | Bottom():
            return [(isinstance(node, Top),) * 2] * (size + 1)
        case Proposition() | Atom():
            return [*((node in letter,) * 2 for letter in letters), open_]
        case Not(operand):
            return [(not may, not must) for must, may in table[operand]]
        case And(operands) | Or(operands):
            join = all if isinstance(node, And) else any
            rows = zip(*(table[operand] for operand in operands), strict=True)
            return [(join(must for must, _ in row), join(may for _, may in row)) for row in rows]
        case Implies(left, right):
            pairs = zip(table[left], table[right], strict=True)
            return [(not a[1] or b[0], not a[0] or b[1]) for a, b in pairs]
        case Iff(left, right):
            known = [(a[0] == a[1] and b[0] == b[1], a, b) for a, b in zip(table[left], table[right], strict=True)]
            return [(a == b, a == b) if sure else open_ for sure, a, b in known]
        case X(operand):
            return [*table[operand][1:], open_]
        case U(left, right) | R(left, right):
            found = [open_]
            for p, q in reversed(list(zip(table[left][:size], table[right][:size], strict=True))):
                z = found[-1]
                ends = ((q[i] or (p[i] and z[i])) if isinstance(node, U) else (q[i] and (p[i] or z[i])) for i in (0, 1))
                found.append((next(ends), next(ends)))
            return found[::-1]
        case _:
            raise TypeError(f"{type(node).__name__} is no node of LTL")


def satisfying(formula: Formula, words: Words) -> int:
    """The words that satisfy the formula, as bits."""
    return truth_table(formula, words)[formula][0]


def truth_table(formula: Formula, words: Words) -> dict[Formula, list[int]]:
    """Of every subformula and position the words in which it holds there.

    Raises `FormulaError` for a leaf of which the words say nothing, `TypeError` for what is no LTL.
    """
    table: dict[Formula, list[int]] = {}
    for node in subformulas(formula):
        table[node] = _values(node, table, words)
    return table


def _values(node: Formula, table: Mapping[Formula, list[int]], words: Words) -> list[int]:
    every = words.every
    match node:
        case Top() | Bottom():
            return [every if isinstance(node, Top) else 0] * words.length
        case Proposition() | Atom():
            if node not in words.truth:
                raise FormulaError(f"the word says nothing of {node}: it has values for {_listed(words)}")
            return list(words.truth[node])
        case Not(operand):
            return [every & ~value for value in table[operand]]
        case And(operands):
            return _joined(operands, table, lambda a, b: a & b)
        case Or(operands):
            return _joined(operands, table, lambda a, b: a | b)
        case Implies(left, right):
            return [every & ~a | b for a, b in zip(table[left], table[right], strict=True)]
        case Iff(left, right):
            return [every & ~(a ^ b) for a, b in zip(table[left], table[right], strict=True)]
        case X(operand):
            return words.following(table[operand])
        case U(left, right):  # the least Z with Z = right | (left & X Z)
            return _fixpoint([0] * words.length, table[left], table[right], words, lambda p, q, z: q | (p & z))
        case R(left, right):  # the greatest Z with Z = right & (left | X Z)
            return _fixpoint([every] * words.length, table[left], table[right], words, lambda p, q, z: q & (p | z))
        case _:
            raise TypeError(f"{type(node).__name__} is no node of LTL")


def _joined(
    operands: Sequence[Formula], table: Mapping[Formula, list[int]], join: Callable[[int, int], int]
) -> list[int]:
    total = table[operands[0]]
    for operand in operands[1:]:
        total = [join(a, b) for a, b in zip(total, table[operand], strict=True)]
    return total


def _fixpoint(
    values: list[int], left: list[int], right: list[int], words: Words, step: Callable[[int, int, int], int]
) -> list[int]:
    while True:
        ask()
        before, last = values[:], len(values) - 1
        for i in range(last, -1, -1):
            values[i] = step(left[i], right[i], values[words.back if i == last else i + 1])
        if values == before:
            return values


def _listed(words: Words) -> str:
    return ", ".join(sorted(map(str, words.truth))) or "nothing"
