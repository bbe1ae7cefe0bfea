"""Rules of proofs by goals: lines, and their effect on goals (docs/certificates.md).

A rule is a frozen dataclass that is registered by its name. Whoever writes a proof makes the objects; the checker reads
them back from JSON by the types of their fields, and applies them. The numbers of cells are texts, as they stand in
the line: limits count their characters, and the writer chooses the notation. Statements stand between the proofs of
goals and are a closed set, which the checker matches exhaustively; steps are about a goal and leave the goals that it
follows from.

To add a step (tests/checker/test_new_rule.py does it, and leaves out one after the other of these):

1. Write a frozen dataclass that derives from `Step`, with the entries of its line as fields; say in its docstring why
   every state that meets the goal meets one of the goals that are left: the checker is as sound as that sentence.
2. Give it `apply`, which returns the goals that are left, none where the goal is refuted, or raises `CheckError`, also
   for names of what is not there; it computes in exact rationals. Set `about_obligation` if it speaks of the first
   obligation, and `nameable` if `same` may name its goal.
3. Register it: ``@rule("name")`` above the dataclass. Without `apply`, or with a field of a type that
   `checker.format.fields` does not read, it can not be registered.
4. Run `python -m tests.checker.format_docs`, which writes its line into docs/certificate.schema.json and
   docs/certificates.md; add its meaning there, lies to tests/checker.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Self, TypeAlias

from venmas.checker.affine.scaled import LEAST_BITS, MOST_BITS, ScaledProgram, UnscaledError
from venmas.checker.exact.cell import refutes
from venmas.checker.format.fields import Count, Limit, Number
from venmas.checker.format.numbers import CheckError, read_form, read_number, write_number
from venmas.checker.format.rule import RULES as RULES
from venmas.checker.format.rule import End as End
from venmas.checker.format.rule import Rule, rule
from venmas.checker.goals import lemmas, trees
from venmas.checker.goals.divide import Divide as Divide
from venmas.checker.goals.goals import Goal
from venmas.checker.goals.paths import Holds
from venmas.checker.goals.rule import Place, Step
from venmas.checker.goals.tables.table import Table as Table

# -- statements: between goals -----------------------------------------------------------------------------------------


@rule("frame")
@dataclass(frozen=True, slots=True)
class Frame(Rule):
    """A square matrix: a state x has the coordinates y with ``x = matrix @ y``."""

    matrix: tuple[tuple[Number, ...], ...]

    def apply(self, at: Place) -> None:
        """Keep it. Raises `CheckError`."""
        size = len(at.book.reals)
        if len(self.matrix) != size or any(len(row) != size for row in self.matrix):
            raise at.refused(f"the matrix of a frame has {size} rows of {size} numbers, as there are real variables")
        at.book.add_frame(at.line, self.matrix)


@rule("lemma")
@dataclass(frozen=True, slots=True)
class Lemma(Rule):
    """No state with these integers and, in a frame, coordinates from `low` to `high` meets a subformula.

    formula, frame: by their numbers. The proof of its goal follows.
    """

    formula: Count
    frame: Count
    integers: tuple[int, ...]
    low: tuple[Number, ...]
    high: tuple[Number, ...]

    def apply(self, at: Place) -> tuple[lemmas.Lemma, Goal]:
        """Its lemma, and the goal that proves it. Raises `CheckError`."""
        book, size = at.book, len(at.book.reals)
        if len(self.integers) != len(book.integers) or len(self.low) != size or len(self.high) != size:
            raise at.refused(f"a lemma has {len(book.integers)} integers and {size} coordinates, as the system")
        about = at.index(self.formula, len(book.formulas)), at.index(self.frame, len(book.frames))
        return book.stated(at.line, *about, self.integers, (self.low, self.high))


@rule("region")
@dataclass(frozen=True, slots=True)
class Region(Rule):
    """An initial set, whose first goal is proved by what follows, if it has one."""

    index: Count


@rule("program")
@dataclass(frozen=True, slots=True)
class Program(Rule):
    """An initial set, proved by the split tree that follows, of its unrolled program.

    bits: the unit of values is ``2**-bits``. hash: sha256 of the program, which the checker unrolls itself.
    """

    index: Count
    bits: Annotated[int, Limit(LEAST_BITS, MOST_BITS)]
    hash: str

    def apply(self, at: Place) -> ScaledProgram:
        """The program. Raises `CheckError` where there is none, or it is another one."""
        at.index(self.index, len(at.book.system.regions))
        try:
            made = trees.program_of(at.book, self.index, self.bits)
        except UnscaledError as error:
            raise CheckError(at.line, f"the initial set is not checked by a tree: {error}") from error
        if trees.digest(made) != self.hash:
            raise CheckError(at.line, "the program is another one than that of the initial set")
        return made


@rule("tree")
@dataclass(frozen=True, slots=True)
class Tree(Rule):
    """The tree of cuts, each leaf of which is shown free.

    splits, weights: texts of `venmas.checker.affine.tree`.
    """

    splits: str
    weights: str

    def apply(self, program: ScaledProgram, at: Place) -> int:
        """The number of its leaves. Raises `CheckError` where one of them is not shown free."""
        return trees.refute(at.line, program, self.splits, self.weights)


Statement: TypeAlias = Frame | Lemma | Table | Region | Program
STATEMENTS: tuple[type[Statement], ...] = (Frame, Lemma, Table, Region, Program)


# -- steps: about a goal -----------------------------------------------------------------------------------------------


@rule("expand")
@dataclass(frozen=True, slots=True)
class Expand(Step):
    """A goal for each way to meet the first obligation, one step further."""

    about_obligation = nameable = True

    def apply(self, goal: Goal, at: Place) -> Sequence[Goal]:
        """A goal for each way."""
        return goal.expand()


@rule("split")
@dataclass(frozen=True, slots=True)
class Split(Step):
    """The sides of a hyperplane, ``form >= 0`` and ``form < 0``, which cover the cell."""

    nameable = True
    form: tuple[Number, ...]

    def apply(self, goal: Goal, at: Place) -> Sequence[Goal]:
        """The goal on the sides that are not empty. Raises `CheckError`."""
        if len(self.form) != at.free + 1:
            raise at.refused(f"split: expected {at.free + 1} numbers, got {len(self.form)}")
        return goal.split(read_form(at.line, self.form))


@rule("refute")
@dataclass(frozen=True, slots=True)
class Refute(Step):
    """Rows of the goal, by number, with weights, that exclude each other on the box (Farkas)."""

    weights: tuple[tuple[Count, Number], ...]

    @classmethod
    def of(cls, weights: Iterable[tuple[int, int]]) -> Self:
        """The rule of rows with whole numbers."""
        return cls(tuple((row, write_number(weight)) for row, weight in weights))

    def apply(self, goal: Goal, at: Place) -> Sequence[Goal]:
        """Nothing. Raises `CheckError`."""
        weights = [(row, read_number(at.line, weight)) for row, weight in self.weights]
        if any(weight.denominator != 1 for _, weight in weights):
            raise at.refused("refute: expected a whole weight")
        if not refutes(goal.world.cell, goal.rows_when_named(), [(row, weight.numerator) for row, weight in weights]):
            raise at.refused("the weighted rows do not exclude each other")
        return ()


@rule("same")
@dataclass(frozen=True, slots=True)
class Same(Step):
    """The goal of an earlier line, which was refuted, contains this one."""

    line: Count = field(metadata={"key": "as"})

    def apply(self, goal: Goal, at: Place) -> Sequence[Goal]:
        """Nothing. Raises `CheckError`."""
        if self.line not in at.book.closed:
            raise at.refused(f"line {self.line} is no goal that was refuted before")
        if not at.book.closed.contains(self.line, goal):
            raise CheckError(at.line, f"the goal of line {self.line} is another one")
        return ()


@rule("within")
@dataclass(frozen=True, slots=True)
class Within(Step):
    """The region of a lemma about the first obligation's formula holds all its states."""

    about_obligation = True
    lemma: Count

    def apply(self, goal: Goal, at: Place) -> Sequence[Goal]:
        """Nothing. Raises `CheckError`."""
        lemma, head = at.book.lemmas.get(self.lemma), goal.todo[0]
        if lemma is None or not isinstance(head, Holds) or head.formula is not lemma.formula:
            raise at.refused(f"line {self.lemma} is no lemma about this obligation that was proved before")
        if not at.book.contains(lemma, goal.world, head):
            raise at.refused(f"the state is not within the region of the lemma of line {self.lemma}")
        return ()


