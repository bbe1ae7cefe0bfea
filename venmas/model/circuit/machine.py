"""Machines: bounded integer systems written in Python, as circuits.

A register keeps a word of some bits, and then the low bits of what it is given, as hardware does; or an integer of a
range, and then leaving the range is an error, not clipped (S1): `Machine.leaving` asks for it of every state within
the ranges, and who decides a property of the machine refutes it first (`procedures.netlist.ranges`). In the circuit
ranges are constraints.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from venmas.errors import ModelError
from venmas.model.circuit.builder import Builder
from venmas.model.circuit.integers import Word, bits, lifted
from venmas.model.circuit.nodes import Circuit
from venmas.model.circuit.operators import MAX_WIDTH

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")


@dataclass(frozen=True)
class Leaving:
    """A register of a range, and the node of one bit that says that its next value is outside."""

    register: str
    low: int
    high: int
    node: int


@dataclass
class _Register:
    word: Word
    ranged: bool
    first: int | None
    following: Word | None = None


@dataclass
class Machine:
    """A machine in the making: registers, inputs, what registers are given at each step, signals.

    properties: formulas of LTL over the names, by name.
    """

    name: str
    description: str = ""
    properties: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._builder = Builder()
        self._registers: dict[str, _Register] = {}
        self._names: dict[str, int] = {}
        self._assumed: list[int] = []

    def register(
        self, name: str, width: int | None = None, *, low: int = 0, high: int | None = None, init: int | None = None
    ) -> Word:
        """A register of `width` bits, or of an integer in low .. high. init: its first value; any one otherwise."""
        word = self._leaf(name, width, low, high, input_=False)
        if init is not None and not word.low <= init <= word.high:
            raise ModelError(f"{self.name}: {name} starts with {init}, outside of {word.low} .. {word.high}")
        self._registers[name] = _Register(word, high is not None, init)
        return word

    def input(self, name: str, width: int | None = 1, *, low: int = 0, high: int | None = None) -> Word:
        """An input: at every step any word of `width` bits, or any integer in low .. high."""
        return self._leaf(name, None if high is not None else width, low, high, input_=True)

    def next(self, **updates: Word | int) -> None:
        """What registers are one step later, by name. Each register is given once."""
        for name, value in updates.items():
            found = self._registers.get(name)
            if found is None:
                raise ModelError(f"{self.name}: {name} is given a value and is no register")
            if found.following is not None:
                raise ModelError(f"{self.name}: {name} is given a value twice")
            found.following = lifted(self._builder, value)

    def signal(self, name: str, value: Word | int) -> Word:
        """A name for a word that is not negative, for properties to speak of."""
        word = lifted(self._builder, value)
        if word.low < 0:
            raise ModelError(
                f"{self.name}: the signal {name} may be negative ({word.low} .. {word.high}); add an offset"
            )
        self._named(name, word.node)
        return word

    def property(self, name: str, formula: str) -> None:
        """A formula of LTL over registers, inputs and signals."""
        if name in self.properties:
            raise ModelError(f"{self.name}: two properties are called {name!r}")
        self.properties[name] = formula

    def circuit(self) -> Circuit:
        """The circuit, with ranges as constraints. Raises `ModelError` for a register that is given nothing."""
        following = [self._following(name) for name in self._registers]
        given = zip(self._registers.values(), following, strict=True)
        nodes = [word.fitted(self._builder.width(kept.word.node)) for kept, word in given]
        firsts = [
            None if kept.first is None else self._builder.const(kept.first, self._builder.width(kept.word.node))
            for kept in self._registers.values()
        ]
        b = self._builder
        return Circuit(
            nodes=tuple(b.nodes),
            inputs=tuple(b.inputs),
            registers=tuple(b.registers),
            next=tuple(nodes),
            init=tuple(firsts),
            constraints=tuple(self._assumed),
            names=dict(self._names),
        )

    def leaving(self) -> tuple[Circuit, list[Leaving]]:
        """Conditions that must not hold in any state and with any inputs within ranges, and the circuit they are of."""
        found = []
        for name, kept in self._registers.items():
            word = self._following(name)
            low, high = kept.word.low, kept.word.high
            if kept.ranged and not low <= word.low <= word.high <= high:
                found.append(Leaving(name, low, high, ((word < low) | (word > high)).bit))
        return self.circuit(), found

    def _following(self, name: str) -> Word:
        word = self._registers[name].following
        if word is None:
            raise ModelError(f"{self.name}: {name} is never given a value; next({name}={name}) keeps the one it has")
        return word

    def _leaf(self, name: str, width: int | None, low: int, high: int | None, *, input_: bool) -> Word:
        if (width is None) == (high is None):
            raise ModelError(f"{self.name}: {name} has either a width in bits or a highest value; give one of them")
        if width is not None:
            if not 1 <= width <= MAX_WIDTH or low:
                raise ModelError(
                    f"{self.name}: {name} has {width} bits from {low}; 1 to {MAX_WIDTH} from 0 are possible"
                )
            high = (1 << width) - 1
        assert high is not None
        if not 0 <= low <= high:
            raise ModelError(
                f"{self.name}: {name} lies in {low} .. {high}; ranges start at 0 or above and are not empty"
            )
        size = bits(low, high)
        node = self._builder.input(size) if input_ else self._builder.register(size)
        self._named(name, node)
        word = Word(self._builder, node, 0, (1 << size) - 1)
        if low:
            self._assumed.append((word >= low).bit)
        if high < word.high:
            self._assumed.append((word <= high).bit)
        return Word(self._builder, node, low, high)

    def _named(self, name: str, node: int) -> None:
        if not _NAME.fullmatch(name):
            raise ModelError(f"{self.name}: {name!r} is no name; letters, digits, _ and . make one")
        if name in self._names:
            raise ModelError(f"{self.name}: two things are called {name!r}")
        self._names[name] = node
