"""Sets of a layer of a cover and all that follows them, in batches: the looks of `venmas.checker.covers.check`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from venmas.checker.covers.batch.forms import Form, Forms, between, multiples
from venmas.checker.covers.batch.states import Sets, joined
from venmas.checker.covers.grid import Axes, Rows, Starts
from venmas.checker.covers.parts import Hull
from venmas.checker.covers.paving import SIDE, Bools, CrowdedError, Ints, Tick, unhurried
from venmas.checker.flowpipes.curves import BeyondError, UnsupportedError
from venmas.logic import And, Atom, Bottom, Formula, Or, Top
from venmas.model.evaluation.cuts import Fineness

Directions: TypeAlias = tuple[tuple[int, ...], ...]
Begin: TypeAlias = Callable[[Forms], dict[str, Form]]
"""The forms of some variables of sets, in their ring."""

_UNITS = (48, 40, 32)
"""Bits of the unit of values, the first one that they fit."""
_FINE = 20
"""Boxes are put around sets in units of 2^-20 of those of their coordinates."""
_SETS, _ROWS, _MOST = 4096, 1024, 1 << 15
"""Sets that steps make of one, at most; that are followed at once; and that are made of a batch, at most."""


@dataclass
class Came:
    """Images of a batch of sets. of: the sets that they are of, (R,); low, high: boxes of integer coordinates around
    them, (R, m). open: sets that do not show what is claimed, as far as a batch tells, (B,): they have no images. hull:
    of all others on their way, None where it is not asked for.
    """

    of: Ints
    low: Ints
    high: Ints
    open: Bools
    hull: Hull | None = None

    def joined(self, other: Came) -> Came:
        """The same of these sets and of others, which come after them."""
        of = np.concatenate([self.of, other.of + len(self.open)])
        low, high = np.concatenate([self.low, other.low]), np.concatenate([self.high, other.high])
        if self.hull is not None and other.hull is not None:
            self.hull.joins(other.hull)
        return Came(of, low, high, np.concatenate([self.open, other.open]), self.hull)


class Course:
    """The steps of a system, in batches of sets. wrong: what no state may be, in core form, from step `first` on.

    inside: are declared ranges looked at? single: networks in any float32 evaluation. hulls: are those asked for?
    """

    def __init__(
        self,
        axes: Axes,
        wrong: Formula,
        first: int,
        fine: Fineness,
        single: bool,
        inside: bool,
        hulls: bool = False,
    ) -> None:
        self.axes, self.wrong, self.first = axes, wrong, first
        self.fine, self.single, self.inside, self.hulls = fine, single, inside, hulls
        self._unit = 0

    def boxes(
        self, begin: Begin, size: int, begun: int, steps: int, rows: Rows, tick: Tick, directions: Directions = ()
    ) -> Came:
        """Images of so many sets after some steps, in boxes of coordinates, rows, and in directions of these.

        Raises `BeyondError`, `UnsupportedError`, and `CrowdedError` where sets become too many.
        """
        for unit in range(self._unit, len(_UNITS)):
            try:
                made = self._boxes(begin, Forms(size, _UNITS[unit], 0), begun, steps, rows, tick, directions)
            except BeyondError:
                continue
            self._unit = unit
            return made
        raise BeyondError("integers are too large, or a value may not exist")

    def _boxes(
        self, begin: Begin, ring: Forms, begun: int, steps: int, rows: Rows, tick: Tick, directions: Directions
    ) -> Came:
        forms = begin(ring)
        forms |= {name: ring.constant(value) for name, value in self.axes.fixed.items()}
        start = self._drawn(Sets(self.axes.system, ring, forms, self.fine, self.single))
        came = self.nothing(np.zeros(ring.size, dtype=bool), len(rows) + len(directions))
        batches, end = [(start, np.arange(ring.size))], begun + steps
        if not begun:
            batches = [self._looked(start, batches[0][1], 0, came)]
        for step in range(begun + 1, end + 1):
            made = list[tuple[Sets, Ints]]()
            for sets, origin in batches:
                for branch in self.axes.system.branches if len(sets) else ():
                    tick()
                    if (after := sets.after(branch, None if step == end else self.fine.symbols)) is not None:
                        made.append(self._looked(after[0], origin[after[1]], step, came))
            batches = self._batches(made, step < end)
        batches = [(sets.rows(kept), of[kept]) for sets, of in batches for kept in [np.flatnonzero(~came.open[of])]]
        ends = [self._box(sets, rows, directions) for sets, _ in batches]
        came.of = np.concatenate([came.of, *(origin for _, origin in batches)])
        came.low, came.high = (np.concatenate([came.low, *(pair[side] for pair in ends)]) for side in (0, 1))
        return came

    def nothing(self, wrong: Bools, count: int) -> Came:
        """No images of sets of which some are open. count: of numbers of a box."""
        none = np.zeros((0, count), dtype=np.int64)
        return Came(np.arange(0), none, none, wrong, Hull({}) if self.hulls else None)

    def _batches(self, made: Sequence[tuple[Sets, Ints]], more: bool) -> list[tuple[Sets, Ints]]:
        """The same sets in batches that are not too large, with the noise of a step where there are more to come."""
        if not made:
            return []
        origin = np.concatenate([at for _, at in made])
        if len(origin) > _MOST or int(np.bincount(origin).max(initial=0)) > _SETS:
            raise CrowdedError
        if not more:
            return list(made)
        sets = joined([part for part, _ in made])
        places = np.split(np.arange(len(sets)), range(_ROWS, len(sets), _ROWS))
        return [(self._drawn(sets.rows(part)), origin[part]) for part in places]

    def _drawn(self, sets: Sets) -> Sets:
        """Sets with the noise of a step."""
        if not self.axes.noise:
            return sets.having(sets.forms)
        ring, forms = Forms(len(sets), sets.ring.bits, sets.symbols), dict(sets.forms)
        for name, ends in self.axes.noise.items():
            forms[name] = ring.fresh(ring.enclosing(*ends))
        return sets.having({name: forms[name] for name in self.axes.system.variables}, ring.symbols)

    def _box(self, sets: Sets, rows: Rows, directions: Directions) -> tuple[Ints, Ints]:
        """The least boxes of integer coordinates around sets: (B, m) twice."""
        ring = Forms(len(sets), sets.ring.bits, sets.symbols)
        unit, forms = Fraction(1 << _FINE, 1 << ring.bits), [sets.forms[name] for name in self.axes.names]
        axes = [ring.combine([(c * unit, f) for c, f in zip(row, forms, strict=True) if c]) for row in rows]
        for row in directions:
            axes.append(ring.combine([(Fraction(c), f) for c, f in zip(row, axes, strict=False) if c]))
        ends = [form.ends for form in axes]
        return np.stack([low >> _FINE for low, _ in ends], 1), np.stack([-(-high >> _FINE) for _, high in ends], 1)

    def _looked(self, sets: Sets, origin: Ints, step: int, came: Came) -> tuple[Sets, Ints]:
        """Those of the sets in which no state breaks what is claimed; the others are open."""
        bad = ~_refuted(self.wrong, sets) if step >= self.first else np.zeros(len(sets), dtype=bool)
        ends = {name: sets.forms[name].ends for name in (self.axes.looked_at if step else ())}
        for name, (low, high) in ends.items() if self.inside else ():
            decl, bits = self.axes.system.variables[name], sets.ring.bits
            least = -((-decl.lower.numerator << bits) // decl.lower.denominator)
            most = (decl.upper.numerator << bits) // decl.upper.denominator
            bad |= (low < least) | (high > most)
        came.open[origin[bad]] = True
        good = np.flatnonzero(~bad)
        if came.hull is not None and len(good):
            for name, (low, high) in ends.items():
                came.hull.add(name, int(low[good].min()), int(high[good].max()), sets.ring.bits)
        return sets.rows(good), origin[good]


def _refuted(formula: Formula, sets: Sets) -> Bools:
    """In which sets does no state meet a formula in core form about one state? (B,)."""
    match formula:
        case Top():
            return np.zeros(len(sets), dtype=bool)
        case Bottom():
            return np.ones(len(sets), dtype=bool)
        case Atom():
            return sets.atom(formula.comparison)[1]
        case And(operands):
            return np.asarray(np.logical_or.reduce([_refuted(part, sets) for part in operands]))
        case Or(operands):
            return np.asarray(np.logical_and.reduce([_refuted(part, sets) for part in operands]))
    raise UnsupportedError("a formula about several states")


@dataclass(frozen=True, eq=False)
class Leg:
    """Some steps that all sets of a layer are followed for. rows: of coordinates to put boxes around; directions: of
    these, further ones. len: how many both are.

    columns: of each variable its factors, by coordinate, where sets are boxes; they are parts of initial sets at first.
    few: sets that as soon are followed one by one, and open here.
    """

    course: Course
    begun: int
    steps: int
    rows: Rows
    directions: Directions
    columns: Rows
    parts: Starts
    depth: int
    few: int

    def __len__(self) -> int:
        return len(self.rows) + len(self.directions)

    def __call__(self, low: Ints, high: Ints, tick: Tick = unhurried) -> Came:
        """Images of some sets, as of a paving. Raises what `Course.boxes` does."""
        if len(low) < self.few:
            return self.nothing(len(low))
        names = self.course.axes.names
        if self.begun:
            begin = boxed(names, self.columns, low, high)
        else:
            region = low[:, 0] // SIDE >> self.depth
            begin = parted(names, self.parts, region, low[:, 1:], high[:, 1:], self.depth)
        return self.course.boxes(begin, len(low), self.begun, self.steps, self.rows, tick, self.directions)

    def nothing(self, size: int) -> Came:
        """So many sets that are open."""
        return self.course.nothing(np.ones(size, dtype=bool), len(self))


# -- first sets --------------------------------------------------------------------------------------------------------


def boxed(names: Sequence[str], columns: Rows, low: Ints, high: Ints) -> Begin:
    """Boxes of coordinates, (B, n) twice. columns: of each variable its factors, by coordinate."""

    def forms(ring: Forms) -> dict[str, Form]:
        ring.symbols = low.shape[1]
        ends = np.stack([low + high, high - low], 2)  # the centre and the radius of each, doubled
        bounds = np.abs(ends).sum(2).max(0, initial=0).tolist()
        return {
            name: ring.fresh(_placed(ring, column, ends, bounds)) for name, column in zip(names, columns, strict=True)
        }

    return forms


def _placed(ring: Forms, column: Sequence[Fraction], ends: Ints, bounds: Sequence[int]) -> Form:
    """The sum of multiples of boxes, (B, n, 2)."""
    z, e = np.zeros((ring.size, 1 + len(column)), dtype=np.int64), np.zeros(ring.size, dtype=np.int64)
    bound = 0
    for j, (factor, most) in enumerate(zip(column, bounds, strict=True)):
        factor = factor * Fraction(1 << ring.bits, 2)
        part, rounded, more = multiples(ends[:, j], factor, most)
        bound += abs(most * factor.numerator) // factor.denominator + 2 * more + 5
        if bound >= 1 << 62:
            raise BeyondError("integers are too large")
        z[:, 0] += part[:, 0]
        z[:, 1 + j] = part[:, 1]
        e += more + (rounded.sum(1) if isinstance(rounded, np.ndarray) else 2 * rounded)
    return Form(z, e, bound)


def parted(names: Sequence[str], parts: Starts, region: Ints, low: Ints, high: Ints, depth: int) -> Begin:
    """Parts of initial sets of some numbers, (B,), between places, (B, n) twice."""

    def forms(ring: Forms) -> dict[str, Form]:
        made = {}
        for axis, name in enumerate(names):
            keys = np.stack([region, low[:, axis], high[:, axis]], 1)
            one, place = np.unique(keys, axis=0, return_inverse=True)
            ends = [[parts.at(r, axis, at, depth) for at in (a, b)] for r, a, b in one.tolist()]
            first = [(a.numerator << ring.bits) // a.denominator for a, _ in ends]
            last = [-((-b.numerator << ring.bits) // b.denominator) for _, b in ends]
            if max(map(abs, first + last), default=0) >= 1 << 58:
                raise BeyondError("integers are too large")
            place = place.reshape(-1)
            made[name] = ring.fresh(between(np.array(first)[place], np.array(last)[place]))
        return made

    return forms
