"""Parts of a loop that are covered one after the other: all that p depends on; then the other variables.

Those that read each other are one part; each comes after all that it reads (`venmas.checker.covers.parts`).
"""

from __future__ import annotations

from venmas.checker.covers.parts import moved, read_by
from venmas.logic import TRUE, variables_of
from venmas.logic.automata.automaton import strongly_connected
from venmas.logic.window import window
from venmas.question import Question

_MOST = 6
"""Coordinates, at most."""


class Plan:
    """The parts of a question. base: the system with its noise.

    parts: the variables of each; a single one without any is all of them. rest: variables that are in no part.
    unsuited: why there is no part with all that p depends on.
    """

    def __init__(self, question: Question) -> None:
        self.base = base = question.undrawn or question.system
        self.parts: list[tuple[str, ...]] = [()]
        self.rest: frozenset[str] = frozenset()
        self.unsuited: str | None = None
        if base.initial_condition is not TRUE:  # where a part of them is asked about, that of all counts
            self.unsuited = "the initial states are those of a condition with too many cases"
            return
        span = window(question.asked)
        assert span is not None
        changed, guards = moved(base), read_by(base, ())
        reads = {name: (guards | read_by(base, (name,))) & changed for name in changed}
        first, waiting = set[str](), [*(variables_of(span[2]) & changed)]
        while waiting:
            if (name := waiting.pop()) not in first:
                first.add(name)
                waiting += reads[name]
        if first and first != changed:
            self.parts = [self._ordered(first)]
            self.unsuited = self._why(first)
            self._others(changed - first, reads)
            if question.inside and self.rest and self.unsuited is None:
                self.unsuited = f"whether {', '.join(sorted(self.rest))} keep to their ranges is asked besides"
        else:
            self.unsuited = self._why(changed)

    def _others(self, names: frozenset[str], reads: dict[str, frozenset[str]]) -> None:
        """The parts of those that p does not depend on."""
        known, order = {*self.parts[0]}, self._ordered(names)
        successors = [[order.index(other) for other in self._ordered(reads[name]) if other in names] for name in order]
        for group in strongly_connected(successors):
            part = self._ordered({order[at] for at in group})
            read = frozenset().union(*(reads[name] for name in part)) - {*part}
            if self._why({*part}) is None and read <= known:
                self.parts.append(part)
                known |= {*part}
        self.rest = names - known

    def _ordered(self, names: set[str] | frozenset[str]) -> tuple[str, ...]:
        return tuple(name for name in self.base.variables if name in names)

    def _why(self, names: set[str] | frozenset[str]) -> str | None:
        if any(self.base.variables[name].integral for name in names):
            return "integers change"
        return None if 0 < len(names) <= _MOST else f"it is for at most {_MOST} variables that change"
