"""Checking a certificate: every line is a rule, applied to the next open goal (docs/certificates.md).

The checker knows the system, the formula and the rules. It does not search, it does not round, and it believes nothing
that the certificate says: a line that does not follow is refused with its number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from venmas.checker.cell import Cell, refutes
from venmas.checker.goals import Goal, Holds, first_goal
from venmas.checker.lemmas import Book
from venmas.checker.numbers import CheckError, read_form, read_index, read_number
from venmas.logic import AX, EX, And, Formula, Or
from venmas.model.system import System
from venmas.nn.network import Semantics
from venmas.question import claim

MAX_OPEN = 100_000
"""Most goals that may be open at once, so that a hostile certificate cannot fill the memory."""

Line = Mapping[str, object]

__all__ = ["CheckError", "Checked", "check", "covers", "lemma_key"]


@dataclass
class Checked:
    """What was checked."""

    lines: int = 0
    refuted: int = 0
    shared: int = 0


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
    checker = _Checker(lines, tick, Book(system, target, semantics))
    try:
        _check(checker, system, target, inside, semantics)
    except RecursionError as error:
        raise CheckError(checker.done.lines, "expressions are nested too deeply to be checked") from error
    return checker.done


def _check(checker: _Checker, system: System, target: Formula, inside: bool, semantics: Semantics) -> None:
    book = checker.book

    def prove(number: int, goal: Goal) -> None:
        checker.prove(goal)
        if goal.world.left_box and not inside:
            raise CheckError(number, f"{goal.world.left_box[0]} may leave its range, and the claim does not exclude it")

    for index, region in enumerate(system.regions):
        number, line = checker.next()
        while line.get("rule") in ("frame", "lemma"):
            found = book.read(number, line)
            if found is not None:
                prove(number, found[1])
                book.lemmas[number] = found[0]
            number, line = checker.next()
        if line != {"rule": "region", "index": index} or type(line["index"]) is not int:
            raise CheckError(number, f'expected the line {{"rule": "region", "index": {index}}}')
        goal = first_goal(system, region, target, semantics)
        if goal is not None:
            prove(number, goal)
    number, line = checker.next()
    if line != {"rule": "end", "lines": number} or type(line["lines"]) is not int:
        raise CheckError(number, f'expected the line {{"rule": "end", "lines": {number}}}')
    if next(checker.lines, None) is not None:
        raise CheckError(checker.done.lines + 1, "there is more after the end of the proof")


class _Checker:
    def __init__(self, lines: Iterator[tuple[int, Line]], tick: Callable[[int], None], book: Book) -> None:
        self.lines, self.tick, self.book, self.done = lines, tick, book, Checked()
        self._closed: dict[int, tuple[object, Cell]] = {}
        self._rows_within: dict[tuple[int, int], tuple[object, object]] = {}

    def next(self) -> tuple[int, Line]:
        """The next line."""
        found = next(self.lines, None)
        if found is None:
            raise CheckError(self.done.lines + 1, "the certificate ends before its proof does")
        self.done.lines = found[0]
        self.tick(found[0])
        return found

    def prove(self, first: Goal) -> None:
        """Consume the lines that refute a goal."""
        stack: list[Goal | tuple[int, object, Cell]] = [first]
        while stack:
            goal = stack.pop()
            if not isinstance(goal, Goal):
                self._closed[goal[0]] = goal[1], goal[2]
                continue
            if len(stack) > MAX_OPEN:
                raise CheckError(self.done.lines, f"more than {MAX_OPEN} goals are open at once")
            number, line = self.next()
            match dict(line):
                case {"rule": "same", "as": other, **rest} if not rest:
                    self._same(number, goal, other)
                case {"rule": "refute", "weights": weights, **rest} if not rest:
                    if not refutes(goal.world.cell, goal.rows_when_named(), _weights(number, weights)):
                        raise CheckError(number, "the weighted rows do not exclude each other")
                    self.done.refuted += 1
                case {"rule": "split", "form": form, **rest} if not rest:
                    subgoals = goal.split(read_form(number, form, len(goal.world.cell.names)))
                    stack += [*_lemma(number, goal), *reversed(subgoals)]
                case {"rule": "expand", **rest} if goal.todo and not rest:
                    stack += [*_lemma(number, goal), *reversed(goal.expand())]
                case {"rule": "keep", "at": at, **rest} if goal.todo and not rest:
                    stack.append(goal.keep(read_index(number, at, len(goal.todo))))
                case {"rule": "case", "choice": choice, **rest} if goal.todo and not rest:
                    choices = self.book.choices
                    stack += reversed(goal.case(choices[read_index(number, choice, len(choices))]))
                case {"rule": "within", "lemma": lemma, **rest} if goal.todo and not rest:
                    self.book.within(number, goal, lemma)
                    self.done.shared += 1
                case other:
                    raise CheckError(number, f"no rule for this goal: {str(other)[:60]}")

    def _same(self, number: int, goal: Goal, other: object) -> None:
        if type(other) is not int or other not in self._closed:
            raise CheckError(number, f"line {str(other)[:40]} is no goal that was refuted before")
        key, cell = self._closed[other]
        if key != lemma_key(goal) or not covers(cell, goal.world.cell, self._rows_within):
            raise CheckError(number, f"the goal of line {other} is another one")
        self.done.shared += 1


def _lemma(number: int, goal: Goal) -> list[tuple[int, object, Cell]]:
    """What goes below the subgoals of a goal on the stack: once they are refuted, so is the goal."""
    key = lemma_key(goal)
    return [] if key is None else [(number, key, goal.world.cell)]


def lemma_key(goal: Goal) -> object | None:
    """What a goal with a single obligation is about, when its state is exact: formula, state as forms, facts."""
    if (
        goal.world.assumed
        or len(goal.todo) != 1
        or not isinstance(goal.todo[0], Holds)
        or not isinstance(goal.todo[0].formula, AX | EX | And | Or)
    ):
        return None
    forms = goal.world.key(goal.todo[0].path)
    # what was refuted together with facts is not refuted without them
    return None if forms is None else (goal.todo[0].formula, forms, goal.facts)


def covers(big: Cell, small: Cell, known: dict[tuple[int, int], tuple[object, object]] | None = None) -> bool:
    """Does the first cell contain the second? Told by the boxes and by the rows that both have.

    known: what earlier questions found out about rows (see `Map.within`).
    """
    if big.names != small.names or big.integral != small.integral:  # a lemma may name its reals like an integer
        return False
    inside = all(a <= c and d <= b for a, b, c, d in zip(big.low, big.high, small.low, small.high, strict=True))
    return inside and big.rows.within(small.rows, known)


def _weights(line: int, data: object) -> list[tuple[int, int]]:
    if not isinstance(data, list) or not all(isinstance(p, list) and len(p) == 2 for p in data):
        raise CheckError(line, "expected weights as pairs [row, weight]")
    found = []
    for index, weight in data:
        value = read_number(line, weight)
        if type(index) is not int or value.denominator != 1:
            raise CheckError(line, "expected a row number and a whole weight")
        found.append((index, value.numerator))
    return found
