"""The rules of a certificate: what a line may be, how it is written and read, what it does (docs/certificates.md).

A rule is a frozen dataclass that is registered by its name. Whoever writes a proof makes the objects; the checker reads
them back from JSON, strictly, and applies them. The numbers of cells are texts, as they stand in the line: limits count
their characters, and the writer chooses the notation. Statements stand between the proofs of goals and are a closed
set, which the checker matches exhaustively; steps are about a goal and leave the goals that it follows from.

To add a step (tests/checker/test_new_rule.py does it, and leaves out one after the other of these):

1. Write a frozen dataclass that derives from `Step`, with the entries of its line as fields; say in its docstring why
   every state that meets the goal meets one of the goals that are left: the checker is as sound as that sentence.
2. Give it `from_json`, which takes the entries by `cls.entries` and refuses other types and names of what is not there.
   (`to_json` is inherited; override it where an entry is not written as it is.)
3. Give it `apply`, which returns the goals that are left, none where the goal is refuted, or raises `CheckError`; it
   computes in exact rationals. Set `about_obligation` if it speaks of the first obligation, and `nameable` if `same`
   may name its goal.
4. Register it: ``@rule("name")`` above the dataclass. A rule that lacks one of its methods can not be registered.
5. Add its line to docs/certificate.schema.json, its meaning to docs/certificates.md, lies to tests/checker.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Self, TypeAlias

from venmas.checker.affine.scaled import LEAST_BITS, MOST_BITS, ScaledProgram, UnscaledError
from venmas.checker.exact.cell import refutes
from venmas.checker.format.numbers import CheckError, read_form, read_index, read_number, read_texts, write_number
from venmas.checker.format.rule import RULES as RULES
from venmas.checker.format.rule import Line, Rule, kind_of, rule
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
    """A square matrix, a row for every real variable: ``x = matrix @ y`` gives the coordinates y of a state."""

    misfit = "no frame or lemma that fits the variables of the system"
    matrix: tuple[tuple[str, ...], ...]

    @classmethod
    def from_json(cls, data: Line, at: Place) -> Self:
        """A square matrix of texts. Raises `CheckError`."""
        (matrix,), size = cls.entries(data, at), len(at.book.reals)
        if not isinstance(matrix, list) or len(matrix) != size:
            raise cls.refused(data, at)
        return cls(tuple(read_texts(at.line, row, size) for row in matrix))

    def apply(self, at: Place) -> None:
        """Keep it. Raises `CheckError`."""
        at.book.add_frame(at.line, self.matrix)


@rule("lemma")
@dataclass(frozen=True, slots=True)
class Lemma(Rule):
    """No state with these integers and, in a frame, coordinates from `low` to `high` meets a subformula of the target.

    formula, frame: by their numbers. The proof of its goal follows.
    """

    misfit = Frame.misfit
    formula: int
    frame: int
    integers: tuple[int, ...]
    low: tuple[str, ...]
    high: tuple[str, ...]

    @classmethod
    def from_json(cls, data: Line, at: Place) -> Self:
        """As many integers as the system has, a box of texts; formula and frame must exist. Raises `CheckError`."""
        formula, frame, integers, *box = cls.entries(data, at)
        book, line = at.book, at.line
        if not all(isinstance(part, list) for part in (integers, *box)) or len(integers) != len(book.integers):
            raise cls.refused(data, at)
        if not all(type(i) is int for i in integers):
            raise cls.refused(data, at)
        about = read_index(line, formula, len(book.formulas)), read_index(line, frame, len(book.frames))
        low, high = (read_texts(line, end, len(book.reals)) for end in box)
        return cls(*about, tuple(integers), low, high)

    def apply(self, at: Place) -> tuple[lemmas.Lemma, Goal]:
        """What it says, and the goal that proves it. Raises `CheckError`."""
        return at.book.stated(at.line, self.formula, self.frame, self.integers, (self.low, self.high))


@rule("region")
@dataclass(frozen=True, slots=True)
class Region(Rule):
    """The proof of the first goal of an initial set follows, if it has one."""

    misfit = 'expected the line {"rule": "region", "index": number of the initial set}'
    index: int

    @classmethod
    def from_json(cls, data: Line, at: Place) -> Self:
        """A whole number. Raises `CheckError`."""
        (index,) = cls.entries(data, at)
        if type(index) is not int:
            raise cls.refused(data, at)
        return cls(index)


@rule("end")
@dataclass(frozen=True, slots=True)
class End(Rule):
    """The proof is complete; lines: the number of this one."""

    misfit = 'expected the line {"rule": "end", "lines": its own number}'
    lines: int

    @classmethod
    def from_json(cls, data: Line, at: Place) -> Self:
        """A whole number. Raises `CheckError`."""
        (lines,) = cls.entries(data, at)
        if type(lines) is not int:
            raise cls.refused(data, at)
        return cls(lines)


@rule("program")
@dataclass(frozen=True, slots=True)
class Program(Rule):
    """Proofs of an initial set by split trees follow, of the programs that its first goal is unrolled to.

    bits: the unit of values is ``2**-bits``. hash: sha256 of the programs, which the checker unrolls itself.
    """

    misfit = "no program of an initial set"
    narrow: ClassVar[bool] = False  # leaves are checked by forms alone, as all were before there was `Narrowed`
    index: int
    bits: int
    hash: str

    @classmethod
    def from_json(cls, data: Line, at: Place) -> Self:
        """An initial set that there is, a unit, and a text. Raises `CheckError`."""
        index, bits, digest = cls.entries(data, at)
        if type(bits) is not int or not LEAST_BITS <= bits <= MOST_BITS or not isinstance(digest, str):
            raise cls.refused(data, at)
        return cls(read_index(at.line, index, len(at.book.system.regions)), bits, digest)

    def apply(self, at: Place) -> ScaledProgram:
        """The program. Raises `CheckError` where there is none, or it is another one."""
        try:
            made = trees.program_of(at.book, self.index, self.bits, self.narrow)
        except UnscaledError as error:
            raise CheckError(at.line, f"the initial set is not checked by a tree: {error}") from error
        if trees.digest(made) != self.hash:
            raise CheckError(at.line, "the program is another one than that of the initial set")
        return made


@rule("narrowed")
@dataclass(frozen=True, slots=True)
class Narrowed(Program):
    """The same, and leaves are checked by forms whose ends intervals narrow."""

    narrow = True


@rule("tree")
@dataclass(frozen=True, slots=True)
class Tree(Rule):
    """No point of the program's box meets its formula: the leaves of a tree of cuts cover it, and each is shown free.

    splits, weights: texts of `venmas.checker.affine.tree`.
    """

    misfit = "no tree of a program"
    splits: str
    weights: str

    @classmethod
    def from_json(cls, data: Line, at: Place) -> Self:
        """Two texts. Raises `CheckError`."""
        splits, weights = cls.entries(data, at)
        if not isinstance(splits, str) or not isinstance(weights, str):
            raise cls.refused(data, at)
        return cls(splits, weights)

    def apply(self, program: ScaledProgram, at: Place) -> int:
        """The number of its leaves. Raises `CheckError` where one of them is not shown free."""
        return trees.refute(at.line, program, self.splits, self.weights)


Statement: TypeAlias = Frame | Lemma | Table | Region | End | Program | Tree | Divide


def read_statement(data: Line, at: Place) -> Statement | None:
    """The statement of a line; None where it is none. Raises `CheckError`."""
    kind = kind_of(data)
    found = None if kind is None or issubclass(kind, Step) else kind.from_json(data, at)
    return found if isinstance(found, Statement) else None


def read_step(data: Line, at: Place) -> Step:
    """The step of a line about a goal. Raises `CheckError`."""
    kind = kind_of(data)
    if kind is None or not issubclass(kind, Step):
        raise Step.refused(data, at)
    return kind.from_json(data, at)


# -- steps: about a goal -----------------------------------------------------------------------------------------------


@rule("expand")
@dataclass(frozen=True, slots=True)
class Expand(Step):
    """The first obligation is replaced by what it means, one step further: a goal for each way to meet it."""

    about_obligation = nameable = True

    @classmethod
    def from_json(cls, data: Line, at: Place) -> Self:
        """Without entries. Raises `CheckError`."""
        cls.entries(data, at)
        return cls()

    def apply(self, goal: Goal, at: Place) -> Sequence[Goal]:
        """A goal for each way."""
        return goal.expand()


@rule("split")
@dataclass(frozen=True, slots=True)
class Split(Step):
    """The cell is cut along a hyperplane; the two sides, ``form >= 0`` and ``form < 0``, cover it."""

    nameable = True
    form: tuple[str, ...]

    @classmethod
    def from_json(cls, data: Line, at: Place) -> Self:
        """A number for the constant, and one for every free variable. Raises `CheckError`."""
        (form,) = cls.entries(data, at)
        return cls(read_texts(at.line, form, at.free + 1))

    def apply(self, goal: Goal, at: Place) -> Sequence[Goal]:
        """The goal on the sides that are not empty."""
        return goal.split(read_form(at.line, self.form))


@rule("refute")
@dataclass(frozen=True, slots=True)
class Refute(Step):
    """Nothing is left: rows of the goal, by number, with weights, exclude each other on the box (Farkas)."""

    weights: tuple[tuple[int, int], ...]

    def to_json(self) -> dict[str, object]:
        """The line; weights are texts in it."""
        return {"rule": self.name, "weights": [[row, write_number(weight)] for row, weight in self.weights]}

    @classmethod
    def from_json(cls, data: Line, at: Place) -> Self:
        """Pairs of a row number and a whole number. Raises `CheckError`."""
        (weights,) = cls.entries(data, at)
        if not isinstance(weights, list) or not all(isinstance(p, list) and len(p) == 2 for p in weights):
            raise CheckError(at.line, "expected weights as pairs [row, weight]")
        found = []
        for row, weight in weights:
            value = read_number(at.line, weight)
            if type(row) is not int or value.denominator != 1:
                raise CheckError(at.line, "expected a row number and a whole weight")
            found.append((row, value.numerator))
        return cls(tuple(found))

    def apply(self, goal: Goal, at: Place) -> Sequence[Goal]:
        """Nothing. Raises `CheckError`."""
        if not refutes(goal.world.cell, goal.rows_when_named(), self.weights):
            raise CheckError(at.line, "the weighted rows do not exclude each other")
        return ()


@rule("same")
@dataclass(frozen=True, slots=True)
class Same(Step):
    """Nothing is left: the goal of an earlier line, which was refuted, contains this one."""

    line: int = field(metadata={"key": "as"})

    @classmethod
    def from_json(cls, data: Line, at: Place) -> Self:
        """A line whose goal was refuted. Raises `CheckError`."""
        (line,) = cls.entries(data, at)
        if type(line) is not int or line not in at.book.closed:
            raise CheckError(at.line, f"line {str(line)[:40]} is no goal that was refuted before")
        return cls(line)

    def apply(self, goal: Goal, at: Place) -> Sequence[Goal]:
        """Nothing. Raises `CheckError`."""
        if not at.book.closed.contains(self.line, goal):
            raise CheckError(at.line, f"the goal of line {self.line} is another one")
        return ()


@rule("within")
@dataclass(frozen=True, slots=True)
class Within(Step):
    """Nothing is left: the region of a lemma about the first obligation's formula holds all states that it is about."""

    about_obligation = True
    lemma: int

    @classmethod
    def from_json(cls, data: Line, at: Place) -> Self:
        """A line whose lemma was proved. Raises `CheckError`."""
        (lemma,) = cls.entries(data, at)
        if type(lemma) is not int or lemma not in at.book.lemmas:
            raise cls._unfit(at, lemma)
        return cls(lemma)

    def apply(self, goal: Goal, at: Place) -> Sequence[Goal]:
        """Nothing. Raises `CheckError`."""
        lemma, head = at.book.lemmas[self.lemma], goal.todo[0]
        if not isinstance(head, Holds) or head.formula is not lemma.formula:
            raise self._unfit(at, self.lemma)
        if not at.book.contains(lemma, goal.world, head):
            raise CheckError(at.line, f"the state is not within the region of the lemma of line {self.lemma}")
        return ()

    @staticmethod
    def _unfit(at: Place, lemma: object) -> CheckError:
        return CheckError(at.line, f"line {str(lemma)[:40]} is no lemma about this obligation that was proved before")


