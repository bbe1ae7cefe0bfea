"""VNN-LIB properties, as used by VNN-COMP: conditions on inputs and outputs that make a counterexample.

A file declares the inputs X_0, X_1, .. and the outputs Y_0, Y_1, .. (``declare-const``) and asserts comparisons of
affine terms, joined by ``and``, ``or``, ``not`` and ``=>``. All assertions hold together at a counterexample. Numbers
are the decimals that are written, exactly. https://www.vnnlib.org, standard 1.0; the commands are those of SMT-LIB 2.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from os import PathLike
from typing import NoReturn

from venmas.errors import FormulaError, UsageError
from venmas.formats.packed import read_packed
from venmas.formats.vnnlib.implied import ends_of, with_bounds
from venmas.formats.vnnlib.second import Declared, in_first_version, version_of
from venmas.logic.formula import (
    FALSE,
    TRUE,
    And,
    Atom,
    Bottom,
    Formula,
    Implies,
    Not,
    Or,
    Top,
    conjunction,
    disjunction,
)
from venmas.logic.linear import Comparison, LinearExpr, Relation
from venmas.logic.nnf import nnf

MAX_BYTES = 32 << 20
"""Largest file that is read."""
MAX_CASES = 10_000
"""Most boxes of inputs that one property may name."""
_MAX_DIGITS = 1000
_MAX_NESTING = 100
_LARGEST = Fraction(10) ** 100
_TOKEN = re.compile(r";[^\n]*|[()]|\|[^|]*\||\"[^\"]*\"|[^\s();|\"]+|\S")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,4})?")
_VARIABLE = re.compile(r"([XY])_(0|[1-9]\d{0,6})")
_RELATIONS = {"<=": Relation.LE, ">=": Relation.GE, "<": Relation.LT, ">": Relation.GT, "=": Relation.EQ}
_IGNORED = ("set-logic", "set-info", "set-option", "check-sat", "get-model", "exit")

Box = tuple[tuple[Fraction, Fraction], ...]


def hull(boxes: Sequence[Box]) -> Box:
    """The least box that contains boxes."""
    sides = zip(*boxes, strict=True)
    return tuple((min(low for low, _ in side), max(high for _, high in side)) for side in sides)


@dataclass(frozen=True)
class Case:
    """Inputs in one of `boxes` (closed) that meet `condition`, in negation normal form over X_i and Y_j."""

    boxes: tuple[Box, ...]
    condition: Formula


@dataclass(frozen=True)
class Query:
    """A property: a counterexample meets `assertion` (in negation normal form), which says the same as `cases`.

    products: the factors of P_0, P_1, .., over X_i, Y_j and the P_k before; conditions may mention these.
    networks: those that VNN-LIB 2.0 declares, whose inputs, and outputs, follow each other.
    """

    inputs: int
    outputs: int
    assertion: Formula
    cases: tuple[Case, ...]
    networks: tuple[Declared, ...] = ()
    products: tuple[tuple[LinearExpr, LinearExpr], ...] = ()

    def at(self, inputs: Iterable[Fraction], outputs: Iterable[Fraction]) -> dict[str, Fraction]:
        """Values of X_i and Y_j by name."""
        return {f"X_{i}": v for i, v in enumerate(inputs)} | {f"Y_{i}": v for i, v in enumerate(outputs)}

    def holds(self, values: Mapping[str, Fraction], slack: Fraction = Fraction(0)) -> bool:
        """Does the assertion hold for exact values of X_i and Y_j, each comparison missed by at most `slack`?"""
        known = dict(values)
        for number, (left, right) in enumerate(self.products):
            known[f"P_{number}"] = left.evaluate(known) * right.evaluate(known)
        return meets(self.assertion, known, slack)


def meets(condition: Formula, values: Mapping[str, Fraction], slack: Fraction = Fraction(0)) -> bool:
    """Truth of a condition in negation normal form without operators of time; see `Query.holds`."""
    match condition:
        case And(parts):
            return all(meets(part, values, slack) for part in parts)
        case Or(parts):
            return any(meets(part, values, slack) for part in parts)
        case Top() | Bottom():
            return isinstance(condition, Top)
        case Atom(comparison):
            value = comparison.expr.evaluate(values)
            return comparison.relation.holds(value) or (slack > 0 and abs(value) <= slack)
    raise TypeError(type(condition))


def read_vnnlib(path: str | PathLike[str]) -> Query:
    """Read a file, .gz or not. Raises `UsageError` where it cannot be read, `FormulaError` for what it says."""
    data = read_packed(path, MAX_BYTES, "a property")
    try:
        return parse_vnnlib(data.decode("utf-8-sig"), str(path))
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is no UTF-8 text ({error.reason} at byte {error.start})") from error


def parse_vnnlib(text: str, name: str = "property") -> Query:
    """Read a text; `name` is what messages call it. Raises `FormulaError` with line and column.

    VNN-LIB 2.0 is read where the package vnnlib is installed (`venmas.formats.vnnlib.second`); raises `UsageError` for
    it.
    """
    if version_of(text) is not None:
        text, networks = in_first_version(text, name)
        return replace(_Reader(text, f"{name}, as VNN-LIB 1.0", True).query(), networks=networks)
    return _Reader(text, name).query()


@dataclass(frozen=True)
class _Node:
    """A word, or a list of nodes; at: where it begins in the text."""

    word: str
    parts: tuple[_Node, ...]
    at: int

    @property
    def head(self) -> str:
        return self.parts[0].word if self.parts else ""


class _Reader:
    def __init__(self, text: str, name: str, products: bool = False) -> None:
        self.text, self.name = text, name
        self.products: dict[tuple[LinearExpr, LinearExpr], int] | None = {} if products else None
        self.declared: dict[str, int] = {}

    def fail(self, at: int, problem: str) -> NoReturn:
        line = self.text.count("\n", 0, at) + 1
        shown = self.text[self.text.rfind("\n", 0, at) + 1 :].split("\n", 1)[0]
        column = at - self.text.rfind("\n", 0, at)
        raise FormulaError(f"{self.name}: {problem}", "\n" * (line - 1) + shown, line, column)

    def query(self) -> Query:
        asserted: list[Formula] = []
        for node in self.nodes():
            match node.head:
                case "declare-const" | "declare-fun":
                    self.declare(node)
                case "assert":
                    if len(node.parts) != 2:
                        self.fail(node.at, f"assert takes one condition, got {len(node.parts) - 1}")
                    asserted.append(self.condition(node.parts[1]))
                case command if command not in _IGNORED or not node.parts:
                    known = "declare-const, declare-fun, assert"
                    self.fail(
                        node.at, f"{command or node.word or '()'!r} is no command of VNN-LIB 1.0: expected {known}"
                    )
        sizes = [self.count(kind) for kind in "XY"]
        assertion = nnf(conjunction(asserted))
        cases = self.cases(with_bounds(assertion, sizes[0]), sizes[0])
        return Query(sizes[0], sizes[1], assertion, cases, products=tuple(self.products or ()))

    def nodes(self) -> list[_Node]:
        """The commands, read without recursion."""
        ordered: list[_Node] = []
        opened: list[tuple[int, list[_Node]]] = []
        for match in _TOKEN.finditer(self.text):
            token, at = match.group(), match.start()
            if token.startswith(";"):
                continue
            if token == "(":
                if len(opened) >= _MAX_NESTING:
                    self.fail(at, f"more than {_MAX_NESTING} parentheses inside each other: write it flatter")
                opened.append((at, []))
                continue
            if token == ")":
                if not opened:
                    self.fail(at, "this parenthesis closes nothing: remove it, or open one before")
                start, parts = opened.pop()
                node = _Node("", tuple(parts), start)
            else:
                node = _Node(token, (), at)
            (opened[-1][1] if opened else ordered).append(node)
        if opened:
            self.fail(opened[-1][0], "this parenthesis is not closed: add ')'")
        return ordered

    def declare(self, node: _Node) -> None:
        parts = node.parts
        if node.head == "declare-fun" and len(parts) == 4 and not parts[2].word and not parts[2].parts:
            parts = (*parts[:2], parts[3])
        if len(parts) != 3 or parts[2].word != "Real" or not _VARIABLE.fullmatch(parts[1].word):
            self.fail(
                node.at, "expected (declare-const X_0 Real), with names X_0, X_1, .. for inputs, Y_0, .. for outputs"
            )
        if parts[1].word in self.declared:
            self.fail(parts[1].at, f"{parts[1].word} is declared twice")
        self.declared[parts[1].word] = parts[1].at

    def count(self, kind: str) -> int:
        numbers = sorted(int(name[2:]) for name in self.declared if name[0] == kind)
        for expected, number in enumerate(numbers):
            if number != expected:
                self.fail(self.declared[f"{kind}_{number}"], f"{kind}_{expected} is not declared, {kind}_{number} is")
        if not numbers:
            self.fail(
                len(self.text),
                f"no {'input' if kind == 'X' else 'output'} is declared: add (declare-const {kind}_0 Real)",
            )
        return len(numbers)

    def condition(self, node: _Node) -> Formula:
        if not node.parts:
            if node.word in ("true", "false"):
                return TRUE if node.word == "true" else FALSE
            self.fail(node.at, f"expected a condition such as (<= X_0 1.5), got {node.word or '()'!r}")
        head, rest = node.parts[0], node.parts[1:]
        if head.word in _RELATIONS:
            if len(rest) < 2:
                self.fail(node.at, f"{head.word} compares two terms, got {len(rest)}")
            terms = [self.term(part) for part in rest]
            relation = _RELATIONS[head.word]
            return conjunction([Atom(Comparison(self.held(a - b, node), relation)) for a, b in pairwise(terms)])
        if head.word not in ("and", "or", "not", "=>"):
            self.fail(
                head.at, f"{head.word or '(..)'!r} is no operator here: expected and, or, not, =>, <=, >=, <, > or ="
            )
        parts = [self.condition(part) for part in rest]
        match head.word:
            case "and" if parts:
                return conjunction(parts)
            case "or" if parts:
                return disjunction(parts)
            case "not" if len(parts) == 1:
                return Not(parts[0])
            case "=>" if len(parts) == 2:
                return Implies(parts[0], parts[1])
        self.fail(node.at, f"{head.word} does not take {len(parts)} conditions")

    def term(self, node: _Node) -> LinearExpr:
        if not node.parts:
            if node.word in self.declared:
                return LinearExpr.variable(node.word)
            if _NUMBER.fullmatch(node.word):
                return self.held(LinearExpr((), self.number(node)), node)
            if _VARIABLE.fullmatch(node.word):
                self.fail(node.at, f"{node.word} is not declared: add (declare-const {node.word} Real) before")
            self.fail(node.at, f"expected a number, X_i or Y_j, got {node.word or '()'!r}")
        head, terms = node.parts[0], [self.term(part) for part in node.parts[1:]]
        if not terms or head.word not in ("+", "-", "*", "/"):
            self.fail(node.at, "expected a sum, difference or multiple of X_i and Y_j, such as (- Y_0 (* 2.0 Y_1))")
        total = terms[0] if len(terms) > 1 or head.word != "-" else -terms[0]
        for term in terms[1:]:
            if head.word in "+-":
                total = total + term if head.word == "+" else total - term
            elif head.word == "*" and not (total.terms and term.terms):
                total = total.scaled(term.constant) if total.terms else term.scaled(total.constant)
            elif head.word == "*" and self.products is not None:
                number = self.products.setdefault((total, term), len(self.products))
                total = LinearExpr.variable(f"P_{number}")
            elif head.word == "/" and not term.terms and term.constant:
                total = total.scaled(1 / term.constant)
            else:
                self.fail(node.at, "this is not linear: multiply by numbers only, and do not divide by 0")
        return self.held(total, node)

    def held(self, expr: LinearExpr, node: _Node) -> LinearExpr:
        """The expression itself, of numbers that floats hold, and quotients of two of them."""
        if any(not 1 / _LARGEST <= abs(c) <= _LARGEST for c in (expr.constant, *(c for _, c in expr.terms)) if c):
            self.fail(node.at, "a number beyond 1e100, or closer to 0 than 1e-100: scale the property")
        return expr

    def number(self, node: _Node) -> Fraction:
        if len(node.word) > _MAX_DIGITS:
            self.fail(node.at, f"a number of {len(node.word)} characters: at most {_MAX_DIGITS} are read")
        return Fraction(node.word)

    def cases(self, assertion: Formula, inputs: int) -> tuple[Case, ...]:
        boxes: dict[Formula, dict[Box, None]] = {}
        for bounds, rest in _boxes(assertion, lambda: self.fail(len(self.text), _TOO_MANY)):
            if isinstance(rest, Bottom):
                continue
            box = []
            for i in range(inputs):
                low, high = bounds.get(i, (None, None))
                if low is None or high is None:
                    side = "lower" if low is None else "upper"
                    remedy = f"add (assert ({'>=' if low is None else '<='} X_{i} ..))"
                    self.fail(len(self.text), f"input X_{i} has no {side} bound: {remedy} or a bound in every disjunct")
                box.append((low, high))
            if all(low <= high for low, high in box):
                boxes.setdefault(rest, {})[tuple(box)] = None
        return tuple(Case(tuple(bounds), rest) for rest, bounds in boxes.items())


_TOO_MANY = f"the disjunctions over inputs make more than {MAX_CASES} boxes: split the property into several files"
_Bounds = dict[int, tuple[Fraction | None, Fraction | None]]


def _boxes(condition: Formula, too_many: Callable[[], NoReturn]) -> list[tuple[_Bounds, Formula]]:
    """Bounds of inputs, and what must hold besides: the condition is that one of them is met."""
    if isinstance(condition, Atom):
        return [_bound(condition)]
    if isinstance(condition, And):
        parts = [_boxes(part, too_many) for part in condition.operands]
        bounds: _Bounds = {}
        rests = []
        for ((own, rest),) in (part for part in parts if len(part) == 1):
            _meet(bounds, own)
            rests.append(rest)
        boxes: list[tuple[_Bounds, Formula]] = [(bounds, conjunction(rests))]
        for several in (part for part in parts if len(part) != 1):
            if len(boxes) * len(several) > MAX_CASES:
                too_many()
            boxes = [(_meet(dict(a), b), conjunction((p, q))) for a, p in boxes for b, q in several]
        return boxes
    if isinstance(condition, Or):
        merged: dict[tuple[object, ...], tuple[_Bounds, list[Formula]]] = {}
        for part in condition.operands:
            for bounds, rest in _boxes(part, too_many):
                merged.setdefault(tuple(sorted(bounds.items())), (bounds, []))[1].append(rest)
        if len(merged) > MAX_CASES:
            too_many()
        return [(bounds, disjunction(rests)) for bounds, rests in merged.values()]
    return [({}, condition)]


def _bound(atom: Atom) -> tuple[_Bounds, Formula]:
    """A comparison of one input with a number is a bound; where it is strict, it stays as a condition as well."""
    expr, relation = atom.comparison.expr, atom.comparison.relation
    if len(expr.terms) != 1 or not expr.terms[0][0].startswith("X_") or relation is Relation.NE:
        return {}, atom
    name, ends = ends_of(atom.comparison)
    return {int(name[2:]): ends}, atom if relation.strict else TRUE


def _meet(bounds: _Bounds, more: _Bounds) -> _Bounds:
    """Intersect in place."""
    for i, ends in more.items():
        other = bounds.get(i, (None, None))
        lows, highs = ([e for e in side if e is not None] for side in zip(ends, other, strict=True))
        bounds[i] = (max(lows, default=None), min(highs, default=None))
    return bounds
