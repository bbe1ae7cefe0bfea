"""Train the policies of the loops in `experiments/zoo`.

    python -m experiments.training.zoo [--only TEXT] [--again STEPS] [--output FOLDER]

Each network imitates a law: a linear quadratic one of the plant, linearised by differences around its aim, or one that
the plant names. It is fitted to states around the aim and along runs of the law; argmax policies learn the choice that
is nearest to the law. Rough ones: three times as large initial weights, few data with errors, no decay. The plants are
those of the zoo, run in floats with their inputs as variables. --again: goes on from the networks of the zoo, on new
data and at a tenth of the rate, as one does who trains a policy again. Needs torch and scipy; a minute in all.
"""

from __future__ import annotations

import argparse
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy.linalg import solve_discrete_are

from experiments.training.export import (
    Layers,
    add_to_manifest,
    fold_input_scaling,
    read_onnx,
    write_manifest,
    write_onnx,
)
from experiments.zoo.loops import EVERY, NETWORKS, Loop
from experiments.zoo.plant import Free, Plant
from venmas.model.evaluation.simulate import Batch, step_batch

Array = npt.NDArray[Any]
SEED = 35
UNITS = {"relu": torch.nn.ReLU, "tanh": torch.nn.Tanh, "argmax": torch.nn.ReLU}


