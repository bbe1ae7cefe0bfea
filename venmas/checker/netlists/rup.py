"""Proofs of unsatisfiability by reverse unit propagation (RUP; Goldberg and Novikov, DATE 2003; DRUP, 2013).

A proof is a list of clauses. Each follows from the clauses before it: where all its literals are assumed false, unit
propagation meets a conflict. The last is the empty clause. Steps that need more (RAT) are refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from venmas.budget import ask


class Propagator:
    """Clauses with two watched literals each. Permanent assignments stay, those of an assumption are taken back."""

    def __init__(self, variables: int, clauses: Iterable[Sequence[int]]) -> None:
        self._value = [0] * (2 * variables + 1)  # by literal (negative ones from the end): 1 true, -1 false
        self._watched: list[list[list[int]]] = [[] for _ in range(2 * variables + 1)]
        self._trail: list[int] = []
        self._variables = variables
        self.conflict = False
        for clause in clauses:
            self.add(clause)

    def add(self, clause: Sequence[int]) -> None:
        """A clause that holds from now on. Raises `ValueError` for a literal that is none."""
        literals = list(dict.fromkeys(clause))
        if any(not 0 < abs(literal) <= self._variables for literal in literals):
            raise ValueError(f"a clause names {max(map(abs, literals))}; there are {self._variables} variables")
        literals.sort(key=lambda literal: self._value[literal] < 0)  # two that are not false are watched
        if len(literals) > 1:
            self._watched[literals[0]].append(literals)
            self._watched[literals[1]].append(literals)
        if not literals or self._value[literals[0]] < 0:
            self.conflict = True
        elif len(literals) == 1 or self._value[literals[1]] < 0:
            self.conflict |= not self._propagate([literals[0]])

    def follows(self, clause: Sequence[int]) -> bool:
        """Does unit propagation meet a conflict when all literals of the clause are false?"""
        if self.conflict:
            return True
        mark = len(self._trail)
        conflict = not self._propagate([-literal for literal in clause])
        for literal in self._trail[mark:]:
            self._value[literal] = self._value[-literal] = 0
        del self._trail[mark:]
        return conflict

    def _propagate(self, units: Iterable[int]) -> bool:
        """Assign these and what follows; False where that meets a conflict."""
        value, watched, trail = self._value, self._watched, self._trail
        at = len(trail)
        for unit in units:
            if value[unit] < 0:
                return False
            if not value[unit]:
                value[unit], value[-unit] = 1, -1
                trail.append(unit)
        while at < len(trail):
            false = -trail[at]
            at += 1
            kept: list[list[int]] = []
            clauses = watched[false]
            for number, clause in enumerate(clauses):
                if clause[0] == false:
                    clause[0], clause[1] = clause[1], false
                first = clause[0]
                if value[first] > 0:
                    kept.append(clause)
                    continue
                for place in range(2, len(clause)):
                    other = clause[place]
                    if value[other] >= 0:
                        clause[1], clause[place] = other, false
                        watched[other].append(clause)
                        break
                else:
                    kept.append(clause)
                    if value[first] < 0:
                        watched[false] = kept + clauses[number + 1 :]
                        return False
                    if not value[first]:
                        value[first], value[-first] = 1, -1
                        trail.append(first)
            watched[false] = kept
        return True


def refutes(variables: int, clauses: Iterable[Sequence[int]], proof: Iterable[Sequence[int]]) -> bool:
    """Does the proof show that the clauses cannot all be true? Raises `ValueError` for literals that are none."""
    known = Propagator(variables, clauses)
    for step in proof:
        ask()
        if known.conflict:
            return True
        if any(not 0 < abs(literal) <= variables for literal in step):
            raise ValueError(f"a step of the proof names a variable beyond the {variables} that there are")
        if not known.follows(step):
            return False
        if not step:
            return True
        known.add(step)
    return known.conflict
