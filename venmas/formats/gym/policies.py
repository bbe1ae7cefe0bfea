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
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from venmas.errors import NetworkError
from venmas.formats.gym.enclosures import BITS, Ball, enclose
from venmas.formats.gym.worlds import World
from venmas.nn import Network, load_network
from venmas.nn.trained import exported, is_of, points_of, scores_of

EXPECTED = (
    "expected a model of Stable-Baselines3 (PPO, A2C, DQN with MlpPolicy), a torch module, a network file, a Network, "
    "or a list of actions"
)


class _Asked(NamedTuple):
    """Inputs of policies: points (n, inputs) that networks take, the number of actions, names for messages."""

    points: NDArray[np.float64]
    actions: int
    show: Callable[[int], str]
    form: str


def actions_of(policy: Any, world: World) -> list[int]:
    """The action of a policy in each state, 0 where none is taken.

    Raises `NetworkError` for policies that are unknown or not certain.
    """
    if isinstance(policy, (list, tuple, np.ndarray)):
        return _of_list(policy, world.states, len(world.actions))
    shown = dict(enumerate(world.seen or map(np.array, range(world.states))))
    seen = {s: v for s, v in shown.items() if v is not None}
    points = np.stack([v.ravel() for v in seen.values()]).astype(float) if world.seen else np.eye(world.states)
    form = "flattened" if world.seen else "in one-hot form"
    query = _Asked(points, len(world.actions), lambda i: world.show([*seen][i]), form)
    actions = dict(zip(seen, _of_policy(policy, query, [*seen.values()]), strict=True))
    return [actions.get(state, 0) for state in shown]


def _of_policy(policy: Any, asked: _Asked, seen: list[Any]) -> list[int]:
    if isinstance(policy, (str, Path)):
        return _of_file(Path(policy), asked)
    if isinstance(policy, Network):
        return _of_network(policy, asked)
    if is_of(policy, "stable_baselines3.", "BaseAlgorithm"):
        scores = scores_of(policy, f"the observation {asked.form}", EXPECTED)
        if asked.form == "flattened":
            asked = asked._replace(points=points_of(policy, seen))
        taken = [int(policy.predict(s, deterministic=True)[0]) for s in seen]
        return _same(_of_module(scores, asked), taken, asked.show)
    if is_of(policy, "torch.nn.", "Module"):
        return _of_module(policy, asked)
    raise NetworkError(f"{str(policy)[:80]!r} is no policy: {EXPECTED}")


def _of_list(policy: Sequence[Any] | NDArray[Any], states: int, actions: int) -> list[int]:
    known = {int, *(np.dtype(kind).type for kind in np.typecodes["AllInteger"])}
    if len(policy) != states:
        raise NetworkError(f"a list of {len(policy)} actions: expected one for each of {states} states")
    for state, action in enumerate(policy):
        if type(action) not in known or not 0 <= action < actions:
            raise NetworkError(f"the action in state {state} is {action!r}: expected 0 to {actions - 1}")
    return [int(a) for a in policy]


def _of_network(network: Network, asked: _Asked) -> list[int]:
    inputs = asked.points.shape[1]
    if (network.input_size, network.output_size) != (inputs, asked.actions):
        raise NetworkError(
            f"network {network.name!r} has {network.input_size} inputs and {network.output_size} outputs: expected "
            f"{inputs} (the observation {asked.form}) and {asked.actions} (the scores of the actions)"
        )
    if network.smooth:
        raise NetworkError(
            f"network {network.name!r} has {network.smooth}, which are enclosed in ONNX only: give its ONNX file"
        )
    actions = []
    for number, point in enumerate(asked.points):
        values, _ = network.evaluate_integers([Fraction(v) for v in point.tolist()])
        actions.append(_certain(values, [0] * asked.actions, asked.show(number), "they are equal"))
    return actions


def _of_file(path: Path, asked: _Asked) -> list[int]:
    """Piecewise linear files by their exact values, other ONNX files by enclosures."""
    enclosed = path.suffix.lower() == ".onnx" and path.is_file()
    try:
        network = load_network(path)
    except NetworkError:
        if not enclosed:
            raise
    else:
        if not (network.smooth and enclosed):
            return _of_network(network, asked)
    return _of_balls(enclose(path, asked.points), asked)


def _of_balls(scores: Ball, asked: _Asked) -> list[int]:
    if scores.mid.shape[1] != asked.actions:
        raise NetworkError(
            f"the policy has {scores.mid.shape[1]} outputs: expected the scores of {asked.actions} actions"
        )
    said = f"enclosures of {BITS} bits cannot split them"
    return [_certain(list(m), list(r), asked.show(s), said) for s, (m, r) in enumerate(zip(*scores, strict=True))]


def _certain(mid: Sequence[int], rad: Sequence[int], observation: str, why: str) -> int:
    best = max(range(len(mid)), key=mid.__getitem__)
    rivals = [i for i in range(len(mid)) if i != best and mid[i] + rad[i] >= mid[best] - rad[best]]
    if rivals:
        raise NetworkError(
            f"in observation {observation} no action of the policy is certainly the best: {why}, the scores of "
            f"actions {', '.join(map(str, sorted((best, *rivals))))}; train on, or give the actions as a list"
        )
    return best


def _of_module(module: Any, asked: _Asked) -> list[int]:
    """By the ONNX file that PyTorch writes, and compared with what the module says itself."""
    form = f"observations {asked.form}, (batch, {asked.points.shape[1]}),"
    with exported(module, asked.points, form) as (file, answers):
        return _same(_of_file(file, asked), [int(a) for a in answers.argmax(axis=1)], asked.show)


def _same(found: list[int], taken: list[int], show: Callable[[int], str]) -> list[int]:
    """The table, where floats agree with it."""
    for state, (ours, theirs) in enumerate(zip(found, taken, strict=True)):
        if ours != theirs:
            raise NetworkError(
                f"in observation {show(state)} the network takes action {ours} in exact arithmetic and {theirs} in "
                "floats: scores are too close; train on, or give the actions as a list"
            )
    return found
