"""Lemmas about regions: what a proof that is a graph of regions is made of (docs/certificates.md).

A lemma says that no state of a region meets a subformula of the target. A region has fixed integers, and reals
``x = matrix @ y`` for y in a box; the matrix is a *frame*. It is proved like an initial set, and later goals whose
state lies within its region are closed by naming it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from venmas.checker.cell import Cell, Form, Q, rational
from venmas.checker.goals import Goal, Holds, World
from venmas.checker.numbers import CheckError, read_form
from venmas.checker.values import Semantics
from venmas.logic import Formula
from venmas.model.expr import ArgMax, Compare
from venmas.model.system import System

Matrix = tuple[Form, ...]

MAX_FRAME = 64
"""Most real variables of a system whose proof has frames."""


@dataclass(frozen=True, eq=False)
class Lemma:
    """No state with these integers, and reals whose coordinates are in the box, meets the formula."""

    formula: Formula
    integers: tuple[int, ...]
    inverse: Matrix
    low: Form
    high: Form


class Book:
    """Frames and lemmas of a certificate, and what its lines name by number: subformulas and choices."""

    def __init__(self, system: System, target: Formula, semantics: Semantics) -> None:
        self.system, self.semantics = system, semantics
        self.formulas = parts(target)
        self.choices = [n for _, n in system.nodes() if isinstance(n, ArgMax | Compare)]
        self.lemmas: dict[int, Lemma] = {}
        self.frames: list[tuple[Matrix, Matrix]] = []
        self.integers = [d.name for d in system.variables.values() if d.integral]
        self.reals = [d.name for d in system.variables.values() if not d.integral]

    def choice(self, line: int, number: int) -> ArgMax | Compare:
        """An argmax or comparison of the system by its number."""
        if not 0 <= number < len(self.choices):
            raise CheckError(line, f"there is no choice {number}")
        return self.choices[number]

    def read(self, number: int, line: object) -> tuple[Lemma, Goal] | None:
        """A line that states a lemma, with the goal that proves it; None for a frame, which is kept."""
        match line:
            case {"rule": "frame", "matrix": list(rows), **rest} if not rest and len(rows) == len(self.reals):
                if len(rows) > MAX_FRAME:
                    raise CheckError(number, f"a frame of more than {MAX_FRAME} variables")
                matrix = tuple(read_form(number, row, len(rows) - 1) for row in rows)
                inverse = invert(matrix)
                if inverse is None:
                    raise CheckError(number, "the matrix of the frame has no inverse")
                self.frames.append((matrix, inverse))
                return None
            case {
                "rule": "lemma",
                "formula": int(formula),
                "frame": int(frame),
                "integers": list(integers),
                "low": low,
                "high": high,
                **rest,
            } if not rest and 0 <= formula < len(self.formulas) and 0 <= frame < len(self.frames):
                size = len(self.reals) - 1
                box = read_form(number, low, size), read_form(number, high, size)
                fits = len(integers) == len(self.integers) and all(type(i) is int for i in integers)
                if fits and all(a <= b for a, b in zip(*box, strict=True)):
                    matrix, inverse = self.frames[frame]
                    lemma = Lemma(self.formulas[formula], tuple(integers), inverse, *box)
                    return lemma, self.goal(lemma, matrix)
        raise CheckError(number, "no frame or lemma that fits the system, or it names what there is not")

    def goal(self, lemma: Lemma, matrix: Matrix) -> Goal:
        """The goal that proves a lemma; its free variables are the coordinates that are not points."""
        low, high = lemma.low, lemma.high
        free = [i for i, (a, b) in enumerate(zip(low, high, strict=True)) if a != b]
        start: dict[str, Form] = {}
        zeros = (rational(0),) * len(free)
        numbers, rows = iter(lemma.integers), iter(matrix)
        for name, decl in self.system.variables.items():
            if decl.integral:
                start[name] = (rational(next(numbers)), *zeros)
                continue
            row = next(rows)
            constant = sum((c * low[i] for i, c in enumerate(row) if i not in free), rational(0))
            start[name] = (constant, *(row[i] for i in free))
        cell = Cell(
            tuple(f"y{i}" for i in free),
            tuple(low[i] for i in free),
            tuple(high[i] for i in free),
            (False,) * len(free),
        )
        return Goal(World(self.system, cell, start, self.semantics), (Holds((), lemma.formula),))

    def within(self, line: int, goal: Goal, number: int) -> None:
        """Is the state of the goal's first obligation within the region of a lemma about the same formula?"""
        lemma, head = self.lemmas.get(number), goal.todo[0]
        if lemma is None or not isinstance(head, Holds) or head.formula is not lemma.formula:
            raise CheckError(line, f"line {number} is no lemma about this obligation that was proved before")
        if not self.contains(lemma, goal.world, head):
            raise CheckError(line, f"the state is not within the region of the lemma of line {number}")

    def contains(self, lemma: Lemma, world: World, head: Holds) -> bool:
        """Does the region of a lemma contain every state of the obligation?"""
        env = world.state(head.path).env
        for name, value in zip(self.integers, lemma.integers, strict=True):
            if env[name].values != frozenset([Fraction(value)]):
                return False
        ranges = self.coordinates(lemma.inverse, world, head)
        return all(a <= lo and hi <= b for (lo, hi), a, b in zip(ranges, lemma.low, lemma.high, strict=True))

    def coordinates(self, inverse: Matrix, world: World, head: Holds) -> list[tuple[Q, Q]]:
        """Ranges of the coordinates ``inverse @ x`` of the state of an obligation."""
        env, cell = world.state(head.path).env, world.cell
        found = []
        for row in inverse:
            pairs = [(c, env[n]) for c, n in zip(row, self.reals, strict=True) if c]
            low: Form = (rational(0),) * (len(cell.names) + 1)
            upp = low
            for c, q in pairs:
                low = tuple(a + c * b for a, b in zip(low, q.low if c > 0 else q.upp, strict=True))
                upp = tuple(a + c * b for a, b in zip(upp, q.upp if c > 0 else q.low, strict=True))
            found.append((cell.inf(low).value, cell.sup(upp).value))
        return found


def parts(target: Formula) -> list[Formula]:
    """The target, then the operands of each listed formula from left to right, each formula once."""
    found = {target: None}
    order = [target]
    for formula in order:
        for child in formula.children:
            if child not in found:
                found[child] = None
                order.append(child)
    return order


def invert(matrix: Matrix) -> Matrix | None:
    """The inverse of a square matrix of rationals, or None."""
    size = len(matrix)
    rows = [[*r, *(rational(int(i == j)) for j in range(size))] for i, r in enumerate(matrix)]
    for at in range(size):
        pivot = next((i for i in range(at, size) if rows[i][at]), None)
        if pivot is None:
            return None
        rows[at], rows[pivot] = rows[pivot], rows[at]
        rows[at] = [c / rows[at][at] for c in rows[at]]
        for i in range(size):
            if i != at and rows[i][at]:
                rows[i] = [c - rows[i][at] * p for c, p in zip(rows[i], rows[at], strict=True)]
    return tuple(tuple(r[size:]) for r in rows)
