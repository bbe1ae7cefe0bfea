"""VNN-LIB 2.0: the tree that the package vnnlib makes of a text, as a query.

Elements of tensors are counted in the order in which they are stored (the last index first), from one tensor to the
next and from one network to the next; those of hidden nodes are outputs, after the others of their network. Conditions
add and multiply. Numbers are the decimals that are written; elements of type float32 and float64 are read as real
numbers. https://www.vnnlib.org, standard 2.0.
"""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import chain, product
from typing import Any, NoReturn

from venmas.errors import UsageError, install
from venmas.formats.vnnlib.query import Declared, Query, Tensor, cases_of, within_floats
from venmas.logic.formula import Atom, Formula, conjunction, disjunction
from venmas.logic.linear import Comparison, LinearExpr, Relation
from venmas.logic.nnf import nnf

_COMMENT = re.compile(r";[^\n]*")
_VERSION = re.compile(r"\s*\(\s*vnnlib-version\s*<\s*(\d+)\.(\d+)\s*>\s*\)")
_NUMBER = re.compile(r"-?\d{1,1000}(\.\d{1,1000})?([eE][+-]?\d{1,4})?")
_MAX_NESTING = 100
_MAX_ELEMENTS = 1_000_000
_TYPES = ("Real", "F32", "F64")
_RELATIONS = {
    "LessEqual": Relation.LE,
    "GreaterEqual": Relation.GE,
    "LessThan": Relation.LT,
    "GreaterThan": Relation.GT,
    "Equal": Relation.EQ,
    "NotEqual": Relation.NE,
}


def version_of(text: str) -> tuple[int, int] | None:
    """The version that a text declares first; None for VNN-LIB 1.0, which does not."""
    match = _VERSION.match(_COMMENT.sub("", text[:10_000]))
    return (int(match[1]), int(match[2])) if match else None


def parse_second(text: str, name: str) -> Query:
    """Read a text; `name` is what messages call it. Raises `UsageError`."""
    try:
        import vnnlib
    except ImportError as error:
        raise UsageError(
            f"{name} is VNN-LIB 2.0, which the package vnnlib reads: {install('vnnlib')}, or write it in 1.0"
        ) from error
    if version_of(text) != (2, 0):
        raise UsageError(f"{name}: expected VNN-LIB 1.0 or 2.0, got {'.'.join(map(str, version_of(text) or ()))}")
    _check_nesting(text, name)
    try:
        tree = vnnlib.parse_query_string(text)
    except (vnnlib.VNNLibException, IndexError, ValueError, OverflowError) as error:  # it lets errors of C++ through
        raise UsageError(f"{name} is no VNN-LIB 2.0 that the package vnnlib reads: {_plain(error)}") from error
    return _Reader(name).query(tree)


def _check_nesting(text: str, name: str) -> None:
    """Refuse what the package, which reads by recursion, would end the process at."""
    depth = 0
    for match in re.finditer(r"[()]", _COMMENT.sub("", text)):
        depth += 1 if match[0] == "(" else -1
        if depth > _MAX_NESTING:
            raise UsageError(f"{name}: more than {_MAX_NESTING} parentheses inside each other: write it flatter")


def _plain(error: Exception) -> str:
    """The first error of the JSON text that the package raises, or the text itself."""
    match = re.search(r'"hint": "((?:[^"\\]|\\.)*)",\s*"line": (\d+)', str(error))
    return f"line {match[2]}: {match[1]}" if match else str(error)


