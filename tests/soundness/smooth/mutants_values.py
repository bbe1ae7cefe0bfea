"""Mutants of values in integers: `venmas.model.evaluation.elementary`."""

from __future__ import annotations

from tests.soundness.smooth.mutants import Mutant

_FUNCTIONS = "model.evaluation.elementary."
_EXP, _WAVE, _LOGISTIC = _FUNCTIONS + "exponential", _FUNCTIONS + "trigonometry", _FUNCTIONS + "logistic"
_OF_EXP = ("exp, values, integers",)
_OF_WAVE = ("sin, values, integers", "cos, values, integers")
_OF_UNITS = ("tanh, values, integers", "sigmoid, values, integers")
_NO_GUARD = (("bits + 2 * k + 24", "bits + k"),)
_NO_TURN = (("_GUARD = 24", "_GUARD = 0"),)
_NO_UNIT = (("_GUARD = 8", "_GUARD = 0"),)

VALUES = [
    # values: degrees, remainders, guard bits, directions
    Mutant(_EXP, "bits + 2 * k + 24", "bits + 2", _OF_EXP),
    Mutant(_EXP, "(3 * whole >> 1 if x > 0 else 0)", "0", _OF_EXP),
    Mutant(_EXP, "while term:", "while n < 5:", _OF_EXP),
    Mutant(_EXP, "low += term", "low += term + 1", _OF_EXP, _NO_GUARD),
    Mutant(_EXP, "low = low * low >> work", "low = -(-low * low >> work)", _OF_EXP, _NO_GUARD),
    Mutant(_EXP, "high = low - (-low * ((terms + 2) << (k + 2)) >> work)", "high = low + 1", _OF_EXP, _NO_GUARD),
    Mutant(_EXP, "(terms + 2) << (k + 2)", "1 << 2", _OF_EXP, _NO_GUARD),
    Mutant(_EXP, "one // high, -(-one // low)", "one // low, -(-one // high)", _OF_EXP),
    Mutant(_EXP, "one // high, -(-one // low)", "one // high, one // low", _OF_EXP, _NO_GUARD),
    Mutant(
        _EXP,
        "one // high, -(-one // low)",
        "-(-one // high), -(-one // low)",
        _OF_EXP,
        _NO_GUARD,
        slack="high is further from the value than the unit that is lost",
    ),
    Mutant(_FUNCTIONS + "function", "low >> by, -(-high >> by)", "low >> by, high >> by", ("values, integers",)),
    Mutant(
        _FUNCTIONS + "function",
        "low >> by, -(-high >> by)",
        "-(-low >> by), -(-high >> by)",
        ("values, integers",),
    ),
    Mutant(_WAVE, "_GUARD = 24", "_GUARD = 1", _OF_WAVE),
    Mutant(
        _WAVE,
        "(16 * a - 4 * d, 16 * b - 4 * c)",
        "(16 * a - 4 * c, 16 * b - 4 * d)",
        ("pi",),
        _NO_TURN,
    ),
    Mutant(_WAVE, "16 * a - 4 * d", "16 * a - 4 * d + 64", _OF_WAVE, _NO_TURN),
    Mutant(_WAVE, "return low - 1, high + 1", "return low + 1, high + 1", ("pi",), _NO_TURN),
    Mutant(_WAVE, "low - term - 1, high - term", "low - term, high - term", _OF_WAVE, _NO_TURN),
    Mutant(_WAVE, "low + term, high + term + 1", "low + term, high + term", _OF_WAVE, _NO_TURN),
    Mutant(
        _WAVE,
        "return low - most, high + most",
        "return low, high",
        _OF_WAVE,
        (*_NO_TURN, ("while most > 1:", "while n < 8:")),
    ),
    Mutant(_WAVE, "r * r >> work, -(-r * r >> work)", "r * r >> work, r * r >> work", _OF_WAVE, _NO_TURN),
    Mutant(_WAVE, "((n + 1) * (n + 2))\n        most", "((n + 1) * (n + 3))\n        most", _OF_WAVE),
    Mutant(
        _WAVE,
        "near = 0 if low <= 0 <= high else min(abs(low), abs(high))",
        "near = max(abs(low), abs(high))",
        _OF_WAVE,
        _NO_TURN,
    ),
    Mutant(_WAVE, "_series(far, work, 0)[0]", "_series(near, work, 0)[0]", _OF_WAVE, _NO_TURN),
    Mutant(_WAVE, "+ max(0, x.bit_length() - bits)\n    scaled = x <<", "\n    scaled = x <<", _OF_WAVE),
    Mutant(_WAVE, "range(first + 1, last + 1)", "range(first + 1, last)", _OF_WAVE),
    Mutant(_WAVE, "range(first + 1, last + 1)", "range(first + 2, last + 1)", _OF_WAVE),
    Mutant(_WAVE, "first[0] != last[1]", "first[1] != last[0]", _OF_WAVE, _NO_TURN),
    Mutant(
        _WAVE,
        "return min(ends), max(ends)",
        "return min(ends), min(ends)",
        (*_OF_WAVE, "lines, checker"),
        _NO_TURN,
        slack="a turn that is within a few units of an end changes the range by less than a unit",
    ),
    Mutant(
        _LOGISTIC,
        "square // (one + high), -(-square // (one + low))",
        "square // (one + low), -(-square // (one + high))",
        _OF_UNITS,
        _NO_UNIT,
    ),
    Mutant(_LOGISTIC, "-(-square // (one + low))", "square // (one + low)", _OF_UNITS, _NO_UNIT),
    Mutant(
        _LOGISTIC,
        "low * (one - low) >> work, -(-high * (one - high) >> work)",
        "low * (one - low) >> work, high * (one - high) >> work",
        _OF_UNITS,
        _NO_UNIT,
    ),
    Mutant(
        _LOGISTIC,
        "((one - most) << work) // (one + most)",
        "((one - least) << work) // (one + least)",
        _OF_UNITS,
        _NO_UNIT,
    ),
    Mutant(
        _LOGISTIC,
        "-(-((one - least) << work) // (one + least))",
        "((one - least) << work) // (one + least)",
        _OF_UNITS,
        _NO_UNIT,
    ),
    Mutant(_LOGISTIC, "one - high * high), one - low * low", "one - low * low), one - low * low", _OF_UNITS, _NO_UNIT),
    Mutant(_FUNCTIONS + "root", "low + (low * low != x << bits)", "low", ("sqrt, values, integers",)),
    Mutant(_FUNCTIONS + "root", "-(-one // (2 * low))", "one // (2 * low)", ("sqrt, values, integers",)),
    Mutant(_FUNCTIONS + "root", "one // (2 * high)", "one // (2 * low)", ("sqrt, values, integers",)),
]
