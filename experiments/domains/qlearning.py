"""``python -m experiments.domains.qlearning [--train] [--places] [--only TEXT] [--seeds N] [--timeout S] [--out DIR]``.

Policies by deep Q-learning, as in the papers (a kind of their own beside the planners' imitations): DQN of
stable-baselines3 over the tasks' simulators (`environment`), fixed seeds. Such policies err. Those in ``q_policies/``
are decided by the verifier's default mode, each answer kept; --train trains those that are missing there first,
--places takes predicate abstraction that tells everything but the counters of failures apart.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.domains import jani
from experiments.domains.jani import facts
from experiments.domains.make import known, listed
from experiments.domains.task import LONGEST, Task
from experiments.domains.tasks import tasks
from experiments.policies.cells import Cell, Cells, abstraction
from experiments.policies.instances import OUT, Instance
from experiments.policies.output import Output
from experiments.training.export import Layers, evaluate, fold_input_scaling, read_onnx, sha256, widths, write_onnx
from venmas.runtime.blas import on_one_thread

if TYPE_CHECKING:
    from stable_baselines3 import DQN

FOLDER = Path(__file__).parent / "q_policies"
WIDTHS = (16, 32, 64)
TOGETHER = 8
"""Environments that steps are taken in at once."""
COLUMNS = ("goal", "verdict", "by", "path", "CPU")


@dataclass(frozen=True)
class Setting:
    """Steps of training, how many times the usual penalty unsafe states have, whether training settles (the rate of
    learning falls to 0, and no step is forgotten), and whether it corrects itself (`correcting`)."""

    steps: int
    penalty: float = 1.0
    settles: bool = False
    corrects: bool = False


SETTINGS = (
    Setting(80_000),
    Setting(15_000),  # these err more
    Setting(3_000),
    Setting(3_000),
    Setting(80_000, penalty=0.1),  # less than wandering costs
    Setting(600_000, penalty=5.0, settles=True),
    Setting(80_000, penalty=0.0),
    Setting(1_000_000, penalty=5.0, settles=True, corrects=True),
)
"""By seed."""


@on_one_thread
def learnt(task: Task, width: int, seed: int, setting: Setting) -> Layers:
    """The Q-network of two hidden layers, for unscaled inputs."""
    import torch
    from stable_baselines3 import DQN
    from stable_baselines3.common.vec_env import DummyVecEnv

    from experiments.domains.correcting import Correcting
    from experiments.domains.environment import TaskEnvironment

    def layers() -> Layers:
        return fold_input_scaling(layers_of(model), (1 / task.scale).tolist(), [0.0] * len(task.scale))

    environments = [TaskEnvironment(task, setting.penalty) for _ in range(TOGETHER)]
    torch.set_num_threads(1)
    rate, kept = (lambda left: 1e-3 * left, setting.steps) if setting.settles else (1e-3, 50_000)
    model = DQN(
        "MlpPolicy", DummyVecEnv([lambda e=e: e for e in environments]), seed=seed, device="cpu",
        gamma=0.95, learning_rate=rate, batch_size=128, buffer_size=kept, learning_starts=1000,
        train_freq=1, gradient_steps=1, target_update_interval=1000,
        exploration_fraction=0.5, exploration_final_eps=0.3 if setting.corrects else 0.1,
        policy_kwargs={"net_arch": [width, width], "activation_fn": torch.nn.ReLU},
    )  # fmt: skip
    correcting = Correcting(task, environments, layers) if setting.corrects else None
    model.learn(setting.steps, callback=correcting)
    return layers() if correcting is None or correcting.best is None else correcting.best


def layers_of(model: DQN) -> Layers:
    """Weights (out, in) and biases of the network."""
    return [
        (part.weight.detach().numpy().astype(float), part.bias.detach().numpy().astype(float))
        for part in model.q_net.q_net
        if hasattr(part, "weight")
    ]


def keep(task: Task, width: int, seed: int) -> None:
    """Train a policy into the repository."""
    begun = process_time()
    setting = SETTINGS[seed]
    layers = learnt(task, width, seed, setting)
    name = policy_name(width, seed)
    network = FOLDER / task.name / f"{name}.onnx"
    network.parent.mkdir(parents=True, exist_ok=True)
    write_onnx(network, layers, f"{task.name}_q_{name}")
    entry = {
        "file": network.name, "sha256": sha256(network), "architecture": widths(layers), "task": task.name,
        "inputs": list(task.inputs), "outputs": list(task.labels), "constants": dict(task.limits), "seed": seed,
        "steps": setting.steps, "penalty": setting.penalty,
        "settles": setting.settles, "corrects": setting.corrects,
        "training_CPU_minutes": round((process_time() - begun) / 60, 1),
    }  # fmt: skip
    about = {
        "about": "Policies by deep Q-learning, unscaled inputs (experiments/domains/qlearning.py)",
        "command": "python -m experiments.domains.qlearning --train",
        "versions": {name: version(name) for name in ("numpy", "onnx", "torch", "gymnasium", "stable-baselines3")},
    }
    listed(network.parent, entry, about)


def goals(task: Task, network: Path) -> float:
    """The share of starts from which the policy reaches the goal, where nothing fails and no counter has risen."""
    layers, s, reached = read_onnx(network), task.start, 0
    for _ in range(LONGEST):
        x, _good = task.lesson(s, np.random.default_rng(0))
        x = np.where([name.startswith("cost_") for name in task.inputs], 0.0, x)
        wanted = {task.inputs.index(name): v for name, v in facts(task.goal).items() if name in task.inputs}
        there = (x[:, list(wanted)] == list(wanted.values())).all(1) & ~task.unsafe(s)
        reached += int(there.sum())
        s, x = s[~there], x[~there]
        if not len(s):
            break
        after, fits = task.step(s, evaluate(layers, x).argmax(1))
        s = after[fits]
    return reached / len(task.start)


def apart(task: Task) -> list[str]:
    """The predicates that tell all values of what the policy reads apart, but for counters."""
    read = [(name.replace("-", "_"), int(high)) for name, high in zip(task.inputs, task.scale, strict=True)]
    return [f"{name} >= {c}" for name, high in read if not name.startswith("cost_") for c in range(1, high + 1)]


def policy_name(width: int, seed: int) -> str:
    return f"{width}_{width}_{seed}"


def instances(task: Task, folder: Path, names: list[str]) -> Iterator[Instance]:
    """The kept ones of these policies, with the files of the task."""
    entries = {name: known(FOLDER / task.name, name) for name in names}
    kept = {name: entry for name, entry in entries.items() if entry is not None}
    place = folder / task.name
    if kept:
        task.write(place, f"{next(iter(kept))}.jani2nnet")
    for name, entry in kept.items():
        (place / f"{name}.onnx").write_bytes((FOLDER / task.name / f"{name}.onnx").read_bytes())
        policy = place / f"{name}.jani2nnet"
        jani.write(policy, jani.interface(f"{name}.onnx", entry["architecture"][1:-1], task.inputs, task.labels))
        constants: dict[str, Any] = entry["constants"]
        files = (place / "model.jani", policy, place / "property.jani")
        yield Instance(f"{task.name} {name}", *files, constants=constants)


def main(arguments: list[str] | None = None) -> int:
    """Train, decide, print."""
    parser = argparse.ArgumentParser(prog="python -m experiments.domains.qlearning", description=__doc__)
    parser.add_argument("--train", action="store_true", help="train what is missing")
    parser.add_argument("--places", action="store_true", help="predicate abstraction that tells places apart")
    parser.add_argument("--only", nargs="+", default=[""], metavar="TEXT", help="policies with a TEXT in their name")
    every = range(len(SETTINGS))
    parser.add_argument("--seeds", nargs="+", type=int, choices=every, default=list(every), help="of each width")
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds of each run")
    parser.add_argument("--out", type=Path, default=OUT / "q_policies")
    args = parser.parse_args(arguments)
    output = Output(args.out, "verdicts")
    with Cells(args.out / "verdicts.db") as cells:
        output.head("policy", *COLUMNS)
        for title, build in tasks().items():
            names = {
                policy_name(width, seed): (width, seed)
                for seed in args.seeds
                for width in WIDTHS
                if any(text in f"{title} {policy_name(width, seed)}" for text in args.only)
            }
            if not names:
                continue
            task = build()
            for name, (width, seed) in names.items():
                if args.train and known(FOLDER / title, name) is None:
                    keep(task, width, seed)
            options = abstraction(first=apart(task)) if args.places else {}
            for instance in instances(task, args.out, list(names)):
                reached = goals(task, instance.policy.with_suffix(".onnx"))
                found = {"goal": f"{reached:.0%}", **cells.decide(Cell(instance, options, args.timeout))}
                output.row(instance.name, *(found[c] for c in COLUMNS))
    output.end()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
