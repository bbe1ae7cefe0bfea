"""Worlds of MiniGrid as tables: their states are found by stepping copies of the environment with every action.

A state is all that the environment holds but the count of its steps (`captured`). Every step is taken twice, at the
first and at the last count before the time limit, has to draw no random number, and to do and show the same both times.
The reward of a success falls with the count, so that its sign is kept. What tries cannot show, such as a world that
reads the clock of the machine, is not seen; the table is that of the steps that were taken.

Source of the worlds: M. Chevalier-Boisvert et al., Minigrid & Miniworld (NeurIPS 2023), `MiniGridEnv.step`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Iterable
from copy import copy, deepcopy
from fractions import Fraction
from functools import partial
from math import isfinite
from operator import index
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from venmas.errors import ScenarioError
from venmas.gym.captured import form_of
from venmas.gym.models import is_of
from venmas.gym.worlds import MOST_STATES, Conditions, Feature, Outcome, World

_PASSED = {
    "gymnasium.wrappers": ("TimeLimit", "OrderEnforcing", "PassiveEnvChecker", "RecordEpisodeStatistics"),
    "stable_baselines3.common.monitor": ("Monitor",),
    "minigrid.wrappers": ("ReseedWrapper",),
}
"""Wrappers that change nothing of a step but when an episode is cut off."""
_VIEWS = {
    "gymnasium.wrappers": ("FlattenObservation",),
    "minigrid.wrappers": (
        *("ImgObsWrapper", "FullyObsWrapper", "OneHotPartialObsWrapper"),
        *("FlatObsWrapper", "ViewSizeWrapper", "SymbolicObsWrapper"),
    ),
}
"""Wrappers of observations that look at the state only."""
_DIRECTIONS = {0: "right", 1: "down", 2: "left", 3: "up"}
_DOORS = {0: "open", 1: "closed", 2: "locked", 3: "none"}


def is_grid(env: object) -> bool:
    """Whether an environment is one of MiniGrid, in wrappers or not."""
    return is_of(getattr(env, "unwrapped", env), "minigrid.", "MiniGridEnv")


def read_grid(env: Any, start: Iterable[int] | None = None) -> World:
    """The table of a MiniGrid environment; start: seeds of `reset`, which draws the layout. Raises `ScenarioError`."""
    world = env.unwrapped
    name = f"{type(world).__module__}.{type(world).__qualname__}"
    try:
        views, seeds = _wrappers(env)
        steps = _Steps(world, views)
        if start is not None:
            seeds = _seeds(start)
        starts = [steps.number(e, alive=True) for e in steps.started(seeds)]
        outcomes: dict[tuple[int, int], tuple[Outcome, ...]] = {}
        while steps.todo:
            steps.expand(steps.todo.pop(0), outcomes)
    except ScenarioError as error:
        raise ScenarioError(f"{name}: {error}") from error
    actions = range(steps.actions)
    for state in set(range(len(steps.states))) - steps.alive:  # where episodes have ended
        outcomes |= {(state, a): (Outcome(state, Fraction(0), True),) for a in actions}
    features, rows = _features(steps.states)
    said: Conditions = {"success": [{"reward_sign": 1}]}
    for feature in features:
        for value, label in (feature.labels or {}).items():
            if feature.name == "on" and label in ("goal", "lava"):
                said[label] = [{"on": value}]
    seen = tuple(steps.view(e) if i in steps.alive else None for i, e in enumerate(steps.states))
    labels = tuple(a.name for a in world.actions)[: steps.actions]
    return World(
        type(world).__name__, outcomes, tuple(sorted({*starts})), features, labels, said, rows, seen, "reward_sign"
    )


def _wrappers(env: Any) -> tuple[list[Any], list[int] | None]:
    """The wrappers of observations, the innermost first, and the seeds of a ReseedWrapper."""
    views, seeds = [], None
    while env is not env.unwrapped:
        if _listed(env, _VIEWS):
            views.append(env)
        elif not _listed(env, _PASSED):
            raise ScenarioError(
                f"the wrapper {type(env).__name__} may change observations, actions or rewards; known are "
                f"{', '.join(n for names in _VIEWS.values() for n in names)}: give the environment without it"
            )
        elif type(env).__name__ == "ReseedWrapper" and seeds is None:
            seeds = _seeds(env.seeds)
        env = env.env
    return views[::-1], seeds


def _listed(env: Any, known: dict[str, tuple[str, ...]]) -> bool:
    kind = type(env)
    return any(f"{kind.__module__}.".startswith(f"{m}.") and kind.__name__ in n for m, n in known.items())


def _seeds(start: Iterable[int]) -> list[int]:
    try:
        seeds = [index(s) for s in start]
    except TypeError:
        seeds = []
    if not seeds or min(seeds) < 0:
        raise ScenarioError(f"start: expected seeds of reset, from 0, one or more, got {str(start)[:80]}")
    return seeds


class _Taken(NamedTuple):
    """What a step has led to."""

    form: Hashable
    sign: int
    terminated: bool


class _Steps:
    """The states so far, as copies of the environment; those that are alive, and those of them to be expanded."""

    def __init__(self, world: Any, views: list[Any]) -> None:
        self.views = views
        self.actions = int(getattr(world.action_space, "n", 0))
        if not 0 < self.actions <= len(world.actions) or world.action_space.start:
            raise ScenarioError(f"actions {world.action_space}: expected the numbers of MiniGrid's actions from 0")
        self.world = _guarded(partial(_copied, world), "cannot be copied")
        self.chance = deepcopy(self.world.np_random)
        self.still = repr(self.chance.bit_generator.state)
        spaces = [v for n, v in vars(self.world).items() if n.endswith("_space")]
        self.shared = {id(v): v for v in (self.chance, self.world.spec, *spaces)}  # `expand` sees that they stay
        self.states: list[Any] = []
        self.numbers: dict[Hashable, int] = {}
        self.alive: set[int] = set()
        self.todo: list[int] = []

    def started(self, seeds: list[int] | None) -> list[Any]:
        """What `reset` leads to."""
        found = []
        for seed in [None] if seeds is None else seeds:
            one, two = (self._reset(seed) for _ in range(2))
            if form_of(one) != form_of(two):
                raise ScenarioError(f"reset(seed={seed}) leads to different states: its chance is not its seed's")
            found.append(one)
        return found

    def _reset(self, seed: int | None) -> Any:
        world = deepcopy(self.world)
        before = repr(world.np_random.bit_generator.state)
        seen, _ = _guarded(partial(world.reset, seed=seed), "reset fails")
        _check_shown(world, seen, "reset")
        if seed is None and repr(world.np_random.bit_generator.state) != before:
            raise ScenarioError(
                "reset draws a layout: say of which seeds, start=[0, 1, ..], or put a ReseedWrapper around it"
            )
        world.np_random = self.chance  # of which no step may draw
        return world

    def number(self, world: Any, alive: bool) -> int:
        """The number of a state, which is a new one or not."""
        world.step_count = 0
        form = form_of(world)
        state = self.numbers.setdefault(form, len(self.states))
        if state == len(self.states):
            if state == MOST_STATES:
                raise ScenarioError(f"has more than {MOST_STATES} states that can be reached: take a smaller grid")
            self.states.append(world)
        if alive and state not in self.alive:
            self.alive.add(state)
            self.todo.append(state)
        return state

    def expand(self, state: int, outcomes: dict[tuple[int, int], tuple[Outcome, ...]]) -> None:
        """Take every action in a state."""
        world = self.states[state]
        before, form = _global_chance(), form_of(world)
        for action in range(self.actions):
            first, *others = [self._step(world, action, count) for count in (0, max(0, world.max_steps - 2))]
            taken, after = first
            if any(other != taken for other, _ in others):
                raise ScenarioError(
                    f"action {world.actions(action).name} does one thing at the first step of an episode and another "
                    "at its last: expected a world that does not look at the count of steps"
                )
            reached = self.number(after, alive=not taken.terminated)
            outcomes[state, action] = (Outcome(reached, Fraction(taken.sign), taken.terminated),)
        if form_of(world) != form or _global_chance() != before:
            raise ScenarioError("a step of a copy changes what copies share, or draws random numbers: expected neither")

    def _step(self, world: Any, action: int, count: int) -> tuple[_Taken, Any]:
        after = deepcopy(world, dict(self.shared))
        after.step_count = count
        what = f"a step with action {world.actions(action).name}"
        seen, reward, terminated, truncated, _ = _guarded(partial(after.step, action), f"{what} fails")
        if repr(self.chance.bit_generator.state) != self.still:
            raise ScenarioError(f"{what} draws random numbers: expected a world that is deterministic after its reset")
        if not isfinite(reward) or (truncated and count + 1 < world.max_steps) or after.step_count != count + 1:
            raise ScenarioError(f"{what} gives reward {reward}, truncated {truncated}, and counts {after.step_count}")
        after.step_count = 0
        _check_shown(after, seen, what)
        return _Taken(form_of(after), (reward > 0) - (reward < 0), bool(terminated)), after

    def view(self, world: Any) -> NDArray[Any]:
        """The observation in a state: the image, or what wrappers make of it."""
        env, seen = world, world.gen_obs()
        for view in self.views:
            around = copy(view)
            around.env = env
            env, seen = around, _guarded(partial(around.observation, seen), f"{type(view).__name__} fails")
        return np.asarray(seen["image"] if isinstance(seen, dict) else seen)


def _copied(world: Any) -> Any:
    """A copy that draws no pictures."""
    kept = {name: vars(world)[name] for name in ("render_mode", "window", "clock") if name in vars(world)}
    try:
        vars(world).update(dict.fromkeys(kept))
        found = deepcopy(world)
    finally:
        vars(world).update(kept)
    return found


def _check_shown(world: Any, seen: dict[str, Any], what: str) -> None:
    """Raise `ScenarioError` unless an observation is that of the state that it was given with."""
    shown = world.gen_obs()
    if shown.keys() != seen.keys() or any(not np.array_equal(shown[k], seen[k]) for k in seen):
        raise ScenarioError(f"{what} shows something else than the state it leads to, by itself, does")


def _guarded(do: Callable[[], Any], what: str) -> Any:
    """The result of code of others. Raises `ScenarioError` for whatever it raises."""
    try:
        return do()
    except Exception as error:
        raise ScenarioError(f"{what}: {type(error).__name__}: {str(error)[:200]}") from error


def _global_chance() -> Hashable:
    return random.getstate(), repr(np.random.get_state())


def _features(worlds: list[Any]) -> tuple[tuple[Feature, ...], tuple[tuple[int, ...], ...]]:
    """The state, and what a reader knows it by: where the agent is, what it stands on and carries, and the doors."""
    doors = [[o for o in w.grid.grid if o is not None and o.type == "door"] for w in worlds]
    most = max(map(len, doors))
    columns: list[tuple[Feature, list[int]]] = [
        (Feature("state", len(worlds)), [*range(len(worlds))]),
        (Feature("x", max(w.width for w in worlds)), [int(w.agent_pos[0]) for w in worlds]),
        (Feature("y", max(w.height for w in worlds)), [int(w.agent_pos[1]) for w in worlds]),
        (Feature("direction", 4, _DIRECTIONS), [int(w.agent_dir) for w in worlds]),
        _named("on", [getattr(w.grid.get(*w.agent_pos), "type", "nothing") for w in worlds]),
        _named("carrying", [f"{w.carrying.color}_{w.carrying.type}" if w.carrying else "nothing" for w in worlds]),
    ]
    for i in range(most):
        values = [d[i].encode()[2] if i < len(d) else 3 for d in doors]
        columns.append((Feature("door" if most == 1 else f"door_{i + 1}", 4, _DOORS), values))
    return tuple(f for f, _ in columns), tuple(zip(*(values for _, values in columns), strict=True))


def _named(name: str, texts: list[str]) -> tuple[Feature, list[int]]:
    labels = sorted({*texts}, key=lambda t: (t != "nothing", t))
    return Feature(name, len(labels), dict(enumerate(labels))), [labels.index(t) for t in texts]
