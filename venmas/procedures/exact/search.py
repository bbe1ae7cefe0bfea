"""Searching for a proof in exact rationals, or for a witness: where to split, and which rows exclude each other.

The rules and the evaluation of goals are those of `venmas.checker`; this module only chooses. A goal is expanded until
its first obligation is a question about one state. Where the choices of a network are open (winner, sign, condition)
the cell is split along the exact hyperplane that decides one of them, or in half while many are open. Open ends are
linear programs over the free initial variables, whose answers are made exact before they count.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor, gcd, lcm
from typing import TypeAlias
from weakref import WeakSet

from venmas.checker.exact.cell import Cell, Form, Q, Row, fraction, negative, rational
from venmas.checker.format.numbers import write_number
from venmas.checker.format.rule import Rule
from venmas.checker.goals import rules
from venmas.checker.goals.goals import Goal
from venmas.checker.goals.initial import first_goal
from venmas.checker.goals.paths import Holds, World
from venmas.checker.goals.rule import Step
from venmas.checker.goals.sharing import covers, lemma_key
from venmas.logic import AX, EX, Formula
from venmas.model.expressions.domain import MAX_DOMAIN
from venmas.model.system.system import System
from venmas.model.witness.build import UndecidedError, explain
from venmas.nn.network import Semantics
from venmas.procedures.exact.proof import Proof
from venmas.procedures.exact.simplex import Excluded, Point, solve_rows

_TRIES = 50
"""Steps of expansion after which an attempt to refute a goal by enclosures is given up."""

_CROSSING = 2
"""Open choices for each free variable, up to which a cell is cut along one of them; with more it is halved.

Smaller cells close by enclosures, most of them. In the plane, few lines make few pieces: deep and narrow networks
(7 layers of 5 units) are decided 10 times faster by cutting along them, wider ones by halving first.
"""

_HALVINGS = 12
"""How often a side of a cell is halved: around a point where many hyperplanes meet, it would never end."""


_Chosen: TypeAlias = tuple[Step | None, list[Goal]]


@dataclass(frozen=True, eq=False)
class _Closed:
    """On the stack below a goal's subgoals: when it is met, the goal is refuted."""

    key: object
    number: int
    cell: Cell


