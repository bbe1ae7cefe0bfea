"""One exception tree.

Everything that a user can cause derives from `InputError` and is shown as one message without a traceback; every
message says what was given, what was expected, where, and what to do about it.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from enum import StrEnum
from typing import ClassVar


class Reason(StrEnum):
    """Why an outcome, or a verdict, is unknown.

    `TOLERANCE` blames what a solver returned; what procedures without a solver leave undecided is `OPEN`. `TIE`: a
    comparison of real numbers stays open at the greatest precision (`venmas.model.smooth`).
    """

    OPEN = "open"
    TIME = "time"
    MEMORY = "memory"
    LICENCE = "licence"
    TOLERANCE = "tolerance"
    FAILURE = "failure"
    UNBOUNDED = "unbounded"
    INTERRUPTED = "interrupted"
    TIE = "tie"


def install(extra: str) -> str:
    """How to get what an optional part of VenMAS needs, by the name of its extra in setup.cfg; ends a message."""
    return f'pip install ".[{extra}]" in the folder of the sources of VenMAS'


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The hint of a message about an unknown name: the nearest known one in parentheses, or nothing.

    Case does not count. A component that is counted from 0, as Python does, is taken for that of formulas: ``x[1]``
    for ``x[0]``.
    """
    names = list(known)
    base, _, index = name.partition("[")
    near = [f"{base}[1]"] if index == "0]" and f"{base}[1]" in names else []
    near = near or [k for k in names if k.lower() == name.lower()] or get_close_matches(name, names, 1)
    return f" (did you mean {near[0]!r}?)" if near else ""


class VenmasError(Exception):
    """Base of all errors raised on purpose by VenMAS."""


class LimitError(VenmasError):
    """A limit was met: nothing is known. `reason` is ``time`` or ``memory``."""

    def __init__(self, reason: str, message: str) -> None:
        self.reason = reason
        super().__init__(message)

    def __reduce__(self) -> tuple[type, tuple[str, str]]:
        return type(self), (self.reason, str(self))


class InputError(VenmasError):
    """Something given by the user is wrong; `status` is the exit status of a command that ends with it."""

    status: ClassVar[int] = 2


class RefusedError(InputError):
    """What claims to be a proof, or to hold one, and does not. `line`: of a certificate, where it is known."""

    status = 30

    def __init__(self, problem: str, line: int | None = None) -> None:
        self.problem, self.line = problem, line
        where = "" if line is None else f"certificate refused at line {line}: "
        super().__init__(where + problem)


class FormulaError(InputError):
    """A formula that does not parse or names something unknown.

    `line` and `column` are 1-based; the line is shown with a caret below the column.
    """

    def __init__(self, message: str, text: str = "", line: int = 0, column: int = 0) -> None:
        self.problem, self.text, self.line, self.column = message, text, line, column
        super().__init__(_with_caret(message, text, line, column))

    def __reduce__(self) -> tuple[type, tuple[str, str, int, int]]:
        return type(self), (self.problem, self.text, self.line, self.column)


class AutomatonError(FormulaError):
    """An automaton that is not well formed, or a file that cannot be read as one."""


class ModelError(InputError):
    """A system that is not well formed: unknown variables, missing cases, a state that leaves its box."""


class ScenarioError(InputError):
    """A scenario that cannot be found or loaded, or a parameter it does not take."""


class NetworkError(InputError):
    """A network file that cannot be read, or holds what is not supported."""


class CircuitError(InputError):
    """A netlist that is not well formed, or has something that is not read."""


class UsageError(InputError):
    """Options that do not fit together, files that cannot be read or written."""


class StoreError(InputError):
    """A file of stored results that is not one, is damaged, in use, or cannot be written."""


class SolverUnavailableError(InputError):
    """A solver that was asked for by name and is not installed or not licensed."""


_CARET_WINDOW = 100


def _with_caret(message: str, text: str, line: int, column: int) -> str:
    """Place `message` over the offending line of `text` with a caret below; long lines are cut to a window."""
    if line < 1:
        return message
    lines = text.splitlines() or [""]
    shown, at = lines[min(line, len(lines)) - 1].replace("\t", " "), column - 1
    if len(shown) > _CARET_WINDOW:
        start = max(0, at - _CARET_WINDOW // 2)
        shown, at = shown[start : start + _CARET_WINDOW], at - start
    return f"{message}\n  line {line}, column {column}:\n    {shown}\n    {' ' * at}^"
