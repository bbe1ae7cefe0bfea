"""Train the FrozenLake agent 9-32-32-4 by advantage actor-critic (slippery 3x3 lake, VenMAS paper, Example 1).

    python experiments/training/frozenlake.py [--quick] [--output FOLDER]

Cells 1..9 row by row (cell = 3*row + column + 1), start 1, holes 3 and 7, goal 9; actions left, down, right, up. A
chosen direction and the two perpendicular ones are equally likely; a move off the grid stays. An episode of training
ends in a hole or in the goal with reward 1 in the goal only (section 7.1). The environment that is verified has no
end: the walk goes on from every cell (the paper's Example 2 gives cell 9 an action), so that is what
:func:`reachable` walks through.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from export import ROOT, Layers, evaluate, start_tensorflow, write_manifest, write_onnx

Array = npt.NDArray[Any]

SEED = 3
SIZE, START, HOLES, GOAL = 3, 1, (3, 7), 9
MOVES = ((0, -1), (1, 0), (0, 1), (-1, 0))  # (row, column) for left, down, right, up
ACTIONS = ("left", "down", "right", "up")
UPDATES, WALKERS, HORIZON = 1500, 64, 5
DISCOUNT, RATE, ENTROPY = 0.97, 3e-3, 0.02


def move(cell: int, direction: int) -> int:
    """The cell reached from ``cell`` (1..9) in ``direction`` (0..3)."""
    row, column = divmod(cell - 1, SIZE)
    row, column = row + MOVES[direction][0], column + MOVES[direction][1]
    return SIZE * row + column + 1 if 0 <= row < SIZE and 0 <= column < SIZE else cell


def successors(cell: int, action: int) -> tuple[int, int, int]:
    """Neighbouring directions in the cyclic order left, down, right, up are perpendicular."""
    return move(cell, (action - 1) % 4), move(cell, action), move(cell, (action + 1) % 4)


def policy(layers: Layers) -> dict[int, int]:
    """Action (lowest index on a tie) in each cell."""
    return {cell: int(a) for cell, a in enumerate(evaluate(layers, np.eye(SIZE * SIZE)).argmax(1), start=1)}


def reachable(actions: dict[int, int], cell: int = START) -> set[int]:
    """Every cell that some run from ``cell`` visits, the walk going on from holes and goal too."""
    seen, stack = {cell}, [cell]
    while stack:
        for following in successors(current := stack.pop(), actions[current]):
            if following not in seen:
                seen.add(following)
                stack.append(following)
    return seen


def goal_probability(actions: dict[int, int], steps: int = 200) -> float:
    """Chance that a run from the start meets the goal within ``steps`` steps and no hole before it."""
    chance = {cell: float(cell == GOAL) for cell in actions}
    for _ in range(steps):
        chance = {
            c: chance[c] if c == GOAL or c in HOLES else sum(chance[n] for n in successors(c, a)) / 3
            for c, a in actions.items()
        }
    return chance[START]


def train(seed: int, updates: int) -> Layers:
    """Synchronous walkers, n-step returns, entropy bonus fading out; Adam."""
    tf = start_tensorflow(seed)
    rng = np.random.default_rng(seed)
    cells = SIZE * SIZE
    actor, critic = (
        tf.keras.Sequential(
            [
                tf.keras.Input((cells,)),
                tf.keras.layers.Dense(32, activation="relu"),
                tf.keras.layers.Dense(32, activation="relu"),
                tf.keras.layers.Dense(outputs),
            ]
        )
        for outputs in (4, 1)
    )
    optimizer = tf.keras.optimizers.Adam(RATE)
    variables = [*actor.trainable_variables, *critic.trainable_variables]
    one_hot = tf.eye(cells)

    @tf.function
    def update(at: Any, taken: Any, returns: Any, entropy: Any) -> Any:
        with tf.GradientTape() as tape:
            log_chance = tf.gather(tf.nn.log_softmax(actor(one_hot)), at)
            value = tf.gather(critic(one_hot)[:, 0], at)
            advantage = returns - value
            gain = tf.reduce_sum(log_chance * tf.one_hot(taken, 4), 1) * tf.stop_gradient(advantage)
            spread = -tf.reduce_sum(tf.exp(log_chance) * log_chance, 1)
            loss = tf.reduce_mean(0.5 * advantage**2 - gain - entropy * spread)
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss

    table = np.array([[successors(c, a) for a in range(4)] for c in range(1, cells + 1)]) - 1
    final = np.zeros(cells, bool)
    final[[h - 1 for h in HOLES] + [GOAL - 1]] = True
    starts = np.flatnonzero(~final)
    state = rng.choice(starts, WALKERS)  # start anywhere: seldom visited cells are learnt as well
    for count in range(updates):
        chance = tf.nn.softmax(actor(one_hot)).numpy().astype(np.float64)
        at, taken, rewards, ended = [], [], [], []
        for _ in range(HORIZON):
            action = (rng.random((WALKERS, 1)) > np.cumsum(chance[state], 1)[:, :3]).sum(1)
            following = table[state, action, rng.integers(3, size=WALKERS)]
            at.append(state)
            taken.append(action)
            rewards.append((following == GOAL - 1).astype(float))
            ended.append(final[following])
            state = np.where(ended[-1], rng.choice(starts, WALKERS), following)
        # An ended walk has begun anew, so the value of `following` counts only where the walk goes on.
        value = critic(one_hot).numpy()[:, 0][state]
        returns = []
        for reward, end in zip(reversed(rewards), reversed(ended), strict=True):
            value = reward + DISCOUNT * np.where(end, 0.0, value)
            returns.append(value)
        target = np.concatenate(returns[::-1]).astype(np.float32)
        fade = np.float32(ENTROPY * (1 - count / updates))
        update(tf.constant(np.concatenate(at)), tf.constant(np.concatenate(taken)), tf.constant(target), fade)
    arrays = actor.get_weights()
    return [(arrays[i].T, arrays[i + 1]) for i in range(0, len(arrays), 2)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a few updates only, to see that the script runs")
    parser.add_argument("--output", type=Path, default=ROOT / "networks" / "frozenlake")
    options = parser.parse_args()

    began = time.monotonic()
    layers = train(SEED, 5 if options.quick else UPDATES)
    minutes = (time.monotonic() - began) / 60
    write_onnx(options.output / "agent.onnx", layers, "frozenlake_agent")
    chosen = policy(layers)
    scores = np.sort(evaluate(layers, np.eye(SIZE * SIZE)), 1)
    visited = reachable(chosen)
    fit = {
        "policy": {str(cell): ACTIONS[action] for cell, action in chosen.items()},
        "reachable_cells": sorted(visited),
        "holes_reachable": sorted(visited & set(HOLES)),
        "goal_probability_200_steps": round(goal_probability(chosen), 6),
        "least_margin_of_best_score_where_reachable": round(
            float(min(scores[cell - 1, -1] - scores[cell - 1, -2] for cell in visited)), 4
        ),
    }
    for key, value in fit.items():
        print(f"{key}: {value}")
    print("safe at every step" if not fit["holes_reachable"] else "NOT safe")
    write_manifest(
        options.output,
        files={"agent.onnx": fit},
        command="python experiments/training/frozenlake.py",
        seed=SEED,
        minutes=minutes,
        packages=("numpy", "onnx", "tensorflow_cpu"),
        about="Agent for the slippery 3x3 FrozenLake with holes 3, 7 and goal 9; argmax of the outputs is the action",
        inputs=[f"cell {cell} is the present one (0 or 1)" for cell in range(1, SIZE * SIZE + 1)],
        outputs=list(ACTIONS),
    )
    if not options.quick and fit["holes_reachable"]:
        raise SystemExit("the trained agent can fall into a hole; change the seed or train for longer")


if __name__ == "__main__":
    main()