class _Reader:
    """One reading of a tree. Nodes of a kind that is not known are refused."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.networks: dict[str, Declared] = {}
        self.places: dict[str, tuple[str, int, Tensor]] = {}
        """By tensor: the letter of its elements, and the number of the first one."""
        self.counts = {"X": 0, "Y": 0}
        self.products: dict[tuple[LinearExpr, LinearExpr], int] = {}

    def fail(self, problem: str) -> NoReturn:
        raise UsageError(f"{self.name}: {problem}")

    def query(self, tree: Any) -> Query:
        if not tree.networks:
            self.fail("no network is declared: add (declare-network f ..)")
        for network in tree.networks:
            self.network(network)
        assertion = nnf(conjunction([self.condition(asserted.expr) for asserted in tree.assertions]))
        names = [
            f"{tensor.name}[{','.join(map(str, index))}]" if tensor.shape else tensor.name
            for network in self.networks.values()
            for tensor in network.inputs
            for index in product(*map(range, tensor.shape))
        ]
        cases = cases_of(assertion, names, self.fail)
        sizes = self.counts["X"], self.counts["Y"]
        return Query(*sizes, assertion, cases, tuple(self.networks.values()), tuple(self.products))

    def network(self, network: Any) -> None:
        name, other = network.name, network.equal_to or network.isometric_to
        if network.equal_to and network.isometric_to:
            self.fail(f"network {name} has two relations, to {network.equal_to} and others: write one")
        relation = "equal-to" if network.equal_to else "isomorphic-to" if other else ""
        if other and other not in self.networks:
            self.fail(f"network {name} is {relation} {other}, which is not declared before it: declare it before")
        if name in self.networks:
            self.fail(f"network {name} is declared twice: give each a name of its own")
        tensors = (("X", network.inputs), ("Y", network.outputs), ("Y", network.hidden))
        inputs, outputs, hidden = (tuple(self.tensor(letter, node) for node in nodes) for letter, nodes in tensors)
        if not inputs or not outputs:
            self.fail(
                f"network {name} has {len(inputs)} inputs and {len(outputs)} outputs: declare one of each at least"
            )
        self.networks[name] = Declared(name, inputs, outputs, hidden, relation, other)

    def tensor(self, letter: str, node: Any) -> Tensor:
        tensor = Tensor(node.name, tuple(node.shape), (node.onnx_name or "").removeprefix('"').removesuffix('"'))
        if node.dtype.name not in _TYPES:
            self.fail(f"{node.name} has elements of type {node.dtype.name}: expected real, float32 or float64")
        if node.name in self.places:
            self.fail(f"{node.name} is declared twice: give each tensor a name of its own")
        if not 0 < tensor.size <= _MAX_ELEMENTS - self.counts[letter]:
            self.fail(f"{node.name} has {tensor.size} elements: expected some, and at most {_MAX_ELEMENTS} in all")
        self.places[node.name] = letter, self.counts[letter], tensor
        self.counts[letter] += tensor.size
        return tensor

    def condition(self, node: Any) -> Formula:
        kind = type(node).__name__
        if kind in _RELATIONS:
            difference = self.within(self.term(node.lhs) - self.term(node.rhs), node)
            return Atom(Comparison(difference, _RELATIONS[kind]))
        if kind in ("And", "Or") and node.args:
            return (conjunction if kind == "And" else disjunction)([self.condition(part) for part in node.args])
        self.fail(f"{str(node)[:80]!r} is a condition of an unknown kind, {kind}: write comparisons, and, or")

    def term(self, node: Any) -> LinearExpr:
        kind = type(node).__name__
        if kind == "Var":
            return LinearExpr.variable(self.element(node))
        if kind in ("Float", "Int", "IntExpr"):
            if not _NUMBER.fullmatch(node.lexeme):
                self.fail(f"{node.lexeme[:80]!r} is no number of at most 1000 digits: round it")
            return self.within(LinearExpr((), Fraction(node.lexeme)), node)
        if kind == "Negate":
            return -self.term(node.expr)
        parts = chain([node.head], node.rest) if kind == "Minus" else node.args if kind in ("Plus", "Multiply") else ()
        terms = [self.term(part) for part in parts]
        if not terms:
            self.fail(f"{str(node)[:80]!r} is a term of an unknown kind, {kind}: write numbers, elements, +, -, *")
        total = -terms[0] if kind == "Minus" and len(terms) == 1 else terms[0]
        for term in terms[1:]:
            total = self.times(total, term) if kind == "Multiply" else total + term if kind == "Plus" else total - term
        return self.within(total, node)

    def times(self, left: LinearExpr, right: LinearExpr) -> LinearExpr:
        if left.terms and right.terms:
            return LinearExpr.variable(f"P_{self.products.setdefault((left, right), len(self.products))}")
        return left.scaled(right.constant) if left.terms else right.scaled(left.constant)

    def within(self, expr: LinearExpr, node: Any) -> LinearExpr:
        """The expression itself, where its numbers are ones that are read."""
        if not within_floats(expr):
            self.fail(f"{str(node)[:80]!r}: a number beyond 1e100, or closer to 0 than 1e-100: scale the property")
        return expr

    def element(self, variable: Any) -> str:
        """Its name among the elements as they are stored."""
        if variable.name not in self.places:
            self.fail(f"{variable.name} is not declared: declare it as an input, output or hidden node")
        letter, first, tensor = self.places[variable.name]
        indices, shape = list(variable.indices), tensor.shape
        if len(indices) != len(shape) or not all(0 <= i < n for i, n in zip(indices, shape, strict=True)):
            self.fail(
                f"{str(variable)[:80]!r} is no element of a tensor of shape {list(shape)}: give an index for each"
            )
        place = 0
        for index, size in zip(indices, shape, strict=True):
            place = place * size + index
        return f"{letter}_{first + place}"