@rule("listed")
@dataclass(frozen=True, slots=True)
class Listed(Step):
    """Nothing is left: a row of a table refutes the first obligation's formula, and holds all states of it."""

    about_obligation = True
    table: int
    row: int

    @classmethod
    def from_json(cls, data: Line, at: Place) -> Self:
        """A row of a table that was read. Raises `CheckError`."""
        table, row = cls.entries(data, at)
        if type(table) is not int or table not in at.book.listings:
            raise cls.refused(data, at)
        return cls(table, read_index(at.line, row, len(at.book.listings[table])))

    def apply(self, goal: Goal, at: Place) -> Sequence[Goal]:
        """Nothing. Raises `CheckError`."""
        listing, head = at.book.listings[self.table], goal.todo[0]
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
    at: int

    @classmethod
    def from_json(cls, data: Line, at: Place) -> Self:
        """One of the obligations. Raises `CheckError`."""
        (index,) = cls.entries(data, at)
        return cls(read_index(at.line, index, at.todo))

    def apply(self, goal: Goal, at: Place) -> Sequence[Goal]:
        """One goal."""
        return [goal.keep(self.at)]


@rule("case")
@dataclass(frozen=True, slots=True)
class Case(Step):
    """The goal for every outcome of a choice, by number, in the state of the first obligation: it has one of them."""

    about_obligation = True
    choice: int

    @classmethod
    def from_json(cls, data: Line, at: Place) -> Self:
        """One of the choices of the system. Raises `CheckError`."""
        (choice,) = cls.entries(data, at)
        return cls(read_index(at.line, choice, len(at.book.choices)))

    def apply(self, goal: Goal, at: Place) -> Sequence[Goal]:
        """A goal for each outcome."""
        return goal.case(at.book.choices[self.choice])
