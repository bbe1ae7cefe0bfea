"""Exact enumeration: polytopes of initial states on which every run is affine, one after the other.

Where few dimensions of the initial set are free, the parts of it on which a run through networks is affine are convex
polytopes of few vertices, and few as long as choices are few. They are cut where a unit of a network, an argmax or a
comparison changes, so unlike boxes they are exact. A formula is evaluated by the polytopes on which it may hold:
those of ``EX`` may reach its operand by some move, those of ``AX`` by each move in turn, those of ``And`` pass each
operand in turn. Parts are never merged, so the reachability graph is better for many branches over many steps.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import frexp
from typing import TypeAlias

import numpy as np

from venmas.bounds.polytopes import Polytopes, joined
from venmas.bounds.rounding import TINY, UNIT_ROUNDOFF, Bools
from venmas.logic import AX, EX, And, Atom, Bottom, Formula, Or
from venmas.logic.linear import Comparison, LinearExpr
from venmas.model.transform.cases import UnsuitableError
from venmas.procedures.hybrid.trials import Candidate
from venmas.procedures.hybrid.view import Space, Start
from venmas.procedures.polytopes.step import Partition

_FREE = 4
"""Free dimensions, at most."""
_ROWS = 1024
"""Polytopes that are taken on at once."""
_PICKED = 4
"""Polytopes of a batch whose middles are candidates."""
_FINE = 10
"""Candidates are multiples of 2^-10 of a polytope's size: their numbers stay short."""

Steps: TypeAlias = Generator[Polytopes | None, None, Polytopes]


