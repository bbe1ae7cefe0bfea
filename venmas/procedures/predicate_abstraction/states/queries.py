"""Is there an integer point in a box that meets linear rows and for which the policy picks a label? Many at once.

    rows shrink the box; where nothing is left: no
    a few points, corners among them: yes where one does                      (`points`)
    at most 256 points: all of them decide                                    (`points`)
    a bound over the box closes it, or promises a point                       (`venmas.bounds.crown`)
    many points, corners and low ends among them                              (`points`)
    bisection, bounds over many boxes of one label in one sweep:
        closed: drop; a point that it promises: yes; else cut at the floor of the middle, where most depends on it

The bounds are those of CROWN over pre-activation bounds of a zonotope; bisection over integers follows Vinzent,
Steinmetz, Hoffmann (ICAPS 2022, section 6), whose branch and bound asks a solver at each node. Floats only decide
where their errors cannot matter (`venmas.procedures.predicate_abstraction.states.policy`), so that every answer is
exact, on ties too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic

import numpy as np

from venmas.bounds.compiled.load import compiled
from venmas.bounds.crown import Swept, sweep
from venmas.bounds.crown_plan import Plan, plan_of
from venmas.bounds.rounding import Bools, Floats, Ints
from venmas.budget import ask
from venmas.logic import Atom, conjunction
from venmas.logic.linear import Comparison, LinearExpr, Relation
from venmas.procedures.predicate_abstraction.states.points import corner_points, enumerated, row_values, sampled, shrink
from venmas.procedures.predicate_abstraction.states.policy import Policy

FREE = -1
"""The label of a query that any choice of the policy meets."""
ENUMERATED = 256
"""Points up to which a box is decided by all of them."""
_LEAF = 64
"""The same below cuts, where a sweep may yet close a box at once."""
_FIRST, _SAMPLES = 4, 240
_CHUNK = 1 << 21
"""Numbers in an array of points."""
_BATCH_VALUES = 2_000_000
_NUMPY_SECONDS = 8.0
"""After this long in sweeps the compiled one is worth its loading, which may take half a minute."""


@dataclass
class Counts:
    """What became of queries, in numbers; boxes: that were bounded; exact: choices in rationals."""

    queries: int = 0
    empty: int = 0
    sampled: int = 0
    enumerated: int = 0
    split: int = 0
    boxes: int = 0
    exact: int = 0
    seconds: float = 0.0

    def to_json(self) -> dict[str, float]:
        """As JSON."""
        return {
            "count": self.queries,
            "empty": self.empty,
            "sampled": self.sampled,
            "enumerated": self.enumerated,
            "split": self.split,
            "bounded": self.boxes,
            "exact": self.exact,
            "seconds": round(self.seconds, 3),
        }


@dataclass(frozen=True, eq=False)
class Queries:
    """Q queries over n variables.

    label: (Q,), an index of the policy's choices or `FREE`. low, high: (Q, n), closed. rows: (Q, R, n) and constants:
    (Q, R) are ``rows @ x + constants >= 0``, all of which are to hold; a row of zeros always does.
    """

    label: Ints
    low: Ints
    high: Ints
    rows: Ints
    constants: Ints

    def __len__(self) -> int:
        return len(self.label)

    @staticmethod
    def of(label: Ints, low: Ints, high: Ints) -> Queries:
        """Queries without rows."""
        count, n = low.shape
        return Queries(label, low, high, np.zeros((count, 0, n), np.int64), np.zeros((count, 0), np.int64))

    def take(self, at: Ints) -> Queries:
        """Some of them."""
        return Queries(self.label[at], self.low[at], self.high[at], self.rows[at], self.constants[at])


@dataclass(eq=False)
class QueryEngine:
    """Answers queries about one policy. `policy` None: every label is `FREE`."""

    policy: Policy | None
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    counts: Counts = field(default_factory=Counts)

    def __post_init__(self) -> None:
        self._plans: dict[tuple[int, tuple[int, ...] | None], Plan] = {}
        self._sweeping = 0.0
        self._kernel: Callable[..., Swept] | None = None

    def ask(self, queries: Queries) -> tuple[Bools, Ints]:
        """Which have a point (Q,), and one for each that has (Q, n). Raises `BudgetError` as `venmas.budget.ask`."""
        begun = monotonic()
        before = self.policy.exact if self.policy else 0
        try:
            return self._ask(queries)
        finally:
            self.counts.queries += len(queries)
            self.counts.seconds += monotonic() - begun
            self.counts.exact += (self.policy.exact if self.policy else 0) - before

    def possible(self, queries: Queries) -> Bools:
        """Queries (Q,) that may have a point: those that no bound over the reals excludes (continuous relaxation)."""
        low, high = shrink(queries.low, queries.high, queries.rows, queries.constants)
        found: Bools = np.asarray((low <= high).all(1))
        for label in np.unique(queries.label[found]).tolist():
            mine = np.flatnonzero(found & (queries.label == label)) if label != FREE else np.zeros(0, np.int64)
            for start in range(0, len(mine), self._most(label)):
                ask()
                at = mine[start : start + self._most(label)]
                found[at] = ~self._sweep(label, low[at], high[at]).closed
        return found

    def _ask(self, queries: Queries) -> tuple[Bools, Ints]:
        count = len(queries)
        low, high = shrink(queries.low, queries.high, queries.rows, queries.constants)
        queries = Queries(queries.label, low, high, queries.rows, queries.constants)
        found, points = np.zeros(count, dtype=bool), low.copy()
        empty: Bools = np.asarray((low > high).any(1))
        self.counts.empty += int(empty.sum())
        matters = self._matters(queries)
        low = np.where(matters, low, points)
        high = np.where(matters, high, points)
        queries = Queries(queries.label, low, high, queries.rows, queries.constants)
        size = np.prod(np.where(empty[:, None], 0, high - low + 1).astype(np.float64), axis=1)
        self._points(queries, np.flatnonzero(~empty & (size > 1)), corner_points, _FIRST, found, points)
        few = np.flatnonzero(~found & ~empty & (size <= ENUMERATED))
        self._enumerate(queries, few, found, points)
        self.counts.enumerated += len(few)
        hard = np.flatnonzero(~found & ~empty & (size > ENUMERATED))
        hard = self._rooted(queries, hard, found, points)
        self._points(queries, hard, sampled, _SAMPLES, found, points)
        hard = hard[~found[hard]]
        self.counts.split += len(hard)
        for label in np.unique(queries.label[hard]).tolist():
            self._bisect(queries, hard[queries.label[hard] == label], label, found, points)
        return found, points

    def _points(
        self, queries: Queries, roots: Ints, make: Callable[..., Ints], count: int, found: Bools, points: Ints
    ) -> None:
        """Try some points of each box."""
        n = queries.low.shape[1]
        wide = max(1, _CHUNK // max(n, 1) // count)
        for start in range(0, len(roots), wide):
            ask()
            at = roots[start : start + wide]
            tried = make(queries.low[at], queries.high[at], count, self.rng)
            met = self._meets(queries, np.repeat(at, count), tried.reshape(-1, n)).reshape(-1, count)
            hit = met.any(1)
            found[at[hit]] = True
            points[at[hit]] = tried[hit, met[hit].argmax(1)]
            self.counts.sampled += int(hit.sum())

    def _rooted(self, queries: Queries, roots: Ints, found: Bools, points: Ints) -> Ints:
        """Those of the boxes that one bound of the whole box leaves open, where it promises no point either."""
        left: list[Ints] = [roots[queries.label[roots] == FREE]]
        for label in np.unique(queries.label[roots]).tolist():
            if label == FREE:
                continue
            mine = roots[queries.label[roots] == label]
            for start in range(0, len(mine), self._most(label)):
                ask()
                at = mine[start : start + self._most(label)]
                still, tried, _ = self._look(label, queries.low[at], queries.high[at])
                at = at[still]
                met = self._meets(queries, at, tried)
                found[at[met]] = True
                points[at[met]] = tried[met]
                left.append(at[~met])
        return np.concatenate(left)

    def _look(self, label: int, low: Ints, high: Ints) -> tuple[Ints, Ints, Floats]:
        """The boxes that bounds leave open, by number; of each the point that they promise, and what matters there."""
        policy = self.policy
        assert policy is not None
        swept = self._sweep(label, low, high)
        left = np.flatnonzero(~swept.closed)
        low, high = low[left], high[left]
        tried, weight = (low + high) // 2, np.zeros(low.shape)
        whole = np.rint(np.clip(swept.tried[left], -(2.0**60), 2.0**60)).astype(np.int64)
        live = np.flatnonzero(policy.columns >= 0)
        names = policy.columns[live]
        tried[:, names] = np.clip(whole[:, live], low[:, names], high[:, names])
        for column, name in zip(live.tolist(), names.tolist(), strict=True):
            weight[:, name] += swept.influence[left, column]
        weight /= weight.max(1, initial=0.0, keepdims=True) + 1e-300
        return left, tried, weight if policy.among is None else weight + policy.among.influence(low, high)

    def _matters(self, queries: Queries) -> Bools:
        """(Q, n): does the variable matter to the query?"""
        matters: Bools = (queries.rows != 0).any(1)
        if self.policy is not None:
            read = np.zeros(queries.low.shape[1], dtype=bool)
            read[self.policy.read] = True
            matters |= read & (queries.label != FREE)[:, None]
        return matters

    def _meets(self, queries: Queries, root: Ints, points: Ints) -> Bools:
        """Does a point meet its query? (K,), (K, n) -> (K,)."""
        met: Bools = np.ones(len(points), dtype=bool)
        if queries.rows.shape[1]:
            met = np.asarray((row_values(queries.rows[root], queries.constants[root], points) >= 0).all(1))
        labels = queries.label[root]
        bound = np.flatnonzero(met & (labels != FREE))
        if self.policy is not None and len(bound):
            met[bound] = self.policy.picks(points[bound], labels[bound])
        return met

    def _enumerate(
        self,
        queries: Queries,
        roots: Ints,
        found: Bools,
        points: Ints,
        low: Ints | None = None,
        high: Ints | None = None,
    ) -> None:
        """Decide boxes (of the queries `roots`, their own where none are given) by all their points."""
        low = queries.low[roots] if low is None else low
        high = queries.high[roots] if high is None else high
        wide = max(1, _CHUNK // max(1, low.shape[1]) // ENUMERATED)
        for start in range(0, len(roots), wide):
            ask()
            part = slice(start, start + wide)
            owner, tried = enumerated(low[part], high[part])
            root = roots[part][owner]
            hit = np.flatnonzero(self._meets(queries, root, tried))
            found[root[hit]] = True
            points[root[hit]] = tried[hit]

    def _bisect(self, queries: Queries, roots: Ints, label: int, found: Bools, points: Ints) -> None:
        """Depth first over the boxes of queries of one label."""
        low, high, root = queries.low[roots], queries.high[roots], roots
        batch = 8
        while len(low):
            ask()
            batch = min(2 * batch, self._most(label))
            take = slice(max(0, len(low) - batch), len(low))
            at, a, b = root[take], low[take], high[take]
            low, high, root = low[: take.start], high[: take.start], root[: take.start]
            a, b = shrink(a, b, queries.rows[at], queries.constants[at])
            keep = ~found[at] & (a <= b).all(1)
            at, a, b = at[keep], a[keep], b[keep]
            small = np.prod((b - a + 1).astype(np.float64), axis=1) <= _LEAF
            self._enumerate(queries, at[small], found, points, a[small], b[small])
            keep = ~small & ~found[at]
            at, a, b = at[keep], a[keep], b[keep]
            if not len(at):
                continue
            weight, tried = np.zeros(a.shape), (a + b) // 2
            if label != FREE:
                left, tried, weight = self._look(label, a, b)
                at, a, b = at[left], a[left], b[left]
            met = np.flatnonzero(self._meets(queries, at, tried))
            found[at[met]] = True
            points[at[met]] = tried[met]
            keep = ~found[at]
            at, a, b, weight = at[keep], a[keep], b[keep], weight[keep]
            a, b, at = _cut(a, b, at, weight + _row_weight(a, b, queries, at))
            low, high, root = np.concatenate([low, a]), np.concatenate([high, b]), np.concatenate([root, at])

    def _sweep(self, label: int, low: Ints, high: Ints) -> Swept:
        """Bounds' verdicts about boxes (B, n)."""
        if self.policy is None or self.policy.among is None:
            return self._bounded_by(self._plan(label), low, high)
        return self.policy.among.swept(
            label, low, high, lambda rivals, at: self._bounded_by(self._plan(label, rivals), low[at], high[at])
        )

    def _bounded_by(self, plan: Plan, low: Ints | Floats, high: Ints | Floats) -> Swept:
        policy = self.policy
        assert policy is not None
        self.counts.boxes += len(low)
        begun = monotonic()
        if self._kernel is None:
            fast = compiled("venmas.bounds.compiled.crown") if self._sweeping > _NUMPY_SECONDS else None
            self._kernel = fast.sweep if fast else sweep if self._sweeping > _NUMPY_SECONDS else None
        bounds = self._kernel or sweep  # without ascent on slopes, which takes more than it spares on many small boxes
        found = bounds(plan, policy.gather(low), policy.gather(high), self._cap(plan), rounds=0)
        self._sweeping += monotonic() - begun
        return found

    def _most(self, label: int) -> int:
        if label == FREE:
            return 256
        plan = self._plan(label)
        widest = int(max(plan.sizes.max(), 8))
        return max(8, min(256, _BATCH_VALUES // (widest * (1 + plan.inputs + self._cap(plan)))))

    def _cap(self, plan: Plan) -> int:
        return int(min(plan.sizes[1:].sum(), 1000))

    def _plan(self, label: int, rivals: tuple[int, ...] | None = None) -> Plan:
        """The condition that the label is picked, or wins against some: one for all boxes and rows."""
        if (label, rivals) not in self._plans:
            assert self.policy is not None
            own = LinearExpr.variable(f"Y_{label}")
            atoms = [
                Atom(Comparison(own - LinearExpr.variable(f"Y_{j}"), Relation.GT if j < label else Relation.GE))
                for j in (range(self.policy.labels) if rivals is None else rivals)
                if j != label
            ]
            self._plans[label, rivals] = plan_of(self.policy.network, conjunction(atoms))
        return self._plans[label, rivals]


def _row_weight(low: Ints, high: Ints, queries: Queries, root: Ints) -> Floats:
    """How much of an open row each variable makes up, at most 1: (B, n)."""
    rows, constants = queries.rows[root], queries.constants[root]
    if not rows.shape[1]:
        return np.zeros(low.shape)
    reach = np.abs(rows) * (high - low)[:, None]
    least = np.where(rows > 0, rows * low[:, None], rows * high[:, None]).sum(2) + constants
    share = reach * (least < 0)[:, :, None]
    weight: Floats = share.sum(1) / (share.sum((1, 2))[:, None] + 1e-300)
    return weight


def _cut(low: Ints, high: Ints, root: Ints, weight: Floats) -> tuple[Ints, Ints, Ints]:
    """Each box as two, cut at the floor of the middle where the weight is greatest among what has a width."""
    rows = np.arange(len(low))
    width = high - low
    axis = np.where(width > 0, weight + 1e-9 * np.minimum(width, 1000), -1.0).argmax(1)
    middle = (low[rows, axis] + high[rows, axis]) // 2
    left, right = high.copy(), low.copy()
    left[rows, axis], right[rows, axis] = middle, middle + 1
    return np.concatenate([low, right]), np.concatenate([left, high]), np.concatenate([root, root])
