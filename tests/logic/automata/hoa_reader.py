"""Automata from HOA v1: the part that is about Büchi automata, with marks on edges or states, and explicit labels.

What is not known is refused by name. Headers whose name begins with a small letter say nothing of the language, by the
format's own rule, and are passed over.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, NoReturn

from lark import Token
from lark.exceptions import VisitError
from lark.visitors import Transformer_NonRecursive

from tests.logic.automata.hoa_grammar import hoa_tree
from venmas.budget import ask
from venmas.errors import AutomatonError, FormulaError
from venmas.logic.automata.automaton import Automaton, Edge
from venmas.logic.automata.effort import Effort
from venmas.logic.automata.label import Label
from venmas.logic.automata.rewrite import core
from venmas.logic.automata.tableau import MAX_STATES, cubes
from venmas.logic.formula import FALSE, TRUE, And, Formula, Not, Or, replaced
from venmas.logic.ltl_parser import parse_ltl
from venmas.logic.paths import Leaf, Proposition, leaves
from venmas.logic.vocabulary import Vocabulary

MAX_TEXT = 150_000
"""Longest text, in characters."""

MAX_SETS = 64
"""Most acceptance sets."""

MAX_EDGES = 50_000
"""Most edges, labels as conjunctions."""


def read_hoa(text: str, vocabulary: Vocabulary | None = None) -> Automaton:
    """The automaton that a text in HOA v1 describes; its propositions are read as `parse_ltl` reads conditions.

    Raises `AutomatonError`, with line and column, for what is no HOA, and for what is refused: alternation, implicit
    labels, acceptance other than (generalised) Büchi, headers that are not known.
    """
    text = "\n".join(text.splitlines())
    if len(text) > MAX_TEXT:
        raise AutomatonError(f"the automaton has {len(text)} characters, at most {MAX_TEXT} are read: reduce it first")
    try:
        found: Automaton = _Builder(text, vocabulary).transform(hoa_tree(text))
    except VisitError as error:
        raise error.orig_exc from None
    return found


@dataclass(frozen=True)
class _Row:
    """An edge, or a state (its number as the only target), as written."""

    at: Token
    target: int
    label: Formula | None
    marks: tuple[Token, ...]


class _Builder(Transformer_NonRecursive[Token, Any]):
    """One method a rule of the grammar. In a label, proposition i is a `Proposition` called i until the end."""

    def __init__(self, text: str, vocabulary: Vocabulary | None) -> None:
        super().__init__()
        self._text, self._vocabulary, self._effort = text, vocabulary, Effort()
        self._seen: set[str] = set()
        self._states: int | None = None
        self._initial: list[tuple[int, Token]] = []
        self._names: list[Token] = []
        self._aliases: dict[Formula, Formula] = {}
        self._sets: int | None = None
        self._used: list[int] = []

    def _fail(self, message: str, at: Token) -> NoReturn:
        raise AutomatonError(message, self._text, at.line or 1, at.column or 1)

    def _number(self, token: Token, most: int, what: str) -> int:
        ask()
        if len(token) > 9 or int(token) > most:
            self._fail(f"{what} {str(token)[:20]} is too large: at most {most} is read", token)
        return int(token)

    def _once(self, name: str, at: Token) -> None:
        if name in self._seen:
            self._fail(f"{name} is given twice", at)
        self._seen.add(name)

    # Headers

    def states(self, args: list[Token]) -> None:
        self._once("States:", args[0])
        self._states = self._number(args[0], MAX_STATES, "the number of states")

    def initial(self, args: list[Token]) -> None:
        self._alone(args)
        self._initial.append((self._number(args[0], MAX_STATES, "state"), args[0]))

    def _alone(self, args: list[Token]) -> None:
        for token in args:
            if token.type == "AND":
                self._fail("alternating automata (states joined by &) are not read: make it nondeterministic", token)

    def propositions(self, args: list[Token]) -> None:
        count, *names = args
        self._once("AP:", count)
        if self._number(count, MAX_TEXT, "the number of propositions") != len(names):
            self._fail(f"AP: {count} is followed by {len(names)} names", count)
        self._names = names

    def alias(self, args: list[Any]) -> None:
        name, meaning = args
        self._once(str(name), name)
        self._aliases[Proposition(name)] = replaced(meaning, self._aliases)

    def acceptance_sets(self, args: list[Any]) -> None:
        count, used = args
        self._once("Acceptance:", count)
        self._sets = self._number(count, MAX_SETS, "the number of acceptance sets")
        for token in used:
            if self._number(token, MAX_SETS, "acceptance set") >= self._sets:
                self._fail(f"there is no acceptance set {token}: they are numbered from 0, {self._sets} in all", token)
        self._used = sorted({int(token) for token in used})

    def other(self, args: list[Token]) -> None:
        if args[0][0].isupper():
            self._fail(f"the header {args[0]} is not known, and may change what the automaton accepts", args[0])

    # Acceptance

    def condition(self, args: list[Token | None]) -> list[Token]:
        kind, negation, number = args
        assert kind is not None and number is not None
        if kind != "Inf" or negation is not None:
            self._unknown(kind)
        return [number]

    def constant(self, args: list[Token]) -> list[Token]:
        if args[0] != "t":
            self._unknown(args[0])
        return []

    def together(self, args: list[Any]) -> list[Token]:
        return [number for part in args[::2] for number in part]

    def refused(self, args: list[Any]) -> NoReturn:
        self._unknown(args[1])

    def _unknown(self, at: Token) -> NoReturn:
        self._fail("only (generalised) Büchi acceptance is read: t, or Inf(0) & Inf(1) & ...", at)

    # Labels

    def proposition(self, args: list[Token]) -> Formula:
        if self._number(args[0], MAX_TEXT, "proposition") >= len(self._names):
            self._fail(f"there is no proposition {args[0]}: AP: names {len(self._names)}, from 0 on", args[0])
        return Proposition(str(args[0]))

    def named(self, args: list[Token]) -> Formula:
        if str(args[0]) not in self._seen:
            self._fail(f"{args[0]} is not declared: write Alias: {args[0]} and its label above", args[0])
        return Proposition(args[0])

    def truth(self, args: list[Token]) -> Formula:
        if args[0] not in ("t", "f"):
            self._fail(f"a label is made of t, f, numbers and @names with ! & |, got {args[0]}", args[0])
        return TRUE if args[0] == "t" else FALSE

    def negation(self, args: list[Any]) -> Formula:
        return Not(args[1])

    def both(self, args: list[Any]) -> Formula:
        return And((args[0], args[2]))

    def either(self, args: list[Any]) -> Formula:
        return Or((args[0], args[2]))

    # Body

    def marks(self, args: list[Token]) -> tuple[Token, ...]:
        for token in args:
            if self._sets is None:
                self._fail("acceptance sets need the header Acceptance:, which is missing", token)
            if self._number(token, MAX_SETS, "acceptance set") >= self._sets:
                self._fail(f"there is no acceptance set {token}: Acceptance: declares {self._sets}", token)
        return tuple(args)

    def edge(self, args: list[Any]) -> _Row:
        label, target, *more, marks = args
        self._alone(more)
        return _Row(target, self._number(target, MAX_STATES, "state"), label, marks or ())

    def state(self, args: list[Any]) -> tuple[_Row, list[_Row]]:
        label, number, _, marks, *edges = args
        self._once(f"State: {number}", number)
        return _Row(number, self._number(number, MAX_STATES, "state"), label, marks or ()), edges

    def start(self, args: list[Any]) -> Automaton:
        version, *rest = args
        if version != "v1":
            self._fail(f"HOA {version} is not known, v1 is", version)
        body = [part for part in rest if part is not None]
        for name, given in (("Acceptance:", self._sets is not None), ("Start:", bool(self._initial))):
            if not given:
                self._fail(f"the header {name} is missing", version)
        rows = [row for state, edges in body for row in (state, *edges)]
        states = self._states if self._states is not None else 1 + max((row.target for row in rows), default=0)
        for number, at in (*self._initial, *((row.target, row.at) for row in rows)):
            if number >= states:
                self._fail(f"there is no state {number}: there are {states}, numbered from 0", at)
        return self._automaton(states, body)

    def _automaton(self, states: int, body: list[tuple[_Row, list[_Row]]]) -> Automaton:
        meanings: dict[Formula, Formula] = {Proposition(str(i)): self._meaning(n) for i, n in enumerate(self._names)}
        atoms = tuple(dict.fromkeys(leaf for meaning in meanings.values() for leaf in leaves(meaning)))
        labels: dict[Formula, list[Label]] = {}
        edges: list[Edge] = []
        for state, leaving in body:
            for row in leaving:
                written = state.label if row.label is None else row.label
                if written is None:
                    self._fail("an edge without a label is not read (implicit labels): write [..] before it", row.at)
                if state.label is not None and row.label is not None:
                    self._fail("the labels are given at the state, and at its edges, too", row.at)
                if written not in labels:
                    condition = replaced(replaced(written, self._aliases), meanings)
                    labels[written] = cubes(core(condition, effort=self._effort), atoms, self._effort)
                met = {int(token) for token in (*state.marks, *row.marks)}
                marks = sum(1 << i for i, number in enumerate(self._used) if number in met)
                edges += [Edge(state.target, label, row.target, marks) for label in labels[written]]
                if len(edges) > MAX_EDGES:
                    self._fail(f"there are more than {MAX_EDGES} edges, labels as conjunctions", row.at)
        return _started(atoms, states, len(self._used), edges, [number for number, _ in self._initial])

    def _meaning(self, written: Token) -> Formula:
        """What a proposition says, in core form."""
        text = _unescaped(written)
        try:
            meaning = parse_ltl(text, self._vocabulary)
        except FormulaError as error:
            self._fail(
                f"the proposition {str(written)[:40]} is neither a name nor a condition: {error.problem}", written
            )
        if meaning.horizon != 0:
            self._fail(f"the proposition {str(written)[:40]} speaks of other steps than one", written)
        return core(meaning, effort=self._effort)


def _unescaped(string: Token) -> str:
    return re.sub(r"\\(.)", r"\1", string[1:-1], flags=re.DOTALL)


def _started(atoms: tuple[Leaf, ...], states: int, marks: int, edges: list[Edge], initial: list[int]) -> Automaton:
    """With state 0 as the only initial one: it changes places with it, or a new one does what any of several may."""
    if len(set(initial)) == 1:
        swap = {0: initial[0], initial[0]: 0}
        edges = [e._replace(source=swap.get(e.source, e.source), target=swap.get(e.target, e.target)) for e in edges]
    else:
        first = [Edge(0, e.label, e.target + 1, 0) for e in edges if e.source in initial]
        edges = first + [e._replace(source=e.source + 1, target=e.target + 1) for e in edges]
        states += 1
    return Automaton(atoms, states, marks, tuple(sorted(set(edges))))
