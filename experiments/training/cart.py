"""Train policies with memory, LSTM and GRU of 16, 32 and 64 units, that bring a cart to 0 and see its position alone.

    python experiments/training/cart.py [--quick] [--output FOLDER]

The plant is x+ = x + 0.1 v, v+ = v + 0.1 u with u = N(x), the loss x^2 + 0.1 v^2 + 0.01 u^2 summed over four seconds of
runs from |x|, |v| <= 1; the gradient goes through the plant. A policy without memory that sees x alone cannot damp it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from export import IR_VERSION, OPSET, ROOT
from onnx import TensorProto, helper, numpy_helper

Array = npt.NDArray[Any]
Weights = dict[str, Array]

SEED, STEPS, ROUNDS, BATCH, RATE, DECAY = 1, 40, 300, 128, 5e-3, 1e-4
PERIOD = 0.1
SIZES = [(kind, units) for kind in ("LSTM", "GRU") for units in (16, 32, 64)]
GATES = {"LSTM": (0, 3, 1, 2), "GRU": (1, 0, 2)}
"""The order of gates of ONNX in that of torch: i, o, f, g in i, f, g, o; z, r, n in r, z, n."""


def train(kind: str, units: int, seed: int, rounds: int) -> Weights:
    """Adam with cosine decay and weight decay on the cost of the runs; the weights as ONNX orders them."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(seed)
    torch.use_deterministic_algorithms(True)
    cell, head = getattr(torch.nn, kind)(1, units), torch.nn.Linear(units, 1)
    parameters = [*cell.parameters(), *head.parameters()]
    optimizer = torch.optim.Adam(parameters, RATE, weight_decay=DECAY)
    decay = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, rounds)
    for _ in range(rounds):
        x, v, memory, cost = 2 * torch.rand(BATCH) - 1, 2 * torch.rand(BATCH) - 1, None, torch.zeros(())
        for _ in range(STEPS):
            seen, memory = cell(x.reshape(1, -1, 1), memory)
            u = head(seen[0])[:, 0]
            x, v = x + PERIOD * v, v + PERIOD * u
            cost = cost + (x**2 + 0.1 * v**2 + 0.01 * u**2).mean()
        optimizer.zero_grad()
        cost.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        decay.step()
    w, r, b, c, *last = (p.detach().numpy().astype(np.float32) for p in parameters)

    def ordered(a: Array) -> Array:
        return np.concatenate([a[k * units : (k + 1) * units] for k in GATES[kind]])[None]

    return {"W": ordered(w), "R": ordered(r), "B": np.hstack([ordered(b), ordered(c)]), "V": last[0], "d": last[1]}


def write(path: Path, kind: str, weights: Weights) -> None:
    """One step: the position and the memory give the force and the memory after it."""
    units = weights["V"].shape[1]
    memory = ["h", "c"] if kind == "LSTM" else ["h"]
    after = [f"{name}_out" for name in memory]
    more = {"linear_before_reset": 1} if kind == "GRU" else {}
    cell = [*"xWRB", "", *memory]
    nodes = [
        helper.make_node(kind, cell, ["", *after], name="cell", hidden_size=units, **more),
        helper.make_node("Flatten", ["h_out"], ["flat"], name="flat", axis=2),
        helper.make_node("Gemm", ["flat", "V", "d"], ["y"], name="head", transB=1),
    ]
    info = helper.make_tensor_value_info
    begin = [info("x", TensorProto.FLOAT, [1, 1, 1]), *(info(n, TensorProto.FLOAT, [1, 1, units]) for n in memory)]
    end = [info("y", TensorProto.FLOAT, [1, 1]), *(info(n, TensorProto.FLOAT, [1, 1, units]) for n in after)]
    stored = [numpy_helper.from_array(np.ascontiguousarray(value), name) for name, value in weights.items()]
    graph = helper.make_graph(nodes, path.stem, begin, end, stored)
    opset = [helper.make_opsetid("", OPSET)]
    model = helper.make_model(graph, producer_name="venmas", ir_version=IR_VERSION, opset_imports=opset)
    onnx.checker.check_model(model, full_check=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(model.SerializeToString(deterministic=True))


def figures(path: Path, seed: int) -> dict[str, float]:
    """Of 2,000 runs from |x|, |v| <= 1, by onnxruntime."""
    import onnxruntime

    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    entry, *memory = session.get_inputs()
    rng, furthest, last = np.random.default_rng(seed), 0.0, 0.0
    for x, v in rng.uniform(-1, 1, (2000, 2)):
        state = {i.name: np.zeros(i.shape, np.float32) for i in memory}
        for _ in range(STEPS):
            u, *new = session.run(None, {entry.name: np.full((1, 1, 1), x, np.float32), **state})
            state = dict(zip(state, new, strict=True))
            x, v = x + PERIOD * v, v + PERIOD * float(u[0, 0])
            furthest = max(furthest, abs(x))
        last = max(last, abs(x))
    return {
        "largest_abs_x_of_2000_runs": round(float(furthest), 3),
        "largest_abs_x_after_40_steps": round(float(last), 4),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a few rounds only, to see that the script runs")
    parser.add_argument("--output", type=Path, default=ROOT / "networks" / "cart")
    options = parser.parse_args()

    began, entries = time.monotonic(), []
    for kind, units in SIZES:
        path = options.output / f"{kind.lower()}{units}.onnx"
        write(path, kind, train(kind, units, SEED, 2 if options.quick else ROUNDS))
        fit = {} if options.quick else figures(path, SEED)
        print(path.name, fit)
        sha = hashlib.sha256(path.read_bytes()).hexdigest()
        entries.append({"file": path.name, "sha256": sha, "architecture": [1, f"{kind} {units}", 1], "fit": fit})
    manifest = {
        "about": "Policies with memory for x+ = x + 0.1 v, v+ = v + 0.1 u, u = N(x), for scenarios/cart",
        "inputs": ["position x"],
        "outputs": ["acceleration u"],
        "runs_start_in": [[-1, 1], [-1, 1]],
        "format": f"ONNX opset {OPSET}, IR version {IR_VERSION}, float32; one cell, one linear layer",
        "command": "python experiments/training/cart.py",
        "seed": SEED,
        "training_minutes": round((time.monotonic() - began) / 60, 1),
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in ("numpy", "onnx", "onnxruntime", "torch")},
        },
        "files": entries,
    }
    (options.output / "MANIFEST.json").write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
