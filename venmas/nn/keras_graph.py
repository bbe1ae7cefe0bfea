"""The layers of a stored Keras model from its input to its output, checked to be one chain and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from venmas.errors import NetworkError
from venmas.nn.keras_known import Config, check_keys, check_layer, float_type, is_built_in, shape_of, short

_MOST = 1000
_MODEL = ("class_name", "config", "module", "registered_name", "shared_object_id", "build_config")
_TRAINING = ("compile_config", "keras_version", "backend")  # how it was trained, and with what
_SEQUENTIAL = ("name", "trainable", "dtype", "layers", "build_input_shape")
_FUNCTIONAL = ("name", "trainable", "dtype", "layers", "input_layers", "output_layers")
_MODULES = (
    *(f"{home}{room}" for home in ("keras", "tf_keras", "keras_core") for room in ("", ".models")),
    *(
        f"{home}.{room}"
        for home in ("keras", "keras.src", "tf_keras.src", "keras_core.src")
        for room in ("engine.functional", "engine.sequential", "engine.training")
    ),
    *(
        f"{home}.src.models.{room}"
        for home in ("keras", "keras_core")
        for room in ("functional", "sequential", "model")
    ),
)


def layers_in_order(config: Config) -> list[Config]:
    """The layers of a model's configuration, every one checked by `check_layer`. Raises `NetworkError`."""
    inner, kind = config["config"], config.get("class_name")
    layers: list[Config] = list(inner if isinstance(inner, list) else inner["layers"])
    if not 0 < len(layers) <= _MOST:
        raise NetworkError(f"the model has {len(layers)} layers: expected 1 to {_MOST}")
    if len(set(map(layer_name, layers))) < len(layers):
        raise NetworkError("two layers have the same name")
    if not is_built_in({"class_name": None, **config}, ("Sequential", "Functional", "Model"), _MODULES):
        raise NetworkError(
            f"a model of the class {short(kind)}: expected Sequential or a functional model of Keras itself"
        )
    check_keys(config, (*_MODEL, *_TRAINING), "the model")
    functional = kind != "Sequential"
    if isinstance(inner, dict):
        check_keys(inner, _FUNCTIONAL if functional else _SEQUENTIAL, "the configuration of the model")
        float_type(inner)
    if functional:
        _check_wiring(layers, inner)
    for number, layer in enumerate(layers):
        try:
            check_layer(layer, *(["inbound_nodes"] if functional else []))
            if number and layer["class_name"] == "InputLayer":
                raise NetworkError("stands behind other layers: expected one input, before all of them")
        except NetworkError as error:
            raise NetworkError(f"layer {layer_name(layer)!r} ({layer['class_name']}): {error}") from error
    _check_shared({key: value for key, value in config.items() if key not in _TRAINING})
    return layers


def layer_name(layer: Config) -> str:
    """The name of a stored layer."""
    return str(layer.get("name") or layer["config"]["name"])


def input_shape(config: Config, first: Config) -> tuple[int, ...]:
    """The shape of the input with a batch of one. Raises `NetworkError`, also where the file gives several."""
    inner = config["config"]
    given = [first["config"].get("batch_shape"), first["config"].get("batch_input_shape")]
    given.append(inner.get("build_input_shape") if isinstance(inner, dict) else None)
    given += [(stored.get("build_config") or {}).get("input_shape") for stored in (first, config)]
    shapes = [shape for shape in map(shape_of, given) if shape is not None]
    shape = shapes[0] if shapes else None
    if shape is None or len(shape) < 2 or not all(isinstance(d, int) and d > 0 for d in shape[1:]):
        raise NetworkError(f"the shape of the input is {short(shape)}: expected fixed dimensions after the batch")
    if any(other[1:] != shape[1:] for other in shapes):
        raise NetworkError(f"the file gives several shapes of the input: {short(shapes)}")
    return (1, *[d for d in shape[1:] if d is not None])


def _check_wiring(layers: list[Config], inner: Config) -> None:
    """Raise `NetworkError` unless every layer takes the output of the one before it and of nothing else.

    Keras lists layers in the order in which it applies them, and counts them in this order where it looks for their
    weights: in another order, weights would be taken for those of other layers.
    """
    names = [layer_name(layer) for layer in layers]
    sources = [_source(layer) for layer in layers]
    if starts := [name for name, source in zip(names[1:], sources[1:], strict=True) if source is None]:
        raise NetworkError(f"the model has {1 + len(starts)} inputs {short([names[0], *starts])}: expected one")
    for number, source in enumerate(sources):
        if source != (names[number - 1] if number else None):
            raise NetworkError(
                f"layer {names[number]!r} takes the output of layer {short(source)}: expected a chain, where every "
                "layer takes the output of the one listed before it"
            )
    for key, name in (("input_layers", names[0]), ("output_layers", names[-1])):
        end = inner[key]
        while isinstance(end, dict | list) and len(end) == 1:
            end = end[0] if isinstance(end, list) else next(iter(end.values()))
        if end != [name, 0, 0]:
            raise NetworkError(
                f"its {key} are {short(inner[key])}: expected one, {name!r}, at the end of a chain of all layers"
            )


def _source(layer: Config) -> str | None:
    """The layer before, None for an input. Raises `NetworkError` where a layer is called in any but the plain way."""
    nodes = layer["inbound_nodes"]
    what = f"layer {layer_name(layer)!r} ({layer['class_name']})"
    if nodes == []:
        return None
    node = nodes[0]
    if isinstance(node, dict):  # Keras 3
        check_keys(node, ("args", "kwargs"), f"the call of {what}")
        options, plain = node["kwargs"], len(node["args"]) == 1 and isinstance(node["args"][0], dict)
        histories = list(_histories(node["args"]))
    else:  # Keras 2: [[name, node, tensor, options], ...]
        options, plain = node[0][3] if len(node[0]) > 3 else {}, all(len(tensor) in (3, 4) for tensor in node)
        histories = [tensor[:3] for tensor in node]
    if len(nodes) > 1 or len(histories) != 1 or not plain:
        raise NetworkError(
            f"{what} is used twice or takes {short([h[0] for h in histories])}: expected a chain, where every layer "
            "has one input"
        )
    for key, value in options.items():
        if (key, value) not in (("training", None), ("training", False), ("mask", None)):
            raise NetworkError(f"{what} is called with {short(key)}: {short(value)}, which is not supported")
    (history,) = histories
    if not isinstance(history[0], str) or history[1:] != [0, 0]:
        raise NetworkError(f"{what} takes {short(history)}: expected the only output of another layer")
    return history[0]


def _histories(value: Any) -> Iterator[list[Any]]:
    """``[name, node, tensor]`` of every tensor in the stored arguments of a call."""
    if isinstance(value, dict) and value.get("class_name") == "__keras_tensor__":
        yield value["config"]["keras_history"]
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _histories(inner)


def _check_shared(config: Config) -> None:
    """Raise `NetworkError` where objects that Keras 3 takes for one and the same are stored with different contents."""
    seen: dict[Any, tuple[Any, ...]] = {}
    stack: list[Any] = [config]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            if "shared_object_id" in value:
                content = tuple(value.get(key) for key in ("class_name", "config", "module", "registered_name"))
                if seen.setdefault(value["shared_object_id"], content) != content:
                    raise NetworkError(f"two objects have the shared_object_id {short(value['shared_object_id'])}")
            stack.extend(value.values())
        elif isinstance(value, list):
            stack.extend(value)
