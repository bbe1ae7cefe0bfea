"""Proofs by split trees: the programs of an initial set, and whether the leaves of a tree refute one of them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import islice

import numpy as np

from venmas.budget import ask
from venmas.checker.affine.batch import Batch
from venmas.checker.affine.scaled import Ints, Scaled, ScaledProgram, UnscaledError, scaled
from venmas.checker.affine.tree import BrokenTreeError, Leaf, leaves
from venmas.checker.lemmas import Book
from venmas.checker.numbers import CheckError
from venmas.model.unroll import unroll

_BATCH_VALUES = 1 << 21
"""Coefficients that a batch of leaves may have in a layer."""
_MOST = 128


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


def refute(line: int, program: ScaledProgram, splits: str, weights: str) -> int:
    """Check a tree, and return how many leaves it has. Raises `CheckError` where one of them does not close its box."""
    checking, count = Batch(program), 0
    try:
        found, size = leaves(program, splits, weights), batch_size(program)
        while part := list(islice(found, size)):
            ask()
            refuted = checking.check(*ends(part), [leaf.weights for leaf in part]).refuted
            if not refuted.all():
                raise CheckError(line, f"the box of leaf {count + int(refuted.argmin())} is not shown to be free")
            count += len(part)
    except BrokenTreeError as error:
        raise CheckError(line, str(error)) from error
    return count


def batch_size(program: ScaledProgram) -> int:
    """How many leaves are evaluated together."""
    widest = max((layer.out_size for layer in program.layers), default=1)
    units = sum(int(layer.relu.sum()) for layer in program.layers)
    return max(1, min(_MOST, _BATCH_VALUES // (widest * (1 + len(program.low) + units))))


def ends(part: Sequence[Leaf]) -> tuple[Ints, Ints]:
    """Lower and upper ends of leaves: (B, inputs) twice."""
    boxes = [(leaf.low, leaf.high) for leaf in part]
    both = np.array(boxes, dtype=np.int64).reshape(len(boxes), 2, -1)
    return both[:, 0], both[:, 1]
