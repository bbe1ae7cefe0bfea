"""Random systems: abstract graphs and verdicts of every variant of refinement against looking at every state."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import numpy as np

from tests.random_policies import (
    State,
    all_states,
    holds,
    initial_states,
    random_predicates,
    random_system,
    successors,
    verdict,
)
from venmas.checker.format.lines import Lines
from venmas.checker.format.numbers import CheckError
from venmas.checker.inductive.check import check_inductive as check_lines
from venmas.logic import Formula, nnf
from venmas.model.expressions.conditions import conjunction as conjoined
from venmas.model.expressions.conditions import disjunction as disjoined
from venmas.model.expressions.functions import apply_network, argmax
from venmas.model.invariant import Invariant
from venmas.model.system.system import System
from venmas.nn import relu_network
from venmas.procedures.inductive.merge import merged
from venmas.procedures.inductive.trees import closed
from venmas.procedures.predicate_abstraction.cegar import Cegar, ConcretePath
from venmas.procedures.predicate_abstraction.graph.explore import Explored
from venmas.procedures.predicate_abstraction.graph.graph import AbstractGraph, abstract
from venmas.procedures.predicate_abstraction.settings import OPTIONS, TESTS, Choices
from venmas.procedures.predicate_abstraction.states.predicates import of_formula
from venmas.procedures.predicate_abstraction.states.task import task_of

Counts = tuple[int, int, int, int]


def variants() -> list[Choices]:
    """The default, one option changed at a time, and pairs that matter to each other."""
    found = [Choices()]
    for option in OPTIONS:
        for value in option.values or ():
            if value not in (option.default, "eps"):
                found.append(Choices(**{option.name: value}))
    for start, refine, split in product(
        ("none",), ("shrink", "ws", "ce", "sens", "verix", "random"), ("witness", "mid", "random")
    ):
        found.append(Choices(first=start, refine=refine, split=split, seed=1))
    for refine in ("ws", "ce", "verix", "random", "shrink"):  # as published
        found.append(Choices(first="none", refine=refine, guards="all", cells="off", concretise="random", seed=2))
    for start, refine, split in product(("none", "guards"), ("ws", "sens", "random"), ("witness", "mid", "random")):
        found.append(Choices(first=start, refine=refine, split=split, cells="off", tests="relaxed-both", seed=3))
    return [*found, Choices(first="none", refine="verix", split="eps"), Choices(first="none", entailed="on")]


def counted(graph: AbstractGraph) -> Counts:
    return graph.starts, len(graph.states), len(graph.pairs), int(graph.unsafe.sum())


def brute(system: System, predicates: Sequence[Formula], unsafe: Formula) -> Counts:
    """Abstract starts, states, transitions and unsafe states, by every state of the box."""
    exact = [i for i, d in enumerate(system.variables.values()) if d.labels and len(d.labels) > d.upper - d.lower]
    columns = {name: i for i, name in enumerate(system.variables)}
    chosen = [p for formula in predicates for p in of_formula(formula, columns)]

    def image(state: State) -> tuple[object, ...]:
        return (*(p.value(state) for p in chosen), *(state[i] for i in exact))

    states = all_states(system)
    bad = {image(s) for s in states if holds(system, unsafe, s)}
    follows: dict[tuple[object, ...], set[tuple[object, ...]]] = {}
    for s in states:
        follows.setdefault(image(s), set()).update(image(t) for _, t in successors(system, s) if t is not None)
    starts = {image(s) for s in initial_states(system)}
    seen, waiting, pairs = set(starts), list(starts), 0
    while waiting:
        now = waiting.pop()
        if now in bad:
            continue
        pairs += len(follows[now])
        waiting += follows[now] - seen
        seen |= follows[now]
    return len(starts), len(seen), pairs, len(seen & bad)


def check_graph(seed: int) -> None:
    """The abstract graph of random predicates is the one that all states make."""
    rng = np.random.default_rng(seed)
    system = random_system(rng, may_leave=bool(rng.random() < 0.3), masking=seed % 4 == 1)
    predicates = random_predicates(rng, system, int(rng.integers(0, 6)))
    bad = system.propositions["bad"]
    graph = abstract(system, predicates, bad, seed=seed, tests=TESTS[seed % len(TESTS)])
    assert counted(graph) == brute(system, predicates, bad), seed
    for k in range(len(graph.source)):
        witness = tuple(graph.witness[k].tolist())
        (source,) = graph.cells.of(graph.witness[k : k + 1])
        assert (source == graph.states[graph.source[k]]).all(), seed
        branch = graph.task.operators[graph.operator[k]].branch
        after = dict(successors(system, witness))[branch]
        assert after is not None, seed
        (target,) = graph.cells.of(np.array([after]))
        assert (target == graph.states[graph.target[k]]).all(), seed


def check_verdict(seed: int, choices: Sequence[Choices]) -> None:
    """Every variant says what is so, and shows it: an inductive set, or a path; every third system is of moves."""
    rng = np.random.default_rng(seed)
    leaves, masking = bool(rng.random() < 0.3), seed % 4 == 1
    system = random_moves(rng, masking) if seed % 3 == 0 else random_system(rng, leaves, masking)
    bad = system.propositions["bad"]
    truth = verdict(system, bad)
    for chosen in choices:
        found = decided(system, bad, chosen, runs=seed % 2 == 0)
        if isinstance(found, Invariant):
            assert truth == "safe", (seed, chosen)
            assert is_inductive(system, bad, found), (seed, chosen)
            check_certificate(rng, system, bad, found)
        else:
            assert truth != "safe", (seed, chosen)
            check_path(system, bad, found, truth, chosen)


def decided(
    system: System, bad: Formula, choices: Choices, runs: bool
) -> Invariant | tuple[list[State], tuple[int, ...]]:
    """The inductive set, or states and branches of a path; runs: random ones are tried, which leave less to refine."""
    task = task_of(system)
    loop = Cegar(task, bad, choices)
    if not runs:
        loop._runs = lambda steps, starts: None  # type: ignore[method-assign]
    while True:
        found = loop.iterate()
        match found:
            case Explored():
                return loop.invariant(found)
            case ConcretePath(points, operators):
                width = len(task.names)
                branches = tuple(loop.task.operators[o].branch for o in operators)
                return [tuple(p[:width].tolist()) for p in points], branches


def is_inductive(system: System, bad: Formula, found: Invariant) -> bool:
    """Are all starts in the set, is nothing in it bad, and does nothing leave it?"""
    inside = {s for s in all_states(system) if found.holds([Fraction(x) for x in s])}
    return set(initial_states(system)) <= inside and all(
        not holds(system, bad, state) and all(after in inside for _, after in successors(system, state))
        for state in inside
    )


def check_certificate(rng: np.random.Generator, system: System, bad: Formula, found: Invariant) -> None:
    """The certificate of the set is accepted, and after a change of its set only where that is inductive, too."""
    found = merged(system, found)
    lines = [rule.to_json() for rule in closed(system, nnf(bad, negate=True), found, lambda: None)]
    assert _accepted(system, bad, found, lines)
    words = list(found.words)
    at = int(rng.integers(0, len(words)))
    if words[at] and rng.random() < 0.7:
        place = int(rng.integers(0, len(words[at])))
        words[at] = words[at][:place] + str(rng.choice(list("01-"))) + words[at][place + 1 :]
    else:
        del words[at]
    other = Invariant(found.predicates, tuple(words))
    assert is_inductive(system, bad, other) or not _accepted(system, bad, other, lines)


def _accepted(system: System, bad: Formula, invariant: Invariant, trees: list[dict[str, object]]) -> bool:
    """Does the checker accept these lines for a set?"""
    lines = Lines([*trees, {"rule": "end", "lines": len(trees) + 1}])
    try:
        check_lines(system, nnf(bad, negate=True), invariant, lines)
    except CheckError:
        return False
    return True


def check_path(
    system: System, bad: Formula, found: tuple[list[State], tuple[int, ...]], truth: str, choices: Choices
) -> None:
    """A run from a start to a bad state, or out of the box."""
    states, branches = found
    assert states[0] in initial_states(system), choices
    for state, branch, after in zip(states[:-1], branches, states[1:], strict=True):
        real = dict(successors(system, state))[branch]
        if real is None:
            assert truth in ("outside", "both"), choices
            return
        assert real == after, choices
    assert holds(system, bad, states[-1]), choices


def random_moves(rng: np.random.Generator, masking: bool = False) -> System:
    """A policy that walks on a grid of two or three integers from a corner, and a far corner that is bad.

    Its abstract paths are long, and mostly spurious by the policy. masking: labels that may be applied compete.
    """
    system, n = System("moves"), int(rng.integers(2, 4))
    names = [f"v{i}" for i in range(n)]
    values = [system.integer(name, 0, 8) for name in names]
    hidden, labels = 6, int(rng.integers(2, 4))
    weights = [rng.integers(-3, 4, (hidden, n)), rng.integers(-3, 4, (labels, hidden))]
    middles = rng.integers(1, 8, (hidden, n))
    biases = [-(weights[0] * middles).sum(1), rng.integers(-4, 5, labels)]  # units change within the grid
    network = relu_network([w.astype(float) for w in weights], [b.astype(float) for b in biases], name="p")
    moves = [
        [(int(rng.integers(0, n)), int(rng.choice([1, 1, 2, -1]))) for _ in range(int(rng.integers(1, 3)))]
        for _ in range(labels)
    ]
    able = [[values[v] <= 8 - step if step > 0 else values[v] >= -step for v, step in each] for each in moves]
    among = [disjoined(conditions) for conditions in able] if masking else None
    action = system.agent(argmax(apply_network(network, values), among=among))
    for label, (each, conditions) in enumerate(zip(moves, able, strict=True)):
        for k, ((v, step), condition) in enumerate(zip(each, conditions, strict=True)):
            system.branch(f"b{label}_{k}", {values[v]: values[v] + step}, when=(action == label) & condition)
    system.initial(*(v <= int(rng.integers(0, 3)) for v in values))
    system.proposition("bad", conjoined(v >= int(rng.integers(4, 8)) for v in values))
    return system
