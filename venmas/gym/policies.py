"""Policies over finitely many observations as tables: `actions_of(policy, ..)`.

A network is evaluated at each observation, in rationals where it is piecewise linear and else by enclosures in integers
(`enclosures`). An action is taken where its score is certainly the greatest; a tie, or what enclosures cannot tell from
one, is an error. What float32 makes of the network is another function: models and modules, which can be asked, have to
take the same actions as the table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from venmas.errors import NetworkError
from venmas.gym.enclosures import BITS, Ball, enclose
from venmas.gym.models import exported, is_of, scores_of
from venmas.nn import Network, load_network

EXPECTED = (
    "expected a model of Stable-Baselines3 (PPO, A2C, DQN with MlpPolicy), a torch module, a network file, a Network, "
    "or a list of actions"
)
Show = Callable[[int], str]


def actions_of(policy: Any, states: int, actions: int, show: Show) -> list[int]:
    """The action of a policy in each observation 0 .. states - 1.

    show: how messages name an observation. Raises `NetworkError` for policies that are unknown or not certain.
    """
    if isinstance(policy, (str, Path)):
        return _of_file(Path(policy), states, actions, show)
    if isinstance(policy, Network):
        return _of_network(policy, states, actions, show)
    if is_of(policy, "stable_baselines3.", "BaseAlgorithm"):
        found = _of_module(scores_of(policy, "the one-hot observation", EXPECTED), states, actions, show)
        taken = [int(policy.predict(np.array(s), deterministic=True)[0]) for s in range(states)]
        return _same(found, taken, show)
    if is_of(policy, "torch.nn.", "Module"):
        return _of_module(policy, states, actions, show)
    if isinstance(policy, (list, tuple, np.ndarray)):
        return _of_list(policy, states, actions)
    raise NetworkError(f"{str(policy)[:80]!r} is no policy: {EXPECTED}")


def _of_list(policy: Sequence[Any] | np.ndarray[Any, Any], states: int, actions: int) -> list[int]:
    known = {int, *(np.dtype(kind).type for kind in np.typecodes["AllInteger"])}
    if len(policy) != states:
        raise NetworkError(f"a list of {len(policy)} actions: expected one for each of {states} states")
    for state, action in enumerate(policy):
        if type(action) not in known or not 0 <= action < actions:
            raise NetworkError(f"the action in state {state} is {action!r}: expected 0 to {actions - 1}")
    return [int(a) for a in policy]


def _of_network(network: Network, states: int, actions: int, show: Show) -> list[int]:
    if (network.input_size, network.output_size) != (states, actions):
        raise NetworkError(
            f"network {network.name!r} has {network.input_size} inputs and {network.output_size} outputs: expected "
            f"{states} (the observation in one-hot form) and {actions} (the scores of the actions)"
        )
    if network.smooth:
        raise NetworkError(
            f"network {network.name!r} has {network.smooth}, which are enclosed in ONNX only: give its ONNX file"
        )
    one, zero, found = Fraction(1), Fraction(0), []
    for state in range(states):
        values, _ = network.evaluate_integers([one if i == state else zero for i in range(states)])
        found.append(_certain(values, [0] * actions, show(state), "they are equal"))
    return found


def _of_file(path: Path, states: int, actions: int, show: Show) -> list[int]:
    """Piecewise linear files by their exact values, other ONNX files by enclosures."""
    enclosed = path.suffix.lower() == ".onnx" and path.is_file()
    try:
        network = load_network(path)
    except NetworkError:
        if not enclosed:
            raise
    else:
        if not (network.smooth and enclosed):
            return _of_network(network, states, actions, show)
    return _of_balls(enclose(path, np.eye(states)), actions, show)


def _of_balls(scores: Ball, actions: int, show: Show) -> list[int]:
    if scores.mid.shape[1] != actions:
        raise NetworkError(f"the policy has {scores.mid.shape[1]} outputs: expected the scores of {actions} actions")
    said = f"enclosures of {BITS} bits cannot split them"
    return [_certain(list(m), list(r), show(s), said) for s, (m, r) in enumerate(zip(*scores, strict=True))]


def _certain(mid: Sequence[int], rad: Sequence[int], observation: str, why: str) -> int:
    best = max(range(len(mid)), key=mid.__getitem__)
    rivals = [i for i in range(len(mid)) if i != best and mid[i] + rad[i] >= mid[best] - rad[best]]
    if rivals:
        raise NetworkError(
            f"in observation {observation} no action of the policy is certainly the best: {why}, the scores of "
            f"actions {', '.join(map(str, sorted((best, *rivals))))}; train on, or give the actions as a list"
        )
    return best


def _of_module(module: Any, states: int, actions: int, show: Show) -> list[int]:
    """By the ONNX file that PyTorch writes, and compared with what the module says itself."""
    with exported(module, np.eye(states), f"observations in one-hot form, (batch, {states}),") as (file, answers):
        return _same(_of_file(file, states, actions, show), [int(a) for a in answers.argmax(axis=1)], show)


def _same(found: list[int], taken: list[int], show: Show) -> list[int]:
    """The table, where floats agree with it."""
    for state, (ours, theirs) in enumerate(zip(found, taken, strict=True)):
        if ours != theirs:
            raise NetworkError(
                f"in observation {show(state)} the network takes action {ours} in exact arithmetic and {theirs} in "
                "floats: scores are too close; train on, or give the actions as a list"
            )
    return found
