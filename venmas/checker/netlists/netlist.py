"""BTOR2 reader of the checker: lines that compute words, and their gates.

Nothing is shared with `venmas.model.circuit`, so that no mistake of that reader is believed twice. What is not known is
refused with its line.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, NoReturn

from venmas.checker.netlists.gates import Bits, Blaster
from venmas.errors import InputError

MAX_BITS = 1 << 16
"""Widest word."""


class Line(NamedTuple):
    """A word: operator, width, operands (a negative number: every bit inverted), numbers."""

    op: str
    width: int
    args: tuple[int, ...] = ()
    params: tuple[int, ...] = ()


@dataclass
class Netlist:
    """Lines by number. states: in their order. next, init: of a state the line; outputs: in their order.

    names: the lines that have them, several where a netlist says one thing twice.
    """

    lines: dict[int, Line] = field(default_factory=dict)
    states: list[int] = field(default_factory=list)
    inputs: list[int] = field(default_factory=list)
    next: dict[int, int] = field(default_factory=dict)
    init: dict[int, int] = field(default_factory=dict)
    constraints: list[int] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)
    fair: bool = False
    names: dict[str, list[int]] = field(default_factory=dict)

    def width(self, number: int) -> int:
        """Bits of a line, whatever its sign."""
        return self.lines[abs(number)].width

    def leaves(self, roots: Iterable[int]) -> list[int]:
        """The states and inputs that lines are computed from, in order."""
        return [number for number in self._below(roots, ()) if self.lines[number].op in ("state", "input")]

    def _below(self, roots: Iterable[int], known: Container[int]) -> list[int]:
        below, stack = set[int](), [abs(root) for root in roots]
        while stack:
            number = stack.pop()
            if number not in known and number not in below:
                below.add(number)
                stack += [abs(arg) for arg in self.lines[number].args]
        return sorted(below)

    def evaluate(self, gates: Blaster, known: Mapping[int, Bits], roots: Sequence[int]) -> list[Bits]:
        """The literals of lines, where these have the literals of `known`. Raises `InputError` for other leaves."""
        values = dict(known)
        for number in self._below(roots, values):
            op, width, args, params = self.lines[number]
            if op in ("state", "input"):
                raise InputError(f"line {number} of a netlist is {op}, whose value is not known here")
            if op == "const":
                values[number] = gates.constant(params[0], width)
            else:
                values[number] = _OPERATORS[op].gates(gates, [signed(values, arg) for arg in args], params)
        return [signed(values, root) for root in roots]


def signed(found: Mapping[int, Bits], number: int) -> Bits:
    """The literals of a line, inverted where its number is negative."""
    return found[number] if number > 0 else [-bit for bit in found[-number]]


_Gates = Callable[[Blaster, list[Bits], Sequence[int]], Bits]


class _Operator(NamedTuple):
    """Operands, numbers, the width that they give (None: they do not fit), and the gates."""

    args: int
    params: int
    width: Callable[[Sequence[int], Sequence[int]], int | None]
    gates: _Gates


def _not(bits: Bits) -> Bits:
    return [-bit for bit in bits]


def _rotate(g: Blaster, args: list[Bits], left: bool) -> Bits:
    """By stages: bit i of the amount moves by 2^i modulo the width, as rotations add up modulo the width."""
    word, by = args
    size = len(word)
    for at, bit in enumerate(by):
        move = (1 << at) % size * (-1 if left else 1)
        word = [g.choose(bit, word[(place + move) % size], word[place]) for place in range(size)]
    return word


def _operators() -> dict[str, _Operator]:
    def plain(name: str) -> _Gates:
        return lambda g, a, p: g.word(name, a, p)

    def inverted(name: str, swap: bool = False) -> _Gates:
        return lambda g, a, p: _not(g.word(name, a[::-1] if swap else a, p))

    def swapped(name: str) -> _Gates:
        return lambda g, a, p: g.word(name, a[::-1], p)

    operators: dict[str, _Operator] = {}
    one: dict[str, _Gates] = {
        "not": plain("not"),
        "inc": lambda g, a, p: g.word("add", [a[0], g.constant(1, len(a[0]))]),
        "dec": lambda g, a, p: g.word("sub", [a[0], g.constant(1, len(a[0]))]),
        "neg": lambda g, a, p: g.word("sub", [g.constant(0, len(a[0])), a[0]]),
    }
    same: dict[str, _Gates] = {name: plain(name) for name in ("and", "or", "xor", "add", "sub", "mul", "udiv", "urem")}
    same |= {name: plain(name) for name in ("sll", "srl", "sra")}
    same |= {"nand": inverted("and"), "nor": inverted("or"), "xnor": inverted("xor")}
    same |= {"rol": lambda g, a, p: _rotate(g, a, True), "ror": lambda g, a, p: _rotate(g, a, False)}
    compare: dict[str, _Gates] = {"eq": plain("eq"), "neq": inverted("eq")}
    for sign in "us":
        less = f"{sign}lt"
        compare |= {less: plain(less), f"{sign}gt": swapped(less)}
        compare |= {f"{sign}gte": inverted(less), f"{sign}lte": inverted(less, swap=True)}
    for name, gates in one.items():
        operators[name] = _Operator(1, 0, lambda w, p: w[0], gates)
    for name, gates in same.items():
        operators[name] = _Operator(2, 0, lambda w, p: w[0] if w[0] == w[1] else None, gates)
    for name, gates in compare.items():
        operators[name] = _Operator(2, 0, lambda w, p: 1 if w[0] == w[1] else None, gates)
    for name, gates in {
        "redor": lambda g, a, p: [-g.all_of(_not(a[0]))],
        "redand": lambda g, a, p: [g.all_of(a[0])],
        "redxor": plain("redxor"),
    }.items():
        operators[name] = _Operator(1, 0, lambda w, p: 1, gates)
    bits: Callable[[Sequence[int], Sequence[int]], int | None] = lambda w, p: 1 if w[0] == w[1] == 1 else None  # noqa: E731
    operators["implies"] = _Operator(2, 0, bits, lambda g, a, p: [-g.both(a[0][0], -a[1][0])])
    operators["iff"] = _Operator(2, 0, bits, lambda g, a, p: [-g.differ(a[0][0], a[1][0])])
    operators["concat"] = _Operator(2, 0, lambda w, p: w[0] + w[1], plain("concat"))
    operators["ite"] = _Operator(3, 0, lambda w, p: w[1] if w[0] == 1 and w[1] == w[2] else None, plain("ite"))
    operators["slice"] = _Operator(
        1, 2, lambda w, p: p[0] - p[1] + 1 if w[0] > p[0] >= p[1] >= 0 else None, plain("slice")
    )
    for name in ("uext", "sext"):
        operators[name] = _Operator(1, 1, lambda w, p: w[0] + p[0], plain(name))
    return operators


_OPERATORS = _operators()
_DIGITS = {"const": (2, "01"), "constd": (10, "0123456789"), "consth": (16, "0123456789abcdefABCDEF")}


def read(text: str, name: str) -> Netlist:
    """A netlist of a certificate, called `name` in messages. Raises `InputError` with the line."""
    return _Reader(name).read(text)


class _Reader:
    def __init__(self, name: str) -> None:
        self.name, self.at = name, 0
        self.net = Netlist()
        self.sorts: dict[int, int] = {}

    def read(self, text: str) -> Netlist:
        last = 0
        for self.at, line in enumerate(text.splitlines(), 1):
            words = line.partition(";")[0].split()
            if not words:
                continue
            number = self.natural(words[0])
            if number <= last or len(words) < 3:
                self.refuse("line numbers increase, and an operator with operands follows")
            last = number
            self.line(number, words[1], words[2:])
        return self.net

    def line(self, number: int, op: str, rest: list[str]) -> None:
        net = self.net
        if op == "sort":
            if rest[0] != "bitvec" or len(rest) != 2 or not 0 < self.natural(rest[1]) <= MAX_BITS:
                self.refuse(f"only words of 1 to {MAX_BITS} bits are known")
            self.sorts[number] = int(rest[1])
        elif op in ("state", "input"):
            net.lines[number] = Line(op, self.sort(rest[0]))
            (net.states if op == "state" else net.inputs).append(number)
            self.symbol(rest[1:], number)
        elif op in ("next", "init"):
            if len(rest) < 3:
                self.refuse(f"{op} wants a sort, a state and a value")
            table, state, value = getattr(net, op), self.natural(rest[1]), self.operand(rest[2])
            if state not in net.states or state in table:
                self.refuse(f"{op} of {state}, which is no state or has one")
            if not self.sort(rest[0]) == net.width(state) == net.width(value):
                self.refuse(f"{op} of another width than its state")
            table[state] = value
        elif op in ("constraint", "output", "bad", "fair"):
            value = self.operand(rest[0])
            if op != "output" and net.width(value) != 1:
                self.refuse("a condition has one bit")
            net.fair |= op == "fair"
            if op in ("constraint", "output"):
                (net.constraints if op == "constraint" else net.outputs).append(value)
            self.symbol(rest[1:], value)
        elif op == "justice":
            for word in rest[1 : 1 + self.natural(rest[0])]:
                self.operand(word)
        else:
            self.word(number, op, rest)

    def word(self, number: int, op: str, rest: list[str]) -> None:
        net, width = self.net, self.sort(rest[0])
        constant = {"zero": 0, "one": 1, "ones": -1}.get(op)
        used = 1
        if op in _DIGITS:
            base, digits = _DIGITS[op]
            text = rest[1] if len(rest) > 1 else ""
            plain = text.removeprefix("-") if op == "constd" else text
            if not plain or len(plain) > 4300 or set(plain) - set(digits) or (op == "const" and len(plain) != width):
                self.refuse(f"{op} wants a number of base {base} that fits its sort")
            constant, used = int(text, base), 2
            if not -(1 << width - 1) <= constant < 1 << width:
                self.refuse(f"{constant} does not have {width} bits")
        if constant is not None:
            net.lines[number] = Line("const", width, (), (constant,))
        elif op in _OPERATORS:
            kind = _OPERATORS[op]
            used = 1 + kind.args + kind.params
            if len(rest) < used:
                self.refuse(f"{op} wants {kind.args} operands and {kind.params} numbers")
            args = tuple(self.operand(word) for word in rest[1 : 1 + kind.args])
            params = tuple(self.natural(word) for word in rest[1 + kind.args : used])
            if kind.width([net.width(arg) for arg in args], params) != width:
                self.refuse(f"{op}: the widths of operands and result do not fit")
            net.lines[number] = Line(op, width, args, params)
        else:
            self.refuse(f"operator {op[:40]!r} is not known")
        self.symbol(rest[used:], number)

    def symbol(self, rest: list[str], number: int) -> None:
        if len(rest) > 1:
            self.refuse("more than a symbol ends the line")
        if rest:
            self.net.names.setdefault(rest[0], []).append(number)

    def operand(self, word: str) -> int:
        number = self.natural(word.removeprefix("-"))
        if number not in self.net.lines:
            self.refuse(f"line {number} is not defined before it is used")
        return -number if word.startswith("-") else number

    def sort(self, word: str) -> int:
        width = self.sorts.get(self.natural(word))
        if width is None:
            self.refuse(f"{word} is no sort")
        return width

    def natural(self, word: str) -> int:
        if not word.isascii() or not word.isdigit() or len(word) > 18:
            self.refuse(f"{word[:40]!r} where a number is wanted")
        return int(word)

    def refuse(self, problem: str) -> NoReturn:
        raise InputError(f"{self.name}, line {self.at}: {problem}")
