"""The layers of a stored Keras model from its one input to its one output, and whose outputs each of them takes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from venmas.errors import NetworkError
from venmas.nn.keras_known import MERGES, Config, check_keys, check_layer, float_type, is_built_in, shape_of, short

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


def layers_in_order(config: Config) -> tuple[list[Config], list[list[str]]]:
    """The layers of a model's configuration, every one checked by `check_layer`, and the layers that each one takes.

    Raises `NetworkError`.
    """
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
    for number, layer in enumerate(layers):
        try:
            check_layer(layer, *(["inbound_nodes"] if functional else []))
            if number and not functional and layer["class_name"] == "InputLayer":
                raise NetworkError("stands behind other layers: expected one input, before all of them")
        except NetworkError as error:
            raise NetworkError(f"layer {layer_name(layer)!r} ({layer['class_name']}): {error}") from error
    names = [*map(layer_name, layers)]
    sources = _wiring(layers, inner) if functional else [[], *([name] for name in names[:-1])]
    _check_shared({key: value for key, value in config.items() if key not in _TRAINING})
    return layers, sources


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


def _wiring(layers: list[Config], inner: Config) -> list[list[str]]:
    """The layers whose outputs each layer takes. Raises `NetworkError` unless they are listed in the order of Keras.

    Keras lists layers in the order in which it applies them, and counts them in this order where it looks for their
    weights: in another order, weights would be taken for those of other layers.
    """
    names = [layer_name(layer) for layer in layers]
    sources = [_sources(layer) for layer in layers]
    kinds = [layer["class_name"] for layer in layers]
    lone = [not before or kind == "InputLayer" for before, kind in zip(sources, kinds, strict=True)]
    if starts := [name for name, alone in zip(names[1:], lone[1:], strict=True) if alone]:
        raise NetworkError(f"the model has {1 + len(starts)} inputs {short([names[0], *starts])}: expected one")
    for number, before in enumerate(sources):
        if late := [name for name in before if name not in names[:number]]:
            raise NetworkError(
                f"layer {names[number]!r} takes the output of layer {short(late[0])}: expected layers that are listed "
                "before it"
            )
    for key, name in (("input_layers", names[0]), ("output_layers", names[-1])):
        end = inner[key]
        while isinstance(end, dict | list) and len(end) == 1:
            end = end[0] if isinstance(end, list) else next(iter(end.values()))
        if end != [name, 0, 0]:
            raise NetworkError(f"its {key} are {short(inner[key])}: expected one, {name!r}, with all layers in between")
    order = _order_of_keras(dict(zip(names, sources, strict=True)), names[-1])
    if left := [name for name in names if name not in order]:
        raise NetworkError(f"layer {left[0]!r} does not lead to the output: save the model without it")
    if order != names:
        raise NetworkError(f"its layers are listed as {short(names)}, Keras would have {short(order)}: save it anew")
    return sources


def _order_of_keras(sources: dict[str, list[str]], end: str) -> list[str]:
    """Layers that lead to the end, those of the longest ways to it first, else as they are met on the way back.

    Source: ``map_graph`` of Keras 3, and ``_map_graph_network`` of Keras 2, which do the same.
    """
    order: dict[str, int] = {}
    finished: dict[str, None] = {}
    stack: list[tuple[str, Iterator[str]]] = [(end, iter(sources[end]))]
    order[end] = 0
    while stack:
        name, left = stack[-1]
        for before in left:
            if before not in order:
                order[before] = len(order)
                stack.append((before, iter(sources[before])))
                break
        else:
            finished[stack.pop()[0]] = None
    depth = dict.fromkeys(finished, 0)
    for name in reversed(finished):
        for before in sources[name]:
            depth[before] = max(depth[before], depth[name] + 1)
    return sorted(finished, key=lambda name: (-depth[name], order[name]))


def _sources(layer: Config) -> list[str]:
    """The layers before, none for an input. Raises `NetworkError` where a layer is called in any but the plain way."""
    nodes, several = layer["inbound_nodes"], layer["class_name"] in MERGES
    what = f"layer {layer_name(layer)!r} ({layer['class_name']})"
    if nodes == []:
        return []
    node = nodes[0]
    if isinstance(node, dict):  # Keras 3
        check_keys(node, ("args", "kwargs"), f"the call of {what}")
        options, args = node["kwargs"], node["args"]
        given = args[0] if several and len(args) == 1 and isinstance(args[0], list) else args
        plain = len(args) == 1 and (given is not args or not several) and all(isinstance(v, dict) for v in given)
        histories = list(_histories(args))
        plain = plain and len(histories) == len(given)
    else:  # Keras 2: [[name, node, tensor, options], ...]
        options = [tensor[3] for tensor in node if len(tensor) > 3]
        plain = all(len(tensor) in (3, 4) and tensor[3:] in ([], [options[0]]) for tensor in node)
        options = options[0] if options else {}
        histories = [tensor[:3] for tensor in node]
    if len(nodes) > 1 or (len(histories) != 1 and not several) or not histories or not plain:
        raise NetworkError(
            f"{what} is used twice or takes {short([h[0] for h in histories])}: expected one call on the output of one "
            f"layer, or of a list of layers for {', '.join(MERGES)}"
        )
    for key, value in options.items():
        if (key, value) not in (("training", None), ("training", False), ("mask", None)):
            raise NetworkError(f"{what} is called with {short(key)}: {short(value)}, which is not supported")
    for history in histories:
        if not isinstance(history[0], str) or history[1:] != [0, 0]:
            raise NetworkError(f"{what} takes {short(history)}: expected the only output of another layer")
    return [history[0] for history in histories]


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
