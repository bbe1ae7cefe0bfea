"""Layers of Keras with a memory, LSTM, GRU and SimpleRNN, as cells.

A step is one entry of the sequence. The memory is kept along a sequence whose length is not fixed, or, where the length
is 1, from call to call by ``stateful=True``; a model that keeps it neither way is refused.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np

from venmas.errors import NetworkError
from venmas.nn.keras_known import RECURRENT, Config, float_type, shape_of
from venmas.nn.keras_layers import weight_fields
from venmas.nn.keras_weights import LayerWeights
from venmas.nn.recurrent import GATES, Cell, Kind

_KINDS: dict[str, Kind] = {"SimpleRNN": "RNN", "GRU": "GRU", "LSTM": "LSTM"}
_ORDER = {"RNN": (0,), "GRU": (0, 1, 2), "LSTM": (0, 3, 1, 2)}
"""The gates of Keras in the order of `Cell`: its LSTM has i, f, g, o."""
_ALONG = {
    *("InputLayer", "Dense", "Activation", "ReLU", "LeakyReLU", "Rescaling"),
    *("Dropout", "GaussianNoise", "GaussianDropout", "AlphaDropout", "ActivityRegularization", *RECURRENT),
}
"""Layers that do the same to every entry of a sequence."""


_SAID = ("activation", "recurrent_activation", "reset_after", "return_sequences", "stateful")
"""Keys whose defaults differ among versions of Keras, or would change what is read."""
_SHAPES = ("batch_shape", "batch_input_shape", "build_input_shape", "input_shape")


class Sequence:
    """The first axis after the batch, as far as it is one of time, through the layers of a model."""

    def __init__(self, config: Config) -> None:
        """config: of a whole model with layers of `RECURRENT`."""
        self.config = deepcopy(config)
        self._lengths: list[int | None] = []
        self._fix(self.config)
        self.free = self._lengths[:1] == [None]
        """Is its length not fixed?"""
        self._goes_on = self.free

    def pass_by(self, layer: Config) -> None:
        """Raise `NetworkError` where a layer mixes entries of a sequence without a length."""
        if self._goes_on and layer["class_name"] not in _ALONG:
            raise NetworkError(
                "stands where the sequence has no fixed length, and may mix its entries: expected one of "
                f"{', '.join(sorted(_ALONG))}, or return_sequences=False before it"
            )

    def cell(self, layer: Config, shape: tuple[int, ...], weights: LayerWeights) -> tuple[Cell, tuple[int, ...]]:
        """The cell of a layer that takes a tensor of a shape, and the shape of what it gives. Raises `NetworkError`."""
        config, kind = layer["config"], _KINDS[layer["class_name"]]
        if missing := [key for key in _SAID if key in RECURRENT[layer["class_name"]] and key not in config]:
            raise NetworkError(f"its configuration has no {missing[0]}: save the model with a version of today")
        if len(shape) != 3 or shape[1] != 1 or (self.free and not self._goes_on):
            raise NetworkError(
                f"takes a sequence of shape {list(shape)}: expected one step, (batch, 1, inputs) with stateful=True, "
                "or a sequence without a fixed length, (batch, None, inputs)"
            )
        if not self.free and not config["stateful"]:
            raise NetworkError(
                "does not keep its memory from step to step: build the model with stateful=True, or for sequences "
                "without a fixed length, (None, inputs)"
            )
        units, rows = config["units"], GATES[kind] * config["units"]
        after = kind == "GRU" and config["reset_after"]
        shapes: list[tuple[int, ...]] = [(shape[-1], rows), (units, rows), (2, rows) if after else (rows,)]
        kernel, recurrent, *bias = weights.read(weight_fields(layer), shapes, float_type(config))
        given = bias[0].reshape(-1, rows) if bias else np.zeros((1, rows))
        order = np.concatenate([np.arange(k * units, (k + 1) * units) for k in _ORDER[kind]])
        biases = given[0][order], given[1][order] if after and bias else np.zeros(rows)
        self._goes_on = self._goes_on and config["return_sequences"]
        made = Cell(kind, kernel.T[order], recurrent.T[order], biases, after)
        return made, (1, 1, units) if config["return_sequences"] else (1, units)

    def _fix(self, value: Any) -> None:
        """Give sequences without a length one of 1, wherever a shape is stored."""
        if isinstance(value, dict):
            for key, inner in value.items():
                shape = shape_of(inner) if key in _SHAPES else None
                if shape is not None and len(shape) == 3:
                    self._lengths.append(shape[1])
                    if shape[1] is None:
                        shape[1] = 1
                else:
                    self._fix(inner)
        elif isinstance(value, list):
            for inner in value:
                self._fix(inner)


def has_memory(layers: Any) -> bool:
    """Is there a layer with a memory among stored ones?"""
    return any(isinstance(layer, dict) and layer.get("class_name") in RECURRENT for layer in layers)
