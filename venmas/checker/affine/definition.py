"""The pass over one box of integers: the definition of what a leaf of a split tree shows.

**Values.** All values are in the unit u = 2^-bits. In a box every quantity q has a *form*: integers c, G_1, .., G_g and
a radius e >= 0, so that at each point of the box there are eps_k, theta in [-1, 1], eps_k the same for all quantities:

    q / u = c + G_1 eps_1 + .. + G_g eps_g + theta e.                                                            (1)

|G| below is the sum of the |G_k|, the *size* of a form is |c| + |G| + e, its ends are l = c - |G| - e, h = c + |G| + e.
nearest(x, k) = floor(x / 2^k + 1/2), so |nearest(x, k) - x / 2^k| <= 1/2; up(x, k) = ceil(x / 2^k).

**Inputs.** An input in the integer box [l, h] has c = floor((l + h) / 2) and a symbol of its own, G = h - c >= c - l.

**Layer** z = W x + b (`scaled`: W^, T, b^). With m_i >= |x_i| / u at every point of the box,

    c_j = nearest(sum W^_ji c_i, T) + b^_j,   G_kj = nearest(sum W^_ji G_ki, T)
    e_j = up(sum |W^_ji| e_i, T) + [vague_j] up(sum m_i, T + 1) + [not whole_j] ceil((g + 1) / 2) + [bias vague_j].

By (1) for the x_i, sum W^_ji x_i 2^-T is the sum of the unrounded coefficients times eps, and at most the first term of
e_j; the g + 1 roundings move it by at most (g + 1) / 2, and by nothing where all W^_ji 2^-T are integers (whole);
|W_ji - W^_ji 2^-T| <= 2^-(T+1) makes the second term, and the last one covers the bias.

**Intervals.** Besides its form, each value y has an interval [lo, hi] with  u lo <= y <= u hi  in the whole box: [l, h]
of the box for inputs. For z = W x + b, with [lo_i, hi_i] of the x_i, and with A and B the sums over i of W^_ji lo_i and
W^_ji hi_i where W^_ji > 0, and of W^_ji hi_i and W^_ji lo_i where W^_ji < 0,

    floor(A / 2^T) + b^_j - D <= z_j / u <= up(B, T) + b^_j + D,
    D = [vague_j] up(sum m_i, T + 1) + [bias vague_j].                                                           (2)

A <= sum W^_ji x_i / u <= B as each product is between those with the ends of x_i; the two parts of D are, as above,
what the stored weights and the stored bias differ from the true ones by. No term of (2) is rounded inward.

**Ends** of z are the greater of l, the lower end of its form, and that of (2), and the less of h and the upper one:
both pairs hold z / u in the whole box, so these do, and they are in order, as a box has points. A form forgets the
ends of a unit: behind a clip of a wide range it may be as wide as that, which intervals are not. Everything below that
needs ends of z needs only that they hold z / u in the box; the form of z is the same with either. The interval of y =
z are the ends of z, and that of y = relu(z) is [max(l, 0), max(h, 0)].

**Unit** y = relu(z) with ends l, h of z. l >= 0: the form of z. h <= 0: 0. Else, with s z + t- <= relu(z) <= s z + t+
(`units`; s over 2^16), mid = floor((t- + t+) / 2) and half = t+ - mid >= mid - t-:

    c = nearest(s c, 16) + mid,  G_k = nearest(s G_k, 16),  e = 0, and a new symbol with the coefficient
    half + up(s e, 16) + ceil((g + 1) / 2):  y - s z - mid is at most half as z is within its ends; the rest are the
    radius and the roundings.

**Flush.** A form that is kept, of a unit without ReLU or with l >= 0, whose radius is e > floor(|G| / 2^16) + 2^10,
gives it to a new symbol: (1) allows for any theta, so for eps. Radii are pushed through |W| and symbols through W;
this is what keeps radii small over hundreds of layers. New symbols are numbered by unit.

**Magnitudes** m of y: max(h, 0) for rectified units, max(|l|, |h|) for others and for inputs, of the ends.

**Groups.** A group is closed where a combination of its rows f_r with weights w_r >= 0 is positive in the whole box, or
not negative while a strict row has a positive weight: then not all of f_r <= 0 (< 0) hold anywhere in it. The rows are
a layer over the values y after the group's layer and the inputs. Three times it is tried, and the first bound that is
positive (or 0 with a strict row) closes the group. First by intervals, the greatest lower end (2) of a row; then by
forms, the greatest l_r of a row; then backward, from the weights of the leaf for the group, or from 1 for the row with
the greatest l_r, the first of these:

**Backward.** A row of integers a over 2^32 and a number acc in units, with  sum w_r f_r >= u acc + sum a_i y_i 2^-32.
(3) It starts with a_r = w_r 2^32 over the rows f_r, and acc = 0. Through a layer y = W x + b, where |x_i| <= m_i u:

    acc += sum floor(a_j b^_j / 2^32) - up(sum of |a_j| over bias vague j, 33)
           - up(V sum m_i, 32) - up(sum of m_i over columns i that are not whole, 33)
    a_i = nearest(sum a_j W^_ji, T),   V = up(sum of |a_j| over vague j, T + 1).

The true coefficient sum a_j W_ji differs from a_i by at most V, and by 1/2 more where it was rounded; this is times
|x_i| <= m_i u. Through units, a_j becomes a'_j with `through`, which adds its gain, rounded down, to acc. At the
inputs, x_i in [l, h], acc += floor(a_i (l or h) / 2^32), l where a_i >= 0. Then (3) says that the combination is at
least u acc.

**Range.** So that 64 bits hold everything in `batch`, a box is not decided (`bounded` is false) where M >= 2^50 for a
layer, M being 2^20 or the greatest size of its forms before the units (of those of inputs), or where M of the layer
below times the norm of a layer (or of the rows of a group) is 2^60 or more. A group is not closed backward where this
fails, with N the greatest M, P = floor(sum |a_i| / 2^32) + 1 and X = sum m_i: for every row of a before the units,
|a_i| < 2^51 and P N < 2^60; for every row that goes into a layer, P max |b^_j| < 2^60, P most < 2^28, |acc| < 2^61 and
(floor(V / 2^16) + 1) (floor(X / 2^16) + 1) < 2^60.

Then no result wraps: a form after units has at most the size 2 M + g + 4 < 3 M (there are at most 2^18 units), so that
the size of forms of z is below 3 M norm + 2^20 < 2^62; products of a and values are below P N 2^32, |a_i| after a layer
is at most P most 2^32 + 1 <= 2^60, and acc changes by less than 2^62 in a layer. Ends are within those of the form, so
at most M in size, and intervals, too: A 2^-T and B 2^-T are at most M norm < 2^60.

**Relaxation** of y = f(z), for ReLU and whatever follows it. z, y and the ends l <= z <= h are in the unit of values,
slopes over 2^SLOPE_BITS, the coefficients a, a' of rows over 2^ROW_BITS:

    lines(l, h) = (s, t-, t+)         s z + t- <= f(z) <= s z + t+  on [l, h]
    through(a, l, h) = (a', gain)     a f(z) - a' z >= gain         on [l, h]

Any a' is sound with its gain, as f enters by the ends alone. For ReLU, a f(z) - a' z is piecewise linear with its one
bend at 0, so its least value on [l, h] is one of those at l, h and, if it is between them, 0:

    l < 0 < h:  min(0, -a' l, (a - a') h)      l >= 0:  min((a - a') l, (a - a') h)      h <= 0:  min(-a' l, -a' h)

Where the sign of z is known, a' = a or 0 has the gain 0. In between, a' = floor(a s) for a < 0, which is s z + t+; for
a >= 0 it is a or 0, whichever of the two lower lines y >= z, y >= 0 leaves less between, with the gain 0.

`tests/checker/affine_pass.py` is this pass in Python integers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

LEAST_SIZE = 1 << 20
FLUSH_BITS, FLUSH_LEAST = 16, 1 << 10
SUM_LIMIT, ROW_LIMIT, ACC_LIMIT, MOST_LIMIT = 1 << 60, 1 << 51, 1 << 61, 1 << 28
SLOPE_BITS, ROW_BITS = 16, 32

Weights = Mapping[int, Sequence[int]]
"""By group, the weight of each of its rows."""
