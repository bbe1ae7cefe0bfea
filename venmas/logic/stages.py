"""Stages of a formula: the subformulas that matter after each number of steps; their truth over batches of boxes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from venmas.budget import ask
from venmas.logic import AX, EX, And, Atom, Bottom, Formula, Or, Top
from venmas.logic.linear import Comparison

Bools = NDArray[np.bool_]


class Stage:
    """The formulas to decide after some number of steps, with their atoms and their next-step subformulas."""

    def __init__(self, formulas: list[Formula]) -> None:
        self.formulas = formulas
        self.places = {f: i for i, f in enumerate(formulas)}
        self.steps: list[EX | AX] = []
        self.atoms: list[Comparison] = []
        self._order: list[Formula] = []
        """Parts of this stage, operands first."""
        seen: set[Formula] = set()
        stack: list[tuple[Formula, bool]] = [(f, False) for f in reversed(formulas)]
        while stack:
            ask()
            node, ready = stack.pop()
            if ready:
                self._order.append(node)
                continue
            if node in seen:
                continue
            seen.add(node)
            stack.append((node, True))
            if isinstance(node, EX | AX):
                self.steps.append(node)
            elif isinstance(node, Atom):
                self.atoms.append(node.comparison)
            elif isinstance(node, And | Or):
                stack += [(o, False) for o in node.operands]
        self.next: list[Formula] = list(dict.fromkeys(s.operand for s in self.steps))
        places = {f: i for i, f in enumerate(self.next)}
        self.operand = np.array([places[s.operand] for s in self.steps], dtype=np.intp)
        """Position in the next stage of the operand of every step formula."""

    def truth(self, atoms: Bools, steps: Bools) -> dict[Formula, Bools]:
        """Truth of every part from those of atoms (B, A) and step formulas (B, S); monotone in both."""
        found: dict[Formula, Bools] = {}
        size = len(atoms)
        atom = {c: i for i, c in enumerate(self.atoms)}
        step = {s: i for i, s in enumerate(self.steps)}
        for node in self._order:
            ask()
            match node:
                case Top() | Bottom():
                    found[node] = np.full(size, isinstance(node, Top))
                case Atom(comparison):
                    found[node] = atoms[:, atom[comparison]]
                case EX() | AX():
                    found[node] = steps[:, step[node]]
                case And(operands):
                    found[node] = np.logical_and.reduce([found[o] for o in operands])
                case Or(operands):
                    found[node] = np.logical_or.reduce([found[o] for o in operands])
        return found

    def formula_truth(self, atoms: Bools, steps: Bools) -> Bools:
        """(B, F): the same for the formulas of the stage only."""
        found = self.truth(atoms, steps)
        return np.stack([found[f] for f in self.formulas], 1)

    def needed(self, atoms: Bools, wanted: Bools) -> Bools:
        """(B, S): step formulas on which the truth of the wanted formulas (B, F) may depend."""
        possible = self.truth(atoms, np.ones((len(atoms), len(self.steps)), dtype=bool))
        none = np.zeros(len(atoms), dtype=bool)
        need = dict.fromkeys(self._order, none)
        for i, f in enumerate(self.formulas):
            need[f] = need[f] | (wanted[:, i] & possible[f])
        for node in reversed(self._order):
            ask()
            if isinstance(node, And | Or):
                for o in node.operands:
                    need[o] = need[o] | (need[node] & possible[o])
        return np.stack([need[s] for s in self.steps], 1) if self.steps else np.zeros((len(atoms), 0), dtype=bool)


def agenda(target: Formula) -> list[Stage]:
    """The stages of a core formula, one more than its depth."""
    stages = [Stage([target])]
    while stages[-1].steps:
        stages.append(Stage(stages[-1].next))
    return stages
