"""Strongly connected components, for the checker alone."""

from __future__ import annotations

from collections.abc import Sequence

from venmas.budget import ask


def component_of(states: int, arcs: Sequence[tuple[int, int]]) -> list[int]:
    """Of each state the number of its component (Kosaraju and Sharir: two searches, the second one backwards)."""
    forwards: list[list[int]] = [[] for _ in range(states)]
    backwards: list[list[int]] = [[] for _ in range(states)]
    for source, target in arcs:
        forwards[source].append(target)
        backwards[target].append(source)
    finished: list[int] = []
    seen = [False] * states
    for root in range(states):
        stack = [(root, 0)]
        while stack:
            ask()
            state, at = stack.pop()
            if not at and seen[state]:
                continue
            seen[state] = True
            if at < len(forwards[state]):
                stack += [(state, at + 1), (forwards[state][at], 0)]
            else:
                finished.append(state)
    component = [-1] * states
    for root in reversed(finished):
        behind = [root]
        while behind:
            state = behind.pop()
            if component[state] < 0:
                component[state] = root
                behind += backwards[state]
    return component
