"""The .nnet text format of Stanford (NNet, K. Julian): header, normalisation, then weights and biases by layer.

Comment lines start with ``//``; numbers are separated by commas, a trailing comma is allowed. After the comments come

1. number of layers, inputs, outputs, widest layer; 2. the width of every layer from the input on, the last one written
twice by some writers; 3. a flag, unused; 4., 5. smallest and largest input; 6., 7. means and ranges of the inputs,
followed by the one of the outputs;
then for each layer the rows of its weights and its biases.
"""

from __future__ import annotations

from array import array
from io import BytesIO, TextIOWrapper
from itertools import pairwise
from pathlib import Path
from typing import Literal

import numpy as np

from venmas.errors import NetworkError
from venmas.nn.chain import MAX_LAYERS, Chain, check_size
from venmas.nn.files import read_bytes, read_number
from venmas.nn.network import Array, Network

_HEADER = 7
_MOST = 1 << 21  # decimals are read one by one


def read_nnet(path: Path, normalization: Literal["apply", "ignore"] = "apply") -> Network:
    """Read a .nnet file: ReLU after every layer but the last, weights are the float64 nearest to the decimals.

    With "apply" the network is ``y = net((x - mean) / range) * range_out + mean_out``; with "ignore" it is `net`. The
    smallest and largest inputs of the header are not used: programs that clip the input to them compute another
    function outside that box, and a scenario states its own box. Raises `NetworkError` with the line.
    """
    lines, values = _numbers(read_bytes(path), path)
    if len(lines) < _HEADER:
        raise NetworkError(f"{path} ends inside the header: expected seven lines of numbers before the weights")
    (_, header), (sizes_at, sizes_read) = lines[0], lines[1]
    if len(sizes_read) > MAX_LAYERS + 2 or len(header) > MAX_LAYERS:
        raise NetworkError(f"{path}, line {sizes_at}: more than {MAX_LAYERS} layers, which are not supported")
    sizes = [int(v) for v in sizes_read]
    claims = [int(v) for v in header]
    if len(claims) < 3 or any(s < 1 for s in sizes) or sizes != sizes_read or claims != header:
        raise NetworkError(f"{path}, line {sizes_at}: expected positive whole numbers as layer sizes, got {sizes_read}")
    if len(sizes) == claims[0] + 2 and sizes[-2:] == [claims[2], claims[2]]:
        sizes.pop()
    if claims[:3] != [len(sizes) - 1, sizes[0], sizes[-1]] or len(sizes) < 2:
        raise NetworkError(
            f"{path}: the header says {claims[0]} layers from {claims[1]} inputs to {claims[2]} outputs, line "
            f"{sizes_at} gives the sizes {sizes}: one of the two is wrong"
        )
    pairs = list(pairwise(sizes))
    needed = sum(m * n + n for m, n in pairs)
    check_size(needed, f"{path}: the network")
    if len(values) != needed:
        raise NetworkError(
            f"{path} holds {len(values)} weights and biases, layers {sizes} need {needed}: truncated or wrong sizes"
        )
    (means_at, means), (ranges_at, ranges) = lines[5], lines[6]
    if normalization == "apply":
        for at, row in ((means_at, means), (ranges_at, ranges)):
            if len(row) != sizes[0] + 1:
                raise NetworkError(
                    f"{path}, line {at}: expected {sizes[0]} numbers for the inputs and one for the outputs, got "
                    f'{len(row)}; read it with normalization="ignore" if the scenario normalises by itself'
                )
        if 0.0 in ranges:
            raise NetworkError(f'{path}, line {ranges_at}: a range of 0; read it with normalization="ignore"')
    chain = Chain((sizes[0],))
    if normalization == "apply":
        chain.add(-np.array(means[:-1]))
        chain.divide(np.array(ranges[:-1]))
    _add_layers(chain, values, pairs)
    if normalization == "apply":
        chain.scale(np.array(ranges[-1]))
        chain.add(np.array(means[-1]))
    return chain.network(path.stem, "float64", str(path))


def is_normalised(path: Path) -> bool:
    """Whether the header of a .nnet file gives means other than 0 or ranges other than 1. Raises `NetworkError`."""
    lines, _ = _numbers(read_bytes(path), path)
    return any(lines[5][1]) or any(value != 1 for value in lines[6][1])


def _add_layers(chain: Chain, values: Array, pairs: list[tuple[int, int]]) -> None:
    at = 0
    for number, (inputs, outputs) in enumerate(pairs, 1):
        weights, bias = np.split(values[at : at + outputs * inputs + outputs], [outputs * inputs])
        at += outputs * inputs + outputs
        chain.matmul(weights.reshape(outputs, inputs).T)
        chain.add(bias)
        if number < len(pairs):
            chain.relu()


def _numbers(data: bytes, path: Path) -> tuple[list[tuple[int, list[float]]], Array]:
    """The numbers of each line of the header with its 1-based number, and all numbers after it.

    Comments and empty lines are left out.
    """
    lines: list[tuple[int, list[float]]] = []
    rest = array("d")
    numbers = data.count(b",") + data.count(b"\n")
    if numbers > _MOST:
        raise NetworkError(f"{path} holds about {numbers} numbers: at most {_MOST} are read; save it as ONNX")
    for at, line in enumerate(TextIOWrapper(BytesIO(data), "latin-1"), 1):
        text = line.split("//", 1)[0].strip().rstrip(",")
        if not text:
            continue
        row = [read_number(token.strip(), path, "line", at) for token in text.split(",")]
        if len(lines) < _HEADER:
            lines.append((at, row))
        else:
            rest.extend(row)
    return lines, np.array(rest)
