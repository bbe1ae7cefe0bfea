"""Random Keras models, made once and used with many weights; numbers are dyadic, so that float arithmetic is exact."""

from __future__ import annotations

import logging
import os
from functools import cache
from typing import Any, NamedTuple

import numpy as np

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import keras

k = keras.layers
logging.getLogger("absl").setLevel("ERROR")

POOL = 400
"""Different architectures: making one takes some ten milliseconds."""

SCALES = (0.5, 2.0, -1.0, 1.0, -0.5)
VARIANCES = (0.25, 1.0, 4.0, 16.0)


@keras.saving.register_keras_serializable("fuzz", "relu")
def doubled_relu(x: Any) -> Any:
    """A custom activation under the name of another."""
    return 2.0 * keras.activations.relu(x)


@keras.saving.register_keras_serializable("fuzz", "ReLU")
class ShiftedReLU(k.ReLU):
    """A custom layer under the name of another."""

    def call(self, inputs: Any) -> Any:
        return super().call(inputs) + 1.0


@keras.saving.register_keras_serializable("fuzz", "Dense")
class NegatedDense(k.Dense):
    """A custom layer with the weights of another."""

    def call(self, inputs: Any, training: bool | None = None) -> Any:
        return -super().call(inputs)


class Architecture(NamedTuple):
    """A model of Keras, whether all of it is supported, so that VenMAS must read it, and whether floats are exact."""

    model: Any
    supported: bool
    exact: bool = True


@cache
def architecture(number: int) -> Architecture:
    """The model of this number; the same one whenever it is asked for."""
    rng = np.random.default_rng([12, number])
    dtype = "float64" if rng.random() < 0.2 else "float32"
    keras.config.set_dtype_policy(dtype)
    try:
        return _made(rng, number, dtype)
    finally:
        keras.config.set_dtype_policy("float32")


def _made(rng: np.random.Generator, number: int, dtype: str) -> Architecture:
    names = iter(f"{'abcdefg'[number % 7]}{at}" for at in range(100))
    image = rng.random() < 0.45
    sizes = (*rng.integers(2, 6, 2), rng.integers(1, 3)) if image else rng.integers(1, 4, rng.integers(1, 4))
    first = keras.Input(tuple(int(n) for n in sizes), name=next(names), dtype=dtype)
    if rng.random() < 0.15:
        return Architecture(_not_plain(rng, first, names), False)
    layers, supported, heavy, exact = [], True, 0.0, True
    wired = rng.random() < 0.5
    value, kept = first, [first]
    for _ in range(int(rng.integers(1, 8))):
        odd, shape = rng.random() < 0.06, value.shape
        others = [v for v in kept if v.shape == shape and v is not value]
        if wired and others and rng.random() < 0.4:
            layer = _merge(rng, next(names), len(shape))
            value = layer([value, others[rng.integers(len(others))]][:: rng.choice([1, -1])])
        else:
            layer = _odd(rng, next(names), shape) if odd else _layer(rng, next(names), shape, heavy >= 4)
            plain = rng.random() < 0.9 or not isinstance(layer, k.Dense)
            value = layer(value) if plain else layer(value, training=None)
            supported &= not odd
        heavy += isinstance(layer, k.Dense | k.Conv2D | k.Normalization | k.Rescaling | k.BatchNormalization)
        exact &= not isinstance(layer, k.BatchNormalization | k.AveragePooling2D | k.GlobalAveragePooling2D)
        layers.append(layer)
        kept.append(value)
    if wired or any(isinstance(layer, MERGES) for layer in layers):
        model = keras.Model(first, value, name="model")
    else:
        model = keras.Sequential([first, *layers], name="model")
    for layer in layers:
        if type(layer) is k.Dense and rng.random() < 0.05 and layer.kernel_constraint is None:
            layer.enable_lora(1)
            supported = False
    if rng.random() < 0.3:
        model.compile("adam", "mse")
    return Architecture(model, supported, exact)


MERGES = (k.Add, k.Subtract, k.Maximum, k.Minimum, k.Concatenate)


def _merge(rng: np.random.Generator, name: str, rank: int) -> Any:
    kind = MERGES[rng.integers(5)]
    return kind(name=name, **({"axis": int(rng.choice([-1, rng.integers(1, rank)]))} if kind is k.Concatenate else {}))


def _looks(rng: np.random.Generator, name: str, shape: tuple[int | None, ...], light: bool) -> Any:
    """A layer that looks at the windows of an image."""
    window = [int(rng.integers(1, 1 + min(3, n or 1))) for n in shape[1:3]]
    strides = [int(s) for s in rng.integers(1, 3, 2)]
    plain = {"strides": strides, "padding": str(rng.choice(["same", "valid"])), "name": name}
    kind = rng.integers(1 if light else 0, 5)
    if kind == 0:
        activation = [None, "relu", "relu6", k.LeakyReLU(negative_slope=0.25)][rng.integers(4)]
        return k.Conv2D(int(rng.integers(1, 4)), window, activation=activation, use_bias=rng.random() < 0.7, **plain)
    if kind < 3:
        return [k.MaxPooling2D, k.AveragePooling2D][kind - 1](window, **plain)
    return [k.GlobalMaxPooling2D, k.GlobalAveragePooling2D][kind - 3](keepdims=rng.random() < 0.5, name=name)


