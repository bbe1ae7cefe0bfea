"""Earlier proofs of bounded claims about another system: what of them holds, and what is proved anew.

The lines are data of a file: whatever they say is checked before it is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import takewhile

from venmas.answer import Answer, IncompleteError, Proved
from venmas.budget import Budget
from venmas.checker.affine.scaled import UnscaledError
from venmas.checker.affine.tree import AXES, CUT, DIGITS, LEAF, MIDDLE, MIXED
from venmas.checker.flowpipes.tree import Choose, Cut, Enclosures, Tube
from venmas.checker.forever.rules import Bound, Derived
from venmas.checker.format.about import Claimed
from venmas.checker.format.lines import Line, Lines
from venmas.checker.format.numbers import read_index, read_number
from venmas.checker.format.rule import End, Rule, kind_of
from venmas.checker.goals.check import check
from venmas.checker.goals.lemmas import Book
from venmas.checker.goals.rules import Program, Tree
from venmas.checker.goals.trees import digest, program_of
from venmas.checker.inductive.phases import Stated
from venmas.errors import InputError
from venmas.logic import Bounded, Formula
from venmas.model.evaluation import cuts
from venmas.model.system.system import System
from venmas.nn.network import Semantics
from venmas.procedures.branch_and_bound.certificate import SplitTrees
from venmas.procedures.branch_and_bound.tree import Tree as SplitTree
from venmas.procedures.flowpipes.lines import Asked, asked
from venmas.procedures.flowpipes.lines import lines as lines_of_trees
from venmas.procedures.forever.claims.proof import proved_lines
from venmas.procedures.kinduction.proof import proved_part
from venmas.question import Question

_SECONDS = 10.0
"""For a claim whose earlier proof does not hold."""


@dataclass
class Mended:
    """Bounded claims whose earlier proof holds, and those that were proved anew."""

    kept: int = 0
    anew: int = 0

    def facts(self) -> list[tuple[str, str]]:
        """Names with values."""
        return [("claims", f"{self.kept} as before, {self.anew} proved anew")]


def rule_of(row: Line) -> Rule:
    """The rule that a line states. Raises `InputError`."""
    kind = kind_of(row.get("rule"))
    if kind is None:
        raise InputError(f"a line states no rule: {str(row)[:60]}")
    return kind.read(row)  # type: ignore[no-any-return]


def kept(question: Question, kind: str, rows: Sequence[Line], tick: Callable[[], None]) -> list[Rule]:
    """The lines of a proof of a bounded question, by an earlier one, of `goals` or `flowpipes`, without its last line.

    Cuts of flowpipes and of programs stay, and what does not hold between them is cut further. Raises `InputError`,
    `IncompleteError`, and `LookupError` (cuts of what the system has not) where it does not hold.
    """
    if kind == "flowpipes":
        parts = asked(question)
        return list(lines_of_trees(tuple(_trees(question, parts, rows)), parts, tick))
    if rows and rows[0].get("rule") == Program.name:
        return list(SplitTrees(dict(_split_trees(rows))).lines(question, tick))
    lines = Lines([*rows, End(len(rows) + 1).to_json()], lambda _: tick())
    check(question.system, question.formula, question.inside, lines, question.semantics)
    return list(map(rule_of, rows))


def _trees(question: Question, parts: Sequence[Asked], rows: Sequence[Line]) -> Iterator[cuts.Tree | None]:
    """The trees of cuts that lines of flowpipes state. Raises `InputError`."""
    lines = Lines(rows)
    lines.next(Enclosures)
    names = list(question.system.variables)
    for _, _, box in parts:
        yield None if box is None else _tree(lines, names)


def _tree(lines: Lines, names: Sequence[str]) -> cuts.Tree:
    """A tree in prefix order: built from its end, where both parts of a cut are known."""
    stated, waiting = list[cuts.Chosen | cuts.Fineness | tuple[str, Cut]](), 1
    while waiting:
        line = lines.next(Cut, Choose, Tube)
        if isinstance(line, Cut):
            stated.append((names[read_index(lines.number, line.variable, len(names))], line))
            waiting += 1
            continue
        tube = lines.next(Tube) if isinstance(line, Choose) else line
        assert isinstance(tube, Tube)
        fine = cuts.Fineness(tube.order, tube.substeps, tube.slices, tube.symbols, tube.sets)
        values = line.values if isinstance(line, Choose) else ()
        stated.append(cuts.Chosen(tuple(read_number(lines.number, v) for v in values), fine) if values else fine)
        waiting -= 1
    made: list[cuts.Tree] = []
    for part in reversed(stated):
        if isinstance(part, tuple):
            made.append(cuts.Cut(part[0], read_number(0, part[1].at), made.pop(), made.pop()))
        else:
            made.append(part)
    return made.pop()


def _split_trees(rows: Sequence[Line]) -> Iterator[tuple[int, SplitTree]]:
    """The cuts of each initial set that lines about programs state. Raises `InputError`."""
    lines = Lines(rows)
    for _ in range(len(rows) // 2):
        index, text, tree, waiting = lines.next(Program).index, iter(lines.next(Tree).splits), SplitTree(), [0]
        for token in text:
            if not waiting:
                raise lines.refused("the tree ends before its text does")
            node = waiting.pop()
            if token in (LEAF, MIXED):
                continue
            axis, part = (next(text, ""), DIGITS.find(next(text, " "))) if token == CUT else (token, MIDDLE)
            if axis == "" or axis not in AXES or part < 1:
                raise lines.refused("the text of splits is no tree")
            first = tree.split(node, AXES.index(axis), part)
            waiting += [first + 1, first]
        yield index, tree


class Exchanged:
    """The bounded claims of a derivation, whose proofs the checker asks for: the earlier one, else a mended one, else
    one that is found anew. rows: the derivation.

    Raises `IncompleteError` where a claim is not proved.
    """

    def __init__(
        self,
        rows: Sequence[Line],
        semantics: Semantics,
        decide: Callable[[Question, Budget], Answer] | None,
        budget: Budget,
    ) -> None:
        self._rows, self._semantics, self._decide, self._budget = rows, semantics, decide, budget
        self._made: dict[int, tuple[str, list[Line], bool]] = {}

    def offered(self, claimed: Claimed, kind: str, rows: list[Line]) -> Iterator[tuple[str, list[Line]]]:
        """Proofs of a claim, with their kinds: see `About`. The last one that was asked for is the one that holds."""
        question = Question(
            claimed.system,
            Bounded(claimed.formula),
            self._semantics,
            certified=True,
            inside=True,
            chosen=claimed.chosen,
        )
        for other, lines, anew in self._proofs(question, kind, rows):
            self._made[claimed.number] = other, lines, anew
            yield other, lines

    def _proofs(self, question: Question, kind: str, rows: list[Line]) -> Iterator[tuple[str, list[Line], bool]]:
        yield kind, list(_of_this(question, rows)), False
        if kind == "flowpipes" or rows[0].get("rule") == Program.name:
            with suppress(InputError, IncompleteError, LookupError):
                yield kind, _lines(kept(question, kind, rows[:-1], self._budget)), False
        if self._decide is None:
            raise IncompleteError("nothing decides bounded questions here")
        other, made = _anew(question, self._decide, self._budget)
        yield other, _lines(made), True

    def derived(self, done: Mended) -> list[Rule]:
        """The lines of the derivation with these proofs, but for its last one, which were all checked."""
        made, sequents, rest = list[Rule](), 0, iter(self._rows[:-1])
        for row in rest:
            stated = rule_of(row)
            if sequents in self._made and isinstance(stated, Bound):
                kind, lines, anew = self._made[sequents]
                _part(rest)
                made += [replace(stated, proof=kind), *map(rule_of, lines)]  # type: ignore[arg-type]
                done.anew, done.kept = done.anew + anew, done.kept + (not anew)
            else:
                made.append(stated)
                for _ in range((2 if stated.choices else 1) if isinstance(stated, Bound) else 0):
                    part = _part(rest)
                    made += [*map(rule_of, part), End(len(part) + 1)]
                done.kept += isinstance(stated, Bound)
            sequents += isinstance(stated, Bound | Derived)
        return made


def _lines(rules: Sequence[Rule]) -> list[Line]:
    """The lines of a proof inside a proof."""
    return [rule.to_json() for rule in (*rules, End(len(rules) + 1))]


def _of_this(question: Question, rows: Sequence[Line]) -> Iterator[Line]:
    """The lines of an earlier proof, split trees as being of the programs of this question."""
    book: Book | None = None
    for row in rows:
        if row.get("rule") == Program.name:
            with suppress(InputError, LookupError, UnscaledError):
                stated = Program.read(row)
                book = book or Book(question.system, question.target, question.semantics)
                row = replace(stated, hash=digest(program_of(book, stated.index, stated.bits))).to_json()
        yield row


def phased(
    system: System, holds: Formula, rows: Sequence[Line], semantics: Semantics, budget: Budget, done: Mended
) -> Iterator[Rule]:
    """The lines of a proof in two phases by the same set, each phase proved of this system.

    Raises `InputError`, `IncompleteError` where one is not proved.
    """
    rest = iter(rows)
    lines = Lines([next(rest, {})])
    phases, proofs = lines.next(Stated).read_at(lines, system.vocabulary), []
    for part, formula in phases.parts(system, holds):
        question = Question(part, Bounded(formula), semantics, certified=True)
        try:
            proofs.append((kept(question.boxed, "goals", _part(rest), budget), True))
            done.kept += 1
        except (InputError, IncompleteError, LookupError):
            proofs.append(proved_part(question, budget))
            done.anew += 1
    yield Stated.of(phases, (proofs[0][1], proofs[1][1]))
    for proof, _ in proofs:
        yield from proof
        yield End(len(proof) + 1)


def _part(rows: Iterator[Line]) -> list[Line]:
    """The lines of a proof inside a proof, without its end."""
    return list(takewhile(lambda row: row.get("rule") != End.name, rows))


def _anew(question: Question, decide: Callable[[Question, Budget], Answer], budget: Budget) -> tuple[str, list[Rule]]:
    """The kind and the lines of a proof of a claim. Raises `IncompleteError`."""
    answer = budget.spend(_SECONDS, lambda part: decide(question, part))
    if not isinstance(answer, Proved) or answer.leaving:
        raise IncompleteError(f"a claim of the earlier proof is not proved: {question.formula}"[:500])
    return proved_lines(question, answer, budget)
