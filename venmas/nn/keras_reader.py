"""Keras models as networks: .h5 files of whole models, .keras archives, and .json configurations with weights beside.

Configuration and weights are read as data, in the dialects of Keras 2 and Keras 3; neither keras nor anything that a
file names is imported or run. Sequential models and functional models that are one chain are supported.
"""

from __future__ import annotations

import zipfile
from collections import Counter
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from venmas.errors import NetworkError
from venmas.nn.chain import Chain
from venmas.nn.files import MAX_BYTES, parse_json, read_bytes
from venmas.nn.keras_weights import KerasWeights
from venmas.nn.network import Array, Network

_IDENTITIES = ("InputLayer", "Dropout", "GaussianNoise", "GaussianDropout", "AlphaDropout", "ActivityRegularization")
_SUPPORTED = ("Dense", "Activation", "ReLU", "Flatten", "Reshape", "Normalization", "Rescaling", *_IDENTITIES)
_MOST = 1000
_HOMES = ("keras", "tf_keras", "keras_core", "tensorflow", "builtins")
_MALFORMED = (KeyError, IndexError, TypeError, ValueError, AttributeError, RecursionError, OverflowError)


def read_keras(path: Path) -> Network:
    """Read a .h5, .hdf5, .keras or .json file; the weights of model.json are looked for in model.h5,
    model.weights.h5 and model_weights.h5. Raises `NetworkError`, naming the layer.

    A Normalization layer subtracts the stored mean and divides by ``max(sqrt(variance), 1e-7)``, the float that Keras
    computes in the type of the layer: that float is the stored weight here.
    """
    import h5py

    data = read_bytes(path)
    beside = read_bytes(_beside(path)) if path.suffix.lower() == ".json" else b""
    try:
        if path.suffix.lower() == ".keras":
            config, weights = _unzip(data)
        elif path.suffix.lower() == ".json":
            config, weights = parse_json(data, "the configuration"), beside
        else:
            config, weights = None, data
        with h5py.File(BytesIO(weights), "r") as file:
            return _read(config or _stored_config(file), file, path)
    except NetworkError as error:
        raise NetworkError(f"{path}: {error}") from error
    except (OSError, RuntimeError, *_MALFORMED) as error:  # what h5py raises for damaged files
        what = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        raise NetworkError(f"{path}: not a model as Keras writes it, or damaged: {what}") from error


def _unzip(data: bytes) -> tuple[dict[str, Any], bytes]:
    """The configuration and the HDF5 file of a .keras archive."""
    members = []
    for name in ("config.json", "model.weights.h5"):
        try:
            with zipfile.ZipFile(BytesIO(data)) as archive, archive.open(name) as member:
                members.append(member.read(MAX_BYTES + 1))
        except Exception as error:  # the errors of zipfile and of its decompressors have no common base
            raise NetworkError(f"not a .keras archive, or damaged: {type(error).__name__}: {error}") from error
        if len(members[-1]) > MAX_BYTES:
            raise NetworkError(
                f"{name} is larger than {MAX_BYTES >> 20} MB: too large for the networks VenMAS verifies"
            )
    return parse_json(members[0], "config.json"), members[1]


def _beside(path: Path) -> Path:
    names = [f"{path.stem}{ending}" for ending in (".h5", ".weights.h5", "_weights.h5", ".hdf5")]
    for name in names:
        if (file := path.with_name(name)).is_file():
            return file
    raise NetworkError(f"{path} holds no weights: expected them beside it as {', '.join(names)}")


def _stored_config(file: Any) -> dict[str, Any]:
    stored = "model_config" in file.attrs and file.attrs.get_id("model_config").shape == ()
    text = file.attrs["model_config"] if stored else None  # arrays of texts may name one text many times
    if not isinstance(text, str | bytes):
        raise NetworkError(
            "holds weights without a model: save the whole model, or read the .json of its configuration"
        )
    return parse_json(text, "the model_config")


