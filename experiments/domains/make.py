"""Writing a task: its model and property, and for each shape a network, its interface and its line in a manifest."""

from __future__ import annotations

import json
import platform
import shutil
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from time import monotonic
from typing import Any

from experiments.domains import jani
from experiments.domains.learn import ROUNDS, SEED, STEPS, train
from experiments.domains.task import Task
from experiments.training.export import ROOT, sha256, widths, write_onnx

SHAPES = {"16_16": (16, 16), "32_32": (32, 32), "64_64": (64, 64)}
MANIFEST = "MANIFEST.json"
KEPT = Path(__file__).parent / "policies"
"""Networks of every task with a manifest each, so that all machines decide the same ones."""


def make(task: Task, folder: Path, shapes: Mapping[str, Sequence[int]] = SHAPES) -> None:
    """Write the task with its policies; where one is neither kept nor there as its manifest says, train it."""
    task.write(folder, f"{next(iter(shapes))}.jani2nnet")
    for name, hidden in shapes.items():
        if not take(task, name, hidden, folder) and known(folder, name) is None:
            policy(task, name, hidden, folder, folder)


def keep(task: Task, shapes: Mapping[str, Sequence[int]] = SHAPES) -> None:
    """Train the policies of a task that are not kept yet, into the repository."""
    for name, hidden in shapes.items():
        if known(KEPT / task.name, name) is None:
            policy(task, name, hidden, KEPT / task.name, None)


def take(task: Task, name: str, hidden: Sequence[int], folder: Path) -> bool:
    """Copy a kept policy, if there is one."""
    kept = KEPT / task.name
    entry = known(kept, name)
    if entry is None or (entry["inputs"], entry["outputs"]) != (list(task.inputs), list(task.labels)):
        return False
    shutil.copyfile(kept / f"{name}.onnx", folder / f"{name}.onnx")
    about = json.loads((kept / MANIFEST).read_text(encoding="utf-8"))
    listed(folder, entry, {k: v for k, v in about.items() if k != "files"})
    jani.write(folder / f"{name}.jani2nnet", jani.interface(f"{name}.onnx", hidden, task.inputs, task.labels))
    return True


def known(folder: Path, name: str) -> dict[str, Any] | None:
    """What the manifest says of a policy, None where there is none or the file is another."""
    path, network = folder / MANIFEST, folder / f"{name}.onnx"
    if not (path.is_file() and network.is_file()):
        return None
    listed = json.loads(path.read_text(encoding="utf-8"))["files"]
    found = [e for e in listed if e["file"] == network.name and e["sha256"] == sha256(network)]
    return found[0] if found else None


def policy(
    task: Task,
    name: str,
    hidden: Sequence[int],
    networks: Path,
    interfaces: Path | None,
    steps: int = STEPS,
    rounds: int = ROUNDS,
) -> None:
    """Train one policy and write network, interface (None: not) and manifest."""
    began = monotonic()
    layers, fit = train(task, hidden, steps, rounds)
    minutes = (monotonic() - began) / 60
    network = networks / f"{name}.onnx"
    write_onnx(network, layers, f"{task.name}_{name}")
    if interfaces is not None:
        jani.write(interfaces / f"{name}.jani2nnet", jani.interface(network.name, hidden, task.inputs, task.labels))
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
    about = {
        "about": "Policies that imitate a planner, unscaled inputs (experiments/domains)",
        "command": "python -m experiments.domains",
        "versions": {"python": platform.python_version(), "numpy": version("numpy"), "onnx": version("onnx")},
    }
    listed(networks, entry, about)


def listed(folder: Path, entry: Mapping[str, Any], about: Mapping[str, Any]) -> None:
    """Put a policy into the manifest of its folder."""
    path = folder / MANIFEST
    manifest = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {"files": []}
    manifest |= {**about, "files": [*(e for e in manifest["files"] if e["file"] != entry["file"]), entry]}
    jani.write(path, manifest)


def bundle(tasks: Mapping[str, Task]) -> None:
    """The bundled scenario: four blocks, one policy of each kind."""
    scenario, networks = ROOT / "scenarios" / "blocks", ROOT / "networks" / "blocks"
    for kind in ("aware", "ignoring"):
        task = tasks[f"blocks_4_{kind}"]
        task.write(scenario, "aware.jani2nnet")
        policy(task, kind, (16, 16), networks, scenario)
