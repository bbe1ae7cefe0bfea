"""Compiled by numba: networks over several boxes side by side, and the cutting of boxes by winners.

The bounds are those of `bounds.zonotope` (affine arithmetic), for `LANES` boxes at once: a row of a matrix here holds
one quantity, for each coefficient of its form the numbers of all lanes. Additions are made in another order than by
numpy, and fused with products, which the a-priori rounding bounds allow for. Compiled code runs without the lock of the
interpreter; threads are Python's own, as numba's parallel loops take half a minute to compile.

Invariant: at each root s in [-1, 1]^m, a quantity is within e of ``z . (1, s)``, in every lane. Error budget: all that
a step rounds goes into e, relative to the sum of a form's absolute values by `gammas` (`bounds.rounding.gamma`); and e
of a quantity that is not identically 0 holds a TINY to spare, which covers products that underflow in the layer after
it, whatever its weights.
"""
# mypy: disable-error-code="no-untyped-def, untyped-decorator"
# numba infers the types

from __future__ import annotations

import numpy as np
from numba import njit

from venmas.bounds.compiled.relaxation_kernel import chord, rounding

LANES = 16
"""Boxes that are swept side by side."""
UNKNOWN, SETTLED, SEVERAL = 0, 1, 2
"""What a table says of a box with some outcomes: not known yet, its cases are one, or several."""
NONE, SIGN, AT_MOST, BELOW, EQUAL = 0, 1, 2, 3, 4
"""What a row is there for: nothing, a choice by its sign, or an atom that says that it is <= 0, < 0, or 0."""
MINOR, TINY = 0.25, 2.0**-1000  # those of search.regions.graph.step and bounds.rounding
_FUSED = {"contract"}


