"""Numbers of a certificate, and the error for one that does not prove its claim."""

from __future__ import annotations

import re
from fractions import Fraction

from venmas.checker.cell import Form, rational
from venmas.errors import InputError

MAX_DIGITS = 100_000
"""Longest number that is read from a certificate, in characters."""
_NUMBER = re.compile(r"(#?)(-?[0-9a-f]+)(?:/([0-9a-f]+))?", re.ASCII)


class CheckError(InputError):
    """A certificate that does not prove its claim; names the line (0 is the header)."""

    def __init__(self, line: int, problem: str) -> None:
        self.line, self.problem = line, problem
        super().__init__(f"certificate refused at line {line}: {problem}")

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
    raise CheckError(line, f'expected a rational such as "-3/4" or "#-3/f", got {str(text)[:40]!r}')


def read_index(line: int, value: object, count: int) -> int:
    """A place in a list of `count`, from 0; true is not 1. Raises `CheckError`."""
    if type(value) is not int or not 0 <= value < count:
        raise CheckError(line, f"expected a whole number from 0 to {count - 1}, got {str(value)[:40]!r}")
    return value


def read_form(line: int, data: object, size: int) -> Form:
    """A form over `size` free variables. Raises `CheckError`."""
    if not isinstance(data, list) or len(data) != size + 1:
        raise CheckError(line, f"expected a form of {size + 1} numbers over the free variables")
    return tuple(rational(read_number(line, c)) for c in data)
