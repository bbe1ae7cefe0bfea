"""The layers of Keras, applied to a `Chain` one by one."""

from __future__ import annotations

from typing import Any

import numpy as np

from venmas.errors import NetworkError
from venmas.nn.chain import Chain
from venmas.nn.keras_known import Config, check_keys, check_layer, float_type, shape_of, short
from venmas.nn.keras_weights import LayerWeights
from venmas.nn.network import Array


def weight_fields(layer: Config) -> tuple[str, ...]:
    """The weights that a layer has, in the order in which Keras stores them."""
    config = layer["config"]
    match layer["class_name"]:
        case "Dense":
            return ("kernel", "bias") if config.get("use_bias", True) else ("kernel",)
        case "Normalization" if config.get("mean") is None:
            return ("mean", "variance")
    return ()


def apply_layer(chain: Chain, layer: Config, weights: LayerWeights) -> None:
    """Add one layer, which `check_layer` knows. Raises `NetworkError`."""
    kind, config = layer["class_name"], layer["config"]
    stored = [shape_of(config.get("batch_input_shape"))]
    if build := layer.get("build_config"):
        check_keys(build, ("input_shape",), "its build_config")
        stored.append(shape_of(build["input_shape"]))
    for shape in stored:
        if shape is not None and tuple(shape[1:]) != chain.shape[1:]:
            raise NetworkError(f"was built for inputs of shape {short(shape)}, the layer before gives {chain.shape}")
    name = float_type(config)
    dtype = np.float64 if name == "float64" else np.float32
    match kind:
        case "Dense":
            shapes = [(chain.shape[-1], config["units"]), (config["units"],)]
            kernel, *bias = weights.read(weight_fields(layer), shapes, name)
            chain.matmul(kernel)
            for b in bias:
                chain.add(b)
            _activate(chain, config.get("activation"))
        case "Activation":
            _activate(chain, config["activation"])
        case "ReLU":
            chain.relu()
        case "Flatten":
            if config.get("data_format") == "channels_first" and len(chain.shape) > 2:
                raise NetworkError("data_format channels_first is not supported: expected channels_last")
            chain.rearrange(lambda t: t.reshape(1, -1))
        case "Reshape":
            chain.rearrange(lambda t: t.reshape(1, *config["target_shape"]))
        case "Rescaling":
            scale, offset = _constant(config["scale"], dtype), _constant(config["offset"], dtype)
            _check_broadcast(chain, scale, offset)
            chain.scale(scale)
            chain.add(offset)
        case "Normalization":
            _normalize(chain, config, dtype, weights)


def _activate(chain: Chain, activation: Any) -> None:
    """An activation as a name, as a function of Keras, or as a layer; whatever else it is, is refused."""
    if isinstance(activation, dict):
        if activation == {
            "class_name": "function",
            "config": activation.get("config"),
            "module": "builtins",
            "registered_name": "function",
        }:
            activation = activation["config"]
        elif activation.get("class_name") == "ReLU" and isinstance(activation.get("config"), dict):
            check_layer(activation)
            float_type(activation["config"])
            chain.relu()
            return
    if activation == "relu":
        chain.relu()
    elif activation in ("tanh", "sigmoid"):
        chain.bend(activation)
    elif activation not in (None, "linear"):
        raise NetworkError(
            f"activation {short(activation)} is not supported: expected 'relu', 'tanh', 'sigmoid' or 'linear' of Keras "
            "itself; a model "
            "that ends in softmax or another monotone function can be saved up to the values before it (the logits)"
        )


def _constant(value: Any, dtype: type[np.floating[Any]]) -> Array:
    """A number or list of the configuration as the float that the layer computes with."""
    if isinstance(value, dict):
        value = np.asarray(value["config"]["value"], dtype=value["config"]["dtype"])
    with np.errstate(over="ignore"):
        array = np.asarray(value, dtype=dtype).astype(np.float64)
    if not np.all(np.isfinite(array)):
        raise NetworkError("its configuration holds NaN or infinite values: expected finite numbers")
    return array


def _check_broadcast(chain: Chain, *constants: Array) -> None:
    """Raise `NetworkError` where a constant would widen the tensor, or reach over its batch."""
    for c in constants:
        fits = c.ndim < len(chain.shape) and all(
            n in (1, m) for n, m in zip(c.shape[::-1], chain.shape[::-1], strict=False)
        )
        if not fits:
            raise NetworkError(f"shapes {list(chain.shape)} and {list(c.shape)} do not fit together")


def _axes(axis: Any, rank: int) -> list[int]:
    """The axes that have moments of their own, ascending."""
    axes = [] if axis is None else [axis] if isinstance(axis, int) else axis
    kept = sorted(range(rank)[axis] for axis in axes)
    if 0 in kept or len(set(kept)) < len(kept):
        raise NetworkError(f"its axis is {short(axis)}: expected axes after the batch, each once")
    return kept


def _normalize(chain: Chain, config: Config, dtype: type[np.floating[Any]], weights: LayerWeights) -> None:
    rank = len(chain.shape)
    kept = _axes(config.get("axis", -1), rank)
    if config.get("mean") is not None:
        values = [_constant(config[key], dtype) for key in ("mean", "variance")]
        if values[0].shape != values[1].shape or values[0].ndim > len(kept):
            raise NetworkError(
                f"its mean and variance have the shapes {[list(v.shape) for v in values]}: expected one "
                f"shape of at most {len(kept)} dimensions"
            )
    elif config.get("variance") is not None:
        raise NetworkError("its configuration has a variance without a mean")
    else:
        shape = tuple(chain.shape[axis] for axis in kept)
        read = weights.read(("mean", "variance"), [shape, shape], float_type(config))
        values = [v.astype(dtype).astype(np.float64) for v in read]
    aligned = []
    for value in values:
        sizes = dict(zip(kept[::-1], value.shape[::-1], strict=False))
        aligned.append(value.reshape([sizes.get(axis, 1) for axis in range(rank)]))
    _check_broadcast(chain, *(value[0] for value in aligned))
    mean, variance = aligned
    if np.any(variance < 0):
        raise NetworkError("its variance is negative")
    deviation = np.maximum(np.sqrt(variance.astype(dtype)), dtype(1e-7)).astype(np.float64)
    if config.get("invert"):
        chain.scale(deviation)
        chain.add(mean)
    else:
        chain.add(-mean)
        chain.divide(deviation)
