"""The pass compiled by numba, one box at a time and in cache; the same numbers as `batch`.

Products are exact: values are split into limbs of 27 bits, weights of 19 and 17, and floats add up at most 128 products
of limbs, whose sum is an integer below 2**53. What may go out of range wraps, as in `batch`, and is not used.

A layer is a row of `layers`: out, in, where its numbers begin in `floats`, `weights`, `units` and `columns`, shift,
norm, most, largest (as of `scaled`). floats: for each input the low limbs of all W^_ji, then the high ones; after them
the same of all |W^_ji|. weights: W^ itself. units: bias, vague, bias vague, whole, relu of every output. columns: is a
column whole? order: for the inputs, and each layer, the layer of the rows there (-1: none), and the layer itself (-1).
groups: position in `order`, first row there, how many rows, where they begin in all rows of all groups, and the layer
of these rows. near: lower and upper ends of the values of the last layer, and of z of the next one.
"""
# mypy: disable-error-code="no-untyped-def, untyped-decorator, assignment"
# numba infers the types

from __future__ import annotations

import numpy as np
from numba import njit

from venmas.checker.affine.products_kernel import floor_product as _floor_product
from venmas.checker.affine.products_kernel import limbs as _limbs
from venmas.checker.affine.products_kernel import scaled_down as _scaled_down
from venmas.checker.affine.products_kernel import total as _total
from venmas.checker.affine.products_kernel import up as _up

VALUE_LIMIT, LEAST_SIZE, FLUSH_LEAST = 1 << 50, 1 << 20, 1 << 10
SUM_LIMIT, ROW_LIMIT, ACC_LIMIT, MOST_LIMIT = 1 << 60, 1 << 51, 1 << 61, 1 << 28
LOW_27, LOW_19 = (1 << 27) - 1, (1 << 19) - 1


@njit(nogil=True, cache=True, error_model="numpy")
def check_boxes(program, low, high, chosen, given, found):
    """Fill in `found` (bounds, ranged, closed, bounded) for boxes low, high (B, m) of integers.

    chosen: (B, rows of all groups), weights; given: (B, groups), where they are to be used.
    """
    layers, _floats, _weights, units, _columns, order, groups, stricts, most = program
    bounds, ranged, closed, bounded = found
    m, widest = low.shape[1], most[0]
    z, y = np.empty((most[1], widest), np.int64), np.empty((most[1], widest), np.int64)
    radii, more, near = np.empty(widest, np.int64), np.empty(widest, np.int64), np.empty((4, widest), np.int64)
    work = np.empty((2, 2 * widest), np.float64), np.empty((4, 2 * widest), np.int64), np.empty((3, widest), np.int64)
    ends, magnitudes = np.empty((2, most[2] + 1), np.int64), np.empty(most[2] + m, np.int64)
    best = np.empty(len(groups), np.int64)
    for b in range(low.shape[0]):
        box, fine, at = (low[b], high[b]), True, 0
        size = _inputs(box, z, radii, magnitudes, near)
        greatest, k = size, 1 + m
        fine &= size < VALUE_LIMIT
        for p in range(order.shape[0]):
            if p:
                layer = layers[order[p, 1]]
                fine &= _affine(program, layer, z, k, radii, magnitudes[at:], size, work, y, more)
                _intervals(program, layer, near, magnitudes[at:], work)
                at = m if p == 1 else at + layers[order[p - 1, 1], 0]
                k, size = _units(units, layer, y, k, more, work, ends[:, at - m :], magnitudes[at:], near)
                fine &= size < VALUE_LIMIT
                greatest = max(greatest, size)
                z, y = y, z
                radii, more = more, radii
            if order[p, 0] >= 0 and fine:
                values = (z, k, radii, magnitudes, at, size)
                results = (bounds[b], closed[b], best)
                fine &= _rows(program, p, box, values, near, work, (y, more), results)
        bounded[b] = fine
        for g in range(groups.shape[0]):
            ranged[b, g] = fine
            if not fine:
                bounds[b, g], closed[b, g] = 0, False
            elif groups[g, 2] and not closed[b, g]:
                start, a = groups[g, 3], work[2][0]
                any_strict, any_weight = False, False
                for r in range(groups[g, 2]):
                    weight = chosen[b, start + r] if given[b, g] else np.int64(r == best[g])
                    a[r] = weight << 32
                    any_weight |= weight > 0
                    any_strict |= weight > 0 and stricts[start + r]
                acc, inside = _backward(program, groups[g], box, ends, magnitudes, greatest, work)
                ranged[b, g] = inside
                bounds[b, g] = acc if inside else 0
                closed[b, g] = inside and any_weight and (acc > 0 or (acc == 0 and any_strict))


