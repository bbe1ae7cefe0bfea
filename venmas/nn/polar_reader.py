"""The text format of POLAR (Huang et al., *POLAR: A polynomial arithmetic framework for verifying neural-network
controlled systems*, ATVA 2022), in which controllers of ARCH-COMP are given.

Words, one a line: numbers of inputs, outputs and hidden layers; the size of each hidden layer; an activation for each
layer and the outputs (``ReLU``, ``tanh``, ``sigmoid``, ``Affine``); for each unit, layer by layer, its weights and its
bias; and an offset and a scale, for ``(y - offset) * scale``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice, pairwise
from pathlib import Path

import numpy as np

from venmas.errors import NetworkError
from venmas.nn.chain import MAX_LAYERS, Chain, check_size
from venmas.nn.files import read_bytes, read_number
from venmas.nn.network import Activation, Network

_MOST = 1 << 21  # decimals are read one by one
_ACTIVATIONS: Mapping[str, Activation] = {"relu": "relu", "tanh": "tanh", "sigmoid": "sigmoid", "affine": "linear"}


def read_polar(path: Path) -> Network:
    """Read a .polar file; weights are the float64 nearest to the decimals. Raises `NetworkError` with the word."""
    words = read_bytes(path).decode("latin-1").split()
    if len(words) > _MOST:
        raise NetworkError(f"{path} holds {len(words)} words: at most {_MOST} are read; save it as ONNX")
    numbered = iter(list(enumerate(words, 1)))
    inputs, outputs, hidden = (_whole(path, numbered, what) for what in ("inputs", "outputs", "hidden layers"))
    if hidden > MAX_LAYERS:
        raise NetworkError(f"{path}: {hidden} hidden layers, more than {MAX_LAYERS} are not supported")
    sizes = [inputs, *(_whole(path, numbered, "units of a layer") for _ in range(hidden)), outputs]
    if min(inputs, outputs, *sizes) < 1:
        raise NetworkError(f"{path}: expected layers of at least one unit, got the sizes {sizes[:20]}")
    kinds = [_activation(path, numbered) for _ in sizes[1:]]
    needed = sum(m * n + n for m, n in pairwise(sizes))
    check_size(needed, f"{path}: the network")
    values = np.array([read_number(word, path, "word", at) for at, word in islice(numbered, needed)])
    if len(values) < needed:
        raise NetworkError(f"{path} holds {len(values)} weights and biases, layers {sizes} need {needed}: truncated")
    ends = [read_number(word, path, "word", at) for at, word in numbered]
    if len(ends) != 2:
        raise NetworkError(f"{path}: expected an offset and a scale after the weights, got {len(ends)} numbers")
    chain, start = Chain((inputs,)), 0
    for (m, n), kind in zip(pairwise(sizes), kinds, strict=True):
        table = values[start : start + n * (m + 1)].reshape(n, m + 1)
        start += n * (m + 1)
        chain.matmul(table[:, :-1].T)
        chain.add(table[:, -1])
        if kind == "relu":
            chain.relu()
        elif kind != "linear":
            chain.bend(kind)
    offset, scale = ends
    chain.add(np.array(-offset))
    chain.scale(np.array(scale))
    return chain.network(path.stem, "float64", str(path))


def _whole(path: Path, words: Iterator[tuple[int, str]], what: str) -> int:
    at, word = next(words, (0, ""))
    if not (word.isascii() and word.isdecimal() and len(word) < 10):
        where = f"word {at}: {word[:40]!r} is no number" if at else "the file ends where one should be: the number"
        raise NetworkError(f"{path}, {where} of {what}")
    return int(word)


def _activation(path: Path, words: Iterator[tuple[int, str]]) -> Activation:
    at, word = next(words, (0, ""))
    if word.lower() not in _ACTIVATIONS:
        raise NetworkError(f"{path}, word {at}: {word[:40]!r} is no activation; expected ReLU, tanh, sigmoid or Affine")
    return _ACTIVATIONS[word.lower()]
