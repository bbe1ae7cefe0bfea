"""A map as a value: a binary tree of cuts through the box of the initial states, whose leaves have a status.

Every cut is at a number that a double holds exactly (integers between two of them), so that whoever compares a state
in double precision takes the same way through the tree as exact arithmetic does. A state on a face belongs to the cells
of both sides; the way through the tree leads to the lower one, and what is said of either is true of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import floor
from typing import Any, Literal, TypeAlias

from venmas._version import __version__
from venmas.model.canonical.writer import canonical_text

Status: TypeAlias = Literal["proved", "violated", "open"]
STATUSES: tuple[Status, ...] = ("proved", "violated", "open")
FORMAT, VERSION = "venmas-map", 1
MAX_AXES, MAX_CELLS, MAX_ROUNDS, MAX_DEPTH = 100, 1 << 20, 60, 240
"""Most variables (functions of C may have 127 parameters), cells, rounds, each with twice the time of the last, and
cuts above a cell, as names of files are of its place."""

Side: TypeAlias = tuple[Fraction, Fraction]
Sides: TypeAlias = tuple[Side, ...]
"""A closed box: an interval by axis."""
Point: TypeAlias = tuple[Fraction, ...]
"""A state: a number by axis."""

_FINE = 8
"""Cuts lie within a sixteenth of a side from its middle: the shortest binary number there."""


@dataclass(frozen=True)
class Axis:
    """A variable of the state, and its closed interval in the initial states; a single value where the ends agree."""

    name: str
    low: Fraction
    high: Fraction
    integral: bool = False
    unit: str = ""

    @property
    def wide(self) -> bool:
        """Has it more than one initial value?"""
        return self.low < self.high


@dataclass(eq=False)
class Cell:
    """A part of the box: a leaf, or one that was cut.

    status: of every state of a leaf, unless it is open. by, basis: the procedure that decided, and what its proof rests
    on. certificate: sha256 of that of a decided leaf, where one was written. seconds: the largest share of time in
    which it stayed open. holds, breaks: a state of it that satisfies the formula, and one that violates it, where they
    are known. cut: axis and place, with the two parts: values up to the place, and those from it on (of integers: from
    the next one on).
    """

    status: Status = "open"
    by: str = ""
    basis: str = ""
    certificate: str = ""
    seconds: float = 0.0
    holds: Point | None = None
    breaks: Point | None = None
    cut: tuple[int, Fraction, Cell, Cell] | None = None

    @property
    def mixed(self) -> bool:
        """Does it have states of both kinds?"""
        return self.holds is not None and self.breaks is not None


@dataclass(eq=False)
class StateMap:
    """The initial states of a system by what a formula says of them.

    axes: all variables of the state. question: digest of system and formula. code: of the VenMAS that decided.
    rounds: passes over the open cells that are over. questions: that were put to `venmas.verify`. reason: the limit
    that was met, empty for none (`venmas.errors.Reason`). note: why nothing can be proved violated; empty where it can.
    """

    scenario: str
    formula: str
    question: str
    code: str
    axes: tuple[Axis, ...]
    root: Cell = field(default_factory=Cell)
    parameters: Mapping[str, str] = field(default_factory=dict)
    venmas: str = __version__
    rounds: int = 0
    questions: int = 0
    seconds: float = 0.0
    reason: str = ""
    message: str = ""
    note: str = ""

    @property
    def box(self) -> Sides:
        """The whole box."""
        return tuple((axis.low, axis.high) for axis in self.axes)

    def leaves(self) -> Iterator[tuple[Cell, Sides]]:
        """The cells that were not cut, with their boxes, lower parts first."""
        return ((cell, box) for cell, box, _ in self.walk() if cell.cut is None)

    def walk(self) -> Iterator[tuple[Cell, Sides, tuple[int, ...]]]:
        """All cells with their boxes and their places in the tree (0 lower, 1 upper), each before its parts."""
        stack: list[tuple[Cell, Sides, tuple[int, ...]]] = [(self.root, self.box, ())]
        while stack:
            cell, box, place = stack.pop()
            yield cell, box, place
            if cell.cut is not None:
                axis, where, low, high = cell.cut
                lower, upper = halves(box, axis, where, self.axes[axis].integral)
                stack += [(high, upper, (*place, 1)), (low, lower, (*place, 0))]

    def cell_at(self, state: Mapping[str, Fraction | float]) -> Cell | None:
        """The leaf that a state is in, exactly; None where it is no initial state. Raises `KeyError`."""
        values = [state[axis.name] for axis in self.axes]
        for axis, value in zip(self.axes, values, strict=True):
            if not axis.low <= value <= axis.high or (axis.integral and value != floor(value)):
                return None
        cell = self.root
        while cell.cut is not None:
            axis_index, where, low, high = cell.cut
            cell = low if values[axis_index] <= where else high
        return cell

    def status(self, state: Mapping[str, Fraction | float]) -> Status:
        """What is known of a state; of one that is not initial nothing is."""
        cell = self.cell_at(state)
        return "open" if cell is None else cell.status

    def shares(self) -> dict[Status, Fraction]:
        """Parts of the volume by status, exactly: lengths of reals, numbers of integers. They add up to 1."""
        parts: dict[Status, Fraction] = dict.fromkeys(STATUSES, Fraction(0))
        for cell, box in self.leaves():
            parts[cell.status] += volume(self.axes, box)
        return parts

    def counts(self) -> dict[Status, int]:
        """Numbers of cells by status."""
        parts = dict.fromkeys(STATUSES, 0)
        for cell, _ in self.leaves():
            parts[cell.status] += 1
        return parts

    def certified(self) -> tuple[int, int, Fraction]:
        """Numbers of decided cells and of those that have a certificate, and the part of the volume of the latter."""
        decided = [(cell, box) for cell, box in self.leaves() if cell.status != "open"]
        proofs = [box for cell, box in decided if cell.certificate]
        return len(decided), len(proofs), sum((volume(self.axes, box) for box in proofs), Fraction(0))

    @property
    def complete(self) -> bool:
        """Is nothing open?"""
        return all(cell.status != "open" for cell, _ in self.leaves())

    def to_json(self) -> dict[str, Any]:
        """An object as docs/map.schema.json has it."""
        data: dict[str, Any] = {
            "format": FORMAT,
            "version": VERSION,
            "venmas": self.venmas,
            "code": self.code,
            "scenario": self.scenario,
            "parameters": dict(self.parameters),
            "formula": self.formula,
            "question": self.question,
            "axes": [
                {"name": a.name, "low": str(a.low), "high": str(a.high), "integer": a.integral, "unit": a.unit}
                for a in self.axes
            ],
            "cells": [self._row(cell, box) for cell, box, _ in self.walk()],
            "rounds": self.rounds,
            "questions": self.questions,
            "seconds": round(self.seconds, 6),
            "reason": self.reason,
            "message": self.message,
            "note": self.note,
        }
        return {**data, "digest": digest_of(data)}

    def _row(self, cell: Cell, box: Sides) -> dict[str, Any]:
        if cell.cut is not None:
            return {"axis": cell.cut[0], "cut": str(cell.cut[1])}
        row: dict[str, Any] = {"status": cell.status, "box": [[str(low), str(high)] for low, high in box]}
        if cell.status != "open":
            proof = {"certificate": cell.certificate} if cell.certificate else {}
            return row | {"by": cell.by, "basis": cell.basis} | proof
        points = {"holds": cell.holds, "breaks": cell.breaks}
        known = {name: [str(v) for v in point] for name, point in points.items() if point is not None}
        return row | {"seconds": cell.seconds} | known


def digest_of(data: Mapping[str, object]) -> str:
    """Sha256 (hex) of a stored map without its own digest."""
    return hashlib.sha256(canonical_text({k: v for k, v in data.items() if k != "digest"}).encode()).hexdigest()


def halves(box: Sides, axis: int, where: Fraction, integral: bool) -> tuple[Sides, Sides]:
    """The two parts of a box."""
    low, high = box[axis]
    first, rest = box[:axis], box[axis + 1 :]
    return (*first, (low, where), *rest), (*first, (where + 1 if integral else where, high), *rest)


def cut_of(side: Side, integral: bool) -> Fraction | None:
    """A number near the middle of a side that a double holds exactly; None where there is none inside."""
    low, high = side
    middle = (low + high) / 2
    if integral:
        where = Fraction(floor(middle))
    else:
        unit = Fraction(1)
        while unit * _FINE > high - low > 0:
            unit /= 2
        while unit * 2 * _FINE <= high - low:
            unit *= 2
        where = round(middle / unit) * unit
    inside = low <= where < high if integral else low < where < high
    return where if inside and is_double(where) else None


def is_double(value: Fraction) -> bool:
    """Does a double hold it exactly?"""
    try:
        return Fraction(float(value)) == value
    except OverflowError:
        return False


def volume(axes: Sequence[Axis], box: Sides) -> Fraction:
    """Part of the volume of the whole box."""
    part = Fraction(1)
    for axis, (low, high) in zip(axes, box, strict=True):
        if axis.wide:
            more = 1 if axis.integral else 0
            part *= (high - low + more) / (axis.high - axis.low + more)
    return part


def certificate_name(place: Sequence[int]) -> str:
    """File of the certificate of a leaf, by its place in the tree."""
    return f"{''.join(map(str, place)) or 'whole'}.gz"


def holds_in(box: Sides, point: Point) -> bool:
    """Is a state in a closed box?"""
    return all(low <= value <= high for (low, high), value in zip(box, point, strict=True))
