"""The layers of the compiled sweep of programs: a zonotope forward, substitution (CROWN) backward, one box at a time.

The algorithm and its sources are those of `venmas.bounds.crown`, the arrays those of a `Plan` (`crown_plan`). `room` is
the working memory of one box: forms z, new (R, n), radius e and mass (n,), intervals ``middle +- half`` of units, and
per unit of all layers the ends lo, hi and ``spread``, the absolute weights times the mass of the layer below, whose sum
is ``below``. `begins` (L+1,) says where the units of a layer begin in these.
"""
# mypy: disable-error-code="no-untyped-def, untyped-decorator"
# numba infers the types

from __future__ import annotations

import numpy as np
from numba import njit

from venmas.bounds.compiled.relaxation_kernel import chord, rounding

TINY, FEW, UNIT_ROUNDOFF = 2.0**-1000, 2.0**-50, 2.0**-53  # those of bounds.rounding
FLUSH = 1.0 / 2**20  # that of bounds.crown
_PLAIN = {"contract"}


@njit(cache=True, error_model="numpy", fastmath=_PLAIN)
def begin(centre, radius, room):
    """The forms of the inputs."""
    z, _new, e, mass, middle, half = room[:6]
    m = len(centre)
    z[: 1 + m, :m] = 0.0
    for j in range(m):
        z[0, j] = centre[j]
        z[1 + j, j] = radius[j]
        e[j] = 0.0
        mass[j] = abs(centre[j]) + radius[j]
        middle[j] = centre[j]
        half[j] = radius[j]


