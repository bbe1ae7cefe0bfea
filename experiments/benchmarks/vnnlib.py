"""Reading the VNN-LIB properties of ACAS Xu: boxes of inputs, and unsafe outputs as a formula over y[1], y[2], ..."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TypeAlias

Tree: TypeAlias = "str | list[Tree]"
Box: TypeAlias = dict[int, tuple[Fraction | None, Fraction | None]]


@dataclass
class Property:
    """Inputs in one of `boxes` (by input, from 0) and outputs in `unsafe`, a text: the outputs are y[1], y[2], ..."""

    boxes: list[list[tuple[Fraction, Fraction]]] = field(default_factory=list)
    unsafe: str = ""


def read_property(path: Path) -> Property:
    """One file. Raises `ValueError` for what these properties do not contain."""
    text = re.sub(r";.*", "", path.read_text(encoding="utf-8"))
    tokens = iter(re.findall(r"[()]|[^\s()]+", text))
    boxes: list[Box] = [{}]
    unsafe = []
    for command in _list(tokens, False):
        if not isinstance(command, list) or command[0] != "assert":
            continue
        condition = command[1]
        if "X_" not in str(condition):
            unsafe.append(_formula(condition))
        elif "Y_" in str(condition):
            raise ValueError(f"{path.name}: inputs and outputs in one assertion")
        else:
            boxes = [_meet(old, new) for old in boxes for new in _boxes(condition)]
    return Property([_closed(box, path) for box in boxes], " & ".join(unsafe))


def _list(tokens: object, nested: bool) -> list[Tree]:
    found: list[Tree] = []
    for token in tokens:  # type: ignore[attr-defined]
        if token == "(":
            found.append(_list(tokens, True))
        elif token == ")":
            return found
        else:
            found.append(token)
    if nested:
        raise ValueError("a parenthesis is not closed")
    return found


def _boxes(tree: Tree) -> list[Box]:
    if tree[0] == "or":
        return [box for part in tree[1:] for box in _boxes(part)]
    if tree[0] == "and":
        found: list[Box] = [{}]
        for part in tree[1:]:
            found = [_meet(a, b) for a in found for b in _boxes(part)]
        return found
    relation, left, right = (str(part) for part in tree)
    if not left.startswith("X_") or relation not in ("<=", ">="):
        raise ValueError(f"not a bound of an input: {tree}")
    ends = (None, Fraction(right)) if relation == "<=" else (Fraction(right), None)
    return [{int(left[2:]): ends}]


def _meet(a: Box, b: Box) -> Box:
    joined = dict(a)
    for i, (low, high) in b.items():
        lower, upper = joined.get(i, (None, None))
        lows, highs = ([e for e in ends if e is not None] for ends in ((low, lower), (high, upper)))
        joined[i] = (max(lows, default=None), min(highs, default=None))
    return joined


def _closed(box: Box, path: Path) -> list[tuple[Fraction, Fraction]]:
    found = []
    for _, (low, high) in sorted(box.items()):
        if low is None or high is None:
            raise ValueError(f"{path.name}: an input has no bound on one side")
        found.append((low, high))
    return found


def _formula(tree: Tree) -> str:
    if tree[0] in ("and", "or"):
        return "(" + f" {'&' if tree[0] == 'and' else '|'} ".join(_formula(part) for part in tree[1:]) + ")"
    relation, left, right = (str(part) for part in tree)
    return f"{_term(left)} {relation} {_term(right)}"


def _term(text: str) -> str:
    return f"y[{int(text[2:]) + 1}]" if text.startswith("Y_") else text
