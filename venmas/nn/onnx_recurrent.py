"""ONNX files of networks with memory: nodes RNN, GRU and LSTM, with feed-forward parts between them.

The graph is cut at these nodes, and each part is read by `venmas.nn.onnx_reader` as a file of its own would be. A step
is one entry of the sequence, of a batch of one; where the file fixes a length above 1, a step is the whole sequence,
whose entries are inputs one after the other. The memory comes in by ``initial_h`` and ``initial_c`` and goes out by
``Y_h`` and ``Y_c``; a file that has no such inputs keeps it along a sequence whose length is not fixed, and begins
every sequence of a fixed length with zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from venmas.errors import NetworkError
from venmas.nn.files import read_bytes
from venmas.nn.network import Layer, Network
from venmas.nn.onnx_cells import with_cells
from venmas.nn.onnx_moves import MOVES
from venmas.nn.onnx_reader import DOMAINS, Reader, chosen, needed, parse_model
from venmas.nn.onnx_table import RECURRENT, Call, fit
from venmas.nn.onnx_tensors import DOUBLE, FLOAT
from venmas.nn.recurrent import Cell, Recurrent, Unrolled

_FIRST = 7
"""The operator set from which on they are read."""
_KEPT = "its memory is not kept from step to step: export the model with its states as inputs and outputs"
Place: TypeAlias = tuple[str, int]
"""An input of the model, and the entry of its first axis."""


def read_recurrent(path: Path, outputs: Sequence[str] | None = None) -> Recurrent:
    """Read an ONNX model with memory (opset 7 or later). Raises `NetworkError`, naming the node.

    outputs: names of those that the network has, besides its memory; where the model has one, it need not be named.
    """
    model = parse_model(path, read_bytes(path))
    try:
        cut = _Cut(model, path)
        return (cut if cut.nodes else _Cut(with_cells(model, _constant(model, path)), path)).read(outputs)
    except NetworkError as error:
        raise NetworkError(f"{path}: {error}") from error


def _constant(model: Any, path: Path) -> Callable[[str], NDArray[Any] | None]:
    """The value of a tensor by its name, where it is constant."""
    reader = Reader(model, path)
    reader.begin()

    def value(name: str) -> NDArray[Any] | None:
        if name not in reader.constants:
            try:
                for _, maker in needed(model.graph, [name]):
                    if not reader.constants.keys() & {*maker.output}:
                        reader.node(maker, set())
            except NetworkError:  # of what is computed from inputs
                return None
        return reader.constants.get(name)

    return value


class _Cut:
    """A model, with its recurrent nodes."""

    def __init__(self, model: Any, path: Path) -> None:
        self.model, self.path, self.graph = model, path, model.graph
        self.nodes = [node for node in self.graph.node if node.op_type in RECURRENT and node.domain in DOMAINS]
        self.makers = {name: node for node in self.graph.node for name in node.output if name}
        self.states: set[str] = set()

    def read(self, outputs: Sequence[str] | None) -> Recurrent:
        if not self.nodes:
            raise NetworkError(
                "the model has no RNN, GRU or LSTM, nor an LSTMCell or GRUCell as PyTorch writes them, with its memory "
                "as inputs and outputs of shape (batch, units): read a network without memory with load_network"
            )
        self.whole = Reader(self.model, self.path)
        self.whole.begin()
        if self.whole.opset < _FIRST:
            raise NetworkError(f"recurrent operators of opset {self.whole.opset}: expected {_FIRST} or later")
        calls = [self._at(node, lambda node=node: self._call(node)) for node in self.nodes]
        kept = [
            self._at(node, lambda call=call: self._memory(call)) for node, call in zip(self.nodes, calls, strict=True)
        ]
        memory = [name for names in kept for name in names]
        if len(set(memory)) < len(memory):
            raise NetworkError("an input is the memory of several nodes: expected one for each")
        kept_in = {name for name, _ in memory}
        given = [info for info in self.graph.input if info.name not in kept_in | self.whole.constants.keys()]
        stages: list[Network | Cell | Unrolled] = []
        before, whole = {info.name: info for info in given}, dict[int, tuple[Any, Unrolled]]()
        for node, call, names in zip(self.nodes, calls, kept, strict=True):
            first, shape = self._part(before, [call.inputs[0]])
            cell = self._at(node, lambda call=call: self._cell(call))
            if len(shape) != 3 or shape[1:] != (1, cell.input_size):
                raise NetworkError(f"{_name(node)} takes a tensor of shape {list(shape)}: expected {_SHAPE}")
            if shape[0] == 1 and not (names or self._along(before, call.inputs[0])):
                raise NetworkError(f"{_name(node)}: {_KEPT}")
            stages += [*first, cell]
            if shape[0] > 1:
                whole[len(stages) - 1] = node, Unrolled(cell, shape[0], False, bool(names))
            if shape[0] == 1 or names:
                self.states.update(name for name in node.output[1:] if name)
            before = self._after(node, cell, shape[0])
        ends = [o.name for o in self.graph.output if not self._kept(o.name)]
        ends = chosen("outputs", ends, outputs, whole=False)
        last, _ = self._part(before, ends)
        for place, (node, cell) in whole.items():
            stages[place] = replace(cell, last=self._shown(node, ends))
        return Recurrent((*stages, *last), self.path.stem, str(self.path))

    def _shown(self, node: Any, ends: list[str]) -> bool:
        """Does what comes after a node use its last hidden state, and not those after all entries?"""
        later = self.nodes[self.nodes.index(node) + 1 :]
        used = self._used([later[0].input[0]] if later else ends)
        every, last = ([*node.output, ""][k] in used for k in (0, 1))
        if every and last:
            raise NetworkError(f"{_name(node)}: the hidden states of all entries are used, and the last one: {_EITHER}")
        return last

    def _at(self, node: Any, act: Any) -> Any:
        """The result of `act`, which reads a node; a `NetworkError` gets the name of it."""
        try:
            return act()
        except NetworkError as error:
            raise NetworkError(f"{_name(node)}: {error}") from error

    def _call(self, node: Any) -> Call:
        reader, inputs = self.whole, list(node.input)
        self._carry(inputs[1:4])
        call = fit(node.op_type, reader.opset, inputs, len(node.output), reader.attributes(node), self._known)
        for place, what in ((4, "sequence_lens"), (7, "P (peepholes)")):
            if call.optional(place):
                raise NetworkError(f"its input {what} is not supported: export the model without")
        return call

    def _carry(self, names: Sequence[str]) -> None:
        """Compute constants."""
        for _, maker in needed(self.graph, [name for name in names if name not in self.whole.constants]):
            if not self.whole.constants.keys() & {*maker.output}:
                self.whole.node(maker, set())

    def _known(self, name: str) -> bool:
        return name in self.whole.constants

    def _cell(self, call: Call) -> Cell:
        constants, kind = self.whole.constants, self.whole.constants[call.inputs[1]].dtype
        weight, recurrent = (constants.number(name, kind) for name in call.inputs[1:3])
        if weight.ndim != 3 or recurrent.ndim != 3 or len(weight) != 1 or len(recurrent) != 1:
            raise NetworkError(f"weights of the shapes {[weight.shape, recurrent.shape]}: expected one direction")
        name, rows = call.optional(3), weight.shape[1]
        biases = constants.number(name, kind) if name else np.zeros((1, 2 * rows))
        if biases.shape != (1, 2 * rows):
            raise NetworkError(f"biases of the shape {biases.shape}: expected {(1, 2 * rows)}")
        after = bool(call.attributes.get("linear_before_reset"))
        parts = biases[0, :rows], biases[0, rows:]
        kind_of: Any = call.op
        cell = Cell(kind_of, weight[0], recurrent[0], parts, after)
        if call.attributes["hidden_size"] not in (None, cell.units):
            raise NetworkError(f"hidden_size is {call.attributes['hidden_size']}, its weights have {cell.units} units")
        return cell

    def _memory(self, call: Call) -> list[Place]:
        """The inputs of the model that are the memory of a node; none where it begins with zeros."""
        positions = (5, 6) if call.op == "LSTM" else (5,)
        places = [self._initial(name) if (name := call.optional(position)) else None for position in positions]
        if any(places) and not all(places):
            raise NetworkError(f"a part of {_KEPT}")
        return [place for place in places if place]

    def _initial(self, name: str) -> Place | None:
        source, layer = self._source(name), 0
        while (maker := self.makers.get(source)) is not None and maker.op_type == "Expand":  # of zeros, as torch does
            source = self._source(maker.input[0])
        if maker is not None and maker.op_type == "Constant":
            self._carry([source])
        if source in self.whole.constants:
            if np.any(self.whole.constants[source]):
                raise NetworkError(f"{name!r} is not zero: export the model with its states as inputs")
            return None
        if (maker := self.makers.get(source)) is not None and maker.op_type == "Slice":
            source, layer = maker.input[0], self._layer(maker)
        if source not in {info.name for info in self.graph.input}:
            raise NetworkError(f"the initial memory {name!r} is computed by more than {', '.join(MOVES)}: {_KEPT}")
        return source, layer

    def _layer(self, node: Any) -> int:
        """The entry of its first axis that a Slice takes, as exporters write the memory of one of several layers."""
        names = [name for name in node.input[1:] if name]
        self._carry(names)
        starts, ends, axes, *steps = ([*self.whole.constants.get(name, ())] for name in [*names, "", ""][:4])
        if axes != [0] or len(starts) != 1 or ends != [starts[0] + 1] or any(step not in ([], [1]) for step in steps):
            raise NetworkError(f"{_name(node)} of the memory: expected one entry of its first axis; {_KEPT}")
        return int(starts[0])

    def _kept(self, name: str) -> bool:
        """Is a tensor the memory of a node, or that of several?"""
        source = self._source(name)
        maker = self.makers.get(source)
        if maker is not None and maker.op_type == "Concat":
            return all(map(self._kept, maker.input))
        return source in self.states

    def _source(self, name: str) -> str:
        """The tensor whose entries, in their order, are those of a vector."""
        while (maker := self.makers.get(name)) is not None and maker.op_type in MOVES:
            name = maker.input[0]
        return name

    def _after(self, node: Any, cell: Cell, length: int) -> dict[str, Any]:
        """The tensors that hold the hidden state after a node, over a sequence of some length."""
        made: dict[str, Any] = {}
        first = length if length > 1 else 0
        for name, shape in zip(node.output, ((first, 1, 1, cell.units), (1, 1, cell.units)), strict=False):
            if name:  # a dimension of 0: the sequence, whose length is not fixed
                made[name] = info = type(self.graph.input[0])(name=name)
                info.type.tensor_type.elem_type = self._element(node)
                for size in shape:
                    dim = info.type.tensor_type.shape.dim.add()
                    if size:
                        dim.dim_value = size
        return made

    def _element(self, node: Any) -> int:
        return DOUBLE if self.whole.constants[node.input[1]].dtype == np.float64 else FLOAT

    def _part(self, before: dict[str, Any], ends: list[str]) -> tuple[list[Network], tuple[int, ...]]:
        """The network from some tensors to others, or none where it changes nothing; the shape of its output."""
        used = self._used(ends)
        at = [name for name in before if name in used]
        beside = [n for n in sorted(used - {*before}) if (maker := self.makers.get(n)) is None or maker in self.nodes]
        if beside or not at:
            raise NetworkError(
                f"{ends[0]!r} depends on {beside or 'no input'}: expected a chain, in which each part takes what the "
                f"one before gives, here {[*before]}"
            )
        reader = Reader(self._cutout([before[name] for name in at], ends), self.path)
        network = reader.read(ends, at)
        same = network == Network((Layer(np.eye(network.input_size), np.zeros(network.input_size)),))
        return ([] if same else [network]), reader.shapes[ends[0]]

    def _used(self, ends: list[str]) -> Set[str]:
        """The names of tensors that others are computed from without a recurrent node between."""
        used: set[str] = set()
        stack = list(ends)
        while stack:
            name = stack.pop()
            maker = self.makers.get(name)
            if name and name not in used and name not in self.whole.constants:
                used.add(name)
                stack += [] if maker is None or maker in self.nodes else maker.input
        return used

    def _cutout(self, before: list[Any], ends: list[str]) -> Any:
        """The model with other inputs and outputs, without recurrent nodes; dimensions that are not fixed are 1."""
        part = type(self.model)()
        part.CopyFrom(self.model)
        del part.graph.input[:], part.graph.output[:], part.graph.node[:]
        part.graph.node.extend(node for node in self.graph.node if node not in self.nodes)
        part.graph.input.extend(before)
        part.graph.output.extend(type(before[0])(name=name) for name in ends)
        for info in part.graph.input:
            for dim in info.type.tensor_type.shape.dim:
                if not dim.HasField("dim_value"):
                    dim.dim_value = 1
        return part

    def _along(self, before: dict[str, Any], name: str) -> bool:
        """Does a sequence without a fixed length go on, from inputs of the model, in the first axis of a tensor?"""
        infos = [info for info in before.values() if info.name in self._used([name])]
        for info in infos:
            for k, dim in enumerate(info.type.tensor_type.shape.dim):
                if dim.HasField("dim_value"):
                    continue
                longer = self._cutout(infos, [name])
                for changed in longer.graph.input:
                    if changed.name == info.name:
                        changed.type.tensor_type.shape.dim[k].dim_value = 2
                reader = Reader(longer, self.path)
                try:
                    reader.read([name], [i.name for i in infos])
                except NetworkError:
                    continue
                if reader.shapes[name][0] == 2:
                    return True
        return False


_SHAPE = "[entries, 1, inputs], a batch of one"
_EITHER = "expected one of them"


def _name(node: Any) -> str:
    return f"node {node.name or node.output[0]!r} ({node.op_type})"