@njit(cache=True, error_model="numpy", fastmath=_PLAIN)
def forward(network, gammas, k, symbols, fresh, cap, narrow, room):
    """Through layer k: forms into z, e and mass, ends of its pre-activations; returns how many symbols there are.

    The last `fresh` of the `symbols` before have one unit each; the rest is told by the difference.
    """
    sizes, begins, offsets, weights, _rows, biases, relus, errors = network
    z, new, e, mass, middle, half, err, total, slope, about, away, active, share, lo, hi, spread, below = room
    m, n, width = sizes[0], sizes[k], sizes[k + 1]
    # invariant: each unit of a layer is within e of z . (1, s) for some s in [-1, 1]^(m + symbols), the same s for all
    # units and all layers, and mass is at least the sum of the absolute values of z, and e
    at = begins[k]
    w = weights[offsets[k] : offsets[k] + n * width].reshape((n, width))
    bias, relu = biases[at : at + width], relus[at : at + width]
    lower, upper, sp = lo[at : at + width], hi[at : at + width], spread[at : at + width]
    live = 0
    below[k] = 0.0
    for j in range(n):
        below[k] += mass[j]
        if mass[j] > 0 or np.isnan(mass[j]):
            active[live] = j
            live += 1
    top = 1 + m + symbols
    slack = gammas[n + top] + errors[k]
    for q in range(width):
        err[q] = 0.0
        sp[q] = 0.0
        total[q] = 0.0
        about[q] = bias[q]
        away[q] = 0.0
    for a in range(live):
        j = active[a]
        ej = e[j]
        mj = mass[j]
        cj = middle[j]
        hj = half[j]
        wj = w[j]
        for q in range(width):
            size = abs(wj[q])
            err[q] += size * ej
            sp[q] += size * mj
            about[q] += wj[q] * cj
            away[q] += size * hj
    new[:top, :width] = 0.0
    dense = top - fresh
    r = 0
    while r < dense:  # two rows at a time read the weights once
        two = min(r + 1, dense - 1)
        out, other, zr, zs = new[r], new[two], z[r], z[two]
        a = 0
        while a + 4 <= live and two > r:
            j0, j1, j2, j3 = active[a], active[a + 1], active[a + 2], active[a + 3]
            c0, c1, c2, c3 = zr[j0], zr[j1], zr[j2], zr[j3]
            d0, d1, d2, d3 = zs[j0], zs[j1], zs[j2], zs[j3]
            w0, w1, w2, w3 = w[j0], w[j1], w[j2], w[j3]
            for q in range(width):
                x0, x1, x2, x3 = w0[q], w1[q], w2[q], w3[q]
                out[q] += (c0 * x0 + c1 * x1) + (c2 * x2 + c3 * x3)
                other[q] += (d0 * x0 + d1 * x1) + (d2 * x2 + d3 * x3)
            a += 4
        for s in range(r, two + 1):
            out, zr = new[s], z[s]
            for rest in range(a, live):
                c0 = zr[active[rest]]
                w0 = w[active[rest]]
                for q in range(width):
                    out[q] += c0 * w0[q]
        r += 2
    for r in range(dense, top):  # a new symbol is in one unit only
        out, zr = new[r], z[r]
        for j in range(n):
            c = zr[j]
            if c != 0.0:
                wj = w[j]
                for q in range(width):
                    out[q] += c * wj[q]
    for r in range(1, top):
        out = new[r]
        for q in range(width):
            total[q] += abs(out[q])
    born = symbols
    for q in range(width):
        # error budget: the radius of the layer below, n products and the sums over them, the bias, underflow;
        # the factor covers the n sums of the radius itself
        products = slack * sp[q] + (gammas[2] + errors[k]) * abs(bias[q]) + TINY
        err[q] = (err[q] + products) * (1 + gammas[n + 8])
        new[0, q] += bias[q]
        reach = total[q] + err[q]
        reach += gammas[top + 2] * (reach + abs(new[0, q])) + TINY
        bottom = new[0, q] - reach
        above = new[0, q] + reach
        if np.isnan(bottom):
            bottom = -np.inf
        if np.isnan(above):
            above = np.inf
        # interval arithmetic in the layer, see `bounds.crown`; no number narrows nothing
        apart = (away[q] + products) * (1 + gammas[n + 8]) + FEW * abs(about[q]) + TINY
        if narrow and about[q] - apart > bottom:
            bottom = about[q] - apart
        if narrow and about[q] + apart < above:
            above = about[q] + apart
        least = max(bottom, 0.0) if relu[q] else bottom
        most = max(above, 0.0) if relu[q] else above
        middle[q] = 0.5 * least + 0.5 * most
        half[q] = max(most - middle[q], middle[q] - least) * (1 + FEW) + TINY
        lower[q] = bottom
        upper[q] = above
        slope[q] = 1.0
        e[q] = err[q]
        mass[q] = (abs(new[0, q]) + reach) * (1 + FEW)
        raised = 0.0
        if relu[q] and above <= 0:
            slope[q] = 0.0
            e[q] = 0.0
            mass[q] = 0.0
            continue
        crossing = relu[q] and bottom < 0
        if crossing:
            s, lift = chord(bottom, above)
            slope[q] = s
            raised = 0.5 * lift
            # error budget: scaling by the slope and raising by lift, and the two roundings of the radius
            error = rounding(abs(new[0, q]) + reach, raised)
            mass[q] = (s * (abs(new[0, q]) + reach) + 2 * raised + error) * (1 + FEW)
            # the symbol of the unit takes its radius as well
            e[q] = ((err[q] * s + error) * (1 + FEW) + raised) * (1 + FEW)
            new[0, q] = new[0, q] * s + raised
        if symbols < cap and (crossing or e[q] > FLUSH * reach):
            # how much of this unit's range is due to which input
            scale = 1.0 / (reach + TINY)
            for i in range(m):
                part = abs(new[1 + i, q])
                for t in range(born):
                    part += abs(new[1 + m + t, q]) * share[t, i]
                share[symbols, i] = part * scale
            row = z[1 + m + symbols]
            for j in range(width):
                row[j] = 0.0
            row[q] = e[q]
            e[q] = 0.0
            symbols += 1
    for q in range(width):
        z[0, q] = 0.0 if slope[q] == 0.0 and relu[q] and upper[q] <= 0 else new[0, q]
    for r in range(1, top):
        zr = z[r]
        out = new[r]
        for q in range(width):
            zr[q] = out[q] * slope[q]
    return symbols