@njit(nogil=True, cache=True, error_model="numpy")
def _inputs(box, z, radii, magnitudes, near):
    low, high = box
    m, size = len(low), np.int64(LEAST_SIZE)
    z[: 1 + m, :m] = 0
    for i in range(m):
        z[0, i] = (low[i] + high[i]) >> 1
        z[1 + i, i] = high[i] - z[0, i]
        radii[i], near[0, i], near[1, i] = 0, low[i], high[i]
        magnitudes[i] = max(abs(low[i]), abs(high[i]))
        size = max(size, abs(z[0, i]) + z[1 + i, i])
    return size


@njit(nogil=True, cache=True, error_model="numpy")
def _affine(program, layer, x, k, radii, magnitudes, size, work, z, radii_z):
    """Forms and radii of z from those of x (k coefficients); is it in range?"""
    floats, units = program[1], program[3]
    n_out, n_in, at_float, at_unit, shift, norm = layer[0], layer[1], layer[2], layer[4], layer[6], layer[7]
    parts, sums, _rows = work
    half, total = (np.int64(1) << shift) >> 1, np.int64(0)
    for i in range(n_in):
        total += magnitudes[i]
    for c in range(k):
        _limbs(floats, at_float, x[c], n_in, n_out, parts, sums)
        row = z[c]
        for j in range(n_out):
            row[j] = _total(sums[0, j], sums[0, n_out + j], sums[1, j], sums[1, n_out + j], half, shift)
    add, rounding = (np.int64(1) << shift) - 1, (k + 1) // 2
    _limbs(floats, at_float + 2 * n_in * n_out, radii, n_in, n_out, parts, sums)
    for j in range(n_out):
        z[0, j] += units[at_unit + j, 0]
        e = _total(sums[0, j], sums[0, n_out + j], sums[1, j], sums[1, n_out + j], add, shift)
        if units[at_unit + j, 1]:
            e += _up(total, shift + 1)
        if not units[at_unit + j, 3]:
            e += rounding
        radii_z[j] = e + units[at_unit + j, 2]
    return size <= (SUM_LIMIT - 1) // norm


@njit(nogil=True, cache=True, error_model="numpy")
def _intervals(program, layer, near, magnitudes, work):
    """Ends (2) of `definition` of z: with s = lo + hi, d = hi - lo, both sums are those of (W^ s -+ |W^| d) / 2."""
    floats, units = program[1], program[3]
    n_out, n_in, at_float, at_unit, shift = layer[0], layer[1], layer[2], layer[4], layer[6] + 1
    parts, sums, _rows = work
    lower, upper, total = near[0], near[1], np.int64(0)
    for i in range(n_in):
        total += magnitudes[i]
        lower[i], upper[i] = lower[i] + upper[i], upper[i] - lower[i]
    _limbs(floats, at_float, lower, n_in, n_out, parts, sums)
    _limbs(floats, at_float + 2 * n_in * n_out, upper, n_in, n_out, parts, sums[2:])
    for j in range(n_out):
        i = n_out + j
        s00, s01, s10, s11 = sums[0, j], sums[0, i], sums[1, j], sums[1, i]
        d00, d01, d10, d11 = sums[2, j], sums[2, i], sums[3, j], sums[3, i]
        lost = units[at_unit + j, 2] + (_up(total, shift) if units[at_unit + j, 1] else np.int64(0))
        near[2, j] = _total(s00 - d00, s01 - d01, s10 - d10, s11 - d11, 0, shift) + units[at_unit + j, 0] - lost
        near[3, j] = units[at_unit + j, 0] + lost - _total(-s00 - d00, -s01 - d01, -s10 - d10, -s11 - d11, 0, shift)


