"""`--sweep`: parameters that take several values, each with each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product

from venmas.cli.options import read_settings
from venmas.errors import InputError, UsageError
from venmas.logic.linear import as_fraction, format_number

MOST = 10_000
"""Values of one parameter, and combinations of all."""


def read_sweeps(texts: Sequence[str], settings: Mapping[str, str]) -> list[dict[str, str]]:
    """The settings of each combination, the last parameter fastest; one without any where nothing is swept.

    Raises `UsageError` for texts other than ``NAME=LOW..HIGH:STEP`` and ``NAME=A,B,C``, and for names set twice.
    """
    swept = {name: list(_values(name, text)) for name, text in read_settings(texts, "--sweep").items()}
    for name in swept:
        if name in settings:
            raise UsageError(f"--sweep and --set both give {name!r}: leave one of them out")
    count = 1
    for values in swept.values():
        count *= len(values)
    if count > MOST:
        raise UsageError(f"--sweep: {count} combinations of parameters are more than {MOST}: take larger steps")
    return [dict(zip(swept, values, strict=True)) for values in product(*swept.values())]


def _values(name: str, text: str) -> Iterator[str]:
    given = f"--sweep {name}={text}"
    ends, colon, step = text.partition(":")
    if not colon:
        values = [part.strip() for part in text.split(",")]
        if not all(values) or len(values) > MOST:
            raise UsageError(f"{given}: expected values as in {name}=-20..-40:5 or {name}=1,2,4")
        if len(values) == 1 and ".." in text:
            raise UsageError(
                f"{given}: a step is missing, as in {name}={text}:5; --set {name}={text} is a range of which all "
                "values are meant at once"
            )
        yield from values
        return
    first, dots, last = ends.partition("..")
    try:
        low, high, by = (as_fraction(part.strip()) for part in (first, last, step))
    except (InputError, ValueError, TypeError, ZeroDivisionError):
        low = high = by = Fraction(0)
    if not dots or by <= 0:
        raise UsageError(f"{given}: expected two numbers and a step above 0, as in {name}=-20..-40:5")
    count = int(abs(high - low) / by) + 1
    if count > MOST:
        raise UsageError(f"{given} has {count} values, more than {MOST}: take a larger step")
    sign = 1 if high >= low else -1
    yield from (format_number(low + sign * i * by) for i in range(count))
