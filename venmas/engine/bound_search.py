"""Searching for a bound: from which number of steps on a formula holds, or up to which it does.

``most``: the greatest k so that the formula holds at every bound from the first one to k ("for how long is it safe").
``least``: the least k at which it holds ("in how many steps at the latest"). Both look for the first bound with a
verdict, violated or satisfied. Where the formula can only get there and stay there, bounds are doubled and then halved
(exponential search); where it can only leave, the first bound tells; else bounds are asked one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from venmas.engine.report import Verdict
from venmas.logic.open_bound import Course

Sought = Literal["least", "most"]


@dataclass
class BoundSearch:
    """One search over the bounds `low` to `high`; `ask` gives the verdict at a bound, and is called once for each."""

    sought: Sought
    low: int
    high: int
    course: Course
    ask: Callable[[int], Verdict]
    known: dict[int, Verdict] = field(default_factory=dict)

    def run(self) -> None:
        """Ask until the bound is known, or until nothing that is left to ask could tell it."""
        comes, leaves = ("rises", "falls") if self.sought == "least" else ("falls", "rises")
        if self.course in (leaves, "same"):
            self._at(self.low)
        elif self.course == comes:
            self._halve()
        else:
            self._walk()

    @property
    def wanted(self) -> Verdict:
        """The verdict whose first bound is looked for."""
        return Verdict.SATISFIED if self.sought == "least" else Verdict.VIOLATED

    @property
    def since(self) -> int:
        """The greatest bound up to which the wanted verdict is known to come nowhere; ``low - 1`` if there is none."""
        other = self._other
        against = [k for k, verdict in self.known.items() if verdict is other]
        comes, leaves = ("rises", "falls") if self.sought == "least" else ("falls", "rises")
        if self.course in (leaves, "same") and self.known.get(self.low) is other:
            return self.high
        if self.course == comes:
            return max(against, default=self.low - 1)
        k = self.low - 1
        while self.known.get(k + 1) is other:
            k += 1
        return k

    @property
    def at(self) -> int | None:
        """The least bound where the wanted verdict was found."""
        return min((k for k, verdict in self.known.items() if verdict is self.wanted), default=None)

    @property
    def exact(self) -> bool:
        """Is the first bound with the wanted verdict known, or that there is none?"""
        return self.since == self.high if self.at is None else self.at == self.since + 1

    @property
    def bound(self) -> int | None:
        """The k that was looked for; None where there is none up to `high`, or where it is not known."""
        if not self.exact:
            return None
        if self.sought == "least":
            return self.at
        return self.since if self.since >= self.low else None

    @property
    def _other(self) -> Verdict:
        return Verdict.VIOLATED if self.sought == "least" else Verdict.SATISFIED

    def told(self) -> str:
        """The result in words."""
        if self.bound is not None:
            more = self.sought == "most" and self.bound == self.high
            return f"{self.sought} k = {self.bound}" + (" or larger" if more else "")
        if self.exact:
            return f"violated at the first bound, {self.low}" if self.sought == "most" else f"no k up to {self.high}"
        if self.sought == "most":
            start = f"holds up to {self.since}" if self.since >= self.low else "holds nowhere for certain"
            return start + ("" if self.at is None else f", is violated at {self.at}") + f", open at {self.since + 1}"
        start = f"open at {self.since + 1}"
        return start + (f", holds at {self.at}" if self.at is not None else "")

    def _at(self, k: int) -> Verdict:
        if k not in self.known:
            self.known[k] = self.ask(k)
        return self.known[k]

    def _walk(self) -> None:
        for k in range(self.low, self.high + 1):
            found = self._at(k)
            if found is self.wanted or (found is Verdict.UNKNOWN and self.sought == "most"):
                return

    def _halve(self) -> None:
        """What is unknown is taken for the wanted verdict: with fewer steps there may be one."""
        below, step = self.low - 1, 1
        above = self.high + 1
        while below + 1 < above:
            k = min(below + step, self.high) if above > self.high else (below + above) // 2
            if self._at(k) is self._other:
                below, step = k, 2 * step
            else:
                above = k