@njit(nogil=True, cache=True, error_model="numpy")
def _units(units, layer, z, k, radii, work, ends, magnitudes, near):
    """Forms of y in the place of those of z; how many coefficients they have, and the greatest size before."""
    n, at_unit = layer[0], layer[4]
    spread, slope, new = work[2]
    spread[:n] = 0
    for c in range(1, k):
        for j in range(n):
            spread[j] += abs(z[c, j])
    size, scaling, more, rounding = np.int64(LEAST_SIZE), False, 0, (k + 1) // 2
    for j in range(n):
        e, relu = radii[j], units[at_unit + j, 4]
        low, high = z[0, j] - spread[j] - e, z[0, j] + spread[j] + e
        size = max(size, high, -low)
        low, high = max(low, near[2, j]), min(high, near[3, j])
        ends[0, j], ends[1, j] = low, high
        near[0, j], near[1, j] = (max(low, np.int64(0)), max(high, np.int64(0))) if relu else (low, high)
        magnitudes[j] = max(near[1, j], -near[0, j])
        slope[j], new[j] = 1 << 16, 0
        half = np.int64(0)
        if not relu or low >= 0:
            if e > (spread[j] >> 16) + FLUSH_LEAST:
                new[j], radii[j] = e, 0
        elif high <= 0:
            slope[j], radii[j], scaling = 0, 0, True
        else:
            s = ((high >> 4) << 16) // (((high - low) >> 4) + 1)
            half = max(-_scaled_down(low, s, 0, 17), -_scaled_down(-high, (1 << 16) - s, 0, 17))
            slope[j], scaling = s, True
            new[j], radii[j] = half + _scaled_down(e, s, 0xFFFF, 16) + rounding, 0
        spread[j] = half
        more += new[j] > 0
    if scaling:
        for c in range(k):
            for j in range(n):
                z[c, j] = _scaled_down(z[c, j], slope[j], 1 << 15, 16)
    for j in range(n):
        z[0, j] += spread[j]
    z[k : k + more, :n] = 0
    for j in range(n):
        if new[j] > 0:
            z[k, j] = new[j]
            k += 1
    return k, size


@njit(nogil=True, cache=True, error_model="numpy")
def _rows(program, p, box, values, near, work, room, results):
    """Bounds of the groups at a position by intervals, then by forms; are they in range?  room: for forms of rows."""
    layers, order, groups, stricts = program[0], program[5], program[6], program[7]
    z, k, radii, magnitudes, at, size = values
    bounds, closed, best = results
    low, high = box
    m, rows = len(low), layers[order[p, 0]]
    n, made = rows[1] - m, False
    seen, lower, upper, widest = np.empty(n + m, np.int64), np.empty(n + m, np.int64), np.empty(n + m, np.int64), size
    seen[:n], seen[n:] = magnitudes[at : at + n], magnitudes[:m]
    lower[:n], upper[:n] = near[0, :n], near[1, :n]
    for i in range(m):
        lower[n + i], upper[n + i] = low[i], high[i]
        centre = (low[i] + high[i]) >> 1
        widest = max(widest, abs(centre) + high[i] - centre)
    if widest > (SUM_LIMIT - 1) // rows[7]:
        return False
    together, spare, (forms, more) = np.empty((1, 1), np.int64), np.zeros(n + m, np.int64), room
    for g in range(groups.shape[0]):
        if groups[g, 0] != p:
            continue
        count, start, own = groups[g, 2], groups[g, 3], layers[groups[g, 4]]
        bounds[g], closed[g], best[g] = 0, False, 0
        for r in range(count):
            value = _interval(program, own, r, lower, upper, seen)
            if r == 0 or value > bounds[g]:
                bounds[g], best[g] = value, r
        if not count or bounds[g] > 0 or (bounds[g] == 0 and stricts[start + best[g]]):
            closed[g] = count > 0
            continue
        if not made:
            together, made = np.zeros((k, n + m), np.int64), True
            together[:, :n], spare[:n] = z[:k, :n], radii[:n]
            for i in range(m):
                together[0, n + i] = (low[i] + high[i]) >> 1
                together[1 + i, n + i] = high[i] - together[0, n + i]
        _affine(program, own, together, k, spare, seen, widest, work, forms, more)
        for r in range(count):
            value = forms[0, r] - more[r]
            for c in range(1, k):
                value -= abs(forms[c, r])
            if r == 0 or value > bounds[g]:
                bounds[g], best[g] = value, r
        closed[g] = bounds[g] > 0 or (bounds[g] == 0 and stricts[start + best[g]])
    return True


@njit(nogil=True, cache=True, error_model="numpy")
def _interval(program, rows, r, lower, upper, magnitudes):
    """A lower bound of a row from the ends of values."""
    weights, unit, n, shift = program[2], program[3][rows[4] + r], rows[1], rows[6]
    row = weights[rows[3] + r * n : rows[3] + (r + 1) * n]
    s00, s01, s10, s11, total = np.int64(0), np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    for i in range(n):
        w, total = row[i], total + magnitudes[i]
        v = lower[i] if w > 0 else upper[i]
        v0, v1, w0, w1 = v & LOW_27, v >> 27, w & LOW_19, w >> 19
        s00 += v0 * w0
        s01 += v0 * w1
        s10 += v1 * w0
        s11 += v1 * w1
    least = _total(s00, s01, s10, s11, 0, shift) + unit[0] - unit[2]
    return least - _up(total, shift + 1) if unit[1] else least


