"""Train a policy with memory by RecurrentPPO (sb3-contrib): an LSTM of 16 units that sees positions alone.

    python experiments/training/cart_ppo.py [--quick] [--output FOLDER]

The plant is that of `cart.py`, as an environment of Gymnasium: x+ = x + 0.1 v, v+ = v + 0.1 u with u in [-2, 2], the
reward -(x^2 + 0.1 v^2 + 0.01 u^2), episodes of four seconds from |x|, |v| <= 1. What is committed is the zip that
`model.save` writes, as it is.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt

ROOT = Path(__file__).parents[2]
SEED, STEPS, ENVS, PERIOD, FORCE = 1, 40, 32, 0.1, 2
ROUNDS = 200
"""Of one episode of each environment."""


class Cart(gymnasium.Env[npt.NDArray[Any], npt.NDArray[Any]]):
    """A cart whose speed is not seen."""

    observation_space = gymnasium.spaces.Box(-5, 5, (1,), np.float32)
    action_space = gymnasium.spaces.Box(-FORCE, FORCE, (1,), np.float32)

    def _seen(self) -> npt.NDArray[Any]:
        return np.array([self.x], np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[npt.NDArray[Any], dict[str, Any]]:
        super().reset(seed=seed)
        (self.x, self.v), self.count = self.np_random.uniform(-1, 1, 2), 0
        return self._seen(), {}

    def step(self, action: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], float, bool, bool, dict[str, Any]]:
        u = float(action[0])
        self.x, self.v, self.count = self.x + PERIOD * self.v, self.v + PERIOD * u, self.count + 1
        cost = self.x**2 + 0.1 * self.v**2 + 0.01 * u**2
        return self._seen(), -cost, False, self.count == STEPS, {}


def train(rounds: int) -> Any:
    """The model after its rounds."""
    import torch
    from sb3_contrib import RecurrentPPO
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.utils import LinearSchedule

    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    model = RecurrentPPO(
        "MlpLstmPolicy",
        make_vec_env(Cart, ENVS, seed=SEED),
        learning_rate=LinearSchedule(3e-3, 0, 1),
        n_steps=STEPS,
        batch_size=STEPS * ENVS // 4,
        n_epochs=8,
        gamma=0.97,
        policy_kwargs={"lstm_hidden_size": 16, "net_arch": {"pi": [16], "vf": [32]}, "log_std_init": -1.0},
        seed=SEED,
        device="cpu",
    )
    return model.learn(rounds * STEPS * ENVS)


def figures(model: Any) -> dict[str, float]:
    """Of 2,000 runs from |x|, |v| <= 1, without noise."""
    x, v = np.random.default_rng(SEED).uniform(-1, 1, (2, 2000))
    memory, furthest = None, 0.0
    for _ in range(STEPS):
        u, memory = model.predict(x[:, None].astype(np.float32), memory, deterministic=True)
        x, v = x + PERIOD * v, v + PERIOD * u[:, 0]
        furthest = max(furthest, float(abs(x).max()))
    return {
        "largest_abs_x_of_2000_runs": round(furthest, 3),
        "largest_abs_x_after_40_steps": round(float(abs(x).max()), 4),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a few rounds only, to see that the script runs")
    parser.add_argument("--output", type=Path, default=ROOT / "networks" / "cart")
    options = parser.parse_args()

    began = time.monotonic()
    options.output.mkdir(parents=True, exist_ok=True)
    model, path = train(2 if options.quick else ROUNDS), options.output / "ppo16.zip"
    model.save(path)
    fit = {} if options.quick else figures(model)
    print(path.name, fit, round((time.monotonic() - began) / 60, 1))
    entry = {
        "file": path.name,
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        "architecture": [1, "LSTM 16", 16, 1],
        "fit": fit,
        "about": "RecurrentPPO on x+ = x + 0.1 v, v+ = v + 0.1 u, u = clip(N(x), -2, 2), for scenarios/cart",
        "outputs": ["acceleration u before it is cut off"],
        "format": "the zip of RecurrentPPO.save: float32; LSTM, one tanh layer, one linear layer",
        "command": "python experiments/training/cart_ppo.py",
        "seed": SEED,
        "training_minutes": round((time.monotonic() - began) / 60, 1),
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in ("numpy", "gymnasium", "stable_baselines3", "sb3_contrib", "torch")},
        },
    }
    described = options.output / "MANIFEST.json"  # that of the other policies: experiments/training/cart.py
    manifest = json.loads(described.read_text(encoding="utf-8")) if described.exists() else {"files": []}
    manifest["files"] = [known for known in manifest["files"] if known["file"] != path.name] + [entry]
    described.write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
