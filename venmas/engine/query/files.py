"""Network files of a query: read with the tensors that VNN-LIB 2.0 declares, and run as deployed."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from venmas.engine.query.decide import shares
from venmas.engine.query.joint import check_relation
from venmas.errors import NetworkError
from venmas.formats.vnnlib.query import Declared, Query
from venmas.nn import Network, load_network
from venmas.nn.deployed import run_deployed
from venmas.nn.onnx_ends import read_declared


def load_networks(paths: Sequence[str | PathLike[str]], query: Query) -> list[Network]:
    """The networks of files in the order of the query, hidden nodes among their outputs.

    Raises `NetworkError` where a file has no such tensors, `UsageError` where networks are not related as is declared
    and `venmas.engine.query.joint.check_networks` cannot see it, as hidden nodes differ.
    """
    if not query.networks:
        return [load_network(path) for path in paths]
    files = {declared.name: Path(path) for declared, path in zip(query.networks, paths, strict=True)}
    known = {declared.name: declared for declared in query.networks}
    for declared in query.networks:
        if declared.relation and declared.hidden_names != known[declared.other].hidden_names:
            plain = [_load(files[name], known[name], hidden=False) for name in (declared.name, declared.other)]
            check_relation(declared, *plain)
    return [_load(files[declared.name], declared) for declared in query.networks]


def _load(path: Path, declared: Declared, hidden: bool = True) -> Network:
    if path.suffix.lower() == ".onnx":
        nodes = [(tensor.onnx, tensor.shape) for tensor in declared.hidden] if hidden else []
        inputs, outputs = ([tensor.shape for tensor in tensors] for tensors in (declared.inputs, declared.outputs))
        return read_declared(path, inputs, outputs, nodes)
    if declared.hidden or len(declared.inputs) + len(declared.outputs) > 2:
        raise NetworkError(
            f"{path}: network {declared.name} is declared with hidden nodes, or several inputs or outputs, which are "
            "those of .onnx files: export it as ONNX"
        )
    return load_network(path)


def run_networks(
    paths: Sequence[str | PathLike[str]], networks: Sequence[Network], query: Query, point: Sequence[Fraction]
) -> tuple[str, NDArray[np.float32], NDArray[np.float32]]:
    """The runtimes of the networks of files, and their inputs and outputs in float32, one after the other.

    Raises `NetworkError` where onnxruntime refuses a file.
    """
    declared = query.networks or [None] * len(networks)
    runs = [
        run_deployed(path, network, point[own])
        if tensors is None
        else run_deployed(path, network, point[own], len(tensors.outputs), tensors.hidden_names)
        for path, tensors, (network, own) in zip(paths, declared, shares(networks), strict=True)
    ]
    x, y = (np.concatenate([run[part] for run in runs]) for part in (1, 2))
    return " and ".join(dict.fromkeys(name for name, _, _ in runs)), x, y
