"""Lemmas about regions, of which proofs are made that are graphs of regions (docs/certificates.md).

A lemma says that no state of a region meets a subformula of the target. A region has fixed integers, and reals
``x = matrix @ y`` for y in a box; the matrix is a *frame*. It is proved like an initial set, and later goals whose
state lies within its region are closed by naming it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from venmas.checker.exact.cell import Cell, Form, Q, rational
from venmas.checker.fixed_point.evaluation import Awaited, Tabling
from venmas.checker.format.numbers import CheckError, read_form
from venmas.checker.goals.goals import Goal
from venmas.checker.goals.paths import Holds, World
from venmas.checker.goals.sharing import Closed
from venmas.logic import Formula
from venmas.logic.linear import invert
from venmas.model.expressions.expr import ArgMax, Compare
from venmas.model.system.system import System
from venmas.nn.network import Semantics

if TYPE_CHECKING:
    from venmas.checker.goals.listing import Listing

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
    frame: int = -1
    """Number of its frame, which `inverse` is the inverse of."""


class Book:
    """Objects that lines name by number: subformulas and choices; frames, lemmas and closed goals of earlier lines.

    Choices are the argmax and compare nodes that agents and branches rest on, in the order of a walk over the canonical
    form: make a pile of nodes, the `value` of every agent, then for every branch its `guard` and the nodes of its
    `updates`, each list in its order, the first of all on top. Take the top node until there is none. One that was
    taken before is passed over; otherwise it is the next in the order, and its parts are put on the pile as they are
    written, so that the last one comes on top: the scalar nodes of a sum, the operands, the selector and then the
    cases, the condition and then both sides, the node that is compared, the conditions of all and any; for an output
    the inputs of its network node. Nodes that only `initial` and `propositions` use have no number.
    """

    def __init__(self, system: System, target: Formula, semantics: Semantics) -> None:
        self.system, self.semantics = system, semantics
        self.formulas = parts(target)
        self.choices = [n for _, n in system.nodes() if isinstance(n, ArgMax | Compare)]
        self.lemmas: dict[int, Lemma] = {}
        self.frames: list[tuple[Matrix, Matrix]] = []
        self.closed = Closed()
        self.listings: dict[int, Listing] = {}
        """Lemmas by the row, of tables and of lines of their own, by the number of the line."""
        self.tabling = Tabling(system, self.choices, self.frames)
        self.awaited = Awaited(self.tabling)
        self.kept = 0
        self.integers = [d.name for d in system.variables.values() if d.integral]
        self.reals = [d.name for d in system.variables.values() if not d.integral]

    def add_frame(self, line: int, matrix: Sequence[Sequence[str]]) -> None:
        """Keep a frame, whose matrix is square and has the right size. Raises `CheckError`."""
        rows = tuple(read_form(line, row) for row in matrix)
        size = len(rows) ** 2 * _characters([c for row in matrix for c in row if c != "0"])
        if size > MAX_FRAME:
            raise CheckError(line, "the numbers of the frame are too many, or too long, to be inverted")
        self.keep(line, size)
        inverse = invert(rows)
        if inverse is None:
            raise CheckError(line, "the matrix of the frame has no inverse")
        self.frames.append((rows, inverse))

    def stated(
        self, line: int, formula: int, frame: int, integers: tuple[int, ...], box: tuple[Sequence[str], Sequence[str]]
    ) -> tuple[Lemma, Goal]:
        """A lemma about a formula and a frame by number, and the goal that proves it. Raises `CheckError`."""
        matrix, inverse = self.frames[frame]
        low, high = (read_form(line, end) for end in box)
        self.keep(line, _characters([*box[0], *box[1], *map(str, integers)]))
        if any(a > b for a, b in zip(low, high, strict=True)):
            raise CheckError(line, "the box of the lemma is empty")
        lemma = Lemma(self.formulas[formula], integers, inverse, low, high, frame)
        return lemma, self.goal(lemma, matrix)

    def keep(self, line: int, size: int) -> None:
        """Count what is kept to the end. Raises `CheckError`."""
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
        sums = []
        for row in inverse:
            pairs = [(c, env[n]) for c, n in zip(row, self.reals, strict=True) if c]
            low: Form = (rational(0),) * (len(cell.names) + 1)
            upp = low
            for c, q in pairs:
                low = tuple(a + c * b for a, b in zip(low, q.low if c > 0 else q.upp, strict=True))
                upp = tuple(a + c * b for a, b in zip(upp, q.upp if c > 0 else q.low, strict=True))
            sums.append((cell.inf(low).value, cell.sup(upp).value))
        return sums


def _characters(numbers: list[str]) -> int:
    return sum(map(len, numbers))


def parts(target: Formula) -> list[Formula]:
    """The target, then the operands of each listed formula from left to right, each formula once."""
    ordered = {target: None}
    order = [target]
    for formula in order:
        for child in formula.children:
            if child not in ordered:
                ordered[child] = None
                order.append(child)
    return order
