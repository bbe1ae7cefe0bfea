"""Signals of a design that Yosys translates: which of them may be asked, and names for registers that have none.

Yosys turns a register with an asynchronous reset into a register without a name and a choice behind it, which has the
name; and one whose parts are driven in several places into several. Where the name of a part is gone the netlist gets
it back: ``n[7:4]`` for bits of n, ``n@stored`` for what a register holds while its reset overrides it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from venmas.errors import CircuitError

STORED = "@stored"
"""Of what a register with an asynchronous reset holds: n is what is seen of ``n@stored``."""
_BIT = re.compile(r"(.+)\[(\d{1,9})\]")
_PART = re.compile(r"\[\d+:\d+\]$")
_MOST_LISTED = 100
_Module = Mapping[str, Any]
"""A module of Yosys's JSON."""


def bases(name: str) -> Iterator[str]:
    """A name, and the words that it may be a bit of."""
    yield name
    while match := _BIT.fullmatch(name):
        name = match[1]
        yield name


def shown_as(register: str) -> str:
    """The signal that shows what a register, or a part of one, holds; most show it themselves."""
    return _PART.sub("", register.removesuffix(STORED))


def check_asked(path: str, module: _Module, names: Collection[str], asked: Collection[str]) -> None:
    """Raise `CircuitError` for what is asked and not there.

    module: the design before anything was dropped. names: of its netlist.
    """
    for name in asked:
        if not any(base in names for base in bases(name)):
            raise CircuitError(f"{path}: {_why_not(module, names, name)}")


def _why_not(module: _Module, names: Collection[str], name: str) -> str:
    nets, memories = module["netnames"], module.get("memories", {})
    parameters = module.get("parameter_default_values", {})
    for base in bases(name):
        if base in memories:
            first, size = memories[base]["start_offset"], memories[base]["size"]
            index = _BIT.fullmatch(next((one for one in bases(name) if one.startswith(f"{base}[")), ""))
            if index is None or not 0 <= int(index[2]) - first < size:
                words = f"{base}[{first}] to {base}[{first + size - 1}]"
                return f"{name} is no word of the memory {base}; its words are {words}"
            return (
                f"{name}: nothing that is kept reads the memory {base}, and Yosys drops it; have a wire read the word "
                "of it that is meant, and ask of the wire"
            )
        if base in parameters:
            return f"{base} is a parameter, not a signal: write its value in the formula (--set changes it)"
        outer = base.rpartition(".")[0]
        if outer in nets:
            width = len(nets[outer]["bits"])
            return (
                f"{base}: fields of {outer} have no names in the netlist; {outer} is a word of {width} bits: "
                f"ask of it or of its bits, {outer}[0] to {outer}[{width - 1}], the last field lowest"
            )
    there = sorted({*names, *(net for net, found in nets.items() if not found["hide_name"])})
    more = f", and {len(there) - _MOST_LISTED} more" if len(there) > _MOST_LISTED else ""
    return f"the design has no signal {name!r}; it has {', '.join(there[:_MOST_LISTED]) or 'none with a name'}{more}"


def named_registers(text: str) -> str:
    """The netlist of Yosys with a symbol for each register that is part of a named word and has none."""
    rows = [line.split(";", 1)[0].split() for line in text.splitlines()]
    lines = {words[0]: words for words in rows if len(words) > 1}
    widths = {words[0]: int(words[3]) for words in rows if words[1:3] == ["sort", "bitvec"]}
    updated = {words[3] for words in rows if words[1:2] == ["next"]}
    free = {n for n, words in lines.items() if words[1] == "state" and len(words) == 3 and n in updated}
    taken = {words[-1] for words in rows if words}
    symbols: dict[str, str] = {}
    for symbol, number in sorted(_named(rows), key=lambda one: (len(one[0]), one)):
        for part, high, low in _parts(lines, widths, number):
            name = symbol if high - low + 1 == widths[lines[number][2]] else f"{symbol}[{high}:{low}]"
            below = [one for one in _stored(lines, part) if one in free]
            if len(below) == 1 and lines[below[0]][2] == lines[part][2]:
                found = name if part == below[0] else name + STORED
                if below[0] not in symbols and found not in taken:
                    symbols[below[0]] = found
                    taken.add(found)
    ends = {" ".join(lines[number]): f"{' '.join(lines[number])} {symbol}" for number, symbol in symbols.items()}
    return "".join(f"{ends.get(line.split(';', 1)[0].strip(), line)}\n" for line in text.splitlines())


def _named(rows: list[list[str]]) -> Iterator[tuple[str, str]]:
    """Symbols, and the lines that they name."""
    for words in rows:
        if words[1:2] == ["uext"] and len(words) == 6 and words[4] == "0":
            yield words[5], words[3]
        elif words[1:2] == ["output"] and len(words) == 4:
            yield words[3], words[2]


def _parts(lines: Mapping[str, list[str]], widths: Mapping[str, int], number: str) -> Iterator[tuple[str, int, int]]:
    """What a word is put together of: line, highest and lowest bit."""
    stack = [(number, 0)]
    while stack:
        number, low = stack.pop()
        words = lines[number]
        if words[1] == "concat":
            stack += [(words[4], low), (words[3], low + widths[lines[words[4]][2]])]
        else:
            yield number, low + widths[words[2]] - 1, low


def _stored(lines: Mapping[str, list[str]], number: str) -> list[str]:
    """The states that a word shows where no reset or set overrides them."""
    found, stack = set(), [number]
    while stack:
        number = stack.pop()
        words = lines[number]
        if words[1] == "state":
            found.add(number)
        elif words[1] == "ite":
            stack += words[4:6]
        elif words[1] in ("and", "or"):
            stack += words[3:5]
    return sorted(found)
