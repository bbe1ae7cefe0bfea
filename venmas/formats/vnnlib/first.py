"""VNN-LIB 1.0: declared inputs X_0, X_1, .. and outputs Y_0, Y_1, .., and asserted comparisons of affine terms.

Comparisons are joined by ``and``, ``or``, ``not`` and ``=>``; the commands are those of SMT-LIB 2.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import NoReturn

from venmas.errors import FormulaError
from venmas.formats.vnnlib.query import Query, cases_of, within_floats
from venmas.logic.formula import FALSE, TRUE, Atom, Formula, Implies, Not, conjunction, disjunction
from venmas.logic.linear import Comparison, LinearExpr, Relation
from venmas.logic.nnf import nnf

_MAX_DIGITS = 1000
_MAX_NESTING = 100
_TOKEN = re.compile(r";[^\n]*|[()]|\|[^|]*\||\"[^\"]*\"|[^\s();|\"]+|\S")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,4})?")
_VARIABLE = re.compile(r"([XY])_(0|[1-9]\d{0,6})")
_RELATIONS = {"<=": Relation.LE, ">=": Relation.GE, "<": Relation.LT, ">": Relation.GT, "=": Relation.EQ}
_IGNORED = ("set-logic", "set-info", "set-option", "check-sat", "get-model", "exit")


def parse_first(text: str, name: str) -> Query:
    """Read a text; `name` is what messages call it. Raises `FormulaError` with line and column."""
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
    def __init__(self, text: str, name: str) -> None:
        self.text, self.name = text, name
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
        inputs, outputs = self.count("X"), self.count("Y")
        assertion = nnf(conjunction(asserted))
        names = [f"X_{i}" for i in range(inputs)]
        return Query(
            inputs, outputs, assertion, cases_of(assertion, names, lambda problem: self.fail(len(self.text), problem))
        )

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
            elif head.word == "/" and not term.terms and term.constant:
                total = total.scaled(1 / term.constant)
            else:
                self.fail(node.at, "this is not linear: multiply by numbers only, and do not divide by 0")
        return self.held(total, node)

    def held(self, expr: LinearExpr, node: _Node) -> LinearExpr:
        """The expression itself, where its numbers are ones that are read."""
        if not within_floats(expr):
            self.fail(node.at, "a number beyond 1e100, or closer to 0 than 1e-100: scale the property")
        return expr

    def number(self, node: _Node) -> Fraction:
        if len(node.word) > _MAX_DIGITS:
            self.fail(node.at, f"a number of {len(node.word)} characters: at most {_MAX_DIGITS} are read")
        return Fraction(node.word)
