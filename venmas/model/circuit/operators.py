"""Operators on unsigned bit-vectors: the widths they take, and what they compute, on batches.

A batch of words of width w is an array of int64 where w <= 63, else of Python ints (dtype object); every value lies in
0 .. 2^w - 1. Sums, differences and products may wrap around in int64: that is arithmetic modulo 2^64, whose low w bits
are the result. The meaning of each operator is that of BTOR2 (Niemetz, Preiner, Wolf, Biere, *Btor2, BtorMC and
Boolector 3.0*, CAV 2018) and of QF_BV in SMT-LIB: a division by zero gives all ones, its remainder the dividend.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[Any]
"""A batch of words, see above."""

MAX_WIDTH = 1 << 16
"""Widest word."""


class Op(StrEnum):
    """Operators of nodes. All others of BTOR2 are written with these (`builder`)."""

    CONST = "const"
    INPUT = "input"
    REGISTER = "register"
    NOT = "not"
    AND = "and"
    OR = "or"
    XOR = "xor"
    ADD = "add"
    SUB = "sub"
    MUL = "mul"
    UDIV = "udiv"
    UREM = "urem"
    SLL = "sll"
    SRL = "srl"
    SRA = "sra"
    EQ = "eq"
    ULT = "ult"
    SLT = "slt"
    ITE = "ite"
    CONCAT = "concat"
    SLICE = "slice"
    UEXT = "uext"
    SEXT = "sext"
    REDXOR = "redxor"


LEAVES = frozenset({Op.CONST, Op.INPUT, Op.REGISTER})
_SAME = frozenset({Op.AND, Op.OR, Op.XOR, Op.ADD, Op.SUB, Op.MUL, Op.UDIV, Op.UREM, Op.SLL, Op.SRL, Op.SRA})
_COMPARISONS = frozenset({Op.EQ, Op.ULT, Op.SLT})


def width_of(op: Op, widths: Sequence[int], params: Sequence[int]) -> int:
    """Width of the result. Raises `ValueError` that says what is wrong with the operands' widths."""
    problem = ""
    match op, tuple(widths), tuple(params):
        case Op.NOT, (a,), ():
            return a
        case _, (a, b), () if op in _SAME or op in _COMPARISONS:
            if a == b:
                return 1 if op in _COMPARISONS else a
            problem = "operands of one width"
        case Op.ITE, (c, a, b), ():
            if c == 1 and a == b:
                return a
            problem = "a condition of one bit and two operands of one width"
        case Op.CONCAT, (a, b), ():
            return a + b
        case Op.SLICE, (a,), (high, low):
            if 0 <= low <= high < a:
                return high - low + 1
            problem = f"bits {a - 1} >= high >= low >= 0, here {high} and {low}"
        case Op.UEXT | Op.SEXT, (a,), (more,):
            if more >= 0:
                return a + more
            problem = "a number of bits to add that is not negative"
        case Op.REDXOR, (_,), ():
            return 1
        case _:
            problem = "another number of operands"
    raise ValueError(f"{op} wants {problem}; its operands have the widths {', '.join(map(str, widths))}")


def words(values: Any, width: int) -> Words:
    """Values that fit into the width, as a batch of it."""
    return np.asarray(values, dtype=np.int64 if width <= 63 else object)


def mask(width: int) -> int:
    """The word of ones."""
    return (1 << width) - 1


def compute(op: Op, args: Sequence[Words], widths: Sequence[int], params: Sequence[int], width: int) -> Words:
    """What a node that is no leaf computes; `widths` are those of the operands, `width` that of the result."""
    function = _FUNCTIONS[op]
    wide = width > 63
    if wide and op in (Op.CONCAT, Op.UEXT, Op.SEXT):
        args = [np.asarray(arg, dtype=object) for arg in args]
    return words(function(args, widths, params), width)


def _signed(values: Words, width: int) -> Words:
    exact = values if width < 63 else np.asarray(values, dtype=object)
    signed: Words = exact - ((exact >> (width - 1)) << width)
    return signed


def _shift(args: Sequence[Words], widths: Sequence[int], left: bool) -> Words:
    values, by = args
    inside = by < widths[0]
    near = np.where(inside, by, 0)
    moved: Words = (values << near) & mask(widths[0]) if left else values >> near
    return np.where(inside, moved, 0)


def _sra(args: Sequence[Words], widths: Sequence[int], params: Sequence[int]) -> Words:
    values, by = args
    width = widths[0]
    near = np.where(by < width, by, width - 1)
    return (_signed(values, width) >> near) & mask(width)


def _divide(args: Sequence[Words], widths: Sequence[int], remainder: bool) -> Words:
    a, b = args
    zero = b == 0
    safe = np.where(zero, 1, b)
    return np.where(zero, a, a % safe) if remainder else np.where(zero, mask(widths[0]), a // safe)


def _sext(args: Sequence[Words], widths: Sequence[int], params: Sequence[int]) -> Words:
    (a,) = args
    extended: Words = a | (a >> (widths[0] - 1)) * (mask(params[0]) << widths[0])
    return extended


def _redxor(args: Sequence[Words], widths: Sequence[int], params: Sequence[int]) -> Words:
    (a,) = args
    step = 1
    while step < widths[0]:
        step *= 2
    while step > 1:
        step //= 2
        a = a ^ (a >> step)
    return a & 1


_Function = Callable[[Sequence[Words], Sequence[int], Sequence[int]], Any]
_FUNCTIONS: dict[Op, _Function] = {
    Op.NOT: lambda a, w, p: ~a[0] & mask(w[0]),
    Op.AND: lambda a, w, p: a[0] & a[1],
    Op.OR: lambda a, w, p: a[0] | a[1],
    Op.XOR: lambda a, w, p: a[0] ^ a[1],
    Op.ADD: lambda a, w, p: (a[0] + a[1]) & mask(w[0]),
    Op.SUB: lambda a, w, p: (a[0] - a[1]) & mask(w[0]),
    Op.MUL: lambda a, w, p: (a[0] * a[1]) & mask(w[0]),
    Op.UDIV: lambda a, w, p: _divide(a, w, remainder=False),
    Op.UREM: lambda a, w, p: _divide(a, w, remainder=True),
    Op.SLL: lambda a, w, p: _shift(a, w, left=True),
    Op.SRL: lambda a, w, p: _shift(a, w, left=False),
    Op.SRA: _sra,
    Op.EQ: lambda a, w, p: a[0] == a[1],
    Op.ULT: lambda a, w, p: a[0] < a[1],
    Op.SLT: lambda a, w, p: _signed(a[0], w[0]) < _signed(a[1], w[0]),
    Op.ITE: lambda a, w, p: np.where(np.asarray(a[0] == 1, dtype=bool), a[1], a[2]),
    Op.CONCAT: lambda a, w, p: (a[0] << w[1]) | a[1],
    Op.SLICE: lambda a, w, p: (a[0] >> p[1]) & mask(p[0] - p[1] + 1),
    Op.UEXT: lambda a, w, p: a[0],
    Op.SEXT: _sext,
    Op.REDXOR: _redxor,
}
