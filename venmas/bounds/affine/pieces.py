"""Networks of few inputs over affine forms: one affine function each, its error bounded over pieces of their box.

    box := the ranges of the inputs; DeepZ over it says which inputs move the outputs most
    pieces := the box, halved across the input of most influence until there are so many
    for each output y: y(x) = a (x - m) + d(x), a by least squares over the middles of the pieces
        d over each piece by DeepZ; the least and greatest over all pieces bound d

DeepZ has an error for each unit that is not linear over the whole box, though errors of units make up for each other;
over small pieces nearly all units are linear, so that what is left is how far the network itself is from affine. Where
DeepZ over the whole box is as good, its form is taken, which keeps symbols of units (after Huang et al., *ReachNN*,
EMSOFT 2019, which samples a Bernstein polynomial's error; here the function is affine, and its error is proved).

Any a, m and pieces are right, as long as the pieces cover the box.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from venmas.bounds.affine.forms import Form, Forms
from venmas.bounds.affine.networks import relaxed, through
from venmas.bounds.rounding import TINY, Floats, ball, gamma
from venmas.bounds.zonotope import affine
from venmas.budget import ask
from venmas.nn import Network

_INPUTS, _UNITS, _WEIGHTS = 4, 128, 4096
"""Inputs, relaxed units and weights, at most, of networks for which pieces are small enough, and worth their time."""
_NUMBERS = 1 << 22
"""Coefficients of units that are there at a time."""


def suited(network: Network) -> bool:
    """Is a network so small that its pieces are enclosed?"""
    units = sum(layer.out_size for layer in network.layers if layer.activation != "linear")
    weights = sum(layer.weight.size for layer in network.layers)
    return network.input_size <= _INPUTS and units <= _UNITS and weights <= _WEIGHTS


@np.errstate(all="ignore")
def in_pieces(ring: Forms, network: Network, inputs: Sequence[Form], pieces: int) -> list[Form]:
    """Forms of the outputs, over so many pieces of the box of the inputs in each row; of other networks, DeepZ's."""
    width = 1 + ring.symbols
    whole = through(ring, network, inputs)
    if not suited(network) or not ring.size:
        return whole
    low, high = (np.stack([form.ends[end] for form in inputs], 1) for end in (0, 1))
    centre = ball(low, high)[0]
    wide = max(layer.out_size for layer in network.layers)
    symbols = 1 + sum(layer.out_size for layer in network.layers) + len(inputs)
    turn = max(1, _NUMBERS // (pieces * wide * symbols))
    parts = [
        _affine_with_error(network, low[i : i + turn], high[i : i + turn], centre[i : i + turn], pieces)
        for i in range(0, ring.size, turn)
    ]
    slope, least, most = (np.concatenate(part) for part in zip(*parts, strict=True))
    z = np.stack([form.wide(width - 1) for form in inputs], 2)
    e, mass = (np.stack([getattr(form, name) for form in inputs], 1) for name in ("e", "mass"))
    size = np.abs(slope)
    made = []
    for j, form in enumerate(whole):
        middle, rest = ball(least[:, j], most[:, j])
        new = (z * slope[:, None, :, j]).sum(2)
        new[:, 0] += middle - (slope[:, :, j] * centre).sum(1)
        # terms of a coefficient: a product for each input, and of the constant as many again with the middle
        lost = (size[:, :, j] * (mass + np.abs(centre) + TINY)).sum(1) + np.abs(middle) + rest
        slack = rest + gamma(4 * len(inputs) + 4) * lost + TINY
        error = ((size[:, :, j] * e).sum(1) + slack) * (1 + gamma(len(inputs) + 2))
        # DeepZ's symbols beyond those of the inputs are its error, as far as one network goes
        better = error < np.abs(form.wide(ring.symbols)[:, width:]).sum(1) + form.e
        taken = form.wide(max(form.z.shape[1], width) - 1).copy()
        taken[better] = 0.0
        taken[better, :width] = new[better]
        made.append(ring.fresh(Form(taken, np.where(better, error, form.e))))
    return made


def _affine_with_error(
    network: Network, low: Floats, high: Floats, centre: Floats, pieces: int
) -> tuple[Floats, Floats, Floats]:
    """Slopes (B, n, q), and ends of the outputs less ``slope (x - centre)``, (B, q) twice."""
    size, n = low.shape
    z, _ = _deepz(network, *ball(low, high))
    lo, hi = _halved(low, high, np.abs(z[:, 1:]).sum(2), pieces)
    count = lo.shape[1]
    middle, half = ball(lo.reshape(-1, n), hi.reshape(-1, n))
    z, radius = _deepz(network, middle, half)
    q = z.shape[2]
    z, radius = z.reshape(size, count, 1 + n, q), radius.reshape(size, count, q)
    middle, half = middle.reshape(size, count, n), half.reshape(size, count, n)
    away = middle - centre[:, None]
    slope = _least_squares(away, z[:, :, 0])
    steep = np.abs(slope)
    apart = z[:, :, 0] - np.einsum("bpi,biq->bpq", away, slope)
    turned = np.abs(z[:, :, 1:] - half[..., None] * slope[:, None]).sum(2)
    sizes = np.abs(middle) + np.abs(centre)[:, None] + half + TINY
    mass = np.abs(z).sum(2) + 2 * np.einsum("bpi,biq->bpq", sizes, steep) + radius
    rest = (turned + radius + gamma(4 * n + 6) * mass + TINY) * (1 + gamma(n + 4))
    return slope, np.nextafter((apart - rest).min(1), -np.inf), np.nextafter((apart + rest).max(1), np.inf)


def _deepz(network: Network, centre: Floats, radius: Floats) -> tuple[Floats, Floats]:
    """Outputs over boxes: constants and coefficients of the inputs, (B, 1+n, q), and what is left, (B, q)."""
    size, n = centre.shape
    z = np.zeros((size, 1 + n, n))
    z[:, 0], z[:, 1 + np.arange(n), np.arange(n)] = centre, radius
    e = np.zeros((size, n))
    for layer in network.layers:
        ask()
        z, e = affine(layer.weight, layer.bias, layer.weight_error, z, e, False)
        if layer.activation != "linear":
            z, e = relaxed(layer.activation, z, e)
    own = np.abs(z[:, 1 + n :])
    return z[:, : 1 + n], (own.sum(1) + e) * (1 + gamma(own.shape[1])) + TINY


def _halved(low: Floats, high: Floats, influence: Floats, pieces: int) -> tuple[Floats, Floats]:
    """The boxes (B, n) in parts, (B, P, n) twice: each time all across the input of most influence (B, n)."""
    rows, cuts = np.arange(len(low)), influence.copy()
    lo, hi = low[:, None], high[:, None]
    while 2 * lo.shape[1] <= pieces:
        axis = cuts.argmax(1)
        cuts[rows, axis] *= 0.5
        middle = 0.5 * lo + 0.5 * hi
        below, above = hi.copy(), lo.copy()
        below[rows, :, axis] = above[rows, :, axis] = middle[rows, :, axis]
        lo, hi = np.concatenate([lo, above], 1), np.concatenate([below, hi], 1)
    return lo, hi


def _least_squares(x: Floats, y: Floats) -> Floats:
    """Slopes (B, n, q) of values (B, P, q) at places (B, P, n) around their mean; finite."""
    away, n = y - y.mean(1, keepdims=True), x.shape[2]
    square = np.einsum("bpi,bpj->bij", x, x)
    ridge = 1e-9 * np.trace(square, axis1=1, axis2=2) + TINY
    square = np.nan_to_num(square + ridge[:, None, None] * np.eye(n), nan=0.0, posinf=0.0, neginf=0.0)
    known = np.linalg.det(square) != 0
    square[~known] = np.eye(n)
    slope = np.linalg.solve(square, np.nan_to_num(np.einsum("bpi,bpq->biq", x, away)))
    return np.where(known[:, None, None] & np.isfinite(slope), slope, 0.0)
