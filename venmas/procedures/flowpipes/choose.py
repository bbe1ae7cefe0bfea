"""Noise that may be chosen: constants for a box, with which floats miss the target by most from some of its states."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from fractions import Fraction
from math import floor
from typing import TYPE_CHECKING

import numpy as np

from venmas.bounds.rounding import Floats, Index
from venmas.model.system.disturbances import disturbance_of
from venmas.model.system.system import System
from venmas.model.system.variables import Box
from venmas.procedures.flowpipes.falsify import downhill, missed, point_of
from venmas.procedures.flowpipes.plan import Plan
from venmas.procedures.flowpipes.tree import middle
from venmas.question import Question

if TYPE_CHECKING:
    from venmas.procedures.flowpipes.refine import Part

_SAMPLES, _STATES = 64, 5
_BEST, _ROUNDS = 2, 3


def choose(
    question: Question, plan: Plan, batch: Sequence[Part], tick: Callable[[], None]
) -> dict[str, Fraction] | None:
    """Choose noise for boxes that have none; a state from which none was found to be of use."""
    for part in batch:
        if part.node in part.tree.noise:
            continue
        for hard in (False, True):
            values, found = _best(question.system, plan, part.box, tuple(question.chosen), tick, hard)
            part.tree.noise[part.node] = values
            if found:
                break
        else:
            return middle(question.system, part.box)
    return None


def hopeless(question: Question, state: Mapping[str, Fraction]) -> str:
    """What is told of such a state."""
    decls = question.system.variables.items()
    shown = ", ".join(f"{n} = {decl.show(state[n])}" for n, decl in decls if n not in question.chosen)
    return (
        f"no noise was found that brings it about from {shown}, nor shown that there is none; ask for the opposite of "
        "all runs from there (AG^k !p for EF^k p)"
    )


def with_noise(part: Part, names: Collection[str]) -> Box:
    """The box of a part with the noise that was chosen for it, if any."""
    values = part.tree.noise.get(part.node, ())
    return {**part.box, **{name: (at, at) for name, at in zip(names, values, strict=True)}} if names else part.box


def _best(
    system: System, plan: Plan, box: Box, names: Sequence[str], tick: Callable[[], None], hard: bool
) -> tuple[tuple[Fraction, ...], bool]:
    """Values of noise `names` for a box, and whether floats miss the target with them from its middle.

    Looked for among values that stay what they are over time, at corners, and downhill from the best of these. hard:
    longer.
    """
    rng = np.random.default_rng(0)
    axes = [name for name, (low, high) in box.items() if low < high and name not in names]
    kinds = list(dict.fromkeys(map(disturbance_of, names)))
    where = [kinds.index(disturbance_of(name)) for name in names]
    part = rng.random((_SAMPLES, len(names)))
    part[::4] = np.rint(part[::4])
    part[1::2] = rng.random((_SAMPLES // 2, len(kinds)))[:, where]
    part[1::4] = np.rint(part[1::4])
    part[0] = 0.5
    corner = np.vstack([np.full(len(axes), 0.5), rng.integers(2, size=(_STATES - 1, len(axes)))])
    states = [{**box, **_at(system, box, axes, place)} for place in corner]
    low, high = (np.array([float(box[name][end]) for name in names]) for end in (0, 1))

    def met(from_: Sequence[Box]) -> Callable[[Index, Floats], Floats]:
        def found(_: Index, part: Floats) -> Floats:
            tick()
            x = np.repeat(low + part * (high - low), len(from_), axis=0)
            total = missed(system, plan, list(from_) * len(part), names, x).total
            return -np.asarray(total.reshape(len(part), len(from_)).min(1))

        return found

    worst = met(states if axes else states[:1])
    found = worst(np.zeros(len(part), dtype=np.intp), part)
    best = np.argsort(found, kind="stable")[:_BEST]
    part, found, root = part[best], found[best], np.zeros(len(best), dtype=np.intp)
    for _ in range(_ROUNDS * (5 if hard else 1)):
        part, found = downhill(worst, root, part, found)
    taken = part[found.argmin()]
    point = point_of(system, {name: box[name] for name in names}, names, taken)
    return tuple(point[name] for name in names), bool(met(states[:1])(root[:1], taken[None])[0] < 0)


def _at(system: System, box: Box, axes: Sequence[str], place: Floats) -> Box:
    """The middle of a box, or a corner: 0, 0.5 and 1 are places on an axis."""
    found: Box = {}
    for name, share in zip(axes, place.tolist(), strict=True):
        low, high = box[name]
        at = low + (high - low) * int(2 * share) / 2
        at = Fraction(floor(at)) if system.variables[name].integral else at
        found[name] = (at, at)
    return found
