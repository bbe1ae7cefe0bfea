"""Tables of tabular Gymnasium environments: transitions, start states, names for both.

Source of the form: Gymnasium's toy text, where ``P[state][action]`` lists (probability, next state, reward,
terminated), and the observation is the state.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite, prod
from operator import index
from typing import Any, NamedTuple, TypeAlias

from numpy.typing import NDArray

from venmas.errors import ScenarioError

MOST_STATES = 1000
"""As many cases as a choice in a system may have."""
_PLACES = {0: "red", 1: "green", 2: "yellow", 3: "blue"}
_COMPASS = ("left", "down", "right", "up")


Conditions: TypeAlias = dict[str, list[dict[str, int]]]


class Outcome(NamedTuple):
    """An answer of positive probability."""

    state: int
    reward: Fraction
    terminated: bool


class Feature(NamedTuple):
    """A digit of the number of a state: its values are 0 to size - 1, some of which have names."""

    name: str
    size: int
    labels: dict[int, str] | None = None


@dataclass(frozen=True)
class World:
    """A table. outcomes: by (state, action), each once. features: the most significant first.

    conditions: propositions by name: one of several points, each of which says values of features or of the reward.
    rows: values of features by state, where the first feature is the state and tells the others. seen: observations by
    state, None where no action is taken any more; without, the observation is the state. reward: what it is called.
    """

    name: str
    outcomes: dict[tuple[int, int], tuple[Outcome, ...]]
    starts: tuple[int, ...]
    features: tuple[Feature, ...]
    actions: tuple[str, ...]
    conditions: Conditions
    rows: tuple[tuple[int, ...], ...] = ()
    seen: tuple[NDArray[Any] | None, ...] = ()
    reward: str = "reward"

    @property
    def states(self) -> int:
        """Number of states."""
        return self.features[0].size if self.rows else prod(f.size for f in self.features)

    def digits(self, state: int) -> tuple[int, ...]:
        """The values of the features."""
        if self.rows:
            return self.rows[state]
        parts = []
        for feature in reversed(self.features):
            state, digit = divmod(state, feature.size)
            parts.append(digit)
        return tuple(reversed(parts))

    def show(self, state: int) -> str:
        """An observation as a reader knows it, such as ``36 (row 3, column 0)``."""
        pairs = zip(self.features, self.digits(state), strict=True)
        said = [f"{f.name} {(f.labels or {}).get(d, d)}" for f, d in pairs]
        return f"{state} ({', '.join(said[1:] if self.rows else said)})"


def read_world(env: Any, start: Iterable[int] | None = None) -> World:
    """The table of an environment; start: other start states than its own. Raises `ScenarioError`."""
    world = getattr(env, "unwrapped", env)
    name = f"{type(world).__module__}.{type(world).__qualname__}"
    check_wrappers(env)
    space, choices = getattr(world, "observation_space", None), getattr(world, "action_space", None)
    if not hasattr(world, "P") or any(not hasattr(s, "n") or getattr(s, "start", 0) != 0 for s in (space, choices)):
        raise ScenarioError(
            f"{str(env)[:80]} has no table: expected an environment of Gymnasium with a table env.unwrapped.P, whose "
            f"observations and actions are numbers from 0 (Discrete), such as FrozenLake-v1, CliffWalking-v1 or "
            f"Taxi-v4; got {name}. venmas.formats.gym.pendulum and cartpole have the equations of Pendulum-v1 and "
            f"CartPole-v1; "
            "how to write another world as a system: docs/own-environment.md (with sines and differential equations: "
            "docs/continuous.md)"
        )
    if getattr(world, "fickle_passenger", False):
        raise ScenarioError(
            "the passenger of this Taxi is fickle, which is not in its table: make it with fickle_passenger=False"
        )
    states, actions = int(space.n), int(choices.n)  # type: ignore[union-attr]
    if states > MOST_STATES:
        raise ScenarioError(f"{name} has {states} states: at most {MOST_STATES} are supported")
    outcomes = {(s, a): _outcomes(world.P, s, a, states) for s in range(states) for a in range(actions)}
    _check_steps(world, name, outcomes)
    if start is None:
        if len(likely := getattr(world, "initial_state_distrib", ())) != states:
            raise ScenarioError(
                f"{name} has no initial_state_distrib of {states} states: say where it starts, start=[0]"
            )
        start = [s for s, p in enumerate(likely) if p > 0]
    try:
        starts = tuple(sorted({index(s) for s in start}))
    except TypeError:
        starts = ()
    if not starts or starts[0] < 0 or starts[-1] >= states:
        raise ScenarioError(f"start: expected states from 0 to {states - 1}, one or more, got {str(start)[:80]}")
    features, labels, conditions = _names(name, world, states)
    if len(labels) != actions or prod(f.size for f in features) != states:
        features, labels, conditions = (Feature("state", states),), [f"action {a}" for a in range(actions)], {}
    return World(type(world).__name__, outcomes, starts, features, tuple(labels), conditions)


def _outcomes(table: Any, state: int, action: int, states: int) -> tuple[Outcome, ...]:
    where = f"P[{state}][{action}]"
    try:
        rows = [(float(p), int(s), float(r), bool(t)) for p, s, r, t in table[state][action]]
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise ScenarioError(
            f"{where} is no list of (probability, next state, reward, terminated): {type(error).__name__} {error}"
        ) from error
    if wrong := [row for row in rows if not (row[0] >= 0 and 0 <= row[1] < states and isfinite(row[2]))]:
        raise ScenarioError(f"{where} lists {wrong[0]}: expected a probability, a state below {states}, a reward")
    outcomes = dict.fromkeys(Outcome(s, Fraction(r), t) for p, s, r, t in rows if p > 0)
    if not outcomes:
        raise ScenarioError(f"{where} has no outcome of positive probability: expected one or more")
    return tuple(outcomes)


def check_wrappers(env: Any) -> None:
    """Refuse what stands between a policy and the table."""
    gymnasium = sys.modules.get("gymnasium")
    if gymnasium is None:  # then there are no wrappers of it
        return
    changing = gymnasium.ObservationWrapper, gymnasium.ActionWrapper, gymnasium.RewardWrapper
    while isinstance(env, gymnasium.Wrapper):
        if isinstance(env, changing):
            raise ScenarioError(
                f"the wrapper {type(env).__name__} changes observations, actions or rewards, which the table does not "
                "say: give the environment without it"
            )
        env = env.env


def _check_steps(world: Any, name: str, outcomes: dict[tuple[int, int], tuple[Outcome, ...]]) -> None:
    """Take one step from each state with each action: a class that steps in another way than its table is refused.

    It finds what it can find by trying. The system is that of the table.
    """
    if not hasattr(world, "np_random"):
        return
    chance = deepcopy(world.np_random)
    kept = dict(vars(world))
    try:
        world.render_mode, world.np_random = None, chance
        if not hasattr(world, "s") and type(world).reset is not sys.modules["gymnasium"].Env.reset:
            world.reset()
        if not hasattr(world, "s"):  # it keeps its state elsewhere
            return
        for (state, action), known in outcomes.items():
            world.s = state
            try:
                after, reward, terminated, *_ = world.step(action)
                same = Outcome(int(after), Fraction(float(reward)), bool(terminated)) in known
            except Exception as error:  # code of others
                raise ScenarioError(
                    f"a step of {name} from state {state} with action {action} fails: {type(error).__name__}: {error}"
                ) from error
            if not same:
                raise ScenarioError(
                    f"{name} steps in another way than its table says: from state {state} with action {action} to "
                    f"{after}, reward {reward}, which P[{state}][{action}] does not list"
                )
    finally:
        vars(world).clear()
        vars(world).update(kept)


def _names(name: str, world: Any, states: int) -> tuple[tuple[Feature, ...], Sequence[str], Conditions]:
    """Features, actions and propositions of the worlds that are known by their class."""
    match name.removeprefix("gymnasium.envs.toy_text."):
        case "frozen_lake.FrozenLakeEnv":
            cells = [bytes(c).decode("latin-1") for row in world.desc for c in row]
            grid = _grid(len(world.desc), len(world.desc[0]))
            said = {name: _cells(cells, letter, grid[1].size) for name, letter in (("hole", "H"), ("goal", "G"))}
            return grid, _COMPASS, said
        case "cliffwalking.CliffWalkingEnv":
            rows, columns = map(int, world.shape)
            said = {"goal": [{"row": rows - 1, "column": columns - 1}], "fallen": [{"reward": -100}]}
            return _grid(rows, columns), ("up", "right", "down", "left"), said
        case "taxi.TaxiEnv":
            aboard = Feature("passenger", 5, {**_PLACES, 4: "taxi"})
            features = (*_grid(5, 5), aboard, Feature("destination", 4, _PLACES))
            actions = ("south", "north", "east", "west", "pick up", "drop off")
            said = {"aboard": [{"passenger": 4}], "delivered": [{"reward": 20}], "illegal": [{"reward": -10}]}
            return features, actions, said
    return (), (), {}


def _grid(rows: int, columns: int) -> tuple[Feature, Feature]:
    return Feature("row", rows), Feature("column", columns)


def _cells(cells: Sequence[str], letter: str, columns: int) -> list[dict[str, int]]:
    return [{"row": i // columns, "column": i % columns} for i, c in enumerate(cells) if c == letter]