class Prover:
    """Proves that no initial state meets `target`, writing one line per goal in depth-first order."""

    def __init__(
        self,
        system: System,
        target: Formula,
        write: Callable[[Rule], None],
        semantics: Semantics = "real",
        whole: bool = False,
        proof: Proof | None = None,
    ) -> None:
        """whole: by enclosures alone. Nothing is split, and the first end that they leave open ends the search.

        proof: takes what is found.
        """
        self.system, self.target, self.write, self.semantics = system, target, write, semantics
        self.whole = whole
        self.proof = Proof() if proof is None else proof
        self._lemmas: dict[object, list[tuple[int, Cell]]] = {}
        self._widths: list[Q] = []

    def run(self, tick: Callable[[], None]) -> Proof:
        """Search all regions; ends early with a witness, or where `tick`, called all the time, raises."""
        for _ in self.steps():
            tick()
        return self.proof

    def steps(self) -> Iterator[None]:
        """The same, a goal at a time; `proof` is whole at the end."""
        for index, region in enumerate(self.system.regions):
            goal = first_goal(self.system, region, self.target, self.semantics)
            self._line(rules.Region(index))
            if goal is not None:
                found = yield from self._search(goal)
                self.proof.left_box += goal.world.left_box
                if found:
                    break

    def _line(self, line: Rule) -> int:
        self.write(line)
        self.proof.lines += 1
        return self.proof.lines  # the header is line 0

    def _search(self, first: Goal) -> Generator[None, None, bool]:
        """Returns true when a witness was found, or there is no use to go on."""
        stack: list[Goal | _Closed] = [first]
        cell = first.world.cell
        self._widths = [b - a for a, b in zip(cell.low, cell.high, strict=True)]
        parts: WeakSet[Goal] = WeakSet()
        """Goals made by a split: the whole goal becomes a lemma as soon as they are refuted, and they need not."""
        checked: WeakSet[World] = WeakSet()
        while stack:
            yield
            goal = stack.pop()
            if isinstance(goal, _Closed):
                self._lemmas.setdefault(goal.key, []).append((goal.number, goal.cell))
                continue
            key = lemma_key(goal)
            known = self._known(key, goal)
            if known is not None:
                self._line(rules.Same(known))
                self.proof.shared += 1
                continue
            if goal.world.cell.rows and goal.world not in checked:
                checked.add(goal.world)  # a cell cut by hyperplanes may be empty, which its box does not tell
                answer = solve_rows(goal.world.cell, goal.rows())
                if isinstance(answer, Excluded):
                    self._line(rules.Refute.of(answer.weights))
                    continue
            chosen = self._choose(goal)
            if chosen is None:
                return True
            rule, subgoals = chosen
            if rule is None:  # a gap: what is left may still hold a witness
                continue
            number = self._line(rule)
            if key is not None and goal not in parts:
                stack.append(_Closed(key, number, goal.world.cell))
            if isinstance(rule, rules.Split):
                parts.update(subgoals)
            stack.extend(reversed(subgoals))
        return False

    def _known(self, key: object, goal: Goal) -> int | None:
        for number, lemma in self._lemmas.get(key, ()) if key is not None else ():
            if covers(lemma, goal.world.cell):
                return number
        return None

    def _choose(self, goal: Goal) -> _Chosen | None:
        """The rule for a goal and its subgoals; None when a witness was found, or there is no use to go on.

        No rule, and no subgoals, where the goal stays open.
        """
        if not goal.todo:
            return self._leaf(goal)
        head = goal.todo[0]
        if isinstance(head, Holds) and isinstance(head.formula, EX | AX) and not self.whole:
            form = self._ambiguous(goal, head)
            if form is not None and not self._closes(goal, head):
                return self._split(goal, form)
        return rules.Expand(), goal.expand()

    def _closes(self, goal: Goal, head: Holds) -> bool:
        """Do enclosures refute the goal as it is, although choices are open? Tried one step before the end only."""
        if head.formula.depth > 1 or len(goal.todo) > 1:
            return False
        stack = [goal]
        for _ in range(_TRIES):
            if not stack:
                return True
            goal = stack.pop()
            if goal.todo:
                stack += goal.expand()
            elif isinstance(solve_rows(goal.world.cell, goal.rows()), Point):
                return False
        return not stack

    def _ambiguous(self, goal: Goal, head: Holds) -> Form | None:
        """A form that decides a choice of this state's step, where one is open and its state is exact."""
        world = goal.world
        if world.key(head.path) is None:
            return None
        state = world.state(head.path)
        for branch in self.system.branches:
            state.truth(branch.guard)
            for _, expr in branch.updates:
                if not state.value(expr).exact:
                    return self._pick(goal, state.open)
        return None

    def _pick(self, goal: Goal, forms: list[Form]) -> Form | None:
        """Where to split: along the first open form, or in half when many are open."""
        cell = goal.world.cell
        crossing = [f for f in forms if cell.sup(f).value > 0 > cell.inf(f).value]
        if not crossing:
            return self._touching(cell, forms)
        size = len(cell.names)
        if size > 1 and len(set(crossing)) > _CROSSING * size:
            weights = [
                (b - a) * sum(abs(f[1 + i]) for f in crossing)
                for i, (a, b) in enumerate(zip(cell.low, cell.high, strict=True))
            ]
            at = max(range(size), key=lambda i: weights[i])
            middle, width = (cell.low[at] + cell.high[at]) / 2, cell.high[at] - cell.low[at]
            if width * 2**_HALVINGS > self._widths[at]:
                return (-middle, *(rational(int(i == at)) for i in range(size)))
        return crossing[0]

    @staticmethod
    def _touching(cell: Cell, forms: list[Form]) -> Form | None:
        """A form that is 0 on a face of the cell, and negative elsewhere: a choice may be another one there (a tie)."""
        for form in (side for f in forms for side in (f, negative(f))):
            top = cell.sup(form)
            if top.value == 0 and top.attained and cell.inf(form).value < 0:
                return form
        return None

    def _split(self, goal: Goal, form: Form) -> _Chosen:
        self.proof.splits += 1
        scale = rational(lcm(*(int(c.denominator) for c in form)), gcd(*(int(c.numerator) for c in form)) or 1)
        form = tuple(c * scale for c in form)  # whole and short: a positive factor changes neither side
        return rules.Split(tuple(map(write_number, form))), goal.split(form)

    def _leaf(self, goal: Goal) -> _Chosen | None:
        """Only facts are left: they exclude each other, or show a witness, or the cell is split further."""
        self.proof.leaves += 1
        rows = goal.rows()
        answer = solve_rows(goal.world.cell, rows)
        if isinstance(answer, Excluded):
            return rules.Refute.of(answer.weights), []
        if self.whole:
            self.proof.gaps.append(f"line {self.proof.lines}: enclosures alone leave it open")
            return None
        for i, (x, whole) in enumerate(zip(answer.x, goal.world.cell.integral, strict=True)):
            if whole and x != floor(x):
                unit = (rational(int(j == i)) for j in range(len(answer.x)))
                return self._split(goal, (rational(-floor(x) - 1), *unit))
        if self._confirmed(goal, answer):
            return None
        paths = sorted({f.path[:n] for f in goal.facts for n in range(len(f.path) + 1)}, key=len)
        form = self._pick(goal, [f for p in paths for f in goal.world.state(p).open])
        form = form or _rounded(goal.world.cell, rows) or _between(goal.world.cell)
        if form is None:
            self.proof.gaps.append(f"line {self.proof.lines}: neither excluded nor confirmed, and nothing to split")
            return None, []
        return self._split(goal, form)

    def _confirmed(self, goal: Goal, point: Point) -> bool:
        values = {n: fraction(v) for n, v in zip(goal.world.cell.names, point.x, strict=True)}
        longest = max((f.path for f in goal.facts), key=len, default=())
        hints = {longest[:i]: b for i, b in enumerate(longest)}
        try:
            start = {n: fraction(f[0]) for n, f in goal.world.start.items()}
            self.proof.witness = explain(self.system, self.target, {**start, **values}, hints, 20_000)
        except UndecidedError:
            return False
        return self.proof.witness is not None


def _rounded(cell: Cell, rows: Sequence[Row]) -> Form | None:
    """The end of the range of an integer that a strict row excludes: of x < 6 the form x <= 5; None where none does."""
    for row in rows:
        used = [at for at, c in enumerate(row.form[1:]) if c]
        if row.strict and len(used) == 1 and cell.integral[used[0]]:
            c = abs(row.form[1 + used[0]])
            form = (rational(ceil(row.form[0] / c) - 1), *(other / c for other in row.form[1:]))
            if cell.inf(form).value < 0 <= cell.sup(form).value:
                return form
    return None


def _between(cell: Cell) -> Form | None:
    """A form that halves the widest range of an integer; None when there is none, or too many values to look at."""
    widths = [b - a if whole else 0 for a, b, whole in zip(cell.low, cell.high, cell.integral, strict=True)]
    at = max(range(len(widths)), key=lambda i: widths[i], default=None)
    if at is None or not 0 < widths[at] < MAX_DOMAIN:
        return None
    middle = floor((cell.low[at] + cell.high[at]) / 2) + 1
    return (rational(-middle), *(rational(int(i == at)) for i in range(len(widths))))
