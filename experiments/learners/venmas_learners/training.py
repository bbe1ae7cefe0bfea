"""Training of ranking networks: AdamW on one state of the automaton at a time, until no sample is wrong.

The architecture is Figure 3 of Giacobbe, Kroening, Pal, Tautschnig, *Neural Model Checking*, NeurIPS 2024: registers
are scaled to [0, 100] by what the samples hold, then each is multiplied by a weight, then come layers whose units are
clamped; the variants are those of its Table 4. The seed is fixed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from venmas.budget import Budget
from venmas.logic.automata.automaton import Edge
from venmas.model.circuit.operators import Words
from venmas.procedures.netlist.mining import compared
from venmas.procedures.netlist.step import Goal
from venmas_learners.dense import Dense, Layer
from venmas_learners.sampling import Samples
from venmas_learners.shifts import Shifted, ShiftLayer

SPAN, CLAMP, DECAY = 100.0, 128.0, 0.01
ATTEMPTS = ((0.1, 1.0), (0.03, 1.5), (0.05, 1.0), (0.03, 1.5), (0.2, 1.0), (0.03, 1.5), (0.1, 1.0), (0.01, 1.5))
"""Of each attempt the paper's rate of learning, and by what the weight of a sample grows that stays wrong."""
_REPLICAS, _STEPS, _TURN, _OFTEN, _FEW, _NEAREST = 16, 600, 20, 10, 0.1, 0.01
_STEEP = 1000.0
"""Networks that are trained at once, each from other weights: what is computed is so small that more cost little.

Steps in all, on one state of the automaton before the next, and between two looks at weights of samples; these grow
where less than a tenth is wrong. The steepest units of the first layer at the beginning.
"""


@dataclass(frozen=True)
class Architecture:
    """hidden: units of each clamped layer. extra: a layer of its own in place of the element-wise one (ExtL).

    mono: one network for all states of the automaton, which is one more input (Mono). shifts: quantised as published.
    """

    hidden: tuple[int, ...] = (8, 5)
    extra: bool = False
    mono: bool = False
    shifts: bool = False


