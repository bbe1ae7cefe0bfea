"""Numbers of a certificate, and the error for one that does not prove its claim."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction

from venmas.checker.exact.cell import Form, Q, rational
from venmas.errors import RefusedError

MAX_DIGITS = 100_000
"""Longest number that is read from a certificate, in characters."""
_NUMBER = re.compile(r"(#?)(-?[0-9a-f]+)(?:/([0-9a-f]+))?", re.ASCII)


class CheckError(RefusedError):
    """A certificate that does not prove its claim; names the line (0 is the header)."""

    line: int

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(problem, line)

    def __reduce__(self) -> tuple[type, tuple[int, str]]:
        return type(self), (self.line, self.problem)


def read_number(line: int, text: object) -> Fraction:
    """A rational written as text, exactly. Raises `CheckError`."""
    match = _NUMBER.fullmatch(text) if isinstance(text, str) and len(text) <= MAX_DIGITS else None
    if match is not None:
        base = 16 if match[1] else 10
        try:
            return Fraction(int(match[2], base), int(match[3] or "1", base))
        except (ValueError, ZeroDivisionError):  # Python refuses decimal numbers of thousands of digits
            pass
    raise _no_number(line, text)


def read_index(line: int, value: object, count: int) -> int:
    """A place in a list of `count`, from 0; true is not 1. Raises `CheckError`."""
    if type(value) is not int or not 0 <= value < count:
        raise CheckError(line, f"expected a whole number from 0 to {count - 1}, got {str(value)[:40]!r}")
    return value


def read_texts(line: int, data: object, size: int) -> tuple[str, ...]:
    """So many numbers as texts: the numbers of a form, or the ends of a box. Raises `CheckError`."""
    if not isinstance(data, list) or len(data) != size:
        raise CheckError(line, f"expected {size} numbers")
    for number in data:
        if not isinstance(number, str):
            raise _no_number(line, number)
    return tuple(data)


def read_form(line: int, texts: Sequence[str]) -> Form:
    """The numbers themselves. Raises `CheckError`."""
    return tuple(rational(read_number(line, text)) for text in texts)


def write_number(value: Q) -> str:
    """A rational as text: decimal digits, or, as long ones are slow to convert, ``#`` and hexadecimal ones."""
    top, bottom = int(value.numerator), int(value.denominator)
    if max(top.bit_length(), bottom.bit_length()) < 256:
        return str(top) if bottom == 1 else f"{top}/{bottom}"
    return f"#{top:x}" if bottom == 1 else f"#{top:x}/{bottom:x}"


def _no_number(line: int, text: object) -> CheckError:
    return CheckError(line, f'expected a rational such as "-3/4" or "#-3/f", got {str(text)[:40]!r}')
