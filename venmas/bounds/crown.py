"""Bounds of a program's condition over many boxes at once: affine forms forward, substitution backward, in numpy.

Forward, a box becomes an affine form in its m scaled sides and one symbol for each ReLU whose sign is open (Singh et
al., *Fast and effective robustness certification*, NeurIPS 2018), in every layer. The goals of the condition are
bounded as what they are, combinations of the forms after their layer. What that leaves open is substituted backward
through the same pre-activation bounds, with a lower line per ReLU that suits the sign (Zhang et al., *Efficient neural
network robustness certification with general activation functions*, NeurIPS 2018). The better bound counts. All
constraints of a group must hold together, so the bound is that of a convex combination of goals, chosen by
multiplicative weights; what stays open is substituted again with better lower lines (`crown_slopes`). Groups that are
closed on a box stay closed on its parts: they are not looked at again, and the last layers not computed once only
groups before them are open. Where a group is open, each of its goals, and the mix that was substituted backward, must
be at most 0 at any answer: that cuts the box (`crown_cut`).

This is CROWN over pre-activation bounds of a zonotope. Rounding is bounded as `venmas.bounds.rounding` derives: each
unit has a radius e besides its symbols. Ends of pre-activations are those of forms or of interval arithmetic from layer
to layer, whichever are nearer. `mass` bounds all that a unit may be; it is only multiplied by gammas, whose
margin covers the few roundings that mass itself is off by. A radius goes through absolute weights and wraps: over many
layers it would outgrow the unit's own range, and where it is more than `FLUSH` of that it becomes a symbol.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from venmas.bounds.crown_cut import Cuts
from venmas.bounds.crown_plan import Plan
from venmas.bounds.crown_slopes import HOPE, ROUNDS, TRIAL, Slopes
from venmas.bounds.relaxation import chord, rounding
from venmas.bounds.rounding import FEW, TINY, Bools, Floats, Ints, ball, gamma
from venmas.bounds.zonotope import span
from venmas.budget import ask
from venmas.model.transform.program import ProgramLayer

STEPS = 12
"""Steps of multiplicative weights."""
FLUSH = 1.0 / 2**20
"""Part of a unit's range above which its radius becomes a symbol."""


@dataclass(frozen=True, eq=False)
class Swept:
    """Bounds of B boxes.

    closed (B,): no point of the box meets the condition. lower (B,): a bound of how far it is from holding, infinite
    where closed. influence (B, m): what each input adds to the range of open goals. tried (B, m): the most promising
    point seen, and worst (B,): how far the condition is from holding there, in floats; at most 0 where it seems to do.
    opened (B, G): groups that are not closed. low, high (B, m): the part of the box that answers lie in.
    """

    closed: Bools
    lower: Floats
    influence: Floats
    tried: Floats
    worst: Floats
    opened: Bools
    low: Floats
    high: Floats


@dataclass(eq=False)
class _Forms:
    """z: (B, R, n) forms, e: (B, n) radius, mass: (B, n) greatest absolute value; after the last layer so far.

    middle, half: (B, n) ``middle +- half``, intervals of the units, within that of the form up to rounding.
    lo, hi, spread: (B, n) by layer: ends of pre-activations, and ``abs(weight) @ mass`` of the layer below.
    below: (B,) by layer: the sum of the mass of the layer below.
    chords: slope and lift of the chord (B, n) by layer.
    share: (B, R - 1 - m, m), what part of a symbol is due to which input.
    """

    z: Floats
    e: Floats
    mass: Floats
    middle: Floats
    half: Floats
    lo: list[Floats]
    hi: list[Floats]
    spread: list[Floats]
    below: list[Floats]
    chords: list[tuple[Floats, Floats]]
    share: Floats


def sweep(
    plan: Plan,
    low: Floats,
    high: Floats,
    cap: int,
    opened: Bools | None = None,
    narrow: bool = True,
    rounds: int = ROUNDS,
) -> Swept:
    """Bound the condition over the boxes low, high (B, m); at most `cap` symbols, which boxes share in numpy.

    opened (B, G): groups that are not known to be closed (None: all). narrow: by interval arithmetic, too. rounds: of
    ascent on slopes (`crown_slopes`). The checker of certificates does without.
    """
    opened = np.ones((len(low), plan.groups), dtype=bool) if opened is None else opened.copy()
    with np.errstate(all="ignore"):
        return _swept(plan, low, high, cap, opened, narrow, rounds)


