"""BTOR2: reader of word-level netlists (Niemetz, Preiner, Wolf, Biere, CAV 2018, figure 1).

What is read: bit-vectors, every operator of `_TABLE`, states with `init` and `next`, inputs, outputs, `constraint`,
`bad`, `fair` and `justice`. Arrays, and operators that the table does not name, are refused with their line. A state
without `next` is an input: it may have any value at every step (with `init`, from the second one on).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import NoReturn

from venmas.errors import CircuitError
from venmas.model.circuit.builder import Builder
from venmas.model.circuit.nodes import Circuit
from venmas.model.circuit.operators import MAX_WIDTH, Op
from venmas.model.circuit.simulate import order_of_first

MAX_BYTES = 32 << 20
"""Largest file that is read."""
MAX_LINES = 400_000
"""Most lines of it."""
_NUMBER = re.compile(r"0|[1-9]\d{0,17}")
_DIGITS = {"const": (2, re.compile(r"[01]+")), "consth": (16, re.compile(r"[0-9a-fA-F]+"))}
_DECIMAL = re.compile(r"-?\d{1,4300}")

_Build = Callable[[Builder, list[int], list[int]], int]


def _plain(op: Op) -> _Build:
    return lambda b, args, params: b.apply(op, args, params)


def _negated(op: Op, swapped: bool = False) -> _Build:
    return lambda b, args, params: b.not_(b.apply(op, args[::-1] if swapped else args, params))


def _swapped(op: Op) -> _Build:
    return lambda b, args, params: b.apply(op, args[::-1], params)


def _rotated(b: Builder, args: list[int], left: bool) -> int:
    """x rotated by y: two shifts, by y and by the width less y, of y modulo the width."""
    x, y = args
    width = b.width(x)
    if width != b.width(y):
        raise ValueError(f"rotation wants operands of one width; they have {width} and {b.width(y)}")
    if width == 1:
        return x
    size = b.const(width, width)
    by = b.apply(Op.UREM, [y, size]) if width < 1 << width else y
    back = b.apply(Op.SUB, [size, by])
    one, two = (Op.SLL, Op.SRL) if left else (Op.SRL, Op.SLL)
    return b.apply(Op.OR, [b.apply(one, [x, by]), b.apply(two, [x, back])])


def _implies(b: Builder, args: list[int], params: list[int]) -> int:
    for arg in args:
        if b.width(arg) != 1:
            raise ValueError(f"an implication is between single bits; an operand has the width {b.width(arg)}")
    return b.any_of([b.not_(args[0]), args[1]])


def _iff(b: Builder, args: list[int], params: list[int]) -> int:
    _implies(b, args, params)
    return b.apply(Op.EQ, args)


_TABLE: dict[str, tuple[int, int, _Build]] = {
    # operator: operands, numbers, what it is
    "not": (1, 0, _plain(Op.NOT)),
    "inc": (1, 0, lambda b, a, p: b.apply(Op.ADD, [a[0], b.const(1, b.width(a[0]))])),
    "dec": (1, 0, lambda b, a, p: b.apply(Op.SUB, [a[0], b.const(1, b.width(a[0]))])),
    "neg": (1, 0, lambda b, a, p: b.apply(Op.SUB, [b.const(0, b.width(a[0])), a[0]])),
    "redor": (1, 0, lambda b, a, p: b.not_(b.zero(a[0]))),
    "redand": (1, 0, lambda b, a, p: b.full(a[0])),
    "redxor": (1, 0, _plain(Op.REDXOR)),
    "and": (2, 0, _plain(Op.AND)),
    "nand": (2, 0, _negated(Op.AND)),
    "or": (2, 0, _plain(Op.OR)),
    "nor": (2, 0, _negated(Op.OR)),
    "xor": (2, 0, _plain(Op.XOR)),
    "xnor": (2, 0, _negated(Op.XOR)),
    "add": (2, 0, _plain(Op.ADD)),
    "sub": (2, 0, _plain(Op.SUB)),
    "mul": (2, 0, _plain(Op.MUL)),
    "udiv": (2, 0, _plain(Op.UDIV)),
    "urem": (2, 0, _plain(Op.UREM)),
    "sll": (2, 0, _plain(Op.SLL)),
    "srl": (2, 0, _plain(Op.SRL)),
    "sra": (2, 0, _plain(Op.SRA)),
    "rol": (2, 0, lambda b, a, p: _rotated(b, a, left=True)),
    "ror": (2, 0, lambda b, a, p: _rotated(b, a, left=False)),
    "eq": (2, 0, _plain(Op.EQ)),
    "neq": (2, 0, _negated(Op.EQ)),
    "ult": (2, 0, _plain(Op.ULT)),
    "ulte": (2, 0, _negated(Op.ULT, swapped=True)),
    "ugt": (2, 0, _swapped(Op.ULT)),
    "ugte": (2, 0, _negated(Op.ULT)),
    "slt": (2, 0, _plain(Op.SLT)),
    "slte": (2, 0, _negated(Op.SLT, swapped=True)),
    "sgt": (2, 0, _swapped(Op.SLT)),
    "sgte": (2, 0, _negated(Op.SLT)),
    "implies": (2, 0, _implies),
    "iff": (2, 0, _iff),
    "concat": (2, 0, _plain(Op.CONCAT)),
    "ite": (3, 0, _plain(Op.ITE)),
    "slice": (1, 2, _plain(Op.SLICE)),
    "uext": (1, 1, _plain(Op.UEXT)),
    "sext": (1, 1, _plain(Op.SEXT)),
}
OPERATORS = tuple(_TABLE)
"""Operators that are read, besides constants, states and properties."""


def read_btor2(path: str | PathLike[str]) -> Circuit:
    """Read a file. Raises `CircuitError`, with the line for its content."""
    try:
        with Path(path).open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise CircuitError(f"cannot read the netlist {str(path)[:200]!r}: {reason}; check the path") from error
    if len(data) > MAX_BYTES:
        raise CircuitError(f"{path} is larger than {MAX_BYTES >> 20} MB, the largest netlist that is read")
    try:
        return parse_btor2(data.decode(), str(path))
    except UnicodeDecodeError as error:
        raise CircuitError(
            f"{path} is no BTOR2 text: it is not UTF-8 ({error.reason} at byte {error.start})"
        ) from error


def parse_btor2(text: str, name: str = "netlist") -> Circuit:
    """Read a text; `name` is what messages call it. Raises `CircuitError` with the line."""
    return _Reader(text, name).circuit()


@dataclass
class _Reader:
    text: str
    name: str
    line: int = 0
    builder: Builder = field(default_factory=Builder)
    sorts: dict[int, int] = field(default_factory=dict)
    nodes: dict[int, int] = field(default_factory=dict)
    states: dict[int, tuple[int, int]] = field(default_factory=dict)  # number: node, width
    updates: dict[int, int] = field(default_factory=dict)  # number of the state: node
    firsts: dict[int, int] = field(default_factory=dict)
    asked: dict[str, list[int]] = field(default_factory=lambda: {"constraint": [], "bad": [], "fair": []})
    justice: list[tuple[int, ...]] = field(default_factory=list)
    names: dict[str, int] = field(default_factory=dict)
    last: int = 0

    def circuit(self) -> Circuit:
        if self.text.count("\n") > MAX_LINES:
            raise CircuitError(f"{self.name} has more than {MAX_LINES} lines, the largest netlist that is read")
        stateful = {words[3] for words in self._lines() if len(words) >= 5 and words[1] in ("next", "init")}
        for at, words in enumerate(self._lines(), 1):
            self.line = at
            if words:
                self._read(words, stateful)
        b = self.builder
        kept = [number for number, (node, _) in self.states.items() if b.nodes[node].op is Op.REGISTER]
        following = [self.updates[n] if n in self.updates else b.input(self.states[n][1]) for n in kept]
        circuit = Circuit(
            nodes=tuple(b.nodes),
            inputs=tuple(b.inputs),
            registers=tuple(b.registers),
            next=tuple(following),
            init=tuple(self.firsts.get(number) for number in kept),
            constraints=tuple(self.asked["constraint"]),
            bad=tuple(self.asked["bad"]),
            fair=tuple(self.asked["fair"]),
            justice=tuple(self.justice),
            names=self.names,
            source=self.text,
        )
        try:
            order_of_first(circuit)
        except ValueError as error:
            raise CircuitError(f"{self.name}: {error}") from error
        return circuit

    def _lines(self) -> Iterator[list[str]]:
        for line in self.text.splitlines():
            yield line.split(";", 1)[0].split()

    def _read(self, words: list[str], stateful: set[str]) -> None:
        number = self._number(words[0], "the number of a line")
        if number <= self.last:
            self._refuse(f"line number {number} after {self.last}; they must increase")
        self.last = number
        if len(words) < 2:
            self._refuse(f"nothing follows the number {number}; an operator is wanted")
        operator, rest = words[1], words[2:]
        if operator == "sort":
            self._sort(number, rest)
        elif operator in ("input", "state"):
            width, symbol = self._sort_of(rest, 1), self._symbol(rest, 1)
            register = operator == "state" and words[0] in stateful
            node = self.builder.register(width) if register else self.builder.input(width)
            self.nodes[number] = node
            if operator == "state":
                self.states[number] = (node, width)
            self._name(symbol, node)
        elif operator in ("init", "next"):
            self._update(operator, rest)
        elif operator in self.asked:
            node = self._bit(rest)
            self.asked[operator].append(node)
            self._name(self._symbol(rest, 1), node)
        elif operator == "output":
            self._count(rest, 1)
            self._name(self._symbol(rest, 1), self._node(rest[0]))
        elif operator == "justice":
            self._justice(rest)
        else:
            self._compute(number, operator, rest)

    def _sort(self, number: int, rest: list[str]) -> None:
        if rest[:1] != ["bitvec"] or len(rest) != 2:
            what = " ".join(rest)[:60]
            self._refuse(f"sort {what!r}; only bit-vectors are read (sort bitvec WIDTH)")
        width = self._number(rest[1], "a width")
        if not 1 <= width <= MAX_WIDTH:
            self._refuse(f"a width of {width} bits; 1 to {MAX_WIDTH} are read")
        self.sorts[number] = width

    def _update(self, operator: str, rest: list[str]) -> None:
        width = self._sort_of(rest, 3)
        number = self._number(rest[1], "a state")
        if number not in self.states:
            self._refuse(f"{operator} of {number}, which is no state")
        node, known = self._node(rest[2]), self.updates if operator == "next" else self.firsts
        if number in known:
            self._refuse(f"a second {operator} of state {number}")
        if {width, self.states[number][1]} != {self.builder.width(node)}:
            self._refuse(f"{operator} of state {number}: {self.states[number][1]} bits, and {self.builder.width(node)}")
        known[number] = node

    def _justice(self, rest: list[str]) -> None:
        self._count(rest, 1)
        count = self._number(rest[0], "the number of conditions")
        self._count(rest, 1 + count)
        self.justice.append(tuple(self._bit([word]) for word in rest[1 : 1 + count]))

    def _compute(self, number: int, operator: str, rest: list[str]) -> None:
        width = self._sort_of(rest, 1)
        constant = self._constant(operator, rest, width)
        if constant is not None:
            node, used = self.builder.const(constant, width), 1 + (operator in ("const", "consth", "constd"))
        elif operator in _TABLE:
            count, params, build = _TABLE[operator]
            used = 1 + count + params
            self._count(rest, used)
            args = [self._node(word) for word in rest[1 : 1 + count]]
            values = [self._number(word, "a number") for word in rest[1 + count : used]]
            if operator in ("uext", "sext") and values[0] > MAX_WIDTH:
                self._refuse(f"{values[0]} more bits; words of at most {MAX_WIDTH} bits are read")
            try:
                node = build(self.builder, args, values)
            except ValueError as error:
                self._refuse(f"{operator}: {error}")
        else:
            self._refuse(f"operator {operator[:40]!r}; those read are {', '.join(_TABLE)}, constants and properties")
        if self.builder.width(node) != width:
            self._refuse(f"{operator} gives {self.builder.width(node)} bits, its sort has {width}")
        self.nodes[number] = node
        self._name(self._symbol(rest, used), node)

    def _constant(self, operator: str, rest: list[str], width: int) -> int | None:
        if operator in ("zero", "one", "ones"):
            return {"zero": 0, "one": 1, "ones": -1}[operator]
        if operator not in ("const", "consth", "constd"):
            return None
        self._count(rest, 2)
        if operator == "constd":
            base, digits, low = 10, _DECIMAL, -(1 << (width - 1))
        else:
            (base, digits), low = _DIGITS[operator], 0
        if not digits.fullmatch(rest[1]):
            self._refuse(f"{rest[1][:40]!r} where a number of base {base} is wanted")
        value = int(rest[1], base)
        if not low <= value < 1 << width or (operator == "const" and len(rest[1]) != width):
            self._refuse(f"constant {rest[1][:40]} does not have {width} bits")
        return value

    def _node(self, word: str) -> int:
        negative = word.startswith("-")
        number = self._number(word[negative:], "a node")
        if number not in self.nodes:
            self._refuse(f"node {number} is not known here; nodes are defined before they are used")
        return self.builder.not_(self.nodes[number]) if negative else self.nodes[number]

    def _bit(self, rest: list[str]) -> int:
        self._count(rest, 1)
        node = self._node(rest[0])
        if self.builder.width(node) != 1:
            self._refuse(f"node {rest[0]} has {self.builder.width(node)} bits; a condition has one")
        return node

    def _sort_of(self, rest: list[str], count: int) -> int:
        self._count(rest, count)
        number = self._number(rest[0], "a sort")
        if number not in self.sorts:
            self._refuse(f"{number} is no sort that was defined before")
        return self.sorts[number]

    def _count(self, rest: list[str], count: int) -> None:
        if len(rest) < count:
            self._refuse(f"{len(rest)} arguments, where {count} are wanted")

    def _number(self, word: str, what: str) -> int:
        if not _NUMBER.fullmatch(word):
            self._refuse(f"{word[:40]!r} where {what} is wanted")
        return int(word)

    def _symbol(self, rest: list[str], at: int) -> str:
        if len(rest) > at + 1:
            self._refuse(f"{rest[at + 1][:40]!r} after the symbol {rest[at][:40]!r}; one symbol may end a line")
        return rest[at] if len(rest) > at else ""

    def _name(self, symbol: str, node: int) -> None:
        if symbol and self.names.setdefault(symbol, node) != node:
            self._refuse(f"{symbol[:60]!r} names two different nodes")

    def _refuse(self, problem: str) -> NoReturn:
        raise CircuitError(f"{self.name}, line {self.line}: {problem}")
