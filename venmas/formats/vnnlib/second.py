"""VNN-LIB 2.0, as the package vnnlib reads it: typed queries about networks, written anew in VNN-LIB 1.0.

What is read of 2.0 is what 1.0 can say of networks side by side: each has one input and one output tensor, whose
elements are counted in the order in which they are stored (the last index first), from one network to the next, and
conditions add and multiply. Numbers are the decimals that are written; elements of type float32 and float64 are
read as real numbers. https://www.vnnlib.org, standard 2.0.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import chain
from math import prod
from typing import Any

from venmas.errors import UsageError, install

_COMMENT = re.compile(r";[^\n]*")
_VERSION = re.compile(r"\s*\(\s*vnnlib-version\s*<\s*(\d+)\.(\d+)\s*>\s*\)")
_MAX_NESTING = 100
_MAX_ELEMENTS = 1_000_000
_TYPES = ("Real", "F32", "F64")
_RELATIONS = {"LessEqual": "<=", "GreaterEqual": ">=", "LessThan": "<", "GreaterThan": ">", "Equal": "="}
_JOINED = {"And": "and", "Or": "or", "Plus": "+", "Multiply": "*"}


@dataclass(frozen=True)
class Declared:
    """A network that a query declares: how many inputs and outputs it has, and the network that it says it is like.

    relation: ``equal-to`` (the same network), ``isomorphic-to`` (the same shape) or nothing.
    """

    name: str
    inputs: int
    outputs: int
    relation: str = ""
    other: str = ""


def version_of(text: str) -> tuple[int, int] | None:
    """The version that a text declares first; None for VNN-LIB 1.0, which does not."""
    match = _VERSION.match(_COMMENT.sub("", text[:10_000]))
    return (int(match[1]), int(match[2])) if match else None


def in_first_version(text: str, name: str) -> tuple[str, tuple[Declared, ...]]:
    """A query of VNN-LIB 2.0 as a text of VNN-LIB 1.0 that says the same, and its networks.

    Raises `UsageError` where there is no such text.
    """
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
        query = vnnlib.parse_query_string(text)
    except (vnnlib.VNNLibException, IndexError, ValueError, OverflowError) as error:  # it lets errors of C++ through
        raise UsageError(f"{name} is no VNN-LIB 2.0 that the package vnnlib reads: {_plain(error)}") from error
    writer = _Writer(query, name)
    return writer.text(), tuple(writer.networks)


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


class _Writer:
    """The commands of VNN-LIB 1.0 for a query."""

    def __init__(self, query: Any, name: str) -> None:
        self.query, self.name = query, name
        self.letters: dict[str, str] = {}
        self.shapes: dict[str, list[int]] = {}
        self.first: dict[str, int] = {}
        """The number of the first element of each variable among all inputs, or outputs."""
        self.counts = {"X": 0, "Y": 0}
        self.networks: list[Declared] = []

    def refuse(self, problem: str) -> UsageError:
        return UsageError(f"{self.name}: {problem}; VenMAS reads networks with one input and one output each")

    def text(self) -> str:
        if not self.query.networks:
            raise self.refuse("no network is declared")
        lines = []
        for network in self.query.networks:
            lines += self.network(network)
        lines += [f"(assert {self.condition(assertion.expr)})" for assertion in self.query.assertions]
        return "\n".join(lines) + "\n"

    def network(self, network: Any) -> list[str]:
        """Its declarations."""
        if network.hidden:
            raise self.refuse(f"network {network.name} declares hidden nodes, which are not read")
        if network.equal_to and network.isometric_to:
            raise self.refuse(f"network {network.name} has two relations, to {network.equal_to} and others")
        other = network.equal_to or network.isometric_to
        relation = "equal-to" if network.equal_to else "isomorphic-to" if other else ""
        if other and other not in [before.name for before in self.networks]:
            raise self.refuse(f"network {network.name} is {relation} {other}, which is not declared before it")
        if network.name in [before.name for before in self.networks]:
            raise self.refuse(f"network {network.name} is declared twice")
        lines, before = [], dict(self.counts)
        for letter, what, declared in (("X", "input", network.inputs), ("Y", "output", network.outputs)):
            if len(declared) != 1:
                raise self.refuse(f"{len(declared)} {what}s are declared by network {network.name}")
            lines += self.declare(letter, declared[0])
        inputs, outputs = (self.counts[letter] - before[letter] for letter in "XY")
        self.networks.append(Declared(network.name, inputs, outputs, relation, other))
        return lines

    def declare(self, letter: str, variable: Any) -> list[str]:
        if variable.onnx_name:
            raise self.refuse(
                f"{variable.name} is named {variable.onnx_name!r} in ONNX, which is not read: leave it out"
            )
        if variable.dtype.name not in _TYPES:
            raise self.refuse(f"{variable.name} has elements of type {variable.dtype.name}, not real, float32, float64")
        if variable.name in self.letters:
            raise self.refuse(f"{variable.name} is declared twice")
        self.letters[variable.name], self.shapes[variable.name] = letter, list(variable.shape)
        size = prod(variable.shape)
        if size > _MAX_ELEMENTS:
            raise self.refuse(f"{variable.name} has {size} elements, more than {_MAX_ELEMENTS}")
        first = self.first[variable.name] = self.counts[letter]
        self.counts[letter] += size
        return [f"(declare-const {letter}_{i} Real)" for i in range(first, first + size)]

    def condition(self, node: Any) -> str:
        """Of a kind that is known: anything else is refused."""
        kind = type(node).__name__
        if kind in _RELATIONS:
            return f"({_RELATIONS[kind]} {self.term(node.lhs)} {self.term(node.rhs)})"
        if kind == "NotEqual":
            return f"(not (= {self.term(node.lhs)} {self.term(node.rhs)}))"
        if kind in ("And", "Or"):
            return f"({_JOINED[kind]} {' '.join(map(self.condition, node.args))})"
        raise self.refuse(f"{str(node)[:80]!r} is a condition of an unknown kind, {kind}")

    def term(self, node: Any) -> str:
        """The same for terms."""
        kind = type(node).__name__
        if kind == "Var":
            return self.element(node)
        if kind in ("Float", "Int", "IntExpr"):
            return str(node.lexeme)
        if kind in ("Plus", "Multiply"):
            return f"({_JOINED[kind]} {' '.join(map(self.term, node.args))})"
        if kind == "Negate":
            return f"(- {self.term(node.expr)})"
        if kind == "Minus":
            return f"(- {' '.join(map(self.term, chain([node.head], node.rest)))})"
        raise self.refuse(f"{str(node)[:80]!r} is a term of an unknown kind, {kind}")

    def element(self, variable: Any) -> str:
        """Its place among the elements as they are stored."""
        shape, indices = self.shapes.get(variable.name), list(variable.indices)
        if (
            shape is None
            or len(indices) != len(shape)
            or not all(0 <= i < n for i, n in zip(indices, shape, strict=True))
        ):
            raise self.refuse(f"{str(variable)[:80]!r} is no element of an input or output")
        place = 0
        for index, size in zip(indices, shape, strict=True):
            place = place * size + index
        return f"{self.letters[variable.name]}_{self.first[variable.name] + place}"
