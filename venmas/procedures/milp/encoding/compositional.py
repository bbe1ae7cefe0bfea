"""The compositional encoding (paper, Fig. 7, Algorithm 2) for the whole logic, as a lazy depth-first stream.

A tableau: obligations "this formula in that state" are taken one at a time. EX and temporal disjunctions branch, AX
asks every successor in turn (which walks the product of their streams), and whatever the bounds refute is cut off on
the spot, at any depth. What remains at the end of a path, atoms and undecided guards, becomes one small program. As in
the paper's implementation, disjunctions without temporal operators are left to the program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from venmas.bounds.states import State, Step
from venmas.bounds.truth import Oracle
from venmas.budget import asking
from venmas.logic import AX, EX, And, Formula, Or
from venmas.logic.linear import LinearExpr
from venmas.model.expressions.expr import Truth
from venmas.procedures.milp.encoding.formulas import FormulaEncoder
from venmas.procedures.milp.encoding.states.spread import Spread
from venmas.solvers.milp.terms import ONE, ReluEncoding


@dataclass(frozen=True, eq=False)
class Holds:
    """The formula holds in the state."""

    state: State
    formula: Formula


@dataclass(frozen=True, eq=False)
class Blocked:
    """Either the guard of the step fails in the state, or the formula holds after it."""

    state: State
    step: Step
    formula: Formula


@dataclass(frozen=True, eq=False)
class Requires:
    """The guard of the step holds in the state, or fails there."""

    state: State
    step: Step
    holds: bool


@dataclass(frozen=True, eq=False)
class Follows:
    """The path takes the step."""

    state: State
    step: Step


Fact: TypeAlias = Holds | Requires | Follows
Obligation: TypeAlias = Holds | Blocked


@dataclass(frozen=True, eq=False)
class _Cell:
    """A persistent list: paths share their beginnings."""

    head: Fact | Obligation
    tail: _Cell | None


@dataclass(frozen=True, eq=False)
class Path:
    """Facts collected on the way, and the obligations still open; those of a refuted one are of no interest.

    `share`: part of the tree of choices that begins here, every choice shared out evenly among its options.
    """

    facts: _Cell | None
    todo: _Cell | None
    discarded: bool = False
    share: float = 1.0

    def collect(self) -> list[Fact]:
        """The facts, first one first."""
        found: list[Fact] = []
        cell = self.facts
        while cell is not None:
            assert not isinstance(cell.head, Blocked)
            found.append(cell.head)
            cell = cell.tail
        return found[::-1]

    def described(self) -> str:
        """What the path asks of the initial state, as text: states by the branches that lead to them.

        Paths of one root, of one system, with the same text ask the same.
        """
        lines = []
        for fact in self.collect():
            match fact:
                case Holds(state, formula):
                    lines.append(f"{_way(state)}: {formula}")
                case Requires(state, step, holds):
                    lines.append(f"{_way(state)}: guard {step.branches[0]} {holds}")
        return "\n".join(lines)


def _way(state: State) -> str:
    taken: list[int] = []
    while state.parent is not None:
        taken.append(state.branches[0])
        state = state.parent
    return ".".join(map(str, reversed(taken)))


_Key: TypeAlias = tuple[Formula, tuple[LinearExpr, ...]]


@dataclass(frozen=True, eq=False)
class _Done:
    """On the stack below the ways to meet an obligation: none was left open if `met` is still the count."""

    key: _Key
    met: int


def paths(root: State, formula: Formula, oracle: Oracle, tick: Callable[[int], None]) -> Iterator[Path]:
    """All ways to meet `formula` from `root` that the bounds do not refute, depth first; refuted ones are marked.

    `tick` is called with the depth of each obligation before it is looked at, and may raise to stop.
    """
    stack: list[Path | _Done] = [Path(None, _Cell(Holds(root, formula), None))]
    refuted: set[_Key] = set()
    met = 0
    while stack:
        path = stack.pop()
        if isinstance(path, _Done):
            if path.met == met:
                refuted.add(path.key)
            continue
        if path.todo is None:
            met += 1
            yield path
            continue
        assert isinstance(path.todo.head, Holds | Blocked)
        tick(path.todo.head.state.step)
        key = _key(path.todo)
        if key is not None and key in refuted:
            yield replace(path, discarded=True)
            continue
        options = list(_advance(path.todo.head, path.facts, path.todo.tail, oracle))
        if not options:
            yield replace(path, discarded=True)
        if key is not None and options:
            stack.append(_Done(key, met))
        stack.extend(replace(option, share=path.share / len(options)) for option in asking(reversed(options)))


def _key(todo: _Cell) -> _Key | None:
    """What the last open obligation depends on, when its state is an exact function of the initial one.

    Paths that meet in the same function share the answer: an obligation that the bounds refute whole is refuted again.
    """
    if todo.tail is not None or not isinstance(todo.head, Holds) or not todo.head.formula.depth:
        return None
    state, found = todo.head.state, []
    for node in state.batch.system.nodes_by_name.values():
        form = state.affine(node)
        if form is None:
            return None
        found.append(form)
    return todo.head.formula, tuple(found)


def _advance(obligation: Fact | Obligation, facts: _Cell | None, rest: _Cell | None, oracle: Oracle) -> Iterator[Path]:
    """The ways to meet one obligation."""
    if isinstance(obligation, Blocked):
        state, step = obligation.state, obligation.step
        yield Path(_Cell(Requires(state, step, False), facts), rest)
        if oracle.truth(step.state, obligation.formula) is not False:
            yield Path(_Cell(Follows(state, step), facts), _Cell(Holds(step.state, obligation.formula), rest))
        return
    assert isinstance(obligation, Holds)
    state, formula = obligation.state, obligation.formula
    truth = oracle.truth(state, formula)
    if truth is not None:
        if truth:
            yield Path(facts, rest)
        return
    match formula:
        case _ if formula.depth == 0:
            yield Path(_Cell(obligation, facts), rest)
        case And(operands):
            for part in sorted(operands, key=lambda o: o.depth, reverse=True):
                rest = _Cell(Holds(state, part), rest)
            yield Path(facts, rest)
        case Or(operands):
            able = [o for o in operands if oracle.truth(state, o) is not False]
            present = tuple(o for o in able if o.depth == 0)
            if present:
                yield Path(facts, _Cell(Holds(state, Or(present) if len(present) > 1 else present[0]), rest))
            for part in able:
                if part.depth:
                    yield Path(facts, _Cell(Holds(state, part), rest))
        case EX(operand):
            for step in state.successors():
                if oracle.truth(step.state, operand) is not False:
                    reached = _Cell(Follows(state, step), facts)
                    if not isinstance(step.guard(state.batch.system), Truth):
                        reached = _Cell(Requires(state, step, True), reached)
                    yield Path(reached, _Cell(Holds(step.state, operand), rest))
        case AX(operand):
            for step in reversed(state.successors()):
                if step.certain:
                    facts = _Cell(Follows(state, step), facts)
                    rest = _Cell(Holds(step.state, operand), rest)
                else:
                    rest = _Cell(Blocked(state, step, operand), rest)
            yield Path(facts, rest)
        case _:
            raise TypeError(f"not a core formula: {formula}")


def encode_path(
    root: State, path: Path, encoding: ReluEncoding, oracle: Oracle, tick: Callable[[int], None]
) -> FormulaEncoder:
    """The program of one path. Raises `Contradiction` when building it shows that it has no point."""
    encoder = FormulaEncoder(root, encoding, oracle, tick)
    for fact in path.collect():
        match fact:
            case Holds(state, formula):
                encoder.satisfy(Spread.single(state), formula)
            case Requires(state, step, holds):
                guard = step.guard(state.batch.system)
                encoder.require(state, guard if holds else ~guard, ONE)
            case Follows(state, step):
                encoder.follow(state, step)
    return encoder
