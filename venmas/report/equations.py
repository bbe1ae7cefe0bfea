"""A system in writing: agents, guards and updates as formulas, from its canonical form (docs/system.md)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from venmas.errors import ModelError
from venmas.linear import format_number
from venmas.model.canonical import system_to_json
from venmas.model.system import System

_MOST_VARIABLES = 200
_MOST_NODES = 3000
_LONG = 60
"""Characters from which a shared expression gets a name of its own."""
_TOO_LONG = 240
"""Characters from which any expression does, so that lines can be read."""
_LINE = 80
"""Characters of all cases that one line holds."""
_OPEN, _PRODUCT, _ATOM = range(3)

_Text = tuple[str, int]
"""A text, and how tightly it binds."""


@dataclass(frozen=True)
class Move:
    """A branch: its guard (empty where it is always enabled) and the new value of each variable that it changes."""

    name: str
    guard: str
    updates: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Equations:
    """What agents do and branches change. `lines` give the actions, by the names of their agents, and what was given a
    name because it is long or used several times; each uses variables and earlier lines only.
    """

    lines: tuple[tuple[str, str], ...]
    branches: tuple[Move, ...]


def equations(system: System, files: Mapping[str, str]) -> Equations | None:
    """Write a valid system down; None for one that is too large to be read.

    files: names of the networks by digest.
    """
    if len(system.variables) > _MOST_VARIABLES:
        return None
    try:
        form = system_to_json(system)
    except ModelError:  # too large for the canonical form
        return None
    if len(form["nodes"]) > _MOST_NODES:
        return None
    return _Writing(form, files).equations()


class _Writing:
    def __init__(self, form: Mapping[str, Any], files: Mapping[str, str]) -> None:
        self._form, self._files = form, files
        self._rows: list[list[Any]] = form["nodes"]
        self._names = [v["name"] for v in form["variables"]]
        self._texts: list[_Text] = []
        self._lines: list[tuple[str, str]] = []
        self._number = 1
        self._labels: dict[str, dict[int, str]] = {
            owner["name"]: {int(value): text for value, text in owner["labels"]}
            for owner in (*form["agents"], *form["variables"])  # where both have a name, it means the variable
        }

    def equations(self) -> Equations:
        named: dict[int, str] = {}
        for agent in self._form["agents"]:
            # a bare variable or number needs no other name, and a name that means a variable is no name for an action
            if self._rows[agent["value"]][0] not in ("variable", "constant") and agent["name"] not in self._names:
                named.setdefault(agent["value"], agent["name"])
        needed = self._needed()
        uses = Counter(part for index in needed for part in _parts(self._rows[index]))
        uses.update(index for branch in self._form["branches"] for index in _roots(branch))
        for index, row in enumerate(self._rows):
            text, level = self._write(row) if index in needed else ("", _ATOM)
            long = len(text) > _TOO_LONG or (uses[index] > 1 and len(text) > _LONG)
            long &= row[0] not in ("variable", "constant", "output", "network", "truth")
            if index in named or long or (text and row[0] == "flow"):
                name = named[index] if index in named else self._free_name()
                self._lines.append((name, text))
                text, level = name, _ATOM
            self._texts.append((text, level))
        for agent in self._form["agents"]:
            if named.get(agent["value"]) != agent["name"]:  # it is a variable, or does what another one does
                self._lines.append((agent["name"], self._texts[agent["value"]][0]))
        return Equations(tuple(self._lines), tuple(self._moves()))

    def _needed(self) -> set[int]:
        """Nodes of agents and branches; initial sets and propositions are shown elsewhere."""
        stack = [a["value"] for a in self._form["agents"]]
        for branch in self._form["branches"]:
            stack += _roots(branch)
        found: set[int] = set()
        while stack:
            index = stack.pop()
            if index not in found:
                found.add(index)
                stack += _parts(self._rows[index])
        return found

    def _free_name(self) -> str:
        taken = {*self._names, *(a["name"] for a in self._form["agents"])}
        while (name := f"e{self._number}") in taken:
            self._number += 1
        self._number += 1
        return name

    def _moves(self) -> Iterator[Move]:
        for branch in self._form["branches"]:
            guard = self._rows[branch["guard"]]
            always = guard == ["truth", True]
            yield Move(
                branch["name"],
                "" if always else self._texts[branch["guard"]][0],
                tuple((name, self._texts[e][0]) for name, e in branch["updates"]),
            )

    def _at(self, index: int, least: int = _OPEN) -> str:
        text, level = self._texts[index]
        return text if level >= least else f"({text})"

    def _write(self, row: list[Any]) -> _Text:
        match row:
            case ["constant", value]:
                return _number(value), _ATOM if not value.startswith("-") else _PRODUCT
            case ["variable", index]:
                return self._names[index], _ATOM
            case ["drawn", index]:
                return f"any in the range of {self._names[index]}", _OPEN
            case ["sum", terms, constant]:
                return self._sum(terms, constant), _OPEN
            case ["network", digest, inputs]:
                return f"{self._files.get(digest, digest[:12])}({', '.join(map(self._at, inputs))})", _ATOM
            case ["output", network, index]:
                return f"{self._at(network)}[{index + 1}]", _ATOM
            case ["maximum", operands]:
                return f"max({', '.join(map(self._at, operands))})", _ATOM
            case ["argmax", scores]:
                return f"argmax({self._scores(scores)})", _ATOM
            case ["switch", selector, cases]:
                chosen = self._at(selector, _ATOM)
                return f"case {chosen} of {{{self._cases(cases, self._labels.get(chosen, {}))}}}", _OPEN
            case ["where", condition, then, otherwise]:
                return f"if {self._at(condition)} then {self._at(then)} else {self._at(otherwise)}", _OPEN
            case ["product" | "quotient" as kind, left, right]:
                return (
                    f"{self._at(left, _PRODUCT)} {'*' if kind == 'product' else '/'} {self._at(right, _ATOM)}",
                    _PRODUCT,
                )
            case ["apply", function, operand]:
                return f"{function}({self._at(operand)})", _ATOM
            case ["held", operand]:
                return f"held({self._at(operand)})", _ATOM
            case ["flow", period, rates]:
                told = ", ".join(f"{self._at(v)}' = {self._at(e)}" for v, e in rates)
                return f"for {_number(period)} of time: {told}", _OPEN
            case ["end", flow, index]:
                return f"{self._names[index]} at the end of {self._at(flow)}", _OPEN
            case ["greatest" | "least" as kind, flow, expr]:
                return f"the {kind} {self._at(expr, _ATOM)} in {self._at(flow)}", _OPEN
            case ["truth", value]:
                return str(value).lower(), _ATOM
            case ["compare", expr, relation]:
                return self._comparison(expr, relation), _PRODUCT
            case ["all" | "any" as kind, parts]:
                return (" and " if kind == "all" else " or ").join(self._at(p, _PRODUCT) for p in parts), _OPEN
        raise AssertionError(row[0])

    def _sum(self, terms: list[list[Any]], constant: str) -> str:
        text = ""
        for coefficient, index in terms:
            negative, size = coefficient.startswith("-"), coefficient.removeprefix("-")
            operand = self._at(index, _ATOM)
            product = operand if size == "1" else _product(size, operand)
            sign = (" - " if negative else " + ") if text else "-" if negative else ""
            text += sign + product
        if constant != "0":
            text += f" {'-' if constant.startswith('-') else '+'} {_number(constant.removeprefix('-'))}"
        return text

    def _comparison(self, expr: int, relation: str) -> str:
        """``expr relation 0`` with the constant of a sum on the other side."""
        row = self._rows[expr]
        if row[0] == "sum" and self._texts[expr][1] == _OPEN:
            return f"{self._sum(row[1], '0')} {relation} {format_number(-Fraction(row[2]))}"
        return f"{self._at(expr, _PRODUCT)} {relation} 0"

    def _scores(self, scores: list[int]) -> str:
        """The outputs of one network in their order are its vector of outputs."""
        first = self._rows[scores[0]]
        if first[0] == "output" and all(self._rows[s] == ["output", first[1], i] for i, s in enumerate(scores)):
            return self._at(first[1])
        return ", ".join(map(self._at, scores))

    def _cases(self, cases: list[list[Any]], labels: Mapping[int, str]) -> str:
        """Cases of one value are listed together; each gets a line where one line would be long."""
        groups: dict[int, list[str]] = {}
        for key, index in cases:
            groups.setdefault(index, []).append(f"{key} {labels.get(key, '')}".rstrip())
        found = [f"{', '.join(keys)}: {self._at(i)}" for i, keys in groups.items()]
        if sum(map(len, found)) <= _LINE:
            return " " + "; ".join(found) + " "
        return "".join(f"\n  {one};" for one in found) + "\n"


def _roots(branch: Mapping[str, Any]) -> list[int]:
    return [branch["guard"], *(index for _, index in branch["updates"])]


def _parts(row: list[Any]) -> list[int]:
    match row:
        case ["sum", terms, _]:
            return [index for _, index in terms]
        case ["network", _, parts] | ["maximum" | "argmax" | "all" | "any", parts]:
            return list(parts)
        case ["output" | "compare" | "end", index, _] | ["apply", _, index] | ["held", index]:
            return [index]
        case ["flow", _, rates]:
            return [index for rate in rates for index in rate]
        case ["switch", selector, cases]:
            return [selector, *(index for _, index in cases)]
        case ["where" | "product" | "quotient" | "greatest" | "least", *parts]:
            return list(parts)
    return []


def _number(text: str) -> str:
    return format_number(Fraction(text))


def _product(size: str, operand: str) -> str:
    """``x / 4`` and ``3*x / 4`` read better than ``0.25*x``, and ``x / 16000`` than a long decimal."""
    top, _, bottom = size.partition("/")
    factor = operand if top == "1" else f"{top}*{operand}"
    return f"{factor}/{bottom}" if bottom else factor