def _read(config: dict[str, Any], file: Any, path: Path) -> Network:
    layers = _ordered(config)
    weights = KerasWeights(file)
    chain = Chain(_input_shape(config, layers))
    positions: dict[str, int] = {}
    counts: Counter[str] = Counter()
    for layer in _layers(config):
        positions[_name(layer)] = counts[layer["class_name"]]
        counts[layer["class_name"]] += 1
    for layer in layers:
        name, kind, position = _name(layer), layer["class_name"], positions[_name(layer)]
        try:
            _apply(chain, layer, _Of(weights, layer, position))
        except (NetworkError, *_MALFORMED) as error:
            what = error if isinstance(error, NetworkError) else f"{type(error).__name__}: {error}"
            raise NetworkError(f"layer {name!r} ({kind}): {what}") from error
    return chain.network(path.stem, "float64" if "float64" in weights.float_types else "float32", str(path))


class _Of:
    """The weights of one layer."""

    def __init__(self, weights: KerasWeights, layer: dict[str, Any], position: int) -> None:
        self.weights, self.layer, self.position = weights, layer, position

    def read(self, fields: tuple[str, ...], shapes: list[tuple[int, ...]]) -> list[Array]:
        found = self.weights.of_layer(_name(self.layer), self.layer["class_name"].lower(), self.position, fields)
        return [self.weights.read(found, f, shape) for f, shape in zip(fields, shapes, strict=False)]


def _layers(config: dict[str, Any]) -> list[dict[str, Any]]:
    """The layers of a model's configuration in the order of the file."""
    inner = config["config"]
    return list(inner if isinstance(inner, list) else inner["layers"])


def _name(layer: dict[str, Any]) -> str:
    return str(layer.get("name") or layer["config"]["name"])


def _ordered(config: dict[str, Any]) -> list[dict[str, Any]]:
    """The layers from input to output."""
    layers, kind = _layers(config), config.get("class_name")
    if not 0 < len(layers) <= _MOST:
        raise NetworkError(f"the model has {len(layers)} layers: expected 1 to {_MOST}")
    if len(set(map(_name, layers))) < len(layers):
        raise NetworkError("two layers have the same name")
    if kind == "Sequential":
        return layers
    if kind not in ("Functional", "Model"):
        raise NetworkError(f"a model of the class {kind!r}: expected Sequential or a functional model")
    successors: dict[str, list[dict[str, Any]]] = {}
    starts = []
    for layer in layers:
        sources = list(_sources(layer["inbound_nodes"]))
        if len(sources) > 1 or len(layer["inbound_nodes"]) > 1:
            raise NetworkError(
                f"layer {_name(layer)!r} ({layer['class_name']}) is used twice or takes {sources}: expected a "
                "chain, where every layer has one input"
            )
        starts += [] if sources else [layer]
        for source in sources:
            successors.setdefault(source, []).append(layer)
    if len(starts) != 1:
        raise NetworkError(f"the model has {len(starts)} inputs {[_name(s) for s in starts][:5]}: expected one")
    order = [starts[0]]
    while following := successors.get(_name(order[-1])):
        if len(following) > 1:
            names = [_name(f) for f in following]
            raise NetworkError(f"the output of layer {_name(order[-1])!r} goes to {names}: expected a chain")
        order += following
    outputs = list(_sources(config["config"]["output_layers"]))
    if outputs != [_name(order[-1])] or len(order) != len(layers):
        raise NetworkError(f"the outputs are {outputs}: expected one, at the end of a chain of all layers")
    return order


def _sources(nodes: Any) -> Iterator[str]:
    """Names of the layers in the history entries ``[name, node, tensor, ...]`` of either dialect."""
    if isinstance(nodes, dict):
        if nodes.get("class_name") == "__keras_tensor__":
            nodes = nodes["config"]["keras_history"]
        else:
            nodes = list(nodes.values())
    if isinstance(nodes, list):
        if len(nodes) >= 3 and isinstance(nodes[0], str) and isinstance(nodes[1], int) and isinstance(nodes[2], int):
            yield nodes[0]
        else:
            for node in nodes:
                yield from _sources(node)


def _input_shape(config: dict[str, Any], layers: list[dict[str, Any]]) -> tuple[int, ...]:
    first, inner = layers[0], config["config"]
    candidates = [first["config"].get("batch_shape"), first["config"].get("batch_input_shape")]
    candidates.append(inner.get("build_input_shape") if isinstance(inner, dict) else None)
    candidates.append((first.get("build_config") or {}).get("input_shape"))
    shape = next((c for c in candidates if isinstance(c, list)), None)
    if shape is None or not all(isinstance(d, int) and d > 0 for d in shape[1:]) or len(shape) < 2:
        raise NetworkError(f"the shape of the input is {shape}: expected fixed dimensions after the batch")
    return (1, *shape[1:])


