"""Checking a certificate: every line is a rule of `venmas.checker.goals.rules`, applied to the next open goal.

The checker knows the system, the formula and the rules. It does not search, it does not round, and it believes nothing
that the certificate says: a line that does not follow is refused with its number.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import assert_never

from venmas.checker.exact.cell import Cell
from venmas.checker.format.numbers import CheckError
from venmas.checker.format.rule import Line, Rule, kind_of
from venmas.checker.goals import rules
from venmas.checker.goals.goals import Goal
from venmas.checker.goals.initial import first_goal
from venmas.checker.goals.lemmas import Book
from venmas.checker.goals.listing import listed
from venmas.checker.goals.rule import Place
from venmas.checker.goals.sharing import lemma_key
from venmas.logic import Formula
from venmas.model.system.system import System
from venmas.nn.network import Semantics
from venmas.question import claim

MAX_OPEN = 100_000
"""Most goals that may be open at once, so that a hostile certificate cannot fill the memory."""

__all__ = ["CheckError", "Checked", "Line", "check"]


@dataclass
class Checked:
    """What was checked: lines; goals refuted by weights, and shared ones; leaves of trees, or of claims, closed."""

    lines: int = 0
    refuted: int = 0
    shared: int = 0
    leaves: int = 0

    def __str__(self) -> str:
        leaves = [f"{self.leaves} leaves closed"] if self.leaves else []
        goals = [f"{self.refuted} refuted by weights", f"{self.shared} shared"]
        return ", ".join(
            [f"{self.lines} lines", *(goals if self.refuted or self.shared or not leaves else []), *leaves]
        )


def check(
    system: System,
    formula: Formula,
    inside: bool,
    lines: Iterator[tuple[int, Line]],
    tick: Callable[[int], None],
    semantics: Semantics = "real",
) -> Checked:
    """Check the proof that every initial state of the valid `system` satisfies `formula`. Raises `CheckError`.

    lines: (number, line) after the header. tick: called with the number of every line. semantics: of networks.
    """
    target = claim(system, formula, inside)
    system, lines = _divided(system, Book(system, target, semantics), lines)
    checker = _Checker(lines, tick, Book(system, target, semantics), inside)
    try:
        for index, region in enumerate(system.regions):
            checker.region(index, first_goal(system, region, target, semantics))
        checker.end()
    except RecursionError as error:
        raise CheckError(checker.done.lines, "expressions are nested too deeply to be checked") from error
    return checker.done


def _divided(
    system: System, book: Book, lines: Iterator[tuple[int, Line]]
) -> tuple[System, Iterator[tuple[int, Line]]]:
    """The system with the initial sets that the first line makes, if it divides them, and the lines that are left."""
    first = next(lines, None)
    if first is None:
        return system, lines
    at = Place(first[0], book)
    if kind_of(first[1]) is not rules.Divide:
        return system, chain((first,), lines)
    return rules.Divide.from_json(first[1], at).apply(system, at), lines


class _Checker:
    def __init__(
        self, lines: Iterator[tuple[int, Line]], tick: Callable[[int], None], book: Book, inside: bool
    ) -> None:
        self.lines, self.tick, self.book, self.inside, self.done = lines, tick, book, inside, Checked()

    def next(self) -> tuple[int, Line]:
        """The next line."""
        found = next(self.lines, None)
        if found is None:
            raise CheckError(self.done.lines + 1, "the certificate ends before its proof does")
        self.done.lines = found[0]
        self.tick(found[0])
        return found

    def region(self, index: int, goal: Goal | None) -> None:
        """Consume the lines about an initial set: frames and lemmas with their proofs, then the proof of its goal."""
        expected = rules.Region(index)
        while True:
            at, line = self._place()
            match rules.read_statement(line, at):
                case rules.Frame() as frame:
                    frame.apply(at)
                case rules.Lemma() as stated:
                    lemma, about = stated.apply(at)
                    self._prove_within_box(at.line, about)
                    self.book.lemmas[at.line] = lemma
                    if (listing := listed(lemma)) is not None:
                        self.book.listings[at.line] = listing
                case rules.Table() as table:
                    table.apply(at, self.inside)
                case rules.Region() as named if named == expected:
                    self.book.awaited.settle()
                    if goal is not None:
                        self._prove_within_box(at.line, goal)
                    return
                case rules.Program() as named if named.index == index:
                    self.book.awaited.settle()
                    self._prove_by_tree(at, named)
                    return
                case rules.Region() | rules.End() | rules.Program() | rules.Tree() | rules.Divide() | None:
                    raise _expected(at.line, expected)
                case other:
                    assert_never(other)

    def end(self) -> None:
        """Consume the last line."""
        at, line = self._place()
        expected = rules.End(at.line)
        if rules.read_statement(line, at) != expected:
            raise _expected(at.line, expected)
        if next(self.lines, None) is not None:
            raise CheckError(self.done.lines + 1, "there is more after the end of the proof")

    def _place(self) -> tuple[Place, Line]:
        number, line = self.next()
        return Place(number, self.book), line

    def _prove_by_tree(self, at: Place, stated: rules.Program) -> None:
        """Consume the tree that refutes the program of an initial set."""
        if not self.inside:
            raise CheckError(
                at.line, "a proof by trees is about runs that stay in the declared box: inside must be true"
            )
        program = stated.apply(at)
        at, line = self._place()
        match rules.read_statement(line, at):
            case rules.Tree() as tree:
                self.done.leaves += tree.apply(program, at)
            case _:
                raise CheckError(at.line, "expected the tree of the program")

    def _prove_within_box(self, line: int, goal: Goal) -> None:
        """Consume the lines that refute a goal; where the claim is not about the box, no state may have left it."""
        self.prove(goal)
        left = goal.world.left_box
        if left and not self.inside:
            raise CheckError(line, f"{left[0]} may leave its range, and the claim does not exclude it")

    def prove(self, first: Goal) -> None:
        """Consume the lines that refute a goal."""
        stack: list[Goal | tuple[int, object, Cell]] = [first]
        while stack:
            goal = stack.pop()
            if not isinstance(goal, Goal):
                self.book.closed.add(*goal)
                continue
            if len(stack) > MAX_OPEN:
                raise CheckError(self.done.lines, f"more than {MAX_OPEN} goals are open at once")
            number, line = self.next()
            at = Place(number, self.book, len(goal.world.cell.names), len(goal.todo))
            step = rules.read_step(line, at)
            left = step.apply(goal, at)
            if step.nameable:
                stack += _once_refuted(number, goal)
            stack += reversed(left)
            match step:
                case rules.Refute():
                    self.done.refuted += 1
                case rules.Same() | rules.Within() | rules.Listed():
                    self.done.shared += 1


def _once_refuted(line: int, goal: Goal) -> list[tuple[int, object, Cell]]:
    """What goes below the subgoals of a goal on the stack: once they are refuted, so is the goal."""
    key = lemma_key(goal)
    return [] if key is None else [(line, key, goal.world.cell)]


def _expected(line: int, rule: Rule) -> CheckError:
    return CheckError(line, f"expected the line {json.dumps(rule.to_json())}")
