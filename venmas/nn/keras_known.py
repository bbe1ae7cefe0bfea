"""Known configurations of Keras layers: the entries that Keras 2 and 3 write, and the values that are understood.

Every class has a table of its keys. A key says either something that is read, which is tested here for its form, or
something that changes only training (`_ANY`). A class, registered name, module, key or value that stands in no table is
refused: Keras would do something there that the network read would not.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple, TypeAlias

from venmas.errors import NetworkError

Config: TypeAlias = dict[str, Any]


class Known(NamedTuple):
    """The values of a key that are understood: a test, and what it expects in words."""

    test: Callable[[Any], bool]
    expected: str


def is_whole(value: Any) -> bool:
    """Whether a value of JSON is an integer; true and false are none."""
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return is_whole(value) or isinstance(value, float)


def _is_constant(value: Any) -> bool:
    """A number, nested lists of numbers, or an array as Keras 3 stores it."""
    if isinstance(value, dict):
        inner = value.get("config")
        return (
            set(value) == {"class_name", "config"}
            and value["class_name"] in ("__numpy__", "__tensor__")
            and isinstance(inner, dict)
            and set(inner) == {"value", "dtype"}
            and inner["dtype"] in ("float32", "float64", "int32", "int64")
            and _is_constant(inner["value"])
            and not isinstance(inner["value"], dict)
        )
    return (
        all(not isinstance(v, dict) and _is_constant(v) for v in value)
        if isinstance(value, list)
        else _is_number(value)
    )


def _one_of(*values: Any) -> Known:
    """One of these values; 0 is also 0.0 but not False."""
    return Known(
        lambda given: any(given == v and isinstance(given, bool) == isinstance(v, bool) for v in values),
        " or ".join(map(repr, values)),
    )


_ANY = Known(lambda value: True, "")
_FLAG = Known(lambda value: isinstance(value, bool), "true or false")
_CONSTANT = Known(_is_constant, "a number or a list of numbers")
_MOMENT = Known(lambda value: value is None or _is_constant(value), "a number or a list of numbers, or nothing")
_SHAPE = Known(lambda value: value is None or shape_of(value) is not None, "a list of dimensions")
_AXES = Known(
    lambda value: value is None or is_whole(value) or (isinstance(value, list) and all(map(is_whole, value))),
    "a whole number, a list of them, or nothing",
)
_TARGET = Known(
    lambda value: isinstance(value, list) and value != [] and all(is_whole(d) and (d > 0 or d == -1) for d in value),
    "a list of dimensions",
)
_UNITS = Known(lambda value: is_whole(value) and value > 0, "a positive whole number")
_NEVER = _one_of(None, False)
_PAIR = Known(
    lambda value: isinstance(value, list) and len(value) == 2 and all(is_whole(d) and d > 0 for d in value),
    "two positive whole numbers",
)
_LIMIT = Known(lambda value: value is None or (_is_number(value) and value >= 0), "a number from 0, or nothing")
_SLOPE = Known(lambda value: _is_number(value) and value >= 0, "a number from 0")
_AXIS = Known(
    lambda value: is_whole(value) or (isinstance(value, list) and [*map(is_whole, value)] == [True]), "one axis"
)
_EPSILON = Known(lambda value: _is_number(value) and value >= 1.001e-5, "a number from 1.001e-5, Keras 2 takes no less")
_ACTIVATION = Known(lambda value: True, "see below")  # read by `venmas.nn.keras_layers`

_COMMON = {
    "name": Known(lambda value: isinstance(value, str), "a text"),
    "trainable": _ANY,
    "dtype": _ANY,  # read by `float_type`
    "batch_input_shape": _SHAPE,
    "activity_regularizer": _ANY,
}
_NOISE = {"seed": _ANY, "noise_shape": _ANY}
_ROLES = ("kernel", "bias")
_TUNED = {f"{role}_{what}": _ANY for role in _ROLES for what in ("initializer", "regularizer", "constraint")}
_LAST = {"data_format": _one_of("channels_last")}
_WINDOW = {"strides": _PAIR, "padding": _one_of("valid", "same"), **_LAST}

LAYERS: Mapping[str, Mapping[str, Known]] = {
    "InputLayer": {"batch_shape": _SHAPE, "sparse": _NEVER, "ragged": _NEVER, "optional": _NEVER},
    "Dense": {
        "units": _UNITS,
        "activation": _ACTIVATION,
        "use_bias": _FLAG,
        **_TUNED,
        "quantization_config": _one_of(None),
        "lora_rank": _one_of(None),
        "lora_alpha": _one_of(None),
    },
    "Conv2D": {
        "filters": _UNITS,
        "kernel_size": _PAIR,
        **_WINDOW,
        "dilation_rate": Known(lambda value: value == [1, 1], "[1, 1]"),
        "groups": _one_of(1),
        "activation": _ACTIVATION,
        "use_bias": _FLAG,
        **_TUNED,
        "quantization_config": _one_of(None),
        "lora_rank": _one_of(None),
        "lora_alpha": _one_of(None),
    },
    "MaxPooling2D": {"pool_size": _PAIR, **_WINDOW},
    "AveragePooling2D": {"pool_size": _PAIR, **_WINDOW},
    "GlobalMaxPooling2D": {"keepdims": _FLAG, **_LAST},
    "GlobalAveragePooling2D": {"keepdims": _FLAG, **_LAST},
    "BatchNormalization": {
        "axis": _AXIS,
        "epsilon": _EPSILON,
        "center": _FLAG,
        "scale": _FLAG,
        "renorm": _NEVER,
        "virtual_batch_size": _one_of(None),
        "adjustment": _one_of(None),
        **dict.fromkeys(("momentum", "synchronized", "fused", "renorm_clipping", "renorm_momentum"), _ANY),
        **{
            f"{role}_{what}": _ANY
            for role in ("beta", "gamma")
            for what in ("initializer", "regularizer", "constraint")
        },
        **{f"moving_{role}_initializer": _ANY for role in ("mean", "variance")},
    },
    **{merge: {} for merge in ("Add", "Subtract", "Maximum", "Minimum")},
    "Concatenate": {"axis": Known(is_whole, "a whole number")},
    "Activation": {"activation": _ACTIVATION},
    "ReLU": {"max_value": _LIMIT, "negative_slope": _SLOPE, "threshold": _one_of(0)},
    "LeakyReLU": {"negative_slope": _SLOPE, "alpha": _SLOPE},
    "Flatten": {"data_format": _one_of(None, "channels_last", "channels_first")},
    "Reshape": {"target_shape": _TARGET},
    "Normalization": {"axis": _AXES, "invert": _FLAG, "mean": _MOMENT, "variance": _MOMENT},
    "Rescaling": {"scale": _CONSTANT, "offset": _CONSTANT},
    "Dropout": {"rate": _ANY, **_NOISE},
    "GaussianNoise": {"stddev": _ANY, **_NOISE},
    "GaussianDropout": {"rate": _ANY, **_NOISE},
    "AlphaDropout": {"rate": _ANY, **_NOISE},
    "ActivityRegularization": {"l1": _ANY, "l2": _ANY},
}
"""The keys of each supported class beside those that every class has."""

MERGES = ("Add", "Subtract", "Maximum", "Minimum", "Concatenate")
"""Those that take the outputs of several layers."""

_OUTER = ("class_name", "config", "module", "registered_name", "shared_object_id", "build_config", "name")
_CELL = {
    "units": _UNITS,
    "activation": _one_of("tanh"),
    "use_bias": _FLAG,
    "return_sequences": _FLAG,
    "return_state": _one_of(False),
    "go_backwards": _one_of(False),
    "stateful": _FLAG,
    "zero_output_for_mask": _NEVER,
    "time_major": _NEVER,
    **dict.fromkeys(("unroll", "implementation", "use_cudnn", "dropout", "recurrent_dropout", "seed"), _ANY),
    **{
        f"{role}_{what}": _ANY
        for role in (*_ROLES, "recurrent")
        for what in ("initializer", "regularizer", "constraint")
    },
}
_GATED = {**_CELL, "recurrent_activation": _one_of("sigmoid")}
RECURRENT: Mapping[str, Mapping[str, Known]] = {
    "SimpleRNN": _CELL,
    "GRU": {**_GATED, "reset_after": _FLAG},
    "LSTM": {**_GATED, "unit_forget_bias": _ANY},
}
"""The keys of those with a memory."""

_MODULES = ("keras.layers", "keras._legacy.layers", "tf_keras.layers", "keras_core.layers")
_POLICIES = ("DTypePolicy", "FloatDTypePolicy", "Policy")


def short(value: Any) -> str:
    """A value of a stranger's file, short enough for a message."""
    return reprlib.repr(value)