class Trainer:
    """Networks of all states of the automaton; goes on where it was when samples are added."""

    def __init__(
        self, torch: ModuleType, goal: Goal, kind: Architecture, samples: Mapping[Edge, Samples], seed: int
    ) -> None:
        self._torch, self._goal, self._kind = torch, goal, kind
        self._made = torch.Generator().manual_seed(seed)
        most = np.ones(len(goal.circuit.registers))
        for one in samples.values():
            for side in (one.before, one.after):
                most = np.maximum(most, side.max(0).astype(float)) if len(side) else most
        self._scales = SPAN / most
        self._near = [
            (at, (c + half) * self._scales[at])
            for at, node in enumerate(goal.circuit.registers)
            for c in sorted(compared(goal.circuit))
            for half in (-0.5, 0.5)
            if goal.circuit.width(node) > 1 and 0 < c < 1 << goal.circuit.width(node)
        ]
        self.margin, self._best = 0.05, 0
        rate, self._grown = ATTEMPTS[seed % len(ATTEMPTS)]
        self._nets = {name: self._drawn() for name in ((0,) if kind.mono else goal.states)}
        self._optimisers = {
            name: torch.optim.AdamW(net, lr=rate, weight_decay=DECAY) for name, net in self._nets.items()
        }

    def _drawn(self) -> list[Any]:
        torch, size = self._torch, len(self._scales) + self._kind.mono
        parts = [torch.ones(_REPLICAS, 1, size)]
        if self._kind.extra:
            parts = self._layer(size, size)
        for at, units in enumerate((*self._kind.hidden, 1)):
            parts += self._layer(size, units)
            if at == 0 and self._near and not self._kind.extra:
                self._bend(*parts[-2:])
            size = units
        return [part.requires_grad_() for part in parts]

    def _layer(self, inputs: int, units: int) -> list[Any]:
        """Weights as is usual, and biases by which units bend somewhere within the range of what goes into them."""
        weight = (2 * self._torch.rand(_REPLICAS, units, inputs, generator=self._made) - 1) * max(1, inputs) ** -0.5
        bends = self._torch.rand(_REPLICAS, units, inputs, generator=self._made) * SPAN
        return [weight, -(weight * bends).sum(2, keepdim=True).transpose(1, 2)]

    def _bend(self, weight: Any, bias: Any) -> None:
        """Half of the units bend at a constant that the design compares with, more or less steeply."""
        drawn = self._torch.rand(4, *weight.shape[:2], generator=self._made)
        for replica, unit in (drawn[0] < 0.5).nonzero().tolist():
            place, steep, side = drawn[1:, replica, unit].tolist()
            at, bend = self._near[int(place * len(self._near))]
            weight[replica, unit] = 0
            weight[replica, unit, at] = slope = _STEEP**steep * (1 if side < 0.5 else -1)
            bias[replica, 0, unit] = -slope * bend

    def train(self, samples: Mapping[Edge, Samples], budget: Budget) -> bool:
        """Is no sample wrong, by one of the networks?"""
        torch, names = self._torch, list(self._nets)
        data = [self._tensors(*pair) for pair in samples.items() if len(pair[1].before)]
        usual = [near[None].expand(_REPLICAS, -1) for *_, near in data]
        weights, count = list(usual), sum(len(near) for *_, near in data)
        for at in range(_STEPS):
            budget()
            name = names[at // _TURN % len(names)]
            losses = [self._loss(edge, before, after, name) for edge, before, after, _ in data]
            wrong = [loss.detach() > 0 for loss in losses]
            many = sum((one.sum(1) for one in wrong), torch.zeros(_REPLICAS))
            if not bool(many.min()):
                self._best = int(many.argmin())
                return True
            if self._grown > 1 and at % _OFTEN == _OFTEN - 1:
                few = (many < _FEW * count)[:, None]
                weights = [torch.where(one & few, w * self._grown, w) for one, w in zip(wrong, weights, strict=True)]
            total = sum((loss * w).sum() for loss, w in zip(losses, weights, strict=True)) / count
            self._optimisers[name].zero_grad()
            total.backward()
            self._optimisers[name].step()
        return False

    def _loss(self, edge: Edge, before: Any, after: Any, trained: int) -> Any:
        """Of each network and sample by how much the rank does not fall as it must."""
        rise = self._value(edge.target, after, trained) - self._value(edge.source, before, trained)
        return self._torch.relu(rise + self.margin * (edge in self._goal.strict))

    def _tensors(self, edge: Edge, samples: Samples) -> tuple[Edge, Any, Any, Any]:
        """The samples, scaled, and how much each counts: the less, the further a step goes.

        A rank may rise the more over a step the further the step goes; if all counted alike, the few steps by which
        counters wrap around would outweigh all others, and constant ranks be a local minimum.
        """
        before, after = (
            self._torch.tensor((side * self._scales).astype(np.float32)) for side in (samples.before, samples.after)
        )
        far = (before - after).abs().amax(1) if before.shape[1] else self._torch.ones(len(before))
        near = 1 / far.clamp(min=_NEAREST)
        return edge, before, after, near / near.mean()

    def _value(self, state: int, x: Any, trained: int) -> Any:
        net = self._nets[0 if self._kind.mono else state]
        if not self._kind.mono and trained != state:
            net = [part.detach() for part in net]
        if self._kind.mono:
            x = self._torch.cat((x, self._torch.full((len(x), 1), self._place(state))), 1)
        if self._kind.extra:
            x, net = x @ net[0].transpose(1, 2) + net[1], net[2:]
        else:
            x, net = x * net[0], net[1:]
        for weight, bias in zip(net[:-2:2], net[1:-2:2], strict=True):
            x = (x @ weight.transpose(1, 2) + bias).clamp(0, CLAMP)
        return (x @ net[-2].transpose(1, 2) + net[-1])[:, :, 0]

    def _place(self, state: int) -> float:
        """The state of the automaton as an input."""
        states = self._goal.states
        return SPAN * states.index(state) / max(1, len(states) - 1)

    def dense(self, state: int, places: int) -> Dense:
        """The network with integer weights: each layer times 2^places, and rounded; scales go into the first one."""
        first, *rest = self._layers(state)
        size, scales = len(self._scales), np.append(self._scales, [1.0] * self._kind.mono)
        more = np.array([self._place(state)] * self._kind.mono)
        weight, bias = rest[0]
        bias = bias + weight @ first[1]
        weight = weight @ first[0] * scales
        rest[0] = (weight[:, :size], bias + weight[:, size:] @ more)
        layers, unit, grown = [], 1, 1 << places
        for weight, bias in rest[:-1]:
            unit *= grown
            layers.append(Layer(_whole(weight * grown), _whole(bias * unit), _whole(np.full(bias.shape, CLAMP * unit))))
        weight, bias = rest[-1]
        return Dense(tuple(layers), _whole(weight[0] * grown), round(float(bias[0]) * unit * grown))

    def shifted(self, state: int, places: int) -> Shifted:
        """The network as published, truncated to so many fractional digits."""
        grown, net = 1 << places, self._layers(state)
        tops = [None, *[int(CLAMP) << places] * len(self._kind.hidden), None]
        layers = [
            ShiftLayer(_cut(weight * grown), _cut(bias * grown), top)
            for (weight, bias), top in zip(net, tops, strict=True)
        ]
        more = (int(self._place(state) * grown),) * self._kind.mono
        return Shifted(tuple(int(scale * grown) for scale in self._scales), more, tuple(layers), places)

    def _layers(self, state: int) -> list[tuple[Words, Words]]:
        """Weights and biases in floats; the element-wise layer as a diagonal."""
        net = self._nets[0 if self._kind.mono else state]
        parts = [part[self._best].detach().double().numpy() for part in net]
        if not self._kind.extra:
            parts = [np.diag(parts[0][0]), np.zeros((1, parts[0].shape[1])), *parts[1:]]
        parts[1::2] = [bias[0] for bias in parts[1::2]]
        return list(zip(parts[::2], parts[1::2], strict=True))


def _whole(values: Words) -> Words:
    return np.array([int(value) for value in np.rint(values).ravel()], dtype=object).reshape(values.shape)


def _cut(values: Words) -> Words:
    return np.array([int(value) for value in values.ravel()], dtype=object).reshape(values.shape)
