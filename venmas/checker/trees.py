"""Proofs by split trees: the programs of an initial set, and whether the leaves of a tree refute one of them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from itertools import islice
from time import monotonic

import numpy as np

from venmas.budget import ask
from venmas.checker.affine.batch import Batch
from venmas.checker.affine.reference import Weights
from venmas.checker.affine.scaled import Bools, Ints, Scaled, ScaledProgram, UnscaledError, scaled
from venmas.checker.affine.tree import BrokenTreeError, leaves
from venmas.checker.lemmas import Book
from venmas.checker.numbers import CheckError
from venmas.extras import compiled
from venmas.model.unroll import unroll

_BATCH_VALUES = 1 << 21
"""Coefficients that a batch of leaves may have in a layer."""
_MOST = 128
_NUMPY_SECONDS = 1.0
_THREADS = min(4, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


def program_of(book: Book, region: int, bits: int) -> ScaledProgram:
    """The program of an initial set in units of ``2**-bits``. Raises `UnscaledError` with the reason for none."""
    if book.semantics != "real":
        raise UnscaledError("networks are evaluated in float32")
    found = unroll(book.system, book.system.regions[region], book.formulas[0])
    if isinstance(found, str):
        raise UnscaledError(found)
    return scaled(found, bits)


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
    """The pass over many leaves of one program: by numpy at first, by compiled code once that is worth its loading."""

    def __init__(self, program: ScaledProgram) -> None:
        self.program = program
        self._numpy, self._compiled, self._spent = Batch(program), None, 0.0
        self.size = _batch_size(program)
        """How many boxes are evaluated together."""

    def refuted(self, low: Ints, high: Ints, weights: Sequence[Weights]) -> Bools:
        """Which boxes (B, inputs) of integers are shown free."""
        if self._compiled is None and self._spent > _NUMPY_SECONDS:
            fast = compiled("venmas.checker.affine.compiled")
            self._compiled = fast.Compiled(self.program, _THREADS) if fast else self._numpy
            self.size *= _THREADS if fast else 1
        begun = monotonic()
        found = (self._compiled or self._numpy).check(low, high, weights).refuted
        self._spent += monotonic() - begun
        return np.asarray(found)


def refute(line: int, program: ScaledProgram, splits: str, weights: str) -> int:
    """Check a tree, and return how many leaves it has. Raises `CheckError` where one of them does not close its box."""
    checking, count, found = Checking(program), 0, leaves(program, splits, weights)
    try:
        while part := list(islice(found, checking.size)):
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
