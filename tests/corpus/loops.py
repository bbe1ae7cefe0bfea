"""Random loops over one or two reals, asked without bounds: ``python -m tests.corpus.loops --cases 500 --seed 1``.

Every question goes to the whole portfolio, to derivations alone and to cells alone, and, of every third case, to the
same loop with noise of its sensor. No two may contradict each other, none may contradict the runs, certificates have
to be accepted, and what holds on all paths under more noise holds under less.

The runs are exact: from some initial states all that is reached in a number of states, and the formula on that graph
with the steps from its rim taken to be all bad, and all good: what is true of the one is true of the loop, what is
false of the other is false. Exit status 1 when anything disagrees.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from random import Random

from tests.corpus.fixpoints import holding
from tests.corpus.forever import run
from tests.corpus.random_parts import quarters
from tests.corpus.spec import Node, Spec, State, build, starts, step
from venmas import verify
from venmas.answer import Unknown
from venmas.checker.file import check_certificate
from venmas.checker.forever.sequents import INIT, Sequent
from venmas.errors import Reason
from venmas.logic import Formula, parse_property
from venmas.procedures.forever.procedure import ForeverSession

BOX = Fraction(4)
SHAPES = (
    *("AG p", "AF q", "EF q", "EG p", "AG EF q", "AG AF q", "AF AG p", "EF AG p", "EG EF q", "EF EG p", "EG AF q"),
    *("A(p U q)", "E(p U q)", "AG (q -> AF p)", "AG (p -> EF q)", "A(p U AG q)", "AF (q & EX p)", "AG (p | AX AF q)"),
)
LINEAR = {"AG AF q": "G F q", "AF AG p": "F G p", "AG (q -> AF p)": "G (q -> F p)", "AF q": "F q", "AG p": "G p"}
WIDTHS = (Fraction(1, 8), Fraction(1, 2))
_STATES = 120
_POINTS = 12
PARTS = {"all": (), "derivations": ("_on_cells", "_lasso"), "cells": ("_satisfied", "_violated", "_lasso")}
"""Ways to ask, and what is left out of each."""


@dataclass(frozen=True)
class Loop:
    """A loop, and questions about it with p and q put in."""

    spec: Spec
    shapes: tuple[str, ...]
    texts: tuple[str, ...]


def loop(seed: int) -> Loop:
    """The case of a seed: slopes and thresholds in quarters, updates held at the ends of the box."""
    rng = Random(f"loop {seed}")
    names = ["x", "y"][: rng.choice((1, 1, 2))]
    switch: Node = ("cmp", ("var", rng.choice(names)), rng.choice(("<", "<=", ">", ">=")), quarters(rng))
    branches = []
    for number in range(rng.choice((1, 1, 2))):
        new: dict[str, Node] = {}
        for name in names:
            kind, one, other = rng.random(), _affine(rng, name, names), _affine(rng, name, names)
            new[name] = ("clip", ("where", switch, one, other) if kind < 0.5 else one, -BOX, BOX)
        guard = None if number == 0 or rng.random() < 0.7 else switch
        branches.append((guard, new))
    lows = {name: quarters(rng) for name in names}
    first = [
        ("cmp", ("var", n), sign, low if sign == ">=" else low + Fraction(rng.randint(0, 4), 4))
        for n, low in lows.items()
        for sign in (">=", "<=")
    ]
    spec = Spec(dict.fromkeys(names, ("real", -BOX, BOX)), tuple(branches), (("and", first),))
    shapes = tuple(rng.sample(SHAPES, 3))
    p, q = (" & ".join(_atom(rng, names) for _ in range(rng.choice((1, 1, 2)))) for _ in range(2))
    return Loop(spec, shapes, tuple(put(shape, p, q) for shape in shapes))


def put(shape: str, p: str, q: str) -> str:
    """A shape with its propositions."""
    return shape.replace("p", "$").replace("q", f"({q})").replace("$", f"({p})")


def _affine(rng: Random, name: str, names: list[str]) -> Node:
    slope = Fraction(rng.choice((-3, -2, 0, 1, 2, 2, 3, 3, 4, 4, 5)), 4)
    others = [(Fraction(rng.choice((-2, -1, 1, 2)), 4), ("var", n)) for n in names if n != name]
    return ("lin", [(slope, ("var", name)), *others], Fraction(rng.choice((-4, -2, -1, 0, 0, 1, 2, 4)), 4))


def _atom(rng: Random, names: list[str]) -> str:
    return f"{rng.choice(names)} {rng.choice(('<', '<=', '>', '>='))} {quarters(rng)}"


def noisy(spec: Spec, width: Fraction) -> Spec:
    """The loop with noise on what its updates read of the first variable."""
    name = next(iter(spec.variables))
    read = ("lin", [(Fraction(1), ("var", name)), (Fraction(1), ("var", "w"))], Fraction(0))

    def put_in(node: object) -> object:
        if node == ("var", name):
            return read
        return type(node)(put_in(part) for part in node) if isinstance(node, tuple | list) else node

    branches = tuple((put_in(guard), {n: put_in(e) for n, e in new.items()}) for guard, new in spec.branches)
    return replace(spec, branches=branches, noise={"w": (-width, width)})  # type: ignore[arg-type]


# -- what runs show ----------------------------------------------------------------------------------------------------


def points(rng: Random, spec: Spec) -> list[State]:
    """Initial states: corners first."""
    ((_, parts),) = spec.initial
    ends = {name: (low[3], high[3]) for name, low, high in zip(spec.variables, parts[::2], parts[1::2], strict=True)}
    found = [{n: pair[k >> i & 1] for i, (n, pair) in enumerate(ends.items())} for k in range(2 ** len(ends))]
    while len(found) < _POINTS:
        found.append({n: low + (high - low) * Fraction(rng.randint(0, 64), 64) for n, (low, high) in ends.items()})
    return [s for s in found if starts(spec, s)]


def truth(spec: Spec, core: Formula, start: State) -> bool | None:
    """What the runs from a state show of a formula."""
    states, index, edges = [start], {tuple(start.values()): 0}, list[list[int]]()
    while len(edges) < len(states) and len(states) < _STATES:
        here, row = states[len(edges)], []
        for new in step(spec, here):
            if new is not None:
                key = tuple(new[n] for n in spec.variables)
                if key not in index:
                    index[key] = len(states)
                    states.append({n: new[n] for n in spec.variables})
                row.append(index[key])
        edges.append(row)
    if 0 in holding(core, states, edges, rim=False):
        return True
    return None if 0 in holding(core, states, edges, rim=True) else False


# -- asking ------------------------------------------------------------------------------------------------------------


@contextmanager
def without(names: tuple[str, ...]) -> Iterator[None]:
    """The procedure with these ways left out."""
    kept = {name: getattr(ForeverSession, name) for name in names}
    for name in names:
        setattr(ForeverSession, name, lambda *_: Unknown(Reason.OPEN, ""))
    try:
        yield
    finally:
        for name, way in kept.items():
            setattr(ForeverSession, name, way)


def ask(spec: Spec, text: str, path: Path, timeout: float) -> str:
    """The verdict; of what is satisfied the certificate is checked, of what is violated the replay."""
    report = verify(build(spec), text, timeout=timeout, certificate=path)
    if report.satisfied and report.certificate is not None:
        check_certificate(path, build(spec))
    elif report.satisfied:
        return f"satisfied without certificate ({'; '.join(report.notes)})"
    if report.violated and report.lasso is None and not (report.replay is not None and report.replay.confirmed):
        return "violated without replay"
    return str(report.verdict)


def check(seed: int, folder: Path, counts: Counter[str], timeout: float = 3.0) -> list[str]:
    """What is wrong with a case."""
    case, path, wrong = loop(seed), folder / "proof.gz", list[str]()
    starting = points(Random(seed), case.spec)
    ended = any(guard is not None for guard, _ in case.spec.branches)
    for shape, text in zip(case.shapes, case.texts, strict=True):
        core = Sequent.of(INIT, parse_property(text, build(case.spec).vocabulary).formula).formula
        seen = [truth(case.spec, core, s) for s in starting]
        verdicts = {"runs": "violated" if False in seen else "unknown"}
        for way, left_out in PARTS.items():
            with without(left_out):
                verdicts[way] = ask(case.spec, text, path, timeout)
        if shape in LINEAR and not ended:
            linear = text.replace("AG ", "G ").replace("AF ", "F ")
            verdicts["LTL"] = ask(case.spec, linear, path, timeout)
        if seed % 3 == 0:
            for width in WIDTHS:
                verdicts[f"noise {width}"] = ask(noisy(case.spec, width), text, path, timeout)
        counts.update(f"{way}: {verdict}" for way, verdict in verdicts.items())
        if problem := contradiction(shape, verdicts):
            wrong.append(f"seed {seed}: {text}: {problem}: {verdicts}")
    return wrong


def contradiction(shape: str, verdicts: dict[str, str]) -> str:
    """What does not go together."""
    same = {v for way, v in verdicts.items() if way != "LTL" and way in (*PARTS, "runs")}
    if {"satisfied", "violated"} <= same:
        return "two verdicts"
    linear = verdicts.get("LTL", "unknown")
    if {linear, verdicts["all"]} == {"satisfied", "violated"} and (shape != "AF AG p" or linear == "violated"):
        return "LTL and CTL"  # F G p is weaker than AF AG p
    if "E" not in shape:
        order = [verdicts["all"], *(verdicts[f"noise {w}"] for w in WIDTHS if f"noise {w}" in verdicts)]
        if any(verdict == "violated" and "satisfied" in order[i:] for i, verdict in enumerate(order)):
            return "more noise made it true"
    return ""


if __name__ == "__main__":
    sys.exit(run(__doc__, check, cases=500))
