"""The rules of a proof (docs/certificates.md): goals, and the goals that remain of one after a rule.

A goal says: no initial state in this cell meets all these obligations and facts. The rules are `expand` (what the first
obligation means, one step further), `split` (the cell in two along a hyperplane) and `refutes` (weights of rows that
exclude each other). Nothing here searches, and nothing trusts whoever chose the rule.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor
from typing import Any as Any_
from typing import TypeAlias

from venmas.checker.cell import Cell, Form, Row, Rows, fraction, negative, rational
from venmas.checker.values import Enclosure, Evaluation
from venmas.linear import Comparison, Relation
from venmas.logic import AX, EX, And, Atom, Bottom, Formula, Or, Top
from venmas.model.expr import All, Any, ArgMax, Compare, Condition, Constant, Expr, Sum, Truth
from venmas.model.system import System
from venmas.model.variables import Region
from venmas.nn.network import Semantics

Path: TypeAlias = tuple[int, ...]
"""Indices of the branches taken from the initial state."""

_MAX_VALUES = 128
_KEPT = 64


@dataclass(frozen=True, eq=False)
class Holds:
    """The core formula holds after the path."""

    path: Path
    formula: Formula


@dataclass(frozen=True, eq=False)
class Unless:
    """After the path, the branch is blocked by its guard, or the formula holds after it."""

    path: Path
    branch: int
    formula: Formula


@dataclass(frozen=True, eq=False)
class Requires:
    """The condition holds after the path."""

    path: Path
    condition: Condition


@dataclass(frozen=True, eq=False)
class Fact:
    """``expr relation 0`` after the path (never !=); open on the cell where it was noted.

    after: rows of the facts before it.
    """

    path: Path
    expr: Expr
    relation: Relation
    after: int = 0

    @property
    def rows(self) -> int:
        """Number of its rows."""
        return 2 if self.relation is Relation.EQ else 1


Obligation: TypeAlias = Holds | Unless | Requires


class World:
    """The states that paths lead to, enclosed over one cell."""

    def __init__(self, system: System, cell: Cell, start: dict[str, Form], semantics: Semantics = "real") -> None:
        self.system, self.cell, self.start, self.semantics = system, cell, start, semantics
        self.assumed: dict[Path, dict[int, int]] = {}
        """Outcomes of choices that are assumed, by path and identity of the node."""
        self.left_box: list[str] = []
        """Variables that may leave their declared range in a state that was looked at."""
        self._states: dict[Path, Evaluation] = {}
        self._kept: set[Path] = set()
        """Those that were exact over a cell of which this one is a part."""
        self._atoms: dict[Comparison, Expr] = {}
        self._parts: dict[tuple[Path, int], tuple[And, tuple[Holds, ...]]] = {}

    def within(self, cell: Cell, path: Path = ()) -> World:
        """The same over a part of the cell; states on a path that are exact stay what they are."""
        part = World(self.system, cell, self.start, self.semantics)
        part.left_box, part.assumed = self.left_box, self.assumed
        part._atoms, part._parts = self._atoms, self._parts
        decls = self.system.variables
        self.state(path)
        for step in (path[:n] for n in range(1, len(path) + 1)):
            env = self.state(step).env
            if all(q.exact for q in env.values()):
                env = {n: part._settled(q, decls[n].integral) for n, q in env.items()}
                part._states[step] = Evaluation(cell, env, self.semantics, self.assumed.get(step))
                part._kept.add(step)
        return part

    def assuming(self, path: Path, node: ArgMax | Compare, outcome: int) -> World:
        """The same, with the outcome of a choice assumed after a path."""
        part = World(self.system, self.cell, self.start, self.semantics)
        part.left_box, part._atoms, part._parts = self.left_box, self._atoms, self._parts
        part.assumed = {**self.assumed, path: {**self.assumed.get(path, {}), id(node): outcome}}
        return part

    def state(self, path: Path) -> Evaluation:
        """The state after a path (whether or not its guards hold)."""
        if path not in self._states:
            if len(self._states) > _KEPT + len(path) + len(self._kept):
                # proofs go depth first: what is not on the way here is done
                self._states = {p: s for p, s in self._states.items() if path[: len(p)] == p or p in self._kept}
            known = next((n for n in range(len(path), -1, -1) if path[:n] in self._states), -1)
            for part in (path[:n] for n in range(known + 1, len(path) + 1)):
                env = self._step(part) if part else self._initial()
                self._states[part] = Evaluation(self.cell, env, self.semantics, self.assumed.get(part))
        return self._states[path]

    def _initial(self) -> dict[str, Enclosure]:
        decls = self.system.variables
        return {n: self._settled(Enclosure(form, form), decls[n].integral) for n, form in self.start.items()}

    def _step(self, path: Path) -> dict[str, Enclosure]:
        before, branch = self.state(path[:-1]), self.system.branches[path[-1]]
        env = dict(before.env)
        for name, expr in branch.updates:
            decl = self.system.variables[name]
            q = env[name] = self._settled(before.value(expr), decl.integral)
            if self.cell.inf(q.low).value < decl.lower or self.cell.sup(q.upp).value > decl.upper:
                self.left_box.append(name)
        return env

    def _settled(self, q: Enclosure, integral: bool) -> Enclosure:
        """An enclosure of a variable; an integer one is tracked by its values where they are few."""
        low, high = self.cell.inf(q.low).value, self.cell.sup(q.upp).value
        if q.exact and low == high:
            form: Form = (low, *(rational(0),) * len(self.cell.names))
            return Enclosure(form, form, frozenset([fraction(low)]) if integral else None)
        if not integral:
            return Enclosure(q.low, q.upp)
        first, last = ceil(low), floor(high)
        values = q.values
        if values is None:
            values = frozenset(map(Fraction, range(first, last + 1) if last - first < _MAX_VALUES else ()))
        inside = frozenset(v for v in values if first <= v <= last)
        if len(inside) == 1:
            form = (rational(next(iter(inside))), *(rational(0),) * len(self.cell.names))
            return Enclosure(form, form, inside)
        return Enclosure(q.low, q.upp, inside if 0 < len(inside) <= _MAX_VALUES else None)

    def atom(self, comparison: Comparison) -> Expr:
        """The left side of an atom as an expression."""
        if comparison not in self._atoms:
            terms = tuple((c, self.system[name]) for name, c in comparison.expr.terms)
            constant = comparison.expr.constant
            self._atoms[comparison] = Sum(terms, constant) if terms else Constant(constant)
        return self._atoms[comparison]

    def parts(self, path: Path, formula: And) -> tuple[Holds, ...]:
        """The obligations that a conjunction is after a path, sorted by depth; made once for all cells."""
        key = path, id(formula)
        if key not in self._parts:
            found = tuple(Holds(path, o) for o in sorted(formula.operands, key=lambda o: o.depth))
            self._parts[key] = formula, found
        return self._parts[key][1]

    def key(self, path: Path) -> tuple[Form, ...] | None:
        """The state after a path as exact forms, or None when it is not exact."""
        env = self.state(path).env.values()
        return tuple(q.low for q in env) if all(q.exact for q in env) else None


@dataclass(frozen=True, eq=False)
class Goal:
    """No initial state in the cell of `world` meets all of `todo` and `facts`."""

    world: World
    todo: tuple[Obligation, ...]
    facts: tuple[Fact, ...] = ()

    def rows(self) -> list[Row]:
        """Rows that hold wherever cell and facts do: those of the cell, then one or two a fact."""
        return list(self.rows_when_named())

    def rows_when_named(self) -> Sequence[Row]:
        """The same, each row computed when it is asked for."""
        return _GoalRows(self)

    def split(self, form: Form) -> list[Goal]:
        """The goal on the sides ``form >= 0`` and ``form < 0`` of its cell; a side outside the box is left out.

        Exact states on the path of the first obligation stay what they are: a network is not evaluated again.
        """
        cell, world = self.world.cell, self.world
        path = self.todo[0].path if self.todo else ()
        sides = [cell.cut(form), cell.cut(negative(form), strict=True)]
        return [replace(self, world=world.within(s, path)) for s in sides if s is not None]

    def case(self, node: ArgMax | Compare) -> list[Goal]:
        """The goal for every outcome of a choice that is possible in the state of its first obligation."""
        path = self.todo[0].path
        state = self.world.state(path)
        if isinstance(node, ArgMax):
            outcomes = state.winners(node)
        else:
            truth = state.truth(node)
            outcomes = [1, 0] if truth is None else [int(truth)]
        return [replace(self, world=self.world.assuming(path, node, o)) for o in outcomes]

    def keep(self, at: int) -> Goal:
        """The goal with one of its obligations only: what does not meet this one does not meet all."""
        return replace(self, todo=(self.todo[at],))

    def expand(self) -> list[Goal]:
        """What remains to be refuted when the first obligation is spelled out; nothing, when the cell excludes it."""
        head, rest = self.todo[0], self.todo[1:]
        last = self.facts[-1] if self.facts else None
        after = last.after + last.rows if last else 0
        return [
            Goal(self.world, (*new, *rest), (*self.facts, *(replace(f, after=after) for f in facts)))
            for new, facts in self._ways(head)
        ]

    def _ways(self, head: Obligation) -> Iterator[tuple[Sequence[Obligation], Sequence[Fact]]]:
        state, branches = self.world.state(head.path), self.world.system.branches
        match head:
            case Requires(path, condition):
                yield from self._condition(path, condition)
            case Unless(path, branch, operand):
                guard = branches[branch].guard
                if state.truth(guard) is not True:
                    yield [Requires(path, ~guard)], []
                if state.truth(guard) is not False:
                    yield [Holds((*path, branch), operand)], []
            case Holds(_, Top()):
                yield [], []
            case Holds(_, Bottom()):
                return
            case Holds(path, Atom(comparison)):
                yield from self._compare(path, self.world.atom(comparison), comparison.relation)
            case Holds(path, And() as conjunction):
                yield self.world.parts(path, conjunction), []
            case Holds(path, Or(operands)):
                for o in operands:
                    yield [Holds(path, o)], []
            case Holds(path, EX(operand)):
                for i, branch_ in enumerate(branches):
                    if state.truth(branch_.guard) is not False:
                        yield [Requires(path, branch_.guard), Holds((*path, i), operand)], []
            case Holds(path, AX(operand)):
                yield [Unless(path, i, operand) for i in range(len(branches))], []
            case _:
                raise TypeError(f"not an obligation over core formulas: {head}")

    def _condition(self, path: Path, condition: Condition) -> Iterator[tuple[Sequence[Obligation], Sequence[Fact]]]:
        truth = self.world.state(path).truth(condition)
        match condition:
            case _ if truth is not None:
                if truth:
                    yield [], []
            case Compare(expr, relation):
                yield from self._compare(path, expr, relation)
            case All(operands):
                yield [Requires(path, c) for c in operands], []
            case Any(operands):
                for c in operands:
                    yield [Requires(path, c)], []
            case Truth(value):
                if value:
                    yield [], []
            case _:
                raise TypeError(type(condition))

    def _compare(
        self, path: Path, expr: Expr, relation: Relation
    ) -> Iterator[tuple[Sequence[Obligation], Sequence[Fact]]]:
        state = self.world.state(path)
        truth = state.compare(state.value(expr), relation)
        if truth:
            yield [], []
        elif truth is None and relation is Relation.NE:
            yield [], [Fact(path, expr, Relation.LT)]
            yield [], [Fact(path, expr, Relation.GT)]
        elif truth is None:
            yield [], [Fact(path, expr, relation)]


class _GoalRows(Sequence[Row]):
    """Rows of a goal: those of its cell, then of each fact one or two."""

    def __init__(self, goal: Goal) -> None:
        self.goal, self.cell_rows, self.facts = goal, goal.world.cell.rows, goal.facts

    def __len__(self) -> int:
        return len(self.cell_rows) + (self.facts[-1].after + self.facts[-1].rows if self.facts else 0)

    def __getitem__(self, place: Any_) -> Any_:
        if place < len(self.cell_rows):
            return self.cell_rows[place]
        among = place - len(self.cell_rows)
        at = bisect_right(self.facts, among, key=lambda fact: fact.after) - 1
        if at < 0 or among >= self.facts[at].after + self.facts[at].rows:
            raise IndexError(place)
        fact = self.facts[at]
        q = self.goal.world.state(fact.path).value(fact.expr)
        if among == fact.after and fact.relation in (Relation.GT, Relation.GE, Relation.EQ):
            return Row(q.upp, fact.relation.strict)
        return Row(negative(q.low), fact.relation.strict)


def first_goal(system: System, region: Region, target: Formula, semantics: Semantics = "real") -> Goal | None:
    """The claim for one initial region: none of its states meets `target`. None when the declared box excludes it.

    The cell starts from the declared ranges and is cut by every comparison of the region; those over several
    variables become rows, ``!=`` becomes an obligation.
    """
    fixed: dict[str, Fraction] = {}
    free = tuple(system.variables)
    decls = system.variables.values()
    low = tuple(rational(ceil(d.lower) if d.integral else d.lower) for d in decls)
    high = tuple(rational(floor(d.upper) if d.integral else d.upper) for d in decls)
    if any(a > b for a, b in zip(low, high, strict=True)):
        return None
    cell: Cell | None = Cell(free, low, high, tuple(d.integral for d in decls))
    extra: list[Obligation] = []
    for comparison in region:
        assert cell is not None
        form = cell.form(comparison.expr, {})
        relation = comparison.relation
        if relation is Relation.NE:
            extra.append(Holds((), Atom(comparison)))
        if relation in (Relation.GT, Relation.GE, Relation.EQ):
            cell = cell.cut(form, relation.strict)
        if cell is not None and relation in (Relation.LT, Relation.LE, Relation.EQ):
            cell = cell.cut(negative(form), relation.strict)
        if cell is None:
            return None
    assert cell is not None
    fixed = {n: fraction(a) for n, a, b in zip(free, cell.low, cell.high, strict=True) if a == b}
    keep = [i for i, n in enumerate(free) if n not in fixed]
    rows = Rows(Row(_project(r.form, keep, cell), r.strict) for r in cell.rows)
    if any(not any(r.form[1:]) and (r.form[0] < 0 or (r.strict and r.form[0] == 0)) for r in rows):
        return None

    def pick(values: tuple[object, ...]) -> tuple[object, ...]:
        return tuple(values[i] for i in keep)

    small = Cell(pick(free), pick(cell.low), pick(cell.high), pick(cell.integral), rows)  # type: ignore[arg-type]
    one = rational(1)
    start = {
        n: (rational(fixed[n]) if n in fixed else rational(0), *(one if n == m else rational(0) for m in small.names))
        for n in free
    }
    return Goal(World(system, small, start, semantics), (*extra, Holds((), target)))


def _project(form: Form, keep: Sequence[int], cell: Cell) -> Form:
    constant = form[0] + sum((form[1 + i] * cell.low[i] for i in range(len(cell.names)) if i not in keep), rational(0))
    return (constant, *(form[1 + i] for i in keep))
