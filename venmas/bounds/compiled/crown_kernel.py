"""The sweep of `venmas.bounds.crown` compiled by numba (extra ``fast``), one box at a time and in cache.

Additions are made in another order than by numpy, and fused with products, which the a-priori bounds allow for. Threads
are Python's own (compiled code runs without the lock of the interpreter), as numba's parallel loops take half a minute
to compile.
"""
# mypy: disable-error-code="no-untyped-def, untyped-decorator"
# numba infers the types

from __future__ import annotations

import numpy as np
from numba import njit

# Those of query_sweep and query_plan, here again: the cache of compiled code notices changes of this file only.
_STEPS, _TINY, _ULP, _OR = 12, 2.0**-1000, 2.0**-50, -2
_PLAIN = {"contract"}
_ANY_ORDER = {"contract", "reassoc", "nsz"}


@njit(nogil=True, cache=True, error_model="numpy", fastmath=_PLAIN)
def sweep_boxes(network, goals, condition, low, high, cap, gammas, found):
    """Fill in `found` for the boxes low, high; the tuples hold the arrays of a `Plan` and of a `Swept`."""
    sizes, _weights, _rows, _biases, relus, _errors = network
    goal_bias, strict = goals[2], goals[5]
    starts, members, program = condition
    closed, bound, influence, tried, worst = found
    count, m = low.shape
    layers = len(relus)
    units = 0
    widest = m
    for k in range(1, len(sizes)):
        units += sizes[k]
        widest = max(widest, sizes[k])
    most = 1 + m + cap
    q = len(goal_bias)
    groups = len(starts) - 1
    z = np.zeros((most, widest))
    e, mass = np.zeros(widest), np.zeros(widest)
    share = np.zeros((cap, m))
    room = (
        *(z, np.zeros((most, widest)), e, mass, np.zeros(widest), np.zeros(widest), np.zeros(widest)),
        *(np.zeros(widest, np.int64), share, np.zeros(units), np.zeros(units), np.zeros(units), np.zeros(layers)),
    )
    lines = np.zeros(widest), np.zeros(widest)
    g, g_err, g_base = np.zeros((q, most)), np.zeros(q), np.zeros(q)
    centre, radius, corner, best = np.zeros(m), np.zeros(m), np.zeros(m), np.zeros(m)
    mix, spare, trial = np.zeros(q), np.zeros(q), np.zeros(q)
    combined = np.zeros(most)
    bounds, met, levels = np.zeros(groups), np.zeros(groups), np.zeros(len(program) + 1)
    for b in range(count):
        for i in range(m):
            c = 0.5 * low[b, i] + 0.5 * high[b, i]
            centre[i] = c
            radius[i] = max(high[b, i] - c, c - low[b, i]) * (1 + _ULP) + _TINY
            influence[b, i] = 0.0
            corner[i] = c
            best[i] = c
        symbols = _forward(network, gammas, centre, radius, cap, room)
        top = 1 + m + symbols
        _goals(goals, gammas, centre, radius, z, e, mass, sizes[layers], top, g, g_err, g_base)
        least = np.inf
        for group in range(groups):
            first, last = starts[group], starts[group + 1]
            lower = _mix(g, g_err, members, first, last, top, gammas, mix, spare, trial, combined)
            done = lower > 0
            if not done:
                for a in range(first, last):
                    if strict[members[a]]:
                        alone = _lower(g[members[a]], g_err[members[a]], top, gammas)
                        done |= alone >= 0
            if not done and layers > 0:
                own = (members, first, last)
                below = _backward(network, goals, own, gammas, g_base, mix, centre, radius, room, lines, corner)
                done = below > 0
                if not lower >= below:
                    lower = below
            bounds[group] = np.inf if done else -np.inf if np.isnan(lower) else lower
            if not done:
                _point(network, goals, condition, corner, lines, trial, met, levels)
                if levels[0] < least:
                    least = levels[0]
                    for i in range(m):
                        best[i] = corner[i]
                for i in range(m):
                    part = abs(combined[1 + i])
                    for s in range(symbols):
                        part += abs(combined[1 + m + s]) * share[s, i]
                    influence[b, i] += part
        _combine(program, bounds, levels)
        bound[b] = levels[0]
        closed[b] = levels[0] == np.inf
        if not closed[b]:
            _point(network, goals, condition, centre, lines, trial, met, levels)
            if levels[0] < least:
                least = levels[0]
                for i in range(m):
                    best[i] = centre[i]
        worst[b] = np.inf if closed[b] else least
        for i in range(m):
            tried[b, i] = best[i]


