"""Symbolic states after a sequence of branches, over a cell, and proof obligations about them.

A path is a list of branches; the state after it is what their updates lead to, whether or not their guards hold. An
obligation says something of one such state.

In the initial state a free variable is its own form, exact; a fixed one its constant. After a path p b, the
updates of b are evaluated in the state after p, and the other variables keep their enclosures. Each variable of the
initial state, and each updated one, is then *settled*: let a = inf low and z = sup upp over the cell. If it is exact
and a = z, it is the constant a (with the values {a} if it is an integer). Else a real variable keeps its forms, without
values. For an integer one, the values are those it has, else the integers from ceil a to floor z if these are at most
128, else none; of them those between ceil a and floor z are kept; if that is one, the variable is this constant, exact;
if they are none, or more than 128, it keeps its forms without values.

Leaving the box: a state after a path p b is *looked at* with the path of the first obligation of a goal to which
expand, split, case or within is applied; with that of a goal that has a key and is closed by same; with the facts of a
refuted goal; and so are the states before it, unless they are before one that is kept. If the enclosure of a variable
that b updates has inf low < its lower or sup upp > its upper end over the cell, the certificate is refused, unless
`inside`. This goes for the goals of lemmas, too. The region of a lemma itself may reach beyond the declared box: a
state that is named by `within` is reached from an initial set, which lies in the box, by steps into states that were
looked at; with `inside`, the target excludes steps that leave the box.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import TypeAlias

from venmas.checker.exact.cell import Cell, Form, fraction, rational
from venmas.checker.exact.enclosures import MAX_VALUES, Enclosure
from venmas.checker.exact.values import Enclosures
from venmas.logic import And, Formula
from venmas.logic.linear import Comparison
from venmas.model.expressions.expr import ArgMax, Compare, Condition, Constant, Expr, Sum
from venmas.model.system.system import System
from venmas.nn.network import Semantics

Path: TypeAlias = tuple[int, ...]
"""Indices of the branches taken from the initial state."""

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


Obligation: TypeAlias = Holds | Unless | Requires


class World:
    """The states that paths lead to, enclosed over one cell."""

    def __init__(self, system: System, cell: Cell, start: dict[str, Form], semantics: Semantics = "real") -> None:
        self.system, self.cell, self.start, self.semantics = system, cell, start, semantics
        self.assumed: dict[Path, dict[int, int]] = {}
        """Outcomes of choices that are assumed, by path and identity of the node."""
        self.left_box: list[str] = []
        """Variables that may leave their declared range in a state that was looked at."""
        self._states: dict[Path, Enclosures] = {}
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
                part._states[step] = Enclosures(cell, env, self.semantics, self.assumed.get(step))
                part._kept.add(step)
        return part

    def assuming(self, path: Path, node: ArgMax | Compare, outcome: int) -> World:
        """The same, with the outcome of a choice assumed after a path."""
        part = World(self.system, self.cell, self.start, self.semantics)
        part.left_box, part._atoms, part._parts = self.left_box, self._atoms, self._parts
        part.assumed = {**self.assumed, path: {**self.assumed.get(path, {}), id(node): outcome}}
        return part

    def state(self, path: Path) -> Enclosures:
        """The state after a path (whether or not its guards hold)."""
        if path not in self._states:
            if len(self._states) > _KEPT + len(path) + len(self._kept):
                # proofs go depth first: what is not on the way here is done
                self._states = {p: s for p, s in self._states.items() if path[: len(p)] == p or p in self._kept}
            known = next((n for n in range(len(path), -1, -1) if path[:n] in self._states), -1)
            for part in (path[:n] for n in range(known + 1, len(path) + 1)):
                env = self._step(part) if part else self._initial()
                self._states[part] = Enclosures(self.cell, env, self.semantics, self.assumed.get(part))
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
            values = frozenset(map(Fraction, range(first, last + 1) if last - first < MAX_VALUES else ()))
        inside = frozenset(v for v in values if first <= v <= last)
        if len(inside) == 1:
            form = (rational(next(iter(inside))), *(rational(0),) * len(self.cell.names))
            return Enclosure(form, form, inside)
        return Enclosure(q.low, q.upp, inside if 0 < len(inside) <= MAX_VALUES else None)

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
            obligations = tuple(Holds(path, o) for o in sorted(formula.operands, key=lambda o: o.depth))
            self._parts[key] = formula, obligations
        return self._parts[key][1]

    def key(self, path: Path) -> tuple[Form, ...] | None:
        """The state after a path as exact forms, or None when it is not exact."""
        env = self.state(path).env.values()
        return tuple(q.low for q in env) if all(q.exact for q in env) else None
