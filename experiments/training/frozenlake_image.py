"""Train a convolutional agent for Gymnasium's slippery 8x8 FrozenLake, which sees its place as an image of 8x8 pixels.

    python experiments/training/frozenlake_image.py [--quick] [--output FOLDER]

The ice turns a move to one of the two sides with probability 1/3 each; holes and the goal end a walk (the scenario's
``map=8x8``). Value iteration with a discount near 1 gives, for every cell, what each direction is worth; the best ones
lead to the goal without a risk where that can be had. The network is fitted to them: two convolutions of 3x3 pixels, a
pool of the largest of 2x2 pixels between them, and one linear layer, 64-(4x8x8)-(4x4x4)-(8x4x4)-4. The loss is the
cross-entropy of choosing any direction that is best up to 1e-9.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from export import IR_VERSION, OPSET, ROOT, sha256, start_tensorflow
from onnx import TensorProto, helper, numpy_helper

Array = npt.NDArray[Any]

SEED = 5
MAP = "SFFFFFFF/FFFFFFFF/FFFHFFFF/FFFFFHFF/FFFHFFFF/FHHFFFHF/FHFFHFHF/FFFHFFFG"
SIZE = 8
MOVES = ((0, -1), (1, 0), (0, 1), (-1, 0))  # (row, column) for left, down, right, up
ACTIONS = ("left", "down", "right", "up")
DISCOUNT, SWEEPS = 0.9999, 60_000
STEPS, RATE, FILTERS = 1500, 1e-2, (4, 8)
CELLS = "".join(MAP.split("/"))


def successors() -> Array:
    """Cells that each direction may lead to from each cell, (64, 4, 3)."""
    after = np.zeros((SIZE * SIZE, 4), int)
    for cell in range(SIZE * SIZE):
        for direction, (down, right) in enumerate(MOVES):
            row, column = cell // SIZE + down, cell % SIZE + right
            inside = 0 <= row < SIZE and 0 <= column < SIZE and CELLS[cell] not in "HG"
            after[cell, direction] = SIZE * row + column if inside else cell
    return np.stack([after[:, [(d + turn) % 4 for d in range(4)]] for turn in (-1, 0, 1)], axis=2)


def worth() -> Array:
    """Discounted chance of reaching the goal after each direction, (64, 4)."""
    after, goal = successors(), np.array([c == "G" for c in CELLS])
    value = goal.astype(float)
    for _ in range(SWEEPS):
        following = np.where(goal, 1.0, DISCOUNT * value[after].mean(axis=2).max(axis=1))
        if np.abs(following - value).max() < 1e-15:
            break
        value = following
    return np.asarray(value[after].mean(axis=2))


def reachable(actions: Array) -> list[int]:
    """Cells (from 0) that some run from the start visits."""
    after, seen, stack = successors(), {0}, [0]
    while stack:
        cell = stack.pop()
        for following in map(int, after[cell, actions[cell]]):
            if following not in seen:
                seen.add(following)
                stack.append(following)
    return sorted(seen)


def train(seed: int, steps: int) -> list[Array]:
    """Kernels and biases of the two convolutions and of the linear layer, as ONNX has them."""
    tf = start_tensorflow(seed)
    layers = tf.keras.layers
    model = tf.keras.Sequential(
        [
            tf.keras.Input((SIZE, SIZE, 1)),
            layers.Conv2D(FILTERS[0], 3, padding="same", activation="relu"),
            layers.MaxPooling2D(2),
            layers.Conv2D(FILTERS[1], 3, padding="same", activation="relu"),
            layers.Flatten(),
            layers.Dense(4),
        ]
    )
    value = worth()
    best = (value >= value.max(axis=1, keepdims=True) - 1e-9).astype(np.float32)
    going = np.array([c not in "HG" for c in CELLS], np.float32)
    images = tf.reshape(tf.eye(SIZE * SIZE), (-1, SIZE, SIZE, 1))
    optimizer = tf.keras.optimizers.Adam(RATE)

    @tf.function
    def step() -> Any:
        with tf.GradientTape() as tape:
            chance = tf.reduce_sum(tf.nn.softmax(model(images)) * best, axis=1)
            loss = -tf.reduce_sum(going * tf.math.log(chance + 1e-9)) / going.sum()
        variables = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss

    for _ in range(steps):
        step()
    k1, b1, k2, b2, w, b = model.get_weights()
    half = SIZE // 2
    w = w.reshape(half, half, FILTERS[1], 4).transpose(2, 0, 1, 3).reshape(-1, 4)  # ONNX flattens channels first
    return [k1.transpose(3, 2, 0, 1), b1, k2.transpose(3, 2, 0, 1), b2, w, b]


def write(path: Path, arrays: list[Array]) -> None:
    """The policy from 64 numbers, one a cell, to four scores."""
    names = ("K1", "b1", "K2", "b2", "W", "b")
    constants = [
        numpy_helper.from_array(np.ascontiguousarray(a, np.float32), n) for n, a in zip(names, arrays, strict=True)
    ]
    constants.append(numpy_helper.from_array(np.array([-1, 1, SIZE, SIZE], np.int64), "image"))
    nodes = [
        helper.make_node("Reshape", ["x", "image"], ["i"], name="reshape"),
        helper.make_node("Conv", ["i", "K1", "b1"], ["c1"], name="conv1", kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c1"], ["r1"], name="relu1"),
        helper.make_node("MaxPool", ["r1"], ["p"], name="pool", kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Conv", ["p", "K2", "b2"], ["c2"], name="conv2", kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c2"], ["r2"], name="relu2"),
        helper.make_node("Flatten", ["r2"], ["f"], name="flatten"),
        helper.make_node("Gemm", ["f", "W", "b"], ["y"], name="gemm"),
    ]
    ends = [
        helper.make_tensor_value_info(label, TensorProto.FLOAT, ["batch", size])
        for label, size in (("x", SIZE * SIZE), ("y", 4))
    ]
    graph = helper.make_graph(nodes, "frozenlake_image", ends[:1], ends[1:], constants)
    opset = [helper.make_opsetid("", OPSET)]
    model = helper.make_model(graph, producer_name="venmas", ir_version=IR_VERSION, opset_imports=opset)
    onnx.checker.check_model(model, full_check=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(model.SerializeToString(deterministic=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a few steps only, to see that the script runs")
    parser.add_argument("--output", type=Path, default=ROOT / "networks" / "frozenlake_image")
    options = parser.parse_args()
    began = time.monotonic()
    path = options.output / "agent.onnx"
    write(path, train(SEED, 5 if options.quick else STEPS))
    minutes = time.monotonic() - began

    sys.path.insert(0, str(ROOT))
    from venmas import load_network

    actions = np.argmax(scores := load_network(path).evaluate(np.eye(SIZE * SIZE)), axis=1)
    visited = reachable(actions)
    ordered = np.sort(scores[visited], axis=1)
    manifest = {
        "about": "Convolutional agent for Gymnasium's slippery 8x8 FrozenLake; argmax of the outputs is the action",
        "inputs": "64 numbers, 1 for the cell where the agent is and 0 elsewhere, row by row",
        "outputs": list(ACTIONS),
        "format": f"ONNX opset {OPSET}, IR version {IR_VERSION}, float32: Conv, Relu, MaxPool, Conv, Relu, Gemm",
        "command": "python experiments/training/frozenlake_image.py",
        "seed": SEED,
        "training_minutes": round(minutes / 60, 1),
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in ("numpy", "onnx", "tensorflow_cpu")},
        },
        "files": [
            {
                "file": path.name,
                "sha256": sha256(path),
                "fit": {
                    "reachable_cells": [cell + 1 for cell in visited],
                    "holes_reachable": [cell + 1 for cell in visited if CELLS[cell] == "H"],
                    "least_margin_of_best_score_where_reachable": round(
                        float((ordered[:, -1] - ordered[:, -2]).min()), 4
                    ),
                },
            }
        ],
    }
    (options.output / "MANIFEST.json").write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(manifest["files"], indent=2))


if __name__ == "__main__":
    main()