def _swept(plan: Plan, low: Floats, high: Floats, cap: int, opened: Bools, narrow: bool, rounds: int) -> Swept:
    count, m = low.shape
    centre, radius = ball(low, high)
    forms = _Forms(*_inputs(centre, radius), centre, radius, [], [], [], [], [], np.zeros((count, 0, m)))
    lower, influence = np.zeros((plan.groups, count)), np.zeros((count, m))
    points, cuts = [centre], Cuts(centre, radius)
    last = int(plan.levels[opened.any(0)].max(initial=0))
    for level in range(last + 1):
        if level:
            _forward(plan, level - 1, forms, cap, narrow)
        for group in plan.at(level):
            ask()
            if not opened[:, group].any():
                continue
            members = plan.group(group)
            g, g_err, base = _goals(plan, members, forms, centre, radius)
            bound, mix, combined = _mix(g, g_err)
            done, alone = bound > 0, _lower(g, g_err)
            if plan.strict[members].any():
                done |= ((alone >= 0) & plan.strict[members]).any(1)
            corner = centre - radius * np.sign(combined[:, 1 : 1 + m])
            cut = cuts.goals(g, alone)
            if level and not (done | ~opened[:, group]).all():
                slopes, over = Slopes(forms.lo, forms.hi, forms.chords), done | ~opened[:, group]
                lowest, first = corner, bound
                for step in range(rounds + 1):
                    if step:
                        slopes.ascend(plan.hidden[:level], lowest, step - 1)
                    below, back = _backward(plan, forms, mix, members, base, centre, radius, slopes)
                    below = np.where(over, np.nan, below)
                    cuts.form(cut, below, back)
                    lowest = centre - radius * np.sign(back)
                    corner = np.where((below > bound)[:, None], lowest, corner) if step else lowest
                    bound = np.fmax(bound, below)
                    first = bound if not step else first
                    over |= (bound > 0) | (-bound > HOPE * (bound - first)) & (step == TRIAL)
                    if over.all():
                        break
                done |= bound > 0
            points.append(corner)
            opened[:, group] &= ~done
            opened[:, group] &= cuts.join(cut, opened[:, group])
            lower[group] = np.where(opened[:, group], np.nan_to_num(bound, nan=-np.inf), np.inf)
            size = np.abs(combined[:, 1 : 1 + m])
            size = size + (np.abs(combined[:, 1 + m :])[:, None, :] @ forms.share)[:, 0]
            influence += np.where(opened[:, group, None], size, 0.0)
    lower[~opened.T] = np.inf
    least = plan.combined(lower)
    closed = least == np.inf
    rows = np.flatnonzero(~closed)
    tried = np.clip(np.stack(points)[:, rows], low[rows], high[rows])
    worst = plan.violation(plan.values(tried.reshape(-1, m))).reshape(len(points), len(rows))
    worst = np.nan_to_num(worst, nan=np.inf)
    best, at = worst.argmin(0), np.arange(len(rows))
    swept = Swept(
        closed,
        least,
        influence,
        centre,
        np.full(count, np.inf),
        opened,
        *(cuts.box(low, high) if plan.cuts else (low, high)),
    )
    swept.tried[rows], swept.worst[rows] = tried[best, at], worst[best, at]
    return swept


def _inputs(centre: Floats, radius: Floats) -> tuple[Floats, Floats, Floats]:
    """Forms, radius and mass of the inputs."""
    count, m = centre.shape
    z = np.zeros((count, 1 + m, m))
    z[:, 0], z[:, 1 + np.arange(m), np.arange(m)] = centre, radius
    return z, np.zeros((count, m)), np.abs(centre) + radius


def _forward(plan: Plan, k: int, forms: _Forms, cap: int, narrow: bool) -> None:
    """Through layer k."""
    ask()
    layer = plan.hidden[k]
    size = np.abs(layer.weights)
    n, rows = size.shape[1], forms.z.shape[1]
    new = forms.z @ layer.weights.T
    new[:, 0] += layer.bias
    spread = forms.mass @ size.T
    slack = gamma(n + rows) + plan.errors[k]
    bias = (gamma(2) + plan.errors[k]) * np.abs(layer.bias)
    e = (forms.e @ size.T + slack * spread + bias + TINY) * (1 + gamma(n + 8))
    lo, hi = span(new, e)
    reach = np.maximum(hi - new[:, 0], new[:, 0] - lo)
    if narrow:
        lo, hi = _narrowed(lo, hi, layer, forms, slack * spread + bias + TINY)
    forms.lo.append(lo)
    forms.hi.append(hi)
    forms.spread.append(spread)
    forms.below.append(forms.mass.sum(1))
    _relu(forms, new, e, reach, lo, hi, layer.relu, cap)
    if narrow:
        forms.middle, forms.half = ball(*(np.where(layer.relu, np.maximum(end, 0), end) for end in (lo, hi)))


