"""Where a policy changes its mind between a witness and another state: the variables to split at, and the places.

shrink: the witness is moved towards the state as far as the label stays, input by input, and split from it there.
sens, verix: Vinzent, Wu, Wu, Hoffmann, definitions 1 to 3 and algorithms 1 and 2. ws, ce: Vinzent, Sharma, Hoffmann.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from venmas.bounds.rounding import Ints
from venmas.procedures.predicate_abstraction.states.policy import Policy
from venmas.procedures.predicate_abstraction.states.predicates import Predicate
from venmas.procedures.predicate_abstraction.states.queries import Queries, QueryEngine

_PRECISION = 0.05
"""Of the perturbation bound of BSEARCH, as in the paper."""


def separated(
    engine: QueryEngine,
    witness: Ints,
    state: Ints,
    label: int,
    stays: Callable[[Ints], bool],
    ranges: tuple[Ints, Ints],
    how: str,
    split: str,
    rng: np.random.Generator,
) -> list[Predicate]:
    """Thresholds between a witness (n,), where the policy picks `label`, and a state (n,), where it does not.

    stays: is a point in the abstract state of both? ranges: least and greatest values of the variables.
    """
    policy = engine.policy
    assert policy is not None
    differ = [int(v) for v in policy.read.tolist() if witness[v] != state[v]]
    if how == "ce":
        return [p for v in policy.read.tolist() for p in _beside(v, int(state[v]))]
    if how == "shrink":
        moved = shrunk(policy, witness, state, label, stays, ranges)
        return [_threshold(v, moved, state, split, 1.0, rng) for v in differ if moved[v] != state[v]]
    chosen, eps = differ, 1.0
    if how == "sens":
        chosen = [max(differ, key=lambda v: sensitivity(policy, witness, v, ranges))]
    elif how == "random":
        chosen = sorted(rng.choice(differ, int(rng.integers(1, len(differ) + 1)), replace=False).tolist())
    elif how == "verix":
        chosen, eps = bsearch(engine, witness, state, label, ranges, differ)
    return [_threshold(v, witness, state, split, eps, rng) for v in chosen]


def _beside(v: int, value: int) -> list[Predicate]:
    return [Predicate(((v, 1),), value), Predicate(((v, 1),), value + 1)]


def _threshold(v: int, witness: Ints, state: Ints, split: str, eps: float, rng: np.random.Generator) -> Predicate:
    """A threshold of v that tells the two apart: it is in (least, most] of the two values."""
    w, s = int(witness[v]), int(state[v])
    low, high = min(w, s), max(w, s)
    match split:
        case "mid":  # the witness's side keeps the middle
            bound = (low + high) // 2 + 1 if s > w else -(-(low + high) // 2)
        case "random":
            bound = int(rng.integers(low + 1, high + 1))
        case "eps":  # it keeps what is up to eps of the way from the witness
            step = int(eps * (high - low))
            bound = w + step + 1 if s > w else w - step
            bound = min(high, max(low + 1, bound))
        case _:
            bound = w + 1 if s > w else w
    return Predicate(((v, 1),), bound)


def shrunk(
    policy: Policy,
    witness: Ints,
    state: Ints,
    label: int,
    stays: Callable[[Ints], bool],
    ranges: tuple[Ints, Ints],
) -> Ints:
    """The witness moved towards the state as far as the policy still picks the label: (n,)."""
    now = witness.copy()
    width = np.maximum(1, ranges[1] - ranges[0])

    def good(point: Ints) -> bool:
        return bool(policy.picks(point[None], np.array([label]))[0]) and stays(point)

    # whole inputs first, those that are least far apart before others
    changed = True
    while changed:
        changed = False
        left = [int(v) for v in policy.read.tolist() if now[v] != state[v]]
        for v in sorted(left, key=lambda v: abs(int(now[v]) - int(state[v])) / int(width[v])):
            point = now.copy()
            point[v] = state[v]
            if good(point):
                now, changed = point, True
    for v in policy.read.tolist():
        far = int(state[v])
        while abs(far - int(now[v])) > 1:
            point = now.copy()
            point[v] = (int(now[v]) + far) // 2
            if good(point):
                now = point
            else:
                far = int(point[v])
    return now


def sensitivity(policy: Policy, witness: Ints, v: int, ranges: tuple[Ints, Ints]) -> float:
    """How much the outputs change between the ends of the range of v (Definition 3)."""
    points = np.stack([witness, witness])
    points[0, v], points[1, v] = ranges[0][v], ranges[1][v]
    low, high = policy.network.evaluate(policy.gather(points))
    return float(np.abs(high - low).sum())


def bsearch(
    engine: QueryEngine, witness: Ints, state: Ints, label: int, ranges: tuple[Ints, Ints], differ: list[int]
) -> tuple[list[int], float]:
    """Relevant variables for the least perturbation bound that has any, and that bound (Algorithm 2)."""
    policy = engine.policy
    assert policy is not None
    order = sorted(differ, key=lambda v: sensitivity(policy, witness, v, ranges))
    best: list[int] = []
    low, eps, high = 0.0, 0.5, 1.0
    while high - low > _PRECISION:
        relevant = verix(engine, witness, state, label, order, eps)
        if not relevant:
            low, eps = eps, eps + (high - eps) / 2
        else:
            best, high, eps = relevant, eps, low + (eps - low) / 2
    return (best, high) if best else (verix(engine, witness, state, label, order, 1.0), 1.0)


def verix(engine: QueryEngine, witness: Ints, state: Ints, label: int, order: list[int], eps: float) -> list[int]:
    """The variables that are not irrelevant for perturbations up to eps of the way to the state (Algorithm 1)."""
    policy = engine.policy
    assert policy is not None
    others = np.array([j for j in range(policy.labels) if j != label], np.int64)
    low, high, relevant = witness.copy(), witness.copy(), list[int]()
    for v in order:
        w, s = int(witness[v]), int(state[v])
        reach = int(eps * abs(s - w))
        a, b = low.copy(), high.copy()
        a[v], b[v] = (w, w + reach) if s > w else (w - reach, w)
        met, _ = engine.ask(Queries.of(others, np.repeat(a[None], len(others), 0), np.repeat(b[None], len(others), 0)))
        if met.any():
            relevant.append(v)
        else:
            low, high = a, b
    return relevant
