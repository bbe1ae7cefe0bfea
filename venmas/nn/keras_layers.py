"""The layers of Keras, applied to a `Chain` one by one."""

from __future__ import annotations

from typing import Any

import numpy as np

from venmas.errors import NetworkError
from venmas.nn import keras_windows, pieces
from venmas.nn.chain import Chain
from venmas.nn.keras_known import MERGES, Config, check_keys, check_layer, float_type, shape_of, short
from venmas.nn.keras_weights import LayerWeights
from venmas.nn.network import Array
from venmas.nn.values import Value, joined


def weight_fields(layer: Config) -> tuple[str, ...]:
    """The weights that a layer has, in the order in which Keras stores them."""
    config = layer["config"]
    match layer["class_name"]:
        case "Dense" | "Conv2D":
            return ("kernel", "bias") if config.get("use_bias", True) else ("kernel",)
        case "SimpleRNN" | "GRU" | "LSTM":
            return ("kernel", "recurrent_kernel", *(["bias"] if config.get("use_bias", True) else []))
        case "BatchNormalization":
            own = [name for name, key in (("gamma", "scale"), ("beta", "center")) if config[key]]
            return (*own, "moving_mean", "moving_variance")
        case "Normalization" if config.get("mean") is None:
            return ("mean", "variance")
    return ()


def apply_layer(chain: Chain, layer: Config, values: list[Value], weights: LayerWeights) -> None:
    """Add one layer, which `check_layer` knows; values: what it takes, the first of which is the current tensor.

    Raises `NetworkError`.
    """
    kind, config = layer["class_name"], layer["config"]
    check_built(layer, values)
    name = float_type(config)
    dtype = np.float64 if name == "float64" else np.float32
    match kind:
        case "Dense":
            shapes = [(chain.shape[-1], config["units"]), (config["units"],)]
            kernel, *bias = weights.read(weight_fields(layer), shapes, name)
            chain.matmul(kernel)
            for b in bias:
                chain.add(b)
            _activate(chain, config.get("activation"), layer)
        case "Conv2D":
            keras_windows.check_image(chain, config)
            shapes = [(*config["kernel_size"], chain.shape[-1], config["filters"]), (config["filters"],)]
            kernel, *bias = weights.read(weight_fields(layer), shapes, name)
            keras_windows.convolve(chain, config, kernel, bias[0] if bias else None)
            _activate(chain, config.get("activation"), layer)
        case "MaxPooling2D" | "AveragePooling2D" | "GlobalMaxPooling2D" | "GlobalAveragePooling2D":
            keras_windows.pool(chain, kind, config)
        case "BatchNormalization":
            fields = weight_fields(layer)
            (axis,) = _axes(config["axis"], len(chain.shape))
            read = weights.read(fields, [(chain.shape[axis],)] * len(fields), name)
            epsilon = float(_constant(config["epsilon"], dtype))
            keras_windows.batch_normalize(chain, axis, dict(zip(fields, read, strict=True)), epsilon)
        case "Add" | "Subtract" | "Maximum" | "Minimum" | "Concatenate":
            _merge(chain, kind, config, values)
        case "Activation":
            _activate(chain, config["activation"], layer)
        case "ReLU" | "LeakyReLU":
            _rectify(chain, kind, config, dtype)
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
            if np.any(np.abs(scale) != 1):
                chain.float32_refusal = pieces.FOLDED.format("factor of its own (Rescaling)")
        case "Normalization":
            _normalize(chain, config, dtype, weights)
            chain.float32_refusal = pieces.FOLDED.format("division of its own (Normalization)")


