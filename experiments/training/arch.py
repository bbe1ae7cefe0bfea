"""Train controllers for the loops of ARCH-COMP AINNCS whose published networks are not shipped here.

    python experiments/training/arch.py [--only NAME] [--output FOLDER]

Each network imitates a law of our own by least squares, first on states along noisy runs of the law, then along runs
of the network as well (Ross et al., DAgger, AISTATS 2011). Sizes and activations are those of the original where they
are known to us. Needs torch and scipy; two minutes in all.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from arch_laws import LAWS, Law
from export import ROOT, write_manifest, write_onnx

Array = npt.NDArray[Any]
SEED = 21


def runs(law: Law, policy: Callable[[Array], Array], count: int, rng: np.random.Generator, noise: float) -> Array:
    """States along runs, (count * periods, n), from a box wider than the initial one; noise in parts of its size."""
    middle, half = (law.high + law.low) / 2, (law.high - law.low) / 2
    x = middle + 1.3 * half * rng.uniform(-1, 1, (count, len(half)))
    found = []
    for _ in range(law.periods):
        found.append(x)
        u = policy(x) + noise * law.effort * rng.standard_normal((count, len(law.effort)))
        x = advance(law, x + noise * law.spread * rng.standard_normal(x.shape), u)
    return np.concatenate(found)


def advance(law: Law, x: Array, u: Array, parts: int = 4) -> Array:
    """A period by Runge and Kutta's method, inputs held."""
    h = law.period / parts
    for _ in range(parts):
        a = law.rates(x, u)
        b = law.rates(x + h / 2 * a, u)
        c = law.rates(x + h / 2 * b, u)
        x = x + h / 6 * (a + 2 * b + 2 * c + law.rates(x + h * c, u))
    return np.clip(x, -1e3, 1e3)


class Policy(torch.nn.Sequential):
    """Layers of the sizes of a law over scaled inputs."""

    def __init__(self, law: Law, scale: Array, shift: Array) -> None:
        units = {"relu": torch.nn.ReLU, "tanh": torch.nn.Tanh, "sigmoid": torch.nn.Sigmoid}
        parts: list[torch.nn.Module] = []
        for i, (n, m) in enumerate(pairwise(law.sizes)):
            parts.append(torch.nn.Linear(n, m, bias=not law.odd))
            if law.activations[i] != "linear":
                parts.append(units[law.activations[i]]())
        super().__init__(*parts)
        self.decay = law.decay
        self.scale, self.shift = torch.tensor(scale, dtype=torch.float32), torch.tensor(shift, dtype=torch.float32)

    def act(self, x: Array) -> Array:
        with torch.no_grad():
            return self((torch.tensor(x, dtype=torch.float32) - self.shift) / self.scale).numpy().astype(float)

    def layers(self, out: Array) -> list[tuple[Array, Array]]:
        """Weights and biases with the scaling of inputs, and of linear outputs, in them."""
        found = []
        for part in self:
            if isinstance(part, torch.nn.Linear):
                w = part.weight.detach().numpy().astype(float)
                b = np.zeros(len(w)) if part.bias is None else part.bias.detach().numpy().astype(float)
                found.append((w, b))
        w, b = found[0]
        found[0] = w / self.scale.numpy(), b - w @ (self.shift.numpy() / self.scale.numpy())
        w, b = found[-1]
        found[-1] = out[:, None] * w, out * b
        return found


def train(law: Law, steps: int) -> tuple[list[tuple[Array, Array]], dict[str, float]]:
    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    rng = np.random.default_rng(SEED)
    x = np.concatenate([runs(law, law.act, 300, rng, part) for part in law.noise])
    linear = law.activations[-1] == "linear"
    out = law.effort if linear else np.ones(law.sizes[-1])
    shift = np.zeros(x.shape[1]) if law.odd else x.mean(0)
    net = Policy(law, np.maximum(x.std(0), 1e-3), shift)
    for stage in range(3):
        u = law.act(x) / out
        fit(net, x, u, steps, 3e-3 / (1 + stage))
        x = np.concatenate([x, runs(law, lambda s: net.act(s) * out, 300, rng, 0.05)])
    fresh = runs(law, lambda s: net.act(s) * out, 200, np.random.default_rng(SEED + 1), 0.0)
    error = np.abs(net.act(fresh) * out - law.act(fresh))
    return net.layers(out), {"mean_error": float(error.mean()), "largest_error": float(error.max())}


def fit(net: Policy, x: Array, u: Array, steps: int, rate: float) -> None:
    inputs = (torch.tensor(x, dtype=torch.float32) - net.shift) / net.scale
    targets = torch.tensor(u, dtype=torch.float32)
    best = torch.optim.AdamW(net.parameters(), rate, weight_decay=net.decay)
    decay = torch.optim.lr_scheduler.CosineAnnealingLR(best, steps)
    for _ in range(steps):
        rows = torch.randint(len(inputs), (256,))
        best.zero_grad()
        loss = ((net(inputs[rows]) - targets[rows]) ** 2).mean()
        loss.backward()
        best.step()
        decay.step()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a few steps only, to see that the script runs")
    parser.add_argument("--only", default="", help="networks whose names hold this text; no manifest is written")
    parser.add_argument("--output", type=Path, default=ROOT / "experiments" / "arch_comp" / "networks")
    options = parser.parse_args()
    began, files = time.monotonic(), {}
    for law in LAWS:
        if options.only in law.name:
            layers, errors = train(law, 20 if options.quick else law.steps)
            write_onnx(options.output / f"{law.name}.onnx", layers, law.name, law.activations)
            fit = {key: round(value, 5) for key, value in errors.items()}
            files[f"{law.name}.onnx"] = {"activations": list(law.activations), "seconds_between": law.period, **fit}
            print(law.name, fit, round(time.monotonic() - began), "s", flush=True)
    if not options.only:
        write_manifest(
            options.output,
            files=files,
            command="python experiments/training/arch.py",
            seed=SEED,
            minutes=(time.monotonic() - began) / 60,
            packages=("numpy", "onnx", "scipy", "torch"),
            units="activations of each file below",
            about="Controllers for experiments/arch_comp, in place of networks that are not shipped here",
            inputs=["states of the loop as experiments/arch_comp names them"],
            outputs=["actions as the loop takes them"],
        )


if __name__ == "__main__":
    main()
