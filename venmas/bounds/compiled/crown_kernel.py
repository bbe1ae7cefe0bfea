"""The sweep of `venmas.bounds.crown` compiled by numba, one box at a time and in cache.

Additions are made in another order than by numpy, and fused with products, which the a-priori bounds allow for. Threads
are Python's own (compiled code runs without the lock of the interpreter), as numba's parallel loops take half a minute
to compile.
"""
# mypy: disable-error-code="no-untyped-def, untyped-decorator"
# numba infers the types

from __future__ import annotations

import numpy as np
from numba import njit

from venmas.bounds.compiled.crown_layers_kernel import backward, begin, forward
from venmas.bounds.compiled.crown_slopes_kernel import ascend, start

STEPS, OR, TINY, FEW = 12, -2, 2.0**-1000, 2.0**-50  # those of bounds.crown, crown_plan and rounding
TRIAL, HOPE = 3, 3.0  # those of bounds.crown_slopes
_PLAIN = {"contract"}
_ANYORDER = {"contract", "reassoc", "nsz"}


@njit(nogil=True, cache=True, error_model="numpy", fastmath=_PLAIN)
def sweep_boxes(network, goals, condition, low, high, cap, gammas, cuts, narrow, rounds, found):
    """Fill in `found` for the boxes low, high; the tuples hold the arrays of a `Plan` and of a `Swept`."""
    sizes, begins, _offsets, _weights, _rows, _biases, relus, _errors = network
    goal_bias, strict = goals[2], goals[5]
    starts, levels_of, order, first_of, program = condition
    closed, bound, influence, tried, worst, opened, kept_low, kept_high = found
    count, m = low.shape
    widest = max(m, sizes.max())
    most = 1 + m + cap
    groups = len(starts) - 1
    largest = 1
    for group in range(groups):
        largest = max(largest, starts[group + 1] - starts[group])
    z = np.zeros((most, widest))
    e, mass = np.zeros(widest), np.zeros(widest)
    share, units = np.zeros((cap, m)), len(relus)
    room = (
        *(z, np.zeros((most, widest)), e, mass, np.zeros(widest), np.zeros(widest)),
        *(np.zeros(widest), np.zeros(widest), np.zeros(widest), np.zeros(widest), np.zeros(widest)),
        *(np.zeros(widest, np.int64), share, np.zeros(units), np.zeros(units), np.zeros(units), np.zeros(len(sizes))),
    )
    slopes = np.zeros(units), np.zeros(units), np.zeros(units), np.zeros(units)
    lines, ones, lowest = (np.zeros(widest), np.zeros(widest)), np.ones(m), np.zeros(m)
    g, g_err, g_base = np.zeros((largest, most)), np.zeros(largest), np.zeros(largest)
    centre, radius, corner, best = np.zeros(m), np.zeros(m), np.zeros(m), np.zeros(m)
    mix, spare, trial = np.zeros(largest), np.zeros(largest), np.zeros(largest)
    values = np.zeros(len(goal_bias))
    combined, cut_low, cut_high = np.zeros(most), np.zeros(m), np.zeros(m)
    bounds, bests, stack = np.zeros(groups), np.zeros(groups), np.zeros(len(program) + 1)
    first = 0.0
    for b in range(count):
        for i in range(m):
            c = 0.5 * low[b, i] + 0.5 * high[b, i]
            centre[i] = c
            radius[i] = max(high[b, i] - c, c - low[b, i]) * (1 + FEW) + TINY
            influence[b, i] = 0.0
            corner[i] = c
            best[i] = c
            kept_low[b, i] = np.inf
            kept_high[b, i] = -np.inf
        begin(centre, radius, room)
        deepest = 0
        for group in range(groups):
            bounds[group] = np.inf
            if opened[b, group]:
                deepest = max(deepest, levels_of[group])
                bounds[group] = -np.inf
        symbols, fresh, least = 0, 0, np.inf
        for level in range(deepest + 1):
            if level > 0:
                before = symbols
                symbols = forward(network, gammas, level - 1, symbols, fresh, cap, narrow, room)
                fresh = symbols - before
            top = 1 + m + symbols
            looked = False
            for at in range(first_of[level], first_of[level + 1]):
                group = order[at]
                if not opened[b, group]:
                    continue
                looked = True
                own = (starts[group], starts[group + 1])
                _goals(goals, own, gammas, centre, radius, z, e, mass, sizes[level], top, g, g_err, g_base)
                size = own[1] - own[0]
                lower = _mix(g, g_err, size, top, gammas, mix, spare, trial, combined)
                done = lower > 0
                for i in range(m):
                    cut_low[i], cut_high[i] = low[b, i], high[b, i]
                if not done:
                    for a in range(size):
                        alone = _lower(g[a], g_err[a], top, gammas)
                        done |= strict[own[0] + a] and alone >= 0
                        _cut(g[a, 1 : 1 + m], alone, radius, centre, radius, cut_low, cut_high)
                if not done and level > 0:
                    start(begins[level], room, slopes)
                    for step in range(rounds + 1):
                        if step > 0:
                            ascend(network, level, lowest, step - 1, room, slopes, lines)
                        below = backward(
                            network, goals, own, level, gammas, g_base, mix, centre, radius, room, slopes, lines, lowest
                        )
                        _cut(lines[0][:m], below, ones, centre, radius, cut_low, cut_high)
                        if step == 0 or below > lower:
                            corner[:] = lowest
                        if not lower >= below:
                            lower = below
                        first = lower if step == 0 else first
                        done = below > 0
                        if done or (step == TRIAL and -lower > HOPE * (lower - first)):
                            break
                for i in range(m):
                    done |= cut_low[i] > cut_high[i]
                if done:
                    opened[b, group] = False
                    bounds[group] = np.inf
                    continue
                bounds[group] = -np.inf if np.isnan(lower) else lower
                for i in range(m):
                    kept_low[b, i] = min(kept_low[b, i], cut_low[i])
                    kept_high[b, i] = max(kept_high[b, i], cut_high[i])
                _point(network, goals, condition, deepest, corner, lines, values, bests, stack)
                if stack[0] < least:
                    least = stack[0]
                    for i in range(m):
                        best[i] = corner[i]
                for i in range(m):
                    part = abs(combined[1 + i])
                    for s in range(symbols):
                        part += abs(combined[1 + m + s]) * share[s, i]
                    influence[b, i] += part
            if looked:
                _combine(program, bounds, stack)
                if stack[0] == np.inf:
                    break
        _combine(program, bounds, stack)
        bound[b] = stack[0]
        closed[b] = stack[0] == np.inf
        if not closed[b]:
            _point(network, goals, condition, deepest, centre, lines, values, bests, stack)
            if stack[0] < least:
                least = stack[0]
                for i in range(m):
                    best[i] = centre[i]
        worst[b] = np.inf if closed[b] else least
        for i in range(m):
            tried[b, i] = best[i]
            if not cuts or not kept_low[b, i] <= kept_high[b, i]:
                kept_low[b, i], kept_high[b, i] = low[b, i], high[b, i]


