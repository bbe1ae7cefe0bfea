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