@njit(cache=True, error_model="numpy", fastmath=_PLAIN)
def _goals(goals, gammas, centre, radius, z, e, mass, width, top, g, g_err, g_base):
    """Forms of the goals, their radius, and that part of it which does not depend on the layers."""
    goal, goal_error, goal_bias, bias_error, direct, _strict = goals
    m = len(centre)
    for i in range(len(goal_bias)):
        slack = gammas[width + top]
        error = 0.0
        extra = 0.0
        for j in range(width):
            error += abs(goal[i, j]) * (e[j] + slack * mass[j])
            extra += goal_error[i, j] * mass[j]
        base = abs(goal_bias[i]) * gammas[4] + bias_error[i]
        for r in range(top):
            g[i, r] = _dot(z[r], goal[i], width)
        g[i, 0] += goal_bias[i]
        for k in range(m):
            g[i, 0] += direct[i, k] * centre[k]
            g[i, 1 + k] += direct[i, k] * radius[k]
            base += (gammas[m + 4] * abs(direct[i, k]) + _TINY) * (abs(centre[k]) + radius[k])
        g_base[i] = base * (1 + gammas[m + 8])
        g_err[i] = (error + extra + base + _TINY) * (1 + gammas[width + 8])


@njit(cache=True, error_model="numpy", fastmath=_ANY_ORDER)
def _dot(a, b, n):
    total = 0.0
    for i in range(n):
        total += a[i] * b[i]
    return total


@njit(cache=True, error_model="numpy", fastmath=_ANY_ORDER)
def _absolute(a, start, end):
    total = 0.0
    for i in range(start, end):
        total += abs(a[i])
    return total


@njit(cache=True, error_model="numpy")
def _lower(form, error, top, gammas):
    size = _absolute(form, 1, top) + error
    return form[0] - size - gammas[top + 2] * (size + abs(form[0])) - _TINY


@njit(cache=True, error_model="numpy")
def _combine(program, groups, levels):
    """`Plan.combined` of one box, into levels[0]."""
    depth = 0
    at = 0
    while at < len(program):
        code = program[at]
        at += 1
        if code >= 0:
            levels[depth] = groups[code]
            depth += 1
        else:
            number = program[at]
            at += 1
            found = np.inf if code == _OR else -np.inf
            for i in range(depth - number, depth):
                found = min(found, levels[i]) if code == _OR else max(found, levels[i])
            depth -= number
            levels[depth] = found
            depth += 1


