"""Certificates that lie: honest as long as it helps, then whatever might pass."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from tests.checker.proofs import Line, random_form
from venmas.checker.format.numbers import write_number
from venmas.checker.goals.check import claim
from venmas.checker.goals.goals import Goal
from venmas.checker.goals.initial import first_goal
from venmas.logic import Formula
from venmas.model import System
from venmas.procedures.exact.simplex import Excluded, solve_rows


def lies(system: System, formula: Formula, inside: bool, rng: Random, most: int = 150) -> Iterator[Line]:
    """The lines of one attempt, made while the checker takes them."""
    number, target = 0, claim(system, formula, inside)
    for index, region in enumerate(system.regions):
        number += 1
        yield {"rule": "region", "index": index}
        goal = first_goal(system, region, target)
        stack = [] if goal is None else [goal]
        while stack:
            number += 1
            goal = stack.pop()
            line, subgoals = _choose(goal, number, rng) if number < most else (_lie(goal, number, rng), [])
            stack += reversed(subgoals)
            yield line
    yield {"rule": "end", "lines": number + 1}


def _choose(goal: Goal, number: int, rng: Random) -> tuple[Line, list[Goal]]:
    """An honest rule where there is one."""
    if rng.random() < 0.02:
        return _lie(goal, number, rng), []
    opens = [f for s in goal.world._states.values() for f in s.open]
    if opens and rng.random() < 0.3:
        form = rng.choice(opens)
        return {"rule": "split", "form": [write_number(c) for c in form]}, goal.split(form)
    if goal.todo:
        return {"rule": "expand"}, goal.expand()
    answer = solve_rows(goal.world.cell, goal.rows())
    if isinstance(answer, Excluded):
        return {"rule": "refute", "weights": [[i, str(w)] for i, w in answer.weights]}, []
    return _lie(goal, number, rng), []


def _lie(goal: Goal, number: int, rng: Random) -> Line:
    rows, size = len(goal.rows()), len(goal.world.cell.names)
    weights = [[i, str(rng.choice((0, 1, 1, 2, 10**30)))] for i in range(rows)]
    lies: list[Line] = [
        {"rule": "refute", "weights": weights},
        {"rule": "refute", "weights": []},
        {"rule": "refute", "weights": [[i, str(rng.choice((-1, 1)))] for i in range(rows)]},
        {"rule": "refute", "weights": [[rows, "1"]]},
        {"rule": "refute", "weights": [[-1, "1"]]},
        {"rule": "refute", "weights": [[0, "1"], [0, "-1"]]},
        {"rule": "refute", "weights": [[0, "1/0"]]},
        {"rule": "refute"},
        {"rule": "same", "as": number},
        {"rule": "same", "as": number + 1},
        {"rule": "same", "as": rng.randrange(number)},
        {"rule": "same", "as": True},
        {"rule": "same", "as": 0},
        {"rule": "expand"} if not goal.todo else {"rule": "expand", "as": 1},
        {"rule": "split", "form": random_form(rng, size)[:-1] if size else []},
        {"rule": "split", "form": ["#", *["1"] * size]},
        {"rule": "split", "form": ["1e9", *["1"] * size]},
        {"rule": "split", "form": "1" * (size + 1)},
        {"rule": "gap"},
        {"rule": "end", "lines": number},
        {"rule": "region", "index": 0},
        {},
    ]
    return rng.choice(lies)
