"""Train a controller of shape 3-16-16-1 with tanh units that keeps Gymnasium's Pendulum upright.

    python experiments/training/pendulum.py [--quick] [--output FOLDER]

The plant is Pendulum-v1 as it is (`venmas.formats.gym.pendulum`), the loss its own cost (angle, speed, torque), summed
over two seconds of runs that start near the top; the gradient goes through the plant. With at most 2 N m nobody can
hold a pendulum that leans by more than arcsin(0.4) = 0.41 rad: swinging it up is left out.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from export import ROOT, Layers, evaluate, write_manifest, write_onnx

Array = npt.NDArray[Any]

SEED = 1
START: Array = np.array([0.2, 0.4])  # rad, rad/s
STEPS, ROUNDS, BATCH, RATE = 40, 400, 256, 1e-2
SPEED, TORQUE, PERIOD, GRAVITY = 8.0, 2.0, 0.05, 10.0


def train(seed: int, rounds: int) -> Layers:
    """Adam with cosine decay on the cost of the runs."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(seed)
    torch.use_deterministic_algorithms(True)
    net = torch.nn.Sequential(
        torch.nn.Linear(3, 16), torch.nn.Tanh(), torch.nn.Linear(16, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1)
    )
    optimizer = torch.optim.Adam(net.parameters(), RATE)
    decay = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, rounds)
    for _ in range(rounds):
        begin = (2 * torch.rand(BATCH, 2) - 1) * torch.tensor(START, dtype=torch.float32)
        angle, speed = begin[:, 0], begin[:, 1]
        cost = torch.zeros(())
        for _ in range(STEPS):
            asked = net(torch.stack([torch.cos(angle), torch.sin(angle), speed], 1))[:, 0]
            torque = torch.clamp(asked, -TORQUE, TORQUE)
            pulled = speed + (1.5 * GRAVITY * torch.sin(angle) + 3 * torque) * PERIOD
            speed = torch.clamp(pulled, -SPEED, SPEED)
            angle = angle + speed * PERIOD
            # beyond its limits the torque is felt no more; what is asked for too much costs, so that it stays felt
            cost = cost + (angle**2 + 0.1 * speed**2 + 0.001 * torque**2 + 0.01 * (asked - torque) ** 2).mean()
        optimizer.zero_grad()
        cost.backward()
        optimizer.step()
        decay.step()
    arrays = [p.detach().numpy().astype(np.float32) for p in net.parameters()]
    return [(arrays[i], arrays[i + 1]) for i in range(0, len(arrays), 2)]


def run(layers: Layers, state: Array, steps: int) -> Array:
    """States of shape (steps + 1, n, 2) from initial ones of shape (n, 2), in float64."""
    found = [np.asarray(state, np.float64)]
    for _ in range(steps):
        angle, speed = found[-1].T
        asked = evaluate(layers, np.stack([np.cos(angle), np.sin(angle), speed], 1), np.tanh)[:, 0]
        pulled = speed + (1.5 * GRAVITY * np.sin(angle) + 3 * np.clip(asked, -TORQUE, TORQUE)) * PERIOD
        speed = np.clip(pulled, -SPEED, SPEED)
        found.append(np.stack([angle + speed * PERIOD, speed], 1))
    return np.array(found)


def figures(layers: Layers, seed: int) -> dict[str, Any]:
    """What 20,000 runs from START do, by the greatest sizes of angle and speed."""
    begin = np.random.default_rng(seed).uniform(-START, START, (20_000, 2))
    runs = np.abs(run(layers, begin, 60))
    return {
        "largest_angle_of_20000_runs": round(float(runs[:, :, 0].max()), 3),
        "largest_angle_after_60_steps": round(float(runs[-1, :, 0].max()), 4),
        "largest_speed_after_60_steps": round(float(runs[-1, :, 1].max()), 4),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a few rounds only, to see that the script runs")
    parser.add_argument("--output", type=Path, default=ROOT / "networks" / "pendulum")
    options = parser.parse_args()

    began = time.monotonic()
    layers = train(SEED, 3 if options.quick else ROUNDS)
    minutes = (time.monotonic() - began) / 60
    write_onnx(
        options.output / "controller.onnx", layers, "pendulum_controller", ["tanh"] * (len(layers) - 1) + ["linear"]
    )
    fit = figures(layers, SEED)
    for key, value in fit.items():
        print(f"{key}: {value}")
    write_manifest(
        options.output,
        files={"controller.onnx": fit},
        command="python experiments/training/pendulum.py",
        seed=SEED,
        minutes=minutes,
        packages=("numpy", "onnx", "torch"),
        units="tanh after every layer but the last",
        about="Controller that keeps Pendulum-v1 of Gymnasium upright, for scenarios/pendulum",
        inputs=["cos th", "sin th", "thdot (rad/s)"],
        outputs=["torque before clipping to [-2, 2], N m"],
        runs_start_in=[[-s, s] for s in START.tolist()],
    )


if __name__ == "__main__":
    main()
