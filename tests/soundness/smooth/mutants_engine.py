"""Mutants of the floats: values, lines, forms, flows and networks of the engine."""

from __future__ import annotations

from tests.soundness.smooth.mutants import Mutant

_BOUNDS = "bounds.affine."
_VALUES, _LINES, _FORMS, _FLOW = _BOUNDS + "values", _BOUNDS + "univariate", _BOUNDS + "forms", _BOUNDS + "flow"
_NETWORKS, _REDUCE, _ROUNDING = _BOUNDS + "networks", _BOUNDS + "reduce", "bounds.rounding"
_SINGLE, _OF_QUERIES = "bounds.single", ("network, queries in float32",)
_ZONOTOPE, _IN_FLOAT32 = "bounds.zonotope", ("network, engine in float32",)
_OF_VALUES, _OF_LINES, _OF_FORMS = ("values, floats",), ("lines, engine",), ("forms, engine",)
_OF_FLOWS, _OF_BOXES = ("flow, engine",), ("boxes, engine",)
_BOXES, _EXTREMA = _BOUNDS + "boxes", _BOUNDS + "extrema"
_SPARE = "bounds a priori are 2^5 times what errors are; the degree by itself is covered"

ENGINE = [
    # values: degrees, parts of ln 2 and pi, errors
    Mutant(
        _VALUES, "1 / factorial(n) for n in range(14)", "1 / factorial(n) for n in range(13)", _OF_VALUES, slack=_SPARE
    ),
    Mutant(_VALUES, "1 / factorial(n) for n in range(14)", "1 / factorial(n) for n in range(11)", _OF_VALUES),
    Mutant(
        _VALUES,
        "factorial(2 * n + 1) for n in range(9)",
        "factorial(2 * n + 1) for n in range(8)",
        _OF_VALUES,
        slack=_SPARE,
    ),
    Mutant(_VALUES, "factorial(2 * n + 1) for n in range(9)", "factorial(2 * n + 1) for n in range(6)", _OF_VALUES),
    Mutant(
        _VALUES, "factorial(2 * n) for n in range(9)", "factorial(2 * n) for n in range(8)", _OF_VALUES, slack=_SPARE
    ),
    Mutant(_VALUES, "factorial(2 * n) for n in range(9)", "factorial(2 * n) for n in range(7)", _OF_VALUES),
    Mutant(_VALUES, "_parts(LN2, (42,))", "_parts(LN2, (60,))", _OF_VALUES),
    Mutant(_VALUES, "_parts(PI / 2, (32, 65))", "_parts(PI / 2, (60, 120))", _OF_VALUES),
    Mutant(_VALUES, "- n * _HALF_PI[2]", "", _OF_VALUES, slack=_SPARE),
    Mutant(_VALUES, "- k * _LN2[1]", "", _OF_VALUES),
    Mutant(
        _VALUES, "MOST_EXPONENT, MOST_ANGLE = 700.0, 2.0**20", "MOST_EXPONENT, MOST_ANGLE = 700.0, 2.0**24", _OF_VALUES
    ),
    Mutant(
        _VALUES, "MOST_EXPONENT, MOST_ANGLE = 700.0, 2.0**20", "MOST_EXPONENT, MOST_ANGLE = 600.0, 2.0**20", _OF_VALUES
    ),
    Mutant(_ROUNDING, "EXP_ERROR = 2.0**-46", "EXP_ERROR = 2.0**-54", _OF_VALUES),
    Mutant(_ROUNDING, "UNIT_ERROR = 2.0**-44", "UNIT_ERROR = 2.0**-54", _OF_VALUES),
    Mutant(_ROUNDING, "WAVE_ERROR = 2.0**-46", "WAVE_ERROR = 2.0**-54", _OF_VALUES),
    # lines
    Mutant(
        _ROUNDING,
        "EXP_ERROR = 2.0**-46",
        "EXP_ERROR = 0.0",
        ("exp, lines, engine",),
        slack="the roundings of sums, which are bounded a priori, hide that of the value",
    ),
    Mutant(_ROUNDING, "UNIT_ERROR = 2.0**-44", "UNIT_ERROR = 0.0", ("h, lines, engine", "sigmoid, lines, engine")),
    Mutant(
        _ROUNDING,
        "WAVE_ERROR = 2.0**-46",
        "WAVE_ERROR = 0.0",
        ("sin, lines, engine", "cos, lines, engine"),
    ),
    Mutant(_LINES, "chord = 2 * FEW * (np.maximum(np.abs(fl), np.abs(fu)) + size)", "chord = 0 * size", _OF_LINES),
    Mutant(
        _LINES,
        "+ np.maximum(el, eu) + TINY",
        "+ TINY",
        _OF_LINES,
    ),
    Mutant(_LINES, "2 * FEW * (np.abs(ft) + np.abs(slope) * (reach + np.abs(t)) + size)", "0 * size", _OF_LINES),
    Mutant(
        _LINES,
        "+ 2 * (et + bent * reach) + TINY",
        "+ TINY",
        _OF_LINES,
    ),
    Mutant(_LINES, "np.minimum(first, second) - tangent", "np.maximum(first, second) - tangent", _OF_LINES),
    Mutant(_LINES, "np.maximum(first, second) + tangent", "np.minimum(first, second) + tangent", _OF_LINES),
    Mutant(_LINES, "np.where(convex, up,", "np.where(convex, down,", _OF_LINES),
    Mutant(_LINES, "np.minimum(sl - bl, su - bu)", "np.maximum(sl - bl, su - bu)", _OF_LINES),
    Mutant(_LINES, "np.minimum(sl - bl, su - bu) * (1 - FEW)", "np.minimum(sl - bl, su - bu) * 1.01", _OF_LINES),
    Mutant(_LINES, "- el - FEW * (np.abs(fl) + a * np.abs(low)) - TINY", "", _OF_LINES),
    Mutant(_LINES, "+ eu + FEW * (np.abs(fu) + a * np.abs(high)) + TINY", "", _OF_LINES),
    Mutant(_LINES, "margin = 8 * UNIT_ROUNDOFF * (np.abs(k) + 2) * _PI", "margin = -0.1", _OF_LINES),
    Mutant(
        _LINES,
        "margin = 8 * UNIT_ROUNDOFF * (np.abs(k) + 2) * _PI",
        "margin = 0.0",
        _OF_LINES,
        slack="a curve is bent the other way by the cube of a few units only; other roundings hide it",
    ),
    Mutant(
        _LINES,
        "half = np.maximum(high - t, t - low) * (1 + FEW)",
        "half = np.maximum(high - t, t - low) * 0.8",
        _OF_LINES,
    ),
    Mutant(_LINES, "+ bent * half + et + FEW * (np.abs(ft) + np.abs(a * t))", "", _OF_LINES),
    Mutant(
        _LINES,
        "flat = ~(high - low <= 3.0)",
        "flat = ~(high - low <= 9.0)",
        _OF_LINES,
        slack="the remainder holds over any width; 3 is from where the range is narrower",
    ),
    Mutant(_LINES, "np.nextafter(least, -1.0)", "np.nextafter(least, 1.0)", ("sqrt, lines, engine",)),
    Mutant(_LINES, "np.nextafter(most, np.inf)", "np.nextafter(most, -np.inf)", ("sqrt, lines, engine",)),
    Mutant(
        _LINES,
        "v * UNIT_ROUNDOFF + TINY, slope, slope * FEW",
        "v * 0, slope, slope * 0",
        ("sqrt, lines, engine",),
        slack="2 FEW of the sum covers one rounding more; it is there for what is proved",
    ),
    Mutant(
        _LINES, "np.where(x > values.MOST_EXPONENT, np.inf,", "np.where(x > 800.0, np.inf,", ("exp, lines, engine",)
    ),
    Mutant(
        _LINES,
        "wrong = ~(low > 0) & ~(high < 0)\n    return",
        "wrong = ~(low >= 0) & ~(high <= 0)\n    return",
        ("reciprocal, lines, engine",),
        slack="0 at an end is refused before",
    ),
    # forms
    Mutant(_FORMS, "e += FEW * abs(near) + TINY", "pass", _OF_FORMS),
    Mutant(_FORMS, "left.e + right.e + (FEW * mass + TINY)", "left.e + right.e", _OF_FORMS),
    Mutant(_FORMS, "abs(c) * value.e + (FEW * mass + TINY)", "abs(c) * value.e", _OF_FORMS),
    Mutant(_FORMS, "max(abs(c), SMALLEST_NORMAL) * value.mass", "abs(c) * value.mass", ("scale, forms, engine",)),
    Mutant(_FORMS, "if abs(factor) == 1:", "if abs(c) == 1:", ("scale, forms, engine",)),
    Mutant(_FORMS, "np.all(mass < _EXACT)", "np.all(mass < np.inf)", ("whole combine, forms, engine",)),
    Mutant(
        _FORMS, "integral and all(form.whole() for _, form in terms)", "integral", ("whole combine, forms, engine",)
    ),
    Mutant(_FORMS, "e + (gamma(2 * len(terms) + 3) * mass + TINY)", "e", _OF_FORMS),
    Mutant(_FORMS, "slack = 2 * gamma(left.z.shape[1] + 8)", "slack = 0", _OF_FORMS),
    Mutant(_FORMS, "np.abs(c) * left.e * 2 + 0.5 * r", "np.abs(c) * left.e * 2 + 0.4 * r", ("square, forms, engine",)),
    Mutant(_FORMS, "np.abs(c) * left.e * 2 + 0.5 * r", "np.abs(c) * left.e + 0.5 * r", ("square, forms, engine",)),
    Mutant(_FORMS, "r - 0.5 * np.abs(both).sum(1)", "r - 0.7 * np.abs(both).sum(1)", _OF_FORMS),
    Mutant(_FORMS, "z[:, 0] += 0.5 * both.sum(1)", "z[:, 0] += 0.3 * both.sum(1)", _OF_FORMS),
    Mutant(_FORMS, "np.abs(c) * right.e + np.abs(d) * left.e", "np.abs(d) * left.e", _OF_FORMS),
    Mutant(
        _FORMS,
        "np.abs(a) * value.e) + radius + (FEW * mass + TINY)",
        "np.abs(a) * value.e) + radius",
        _OF_FORMS,
        slack="lines are further from the function than a rounding of a coefficient, by 2 FEW",
    ),
    Mutant(_FORMS, "np.abs(a) * value.e) + radius", "np.abs(a) * value.e) + 0.9 * radius", _OF_FORMS),
    Mutant(
        _FORMS,
        "* (1 + gamma(self.z.shape[1])) + TINY",
        "* (1 - 2.0**-50)",
        _OF_FORMS,
    ),
    Mutant(_FORMS, "error = FEW * (np.abs(c) + r)", "error = 0.0", _OF_FORMS),
    Mutant(
        _FORMS,
        "            low, high = outward(c, c)\n",
        "            low, high = outward(c + 1e-300, c + 1)\n",
        _OF_FORMS,
    ),
    Mutant(
        _ROUNDING,
        "np.nextafter(np.maximum(hi - centre, centre - lo), np.inf)",
        "np.minimum(hi - centre, centre - lo) * 0.99",
        _OF_FORMS,
    ),
    Mutant(_REDUCE, ".sum(1) * (1 + gamma(box.shape[1])) + TINY", ".sum(1) * 0.999", ("reduction",)),
    Mutant(_REDUCE, "order[:, :most]", "order[:, 1 : most + 1]", ("reduction",)),
    # flows
    Mutant(_FLOW, "t ** len(known)", "t ** (len(known) + 1)", _OF_FLOWS),
    Mutant(_FLOW, "last[name][fine.order + 1], h", "None, h", _OF_FLOWS),
    Mutant(_FLOW, "Form(rest.mid[:, None], rest.rad)", "Form(rest.mid[:, None], 0 * rest.rad)", _OF_FLOWS),
    Mutant(_FLOW, "& (taken[name][0] <= lo) & (hi <= taken[name][1])", "", _OF_FLOWS),
    Mutant(_FLOW, "np.minimum(lo * up - TINY, 0.0), np.maximum(hi * up + TINY, 0.0)", "lo * up, hi * up", _OF_FLOWS),
    Mutant(_FLOW, "up = float(h) * (1 + FEW)", "up = float(h) / 2", _OF_FLOWS),
    Mutant(
        _FLOW,
        "up = float(h) * (1 + FEW)",
        "up = float(h)",
        ("product, flow, engine",),
        slack="`ends` has FEW, 8 roundings of the whole, of which it takes 2 itself and this product 2; exact ends are "
        "of a rate that is the same for every D, which is wider than it reaches by a tenth",
    ),
    Mutant(_EXTREMA, "half = length / (2 * slices)", "half = length / (3 * slices)", _OF_FLOWS),
    Mutant(_EXTREMA, "half**j * comb(k, j)", "half**j", _OF_FLOWS),
    Mutant(_EXTREMA, "float((m + half) ** p)", "float(m ** p) * 0", _OF_FLOWS),
    Mutant(
        _EXTREMA,
        "max(float((m + half) ** p), SMALLEST_NORMAL)",
        "float((m + half) ** p)",
        ("oscillator, flow, engine",),
        slack="parts are not so short, nor values so large",
    ),
    Mutant(_EXTREMA, "e[:, 0] + spread * (1", "e[:, 0] + 0.9 * spread * (1", _OF_FLOWS),
    Mutant(_EXTREMA, "e[:, 1:]).sum(1)", "0 * e[:, 1:]).sum(1)", _OF_FLOWS),
    Mutant(_EXTREMA, "sizes @ np.stack([form.e for form in forms])", "0.0", _OF_FLOWS),
    Mutant(
        _EXTREMA,
        "range(slices + 1)]",
        "range(slices)]",
        ("oscillator, flow, engine",),
        slack="the least value is at most that at any one time; further times, of which 0 is left, narrow it only",
    ),
    Mutant(_FLOW, "ring.along(slope, low.min(0)", "ring.along(slope, least.min(0)", _OF_FLOWS),
    Mutant(_FLOW, "high.max(0)), high.max(0))", "high.max(0)), most.max(0))", _OF_FLOWS),
    Mutant(_EXTREMA, "z = self.z - slope", "z = self.z", _OF_FLOWS),
    # boxes
    Mutant(
        _BOXES,
        "error = FEW * self.size",
        "error = 0.0",
        _OF_BOXES,
        slack="mid -+ rad are rounded to the nearest, so not beyond what floats they enclose; the radii of all else "
        "have FEW of the size, of which no operation needs more than half",
    ),
    Mutant(_BOXES, "left.rad + right.rad + (FEW", "left.rad + 0 * (FEW", _OF_BOXES),
    Mutant(_BOXES, "abs(c) * value.rad + error", "c * value.rad + error", _OF_BOXES),
    Mutant(_BOXES, "max(abs(c), SMALLEST_NORMAL) * value.size", "abs(c) * value.size", ("scale, boxes, engine",)),
    Mutant(_BOXES, "most = left.size * right.size * (1 + 2 * FEW)", "most = left.size * right.size * 0.99", _OF_BOXES),
    Mutant(_BOXES, "np.abs(left.mid) - left.rad - FEW * left.size", "np.abs(left.mid)", _OF_BOXES),
    Mutant(
        _BOXES, "np.abs(left.mid) - left.rad - FEW * left.size, 0.0", "np.abs(left.mid) - left.rad, -np.inf", _OF_BOXES
    ),
    Mutant(_BOXES, "most - np.abs(mid) + FEW * most", "0.9 * most - np.abs(mid)", _OF_BOXES),
    Mutant(_BOXES, "least += np.abs(part)", "least += np.abs(size)", ("dot, boxes",)),
    Mutant(_BOXES, "r * (np.abs(slope) + 0.5 * r)", "r * np.abs(slope)", _OF_BOXES),
    Mutant(_BOXES, "r * (np.abs(slope) + 0.5 * r)", "0.5 * r * r", _OF_BOXES),
    Mutant(_BOXES, "2 * values.WAVE_ERROR * (1 + r)", "0.0", _OF_BOXES, (("error = FEW * self.size", "error = 0.0"),)),
    Mutant(_BOXES, "a * value.rad) + rad +", "a * value.rad) +", _OF_BOXES),
    Mutant(_BOXES, "np.where(flat, 0.0, a * value.rad)", "0.0", _OF_BOXES),
    # networks
    Mutant(
        _NETWORKS,
        "radius = np.where(known, 0.0, radius)",
        "radius = np.where(known, 0.0, 0.9 * radius)",
        ("network, engine",),
    ),
    Mutant(
        _NETWORKS,
        "np.where(known, 0.0, FEW * mass + TINY)",
        "0.0",
        ("network, engine",),
        slack="the rows of the next layer are bounded a priori, which hides single roundings",
    ),
    Mutant(_NETWORKS, "e = (e + total(sizes)) * (1", "e = (e + 0.95 * total(sizes)) * (1", ("network, engine",)),
    Mutant(
        _NETWORKS, "np.take_along_axis(units, first, 1)", "np.take_along_axis(sizes, first, 1)", ("network, engine",)
    ),
    Mutant(_NETWORKS, "ring.symbols += first.shape[1]", "pass", ("network, engine",)),
    Mutant(
        _NETWORKS,
        "np.put_along_axis(sizes, first, 0.0, 1)",
        "sizes[:, :_KEPT] = 0.0",
        ("network, engine",),
        slack="the largest count twice then, and are not less than those that are forgotten",
    ),
    # networks in float32
    Mutant(
        _NETWORKS,
        "e = rounded(z, e)",
        "pass",
        _IN_FLOAT32,
        slack="the next sum has room for one rounding more, and underflow, than it makes",
    ),
    Mutant(
        _NETWORKS, "layer.weight_error, z, e, single, alone)", "layer.weight_error, z, e, False, alone)", _IN_FLOAT32
    ),
    Mutant(
        "bounds.zonotope",
        "np.multiply(alone[:, units, None],",
        "np.multiply(0.9 * alone[:, units, None],",
        ("network, engine",),
    ),
    Mutant(_NETWORKS, "e = (e + UNIT_ERROR_32) * (1 + FEW)", "pass", _IN_FLOAT32),
    Mutant(
        _NETWORKS, "if single and layer.activation in SMOOTH", "if single and layer.activation == 'tanh'", _IN_FLOAT32
    ),
    Mutant(_NETWORKS, "lost |= ~np.isfinite(e).all(1)", "lost |= False", _IN_FLOAT32),
    Mutant(_NETWORKS, "e[lost] = np.inf", "pass", _IN_FLOAT32),
    Mutant(_ZONOTOPE, "narrow = (n + 4) * UNIT_ROUNDOFF_32", "narrow = n * UNIT_ROUNDOFF_32", _IN_FLOAT32),
    Mutant(_ZONOTOPE, "(gamma(2) + narrow) * np.abs(bias)", "gamma(2) * np.abs(bias)", _IN_FLOAT32),
    Mutant(_ZONOTOPE, "+ weight_error + narrow", "+ weight_error", _IN_FLOAT32),
    Mutant(_ZONOTOPE, "error += (n + 4 + mass.sum(1, keepdims=True)) * LOST_32", "pass", _IN_FLOAT32),
    Mutant(_ZONOTOPE, "error[times(mass, size) + np.abs(bias) >= HUGE_32] = np.inf", "pass", _IN_FLOAT32),
    Mutant(_ROUNDING, "UNIT_ERROR_32 = 2.0**-20", "UNIT_ERROR_32 = 2.0**-21", _IN_FLOAT32),
    Mutant(_ROUNDING, "LOST_32 = 2 * NORMAL_32", "LOST_32 = 2.0**-149", _IN_FLOAT32),
    # queries in float32
    Mutant(_SINGLE, "np.full((lo.shape[1], lo.shape[0]), UNIT_ERROR_32)", "np.zeros(lo.T.shape)", _OF_QUERIES),
    Mutant(_SINGLE, "UNIT_ERROR_32))", "0.5 * UNIT_ERROR_32))", _OF_QUERIES),
    Mutant(
        _SINGLE,
        "moves.bend(layer.activation, (lo - error).T, (hi + error).T)",
        "moves.rectify(lo.T, hi.T)",
        _OF_QUERIES,
    ),
    Mutant(_SINGLE, 'scale = 1.0 if activation == "tanh" else 0.5', "scale = 0.5", _OF_QUERIES),
    Mutant(_SINGLE, "self.radius * most + off * whole", "self.radius * most", _OF_QUERIES),
    Mutant(_SINGLE, "self.parts * middle[:, :, None]", "self.parts * least[:, :, None]", _OF_QUERIES),
    Mutant(_SINGLE, "near, far = np.maximum(np.maximum(lo, -hi), 0.0)", "near, far = np.maximum(hi, -lo)", _OF_QUERIES),
]
