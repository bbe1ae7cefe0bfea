"""A truck that takes packages over a bridge of limited strength: the model, and a rule that solves it.

Locations 0 to n - 1 stand in a line; the bridge leads to the last one. ``truck`` is where the truck is, ``load`` how
many packages are on it, ``packages_p`` how many lie at p. The labels are ``drive_forward``, ``drive_backward``,
``pick_up`` and ``drop`` (one package), with an edge for each location. Nothing fails: what is not determined is where
a run starts, with an empty truck and all packages before the bridge. These are 4,412,826 states for 10 locations and
15 packages, of which 1,000 are drawn at random, each one once.

``reach``, the *unsafe* condition, is a truck at the last location with more than ``LIMIT`` packages on it. The goal
is all packages there.
"""

from __future__ import annotations

import numpy as np

from experiments.domains import jani
from experiments.domains.jani import edge, equal, every, integer, least, outcome, plus
from experiments.domains.task import Array, Task

LABELS = ("drive_forward", "drive_backward", "pick_up", "drop")
FORWARD, BACKWARD, PICK, DROP = range(4)
LIMIT = 4
SEED, DRAWN = 17, 1000
"""So many start states."""


def step(s: Array, labels: Array) -> tuple[Array, Array]:
    """The states after a label each, and for which of them it is applicable; rows of (truck, load, packages...)."""
    rows, after = np.arange(len(s)), s.copy()
    truck, load = s[:, 0], s[:, 1]
    last = s.shape[1] - 3
    fits = np.select(
        [labels == FORWARD, labels == BACKWARD, labels == PICK],
        [truck < last, truck > 0, s[rows, truck + 2] > 0],
        load > 0,
    )
    after[:, 0] += fits * ((labels == FORWARD).astype(int) - (labels == BACKWARD))
    taken = fits * ((labels == PICK).astype(int) - (labels == DROP))
    after[:, 1] += taken
    after[rows, truck + 2] -= taken
    return after, fits


def unsafe(s: Array) -> Array:
    return np.asarray((s[:, 0] == s.shape[1] - 3) & (s[:, 1] > LIMIT))


def rule(s: Array) -> Array:
    """Which labels are good, (N, labels): up to the limit from the nearest places behind, then over the bridge."""
    rows, last = np.arange(len(s)), s.shape[1] - 3
    truck, load, lying = s[:, 0], s[:, 1], s[:, 2:-1]
    there, full = truck == last, load >= LIMIT
    behind = (np.where(np.arange(last) <= truck[:, None], lying, 0) > 0).any(1)
    ahead = (np.where(np.arange(last) > truck[:, None], lying, 0) > 0).any(1)
    here = s[rows, truck + 2] > 0
    done = there & ~behind & (load == 0)
    chosen = np.select(
        [done, there & (load > 0), there, load > LIMIT, here & ~full, full | ahead | ~behind],
        [DROP, DROP, BACKWARD, DROP, PICK, FORWARD],
        BACKWARD,
    )
    return np.asarray(np.arange(len(LABELS)) == chosen[:, None])


def lesson(s: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    return s.astype(float), rule(s)


def drawn(locations: int, packages: int) -> Array:
    """Start states at random."""
    rng = np.random.default_rng(SEED)
    spread = rng.dirichlet(np.full(locations - 1, 0.5), DRAWN)
    lying = np.array([rng.multinomial(packages, row) for row in spread])
    truck = rng.integers(0, locations - 1, (DRAWN, 1))
    zero = np.zeros((DRAWN, 1), int)
    return np.unique(np.concatenate([truck, zero, lying, zero], 1), axis=0)


def hard(locations: int, packages: int) -> Array:
    """A truck before the bridge that is full, and has packages around it."""
    s = drawn(locations, packages)
    s[:, 0] = locations - 2
    while (more := (s[:, 1] < LIMIT)).any():  # from where most of them are
        rows, place = np.flatnonzero(more), s[more, 2:-1].argmax(1) + 2
        s[rows, place] -= 1
        s[rows, 1] += 1
    return np.unique(s, axis=0)[::10]


def task(locations: int, packages: int) -> Task:
    """The task; the policy reads everything."""
    found = [v["name"] for v in variables(locations, packages)]
    start = drawn(locations, packages)
    return Task(
        name=f"transport_{locations}",
        model=model(locations, packages),
        start=start,
        begin=lambda: jani.states(dict(zip(found, map(int, row), strict=True)) for row in start),
        unsafe_when=every(least(locations - 1, "truck"), least(LIMIT + 1, "load")),
        goal=equal(f"packages_{locations - 1}", packages),
        inputs=tuple(found),
        labels=LABELS,
        scale=np.array([locations - 1, LIMIT, *[packages / 3] * locations]),
        lesson=lesson,
        step=step,
        hard=hard(locations, packages),
        unsafe=unsafe,
        limits={},
        complete=True,
    )


def variables(locations: int, packages: int) -> list[jani.Json]:
    """In the order of the policy's inputs; the initial state has everything at 0."""
    return [
        integer("truck", 0, locations - 1),
        integer("load", 0, packages),
        *(integer(f"packages_{p}", 0, packages, packages if p == 0 else 0) for p in range(locations)),
    ]


def model(locations: int, packages: int) -> jani.Json:
    edges = []
    for p in range(locations):
        at, lying = equal("truck", p), f"packages_{p}"
        if p < locations - 1:
            edges.append(edge("drive_forward", at, outcome({"truck": p + 1})))
        if p > 0:
            edges.append(edge("drive_backward", at, outcome({"truck": p - 1})))
        # the upper ends follow from the number of packages, which no edge changes: they keep updates in their ranges
        pick = every(at, least(1, lying), jani.binary("load", "≤", packages - 1))
        drop = every(at, least(1, "load"), jani.binary(lying, "≤", packages - 1))
        edges.append(edge("pick_up", pick, outcome({"load": plus("load", 1), lying: plus(lying, -1)})))
        edges.append(edge("drop", drop, outcome({"load": plus("load", -1), lying: plus(lying, 1)})))
    return jani.model(f"transport_{locations}", variables(locations, packages), LABELS, edges)
