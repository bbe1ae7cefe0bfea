"""Cells that an exporter has written out, as PyTorch does LSTMCell and GRUCell: recognised, and made one node each.

Torch multiplies inputs and hidden state by their matrices (Gemm), and splits sums or products into gates. With i, f,
g, o (z, r) parts of these, * by component:

    LSTM  c+ = f * c + i * g,  h+ = o * tanh(c+)
    GRU   h+ = (h - n) * z + n,  n = tanh(W x + b + r * (R h + b'))

The memory is an input of the model, its next value one of its outputs. Which input is h is said by the equation of a
GRU; of an LSTM it is the one with as many numbers as there are units, and where both could be, no cell is recognised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from venmas.nn.onnx_moves import MOVES
from venmas.nn.onnx_tensors import DOUBLE, FLOAT

_CODES = {"float32": FLOAT, "float64": DOUBLE, "int64": 7}
Constant = Callable[[str], "NDArray[Any] | None"]


class Gemm(NamedTuple):
    """A product of a tensor with constants, ``x W^T + b``."""

    x: str
    weight: NDArray[Any]
    bias: NDArray[Any]


class Part(NamedTuple):
    """One of equal parts of a tensor."""

    of: str
    at: int
    parts: int


class Written(NamedTuple):
    """A cell: its gates by Gemm of inputs and of the memory, in the order of ONNX, and its tensors."""

    kind: str
    inputs: Gemm
    memory: Gemm
    order: tuple[int, ...]
    before: tuple[str, ...]
    after: tuple[str, ...]


class Graph:
    """A graph, looked at from its outputs. constant: the value of a tensor that is constant, else None."""

    def __init__(self, graph: Any, constant: Constant) -> None:
        self.graph, self.constant = graph, constant
        self.makers = {name: node for node in graph.node for name in node.output if name}
        self.given = {info.name: info.type.tensor_type.shape.dim for info in graph.input}
        self.ends = {self.source(info.name) for info in graph.output}

    def source(self, name: str) -> str:
        """The tensor whose entries, in their order, are those of a vector."""
        while (maker := self.makers.get(name)) is not None and maker.op_type in MOVES:
            name = maker.input[0]
        return name

    def made(self, name: str, op: str) -> list[str] | None:
        """The inputs of the node that makes a tensor, where it is of a kind."""
        maker = self.makers.get(name)
        return list(maker.input) if maker is not None and maker.op_type == op and not maker.domain else None

    def pairs(self, name: str, op: str) -> Iterator[tuple[str, str]]:
        """The operands of a node of a kind, in both orders."""
        if given := self.made(name, op):
            yield given[0], given[1]
            yield given[1], given[0]

    def part(self, name: str) -> Part | None:
        """A tensor as one of equal parts of the second axis."""
        given, maker = self.made(name, "Split"), self.makers.get(name)
        if given is None or maker is None or _attributes(maker).get("axis") != 1:
            return None
        sizes = self.constant(given[1]) if len(given) > 1 else _attributes(maker).get("split")
        if sizes is not None and len({*map(int, sizes)}) != 1:
            return None
        return Part(given[0], list(maker.output).index(name), len(maker.output))

    def unit(self, name: str, op: str) -> Part | None:
        """A tensor as units of a kind of such a part."""
        given = self.made(name, op)
        return self.part(given[0]) if given else None

    def gemm(self, name: str) -> Gemm | None:
        """A tensor as a product with constants."""
        given, maker = self.made(name, "Gemm"), self.makers.get(name)
        if given is None or maker is None or len(given) < 2:
            return None
        said = {"alpha": 1.0, "beta": 1.0, "transA": 0, "transB": 0, **_attributes(maker)}
        weight, bias = self.constant(given[1]), self.constant(given[2]) if len(given) > 2 and given[2] else None
        if said != {"alpha": 1.0, "beta": 1.0, "transA": 0, "transB": 1} or weight is None or weight.ndim != 2:
            return None
        bias = np.zeros(len(weight), weight.dtype) if len(given) < 3 or not given[2] else bias
        return None if bias is None or bias.shape != (len(weight),) else Gemm(given[0], weight, bias)

    def remembers(self, name: str, units: int) -> bool:
        """Is a tensor an input of the model, and has it the shape of a memory, (batch, units)?"""
        dims = self.given.get(name, ())
        return len(dims) == 2 and dims[1].dim_value == units and self.constant(name) is None

    def lstm(self, end: str) -> Written | None:
        """The LSTM whose hidden state a tensor is, if it is one."""
        for gate, bent in self.pairs(end, "Mul"):
            o, state = self.unit(gate, "Sigmoid"), self.made(bent, "Tanh")
            if o is None or state is None:
                continue
            for kept, new in self.pairs(state[0], "Add"):
                for (forget, c), (into, fresh) in _product(self.pairs(kept, "Mul"), self.pairs(new, "Mul")):
                    i, f, g = self.unit(into, "Sigmoid"), self.unit(forget, "Sigmoid"), self.unit(fresh, "Tanh")
                    if i is None or f is None or g is None or {i.of, f.of, g.of} != {o.of}:
                        continue
                    order = i.at, o.at, f.at, g.at
                    if sorted(order) == [0, 1, 2, 3] == [*range(o.parts)]:
                        return self._lstm(o.of, order, c, (end, state[0]))
        return None

    def _lstm(self, total: str, order: tuple[int, ...], c: str, after: tuple[str, str]) -> Written | None:
        made = []
        for first, second in self.pairs(total, "Add"):
            a, b = self.gemm(first), self.gemm(second)
            units = 0 if b is None else b.weight.shape[1]
            if a is None or b is None or len(a.weight) != len(b.weight) or len(b.weight) != 4 * units:
                continue
            if b.x != c and self.remembers(b.x, units) and self.remembers(c, units):
                made.append(Written("LSTM", a, b, order, (b.x, c), after))
        return made[0] if len(made) == 1 else None

    def gru(self, end: str) -> Written | None:
        """The GRU whose hidden state a tensor is, if it is one."""
        for scaled, new in self.pairs(end, "Add"):
            candidate = self.made(new, "Tanh")
            for change, gate in self.pairs(scaled, "Mul") if candidate else ():
                z, difference = self.made(gate, "Sigmoid"), self.made(change, "Sub")
                if z is None or difference is None or difference[1] != new:
                    continue
                for plain, masked in self.pairs((candidate or [""])[0], "Add"):
                    for past, reset in self.pairs(masked, "Mul"):
                        r = self.made(reset, "Sigmoid")
                        cell = r and self._gru(plain, past, z[0], r[0], difference[0], end)
                        if cell:
                            return cell
        return None

    def _gru(self, plain: str, past: str, z: str, r: str, h: str, end: str) -> Written | None:
        new, old = self.part(plain), self.part(past)
        if new is None or old is None or new[1:] != old[1:] or new.parts != 3:
            return None
        a, b = self.gemm(new.of), self.gemm(old.of)
        places = [
            next((p.at for x, y in self.pairs(gate, "Add") if (p := _both(self.part(x), self.part(y), new, old))), None)
            for gate in (z, r)
        ]
        if a is None or b is None or b.x != h or None in places or len(a.weight) != len(b.weight):
            return None
        if len(b.weight) != 3 * b.weight.shape[1] or not self.remembers(h, b.weight.shape[1]):
            return None
        order = (*(int(place) for place in places if place is not None), new.at)
        return Written("GRU", a, b, order, (h,), (end,)) if sorted(order) == [0, 1, 2] else None


def with_cells(model: Any, constant: Constant) -> Any:
    """The model with a node for each cell that is written out; the same one where there is none."""
    graph = Graph(model.graph, constant)
    cells = [cell for name in graph.makers if name in graph.ends and (cell := graph.lstm(name) or graph.gru(name))]
    cells = [cell for cell in cells if graph.ends.issuperset(cell.after)]
    if not cells:
        return model
    made = type(model)()
    made.CopyFrom(model)
    by_end = {cell.after[0]: cell for cell in cells}
    gone = {name for cell in cells for name in cell.after}
    del made.graph.node[:]
    for node in model.graph.node:
        for name in node.output:
            if name in by_end:
                _write(made.graph, by_end[name], list(by_end).index(name))
        if not gone.intersection(node.output):
            made.graph.node.add().CopyFrom(node)
    _prune(made.graph)
    return made


def _write(graph: Any, cell: Written, number: int) -> None:
    """Append the node of a cell, between nodes that give its tensors the shapes that ONNX has."""

    def store(what: str, value: NDArray[Any]) -> str:
        tensor = graph.initializer.add()
        tensor.name, tensor.raw_data = f"venmas.{number}.{what}", np.ascontiguousarray(value).tobytes()
        tensor.data_type = _CODES[value.dtype.name]
        tensor.dims.extend(value.shape)
        return str(tensor.name)

    def node(op: str, inputs: list[str], outputs: list[str]) -> Any:
        made = graph.node.add()
        made.op_type, made.name = op, f"venmas.{number}.{outputs[-1]}"
        made.input.extend(inputs)
        made.output.extend(outputs)
        return made

    units = cell.memory.weight.shape[1]
    rows = np.concatenate([np.arange(k * units, (k + 1) * units) for k in cell.order])
    w, r = cell.inputs.weight[rows], cell.memory.weight[rows]
    both = np.concatenate([cell.inputs.bias[rows], cell.memory.bias[rows]])
    weights = [store(name, value[None]) for name, value in (("W", w), ("R", r), ("B", both))]
    cube, flat = store("cube", np.array([1, 1, -1])), store("flat", np.array([1, -1]))
    taken = [f"venmas.{number}.in.{name}" for name in (cell.inputs.x, *cell.before)]
    for name, inside in zip((cell.inputs.x, *cell.before), taken, strict=True):
        node("Reshape", [name, cube], [inside])
    given = [f"venmas.{number}.out.{name}" for name in cell.after]
    made = node(cell.kind, [taken[0], *weights, "", *taken[1:]], ["", *given])
    for name, value in (("hidden_size", units), *([("linear_before_reset", 1)] if cell.kind == "GRU" else [])):
        attribute = made.attribute.add()
        attribute.name, attribute.i, attribute.type = name, value, 2
    for inside, name in zip(given, cell.after, strict=True):
        node("Reshape", [inside, flat], [name])


def _prune(graph: Any) -> None:
    """Leave out nodes that no output needs."""
    needed, kept = {info.name for info in graph.output}, []
    for node in reversed(graph.node):
        if needed.intersection(node.output):
            needed.update(node.input)
            kept.append(node)
    copied: Any = type(graph)
    nodes = copied()
    nodes.node.extend(reversed(kept))
    del graph.node[:]
    graph.node.extend(nodes.node)


def _attributes(node: Any) -> dict[str, Any]:
    return {a.name: {1: a.f, 2: a.i, 7: list(a.ints)}.get(a.type) for a in node.attribute}


def _both(x: Part | None, y: Part | None, new: Part, old: Part) -> Part | None:
    """The part that two tensors are, of what comes of the inputs and of the memory, if they are the same one."""
    same = x is not None and y is not None and (x.of, y.of) == (new.of, old.of) and x[1:] == y[1:]
    return x if same else None


def _product(
    first: Iterator[tuple[str, str]], second: Iterator[tuple[str, str]]
) -> Iterator[tuple[tuple[str, str], tuple[str, str]]]:
    others = [*second]
    return ((a, b) for a in first for b in others)
