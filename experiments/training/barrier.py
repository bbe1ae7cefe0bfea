"""Train the policies and certificates of `experiments/barriers`.

    python -m experiments.training.barrier [--only TEXT] [--quick] [--output FOLDER]

A policy imitates a clipped linear quadratic law of its plant, linearised by differences around 0. With it, V is fitted
to W - level, W(x) the greatest excess of what is admissible on the run of x, times growth^t (the file NAME-rough.onnx:
after the first steps). Then it is finetuned against counterexamples, as in Yang et al. (Cersyve, 2025): states
that break one of both claims by a margin, from samples and by steps up the gradient, in turns.
Needs torch and scipy; some minutes in all.
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

from experiments.barriers.plants import NETWORKS, PLANTS, Plant
from experiments.training.export import Layers, add_to_manifest, write_manifest, write_onnx

Array = npt.NDArray[Any]
SEED = 35
STEPS, GREATEST = 40, 2.0
"""Of the runs that W looks at, and its greatest value."""
FIT, EARLY, TUNE, BATCH = 4000, 60, 1500, 512
"""Steps of Adam for the fit, those after which V is rough, those of finetuning; states of each."""
MARGIN = 0.01


class Loop:
    """A plant on tensors, in float64."""

    def __init__(self, plant: Plant) -> None:
        self.plant = plant
        self.box = torch.tensor(list(plant.box.values()), dtype=torch.float64)
        self.limits = torch.tensor(plant.limits, dtype=torch.float64)
        self.policy: torch.nn.Module | None = None

    def step(self, x: torch.Tensor, u: torch.Tensor) -> torch.Tensor:
        """The next states, (B, n); of a flow by four steps of Runge and Kutta."""
        if self.plant.period is None:
            return self._move(x, u)
        h = self.plant.period / 4
        for _ in range(4):
            a = self._move(x, u)
            b = self._move(x + h / 2 * a, u)
            c = self._move(x + h / 2 * b, u)
            x = x + h / 6 * (a + 2 * b + 2 * c + self._move(x + h * c, u))
        return x

    def _move(self, x: torch.Tensor, u: torch.Tensor) -> torch.Tensor:
        return torch.stack(self.plant.move(x.unbind(1), u.unbind(1), torch), 1)

    def next(self, x: torch.Tensor) -> torch.Tensor:
        """The next states under the policy."""
        assert self.policy is not None
        return self.step(x, self.policy(x).clamp(-self.limits, self.limits))

    def excess(self, x: torch.Tensor) -> torch.Tensor:
        """At most 1 in admissible states, (B,)."""
        return torch.stack(self.plant.signs(x.unbind(1), torch), 1).abs().amax(1)

    def worth(self, x: torch.Tensor) -> torch.Tensor:
        """W of states."""
        found = self.excess(x)
        with torch.no_grad():
            for t in range(1, STEPS + 1):
                x = self.next(x).clamp(-5 * self.box, 5 * self.box)
                found = torch.maximum(found, self.excess(x) * self.plant.growth**t)
        return found.clamp(max=GREATEST)

    def states(self, count: int, reach: float = 1.1) -> torch.Tensor:
        """Random states: of the box, and a little beyond it."""
        return (2 * torch.rand(count, len(self.box), dtype=torch.float64) - 1) * self.box * reach

    def law(self) -> Array:
        """The gain of the linear quadratic law."""
        n, m, h = len(self.box), len(self.limits), 1e-4
        moves = h * torch.eye(n + m, dtype=torch.float64)
        slopes = (self.step(moves[:, :n], moves[:, n:]) - self.step(-moves[:, :n], -moves[:, n:])).T.numpy() / (2 * h)
        a, b = slopes[:, :n], slopes[:, n:]
        r = np.diag(self.plant.r)
        p = solve_discrete_are(a, b, np.diag(self.plant.q), r)
        gain: Array = np.linalg.solve(r + b.T @ p @ b, b.T @ p @ a)
        return gain


def network(sizes: list[int], scale: torch.Tensor) -> torch.nn.Sequential:
    """ReLU layers of inputs that are divided by `scale`, in the first weights."""
    parts: list[torch.nn.Module] = []
    for n, m in pairwise(sizes):
        parts += [torch.nn.Linear(n, m, dtype=torch.float64), torch.nn.ReLU()]
    first = parts[0]
    assert isinstance(first, torch.nn.Linear)
    with torch.no_grad():
        first.weight /= scale
    return torch.nn.Sequential(*parts[:-1])


def layers(net: torch.nn.Module) -> Layers:
    """Weights as they are stored: in float32."""
    affine = [p for p in net.children() if isinstance(p, torch.nn.Linear)]
    return [(p.weight.detach().numpy().astype(np.float32), p.bias.detach().numpy().astype(np.float32)) for p in affine]


class Training:
    """The networks of a plant. part: of the steps, for a moment only."""

    def __init__(self, plant: Plant, part: float = 1.0) -> None:
        self.loop, self.plant, self.part = Loop(plant), plant, part
        torch.manual_seed(SEED)

    def policy(self) -> torch.nn.Sequential:
        """A small network that imitates the law, up to where it is clipped."""
        loop, gain = self.loop, torch.tensor(self.loop.law())
        net = network([len(loop.box), 16, 16, len(loop.limits)], loop.box)
        best, decay = self._adam(net, 5e-3, int(FIT * self.part))
        for _ in range(int(FIT * self.part)):
            x = loop.states(BATCH // 4, 1.5)
            wanted = (-x @ gain.T / loop.limits).clamp(-1.2, 1.2)
            best.zero_grad()
            torch.nn.functional.mse_loss((net(x) / loop.limits).clamp(-1.5, 1.5), wanted).backward()
            best.step()
            decay.step()
        net.requires_grad_(requires_grad=False)
        loop.policy = net
        return net

    def value(self) -> tuple[Layers, Layers]:
        """V as it was early, and at the end."""
        loop, plant = self.loop, self.plant
        net = network([len(loop.box), plant.units, plant.units, 1], loop.box)
        many = int(50_000 * self.part)
        near = loop.states(many) * torch.rand(many, 1, dtype=torch.float64)
        x = torch.cat([loop.states(many), near])
        wanted = loop.worth(x) - plant.level
        steps = int(FIT * self.part)
        best, decay = self._adam(net, 5e-3, steps)
        early = layers(net)
        for step in range(steps):
            rows = torch.randint(len(x), (BATCH,))
            best.zero_grad()
            self._misfit(net(x[rows])[:, 0], wanted[rows]).backward()
            best.step()
            decay.step()
            early = layers(net) if step < EARLY else early
        hard = x[torch.randint(len(x), (BATCH,))]
        best, decay = self._adam(net, 1e-3, int(TUNE * self.part))
        for step in range(int(TUNE * self.part)):
            rows = torch.randint(len(x), (BATCH,))
            if step % 5 == 0:
                hard = self._hardest(net, torch.cat([hard[: BATCH // 2], x[rows]]))
            best.zero_grad()
            broken = self._broken(net, torch.cat([x[rows], hard]))
            loss = broken.clamp(min=0).mean() + 0.1 * broken.clamp(min=0).amax()
            (loss + 0.3 * self._misfit(net(x[rows])[:, 0], wanted[rows])).backward()
            best.step()
            decay.step()
        return early, layers(net)

    @staticmethod
    def _adam(net: torch.nn.Module, rate: float, steps: int) -> tuple[torch.optim.Adam, Any]:
        best = torch.optim.Adam(net.parameters(), rate)
        return best, torch.optim.lr_scheduler.CosineAnnealingLR(best, steps)

    @staticmethod
    def _misfit(value: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
        """Squares, of more weight near 0."""
        return ((value - wanted) ** 2 / (0.2 + wanted.abs())).mean()

    def _broken(self, net: torch.nn.Module, x: torch.Tensor, margin: float = MARGIN) -> torch.Tensor:
        """By how much states break one of the claims, (B,)."""
        inside, after = margin - net(x)[:, 0], net(self.loop.next(x))[:, 0] + margin
        beyond = 10 * (self.loop.excess(x) - 1)
        return torch.minimum(inside, torch.maximum(after, beyond))

    def _hardest(self, net: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
        """States that break them more, by ten steps up the gradient."""
        rate = 0.02 * self.loop.box
        for _ in range(10):
            x = x.detach().requires_grad_()
            (slope,) = torch.autograd.grad(self._broken(net, x).sum(), x)
            x = (x + rate * slope.sign()).clamp(-self.loop.box, self.loop.box)
            rate = 0.8 * rate
        x = x.detach()
        with torch.no_grad():
            order = self._broken(net, x).argsort(descending=True)
        return x[order[:BATCH]]

    def figures(self, stored: Layers) -> dict[str, float]:
        """Of 200,000 states of the box: the part that is inside, and the parts of it that break a claim."""
        net = network([w.shape[1] for w, _ in stored] + [1], self.loop.box)
        affine = [p for p in net if isinstance(p, torch.nn.Linear)]
        with torch.no_grad():
            for part, (w, b) in zip(affine, stored, strict=True):
                part.weight.copy_(torch.tensor(w))
                part.bias.copy_(torch.tensor(b))
            x = self.loop.states(200_000, 1.0)
            inside = net(x)[:, 0] <= 0
            x = x[inside]
            con, inv = self.loop.excess(x) > 1, net(self.loop.next(x))[:, 0] > 0
        share = {"inside": inside, "break_con": con, "break_inv": inv}
        return {name: round(float(part.double().mean()), 5) for name, part in share.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a few steps only, to see that the script runs")
    parser.add_argument("--only", default="", help="plants whose names hold this text")
    parser.add_argument("--output", type=Path, default=NETWORKS)
    options = parser.parse_args()
    torch.set_num_threads(1)
    began, files = time.monotonic(), dict[str, dict[str, Any]]()
    for plant in PLANTS.values():
        if options.only not in plant.name:
            continue
        training = Training(plant, 0.01 if options.quick else 1.0)
        policy = layers(training.policy())
        early, late = training.value()
        for kind, found in (("policy", policy), ("rough", early), ("value", late)):
            name = f"{plant.name}-{kind}.onnx"
            write_onnx(options.output / name, found, f"{plant.name}_{kind}")
            files[name] = training.figures(found) if kind != "policy" else {}
            if options.only:
                add_to_manifest(options.output, file=name, fit=files[name])
            print(name, files[name], round(time.monotonic() - began), "s", flush=True)
    if not options.only:
        write_manifest(
            options.output,
            files=files,
            command="python -m experiments.training.barrier",
            seed=SEED,
            minutes=(time.monotonic() - began) / 60,
            packages=("numpy", "onnx", "scipy", "torch"),
            about="Policies and certificates V (rough: early in training) of the plants of experiments/barriers",
            inputs=["the state, as the plant of experiments/barriers names it"],
            outputs=["inputs before they are clipped; or V"],
        )


if __name__ == "__main__":
    main()
