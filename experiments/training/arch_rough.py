"""Train rough controllers for two loops of ARCH-COMP AINNCS: docking and balancing, three seeds each.

    python experiments/training/arch_rough.py [--only NAME] [--output FOLDER]

They have the shapes of the networks of `arch.py`, and imitate the same laws, but nothing keeps them smooth: initial
weights are those of torch, 800 states have targets with errors of 5 %, training is short, without decay, and no run of
the network is looked at. `experiments.arch_comp.rough` samples whether each does what the loop asks for. Needs torch
and scipy; ten seconds in all.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from arch import Policy, fit, runs
from arch_laws import LAWS, Law
from export import ROOT, Layers, write_manifest, write_onnx

Array = npt.NDArray[Any]
SEEDS = (1, 2, 3)
ROUGH = {"SpacecraftDocking_controller": (400, 1.0), "balancing_controller": (1500, 0.3)}
"""Steps of training, and the widest noise of the runs that states are from, by name of the law. With wider noise, or
fewer steps, networks balance but do not come to rest within a millimetre in time."""
_STATES, _ERROR = 800, 0.05


def train(law: Law, seed: int, steps: int, widest: float) -> tuple[Layers, dict[str, float]]:
    """Layers, and how far outputs are from the law along runs of the network."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    x = np.concatenate([runs(law, law.act, 300, rng, part) for part in law.noise if part <= widest])
    x = x[rng.choice(len(x), _STATES, replace=False)]
    out = law.effort if law.activations[-1] == "linear" else np.ones(law.sizes[-1])
    net = Policy(law, np.maximum(x.std(0), 1e-3), np.zeros(x.shape[1]) if law.odd else x.mean(0))
    net.decay = 0.0
    fit(net, x, law.act(x) / out + _ERROR * rng.standard_normal((len(x), len(out))), steps, 5e-3)
    fresh = runs(law, lambda s: net.act(s) * out, 200, np.random.default_rng(seed), 0.0)
    error = np.abs(net.act(fresh) * out - law.act(fresh))
    return net.layers(out), {"mean_error": round(float(error.mean()), 5), "largest_error": round(float(error.max()), 5)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a few steps only, to see that the script runs")
    parser.add_argument("--only", default="", help="networks whose names hold this text; no manifest is written")
    parser.add_argument("--output", type=Path, default=ROOT / "experiments" / "arch_comp" / "networks" / "rough")
    options = parser.parse_args()
    torch.set_num_threads(1)
    began, files = time.monotonic(), {}
    for law in LAWS:
        for seed in SEEDS if law.name in ROUGH else ():
            name = f"{law.name}_{seed}"
            if options.only not in name:
                continue
            steps, widest = ROUGH[law.name]
            layers, errors = train(law, seed, 20 if options.quick else steps, widest)
            write_onnx(options.output / f"{name}.onnx", layers, name, law.activations)
            files[f"{name}.onnx"] = {"activations": list(law.activations), "seed": seed, **errors}
            print(name, errors, round(time.monotonic() - began), "s", flush=True)
    if not options.only:
        write_manifest(
            options.output,
            files=files,
            command="python experiments/training/arch_rough.py",
            seed=SEEDS[0],
            minutes=(time.monotonic() - began) / 60,
            packages=("numpy", "onnx", "scipy", "torch"),
            units="activations of each file below",
            about="Rough controllers for two loops of experiments/arch_comp: short training on few states with errors",
            inputs=["states of the loop as experiments/arch_comp names them"],
            outputs=["actions as the loop takes them"],
        )


if __name__ == "__main__":
    main()
