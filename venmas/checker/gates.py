"""Gates: nodes of a circuit as clauses (Tseitin, 1968), for proofs that a SAT solver writes and `rup` checks.

A literal is a nonzero integer, negative where inverted; 1 is true. Gates are written with constants folded and equal
ones shared, in one order, so that whoever makes a proof and whoever checks it mean the same variables. Every variable
but those of the leaves is defined by its clauses: they have exactly one solution for each value of the leaves.
"""

from __future__ import annotations

from collections.abc import Sequence

from venmas.circuit.nodes import Nodes, needed
from venmas.circuit.operators import Op

Bits = list[int]
"""Literals of a word, the lowest bit first."""
TRUE = 1


class Gates:
    """Clauses in the making. `bits`: of each node written so far its literals."""

    def __init__(self, source: Nodes) -> None:
        self._source = source
        self.bits: dict[int, Bits] = {}
        self.variables = 1
        self.clauses: list[tuple[int, ...]] = [(TRUE,)]
        self._known: dict[tuple[int, ...], int] = {}

    def write(self, root: int) -> Bits:
        """The literals of a node, with all that it is computed from."""
        for index in needed(self._source, [root], self.bits):
            node = self._source.nodes[index]
            args = [self.bits[arg] for arg in node.args]
            self.bits[index] = self._word(node.op, args, node.params, node.width)
        return self.bits[root]

    def _word(self, op: Op, args: list[Bits], params: Sequence[int], width: int) -> Bits:
        match op:
            case Op.CONST:
                return [TRUE if params[0] >> at & 1 else -TRUE for at in range(width)]
            case Op.INPUT | Op.REGISTER:
                return [self._variable() for _ in range(width)]
            case Op.NOT:
                return [-bit for bit in args[0]]
            case Op.AND:
                return [self.both(a, b) for a, b in zip(*args, strict=True)]
            case Op.OR:
                return [-self.both(-a, -b) for a, b in zip(*args, strict=True)]
            case Op.XOR:
                return [self.differ(a, b) for a, b in zip(*args, strict=True)]
            case Op.ADD:
                return self._add(args[0], args[1], -TRUE)[0]
            case Op.SUB:
                return self._add(args[0], [-bit for bit in args[1]], TRUE)[0]
            case Op.MUL:
                return self._multiply(*args)
            case Op.UDIV:
                return self._divide(*args)[0]
            case Op.UREM:
                return self._divide(*args)[1]
            case Op.SLL:
                return self._shift(args[0][::-1], args[1], -TRUE)[::-1]
            case Op.SRL:
                return self._shift(args[0], args[1], -TRUE)
            case Op.SRA:
                return self._shift(args[0], args[1], args[0][-1])
            case Op.EQ:
                return [self._all([-self.differ(a, b) for a, b in zip(*args, strict=True)])]
            case Op.ULT:
                return [-self._add(args[0], [-bit for bit in args[1]], TRUE)[1]]
            case Op.SLT:
                a, b = ([*bits[:-1], -bits[-1]] for bits in args)
                return [-self._add(a, [-bit for bit in b], TRUE)[1]]
            case Op.ITE:
                return [self.choose(args[0][0], a, b) for a, b in zip(args[1], args[2], strict=True)]
            case Op.CONCAT:
                return args[1] + args[0]
            case Op.SLICE:
                return args[0][params[1] : params[0] + 1]
            case Op.UEXT:
                return args[0] + [-TRUE] * params[0]
            case Op.SEXT:
                return args[0] + [args[0][-1]] * params[0]
            case Op.REDXOR:
                out = -TRUE
                for bit in args[0]:
                    out = self.differ(out, bit)
                return [out]

    def _variable(self) -> int:
        self.variables += 1
        return self.variables

    def both(self, a: int, b: int) -> int:
        """The literal of a and b."""
        if a == -TRUE or b == -TRUE or a == -b:
            return -TRUE
        if a in (TRUE, b):
            return b
        if b == TRUE:
            return a
        key = (min(a, b), max(a, b))
        if key not in self._known:
            out = self._known[key] = self._variable()
            self.clauses += [(-out, a), (-out, b), (out, -a, -b)]
        return self._known[key]

    def differ(self, a: int, b: int) -> int:
        """The literal of a exclusive-or b; signs are taken out."""
        if abs(a) == TRUE:
            return -b if a == TRUE else b
        if abs(b) == TRUE:
            return -a if b == TRUE else a
        if abs(a) == abs(b):
            return -TRUE if a == b else TRUE
        sign = 1 if (a > 0) == (b > 0) else -1
        low, high = sorted((abs(a), abs(b)))
        key = (0, low, high)
        if key not in self._known:
            out = self._known[key] = self._variable()
            self.clauses += [(-out, low, high), (-out, -low, -high), (out, -low, high), (out, low, -high)]
        return sign * self._known[key]

    def choose(self, condition: int, yes: int, no: int) -> int:
        """The literal of ``yes if condition else no``."""
        if yes == no or abs(condition) == TRUE:
            return yes if yes == no or condition == TRUE else no
        return -self.both(-self.both(condition, yes), -self.both(-condition, no))

    def _all(self, bits: Sequence[int]) -> int:
        out = TRUE
        for bit in bits:
            out = self.both(out, bit)
        return out

    def _add(self, a: Bits, b: Bits, carry: int) -> tuple[Bits, int]:
        """Sum modulo 2^width, and the last carry (of a - b, as a + ~b + 1: is a >= b?)."""
        out = []
        for one, two in zip(a, b, strict=True):
            half = self.differ(one, two)
            out.append(self.differ(half, carry))
            carry = -self.both(-self.both(one, two), -self.both(half, carry))
        return out, carry

    def _multiply(self, a: Bits, b: Bits) -> Bits:
        width = len(a)
        if sum(abs(bit) == TRUE for bit in a) > sum(abs(bit) == TRUE for bit in b):
            a, b = b, a
        total = [-TRUE] * width
        for at, bit in enumerate(b):
            if bit != -TRUE:
                row = [-TRUE] * at + [self.both(bit, other) for other in a[: width - at]]
                total = self._add(total, row, -TRUE)[0]
        return total

    def _divide(self, a: Bits, b: Bits) -> tuple[Bits, Bits]:
        """Quotient and remainder by long division; by zero: all ones and a, as every comparison with 0 holds."""
        rest, wide = [-TRUE] * (len(b) + 1), [*b, -TRUE]
        quotient = []
        for bit in reversed(a):
            rest = [bit, *rest[:-1]]
            less, fits = self._add(rest, [-other for other in wide], TRUE)
            quotient.append(fits)
            rest = [self.choose(fits, yes, no) for yes, no in zip(less, rest, strict=True)]
        return quotient[::-1], rest[:-1]

    def _shift(self, a: Bits, by: Bits, fill: int) -> Bits:
        """Towards the lowest bit, what is empty filled."""
        out = list(a)
        for at, bit in enumerate(by):
            moved = (
                [out[place + (1 << at)] if place + (1 << at) < len(out) else fill for place in range(len(out))]
                if at < len(out).bit_length()
                else [fill] * len(out)
            )
            out = [self.choose(bit, yes, no) for yes, no in zip(moved, out, strict=True)]
        return out
