"""ONNX files with tensors as somebody declares them: every input and output with its shape, and hidden ones by name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

from venmas.errors import NetworkError, did_you_mean
from venmas.nn.chain import Budget
from venmas.nn.files import read_bytes
from venmas.nn.network import Network
from venmas.nn.onnx_reader import Reader, parse_model
from venmas.nn.onnx_tensors import EXTERNAL, read_tensor

Shape: TypeAlias = tuple[int, ...]


def read_declared(
    path: Path, inputs: Sequence[Shape], outputs: Sequence[Shape], hidden: Sequence[tuple[str, Shape]] = ()
) -> Network:
    """The network from all inputs to all outputs, both in the order of the file, and to hidden tensors after them.

    Shapes are those declared, which dimensions of 1, as that of a batch, may be left out of or added to. hidden: names,
    as in `tensor_of`. Raises `NetworkError` for whatever cannot be read, or differs from what is declared.
    """
    model = parse_model(path, read_bytes(path))
    try:
        reader = Reader(model, path)
        names = [tensor_of(model, name) for name, _ in hidden]
        there = [output.name for output in model.graph.output]
        network = reader.read(there, None, names)
        given = [i.name for i in model.graph.input if i.name in reader.shapes]
        shapes = [*inputs, *outputs, *(shape for _, shape in hidden)]
        for what, known, declared in (("inputs", given, inputs), ("outputs", there, outputs)):
            if len(known) != len(declared):
                raise NetworkError(
                    f"{len(declared)} {what} are declared, the model has {len(known)}, {known[:10]}: declare each, in "
                    "the order of the model"
                )
        for name, shape in zip((*given, *there, *names), shapes, strict=True):
            own = reader.shapes[name]
            if [d for d in own if d != 1] != [d for d in shape if d != 1]:
                raise NetworkError(
                    f"tensor {name!r} is declared with the shape {list(shape)}, but has {list(own)}: declare that"
                )
    except NetworkError as error:
        raise NetworkError(f"{path}: {error}") from error
    return network


def tensor_of(model: Any, name: str) -> str:
    """The tensor of a model with this name, or else the first output of the only node with it.

    Raises `NetworkError` where there is none that a node computes.
    """
    nodes = model.graph.node
    tensors = {output for node in nodes for output in node.output if output}
    if name in tensors:
        return name
    named = [node.output[0] for node in nodes if node.name == name and name and node.output]
    if len(named) != 1:
        hint = did_you_mean(name, sorted(tensors | {node.name for node in nodes if node.name}))
        raise NetworkError(
            f"the model computes no tensor named {name!r}{hint}, and has {len(named)} nodes of that name: give the "
            "name of what a node gives"
        )
    return str(named[0])


def with_outputs(path: Path, hidden: Sequence[str]) -> tuple[bytes, list[str]]:
    """The model of a file with hidden tensors as outputs, in one piece, and the names of the tensors."""
    model = parse_model(path, read_bytes(path))
    names = [tensor_of(model, name) for name in hidden]
    for name in names:
        if all(output.name != name for output in model.graph.output):
            model.graph.output.add(name=name)
    for tensor in model.graph.initializer:
        if tensor.data_location == EXTERNAL:
            tensor.raw_data = read_tensor(tensor, path.parent, Budget()).tobytes()
            tensor.ClearField("data_location")
            tensor.ClearField("external_data")
    return bytes(model.SerializeToString()), names