@njit(cache=True, error_model="numpy", fastmath=_PLAIN)
def _forward(network, gammas, centre, radius, cap, room):
    """Affine forms of the last hidden layer into z, e and mass; ends of all pre-activations; returns the symbols."""
    sizes, weights, _rows, biases, relus, errors = network
    z, new, e, mass, err, total, slope, active, share, lo, hi, spread, below = room
    m = sizes[0]
    n = m
    symbols = 0
    fresh = 0  # the last `fresh` symbols have one column each, found in `active` below
    z[: 1 + m, :m] = 0.0
    for j in range(m):
        z[0, j] = centre[j]
        z[1 + j, j] = radius[j]
        e[j] = 0.0
        mass[j] = abs(centre[j]) + radius[j]
    offset_w = 0
    offset_b = 0
    for k in range(len(relus)):
        width = sizes[k + 1]
        w = weights[offset_w : offset_w + n * width].reshape((n, width))
        bias = biases[offset_b : offset_b + width]
        live = 0
        below[k] = 0.0
        for j in range(n):
            below[k] += mass[j]
            if mass[j] > 0 or np.isnan(mass[j]):
                active[live] = j
                live += 1
        top = 1 + m + symbols
        slack = gammas[n + top] + errors[k]
        sp = spread[offset_b : offset_b + width]
        for q in range(width):
            err[q] = 0.0
            sp[q] = 0.0
            total[q] = 0.0
        for a in range(live):
            j = active[a]
            ej = e[j]
            mj = mass[j]
            wj = w[j]
            for q in range(width):
                size = abs(wj[q])
                err[q] += size * ej
                sp[q] += size * mj
        for r in range(top):
            out = new[r]
            zr = z[r]
            for q in range(width):
                out[q] = 0.0
            a = 0
            if r >= top - fresh:  # a new symbol is in one unit only
                for j in range(n):
                    c = zr[j]
                    if c != 0.0:
                        wj = w[j]
                        for q in range(width):
                            out[q] += c * wj[q]
            else:
                while a + 4 <= live:
                    j0, j1, j2, j3 = active[a], active[a + 1], active[a + 2], active[a + 3]
                    c0, c1, c2, c3 = zr[j0], zr[j1], zr[j2], zr[j3]
                    w0, w1, w2, w3 = w[j0], w[j1], w[j2], w[j3]
                    for q in range(width):
                        out[q] += (c0 * w0[q] + c1 * w1[q]) + (c2 * w2[q] + c3 * w3[q])
                    a += 4
                while a < live:
                    c0 = zr[active[a]]
                    w0 = w[active[a]]
                    for q in range(width):
                        out[q] += c0 * w0[q]
                    a += 1
            if r > 0:
                for q in range(width):
                    total[q] += abs(out[q])
        fresh = 0
        born = symbols
        for q in range(width):
            size = err[q] + slack * sp[q] + gammas[2] * abs(bias[q]) + _TINY
            err[q] = size * (1 + gammas[n + 8])
            new[0, q] += bias[q]
            reach = total[q] + err[q]
            reach += gammas[top + 2] * (reach + abs(new[0, q])) + _TINY
            bottom = new[0, q] - reach
            above = new[0, q] + reach
            if np.isnan(bottom):
                bottom = -np.inf
            if np.isnan(above):
                above = np.inf
            lo[offset_b + q] = bottom
            hi[offset_b + q] = above
            slope[q] = 1.0
            e[q] = err[q]
            mass[q] = (abs(new[0, q]) + reach) * (1 + 2.0**-50)
            if relus[k]:
                if above <= 0:
                    slope[q] = 0.0
                    e[q] = 0.0
                    mass[q] = 0.0
                elif bottom < 0:
                    s = above / (above - bottom)
                    if np.isnan(s):
                        s = 1.0
                    s = min(max(s, 0.0), 1.0)
                    slope[q] = s
                    lift = max(-s * bottom, (1 - s) * above) * 0.5 * (1 + 2.0**-50) + _TINY
                    rounding = 8 * 2.0**-53 * (abs(new[0, q]) + reach + lift)
                    e[q] = err[q] * s + rounding
                    e[q] += 4 * 2.0**-53 * e[q]
                    mass[q] = (s * (abs(new[0, q]) + reach) + 2 * lift + rounding) * (1 + 2.0**-50)
                    if symbols < cap:
                        # how much of this unit's range is due to which input
                        scale = 1.0 / (reach + _TINY)
                        for i in range(m):
                            part = abs(new[1 + i, q])
                            for t in range(born):
                                part += abs(new[1 + m + t, q]) * share[t, i]
                            share[symbols, i] = part * scale
                        row = z[1 + m + symbols]
                        for j in range(width):
                            row[j] = 0.0
                        row[q] = lift
                        symbols += 1
                        fresh += 1
                    else:
                        e[q] += lift * (1 + 2.0**-50)
                    new[0, q] = new[0, q] * s + lift
                    slope[q] = s
        for r in range(top):
            zr = z[r]
            out = new[r]
            if r == 0:
                for q in range(width):
                    keep = relus[k] and lo[offset_b + q] < 0 and hi[offset_b + q] > 0
                    zr[q] = out[q] if keep else out[q] * slope[q]
            else:
                for q in range(width):
                    zr[q] = out[q] * slope[q]
        offset_w += n * width
        offset_b += width
        n = width
    return symbols


@njit(cache=True, error_model="numpy")
def _mix(g, g_err, members, first, last, top, gammas, mix, best, trial, combined):
    """The greatest bound found of a convex combination of a group's goals; its weights in mix, its form in combined."""
    k = last - first
    found = -np.inf
    start = 0
    for a in range(k):
        value = _lower(g[members[first + a]], g_err[members[first + a]], top, gammas)
        if value > found or a == 0:
            found = value
            start = a
    for a in range(k):
        mix[a] = 1.0 if a == start else 0.0
        trial[a] = 0.3 / k + (0.7 if a == start else 0.0)
    form = g[members[first + start]]
    for r in range(top):
        combined[r] = form[r]
    if k > 1 and not found > 0:
        for step in range(_STEPS):
            error = 0.0
            size = 0.0  # products and sums of k terms round as well
            for r in range(top):
                combined[r] = 0.0
            for a in range(k):
                form, own = g[members[first + a]], g_err[members[first + a]]
                error += trial[a] * own
                size += trial[a] * (_absolute(form, 0, top) + own)
                for r in range(top):
                    combined[r] += trial[a] * form[r]
            value = _lower(combined, (error + gammas[k + 4] * size) * (1 + _ULP * k), top, gammas)
            if value > found:
                found = value
                for a in range(k):
                    mix[a] = trial[a]
            if found > 0:
                break
            scale = 0.0
            for a in range(k):
                form = g[members[first + a]]
                at = form[0]
                for r in range(1, top):
                    at -= form[r] if combined[r] > 0 else -form[r]
                best[a] = at
                scale = max(scale, abs(at))
            if not scale > 0 or not scale < np.inf:
                break
            norm = 0.0
            for a in range(k):
                trial[a] *= np.exp(2.0 * best[a] / (scale * np.sqrt(step + 1.0)))
                norm += trial[a]
            for a in range(k):
                trial[a] /= norm
        for r in range(top):
            combined[r] = 0.0
        for a in range(k):
            form = g[members[first + a]]
            for r in range(top):
                combined[r] += mix[a] * form[r]
    return found


