"""Build a `Network` from the operators of a file, one after the other, without rounding anything.

The tensor on its way through the file is a shaped array of positions in the flat, row-major output of the layers so
far. Flatten, Reshape, Transpose and the like therefore only rearrange positions; they end up as permuted rows or
columns of weights. The batch is one input: a batch dimension is 1.

What a file computes one after the other stays so, in layers of their own: a factor that was multiplied into weights
could hide that a product overflows or underflows in float32. Only signs are, and a sum of products takes its bias.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from venmas.errors import NetworkError
from venmas.nn.network import Array, FloatType, Layer, Network

MAX_ENTRIES = 1 << 23
"""Most entries of a tensor or of a layer's weight matrix (64 MB): what claims more is refused before it is built."""

MAX_LAYERS = 1000
"""Most layers of a network: exact numbers grow by the length of a weight in every one of them."""


class Budget:
    """Entries that reading one file may create in all, so that small files cannot claim much memory or time."""

    def __init__(self, entries: int = 4 * MAX_ENTRIES) -> None:
        self.left = entries

    def spend(self, entries: int, what: str) -> None:
        """Raise `NetworkError` where `what` is too large, or the last straw."""
        check_size(entries, what)
        self.left -= entries
        if self.left < 0:
            raise NetworkError(f"{what} of {entries} entries makes the network too large for verification")


