"""Random changes of stored Keras models: of their configuration, of their weights, and of what lies beside them."""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Iterator
from copy import deepcopy
from io import BytesIO
from typing import Any

import h5py
import numpy as np

CODE = "4wEAAAAAAAAAAAAAAAEAAAABAAAAQwAAAHMEAAAAfABTAA=="
VALUES: list[Any] = [
    *(None, True, False, 0, 1, -1, 2, 3, 0.5, -2.0, "relu", "linear", "tanh", "float32", "float64", "float16"),
    *("channels_first", "channels_last", "fuzz>relu", "Dense", "ReLU", "keras", "keras.layers", "builtins", "function"),
    *([], {}, [None, 3], [1], [-1], [2.0, 0.5], [0, 1], [1, 2]),
]
ACTIVATIONS: list[Any] = [
    {},
    {"class_name": "__lambda__", "config": {"value": CODE}},
    {"class_name": "function", "config": "relu", "module": "builtins", "registered_name": "function"},
    {"class_name": "function", "config": "relu", "module": "builtins", "registered_name": "fuzz>relu"},
    {"class_name": "function", "config": "fuzz>relu", "module": None, "registered_name": "fuzz>relu"},
    {"class_name": "function", "config": "relu"},
    {"class_name": "Mine", "config": "relu"},
    {"config": "relu"},
    {"class_name": "ReLU", "config": {}, "module": "keras.layers", "registered_name": None},
    {"class_name": "ReLU", "config": {}, "module": "keras.layers", "registered_name": "fuzz>ReLU"},
    {"class_name": "ReLU", "config": {"threshold": 1.0}, "module": "keras.layers", "registered_name": None},
    {"class_name": "Activation", "config": {"activation": "relu"}, "module": "keras.layers", "registered_name": None},
    {"class_name": "LeakyReLU", "config": {"negative_slope": 0.5}, "module": "keras.layers", "registered_name": None},
]
KEYS: dict[str, list[Any]] = {
    "activation": ["relu", "linear", "tanh", *ACTIVATIONS],
    "activity_regularizer": [None, "l2"],
    "lora_rank": [None, 1, 2],
    "quantization_config": [None, {}],
    "use_bias": [True, False, None, 0],
    "axis": [-1, 1, 0, [1], [1, 2], None],
    "mean": [None, 1.0, [1.0, 2.0]],
    "variance": [None, 4.0, [1.0, 4.0]],
    "invert": [True, False, None],
    "scale": [2.0, [1.0, 2.0], {"class_name": "__numpy__", "config": {"value": [2.0], "dtype": "float32"}}],
    "offset": [1.0, [1.0, 2.0]],
    "max_value": [None, 1.0],
    "alpha": [0.5, -1.0],
    "padding": ["same", "valid", "SAME", "causal"],
    "strides": [[1, 1], [2, 1], 2, [0, 1]],
    "pool_size": [[1, 1], [2, 1], 2],
    "kernel_size": [[1, 1], [2, 1], 2],
    "dilation_rate": [[1, 1], [2, 2], 1],
    "groups": [1, 2, True],
    "epsilon": [0.25, 0.0, 1e-7, "small"],
    "center": [True, False],
    "keepdims": [True, False, None],
    "negative_slope": [0, 0.5],
    "threshold": [0, 1.0],
    "data_format": ["channels_first", "channels_last", None],
    "target_shape": [[-1], [1, -1], [2, -1], [-1, 2]],
    "dtype": ["float32", "float64", "mixed_float16", "int8"],
    "trainable": [True, False],
    "sparse": [True, False],
    "optional": [True, False],
    "registered_name": [None, "fuzz>ReLU", "fuzz>Dense", "fuzz>relu", "Dense"],
    "module": [None, "keras.layers", "builtins", "fuzz", "keras._legacy.layers"],
    "class_name": [
        "Dense",
        "ReLU",
        "LeakyReLU",
        "Add",
        "Maximum",
        "Subtract",
        "Concatenate",
        "Conv2D",
        "Dropout",
        "Flatten",
        "Softmax",
        "Rescaling",
        "Sequential",
        "Model",
    ],
    "build_config": [None, {}, {"input_shape": [None, 2]}, {"input_shape": [None, 2, 2]}],
    "build_input_shape": [None, [None, 2], [None, 2, 2]],
    "batch_input_shape": [[None, 2], [None, 1, 2], None],
    "batch_shape": [[None, 2], [None, 1, 2], [1, 3], None],
    "shared_object_id": [1, 2],
    "kwargs": [{}, {"training": True}, {"training": False}, {"mask": None}],
    "name": ["a1", "b2", "c1", "dense"],
    "gain": [2.0],
}


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container of a configuration with each of its keys, but not what only training reads."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        if key not in ("compile_config", "optimizer_config"):
            yield value, key
            yield from _places(inner)


