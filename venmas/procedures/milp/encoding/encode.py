"""The seam between modes and solving: a task in, a lazy stream of subproblems out (design section 4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from time import monotonic
from typing import Literal, Protocol

from venmas.bounds.reach import Reach
from venmas.bounds.states import Findings, State, States
from venmas.bounds.truth import BoundedRegion, Oracle, bounded_regions, region_formula
from venmas.logic import Formula, conjunction, disjunction
from venmas.model.system.system import System
from venmas.model.system.variables import Box
from venmas.procedures.milp.encoding.compositional import encode_path, paths
from venmas.procedures.milp.encoding.formulas import FormulaEncoder
from venmas.procedures.milp.encoding.states.spread import Spread
from venmas.solvers.milp.subproblem import Subproblem
from venmas.solvers.milp.terms import Contradiction, ReluEncoding
from venmas.solvers.programs import BY_BOUNDS

Strategy = Literal["monolithic", "compositional"]
_HEARTBEAT = 0.02  # s


@dataclass(frozen=True)
class Task:
    """Find an initial state that satisfies `target`, a core formula (the negated property in NNF).

    joined: monolithic, with one node for all states after a step.
    """

    system: System
    target: Formula
    strategy: Strategy
    encoding: ReluEncoding = "big-m"
    bounds: str = "symbolic"
    joined: bool = False


class Memory(Protocol):
    """Paths of a task that were refuted before, such as in an earlier run. A path is named by what it asks."""

    def refuted(self, path: str) -> str | None:
        """Who has refuted it: a solver, or `BY_BOUNDS`; None where nobody has."""
        ...

    def keep(self, path: str, by: str) -> None:
        """Note that it is refuted."""
        ...


@dataclass
class Stream:
    """The subproblems of a task, and what was counted while they were made.

    With a `memory`, compositional paths that it knows to be refuted by a solver are not made into programs again; they
    are among the `created`, and counted in `skipped`, by solver.

    The target can be met if and only if one of the subproblems has a point (paper, Lemmas 3 and 4), up to strict
    comparisons and ties, which programs can not express: there a subproblem may have a point though it can not be met.
    """

    task: Task
    tick: Callable[[], None] = lambda: None
    memory: Memory | None = None
    created: int = 0
    discarded: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    depth: int = 0
    share: float = 0.0
    """Part of the tree of choices that was walked through, every choice shared out evenly among its options."""
    findings: list[Findings] = field(default_factory=list)

    def __iter__(self) -> Iterator[Subproblem | None]:
        system = self.task.system
        able = bounded_regions(system, self.task.target)
        if self.task.strategy == "monolithic" and len(able) > 1:
            able = self._open_points(able)
        self.discarded += len(system.regions) - len(able)
        if self.task.strategy == "monolithic" and len(able) > 1:
            hull = {n: (min(b[n][0] for _, _, b in able), max(b[n][1] for _, _, b in able)) for n in system.variables}
            where = disjunction([region_formula(r) for _, r, _ in able])
            yield from self._subproblems(hull, where, None)
        else:
            for index, region, box in able:
                yield from self._subproblems(box, region_formula(region), index, 1 / len(able))

    def _open_points(self, able: list[BoundedRegion]) -> list[BoundedRegion]:
        """The regions without the points that bounds refute; one that they show to meet the target is enough."""
        points = [a for a in able if all(low == high for low, high in a[2].values())]
        if not points:
            return able
        states = States.initial(self.task.system, [box for _, _, box in points], self.task.bounds)
        self.findings.append(states.found)
        oracle = Oracle(Reach(states.members, self._tick))
        refuted: set[int] = set()
        for found, state in zip(points, states.members, strict=True):
            truth = oracle.truth(state, conjunction([region_formula(found[1]), self.task.target]))
            if truth:
                return [found]
            if truth is False:
                refuted.add(found[0])
        return [a for a in able if a[0] not in refuted]

    def _subproblems(
        self, box: Box, where: Formula, region: int | None, share: float = 1.0
    ) -> Iterator[Subproblem | None]:
        states = States.initial(self.task.system, [box], self.task.bounds)
        self.findings.append(states.found)
        root = states.members[0]
        target = conjunction([where, self.task.target])
        if self.task.strategy == "monolithic":
            oracle = Oracle(Reach([root], self._tick, self.task.joined))
            encoder = FormulaEncoder(root, self.task.encoding, oracle, self._tick)
            try:
                encoder.satisfy(Spread.single(root), target)
            except Contradiction:
                self.discarded += 1
                return
            yield self._made(encoder, root, region)
            return
        oracle, beat = Oracle(), monotonic()
        for path in paths(root, target, oracle, self._tick):
            self.share += share * path.share
            # all states of a path are made by now: what was found about them is found without the program, too
            asked = f"{region}\n{path.described()}" if self.memory is not None and not path.discarded else ""
            by = self.memory.refuted(asked) if self.memory is not None and asked else None
            if by is not None and by != BY_BOUNDS:
                self.created += 1
                self.skipped[by] += 1
                yield None
                continue
            if path.discarded or by is not None:
                self.discarded += 1
                if monotonic() - beat > _HEARTBEAT:
                    yield None
                    beat = monotonic()
                continue
            try:
                encoder = encode_path(root, path, self.task.encoding, oracle, self._tick)
            except Contradiction:
                self.discarded += 1
                if self.memory is not None:
                    self.memory.keep(asked, BY_BOUNDS)
                continue
            yield self._made(encoder, root, region, asked)

    def _tick(self, depth: int) -> None:
        self.depth = max(self.depth, depth)
        self.tick()

    def _made(self, encoder: FormulaEncoder, root: State, region: int | None, path: str = "") -> Subproblem:
        number = self.created
        self.created += 1
        return Subproblem(
            number,
            encoder.builder.program.build(),
            encoder.initial,
            tuple(encoder.choices),
            id(root),
            encoder.builder.margin,
            region,
            path,
        )


def encode(task: Task, tick: Callable[[], None] = lambda: None, memory: Memory | None = None) -> Stream:
    """The subproblems of a task, made as they are asked for."""
    return Stream(task, tick, memory)