@njit(cache=True, error_model="numpy", fastmath=_PLAIN)
def backward(network, goals, own, layers, gammas, g_base, mix, centre, radius, room, slopes, lines, corner):
    """A lower bound of a mix of goals after some layers, substituted backward, and the corner where its form is least.

    own: the first goal and the one behind the last. slopes: of lower lines, see `crown_slopes_kernel`; the coefficients
    that meet them are left there, and those of the form in ``lines[0]``.
    """
    sizes, begins, offsets, _weights, rows, biases, relus, errors = network
    goal, goal_error, goal_bias, _bias_error, direct, _strict = goals
    first, last = own
    mass, lo, hi, spread, below = room[3], room[-4], room[-3], room[-2], room[-1]
    alpha, pull = slopes[:2]
    # invariant: before a layer, the mixed goals are at least constant + back . h - error for its units h, but for the
    # rounding of `constant`, which `size` and `terms` bound at the end
    back, down = lines
    m = sizes[0]
    width = sizes[layers]
    k = last - first
    constant = 0.0
    size = 0.0  # absolute values of what is added to the constant
    error = 0.0
    for j in range(width):
        back[j] = 0.0
        spill = 0.0
        for a in range(k):
            i = first + a
            back[j] += mix[a] * goal[i, j]
            spill += mix[a] * (goal_error[i, j] + gammas[k + 4] * abs(goal[i, j]))
        error += (spill + TINY) * mass[j]
    for a in range(k):
        i = first + a
        constant += mix[a] * goal_bias[i]
        size += mix[a] * abs(goal_bias[i])
        error += mix[a] * g_base[a] * (1 + gammas[4])
    for layer in range(layers - 1, -1, -1):
        width = sizes[layer + 1]
        n = sizes[layer]
        offset_b = begins[layer]
        w = rows[offsets[layer] : offsets[layer] + width * n].reshape((width, n))
        down[:n] = 0.0
        slack = gammas[width] + errors[layer]
        error += TINY * below[layer]  # slopes that underflow lose less than that
        for j in range(width):
            c = back[j]
            bottom, above = lo[offset_b + j], hi[offset_b + j]
            pull[offset_b + j] = c
            if bottom < 0 and relus[offset_b + j]:
                if above <= 0:
                    c = 0.0
                elif c >= 0:
                    # max(x, 0) >= alpha x for any alpha in [0, 1], so that how it was found does not matter
                    a = alpha[offset_b + j]
                    if a < 1:
                        c *= a
                        error += TINY * max(above, -bottom) if a > 0 else 0.0
                else:
                    s, lift = chord(bottom, above)
                    constant += c * lift
                    size -= c * lift
                    c *= s
                    error += TINY * max(above, -bottom if s > 0 else 0.0)
            if c != 0.0:
                # error budget: products of this layer, here and forward; c, which was rounded once; underflow of both
                error += abs(c) * (slack * spread[offset_b + j] + FEW * max(-bottom, above) + TINY)
                error += abs(c) * errors[layer] * abs(biases[offset_b + j])
                constant += c * biases[offset_b + j]
                size += abs(c * biases[offset_b + j])
                wj = w[j]
                for i in range(n):
                    down[i] += c * wj[i]
        back[:n] = down[:n]
    for i in range(m):
        c = back[i]
        spill = 0.0
        for a in range(k):
            d = mix[a] * direct[first + a, i]
            c += d
            spill += abs(d)
        error += (gammas[k + 4] * (spill + abs(c)) + TINY) * (abs(centre[i]) + radius[i])
        constant += c * centre[i] - abs(c) * radius[i]
        size += abs(c) * (abs(centre[i]) + radius[i])
        back[i] = c
        corner[i] = centre[i] - radius[i] if c > 0 else centre[i] + radius[i] if c < 0 else centre[i]
    terms = 2 * begins[layers] + m + k + 8
    # error budget: `constant` took two additions a unit, two an input, and one a goal. That of `error` itself and of
    # `size` are of second order: each part of theirs is a gamma with four roundings to spare
    slack = (terms + 4) * UNIT_ROUNDOFF / (1 - (terms + 4) * UNIT_ROUNDOFF)
    size += error + abs(constant)  # with the constant in it, what overflows is no number and closes nothing
    return constant - (error + slack * size) * (1 + slack) - TINY * terms
