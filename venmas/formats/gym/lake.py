"""Gymnasium's FrozenLake as a system: `frozen_lake(env, network)` (``pip install ".[gym]"``).

The environment answers an action with one of a few cells, each with a probability. Here probabilities are forgotten:
every cell of positive probability is a branch, and a property holds only if it does whichever of them is taken. The
bundled scenario ``frozenlake`` describes the world; before a system is returned, its transitions are compared with the
environment's own table, for every cell and every action.

Source of the table: Gymnasium, `FrozenLakeEnv.P`, where ``P[state][action]`` lists (probability, next state, reward,
terminated).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from venmas.errors import ModelError, ScenarioError
from venmas.model.expressions.expr import Switch, to_linear
from venmas.model.scenario.parameters import NetworkFolder
from venmas.model.scenario.scenario import load_scenario
from venmas.model.system.given import check_system
from venmas.model.system.system import System
from venmas.nn import Network, Normalization

if TYPE_CHECKING:
    import gymnasium

_FROZEN_LAKE = "gymnasium.envs.toy_text.frozen_lake.FrozenLakeEnv"

Table: TypeAlias = dict[tuple[int, int], frozenset[int]]
"""The successors by cell and action; cells are counted from 0, as Gymnasium does."""


def frozen_lake(env: gymnasium.Env[Any, Any], network: str | Path | Network) -> System:
    """The system of a FrozenLake environment and a policy.

    env: any map, slippery or not; wrappers are looked through, so one that changes actions or transitions is not seen.
    network: a file or folder as for ``--networks``, or a network, that maps the one-hot cell (n,) to the scores of
    left, down, right, up; the greatest is taken, the lowest index on a tie.

    The variables are ``cell[1] .. cell[n]``, row by row. Holes and goals hold the agent, as in the table; a time limit
    is not part of it: how many steps count is for the formula to say.

    Raises `ScenarioError` where the environment is no FrozenLake or its table says something else than the scenario
    (such as ``success_rate=0``), `NetworkError` for networks that cannot be read.
    """
    folder = _One(network) if isinstance(network, Network) else NetworkFolder(network)
    system = load_scenario("frozenlake").system(folder, **settings(env))
    ours, theirs = transitions(system), table(env)
    if different := sorted(key for key in ours.keys() | theirs.keys() if ours.get(key) != theirs.get(key)):
        (cell, action), lists = different[0], [sorted(t.get(different[0], ())) for t in (ours, theirs)]
        raise ScenarioError(
            f"the scenario and the environment differ in {len(different)} places: from cell {cell} with action "
            f"{action} the scenario leads to {lists[0]}, the environment to {lists[1]} (counted from 0). Only moves "
            "ahead, with slips to both sides or without, are supported: describe another world in a scenario of its own"
        )
    return system


def settings(env: gymnasium.Env[Any, Any]) -> dict[str, str]:
    """The parameters of the scenario ``frozenlake`` that describe an environment, as for ``--set``.

    Raises `ScenarioError` where it is no FrozenLake.
    """
    world = _world(env)
    rows = ["".join(bytes(c).decode("latin-1") for c in row) for row in world.desc]
    # every letter but these is plain ice to Gymnasium
    ice = "/".join("".join(c if c in "SHG" else "F" for c in row) for row in rows)
    slippery = any(len(ends) > 1 for ends in _answers(env).values())
    return {"map": ice, "slippery": "true" if slippery else "false"}


def table(env: gymnasium.Env[Any, Any]) -> Table:
    """Successors in the environment: the cells of positive probability. Raises `ScenarioError` for other worlds."""
    return {key: frozenset(ends) for key, ends in _answers(env).items()}


def transitions(system: System) -> Table:
    """Successors in a system of the scenario ``frozenlake``, by cell and action, read off its expressions.

    Raises `ModelError` for a system of another form.
    """
    check_system(system, "transitions")
    cells = {name: i for i, name in enumerate(system.variables)}
    targets: dict[tuple[int, int], set[int]] = {}
    for branch in system.branches:
        for target, update in branch.updates:
            if not isinstance(update, Switch) or update.selector is not system.agents[0].expr:
                raise ModelError(f"branch {branch.name!r} does not choose by the action: this is no grid of cells")
            for action, case in update.cases:
                linear = to_linear(case)
                if linear is None or linear.constant or any(c != 1 for _, c in linear.terms):
                    raise ModelError(f"branch {branch.name!r}: {target} is no sum of cells: this is no grid of cells")
                for source, _ in linear.terms:
                    targets.setdefault((cells[source], action), set()).add(cells[target])
    return {key: frozenset(ends) for key, ends in targets.items()}


def _answers(env: gymnasium.Env[Any, Any]) -> dict[tuple[int, int], list[int]]:
    """The next cells of positive probability by cell and action, as often as the table lists them."""
    return {
        (int(cell), int(action)): [int(end[1]) for end in ends if end[0] > 0]
        for cell, actions in _world(env).P.items()
        for action, ends in actions.items()
    }


def _world(env: object) -> Any:
    """The environment inside the wrappers of a FrozenLake: an object of Gymnasium's own class, with its map and table.

    Other worlds have maps and tables, too (Taxi), which mean something else; a subclass may step in another way than
    its table says.
    """
    world = getattr(env, "unwrapped", env)
    if (name := f"{type(world).__module__}.{type(world).__qualname__}") != _FROZEN_LAKE:
        raise ScenarioError(
            f"{str(env)[:80]} is no FrozenLake: expected an environment of gymnasium.make('FrozenLake-v1'), whose "
            f"class is {_FROZEN_LAKE}, got {name}; describe another world in a scenario of its own"
        )
    return world


class _One(NetworkFolder):
    """A folder of one network that is in no file."""

    def __init__(self, network: Network) -> None:
        super().__init__(network.source or ".")
        self._network = network

    def load(
        self,
        *patterns: str,
        normalization: Normalization = "apply",
        outputs: str | Sequence[str] | None = None,
        inputs: Sequence[str] | None = None,
    ) -> Network:
        """That network."""
        return self._network
