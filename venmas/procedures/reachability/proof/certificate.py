"""Certificate of a reachability graph as lemmas: one for every region and formula that the proof of the root rests on.

The graph says what to prove and where to cut; every line is made with the rules of `venmas.checker` and its evaluation,
in rationals. What follows in floats but not there is cut further, and where that does not help `IncompleteError` is
raised.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from math import ceil, floor
from typing import TypeAlias

import numpy as np

from venmas.answer import IncompleteError
from venmas.bounds.rounding import Ints
from venmas.checker.exact.cell import Form, Q, rational
from venmas.checker.format.rule import Rule
from venmas.checker.goals import rules
from venmas.checker.goals.goals import Goal
from venmas.checker.goals.initial import first_goal
from venmas.checker.goals.lemmas import Book, Lemma, Matrix
from venmas.checker.goals.paths import Holds, Unless
from venmas.checker.goals.rule import Step
from venmas.logic import AX, EX, Formula
from venmas.model.expressions.expr import Condition
from venmas.nn.network import Semantics
from venmas.procedures.reachability.graph.graph import Graph, Layer
from venmas.procedures.reachability.graph.split import Pieces
from venmas.procedures.reachability.proof.lemma_index import Cover, Key
from venmas.question import Question

MAX_CUTS = 16
"""How often a piece is halved when rationals tell less of it than floats did, before the region is given up: each
cut doubles the lines about it."""


@dataclass(frozen=True, eq=False)
class _Todo:
    """A goal, the piece that it is about (None: not known yet), and how often it was halved."""

    goal: Goal
    piece: int | None = None
    cuts: int = 0

    def then(self, *goals: Goal) -> list[_Todo]:
        """Goals about the same piece."""
        return [_Todo(g, self.piece, self.cuts) for g in goals]


_Taken: TypeAlias = "tuple[Step, list[_Todo]]"
_Step: TypeAlias = Generator[Key, Step, _Taken]
_Lines: TypeAlias = Generator[Key, Step, list[Rule]]


class GraphProof:
    """Writes the proof of what a graph, which kept its past, has refuted."""

    def __init__(
        self,
        graph: Graph,
        target: Formula,
        write: Callable[[Rule], None],
        semantics: Semantics = "real",
        inside: bool = False,
    ) -> None:
        self.inside = inside
        self.graph, self.space, self.target, self.write, self.semantics = graph, graph.space, target, write, semantics
        self.book = Book(self.space.system, target, semantics)
        self.cover = Cover(graph)
        self.lines = 0
        self.left_box: list[str] = []
        self._formulas = {f: i for i, f in enumerate(self.book.formulas)}
        self._choices = {id(n): i for i, n in enumerate(self.book.choices)}
        self._named: dict[Key, Step] = {}
        """The step that names a lemma which was written."""
        self._frames: dict[int, tuple[int, Matrix, Matrix]] = {}

    def run(self) -> None:
        """Write lemmas as they are needed, then the initial regions. Raises `IncompleteError`."""
        for index, region in enumerate(self.space.system.regions):
            goal = first_goal(self.space.system, region, self.target, self.semantics)
            self._drive(self._prove(rules.Region(index), goal, None))

    def _drive(self, first: _Lines, key: Key | None = None) -> None:
        """Run a proof (of the lemma `key`); the lemmas that it asks for are written before it."""
        stack: list[tuple[Key | None, _Lines]] = [(key, first)]
        answer: Step | None = None
        while stack:
            self.graph.tick()
            key, proof = stack[-1]
            try:
                wanted = next(proof) if answer is None else proof.send(answer)
            except StopIteration as end:
                answer = rules.Within(self._emit(end.value))
                if key is not None:
                    self._named[key] = answer
                stack.pop()
                continue
            answer = self._named.get(wanted)
            if answer is None:
                stack.append((wanted, self._lemma(wanted)))

    def _emit(self, lines: list[Rule]) -> int:
        """Write lines; the number of the first one."""
        first = self.lines + 1
        for line in lines:
            self.write(line)
        self.lines += len(lines)
        return first

    def _frame(self, step: int) -> tuple[int, Matrix, Matrix]:
        """Number, matrix and inverse of a step's frame; its line is written when it is first used."""
        if step not in self._frames:
            frame = self.space.frames[step]
            matrix = tuple(tuple(rational(c / frame.unit) for c in row) for row in frame.matrix)
            inverse = tuple(tuple(rational(c * frame.unit) for c in row) for row in frame.inverse)
            self._emit([rules.Frame(tuple(tuple(map(str, row)) for row in matrix))])
            self._frames[step] = len(self._frames), matrix, inverse
        return self._frames[step]

    # -- one lemma -----------------------------------------------------------------------------------------------------

    def _lemma(self, key: Key) -> _Lines:
        regions = self.cover.regions(key.step)
        formula = self.graph.stages[key.step].formulas[key.formula]
        frame, matrix, inverse = self._frame(key.step)
        low = tuple(rational(int(v)) for v in regions.low[key.region])
        high = tuple(rational(int(v)) for v in regions.high[key.region])
        integers = self.space.locations[int(regions.where[key.region])].values
        ends = (tuple(map(str, end)) for end in (low, high))
        line = rules.Lemma(self._formulas[formula], frame, tuple(integers), *ends)
        goal = self.book.goal(Lemma(formula, integers, inverse, low, high), matrix)
        return self._prove(line, goal, key)

    def _prove(self, line: Rule, goal: Goal | None, key: Key | None) -> _Lines:
        """The lines that refute a goal, after the first one; asks for the lemmas that it needs."""
        lines = [line]
        stack = [_Todo(goal)] if goal is not None else []
        while stack:
            rule, subgoals = yield from self._step(stack.pop(), key)
            lines.append(rule)
            stack.extend(reversed(subgoals))
        if goal is not None:
            self.left_box += goal.world.left_box
        return lines

    def _step(self, todo: _Todo, key: Key | None) -> _Step:
        """The next rule for a goal, and what is left."""
        goal = todo.goal
        if not goal.todo:
            raise IncompleteError("comparisons that are open in rationals would have to exclude each other")
        head = goal.todo[0]
        if isinstance(head, Holds) and len(head.path) == (0 if key is None else 1):
            return (yield from self._within(todo, head, key))
        if key is not None:
            turn, node = self.cover.regions(key.step).keys[key.region]
            layer = self.graph.past[turn][key.step]
            if layer.pieces is not None and (layer.pieces.node == node).any():
                found = self._at_node(todo, layer, layer.pieces, node, key)
                if found is not None:
                    return found
        return rules.Expand(), todo.then(*goal.expand())

    def _at_node(self, todo: _Todo, layer: Layer, pieces: Pieces, node: int, key: Key) -> _Taken | None:
        """Cut a goal about a node's own state to a piece, and follow what refutes it there; None: expand it."""
        goal, head = todo.goal, todo.goal.todo[0]
        if todo.piece is None:
            piece, plane = self.cover.piece(pieces, node, *self._box(goal, key))
            if plane is not None:
                return self._split(todo, _plane(goal, *plane))
            if piece is None:
                raise IncompleteError("a region is not the sum of its pieces")
            todo = _Todo(goal, piece)
        piece = todo.piece
        if len(goal.todo) > 1:
            return self._selected(todo, layer, key)
        if isinstance(head, Holds) and isinstance(head.formula, EX | AX):
            cut = self._decided(todo, pieces)
            if cut is not None:
                return cut
        return rules.Expand(), todo.then(*goal.expand())

    def _selected(self, todo: _Todo, layer: Layer, key: Key) -> _Taken | None:
        """Of several obligations, one that is refuted on the piece."""
        goal = todo.goal
        for at, part in enumerate(goal.todo):
            if isinstance(part, Holds) and not part.path and not layer.piece_truth[part.formula][todo.piece]:
                return rules.Keep(at), todo.then(goal.keep(at))
            if isinstance(part, Unless) and goal.world.state(()).truth(self._guard(part.branch)) is True:
                reached = Holds((part.branch,), part.formula)
                if self._found(goal, reached, key)[0] is not None:
                    return rules.Keep(at), todo.then(goal.keep(at))
        if all(isinstance(part, Holds | Unless) for part in goal.todo):
            raise IncompleteError("none of several obligations is refuted in rationals")
        return rules.Expand(), todo.then(*goal.expand())

    def _guard(self, branch: int) -> Condition:
        return self.space.system.branches[branch].guard

    def _decided(self, todo: _Todo, pieces: Pieces) -> _Taken | None:
        """None when every move from the goal's state is exact; else cut further, or take cases."""
        goal = todo.goal
        state = goal.world.state(())
        exact = True
        for index, branch in enumerate(self.space.system.branches):
            exact &= state.truth(branch.guard) is not None
            exact &= all(q.exact for q in goal.world.state((index,)).env.values())
        if exact:
            return None
        assert todo.piece is not None
        single = len(pieces.case_list[pieces.kind[todo.piece]]) == 1
        if single or not state.undecided:
            return self._halved(todo)
        choice = next((n for n in state.undecided if id(n) in self._choices), None)
        if choice is None:
            raise IncompleteError("an open choice has no number")
        return rules.Case(self._choices[id(choice)]), todo.then(*goal.case(choice))

    def _halved(self, todo: _Todo) -> _Taken:
        """Both halves of a goal's cell, along its longest side."""
        cell = todo.goal.world.cell
        if todo.cuts >= MAX_CUTS or not cell.names:
            raise IncompleteError("rationals leave a choice open that floats decide")
        widths = [b - a for a, b in zip(cell.low, cell.high, strict=True)]
        at = max(range(len(widths)), key=lambda i: widths[i])
        middle = (cell.low[at] + cell.high[at]) / 2
        form = (-middle, *(rational(int(i == at)) for i in range(len(widths))))
        return self._split(_Todo(todo.goal, todo.piece, todo.cuts + 1), form)

    @staticmethod
    def _split(todo: _Todo, form: Form) -> _Taken:
        return rules.Split(tuple(map(str, form))), todo.then(*todo.goal.split(form))

    # -- regions -------------------------------------------------------------------------------------------------------

    def _box(self, goal: Goal, key: Key) -> tuple[Ints, Ints]:
        """The box of a goal about a region."""
        regions = self.cover.regions(key.step)
        low, high = regions.low[key.region].copy(), regions.high[key.region].copy()
        for name, a, b in zip(goal.world.cell.names, goal.world.cell.low, goal.world.cell.high, strict=True):
            low[int(name[1:])], high[int(name[1:])] = floor(a), ceil(b)
        return low, high

    def _reached(self, goal: Goal, head: Holds, step: int) -> tuple[list[Q] | None, Ints, Ints]:
        """Integers (None: open) and box of the state of an obligation, in the frame of a step."""
        env = goal.world.state(head.path).env
        values = [env[n].values for n in self.book.integers]
        integers = [next(iter(v)) for v in values if v is not None and len(v) == 1]
        ranges = self.book.coordinates(self._frame(step)[2], goal.world, head)
        low = np.array([floor(a) for a, _ in ranges], dtype=np.int64)
        high = np.array([ceil(b) for _, b in ranges], dtype=np.int64)
        return integers if len(integers) == len(values) else None, low, high

    def _found(
        self, goal: Goal, head: Holds, key: Key | None
    ) -> tuple[list[tuple[Key, Ints, Ints]] | None, Ints, Ints]:
        """Lemmas that cover the state of an obligation (None: they do not), and its box."""
        step = 0 if key is None else key.step + 1
        if step >= len(self.space.frames):
            raise IncompleteError("what is refuted at the last step of the graph would be followed further")
        integers, low, high = self._reached(goal, head, step)
        if integers is None:
            return None, low, high
        return self.cover.find(step, head.formula, tuple(map(int, integers)), low, high), low, high

    def _whole(self, todo: _Todo, head: Holds) -> _Taken:
        """Cut the goal between the values of an integer that has several in the state of its first obligation."""
        cell = todo.goal.world.cell
        for q in map(todo.goal.world.state(head.path).env.__getitem__, self.book.integers):
            low, high = ceil(cell.inf(q.low).value), floor(cell.sup(q.upp).value)
            if q.exact and low < high:
                middle = (low + high) // 2 + 1
                return self._split(todo, (q.low[0] - middle, *q.low[1:]))
        raise IncompleteError("a successor is not covered")

    def _within(self, todo: _Todo, head: Holds, key: Key | None) -> _Step:
        """Close an obligation about a successor (or an initial state) by lemmas, cutting it where it needs several."""
        goal = todo.goal
        found, low, high = self._found(goal, head, key)
        if found is None:
            return self._whole(todo, head)
        for lemma, a, b in found:
            if (a <= low).all() and (high <= b).all():
                named = yield lemma
                return named, []
        _, a, b = max(found, key=lambda f: float(np.prod(np.minimum(f[2], high) - np.maximum(f[1], low) + 1.0)))
        at = int(((low < a) | (b < high)).argmax())
        where = int(a[at] if low[at] < a[at] else b[at])
        env = goal.world.state(head.path).env
        form: Form = (rational(-where), *(rational(0) for _ in goal.world.cell.names))
        inverse = self._frame(0 if key is None else key.step + 1)[2]
        for c, name in zip(inverse[at], self.book.reals, strict=True):
            if c:
                if not env[name].exact:
                    raise IncompleteError("a successor that is not exact lies in several regions")
                form = tuple(p + c * q for p, q in zip(form, env[name].low, strict=True))
        return self._split(todo, form)


def _plane(goal: Goal, at: int, where: int) -> Form:
    """``y[at] - where`` as a form over the goal's cell."""
    return (rational(-where), *(rational(int(name == f"y{at}")) for name in goal.world.cell.names))


def graph_lines(graph: Graph, question: Question) -> list[Rule]:
    """The proof of what a graph, with its past, has refuted. Raises `IncompleteError`."""
    found: list[Rule] = []
    proof = GraphProof(graph, question.target, found.append, question.semantics)
    proof.run()
    if proof.left_box and not question.inside:
        raise IncompleteError("a state may leave its box")
    return found
