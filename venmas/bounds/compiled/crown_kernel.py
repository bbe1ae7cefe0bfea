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

from venmas.bounds.compiled.crown_layers_kernel import backward, forward

STEPS, OR, TINY, FEW = 12, -2, 2.0**-1000, 2.0**-50  # those of bounds.crown, crown_plan and rounding
_PLAIN = {"contract"}
_ANYORDER = {"contract", "reassoc", "nsz"}


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
            radius[i] = max(high[b, i] - c, c - low[b, i]) * (1 + FEW) + TINY
            influence[b, i] = 0.0
            corner[i] = c
            best[i] = c
        symbols = forward(network, gammas, centre, radius, cap, room)
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
                below = backward(network, goals, own, gammas, g_base, mix, centre, radius, room, lines, corner)
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
        # error budget: `width` products, m more of the inputs, and the sums; the goal's own rounding; underflow
        slack = gammas[width + top]
        error = 0.0
        extra = 0.0
        for j in range(width):
            error += abs(goal[i, j]) * (e[j] + slack * mass[j])
            extra += goal_error[i, j] * mass[j]
        base = abs(goal_bias[i]) * gammas[m + 4] + bias_error[i]  # m products are added to it
        for r in range(top):
            g[i, r] = _dot(z[r], goal[i], width)
        g[i, 0] += goal_bias[i]
        for k in range(m):
            g[i, 0] += direct[i, k] * centre[k]
            g[i, 1 + k] += direct[i, k] * radius[k]
            base += (gammas[m + 4] * abs(direct[i, k]) + TINY) * (abs(centre[k]) + radius[k])
        g_base[i] = base * (1 + gammas[m + 8])
        g_err[i] = (error + extra + base + TINY) * (1 + gammas[width + 8])


@njit(cache=True, error_model="numpy", fastmath=_ANYORDER)
def _dot(a, b, n):
    total = 0.0
    for i in range(n):
        total += a[i] * b[i]
    return total


@njit(cache=True, error_model="numpy", fastmath=_ANYORDER)
def _absolute(a, start, end):
    total = 0.0
    for i in range(start, end):
        total += abs(a[i])
    return total


@njit(cache=True, error_model="numpy")
def _lower(form, error, top, gammas):
    size = _absolute(form, 1, top) + error
    return form[0] - size - gammas[top + 2] * (size + abs(form[0])) - TINY


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
            found = np.inf if code == OR else -np.inf
            for i in range(depth - number, depth):
                found = min(found, levels[i]) if code == OR else max(found, levels[i])
            depth -= number
            levels[depth] = found
            depth += 1


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
    # invariant: any weights that are not negative give a valid bound, so their own rounding costs nothing
    if k > 1 and not found > 0:
        for step in range(STEPS):
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
            value = _lower(combined, (error + gammas[k + 4] * size) * (1 + FEW * k), top, gammas)
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


@njit(cache=True, error_model="numpy", fastmath=_ANYORDER)
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
