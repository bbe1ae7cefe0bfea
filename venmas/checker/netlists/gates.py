"""Gates: words and their operators as clauses (Tseitin, 1968), for proofs that a SAT solver writes and `rup` checks.

A literal is a nonzero integer, negative where inverted; 1 is true. Gates are written with constants folded and equal
ones shared, in one order, so that whoever makes a proof and whoever checks it mean the same variables. Every variable
but those of the leaves is defined by its clauses: they have exactly one solution for each value of the leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from venmas.budget import ask
from venmas.errors import InputError

Bits = list[int]
"""Literals of a word, the lowest bit first."""
TRUE = 1


class Blaster:
    """Clauses in the making. most: variables that there may be; `InputError` is raised where there are more."""

    def __init__(self, most: int | None = None) -> None:
        self.variables, self._most = 1, most
        self.clauses: list[tuple[int, ...]] = [(TRUE,)]
        self._known: dict[tuple[int, ...], int] = {}

    @property
    def defined(self) -> dict[tuple[int, ...], int]:
        """Of each gate its variable, operands first: (a, b) is a and b, (0, a, b) is a exclusive-or b."""
        return self._known

    def leaf(self, width: int) -> Bits:
        """A word of new variables that no gate defines."""
        return [self._variable() for _ in range(width)]

    @staticmethod
    def constant(value: int, width: int) -> Bits:
        """The literals of a number modulo 2^width."""
        return [TRUE if value >> at & 1 else -TRUE for at in range(width)]

    def word(self, op: str, args: Sequence[Bits], params: Sequence[int] = ()) -> Bits:
        """The literals of what an operator of BTOR2 computes; params: high and low bit, or bits that are added."""
        match op:
            case "not":
                return [-bit for bit in args[0]]
            case "and":
                return [self.both(a, b) for a, b in zip(*args, strict=True)]
            case "or":
                return [-self.both(-a, -b) for a, b in zip(*args, strict=True)]
            case "xor":
                return [self.differ(a, b) for a, b in zip(*args, strict=True)]
            case "add":
                return self._add(args[0], args[1], -TRUE)[0]
            case "sub":
                return self._add(args[0], [-bit for bit in args[1]], TRUE)[0]
            case "mul":
                return self._multiply(*args)
            case "udiv":
                return self._divide(*args)[0]
            case "urem":
                return self._divide(*args)[1]
            case "sll":
                return self._shift(args[0][::-1], args[1], -TRUE)[::-1]
            case "srl":
                return self._shift(args[0], args[1], -TRUE)
            case "sra":
                return self._shift(args[0], args[1], args[0][-1])
            case "eq":
                return [self.all_of([-self.differ(a, b) for a, b in zip(*args, strict=True)])]
            case "ult":
                return [-self._add(args[0], [-bit for bit in args[1]], TRUE)[1]]
            case "slt":
                a, b = ([*bits[:-1], -bits[-1]] for bits in args)
                return [-self._add(a, [-bit for bit in b], TRUE)[1]]
            case "ite":
                return [self.choose(args[0][0], a, b) for a, b in zip(args[1], args[2], strict=True)]
            case "concat":
                return args[1] + args[0]
            case "slice":
                return args[0][params[1] : params[0] + 1]
            case "uext":
                return args[0] + [-TRUE] * params[0]
            case "sext":
                return args[0] + [args[0][-1]] * params[0]
            case "redxor":
                out = -TRUE
                for bit in args[0]:
                    out = self.differ(out, bit)
                return [out]
            case _:
                raise ValueError(f"{op} is no operator that is written as gates")

    def _variable(self) -> int:
        ask()
        self.variables += 1
        if self._most is not None and self.variables > self._most:
            raise InputError(f"more than {self._most} gates")
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

    def all_of(self, bits: Sequence[int]) -> int:
        """The literal of the conjunction."""
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


class Word(Protocol):
    """A node: operator, operands as indices of earlier nodes, numbers; of a constant its value."""

    @property
    def op(self) -> str: ...  # noqa: D102
    @property
    def width(self) -> int: ...  # noqa: D102
    @property
    def args(self) -> Sequence[int]: ...  # noqa: D102
    @property
    def params(self) -> Sequence[int]: ...  # noqa: D102


class Words(Protocol):
    """Nodes, operands before what uses them."""

    @property
    def nodes(self) -> Sequence[Word]: ...  # noqa: D102


class Gates(Blaster):
    """Gates of nodes. `bits`: of each node written so far its literals."""

    def __init__(self, source: Words) -> None:
        super().__init__()
        self._source = source
        self.bits: dict[int, Bits] = {}

    def write(self, root: int) -> Bits:
        """The literals of a node, with all that it is computed from."""
        needed, stack = set(), [root]
        while stack:
            index = stack.pop()
            if index not in self.bits and index not in needed:
                needed.add(index)
                stack += self._source.nodes[index].args
        for index in sorted(needed):
            node = self._source.nodes[index]
            if node.op == "const":
                self.bits[index] = self.constant(node.params[0], node.width)
            elif node.op in ("input", "register"):
                self.bits[index] = self.leaf(node.width)
            else:
                self.bits[index] = self.word(node.op, [self.bits[arg] for arg in node.args], node.params)
        return self.bits[root]
