"""The lines of a proof by an inductive set: the set, then the trees of the claims about it that are cut."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Self

from venmas.checker.exact.cell import fraction
from venmas.checker.format.fields import Count, Limit, Number
from venmas.checker.format.lines import Lines
from venmas.checker.format.numbers import read_form, write_number
from venmas.checker.format.rule import Rule, rule
from venmas.model.invariant import Invariant

MAX_PREDICATES = 10_000
MAX_WORDS = 100_000
MAX_LITERALS = 20_000_000
"""Most characters of all words together, and most words times variables."""
MAX_NUMBERS = 1_000_000
"""Most characters of the numbers of all predicates together."""


@rule("set")
@dataclass(frozen=True, slots=True)
class Set(Rule):
    """The states of the declared box whose truths match a word.

    predicates: forms over all variables, which hold where they are >= 0. words: a character a predicate, ``1`` where it
    holds, ``0`` where it does not, ``-`` where either may be.
    """

    predicates: Annotated[tuple[tuple[Number, ...], ...], Limit(most=MAX_PREDICATES)]
    words: Annotated[tuple[str, ...], Limit(most=MAX_WORDS)]

    @classmethod
    def of(cls, invariant: Invariant) -> Self:
        """The line of a set."""
        return cls(tuple(tuple(write_number(c) for c in row) for row in invariant.predicates), invariant.words)

    def read_at(self, lines: Lines, variables: int) -> Invariant:
        """The set, over so many variables. Raises `CheckError`."""
        rows, words = self.predicates, self.words
        if max(len(rows), variables) * max(len(words), 1) > MAX_LITERALS:
            raise lines.refused(f"an inductive set has at most {MAX_LITERALS} literals (and words times variables)")
        if any(len(row) != variables + 1 for row in rows):
            raise lines.refused(f"a predicate has {variables + 1} numbers")
        if sum(len(text) for row in rows for text in row) > MAX_NUMBERS:
            raise lines.refused(f"the numbers of the predicates have more than {MAX_NUMBERS} characters")
        for word in words:
            if len(word) != len(rows) or not set(word) <= set("01-"):
                raise lines.refused(f"a word has one of 0, 1 and - for each predicate, got {word[:40]!r}")
        return Invariant(tuple(tuple(fraction(c) for c in read_form(lines.number, row)) for row in rows), words)


@rule("start")
@dataclass(frozen=True, slots=True)
class Start(Rule):
    """Cuts of the claim that an initial set is in the set."""

    index: Count
    tree: tuple[object, ...]


@rule("safe")
@dataclass(frozen=True, slots=True)
class Safe(Rule):
    """Cuts of the claim that no state of a word violates the property."""

    word: Count
    tree: tuple[object, ...]


@rule("step")
@dataclass(frozen=True, slots=True)
class Step(Rule):
    """Cuts of the claim that a branch leads from a word into the box and the set."""

    branch: Count
    word: Count
    tree: tuple[object, ...]


Tree = Start | Safe | Step


def place(tree: Tree) -> tuple[int, ...]:
    """Subject of the claim of a tree: the initial set; the word; or the branch and the word."""
    match tree:
        case Start(index, _):
            return (index,)
        case Safe(word, _):
            return (word,)
        case Step(branch, word, _):
            return branch, word