def _apply(chain: Chain, layer: dict[str, Any], weights: _Of) -> None:
    kind, config = layer["class_name"], layer["config"]
    home = str(layer.get("module") or "keras").split(".")[0]
    if kind not in _SUPPORTED or home not in _HOMES or ">" in str(layer.get("registered_name") or ""):
        if kind == "Softmax":
            raise NetworkError("is not piecewise linear: save the model up to the layer before it (the logits)")
        raise NetworkError(f"layers of this class are not supported; supported are {', '.join(_SUPPORTED)}")
    dtype = _dtype(config)
    match kind:
        case "Dense":
            shape = (chain.shape[-1], int(config["units"]))
            kernel, *bias = weights.read(
                ("kernel", "bias"), [shape, shape[1:]] if config.get("use_bias", True) else [shape]
            )
            chain.matmul(kernel)
            for b in bias:
                chain.add(b)
            _activate(chain, config.get("activation"))
        case "Activation":
            _activate(chain, config["activation"])
        case "ReLU":
            _plain_relu(chain, config)
        case "Flatten":
            if config.get("data_format") == "channels_first" and len(chain.shape) > 2:
                raise NetworkError("data_format channels_first is not supported: expected channels_last")
            chain.rearrange(lambda t: t.reshape(1, -1))
        case "Reshape":
            chain.rearrange(lambda t: t.reshape(1, *config["target_shape"]))
        case "Rescaling":
            chain.scale(_constant(config["scale"], dtype))
            chain.add(_constant(config.get("offset", 0.0), dtype))
        case "Normalization":
            _normalize(chain, config, dtype, weights)


def _dtype(config: dict[str, Any]) -> type[np.float32] | type[np.float64]:
    """The type a layer computes in."""
    policy = config.get("dtype") or "float32"
    name = policy["config"]["name"] if isinstance(policy, dict) else policy
    if name not in ("float32", "float64"):
        raise NetworkError(f"computes in {name!r}: expected float32 or float64")
    return np.float64 if name == "float64" else np.float32


def _activate(chain: Chain, activation: Any) -> None:
    if isinstance(activation, dict):
        if activation.get("class_name") == "ReLU":
            _plain_relu(chain, activation["config"])
            return
        custom = ">" in str(activation.get("registered_name") or "")
        activation = "custom" if custom else activation.get("config")
    if activation == "relu":
        chain.relu()
    elif activation not in (None, "linear"):
        raise NetworkError(
            f"activation {activation!r} is not supported: expected 'relu' or 'linear'; a model that ends in softmax or "
            "another monotone function can be saved up to the values before it (the logits)"
        )


def _plain_relu(chain: Chain, config: dict[str, Any]) -> None:
    if config.get("max_value") is not None or config.get("negative_slope") or config.get("threshold"):
        raise NetworkError("only the plain ReLU is supported: max_value None, negative_slope 0, threshold 0")
    chain.relu()


def _constant(value: Any, dtype: type[np.floating[Any]]) -> Array:
    """A number or list of the configuration as the float that the layer computes with."""
    if isinstance(value, dict):
        value = value["config"]["value"]
    array = np.asarray(value, dtype=dtype).astype(np.float64)
    if not np.all(np.isfinite(array)):
        raise NetworkError("its configuration holds NaN or infinite values: expected finite numbers")
    return array


def _normalize(chain: Chain, config: dict[str, Any], dtype: type[np.floating[Any]], weights: _Of) -> None:
    axes = config.get("axis", -1)
    axes = [] if axes is None else [axes] if isinstance(axes, int) else list(axes)
    rank = len(chain.shape)
    kept = sorted(range(rank)[axis] for axis in axes)
    if config.get("mean") is not None:
        values = [_constant(config[key], dtype) for key in ("mean", "variance")]
    else:
        shape = tuple(chain.shape[axis] for axis in kept)
        values = [v.astype(dtype).astype(np.float64) for v in weights.read(("mean", "variance"), [shape, shape])]
    aligned = []
    for value in values:
        shape = (
            tuple(
                value.shape[kept.index(axis) - len(kept)] if axis in kept[len(kept) - value.ndim :] else 1
                for axis in range(rank)
            )
            if value.ndim
            else ()
        )
        aligned.append(value.reshape(shape))
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