@rule("listed")
@dataclass(frozen=True, slots=True)
class Listed(Step):
    """A row of a table refutes the first obligation's formula, and holds all its states."""

    about_obligation = True
    table: Count
    row: Count

    def apply(self, goal: Goal, at: Place) -> Sequence[Goal]:
        """Nothing. Raises `CheckError`."""
        listing, head = at.book.listings.get(self.table), goal.todo[0]
        if listing is None:
            raise at.refused(f"line {self.table} is no table or lemma that was proved before")
        at.index(self.row, len(listing))
        inverse = at.book.frames[listing.frame][1]
        lemma = listing.lemma(self.row, head.formula, inverse) if isinstance(head, Holds) else None
        if lemma is None or not isinstance(head, Holds) or not at.book.contains(lemma, goal.world, head):
            raise CheckError(at.line, f"row {self.row} of line {self.table} does not hold the state, or says less")
        return ()


@rule("keep")
@dataclass(frozen=True, slots=True)
class Keep(Step):
    """The goal with one of its obligations, by number: what meets all of them meets this one."""

    about_obligation = True
    at: Count

    def apply(self, goal: Goal, at: Place) -> Sequence[Goal]:
        """One goal. Raises `CheckError`."""
        return [goal.keep(at.index(self.at, at.todo))]


@rule("case")
@dataclass(frozen=True, slots=True)
class Case(Step):
    """The goal for every outcome of a choice, by number, in the state of the first obligation."""

    about_obligation = True
    choice: Count

    def apply(self, goal: Goal, at: Place) -> Sequence[Goal]:
        """A goal for each outcome. Raises `CheckError`."""
        return goal.case(at.book.choices[at.index(self.choice, len(at.book.choices))])
