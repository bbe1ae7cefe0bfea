"""Properties without a bound of random finite systems: ``python -m tests.corpus.forever --cases 3000 --seed 1``.

The truth is that of fixpoints over all states (`venmas.logic.evaluate`). A violation has to replay, and the certificate
of what is satisfied has to be accepted by the checker. Exit status 1 when anything disagrees.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from tests.corpus.finite import finite_spec, model
from tests.corpus.random_parts import formula, integers, linear_atom
from tests.corpus.spec import Spec, build
from venmas import verify
from venmas.checker.file import check_certificate
from venmas.logic import (
    AX,
    EX,
    And,
    Finally,
    Formula,
    Globally,
    Iff,
    Implies,
    Next,
    Not,
    Or,
    Quantifier,
    Until,
    evaluate,
)


@dataclass(frozen=True)
class Case:
    """A system, a property without a bound, and whether every initial state satisfies it."""

    spec: Spec
    formula: Formula
    truth: bool


def case(seed: int) -> Case:
    """The case of a seed: AG p with p about one state in two of five, else whatever the grammar has."""
    rng = Random(f"for ever {seed}")
    while True:
        spec = finite_spec(rng)
        explicit, initial = model(spec)
        atom = partial(linear_atom, names=tuple(spec.variables), number=integers)
        if rng.random() < 0.4:
            asked: Formula = Globally(Quantifier.ALL, 0, None, formula(rng, lambda r, a=atom: a(r), 0, 4))
        else:
            asked = opened(rng, formula(rng, lambda r, a=atom: a(r), rng.choice((1, 2, 3)), rng.randint(3, 7)))
        if initial and asked.horizon is None:
            return Case(spec, asked, set(initial) <= evaluate(asked, explicit))


def opened(rng: Random, node: Formula) -> Formula:
    """The formula with most windows left open."""
    parts = [opened(rng, child) for child in node.children]
    match node:
        case Globally(quantifier, start, end, _) | Finally(quantifier, start, end, _):
            return type(node)(quantifier, start, None if rng.random() < 0.8 else end, parts[0])
        case Until(quantifier, start, end, _, _):
            return Until(quantifier, start, None if rng.random() < 0.8 else end, *parts)
        case Next(quantifier, k, _):
            return Next(quantifier, k, parts[0])
        case And() | Or():
            return type(node)(tuple(parts))
        case Not() | Implies() | Iff() | AX() | EX():
            return type(node)(*parts)
    return node


def check(seed: int, folder: Path) -> tuple[str, str]:
    """What became of a case, and what is wrong with it (empty: nothing)."""
    asked = case(seed)
    system, path = build(asked.spec), folder / "proof.gz"
    report = verify(system, asked.formula, certificate=path)
    kind = f"{report.kind}, {report.verdict}"
    if report.verdict == "unknown":
        return kind, f"unknown ({report.reason}): {report.message}"
    if report.satisfied is not asked.truth:
        return kind, f"{report.verdict}, and it is {asked.truth}"
    if report.violated:  # verify has replayed it
        return kind, "" if report.replay is not None and report.replay.confirmed else "no replay"
    if report.certificate is None:
        return kind, f"no certificate: {'; '.join(report.notes)}"
    check_certificate(path, build(asked.spec))
    return f"{kind}, certified", ""


def checked(seed: int, folder: Path, counts: Counter[str]) -> list[str]:
    """What is wrong with a case, which is counted."""
    kind, problem = check(seed, folder)
    counts[kind] += 1
    return [f"seed {seed}: {case(seed).formula}: {problem}"] if problem else []


def run(description: str | None, check: Callable[[int, Path, Counter[str]], list[str]], cases: int) -> int:
    """Check random cases as the command line says, and print what is wrong and the counts; the exit status."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=cases)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    counts: Counter[str] = Counter()
    wrong, begun = 0, time.monotonic()
    with TemporaryDirectory() as folder:
        for seed in range(given.seed * 1_000_000, given.seed * 1_000_000 + given.cases):
            for problem in check(seed, Path(folder), counts):
                wrong += 1
                print(problem, flush=True)
    for kind, number in sorted(counts.items()):
        print(f"{number:6}  {kind}")
    print(f"{wrong} wrong of {given.cases}; {time.monotonic() - begun:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(run(__doc__, checked, cases=3000))
