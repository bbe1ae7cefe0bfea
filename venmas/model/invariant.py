"""What a proof of ``AG p`` without a bound rests on: inductive sets, as words over predicates, and sets in phases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from venmas.errors import InputError
from venmas.logic import Atom, Formula, Globally, Next, Quantifier, conjunction, disjunction
from venmas.logic.linear import Comparison, LinearExpr, Relation, as_fraction
from venmas.model.system.system import System

_LITERALS = frozenset("01-")


@dataclass(frozen=True)
class Invariant:
    """The states of the declared box whose truth values of the predicates match one of the words.

    predicates: rows (c0, c1, .., cn), a coefficient for every variable of the system in the order of declaration; a
    predicate holds where ``c0 + c1 v1 + .. + cn vn >= 0``. words: a character a predicate, ``1`` where it holds, ``0``
    where it does not, ``-`` where either may be. No words: no states. Raises `InputError` for what has another shape.
    """

    predicates: tuple[tuple[Fraction, ...], ...]
    words: tuple[str, ...]

    def __post_init__(self) -> None:
        try:
            rows = tuple(tuple(as_fraction(c) for c in row) for row in self.predicates)
        except TypeError as error:
            raise InputError("predicates are rows of numbers (c0, c1, .., cn), a coefficient a variable") from error
        if len({len(row) for row in rows}) > 1:
            raise InputError("predicates must have equally many numbers: a constant, and a coefficient a variable")
        words = tuple(self.words)
        for word in words:
            if not isinstance(word, str) or len(word) != len(rows) or not _LITERALS.issuperset(word):
                raise InputError(f"a word has one of 0, 1 and - for each of {len(rows)} predicates, got {word!r}"[:300])
        object.__setattr__(self, "predicates", rows)
        object.__setattr__(self, "words", words)

    @staticmethod
    def of_boxes(system: System, boxes: Iterable[Mapping[str, tuple[object, object]]]) -> Invariant:
        """The union of closed boxes: ends by variable name; variables that a box does not name have their range.

        Over integers an upper end is a predicate ``v >= end + 1`` that does not hold, so that neighbours share it.
        Raises `InputError` for names that are no variables.
        """
        places = {name: i for i, name in enumerate(system.variables)}
        rows: dict[tuple[Fraction, ...], int] = {}
        literals: list[list[tuple[int, str]]] = []

        def literal(name: str, end: Fraction, sign: int, value: str) -> tuple[int, str]:
            row = [Fraction(0)] * (len(places) + 1)
            row[0], row[1 + places[name]] = -sign * end, Fraction(sign)
            return rows.setdefault(tuple(row), len(rows)), value

        for box in boxes:
            literals.append([])
            for name, ends in box.items():
                if name not in places:
                    raise InputError(f"no variable {name!r} in system {system.name!r}: boxes name its variables")
                decl, low, high = system.variables[name], as_fraction(ends[0]), as_fraction(ends[1])
                if low > decl.lower:
                    literals[-1].append(literal(name, Fraction(-(-low // 1)) if decl.integral else low, 1, "1"))
                if high < decl.upper:
                    after = literal(name, Fraction(high // 1 + 1), 1, "0") if decl.integral else None
                    literals[-1].append(after or literal(name, high, -1, "1"))
        words = (_word(found, len(rows)) for found in literals)
        return Invariant(tuple(rows), tuple(dict.fromkeys(word for word in words if word is not None)))

    @staticmethod
    def of_states(system: System, states: Iterable[Sequence[object]]) -> Invariant:
        """The given states: values of all variables, in the order of declaration. Raises `InputError`."""
        names = tuple(system.variables)
        return Invariant.of_boxes(system, (dict(zip(names, ((v, v) for v in state), strict=True)) for state in states))

    def truth(self, values: Sequence[Fraction | int]) -> str:
        """The word of 0 and 1 of a state: values in the order of declaration."""
        sums = (row[0] + sum(c * v for c, v in zip(row[1:], values, strict=True) if c) for row in self.predicates)
        return "".join("1" if total >= 0 else "0" for total in sums)

    def holds(self, values: Sequence[Fraction | int]) -> bool:
        """Whether a state of the declared box is one of the set."""
        truth = self.truth(values)
        return any(all(a in ("-", b) for a, b in zip(word, truth, strict=True)) for word in self.words)

    def formula(self, system: System) -> Formula:
        """The set within the declared box, as a formula over the variables of `system`."""
        names = tuple(system.variables)
        atoms = [
            Atom(Comparison(LinearExpr.of(zip(names, row[1:], strict=True), row[0]), Relation.GE))
            for row in self.predicates
        ]
        negated = [Atom(a.comparison.negated) for a in atoms]
        return disjunction(
            conjunction(
                positive if truth == "1" else negative
                for truth, positive, negative in zip(word, atoms, negated, strict=True)
                if truth != "-"
            )
            for word in self.words
        )


def _word(literals: Iterable[tuple[int, str]], size: int) -> str | None:
    """A word of the literals (place, truth); None where one contradicts another: then no state matches."""
    found = ["-"] * size
    for place, value in literals:
        if found[place] not in ("-", value):
            return None
        found[place] = value
    return "".join(found)


@dataclass(frozen=True)
class Phases:
    """A proof of ``AG p`` in two phases, by a set of states that runs come back to, though they may leave it.

    All runs from an initial state are in `reached`, a formula about one state, after exactly `into` steps, and from a
    state of `reached` after exactly `again` steps, as far as they are so long; p holds at all states on the way. Raises
    `InputError` for steps that are none.
    """

    reached: Formula
    into: int
    again: int

    def __post_init__(self) -> None:
        if self.into < 0 or self.again < 1:
            raise InputError(f"expected into >= 0 and again >= 1 steps, got {self.into} and {self.again}")

    def parts(self, system: System, holds: Formula) -> tuple[tuple[System, Formula], tuple[System, Formula]]:
        """The bounded claims that are the proof: a system each, and the formula that its initial states satisfy."""
        return (system, self._claim(holds, self.into)), (system.starting(self.reached), self._claim(holds, self.again))

    def _claim(self, holds: Formula, steps: int) -> Formula:
        there = Next(Quantifier.ALL, steps, self.reached) if steps else self.reached
        return conjunction([there, Globally(Quantifier.ALL, 0, steps, holds)])
