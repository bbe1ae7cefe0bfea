"""Sets of a layer of a cover and all that follows them, in batches: the looks of `venmas.checker.covers.check`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from venmas.checker.covers.batch.forms import Bools, Form, Forms, between, multiples
from venmas.checker.covers.batch.states import Sets, joined
from venmas.checker.covers.grid import Axes, Rows, Starts
from venmas.checker.covers.parts import Hull
from venmas.checker.flowpipes.curves import BeyondError, UnsupportedError
from venmas.logic import And, Atom, Bottom, Formula, Or, Top
from venmas.model.evaluation.cuts import Fineness

Ints = NDArray[np.int64]
Boxes = tuple[Ints, Ints]
Begin = Callable[[Forms], dict[str, Form]]
"""The forms of some variables of sets, in their ring."""

_UNITS = (48, 40, 32)
"""Bits of the unit of values, the first one that they fit."""
_FINE = 20
"""Boxes are put around sets in units of 2^-20 of those of their coordinates."""
_SETS, _ROWS, _MOST = 4096, 1024, 1 << 15
"""Sets that steps make of one, at most; that are followed at once; and that are made of a batch, at most."""


class OpenSetError(Exception):
    """A set of a batch does not show what is claimed, as far as a batch tells, or sets become too many."""


class Course:
    """The steps of a system, in batches of sets. wrong: what no state may be, in core form, from step `first` on.

    inside: are declared ranges looked at? single: networks in any float32 evaluation. hull: what to include all in.
    """

    def __init__(
        self,
        axes: Axes,
        wrong: Formula,
        first: int,
        fine: Fineness,
        single: bool,
        inside: bool,
        hull: Hull | None = None,
    ) -> None:
        self.axes, self.wrong, self.first = axes, wrong, first
        self.fine, self.single, self.inside, self.hull = fine, single, inside, hull
        self._unit = 0

    def boxes(self, begin: Begin, size: int, begun: int, steps: int, rows: Rows, tick: Callable[[], None]) -> Boxes:
        """Boxes of integer coordinates around what follows so many sets after some steps.

        Raises `BeyondError`, `OpenSetError`, `UnsupportedError`.
        """
        for unit in range(self._unit, len(_UNITS)):
            try:
                made = self._boxes(begin, Forms(size, _UNITS[unit], 0), begun, steps, rows, tick)
            except BeyondError:
                continue
            self._unit = unit
            return made
        raise BeyondError("integers are too large, or a value may not exist")

    def _boxes(self, begin: Begin, ring: Forms, begun: int, steps: int, rows: Rows, tick: Callable[[], None]) -> Boxes:
        forms = begin(ring)
        forms |= {name: ring.constant(value) for name, value in self.axes.fixed.items()}
        start = self._drawn(Sets(self.axes.system, ring, forms, self.fine, self.single))
        if not begun:
            self._look(start, 0)
        batches, end = [(start, np.arange(ring.size))], begun + steps
        for step in range(begun + 1, end + 1):
            made = list[tuple[Sets, Ints]]()
            for sets, origin in batches:
                for branch in self.axes.system.branches:
                    tick()
                    if (after := sets.after(branch, None if step == end else self.fine.symbols)) is not None:
                        self._look(after[0], step)
                        made.append((after[0], origin[after[1]]))
            batches = self._batches(made, step < end)
        ends = [self._box(sets, rows) for sets, _ in batches]
        none = np.zeros((0, len(rows)), dtype=np.int64)
        return np.concatenate([none, *(low for low, _ in ends)]), np.concatenate([none, *(high for _, high in ends)])

    def _batches(self, made: Sequence[tuple[Sets, Ints]], more: bool) -> list[tuple[Sets, Ints]]:
        """The same sets in batches that are not too large, with the noise of a step where there are more to come."""
        if not made:
            return []
        origin = np.concatenate([at for _, at in made])
        if len(origin) > _MOST or int(np.bincount(origin).max(initial=0)) > _SETS:
            raise OpenSetError
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

    def _box(self, sets: Sets, rows: Rows) -> Boxes:
        """The least boxes of integer coordinates around sets: (B, n) twice."""
        ring = Forms(len(sets), sets.ring.bits, sets.symbols)
        unit = Fraction(1 << _FINE, 1 << ring.bits)
        forms = [sets.forms[name] for name in self.axes.names]
        ends = [ring.combine([(c * unit, f) for c, f in zip(row, forms, strict=True) if c]).ends for row in rows]
        return np.stack([low >> _FINE for low, _ in ends], 1), np.stack([-(-high >> _FINE) for _, high in ends], 1)

    # -- what is claimed -----------------------------------------------------------------------------------------------

    def _look(self, sets: Sets, step: int) -> None:
        """Raises `OpenSetError` where a state may break what is claimed."""
        if step >= self.first and not _refuted(self.wrong, sets).all():
            raise OpenSetError
        for name in self.axes.looked_at if (self.inside or self.hull is not None) and step and len(sets) else ():
            low, high = _over(sets.forms[name])
            decl, bits = self.axes.system.variables[name], sets.ring.bits
            least = -((-decl.lower.numerator << bits) // decl.lower.denominator)
            most = (decl.upper.numerator << bits) // decl.upper.denominator
            if self.inside and not least <= low <= high <= most:
                raise OpenSetError
            if self.hull is not None:
                self.hull.add(name, low, high, bits)


def _over(form: Form) -> tuple[int, int]:
    """The range of a form over all sets."""
    low, high = form.ends
    return int(low.min()), int(high.max())


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
