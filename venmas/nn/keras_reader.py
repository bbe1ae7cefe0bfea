"""Keras models as networks: .h5 files of whole models, .keras archives, and .json configurations with weights beside.

Configuration and weights are read as data, in the dialects of Keras 2 and Keras 3; neither keras nor anything that a
file names is imported or run. Sequential models and functional models of one input and one output are supported. What
a file says is read, or known to change training only, or refused: `venmas.nn.keras_known` has the tables.
"""

from __future__ import annotations

import re
import zipfile
from collections import Counter
from io import BytesIO
from pathlib import Path
from typing import Any

from venmas.errors import NetworkError
from venmas.nn.chain import Chain
from venmas.nn.files import parse_json, read_bytes, read_member
from venmas.nn.keras_cells import Sequence, has_memory
from venmas.nn.keras_graph import input_shape, layer_name, layers_in_order
from venmas.nn.keras_known import RECURRENT, Config, short
from venmas.nn.keras_layers import apply_layer, check_built, weight_fields
from venmas.nn.keras_weights import KerasWeights
from venmas.nn.network import FloatType, Network
from venmas.nn.recurrent import Cell, Recurrent

_CONFIG, _WEIGHTS = "config.json", "model.weights.h5"
_MEMBERS = ("metadata.json", _CONFIG, _WEIGHTS)
_SNAKE = re.compile("(?<=[a-z])(?=[A-Z])")
_MALFORMED = (KeyError, IndexError, TypeError, ValueError, AttributeError, RecursionError, OverflowError)


def read_keras(path: Path) -> Network:
    """Read a .h5, .hdf5, .keras or .json file; the weights of model.json are looked for in model.h5,
    model.weights.h5 and model_weights.h5. Raises `NetworkError`, naming the layer.

    A Normalization layer subtracts the stored mean and divides by ``max(sqrt(variance), 1e-7)``, the float that Keras
    computes in the type of the layer: that float is the stored weight here.
    """
    (network, *others) = _stages(path)
    if others or isinstance(network, Cell):
        raise NetworkError(f"{path}: the model has a memory, LSTM, GRU or SimpleRNN: read it with load_recurrent")
    return network


def read_recurrent(path: Path, _options: None = None) -> Recurrent:
    """Read such a file of a model with LSTM, GRU or SimpleRNN layers. Raises `NetworkError`, naming the layer.

    Its layers follow each other; a step is one entry of a sequence without a fixed length, or a call with one entry
    where they are stateful. Source of what the layers compute: Keras 3, whose GRU and LSTM are those of Keras 2.
    """
    return Recurrent(tuple(_stages(path)), path.stem, str(path))


def _stages(path: Path) -> list[Network | Cell]:
    try:
        import h5py
    except ImportError as error:  # left out where only certificates are checked
        raise NetworkError(f"{path}: reading networks of Keras needs h5py: run `pip install h5py`") from error
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
            stages = _read(_stored_config(file) if config is None else config, KerasWeights(file, len(weights)), path)
        if path.suffix.lower() == ".keras":
            _check_members(data)
        return stages
    except NetworkError as error:
        raise NetworkError(f"{path}: {error}") from error
    except (OSError, RuntimeError, *_MALFORMED) as error:  # what h5py raises for damaged files
        what = " ".join(str(error).split())[:200]
        what = what if isinstance(error, OSError | RuntimeError) else f"{type(error).__name__}: {what}"
        raise NetworkError(f"{path}: not a model as Keras writes it, or damaged: {what}; save it again") from error


def _unzip(data: bytes) -> tuple[dict[str, Any], bytes]:
    """The configuration and the HDF5 file of a .keras archive."""
    members = [read_member(data, name, "a .keras archive") for name in (_CONFIG, _WEIGHTS)]
    return parse_json(members[0], _CONFIG), members[1]


def _check_members(data: bytes) -> None:
    """Raise `NetworkError` where an archive holds anything beside what was read, or anything twice."""
    with zipfile.ZipFile(BytesIO(data)) as archive:
        names = archive.namelist()
    if left := [name for name in names if name not in _MEMBERS]:
        raise NetworkError(
            f"the archive holds {short(left[0])}, which is not read: expected only {', '.join(_MEMBERS)}"
        )
    if len(set(names)) < len(names):
        raise NetworkError(f"the archive holds a file twice: expected {', '.join(_MEMBERS)} once each")


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


def _read(config: Config, weights: KerasWeights, path: Path) -> list[Network | Cell]:
    """The parts of the model, of which only those with a memory are several."""
    inner = config["config"]
    time = Sequence(config) if has_memory(inner if isinstance(inner, list) else inner["layers"]) else None
    layers, sources = layers_in_order(config if time is None else time.config)
    chain = Chain(input_shape(config if time is None else time.config, layers[0]))
    last = {name: number for number, before in enumerate(sources) for name in before}
    counts: Counter[str] = Counter()
    stages: list[Network | Cell] = []
    for number, layer in enumerate(layers):
        name, kind = layer_name(layer), layer["class_name"]
        key = _SNAKE.sub("_", kind).lower() + (f"_{counts[kind]}" if counts[kind] else "")
        counts[kind] += 1
        try:
            values = [chain.held[before] for before in sources[number]] or [chain.current]
            for before in sources[number]:
                if last[before] == number:
                    chain.held.pop(before, None)
            chain.current = values[0]
            own = weights.of_layer(name, key, weight_fields(layer))
            if time is not None:
                time.pass_by(layer)
            if time is not None and kind in RECURRENT:
                if chain.held:
                    raise NetworkError(f"stands beside layer {next(iter(chain.held))!r}: expected a chain of layers")
                check_built(layer, values)
                cell, shape = time.cell(layer, chain.shape, own)
                stages += [*_part(chain, path), cell]
                chain = Chain(shape)
            else:
                apply_layer(chain, layer, values, own)
        except (NetworkError, *_MALFORMED) as error:
            what = error if isinstance(error, NetworkError) else f"{type(error).__name__}: {error}"
            raise NetworkError(f"layer {name!r} ({kind}): {what}") from error
        if name in last:
            chain.held[name] = chain.current
    weights.finish([layer_name(layer) for layer in layers])
    kind_of_float: FloatType = "float64" if "float64" in weights.float_types else "float32"
    if stages:
        return [*stages, *_part(chain, path)]
    return [chain.network(path.stem, kind_of_float, str(path))]


def _part(chain: Chain, path: Path) -> list[Network]:
    """The network of the layers between two cells, if there are any."""
    chain.settle()
    return [chain.network(path.stem, "float64", str(path))] if chain.layers else []
