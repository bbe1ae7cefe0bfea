"""Mutants of tube certificates of several loops: refused, or their claim is still true.

What an accepted certificate claims is judged without the checker: by sampled runs of a simulator of floats of its own
(numpy, scipy), each of which has to satisfy the claimed formula, and, where numbers of a network or of the plant were
changed, by the hash of the system, which the checker has to notice.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from tests.corpus.smooth import CLEAR, Case, built, question, random_case, run
from venmas.checker.file import check_certificate
from venmas.engine.verify import verify
from venmas.errors import InputError, VenmasError
from venmas.model import System
from venmas.nn import Network
from venmas.nn.network import Layer

Lines = list[dict[str, Any]]
_SAMPLES = 60
_SECONDS = 2.0


def loops(count: int, first: int) -> Iterator[tuple[Case, System, str, Lines, list[Any]]]:
    """Random loops that are proved, with the lines of their certificates and sampled runs."""
    seed = first
    found = 0
    while found < count:
        seed += 1
        case, rng = random_case(seed), Random(f"loop {seed}")
        points = []
        for k in range(_SAMPLES):
            share = [rng.choice((0.0, 1.0)) if k % 2 else rng.random() for _ in case.names]
            ends = zip(share, case.box.items(), strict=True)
            points.append({n: float(a) + (float(b) - float(a)) * s for s, (n, (a, b)) in ends})
        further = replace(case, steps=case.steps + 1)  # for claims about a step more
        runs = [states for point in points if (states := run(further, point))]
        if not runs or any(len(states) <= further.steps for states in runs):
            continue
        formula, _ = question(case, rng, [states[:-1] for states in runs])
        system = built(case)
        with TemporaryDirectory() as folder:
            path = Path(folder) / "proof"
            try:
                report = verify(system, formula, timeout=_SECONDS, certificate=path)
            except VenmasError:
                continue
            if str(report.verdict.value) != "satisfied" or not path.exists():
                continue
            lines = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
        if any(line.get("rule") == "tube" for line in lines):
            found += 1
            yield case, system, formula, lines, runs


_KINDS = ("drop", "twice", "swap", "number", "cut", "tube", "header", "formula", "junk", "bits")


def mutated(lines: Lines, formula: str, rng: Random) -> tuple[str, Lines]:
    """A kind of lie, and the lines with it."""
    changed, kind = deepcopy(lines), rng.choice(_KINDS)
    at = rng.randrange(len(changed))
    cuts = [line for line in changed if line.get("rule") == "cut"]
    tubes = [line for line in changed if line.get("rule") == "tube"]
    match kind:
        case "drop":
            del changed[at]
        case "twice":
            changed.insert(at, deepcopy(changed[rng.randrange(len(changed))]))
        case "swap":
            other = rng.randrange(len(changed))
            changed[at], changed[other] = changed[other], changed[at]
        case "number":
            key = rng.choice(sorted(changed[at]))
            value = changed[at][key]
            changed[at][key] = value + rng.choice((-1, 1, 7, -value)) if type(value) is int else rng.choice((1, "1/3"))
        case "cut" if cuts:
            cut = rng.choice(cuts)
            if rng.random() < 0.5:
                cut["variable"] = rng.randint(0, 3)
            else:
                cut["at"] = f"{rng.randint(-300, 300)}/{rng.choice((7, 100))}"
        case "header":
            key = rng.choice(sorted(changed[0]))
            changed[0][key] = rng.choice((None, 0, "", {}, [], "venmas-certificate-1", True))
        case "formula":
            changed[0]["claim"]["formula"] = _other_formula(formula, rng)
        case "junk":
            key = rng.choice(sorted(changed[at]))
            changed[at][key] = rng.choice((True, None, "1/0", [], {}, "2", -1, 10**30))
        case "bits":
            changed[1]["bits"] = rng.choice((8, 39, 40, 41, 50, 60, 100, 256, 257))
        case _:
            kind = "tube"
            key = rng.choice(("order", "substeps", "slices", "symbols"))
            rng.choice(tubes)[key] = rng.choice((0, 1, 1, 2, 3, 8, 10**6))
    return kind, changed


def _other_formula(text: str, rng: Random) -> str:
    """Another bound, another number of steps, another path quantifier."""
    head, _, rest = text.partition(">= ")
    moved = float(rest.rstrip(")")) + rng.choice((-1.0, -0.01, -0.001, 0.001, 0.01, 0.1, 1.0))
    if rng.random() < 0.3 and "^" in head:
        before, _, after = head.partition("^")
        steps, space, more = after.partition(" ")
        head = f"{before}^{max(1, int(steps) + rng.choice((-1, 1)))}{space}{more}"
    return f"{head}>= {moved:.3f})"


def holds(formula: str, runs: list[Any]) -> bool | None:
    """Do all sampled runs satisfy the formula, within `CLEAR`? None where they are too short to tell."""
    kind, steps = formula[:2], int(formula[3 : formula.index(" ")])
    sum_, _, bound = formula[formula.index("(") + 1 : -1].partition(">=")
    factors = [term.strip().split("*") for term in sum_.split(" + ")]
    of: Callable[[Mapping[str, float]], float] = lambda s: sum(float(c) * s[n] for c, n in factors)  # noqa: E731
    if any(len(states) <= steps for states in runs):
        return None
    fold = {"AG": min, "AX": lambda v: v[-1], "AF": max}[kind]
    return all(fold([of(s) for s in states[1 : steps + 1]]) - float(bound) > -CLEAR for states in runs)


def lies(system: System, lines: Lines, formula: str, runs: list[Any], rng: Random, folder: Path) -> tuple[str, str]:
    """A mutant's kind, and ``refused``, ``still true``, ``same``, or ``false: ..``."""
    kind, changed = mutated(lines, formula, rng)
    if changed == lines:
        return kind, "same"
    path = folder / "mutant"
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, changed)).encode()))
    try:
        check_certificate(path, system)
    except InputError:
        return kind, "refused"
    claimed = str(changed[0]["claim"]["formula"])
    if claimed == str(lines[0]["claim"]["formula"]):
        return kind, "still true"
    told = kind == "formula" and holds(claimed, runs)
    return kind, "still true" if told else f"false: {claimed} ({'too long to tell' if told is None else 'a sample'})"


