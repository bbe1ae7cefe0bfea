"""Formulas as the groups and codes of a program, and the question about one network as a program of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache

from venmas.budget import ask
from venmas.logic import AX, EX, TRUE, And, Atom, Bottom, Formula, Or, Top, disjunction
from venmas.logic.linear import Comparison, Relation
from venmas.model.transform.program import AND, INPUTS, OR, Group, Program, ProgramLayer, Row
from venmas.nn import Layer, Network

MAX_CODES = 20_000
"""Most codes of a formula."""

Rows = Callable[[Comparison, int], "list[Row] | bool | None"]
"""A comparison about a step as rows: the truth where it is about numbers only, None where it is ``!=``."""


class LongFormulaError(Exception):
    """A formula has too many parts along a run."""


@dataclass
class Writer:
    """Groups and codes of a formula.

    rows: of comparisons. layers: by step, where the groups of the step stand. polytope: rows that take part in every
    group. guards, against: by step, the guard, and its negation, both in core form.
    """

    rows: Rows
    layers: Sequence[int]
    polytope: Sequence[Row] = ()
    guards: Sequence[Formula] = ()
    against: Sequence[Formula] = ()
    groups: list[Group] = field(default_factory=list)
    codes: list[int] = field(default_factory=list)
    _made: dict[tuple[tuple[Comparison, ...], int], int] = field(default_factory=dict)

    def visit(self, node: Formula, step: int = 0) -> None:
        """Append the codes of a formula in core form about a step. Raises `LongFormulaError`."""
        ask()
        if len(self.codes) > MAX_CODES:
            raise LongFormulaError(f"the formula has more than {MAX_CODES} parts along a run")
        match node:
            case Top() | Bottom():
                self.codes += [AND if isinstance(node, Top) else OR, 0]
            case Or(parts):
                for part in parts:
                    self.visit(part, step)
                self.codes += [OR, len(parts)]
            case EX() | AX():
                self._ahead(node, step)
            case And() | Atom():
                self._conjunction(node.operands if isinstance(node, And) else (node,), step)
            case _:
                raise TypeError(type(node))

    def _ahead(self, node: EX | AX, step: int) -> None:
        exists, guard = isinstance(node, EX), self.guards[step]
        if guard is not TRUE:
            self.visit(guard if exists else self.against[step], step)
        self.visit(node.operand, step + 1)
        if guard is not TRUE:
            self.codes += [AND if exists else OR, 2]

    def _conjunction(self, parts: Sequence[Formula], step: int) -> None:
        rows: list[Row] = []
        rest = [p for p in parts if not isinstance(p, Atom)]
        atoms = tuple(p.comparison for p in parts if isinstance(p, Atom))
        for comparison in atoms:
            found = self.rows(comparison, step)
            if isinstance(found, list):
                rows += found
            elif found is None:
                rest.append(disjunction([Atom(Comparison(comparison.expr, r)) for r in (Relation.LT, Relation.GT)]))
            elif not found:
                self.codes += [OR, 0]
                return
        if rows:
            if (atoms, step) not in self._made:
                self._made[atoms, step] = len(self.groups)
                self.groups.append(Group(self.layers[step], (*rows, *(r for r in self.polytope if r not in rows))))
            self.codes.append(self._made[atoms, step])
        for part in rest:
            self.visit(part, step)
        self.codes += [AND, bool(rows) + len(rest)]


def network_program(network: Network, condition: Formula) -> Program:
    """The program of a query: does some input X_0, X_1, .. meet the condition over it and the outputs Y_0, Y_1, ..?

    condition: in core form, without operators of time. Its boxes are given apart, so that it has none of its own.
    """
    m, n = network.input_size, network.output_size
    last = len(network.layers) - 1

    def rows(comparison: Comparison, _: int) -> list[Row] | bool | None:
        if not comparison.expr.terms:
            return comparison.relation.holds(comparison.expr.constant)
        if comparison.relation is Relation.NE:
            return None
        return [_query_row(c, last, m, n) for c in comparison.inequalities]

    writer = Writer(rows, (last,))
    writer.visit(condition)
    names = tuple(f"X_{i}" for i in range(m))
    layers = tuple(map(stored_layer, network.layers))
    places: tuple[dict[str, int], ...] = ({name: i for i, name in enumerate(names)}, {f"Y_{j}": j for j in range(n)})
    return Program(
        *(names, (), (), {}, (), layers, tuple(writer.groups), tuple(writer.codes), (INPUTS, last)), places, ({}, {})
    )


def _query_row(comparison: Comparison, layer: int, inputs: int, outputs: int) -> Row:
    lines = [Fraction(0)] * outputs, [Fraction(0)] * inputs
    for name, c in comparison.expr.terms:
        lines[name.startswith("X_")][int(name[2:])] = c
    return Row(layer, tuple(lines[0]), tuple(lines[1]), comparison.expr.constant, comparison.relation.strict)


@lru_cache(maxsize=256)
def stored_layer(layer: Layer) -> ProgramLayer:
    """A layer of a network as one of a program."""
    exact = {}
    if layer.divisor is not None:
        rows = enumerate(layer.exact_weight)
        exact = {(i, i): row[i] for i, row in rows if Fraction(float(layer.weight[i, i])) != row[i]}
    return ProgramLayer.of(layer.weight, layer.bias, layer.rectified, exact)
