"""Gradient learner: dense ranking networks trained until no sample is wrong, then made of integers and proved.

    samples: steps of each edge, from random states          loss: mean of max(0, V_q'(s') - V_q(s) + margin)
    until the loss is exactly 0:  AdamW                      a network per automaton state, hidden units clamped
    integers: the coarsest scale that is right on all samples, units and weights that are not needed left out
    each edge: is there a step on which the rank does not fall as it must? then it is a new sample, and on with training

Giacobbe, Kroening, Pal, Tautschnig, *Neural Model Checking*, NeurIPS 2024, section 4: the layers (8 and 5 units), their
clamps, scales and AdamW are the paper's. PyTorch is imported here only; its seed is fixed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from types import ModuleType
from typing import Any

import numpy as np

from venmas.budget import Budget
from venmas.errors import SolverUnavailableError, install
from venmas.logic.automata.automaton import Edge
from venmas.model.circuit.operators import Words, mask, words
from venmas.model.circuit.smt import Smt
from venmas.procedures.netlist.mining import control_registers
from venmas.procedures.netlist.step import Goal, step_of
from venmas.procedures.ranking.learn import Figures, Network
from venmas.procedures.ranking.obligations.obligations import Obligations
from venmas.procedures.ranking.obligations.queries import Queries
from venmas_learners.dense import Dense, Layer, pool_of
from venmas_learners.sampling import Samples, sampled, steps_of

HIDDEN = (8, 5)
LEVEL = 4
"""What reports call networks of this learner, after the levels of mined neurons."""
_SPAN, _CLAMP = 100.0, 128.0
_RATES, _DECAY, _MARGIN, _NEAREST = (0.1, 0.02), 0.01, 0.01, 0.01
_EPOCHS, _RESTARTS, _ROUNDS = 1000, 10, 60
_SCALES = range(1, 15)


def rank(goal: Goal, budget: Budget, figures: Figures, seed: int = 0) -> Network | None:
    """A trained network that falls on every strict edge and rises on none. Raises `BudgetError`.

    Raises `SolverUnavailableError` where PyTorch is not installed.
    """
    torch = _torch()
    step = step_of(goal.circuit, goal.letters)
    smt = Smt(step.builder)
    empty = Obligations(goal, step, pool_of(goal.circuit, {})[0])
    samples = {edge: sampled(goal, step, empty.taken(edge), seed) for edge in goal.edges}
    control = control_registers(goal.circuit)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # what is computed is too small for more: they would wait for each other
    try:
        for attempt in range(_RESTARTS):
            trainer = _Trainer(torch, goal, seed + attempt)
            for _ in range(_ROUNDS):
                ranks = trainer.train(samples, budget)
                if ranks is None:
                    break
                pool, weights = pool_of(goal.circuit, ranks)
                figures.rounds += 1
                found = Queries(Obligations(goal, step, pool), smt, control).failures(weights, budget)
                if isinstance(found, str):
                    figures.levels.append(f"gradient: {found}")
                    break
                if not found:
                    return Network(weights, pool, LEVEL)
                figures.samples += len(found)
                for edge, values in found:
                    one = {node: words([value], step.builder.width(node)) for node, value in values.items()}
                    samples[edge].add(steps_of(step, one))
        figures.levels.append(f"gradient: no network in {_RESTARTS} attempts")
        return None
    finally:
        torch.set_num_threads(threads)
        figures.queries += smt.queries
        figures.smt_seconds += smt.seconds


class _Trainer:
    """Networks of all states of the automaton, trained together; goes on where it was when samples are added."""

    def __init__(self, torch: ModuleType, goal: Goal, seed: int) -> None:
        self._torch, self._goal, self._margin = torch, goal, _MARGIN
        self._made = torch.Generator().manual_seed(seed)
        self._spans = np.array([mask(goal.circuit.width(node)) / _SPAN for node in goal.circuit.registers])
        self._nets = {state: self._drawn() for state in goal.states}
        self._all = [part for net in self._nets.values() for part in net]
        rate = _RATES[seed % len(_RATES)]
        self._optimiser = torch.optim.AdamW(self._all, lr=rate, weight_decay=_DECAY)

    def _drawn(self) -> list[Any]:
        """Weights as is usual, and biases by which units bend somewhere within the range of what goes into them."""
        torch, out = self._torch, []
        for inputs, units in pairwise((len(self._spans), *HIDDEN, 1)):
            weight = (2 * torch.rand(units, inputs, generator=self._made) - 1) * max(1, inputs) ** -0.5
            bends = torch.rand(units, inputs, generator=self._made) * _SPAN
            out += [weight, -(weight * bends).sum(1)]
        return [part.requires_grad_() for part in out]

    def train(self, samples: Mapping[Edge, Samples], budget: Budget) -> dict[int, Dense] | None:
        """Integer ranks that are right on all samples, None where training does not come to them."""
        torch, data = self._torch, [self._tensors(*pair) for pair in samples.items() if len(pair[1].before)]
        for _ in range(_EPOCHS):
            budget()
            self._optimiser.zero_grad()
            loss = torch.zeros(())
            for edge, before, after, near in data:
                rise = self._value(edge.target, after) - self._value(edge.source, before)
                loss = loss + (torch.relu(rise + self._margin * (edge in self._goal.strict)) * near).mean()
            if float(loss.detach()) == 0:
                ranks = self._integers(samples)
                if ranks is not None:
                    return ranks
                self._margin *= 2  # too small a fall for integers of these scales
                continue
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self._all, 1.0)
            self._optimiser.step()
        return None

    def _tensors(self, edge: Edge, samples: Samples) -> tuple[Edge, Any, Any, Any]:
        """The samples, scaled, and how much each counts: the less, the further a step goes.

        A rank may rise the more over a step the further the step goes; if all counted alike, the few steps by which
        counters wrap around would outweigh all others, and constant ranks be a local minimum.
        """
        before, after = (
            self._torch.tensor((side / self._spans).astype(np.float32)) for side in (samples.before, samples.after)
        )
        far = (before - after).abs().amax(1) if before.shape[1] else self._torch.ones(len(before))
        return edge, before, after, 1 / far.clamp(min=_NEAREST)

    def _value(self, state: int, x: Any) -> Any:
        *hidden, weight, bias = self._nets[state]
        for one, shift in zip(hidden[::2], hidden[1::2], strict=True):
            x = (x @ one.T + shift).clamp(0, _CLAMP)
        return (x @ weight.T + bias)[:, 0]

    def _integers(self, samples: Mapping[Edge, Samples]) -> dict[int, Dense] | None:
        """The networks with integer weights, on the coarsest scale on which they are right on the samples; pruned."""
        for places in _SCALES:
            ranks = {state: self._rounded(net, places) for state, net in self._nets.items()}
            if _right(ranks, samples, self._goal):
                return _pruned(ranks, samples, self._goal)
        return None

    def _rounded(self, net: Sequence[Any], places: int) -> Dense:
        """Each layer times 2^places, and rounded; what goes into a layer is larger by the scales before it."""
        layers, unit, parts = [], 1, [part.detach().double().numpy() for part in net]
        parts[0] = parts[0] / self._spans
        for weight, bias in zip(parts[0:-2:2], parts[1:-2:2], strict=True):
            more = 1 << places
            unit *= more
            layers.append(Layer(_whole(weight * more), _whole(bias * unit), int(_CLAMP) * unit))
        more = 1 << places
        return Dense(tuple(layers), _whole(parts[-2][0] * more), round(float(parts[-1][0]) * unit * more))


def _whole(values: Words) -> Words:
    return np.array([int(value) for value in np.rint(values).ravel()], dtype=object).reshape(values.shape)


def _right(ranks: Mapping[int, Dense], samples: Mapping[Edge, Samples], goal: Goal) -> bool:
    """Do integer ranks fall on all samples as they must, exactly?"""
    return all(
        (ranks[e.source].values(one.before) - int(e in goal.strict) >= ranks[e.target].values(one.after)).all()
        for e, one in samples.items()
    )


def _pruned(ranks: dict[int, Dense], samples: Mapping[Edge, Samples], goal: Goal) -> dict[int, Dense]:
    """Ranks without the units and weights that samples do not need: what is left is proved, and smaller is sooner."""
    found = dict(ranks)
    for state in goal.states:
        for part in found[state].parts():
            tried = {**found, state: found[state].without(part)}
            if _right(tried, samples, goal):
                found = tried
    return found


def _torch() -> ModuleType:
    try:
        import torch
    except ImportError as error:
        raise SolverUnavailableError(
            f"the gradient learner needs PyTorch, which is not installed: {install('train')}; or leave --learner out"
        ) from error
    module: ModuleType = torch
    return module