class Enumeration:
    """What of the initial set is left where `target` may hold; work that goes on where it was left.

    Raises `UnsuitableError` where the initial set has more than `_FREE` free dimensions.
    """

    def __init__(self, space: Space, target: Formula) -> None:
        self.space, self.target = space, target
        self.over = self.refuted = False
        self.count = 0
        """Polytopes that a formula was asked of."""
        self.paths = len(space.system.branches) ** target.depth
        """Ways through branches, at most."""
        self._size = len(space.reals)
        self.partition = Partition.of(space)
        if any(sum(low < high for low, high in map(s.box.__getitem__, space.reals)) > _FREE for s in space.starts):
            raise UnsuitableError(f"the initial set has more than {_FREE} free dimensions")
        if not space.starts:
            raise UnsuitableError("there is no initial state")
        self._start: Start
        self._steps = self._run()

    def run(self, tick: Callable[[], None]) -> list[Candidate]:
        """Go on until something is left, of which candidates are returned, or to the end; `tick` may raise."""
        while not self.over:
            tick()
            try:
                found = next(self._steps)
            except StopIteration as end:
                self.over, self.refuted = True, not len(end.value)
            except (UnsuitableError, OverflowError, RecursionError):
                self.over = True
            else:
                if found is not None:
                    return list(self._candidates(found))
        return []

    def _run(self) -> Steps:
        left = []
        for start, polytopes in self.initial():
            self._start = start
            number, state = self.space.number(start.values), tuple(range(self._size))
            left.append((yield from self._open(polytopes, number, state, self.target, 0, True)))
        return joined(left)

    def initial(self, parts: int = 0) -> Iterator[tuple[Start, Polytopes]]:
        """The initial states of each start, whose box is halved so often: first cuts that round nothing."""
        for start in (part for whole in self.space.starts for part in _halved(whole, self.space.reals, parts)):
            polytopes = self._whole(start)
            for row in start.region:
                if row.decide(*row.expr.range_over(start.box)):
                    continue  # nothing that the box does not say
                polytopes = self._atom(polytopes, start.values, tuple(range(self._size)), row)
            yield start, polytopes

    def _whole(self, start: Start) -> Polytopes:
        """The box of a start as a polytope."""
        reals = self.space.reals
        free = [i for i, n in enumerate(reals) if start.box[n][0] < start.box[n][1]]
        corners = _corners(len(free))
        ends = np.array([[float(start.box[n][end]) for n in reals] for end in (0, 1)])
        x = np.tile(ends[0], (1, len(corners), 1))
        x[0][:, free] = np.where(corners, ends[1, free], ends[0, free])
        sides = np.uint64(1) << (2 * np.arange(len(free)) + corners).astype(np.uint64)
        facets = np.bitwise_or.reduce(sides, 1, initial=np.uint64(0))[None]
        inexact = np.array([any(Fraction(float(end)) != end for end in start.box[n]) for n in reals])
        error = np.where(inexact, np.abs(ends).max(0) * 2 * UNIT_ROUNDOFF + TINY, 0.0)[None]
        path, roots = np.full((1, self.target.depth), -1), np.zeros((1, 0, len(reals)))
        return Polytopes(len(free), x, np.array([len(corners)]), facets, roots, error, path)

    def _candidates(self, polytopes: Polytopes) -> Iterator[Candidate]:
        """The middles of the largest of some polytopes, with the branches that led there."""
        x = polytopes.x[:, :, : self._size]
        extent = x.max(1) - x.min(1)
        for row in np.argsort(-extent.max(1), kind="stable")[:_PICKED]:
            middle = x[row, : polytopes.count[row]].mean(0)
            if not np.isfinite(middle).all():
                continue
            values = dict(zip(self.space.integers, map(Fraction, self._start.values), strict=True))
            for i, name in enumerate(self.space.reals):
                low, high = self._start.box[name]
                unit = Fraction(2) ** (frexp(extent[row, i])[1] - _FINE) if extent[row, i] > 0 else Fraction(0)
                value = round(Fraction(middle[i]) / unit) * unit if unit else Fraction(middle[i])
                values[name] = min(max(value, low), high)
            taken = polytopes.path[row]
            branches = taken[: int((taken >= 0).cumprod().sum())]
            yield Candidate({n: values[n] for n in self.space.system.variables}, tuple(map(int, branches)))

    # -- formulas ------------------------------------------------------------------------------------------------------

    def _open(
        self, polytopes: Polytopes, number: int, state: tuple[int, ...], formula: Formula, step: int, last: bool
    ) -> Steps:
        """The parts in which a formula may hold.

        last: what is left is left of the initial set, and handed to who runs this; its first quantities alone, those of
        the initial state, are returned.
        """
        if len(polytopes) > _ROWS:
            parts = []
            for at in range(0, len(polytopes), _ROWS):
                some = polytopes.take(slice(at, at + _ROWS))
                parts.append((yield from self._open(some, number, state, formula, step, last)))
            return joined(parts)
        kept = polytopes
        self.count += len(kept)
        match formula:
            case Bottom():
                kept = kept.take(slice(0, 0))
            case Atom(comparison):
                kept = self._atom(kept, self.space.locations[number].values, state, comparison)
            case And(operands):
                *first, end = sorted(operands, key=lambda f: f.depth)
                for operand in first:
                    kept = yield from self._open(kept, number, state, operand, step, False)
                return (yield from self._open(kept, number, state, end, step, last))
            case Or(operands):
                parts = []
                for operand in sorted(operands, key=lambda f: f.depth):
                    parts.append((yield from self._open(kept, number, state, operand, step, last)))
                return joined(parts)
            case EX(operand):
                return (yield from self._some(kept, number, state, operand, step, last))
            case AX(operand):
                kept = yield from self._every(kept, number, state, operand, step)
        kept = kept.head(self._size, kept.r.shape[1]) if last else kept
        if last and len(kept):
            yield kept
        return kept

    def _some(
        self, polytopes: Polytopes, number: int, state: tuple[int, ...], operand: Formula, step: int, last: bool
    ) -> Steps:
        """The parts that some move may lead to where `operand` holds."""
        width, roots = (self._size if last else polytopes.width), polytopes.r.shape[1]
        after = yield from self.partition.after(polytopes, number, state)
        parts = [polytopes.take(slice(0, 0)).head(width, roots)]
        for at in range(polytopes.width, after.width, 2 + self._size):
            moves = after.x[:, 0, at] >= 0
            found = yield from self._moved(after.take(moves), at, operand, step, last)
            parts.append(found.head(width, roots))
        return joined(parts)

    def _every(self, polytopes: Polytopes, number: int, state: tuple[int, ...], operand: Formula, step: int) -> Steps:
        """The parts all moves of which may lead to where `operand` holds."""
        after = yield from self.partition.after(polytopes, number, state)
        for at in range(polytopes.width, after.width, 2 + self._size):
            moves = after.x[:, 0, at] >= 0
            found = yield from self._moved(after.take(moves), at, operand, step, False)
            after = joined([after.take(~moves), found])
        return after.head(polytopes.width, polytopes.r.shape[1])

    def _moved(self, after: Polytopes, at: int, formula: Formula, step: int, last: bool) -> Steps:
        """What may be left of polytopes by a formula of the state that one of their moves leads to, from quantity `at`
        on."""
        state = tuple(range(at + 2, at + 2 + self._size))
        target = after.x[:, 0, at]
        parts = [after.take(slice(0, 0))]
        for number in np.unique(target):
            some = after.take(target == number)
            some.path[:, step] = some.x[:, 0, at + 1]
            if last:
                some, here = some.quantities([*range(self._size), *state]), tuple(range(self._size, 2 * self._size))
            else:
                here = state
            found = yield from self._open(some.rooted(here), int(number), here, formula, step + 1, last)
            parts.append(found.head(found.width, after.r.shape[1]))  # nobody asks for this move's state again
        return joined(parts)

    def _atom(
        self, polytopes: Polytopes, values: tuple[int, ...], state: Sequence[int], comparison: Comparison
    ) -> Polytopes:
        """The parts in which a comparison of variables may hold."""
        integers = {n: LinearExpr((), Fraction(v)) for n, v in zip(self.space.integers, values, strict=True)}
        valued = polytopes.affine(state, *self.partition.rows([comparison.expr.substitute(integers)]))
        return valued.may(polytopes.width, comparison.relation).head(polytopes.width, polytopes.r.shape[1])


def _halved(start: Start, names: Sequence[str], times: int) -> list[Start]:
    """A start in 2^times parts, its sides halved in turns at numbers that floats hold."""
    found = [start]
    free = [n for n in names if start.box[n][0] < start.box[n][1]]
    for name in (free[i % len(free)] for i in range(times if free else 0)):
        halves = []
        for part in found:
            low, high = part.box[name]
            middle = Fraction((float(low) + float(high)) / 2)
            if not low < middle < high:
                halves.append(part)
                continue
            halves += [replace(part, box={**part.box, name: ends}) for ends in ((low, middle), (middle, high))]
        found = halves
    return found


def _corners(dimension: int) -> Bools:
    """The vertices of a cube, (V, dimension): at which end of each side they are; those of a square in their order."""
    if dimension == 2:
        return np.array([(0, 0), (1, 0), (1, 1), (0, 1)], dtype=bool)
    return np.array(list(product((False, True), repeat=dimension)), dtype=bool).reshape(2**dimension, dimension)
