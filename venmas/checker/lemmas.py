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
from venmas.checker.numbers import CheckError, read_form, read_index
from venmas.linear import invert
from venmas.logic import Formula
from venmas.model.expr import ArgMax, Compare
from venmas.model.system import System
from venmas.nn.network import Semantics

Matrix = tuple[Form, ...]

MAX_FRAME = 4_000_000
"""Most characters of the numbers of a frame, those that are "0" left out, times the number of its entries."""
MAX_KEPT = 1 << 30
"""The same for all frames together, and the characters of all lemmas: what is kept to the end."""
_LEAST_KEPT = 100


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
        self.kept = 0
        self.integers = [d.name for d in system.variables.values() if d.integral]
        self.reals = [d.name for d in system.variables.values() if not d.integral]

    def read(self, number: int, line: object) -> tuple[Lemma, Goal] | None:
        """A line that states a lemma, with the goal that proves it; None for a frame, which is kept."""
        match line:
            case {"rule": "frame", "matrix": list(rows), **rest} if not rest and len(rows) == len(self.reals):
                matrix = tuple(read_form(number, row, len(rows) - 1) for row in rows)
                size = len(rows) ** 2 * _characters([c for row in rows for c in row if c != "0"])
                if size > MAX_FRAME:
                    raise CheckError(number, "the numbers of the frame are too many, or too long, to be inverted")
                self._keep(number, size)
                inverse = invert(matrix)
                if inverse is None:
                    raise CheckError(number, "the matrix of the frame has no inverse")
                self.frames.append((matrix, inverse))
                return None
            case {
                "rule": "lemma",
                "formula": formula,
                "frame": frame,
                "integers": list(integers),
                "low": list(low),
                "high": list(high),
                **rest,
            } if not rest and len(integers) == len(self.integers) and all(type(i) is int for i in integers):
                about = self.formulas[read_index(number, formula, len(self.formulas))]
                matrix, inverse = self.frames[read_index(number, frame, len(self.frames))]
                box = read_form(number, low, len(self.reals) - 1), read_form(number, high, len(self.reals) - 1)
                self._keep(number, _characters([*low, *high, *map(str, integers)]))
                if any(a > b for a, b in zip(*box, strict=True)):
                    raise CheckError(number, "the box of the lemma is empty")
                lemma = Lemma(about, tuple(integers), inverse, *box)
                return lemma, self.goal(lemma, matrix)
        raise CheckError(number, "no frame or lemma that fits the variables of the system")

    def _keep(self, line: int, size: int) -> None:
        self.kept += size + _LEAST_KEPT
        if self.kept > MAX_KEPT:
            raise CheckError(line, "the frames and lemmas are too many, or their numbers too long")

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

    def within(self, line: int, goal: Goal, number: object) -> None:
        """Is the state of the goal's first obligation within the region of a lemma about the same formula?"""
        lemma, head = self.lemmas.get(number) if type(number) is int else None, goal.todo[0]
        if lemma is None or not isinstance(head, Holds) or head.formula is not lemma.formula:
            raise CheckError(line, f"line {str(number)[:40]} is no lemma about this obligation that was proved before")
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


def _characters(numbers: list[str]) -> int:
    return sum(map(len, numbers))


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
