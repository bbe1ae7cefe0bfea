"""Expressions of machines: exact integers, held in as many bits as their bounds need, so that nothing wraps around.

A word has bounds that its value keeps; it is unsigned where the lower one is not negative, else in two's complement.
Operators of Python compute with words, ints and bools; comparisons are words that are 0 or 1.
"""

from __future__ import annotations

from venmas.errors import ModelError
from venmas.model.circuit.builder import Builder
from venmas.model.circuit.operators import MAX_WIDTH, Op


class Word:
    """An integer of a machine: a node whose value lies in low .. high. Made by `Machine` and by operators."""

    def __init__(self, builder: Builder, node: int, low: int, high: int) -> None:
        self.builder, self.node, self.low, self.high = builder, node, low, high

    def fitted(self, width: int) -> int:
        """The node of the value modulo 2^width."""
        b, mine = self.builder, self.builder.width(self.node)
        if width <= mine:
            return b.apply(Op.SLICE, [self.node], [width - 1, 0])
        return b.apply(Op.SEXT if self.low < 0 else Op.UEXT, [self.node], [width - mine])

    @property
    def bit(self) -> int:
        """The node of one bit of a condition. Raises `ModelError` for other words."""
        if self.low < 0 or self.high > 1:
            raise ModelError(f"a condition is 0 or 1, this word lies in {self.low} .. {self.high}: compare it (x != 0)")
        return self.fitted(1)

    def __add__(self, other: Word | int) -> Word:
        o = self._lifted(other)
        return self._computed(Op.ADD, o, self.low + o.low, self.high + o.high)

    def __sub__(self, other: Word | int) -> Word:
        o = self._lifted(other)
        return self._computed(Op.SUB, o, self.low - o.high, self.high - o.low)

    def __mul__(self, other: Word | int) -> Word:
        o = self._lifted(other)
        corners = [x * y for x in (self.low, self.high) for y in (o.low, o.high)]
        return self._computed(Op.MUL, o, min(corners), max(corners))

    def __neg__(self) -> Word:
        return 0 - self

    def __radd__(self, other: int) -> Word:
        return self + other

    def __rsub__(self, other: int) -> Word:
        return self._lifted(other) - self

    def __rmul__(self, other: int) -> Word:
        return self * other

    def __and__(self, other: Word | int) -> Word:
        o = self._unsigned("&", other)
        return self._computed(Op.AND, o, 0, min(self.high, o.high))

    def __or__(self, other: Word | int) -> Word:
        return self._joined(Op.OR, self._unsigned("|", other))

    def __xor__(self, other: Word | int) -> Word:
        return self._joined(Op.XOR, self._unsigned("^", other))

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def __invert__(self) -> Word:
        return Word(self.builder, self.builder.not_(self.bit), 0, 1)

    def __rshift__(self, places: int) -> Word:
        self._unsigned(">>", 0)
        if places < 0:
            raise ModelError(f"a shift by {places}; a whole number that is not negative is wanted")
        high = self.high >> places
        if not high:
            return constant(self.builder, 0)
        top = self.builder.width(self.node) - 1
        kept = self.builder.apply(Op.SLICE, [self.node], [top, places])
        return _narrow(Word(self.builder, kept, 0, high))

    def __getitem__(self, place: int) -> Word:
        """Bit `place` of an unsigned word, 0 the lowest."""
        self._unsigned("[]", 0)
        if not 0 <= place < self.builder.width(self.node):
            raise ModelError(f"bit {place} of a word with the bits 0 to {self.builder.width(self.node) - 1}")
        return Word(self.builder, self.builder.apply(Op.SLICE, [self.node], [place, place]), 0, 1)

    def __eq__(self, other: object) -> Word:  # type: ignore[override]
        return self._compared(Op.EQ, other)

    def __ne__(self, other: object) -> Word:  # type: ignore[override]
        return ~self._compared(Op.EQ, other)

    def __lt__(self, other: Word | int) -> Word:
        return self._compared(Op.ULT, other)

    def __ge__(self, other: Word | int) -> Word:
        return ~(self < other)

    def __gt__(self, other: Word | int) -> Word:
        return self._lifted(other) < self

    def __le__(self, other: Word | int) -> Word:
        return ~(self > other)

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise ModelError(
            "a condition over registers is neither true nor false: write & | ~ and ite(), not and, or, not, if, and "
            "a < b & b < c with brackets, not a < b < c"
        )

    def _lifted(self, other: object) -> Word:
        return lifted(self.builder, other)

    def _unsigned(self, operator: str, other: Word | int) -> Word:
        o = self._lifted(other)
        for word in (self, o):
            if word.low < 0:
                raise ModelError(f"{operator} is of words that are not negative; one lies in {word.low} .. {word.high}")
        return o

    def _joined(self, op: Op, other: Word) -> Word:
        return self._computed(op, other, 0, (1 << max(self.high, other.high).bit_length()) - 1)

    def _computed(self, op: Op, other: Word, low: int, high: int) -> Word:
        """The result modulo 2^width, with a width that holds it."""
        width = bits(low, high)
        return Word(self.builder, self.builder.apply(op, [self.fitted(width), other.fitted(width)]), low, high)

    def _compared(self, op: Op, other: object) -> Word:
        o = self._lifted(other)
        low, high = min(self.low, o.low), max(self.high, o.high)
        width = bits(low, high)
        op = Op.SLT if op is Op.ULT and low < 0 else op
        return Word(self.builder, self.builder.apply(op, [self.fitted(width), o.fitted(width)]), 0, 1)


def ite(condition: Word, yes: Word | int, no: Word | int) -> Word:
    """`yes` where the condition holds, else `no`."""
    b = condition.builder
    one, two = lifted(b, yes), lifted(b, no)
    low, high = min(one.low, two.low), max(one.high, two.high)
    width = bits(low, high)
    return Word(b, b.apply(Op.ITE, [condition.bit, one.fitted(width), two.fitted(width)]), low, high)


def bits(low: int, high: int) -> int:
    """Bits that hold every integer of low .. high. Raises `ModelError` where there are too many."""
    width = max(high.bit_length(), 1) if low >= 0 else max((-low - 1).bit_length(), high.bit_length()) + 1
    if width > MAX_WIDTH:
        raise ModelError(f"a word of {width} bits; {MAX_WIDTH} are the most")
    return width


def constant(builder: Builder, value: int) -> Word:
    """A number as a word."""
    return Word(builder, builder.const(value, bits(value, value)), value, value)


def lifted(builder: Builder, value: object) -> Word:
    """A word of this builder, or a number as one. Raises `ModelError`."""
    if isinstance(value, Word):
        if value.builder is not builder:
            raise ModelError("words of two machines in one expression")
        return value
    if isinstance(value, int):
        return constant(builder, int(value))
    raise ModelError(f"{value!r} in an expression of a machine; words and whole numbers are known")


def _narrow(word: Word) -> Word:
    """The word in as few bits as its bounds need."""
    return Word(word.builder, word.fitted(bits(word.low, word.high)), word.low, word.high)