@njit(nogil=True, cache=True, error_model="numpy", fastmath=_FUSED)
def cut(nets, gammas, inputs, lines, table, rules, group, low, high, most):
    """Cut boxes (B, n) until what is open of them is settled, or no side is above its least, by `most` sweeps.

    nets: see `bounds.compiled.cutting`. inputs: (coefficients (G, k, n) and constants (G, k) of the networks' inputs
    over the boxes' coordinates, the network of each group (G,)). lines: rows in whole numbers, (weights (G, R, n),
    constants (G, R), what they are for (G, R)). table (G, 2^q 8^S): see `UNKNOWN`. rules: (n,) least sides, the wide
    coordinates (m,), and whether halves are joined.
    Returns low, high, source and outcome (-1: not swept yet; below: no part) of parts as columns. Where halves
    are joined, two of one outcome are one part again, as what was cut there was cut in vain.
    """
    least, roots, joined = rules
    weights, offsets, kinds = lines
    outcomes = 1 << nets[2][2]
    coefficients, constants, network = inputs
    count, n = low.shape
    k = constants.shape[1]
    m = len(roots)
    rows = m + 1
    room = _room(nets, rows)
    z, e, possible, force = room[0], room[1], room[6], room[7]
    # a row for each box: ends, source, outcome, and the box that it is half of
    tree = np.empty((2 * count + 64 * LANES, 2 * n + 3), np.int64)
    own, state, up = 2 * n, 2 * n + 1, 2 * n + 2
    for b in range(count):
        for i in range(n):
            tree[b, i], tree[b, n + i] = low[b, i], high[b, i]
        tree[b, own], tree[b, state], tree[b, up] = b, -1, -1
    known = count
    stack = np.arange(count - 1, -1, -1)
    top = count
    swept = 0
    middle, mass = np.empty(n), np.empty(n)
    taken = np.empty(LANES, np.int64)
    while top and swept < most:
        g = group[tree[stack[top - 1], own]]
        size = 0
        while top and size < LANES and group[tree[stack[top - 1], own]] == g:
            top -= 1
            taken[size] = stack[top]
            size += 1
        swept += size
        for lane in range(LANES):
            box = tree[taken[min(lane, size - 1)]]
            for i in range(n):  # exact: coordinates are below 2^50
                middle[i] = 0.5 * (box[i] + box[n + i])
                mass[i] = abs(middle[i]) + 0.5 * (box[n + i] - box[i])
            # error budget: n products and sums, a constant, and coefficients that were rounded from rationals
            for j in range(k):
                total = constants[g, j]
                size_of = abs(total)
                for i in range(n):
                    total += coefficients[g, j, i] * middle[i]
                    size_of += abs(coefficients[g, j, i]) * mass[i]
                z[j, lane] = total
                e[j, lane] = gammas[n + 8] * size_of + TINY
                for r in range(m):
                    i = roots[r]
                    z[j, (r + 1) * LANES + lane] = coefficients[g, j, i] * (0.5 * (box[n + i] - box[i]))
        _decide(nets, network[g], gammas, k, rows, size, room)
        if known + 2 * LANES > len(tree):
            taller = np.empty((2 * len(tree), tree.shape[1]), np.int64)
            taller[:known] = tree[:known]
            tree = taller
        if top + 2 * LANES > len(stack):
            longer = np.empty(2 * len(stack) + 2 * LANES, np.int64)
            longer[:top] = stack[:top]
            stack = longer
        for lane in range(size):
            at, box = -1, tree[taken[lane]]
            place, watched, atoms = outcomes, False, False
            whole = 0.0
            for r in range(m):
                whole += force[r, lane]
            for r in range(m):
                force[r, lane] = force[r, lane] / whole if whole > 0 and whole < np.inf else 0.0
            for row in range(kinds.shape[1]):
                kind = kinds[g, row]
                if kind == NONE:
                    continue
                below = above = offsets[g, row]
                for i in range(n):
                    w = weights[g, row, i]
                    below += w * box[i if w > 0 else n + i]
                    above += w * box[n + i if w > 0 else i]
                if kind == SIGN:
                    sign = (below < 0) + 2 * (below <= 0 and above >= 0) + 4 * (above > 0)
                    possible[lane] += place * sign
                    place *= 8
                    if below < 0 and above > 0:  # choices have units of their own: each counts for one
                        for r in range(m):
                            i = roots[r]
                            width = float(box[n + i] - box[i])
                            force[r, lane] += abs(weights[g, row, i]) * width / float(above - below)
                    continue
                atoms = True
                if kind == AT_MOST:
                    watched |= below <= 0 and above > 0
                elif kind == BELOW:
                    watched |= below < 0 and above >= 0
                else:
                    watched |= below <= 0 and above >= 0 and below < above
            if watched or table[g, possible[lane]] == SEVERAL:
                best, most_force = -1.0, 0.0
                for r in range(m):
                    most_force = max(most_force, force[r, lane])
                for r in range(m):
                    i = roots[r]
                    width = box[n + i] - box[i]
                    if width > max(least[i], 1) and force[r, lane] >= MINOR * most_force:
                        # where nothing tells which side matters, the longest one in terms of what counts as small
                        score = force[r, lane] + 1e-12 * width / max(least[i], 1)
                        if score > best:
                            best = score
                            at = i
            if at >= 0:
                for part in range(2):
                    tree[known] = box
                    tree[known, at if part else n + at] = (box[at] + box[n + at]) // 2
                    tree[known, up] = taken[lane]
                    stack[top] = known
                    known += 1
                    top += 1
                box[state] = -2
                continue
            box[state] = possible[lane]
            node = taken[lane]
            while joined and tree[node, up] >= 0 and not atoms and table[g, possible[lane]] != UNKNOWN:
                other = ((node - count) ^ 1) + count
                if tree[other, state] != possible[lane]:
                    break
                tree[node, state] = tree[other, state] = -2
                node = tree[node, up]
                tree[node, state] = possible[lane]
    return tree[:known]


