"""Any tabular environment of Gymnasium under a policy, as a system: `tabular(env, policy)`.

Probabilities are forgotten: every outcome of positive probability is a branch, and a property holds only if it does
whichever of them is taken. The policy is looked at in each of the finitely many observations (`policies`), and is a
table in the system. Before the system is returned, its steps are compared with the environment's table.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from venmas.errors import ScenarioError
from venmas.formats.gym.grids import is_grid, read_grid
from venmas.formats.gym.policies import actions_of
from venmas.formats.gym.worlds import Outcome, World, read_world
from venmas.model.evaluation.simulate import step_batch
from venmas.model.expressions.expr import Expr, add, conjunction, disjunction
from venmas.model.expressions.functions import switch
from venmas.model.system.system import System

if TYPE_CHECKING:
    import gymnasium

Box: TypeAlias = tuple[tuple[int, int], ...]


def tabular(env: gymnasium.Env[Any, Any], policy: object, *, start: Iterable[int] | None = None) -> System:
    """The system of an environment with a table ``env.unwrapped.P``, or of one of MiniGrid (`grids`), and a policy.

    policy: a model of Stable-Baselines3 (PPO, A2C, DQN), a torch module, a file (ONNX with tanh, sigmoid, .. too) or a
    `Network` from the one-hot observation (n,), of MiniGrid from the flat one, to the scores of the actions, of which
    the greatest is taken; or the actions themselves, one for each state. start: states to start in, instead of the
    environment's own; of MiniGrid, the seeds of ``reset``, each of which draws a layout.

    Variables of tables: ``row``, ``column``, .. where the class is known, else ``state``; ``reward`` of the last step
    (0 at the start; where some reward is no integer, ``reward_rank``, its place among the rewards from 0) and the
    Boolean ``terminated``. What has terminated stays as it is, with reward 0. A time limit is not part of it: how many
    steps count is for the formula to say.

    Raises `ScenarioError` for worlds without either, `NetworkError` for policies that are unknown, or that are not
    certain of their action in some observation.
    """
    world = read_grid(env, start) if is_grid(env) else read_world(env, start)
    chosen = actions_of(policy, world)
    answers = [world.outcomes[state, action] for state, action in enumerate(chosen)]
    system = System(world.name, f"{world.name}, {world.states} states")
    digits = [system.integer(f.name, 0, f.size - 1, labels=f.labels) for f in world.features]
    code = _codes(answers)
    whole = all(r.denominator == 1 for r in code)
    reward = system.integer(world.reward if whole else "reward_rank", min(code.values()), max(code.values()))
    none = code[Fraction(0)]
    terminated = system.boolean("terminated")

    place: Expr = digits[0]
    if not world.rows:
        for digit, feature in zip(digits[1:], world.features[1:], strict=True):
            place = add(place * feature.size, digit)
    system.agent(switch(place, dict(enumerate(chosen))), labels=dict(enumerate(world.actions)))

    for k in range(max(map(len, answers))):
        taken = [options[min(k, len(options) - 1)] for options in answers]  # where there are fewer: the last again
        after: dict[Any, Any] = {
            digit: _select(place, [world.digits(o.state)[i] for o in taken]) for i, digit in enumerate(digits)
        }
        after |= {reward: _select(place, [code[o.reward] for o in taken])}
        after |= {terminated: _select(place, [int(o.terminated) for o in taken])}
        system.branch(f"outcome {k + 1}", after, when=terminated == 0)
    system.branch("over", {reward: none}, when=terminated == 1)

    for box in _boxes([world.digits(s) for s in world.starts]):
        ends = [c for d, (low, high) in zip(digits, box, strict=True) for c in (d >= low, d <= high)]
        system.initial(*ends, reward == none, terminated == 0)
    for name, points in world.conditions.items():
        if all(n in system for p in points for n in p):
            system.proposition(name, disjunction(conjunction(system[n] == v for n, v in p.items()) for p in points))
    _check(system, world, answers, code)
    return system


def _codes(answers: Sequence[Sequence[Outcome]]) -> dict[Fraction, int]:
    """Rewards as integers: themselves, or else their ranks, as a state of integers is searched one by one."""
    rewards = sorted({Fraction(0), *(o.reward for options in answers for o in options)})
    whole = all(r.denominator == 1 for r in rewards)
    return {r: r.numerator if whole else i for i, r in enumerate(rewards)}


def _select(place: Expr, values: Sequence[Fraction | int]) -> Expr:
    return switch(place, dict(enumerate(values)))


def _boxes(points: Sequence[tuple[int, ...]]) -> list[Box]:
    """Disjoint boxes of exactly these points: runs along one axis after the other become one, the last axis first."""
    boxes: list[Box] = [tuple((v, v) for v in point) for point in sorted(points)]
    for axis in reversed(range(len(boxes[0]))):
        merged: dict[Box, list[tuple[int, int]]] = {}
        for box in boxes:
            runs = merged.setdefault(box[:axis] + box[axis + 1 :], [])
            low, high = box[axis]
            if runs and runs[-1][1] + 1 == low:
                runs[-1] = runs[-1][0], high
            else:
                runs.append((low, high))
        boxes = sorted((*rest[:axis], run, *rest[axis:]) for rest, runs in merged.items() for run in runs)
    return boxes


def _check(system: System, world: World, answers: Sequence[Sequence[Outcome]], code: dict[Fraction, int]) -> None:
    """Compare the steps of the system with the table, in every state, before the end of an episode and after it."""
    digits = np.array([world.digits(s) for s in range(world.states)], dtype=float)
    rewarded = world.reward if world.reward in system else "reward_rank"
    for ended in (0, 1):
        state = {f.name: digits[:, i] for i, f in enumerate(world.features)}
        state |= {
            rewarded: np.full(world.states, float(code[Fraction(0)])),
            "terminated": np.full(world.states, float(ended)),
        }
        reached: list[set[tuple[float, ...]]] = [set() for _ in answers]
        for branch in range(len(system.branches)):
            after, enabled = step_batch(system, state, np.full(world.states, branch))
            rows = np.stack([after[name] for name in state], axis=1)
            for row in np.flatnonzero(enabled).tolist():
                reached[row].add(tuple(rows[row].tolist()))
        for at, options in enumerate(answers):
            listed = options if not ended else [Outcome(at, Fraction(0), True)]
            expected = {
                (*map(float, world.digits(o.state)), float(code[o.reward]), float(o.terminated)) for o in listed
            }
            if reached[at] != expected:
                raise ScenarioError(
                    f"the system and the environment differ: from state {world.show(at)} the system leads to "
                    f"{sorted(reached[at])}, the table to {sorted(expected)}; please report it"
                )
