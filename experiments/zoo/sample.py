"""Questions with sampled margins: ``python -m experiments.zoo.sample [--only TEXT]`` writes questions.json.

The verifier is not asked: runs are computed in floats, from corners of the initial set and from random points, with
noise at random, mostly at an end of its range, and all branches. Of the states of a step those go on that are farthest
in the direction that is asked about, and others at random. A bound that is asked lies so far beyond, or within, the
farthest value that was met: a part of the span of all values that were.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, floor, log10
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from experiments.zoo.loops import EVERY, LINEAR, Loop
from venmas.model import System
from venmas.model.evaluation.regions import bounding_box
from venmas.model.evaluation.simulate import random_branches, step_batch, within
from venmas.model.system.disturbances import drawn

QUESTIONS = Path(__file__).resolve().parent / "questions.json"
SEED = 35
_RUNS, _FAR = 1200, 200
_LONG = 300
"""Steps that stand for runs without end."""

State = dict[str, npt.NDArray[np.float64]]


@dataclass(frozen=True)
class Asked:
    """A question: what sampling says (`satisfied` only as far as it met everything), and how far the bound is off.

    margin: parts of the span between the farthest value met and the bound.
    """

    formula: str
    expected: str
    margin: float


def questions(loop: Loop) -> Iterator[Asked]:
    """Three to five questions about a loop; of one of linear plants, one on each side of the farthest value."""
    system = loop.build()
    short, long = loop.plant.steps
    first, last = loop.plant.watched[0], loop.plant.watched[-1]
    if loop.name in LINEAR:
        reach = Reach(system, long)
        low, high = reach.below(first, 1, long, 0.15), reach.above(first, 1, long, 0.15)
        yield Asked(f"AG^{long} ({first} >= {low} & {first} <= {high})", "satisfied", 0.15)
        yield Asked(f"AG^{long} {last} >= {reach.below(last, 1, long, -0.05)}", "violated", -0.05)
        return
    reach = Reach(system, _LONG if not system.smooth else long)
    yield Asked(f"AG^{short} {first} <= {reach.above(first, 1, short, 0.1)}", "satisfied", 0.1)
    low, high = reach.below(first, 1, long, 0.15), reach.above(first, 1, long, 0.15)
    yield Asked(f"AG^{long} ({first} >= {low} & {first} <= {high})", "satisfied", 0.15)
    yield Asked(f"AG^{short} {last} <= {reach.above(last, 1, short, -0.05)}", "violated", -0.05)
    begin, end = long // 3, long // 3 + 10
    low, high = reach.below(last, begin, end, 0.25), reach.above(last, begin, end, 0.25)
    yield Asked(f"AX^{begin} (AG[0,10] ({last} >= {low} & {last} <= {high}))", "satisfied", 0.25)
    if not system.smooth:
        low, high = reach.below(first, 0, _LONG, 0.3), reach.above(first, 0, _LONG, 0.3)
        yield Asked(f"AG ({first} >= {low} & {first} <= {high})", "satisfied", 0.3)


class Reach:
    """The farthest values of variables in sampled runs of so many steps."""

    def __init__(self, system: System, steps: int) -> None:
        self.system, self.steps = drawn(system, 1), steps
        self.noise = {
            n: (float(system.variables[n].lower), float(system.variables[n].upper)) for n in system.disturbances
        }
        self._known: dict[tuple[str, int], list[float]] = {}

    def above(self, name: str, first: int, last: int, margin: float) -> str:
        """A bound above all values of these steps; margin: in parts of their span."""
        high, low = max(self._far(name, 1)[first : last + 1]), -max(self._far(name, -1)[first : last + 1])
        return _shown(high + margin * (high - low), high - low, up=margin > 0)

    def below(self, name: str, first: int, last: int, margin: float) -> str:
        """A bound below all values of these steps."""
        high, low = max(self._far(name, 1)[first : last + 1]), -max(self._far(name, -1)[first : last + 1])
        return _shown(low - margin * (high - low), high - low, up=margin <= 0)

    def _far(self, name: str, sign: int) -> list[float]:
        if (name, sign) not in self._known:
            self._known[name, sign] = list(self._search(name, sign))
        return self._known[name, sign]

    def _search(self, name: str, sign: int) -> Iterator[float]:
        rng = np.random.default_rng(SEED)
        state = self._starts(rng)
        for step in range(self.steps + 1):
            values = sign * state[name]
            yield float(values.max())
            if not all(within(d, state[n]).all() for n, d in self.system.variables.items()):
                raise SystemExit(
                    f"{self.system.name}: a run leaves its box at step {step}: train it again, or widen it"
                )
            if step == self.steps:
                return
            kept = np.concatenate([np.argsort(values)[-_FAR:], rng.permutation(len(values))])[:_RUNS]
            state = {n: v[kept] for n, v in state.items()}
            state |= {n: self._drawn(rng, *ends) for n, ends in self.noise.items()}
            branch, alive = random_branches(self.system, state, rng)
            state, _ = step_batch(self.system, {n: v[alive] for n, v in state.items()}, branch[alive])

    def _starts(self, rng: np.random.Generator) -> State:
        """Corners and random points: all initial sets of the zoo are boxes."""
        (region,) = self.system.regions
        box = bounding_box(self.system, region)
        assert box is not None
        state: State = {}
        for name, (low, high) in box.items():
            ends = rng.choice([float(low), float(high)], _RUNS)
            values = np.where(rng.random(_RUNS) < 0.5, ends, rng.uniform(float(low), float(high), _RUNS))
            state[name] = np.rint(values) if self.system.variables[name].integral else values
        return state

    def _drawn(self, rng: np.random.Generator, low: float, high: float) -> npt.NDArray[np.float64]:
        ends = rng.choice([low, high], _RUNS)
        return np.where(rng.random(_RUNS) < 0.75, ends, rng.uniform(low, high, _RUNS))


def _shown(value: float, span: float, up: bool) -> str:
    """The number with three digits of the span, rounded up or down."""
    digits = max(0, 2 - floor(log10(max(span, 1e-6))))
    scaled = (ceil if up else floor)(value * 10**digits)
    return f"{scaled / 10**digits:.{digits}f}"


def stored() -> dict[str, list[Asked]]:
    """The questions by loop, as they were written."""
    found: dict[str, list[dict[str, Any]]] = json.loads(QUESTIONS.read_text(encoding="utf-8"))
    return {name: [Asked(**row) for row in rows] for name, rows in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="TEXT", help="loops whose names hold the text")
    options = parser.parse_args()
    known = {name: [vars(q) for q in rows] for name, rows in (stored() if QUESTIONS.exists() else {}).items()}
    for name, loop in EVERY.items():
        if options.only in name:
            known[name] = [vars(q) for q in questions(loop)]
            print(name, *(q["formula"] for q in known[name]), sep="\n  ", flush=True)
    text = json.dumps({name: known[name] for name in EVERY if name in known}, indent=1)
    QUESTIONS.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
