"""Random finite systems with questions of LTL or CTL, each beside one in which integers are real numbers.

Runs begin in one state of integers, so that both have the same runs. Either a variable, with all that depend on it,
is real, or a real variable beside it has the same values, and the formula speaks of that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from tests.corpus.finite import finite_spec
from tests.corpus.forever import opened
from tests.corpus.random_parts import formula as random_branching
from tests.corpus.spec import Spec, build
from tests.logic.automata.ltl_cases import random_formula
from tests.soundness.ltl_systems import atom_of
from venmas import verify
from venmas.checker.file import check_certificate
from venmas.checker.format.numbers import CheckError
from venmas.logic import Deadlock
from venmas.logic.formula import Formula
from venmas.logic.paths import Leaf, Proposition
from venmas.logic.printing import to_text
from venmas.logic.property import is_linear
from venmas.model.system.letters import branch_name


@dataclass(frozen=True)
class Copies:
    """A question about a finite system and about its copy; fair: a condition of fairness, or none."""

    finite: Spec
    real: Spec
    formula: str
    other: str
    fair: list[str]
    deadlock: Deadlock


def copies(seed: int, branching: bool = False) -> Copies:
    """The case of a seed. branching: with a question of CTL."""
    rng = Random(seed)
    while True:
        spec = finite_spec(rng)
        at = {name: rng.randint(int(low), int(high)) for name, (_, low, high) in spec.variables.items()}
        spec = replace(spec, initial=(("and", [("cmp", ("var", n), "==", v) for n, v in at.items()]),))
        names = [name for name, (kind, *_) in spec.variables.items() if kind == "integer"]
        if not names:
            continue
        name = rng.choice(names)
        real = _closed(spec, name) if rng.random() < 0.6 else None
        shown = name if real is not None else "copy"
        formula, fair = _branching(rng, spec) if branching else _asked(rng, spec)
        texts = [text.replace(f"{name} ", f"{shown} ") for text in (formula, *fair)]
        stay: Deadlock = "stutter" if rng.random() < 0.5 else "error"
        if len(fair) and texts[1:] != fair:
            continue
        return Copies(spec, real or _beside(spec, name), formula, texts[0], fair, stay)


def _asked(rng: Random, spec: Spec) -> tuple[str, list[str]]:
    names = list(spec.variables)
    atoms: tuple[Leaf, ...] = tuple(atom_of(rng, spec, name) for name in rng.sample(names, min(2, len(names))))
    if rng.random() < 0.3:
        atoms += (Proposition(branch_name(build(spec).branches[0].name)),)
    formula: Formula = random_formula(rng, rng.randint(2, 6), atoms)
    while not is_linear(formula):
        formula = random_formula(rng, rng.randint(2, 6), atoms)
    return to_text(formula), [to_text(rng.choice(atoms))] if rng.random() < 0.3 else []


def _branching(rng: Random, spec: Spec) -> tuple[str, list[str]]:
    names = list(spec.variables)
    while True:
        nested, size = rng.choice((1, 2, 3)), rng.randint(2, 6)
        made = opened(rng, random_branching(rng, lambda r: atom_of(r, spec, r.choice(names)), nested, size))
        if made.horizon is None:
            return to_text(made), []


def _beside(spec: Spec, name: str) -> Spec:
    """The system with a real variable that has the values of another one."""
    _, low, high = spec.variables[name]
    branches = tuple((guard, {**new, **({"copy": new[name]} if name in new else {})}) for guard, new in spec.branches)
    (begun,) = spec.initial
    value = next(part[3] for part in begun[1] if part[1] == ("var", name))
    first = ("and", [*begun[1], ("cmp", ("var", "copy"), "==", value)])
    return replace(spec, variables={**spec.variables, "copy": ("real", low, high)}, branches=branches, initial=(first,))


def _closed(spec: Spec, name: str) -> Spec | None:
    """The system in which a variable and all that depend on it are real; None where a choice needs an integer."""
    real = {name}
    while True:
        more = {n for _, new in spec.branches for n, e in new.items() if n not in real and real & set(_named(e))}
        if not more:
            break
        real |= more
    chosen = {part[1][1] for _, new in spec.branches for e in new.values() for part in _parts(e) if _selects(part)}
    if chosen & real or any(spec.variables[n][0] == "boolean" for n in real):
        return None
    kinds = {
        n: ("real", low, high) if n in real else (kind, low, high) for n, (kind, low, high) in spec.variables.items()
    }
    return replace(spec, variables=kinds)


def _selects(part: Any) -> bool:
    return isinstance(part, tuple) and len(part) > 1 and part[0] == "switch" and part[1][0] == "var"


def _named(node: Any) -> Iterator[str]:
    yield from (part[1] for part in _parts(node) if isinstance(part, tuple) and len(part) == 2 and part[0] == "var")


def _parts(node: Any) -> Iterator[Any]:
    yield node
    if isinstance(node, tuple | list):
        for part in node:
            yield from _parts(part)
    elif isinstance(node, dict):
        for part in node.values():
            yield from _parts(part)


def compare(seed: int, timeout: float = 20, branching: bool = False) -> str:
    """What came of a case: its verdict, ``unknown`` beside another one of the finite system, or ``wrong: ...``.

    Certificates are checked.
    """
    case = copies(seed, branching)
    finite, real = build(case.finite), build(case.real)
    options: dict[str, Any] = {} if branching else {"fair": case.fair, "deadlock": case.deadlock}
    truth = verify(finite, case.formula, timeout=timeout, **options).verdict
    with TemporaryDirectory() as folder:
        path = Path(folder) / "proof.gz"
        found = verify(real, case.other, timeout=timeout, certificate=path, **options)
        if found.satisfied and found.certificate is not None:
            try:
                check_certificate(path, real)
            except CheckError as error:
                return f"wrong: case {seed}, {case.other}: the certificate is refused: {error}"
    if (found.satisfied and truth != "satisfied") or (found.violated and truth == "satisfied"):
        return f"wrong: case {seed}, {case.other}: {found.verdict}, and {truth} of integers"
    return str(found.verdict) if found.verdict == truth else f"unknown beside {truth}"


def real_copies(count: int, first: int = 0, branching: bool = False) -> int:
    """Print what came of so many cases; the exit status."""
    found = Counter[str]()
    for seed in range(first, first + count):
        told = compare(seed, branching=branching)
        if told.startswith("wrong"):
            print(told, flush=True)
        found[told.partition(":")[0]] += 1
    print(", ".join(f"{number} {name}" for name, number in sorted(found.items())))
    return int("wrong" in found)