@njit(cache=True, error_model="numpy", fastmath=_FUSED)
def _room(nets, rows):
    """Places for forms z and radii e of a layer's inputs and outputs, ends of intervals, winners, and influences."""
    widest = max(4, nets[3])
    ends = np.empty((widest, LANES)), np.empty((widest, LANES))
    z, new = np.zeros((widest, rows * LANES)), np.zeros((widest, rows * LANES))
    e, err, own = np.zeros((widest, LANES)), np.zeros((widest, LANES)), np.zeros((widest, LANES))
    return z, e, new, err, own, ends, np.zeros(LANES, np.int64), np.zeros((max(1, rows - 1), LANES))


@njit(cache=True, error_model="numpy", fastmath=_FUSED)
def _decide(nets, net, gammas, n, rows, size, room):
    """Winners and influences of the boxes whose inputs stand in `room`."""
    layers, gap, pair, _widest = nets
    sizes, starts, relus, errors, numbers = layers
    z, e, new, err, own, ends, possible, force = room
    for k in range(len(relus)):
        q = sizes[k + 1]
        at = starts[k] + net * q * (n + 1)
        weight, bias = numbers[at : at + q * n].reshape(q, n), numbers[at + q * n : at + q * (n + 1)]
        _layer(weight, bias, errors[k], relus[k], z, e, new, err, own, n, rows, gammas)
        n = q
    matrix, offset, matrix_size, offset_size = gap
    outputs, total = pair[2], matrix.shape[1]
    extra = gammas[outputs] + 2 * errors[len(relus)]
    _times(matrix[net], gammas[n + rows], z, e, new, err, own, n, rows)
    for lane in range(LANES):
        possible[lane] = 0
    # invariant: new, err bound the difference of two outputs; the weights of a difference are rounded, and off by the
    # error of the weights twice: `extra`, relative to the sum of the absolute values of both
    low, high = ends
    for j in range(n):  # own: what a radius and all coefficients come to
        for lane in range(LANES):
            own[j, lane] = e[j, lane]
        for c in range(rows):
            for lane in range(LANES):
                own[j, lane] += abs(z[j, c * LANES + lane])
    for q in range(total):
        first, second = 1 << pair[0][q], 1 << pair[1][q]
        shift = offset[net, q]
        for j in range(n):
            w = extra * matrix_size[net, q, j]
            for lane in range(LANES):
                err[q, lane] += w * own[j, lane]
        more = gammas[2] * abs(shift) + extra * offset_size[net, q] + TINY * n
        for lane in range(LANES):
            new[q, lane] += shift
            err[q, lane] = (err[q, lane] + more) * (1 + gammas[n + outputs + 8])
        _ends(new[q], err[q], rows, gammas, low[q], high[q])
        for lane in range(LANES):
            possible[lane] |= (0 if high[q, lane] >= 0 else first) | (0 if low[q, lane] < 0 else second)
    for lane in range(LANES):
        possible[lane] = ~possible[lane] & ((1 << outputs) - 1)
        if possible[lane] == 0:
            possible[lane] = (1 << outputs) - 1
    for r in range(rows - 1):
        for lane in range(LANES):
            force[r, lane] = 0.0
    for lane in range(size):
        if possible[lane] & (possible[lane] - 1):
            for q in range(total):
                both = possible[lane] >> pair[0][q] & possible[lane] >> pair[1][q] & 1
                if both and low[q, lane] < 0 and high[q, lane] >= 0:
                    for r in range(1, rows):
                        force[r - 1, lane] += abs(new[q, r * LANES + lane])


@njit(cache=True, error_model="numpy", fastmath=_FUSED)
def _ends(z, error, rows, gammas, low, high):
    """The interval of a form; what overflowed says nothing."""
    # error budget: rows + 1 additions for the radius, and one for each end, within gammas[rows + 1]
    for lane in range(LANES):
        high[lane] = error[lane]
    for r in range(1, rows):
        for lane in range(LANES):
            high[lane] += abs(z[r * LANES + lane])
    for lane in range(LANES):
        radius = high[lane] + (gammas[rows + 1] * (high[lane] + abs(z[lane])) + TINY)
        lo, hi = z[lane] - radius, z[lane] + radius
        low[lane], high[lane] = -np.inf if lo != lo else lo, np.inf if hi != hi else hi


