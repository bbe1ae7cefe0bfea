"""What noise can bring about in random smooth systems, against sampled noise: ``python -m tests.corpus.smooth_noise``.

The oracle knows nothing of how such a question is asked: it takes some values of the disturbances in each step, steps
in floats, and evaluates the formula itself, EX as some branch under some of these values. A property that it finds by a
clear margin can not be violated there; one that is satisfied is looked for among more and more values.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt

from venmas import verify
from venmas.checker.file import check_certificate
from venmas.engine.report import Report, Verdict
from venmas.logic import EX, And, Atom, Formula, Or, nnf, parse
from venmas.logic.linear import Relation
from venmas.model import System, absolute, clip, cos, maximum, minimum, sin, tanh, where
from venmas.model.evaluation.simulate import step_batch
from venmas.model.expressions.expr import Expr
from venmas.model.system.disturbances import drawn

_Floats = npt.NDArray[np.float64]
_CLEAR, _FAR = 1e-6, 0.3
"""By how much a formula holds where that is no rounding, and by how much it fails where that is no gap of a grid."""
_GRIDS = (3, 5, 9)
"""Values of a disturbance that are tried: few at first."""
_MOST = 2_000_000


def noisy_case(seed: int, piecewise: bool = False) -> tuple[System, str]:
    """A system of two variables and one or two disturbances, and a formula with E; piecewise: without smooth parts."""
    rng = Random(f"smooth noise {seed}")
    system = System(f"noisy {seed}")
    x, y = system.real("x", -50, 50), system.real("y", -50, 50)
    noise = [system.disturbance("w", -Fraction(rng.randint(0, 10), 20), Fraction(rng.randint(1, 10), 20))]
    if rng.random() < 0.3:
        noise.append(system.disturbance("v", -Fraction(1, 4), Fraction(1, 3)))

    def expr() -> Expr:
        terms = [x, y, sin(x), tanh(y), x * y / 8, cos(y + noise[-1]), noise[0] * x, sin(noise[0] + x), *noise, *noise]
        if piecewise:
            kinks = [clip(x, -1, 1), maximum(y, -y / 2), minimum(x, y), absolute(y + noise[-1]), where(x > 0, y, x)]
            terms = [x, y, *kinks, clip(noise[0] + x, -1, 1), *noise, *noise]
        parts = [term * Fraction(rng.randint(-4, 4), 8) for term in rng.sample(terms, rng.randint(2, 4))]
        return sum(parts, Fraction(rng.randint(-2, 2), 4))  # type: ignore[return-value]

    if rng.random() < 0.4 and not piecewise:
        plant = system.flow(Fraction(1, rng.randint(2, 8)), {x: expr(), y: expr()})
        system.branch("a", dict(plant.end))
    else:
        system.branch("a", {x: expr(), y: expr()})
    if rng.random() < 0.4:
        seen = x + noise[0] if rng.random() < 0.5 else x - 0
        system.branch("b", {x: expr(), y: expr()}, when=seen > Fraction(rng.randint(-4, 4), 4))
    low = [Fraction(rng.randint(-8, 8), 8) for _ in "xy"]
    high = [end + Fraction(rng.randint(0, 6), 8) for end in low]
    system.initial(x >= low[0], x <= high[0], y >= low[1], y <= high[1])

    def atom() -> str:
        value = rng.choice(("x", "y", "x + y", "x - y"))
        return f"{value} {rng.choice(('<', '>', '<=', '>='))} {Fraction(rng.randint(-12, 12), 8)}"

    k = rng.randint(1, 3)
    kinds = (
        f"EF^{k} {atom()}",
        f"EX^{k} {atom()}",
        f"EG^{k} {atom()}",
        f"E({atom()} U^{k} {atom()})",
        f"EX ({atom()} & EX {atom()})",
        f"EX {atom()} & EF^{k} {atom()}",
        f"EX {atom()} | EX^{k} {atom()}",
        f"EG^{k} ({atom()} | {atom()})",
    )
    return system, rng.choice(kinds)


def _margins(system: System, formula: Formula, state: dict[str, _Floats], noise: Sequence[dict[str, float]]) -> _Floats:
    """By how much a core formula without AX holds in each state of a batch, at least."""
    size = len(state["x"])
    match formula:
        case Atom(comparison):
            value = sum(float(c) * state[n] for n, c in comparison.expr.terms) + float(comparison.expr.constant)
            return np.asarray(-value if comparison.relation in (Relation.LT, Relation.LE) else value)
        case And(operands):
            return np.min([_margins(system, one, state, noise) for one in operands], axis=0)
        case Or(operands):
            return np.max([_margins(system, one, state, noise) for one in operands], axis=0)
        case EX(operand):
            found = np.full(size, -np.inf)
            ways = list(product(noise, range(len(system.branches))))
            if size * len(ways) > _MOST:
                return found
            every = {n: np.tile(v, len(ways)) for n, v in state.items() if n in ("x", "y")}
            every |= {n: np.repeat([values[n] for values, _ in ways], size) for n in noise[0]}
            after, enabled = step_batch(system, every, np.repeat([b for _, b in ways], size))
            below = np.where(enabled, _margins(system, operand, after, noise), -np.inf)
            return np.max(below.reshape(len(ways), size), axis=0)
    return np.full(size, np.inf if formula == nnf(parse("true", {})) else -np.inf)


def found(system: System, formula: str, states: dict[str, _Floats], grid: int) -> _Floats:
    """By how much the formula holds in states, so many values of each disturbance being tried."""
    ranges = {n: system.variables[n] for n in system.disturbances}
    values = [np.linspace(float(d.lower), float(d.upper), grid) for d in ranges.values()]
    noise = [dict(zip(ranges, map(float, each), strict=True)) for each in product(*values)]
    asked = nnf(parse(formula, system.vocabulary))
    with np.errstate(all="ignore"):
        return np.nan_to_num(_margins(drawn(system, 1), asked, states, noise), nan=-np.inf)


def check(seed: int, timeout: float, folder: Path, piecewise: bool = False) -> tuple[str, str | None]:
    """The verdict, and what is wrong with it."""
    system, formula = noisy_case(seed, piecewise)
    if not system.smooth and not piecewise:
        return "piecewise linear", None
    proof = folder / "proof"
    report = verify(system, formula, timeout=timeout, certificate=proof)
    name = f"seed {seed}, {formula}"
    if report.verdict is Verdict.VIOLATED:
        return "violated", _of_witness(system, formula, report, name)
    if report.verdict is not Verdict.SATISFIED:
        return f"unknown ({report.reason})", None
    if report.certificate is not None:
        check_certificate(proof, system)
    box = system.regions[0]
    rng = np.random.default_rng(seed)
    states = {}
    for variable in ("x", "y"):
        ends = [float(-c.expr.constant / c.expr.coefficients[variable]) for c in box if variable in c.expr.coefficients]
        states[variable] = rng.uniform(min(ends), max(ends), 20)
    best = np.full(20, -np.inf)
    for grid in _GRIDS:
        best = np.maximum(best, found(system, formula, states, grid))
        if (best > -_CLEAR).all():
            return "satisfied", None
    at = int(best.argmin())
    far = f"{name}: satisfied, but from {states['x'][at]}, {states['y'][at]} noise misses it by {-best[at]:.3g}"
    return "satisfied, not found by sampling", far if best[at] < -_FAR else None


def _of_witness(system: System, formula: str, report: Report, name: str) -> str | None:
    assert report.witness is not None
    state = {n: np.array([float(v)]) for n, v in report.witness.initial.items() if n in ("x", "y")}
    best = max(float(found(system, formula, state, grid)[0]) for grid in _GRIDS[:2])
    if best > _CLEAR:
        return f"{name}: violated in {report.witness.initial}, where noise brings it about by {best:.3g}"


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--first", type=int, default=0)
    args = parser.parse_args()
    counts: Counter[str] = Counter()
    wrong = []
    with TemporaryDirectory() as folder:
        for seed in range(args.first, args.first + args.cases):
            verdict, problem = check(seed, 5, Path(folder))
            counts[verdict] += 1
            if problem:
                wrong.append(problem)
                print(problem, flush=True)
    print(", ".join(f"{count} {verdict}" for verdict, count in counts.most_common()), f"; {len(wrong)} wrong")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
