"""Train a value function V of shape 2-16-16-1 for the double integrator with its bundled controller.

    python experiments/training/double_integrator_value.py [--quick] [--output FOLDER]

V(x) + LEVEL is fitted to W(x), the greatest |D x_t| GROWTH^t along the run of x, t = 0 .. STEPS, where |D x| <= 1 is
the proposition `within` of the scenario. As W falls by the factor GROWTH in a step (but for the runs' end), {V <= 0}
lies inside of `within` and is left by no step, as far as the fit is good: whether it is, the verifier decides.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from double_integrator import step
from export import ROOT, Layers, add_to_manifest, evaluate, read_onnx, start_tensorflow, write_onnx

Array = npt.NDArray[Any]

SEED = 4
WITHIN: Array = np.array([5.0, 2.0])
GROWTH, STEPS, LEVEL, GREATEST = 1.2, 12, 0.9, 2.0
REGION: Array = np.array([6.0, 3.0])
SAMPLES, EPOCHS, BATCH, RATE = 60_000, 100, 512, 5e-3


def worth(controller: Layers, x: Array) -> Array:
    """W of states of shape (n, 2), at most GREATEST."""
    found = np.zeros(len(x))
    for t in range(STEPS + 1):
        found = np.maximum(found, np.abs(x / WITHIN).max(1) * GROWTH**t)
        x = step(controller, x)
    return np.minimum(found, GREATEST)


def train(seed: int, x: Array, w: Array, epochs: int) -> Layers:
    """Least squares; Adam, cosine decay."""
    tf = start_tensorflow(seed)
    net = tf.keras.Sequential(
        [
            tf.keras.Input((2,)),
            tf.keras.layers.Dense(16, activation="relu"),
            tf.keras.layers.Dense(16, activation="relu"),
            tf.keras.layers.Dense(1),
        ]
    )
    decay = tf.keras.optimizers.schedules.CosineDecay(RATE, epochs * (len(x) // BATCH + 1))
    net.compile(optimizer=tf.keras.optimizers.Adam(decay), loss="mse")
    wanted = (w - LEVEL)[:, None].astype(np.float32)
    net.fit(x.astype(np.float32), wanted, batch_size=BATCH, epochs=epochs, verbose=0)
    arrays = net.get_weights()
    return [(arrays[i].T, arrays[i + 1]) for i in range(0, len(arrays), 2)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a few epochs only, to see that the script runs")
    parser.add_argument("--output", type=Path, default=ROOT / "networks" / "double_integrator")
    options = parser.parse_args()

    began = time.monotonic()
    controller = read_onnx(ROOT / "networks" / "double_integrator" / "controller.onnx")
    rng = np.random.default_rng(SEED)
    samples = 1000 if options.quick else SAMPLES
    x = rng.uniform(-REGION, REGION, (samples, 2))
    layers = train(SEED, x, worth(controller, x), 2 if options.quick else EPOCHS)
    minutes = (time.monotonic() - began) / 60
    write_onnx(options.output / "value.onnx", layers, "double_integrator_value")

    fresh = rng.uniform(-REGION, REGION, (200_000, 2))
    value = evaluate(layers, fresh)[:, 0]
    inside = fresh[value <= 0]
    after = evaluate(layers, step(controller, inside))[:, 0]
    fit = {
        "mean_error": round(float(np.abs(value + LEVEL - worth(controller, fresh)).mean()), 4),
        "share_of_within": round(float((value[(np.abs(fresh) <= WITHIN).all(1)] <= 0).mean()), 3),
        "greatest_value_after_a_step": round(float(after.max()), 4) if len(inside) else 0.0,
        "greatest_norm_inside": round(float(np.abs(inside / WITHIN).max()), 4) if len(inside) else 0.0,
    }
    for key, value in fit.items():
        print(f"{key}: {value}")
    add_to_manifest(
        options.output,
        file="value.onnx",
        fit=fit,
        command="python experiments/training/double_integrator_value.py",
        seed=SEED,
        minutes=minutes,
        inputs=["position x0", "velocity x1"],
        outputs=["V"],
    )


if __name__ == "__main__":
    main()