def check_keys(given: Mapping[str, Any], known: Collection[str], where: str) -> None:
    """Raise `NetworkError` where a dictionary has a key that is not known."""
    if unknown := [key for key in given if key not in known]:
        raise NetworkError(
            f"{where} has {short(unknown[0])}: {short(given[unknown[0]])}, which is not supported; build and save the "
            "model without it, or export it as ONNX"
        )


def check_layer(layer: Config, *outer: str) -> None:
    """Raise `NetworkError` unless class, registered name, module and every key of a stored layer are known.

    outer: keys beside those that every layer may have.
    """
    kind, config = layer["class_name"], layer["config"]
    if kind == "Softmax":
        raise NetworkError("is not piecewise linear: save the model up to the layer before it (the logits)")
    classes = {**LAYERS, **RECURRENT}
    if not is_built_in(layer, classes, _MODULES):
        stored = {key: layer[key] for key in ("registered_name", "module") if layer.get(key)}
        raise NetworkError(
            f"layers of this class are not supported{', stored as ' + short(stored) if stored else ''}; supported are "
            f"{', '.join(classes)} of Keras itself"
        )
    check_keys(layer, (*_OUTER, *outer), "the layer")
    if "name" in layer and layer["name"] != config.get("name"):
        raise NetworkError(f"its configuration names it {short(config.get('name'))}")
    known = {**_COMMON, **classes[kind]}
    check_keys(config, known, "its configuration")
    for key, value in config.items():
        if not known[key].test(value):
            raise NetworkError(f"its {key} is {short(value)}: expected {known[key].expected}")