@njit(cache=True, error_model="numpy", fastmath=_PLAIN)
def _cut(slopes, lower, scale, centre, radius, low, high):
    """The part of a box that a form keeps, see `bounds.crown_cut`."""
    for i in range(len(centre)):
        a = abs(slopes[i])
        if a > 0:
            reach = -lower / a * scale[i]
            if reach < np.inf:  # no number cuts nothing
                reach = max(reach, 0.0) * (1 + FEW) + FEW * (abs(centre[i]) + radius[i]) + TINY
                if slopes[i] > 0:
                    high[i] = min(high[i], centre[i] - radius[i] + reach)
                else:
                    low[i] = max(low[i], centre[i] + radius[i] - reach)


@njit(cache=True, error_model="numpy", fastmath=_PLAIN)
def _goals(goals, own, gammas, centre, radius, z, e, mass, width, top, g, g_err, g_base):
    """Forms of the goals of a group, their radius, and that part of it which does not depend on the layers."""
    goal, goal_error, goal_bias, bias_error, direct, _strict = goals
    m = len(centre)
    for a in range(own[1] - own[0]):
        i = own[0] + a
        # error budget: `width` products, m more of the inputs, and the sums; the goal's own rounding; underflow
        slack = gammas[width + top]
        error = 0.0
        extra = 0.0
        for j in range(width):
            error += abs(goal[i, j]) * (e[j] + slack * mass[j])
            extra += goal_error[i, j] * mass[j]
        base = abs(goal_bias[i]) * gammas[m + 4] + bias_error[i]  # m products are added to it
        for r in range(top):
            g[a, r] = _dot(z[r], goal[i], width)
        g[a, 0] += goal_bias[i]
        for k in range(m):
            g[a, 0] += direct[i, k] * centre[k]
            g[a, 1 + k] += direct[i, k] * radius[k]
            base += (gammas[m + 4] * abs(direct[i, k]) + TINY) * (abs(centre[k]) + radius[k])
        g_base[a] = base * (1 + gammas[m + 8])
        g_err[a] = (error + extra + base + TINY) * (1 + gammas[width + 8])


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
            value = np.inf if code == OR else -np.inf
            for i in range(depth - number, depth):
                value = min(value, levels[i]) if code == OR else max(value, levels[i])
            depth -= number
            levels[depth] = value
            depth += 1


