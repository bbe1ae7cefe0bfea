"""Simpler ranks: weights are left out, divided and rounded as long as the rank is right on all samples.

What is left is proved, not what was trained: a product with an odd constant takes a SAT solver a hundred times as long
as one with 1 or a power of two. A rank that is too coarse fails its proof, and the step that shows it is a new sample.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import gcd
from typing import Any

import numpy as np

from venmas.model.circuit.operators import Words
from venmas_learners.dense import Dense, Layer

Ranks = dict[int, Dense]
Right = Callable[[Ranks], bool]
_PASSES = 2
"""What is rounded in the first one lets more be left out."""


def simpler(ranks: Ranks, right: Right, widths: Sequence[int]) -> Ranks:
    """Ranks that are right as well, with few and small weights. right: as `ranks` is. widths: of the registers."""
    found = ranks
    for _ in range(_PASSES):
        for state in ranks:
            for part in found[state].parts():
                found = _first(found, state, iter((found[state].without(part),)), right)
            found = {**found, state: _upright(_living(found[state]), widths)}
            for depth, layer in enumerate(found[state].layers):
                for unit in range(len(layer.biases)):
                    found = _first(found, state, _divided(found[state], depth, unit), right)
        found = _coarser(found, right)
        for state in ranks:
            for depth, layer in enumerate(found[state].layers):
                for name in ("weights", "biases", "tops"):
                    for place in map(tuple, np.argwhere(getattr(layer, name) != 0).tolist()):
                        found = _first(found, state, _rounded(found[state], depth, name, place), right)
            for at in range(len(found[state].weights)):
                found = _first(found, state, _less(found[state], at), right)
    return found


def _first(ranks: Ranks, state: int, tried: Iterator[Dense], right: Right) -> Ranks:
    """The ranks with the first one for the state that is right."""
    for one in tried:
        if right(changed := {**ranks, state: one}):
            return changed
    return ranks


def _living(rank: Dense) -> Dense:
    """The same without units that are constant, or that nothing reads."""
    layers, weights, constant = list(rank.layers), rank.weights, rank.constant
    for depth, layer in enumerate(layers):
        moves = (layer.weights != 0).any(1)
        fixed = np.where(moves, 0, np.clip(layer.biases, 0, layer.tops))
        layers[depth] = layer.of(moves)
        if depth + 1 < len(layers):
            after = layers[depth + 1]
            layers[depth + 1] = replace(
                after, weights=after.weights[:, moves], biases=after.biases + after.weights @ fixed
            )
        else:
            weights, constant = weights[moves], constant + int(weights @ fixed)
    read = weights != 0
    weights = weights[read]
    for depth in reversed(range(len(layers))):
        layer = layers[depth].of(read)
        read = (layer.weights != 0).any(0)
        layers[depth] = replace(layer, weights=layer.weights[:, read]) if depth else layer
    return Dense(tuple(layers), weights, constant)


def _upright(rank: Dense, widths: Sequence[int]) -> Dense:
    """The same with units that rise with most bits: clamp(z; 0, top) = top - clamp(top - z; 0, top).

    A counter that goes up by one has then a rank that is no sum with its complement, which SAT solvers find hard.
    """
    for depth in range(len(rank.layers)):
        layer = rank.layers[depth]
        bits = [int(top).bit_length() for top in rank.layers[depth - 1].tops] if depth else widths
        turned = np.sign(layer.weights) @ bits < 0
        sign, moved = np.where(turned, -1, 1), np.where(turned, layer.tops, 0)
        layers = list(rank.layers)
        layers[depth] = Layer(sign[:, None] * layer.weights, moved + sign * layer.biases, layer.tops)
        if depth + 1 < len(layers):
            after = layers[depth + 1]
            layers[depth + 1] = replace(
                after, weights=after.weights * sign, biases=after.biases + after.weights @ moved
            )
            rank = replace(rank, layers=tuple(layers))
        else:
            constant = rank.constant + int(rank.weights @ moved)
            rank = Dense(tuple(layers), rank.weights * sign, constant)
    return rank


def _divided(rank: Dense, depth: int, unit: int) -> Iterator[Dense]:
    """A unit by ever smaller numbers, what reads it times these."""
    layer = rank.layers[depth]
    for by in _divisors(layer.weights[unit]):
        layers = list(rank.layers)
        made = [layer.weights.copy(), layer.biases.copy(), layer.tops.copy()]
        for one in made:
            one[unit] = _over(one[unit], by)
        layers[depth] = Layer(*made)
        if depth + 1 < len(layers):
            layers[depth + 1] = replace(layers[depth + 1], weights=_times(layers[depth + 1].weights, unit, by))
            yield replace(rank, layers=tuple(layers))
        else:
            yield replace(rank, layers=tuple(layers), weights=_times(rank.weights, unit, by))


def _coarser(ranks: Ranks, right: Right) -> Ranks:
    """All ranks, which are compared with each other, by one number; the least constant is 0."""
    least = min(rank.constant for rank in ranks.values())
    for by in (*_divisors(np.concatenate([rank.weights for rank in ranks.values()])), 1):
        found = {
            state: replace(rank, weights=_over(rank.weights, by), constant=_over(rank.constant - least, by))
            for state, rank in ranks.items()
        }
        if right(found):
            return found
    return ranks


def _rounded(rank: Dense, depth: int, name: str, place: tuple[int, ...]) -> Iterator[Dense]:
    """A number of a layer: weights from 1 up, others with ever more binary digits."""
    layer = rank.layers[depth]
    numbers: Words = getattr(layer, name)
    value = int(numbers[place])
    near = [_over(value, 1 << places) << places for places in range(abs(value).bit_length() + 1, 0, -1)]
    for one in (*_powers(value), *near) if name == "weights" else near:
        if one != value:
            changed = numbers.copy()
            changed[place] = one
            layers = list(rank.layers)
            layers[depth] = replace(layer, **{name: changed})
            yield replace(rank, layers=tuple(layers))


def _less(rank: Dense, at: int) -> Iterator[Dense]:
    """A neuron with a weight from 1 up."""
    for one in _powers(int(rank.weights[at])):
        weights = rank.weights.copy()
        weights[at] = one
        yield replace(rank, weights=weights)


def _powers(value: int) -> list[int]:
    """Powers of two below a weight, with its sign."""
    return [(1 if value > 0 else -1) << places for places in range((abs(value) - 1).bit_length())]


def _divisors(weights: Words) -> list[int]:
    """From the greatest weight down, by halves, and the least one, above 1."""
    sizes = [abs(int(weight)) for weight in weights.ravel() if weight]
    if not sizes:
        return []
    halves = [max(sizes) >> places for places in range(max(sizes).bit_length())]
    return sorted({by for by in (*halves, min(sizes), gcd(*sizes)) if by > 1}, reverse=True)


def _over(value: Any, by: int) -> Any:
    """The nearest whole number, of words each."""
    return (2 * value + by) // (2 * by)


def _times(weights: Words, unit: int, by: int) -> Words:
    found = weights.copy()
    found[..., unit] *= by
    return found
