"""Certificates in memory, made by the prover and given to the checker."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random
from typing import Any

from venmas.checker.exact.cell import fraction, rational
from venmas.checker.format.lines import Lines
from venmas.checker.format.numbers import CheckError
from venmas.checker.format.rule import Rule
from venmas.checker.goals.check import Checked, check, claim
from venmas.checker.goals.goals import Fact, Goal
from venmas.checker.goals.paths import Holds, Requires, Unless
from venmas.errors import ModelError
from venmas.logic import Formula, nnf, parse
from venmas.model import System, satisfies
from venmas.model.evaluation.simulate import Exact
from venmas.model.expressions.expr import ArgMax
from venmas.model.transform.cases import UnsuitableError
from venmas.procedures.exact.proof import Proof
from venmas.procedures.exact.search import Prover
from venmas.procedures.hybrid.view import Space
from venmas.procedures.reachability.graph.graph import Graph
from venmas.procedures.reachability.proof.certificate import GraphProof, IncompleteError

Line = dict[str, Any]


@dataclass(frozen=True)
class Certified:
    """A claim with the lines that are to prove it; line 0, the header, is left out."""

    system: System
    formula: Formula
    inside: bool
    lines: tuple[Line, ...]
    semantics: Any = "real"

    def but(self, **changes: Any) -> Certified:
        """The same with something changed."""
        return replace(self, **changes)


class SearchTooLongError(Exception):
    """The prover took more steps than a test has time for."""


def prover(system: System, formula: Formula, inside: bool, semantics: Any = "real", steps: int = 3000):
    """The prover's answer and its lines."""
    lines: list[Line] = []
    left = [steps]

    def tick() -> None:
        left[0] -= 1
        if left[0] < 0:
            raise SearchTooLongError

    proof = Prover(system, claim(system, formula, inside), lambda rule: lines.append(rule.to_json()), semantics).run(
        tick
    )
    return proof, lines


def proof_of(system: System, text: str | Formula, semantics: Any = "real", steps: int = 3000) -> Certified | None:
    """The certificate, or None where the prover has none (violated, or left open)."""
    formula = text if isinstance(text, Formula) else parse(text, system.vocabulary)
    proof, lines = Proof(), []
    for inside in (False, True):
        proof, lines = prover(system, formula, inside, semantics, steps)
        if not proof.left_box or inside or not proof.complete:
            break
    if not proof.complete:
        return None
    return Certified(system, formula, inside, (*lines, {"rule": "end", "lines": len(lines) + 1}), semantics)


def refusal(certified: Certified) -> str | None:
    """Why the checker refuses it; None when it is accepted."""
    try:
        checked(certified)
    except CheckError as error:
        return str(error)
    return None


def checked(certified: Certified) -> Checked:
    """What the checker says. Raises `CheckError`."""
    lines = Lines(certified.lines)
    return check(certified.system, certified.formula, certified.inside, lines, certified.semantics)


def claiming(header: Line, **changes: Any) -> Line:
    """A header with other fields of its claim; None: left out."""
    claim_ = {**header["claim"], **changes}
    return {**header, "claim": {key: value for key, value in claim_.items() if value is not None}}


def about(header: Line, **changes: Any) -> Line:
    """A header with another subject."""
    return {**header, "subject": {**header["subject"], **changes}}


def is_violated(system: System, formula: Formula, state: dict[str, Fraction]) -> bool:
    """Exactly, by running the system."""
    return not satisfies(system, nnf(formula), state)


def meets(goal: Goal, x: dict[str, Fraction]) -> bool:
    """Does the initial state meet a goal: its cell, obligations, facts and assumptions? By the exact simulator."""
    system, cell = goal.world.system, goal.world.cell
    if any(x[n] != fraction(f[0]) for n, f in goal.world.start.items() if not any(f[1:])):
        return False
    point = [rational(x[n]) for n in cell.names]
    if any(not a <= v <= b for a, v, b in zip(cell.low, point, cell.high, strict=True)):
        return False
    for row in cell.rows:
        value = row.form[0] + sum((c * v for c, v in zip(row.form[1:], point, strict=True)), rational(0))
        if value < 0 or (row.strict and value == 0):
            return False

    def after(path: tuple[int, ...]) -> Exact:
        state = dict(x)
        for i in path:
            here = Exact(state)
            state = state | {n: here.value(e) for n, e in system.branches[i].updates}
        return Exact(state)

    def holds(part: Any) -> bool:
        here = after(part.path)
        match part:
            case Holds(_, formula):
                try:
                    return satisfies(system, formula, dict(here.state))
                except ModelError:  # beyond the declared box, behind a guard that does not hold
                    return False
            case Unless(path, branch, formula):
                return not here.truth(system.branches[branch].guard) or holds(Holds((*path, branch), formula))
            case Requires(_, condition):
                return here.truth(condition)
            case Fact(_, expr, relation):
                return relation.holds(here.value(expr))
        raise TypeError(part)

    nodes = {id(n): n for _, n in system.nodes()} if goal.world.assumed else {}
    for path, outcomes in goal.world.assumed.items():
        for key, outcome in outcomes.items():
            node, here = nodes[key], after(path)
            if outcome != (int(here.value(node)) if isinstance(node, ArgMax) else int(here.truth(node))):
                return False
    return all(holds(part) for part in (*goal.facts, *goal.todo))


def random_form(rng: Random, size: int) -> list[str]:
    """Small rationals, some of them zero."""
    return [str(Fraction(rng.randint(-8, 8), rng.randint(1, 4)) * rng.choice((0, 1, 1))) for _ in range(size + 1)]


def graph_proof(
    system: System, text: str | Formula, semantics: Any = "real", inside: bool = False, most: int = 2000
) -> Certified | None:
    """The certificate that a reach graph of few passes gives, or None where it gives none of at most so many lines."""
    formula = text if isinstance(text, Formula) else parse(text, system.vocabulary)
    lines: list[Line] = []

    def write(rule: Rule) -> None:
        lines.append(rule.to_json())
        if len(lines) > most:
            raise IncompleteError("too long")

    try:
        space = Space(system, semantics == "float32")
        for box in (False, True)[inside:]:
            target = claim(system, formula, box)
            graph = Graph(space, target, lambda: None, keep=True)
            while not graph.refine():
                if graph.counts.passes >= 4 or graph.counts.pieces > 500:
                    return None
            proof = GraphProof(graph, target, write, semantics)
            proof.run()
            if box or not (graph.may_leave_box or proof.left_box):
                return Certified(system, formula, box, (*lines, {"rule": "end", "lines": len(lines) + 1}), semantics)
            lines.clear()
    except (IncompleteError, UnsuitableError, ModelError, OverflowError):
        return None
    raise AssertionError("the second round ends")