def systems_lies(case: Case, lines: Lines, rng: Random, folder: Path) -> str:
    """The certificate as it is, of a system of which a number was changed: the plant, the network, or the start."""
    path = folder / "as-is"
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, lines)).encode()))
    try:
        check_certificate(path, built(changed_case(case, rng)))
    except InputError:
        return "refused"
    return "false: of another system"


def changed_case(case: Case, rng: Random) -> Case:
    """Another period, another start, another weight, or another number in a rate."""
    kind = rng.choice(("start", "rate", "weight"))
    if kind == "weight" and case.network is not None:
        layers = list(case.network.layers)
        at = rng.randrange(len(layers))
        weight = layers[at].weight.copy()
        weight.flat[rng.randrange(weight.size)] += rng.choice((-1e-3, 1e-9, 0.5))
        layers[at] = Layer(weight, layers[at].bias, layers[at].activation)
        return replace(case, network=Network(tuple(layers)))
    name = rng.choice(case.names)
    if kind == "start":
        low, high = case.box[name]
        return replace(case, box={**case.box, name: (low - Fraction(1, 1000), high)})
    return replace(
        case, rates={**case.rates, name: ("sum", Fraction(1), case.rates[name], Fraction(1, 1000), ("one",))}
    )


def smooth_certificates(count: int, first: int = 0) -> int:
    """So many mutants, over one loop for each fifty."""
    rng, table, wrong = Random(first), Counter[tuple[str, str]](), []
    with TemporaryDirectory() as name:
        folder = Path(name)
        for case, system, formula, lines, runs in loops(max(1, count // 50), 9_000_000 + 10_000 * first):
            for k in range(min(50, count)):
                if k % 10 == 9:
                    kind, what = "system", systems_lies(case, lines, rng, folder)
                else:
                    kind, what = lies(system, lines, formula, runs, rng, folder)
                table[kind, what.partition(":")[0]] += 1
                if what.startswith("false"):
                    wrong.append(what)
                    print(f"{formula}: {kind}: {what}", flush=True)
    ways = ("refused", "still true", "same", "false")
    print(f"| lie | {' | '.join(ways)} |\n|---|{'---|' * len(ways)}")
    for kind in (*_KINDS, "system"):
        print(f"| {kind} | {' | '.join(str(table[kind, way]) for way in ways)} |")
    print(f"\n{sum(table.values())} mutants, {len(wrong)} false ones accepted")
    return int(bool(wrong))
