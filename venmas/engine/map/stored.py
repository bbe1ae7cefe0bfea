"""Maps in files: read strictly, so that nothing is taken for a map that `StateMap.to_json` has not written.

The digest of a file tells a damaged or edited one. It is no signature: whoever writes a map anew can write its digest,
so that a map from a stranger is a claim, which `venmas verify` checks box by box.
"""

from __future__ import annotations

import json
import re
from fractions import Fraction
from typing import Any, NoReturn

from venmas.engine.map.tree import (
    FORMAT,
    MAX_AXES,
    MAX_CELLS,
    MAX_DEPTH,
    MAX_ROUNDS,
    STATUSES,
    VERSION,
    Axis,
    Cell,
    Point,
    Sides,
    StateMap,
    digest_of,
    halves,
    holds_in,
    is_double,
)
from venmas.errors import StoreError

MAX_BYTES = 1 << 29
_LONG, _LATEST = 100, 1e30
"""Characters of the name of a procedure; seconds, which double from round to round."""
_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,399})(/[1-9][0-9]{0,399})?")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_BASES = ("bounds", "exact", "solver")
_REASONS = ("", "open", "time", "memory", "failure", "interrupted")
_FIELDS = {
    "format": str,
    "version": int,
    "venmas": str,
    "code": str,
    "scenario": str,
    "parameters": dict,
    "formula": str,
    "question": str,
    "axes": list,
    "cells": list,
    "rounds": int,
    "questions": int,
    "seconds": (int, float),
    "reason": str,
    "message": str,
    "note": str,
    "digest": str,
}


def read_map(data: bytes, name: str) -> StateMap:
    """The map of a file of this name. Raises `StoreError`."""
    return _Reader(name).read(data)