def check_built(layer: Config, values: list[Value]) -> None:
    """Raise `NetworkError` where a layer was built for tensors of other shapes than those it takes."""
    kind, config = layer["class_name"], layer["config"]
    stored = [(shape_of(config.get("batch_input_shape")), values[0])]
    if build := layer.get("build_config"):
        check_keys(build, ("input_shape",), "its build_config")
        built = build["input_shape"]
        several = kind in MERGES and isinstance(built, list) and len(built) == len(values)
        stored += [(shape_of(b), v) for b, v in zip(built if several else [built], values, strict=False)]
    for shape, value in stored:
        if shape is not None and tuple(shape[1:]) != value.shape[1:]:
            raise NetworkError(f"was built for inputs of shape {short(shape)}, the layer before gives {value.shape}")


def _activate(chain: Chain, activation: Any, layer: Config) -> None:
    """An activation as a name, as a function of Keras, or as a layer; whatever else it is, is refused."""
    if activation in ("relu6", "hard_tanh") and not layer.get("module"):
        raise NetworkError(
            f"activation {short(activation)} could be a function of a user, as the file does not say the module of the "
            "layer: save the model with Keras 3 as .keras"
        )
    if isinstance(activation, dict):
        if activation == {
            "class_name": "function",
            "config": activation.get("config"),
            "module": "builtins",
            "registered_name": "function",
        }:
            activation = activation["config"]
        elif activation.get("class_name") in ("ReLU", "LeakyReLU") and isinstance(activation.get("config"), dict):
            check_layer(activation)
            double = float_type(activation["config"]) == "float64"
            _rectify(chain, activation["class_name"], activation["config"], np.float64 if double else np.float32)
            return
    if activation == "relu":
        chain.relu()
    elif activation in ("relu6", "hard_tanh"):
        low, high = (0.0, 6.0) if activation == "relu6" else (-1.0, 1.0)
        pieces.clip(chain, np.array(low), np.array(high))
    elif activation in ("tanh", "sigmoid"):
        chain.bend(activation)
    elif activation not in (None, "linear"):
        raise NetworkError(
            f"activation {short(activation)} is not supported: expected 'relu', 'relu6', 'hard_tanh', 'tanh', "
            "'sigmoid' or 'linear' of Keras itself; a model that ends in softmax or another monotone function can be "
            "saved up to the values before it (the logits)"
        )


def _rectify(chain: Chain, kind: str, config: Config, dtype: type[np.floating[Any]]) -> None:
    """ReLU with its slope below 0 and its greatest value, and LeakyReLU."""
    given = [config[key] for key in ("negative_slope", "alpha") if key in config]
    if kind == "LeakyReLU" and len(given) != 1:
        raise NetworkError("expected one of negative_slope and alpha")
    slope = float(_constant(given[0] if given else 0, dtype))
    if slope != float(np.float32(slope)):  # TensorFlow holds it in single precision, others do not
        raise NetworkError(f"its slope {slope} in float64 is no number of float32, which Keras may round it to")
    most = config.get("max_value")
    if slope:
        pieces.leaky(chain, slope)
        low = None
    else:
        low = np.array(0.0)
    if most is not None:
        pieces.clip(chain, low, _constant(most, dtype))
    elif low is not None:
        chain.relu()


def _merge(chain: Chain, kind: str, config: Config, values: list[Value]) -> None:
    """Sums, differences and extremes of tensors of one shape, entry by entry, and tensors one after the other."""
    shapes = [list(v.shape) for v in values]
    chain.budget.spend(sum(v.size * len(v.parts) for v in values), "the operands")
    if kind == "Concatenate":
        axis = _axes(config["axis"], len(shapes[0]))[0]
        try:
            chain.current = joined(values, axis)
        except ValueError as error:
            raise NetworkError(f"takes shapes {short(shapes)}: {error}") from error
        return
    if any(shape != shapes[0] for shape in shapes):
        raise NetworkError(f"takes shapes {short(shapes)}: expected one shape")
    if kind == "Subtract":
        if len(values) != 2:
            raise NetworkError(f"takes {len(values)} tensors: expected two")
        values = [values[0], -values[1]]
    if kind in ("Add", "Subtract"):
        pieces.add_tensors(chain, values)
    else:
        pieces.maximum(chain, values, least=kind == "Minimum")


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
