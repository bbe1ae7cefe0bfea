"""Moves of cells: where sampled states of a cell lead to, in groups that agree in all choices.

A group is enclosed by a box, which is exact where its branch is affine. All of this guides a search; what it suggests
is proved by bounded questions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations, product
from typing import TYPE_CHECKING

import numpy as np

from venmas.bounds.rounding import Bools, Floats, Ints
from venmas.budget import ask
from venmas.errors import ModelError
from venmas.logic import Atom
from venmas.model.evaluation.regions import sample_initial
from venmas.model.evaluation.simulate import Batch, random_branches, step_batch
from venmas.model.expressions.expr import ArgMax, Compare
from venmas.model.system.disturbances import drawn
from venmas.model.system.system import System
from venmas.procedures.forever.claims.asking import few_choices

if TYPE_CHECKING:
    from venmas.procedures.forever.cells.grid import Cell

_RUNS, _STEPS = 64, 128
_CORNERS = 4
"""Disturbances up to which all their ends are combined."""
_BESIDE = 1e-9
"""Part of the way between two samples by which states keep off the point at which a comparison changes."""
_HALVINGS = 20
"""Of the way between two samples with different choices."""
_CHUNK = 1024


@dataclass
class Groups:
    """Groups of sampled steps, a row each: cell, branch, choice of noise, option of the cell, and the box led to.

    option: what choices the states of the group make, where they differ in a cell; -1 for a group over all noise, which
    all runs are asked about. whole: did the guard hold at all states of the option?
    """

    cell: Ints
    branch: Ints
    choice: Ints
    option: Ints
    whole: Bools
    integers: Ints
    low: Floats
    high: Floats


class Sampler:
    """Steps of a system from the states of cells, noise drawn at its ends and in the middle."""

    def __init__(self, system: System) -> None:
        self.system, made = system, drawn(system, 1)
        self.made, noise = made, system.disturbances
        self.integers = [n for n, d in system.variables.items() if d.integral and n not in noise]
        self.reals = [n for n, d in system.variables.items() if not d.integral and n not in noise]
        self._choices = [tuple(made_[0]) for made_ in few_choices(system) if len(made_) == 1] if noise else [()]
        """Of noise, those that some runs are asked to have; the ends are for what all runs are asked."""
        ends = [(system.variables[n].lower, system.variables[n].upper) for n in noise]
        corners = list(product(*ends)) if len(noise) <= _CORNERS else []
        every = list(dict.fromkeys([*self._choices, *corners]))
        self._noise = np.array([[float(v) for v in values] for values in every]).reshape(len(every), len(noise))
        self._nodes = [node for _, node in made.nodes() if isinstance(node, Compare | ArgMax)]

    def hull(self) -> dict[str, tuple[float, float]]:
        """Ends of the real variables along sampled runs, farther apart by half of their distance."""
        made, rng = self.made, np.random.default_rng(0)
        points = sample_initial(made, rng, _RUNS)
        state = {n: np.array([float(point[n]) for point in points]) for n in made.variables}
        seen = {n: [state[n]] for n in self.reals}
        with np.errstate(all="ignore"), suppress(ModelError):
            for _ in range(_STEPS if points else 0):
                ask()
                for place, name in enumerate(self.system.disturbances):
                    state[name] = rng.choice(self._noise[:, place], len(state[name]))
                branch, alive = random_branches(made, state, rng)
                state, _ = step_batch(made, {n: v[alive] for n, v in state.items()}, branch[alive])
                if not alive.any():
                    break
                for name in self.reals:
                    seen[name].append(state[name])
        hull = {}
        for name in self.reals:
            decl = made.variables[name]
            values = np.concatenate(seen[name])
            values = values[np.isfinite(values)]
            low, high = (float(values.min()), float(values.max())) if len(values) else (decl.lower, decl.upper)
            hull[name] = (
                float(max(low - (high - low) / 4, decl.lower)),
                float(min(high + (high - low) / 4, decl.upper)),
            )
        return hull

    def states(self, cells: Sequence[Cell]) -> tuple[dict[str, Floats], Ints]:
        """Sampled states of cells, by name, and the number of the cell of each."""
        points = [cell.points() for cell in cells]
        rows = np.repeat(np.arange(len(cells)), [len(p) for p in points])
        reals = np.concatenate(points)
        state = {n: reals[:, i] for i, n in enumerate(self.reals)}
        whole = np.array([cell.integers for cell in cells], dtype=float).reshape(len(cells), len(self.integers))
        state.update({n: whole[rows, i] for i, n in enumerate(self.integers)})
        return state, rows

    def truth(self, atom: Atom, count: int, state: Mapping[str, Floats], rows: Ints) -> Bools:
        """Mask of so many cells in which an atom holds at all sampled states, of the cells of these rows."""
        expr = atom.comparison.expr
        value = np.full(len(rows), float(expr.constant))
        for name, factor in expr.terms:
            value += float(factor) * state[name]
        holds = np.ones(count, bool)
        holds[rows[~np.asarray(atom.comparison.relation.truth(value))]] = False
        return holds

    def moves(self, cells: Sequence[Cell]) -> tuple[Groups, Bools]:
        """Groups of the steps of cells, by their places, and the cells in which runs may end."""
        parts = []
        for at in range(0, len(cells), _CHUNK):
            ask()
            parts.append(self._moves(cells[at : at + _CHUNK], at))
        return joined([groups for groups, _ in parts]), np.concatenate([ends for _, ends in parts])

    def _moves(self, cells: Sequence[Cell], first: int) -> tuple[Groups, Bools]:
        base, rows = self.states(cells)
        count, noise = len(rows), len(self._noise)
        rows, choice = np.tile(rows, noise), np.repeat(np.arange(noise), count)
        state = {n: np.tile(v, noise) for n, v in base.items()}
        state.update({n: self._noise[choice, i] for i, n in enumerate(self.system.disturbances)})
        with np.errstate(all="ignore"):
            at = Batch(state)
            first_, second, along = self._crossings(at, count, count // len(cells))
            if len(along):  # states where choices change are far from all others, for what one choice leads to
                state = {n: np.concatenate([v, v[first_] + along * (v[second] - v[first_])]) for n, v in state.items()}
                other = np.where(choice[first_] == choice[second], choice[first_], noise)  # of noise that none asks for
                rows, choice = np.concatenate([rows, rows[first_]]), np.concatenate([choice, other])
                at = Batch(state)
            signs = [at.truth(n) if isinstance(n, Compare) else at.value(n) for n in self._nodes]
            columns = np.stack([np.zeros(len(rows)), *signs], 1).astype(float)
            parts, stuck = [self.none()], np.ones(len(rows), bool)
            for index, branch in enumerate(self.made.branches):
                enabled = np.asarray(at.truth(branch.guard))
                stuck &= ~enabled
                new = {n: state[n] for n in (*self.integers, *self.reals)}
                new.update({n: np.asarray(at.value(e)) for n, e in branch.updates if n in new})
                parts += self._grouped(first, index, rows, choice, columns, enabled, new)
        ends = np.zeros(len(cells), bool)
        ends[rows[stuck]] = True
        return joined(parts), ends

    def _crossings(self, at: Batch, count: int, points: int) -> tuple[Ints, Ints, Floats]:
        """Pairs of samples between which a comparison changes, and where, as parts of the way from one to the other.

        count: of samples for one value of noise; points: of samples of a cell.
        """
        reals, noise = len(self.reals), len(self._noise)
        place = np.arange(points).reshape([round(points ** (1 / reals))] * reals)
        starts = np.arange(0, count * noise, points)[:, None]
        pairs = [np.moveaxis(place, axis, 0) for axis in range(reals)]
        ends = [(starts + p[:-1].ravel(), starts + p[1:].ravel()) for p in pairs]
        blocks = combinations(range(noise), 2) if len(self.system.disturbances) == 1 else ()
        ends += [(np.arange(count) + a * count, np.arange(count) + b * count) for a, b in blocks]
        first, second = (np.concatenate([e[i].ravel() for e in ends]) for i in (0, 1))
        found: list[tuple[Ints, Ints, Floats]] = [(first[:0], second[:0], np.zeros(0))]
        for node in self._nodes:
            if isinstance(node, Compare):
                truth, value = at.truth(node), np.asarray(at.value(node.expr), float)
                if np.shape(truth) != (count * noise,) or value.shape != truth.shape:
                    continue  # the same in all states
                at_ = np.flatnonzero(truth[first] != truth[second])
                one, other = first[at_], second[at_]
                part = value[one] / (value[one] - value[other])
                found += [(one, other, np.clip(part + side, 0, 1)) for side in (-_BESIDE, 0.0, _BESIDE)]
            elif np.shape(choice := at.value(node)) == (count * noise,):
                at_ = np.flatnonzero(choice[first] != choice[second])
                one, other = first[at_], second[at_]
                found += [(one, other, part) for part in _turns(at.state, node, choice[one], one, other)]
        return tuple(np.concatenate([f[i] for f in found]) for i in (0, 1, 2))  # type: ignore[return-value]

    def none(self) -> Groups:
        """No groups."""
        empty, box = np.zeros(0, np.int64), np.zeros((0, len(self.reals)))
        whole = np.zeros((0, len(self.integers)), np.int64)
        return Groups(empty, empty, empty, empty, np.zeros(0, bool), whole, box, box)

    def _grouped(
        self,
        first: int,
        branch: int,
        rows: Ints,
        choice: Ints,
        columns: Floats,
        enabled: Bools,
        new: dict[str, Floats],
    ) -> list[Groups]:
        made = []
        noisy = bool(self.system.disturbances)
        integers = np.stack([np.zeros(len(rows)), *(new[n] for n in self.integers)], 1).astype(np.int64)
        reals = np.stack([new[n] for n in self.reals], 1)
        option = np.unique(columns, axis=0, return_inverse=True)[1].reshape(-1)
        for every in (True, False) if noisy else (False,):
            key = np.stack([rows, choice * (not every), option], 1)
            some = enabled if every else enabled & (choice < len(self._choices))
            # of some run, an option is of the state alone: with noise, one for the cell
            holder = np.stack([rows, choice, option if not noisy else np.zeros_like(option)], 1)
            missed = {tuple(k) for k in np.unique(holder[~enabled], axis=0).tolist()}
            full = np.concatenate([key, integers], 1)[some]
            if not len(full):
                continue
            groups, which = np.unique(full, axis=0, return_inverse=True)
            which = which.reshape(-1)
            low, high = (np.full((len(groups), reals.shape[1]), v) for v in (np.inf, -np.inf))
            np.minimum.at(low, which, reals[some])
            np.maximum.at(high, which, reals[some])
            kinds = groups[:, 2] if not noisy else np.full(len(groups), -1 if every else 0)
            whole = np.array(
                [(a, c, o if not noisy else 0) not in missed for a, c, o in groups[:, :3].tolist()], dtype=bool
            )
            made.append(
                Groups(
                    first + groups[:, 0],
                    np.full(len(groups), branch),
                    groups[:, 1],
                    kinds,
                    whole,
                    groups[:, 4:],
                    low,
                    high,
                )
            )
        return made


def _turns(state: Mapping[str, Floats], node: ArgMax, choice: Floats, one: Ints, other: Ints) -> tuple[Floats, Floats]:
    """Parts of the ways from some samples to others: the last seen with the choice of the first, and one after it."""
    before, after = np.zeros(len(one)), np.ones(len(one))
    for _ in range(_HALVINGS if len(one) else 0):
        middle = (before + after) / 2
        there = Batch({n: v[one] + middle * (v[other] - v[one]) for n, v in state.items()}).value(node)
        same = np.asarray(there == choice)
        before, after = np.where(same, middle, before), np.where(same, after, middle)
    return before, after


def joined(parts: Sequence[Groups]) -> Groups:
    """All groups in one."""
    names = ("cell", "branch", "choice", "option", "whole", "integers", "low", "high")
    return Groups(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))
