"""Random systems with smooth parts that have noise, several branches, guards and choices, against sampled runs.

``python -m tests.corpus.smooth_branching --cases 300``. As in `tests.corpus.smooth`, the oracle shares nothing with
VenMAS but the text of a case. It contradicts where

- a sampled run, or for formulas with E a tree of all branches from a sample, is on the wrong side by more than `CLEAR`;
- a state of a sampled run is outside of what flowpipes say is reached;
- the run of a witness is none, by the noise and the branches that it names, or does not violate within `CLEAR`;
- the checker refuses a certificate.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from time import process_time

import numpy as np
from scipy.integrate import solve_ivp

import venmas.model as vm
from tests.corpus.smooth import CLEAR, Tree, _control, _expression, _network, _tree, _value
from venmas.budget import Budget, BudgetError
from venmas.checker.file import check_certificate
from venmas.engine.verify import verify
from venmas.errors import ModelError
from venmas.model import System, apply_network
from venmas.model.witness.tree import Witness
from venmas.nn import Network
from venmas.procedure import Run
from venmas.procedures.flowpipes.procedure import FLOWPIPES
from venmas.question import Question, drawn_for, read_property

State = Mapping[str, float]
SECONDS = 3.0
_RUNS, _NEAR = 40, 1e-7
"""Sampled runs; values of guards and choices that floats do not decide."""


class UnclearError(Exception):
    """Floats do not tell what is chosen, or a run goes astray."""


@dataclass(frozen=True)
class Way:
    """A branch. guard: it can be taken where this is above 0, or where it is not above 0 if `turned`."""

    rates: Mapping[str, Tree]
    flow: bool
    guard: Tree | None = None
    turned: bool = False


@dataclass(frozen=True)
class Case:
    """u: a network of the state; c: one of several values by the greatest of several scores, or a `where`; m: an
    integer, 1 where `mode` was above 0 in the step before, else 0."""

    names: tuple[str, ...]
    ways: tuple[Way, ...]
    box: Mapping[str, tuple[Fraction, Fraction]]
    steps: int
    noise: Mapping[str, Fraction] = field(default_factory=dict)
    """By disturbance, its greatest size."""
    network: Network | None = None
    scores: tuple[Tree, ...] = ()
    values: tuple[Fraction, ...] = ()
    mode: Tree | None = None
    period: Fraction = Fraction(1, 5)
    control: Tree | None = None
    """As in `smooth.Case`; here u is always the first output."""

    @property
    def states(self) -> tuple[str, ...]:
        """All variables."""
        return self.names if self.mode is None else (*self.names, "m")


def random_case(seed: int) -> Case:
    """A case with one to three variables; at least one of noise, several branches and choices."""
    rng = Random(f"branching {seed}")
    names = tuple("xyz"[: rng.randint(1, 3)])
    noisy, branching = rng.choice([(True, False), (False, True), (True, True), (False, True), (True, False)])
    network = _network(rng, len(names)) if rng.random() < 0.35 else None
    choosing, modal = rng.random() < 0.35, rng.random() < 0.35
    noise = {n: Fraction(rng.choice([1, 2, 5, 20]), 100) for n in ("w", "e")[: rng.randint(1, 2) * noisy]}
    states = [*names, *(["u"] if network else []), *(["c"] if choosing else []), *(["m"] if modal else [])]
    flow = rng.random() < 0.5
    ways = [_way(rng, names, [*states, *noise], noise, flow) for _ in range(rng.randint(2, 3) if branching else 1)]
    guards = rng.choice(["none", "some", "both"]) if branching else "none"
    guard = _tree(rng, [*states, *noise], rng.choice([0, 0, 1]), False)
    guard = ("sum", Fraction(1), guard, Fraction(rng.randint(-10, 10), 10), ("one",))
    if guards != "none":
        ways[-1] = Way(ways[-1].rates, ways[-1].flow, guard)
    if guards == "both":  # else one of the others can be taken everywhere
        ways[:-1] = [Way(way.rates, way.flow, guard, True) for way in ways[:-1]]
    box = {}
    for n in names:
        low = Fraction(rng.randint(-15, 12), 10)
        box[n] = low, low + Fraction(rng.choice([0, 1, 2, 5, 20]), 100)
    count = rng.randint(2, 3) if choosing else 0
    scores = tuple(_tree(rng, [*names, *noise], rng.choice([0, 1]), False) for _ in range(count))
    values = tuple(Fraction(rng.randint(-10, 10), 10) for _ in scores)
    mode = _tree(rng, states, rng.choice([0, 1]), False) if modal else None
    if modal:
        low = Fraction(rng.randint(0, 1))
        box["m"] = low, Fraction(rng.randint(int(low), 1))
    return Case(names, tuple(ways), box, rng.randint(1, 4), noise, network, scores, values, mode)


def _way(rng: Random, names: Sequence[str], leaves: list[str], noise: Mapping[str, Fraction], flow: bool) -> Way:
    rates = {n: _tree(rng, leaves, 2, flow) for n in names}
    for n in noise:  # each has an effect
        at = rng.choice(names)
        rates[at] = ("sum", Fraction(1), rates[at], Fraction(rng.choice([-1, 1, 2])), ("var", n))
    return Way(rates, flow)


def built(case: Case) -> System:
    """The case as VenMAS has it."""
    system = System("case")
    state = {n: system.real(n, -1000, 1000) for n in case.names}
    known: dict[str, object] = dict(state)
    if case.mode is not None:
        known["m"] = system.integer("m", 0, 1)
    for n, size in case.noise.items():
        known[n] = system.disturbance(n, -size, size)
    if case.network is not None:
        known["u"] = system.agent(apply_network(case.network, list(state.values()))[0], name="u")
    if case.scores:
        scores = [_expression(tree, known) for tree in case.scores]
        pick = vm.switch(vm.argmax(scores), dict(enumerate(case.values)))
        if len(scores) == 2:
            pick = vm.where(scores[0] >= scores[1], *case.values)
        known["c"] = system.agent(pick, name="c")
    for i, way in enumerate(case.ways):
        rates = {state[n]: _expression(tree, known) for n, tree in way.rates.items()}
        guard = True
        if way.guard is not None:
            compared = _expression(way.guard, known)
            guard = compared <= 0 if way.turned else compared > 0
        updates = dict(system.flow(case.period, rates).end if way.flow else rates)
        if case.mode is not None:
            updates[known["m"]] = vm.where(_expression(case.mode, known) > 0, 1, 0)
        system.branch(f"b{i}", updates, when=guard)
    system.initial(*[c for n, (a, b) in case.box.items() for c in (known[n] >= a, known[n] <= b)])
    return system


def successor(case: Case, way: Way, state: State, noise: State) -> dict[str, float] | None:
    """The next state, None where the guard does not hold. Raises `UnclearError`."""
    at = {n: np.float64(v) for n, v in {**state, **noise}.items()}
    at.update(_control(case, at))  # type: ignore[arg-type]
    if case.scores:
        scores = [float(_value(tree, at)) for tree in case.scores]
        first, second = sorted(scores)[:-3:-1]
        if first - second < _NEAR * (1 + abs(first)):
            raise UnclearError
        at["c"] = np.float64(case.values[int(np.argmax(scores))])
    if way.guard is not None and (_sign(float(_value(way.guard, at))) > 0) is way.turned:
        return None
    if not way.flow:
        new = {n: float(_value(tree, at)) for n, tree in way.rates.items()}
    else:

        def rate(t: float, x: np.ndarray) -> list[float]:
            moving = {**at, **dict(zip(case.names, x, strict=True))}
            return [_value(way.rates[n], moving) for n in case.names]

        ends = (0, float(case.period))
        found = solve_ivp(rate, ends, [at[n] for n in case.names], "DOP853", rtol=1e-11, atol=1e-12)
        if not found.success:
            raise UnclearError
        new = dict(zip(case.names, map(float, found.y[:, -1]), strict=True))
    if not all(np.isfinite(v) and abs(v) < 900 for v in new.values()):
        raise UnclearError
    if case.mode is not None:
        new["m"] = float(_sign(float(_value(case.mode, at))) > 0)
    return new


def _sign(value: float) -> float:
    """The same. Raises `UnclearError` where it is too near 0 for floats to tell its sign."""
    if abs(value) < _NEAR * (1 + abs(value)):
        raise UnclearError
    return value


def sampled(case: Case, rng: Random) -> list[dict[str, float]]:
    """A run by branches and noise at random."""
    kind = rng.random()
    share = {n: rng.choice([0.0, 1.0]) if kind < 0.5 or n == "m" else rng.random() for n in case.states}
    state = {n: float(a) + (float(b) - float(a)) * share[n] for n, (a, b) in case.box.items()}
    side = {n: rng.choice([-1.0, 1.0]) for n in case.noise}
    states = [state]
    for _ in range(case.steps):
        if kind > 0.3:
            side = {n: rng.choice([-1.0, 1.0, rng.uniform(-1, 1)]) for n in case.noise}
        noise = {n: float(size) * side[n] for n, size in case.noise.items()}
        found = [successor(case, way, state, noise) for way in case.ways]
        state = rng.choice([after for after in found if after is not None])
        states.append(state)
    return states


@dataclass(frozen=True)
class Asked:
    """``kind^steps (sum of factors times variables >= bound)``."""

    kind: str
    factors: Mapping[str, int]
    bound: Fraction
    steps: int

    def __str__(self) -> str:
        text = " + ".join(f"{c}*{n}" for n, c in self.factors.items())
        return f"{self.kind}^{self.steps} ({text} >= {float(self.bound):.3f})"

    def at(self, state: State) -> float:
        return sum(c * state[n] for n, c in self.factors.items()) - float(self.bound)

    def along(self, states: Sequence[State]) -> float:
        """By how much a run satisfies what is asked of all or some runs."""
        found = [self.at(s) for s in states[1:]]
        return {"G": min(found), "F": max(found), "X": found[-1]}[self.kind[1]]

    def tree(self, case: Case, state: State, steps: int) -> float:
        """By how much a state satisfies it, by all branches, without noise."""
        below = []
        for way in case.ways:
            after = successor(case, way, state, {})
            if after is None:
                continue
            here = self.at(after)
            if steps > 1:
                rest = self.tree(case, after, steps - 1)
                here = {"G": min(here, rest), "F": max(here, rest), "X": rest}[self.kind[1]]
            below.append(here)
        return min(below) if self.kind[0] == "A" else max(below)


def question(case: Case, rng: Random, runs: list[list[dict[str, float]]]) -> Asked:
    """A formula, with its threshold near what samples reach."""
    picked = rng.sample(case.names, rng.randint(1, min(2, len(case.names))))
    factors = {n: rng.choice([-2, -1, 1, 2]) for n in picked}
    several = len(case.ways) > 1 and not case.noise
    kind = rng.choice(["AG", "AX", "AF", "EF", "EX", "EG"] if several else ["AG", "AX", "AF"])
    near = Asked(kind, factors, Fraction(0), case.steps)
    reached = sorted(near.along(states) for states in runs)
    spread = reached[-1] - reached[0] + 1e-3
    from_ = reached[0] if kind[0] == "A" else rng.choice(reached)
    share = rng.choice([-1, -0.3, -0.05, -0.01, 0, 0.1, 0.5])
    return Asked(kind, factors, Fraction(round(1000 * (from_ + spread * share)), 1000), case.steps)


def false_run(case: Case, asked: Asked, witness: Witness) -> str | None:
    """What is wrong with the run of a witness, by plain stepping under the noise and the branches that it names."""
    path = witness.path
    if path is None:
        return "the witness is no run"
    start = witness.initial
    if not all(a <= start[n] <= b for n, (a, b) in case.box.items()):
        return "the witness is no initial state"
    state, states = {n: float(start[n]) for n in case.states}, []
    for node in path:
        stored = {v.name: v for v in node.state}
        for n in case.states:
            if abs(float(stored[n].exact) - state[n]) > float(stored[n].radius) + CLEAR * (1 + abs(state[n])):
                return f"{n} is {float(stored[n].exact)} in the witness, and {state[n]} in the run"
        states.append(state)
        if any(stored[n].radius or abs(stored[n].exact) > size for n, size in case.noise.items()):
            return "the witness has noise that is not exact, or beyond its range"
        if node.children:
            noise = {n: float(stored[n].exact) for n in case.noise}
            after = successor(case, case.ways[int(node.children[0][0][1:])], state, noise)
            if after is None:
                return "the witness takes a branch whose guard does not hold"
            state = after
    # a shorter run than all steps shows AG to be violated, and nothing else
    if len(states) <= case.steps and asked.kind != "AG":
        return "the witness ends early"
    found = asked.along(states)
    return f"the run of the witness satisfies it by {found}" if found > CLEAR else None


def check(seed: int, folder: Path) -> tuple[str, list[str]]:
    """The verdict of a case, and what is wrong with it."""
    case, rng = random_case(seed), Random(f"asked {seed}")
    try:
        runs = [sampled(case, rng) for _ in range(_RUNS)]
    except UnclearError:
        return "astray", []
    system, asked = built(case), question(case, rng, runs)
    wrong = _outside(system, asked, runs)
    path = folder / f"{seed}.gz" if seed % 2 else None
    try:
        report = verify(system, str(asked), timeout=SECONDS, certificate=path)
    except ModelError as error:
        return "leaves its box", [] if "leaves the declared box" in str(error) else [f"{seed}: {error}"]
    verdict = str(report.verdict.value)
    of = f"{asked} is {verdict}"
    with suppress(UnclearError):
        if report.satisfied:
            if asked.kind[0] == "A":
                worst = min(map(asked.along, runs))
            else:
                worst = min(asked.tree(case, states[0], asked.steps) for states in runs[:6])
            if worst < -CLEAR:
                wrong.append(f"{of}, a sample misses it by {-worst}")
        if report.violated:
            assert report.witness is not None
            if asked.kind[0] == "A":
                problem = false_run(case, asked, report.witness)
                wrong += [f"{of}: {problem}"] if problem else []
            elif (found := asked.tree(case, _floats(case, report.witness), asked.steps)) > CLEAR:
                wrong.append(f"{of} from the witness's state, where it holds by {found}")
    if report.satisfied and path is not None:
        verdict = "satisfied, " + ("certified" if path.exists() else "not certified")
        if path.exists():
            check_certificate(path, system)
    return verdict, [f"{seed}: {text}" for text in wrong]


def _floats(case: Case, witness: Witness) -> dict[str, float]:
    return {n: float(witness.initial[n]) for n in case.states}


def _outside(system: System, asked: Asked, runs: list[list[dict[str, float]]]) -> list[str]:
    """States of sampled runs that are not in what flowpipes say is reached."""
    found = []
    read = read_property(system, str(asked))
    session = FLOWPIPES.start(Question(drawn_for(system, read), read), Run())
    with suppress(BudgetError, ModelError):
        session.advance(Budget(SECONDS))
    for step, box in enumerate(session.figures.reach if session.complete else ()):
        for states in runs:
            for name, value in states[step].items():
                low, high = box[name]
                slack = 1e-7 * (1 + abs(value))
                if not low - slack <= value <= high + slack:
                    found.append(f"{name} = {value} after {step} steps, outside of [{low}, {high}]")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="one case by its seed")
    args = parser.parse_args()
    tally: Counter[str] = Counter()
    wrong: list[str] = []
    begun = process_time()
    seeds = [args.only] if args.only is not None else [1_000_000 * args.seed + i for i in range(args.cases)]
    with TemporaryDirectory() as folder:
        for seed in seeds:
            verdict, found = check(seed, Path(folder))
            tally[verdict] += 1
            wrong += found
            for line in found:
                print(line, flush=True)
    print(f"{len(seeds)} cases, {len(wrong)} wrong, {process_time() - begun:.0f} s of CPU: {dict(tally)}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
