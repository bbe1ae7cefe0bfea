"""Networks with memory: recurrent cells (LSTM, GRU, RNN) in a chain with feed-forward networks.

One step of a cell consists of affine layers with sigmoid or tanh units and of products of units, so it is written by
networks and products, once, for whoever evaluates it (`Recurrent.step`): floats here, expressions of a system in
`venmas.model.system.memory`. With x the input, h the hidden state, c the cell state, * by component:

    RNN   h+ = tanh(W x + R h + b)
    LSTM  c+ = f * c + i * g,  h+ = o * tanh(c+);  i, o, f = sigmoid(..), g = tanh(..)
    GRU   h+ = n + z * (h - n);  z, r = sigmoid(..), n = tanh(W x + R (r * h) + b), or tanh(W x + b + r * (R h + b'))

Source: the operators RNN, LSTM and GRU of ONNX, whose order of gates is kept: one; i, o, f, g; z, r, n.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from venmas.errors import NetworkError
from venmas.nn.network import Activation, Array, Layer, Network

Kind: TypeAlias = Literal["RNN", "GRU", "LSTM"]
GATES: dict[str, int] = {"RNN": 1, "GRU": 3, "LSTM": 4}
_PRODUCTS = "is a part of a recurrent cell, whose products, which runtimes round, too, are exact here"
Apply: TypeAlias = Callable[..., Any]
"""``apply(network, *parts)``: the outputs of a network for the parts of its input, one after the other."""


class Values(NamedTuple):
    """Operations on vectors besides sums and products: joined from parts, and zeros of a size."""

    apply: Apply
    join: Callable[[Sequence[Any]], Any]
    zeros: Callable[[int], Any]


@dataclass(frozen=True, eq=False)
class Cell:
    """A recurrent cell of H units over n inputs; arrays are those of ONNX, of one direction.

    weight: (gates H, n). recurrent: (gates H, H). biases: (gates H,), of inputs and of the recurrence, which add up.
    after: of a GRU, is r applied after the matrix R (``linear_before_reset``), as torch and Keras do by default?
    Raises `NetworkError` for shapes that do not fit together.
    """

    kind: Kind
    weight: Array
    recurrent: Array
    biases: tuple[Array, Array]
    after: bool = False

    def __post_init__(self) -> None:
        rows, units = self.weight.shape[0], self.recurrent.shape[-1]
        shapes = [a.shape for a in (self.recurrent, *self.biases)]
        if units < 1 or shapes != [(rows, units), (rows,), (rows,)] or rows != GATES[self.kind] * units:
            raise NetworkError(f"the weights of a {self.kind} have the shapes {[self.weight.shape, *shapes]}")

    @property
    def units(self) -> int:
        """Number of units, H."""
        return int(self.recurrent.shape[1])

    @property
    def input_size(self) -> int:
        """Number of inputs, n."""
        return int(self.weight.shape[1])

    @property
    def output_size(self) -> int:
        """Number of outputs, which are the hidden state."""
        return self.units

    @property
    def memory(self) -> tuple[str, ...]:
        """The vectors of the memory, H numbers each: ``h``, and ``c`` of an LSTM."""
        return ("h", "c") if self.kind == "LSTM" else ("h",)

    @cached_property
    def networks(self) -> tuple[Network, ...]:
        """The gates with sigmoid units, if any, then the candidate, then what else a step needs."""
        h, split = self.units, (len(self.weight) - self.units)
        parts = self.weight, self.recurrent, *self.biases
        weight, recurrent, bias, more = (part[split:] for part in parts)
        plain, eye = np.zeros(h), np.eye(h)
        made = []
        if split:
            first = [part[:split] for part in parts]
            made.append(_layer("gates", "sigmoid", np.hstack(first[:2]), *first[2:]))
        if self.after:
            made.append(_layer("candidate", "tanh", np.hstack([weight, eye]), bias, plain))
            made.append(_layer("past", "linear", recurrent, more, plain))
        else:
            made.append(_layer("candidate", "tanh", np.hstack([weight, recurrent]), bias, more))
        if self.kind == "LSTM":
            made.append(_layer("state", "tanh", eye, plain, plain))
        return tuple(made)

    def step(self, apply: Apply, x: Any, memory: Sequence[Any]) -> list[Any]:
        """The memory after one step."""
        h, n, networks = memory[0], self.units, self.networks
        if self.kind == "RNN":
            return [apply(networks[0], x, h)]
        gates = apply(networks[0], x, h)
        if self.kind == "LSTM":
            i, o, f = gates[:n], gates[n : 2 * n], gates[2 * n :]
            c = f * memory[1] + i * apply(networks[1], x, h)
            return [o * apply(networks[2], c), c]
        z, r = gates[:n], gates[n:]
        new = apply(networks[1], x, r * (apply(networks[2], h) if self.after else h))
        return [new + z * (h - new)]


@dataclass(frozen=True, eq=False)
class Unrolled:
    """A cell over a sequence of a fixed length, whose entries are its input, one after the other.

    last: its output is the hidden state after the last entry, else those after all of them. kept: its memory goes on
    from call to call, else each call begins with zeros.
    """

    cell: Cell
    length: int
    last: bool
    kept: bool

    @property
    def kind(self) -> Kind:
        """That of the cell."""
        return self.cell.kind

    @property
    def units(self) -> int:
        """Number of units, H."""
        return self.cell.units

    @property
    def input_size(self) -> int:
        """Number of inputs of all entries."""
        return self.length * self.cell.input_size

    @property
    def output_size(self) -> int:
        """Number of outputs."""
        return self.cell.units * (1 if self.last else self.length)

    @property
    def memory(self) -> tuple[str, ...]:
        """The vectors that are kept from call to call."""
        return self.cell.memory if self.kept else ()

    @property
    def networks(self) -> tuple[Network, ...]:
        """Those of the cell."""
        return self.cell.networks

    def run(self, values: Values, x: Any, memory: Sequence[Any]) -> tuple[Any, list[Any]]:
        """The outputs of a call, and the memory after it."""
        size = self.cell.input_size
        now = [*memory[: len(self.memory)]] or [values.zeros(self.units) for _ in self.cell.memory]
        shown = []
        for k in range(self.length):
            now = self.cell.step(values.apply, x[k * size : (k + 1) * size], now)
            shown.append(now[0])
        return now[0] if self.last else values.join(shown), now if self.kept else []


@dataclass(frozen=True, eq=False)
class Recurrent:
    """A chain of networks and cells, each of which takes what the one before gives; one cell at least.

    name: of the file. source: where it was read from. Raises `NetworkError` where sizes do not fit together.
    """

    stages: tuple[Network | Cell | Unrolled, ...]
    name: str = "network"
    source: str = ""

    def __post_init__(self) -> None:
        if not self.cells:
            raise NetworkError(f"network {self.name!r} has no recurrent cell: read it with load_network")
        for before, after in zip(self.stages, self.stages[1:], strict=False):
            if before.output_size != after.input_size:
                raise NetworkError(
                    f"network {self.name!r}: a part takes {after.input_size} inputs, the one before it gives "
                    f"{before.output_size}"
                )

    def __repr__(self) -> str:
        kinds = "-".join(f"{cell.kind} {cell.units}" for cell in self.cells)
        return f"Recurrent({self.name!r}, {self.input_size}-{kinds}-{self.output_size}, {self.digest[:12]})"

    @property
    def cells(self) -> tuple[Cell | Unrolled, ...]:
        """The cells, in order."""
        return tuple(stage for stage in self.stages if not isinstance(stage, Network))

    @property
    def input_size(self) -> int:
        """Number of inputs of one step."""
        return self.stages[0].input_size

    @property
    def output_size(self) -> int:
        """Number of outputs of one step."""
        return self.stages[-1].output_size

    @property
    def memory(self) -> tuple[tuple[str, int], ...]:
        """Names and sizes of the vectors of the memory: ``h``, ``c``; of several cells ``h1``, ``c1``, ``h2``, .."""
        cells = [cell for cell in self.cells if cell.memory]
        return tuple(
            (f"{name}{k}" if len(cells) > 1 else name, cell.units)
            for k, cell in enumerate(cells, 1)
            for name in cell.memory
        )

    @cached_property
    def digest(self) -> str:
        """Sha256 (hex) over all that is computed."""
        sha = hashlib.sha256()
        for stage in self.stages:
            parts = (stage,) if isinstance(stage, Network) else stage.networks
            sha.update(f"{_label(stage)};".encode())
            sha.update("".join(network.digest for network in parts).encode())
        return sha.hexdigest()

    def step(self, values: Values, x: Any, memory: Sequence[Any]) -> tuple[Any, list[Any]]:
        """The outputs of one step, and the memory after it: vectors in the order of `memory`."""
        after: list[Any] = []
        for stage in self.stages:
            if isinstance(stage, Network):
                x = values.apply(stage, x)
            elif isinstance(stage, Cell):
                new = stage.step(values.apply, x, memory[len(after) :])
                after, x = after + new, new[0]
            else:
                x, new = stage.run(values, x, memory[len(after) :])
                after += new
        return x, after

    def evaluate(self, x: ArrayLike, memory: Sequence[ArrayLike] | None = None) -> tuple[Array, list[Array]]:
        """One step in float64: (batch, in) or (in,) -> outputs, memory after it; without a memory, from zeros."""
        inputs = np.asarray(x, dtype=np.float64).T
        if memory is None:
            memory = [np.zeros((*inputs.shape[1:], size)) for _, size in self.memory]
        values = Values(_floats, np.concatenate, lambda size: np.zeros((size, *inputs.shape[1:])))
        outputs, after = self.step(values, inputs, [np.asarray(part, dtype=np.float64).T for part in memory])
        return outputs.T, [part.T for part in after]


def _label(stage: Network | Cell | Unrolled) -> str:
    """All that a stage computes besides its networks."""
    match stage:
        case Network():
            return ""
        case Cell():
            return stage.kind + str(stage.after)
    return f"{_label(stage.cell)} {stage.length} {stage.last:d} {stage.kept:d}"


def _floats(network: Network, *parts: Array) -> Array:
    return network.evaluate(np.concatenate(parts).T).T


def _layer(name: str, activation: Activation, weight: Array, bias: Array, more: Array) -> Network:
    """``activation(weight x + bias + more)``: a layer, or two where the sum of the biases is no float."""
    total = bias + more
    part = total - bias
    layers: tuple[Layer, ...] = (Layer(weight, total, activation),)
    if np.any((bias - (total - part)) + (more - part)):  # the error of the sum, exactly (Knuth)
        layers = Layer(weight, bias), Layer(np.eye(len(more)), more, activation)
    return Network(layers, name, float32_refusal=_PRODUCTS)