class _Reader:
    def __init__(self, name: str) -> None:
        self.name = name[:200]

    def refuse(self, problem: str) -> NoReturn:
        raise StoreError(f"{self.name!r} is no map as `venmas map` writes it: {problem}; make it anew, or name another")

    def read(self, data: bytes) -> StateMap:
        if len(data) > MAX_BYTES:
            self.refuse(f"it has more than {MAX_BYTES} bytes")
        try:
            form = json.loads(data, object_pairs_hook=self._object, parse_constant=self._constant)
        except (ValueError, RecursionError) as error:
            self.refuse(f"it is no JSON ({error})")
        if not isinstance(form, dict) or form.get("format") != FORMAT:
            self.refuse(f'its field "format" is not "{FORMAT}"')
        if form.get("version") != VERSION or isinstance(form.get("version"), bool):
            self.refuse(f"its version is {str(form.get('version'))[:20]!r}, and {VERSION} is read")
        self._fields(form, _FIELDS, "the file")
        for field in ("code", "question", "digest"):
            if not _DIGEST.fullmatch(form[field]):
                self.refuse(f"{field} is no sha256")
        if form["digest"] != digest_of(form):
            self.refuse("its digest is that of another content: it was edited or damaged")
        if not all(isinstance(value, str) for value in form["parameters"].values()):
            self.refuse("parameters are not texts")
        counts = form["rounds"], form["questions"]
        if min(counts) < 0 or form["rounds"] > MAX_ROUNDS or form["reason"] not in _REASONS:
            self.refuse("rounds, questions or reason are out of range")
        axes = self._axes(form["axes"])
        made = StateMap(form["scenario"], form["formula"], form["question"], form["code"], axes)
        made.parameters, made.venmas = form["parameters"], form["venmas"]
        made.rounds, made.questions, made.seconds = form["rounds"], form["questions"], self._seconds(form["seconds"])
        made.reason, made.message, made.note = form["reason"], form["message"], form["note"]
        self._cells(made, form["cells"])
        return made

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) != len(pairs):
            self.refuse("an object has a field twice")
        return made

    def _constant(self, text: str) -> NoReturn:
        self.refuse(f"{text} is no number")

    def _fields(self, row: object, fields: dict[str, Any], where: str) -> None:
        if not isinstance(row, dict) or row.keys() != fields.keys():
            self.refuse(f"{where} has not the fields {', '.join(fields)}")
        for field, kind in fields.items():
            if not isinstance(row[field], kind) or (kind is not bool and isinstance(row[field], bool)):
                self.refuse(f"{where}: {field} is of another type")

    def _number(self, text: object) -> Fraction:
        if not isinstance(text, str) or not _NUMBER.fullmatch(text):
            self.refuse(f"{str(text)[:40]!r} is no rational number as p or p/q")
        value = Fraction(text)
        if str(value) != text:
            self.refuse(f"{text[:40]!r} is not in lowest terms")
        return value

    def _seconds(self, value: float) -> float:
        """A number of a file, which may be an integer that no float holds."""
        if not 0 <= value <= _LATEST:
            self.refuse(f"seconds are a number from 0 to {_LATEST:g}")
        return float(value)

    def _axes(self, rows: list[Any]) -> tuple[Axis, ...]:
        if not 0 < len(rows) <= MAX_AXES:
            self.refuse(f"it has {len(rows)} axes")
        axes: list[Axis] = []
        for row in rows:
            self._fields(row, {"name": str, "low": str, "high": str, "integer": bool, "unit": str}, "an axis")
            axis = Axis(row["name"], self._number(row["low"]), self._number(row["high"]), row["integer"], row["unit"])
            whole = axis.low.denominator == axis.high.denominator == 1
            if axis.low > axis.high or (axis.integral and not whole):
                self.refuse(f"axis {axis.name[:40]!r} has no interval")
            axes.append(axis)
        if len({axis.name for axis in axes}) < len(axes):
            self.refuse("two axes have the same name")
        return tuple(axes)

    def _cells(self, made: StateMap, rows: list[Any]) -> None:
        """The tree from its cells, each before its parts, lower ones first."""
        if len(rows) > MAX_CELLS:
            self.refuse(f"it has more than {MAX_CELLS} cells")
        stack: list[tuple[Cell, Sides, int]] = [(made.root, made.box, 0)]
        for row in rows:
            if not stack:
                self.refuse("it has more cells than cuts make")
            cell, box, depth = stack.pop()
            if isinstance(row, dict) and "cut" in row:
                self._fields(row, {"axis": int, "cut": str}, "a cell that is cut")
                if depth == MAX_DEPTH:
                    self.refuse(f"it has more than {MAX_DEPTH} cuts above each other")
                cell.cut = self._cut(made, row, box)
                axis, where, low, high = cell.cut
                lower, upper = halves(box, axis, where, made.axes[axis].integral)
                stack += [(high, upper, depth + 1), (low, lower, depth + 1)]
            else:
                self._leaf(row, cell, box)
        if stack:
            self.refuse("cells are missing")

    def _cut(self, made: StateMap, row: dict[str, Any], box: Sides) -> tuple[int, Fraction, Cell, Cell]:
        axis, where = row["axis"], self._number(row["cut"])
        if not 0 <= axis < len(box):
            self.refuse("a cut names no axis")
        (low, high), integral = box[axis], made.axes[axis].integral
        inside = low <= where < high if integral else low < where < high
        if not inside or not is_double(where) or (integral and where.denominator != 1):
            self.refuse(f"a cut at {str(where)[:40]} is not inside its box, or no double holds it")
        return axis, where, Cell(), Cell()

    def _leaf(self, row: Any, cell: Cell, box: Sides) -> None:
        if not isinstance(row, dict) or row.get("status") not in STATUSES:
            self.refuse("a cell has neither a cut nor a status")
        cell.status = row["status"]
        if cell.status != "open":
            proof = {"certificate": str} if "certificate" in row else {}
            self._fields(row, {"status": str, "box": list, "by": str, "basis": str, **proof}, "a decided cell")
            cell.by, cell.basis, cell.certificate = row["by"], row["basis"], row.get("certificate", "")
            if proof and not _DIGEST.fullmatch(cell.certificate):
                self.refuse("certificate is no sha256")
            if not cell.by.isprintable() or len(cell.by) > _LONG:
                self.refuse("a cell is decided by what is no name")
            if cell.basis not in _BASES:
                self.refuse(f"a cell rests on {cell.basis[:40]!r}")
        else:
            points = {name: list for name in ("holds", "breaks") if name in row}
            self._fields(row, {"status": str, "box": list, "seconds": (int, float), **points}, "an open cell")
            cell.seconds = self._seconds(row["seconds"])
            cell.holds = self._point(row["holds"], box) if "holds" in row else None
            cell.breaks = self._point(row["breaks"], box) if "breaks" in row else None
        if row["box"] != [[str(low), str(high)] for low, high in box]:
            self.refuse("the box of a cell is not what the cuts make")

    def _point(self, row: object, box: Sides) -> Point:
        if not isinstance(row, list) or len(row) != len(box):
            self.refuse("a state has not a number for each axis")
        point = tuple(map(self._number, row))
        if not holds_in(box, point):
            self.refuse("a state lies outside of its cell")
        return point
