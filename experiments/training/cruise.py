"""Train a controller of shape 3-20-20-1 for the follower in adaptive cruise control.

The plant is that of ``scenarios/cruise`` (two cars in a lane, ten steps a second); the network sees speed v, gap d and
relative speed w of the follower, scaled by 1/32, 1/128 and 1/16, and its output is the commanded acceleration.

    python experiments/training/cruise.py [--quick] [--output FOLDER]

The law to fit is the usual switch of cruise control (as in Matlab's and ARCH-COMP's benchmark, whose network and model
are not used): the lesser of a command that keeps the set speed and one that keeps the safe distance d0 + T v, within
the limits of the car.
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

SEED = 3
SET_SPEED, STANDSTILL, HEADWAY = 30.0, 10.0, 1.4  # m/s, m, s
LEAST, GREATEST = -3.0, 2.0  # m/s^2
SCALE: Array = np.array([32.0, 128.0, 16.0])
REGION: Array = np.array([[0.0, 40.0], [0.0, 160.0], [-20.0, 20.0]])  # v, d, w
SAMPLES, EPOCHS, BATCH, RATE = 60_000, 60, 512, 5e-3
LAG = 0.818730753078  # exp(-0.2): the drive follows its command with a time constant of half a second


def law(x: Array) -> Array:
    """The command, m/s^2, for rows (v, d, w)."""
    v, d, w = x.T
    keep_speed = 0.5 * (SET_SPEED - v)
    keep_distance = 0.2 * (d - STANDSTILL - HEADWAY * v) + 0.8 * w
    return np.clip(np.minimum(keep_speed, keep_distance), LEAST, GREATEST)


def train(seed: int, x: Array, u: Array, epochs: int) -> Layers:
    """Least squares on the law; Adam, cosine decay."""
    tf = start_tensorflow(seed)
    net = tf.keras.Sequential(
        [
            tf.keras.Input((3,)),
            tf.keras.layers.Dense(20, activation="relu"),
            tf.keras.layers.Dense(20, activation="relu"),
            tf.keras.layers.Dense(1),
        ]
    )
    decay = tf.keras.optimizers.schedules.CosineDecay(RATE, epochs * (len(x) // BATCH + 1))
    net.compile(optimizer=tf.keras.optimizers.Adam(decay), loss="mse")
    scaled = (x / SCALE).astype(np.float32)
    net.fit(scaled, u[:, None].astype(np.float32), batch_size=BATCH, epochs=epochs, verbose=0)
    arrays = net.get_weights()
    return [(arrays[i].T, arrays[i + 1]) for i in range(0, len(arrays), 2)]


def drive(x: Array, v: Array, g: Array, command: Array) -> tuple[Array, Array, Array]:
    """A tenth of a second of a car: position, speed, acceleration."""
    q = (1 - LAG) / 2
    p = 0.05 - q / 2
    return x + 0.1 * v + p * g + (0.005 - p) * command, v + q * g + (0.1 - q) * command, LAG * g + (1 - LAG) * command


def least_reserve(layers: Layers, lead: float, steps: int, runs: int, rng: np.random.Generator) -> Array:
    """By step, the least of d - 10 - 1.4 v over random runs; the leader brakes with 2 m/s^2 from `lead` m/s."""
    front = [rng.uniform(70, 75, runs), rng.uniform(lead, lead + 0.2, runs), np.zeros(runs)]
    back = [np.full(runs, 10.0), rng.uniform(30, 30.2, runs), np.zeros(runs)]
    found = []
    for _ in range(steps):
        seen = np.stack([back[1], front[0] - back[0], front[1] - back[1]], 1)
        command = np.clip(evaluate(layers, seen / SCALE)[:, 0], LEAST, GREATEST)
        front = list(drive(*front, np.full(runs, -2.0)))
        back = list(drive(*back, command))
        found.append((front[0] - back[0] - STANDSTILL - HEADWAY * back[1]).min())
    return np.array(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a few epochs only, to see that the script runs")
    parser.add_argument("--output", type=Path, default=ROOT / "networks" / "cruise")
    options = parser.parse_args()

    began = time.monotonic()
    rng = np.random.default_rng(SEED)
    samples = 1000 if options.quick else SAMPLES
    x = rng.uniform(REGION[:, 0], REGION[:, 1], (samples, 3))
    layers = train(SEED, x, law(x), 2 if options.quick else EPOCHS)
    minutes = (time.monotonic() - began) / 60
    write_onnx(options.output / "controller.onnx", layers, "cruise_controller")

    fresh = rng.uniform(REGION[:, 0], REGION[:, 1], (5000, 3))
    error = np.abs(np.clip(evaluate(layers, fresh / SCALE)[:, 0], LEAST, GREATEST) - law(fresh))
    fit = {"mean_error_of_u": round(float(error.mean()), 4), "largest_error_of_u": round(float(error.max()), 3)}
    for lead in (18, 19, 20, 21, 22, 23, 26):
        reserve = least_reserve(layers, float(lead), 50, 20_000, rng)
        below = np.flatnonzero(reserve <= 0)
        fit[f"first_unsafe_step_of_20000_runs_lead_{lead}"] = int(below[0]) + 1 if len(below) else 0
    for key, value in fit.items():
        print(f"{key}: {value}")
    write_manifest(
        options.output,
        files={"controller.onnx": fit},
        command="python experiments/training/cruise.py",
        seed=SEED,
        minutes=minutes,
        packages=("numpy", "onnx", "tensorflow_cpu"),
        about="Follower of adaptive cruise control, for scenarios/cruise",
        inputs=["speed v / 32 (m/s)", "gap d / 128 (m)", "relative speed w / 16 (m/s)"],
        outputs=["commanded acceleration before clipping to [-3, 2], m/s^2"],
        fitted_in=REGION.tolist(),
    )


if __name__ == "__main__":
    main()
