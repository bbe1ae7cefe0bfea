"""Parts of a loop that are covered one after the other: all that p depends on; then the other variables.

Those that read each other are one part; each comes after all that it reads (`venmas.checker.covers.parts`).
"""

from __future__ import annotations

from venmas.checker.covers.parts import Loop
from venmas.logic import TRUE, variables_of
from venmas.logic.automata.automaton import strongly_connected
from venmas.logic.window import window
from venmas.question import Question

_MOST, _FEW = 6, 4
"""Coordinates, at most; and of a part that has variables again."""


class Plan:
    """The parts of a question. loop: the system with its noise.

    parts: the variables of each; a single one without any is all of them. again: what each may have of those before,
    where not too much. rest: variables that are in no part. unsuited: why there is no part with all that p depends on.
    """

    def __init__(self, question: Question) -> None:
        base = question.undrawn or question.system
        self.parts: list[tuple[str, ...]] = [()]
        self.again: list[frozenset[str]] = [frozenset()]
        self.rest: frozenset[str] = frozenset()
        self.unsuited: str | None = None
        if base.initial_condition is not TRUE:  # where a part of them is asked about, that of all counts
            self.unsuited = "the initial states are those of a condition with too many cases"
            return
        self.loop = loop = base.once("loop in parts", lambda: Loop(base))
        span = window(question.asked)
        assert span is not None
        reads = {name: loop.read_by((name,)) for name in loop.moved}
        first, waiting = set[str](), [*variables_of(span[2])]
        while waiting:
            if (name := waiting.pop()) not in first:
                first.add(name)
                waiting += reads.get(name, ())
        # what several values are of, all the time, is noise to a part, which is less than is known of it
        apart = first & loop.moved and not first & (loop.unmoved.keys() - loop.alone)
        self.unsuited = self._why(loop.moved)
        whole = not apart or (question.inside and len(loop.moved) <= _FEW)
        if first >= loop.moved or (self.unsuited is None and whole):
            return
        self.parts = [self._ordered(first & loop.moved)]
        self.unsuited = self._why(first & loop.moved)
        self._others(loop.moved - first, reads)
        if question.inside and self.rest and self.unsuited is None:
            self.unsuited = f"whether {', '.join(sorted(self.rest))} keep to their ranges is asked besides"

    def _others(self, names: frozenset[str], reads: dict[str, frozenset[str]]) -> None:
        """The parts of those that p does not depend on."""
        known, order = {*self.parts[0]}, self._ordered(names)
        successors = [[order.index(other) for other in self._ordered(reads[name]) if other in names] for name in order]
        for group in strongly_connected(successors):
            part = self._ordered({order[at] for at in group})
            read = (self.loop.moved & frozenset().union(*(reads[name] for name in part))) - {*part}
            if self._why({*part}) is None and read <= known:
                self.parts.append(part)
                self.again.append(read if len(part) + len(read) <= _FEW else frozenset())
                known |= {*part}
        self.rest = names - known

    @property
    def size(self) -> int:
        """Number of the variables that p depends on and that change."""
        return len(self.parts[0] or self.loop.moved)

    def first(self, count: int) -> tuple[str, ...]:
        """The variables of the first parts."""
        return self._ordered({name for part in self.parts[:count] for name in part})

    def joins(self, count: int) -> None:
        """Take the first parts as one."""
        self.parts[:count] = [self.first(count)]
        self.again[:count] = [frozenset()]

    def part(self, number: int, again: bool) -> tuple[str, ...]:
        """The variables of a part; again: with those of parts before."""
        return self._ordered({*self.parts[number], *self.again[number]}) if again else self.parts[number]

    def _ordered(self, names: set[str] | frozenset[str]) -> tuple[str, ...]:
        return tuple(name for name in self.loop.system.variables if name in names)

    def _why(self, names: set[str] | frozenset[str]) -> str | None:
        if any(self.loop.system.variables[name].integral for name in names):
            return "integers change"
        return None if 0 < len(names) <= _MOST else f"it is for at most {_MOST} variables that change"