def mutate_config(rng: np.random.Generator, config: Any) -> str:
    """Change a configuration in place, and say how."""
    places = list(_places(config))
    known = [(holder, key) for holder, key in places if key in KEYS]
    kind = str(rng.choice(["drop", "put", "value", "copy", "add", "swap"], p=[0.15, 0.35, 0.15, 0.1, 0.15, 0.1]))
    holder, key = known[rng.integers(len(known))] if kind == "put" else places[rng.integers(len(places))]
    if kind == "drop":
        return f"dropped {key}: {holder.pop(key)!r:.100}"
    if kind == "add":
        holders = [h for h, _ in places if isinstance(h, dict)]
        holder = holders[rng.integers(len(holders))]
        key = str(rng.choice(list(KEYS)))
        kind = "put"
    if kind == "swap" and isinstance(holder, list):
        other = int(rng.integers(len(holder)))
        holder[key], holder[other] = holder[other], holder[key]
        return f"swapped {key} and {other}"
    if kind == "copy":
        source, other = places[rng.integers(len(places))]
        value = deepcopy(source[other])
    else:
        values = KEYS[key] if kind == "put" else VALUES
        value = deepcopy(values[rng.integers(len(values))])
    was, holder[key] = holder.get(key) if isinstance(holder, dict) else holder[key], value
    return f"{key}: {was!r:.100} became {value!r:.100}"


def mutate_weights(rng: np.random.Generator, file: h5py.File) -> str:
    """Change the data sets, groups or lists of names of a file, and say how."""
    sets: list[str] = []
    lists: list[tuple[str, str]] = []

    def visit(path: str, item: Any) -> None:
        sets.extend([path] if isinstance(item, h5py.Dataset) and not path.startswith("opt") else [])
        lists.extend((path, key) for key in ("weight_names", "layer_names") if len(item.attrs.get(key, ())) > 1)

    file.visititems(visit)
    kind = str(rng.choice(["values", "rename", "add", "type", "transpose", "names", "swap"]))
    if kind == "names" and lists:
        path, key = lists[rng.integers(len(lists))]
        names = [n.decode() if isinstance(n, bytes) else n for n in file[path].attrs[key]]
        del file[path].attrs[key]
        new = [names[::-1], names[:-1], [*names, names[0]]][rng.integers(3)]
        file[path].attrs[key] = np.array(new, dtype="S")
        return f"{path}.{key} became {new}"
    if not sets:
        return "nothing"
    path = sets[rng.integers(len(sets))]
    value = file[path][()]
    if kind in ("values", "names"):
        file[path][...] = value * 2
    elif kind == "rename":
        new = path[:-1] + str(rng.choice(["9", "x", ":1"]))
        file.move(path, new)
        return f"{path} became {new}"
    elif kind == "add":
        new = path.rsplit("/", 1)[0] + "/" + str(rng.choice(["2", "3", "lora_kernel_a", "kernel:0", "bias", "gain"]))
        if new not in file:
            file[new] = value
        return f"added {new}"
    elif kind == "swap":
        other = sets[rng.integers(len(sets))]
        kept = file[other][()]
        for place, content in ((path, kept), (other, value)):
            del file[place]
            file[place] = content
        return f"swapped {path} and {other}"
    else:
        del file[path]
        file[path] = value.T if kind == "transpose" else value.astype("f8")
    return f"{kind} of {path}"


def mutate_members(rng: np.random.Generator, members: dict[str, bytes]) -> bytes:
    """An archive of these members and of one that is new or comes twice."""
    content = BytesIO()
    names = ("lambda.pkl", "assets/x.txt", "config.json", "metadata.json", "model.weights.npz")
    with zipfile.ZipFile(content, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
        name = str(rng.choice(names))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of names that come twice
            archive.writestr(name, members.get(name, b"{}"))
    return content.getvalue()