@njit(cache=True, error_model="numpy")
def _mix(g, g_err, k, top, gammas, mix, best, trial, combined):
    """The greatest bound found of a convex combination of a group's goals; its weights in mix, its form in combined."""
    highest = -np.inf
    start = -1
    for a in range(k):  # a goal that is nowhere above 0 adds nothing to the others
        trial[a] = 1.0 if _absolute(g[a], 1, top) + g_err[a] > -g[a][0] else 0.0
        if trial[a] > 0:
            value = _lower(g[a], g_err[a], top, gammas)
            if value > highest or start < 0:
                highest = value
                start = a
    if start < 0:
        start, trial[0] = 0, 1.0
        highest = _lower(g[0], g_err[0], top, gammas)
    for a in range(k):
        mix[a] = 1.0 if a == start else 0.0
        trial[a] = 0.3 / k * trial[a] + (0.7 if a == start else 0.0)
    form = g[start]
    for r in range(top):
        combined[r] = form[r]
    # invariant: any weights that are not negative give a valid bound, so their own rounding costs nothing
    if k > 1 and not highest > 0:
        for step in range(STEPS):
            error = 0.0
            size = 0.0  # products and sums of k terms round as well
            for r in range(top):
                combined[r] = 0.0
            for a in range(k):
                form, own = g[a], g_err[a]
                error += trial[a] * own
                size += trial[a] * (_absolute(form, 0, top) + own)
                for r in range(top):
                    combined[r] += trial[a] * form[r]
            value = _lower(combined, (error + gammas[k + 4] * size) * (1 + FEW * k), top, gammas)
            if value > highest:
                highest = value
                for a in range(k):
                    mix[a] = trial[a]
            if highest > 0:
                break
            scale = 0.0
            for a in range(k):
                form = g[a]
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
            form = g[a]
            for r in range(top):
                combined[r] += mix[a] * form[r]
    return highest


@njit(cache=True, error_model="numpy", fastmath=_ANYORDER)
def _point(network, goals, condition, deepest, x, lines, values, met, levels):
    """Distance of a point from meeting the condition, in floats, into levels[0]; without groups above `deepest`."""
    sizes, begins, offsets, weights, _rows, biases, relus, _errors = network
    goal, _goal_error, goal_bias, _bias_error, direct, _strict = goals
    starts, _levels, order, first_of, program = condition
    one, two = lines
    n = sizes[0]
    for j in range(n):
        one[j] = x[j]
    for group in range(len(starts) - 1):
        met[group] = np.inf
    for level in range(deepest + 1):
        if level > 0:
            width = sizes[level]
            at = begins[level - 1]
            for q in range(width):
                two[q] = biases[at + q]
            for j in range(n):
                c = one[j]
                if c != 0.0:
                    start = offsets[level - 1] + j * width
                    wj = weights[start : start + width]
                    for q in range(width):
                        two[q] += c * wj[q]
            for q in range(width):
                one[q] = max(two[q], 0.0) if relus[at + q] else two[q]
            n = width
        for which in range(first_of[level], first_of[level + 1]):
            group = order[which]
            most = -np.inf
            for i in range(starts[group], starts[group + 1]):
                value = goal_bias[i]
                for j in range(n):
                    value += goal[i, j] * one[j]
                for j in range(sizes[0]):
                    value += direct[i, j] * x[j]
                values[i] = value
                most = max(most, value)
            met[group] = most
    _combine(program, met, levels)
