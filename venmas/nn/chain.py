"""Build a `Network` from the operators of a file, one after the other, without rounding anything.

A tensor on its way through the file is a shaped array of sums of outputs of the layers so far (`venmas.nn.values`).
Flatten, Reshape, Transpose and the like therefore only rearrange it; they end up as permuted rows or columns of
weights. The batch is one input: a batch dimension is 1.

One tensor is the current one, which operators change. Others may be held: every layer carries the outputs that they
need, as they are through a linear layer and through a ReLU where they are known not to be negative, else as
``relu(x) - relu(-x)``, which is exact in any arithmetic.

What a file computes one after the other stays so, in layers of their own: a factor that was multiplied into weights
could hide that a product overflows or underflows in float32. Only signs are, and a sum of products takes its bias.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from venmas.errors import NetworkError
from venmas.nn.network import SMOOTH, Activation, Array, FloatType, Layer, Network
from venmas.nn.values import Codes, Value, outputs_of, room

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
    """The layers so far, the current tensor and those held. Every method raises `NetworkError`."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        """Start with an input of this shape (every dimension at least 1, the batch dimension 1)."""
        if any(d < 1 for d in shape) or not shape:
            raise NetworkError(f"the input has shape {list(shape)}: expected fixed, positive dimensions")
        check_size(prod(shape), "the input")
        self.budget = Budget()
        self.layers: list[Layer] = []
        self.current = Value.outputs(0, shape)
        self.held: dict[str, Value] = {}
        """Tensors to be had later, by name."""
        self.float32_refusal = ""
        """Why evaluations in float32 may be further from the network than its layers say, if they may."""
        self._signs = [np.zeros(prod(shape), dtype=bool)]  # which outputs are known not to be negative, by layer

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the current tensor."""
        return self.current.shape

    @property
    def size(self) -> int:
        """Number of outputs of the layers so far."""
        return len(self._signs[-1])

    def rearrange(self, operation: Callable[[NDArray[Any]], NDArray[Any]]) -> None:
        """Apply an operation that moves entries and computes nothing, such as a transposition."""
        self.budget.spend(self.current.size * len(self.current.parts), "a rearranged tensor")
        self.current = self.current.rearranged(operation)

    def matmul(self, w: Array) -> None:
        """``tensor @ w`` with a constant w of shape (n, m), or (n,)."""
        if w.ndim == 1:
            self.matmul(w[:, None])
            self.rearrange(lambda t: t[..., 0])
            return
        if w.ndim != 2 or self.shape[-1:] != w.shape[:1] or w.size == 0:
            raise NetworkError(f"a tensor of shape {list(self.shape)} times a matrix of shape {list(w.shape)}")
        self._tell_apart()
        rows = prod(self.shape[:-1])
        check_size(rows * w.shape[1] * self.size, "a weight matrix")
        weight = np.zeros((rows, w.shape[1], self.size))
        for part in self.current.parts:
            for block, codes in zip(weight, part.reshape(-1, w.shape[0]), strict=True):
                _place(block, codes, w.T)
        self.affine(weight.reshape(-1, self.size), (*self.shape[:-1], w.shape[1]))

    def matmul_left(self, w: Array) -> None:
        """``w @ tensor`` with a constant w of shape (m, n)."""
        if len(self.shape) < 2:
            self.matmul(w.T)
            return
        self.rearrange(lambda t: np.swapaxes(t, -1, -2))
        self.matmul(w.T)
        self.rearrange(lambda t: np.swapaxes(t, -1, -2))

    def convolve(self, w: Array, strides: list[int], dilations: list[int], pads: list[int]) -> None:
        """Convolve a tensor (1, channels, *space) with kernels w (out, channels, *kernel); pads: begins, then ends."""
        shape = self.shape
        if w.ndim < 3 or len(shape) != w.ndim or shape[0] != 1 or shape[1] != w.shape[1] or w.size == 0:
            raise NetworkError(f"kernels of shape {list(w.shape)} over a tensor of shape {list(shape)}")
        ends, reach, out = room(shape[2:], list(w.shape[2:]), strides, dilations, pads)
        self.budget.spend(
            shape[1] * prod(n + a + b for n, (a, b) in zip(shape[2:], ends, strict=True)), "a padded tensor"
        )
        if min(out) < 1:
            raise NetworkError(f"kernels of shape {list(w.shape)} do not fit into a tensor {list(shape)}")
        self._tell_apart()
        check_size(len(w) * prod(out) * self.size, "a weight matrix")
        self.budget.spend(64 * prod(out), "a convolution")  # every window is a step of Python
        weight = np.zeros((prod(out), len(w), self.size))
        for part in self.current.parts:
            padded = np.pad(part[0], [(0, 0), *ends])
            for number, place in enumerate(np.ndindex(*out)):
                steps = zip(place, strides, reach, dilations, strict=True)
                window = [slice(p * s, p * s + r, d) for p, s, r, d in steps]
                _place(weight[number], padded[(slice(None), *window)].ravel(), w.reshape(len(w), -1))
        self.affine(weight.swapaxes(0, 1).reshape(-1, self.size), (1, len(w), *out))

    def add(self, c: Array) -> None:
        """``tensor + c``, broadcast."""
        c = self._broadcast(c)
        n = len(c)
        if not np.any(c):
            return
        last = self.layers[-1] if self.layers else None
        if last is not None and last.activation == "linear" and not np.any(last.bias[:n]):
            bias = np.concatenate([c, last.bias[n:]])
            self._append(Layer(last.weight, bias, last.activation, last.divisor), replace=True)
        else:
            self.affine(_diagonal(np.ones(n), self.size), self.shape, c)

    def scale(self, c: Array) -> None:
        """``tensor * c``, broadcast; signs go into the weights before them, as they round nothing."""
        c = self._broadcast(c)
        if np.all(c == 1):
            return
        last = self.layers[-1] if self.layers else None
        linear = last is not None and last.activation == "linear" and last.divisor is None
        if last is not None and linear and np.all(np.abs(c) == 1):
            c = np.concatenate([c, np.ones(self.size - len(c))])
            self._append(Layer(last.weight * c[:, None], last.bias * c), replace=True)
        else:
            self.affine(_diagonal(c, self.size), self.shape)

    def divide(self, c: Array) -> None:
        """``tensor / c``, broadcast; see `Layer.dividing`."""
        c = self._broadcast(c)
        if not np.all(c == 1):
            check_size(self.size**2, "a weight matrix")
            self._append(Layer.dividing(np.concatenate([c, np.ones(self.size - len(c))])))

    def relu(self) -> None:
        """``max(tensor, 0)``."""
        last = self._last()
        if not self.held and self.current.plain and self.current.size == self.size and last.activation not in SMOOTH:
            self._append(Layer(last.weight, last.bias, "relu", last.divisor), replace=True)
        elif not self.not_negative(self.current):
            (self.current,), _ = self.rectify([self.current])

    def bend(self, activation: Activation) -> None:
        """``activation(tensor)`` of a smooth one, which takes a layer for itself: no other tensor is kept beside it."""
        if self.held:
            raise NetworkError(
                f"gives {activation} units beside tensors that are used later: only chains of layers have such units; "
                "export the part of the model that is needed, or name its output (outputs=)"
            )
        self.settle()
        last = self._last()
        if last.activation != "linear":
            self._append(Layer(_diagonal(np.ones(self.size), self.size), np.zeros(self.size), activation))
        else:
            self._append(Layer(last.weight, last.bias, activation, last.divisor), replace=True)

    def not_negative(self, value: Value) -> bool:
        """Whether a tensor is known not to be negative anywhere, in any arithmetic."""
        codes = np.concatenate([p.ravel() for p in value.parts])
        return bool(np.all(codes >= 0) and np.all(self._signs[-1][codes[codes > 0] - 1]))

    def rectify(
        self, values: Sequence[Value], bias: Array | None = None, keep: Sequence[Value] = ()
    ) -> tuple[list[Value], list[Value]]:
        """``relu(value + bias)`` of every value, and the tensors `keep` beside them, as they are called then.

        bias: (entries of all values,).
        """
        shapes = [v.shape for v in values]
        kept = self._select(values, "relu", bias, keep)
        starts = np.cumsum([0, *(v.size for v in values)])
        return [Value.outputs(int(s), shape) for s, shape in zip(starts, shapes, strict=False)], kept

    def affine(self, weight: Array, shape: tuple[int, ...], bias: Array | None = None) -> None:
        """Make rows (entries, outputs) over the outputs so far, plus a bias, the current tensor."""
        carried, move = self._carry(len(weight), False, ())
        if len(carried):
            check_size((len(weight) + len(carried)) * self.size, "a weight matrix")
            weight = np.concatenate([weight, Value((carried,)).rows(self.size)])
        b = np.zeros(0) if bias is None else bias
        self._append(Layer(weight, np.concatenate([b, np.zeros(len(weight) - len(b))])))
        move()
        self.current = Value.outputs(0, shape)

    def network(self, name: str, dtype: FloatType, source: str) -> Network:
        """The finished network: its output is the current tensor, flat."""
        self.held.clear()
        self.settle()
        return Network(tuple(self.layers or [self._last()]), name, dtype, source, self.float32_refusal)

    def settle(self) -> None:
        """Make the current tensor, in row-major order, the first outputs of the layers, and nobody else's."""
        shape, n = self.shape, self.current.size
        others = outputs_of(self.held.values())
        own = others[0] >= n if others.size else n == self.size
        if own and self.current.plain and np.array_equal(self.current.parts[0].ravel(), np.arange(1, n + 1)):
            return
        self._select([self.current], "linear", None, ())
        self.current = Value.outputs(0, shape)

    def _tell_apart(self) -> None:
        if not self.current.distinct:
            self.settle()

    def _select(
        self, values: Sequence[Value], activation: Activation, bias: Array | None, keep: Sequence[Value]
    ) -> list[Value]:
        """Make the entries of values, activated, the first outputs: by choosing rows of the last layer where it can be.

        Returns `keep` as it is then.
        """
        relu, size = activation == "relu", sum(v.size for v in values)
        carried, move = self._carry(size, relu, keep)
        b = np.zeros(size + len(carried))
        b[:size] = 0 if bias is None else bias
        last = self.layers[-1] if self.layers else None
        chosen_from = last is not None and last.divisor is None and last.activation not in SMOOTH
        if last is not None and chosen_from and all(len(v.parts) == 1 for v in values):
            codes = np.concatenate([*(v.parts[0].ravel() for v in values), carried])
            at, sign = np.abs(codes) - 1, np.sign(codes)
            if np.all(codes > 0 if last.rectified else codes) and not np.any(b[(last.bias[at] != 0) | last.rectified]):
                check_size(codes.size * last.in_size, "a weight matrix")
                weight = last.weight[at] if np.all(sign == 1) else last.weight[at] * sign[:, None]
                chosen: Activation = "relu" if relu or last.rectified else "linear"
                self._append(Layer(weight, last.bias[at] * sign + b, chosen), replace=True)
                return move()
        check_size(len(b) * self.size, "a weight matrix")
        rows = np.concatenate([v.rows(self.size) for v in (*values, Value((carried,)))])
        self._append(Layer(rows, b, "relu" if relu else "linear"))
        return move()

    def _carry(self, start: int, relu: bool, keep: Sequence[Value]) -> tuple[Codes, Callable[[], list[Value]]]:
        """Rows to carry in a layer from row `start` on, and the move of the tensors held there when it is appended."""
        needed = outputs_of([*self.held.values(), *keep])
        signed = needed[~self._signs[-1][needed]] if relu else needed[:0]
        up, down = np.zeros((2, self.size), np.int64)
        up[needed] = np.arange(start + 1, start + 1 + len(needed))
        down[signed] = np.arange(start + 1 + len(needed), start + 1 + len(needed) + len(signed))

        def move() -> list[Value]:
            below = down if len(signed) else None
            self.held = {name: value.moved(up, below) for name, value in self.held.items()}
            return [value.moved(up, below) for value in keep]

        return np.concatenate([needed + 1, -(signed + 1)]), move

    def _last(self) -> Layer:
        """The last layer, or the identity where there is none."""
        return self.layers[-1] if self.layers else Layer(_diagonal(np.ones(self.size), self.size), np.zeros(self.size))

    def _broadcast(self, c: Array) -> Array:
        """Settle the tensor, widened where `c` is wider, and return c with one entry for each of its positions."""
        try:
            shape = np.broadcast_shapes(self.shape, c.shape)
        except ValueError:
            raise NetworkError(f"shapes {list(self.shape)} and {list(c.shape)} do not fit together") from None
        self.budget.spend(prod(shape), "a tensor")
        self.current = self.current.rearranged(lambda t: np.broadcast_to(t, shape))
        self.settle()
        return np.broadcast_to(c, shape).ravel()

    def _append(self, layer: Layer, replace: bool = False) -> None:
        self.budget.spend(layer.weight.size, "a weight matrix")
        keep = len(self.layers) - replace if self.layers else 0
        self.layers[keep:] = [layer]
        del self._signs[keep + 1 :]
        if len(self.layers) > MAX_LAYERS:
            raise NetworkError(f"the network has more than {MAX_LAYERS} layers, which are not supported")
        if layer.activation in SMOOTH:
            self._signs.append(np.full(layer.out_size, layer.activation == "sigmoid"))
        elif layer.rectified:
            self._signs.append(np.ones(layer.out_size, dtype=bool))
        else:  # sums of what is not negative are not negative, in any arithmetic
            unknown = (layer.weight != 0) & ~self._signs[keep]
            bad = np.any(layer.weight < 0, axis=1) | np.any(unknown, axis=1) | (layer.bias < 0)
            self._signs.append(~bad)


def _place(block: Array, codes: Codes, w: Array) -> None:
    """Write columns of w, with signs, where codes say; block: (rows, outputs)."""
    inside = codes != 0
    used = codes[inside]
    block[:, np.abs(used) - 1] = w[:, inside] * np.sign(used)


def _diagonal(c: Array, columns: int) -> Array:
    check_size(len(c) * columns, "a weight matrix")
    weight = np.zeros((len(c), columns))
    np.fill_diagonal(weight, c)
    return weight


def check_size(entries: int, what: str) -> None:
    """Raise `NetworkError` where something would have more than `MAX_ENTRIES` entries."""
    if entries > MAX_ENTRIES:
        raise NetworkError(f"{what} would have {entries} entries: at most {MAX_ENTRIES} are supported")
