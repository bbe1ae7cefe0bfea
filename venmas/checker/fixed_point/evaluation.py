"""Evaluation over many cells of a frame, for tables: outcomes of choices, images under moves, truth of atoms."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil, floor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from venmas.budget import ask
from venmas.checker.exact.cell import Form, rational
from venmas.checker.exact.moves import Behaviour, Choice, Move, OpenChoiceError, Scores, behaviour, operands
from venmas.checker.fixed_point.lattice import Lattice
from venmas.checker.fixed_point.limbs import Ints
from venmas.checker.fixed_point.networks import Fixed, fixed, winners
from venmas.checker.format.numbers import CheckError
from venmas.logic.linear import Comparison
from venmas.model.system.system import System
from venmas.nn import Network

Bools = NDArray[np.bool_]
_AWAITED = 1 << 15
"""Cells that wait for networks to be asked, at most."""
_KEPT, _FEW = 1 << 13, 1 << 9
"""Entries of a memory, at most; of one whose entries may be large."""
Key = tuple[tuple[int, ...], tuple[tuple[int, int], ...]]
"""A kind of cells: their integers, and choices by number with the outcomes that may be possible, as bits."""


class Tabling:
    """The system, its choices, and the frames (matrix and inverse) that lines have given so far."""

    def __init__(self, system: System, choices: Sequence[Choice], frames: Sequence[tuple[Any, Any]]) -> None:
        self.system, self.choices, self.frames = system, choices, frames
        self.reals = [d for d in system.variables.values() if not d.integral]
        self.integers = [d for d in system.variables.values() if d.integral]
        self._operands: dict[tuple[tuple[int, ...], int], Scores | Form] = {}
        self._behaviours: dict[Key, Behaviour | Choice] = {}
        self._lattices: dict[object, Lattice] = {}
        self._linear: dict[object, list[Form]] = {}
        self._fixed: dict[tuple[int, tuple[int, ...]], Fixed] = {}

    def behaviour(self, key: Key) -> Behaviour:
        """Behaviour of cells of a kind. Raises `OpenChoiceError`, `NotAffineError`."""
        if key not in self._behaviours:
            _room(self._behaviours, _FEW)
            integers, outcomes = key
            chosen = [(self.choices[c], bits) for c, bits in outcomes]
            try:
                self._behaviours[key] = behaviour(self.system, integers, chosen)
            except OpenChoiceError as error:
                self._behaviours[key] = error.node
        known = self._behaviours[key]
        if not isinstance(known, Behaviour):
            raise OpenChoiceError(known)
        return known

    def operands(self, integers: tuple[int, ...], choice: int) -> Scores | Form:
        """Operands of a choice. Raises `NotAffineError`."""
        key = integers, choice
        if key not in self._operands:
            _room(self._operands, _FEW)
            self._operands[key] = operands(self.system, integers, self.choices[choice])
        return self._operands[key]

    def over(self, what: object, forms: Sequence[Form], frame: int) -> Lattice:
        """Forms of the real variables over the coordinates of a frame; `what` names them."""
        key = what, frame
        if key not in self._lattices:
            _room(self._lattices)
            matrix = self.frames[frame][0]
            self._lattices[key] = Lattice([_composed(form, matrix) for form in forms], len(self.reals))
        return self._lattices[key]

    def bits(self, integers: tuple[int, ...], choice: int, frame: int, low: Ints, high: Ints) -> Ints | Asked:
        """The outcomes of a choice that are possible in cells, as bits (B,); or what a network has to be asked."""
        operands = self.operands(integers, choice)
        if isinstance(operands, tuple):
            least, greatest = self.over(("choice", integers, choice), [operands], frame).ends(low, high)
            node: Any = self.choices[choice]
            fails = node.relation.negated.certain(least[:, 0], greatest[:, 0])
            holds = node.relation.certain(least[:, 0], greatest[:, 0])
            return np.where(holds, 2, np.where(fails, 1, 3))
        if operands.network is None:
            pairs = [(a, b) for i, a in enumerate(operands.forms) for b in operands.forms[i + 1 :]]
            gaps = [tuple(p - q for p, q in zip(a, b, strict=True)) for a, b in pairs]
            ends = self.over(("choice", integers, choice), gaps, frame).ends(low, high)
            return winners(*ends, len(operands.forms))
        z, e = self.over(("choice", integers, choice), operands.forms, frame).fixed(low, high)
        return Asked(operands.network, operands.outputs, z, e)

    def asked(self, parts: Sequence[Asked]) -> list[Ints]:
        """Answers of networks: the possible winners of each part, as bits (B,)."""
        groups: dict[tuple[int, tuple[int, ...]], list[int]] = {}
        for i, part in enumerate(parts):
            groups.setdefault((id(part.network), part.outputs), []).append(i)
        winners: dict[int, Ints] = {}
        for key, members in groups.items():
            if key not in self._fixed:
                self._fixed[key] = fixed(parts[members[0]].network, key[1])
            z, e = (np.concatenate(column) for column in zip(*((parts[i].z, parts[i].e) for i in members), strict=True))
            ends = np.cumsum([len(parts[i].e) for i in members])
            winners.update(zip(members, np.split(self._fixed[key].winners(z, e), ends[:-1]), strict=True))
        return [winners[i] for i in range(len(parts))]

    def image(self, move: Move, frame: int, to: int) -> Lattice:
        """The coordinates, in frame `to`, of what a move makes of the states of cells of a frame."""
        key = "image", move, frame, to
        if key not in self._lattices:
            _room(self._lattices)
            _room(self._linear)
            inverse = self.frames[to][1]
            linear = tuple(form[1:] for form in move.forms)
            turned = "linear", linear, frame, to
            if turned not in self._linear:
                matrix = self.frames[frame][0]
                moved = [_composed((rational(0), *row), matrix)[1:] for row in linear]
                self._linear[turned] = [_composed((rational(0), *row), moved)[1:] for row in inverse]
            constants = [form[0] for form in move.forms]
            forms = [
                (sum((c * b for c, b in zip(row, constants, strict=True) if c and b), rational(0)), *rest)
                for row, rest in zip(inverse, self._linear[turned], strict=True)
            ]
            self._lattices[key] = Lattice(forms, len(self.reals))
        return self._lattices[key]

    def inside(self, move: Move, frame: int, low: Ints, high: Ints) -> Bools:
        """In which cells a move keeps what it sets in the declared ranges, (B,)."""
        for decl, value in zip(self.integers, move.integers, strict=True):
            if decl.name in move.sets and not decl.lower <= value <= decl.upper:
                return np.zeros(len(low), dtype=bool)
        return self._within(self.over(("reals", move), move.forms, frame), move.sets, low, high)

    def declared(self, integers: Sequence[tuple[int, ...]], frame: int, where: Ints, low: Ints, high: Ints) -> Bools:
        """Mask of the boxes of a frame, integers in places `where`, that lie in the declared ranges, (B,)."""
        one, zero = rational(1), rational(0)
        size = len(self.reals)
        forms = [(zero, *(one if i == j else zero for j in range(size))) for i in range(size)]
        reals = self._within(self.over("reals", forms, frame), frozenset(d.name for d in self.reals), low, high)
        inside = [
            all(d.lower <= v <= d.upper for d, v in zip(self.integers, vector, strict=True)) for vector in integers
        ]
        return np.asarray(reals & np.array(inside, dtype=bool)[where], dtype=bool)

    def _within(self, over: Lattice, names: frozenset[str], low: Ints, high: Ints) -> Bools:
        """Mask of boxes over which the forms of some real variables keep to their declared ranges, (B,)."""
        least, greatest = over.ends(low, high)
        inside = np.ones(len(low), dtype=bool)
        for i, decl in enumerate(self.reals):
            if decl.name in names:
                scale = int(over.scale[i])
                inside &= np.asarray(least[:, i] >= ceil(decl.lower * scale), dtype=bool)
                inside &= np.asarray(greatest[:, i] <= floor(decl.upper * scale), dtype=bool)
        return inside

    def never(self, comparison: Comparison, integers: tuple[int, ...], frame: int, low: Ints, high: Ints) -> Bools:
        """In which cells no state meets a comparison of variables, (B,)."""
        values = dict(zip((d.name for d in self.integers), integers, strict=True))
        places = {d.name: i for i, d in enumerate(self.reals, 1)}
        form = [rational(comparison.expr.constant)] + [rational(0)] * len(self.reals)
        for name, c in comparison.expr.terms:
            if name in values:
                form[0] += rational(Fraction(c) * values[name])
            else:
                form[places[name]] += rational(c)
        least, greatest = self.over(("atom", comparison, integers), [tuple(form)], frame).ends(low, high)
        return comparison.relation.negated.certain(least[:, 0], greatest[:, 0])


class Asked:
    """Query for winners among outputs of a network over cells, given by forms of its inputs: z (B, g, k), e (B, k)."""

    def __init__(self, network: Network, outputs: tuple[int, ...], z: Ints, e: Ints) -> None:
        self.network, self.outputs, self.z, self.e = network, outputs, z, e


class Awaited:
    """Outcomes that tables claim of cells and that networks have to be asked for, until there are many."""

    def __init__(self, tabling: Tabling) -> None:
        self._tabling = tabling
        self._parts: list[tuple[int, Asked, int]] = []
        self._size = 0

    def add(self, line: int, asked: Asked, bits: int) -> None:
        """No outcome but these is possible."""
        self._parts.append((line, asked, bits))
        self._size += len(asked.e)
        if self._size > _AWAITED:
            self.settle()

    def settle(self) -> None:
        """Ask for all that is awaited. Raises `CheckError` where something else is possible."""
        parts, self._parts, self._size = self._parts, [], 0
        if not parts:
            return
        try:
            answers = self._tabling.asked([query for _, query, _ in parts])
        except OverflowError as error:
            raise CheckError(parts[0][0], str(error)) from error
        for (line, _, bits), answer in zip(parts, answers, strict=True):
            if (answer & ~np.int64(bits)).any():
                raise CheckError(line, "an outcome that the table leaves out is possible in a cell")


def _room(memory: dict[Any, Any], most: int = _KEPT) -> None:
    """Forget what a memory holds when it is full: whoever writes lines chooses how much there is to remember."""
    if len(memory) >= most:
        memory.clear()


def _composed(form: Form, matrix: Sequence[Form]) -> Form:
    """A form of x as one of y, where x = matrix y."""
    ask()
    total = [rational(0)] * len(matrix)
    for c, row in zip(form[1:], matrix, strict=True):
        if c:
            total = [a + c * b if b else a for a, b in zip(total, row, strict=True)]
    return (form[0], *total)
