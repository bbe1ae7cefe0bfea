"""Proofs by split trees: the programs of an initial set, and whether the leaves of a tree refute one of them."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Sequence
from itertools import islice
from time import monotonic
from typing import Any, ClassVar

import numpy as np

from venmas.budget import ask
from venmas.checker.affine.batch import Batch
from venmas.checker.affine.definition import Weights
from venmas.checker.affine.scaled import Bools, Ints, Scaled, ScaledProgram, UnscaledError, scaled
from venmas.checker.affine.tree import LEAF, MIXED, BrokenTreeError, leaves
from venmas.checker.format.numbers import CheckError
from venmas.checker.goals.lemmas import Book
from venmas.model.transform.unroll import unroll
from venmas.runtime.extras import compiled

_BATCH_VALUES = 1 << 21
"""Coefficients that a batch of leaves may have in a layer."""
_FIRST, _MOST = 8, 128
"""The first batch, which tells what a leaf takes, is one `_FIRST`th of others; most boxes of a batch."""
_COMPILED = "venmas.checker.affine.compiled"
_LOADING = 0.3
"""Seconds that loading compiled code takes, about: it is done once numpy has taken as long, or is about to."""
_THREADS = min(4, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


def program_of(book: Book, region: int, bits: int) -> ScaledProgram:
    """The program of an initial set in units of ``2**-bits``. Raises `UnscaledError` with the reason for none."""
    if book.semantics != "real":
        raise UnscaledError("networks are evaluated in float32")
    key = book.system.regions[region], book.formulas[0], bits
    # the last one of a system is asked for again by whoever takes over a proof, and has it checked
    last = book.system.once("program", dict[object, ScaledProgram])
    if key not in last:
        program = unroll(book.system, *key[:2])
        if isinstance(program, str):
            raise UnscaledError(program)
        last.clear()
        last[key] = scaled(program, bits)
    return last[key]


def digest(program: ScaledProgram) -> str:
    """Sha256 (hex) of all that the pass reads of a program."""
    total, made = hashlib.sha256(), dict[int, bytes]()
    total.update(repr((program.bits, program.low, program.high, program.formula)).encode())
    for layer in program.layers:
        if id(layer) not in made:
            made[id(layer)] = _digest(layer)
        total.update(made[id(layer)])
    for at, rows in program.rows.items():
        total.update(repr(at).encode() + _digest(rows))
    total.update(repr([(g.layer, g.first, g.strict) for g in program.groups]).encode())
    return total.hexdigest()


def _digest(layer: Scaled) -> bytes:
    made = hashlib.sha256(repr((layer.weight.shape, layer.shift)).encode())
    for numbers in (layer.weight, layer.bias):
        made.update(numbers.astype("<i8").tobytes())
    for truths in (layer.vague, layer.bias_vague, layer.relu):
        made.update(truths.astype(np.uint8).tobytes())
    return made.digest()


class Checking:
    """The pass over about `count` leaves of a program: by numpy, or by compiled code where loading that is worth it."""

    numpy_seconds: ClassVar[float] = 0.0
    """Time that numpy took so far, of all programs."""

    def __init__(self, program: ScaledProgram, count: int) -> None:
        self.program, self._left, self._done = program, count, 0
        self._numpy, self._spent = Batch(program), 0.0
        self._compiled: Any = None
        self.size = max(1, _batch_size(program) // _FIRST)
        """How many boxes are evaluated together."""

    def refuted(self, low: Ints, high: Ints, weights: Sequence[Weights]) -> Bools:
        """Mask of the boxes (B, inputs) of integers that are shown free."""
        each = self._spent / self._done if self._done else 0.0
        if self._compiled is None and (_COMPILED in sys.modules or self.numpy_seconds + each * self._left >= _LOADING):
            self._load()
        begun = monotonic()
        try:
            if self._compiled is None:
                free = self._numpy.check(low, high, weights, until=begun + _LOADING - self.numpy_seconds).refuted
            else:
                free = self._compiled.check(low, high, weights).refuted
        except TimeoutError:  # a batch alone takes as long: a program of many groups
            self._load()
            free = self._compiled.check(low, high, weights).refuted
        taken = monotonic() - begun
        self._spent += taken
        Checking.numpy_seconds += taken if self._compiled in (None, self._numpy) else 0.0
        self._done, self._left = self._done + len(low), max(0, self._left - len(low))
        self.size = _batch_size(self.program) * (1 if self._compiled in (None, self._numpy) else _THREADS)
        return np.asarray(free)

    def _load(self) -> None:
        fast = compiled(_COMPILED)
        self._compiled = fast.Compiled(self.program, _THREADS) if fast else self._numpy


def refute(line: int, program: ScaledProgram, splits: str, weights: str) -> int:
    """Check a tree, and return how many leaves it has. Raises `CheckError` where one of them does not close its box."""
    checking = Checking(program, splits.count(LEAF) + splits.count(MIXED))
    count, boxes = 0, leaves(program, splits, weights)
    try:
        while part := list(islice(boxes, checking.size)):
            ask()
            both = np.array([(leaf.low, leaf.high) for leaf in part], dtype=np.int64).reshape(len(part), 2, -1)
            refuted = checking.refuted(both[:, 0], both[:, 1], [leaf.weights for leaf in part])
            if not refuted.all():
                raise CheckError(line, f"the box of leaf {count + int(refuted.argmin())} is not shown to be free")
            count += len(part)
    except BrokenTreeError as error:
        raise CheckError(line, str(error)) from error
    return count


def _batch_size(program: ScaledProgram) -> int:
    widest = max((layer.out_size for layer in program.layers), default=1)
    units = sum(int(layer.relu.sum()) for layer in program.layers)
    return max(1, min(_MOST, _BATCH_VALUES // (widest * (1 + len(program.low) + units))))
