"""Writing trained networks: plain ONNX files and the manifest that goes with them. Needs numpy and onnx only.

A network is a list of layers ``(W, b)``, ``W`` of shape (outputs, inputs) and ``b`` of shape (outputs,); there is a
ReLU (or what else is named) between layers and none after the last.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import random
from collections.abc import Callable, Sequence
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

Array = npt.NDArray[Any]
Layers = list[tuple[Array, Array]]

ROOT = Path(__file__).resolve().parents[2]
OPSET = 13
IR_VERSION = 8  # read by every onnxruntime since 1.10


def start_tensorflow(seed: int) -> ModuleType:
    """Import tensorflow with every source of chance fixed and two threads; returns the module."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    # oneDNN picks its order of summation by the machine; without it the same CPU family gives the same weights.
    os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(2)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    random.seed(seed)
    np.random.seed(seed)
    tf.random.set_seed(seed)
    tf.config.experimental.enable_op_determinism()
    return tf


def widths(layers: Layers) -> list[int]:
    """Number of inputs, of units per hidden layer, of outputs."""
    return [layers[0][0].shape[1], *(b.shape[0] for _, b in layers)]


def he_layers(sizes: Sequence[int], rng: np.random.Generator) -> Layers:
    """Initial weights after He et al. (2015), biases 0, float32."""
    return [
        ((rng.standard_normal((m, n)) * np.sqrt(2 / n)).astype(np.float32), np.zeros(m, np.float32))
        for n, m in pairwise(sizes)
    ]


def fold_input_scaling(layers: Layers, scale: Sequence[float], shift: Sequence[float]) -> Layers:
    """The network of x that equals the given one at ``scale * x + shift``; float32 after computing in float64."""
    weight, bias = (np.asarray(a, np.float64) for a in layers[0])
    first = weight * np.asarray(scale, np.float64), bias + weight @ np.asarray(shift, np.float64)
    return [(np.asarray(w, np.float32), np.asarray(b, np.float32)) for w, b in [first, *layers[1:]]]


def evaluate(layers: Layers, x: Array, between: Callable[[Array], Array] = lambda x: np.maximum(x, 0)) -> Array:
    """Outputs of shape (n, outputs) for inputs of shape (n, inputs), in float64."""
    x = np.asarray(x, np.float64)
    for index, (weight, bias) in enumerate(layers):
        x = x @ np.asarray(weight, np.float64).T + np.asarray(bias, np.float64)
        if index + 1 < len(layers):
            x = between(x)
    return x


UNITS = {"relu": "Relu", "tanh": "Tanh", "sigmoid": "Sigmoid"}


def write_onnx(path: Path, layers: Layers, name: str, activations: Sequence[str] = ()) -> None:
    """A chain of Gemm and Relu nodes over float32; the same layers give the same bytes.

    activations: relu, tanh, sigmoid or linear, one a layer; without them ReLU after every layer but the last.
    """
    activations = activations or ["relu"] * (len(layers) - 1) + ["linear"]
    nodes, weights, flow = [], [], "x"
    for index, (weight, bias) in enumerate(layers, start=1):
        for label, value in ((f"W{index}", weight), (f"b{index}", bias)):
            weights.append(numpy_helper.from_array(np.ascontiguousarray(value, dtype=np.float32), label))
        unit, last = activations[index - 1], index == len(layers)
        out, after = f"z{index}", "y" if last else f"a{index}"
        if unit == "linear":
            out = after
        nodes.append(helper.make_node("Gemm", [flow, f"W{index}", f"b{index}"], [out], name=f"gemm{index}", transB=1))
        if unit != "linear":
            nodes.append(helper.make_node(UNITS[unit], [out], [after], name=f"{unit}{index}"))
        flow = after
    sizes = widths(layers)
    ends = [
        helper.make_tensor_value_info(label, TensorProto.FLOAT, ["batch", size])
        for label, size in (("x", sizes[0]), ("y", sizes[-1]))
    ]
    graph = helper.make_graph(nodes, name, ends[:1], ends[1:], weights)
    model = helper.make_model(
        graph, producer_name="venmas", ir_version=IR_VERSION, opset_imports=[helper.make_opsetid("", OPSET)]
    )
    onnx.checker.check_model(model, full_check=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(model.SerializeToString(deterministic=True))


def read_onnx(path: Path) -> Layers:
    """The layers of a file that :func:`write_onnx` wrote."""
    stored = {t.name: numpy_helper.to_array(t) for t in onnx.load(path).graph.initializer}
    return [(stored[f"W{i}"], stored[f"b{i}"]) for i in range(1, len(stored) // 2 + 1)]


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def write_manifest(
    folder: Path,
    *,
    files: dict[str, dict[str, Any]],
    command: str,
    seed: int,
    minutes: float,
    packages: Sequence[str],
    units: str = "ReLU after every layer but the last",
    **about: Any,
) -> None:
    """``MANIFEST.json`` beside the networks; ``files`` maps a file name to its fit figures, ``about`` is free."""
    entries = [
        {
            "file": name,
            "sha256": sha256(folder / name),
            "architecture": widths(read_onnx(folder / name)),
            "fit": fit,
        }
        for name, fit in files.items()
    ]
    manifest = {
        **about,
        "format": f"ONNX opset {OPSET}, IR version {IR_VERSION}, float32; {units}",
        "command": command,
        "seed": seed,
        "training_minutes": round(minutes, 1),
        "versions": {"python": platform.python_version(), **{name: version(name) for name in packages}},
        "files": entries,
    }
    (folder / "MANIFEST.json").write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")


def update_figures(folder: Path, files: dict[str, dict[str, Any]], **about: Any) -> None:
    """Replace the fit figures in a manifest, and nothing that says how its networks were made."""
    path = folder / "MANIFEST.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    for entry in manifest["files"]:
        if entry["sha256"] != sha256(folder / entry["file"]):
            raise SystemExit(f"{folder / entry['file']} is not the file that {path} describes; train again instead")
        entry["fit"] = files[entry["file"]]
    path.write_text(json.dumps({**manifest, **about}, indent=2) + "\n", encoding="utf-8")


def add_to_manifest(folder: Path, *, file: str, fit: dict[str, Any], **made: Any) -> None:
    """Add one network to the manifest of a folder whose others another script made; `made`: how this one was."""
    path = folder / "MANIFEST.json"
    manifest = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"files": []}
    made = {key: round(value, 1) if key == "minutes" else value for key, value in made.items()}
    shape = widths(read_onnx(folder / file))
    entry = {"file": file, "sha256": sha256(folder / file), "architecture": shape, "fit": fit, **made}
    manifest["files"] = [e for e in manifest["files"] if e["file"] != file] + [entry]
    path.write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
