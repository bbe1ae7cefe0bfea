"""A system over the reals in discrete modes: locations, the frames of its steps, and bounds of choices over boxes.

A *location* is a value of all integers (a mode); choices (argmax, signs) that stay open in it are bounded by zonotopes
over boxes of the reals, and what is decided leaves affine moves, by case. Kept between passes, and between questions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from itertools import product as combinations
from math import ceil, floor
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from venmas.bounds.rounding import Bools, Floats, Index, Ints
from venmas.bounds.zonotope import Evaluator, Form
from venmas.bounds.zonotope_stacked import MOST_ROWS, gaps, stack
from venmas.budget import ask
from venmas.errors import ModelError
from venmas.logic.linear import Comparison, LinearExpr
from venmas.model.canonical.canonical import shared, system_digest
from venmas.model.evaluation.regions import bounding_box
from venmas.model.expressions.expr import ArgMax, to_linear
from venmas.model.system.networks import networks_of
from venmas.model.system.system import System
from venmas.model.system.variables import Region
from venmas.model.transform.cases import Choice, Location, Move, Sign, UnsuitableError
from venmas.procedure import Run
from venmas.procedures.hybrid.boxes import Boxes, at_once, present
from venmas.procedures.hybrid.frames import Frame, Map, Matrix, Row, check_size, product, to_boxes, unit_of
from venmas.question import Question

if TYPE_CHECKING:
    from venmas.bounds.compiled.cutting import Undecided

BATCH = 2048
"""Boxes bounded in one go: their numbers fit into a processor's cache."""

_WORTH, _CALL = 15_000, 30
"""Boxes swept by numpy in this process, and what a call counts for beside its boxes, after which loading the compiled
sweep (some 1.2 s) costs less than going on (some 20 microseconds a box)."""

MAX_OUTCOMES = 62
"""Outcomes of one choice, at most: they are bits of a 64-bit number."""

MAX_STARTS = 4096
"""Initial locations, at most: each is partly evaluated by itself."""


@dataclass(frozen=True, eq=False)
class Decided:
    """Boxes (by row) of one location: the signature of their choices, and each coordinate's part in open ones."""

    location: int
    rows: Index
    signature: Ints
    influence: Floats


@dataclass(frozen=True, eq=False)
class Start:
    """An initial location: values of the integers, a bounding box of all variables, and the rows that hold there."""

    values: tuple[int, ...]
    box: dict[str, tuple[Fraction, Fraction]]
    region: Region


_KEPT: dict[tuple[object, ...], Space] = {}
_MOST_KEPT = 4
"""Spaces that are kept for further questions: several formulas of one system, or a few systems in turn."""


@contextmanager
def space_of(system: System, single: bool = False) -> Iterator[Space]:
    """The space of a system, or rather of a copy in which equal nodes are one, as they are for who checks certificates.

    Those of the last few systems are kept, as several formulas may be asked of each. Systems are the same where their
    canonical forms and the float types of their networks are, so that a script that builds its system anew for every
    formula loses nothing. A space is lent to one at a time, and what was interrupted in its use is not kept.
    """
    try:
        key = (system.once("space", lambda: _key(system)), single)
        space = _KEPT.pop(key, None) or Space(shared(system), single)
    except ModelError:  # too large for a canonical form
        yield Space(system, single)
        return
    yield space
    if not space.interrupted:
        _KEPT[key] = space
    for old in list(_KEPT)[:-_MOST_KEPT]:
        _KEPT.pop(old, None)


def space_for(question: Question, run: Run) -> Space:
    """The view of the question's system that procedures share. Raises `UnsuitableError`."""
    single = question.semantics == "float32"

    def lend() -> AbstractContextManager[Space]:
        return space_of(question.system, single)

    space = run.once("space", lend)
    space.workers = run.settings.workers
    return space


def _key(system: System) -> tuple[object, ...]:
    """What systems are the same by."""
    types = sorted((digest, network.dtype) for digest, network in networks_of(system).items())
    return (system_digest(system), *types)


