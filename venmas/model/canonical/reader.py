"""Rows of a canonical form (described in `venmas.model.canonical.canonical`) as nodes again, every one checked.

What a stranger wrote is checked before it is built, and every message names the place in the form. Nothing recurses.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TypeVar

from venmas.budget import ask
from venmas.errors import ModelError
from venmas.logic import FALSE, TRUE, And, Atom, Formula, Or
from venmas.logic.linear import Comparison, LinearExpr, Relation
from venmas.model.canonical.writer import MAX_DIGITS, Node, Row, write_number
from venmas.model.expressions.domain import MAX_DOMAIN
from venmas.model.expressions.expr import (
    All,
    Any,
    Application,
    ArgMax,
    Compare,
    Condition,
    Constant,
    Expr,
    Maximum,
    Output,
    Sum,
    Switch,
    Truth,
    Variable,
    Where,
    children,
)
from venmas.model.expressions.flows import follows
from venmas.model.expressions.smooth_functions import FUNCTIONS
from venmas.model.expressions.smooth_nodes import Apply, End, Extremum, Flow, Held, Product, Quotient
from venmas.model.system.system import System
from venmas.nn import Network

_N = TypeVar("_N", Expr, Condition, Application, Flow)
MAX_WORK = 1 << 20
"""Most steps, of about 3 microseconds, that finding the values of the selectors of switches may take."""

_NUMBER = re.compile(r"(-?[0-9]+)(?:/([0-9]+))?")


def broken(place: str, expected: str, found: object) -> ModelError:
    """The error for a form that is not what `system_to_json` writes."""
    scalar = found is None or isinstance(found, str | bool | float) or (type(found) is int and abs(found) < 10**40)
    text = repr(found[:40] if isinstance(found, str) else found) if scalar else f"a {type(found).__name__}"
    return ModelError(
        f"the canonical form of the system is broken at {place}: expected {expected}, got {text}; "
        "write the certificate again, or ask where it comes from"
    )


def read_list(value: object, place: str, length: int | None = None) -> Row:
    """A list (of that length)."""
    if not isinstance(value, list) or length not in (None, len(value)):
        raise broken(place, "a list" if length is None else f"a list of {length}", value)
    return value


def read_string(value: object, place: str) -> str:
    """A text."""
    if not isinstance(value, str):
        raise broken(place, "text", value)
    return value


def read_integer(value: object, place: str, end: int | None = None) -> int:
    """An integer in 0 .. end - 1, without `end` one of 64 bits."""
    low, high = (-(2**63), 2**63) if end is None else (0, end)
    if type(value) is not int or not low <= value < high:
        raise broken(place, f"an integer from {low} to {high - 1}", value)
    return value


def read_number(value: object, place: str) -> Fraction:
    """A rational as text in lowest terms."""
    match = _NUMBER.fullmatch(value) if isinstance(value, str) and len(value) <= MAX_DIGITS else None
    if match is not None and (below := int(match[2] or 1)):
        number = Fraction(int(match[1]), below)
        if write_number(number) == value:
            return number
    raise broken(place, f'a number "p" or "p/q" in lowest terms, at most {MAX_DIGITS} characters', value)


class Reader:
    """The nodes that rows describe, over the variables of `system`."""

    def __init__(self, system: System, networks: Mapping[str, Network]) -> None:
        self.nodes: list[Node] = []
        self._variables = list(system.nodes_by_name.values())
        self._networks = networks
        self._comparisons: dict[int, Comparison] = {}
        self._affine: dict[int, LinearExpr] = {}
        self._formulas: dict[int, Formula] = {}

    def read(self, rows: Sequence[object]) -> None:
        """Read all rows. Raises `ModelError` naming the row."""
        seen: set[str] = set()
        for number, row in enumerate(rows):
            ask()
            place = f"nodes[{number}]"
            parts = read_list(row, place)
            node = self._node(parts, place)
            if node is None:
                raise broken(place, "a known tag with its parts", parts[0] if parts else row)
            self.nodes.append(node)
            seen.add(repr(parts))
            if len(seen) < len(self.nodes):
                raise broken(place, "a row that no other row repeats", parts)
            if isinstance(node, Condition):
                self._read_formula(number, node, parts)
            elif isinstance(node, Expr) and (affine := _affine(node)) is not None:
                self._affine[number] = affine

    def _node(self, row: Row, place: str) -> Node | None:
        match row:
            case ["constant", value]:
                return Constant(read_number(value, place))
            case ["variable", index]:
                return self._variables[read_integer(index, place, len(self._variables))]
            case ["sum", terms, constant]:
                pairs = [read_list(t, place, 2) for t in read_list(terms, place)]
                return Sum(
                    tuple((read_number(c, place), self.get(e, Expr, place)) for c, e in pairs),
                    read_number(constant, place),
                )
            case ["network", digest, inputs]:
                network = self._networks.get(read_string(digest, place))
                if network is None or network.digest != digest:
                    raise broken(place, "the sha256 of a network that was given", digest)
                return Application(network, self._several(inputs, Expr, place, network.input_size))
            case ["output", application, index]:
                applied = self.get(application, Application, place)
                return Output(applied, read_integer(index, place, applied.network.output_size))
            case ["maximum", [_, *_] as operands]:
                return Maximum(self._several(operands, Expr, place))
            case ["argmax", [_, *_] as scores]:
                return ArgMax(self._several(scores, Expr, place))
            case ["switch", selector, [_, *_] as cases]:
                pairs = [read_list(c, place, 2) for c in cases]
                found = tuple((read_integer(key, place), self.get(e, Expr, place)) for key, e in pairs)
                if len({key for key, _ in found}) < len(found):
                    raise ModelError(f"the canonical form of the system is broken at {place}: two cases have one key")
                return Switch(self.get(selector, Expr, place), found)
            case ["where", condition, then, otherwise]:
                test = self.get(condition, Condition, place)
                return Where(test, self.get(then, Expr, place), self.get(otherwise, Expr, place))
            case ["product" | "quotient" as tag, left, right]:
                kind = Product if tag == "product" else Quotient
                return kind(self.get(left, Expr, place), self.get(right, Expr, place))
            case ["apply", str(function), operand] if function in FUNCTIONS:
                return Apply(function, self.get(operand, Expr, place))
            case ["held", operand]:
                return Held(self.get(operand, Expr, place))
            case ["flow", period, [_, *_] as rates]:
                pairs = [read_list(pair, place, 2) for pair in rates]
                return self._flow(read_number(period, place), pairs, place)
            case ["end", flow, index]:
                name = self._variables[read_integer(index, place, len(self._variables))].name
                ended = self.get(flow, Flow, place)
                if name not in ended.names:
                    raise broken(place, "a variable that its flow moves", index)
                return End(ended, name)
            case ["least" | "greatest" as tag, flow, expr]:
                follows(self.get(expr, Expr, place), place)
                return Extremum(self.get(flow, Flow, place), self.get(expr, Expr, place), tag == "greatest")
            case ["truth", bool(value)]:
                return Truth(value)
            case ["compare", expr, str(relation)] if relation in _RELATIONS:
                return Compare(self.get(expr, Expr, place), Relation(relation))
            case ["all", operands]:
                return All(self._several(operands, Condition, place))
            case ["any", operands]:
                return Any(self._several(operands, Condition, place))
        return None

    def _flow(self, period: Fraction, pairs: list[Row], place: str) -> Flow:
        rates = []
        for index, e in pairs:
            variable, rate = self.get(index, Expr, place), self.get(e, Expr, place)
            if not isinstance(variable, Variable) or variable.integral or period <= 0:
                raise broken(place, "a positive period, and real variables with their derivatives", index)
            follows(rate, place)
            rates.append((variable, rate))
        if len({v.name for v, _ in rates}) < len(rates):
            raise broken(place, "one derivative for each variable", "several")
        return Flow(period, tuple(rates))

    def get(self, index: object, kind: type[_N], place: str) -> _N:
        """The node of that index, among those read so far. Raises `ModelError` where it is of another kind."""
        node = self.nodes[read_integer(index, place, len(self.nodes))]
        if not isinstance(node, kind):
            raise broken(place, f"a node of the kind {_KINDS[kind]}", index)
        return node

    def _several(self, value: object, kind: type[_N], place: str, length: int | None = None) -> tuple[_N, ...]:
        return tuple(self.get(index, kind, place) for index in read_list(value, place, length))

    def _read_formula(self, number: int, node: Condition, row: Row) -> None:
        """Remember what the condition is as a formula, where it is linear in the variables."""
        if isinstance(node, Compare):
            if (affine := self._affine.get(row[1])) is not None:
                self._comparisons[number] = Comparison(affine, node.relation)
                self._formulas[number] = Atom(self._comparisons[number])
        elif isinstance(node, Truth):
            self._formulas[number] = TRUE if node.value else FALSE
        elif len(row[1]) > 1 and all(i in self._formulas for i in row[1]):
            self._formulas[number] = (And if row[0] == "all" else Or)(tuple(self._formulas[i] for i in row[1]))

    def comparison(self, index: object, place: str) -> Comparison:
        """The linear comparison at that index."""
        found = self._comparisons.get(read_integer(index, place, len(self.nodes)))
        if found is None:
            raise broken(place, "a comparison that is affine in the variables", index)
        return found

    def formula(self, index: object, place: str) -> Formula:
        """The condition at that index as a formula."""
        found = self._formulas.get(read_integer(index, place, len(self.nodes)))
        if found is None:
            raise broken(place, "a condition that is linear in the variables", index)
        return found


_RELATIONS = {relation.value for relation in Relation}
_KINDS: Mapping[object, str] = {Expr: "scalar", Condition: "condition", Application: "network", Flow: "flow"}


def _affine(expr: Expr) -> LinearExpr | None:
    """As `to_linear`, of sums over variables only: what `Writer.comparison` writes."""
    match expr:
        case Constant(value):
            return LinearExpr((), value)
        case Variable(name, _):
            return LinearExpr.variable(name)
        case Sum(terms, constant):
            pairs = [(e.name, c) for c, e in terms if isinstance(e, Variable)]
            return LinearExpr.of(pairs, constant) if len(pairs) == len(terms) else None
    return None


def check_switches(system: System, nodes: Sequence[Node]) -> None:
    """The values of selectors, found from below: nothing recurses later. `ModelError` above `MAX_WORK`."""
    wanted: set[int] = set()
    for node in reversed(nodes):
        if isinstance(node, Switch):
            wanted.add(id(node.selector))
        if id(node) in wanted and isinstance(node, Sum | Maximum | Switch | Where):
            wanted.update(id(part) for part in children(node) if isinstance(part, Expr))
    work = 0
    for i, node in enumerate(nodes):
        if id(node) in wanted and isinstance(node, Expr):
            work += _work(system, node)
            if work > MAX_WORK:
                raise ModelError(f"nodes[{i}] decides a switch and takes too many values: use a simpler selector")
            system.domains.values(node)


def _work(system: System, node: Expr) -> int:
    """About how many operations on words `Domains.values` takes, when it knows the parts of the node."""
    if not isinstance(node, Sum | Maximum | Switch | Where):
        return 1
    known = [system.domains.values(part) for part in children(node) if isinstance(part, Expr)]
    if not isinstance(node, Sum):
        return sum(len(values or ()) for values in known)
    work, sums, words = 1, 1, 1
    for (coefficient, _), values in zip(node.terms, known, strict=True):
        if values is None or sums * len(values) > MAX_DOMAIN:
            break
        sums *= len(values)
        words += (_bits(coefficient) + max(map(_bits, values), default=0)) // 64
        work += sums * words
    return work


def _bits(value: Fraction) -> int:
    return value.numerator.bit_length() + value.denominator.bit_length()
