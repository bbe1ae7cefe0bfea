"""Reach sets of a system: sources in turns, what they say of each step met, until it is tight or time is over.

    layers := nothing
    for level := 0, 1, ..: each source that takes the system and has that level encloses the steps, a step at a time;
                           what it says of a step is met with what is known of it
    until every step is exact, or at most 5 % wider than sampled runs reach, or no source gets tighter

A source is an object of `venmas.procedures.reach`; those of other packages come by entry points
(`venmas.reach_sources`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from time import perf_counter

import numpy as np

from venmas.bounds.rounding import Floats
from venmas.budget import Budget, BudgetError, Progress, limited
from venmas.engine.reach.runs import farthest, first_layer, sampled
from venmas.engine.reach.sets import Direction, ReachSets, Worked
from venmas.errors import FormulaError, ModelError, Reason, UsageError
from venmas.logic import Atom, parse
from venmas.logic.linear import LinearExpr
from venmas.model.scenario.source import source_of
from venmas.model.system.disturbances import drawn
from venmas.model.system.given import check_system
from venmas.model.system.quantities import MEASURED
from venmas.model.system.system import System
from venmas.model.transform.cases import UnsuitableError
from venmas.procedures.reach import Layer, Source
from venmas.procedures.reach_registry import sources_for
from venmas.runtime.blas import on_one_thread
from venmas.runtime.display import showing
from venmas.runtime.memory import seldom_collected

SECONDS = 60.0
"""Time unless the caller says otherwise."""
MAX_STEPS, MAX_VALUES = 10_000, 50_000_000
"""Steps to look ahead, and numbers along sampled runs, which are kept for the picture (400 MB)."""
_SHARE = 1 / 3
"""Part of the time that is left that one source may take at one level."""
_SAMPLES = 1 / 2
"""Part of the time for sampled runs; what they came to by then is kept."""
_TIGHTER, _IDLE = 0.005, 4
"""So many levels by which no set gets narrower by this part of it are enough."""


@showing
@on_one_thread
@seldom_collected
def reach(
    system: System,
    steps: int,
    directions: Sequence[str] = (),
    *,
    timeout: float | None = SECONDS,
    memory: int | None = None,
    runs: int = 1000,
    seed: int = 0,
    progress: Callable[[Progress], None] | bool | None = None,
) -> ReachSets:
    """Sets that hold every state that runs of `system` are in after 0 to `steps` steps.

    directions: linear expressions of the variables, such as ``"x + y"``, to bound besides the variables themselves; a
    set is the product of all these intervals. timeout: seconds, None for no limit. memory: MB. runs: number of sampled
    runs, with which sets are compared to say how tight they are, and which pictures show. seed: that of the samples.
    progress: called a few times a second; True shows a line, in notebooks and on terminals.

    At a limit, or at Ctrl-C, the sets that are known by then are returned, with the reason: they are sound, but may be
    wider than necessary (`ReachSets.status`). They end where a sampled run leaves the declared range of a variable
    (design S1). Raises `UsageError` for what cannot be asked, `ModelError` for a system that is not well
    formed.
    """
    check_system(system, "reach")
    if not isinstance(steps, int) or not 0 <= steps <= MAX_STEPS:
        raise UsageError(f"steps is a number of steps from 0 to {MAX_STEPS}; got {steps!r}")
    if isinstance(directions, str) or not isinstance(directions, Iterable):
        raise UsageError(f"directions is a list of expressions: write [{directions!r}]")
    if not isinstance(seed, int) or seed < 0:
        raise UsageError(f"seed is a whole number from 0 on; got {seed!r}")
    system.validate()
    system.check_nesting()
    if (
        not isinstance(runs, int)
        or not 0 <= runs * (steps + 1) * (len(system.variables) + len(directions)) <= MAX_VALUES
    ):
        raise UsageError(
            f"{runs!r} runs of {steps} steps are too many values to keep, or none: ask for fewer runs, one at least"
        )
    budget, found = Budget(timeout, memory, progress if callable(progress) else None), _asked(system, steps, directions)
    extra = 1 if system.quantities else 0  # the first step measures them
    if not extra:
        found.layers += first_layer(system, [d.expr for d in found.directions])
    run = _Run(drawn(system, steps + extra), extra, budget, found)
    try:
        with limited(budget):
            run.work(runs, seed)
    except BudgetError as stop:
        found.reason, found.message = stop.reason.value, stop.message
    except KeyboardInterrupt:
        found.reason, found.message = Reason.INTERRUPTED.value, "interrupted before all was tight"
    found.seconds = budget.spent
    return found


def _asked(system: System, steps: int, texts: Sequence[str]) -> ReachSets:
    """The result without any layer."""
    source = source_of(system)
    shown = [d for d in system.variables.values() if d.name != MEASURED and d.name not in system.disturbances]
    found = [Direction(d.name, LinearExpr.variable(d.name), d.unit) for d in shown]
    for text in texts:
        made = direction(system, text)
        if made.name not in {d.name for d in found}:
            found.append(made)
    name, parameters = (source.name, source.parameters) if source else (system.name, {})
    return ReachSets(name, steps, tuple(found), parameters=dict(parameters))


def direction(system: System, text: str) -> Direction:
    """A linear expression of the variables, read as formulas are. Raises `UsageError`."""
    if not isinstance(text, str):
        raise UsageError(f"a direction is a text, such as 'x + y'; got {type(text).__name__}")
    shown = " ".join(text.split())
    if not shown:
        raise UsageError("a direction is empty: write a linear expression, such as 'x + y'")
    try:  # a whole number in parentheses names a variable by its position
        read = parse(f"{text} >= 0" if shown.isdecimal() else f"({text}) >= 0", system.vocabulary)
    except FormulaError as error:
        raise UsageError(f"direction {shown[:100]!r}: {str(error).partition(chr(10))[0]}") from error
    if not isinstance(read, Atom) or read.comparison.relation.value != ">=":
        raise UsageError(f"direction {shown[:100]!r} is a formula: write a linear expression, such as 'x + y'")
    expr = read.comparison.expr
    if not expr.terms:
        raise UsageError(f"direction {shown[:100]!r} is the same in every state: name a variable in it")
    return Direction(shown, expr)


class _Run:
    """One computation of reach sets."""

    def __init__(self, system: System, extra: int, budget: Budget, found: ReachSets) -> None:
        self.system, self.extra, self.budget, self.found = system, extra, budget, found
        self.exprs, self.last = [d.expr for d in found.directions], found.steps

    def work(self, runs: int, seed: int) -> None:
        """Until it is tight, or nothing gets tighter."""
        found = self.found
        steps = found.steps + self.extra
        part = self.budget.within(None if self.budget.left is None else _SAMPLES * self.budget.left)
        found.runs, found.left = sampled(self.system, self.exprs, steps, runs, seed, self.extra, part)
        found.reached = farthest(self.system, self.exprs, steps, found.runs, seed, self.extra, part)
        self.budget()
        if found.left is not None:
            self.last = found.left - 1
        sources = []
        for name, source in sources_for(self.system):
            why = self._refusal(source)
            if why is None:
                sources.append((name, source))
            else:
                found.refused[name] = why
        if not sources:
            told = "; ".join(f"{n}: {why}" for n, why in found.refused.items())
            raise UsageError(f"no source of reach sets takes the system {self.system.name!r} ({told})")
        level, idle, ended = 0, 0, set[str]()
        while not self._done():
            before = self._widths()
            for name, source in sources:
                if name in ended or level > source.finest:
                    continue
                if not self._ask(name, source, level):
                    ended.add(name)
                if self._done():
                    return
            if all(name in ended or level >= source.finest for name, source in sources):
                break
            idle = 0 if self._narrower(before) else idle + 1
            if idle == _IDLE:
                break
            level += 1

    def _refusal(self, source: Source) -> str | None:
        try:
            return source.accepts(self.system)
        except ModelError as error:  # such as initial states that are no union of a few polytopes
            return str(error)

    def _done(self) -> bool:
        """Is every step tight, or beyond the declared ranges?"""
        found, known = self.found, len(self.found)
        return known > self.last and all(found.status(k) != "wider" for k in range(known))

    def _ask(self, name: str, source: Source, level: int) -> bool:
        """Have a source say what it knows; False where it gets no farther than before, and is not to be asked again."""
        begun, count, why, over = perf_counter(), 0, "", False
        before = max((w.steps for w in self.found.worked if w.name == name), default=-1)

        def enclose(part: Budget) -> bool:
            nonlocal count
            steps = self.last + self.extra
            for step, layer in enumerate(source.layers(self.system, self.exprs, steps, level, part)):
                if step >= self.extra:
                    self._meet(step - self.extra, layer)
                count = step
            return True

        left = self.budget.left
        try:
            over = self.budget.spend(left * _SHARE, enclose) is None if left is not None else not enclose(self.budget)
            why = "its part of the time was over" if over else ""
        except (UnsuitableError, OverflowError, RecursionError) as error:
            over, why = max(0, count - self.extra) <= before, str(error) or "the system is nested too deeply"
        finally:
            seconds = perf_counter() - begun
            self.found.worked.append(Worked(name, level, seconds, max(0, count - self.extra), why))
        return not over

    def _meet(self, step: int, layer: Layer) -> None:
        layers = self.found.layers
        if step < len(layers):
            layers[step] = layers[step].meet(layer)
        elif step == len(layers):
            layers.append(layer)

    def _widths(self) -> Floats:
        return np.array([layer.high - layer.low for layer in self.found.layers if not layer.empty])

    def _narrower(self, before: Floats) -> bool:
        """Did a set get narrower since then, or a step become known?"""
        now = self._widths()
        if now.shape != before.shape:
            return True
        with np.errstate(invalid="ignore"):
            return bool((now < (1 - _TIGHTER) * before).any())
