"""Models written in the layouts of Keras 2, which is not installed beside Keras 3, after published files."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import h5py
import numpy as np


def write_keras2(model: Any, path: Path, rng: np.random.Generator) -> None:
    """Write a supported model as Keras 2.2 (no InputLayer in sequential models) or as tf.keras 2.8 did.

    path: an .h5 file of the whole model, or a .json file of its configuration, with its weights in an .h5 beside it.
    """
    early = bool(rng.random() < 0.5)
    config = _config(model, early)
    with h5py.File(path.with_suffix(".h5"), "w") as file:
        file.attrs["keras_version"], file.attrs["backend"] = np.bytes_("2.2.4"), np.bytes_("tensorflow")
        group = file
        if path.suffix == ".json":
            versions = {"keras_version": "2.2.4" if early else "2.8.0", "backend": "tensorflow"}
            path.write_text(json.dumps(config | versions))
        else:
            file.attrs["model_config"] = np.bytes_(json.dumps(config).encode())
            group = file.create_group("model_weights")
        layers = model.layers
        group.attrs["layer_names"] = np.array([layer.name.encode() for layer in layers])
        if not early:
            group.create_group("top_level_model_weights").attrs["weight_names"] = np.array([])
        for layer in layers:
            weights = [*layer.trainable_weights, *layer.non_trainable_weights]
            names = [f"{layer.name}/{weight.name}:0" for weight in weights]
            inner = group.create_group(layer.name)
            inner.attrs["weight_names"] = np.array([name.encode() for name in names])
            for name, weight in zip(names, weights, strict=True):
                inner[name] = np.asarray(weight)


def _config(model: Any, early: bool) -> dict[str, Any]:
    config = json.loads(model.to_json())
    inner, functional = config["config"], config["class_name"] == "Functional"
    layers = [_layer(layer, early, functional) for layer in inner["layers"]]
    if functional:
        ends = {key: [inner[key]] for key in ("input_layers", "output_layers")}
        return {
            "class_name": "Model" if early else "Functional",
            "config": {"name": inner["name"], "layers": layers, **ends},
        }
    if early:
        first, *layers = layers
        layers[0]["config"]["batch_input_shape"] = first["config"]["batch_input_shape"]
    return {"class_name": "Sequential", "config": {"name": inner["name"], "layers": layers}}


def _layer(layer: dict[str, Any], early: bool, functional: bool) -> dict[str, Any]:
    """The stored form of a layer without what only Keras 3 writes."""
    config = {key: _plain(value) for key, value in deepcopy(layer["config"]).items()}
    for key in ("optional", "quantization_config"):
        config.pop(key, None)
    if "batch_shape" in config:
        config["batch_input_shape"] = config.pop("batch_shape")
    if early and layer["class_name"] != "InputLayer":
        config.pop("dtype") if config["dtype"] == "float32" else None
    if layer["class_name"] == "LeakyReLU":
        config["alpha"] = config.pop("negative_slope")
    if layer["class_name"] == "BatchNormalization" and not early:
        config["axis"] = [config["axis"]]
    made = {"class_name": layer["class_name"], "config": config}
    if functional:
        args = [arg for node in layer["inbound_nodes"] for arg in node["args"]]
        tensors = args[0] if args and isinstance(args[0], list) else args
        node = [[*tensor["config"]["keras_history"], {}] for tensor in tensors]
        made |= {"name": config["name"], "inbound_nodes": [node] if node else []}
    return made


def _plain(value: Any) -> Any:
    """A serialised object as Keras 2 stored it."""
    if not isinstance(value, dict):
        return value
    if value["class_name"] == "DTypePolicy":
        return value["config"]["name"]
    if value["class_name"] == "__numpy__":
        return value["config"]["value"]
    inner = {key: _plain(v) for key, v in value["config"].items()}
    return {"class_name": value["class_name"], "config": inner}
