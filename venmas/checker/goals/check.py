"""Checking a certificate: every line is a rule of `venmas.checker.goals.rules`, applied to the next open goal.

The checker knows the system, the formula and the rules. It does not search, it does not round, and it believes nothing
that the certificate says: a line that does not follow is refused with its number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from venmas.checker.exact.cell import Cell
from venmas.checker.format import lines as format_
from venmas.checker.format.about import About
from venmas.checker.format.lines import Lines
from venmas.checker.format.numbers import CheckError
from venmas.checker.goals import rules
from venmas.checker.goals.goals import Goal
from venmas.checker.goals.initial import first_goal
from venmas.checker.goals.lemmas import Book
from venmas.checker.goals.listing import listed
from venmas.checker.goals.rule import Place, Step
from venmas.checker.goals.sharing import lemma_key
from venmas.logic import Formula
from venmas.model.system.system import System
from venmas.nn.network import Semantics
from venmas.question import claim

MAX_OPEN = 100_000
"""Most goals that may be open at once, so that a hostile certificate cannot fill the memory."""


@dataclass
class Checked(format_.Checked):
    """Counts of a check: lines; goals refuted by weights, and shared ones; leaves of trees, or of claims, closed."""

    refuted: int = 0
    shared: int = 0
    leaves: int = 0

    def add(self, other: Checked) -> None:
        """Count what another check has counted, but for lines."""
        self.refuted += other.refuted
        self.shared += other.shared
        self.leaves += other.leaves

    def __str__(self) -> str:
        leaves = [f"{self.leaves} leaves closed"] if self.leaves else []
        goals = [f"{self.refuted} refuted by weights", f"{self.shared} shared"]
        return ", ".join(
            [f"{self.lines} lines", *(goals if self.refuted or self.shared or not leaves else []), *leaves]
        )


def check(system: System, formula: Formula, inside: bool, lines: Lines, semantics: Semantics = "real") -> Checked:
    """Check the proof that every initial state of the valid `system` satisfies `formula`. Raises `CheckError`.

    inside: and that no run leaves the declared box. semantics: of networks.
    """
    with lines.refusing():
        target = claim(system, formula, inside)
        if (cuts := lines.take(rules.Divide)) is not None:
            system = cuts.apply(system, Place(lines.number, Book(system, target, semantics)))
        checker = _Checker(lines, Book(system, target, semantics), inside)
        for index, region in enumerate(system.regions):
            checker.region(index, first_goal(system, region, target, semantics))
        lines.end()
        checker.done.lines = lines.number
        return checker.done


class _Checker:
    def __init__(self, lines: Lines, book: Book, inside: bool) -> None:
        self.lines, self.book, self.inside, self.done = lines, book, inside, Checked()

    def region(self, index: int, goal: Goal | None) -> None:
        """Consume the lines about an initial set: frames and lemmas with their proofs, then the proof of its goal."""
        while True:
            statement = self.lines.next(*rules.STATEMENTS)
            at = Place(self.lines.number, self.book)
            if self.book.system.smooth and not isinstance(statement, rules.Program):
                raise at.refused(f"but for trees, goals are about piecewise linear systems: {self.book.system.smooth}")
            match statement:
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
                case rules.Region() | rules.Program() as named:
                    if named.index != index:
                        raise at.refused(f"expected the proof of initial set {index}, not of {named.index}")
                    self.book.awaited.settle()
                    if isinstance(named, rules.Program):
                        self._prove_by_tree(at, named)
                    elif goal is not None:
                        self._prove_within_box(at.line, goal)
                    return
                case other:
                    assert_never(other)

    def _prove_by_tree(self, at: Place, stated: rules.Program) -> None:
        """Consume the tree that refutes the program of an initial set."""
        if not self.inside:
            raise CheckError(
                at.line, "a proof by trees is about runs that stay in the declared box: inside must be true"
            )
        program = stated.apply(at)
        tree = self.lines.next(rules.Tree)
        self.done.leaves += tree.apply(program, Place(self.lines.number, self.book))

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
                raise self.lines.refused(f"more than {MAX_OPEN} goals are open at once")
            step = self.lines.next(Step)  # type: ignore[type-abstract]
            at = Place(self.lines.number, self.book, len(goal.world.cell.names), len(goal.todo))
            left = step.taken(goal, at)
            if step.nameable:
                stack += _once_refuted(at.line, goal)
            stack += reversed(left)
            match step:
                case rules.Refute():
                    self.done.refuted += 1
                case rules.Same() | rules.Within() | rules.Listed():
                    self.done.shared += 1


def _once_refuted(line: int, goal: Goal) -> list[tuple[int, object, Cell]]:
    """Entry below the subgoals of a goal on the stack: once they are refuted, so is the goal."""
    key = lemma_key(goal)
    return [] if key is None else [(line, key, goal.world.cell)]


def proved(about: About, lines: Lines) -> Checked:
    """Check a proof of the kind goals. Raises `CheckError`."""
    return check(about.system, about.bounded, about.claim.inside, lines, about.claim.semantics)
