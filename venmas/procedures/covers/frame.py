"""Skew coordinates ``y = rows x`` in which sets are boxes: along variables, modes of a loop, or the spread of runs.

Rows are rationals and so is their inverse, so that changes of coordinates round as sums of forms do, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np

from venmas.bounds.affine.forms import Form, Forms
from venmas.bounds.rounding import TINY, Floats, Ints, gamma
from venmas.checker.covers.polyhedron import MOST_DIRECTIONS, STEEPEST
from venmas.logic.linear import invert

_SKEW = 1e6
"""Greatest condition number of a change of coordinates."""
_LARGEST = 2.0**45
"""Coordinates beyond which floats are coarse beside a unit."""


@dataclass(frozen=True)
class Frame:
    """Coordinates of the variables `names`. rows: (n, n), of a coordinate each; columns: the inverse."""

    names: tuple[str, ...]
    rows: tuple[tuple[Fraction, ...], ...]
    columns: tuple[tuple[Fraction, ...], ...]

    def scaled(self, units: Sequence[Fraction]) -> Frame:
        """The same, in units of so many of the old ones along each axis."""
        rows = tuple(tuple(c / unit for c in row) for row, unit in zip(self.rows, units, strict=True))
        return Frame(self.names, rows, tuple(tuple(map(Fraction.__mul__, row, units)) for row in self.columns))

    def state(self, ring: Forms, low: Ints, high: Ints) -> dict[str, Form]:
        """Forms of the variables in boxes, (B, n) twice: one a row of the ring."""
        axes = [ring.symbol(low[:, i].astype(float), high[:, i].astype(float)) for i in range(len(self.names))]
        return {
            name: ring.combine([(c, axis) for c, axis in zip(row, axes, strict=True) if c])
            for name, row in zip(self.names, self.columns, strict=True)
        }

    def ends(self, ring: Forms, state: Mapping[str, Form]) -> tuple[Ints, Ints]:
        """Boxes around sets of states, (B, n) twice. Raises `OverflowError`."""
        made = [(np.floor(form.ends[0]), np.ceil(form.ends[1])) for form in self._axes(ring, state)]
        low, high = (np.stack(side, 1) for side in zip(*made, strict=True))
        if not (np.abs(low).max(initial=0) < _LARGEST and np.abs(high).max(initial=0) < _LARGEST):
            raise OverflowError("sets are too wide for any grid")
        return low.astype(np.int64), high.astype(np.int64)

    def turned(self, ring: Forms, state: Mapping[str, Form], directions: Ints) -> tuple[Ints, Ints]:
        """Ends of sets of states in directions of the coordinates, (m, n): (B, m) twice. Raises `OverflowError`."""
        forms = self._axes(ring, state)
        width, d = max(form.z.shape[1] for form in forms), directions.T.astype(float)
        e, mass = (np.stack([getattr(form, part) for form in forms], 1) @ np.abs(d) for part in ("e", "mass"))
        z = np.stack([form.wide(width - 1) for form in forms], 2) @ d  # (B, 1 + symbols, m)
        # each entry is a sum of n products, and the radius one of them: both are off by less than this part of the mass
        radius = np.abs(z[:, 1:]).sum(1) + e + gamma(2 * len(forms) + width) * mass + TINY
        radius += gamma(2) * (radius + np.abs(z[:, 0]))
        if not (mass.max(initial=0) < _LARGEST * STEEPEST):
            raise OverflowError("sets are too wide for any grid")
        return np.floor(z[:, 0] - radius).astype(np.int64), np.ceil(z[:, 0] + radius).astype(np.int64)

    def _axes(self, ring: Forms, state: Mapping[str, Form]) -> list[Form]:
        """Forms of the coordinates."""
        terms = ([(c, state[x]) for c, x in zip(row, self.names, strict=True) if c] for row in self.rows)
        return [ring.combine(part) for part in terms]

    def seen(self, states: Floats) -> Floats:
        """Coordinates of sampled states, (.., n)."""
        return np.asarray(states @ np.array([[float(c) for c in row] for row in self.rows]).T)


def frames(names: Sequence[str], runs: Floats) -> list[Frame]:
    """The frames that sampled runs (T, B, n) suggest."""
    n = len(names)
    spread = np.maximum(np.ptp(runs, axis=1).max(0), 1e-9)
    made = [_frame(names, np.diag(1 / spread))]
    late = runs[len(runs) // 2 :].reshape(-1, n) / spread
    with np.errstate(all="ignore"):
        values, vectors = np.linalg.eig(_fitted(runs / spread)[0][:n].T)
        modes = np.stack([v.imag if at.imag < 0 else v.real for at, v in zip(values, vectors.T, strict=True)], 1)
        for basis in (modes, np.linalg.eigh(np.cov(late.T).reshape(n, n))[1]):
            if n > 1 and np.isfinite(basis).all() and np.linalg.cond(basis) < _SKEW:
                made.append(_frame(names, np.linalg.inv(basis) / spread))
    return [frame for frame in made if frame is not None]


def widened(runs: Floats) -> Floats:
    """Width of what comes of one state in a step, as far as steps are not linear ones: part of what runs reach of each
    coordinate, (n,)."""
    rest = _fitted(runs / np.maximum(np.ptp(runs, axis=1).max(0), 1e-9))[1]
    return np.asarray(2 * rest.std(0))


def _fitted(runs: Floats) -> tuple[Floats, Floats]:
    """The linear step that is nearest to those of runs (T, B, n), (n + 1, n), and what is left of these, (R, n)."""
    before, after = (part.reshape(-1, runs.shape[2]) for part in (runs[:-1], runs[1:]))
    before = np.hstack([before, np.ones((len(before), 1))])
    fitted = np.linalg.lstsq(before, after, rcond=None)[0]
    return np.asarray(fitted), np.asarray(after - before @ fitted)


def directions(frame: Frame, others: Sequence[Frame], runs: Floats) -> Ints:
    """Directions in the coordinates of a frame, (m, n): those of all frames, and sums and differences of each two.

    As of octagons (Mine, 2006), in units of how wide late states of runs are.
    """
    n, late, made = len(frame.names), runs[len(runs) // 2 :].reshape(-1, len(frame.names)), []
    for other in others:
        rows = np.array([[float(c) for c in row] for row in other.rows])
        rows = rows / np.maximum(np.ptp(late @ rows.T, axis=0), 1e-9)[:, None]
        made += [*rows, *(rows[i] + sign * rows[j] for i, j in combinations(range(n), 2) for sign in (1, -1))]
    turned = np.array(made) @ np.array([[float(c) for c in row] for row in frame.columns])
    whole = np.rint(turned / np.abs(turned).max(1, keepdims=True) * STEEPEST).astype(np.int64)
    whole = whole[(whole != 0).sum(1) > 1]
    whole *= np.sign(whole[np.arange(len(whole)), np.argmax(whole != 0, 1)])[:, None]  # each way once
    return np.unique(whole, axis=0)[:MOST_DIRECTIONS]


def _frame(names: Sequence[str], rows: Floats) -> Frame | None:
    exact = [[Fraction(float(f"{c:.6g}")) for c in row] for row in rows.tolist()]
    columns = invert(exact)
    return None if columns is None else Frame(tuple(names), tuple(map(tuple, exact)), columns)