class Space:
    """View of a system that has real variables; `single`: networks in any float32 evaluation.

    workers: threads of compiled sweeps.
    """

    swept = 0
    """Boxes that were swept in this process so far, all spaces together."""

    def __init__(self, system: System, single: bool = False) -> None:
        self.system, self.single, self.workers, self.interrupted = system, single, 1, False
        decls = system.variables.values()
        self.integers = tuple(d.name for d in decls if d.integral)
        self.reals = tuple(d.name for d in decls if not d.integral)
        if not self.reals:
            raise UnsuitableError("the system has no real variable")
        self._ends = {
            d.name: tuple(LinearExpr.variable(d.name) - LinearExpr((), end) for end in (d.lower, d.upper))
            for d in decls
            if not d.integral
        }
        """How far a real variable is above its lower, and above its upper end."""
        self.starts = self._starts()
        ends = [e for start in self.starts for n in self.reals for e in start.box[n]]
        self.unit = unit_of(system, ends)
        self.frames = [Frame.identity(len(self.reals), self.unit)]
        """By step; equal ones are one object, so that what is worked out for a step serves those like it."""
        self.locations: list[Location] = []
        self.beside: dict[type, object] = {}
        """What other procedures keep beside the space, by its type."""
        self.tables: dict[int, NDArray[np.uint8]] = {}
        """By location, what compiled code is to know of the sets of winners of its one choice."""
        self.undecided: dict[tuple[object, ...], Undecided | None] = {}
        """What compiled code is asked, by step, atoms and locations."""
        self._numbers: dict[tuple[int, ...], int] = {}
        self._rows: dict[tuple[LinearExpr, Frame], Row] = {}
        self._maps: dict[tuple[Move, Frame, Frame], Map] = {}
        self._linear: dict[Move, Matrix] = {}
        self._shared: dict[Matrix, Matrix] = {}
        self._matrices: dict[tuple[int, Frame, Frame], Matrix] = {}
        self._after: dict[tuple[int, Frame], Frame] = {}
        self._known = {self.frames[0].matrix: self.frames[0]}

    def _starts(self) -> list[Start]:
        """Initial locations."""
        found: list[Start] = []
        for region in self.system.regions:
            box = bounding_box(self.system, region)
            if box is None:
                continue
            ranges = [range(ceil(box[n][0]), floor(box[n][1]) + 1) for n in self.integers]
            if float(np.prod([float(len(r)) for r in ranges])) + len(found) > MAX_STARTS:
                raise UnsuitableError(f"more than {MAX_STARTS} values of the integers are initial")
            rows = [r for r in region if r.expr.variables <= set(self.integers)]
            for values in combinations(*ranges):
                ask()
                point = {n: Fraction(v) for n, v in zip(self.integers, values, strict=True)}
                if all(r.holds(point) for r in rows):
                    found.append(Start(values, box, region))
        return found

    def root(self) -> Boxes:
        """The initial regions, asked for one formula."""
        low, high = to_boxes(self.frames[0], self.reals, [start.box for start in self.starts])
        where = np.array([self.number(start.values) for start in self.starts], dtype=np.intp)
        return Boxes(where, low, high, np.ones((len(where), 1), dtype=bool))

    @property
    def several_wide(self) -> bool:
        """Is the initial set wide in more than one direction?"""
        root = self.root()
        return len(root) > 0 and int(((root.high - root.low).max(0) > 0).sum()) > 1

    def number(self, values: tuple[int, ...]) -> int:
        """The number of a location."""
        if values not in self._numbers:
            self.locations.append(Location(self.system, values, self.single))
            self._numbers[values] = len(self.locations) - 1
        return self._numbers[values]

    def known(self, values: tuple[int, ...]) -> int | None:
        """The number of a location that was met, or None."""
        return self._numbers.get(values)

    def choose_frame(self, step: int, moves: Sequence[Move]) -> None:
        """Choose the frame after `step` steps: that in which the most frequent linear map of `moves` is no motion."""
        if len(self.frames) > step:
            return
        found = [self.linear(move, move.affine) for move in moves if move.affine is not None]
        counts = Counter(map(id, found))  # equal ones are one object
        best = max(found, key=lambda m: counts[id(m)], default=None)
        if best is None:
            self.frames.append(self.frames[0])
            return
        key = (id(best), self.frames[step - 1])
        if key not in self._after:
            after = self.frames[step - 1].after(best)
            self._after[key] = self._known.setdefault(after.matrix, after)
        self.frames.append(self._after[key])

    def linear(self, move: Move, affine: tuple[LinearExpr, ...]) -> Matrix:
        """The linear part of a move, the same object for equal ones."""
        if move not in self._linear:
            found = tuple(tuple(a.coefficients.get(n, Fraction(0)) for n in self.reals) for a in affine)
            self._linear[move] = self._shared.setdefault(found, found)
        return self._linear[move]

    def row(self, expr: LinearExpr, step: int) -> Row:
        """An affine expression of the reals over boxes of a step."""
        key = (expr, self.frames[step])
        if key not in self._rows:
            self._rows[key] = self.frames[step].row(self.reals, expr)
        return self._rows[key]

    def map(self, move: Move, step: int) -> Map | None:
        """What a move does to boxes of a step, where it is affine."""
        if move.affine is None:
            return None
        here, after = self.frames[step], self.frames[step + 1]
        key = (move, here, after)
        if key not in self._maps:
            linear = self.linear(move, move.affine)
            if (id(linear), here, after) not in self._matrices:
                self._matrices[id(linear), here, after] = product(after.inverse, product(linear, here.matrix))
            constants = [a.constant for a in move.affine]
            self._maps[key] = here.map_to(after, self._matrices[id(linear), here, after], constants)
        return self._maps[key]

    # -- bounds --------------------------------------------------------------------------------------------------------

    def evaluator(self, low: Ints, high: Ints, step: int) -> tuple[Evaluator, Index]:
        """Forms over boxes of a step, and the coordinates that are their roots."""
        check_size(low, high)
        roots = np.flatnonzero((high > low).any(0))
        env = self.frames[step].forms(self.reals, low, high, roots)
        return Evaluator(env, len(low), len(roots), self.single), roots

    def decide(self, boxes: Boxes, step: int) -> Iterator[Decided]:
        """Possible outcomes of every choice over boxes, location by location."""
        every = [(int(n), np.flatnonzero(boxes.location == n)) for n in present(boxes.location)]
        size = min(BATCH, at_once(boxes.low.shape[1] ** 2))
        parts = [(n, rows[at : at + size]) for n, rows in every for at in range(0, len(rows), size)]
        Space.swept += len(boxes) + _CALL
        if len(boxes) <= MOST_ROWS:
            yield from self._decide_few(boxes, parts, step)
        else:
            yield from (self._decide(number, boxes, rows, step) for number, rows in parts)

    @property
    def worth_compiled_code(self) -> bool:
        """Is there so much to cut that loading compiled code costs less than doing without?"""
        return not self.single and Space.swept > _WORTH

    def _decide_few(self, boxes: Boxes, parts: list[tuple[int, Index]], step: int) -> Iterator[Decided]:
        every, roots = self.evaluator(boxes.low, boxes.high, step)
        evaluators = []
        for _, rows in parts:
            env = {n: Form(f.z[rows], f.e[rows]) for n, f in every.env.items()}
            evaluators.append(Evaluator(env, len(rows), len(roots), self.single))
        if len(parts) > 1 and not self.single:
            self._together([(self.locations[n], e) for (n, _), e in zip(parts, evaluators, strict=True)])
        for (number, rows), evaluator in zip(parts, evaluators, strict=True):
            yield self._outcomes_of(number, boxes, rows, step, evaluator, roots)

    def _decide(self, number: int, boxes: Boxes, rows: Index, step: int) -> Decided:
        evaluator, roots = self.evaluator(boxes.low[rows], boxes.high[rows], step)
        return self._outcomes_of(number, boxes, rows, step, evaluator, roots)

    def _outcomes_of(
        self, number: int, boxes: Boxes, rows: Index, step: int, evaluator: Evaluator, roots: Index
    ) -> Decided:
        influence = np.zeros((len(rows), len(roots)))
        low, high = boxes.low[rows], boxes.high[rows]
        choices = self.locations[number].choices
        columns = []
        for choice in choices:
            force = np.zeros_like(influence)
            ask()
            columns.append(self._outcomes(choice, evaluator, low, high, step, force, roots))
            # choices have units of their own: each counts for one where it is open
            total = force.sum(1, keepdims=True)
            influence += np.where((total > 0) & np.isfinite(total), force / np.where(total > 0, total, 1.0), 0.0)
        full = np.zeros(low.shape)
        full[:, roots] = influence
        signature = np.stack(columns, 1) if columns else np.zeros((len(low), 0), dtype=np.int64)
        return Decided(number, rows, signature, full)

    def _together(self, parts: list[tuple[Location, Evaluator]]) -> None:
        """Sweep the networks that several locations ask in one go, where they have one shape."""
        asked = [(c, c.whole, e) for loc, e in parts for c in loc.choices if isinstance(c, ArgMax)]
        plain = [(c, a, e) for c, a, e in asked if a is not None]
        stacked = stack(tuple(a.network for _, a, _ in plain)) if len(plain) > 1 else None
        if stacked is None:
            return
        inputs = [[e.value(i) for i in a.inputs] for _, a, e in plain]
        z = np.concatenate([np.stack([f.z for f in forms], 2) for forms in inputs])
        radius = np.concatenate([np.stack([f.e for f in forms], 1) for forms in inputs])
        sizes = [e.size for _, _, e in plain]
        index = np.repeat(np.arange(len(plain)), sizes)
        ends = np.cumsum(sizes)
        z, radius = gaps(stacked, index, z, radius)
        for (choice, _, evaluator), size, end in zip(plain, sizes, ends, strict=True):
            evaluator.gaps[id(choice)] = z[end - size : end], radius[end - size : end]

    def _outcomes(
        self, choice: Choice, evaluator: Evaluator, low: Ints, high: Ints, step: int, influence: Floats, roots: Index
    ) -> Ints:
        if isinstance(choice, Sign):
            linear = to_linear(choice.expr)
            if linear is None:
                form = evaluator.value(choice.expr)
                least, greatest = form.range()
                force = np.abs(form.z[:, 1:])
            else:
                row = self.row(linear, step)
                least, greatest = row.range(low, high)
                force = (np.abs((row.plus + row.minus).astype(float)) * (high - low) / row.scale)[:, roots]
            below, above = np.asarray(least < 0, dtype=bool), np.asarray(greatest > 0, dtype=bool)
            zero = np.asarray((least <= 0) & (greatest >= 0), dtype=bool)
            influence += np.where((below & above)[:, None], force, 0.0)
            signs: Ints = below + 2 * zero.astype(np.int64) + 4 * above
            return signs
        able = evaluator.winners(choice, influence) if isinstance(choice, ArgMax) else evaluator.largest(choice)
        if able.shape[1] > MAX_OUTCOMES:
            raise UnsuitableError(f"a choice has more than {MAX_OUTCOMES} outcomes")
        bits: Ints = able @ (np.int64(1) << np.arange(able.shape[1], dtype=np.int64))
        return bits

    def atom_row(self, comparison: Comparison, number: int | None, step: int) -> Row:
        """The left side of a comparison over boxes of a location, which is None where the integers do not matter."""
        constant, terms = comparison.expr.constant, []
        for name, factor in comparison.expr.terms:
            if name in self.reals:
                terms.append((name, factor))
            elif number is not None:
                constant += factor * self.locations[number].values[self.integers.index(name)]
        return self.row(LinearExpr(tuple(terms), constant), step)

    def atoms(self, comparisons: Sequence[Comparison], boxes: Boxes, step: int) -> tuple[Bools, Bools]:
        """(B, A) twice: where a comparison of variables may hold, and where it may fail."""
        size = len(boxes)
        may, may_not = np.ones((size, len(comparisons)), dtype=bool), np.ones((size, len(comparisons)), dtype=bool)
        for column, comparison in enumerate(comparisons):
            located = not comparison.expr.variables <= set(self.reals)
            for number in present(boxes.location) if located else [None]:
                ask()
                at = slice(None) if number is None else np.flatnonzero(boxes.location == number)
                row = self.atom_row(comparison, number, step)
                least, greatest = row.range(boxes.low[at], boxes.high[at])
                may[at, column] = ~comparison.relation.negated.certain(least, greatest)
                may_not[at, column] = ~comparison.relation.certain(least, greatest)
        return may, may_not

    def outside(self, boxes: Boxes, step: int) -> bool:
        """May a state of these boxes leave the declared ranges?"""
        for decl in self.system.variables.values():
            if decl.integral:
                at = self.integers.index(decl.name)
                values = [self.locations[i].values[at] for i in present(boxes.location)]
                if any(not decl.lower <= v <= decl.upper for v in values):
                    return True
                continue
            above, below = self._ends[decl.name]
            least, _ = self.row(above, step).range(boxes.low, boxes.high)
            _, greatest = self.row(below, step).range(boxes.low, boxes.high)
            if len(boxes) and (least.min() < 0 or greatest.max() > 0):
                return True
        return False