def _layer(rng: np.random.Generator, name: str, shape: tuple[int | None, ...], light: bool) -> Any:
    """A supported layer that fits behind this shape; light: without numbers, so that products stay exact."""
    rank, last = len(shape), int(shape[-1] or 1)
    if rank == 4 and rng.random() < 0.5:
        return _looks(rng, name, shape, light)
    kind = rng.integers(4 if light else 0, 13)
    if kind == 11 and not light:
        center, scale, axis = rng.random() < 0.7, rng.random() < 0.7, int(rng.choice([-1, rng.integers(1, rank)]))
        return k.BatchNormalization(axis, epsilon=0.25, center=center, scale=scale, name=name)
    if kind >= 11:
        slope, most = float(rng.choice([0, 0.5, 2])), [None, 2.0, 0.0, 2.0**21][rng.integers(4)]
        return k.LeakyReLU(slope, name=name) if rng.random() < 0.5 else k.ReLU(most, slope, name=name)
    if kind <= 1:
        return _dense(rng, name)
    if kind == 2:
        scales = [rng.choice(SCALES), rng.choice(SCALES, last).tolist(), rng.choice(SCALES, last)]
        return k.Rescaling(scales[rng.integers(3)], offset=float(rng.choice([0.0, 1.0, -0.5])), name=name)
    if kind == 3:
        return _normalization(rng, name, rank, last)
    size = int(np.prod([n or 1 for n in shape[1:]]))
    targets = [(size,), (1, size), (-1, last), (last, -1), (1, -1, 1)]
    return (
        lambda: k.ReLU(name=name),
        lambda: k.Activation([None, "linear", "relu", k.ReLU()][rng.integers(4)], name=name),
        lambda: k.Flatten(data_format="channels_first" if rank == 2 and rng.random() < 0.5 else None, name=name),
        lambda: k.Reshape(targets[rng.integers(len(targets))], name=name),
        lambda: k.Dropout(rng.choice([0.0, 0.5]), seed=[None, 3][rng.integers(2)], name=name),
        lambda: [k.GaussianNoise, k.GaussianDropout, k.AlphaDropout][rng.integers(3)](0.5, name=name),
        lambda: k.ActivityRegularization(l1=0.5, name=name),
    )[kind - 4]()


def _dense(rng: np.random.Generator, name: str) -> Any:
    options: dict[str, Any] = {}
    if rng.random() < 0.3:
        options |= {"kernel_regularizer": "l2", "bias_constraint": "non_neg", "kernel_initializer": "he_normal"}
    if rng.random() < 0.2:
        options |= {
            "activity_regularizer": keras.regularizers.L1(0.5),
            "kernel_constraint": keras.constraints.MaxNorm(2),
        }
    activations = (None, "linear", "relu", keras.activations.relu, k.ReLU(), "relu6", "hard_tanh", k.LeakyReLU(0.5))
    units, bias = int(rng.integers(1, 4)), bool(rng.random() < 0.7)
    return k.Dense(
        units, activations[rng.integers(8)], use_bias=bias, name=name, trainable=rng.random() < 0.8, **options
    )


def _normalization(rng: np.random.Generator, name: str, rank: int, last: int) -> Any:
    options: dict[str, Any] = {"invert": bool(rng.random() < 0.3), "name": name}
    form = rng.integers(4)
    if form == 0:
        options |= {"mean": [1.0] * last, "variance": rng.choice(VARIANCES, last).tolist()}
    elif form == 1:
        options |= {"mean": 1.5, "variance": float(rng.choice(VARIANCES)), "axis": [-1, None][rng.integers(2)]}
    elif form == 2:
        options["axis"] = [None, 1, (1, rank - 1) if rank > 2 else (1,)][rng.integers(3)]
    return k.Normalization(**options)


def _odd(rng: np.random.Generator, name: str, shape: tuple[int | None, ...]) -> Any:
    """A layer that is not supported."""
    if len(shape) == 4 and rng.random() < 0.5:
        return (
            lambda: k.Conv2D(2, 2, dilation_rate=2, padding="same", name=name),
            lambda: k.Conv2D(2, 1, groups=2 - int(shape[-1] or 1) % 2, activation="elu", name=name),
            lambda: k.DepthwiseConv2D(1, name=name),
            lambda: k.Conv2DTranspose(1, 2, name=name),
            lambda: k.UpSampling2D(2, name=name),
            lambda: k.ZeroPadding2D(1, name=name),
        )[rng.integers(6)]()
    return (
        lambda: k.Dense(2, doubled_relu, name=name),
        lambda: k.Dense(2, ShiftedReLU(), name=name),
        lambda: k.Dense(2, lambda x: -x, name=name),
        lambda: k.Dense(2, "softsign", name=name),
        lambda: k.Dense(2, k.LeakyReLU(negative_slope=0.5, name="relu", dtype="float16"), name=name),
        lambda: k.Activation(doubled_relu, name=name),
        lambda: NegatedDense(2, name=name),
        lambda: ShiftedReLU(name=name),
        lambda: k.ReLU(max_value=2.0, threshold=0.5, name=name),
        lambda: k.ReLU(threshold=1.0, name=name),
        lambda: k.BatchNormalization(epsilon=0.0, name=name),
        lambda: k.UnitNormalization(name=name),
    )[rng.integers(12)]()


def _not_plain(rng: np.random.Generator, first: Any, names: Any) -> Any:
    """A model that is no graph of plain calls from one input to one output."""
    size = int(first.shape[-1])
    inner = k.Dense(size, "relu", name=next(names))
    form = rng.integers(5)
    if form == 0:
        ends = inner(inner(first))
    elif form == 1:
        ends = k.Multiply(name=next(names))([inner(first), first])
    elif form == 2:
        ends = [inner(first), k.ReLU(name=next(names))(first)]
    elif form == 3:
        return keras.Sequential([first, keras.Sequential([inner], name=next(names)), k.Dense(2, name=next(names))])
    else:
        ends = -inner(first)
    return keras.Model(first, ends, name="model")
