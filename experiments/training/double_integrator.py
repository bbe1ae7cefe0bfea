"""Train a controller N of shape 2-10-5-1 for the double integrator.

The plant is x+ = [[1, 1], [0, 1]] x + [0.5, 1] u with u = clip(N(x), -1, 1).

    python experiments/training/double_integrator.py [--quick] [--output FOLDER]

The law to fit is model predictive control: u is the first input of the plan over ``HORIZON`` steps with every |input|
<= 1 that has the least sum of |x|^2 + u^2, ended by the cost-to-go of the unconstrained optimum (solution of the
Riccati equation). The plans are a convex quadratic program over a box, solved in numpy by projected gradient with
momentum for all samples at once.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from export import ROOT, Layers, evaluate, start_tensorflow, write_manifest, write_onnx

Array = npt.NDArray[Any]

SEED = 1
A: Array = np.array([[1.0, 1.0], [0.0, 1.0]])
B: Array = np.array([0.5, 1.0])
Q, R = np.eye(2), 1.0
HORIZON = 10
START: Array = np.array([5.0, 2.0])  # runs start in |x| <= START
REGION: Array = np.array([8.0, 3.0])  # and stay in |x| <= REGION, where the law is fitted
SAMPLES, EPOCHS, BATCH, RATE = 40_000, 150, 512, 5e-3


def riccati() -> Array:
    """Cost-to-go matrix P of the unconstrained problem."""
    p = Q
    for _ in range(1000):
        gain = (p @ B) / (R + B @ p @ B)
        p = Q + A.T @ p @ A - np.outer(A.T @ p @ B, gain @ A)
    return p


def plan(x: Array, sweeps: int = 600) -> Array:
    """First inputs, shape (n,), of the optimal plans from states of shape (n, 2)."""
    powers = [np.linalg.matrix_power(A, k) for k in range(HORIZON + 1)]
    hessian, linear = R * np.eye(HORIZON), np.zeros((HORIZON, 2))
    for k in range(1, HORIZON + 1):
        effect = np.stack([powers[k - 1 - j] @ B if j < k else np.zeros(2) for j in range(HORIZON)], 1)
        weight = riccati() if k == HORIZON else Q
        hessian += effect.T @ weight @ effect
        linear += effect.T @ weight @ powers[k]
    values = np.linalg.eigvalsh(hessian)
    rate, root = 1 / values[-1], np.sqrt(values[0] / values[-1])
    momentum = (1 - root) / (1 + root)
    force = x @ linear.T
    u = ahead = np.zeros((len(x), HORIZON))
    for _ in range(sweeps):
        following = np.clip(ahead - rate * (ahead @ hessian + force), -1, 1)
        ahead = following + momentum * (following - u)
        u = following
    return u[:, 0]


def step(layers: Layers, x: Array) -> Array:
    u = np.clip(evaluate(layers, x), -1, 1)
    return x @ A.T + u * B


def train(seed: int, x: Array, u: Array, epochs: int) -> Layers:
    """Least squares on the law, which is itself in [-1, 1]; Adam, cosine decay."""
    tf = start_tensorflow(seed)
    net = tf.keras.Sequential(
        [
            tf.keras.Input((2,)),
            tf.keras.layers.Dense(10, activation="relu"),
            tf.keras.layers.Dense(5, activation="relu"),
            tf.keras.layers.Dense(1),
        ]
    )
    decay = tf.keras.optimizers.schedules.CosineDecay(RATE, epochs * (len(x) // BATCH + 1))
    net.compile(optimizer=tf.keras.optimizers.Adam(decay), loss="mse")
    net.fit(x.astype(np.float32), u[:, None].astype(np.float32), batch_size=BATCH, epochs=epochs, verbose=0)
    arrays = net.get_weights()
    return [(arrays[i].T, arrays[i + 1]) for i in range(0, len(arrays), 2)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a few epochs only, to see that the script runs")
    parser.add_argument("--output", type=Path, default=ROOT / "networks" / "double_integrator")
    options = parser.parse_args()

    began = time.monotonic()
    rng = np.random.default_rng(SEED)
    samples = 1000 if options.quick else SAMPLES
    x = rng.uniform(-REGION, REGION, (samples, 2))
    layers = train(SEED, x, plan(x, 200 if options.quick else 600), 2 if options.quick else EPOCHS)
    minutes = (time.monotonic() - began) / 60
    write_onnx(options.output / "controller.onnx", layers, "double_integrator_controller")

    fresh = rng.uniform(-REGION, REGION, (5000, 2))
    error = np.abs(np.clip(evaluate(layers, fresh)[:, 0], -1, 1) - plan(fresh))
    runs = [rng.uniform(-START, START, (5000, 2))]
    for _ in range(40):
        runs.append(step(layers, runs[-1]))
    fit = {
        "mean_error_of_u": round(float(error.mean()), 5),
        "largest_error_of_u": round(float(error.max()), 4),
        "largest_abs_x_on_5000_runs": [round(float(v), 3) for v in np.abs(np.array(runs)).max((0, 1))],
        "largest_abs_x_after_40_steps": [round(float(v), 5) for v in np.abs(runs[-1]).max(0)],
    }
    for key, value in fit.items():
        print(f"{key}: {value}")
    write_manifest(
        options.output,
        files={"controller.onnx": fit},
        command="python experiments/training/double_integrator.py",
        seed=SEED,
        minutes=minutes,
        packages=("numpy", "onnx", "tensorflow_cpu"),
        about="Controller N for x+ = [[1, 1], [0, 1]] x + [0.5, 1] u, u = clip(N(x), -1, 1)",
        inputs=["position x0", "velocity x1"],
        outputs=["u before clipping"],
        runs_start_in=[[-float(v), float(v)] for v in START],
        fitted_in=[[-float(v), float(v)] for v in REGION],
    )


if __name__ == "__main__":
    main()