class Chain:
    """The layers so far and where their outputs stand in the current tensor. Every method raises `NetworkError`."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        """Start with an input of this shape (every dimension at least 1, the batch dimension 1)."""
        if any(d < 1 for d in shape) or not shape:
            raise NetworkError(f"the input has shape {list(shape)}: expected fixed, positive dimensions")
        check_size(prod(shape), "the input")
        self.budget = Budget()
        self.layers: list[Layer] = []
        self.index: NDArray[np.int64] = np.arange(prod(shape), dtype=np.int64).reshape(shape)
        self._size = self.index.size

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the current tensor."""
        return self.index.shape

    def rearrange(self, operation: Callable[[NDArray[Any]], NDArray[Any]]) -> None:
        """Apply an operation that moves entries and computes nothing, such as a transposition."""
        self.budget.spend(self.index.size, "a rearranged tensor")
        self.index = operation(self.index)

    def matmul(self, w: Array) -> None:
        """``tensor @ w`` with a constant w of shape (n, m), or (n,)."""
        if w.ndim == 1:
            self.matmul(w[:, None])
            self.rearrange(lambda t: t[..., 0])
            return
        if w.ndim != 2 or self.shape[-1:] != w.shape[:1] or w.size == 0:
            raise NetworkError(f"a tensor of shape {list(self.shape)} times a matrix of shape {list(w.shape)}")
        blocks = self.index.reshape(-1, w.shape[0])
        check_size(len(blocks) * w.shape[1] * self._size, "a weight matrix")
        weight = np.zeros((len(blocks), w.shape[1], self._size))
        for block, columns in zip(weight, blocks, strict=True):
            block[:, columns] = w.T
        self._linear(weight.reshape(-1, self._size), (*self.shape[:-1], w.shape[1]))

    def matmul_left(self, w: Array) -> None:
        """``w @ tensor`` with a constant w of shape (m, n)."""
        if self.index.ndim < 2:
            self.matmul(w.T)
            return
        self.rearrange(lambda t: np.swapaxes(t, -1, -2))
        self.matmul(w.T)
        self.rearrange(lambda t: np.swapaxes(t, -1, -2))

    def convolve(self, w: Array, strides: list[int], dilations: list[int], pads: list[int]) -> None:
        """Convolve a tensor (1, channels, *space) with kernels w (out, channels, *kernel); pads: begins, then ends."""
        space = w.ndim - 2
        if space < 1 or self.index.ndim != w.ndim or self.shape[0] != 1 or self.shape[1] != w.shape[1]:
            raise NetworkError(f"kernels of shape {list(w.shape)} over a tensor of shape {list(self.shape)}")
        if (len(strides), len(dilations), len(pads)) != (space, space, 2 * space) or min(pads) < 0:
            raise NetworkError(f"strides {strides}, dilations {dilations}, pads {pads} for kernels {list(w.shape)}")
        if min(*strides, *dilations) < 1:
            raise NetworkError(f"strides {strides} and dilations {dilations}: expected positive numbers")
        before, after = pads[:space], pads[space:]
        space_padded = prod(n + a + b for n, a, b in zip(self.shape[2:], before, after, strict=True))
        self.budget.spend(self.shape[1] * space_padded, "a padded tensor")
        padded = np.pad(self.index[0], [(0, 0), *zip(before, after, strict=True)], constant_values=-1)
        reach = [d * (k - 1) + 1 for d, k in zip(dilations, w.shape[2:], strict=True)]
        out = [(n - r) // s + 1 for n, r, s in zip(padded.shape[1:], reach, strides, strict=True)]
        if min(out) < 1:
            raise NetworkError(f"kernels of shape {list(w.shape)} do not fit into a tensor {list(self.shape)}")
        check_size(len(w) * prod(out) * self._size, "a weight matrix")
        self.budget.spend(64 * prod(out), "a convolution")  # every window is a step of Python
        weight = np.zeros((len(w), prod(out), self._size))
        for number, place in enumerate(np.ndindex(*out)):
            window = [slice(p * s, p * s + r, d) for p, s, r, d in zip(place, strides, reach, dilations, strict=True)]
            columns = padded[(slice(None), *window)].ravel()
            inside = columns >= 0
            weight[:, number, columns[inside]] = w.reshape(len(w), -1)[:, inside]
        self._linear(weight.reshape(-1, self._size), (1, len(w), *out))

    def add(self, c: Array) -> None:
        """``tensor + c``, broadcast."""
        c = self._broadcast(c)
        if not np.any(c):
            return
        last = self.layers[-1] if self.layers else None
        if last is not None and not last.rectified and not np.any(last.bias):
            self._append(Layer(last.weight, c, last.activation, last.divisor), replace=True)
        else:
            self._append(Layer(_diagonal(np.ones(self._size)), c))

    def scale(self, c: Array) -> None:
        """``tensor * c``, broadcast; signs go into the weights before them, as they round nothing."""
        c = self._broadcast(c)
        if np.all(c == 1):
            return
        last = self.layers[-1] if self.layers else None
        if last is not None and not last.rectified and last.divisor is None and np.all(np.abs(c) == 1):
            self._append(Layer(last.weight * c[:, None], last.bias * c), replace=True)
        else:
            self._append(Layer(_diagonal(c), np.zeros(len(c))))

    def divide(self, c: Array) -> None:
        """``tensor / c``, broadcast; see `Layer.dividing`."""
        c = self._broadcast(c)
        if not np.all(c == 1):
            check_size(len(c) ** 2, "a weight matrix")
            self._append(Layer.dividing(c))

    def relu(self) -> None:
        """``max(tensor, 0)``."""
        last = self._last()
        self._append(Layer(last.weight, last.bias, "relu", last.divisor), replace=True)

    def network(self, name: str, dtype: FloatType, source: str) -> Network:
        """The finished network: its output is the current tensor, flat."""
        self._settle()
        return Network(tuple(self.layers or [self._last()]), name, dtype, source)

    def _last(self) -> Layer:
        """The last layer, or the identity where there is none."""
        return self.layers[-1] if self.layers else Layer(_diagonal(np.ones(self._size)), np.zeros(self._size))

    def _broadcast(self, c: Array) -> Array:
        """Settle the tensor, widened where `c` is wider, and return c with one entry for each of its positions."""
        try:
            shape = np.broadcast_shapes(self.shape, c.shape)
        except ValueError:
            raise NetworkError(f"shapes {list(self.shape)} and {list(c.shape)} do not fit together") from None
        self.budget.spend(prod(shape), "a tensor")
        self.index = np.broadcast_to(self.index, shape)
        self._settle()
        return np.broadcast_to(c, shape).ravel()

    def _settle(self) -> None:
        """Make the flat output of the layers the current tensor in row-major order."""
        order, shape = self.index.ravel(), self.shape
        if not np.array_equal(order, np.arange(self._size)):
            last = self._last()
            check_size(order.size * last.in_size, "a weight matrix")
            if last.divisor is not None:  # rows of a division are no division: select in a layer of its own
                self._append(Layer(_diagonal(np.ones(self._size))[order], np.zeros(order.size)))
            else:
                self._append(Layer(last.weight[order], last.bias[order], last.activation), replace=True)
        self.index = np.arange(self._size, dtype=np.int64).reshape(shape)

    def _linear(self, weight: Array, shape: tuple[int, ...]) -> None:
        self._append(Layer(weight, np.zeros(len(weight))))
        self.index = np.arange(self._size, dtype=np.int64).reshape(shape)

    def _append(self, layer: Layer, replace: bool = False) -> None:
        self.budget.spend(layer.weight.size, "a weight matrix")
        self.layers[max(0, len(self.layers) - replace) :] = [layer]
        if len(self.layers) > MAX_LAYERS:
            raise NetworkError(f"the network has more than {MAX_LAYERS} layers, which are not supported")
        self._size = layer.out_size


def _diagonal(c: Array) -> Array:
    check_size(len(c) ** 2, "a weight matrix")
    return np.diag(c)


def check_size(entries: int, what: str) -> None:
    """Raise `NetworkError` where something would have more than `MAX_ENTRIES` entries."""
    if entries > MAX_ENTRIES:
        raise NetworkError(f"{what} would have {entries} entries: at most {MAX_ENTRIES} are supported")
