"""Random systems with disturbances, against runs under sampled noise: ``python -m tests.corpus.noise --cases 2000``.

The oracle knows nothing of how a question over noise is asked. It takes some values of the disturbances in each step,
ends of their ranges among them, as so many branches more, and lets `venmas.logic.evaluate` decide the formula on that
finite tree. A formula that is false there is false of the system, because what shows it is a run. A witness is run
again with the noise that it names. Formulas that are refused are counted; every second case is asked in one of the
solvers' modes too, all of them in the default mode and exactly, with a certificate that has to be accepted.
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import product
from random import Random
from time import process_time

from tests.corpus.check import Tally, ask, rotated, shown
from tests.corpus.pwl import points, pwl_spec, touching_atom
from tests.corpus.random_parts import formula, linear_atom, quarters
from tests.corpus.spec import Spec, State, build, inside, starts, step
from venmas.engine.verify import Verdict
from venmas.errors import FormulaError
from venmas.logic import Bounded, FiniteModel, Formula, evaluate
from venmas.model.system.system import System
from venmas.model.witness.tree import Witness
from venmas.question import drawn_for

Noise = Mapping[str, Fraction]
_MOST_STATES = 1500


@dataclass(frozen=True)
class NoisyCase:
    """A system with disturbances, a formula that is asked of it, initial states, and how many formulas were refused."""

    spec: Spec
    system: System
    formula: Formula
    points: tuple[State, ...]
    refused: int


def successors(spec: Spec, s: State, noise: Noise) -> list[State | None]:
    """What each branch leads to under noise, None where its guard does not hold."""
    found = step(spec, {**s, **noise})
    return [None if t is None else {n: t[n] for n in spec.variables} for t in found]


def holds(spec: Spec, asked: Formula, s: State, choices: Callable[[int], Sequence[Noise]]) -> bool | None:
    """Truth of a formula in a state, where step i has one of the noises `choices(i)`; None where that is too much."""
    states, level = [s], [0]
    edges: dict[int, tuple[int, ...]] = {}
    for depth in range(max(asked.depth, 1)):
        following = []
        for at in level:
            targets = []
            for noise in choices(depth):
                for new in successors(spec, states[at], noise):
                    if new is not None:
                        assert inside(spec, new), f"{new}: the generator must keep systems in their box"
                        targets.append(len(states))
                        following.append(len(states))
                        states.append(new)
            edges[at] = tuple(targets)
            if len(states) > _MOST_STATES:
                return None
        level = following
    model = FiniteModel(len(states), tuple(edges.get(i, ()) for i in range(len(states))), tuple(states))
    return 0 in evaluate(asked, model)


def noisy_case(seed: int) -> NoisyCase:
    """The case of a seed."""
    rng = Random(f"noise {seed}")
    refused = 0
    while True:
        ends = {n: sorted((quarters(rng) / 4, quarters(rng) / 4)) for n in ("w", "e")[: rng.choice((1, 1, 2))]}
        noise = {n: (low, high) for n, (low, high) in ends.items()}
        spec, regions = pwl_spec(rng, noise)
        found = [s for r in regions for s in points(rng, spec, r, 12)]
        if not found:
            continue
        system = build(spec)
        runs = list(found[:4])
        for s in runs[:4]:
            for values in _corners(spec):
                runs += [t for t in successors(spec, s, values) if t is not None]
        plain = partial(linear_atom, names=tuple(spec.variables), number=quarters)

        def atom(r: Random, spec: Spec = spec, runs: list[State] = runs, plain=plain) -> Formula:
            return touching_atom(r, spec, runs) if r.random() < 0.5 else plain(r)

        for _ in range(20):
            asked = formula(rng, atom, rng.choice((1, 1, 2, 2, 3)), rng.randint(2, 5))
            if not asked.depth:
                continue
            try:
                drawn_for(system, Bounded(asked))
            except FormulaError:
                refused += 1
                continue
            return NoisyCase(spec, system, asked, tuple(found), refused)


def _corners(spec: Spec) -> list[dict[str, Fraction]]:
    return [dict(zip(spec.noise, values, strict=True)) for values in product(*spec.noise.values())]


def _sampled(rng: Random, case: NoisyCase) -> State | None:
    """A state that violates the formula under noise that was tried."""
    spec = case.spec
    middle = {n: (low + high) / 2 for n, (low, high) in spec.noise.items()}
    wide = [*_corners(spec), middle]
    for s in case.points[:16]:
        for choices in (lambda _: wide, lambda _: rng.sample(wide, 2), lambda _: [_drawn(rng, spec) for _ in range(2)]):
            if holds(spec, case.formula, s, choices) is False:
                return s
    return None


def _drawn(rng: Random, spec: Spec) -> dict[str, Fraction]:
    return {n: low + (high - low) * Fraction(rng.randint(0, 8), 8) for n, (low, high) in spec.noise.items()}


def false_witness(case: NoisyCase, witness: Witness) -> str | None:
    """What is wrong with a witness, by plain stepping under the noise that it names; None: it shows a violation."""
    spec, path = case.spec, witness.path
    if path is None:
        return "the witness is no run"
    states = [{n: node.point[n] for n in spec.variables} for node in path]
    noise = [{n: node.point[n] for n in spec.noise} for node in path]
    if set(path[0].point) != {*spec.variables, *spec.noise}:
        return "the witness has other variables than those of the system"
    if not starts(spec, states[0]):
        return f"the witness begins at {shown(states[0])}, which is no initial state"
    if any(not low <= values[n] <= high for values in noise for n, (low, high) in spec.noise.items()):
        return "the witness has noise beyond its range"
    for i, node in enumerate(path[:-1]):
        if successors(spec, states[i], noise[i])[int(node.children[0][0][1:])] != states[i + 1]:
            return f"the witness leaves {shown(states[i])} wrongly"
    if holds(spec, case.formula, states[0], lambda i: [noise[min(i, len(noise) - 1)]]) is not False:
        return "the noise of the witness does not show a violation"
    return None


def check_noisy(seed: int, timeout: float = 5.0) -> Tally:
    """Ask a case in several modes, and compare."""
    tally, case, rng = Tally(), noisy_case(seed), Random(seed)
    name = f"noise {seed}"
    tally.certificates["formulas refused"] += case.refused
    sampled = _sampled(rng, case)
    answers: dict[Verdict, str] = {}
    for config in rotated(seed // 2, timeout)[seed % 2 :]:
        report = ask(case.system, case.formula, config, name, tally)
        if report is None or report.verdict is Verdict.UNKNOWN:
            continue
        answers[report.verdict] = str(config)
        if report.satisfied and sampled is not None:
            tally.wrong.append(f"{name} [{config}] {case.formula}: satisfied, but {shown(sampled)} violates it")
        if report.witness is not None and (problem := false_witness(case, report.witness)):
            tally.wrong.append(f"{name} [{config}] {case.formula}: {problem}")
    if len(answers) > 1:
        tally.wrong.append(f"{name} {case.formula}: {answers}")
    if Verdict.VIOLATED in answers and sampled is not None:
        tally.certificates["violations sampled too"] += 1
    return tally


def main() -> int:
    """Run, and show what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1, help="the cases are numbered from SEED * 1000000")
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    total = Tally()
    for i in range(options.cases):
        found = check_noisy(options.seed * 1_000_000 + i)
        total.merge(found)
        for line in found.wrong:
            print(line, flush=True)
    for key, count in sorted(total.verdicts.items()):
        print(*key, count)
    print(dict(total.certificates), *total.unknowns[:10], sep="\n")
    print(f"{options.cases} cases, {len(total.wrong)} wrong, {process_time():.0f} s of processor time")
    return 1 if total.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
