"""Single changes to certificates of AG p: what is accepted is inductive, state by state, in exact numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from random import Random

import pytest

from tests.checker.finite_systems import all_states, closure, initial, random_property, random_system, successors
from tests.checker.mutants import another_claim
from tests.checker.proofs import Certified
from venmas.answer import IncompleteError
from venmas.checker.format.lines import Lines
from venmas.checker.inductive.check import check_inductive
from venmas.errors import InputError
from venmas.logic import Formula, nnf
from venmas.model import System, satisfies
from venmas.model.invariant import Invariant
from venmas.procedures.inductive.merge import merged
from venmas.procedures.inductive.trees import closed

Sample = tuple[Certified, Invariant]


def meets(system: System, holds: Formula, state: tuple[int, ...]) -> bool:
    """A formula about one state."""
    return satisfies(system, nnf(holds), dict(zip(system.variables, map(Fraction, state), strict=True)))


def is_inductive(system: System, holds: Formula, invariant: Invariant) -> bool:
    """The three obligations, state by state."""
    states = {s for s in all_states(system) if invariant.holds(s)}
    return (
        states.issuperset(initial(system))
        and all(meets(system, holds, s) for s in states)
        and all(states.issuperset(successors(system, s)) for s in states)
    )


def accepted(certified: Certified, invariant: Invariant) -> bool:
    """Does the checker accept it?"""
    try:
        check_inductive(certified.system, certified.formula, invariant, Lines(certified.lines), certified.semantics)
    except InputError:
        return False
    return True


def samples(rng: Random) -> Iterator[Sample]:
    """Valid certificates; their sets are closures, or larger ones where those are inductive."""
    while True:
        system = random_system(rng)
        states, inside = closure(system)
        holds = random_property(rng, system)
        if not inside or not all(meets(system, holds, s) for s in states):
            continue
        larger = {s for s in all_states(system) if meets(system, holds, s)}
        while larger != (kept := {s for s in larger if larger.issuperset(successors(system, s))}):
            larger = kept
        invariant = Invariant.of_states(system, sorted(larger if rng.random() < 0.5 else states))
        found = merged(system, invariant)
        lines = [rule.to_json() for rule in closed(system, holds, found, lambda: None)]
        certified = Certified(system, holds, True, (*lines, {"rule": "end", "lines": len(lines) + 1}))
        assert accepted(certified, found) and is_inductive(system, holds, found)
        yield certified, found


def _word(rng: Random, words: list[str]) -> str:
    """A word is dropped, made twice, or one of its literals becomes another one."""
    at = rng.randrange(len(words))
    if rng.random() < 0.4 or not words[at]:
        del words[at]
        return "word dropped"
    j = rng.randrange(len(words[at]))
    words[at] = words[at][:j] + rng.choice("01-") + words[at][j + 1 :]
    return "literal"


def _tree(rng: Random, lines: list[dict]) -> str | None:
    """A tree is dropped, or one of its numbers becomes another one."""
    trees = [i for i, line in enumerate(lines) if "tree" in line]
    if not trees:
        return None
    at = rng.choice(trees)
    if rng.random() < 0.3:
        del lines[at]
        lines[-1] = {"rule": "end", "lines": len(lines)}
        return "tree dropped"
    line = dict(lines[at])
    if rng.random() < 0.3:
        key = rng.choice([k for k in line if k not in ("tree", "rule")])
        line[key] += rng.choice((-1, 1))
        lines[at] = line
        return "place of a tree"
    line["tree"] = list(line["tree"])
    line["tree"][rng.randrange(len(line["tree"]))] = rng.randint(-2, 4)
    lines[at] = line
    return "cut"


def mutant(rng: Random, sample: Sample) -> tuple[str, Sample] | None:
    """One change to the set, to the trees, or to what is claimed."""
    certified, invariant = sample
    kind = rng.random()
    if kind < 0.3:
        words = list(invariant.words)
        name = _word(rng, words)
        return name, (certified, Invariant(invariant.predicates, tuple(words)))
    if kind < 0.45 and invariant.predicates:
        rows = [list(row) for row in invariant.predicates]
        row = rng.choice(rows)
        row[rng.randrange(len(row))] += rng.choice((-1, 1))
        return "predicate", (certified, Invariant(tuple(map(tuple, rows)), invariant.words))
    if kind < 0.65:
        lines = [dict(line) for line in certified.lines]
        name = _tree(rng, lines)
        return None if name is None else (name, (certified.but(lines=tuple(lines)), invariant))
    changed = another_claim(rng, certified)
    if changed is None or changed[1].semantics != "real" or not changed[1].inside:
        return None
    return changed[0], (changed[1], invariant)


def _run(count: int, seed: int) -> Counter[tuple[str, bool, bool]]:
    """(kind of change, whether the set is inductive still, whether it is accepted) -> number of mutants."""
    rng, found = Random(seed), Counter[tuple[str, bool, bool]]()
    valid = samples(rng)
    while found.total() < count:
        base = next(valid)
        for _ in range(6):
            changed = mutant(rng, base)
            if changed is None or changed[1] == base:
                continue
            name, (certified, invariant) = changed
            true = is_inductive(certified.system, certified.formula, invariant)
            found[name, true, accepted(certified, invariant)] += 1
    return found


def _judge(found: Counter[tuple[str, bool, bool]]) -> None:
    shown = "\n".join(f"{n:5} {name:18} {true!s:6} {answer}" for (name, true, answer), n in sorted(found.items()))
    print(shown)
    assert not sum(n for (_, true, answer), n in found.items() if answer and not true), shown
    assert sum(n for (_, true, _), n in found.items() if not true) > 0.4 * found.total(), shown


def test_mutants_are_accepted_only_where_the_set_is_inductive() -> None:
    _judge(_run(400, 5))


@pytest.mark.slow
def test_many_mutants() -> None:
    _judge(_run(6000, 77))


def test_a_set_that_is_not_inductive_is_not_written() -> None:
    rng = Random(2)
    valid, refused = samples(rng), 0
    while refused < 25:
        certified, invariant = next(valid)
        words = list(invariant.words)
        _word(rng, words)
        changed = Invariant(invariant.predicates, tuple(words))
        if is_inductive(certified.system, certified.formula, changed):
            continue
        with pytest.raises(IncompleteError):
            list(closed(certified.system, certified.formula, merged(certified.system, changed), lambda: None))
        refused += 1
