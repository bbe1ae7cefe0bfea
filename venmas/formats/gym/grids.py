"""Worlds of MiniGrid as tables: their states are found by stepping copies of the environment with every action.

A state is all that the environment holds but the count of its steps (`captured`). Every step is taken twice, at the
first and at the last count before the time limit, has to draw no random number, and to do and show the same both times.
The reward of a success falls with the count, so that its sign is kept. What tries cannot show, such as a world that
reads the clock of the machine, is not seen; the table is that of the steps that were taken.

Source of the worlds: M. Chevalier-Boisvert et al., Minigrid & Miniworld (NeurIPS 2023), `MiniGridEnv.step`.
"""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable, Hashable, Iterable
from copy import copy
from fractions import Fraction
from functools import partial
from math import isfinite
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from venmas.errors import ScenarioError
from venmas.formats.gym.captured import Copies, form_of
from venmas.formats.gym.worlds import MOST_STATES, Feature, Outcome, World
from venmas.nn.trained import is_of

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
        starts = steps.started(seeds)
        outcomes: dict[tuple[int, int], tuple[Outcome, ...]] = {}
        while steps.todo:
            steps.expand(steps.todo.pop(0), outcomes)
    except ScenarioError as error:
        raise ScenarioError(f"{name}: {error}") from error
    actions = range(steps.actions)
    for state in set(range(len(steps.states))) - steps.alive:  # where episodes have ended
        outcomes |= {(state, a): (Outcome(state, Fraction(0), True),) for a in actions}
    features, rows = _features(steps.states)
    seen = tuple(steps.view(s) if s in steps.alive else None for s in range(len(steps.states)))
    labels = tuple(a.name for a in world.actions)[: steps.actions]
    return World(
        type(world).__name__,
        outcomes,
        tuple(sorted({*starts})),
        features,
        labels,
        {"success": [{"reward_sign": 1}]},
        rows,
        seen,
        "reward_sign",
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


class _Steps:
    """The states so far, as copies of the environment.

    alive: those that are not only where episodes end. todo: those of them that are still to be expanded.
    """

    def __init__(self, world: Any, views: list[Any]) -> None:
        self.views = views
        self.actions = int(getattr(world.action_space, "n", 0))
        if not 0 < self.actions <= len(world.actions) or world.action_space.start:
            raise ScenarioError(f"actions {world.action_space}: expected the numbers of MiniGrid's actions from 0")
        self.chance = np.random.default_rng(0)
        """The generator of all states, of which no step may draw."""
        self.still = repr(self.chance.bit_generator.state)
        spaces = [v for n, v in vars(world).items() if n.endswith("_space")]
        self.copies = Copies((self.chance, getattr(world, "spec", None), *spaces))  # `expand` sees that they stay
        self.origin = _guarded(partial(_frozen, self.copies, world), "cannot be copied")
        self.states: list[Any] = []
        self.frozen: list[bytes] = []
        self.shown: list[dict[str, Any]] = []
        """Observations before wrappers."""
        self.numbers: dict[Hashable, int] = {}
        self.known: dict[bytes, int] = {}
        self.alive: set[int] = set()
        self.todo: list[int] = []

    def started(self, seeds: list[int] | None) -> list[int]:
        """The states that `reset` leads to."""
        starts = []
        for seed in [None] if seeds is None else seeds:
            one, two = (self.number(*self._reset(seed), True, "reset") for _ in range(2))
            if one != two:
                raise ScenarioError(f"reset(seed={seed}) leads to different states: its chance is not its seed's")
            starts.append(one)
        return starts

    def _reset(self, seed: int | None) -> tuple[Any, dict[str, Any]]:
        world = self.copies.thaw(self.origin)
        before = repr(world.np_random.bit_generator.state)
        seen, _ = _guarded(partial(world.reset, seed=seed), "reset fails")
        if seed is None and repr(world.np_random.bit_generator.state) != before:
            raise ScenarioError(
                "reset draws a layout: say of which seeds, start=[0, 1, ..], or put a ReseedWrapper around it"
            )
        world.np_random = self.chance
        return world, seen

    def number(self, world: Any, seen: dict[str, Any], alive: bool, what: str) -> int:
        """The number of a state, which is a new one or not; seen: its observation, what: where it comes from."""
        world.step_count = 0
        frozen = _guarded(partial(self.copies.freeze, world), "cannot be copied")
        state = self.known.get(frozen)
        if state is None:
            state = self.known[frozen] = self.numbers.setdefault(form_of(world), len(self.states))
        if state == len(self.states):
            if state == MOST_STATES:
                raise ScenarioError(f"has more than {MOST_STATES} states that can be reached: take a smaller grid")
            self.states.append(world)
            self.frozen.append(frozen)
            self.shown.append(_guarded(world.gen_obs, "gen_obs fails"))
        shown = self.shown[state]
        if shown.keys() != seen.keys() or any(not _same(shown[k], seen[k]) for k in seen):
            raise ScenarioError(f"{what} shows something else than the state it leads to, by itself, does")
        if alive and state not in self.alive:
            self.alive.add(state)
            self.todo.append(state)
        return state

    def expand(self, state: int, outcomes: dict[tuple[int, int], tuple[Outcome, ...]]) -> None:
        """Take every action in a state."""
        form, before = form_of(self.states[state]), _global_chance()
        last = max(0, self.states[state].max_steps - 2)
        for action in range(self.actions):
            taken, other = (self._step(state, action, count) for count in (0, last))
            if other != taken:
                raise ScenarioError(
                    f"action {action} does one thing at the first step of an episode and another at its last: expected "
                    "a world that is deterministic after its reset, and does not look at the count of steps"
                )
            outcomes[state, action] = (taken,)
        if form_of(self.copies.thaw(self.frozen[state])) != form or _global_chance() != before:
            raise ScenarioError("a step of a copy changes what copies share, or draws random numbers: expected neither")

    def _step(self, state: int, action: int, count: int) -> Outcome:
        after = self.copies.thaw(self.frozen[state])
        after.step_count = count
        what = f"a step with action {action}"
        seen, reward, terminated, truncated, _ = _guarded(partial(after.step, action), f"{what} fails")
        if repr(self.chance.bit_generator.state) != self.still:
            raise ScenarioError(f"{what} draws random numbers: expected a world that is deterministic after its reset")
        if not isfinite(reward) or (truncated and count + 1 < after.max_steps) or after.step_count != count + 1:
            raise ScenarioError(f"{what} gives reward {reward}, truncated {truncated}, and counts {after.step_count}")
        reached = self.number(after, seen, not terminated, what)
        return Outcome(reached, Fraction((reward > 0) - (reward < 0)), bool(terminated))

    def view(self, state: int) -> NDArray[Any]:
        """The observation in a state: the image, or what wrappers make of it."""
        env, seen = self.states[state], self.shown[state]
        for view in self.views:
            around = copy(view)
            around.env = env
            env, seen = around, _guarded(partial(around.observation, seen), f"{type(view).__name__} fails")
        return np.asarray(seen["image"] if isinstance(seen, dict) else seen)


def _frozen(copies: Copies, world: Any) -> bytes:
    """An environment that draws no pictures."""
    kept = {name: vars(world)[name] for name in ("render_mode", "window", "clock") if name in vars(world)}
    try:
        vars(world).update(dict.fromkeys(kept))
        return copies.freeze(world)
    finally:
        vars(world).update(kept)


def _guarded(do: Callable[[], Any], what: str) -> Any:
    """The result of code of others. Raises `ScenarioError` for whatever it raises."""
    try:
        return do()
    except Exception as error:
        raise ScenarioError(f"{what}: {type(error).__name__}: {str(error)[:200]}") from error


def _same(one: Any, two: Any) -> bool:
    arrays = isinstance(one, np.ndarray) and isinstance(two, np.ndarray)
    return bool(np.array_equal(one, two) if arrays else one == two)


def _global_chance() -> Hashable:
    return random.getstate(), pickle.dumps(np.random.get_state())


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