def _narrowed(lo: Floats, hi: Floats, layer: ProgramLayer, forms: _Forms, error: Floats) -> tuple[Floats, Floats]:
    """The ends of forms, narrowed by interval arithmetic in the layer.

    A form forgets the ends of a unit: behind a clip of a wide range it may be as wide as that, which intervals are not.
    error (B, n): of products with what is at most `mass`, as middle and half together are, up to a rounding or two.
    """
    middle = forms.middle @ layer.weights.T + layer.bias
    half = (forms.half @ np.abs(layer.weights).T + error) * (1 + gamma(layer.in_size + 8))
    half = half + FEW * np.abs(middle) + TINY
    return np.fmax(lo, middle - half), np.fmin(hi, middle + half)  # no number narrows nothing


def _relu(forms: _Forms, new: Floats, e: Floats, reach: Floats, lo: Floats, hi: Floats, relu: Bools, cap: int) -> None:
    """``max(x, 0)`` where there is a ReLU: x or 0 if the sign is known, else the parallelogram of least area.

    An open unit takes a symbol of its own, which takes its radius, too; so does a unit whose radius is too large.
    """
    count, rows, n = new.shape
    m = forms.share.shape[2]
    mass = (np.abs(new[:, 0]) + reach) * (1 + FEW)
    off, crossing = relu & (hi <= 0), relu & (lo < 0) & (hi > 0)
    slope, lift = chord(lo, hi)
    forms.chords.append((slope, lift))
    slope = np.where(off, 0.0, np.where(crossing, slope, 1.0))  # what is never above 0 is 0
    lift = np.where(crossing, 0.5 * lift, 0.0)
    error = np.where(crossing, rounding(mass, lift), 0.0)
    e = (e * slope + error) * (1 + FEW)
    symbol = np.where(crossing, (lift + e) * (1 + FEW), np.where(off, 0.0, e))
    fresh = crossing | (symbol > FLUSH * reach)
    number = np.cumsum(fresh, 1) - 1
    fresh &= number < cap - (rows - 1 - m)
    forms.e = np.where(fresh, 0.0, symbol)
    at = np.nonzero(fresh)
    more = int(number[at].max(initial=-1)) + 1
    z = np.zeros((count, rows + more, n))
    z[:, :rows] = new * slope[:, None]
    z[:, 0] += lift
    z[at[0], rows + number[at], at[1]] = symbol[at]
    parts = (np.abs(new[:, 1 : 1 + m]) + forms.share.swapaxes(1, 2) @ np.abs(new[:, 1 + m :])) / (reach + TINY)[:, None]
    share = np.zeros((count, forms.share.shape[1] + more, m))
    share[:, : forms.share.shape[1]] = forms.share
    share[at[0], forms.share.shape[1] + number[at]] = parts[at[0], :, at[1]]
    forms.z, forms.share = z, share
    forms.mass = np.where(off, 0.0, np.where(crossing, (slope * mass + 2 * lift + error) * (1 + FEW), mass))


def _goals(plan: Plan, members: Ints, forms: _Forms, centre: Floats, radius: Floats) -> tuple[Floats, Floats, Floats]:
    """Forms of goals (B, k, R), their radius (B, k), and that part of it which does not depend on the layers."""
    m, (rows, width) = centre.shape[1], forms.z.shape[1:]
    goal, direct, bias = plan.goal[members, :width], plan.direct[members], plan.goal_bias[members]
    g = np.ascontiguousarray((forms.z @ goal.T).swapaxes(1, 2))
    g[:, :, 0] += bias + centre @ direct.T
    g[:, :, 1 : 1 + m] += direct * radius[:, None]
    base = np.abs(bias) * gamma(m + 4) + plan.bias_error[members]  # it may be added before m products
    base = (base + (np.abs(centre) + radius) @ (gamma(m + 4) * np.abs(direct) + TINY).T) * (1 + gamma(m + 8))
    error = (forms.e + gamma(width + rows) * forms.mass) @ np.abs(goal).T
    error = error + forms.mass @ plan.goal_error[members, :width].T
    return g, (error + base + TINY) * (1 + gamma(width + 8)), base


def _lower(form: Floats, error: Floats) -> Floats:
    """The least value of forms (..., R) with radius (...), rounded down."""
    size = np.abs(form[..., 1:]).sum(-1) + error
    return np.asarray(form[..., 0] - size - gamma(form.shape[-1] + 2) * (size + np.abs(form[..., 0])) - TINY)


