"""The paths of branches along which a formula looks, where a run along one of them is all that it asks for."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TypeAlias

from venmas.budget import ask
from venmas.logic import AX, And, Formula
from venmas.model.transform.unroll import only_path
from venmas.question import Question

MOST_PATHS = 64
"""Paths up to which each has a program of its own."""

Path: TypeAlias = "tuple[int, ...] | None"
"""A branch, by index, for each step; None: the only one."""


def paths(question: Question) -> Sequence[Path] | str:
    """The paths, one of which shows the target if anything does; or why that is not so, or they are too many."""
    system, depth = question.system, question.target.depth
    branches = len(system.branches)
    if all(only_path(system, region, depth) is not None for region in system.regions):
        return [None]
    if question.certified:
        return "it writes certificates where one branch can be taken in each step, and there are several"
    if branches**depth > MOST_PATHS:
        return f"there are several branches, and more than {MOST_PATHS} paths"
    if not _along_one(question.target):
        return "there are several branches, and a violation is no single run"
    return list(product(range(branches), repeat=depth))


def _along_one(target: Formula) -> bool:
    """Is a single run enough to show a formula in core form: no AX, and no two EX side by side?"""
    stack, seen = [target], {id(target)}
    while stack:
        ask()
        node = stack.pop()
        if isinstance(node, AX) or (isinstance(node, And) and sum(part.depth > 0 for part in node.operands) > 1):
            return False
        for child in node.children:
            if id(child) not in seen:
                seen.add(id(child))
                stack.append(child)
    return True
