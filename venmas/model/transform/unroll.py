"""Unrolling: a formula about some steps of a system along one path of branches, as a program
(`venmas.model.transform.program`).

    inputs := the initial values of the variables that matter, but for those that are one number
    for each step: simplify the updates for the values that are known, lower them to layers
    (`venmas.model.transform.lowering`) the formula, rewritten: EX p = guard & p one step on;  AX p = !guard | p one
    step on

What matters at a step is what the formula, the guards and later steps read. A system with one branch has one path, on
which EX and AX are told apart by the guard alone. Where there are several branches, a path stands for the runs along
it: the formula holds in an initial state if it does along some path, given that no AX and no two EX side by side are in
it. Where clocks and other numbers leave one branch in each step, that is the one path, as if there were no others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeAlias

from venmas.budget import ask
from venmas.errors import ModelError
from venmas.logic import AX, EX, Atom, Formula, conjunction, nnf
from venmas.logic.linear import Comparison, LinearExpr, Relation
from venmas.model.evaluation.regions import bounding_box
from venmas.model.expressions.expr import ArgMax, Compare, Condition, Constant, Expr, Maximum, Truth, Variable
from venmas.model.expressions.simplify import OpenError, Simplifier
from venmas.model.expressions.walk import walk
from venmas.model.system.system import Branch, System
from venmas.model.system.validity import smooth_in
from venmas.model.system.variables import Region
from venmas.model.transform.lowering import UnloweredError, lower
from venmas.model.transform.program import AND, INPUTS, OR, Program, ProgramLayer, Row
from venmas.model.transform.program_writer import LongFormulaError, Writer

MAX_STEPS = 200
MAX_BRANCHES = 64


def unroll(
    system: System, region: Region, target: Formula, path: Sequence[int] | None = None, most: int | None = None
) -> Program | str:
    """The program that asks whether some state of `region`, a part of the initial set, meets `target` along a path.

    target: in core form (`nnf`). path: a branch, by index, for each step that it looks ahead; None: `only_path`. The
    answer speaks of runs whether or not they stay in their declared ranges. most: inputs, disturbances of later steps
    among them. Returns a reason where that is no program.
    """
    steps = target.depth
    if steps > MAX_STEPS:
        return f"it looks {steps} steps ahead, more than {MAX_STEPS}"
    if system.smooth and (what := _smooth([branch.guard for branch in system.branches])):
        return f"a guard has {what}"
    if path is None:
        path = only_path(system, region, steps)
    if path is None:
        return "there are several branches"
    try:
        return _Unrolling(system, region, target, path).program(most)
    except (UnloweredError, LongFormulaError) as error:
        return str(error)
    except OpenError as error:
        return f"a choice ({'argmax' if isinstance(error.node, ArgMax) else 'where, or a guard'}) stays open in a step"
    except ModelError:
        return "a guard compares what is not affine"
    except OverflowError:
        return "a number is beyond all floats"


def only_path(system: System, region: Region, steps: int) -> Sequence[int] | None:
    """The branches that can be taken, step by step, where numbers leave one in each; None where they leave several."""
    if len(system.branches) == 1:
        return (0,) * steps
    box = bounding_box(system, region) or {}
    guards = [branch.guard for branch in system.branches]
    if len(guards) > MAX_BRANCHES:
        return None
    clocks, new = set[str](), _read(guards)
    while new:
        clocks |= new
        new = _read([e for b in system.branches for n, e in b.updates if n in clocks]) - clocks
    known, found = {n: box[n][0] for n in clocks if n in box and box[n][0] == box[n][1]}, list[int]()
    for _ in range(steps):
        simplifier = Simplifier(known)
        tests = [simplifier.condition(guard) for guard in guards]
        possible = [i for i, test in enumerate(tests) if not isinstance(test, Truth) or test.value]
        if len(possible) != 1:
            return None
        found += possible
        updates = dict(system.branches[possible[0]].updates)
        after = {n: simplifier.expr(updates.get(n, system.nodes_by_name[n])) for n in clocks}
        known = {n: e.value for n, e in after.items() if isinstance(e, Constant)}
    return found


_Layers: TypeAlias = tuple[list[ProgramLayer], list[str], dict[str, Fraction]]
"""Of a step: its layers, the variables after it that are no numbers, and the numbers."""


class _Unrolling:
    def __init__(self, system: System, region: Region, target: Formula, path: Sequence[int]) -> None:
        self.system, self.region, self.target = system, region, target
        self.branches: list[Branch] = [system.branches[i] for i in path]
        self.guards = [system.formula(branch.guard, "a guard") for branch in self.branches]
        self.against = [nnf(guard, negate=True) for guard in self.guards]
        self.guards = [nnf(guard) for guard in self.guards]

    def program(self, most: int | None) -> Program:
        system, box = self.system, bounding_box(self.system, self.region)
        if box is None:
            nothing = {d.name: d.lower for d in system.variables.values()}
            return Program((), (), (), nothing, (), (), (), (OR, 0), (INPUTS,), ({},), (nothing,))
        # the box says exactly what comparisons of one variable say, unless they leave out an end
        cuts = [c for c in self.region if len(c.expr.terms) != 1 or c.relation.strict or c.relation is Relation.NE]
        known = {name: low for name, (low, high) in box.items() if low == high}
        needed = self._needed()
        names = needed[0] | {n for c in cuts for n in c.expr.variables}
        inputs = [name for name in system.variables if name in names and name not in known]
        self._refuse_integers(inputs)
        if most is not None and len(inputs) > most:  # said before the steps are written down
            raise UnloweredError(f"{len(inputs)} initial values and disturbances are open, more than {most}")
        at = _Places(len(inputs))
        at.add(INPUTS, inputs, known)
        layers = self._layers(inputs, known, needed, at)
        polytope = [row for c in cuts if isinstance(found := at.rows(c, 0), list) for row in found]
        writer = Writer(at.rows, at.layers, polytope, self.guards, self.against)
        writer.visit(self.target)
        if cuts:
            writer.visit(conjunction(map(Atom, cuts)))
            writer.codes += [AND, 2]
        return Program(
            tuple(inputs),
            tuple(box[name][0] for name in inputs),
            tuple(box[name][1] for name in inputs),
            {name: low for name, (low, _) in box.items() if name not in inputs},
            tuple(polytope),
            tuple(layers),
            tuple(writer.groups),
            tuple(writer.codes),
            tuple(at.layers),
            tuple(at.places),
            tuple(at.known),
        )

    def _layers(
        self, inputs: list[str], known: dict[str, Fraction], needed: list[set[str]], at: _Places
    ) -> list[ProgramLayer]:
        layers: list[ProgramLayer] = []
        entry, made = inputs, self.system.once("layers", dict[object, _Layers])  # other formulas share them
        for step, branch in enumerate(self.branches):
            wanted = [name for name in self.system.variables if name in needed[step + 1]]
            key = branch.name, tuple(entry), tuple(sorted(known.items())), tuple(wanted)
            if key not in made:
                made[key] = self._step(branch, entry, known, wanted)
            new, entry, known = made[key]
            layers += new
            at.add(len(layers) - 1, entry, known)
        return layers

    def _step(self, branch: Branch, entry: list[str], known: Mapping[str, Fraction], wanted: list[str]) -> _Layers:
        simplifier, updates = _Settled(known), dict(branch.updates)
        after = {n: simplifier.expr(updates.get(n, self.system.nodes_by_name[n])) for n in wanted}
        numbers = {n: e.value for n, e in after.items() if isinstance(e, Constant)}
        rest = {n: e for n, e in after.items() if n not in numbers}
        self._refuse_integers(rest)
        return lower(rest, entry), list(rest), numbers

    def _refuse_integers(self, names: Mapping[str, Expr] | Sequence[str]) -> None:
        for name in names:
            if self.system.variables[name].integral:
                raise UnloweredError(f"the integer {name} is not one number in every step")

    def _needed(self) -> list[set[str]]:
        """By step, the variables that the formula, the guards and later steps read."""
        needed: list[set[str]] = [set() for _ in range(len(self.branches) + 1)]
        stack, seen = [(self.target, 0)], set[tuple[int, int]]()
        while stack:
            ask()
            node, step = stack.pop()
            if (id(node), step) in seen:
                continue
            seen.add((id(node), step))
            if isinstance(node, Atom):
                needed[step] |= node.comparison.expr.variables
            ahead = isinstance(node, EX | AX)
            stack += [(child, step + ahead) for child in node.children]
            if ahead:
                stack.append((self.guards[step], step))
        for step in range(len(self.branches) - 1, -1, -1):
            updates = dict(self.branches[step].updates)
            roots = [updates.get(name, self.system.nodes_by_name[name]) for name in needed[step + 1]]
            if self.system.smooth and (what := _smooth(roots)):
                raise UnloweredError(f"a step has {what}")
            needed[step] |= _read(roots)
        return needed


class _Settled(Simplifier):
    """A partial evaluator that stops at a choice which numbers do not settle: no layer has words for it."""

    def _open(self, node: ArgMax | Compare | Maximum) -> None:
        if not isinstance(node, Maximum):
            raise OpenError(node)


def _smooth(roots: Sequence[Expr | Condition]) -> str:
    """The first part of expressions that is not piecewise linear, in words; empty where there is none."""
    return next(filter(None, map(smooth_in, walk(roots))), "")


def _read(roots: Sequence[Expr | Condition]) -> set[str]:
    """The variables that expressions read."""
    return {node.name for node in walk(roots) if isinstance(node, Variable)}


@dataclass
class _Places:
    """What holds the state after each step, the initial one first."""

    inputs: int
    layers: list[int] = field(default_factory=list)
    places: list[Mapping[str, int]] = field(default_factory=list)
    known: list[Mapping[str, Fraction]] = field(default_factory=list)

    def add(self, layer: int, names: Sequence[str], known: Mapping[str, Fraction]) -> None:
        """The next step: its state is after this layer."""
        self.layers.append(layer)
        self.places.append({name: i for i, name in enumerate(names)})
        self.known.append(known)

    def rows(self, comparison: Comparison, step: int) -> list[Row] | bool | None:
        """See `venmas.model.transform.program_writer.Rows`."""
        places, known = self.places[step], self.known[step]
        expr = comparison.expr.substitute({n: LinearExpr((), known[n]) for n in comparison.expr.variables & {*known}})
        if not expr.terms:
            return comparison.relation.holds(expr.constant)
        if comparison.relation is Relation.NE:
            return None
        layer, nothing, found = self.layers[step], (Fraction(0),) * self.inputs, list[Row]()
        for row in Comparison(expr, comparison.relation).inequalities:
            line = [Fraction(0)] * len(places)
            for name, c in row.expr.terms:
                line[places[name]] = c
            values = ((), tuple(line)) if layer == INPUTS else (tuple(line), nothing)
            found.append(Row(layer, *values, row.expr.constant, row.relation.strict))
        return found
