"""Questions beside exactly known decision boundaries: what is asked, and the truth, found without the verifier."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from experiments.published.checks import frozen_lake
from tests.soundness.regions import Piece, Q, box, q, through, winning
from tests.soundness.vcas_runs import Loop, flips, least_altitude
from venmas import System, load_network, load_scenario
from venmas.logic import AX, Atom, FiniteModel, Formula, evaluate, parse
from venmas.logic.linear import Comparison, LinearExpr, Relation
from venmas.model import Vector, apply_network, argmax, switch
from venmas.model.expressions.expr import Expr
from venmas.nn import Network, relu_network

MOVES = (Fraction(0), *(sign * Fraction(s) for s in ("1e-6", "1e-8", "1e-9", "1e-12") for sign in (1, -1)))


@dataclass(frozen=True)
class Question:
    """One question; `moved` is how far its threshold is from the boundary, `holds` the truth."""

    family: str
    name: str
    moved: Fraction
    system: System
    formula: Formula
    holds: bool


def _fraction(value: Q) -> Fraction:
    return Fraction(int(value.numerator), int(value.denominator))


def _atom(variable: str, relation: Relation, threshold: Fraction) -> Formula:
    return Atom(Comparison(LinearExpr.of({variable: Fraction(1)}, -threshold), relation))


def random_network(seed: int, *sizes: int) -> Network:
    """Weights drawn from normal distributions."""
    rng = np.random.default_rng(seed)
    pairs = list(zip(sizes[1:], sizes[:-1], strict=True))
    weights = [rng.normal(0, (2 / n) ** 0.5, (m, n)) for m, n in pairs]
    return relu_network(weights, [rng.normal(0, 0.5, m) for m, _ in pairs], name=f"random {seed}")


def random_thresholds(seed: int, *sizes: int) -> Iterator[Question]:
    """``AX (y < c)`` and ``AX (y <= c)`` with c beside the greatest output over [-1, 1]^n."""
    network = random_network(seed, *sizes)
    pieces = through(network, box(*[(q(-1), q(1))] * sizes[0]))
    most = _fraction(max(v[0] for p in pieces for v in p.values))
    system = System("random")
    x, y = system.reals("x", sizes[0], -1, 1), system.real("y", -1000, 1000)
    system.branch("step", y=apply_network(network, x)[0])
    system.initial(y == 0)
    family = f"random {sizes[0]}-D, threshold"
    for moved in MOVES:
        for relation in (Relation.LT, Relation.LE):
            holds = relation.holds(Fraction(0), moved)
            name = f"{network.name}, y {relation.value}"
            yield Question(family, name, moved, system, AX(_atom("y", relation, most + moved)), holds)


def random_winners(seed: int, j: int, *sizes: int) -> Iterator[Question]:
    """Can output j win over [-1, 1]^n when it is given a handicap?"""
    piece = box(*[(q(-1), q(1))] * sizes[0])
    yield from _winners(f"random {sizes[0]}-D, argmax", random_network(seed, *sizes), piece, j, list)


def vcas_winners(folder: Path, adv: int, j: int, h: tuple[int, int], climb: tuple[int, int]) -> Iterator[Question]:
    """Can advisory j be chosen from a rectangle of altitudes and climb rates, 25 s before, with a handicap?"""
    rectangle = box((q(h[0]), q(h[1])), (q(climb[0]), q(climb[1])))
    piece = rectangle.mapped(lambda p, _: (p[0] / 16000, p[1] / 5000, q(1, 8)))

    def inputs(x: Sequence[Expr]) -> list[Expr | Fraction]:
        return [x[0] / 16000, x[1] / 5000, Fraction(1, 8)]

    yield from _winners("vcas 2-D, argmax", _vcas_network(folder, adv), piece, j - 1, inputs)


def _vcas_network(folder: Path, adv: int) -> Network:
    return load_network(folder / f"VertCAS_noResp_pra0{adv}_v9_20HU_200.onnx")


def _winners(
    family: str, network: Network, piece: Piece, j: int, inputs: Callable[[Sequence[Expr]], Sequence[Expr | Fraction]]
) -> Iterator[Question]:
    margin, wins_tie = winning(network, piece, j)
    ends = [(_fraction(min(side)), _fraction(max(side))) for side in zip(*piece.points, strict=True)]
    for moved in MOVES:
        if moved == 0 and wins_tie is None:
            continue
        system = System("winner")
        x = [system.real(f"x[{i}]", *e) for i, e in enumerate(ends, 1)]
        best = system.integer("best", 0, network.output_size - 1)
        scores = apply_network(network, inputs(x))
        handicap = moved - _fraction(margin)
        system.branch("step", best=argmax(s + handicap if i == j else s for i, s in enumerate(scores)))
        system.initial(best == 0)
        able = moved > 0 or (moved == 0 and bool(wins_tie))
        formula = AX(_atom("best", Relation.NE, Fraction(j)))
        yield Question(family, f"{network.name}, output {j}", moved, system, formula, not able)


def vcas_altitudes(folder: Path, climb: str, steps: int) -> Iterator[Question]:
    """``AX^k (h > c)`` and ``AX^k (h >= c)`` with c beside the least altitude after k steps."""
    loop = Loop([_vcas_network(folder, i) for i in range(1, 10)])
    least, attained = least_altitude(loop, q(-133), q(-129), q(Fraction(climb)), steps)
    system = load_scenario("vcas").system(folder, climb0=climb)
    for moved in MOVES:
        for relation in (Relation.GT, Relation.GE):
            formula = _atom("h", relation, _fraction(least) + moved)
            for _ in range(steps):
                formula = AX(formula)
            holds = moved < 0 or (moved == 0 and (relation is Relation.GE or not attained))
            name = f"climb {climb}, k = {steps}, h {relation.value}"
            yield Question("vcas 1-D, threshold", name, moved, system, formula, holds)


def vcas_flips(folder: Path, climb: str, low: int, high: int, count: int) -> Iterator[Question]:
    """Initial sets that end beside an altitude where the advisory changes: is it everywhere the one below?"""
    loop = Loop([_vcas_network(folder, i) for i in range(1, 10)])
    for at, begin, below, there in flips(loop, q(low), q(high), q(Fraction(climb)))[:count]:
        for moved in MOVES:
            ends = {"h_min": _fraction((begin + at) / 2), "h_max": _fraction(at) + moved}
            system = load_scenario("vcas").system(folder, climb0=climb, **ends)
            holds = moved < 0 or (moved == 0 and there == below)
            name = f"climb {climb}, advisory {below} up to h = {float(at):.3f}"
            formula = AX(_atom("adv", Relation.EQ, Fraction(below)))
            yield Question("vcas 1-D, argmax", name, moved, system, formula, holds)


STEPS = {0: (0, -1), 1: (1, 0), 2: (0, 1), 3: (-1, 0)}


def _moved(cell: int, direction: int) -> int:
    row, column = cell // 3 + STEPS[direction % 4][0], cell % 3 + STEPS[direction % 4][1]
    return 3 * row + column if row in range(3) and column in range(3) else cell


def lake_policies(folder: Path, count: int) -> Iterator[Question]:
    """FrozenLake with a handicap for one direction, so that the policy in one cell turns: finite, so enumerated."""
    network = load_network(folder / "agent.h5")
    scores = [network.evaluate_exact([Fraction(int(i == c)) for i in range(9)]) for c in range(9)]
    states = frozen_lake(network).valuations
    formulas = [f"AG^{k} (cell[3] < 0.1 & cell[7] < 0.1)" for k in (2, 3)]
    formulas += [f"AF^{k} (cell[{c}] > 0.9)" for k in (2, 4) for c in (4, 8)] + ["EF^4 (cell[9] > 0.9)"]
    found = 0
    for cell, j, formula in ((c, j, f) for c in range(9) for j in range(4) for f in formulas):
        rest = [s for i, s in enumerate(scores[cell]) if i != j]
        gap = max(rest) - scores[cell][j]
        questions = []
        for moved in MOVES:
            raised = [[s + (gap + moved if i == j else 0) for i, s in enumerate(row)] for row in scores]
            policy = [row.index(max(row)) for row in raised]
            successors = tuple(tuple(_moved(c, policy[c] + turn) for turn in (-1, 0, 1)) for c in range(9))
            system = _lake(network, j, gap + moved)
            parsed = parse(formula, system.vocabulary)
            holds = 0 in evaluate(parsed, FiniteModel(9, successors, states))
            name = f"cell {cell + 1}, direction {j}, {formula}"
            questions.append(Question("frozenlake, argmax", name, moved, system, parsed, holds))
        if len({x.holds for x in questions}) == 2:
            yield from questions
            found += 1
            if found == count:
                return


def _lake(network: Network, j: int, handicap: Fraction) -> System:
    system = System("lake")
    cell = system.booleans("cell", 9)
    scores = apply_network(network, cell)
    action = system.agent(argmax(s + handicap if i == j else s for i, s in enumerate(scores)))
    for turn in (-1, 0, 1):
        targets = {d: [_moved(c, d + turn) for c in range(9)] for d in range(4)}
        after = {
            d: Vector(sum(cell[c] for c in range(9) if t[c] == n) + 0 for n in range(9)) for d, t in targets.items()
        }
        system.branch(f"turn {turn}", {cell: switch(action, after)})
    system.initial(*(cell[c] == (1 if c == 0 else 0) for c in range(9)))
    return system


def all_questions(data: Path, quick: bool = False) -> Iterator[Question]:
    """More than 300; quick: every family once."""
    vcas, few = data / "vcas", (lambda found: found[:1]) if quick else list
    for seed in few([1, 2, 3]):
        yield from random_thresholds(seed, 1, 10, 10, 1)
    for seed in few([4, 5]):
        yield from random_thresholds(seed, 2, 8, 8, 1)
    for seed, j in few([(6, 1), (7, 2), (8, 0)]):
        yield from random_winners(seed, j, 1, 10, 10, 4)
    for seed, j in few([(9, 1), (10, 2), (11, 0)]):
        yield from random_winners(seed, j, 2, 8, 8, 4)
    for climb, steps in few([("-19.5", 1), ("-22.5", 2), ("-40", 3), ("-30.25", 2)]):
        yield from vcas_altitudes(vcas, climb, steps)
    yield from vcas_flips(vcas, "-19.5", -1000, 1000, 1 if quick else 4)
    if not quick:
        yield from vcas_flips(vcas, "12", -1500, 1500, 4)
    boxes = [(1, 2, (-140, -100), (-25, -15)), (1, 3, (200, 260), (-10, 0)), (4, 5, (-30, 20), (-40, -30))]
    for adv, j, h, rate in few(boxes):
        yield from vcas_winners(vcas, adv, j, h, rate)
    yield from lake_policies(data / "frozenlake", 1 if quick else 5)
