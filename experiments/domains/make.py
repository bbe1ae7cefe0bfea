"""Writing a task: its model and property, and for each shape a network, its interface and its line in a manifest."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from time import monotonic

from experiments.domains import jani
from experiments.domains.learn import ROUNDS, SEED, STEPS, train
from experiments.domains.task import Task
from experiments.training.export import ROOT, sha256, widths, write_onnx

SHAPES = {"16_16": (16, 16), "32_32": (32, 32), "64_64": (64, 64)}
MANIFEST = "MANIFEST.json"


def make(task: Task, folder: Path, shapes: Mapping[str, Sequence[int]] = SHAPES, quick: bool = False) -> None:
    """Write the task and train what is not there yet; a policy is trained anew where the manifest has another file."""
    task.write(folder, f"{next(iter(shapes))}.jani2nnet")
    for name, hidden in shapes.items():
        if known(folder, name) is None:
            policy(task, name, hidden, folder, folder, quick)


def known(folder: Path, name: str) -> dict[str, object] | None:
    """What the manifest says of a policy, None where there is none or the file is another."""
    path, network = folder / MANIFEST, folder / f"{name}.onnx"
    if not (path.is_file() and network.is_file()):
        return None
    listed = json.loads(path.read_text(encoding="utf-8"))["files"]
    found = [e for e in listed if e["file"] == network.name and e["sha256"] == sha256(network)]
    return found[0] if found else None


def policy(task: Task, name: str, hidden: Sequence[int], networks: Path, interfaces: Path, quick: bool = False) -> None:
    """Train one policy and write network, interface and manifest."""
    began = monotonic()
    steps, rounds = (100, 1) if quick else (STEPS, ROUNDS)
    layers, fit = train(task, hidden, steps, rounds)
    minutes = (monotonic() - began) / 60
    network = networks / f"{name}.onnx"
    write_onnx(network, layers, f"{task.name}_{name}")
    jani.write(interfaces / f"{name}.jani2nnet", jani.interface(network.name, hidden, task.inputs, task.labels))
    path = networks / MANIFEST
    manifest = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {"files": []}
    entry = {
        "file": network.name,
        "sha256": sha256(network),
        "architecture": widths(layers),
        "task": task.name,
        "inputs": list(task.inputs),
        "outputs": list(task.labels),
        "constants": dict(task.limits),
        "fit": fit,
        "seed": SEED,
        "training_minutes": round(minutes, 1),
    }
    manifest |= {
        "about": "Policies that imitate a planner, unscaled inputs (experiments/domains)",
        "command": "python -m experiments.domains",
        "versions": {"python": platform.python_version(), "numpy": version("numpy"), "onnx": version("onnx")},
        "files": [*(e for e in manifest["files"] if e["file"] != network.name), entry],
    }
    jani.write(path, manifest)


def bundle(tasks: Mapping[str, Task]) -> None:
    """The bundled scenario: four blocks, one policy of each kind."""
    scenario, networks = ROOT / "scenarios" / "blocks", ROOT / "networks" / "blocks"
    for kind in ("aware", "ignoring"):
        task = tasks[f"blocks_4_{kind}"]
        task.write(scenario, "aware.jani2nnet")
        policy(task, kind, (16, 16), networks, scenario)
