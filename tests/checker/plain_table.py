"""The rule `table` of docs/certificates.md cell by cell, in Python's integers and rationals: slow and plain.

Whatever table `venmas.checker` accepts has to be accepted here, and the other way round. Moves are those of
`venmas.checker.exact.moves`, which tests/checker/test_moves.py compares with the simulator.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor
from typing import Any

from tests.checker import plain_fixed
from venmas.checker.exact.cell import fraction
from venmas.checker.exact.moves import Move, Scores, behaviour, operands
from venmas.checker.goals.lemmas import Book
from venmas.logic import AX, EX, And, Atom, Bottom, Formula, Or, Top
from venmas.logic.linear import Relation
from venmas.model.expressions.expr import Compare

Box = tuple[list[int], list[int]]


@dataclass(frozen=True)
class Row:
    integers: tuple[int, ...]
    low: list[int]
    high: list[int]
    says: frozenset[Formula]


def over(form: Sequence[Any], matrix: Sequence[Sequence[Any]]) -> list[Fraction]:
    """A form of x as one of y, x = matrix y."""
    rows = [[fraction(c) for c in row] for row in matrix]
    columns = range(len(rows))
    return [fraction(form[0])] + [
        sum(fraction(c) * row[j] for c, row in zip(form[1:], rows, strict=True)) for j in columns
    ]


def ends(form: Sequence[Fraction], box: Box) -> tuple[Fraction, Fraction]:
    """Least and greatest value over a box."""
    pairs = [sorted((w * a, w * b)) for w, a, b in zip(form[1:], *box, strict=True)]
    return form[0] + sum(p[0] for p in pairs), form[0] + sum(p[1] for p in pairs)


class PlainTable:
    """One table over what a book knows; rows: of earlier tables and lemmas, by line."""

    def __init__(self, book: Book, data: dict[str, Any], rows: dict[int, tuple[int, list[Row]]], inside: bool) -> None:
        self.book, self.data, self.inside = book, data, inside
        self.matrix = book.frames[data["frame"]][0]
        self.formulas = [book.formulas[f] for f in data["formulas"]]
        count, n = len(data["where"]), len(book.reals)
        low = [[data["low"][i][r] for i in range(n)] for r in range(count)]
        high = [[a + data["side"][i][r] for i, a in enumerate(low[r])] for r in range(count)]
        self.rows = [
            Row(tuple(data["integers"][data["where"][r]]), low[r], high[r],
                frozenset(f for i, f in enumerate(self.formulas) if data["says"][r] >> i & 1))
            for r in range(count)
        ]  # fmt: skip
        self.targets = [row for line in data["to"] for row in rows[line][1]]
        frames = {rows[line][0] for line in data["to"]}
        assert len(frames) <= 1
        self.inverse = book.frames[frames.pop()][1] if frames else None

    def accepted(self) -> bool:
        """Does it show what its rows say?"""
        boxes = [(r, (row.low, row.high)) for r, row in enumerate(self.rows)]
        cells = []
        for level in self.data["splits"]:
            after = []
            if len(level) != len(boxes):
                return False
            for code, (r, (low, high)) in zip(level, boxes, strict=True):
                if code == 0:
                    cells.append((r, (low, high)))
                    continue
                middle = floor(Fraction(low[code - 1] + high[code - 1], 2))
                after.append((r, (low, [middle if i == code - 1 else v for i, v in enumerate(high)])))
                after.append((r, ([middle if i == code - 1 else v for i, v in enumerate(low)], high)))
            boxes = after
        if boxes or len(cells) != len(self.data["kind"]):
            return False
        seen = [0] * len(self.data["kinds"])
        for (r, box), kind in zip(cells, self.data["kind"], strict=True):
            steps: dict[Formula, bool] = {}
            if kind:
                found = self._steps(self.rows[r], box, kind - 1, seen[kind - 1])
                seen[kind - 1] += 1
                if found is None:
                    return False
                steps = found
            if not all(self._fails(f, self.rows[r].integers, box, steps) for f in self.rows[r].says):
                return False
        return True

    def _steps(self, row: Row, box: Box, kind: int, place: int) -> dict[Formula, bool] | None:
        where, choices = self.data["kinds"][kind]
        integers = tuple(self.data["integers"][where])
        if integers != row.integers:
            return None
        for choice, bits in choices:
            if self._possible(integers, choice, box) & ~bits:
                return None
        made = behaviour(self.book.system, integers, [(self.book.choices[c], bits) for c, bits in choices])
        if not self.inside and not all(self._stays(move, box) for move in made.moves):
            return None
        found: dict[Formula, bool] = {}
        for number, rows, covers in self.data["ahead"]:
            f = self.book.formulas[number]
            lead = [
                self._leads(f, move, box, rows[kind][m][place], covers) for m, move in enumerate(made.moves)
            ] if self.inverse else [False] * len(made.moves)  # fmt: skip
            found[EX(f)] = all(lead)
            found[AX(f)] = all(any(lead[m] for m in case) for case in made.cases)
        return found

    def _possible(self, integers: tuple[int, ...], choice: int, box: Box) -> int:
        node = self.book.choices[choice]
        told = operands(self.book.system, integers, node)
        if isinstance(node, Compare):
            least, greatest = ends(over(told, self.matrix), box)
            return 1 * may(node.relation.negated, least, greatest) + 2 * may(node.relation, least, greatest)
        assert isinstance(told, Scores)
        forms = [over(f, self.matrix) for f in told.forms]
        if told.network is not None:
            return plain_fixed.winners(told.network, told.outputs, plain_fixed.inputs(forms, *box))
        bits = 0
        for i, a in enumerate(forms):
            gaps = [
                (j, ends([p - q for p, q in zip(a, b, strict=True)], box)[1]) for j, b in enumerate(forms) if j != i
            ]
            bits |= all(most > 0 or (most == 0 and i < j) for j, most in gaps) << i
        return bits

    def _stays(self, move: Move, box: Box) -> bool:
        integers, reals = iter(move.integers), iter(move.forms)
        for name, decl in self.book.system.variables.items():
            if decl.integral:
                least = greatest = Fraction(next(integers))
            else:
                least, greatest = ends(over(next(reals), self.matrix), box)
            if name in move.sets and not decl.lower <= least <= greatest <= decl.upper:
                return False
        return True

    def _leads(self, f: Formula, move: Move, box: Box, entry: int, covers: list[list[int]]) -> bool:
        assert self.inverse is not None
        image = []
        after = [over(form, self.matrix) for form in move.forms]
        for row in self.inverse:
            form = [sum(fraction(c) * a[k] for c, a in zip(row, after, strict=True)) for k in range(len(after) + 1)]
            least, greatest = ends(form, box)
            image.append((floor(least), ceil(greatest)))
        named = [] if entry == -1 else [entry] if entry >= 0 else covers[-2 - entry]
        held = [t for t in (self.targets[n] for n in named) if t.integers == move.integers and f in t.says]
        return covered(image, held)

    def _fails(self, f: Formula, integers: tuple[int, ...], box: Box, steps: dict[Formula, bool]) -> bool:
        match f:
            case Top():
                return False
            case Bottom():
                return True
            case And(parts):
                return any(self._fails(o, integers, box, steps) for o in parts)
            case Or(parts):
                return all(self._fails(o, integers, box, steps) for o in parts)
            case EX() | AX():
                return steps.get(f, False)
            case Atom(comparison):
                values = dict(zip(self.book.integers, integers, strict=True))
                constant = comparison.expr.constant
                form = {n: Fraction(0) for n in self.book.reals}
                for name, c in comparison.expr.terms:
                    if name in values:
                        constant += c * values[name]
                    else:
                        form[name] += c
                return not may(comparison.relation, *ends(over([constant, *form.values()], self.matrix), box))
        raise TypeError(f)


def may(relation: Relation, least: Fraction, greatest: Fraction) -> bool:
    """Does some x from least to greatest have ``x relation 0``?"""
    return any(relation.holds(x) for x in (least, greatest, *([Fraction(0)] if least < 0 < greatest else [])))


def covered(image: list[tuple[int, int]], held: list[Row]) -> bool:
    """Is the box within the union of rows? By all the boxes that their ends cut it into, one after the other."""
    places = []
    for i, (a, b) in enumerate(image):
        ends_ = sorted({a, b, *(v for row in held for v in (row.low[i], row.high[i]) if a < v < b)})
        places.append(list(pairwise(ends_)) or [(a, a)])
    pieces: list[list[tuple[int, int]]] = [[]]
    for parts in places:
        pieces = [[*p, part] for p in pieces for part in parts]
    return all(
        any(all(r <= a and b <= s for (a, b), r, s in zip(piece, row.low, row.high, strict=True)) for row in held)
        for piece in pieces
    )