def _mix(g: Floats, error: Floats) -> tuple[Floats, Floats, Floats]:
    """The greatest bound found of convex combinations of goals (B, k, R): bound (B,), weights (B, k), form (B, R)."""
    count, k, _ = g.shape
    # a goal that is nowhere above 0 adds nothing to the others
    useful = np.abs(g[..., 1:]).sum(-1) + error > -g[..., 0]
    useful[~useful.any(1), 0] = True
    alone = np.where(useful, np.nan_to_num(_lower(g, error), nan=-np.inf), -np.inf)
    start, rows = alone.argmax(1), np.arange(count)
    best, mix = alone[rows, start], np.zeros((count, k))
    mix[rows, start] = 1.0
    if k > 1:
        trial = 0.7 * mix + 0.3 / k * useful
        sizes = np.abs(g).sum(-1) + error
        for step in range(STEPS):
            form = (trial[:, None] @ g)[:, 0]
            value = _lower(form, (trial * (error + gamma(k + 4) * sizes)).sum(-1) * (1 + FEW * k))
            better = value > best
            best, mix = np.where(better, value, best), np.where(better[:, None], trial, mix)
            sign = np.where(form > 0, -1.0, 1.0)
            sign[:, 0] = 1.0
            at = (g @ sign[:, :, None])[:, :, 0]
            scale = np.abs(at).max(1, keepdims=True)
            trial = trial * np.exp(2.0 * np.nan_to_num(at / scale) / np.sqrt(step + 1.0))
            trial = np.nan_to_num(trial / trial.sum(1, keepdims=True), nan=1.0 / k)
    return best, mix, (mix[:, None] @ g)[:, 0]


def _backward(
    plan: Plan, forms: _Forms, mix: Floats, members: Ints, base: Floats, centre: Floats, radius: Floats, slopes: Slopes
) -> tuple[Floats, Floats]:
    """A lower bound (B,) of the mixed goals and the coefficients (B, m) of the linear form that gives it.

    Invariant: before layer i, the mixed goals are at least ``constant + back . h_i - error`` for the units h_i of layer
    i, but for the rounding of `constant`, which is at most ``gamma(terms) * size``: `size` adds the absolute values of
    what `constant` adds, `terms` counts these. A slope that underflows loses less than TINY, and with it as much as its
    unit is large.
    """
    k, m, width = len(members), centre.shape[1], forms.z.shape[2]
    goal = plan.goal[members, :width]
    back = mix @ goal
    spill = mix @ (plan.goal_error[members, :width] + gamma(k + 4) * np.abs(goal))
    error = ((spill + TINY) * forms.mass).sum(1) + (mix * base).sum(1) * (1 + gamma(k + 4))
    constant, size = mix @ plan.goal_bias[members], mix @ np.abs(plan.goal_bias[members])
    terms = 8 + m + k
    for i in range(len(forms.lo) - 1, -1, -1):
        layer, lo, hi, (slope, lift) = plan.hidden[i], forms.lo[i], forms.hi[i], forms.chords[i]
        crossing = layer.relu & (lo < 0) & (hi > 0)
        above = crossing & (back < 0)
        raised = np.where(above, back * np.where(above, lift, 0.0), 0.0)
        constant, size = constant + raised.sum(1), size - raised.sum(1)
        error += TINY * np.where(above, np.maximum(np.where(slope > 0, -lo, 0.0), hi), 0.0).sum(1)
        slopes.pull[i] = back
        lower = crossing & (back >= 0)  # max(x, 0) >= alpha x for any alpha in [0, 1], however it was found
        scaled = lower & (slopes.alpha[i] > 0) & (slopes.alpha[i] < 1)
        error += TINY * np.where(scaled, np.maximum(-lo, hi), 0.0).sum(1)
        line = np.where(above, slope, np.where(lower, slopes.alpha[i], 1.0))
        back = np.where(layer.relu & (hi <= 0), 0.0, np.where(crossing, back * line, back))
        slack = gamma(layer.out_size) + plan.errors[i]
        reach = slack * forms.spread[i] + 4 * FEW * np.maximum(-lo, hi) + plan.errors[i] * np.abs(layer.bias) + TINY
        error += (np.abs(back) * np.where(back == 0, 0.0, reach)).sum(1) + TINY * forms.below[i]
        constant, size = constant + back @ layer.bias, size + np.abs(back) @ np.abs(layer.bias)
        back = back @ layer.weights
        terms += 2 * layer.out_size
    direct = plan.direct[members]
    reach = np.abs(centre) + radius
    back = back + mix @ direct
    error += ((gamma(k + 4) * (mix @ np.abs(direct) + np.abs(back)) + TINY) * reach).sum(1)
    constant = constant + (back * centre).sum(1) - (np.abs(back) * radius).sum(1)
    size = size + (np.abs(back) * reach).sum(1)
    rounding = gamma(terms)
    # with the constant in it, what overflows is no number and closes nothing
    slack = rounding * (size + error + np.abs(constant))
    return constant - (error + slack) * (1 + rounding) - TINY * terms, back
