"""Random small circuits, with random properties: verdicts about LTL against explicit search that shares nothing
with it but the automaton of the property, which is tested on words of its own
(`tests/logic/automata/test_translation.py`).

A circuit is written as BTOR2 text and, beside it, as Python functions of plain integers. It is decided as users do, and
once more without explicit search, so that networks and lassos have to come from the learner and from the solver.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import product
from time import process_time
from unittest.mock import patch

from venmas import verify
from venmas.formats.btor2.reader import parse_btor2
from venmas.logic.automata.automaton import Automaton
from venmas.logic.automata.translate import refuting
from venmas.logic.formula import Formula
from venmas.logic.ltl_parser import parse_ltl

_Values = tuple[int, ...]
_Word = Callable[[_Values, _Values], int]
_Pair = tuple[_Values, int]
"""A state of the circuit and one of the automaton."""
_Steps = dict[_Pair, set[tuple[_Pair, int]]]
"""Of each pair those that follow, with the acceptance sets of the step."""
_SECONDS = {"all means": 2.0, "without explicit search": 0.4}
"""For a question; where explicit search is left out, what needs an invariant would use any time up."""


@dataclass
class Plain:
    """A circuit twice: lines of BTOR2, and functions of registers and inputs. first: prescribed values, or None."""

    lines: list[str] = field(default_factory=list)
    widths: list[int] = field(default_factory=list)
    inputs: int = 0
    next: list[_Word] = field(default_factory=list)
    first: list[int | None] = field(default_factory=list)
    conditions: dict[str, _Word] = field(default_factory=dict)
    constraint: _Word | None = None

    @property
    def text(self) -> str:
        """As BTOR2."""
        return "\n".join(self.lines) + "\n"

    def states(self) -> Iterator[_Values]:
        """All of them."""
        return product(*(range(1 << width) for width in self.widths))

    def given(self) -> list[_Values]:
        """All inputs, each of one bit."""
        return list(product((0, 1), repeat=self.inputs))


class _Maker:
    """Makes one."""

    def __init__(self, rng: random.Random) -> None:
        self.rng, self.made = rng, Plain()
        self.words: list[tuple[int, int, _Word]] = []  # number, width, meaning
        self.sorts: dict[int, int] = {}
        self.number = 0

    def line(self, text: str) -> int:
        self.number += 1
        self.made.lines.append(f"{self.number} {text}")
        return self.number

    def sort(self, width: int) -> int:
        if width not in self.sorts:
            self.sorts[width] = self.line(f"sort bitvec {width}")
        return self.sorts[width]

    def add(self, width: int, text: str, meaning: _Word) -> tuple[int, int, _Word]:
        operator, _, rest = text.partition(" ")
        sort = self.sort(width)
        self.words.append((self.line(f"{operator} {sort} {rest}".rstrip()), width, meaning))
        return self.words[-1]

    def pick(self, width: int) -> tuple[int, int, _Word]:
        """A word of this width: one that is there, a part of it, or wider."""
        rng = self.rng
        if rng.random() < 0.25:
            value = rng.randrange(1 << width)
            return self.add(width, f"constd {value}", lambda s, i: value)
        number, wide, meaning = rng.choice(self.words)
        if wide > width:
            low = rng.randint(0, wide - width)
            mask = (1 << width) - 1
            return self.add(width, f"slice {number} {low + width - 1} {low}", lambda s, i: meaning(s, i) >> low & mask)
        if wide == width:
            return number, wide, meaning
        if rng.random() < 0.5:
            more = (1 << width) - (1 << wide)
            return self.add(
                width,
                f"sext {number} {width - wide}",
                lambda s, i: meaning(s, i) | (more if meaning(s, i) >> (wide - 1) else 0),
            )
        return self.add(width, f"uext {number} {width - wide}", meaning)

    def grow(self) -> None:
        """One operator more."""
        rng = self.rng
        width = rng.choice(self.made.widths)
        (a, _, f), (b, _, g) = self.pick(width), self.pick(width)
        full = (1 << width) - 1
        words: dict[str, _Word] = {
            "add": lambda s, i: f(s, i) + g(s, i) & full,
            "sub": lambda s, i: f(s, i) - g(s, i) & full,
            "mul": lambda s, i: f(s, i) * g(s, i) & full,
            "and": lambda s, i: f(s, i) & g(s, i),
            "or": lambda s, i: f(s, i) | g(s, i),
            "xor": lambda s, i: f(s, i) ^ g(s, i),
            "urem": lambda s, i: f(s, i) % g(s, i) if g(s, i) else f(s, i),
        }

        def signed(value: int) -> int:
            return value - (1 << width) if value >> (width - 1) else value

        tests: dict[str, _Word] = {
            "eq": lambda s, i: int(f(s, i) == g(s, i)),
            "ult": lambda s, i: int(f(s, i) < g(s, i)),
            "slte": lambda s, i: int(signed(f(s, i)) <= signed(g(s, i))),
        }
        kind = rng.random()
        if kind < 0.4:
            name = rng.choice(list(words))
            self.add(width, f"{name} {a} {b}", words[name])
        elif kind < 0.7:
            name = rng.choice(list(tests))
            self.add(1, f"{name} {a} {b}", tests[name])
        else:
            c, _, h = self.pick(1)
            sign = rng.choice(["", "-"])
            flip = int(sign == "-")
            self.add(width, f"ite {sign}{c} {a} {b}", lambda s, i: f(s, i) if h(s, i) ^ flip else g(s, i))


def random_circuit(rng: random.Random) -> Plain:
    """One of at most 6 bits of registers and 2 of inputs; conditions a, b, c."""
    m = _Maker(rng)
    made = m.made
    made.widths = list(rng.choice([(1, 1, 1), (2, 1), (3, 1), (2, 2), (3, 2, 1), (4,), (4, 2), (5,)]))
    made.inputs = rng.randint(1, 2)
    for at in range(made.inputs):
        m.add(1, f"input i{at}", lambda s, i, at=at: i[at])  # type: ignore[misc]
    registers = [m.add(width, f"state r{at}", lambda s, i, at=at: s[at]) for at, width in enumerate(made.widths)]  # type: ignore[misc]
    for _ in range(rng.randint(4, 12)):
        m.grow()
    for (number, width, _), sort in zip(registers, [m.sort(width) for width in made.widths], strict=True):
        target, _, meaning = m.pick(width)
        made.next.append(meaning)
        value = rng.randrange(1 << width) if rng.random() < 0.4 else None
        made.first.append(value)
        if value is not None:
            constant = m.line(f"constd {sort} {value}")
            m.line(f"init {sort} {number} {constant}")
        m.line(f"next {sort} {number} {target}")
    for name in "abc":
        number, _, meaning = m.pick(1)
        made.conditions[name] = meaning
        m.line(f"output {number} {name}")
    if rng.random() < 0.15:
        number, _, made.constraint = m.pick(1)
        m.line(f"constraint {number}")
    return made


def random_property(rng: random.Random, size: int) -> str:
    """A formula over a, b and c."""
    if size <= 1:
        return rng.choice(["a", "b", "c", "!a", "!b"])
    kind = rng.choice(["X", "F", "G", "GF", "FG", "&", "|", "->", "U", "R", "W"])
    if kind in ("X", "F", "G", "GF", "FG"):
        return f"{kind} ({random_property(rng, size - 1)})"
    left = rng.randint(1, size - 1)
    return f"({random_property(rng, left)}) {kind} ({random_property(rng, size - left)})"


def broken(circuit: Plain, formula: Formula) -> bool:
    """Is there a run from an initial state without the property? Nested fixpoints over sets of pairs."""
    automaton = refuting(formula)
    names = [str(atom) for atom in automaton.atoms]
    follows: _Steps = {}
    for state in circuit.states():
        follows |= {(state, q): set() for q in range(automaton.states)}
        for given in circuit.given():
            if circuit.constraint is not None and not circuit.constraint(state, given):
                continue
            after = tuple(word(state, given) for word in circuit.next)
            letter = {name: bool(circuit.conditions[name](state, given)) for name in names}
            for edge in automaton.edges:
                if all(letter[names[atom]] == sign for atom, sign in edge.label.literals()):
                    follows[state, edge.source].add(((after, edge.target), edge.marks))
    alive = _fair(follows, automaton)
    starts = [
        state
        for state in circuit.states()
        if all(value is None or value == mine for value, mine in zip(circuit.first, state, strict=True))
    ]
    return any((state, 0) in alive for state in starts)


def _fair(follows: _Steps, automaton: Automaton) -> set[_Pair]:
    """Whence a run meets every acceptance set again and again (Emerson and Lei, LICS 1986)."""
    alive = set(follows)
    while True:
        before = len(alive)
        for mark in range(automaton.marks) if automaton.marks else [None]:
            reaching = {
                pair
                for pair in alive
                if any(to in alive and (mark is None or marks >> mark & 1) for to, marks in follows[pair])
            }
            if mark is not None:
                grown = True
                while grown:
                    more = {p for p in alive - reaching if any(to in reaching for to, _ in follows[p])}
                    reaching |= more
                    grown = bool(more)
            alive = reaching
        if len(alive) == before:
            return alive


def circuits(count: int, begin: int = 0) -> int:
    """So many of them: a table, and status 1 on a wrong verdict."""
    found: dict[str, Counter[str]] = {way: Counter() for way in _SECONDS}
    seconds = dict.fromkeys(found, 0.0)
    for seed in range(begin, begin + count):
        rng = random.Random(seed)
        plain = random_circuit(rng)
        text = random_property(rng, rng.randint(2, 5))
        truth = broken(plain, parse_ltl(text))
        for way, counts in found.items():
            begun = process_time()
            mark = judged(plain, text, truth, way)
            seconds[way] += process_time() - begun
            counts[mark] += 1
            if mark == "wrong":
                print(f"seed {seed}, {way}: wrong, {text}\n{plain.text}", flush=True)
    print("| way | satisfied, right | violated, right | unknown | wrong | CPU s |\n|---|---|---|---|---|---|")
    for way, counts in found.items():
        row = [counts[mark] for mark in ("satisfied", "violated", "unknown", "wrong")]
        print(f"| {way} | {' | '.join(map(str, row))} | {seconds[way]:.0f} |")
    return int(any(counts["wrong"] for counts in found.values()))


def judged(circuit: Plain, text: str, truth: bool, way: str) -> str:
    """The verdict where it is right, `unknown` or `wrong`. truth: the property is broken. way: of `_SECONDS`."""
    explicit = "venmas.procedures.explicit.linear.enumerated"
    with patch(explicit, return_value=None) if way != "all means" else nullcontext():
        report = verify(parse_btor2(circuit.text), text, timeout=_SECONDS[way])
    if report.verdict == "unknown":
        return "unknown"
    return report.verdict.value if report.violated is truth else "wrong"