def is_built_in(stored: Config, classes: Collection[str], modules: Collection[str]) -> bool:
    """Whether a stored object is of one of these classes of Keras itself, under no name of its own."""
    kind = stored["class_name"]
    return (
        isinstance(kind, str)
        and kind in classes
        and stored.get("registered_name") in (None, kind)
        and stored.get("module") in (None, *modules)
    )


def float_type(config: Config) -> str | None:
    """The type that a layer computes in, "float32" or "float64"; None where nothing says it. Raises `NetworkError`."""
    policy = config.get("dtype")
    if policy is None:
        return None
    name = policy
    if isinstance(policy, dict):
        inner = policy.get("config")
        name = inner.get("name") if isinstance(inner, dict) else inner
    if name not in ("float32", "float64"):
        raise NetworkError(f"computes in {short(name)}: expected float32 or float64")
    if isinstance(policy, dict):
        check_keys(policy, ("class_name", "config", "module", "registered_name", "shared_object_id"), "its dtype")
        modules = ("keras", "keras.dtype_policies", "keras.mixed_precision", "tf_keras.mixed_precision")
        if not is_built_in({"class_name": None, **policy}, _POLICIES, modules) or policy["config"] != {"name": name}:
            raise NetworkError(f"its dtype is {short(policy)}: expected a policy of Keras itself")
    return str(name)


def shape_of(value: Any) -> list[int | None] | None:
    """A stored shape with the batch first, None where it is no shape."""
    if isinstance(value, dict) and set(value) == {"class_name", "items"} and value["class_name"] == "TensorShape":
        value = value["items"]
    return value if isinstance(value, list) and all(d is None or is_whole(d) for d in value) else None
