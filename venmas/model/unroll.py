"""Unrolling: a formula about some steps of a system along one path of branches, as a program (`venmas.model.program`).

    inputs := the initial values of the variables that matter, but for those that are one number
    for each step: simplify the updates for the values that are known, lower them to layers (`venmas.model.lowering`)
    the formula, rewritten: EX p = guard & p one step on;  AX p = !guard | p one step on

What matters at a step is what the formula, the guards and later steps read. A system with one branch has one path, on
which EX and AX are told apart by the guard alone. Where there are several branches, a path stands for the runs along
it: the formula holds in an initial state if it does along some path, given that no AX and no two EX side by side are in
it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from venmas.budget import ask
from venmas.errors import ModelError
from venmas.linear import Comparison, Relation
from venmas.logic import AX, EX, TRUE, And, Atom, Bottom, Formula, Or, Top, conjunction, disjunction, nnf
from venmas.model.expr import Condition, Constant, Expr, Variable, children
from venmas.model.lowering import UnloweredError, lower
from venmas.model.program import AND, INPUTS, OR, Group, Program, ProgramLayer, Row, rows_of
from venmas.model.regions import bounding_box
from venmas.model.simplify import Simplifier
from venmas.model.system import Branch, System
from venmas.model.variables import Region

MAX_STEPS = 200
MAX_CODES = 20_000
"""Most codes of a formula."""

_Known = Mapping[str, Fraction]


def unroll(system: System, region: Region, target: Formula, path: Sequence[int] | None = None) -> Program | str:
    """The program that asks whether some state of `region`, a part of the initial set, meets `target` along a path.

    target: in core form (`nnf`). path: a branch, by index, for each step that it looks ahead; None: the only one. The
    answer speaks of runs whether or not they stay in their declared ranges. Returns a reason where that is no program.
    """
    steps = target.depth
    if steps > MAX_STEPS:
        return f"it looks {steps} steps ahead, more than {MAX_STEPS}"
    if path is None and len(system.branches) > 1:
        return "there are several branches"
    try:
        return _Unrolling(system, region, target, path or (0,) * steps).program()
    except UnloweredError as error:
        return str(error)
    except ModelError:
        return "a guard compares what is not affine"
    except OverflowError:
        return "a number is beyond all floats"


class _Unrolling:
    def __init__(self, system: System, region: Region, target: Formula, path: Sequence[int]) -> None:
        self.system, self.region, self.target = system, region, target
        self.branches: list[Branch] = [system.branches[i] for i in path]
        self.guards = [system.formula(branch.guard, "a guard") for branch in self.branches]
        self.against = [nnf(guard, negate=True) for guard in self.guards]
        self.guards = [nnf(guard) for guard in self.guards]

    def program(self) -> Program:
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
        writer = _Writer({name: i for i, name in enumerate(inputs)}, known)
        layers = self._layers(inputs, known, needed, writer)
        condition, polytope = writer.inputs_formula(cuts), writer.rows
        writer.visit(self.target, 0, self.guards, self.against)
        if cuts:
            writer.visit(condition, 0, (), ())
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
            tuple(writer.layer),
            tuple(writer.places),
            tuple(writer.known),
        )

    def _layers(
        self, inputs: list[str], known: dict[str, Fraction], needed: list[set[str]], writer: _Writer
    ) -> list[ProgramLayer]:
        layers: list[ProgramLayer] = []
        entry, made = inputs, dict[object, tuple[list[ProgramLayer], list[str], dict[str, Fraction]]]()
        for step, branch in enumerate(self.branches):
            wanted = [name for name in self.system.variables if name in needed[step + 1]]
            key = branch.name, tuple(entry), tuple(sorted(known.items())), tuple(wanted)
            if key not in made:
                made[key] = self._step(branch, entry, known, wanted)
            new, entry, known = made[key]
            layers += new
            writer.step(len(layers) - 1, entry, known)
        return layers

    def _step(
        self, branch: Branch, entry: list[str], known: Mapping[str, Fraction], wanted: list[str]
    ) -> tuple[list[ProgramLayer], list[str], dict[str, Fraction]]:
        """The layers of a step, the variables after it that are no numbers, and the numbers."""
        simplifier, updates = Simplifier(known), dict(branch.updates)
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
            needed[step] |= _read(roots)
        return needed


def _read(roots: Sequence[Expr | Condition]) -> set[str]:
    """The variables that expressions read."""
    found, seen, stack = set[str](), set[int](), list(roots)
    while stack:
        node = stack.pop()
        if id(node) not in seen:
            seen.add(id(node))
            if isinstance(node, Variable):
                found.add(node.name)
            stack += children(node)
    return found


@dataclass
class _Writer:
    """Groups and codes of a formula; what holds the state after each step, the initial one first."""

    inputs: Mapping[str, int]
    initial: _Known
    layer: list[int] = field(default_factory=list)
    places: list[Mapping[str, int]] = field(default_factory=list)
    known: list[_Known] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    codes: list[int] = field(default_factory=list)
    _made: dict[tuple[tuple[Comparison, ...], int], int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.layer.append(INPUTS)
        self.places.append(self.inputs)
        self.known.append(self.initial)

    def step(self, layer: int, entry: Sequence[str], known: _Known) -> None:
        """The next step: its state is after this layer."""
        self.layer.append(layer)
        self.places.append({name: i for i, name in enumerate(entry)})
        self.known.append(known)

    def inputs_formula(self, cuts: Sequence[Comparison]) -> Formula:
        """The formula of the polytope; its rows take part in every group from now on."""
        self.rows = [row for c in cuts for found in [self._rows(c, 0)] if isinstance(found, list) for row in found]
        return conjunction([Atom(c) if c.expr.terms else TRUE for c in cuts])

    def visit(self, node: Formula, step: int, guards: Sequence[Formula], against: Sequence[Formula]) -> None:
        """Append the codes of a formula about a step. guards, against: the guard of each step, and its negation."""
        ask()
        if len(self.codes) > MAX_CODES:
            raise UnloweredError(f"the formula has more than {MAX_CODES} parts along a run")
        match node:
            case Top() | Bottom():
                self.codes += [AND if isinstance(node, Top) else OR, 0]
            case Or(parts):
                for part in parts:
                    self.visit(part, step, guards, against)
                self.codes += [OR, len(parts)]
            case EX(operand) | AX(operand):
                ahead, guard = isinstance(node, EX), guards[step]
                if not isinstance(guard, Top):
                    self.visit(guard if ahead else against[step], step, guards, against)
                self.visit(operand, step + 1, guards, against)
                if not isinstance(guard, Top):
                    self.codes += [AND if ahead else OR, 2]
            case And() | Atom():
                self._conjunction(node.operands if isinstance(node, And) else (node,), step, guards, against)
            case _:
                raise TypeError(type(node))

    def _conjunction(
        self, parts: Sequence[Formula], step: int, guards: Sequence[Formula], against: Sequence[Formula]
    ) -> None:
        rows: list[Row] = []
        rest = [p for p in parts if not isinstance(p, Atom)]
        atoms = [p.comparison for p in parts if isinstance(p, Atom)]
        for comparison in atoms:
            found = self._rows(comparison, step)
            if isinstance(found, list):
                rows += found
            elif found is None:
                sides = [Atom(Comparison(comparison.expr, r)) for r in (Relation.LT, Relation.GT)]
                rest.append(disjunction(sides))
            elif not found:
                self.codes += [OR, 0]
                return
        if rows:
            key = tuple(atoms), step
            if key not in self._made:
                self._made[key] = len(self.groups)
                layer = self.layer[step]
                extra = [row for row in self.rows if row not in rows]
                self.groups.append(Group(layer, (*rows, *extra)))
            self.codes.append(self._made[key])
        for part in rest:
            self.visit(part, step, guards, against)
        self.codes += [AND, bool(rows) + len(rest)]

    def _rows(self, comparison: Comparison, step: int) -> list[Row] | bool | None:
        width = len(self.places[step])
        return rows_of(comparison, self.layer[step], self.places[step], self.known[step], width, len(self.inputs))