@njit(cache=True, error_model="numpy", fastmath=_FUSED)
def _times(weight, slack, z, e, new, err, own, n, rows):
    """``weight @ z`` into `new`, and what its radius and rounding come to into `err`."""
    # own: what one unit contributes to the error per weight. The factor is multiplied with the size of the unit, not
    # with the weight, which may be denormal; that the product may underflow is covered by the TINY that e holds
    for j in range(n):
        for lane in range(LANES):
            own[j, lane] = e[j, lane]
        for r in range(rows):
            for lane in range(LANES):
                own[j, lane] += abs(z[j, r * LANES + lane])
        for lane in range(LANES):
            own[j, lane] = e[j, lane] + slack * own[j, lane]
    width = rows * LANES
    for q in range(weight.shape[0]):
        for t in range(width):
            new[q, t] = 0.0
        for lane in range(LANES):
            err[q, lane] = 0.0
        j = 0
        while j + 4 <= n:
            a, b, c, d = weight[q, j], weight[q, j + 1], weight[q, j + 2], weight[q, j + 3]
            for t in range(width):
                new[q, t] += a * z[j, t] + b * z[j + 1, t] + c * z[j + 2, t] + d * z[j + 3, t]
            a, b, c, d = abs(a), abs(b), abs(c), abs(d)
            for lane in range(LANES):
                err[q, lane] += a * own[j, lane] + b * own[j + 1, lane] + c * own[j + 2, lane] + d * own[j + 3, lane]
            j += 4
        while j < n:
            a = weight[q, j]
            for t in range(width):
                new[q, t] += a * z[j, t]
            for lane in range(LANES):
                err[q, lane] += abs(a) * own[j, lane]
            j += 1


@njit(cache=True, error_model="numpy", fastmath=_FUSED)
def _layer(weight, bias, weight_error, relu, z, e, new, err, own, n, rows, gammas):
    """One affine layer and its ReLU, in place."""
    _times(weight, gammas[n + rows] + weight_error, z, e, new, err, own, n, rows)
    lo, hi, slope, lift = own[0], own[1], own[2], own[3]
    for q in range(weight.shape[0]):
        more = gammas[2] * abs(bias[q]) + TINY * n
        for lane in range(LANES):
            new[q, lane] += bias[q]
            e[q, lane] = (err[q, lane] + more) * (1 + gammas[n + 2])
        if relu:
            _ends(new[q], e[q], rows, gammas, lo, hi)
            # invariant: below, 0 <= max(x, 0) - slope x <= 2 lift over [lo, hi]; slope 0 or 1 and lift 0 are exact
            for lane in range(LANES):
                part, rise = chord(lo[lane], hi[lane])
                crossing = lo[lane] < 0 and hi[lane] > 0
                slope[lane] = part if crossing else (0.0 if hi[lane] <= 0 else 1.0)
                lift[lane] = 0.5 * rise if crossing else 0.0
                # the sum of a form's absolute values comes to no more than this
                mass = abs(new[q, lane]) + max(hi[lane] - new[q, lane], new[q, lane] - lo[lane])
                more_here = lift[lane] + rounding(mass, lift[lane]) if crossing else 0.0
                e[q, lane] = e[q, lane] * slope[lane] + more_here if hi[lane] > 0 else 0.0
            for r in range(rows):
                for lane in range(LANES):
                    z[q, r * LANES + lane] = new[q, r * LANES + lane] * slope[lane]
            for lane in range(LANES):
                z[q, lane] += lift[lane]
        else:
            for t in range(rows * LANES):
                z[q, t] = new[q, t]