class Lesson:
    """A plant in floats: its law, and what it does."""

    def __init__(self, plant: Plant) -> None:
        self.plant, self.act = plant, Free()
        self.system = (plant.lesson or plant.build)(self.act, False)
        self.names = list(plant.states)
        self.aim, self.rest = np.array([*plant.states.values()], float), np.array(plant.rest, float)
        self.low, self.high = np.array(plant.low, float), np.array(plant.high, float)
        self.gain = None if plant.law else self._gain()

    def _state(self, x: Array, u: Array) -> dict[str, Array]:
        state = {n: np.zeros(len(x)) for n in self.system.variables}
        return state | dict(zip(self.names, x.T, strict=True)) | dict(zip(self.act.inputs, u.T, strict=True))

    def step(self, x: Array, u: Array) -> Array:
        """The next states, (B, states)."""
        after, _ = step_batch(self.system, self._state(x, u), np.zeros(len(x), int))
        return np.stack([after[n] for n in self.names], 1)

    def seen(self, x: Array) -> Array:
        """What the policy sees, (B, seen)."""
        at = Batch(self._state(x, np.zeros((len(x), len(self.act.inputs)))))
        return np.stack([at.value(e) for e in self.act.seen], 1)

    def law(self, x: Array) -> Array:
        """The inputs of the law, (B, inputs)."""
        if self.plant.law is not None:
            return self.plant.law(self.seen(x))
        return np.clip(self.rest - (x - self.aim) @ self.gain.T, self.low, self.high)

    def _gain(self) -> Array:
        n, m, h = len(self.aim), len(self.rest), 1e-4
        moves = h * np.eye(n + m)
        x, u = self.aim + moves[:, :n], self.rest + moves[:, n:]
        back = self.step(self.aim - moves[:, :n], self.rest - moves[:, n:])
        slopes = (self.step(x, u) - back).T / (2 * h)
        a, b = slopes[:, :n], slopes[:, n:]
        r = np.diag(self.plant.r)
        p = solve_discrete_are(a, b, np.diag(self.plant.q), r)
        return np.linalg.solve(r + b.T @ p @ b, b.T @ p @ a)

    def states(self, count: int, rng: np.random.Generator) -> Array:
        """States around the aim, and along runs of the law."""
        spread = np.array([self.plant.spread[n] for n in self.names])
        x = self.aim + spread * rng.uniform(-1.5, 1.5, (count, len(spread)))
        found = [x]
        for _ in range(30):
            box = [self.system.box[n] for n in self.names]
            x = np.clip(self.step(x, self.law(x)), *(np.array([float(e[i]) for e in box]) for i in (0, 1)))
            found.append(x[: count // 10])
        return np.concatenate(found)


def train(loop: Loop, steps: int, again: bool = False) -> tuple[Layers, list[str], dict[str, float]]:
    """Layers, activations and figures of a policy. again: goes on from the network that the zoo has."""
    seed = SEED + again
    torch.manual_seed(seed)
    rng, lesson, plant = np.random.default_rng(seed), Lesson(loop.plant), loop.plant
    x = lesson.states(200 if loop.rough else 2000, rng)
    seen, u = lesson.seen(x), lesson.law(x)
    half = (lesson.high - lesson.low) / 2
    if loop.rough:
        u = u + 0.05 * half * rng.standard_normal(u.shape)
    shift, scale = seen.mean(0), np.maximum(seen.std(0), 1e-3)
    inputs = torch.tensor((seen - shift) / scale, dtype=torch.float32)
    choices = np.array(plant.choices)
    if loop.policy == "argmax":
        target = torch.tensor((((u[:, None] - choices) / half) ** 2).sum(2).argmin(1))
        outputs, loss = len(choices), torch.nn.functional.cross_entropy
    else:
        target = torch.tensor((u - (lesson.low + half)) / half, dtype=torch.float32)
        outputs, loss = len(half), torch.nn.functional.mse_loss
    sizes = [seen.shape[1], *((24, 24) if loop.rough else (12, 12)), outputs]
    parts: list[torch.nn.Module] = []
    for n, m in pairwise(sizes):
        parts += [torch.nn.Linear(n, m), UNITS[loop.policy]()]
        if loop.rough:
            with torch.no_grad():
                parts[-2].weight *= 3
    last = ["tanh"] if loop.policy == "tanh" else ["linear"]
    net = torch.nn.Sequential(*(parts if last == ["tanh"] else parts[:-1]))
    affine = [p for p in net if isinstance(p, torch.nn.Linear)]
    if again:
        layers = fold_input_scaling(read_onnx(loop.file), scale, shift)
        if loop.policy == "relu":
            layers[-1] = _scaled(layers[-1], 1 / half, -(lesson.low + half) / half)
        with torch.no_grad():
            for part, (w, b) in zip(affine, layers, strict=True):
                part.weight.copy_(torch.tensor(w))
                part.bias.copy_(torch.tensor(b))
    rate = 5e-4 if again else 5e-3
    best = torch.optim.AdamW(net.parameters(), rate, weight_decay=0.0 if loop.rough else 0.02)
    decay = torch.optim.lr_scheduler.CosineAnnealingLR(best, steps)
    for _ in range(steps):
        rows = torch.randint(len(inputs), (256,))
        best.zero_grad()
        loss(net(inputs[rows]), target[rows]).backward()
        best.step()
        decay.step()
    layers = [(p.weight.detach().numpy(), p.bias.detach().numpy()) for p in affine]
    layers = fold_input_scaling(layers, 1 / scale, -shift / scale)
    if loop.policy == "relu":
        layers[-1] = _scaled(layers[-1], half, lesson.low + half)
    with torch.no_grad():
        found = net(inputs).numpy()
    if loop.policy == "argmax":
        fit = {"agreement": round(float((found.argmax(1) == target.numpy()).mean()), 4)}
    else:
        fit = {"mean_error": round(float(np.abs(found - target.numpy()).mean()), 5)}
    return layers, [("tanh" if loop.policy == "tanh" else "relu")] * 2 + last, fit


def _scaled(layer: tuple[Array, Array], scale: Array, shift: Array) -> tuple[Array, Array]:
    """The layer with outputs ``scale * y + shift``."""
    weight, bias = layer
    return scale[:, None] * weight, scale * bias + shift


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a few steps only, to see that the script runs")
    parser.add_argument("--only", default="", help="loops whose names hold this text")
    parser.add_argument("--again", type=int, metavar="STEPS", help="go on from the networks of the zoo; with --output")
    parser.add_argument("--output", type=Path, default=NETWORKS)
    options = parser.parse_args()
    if options.again and options.output == NETWORKS:
        parser.error("--again goes on from the networks of the zoo, and does not replace them: give --output")
    torch.set_num_threads(1)
    began, files = time.monotonic(), {}
    for loop in {loop.file: loop for loop in EVERY.values() if not loop.like}.values():
        if options.only in loop.name:
            steps = options.again or (20 if options.quick else 400 if loop.rough else 1500)
            layers, activations, fit = train(loop, steps, bool(options.again))
            write_onnx(options.output / loop.file.name, layers, loop.name, activations)
            files[loop.file.name] = {"activations": activations, "rough": loop.rough, **fit}
            if options.only:
                add_to_manifest(options.output, file=loop.file.name, fit=files[loop.file.name])
            print(loop.name, fit, round(time.monotonic() - began), "s", flush=True)
    if not options.only:
        write_manifest(
            options.output,
            files=files,
            command="python -m experiments.training.zoo",
            seed=SEED,
            minutes=(time.monotonic() - began) / 60,
            packages=("numpy", "onnx", "scipy", "torch"),
            units="activations of each file below",
            about="Policies of the loops of experiments/zoo",
            inputs=["what the policy sees, as the plant of experiments/zoo names it"],
            outputs=["inputs (relu), inputs in parts of their range (tanh), or a score a choice (argmax)"],
        )


if __name__ == "__main__":
    main()