@njit(cache=True, error_model="numpy", fastmath=_PLAIN)
def _backward(network, goals, group, gammas, g_base, mix, centre, radius, room, lines, corner):
    """A lower bound of a mix of goals, substituted backward; the corner where its linear form is least."""
    sizes, _weights, rows, biases, relus, errors = network
    goal, goal_error, goal_bias, _bias_error, direct, _strict = goals
    members, first, last = group
    _z, _new, _e, mass, _err, _total, _slope, _active, _share, lo, hi, spread, below = room
    back, down = lines
    layers = len(relus)
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
            i = members[first + a]
            back[j] += mix[a] * goal[i, j]
            spill += mix[a] * (goal_error[i, j] + gammas[k + 4] * abs(goal[i, j]))
        error += (spill + _TINY) * mass[j]
    for a in range(k):
        i = members[first + a]
        constant += mix[a] * goal_bias[i]
        size += mix[a] * abs(goal_bias[i])
        error += mix[a] * g_base[i] * (1 + gammas[4])
    offset_b = len(biases)
    offset_w = len(rows)
    for layer in range(layers - 1, -1, -1):
        width = sizes[layer + 1]
        n = sizes[layer]
        offset_b -= width
        offset_w -= width * n
        w = rows[offset_w : offset_w + width * n].reshape((width, n))
        down[:n] = 0.0
        slack = gammas[width] + errors[layer]
        error += _TINY * below[layer]  # slopes that underflow lose less than that
        for j in range(width):
            c = back[j]
            bottom, above = lo[offset_b + j], hi[offset_b + j]
            if relus[layer] and bottom < 0:
                if above <= 0:
                    c = 0.0
                elif c >= 0:
                    if above <= -bottom:
                        c = 0.0
                else:
                    s = above / (above - bottom)
                    if np.isnan(s):
                        s = 1.0
                    s = min(max(s, 0.0), 1.0)
                    lift = max(-s * bottom, (1 - s) * above) * (1 + 2.0**-50) + _TINY
                    constant += c * lift
                    size -= c * lift
                    c *= s
                    error += _TINY * max(above, -bottom if s > 0 else 0.0)
            if c != 0.0:
                error += abs(c) * (slack * spread[offset_b + j] + 2.0**-52 * max(-bottom, above) + _TINY)
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
            d = mix[a] * direct[members[first + a], i]
            c += d
            spill += abs(d)
        error += (gammas[k + 4] * (spill + abs(c)) + _TINY) * (abs(centre[i]) + radius[i])
        constant += c * centre[i] - abs(c) * radius[i]
        size += abs(c) * (abs(centre[i]) + radius[i])
        corner[i] = centre[i] - radius[i] if c > 0 else centre[i] + radius[i] if c < 0 else centre[i]
    terms = len(biases) + len(biases) + m + k + 8
    rounding = (terms + 4) * 2.0**-53 / (1 - (terms + 4) * 2.0**-53)
    size += error + abs(constant)  # with the constant in it, what overflows is no number and closes nothing
    return constant - (error + rounding * size) * (1 + rounding) - _TINY * terms


@njit(cache=True, error_model="numpy", fastmath=_ANY_ORDER)
def _point(network, goals, condition, x, lines, values, met, levels):
    """How far the condition is from holding at a point, in floats, into levels[0]."""
    sizes, weights, _rows, biases, relus, _errors = network
    goal, _goal_error, goal_bias, _bias_error, direct, _strict = goals
    starts, members, program = condition
    one, two = lines
    n = sizes[0]
    for j in range(n):
        one[j] = x[j]
    offset_w = 0
    offset_b = 0
    for k in range(len(relus)):
        width = sizes[k + 1]
        for q in range(width):
            two[q] = biases[offset_b + q]
        for j in range(n):
            c = one[j]
            if c != 0.0:
                wj = weights[offset_w + j * width : offset_w + (j + 1) * width]
                for q in range(width):
                    two[q] += c * wj[q]
        for q in range(width):
            one[q] = max(two[q], 0.0) if relus[k] else two[q]
        offset_w += n * width
        offset_b += width
        n = width
    for i in range(len(goal_bias)):
        value = goal_bias[i]
        for j in range(n):
            value += goal[i, j] * one[j]
        for j in range(sizes[0]):
            value += direct[i, j] * x[j]
        values[i] = value
    for group in range(len(starts) - 1):
        most = -np.inf
        for a in range(starts[group], starts[group + 1]):
            most = max(most, values[members[a]])
        met[group] = most
    _combine(program, met, levels)
