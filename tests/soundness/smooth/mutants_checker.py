"""Mutants of the integers of the checker: lines, forms, intervals, flows and networks."""

from __future__ import annotations

from tests.soundness.smooth.mutants import Mutant

_CHECKER = "checker.flowpipes."
_LINES, _FORMS, _INTERVALS = _CHECKER + "univariate", _CHECKER + "forms", _CHECKER + "intervals"
_FLOW, _NETWORKS = _CHECKER + "flow", _CHECKER + "networks"
_OF_LINES, _OF_FORMS = ("lines, checker",), ("forms, checker",)
_IN_FLOAT32 = ("network, checker in float32",)
_ROOM = "the next sum has room for one rounding more than it makes, and what underflows is less than its unit"
_ANY_SLOPE = "lines are found for the slope that is taken, whichever it is"

CHECKER = [
    # lines
    Mutant(_LINES, "_TINY = 1 << 6", "_TINY = 0", _OF_LINES),
    Mutant(_LINES, "SLOPE_BITS = 16", "SLOPE_BITS = 13", _OF_LINES, slack=_ANY_SLOPE),
    Mutant(_LINES, "max(0, min(f.slope(low, bits)[0]", "max(0, max(f.slope(low, bits)[0]", _OF_LINES),
    Mutant(
        _LINES,
        "min(f.slope(low, bits)[0], f.slope(high, bits)[0]) >> (bits - SLOPE_BITS)",
        "min(f.slope(low, bits)[0], f.slope(high, bits)[0]) + (1 << bits - SLOPE_BITS) >> (bits - SLOPE_BITS)",
        _OF_LINES,
    ),
    Mutant(
        _LINES,
        "_above(value, slope, low)[0], _above(value, slope, high)[1]",
        "_above(value, slope, low)[1], _above(value, slope, high)[1]",
        _OF_LINES,
    ),
    Mutant(
        _LINES,
        "_above(value, slope, low)[0], _above(value, slope, high)[1]",
        "_above(value, slope, low)[0], _above(value, slope, high)[0]",
        _OF_LINES,
    ),
    Mutant(
        _LINES,
        "high - low > 3 << bits",
        "high - low > 9 << bits",
        _OF_LINES,
        slack="the remainder holds over any width; 3 is from where the range is narrower",
    ),
    Mutant(
        _LINES, "half = max(high - middle, middle - low)", "half = max(high - middle, middle - low) * 7 // 8", _OF_LINES
    ),
    Mutant(_LINES, "gap = most - (slope", "gap = least - (slope", ("sin, lines, checker",)),
    Mutant(_LINES, "-(-half * gap >> bits)", "0", _OF_LINES),
    Mutant(_LINES, "return slope, a - rest, b + rest", "return slope, a - rest, a + rest", _OF_LINES),
    Mutant(_LINES, "v + (q * before >> bits)", "v + (p * before >> bits)", _OF_LINES),
    Mutant(
        _LINES,
        "v + (q * before >> bits), v + (p * after >> bits)",
        "v - (-q * before >> bits), v - (-p * after >> bits)",
        _OF_LINES,
    ),
    Mutant(
        _LINES,
        "w - (-p * before >> bits), w - (-q * after >> bits)",
        "w + (p * before >> bits), w + (q * after >> bits)",
        _OF_LINES,
    ),
    Mutant(
        _LINES, "least = min(t + (-slope * x >> SLOPE_BITS)", "least = min(t - (slope * x >> SLOPE_BITS)", _OF_LINES
    ),
    Mutant(_LINES, "most = max(t - (slope * x >> SLOPE_BITS)", "most = max(t + (-slope * x >> SLOPE_BITS)", _OF_LINES),
    Mutant(_LINES, "return slope, least, max(b, d)", "return slope, least, min(b, d)", _OF_LINES),
    Mutant(_LINES, "return slope, min(a, c), most", "return slope, max(a, c), most", _OF_LINES),
    Mutant(_LINES, "return low + (-slope * x >> SLOPE_BITS)", "return low - (slope * x >> SLOPE_BITS)", _OF_LINES),
    Mutant(
        _LINES,
        "high - (slope * x >> SLOPE_BITS)\n\n\ndef _relu",
        "high + (-slope * x >> SLOPE_BITS)\n\n\ndef _relu",
        _OF_LINES,
    ),
    Mutant(
        _LINES, "max(-(slope * low >> SLOPE_BITS), ", "min(-(slope * low >> SLOPE_BITS), ", ("relu, lines, checker",)
    ),
    Mutant(
        _LINES,
        "max(-(slope * low >> SLOPE_BITS), ",
        "max((-slope * low >> SLOPE_BITS), ",
        ("relu, lines, checker",),
        slack="slope is rounded down, so that the other end is not lower",
    ),
    Mutant(
        _LINES,
        "-(-((1 << SLOPE_BITS) - slope) * high >> SLOPE_BITS)",
        "(((1 << SLOPE_BITS) - slope) * high >> SLOPE_BITS)",
        ("relu, lines, checker",),
    ),
    Mutant(_LINES, "return one // x, -(-one // x)", "return one // x, one // x", ("reciprocal, lines, checker",)),
    Mutant(
        _LINES,
        "return -cube // (x * x), -(cube // (x * x))",
        "return -cube // (x * x), -cube // (x * x)",
        ("reciprocal, lines, checker",),
    ),
    # forms
    Mutant(_FORMS, "return Form(middle, (), high - middle, ", "return Form(middle, (), middle - low, ", ("between",)),
    Mutant(_FORMS, "int(rest > 0)", "0", ("constant, forms, checker",)),
    Mutant(
        _FORMS,
        "-(-value.e * abs(p) // q) + len(g) + 1",
        "-(-value.e * abs(p) // q) + len(g)",
        ("scale, forms, checker",),
    ),
    Mutant(
        _FORMS, "-(-value.e * abs(p) // q) + len(g) + 1", "-(-value.e * abs(p) // q) + 1", ("scale, forms, checker",)
    ),
    Mutant(_FORMS, "-(-value.e * abs(p) // q)", "(value.e * abs(p) // q)", ("scale, forms, checker",)),
    Mutant(_FORMS, "-(-twice // unit) + len(g) + 1", "-(-twice // unit) + len(g)", _OF_FORMS),
    Mutant(_FORMS, "-(-twice // unit) + len(g) + 1", "-(-twice // unit) + 1", _OF_FORMS),
    Mutant(_FORMS, "-(-twice // unit)", "(twice // unit)", _OF_FORMS),
    Mutant(_FORMS, "2 * divisor << self.bits", "2 << self.bits", ("dot, forms, checker",)),
    Mutant(_FORMS, "x // divisor >> bits", "x >> bits", ("dot, forms, checker",)),
    Mutant(_FORMS, "centre += n * (2 * c1 * c2 + sum(both))", "centre += 2 * c1 * c2 + sum(both)", _OF_FORMS),
    Mutant(_FORMS, "twice += n * (2 *", "twice += (2 *", _OF_FORMS),
    Mutant(_FORMS, "c1, c2 = n * c1, n * c2", "pass", ("dot, forms, checker",)),
    Mutant(_FORMS, "*g[len(more) :], *more[len(g) :]", "*g[len(more) :]", ("dot, forms, checker",)),
    Mutant(_FORMS, "*g[len(more) :], *more[len(g) :]", "*more[len(g) :]", ("dot, forms, checker",)),
    Mutant(_FORMS, "[c2 * a for a in g1[len(g2) :]] or ", "", _OF_FORMS),
    Mutant(_FORMS, " or [c1 * b for b in g2[len(g1) :]]", "", _OF_FORMS),
    Mutant(_FORMS, "*map(add, g1, g2), *g1[len(g2) :], *g2[len(g1) :]", "*map(add, g1, g2), *g1[len(g2) :]", _OF_FORMS),
    Mutant(_FORMS, "*map(add, g1, g2), *g1[len(g2) :], *g2[len(g1) :]", "*map(add, g1, g2), *g2[len(g1) :]", _OF_FORMS),
    Mutant(_FORMS, "- sum(map(abs, both))", "- 3 * sum(map(abs, both)) // 2", _OF_FORMS),
    Mutant(_FORMS, "(2 * c1 * c2 + sum(both))", "(2 * c1 * c2)", _OF_FORMS),
    Mutant(_FORMS, "abs(c1) * e2 + ", "", _OF_FORMS),
    Mutant(_FORMS, "+ left.size * right.size)", "+ (left.size - left.e) * right.size)", _OF_FORMS),
    Mutant(
        _FORMS,
        "-(-value.e * abs(slope) >> SLOPE_BITS) + len(g) + 1",
        "-(-value.e * abs(slope) >> SLOPE_BITS) + len(g)",
        _OF_FORMS,
    ),
    Mutant(
        _FORMS,
        "-(-value.e * abs(slope) >> SLOPE_BITS) + len(g) + 1",
        "-(-value.e * abs(slope) >> SLOPE_BITS) + 1",
        _OF_FORMS,
    ),
    Mutant(_FORMS, "-(-value.e * abs(slope) >> SLOPE_BITS)", "(value.e * abs(slope) >> SLOPE_BITS)", _OF_FORMS),
    Mutant(
        _FORMS,
        "enclosed = Form((value.c * slope >> SLOPE_BITS) + middle, g, e + most - middle)",
        "enclosed = Form((value.c * slope >> SLOPE_BITS) + middle, g, e + middle - least)",
        _OF_FORMS,
    ),
    Mutant(
        _FORMS, "enclosed = Form(middle, (), most - middle)", "enclosed = Form(middle, (), middle - least)", _OF_FORMS
    ),
    Mutant(
        _FORMS, "self.c - size, self.c + size", "self.c - size + self.e, self.c + size", (*_OF_FORMS, "flow, checker")
    ),
    # intervals
    Mutant(_INTERVALS, "low + (low * value.denominator != value.numerator << self.bits)", "low", ("intervals",)),
    Mutant(_INTERVALS, "return low // q, -(-high // q)", "return low // q, high // q", ("intervals",)),
    Mutant(_INTERVALS, "return low // q, -(-high // q)", "return -(-low // q), -(-high // q)", ("intervals",)),
    Mutant(_INTERVALS, "return low // unit, -(-high // unit)", "return low // unit, high // unit", ("intervals",)),
    Mutant(
        _INTERVALS, "return low // unit, -(-high // unit)", "return -(-low // unit), -(-high // unit)", ("intervals",)
    ),
    Mutant(_INTERVALS, "unit = divisor << self.bits", "unit = 1 << self.bits", ("dot, intervals",)),
    Mutant(_INTERVALS, "low + n * least", "low + least", ("dot, intervals",)),
    Mutant(_INTERVALS, "high + n * most", "high + most", ("dot, intervals",)),
    Mutant(_INTERVALS, "return near * near, far * far", "return far * far, far * far", ("intervals",)),
    Mutant(_INTERVALS, "return near * near, far * far", "return near * near, a * b", ("intervals",)),
    Mutant(_INTERVALS, "0 if a <= 0 <= b else min(abs(a), abs(b))", "min(abs(a), abs(b))", ("intervals",)),
    Mutant(_INTERVALS, "one // b, -(-one // a)", "one // b, one // a", ("quotient, intervals",)),
    Mutant(_INTERVALS, "one // b, -(-one // a)", "-(-one // b), -(-one // a)", ("quotient, intervals",)),
    # flows
    Mutant(_FLOW, "self._at(terms[n], last[n][order + 1], h)", "self._at(terms[n], None, h)", ("flow, checker",)),
    Mutant(
        _FLOW, "self._at(terms[n], last[n][order + 1], h)", "self._at(terms[n], last[n][order], h)", ("flow, checker",)
    ),
    Mutant(
        _FLOW,
        "ring.add(total, between(*self.intervals.scale(rest, power)))",
        "ring.add(total, between(*self.intervals.scale(rest, power * t)))",
        ("flow, checker",),
    ),
    Mutant(_FLOW, "if low < box[n][0] or box[n][1] < high]", "if False]", ("flow, checker",)),
    Mutant(
        _FLOW, "start[0] + min(low, 0), start[1] + max(high, 0)", "start[0] + low, start[1] + high", ("flow, checker",)
    ),
    Mutant(
        _FLOW,
        "self.intervals.scale(rate or (0, 0), self._length)",
        "self.intervals.scale(rate or (0, 0), self._length / 2)",
        ("flow, checker",),
    ),
    Mutant(_FLOW, "low + min(first[0], second[0]), high + max(first[1], second[1])", "low, high", ("flow, checker",)),
    Mutant(
        _FLOW,
        "self.intervals.scale(last, t ** (order + 1)) for t in (a, b)",
        "self.intervals.scale(last, t ** (order + 1)) for t in (a, a)",
        ("flow, checker",),
    ),
    Mutant(_FLOW, "ring.constant((b - a) / 2)", "ring.constant((b - a) / 3)", ("flow, checker",)),
    Mutant(
        _FLOW,
        "min(low for low, _ in over), min(high for _, high in at)",
        "min(low for low, _ in at), min(high for _, high in at)",
        ("flow, checker",),
    ),
    Mutant(
        _FLOW,
        "max(low for low, _ in at), max(high for _, high in over)",
        "max(low for low, _ in over), max(high for _, high in over)",
        ("oscillator, flow, checker",),
        slack="the greatest value is at least the least one over any slice, as it is at least that at any time",
    ),
    Mutant(_FLOW, "range(slices + 1)", "range(max(slices, 2))", ("flow, checker",)),
    Mutant(_FLOW, "range(fine.substeps)", "range(max(fine.substeps - 1, 1))", ("flow, checker",)),
    # networks
    Mutant(_NETWORKS, "-(-f.e >> self.down) + symbols + 1", "-(-f.e >> self.down) + symbols", ("network",)),
    Mutant(_NETWORKS, "-(-f.e >> self.down) + symbols + 1", "-(-f.e >> self.down)", ("network",)),
    Mutant(_NETWORKS, "-(layer.vague @ size) >> shift", "-(layer.vague @ size) * 0 >> shift", ("network",)),
    Mutant(_NETWORKS, "vague if vague.any() else None", "None", ("network",)),
    Mutant(_NETWORKS, "len(out) // 2 + 1", "1", ("network",)),
    Mutant(_NETWORKS, "len(out) // 2 + 1", "len(out) // 2", ("network",)),
    Mutant(_NETWORKS, "(1 << shift) >> 1, np.flatnonzero", "0, np.flatnonzero", ("network",)),
    Mutant(_NETWORKS, "(low >> _SPLIT) + high", "high", ("network",)),
    Mutant(_NETWORKS, "_joined(z, alone)\n        own", "_joined(z, 0 * alone)\n        own", ("network",)),
    Mutant(_NETWORKS, "+ np.where(slopes, len(z), 0)", "", ("network",)),
    Mutant(
        _NETWORKS,
        "scaled_down(radii, slopes, (1 << SLOPE_BITS) - 1, SLOPE_BITS)",
        "scaled_down(radii, slopes, 0, SLOPE_BITS)",
        ("network",),
    ),
    Mutant(_NETWORKS, "up = (1 << shift) - 1", "up = 0", ("network",)),
    Mutant(_NETWORKS, "most - middle + grown", "middle - least + grown", ("network",)),
    Mutant(_NETWORKS, "if radii.any():", "if False:", ("network",)),
    Mutant(_NETWORKS, "(low < 0) & (high > 0)", "(low < 0) & (z[0] > 0)", ("network",)),
    Mutant(_NETWORKS, "z * passed, radii * passed", "z * passed, radii * 0", ("network",)),
    Mutant(_NETWORKS, "self._norm * float(size.max(initial=0)) < limit / 2", "True", ("network",)),
    Mutant(_NETWORKS, "VALUES, _WEIGHTS, _SHIFT = 50, 36, 40", "VALUES, _WEIGHTS, _SHIFT = 70, 36, 40", ("network",)),
    Mutant(_NETWORKS, "VALUES, _WEIGHTS, _SHIFT = 50, 36, 40", "VALUES, _WEIGHTS, _SHIFT = 50, 60, 60", ("network",)),
    Mutant(_NETWORKS, "radii + own.sum(0) - own[kept].sum(0)", "radii", ("network, checker",)),
    Mutant(_NETWORKS, "own.sum(0) - own[kept].sum(0)", "own.sum(0) - 2 * own[kept].sum(0)", ("network, checker",)),
    Mutant(_NETWORKS, "z[1 + symbols + kept]", "own[kept]", ("network, checker",)),
    Mutant(_NETWORKS, "self.ring.symbols += len(kept)", "pass", ("network, checker",)),
    # networks in float32
    Mutant(_NETWORKS, "+ (np.abs(z).sum(0) + radii >> PRECISION) + 2", "+ 2", _IN_FLOAT32, slack=_ROOM),
    Mutant(_NETWORKS, "spread += _rounding(", "spread += 0 * _rounding(", _IN_FLOAT32),
    Mutant(_NETWORKS, "mass + layer.most_bias", "mass", _IN_FLOAT32),
    Mutant(_NETWORKS, "_rounding(mass + layer", "_rounding(0 * mass + layer", _IN_FLOAT32),
    Mutant(_NETWORKS, "terms = n + 4", "terms = n", _IN_FLOAT32),
    Mutant(_NETWORKS, "PRECISION, UNIT_ERROR = 24, 20", "PRECISION, UNIT_ERROR = 25, 20", _IN_FLOAT32),
    Mutant(_NETWORKS, "PRECISION, UNIT_ERROR = 24, 20", "PRECISION, UNIT_ERROR = 24, 21", _IN_FLOAT32),
    Mutant(_NETWORKS, "error += 1 << (self.bits - UNIT_ERROR)", "pass", _IN_FLOAT32),
]
