"""A second interpreter of BTOR2 text, one word at a time with Python integers: runs are followed with it.

It reads the text by itself and shares nothing with `venmas.model.circuit`.
"""

from __future__ import annotations

from collections.abc import Mapping

from btor2_reference import reference


class Netlist:
    """The lines of a netlist by number. A state without `next` is left to whoever says what values there are."""

    def __init__(self, text: str) -> None:
        self.lines: dict[int, tuple[str, list[str]]] = {}
        self.widths: dict[int, int] = {}
        self.names: dict[str, int] = {}
        self.next: dict[int, int] = {}
        self.init: dict[int, int] = {}
        for line in text.splitlines():
            words = line.split(";")[0].split()
            if not words:
                continue
            number, operator, rest = int(words[0]), words[1], words[2:]
            if operator == "sort":
                self.widths[number] = int(rest[1])
            elif operator in ("next", "init"):
                (self.next if operator == "next" else self.init)[int(rest[1])] = int(rest[2])
            elif operator in ("output", "constraint", "bad", "fair"):
                self.names.update({rest[1]: int(rest[0])} if len(rest) > 1 else {})
            else:
                self.lines[number] = (operator, rest)
                if not rest[-1].lstrip("-").isdigit():
                    self.names[rest[-1]] = number

    def width(self, node: int) -> int:
        return self.widths[int(self.lines[abs(node)][1][0])]

    def values(self, leaves: Mapping[int, int]) -> dict[int, int]:
        """Every node, where inputs and states have these values (those that are not named: 0)."""
        found: dict[int, int] = {}

        def at(word: str) -> int:
            node = int(word)
            return found[node] if node > 0 else (1 << self.width(node)) - 1 - found[-node]

        for number, (operator, rest) in self.lines.items():
            width = self.widths[int(rest[0])]
            if operator in ("input", "state"):
                value = leaves.get(number, 0)
            elif operator in ("const", "constd", "consth"):
                value = int(rest[1], {"const": 2, "constd": 10, "consth": 16}[operator]) % (1 << width)
            elif operator in ("zero", "one", "ones"):
                value = {"zero": 0, "one": 1, "ones": (1 << width) - 1}[operator]
            else:
                count = {"slice": 1, "uext": 1, "sext": 1, "ite": 3}.get(operator)
                args = [w for w in rest[1:] if w.lstrip("-").isdigit()]
                count = len(args) if count is None else count
                operands, numbers = args[:count], [int(w) for w in args[count:]]
                value = reference(operator, [at(w) for w in operands], [self.width(int(w)) for w in operands], numbers)
            assert 0 <= value < 1 << width, (number, operator)
            found[number] = value
        return found