@njit(nogil=True, cache=True, error_model="numpy")
def _backward(program, group, box, ends, magnitudes, greatest, work):
    """The bound of the combination of rows whose weights are in ``work[2][0]``, and whether it is in range."""
    position = group[0]
    layers, _floats, _weights, units, _columns, order, _groups, _stricts, _most = program
    low, high = box
    m = len(low)
    n = layers[order[position, 1], 0] if position else 0
    at = m
    for p in range(1, position):
        at += layers[order[p, 1], 0]
    seen = np.empty(n + m, np.int64)
    seen[:n], seen[n:] = magnitudes[at : at + n], magnitudes[:m]
    acc, fine = _through(program, layers[group[4]], np.int64(0), seen, greatest, work)
    a = work[2][0]
    direct = a[n : n + m].copy()
    if not position:
        a[:m] = 0
    for p in range(position, 0, -1):
        layer = layers[order[p, 1]]
        for j in range(layer[0]):
            l, h, v = ends[0, at - m + j], ends[1, at - m + j], a[j]  # noqa: E741
            if not units[layer[4] + j, 4] or l >= 0:
                continue
            if h <= 0:
                a[j] = 0
            elif v >= 0:
                if h <= -l:
                    a[j] = 0
            else:
                s = ((h >> 4) << 16) // (((h - l) >> 4) + 1)
                kept = _scaled_down(v, s, 0, 16)
                acc += min(_floor_product(-kept, l, 32), _floor_product(v - kept, h, 32))
                a[j] = kept
        at -= layer[1]
        before = magnitudes[:m] if p == 1 else magnitudes[at : at + layer[1]]
        acc, inside = _through(program, layer, acc, before, greatest, work)
        fine &= inside
    for i in range(m):
        a[i] += direct[i]
    fine &= _in_range(a, m, greatest)
    for i in range(m):
        acc += _floor_product(a[i], low[i] if a[i] >= 0 else high[i], 32)
    return acc, fine


@njit(nogil=True, cache=True, error_model="numpy")
def _through(program, layer, acc, magnitudes, greatest, work):
    """Take the row of ``work[2][0]`` through a layer: what acc becomes, and whether all was in range."""
    _layers, _floats, weights, units, columns, _order, _groups, _stricts, _most = program
    n_out, n_in, at_weight, at_unit, at_column, shift = layer[0], layer[1], layer[3], layer[4], layer[5], layer[6]
    a, sums = work[2][0], work[1]
    size, lost, biased, weight, rounded = np.int64(0), np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    before = acc
    for j in range(n_out):
        size += abs(a[j])
        lost += abs(a[j]) * units[at_unit + j, 1]
        biased += abs(a[j]) * units[at_unit + j, 2]
        acc += _floor_product(a[j], units[at_unit + j, 0], 32)
    for i in range(n_in):
        weight += magnitudes[i]
        if not columns[at_column + i]:
            rounded += magnitudes[i]
    part, lost = (size >> 32) + 1, _up(lost, shift + 1)
    fine = (
        part <= (SUM_LIMIT - 1) // max(np.int64(1), layer[9])
        and part <= (MOST_LIMIT - 1) // layer[8]
        and (lost >> 16) + 1 <= (SUM_LIMIT - 1) // ((weight >> 16) + 1)
        and abs(before) < ACC_LIMIT
    )
    acc -= _up(biased, 33) - _floor_product(-lost, weight, 32) + _up(rounded, 33)
    sums[:, :n_in] = 0
    for j in range(n_out):
        v = a[j]
        if v == 0:
            continue
        v0, v1 = v & LOW_27, v >> 27
        row = weights[at_weight + j * n_in : at_weight + (j + 1) * n_in]
        for i in range(n_in):
            w0, w1 = row[i] & LOW_19, row[i] >> 19
            sums[0, i] += v0 * w0
            sums[1, i] += v0 * w1
            sums[2, i] += v1 * w0
            sums[3, i] += v1 * w1
    half = (np.int64(1) << shift) >> 1
    for i in range(n_in):
        a[i] = _total(sums[0, i], sums[1, i], sums[2, i], sums[3, i], half, shift)
    return acc, fine and _in_range(a, n_in, greatest)


@njit(nogil=True, cache=True, error_model="numpy", inline="always")
def _in_range(a, n, greatest):
    size, fine = np.int64(0), True
    for i in range(n):
        size += abs(a[i])
        fine &= abs(a[i]) < ROW_LIMIT
    return fine and (size >> 32) + 1 <= (SUM_LIMIT - 1) // max(np.int64(1), greatest)
