"""BTOR2: writer of circuits, and of parts of them, as text that `formats.btor2.reader` and the checker read back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from venmas.model.circuit.nodes import Circuit, Nodes, needed
from venmas.model.circuit.operators import Op


def to_btor2(circuit: Circuit) -> str:
    """A circuit as a netlist; its names are outputs. Conditions of initial states (`starts`) have no place in it."""
    text = _Text(circuit)
    for node in (*circuit.registers, *circuit.inputs):
        text.leaf(node, "state" if node in circuit.registers else "input")
    firsts = [first for first in circuit.init if first is not None]
    text.nodes([*firsts, *circuit.next, *circuit.constraints, *circuit.names.values()])
    for what, values in (("init", circuit.init), ("next", circuit.next)):
        for register, value in zip(circuit.registers, values, strict=True):
            if value is not None:
                text.line(f"{what} {text.sort(circuit.width(value))} {text.known[register]} {text.known[value]}")
    for node in circuit.constraints:
        text.line(f"constraint {text.known[node]}")
    for name, node in circuit.names.items():
        text.line(f"output {text.known[node]} {name}")
    return text.text()


def outputs_to_btor2(source: Nodes, registers: Mapping[int, str], outputs: Sequence[int]) -> str:
    """Nodes as the outputs of a netlist over registers, which are states of these symbols, without updates."""
    text = _Text(source)
    for node in needed(source, outputs):
        if node in registers:
            text.leaf(node, "state", registers[node])
    text.nodes(outputs)
    for node in outputs:
        text.line(f"output {text.known[node]}")
    return text.text()


class _Text:
    """Lines in the making. known: of each node that was written the number of its line."""

    def __init__(self, source: Nodes) -> None:
        self._source, self._lines = source, list[str]()
        self._sorts: dict[int, int] = {}
        self.known: dict[int, int] = {}

    def text(self) -> str:
        return "".join(f"{line}\n" for line in self._lines)

    def line(self, rest: str) -> int:
        """A line more; its number."""
        self._lines.append(f"{len(self._lines) + 1} {rest}")
        return len(self._lines)

    def sort(self, width: int) -> int:
        if width not in self._sorts:
            self._sorts[width] = self.line(f"sort bitvec {width}")
        return self._sorts[width]

    def leaf(self, node: int, kind: str, symbol: str = "") -> None:
        sort = self.sort(self._source.nodes[node].width)
        self.known[node] = self.line(f"{kind} {sort} {symbol}".rstrip())

    def nodes(self, roots: Sequence[int]) -> None:
        for index in needed(self._source, roots, self.known):
            op, width, args, params = self._source.nodes[index]
            sort = self.sort(width)
            if op is Op.CONST:
                self.known[index] = self.line(f"consth {sort} {params[0]:x}")
            else:
                words = [str(self.known[arg]) for arg in args] + [str(number) for number in params]
                self.known[index] = self.line(f"{op} {sort} {' '.join(words)}")
