"""Tensors on their way through a file, as sums of outputs of the layers so far, and the windows that pools look at."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from venmas.errors import NetworkError
from venmas.nn.network import Array

Codes: TypeAlias = NDArray[np.int64]
"""Outputs with a sign: c > 0 is output c - 1, c < 0 is minus output -c - 1, and 0 is nothing."""


@dataclass(frozen=True, eq=False)
class Value:
    """A tensor each entry of which is the sum of what its codes name, one code in every part.

    Most tensors have one part. What ReLU splits has several: ``x = relu(x) - relu(-x)``, ``|x| = relu(x) + relu(-x)``.
    """

    parts: tuple[Codes, ...]

    @staticmethod
    def outputs(start: int, shape: tuple[int, ...]) -> Value:
        """The outputs from `start` on, in row-major order."""
        return Value((np.arange(start + 1, start + 1 + int(np.prod(shape)), dtype=np.int64).reshape(shape),))

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the tensor."""
        return self.parts[0].shape

    @property
    def size(self) -> int:
        """Number of entries."""
        return self.parts[0].size

    @property
    def plain(self) -> bool:
        """Whether every entry is one output."""
        return len(self.parts) == 1 and bool(np.all(self.parts[0] > 0))

    @property
    def distinct(self) -> bool:
        """Whether no output is named twice."""
        used = np.sort(np.abs(np.concatenate([p[p != 0] for p in self.parts])))
        return bool((used[1:] != used[:-1]).all())

    def rearranged(self, operation: Callable[[NDArray[Any]], NDArray[Any]]) -> Value:
        """The tensor after an operation that moves entries."""
        return Value(tuple(operation(p) for p in self.parts))

    def __neg__(self) -> Value:
        return Value(tuple(-p for p in self.parts))

    def __add__(self, other: Value) -> Value:
        arrays = np.broadcast_arrays(*self.parts, *other.parts)
        return Value(tuple(arrays))

    def rows(self, outputs: int) -> Array:
        """The entries as rows over the outputs, (entries, outputs); small whole numbers."""
        rows = np.zeros((self.size, outputs))
        for part in self.parts:
            codes = part.ravel()
            at = np.flatnonzero(codes)
            np.add.at(rows, (at, np.abs(codes[at]) - 1), np.sign(codes[at]))
        return rows

    def moved(self, up: Codes, down: Codes | None) -> Value:
        """The same tensor where output i has become ``up[i]``, or ``up[i] - down[i]`` where `down` is given."""
        parts = []
        for part in self.parts:
            at = np.maximum(np.abs(part) - 1, 0)
            parts.append(np.sign(part) * up[at])
            if down is not None and np.any(negative := np.sign(part) * down[at]):
                parts.append(-negative)
        return Value(tuple(parts))


def joined(values: list[Value], axis: int) -> Value:
    """Tensors one after the other along an axis. Raises `ValueError` where they do not fit."""
    most = max(len(v.parts) for v in values)
    padded = [[*v.parts, *[np.zeros_like(v.parts[0])] * (most - len(v.parts))] for v in values]
    return Value(tuple(np.concatenate(parts, axis) for parts in zip(*padded, strict=True)))


def outputs_of(values: Iterable[Value]) -> Codes:
    """Outputs that tensors name, ascending."""
    used = [np.abs(p[p != 0]) - 1 for v in values for p in v.parts]
    return reduce(np.union1d, used, np.zeros(0, np.int64))


def room(
    space: tuple[int, ...], kernel: list[int], strides: list[int], dilations: list[int], pads: list[int]
) -> tuple[list[tuple[int, int]], list[int], list[int]]:
    """Padding at both ends, reach of the kernel and places of its windows, by dimension. Raises `NetworkError`.

    pads: the begins of all dimensions, then the ends.
    """
    n = len(space)
    if (len(kernel), len(strides), len(dilations), len(pads)) != (n, n, n, 2 * n) or min(pads) < 0:
        raise NetworkError(f"strides {strides}, dilations {dilations}, pads {pads} for kernels {kernel} over {space}")
    if min(*kernel, *strides, *dilations) < 1:
        raise NetworkError(f"strides {strides}, dilations {dilations}, kernel {kernel}: expected positive numbers")
    ends = list(zip(pads[:n], pads[n:], strict=True))
    reach = [d * (k - 1) + 1 for d, k in zip(dilations, kernel, strict=True)]
    out = [(m + a + b - r) // s + 1 for m, (a, b), r, s in zip(space, ends, reach, strides, strict=True)]
    return ends, reach, out
