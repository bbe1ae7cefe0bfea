"""The lines of a certificate: one reader for every proof.

A proof takes the rules that it expects, one after the other; whatever else stands there is refused with the number of
its line. Nothing is read before it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from venmas.checker.format.fields import MisfitError
from venmas.checker.format.numbers import CheckError
from venmas.checker.format.rule import End, Rule, kind_of
from venmas.errors import InputError, RefusedError, UsageError

Line = Mapping[str, Any]
Tick = Callable[[int], None]
R = TypeVar("R", bound=Rule)


class DamagedError(UsageError):
    """A file that ends too early, or does not unpack: what it claims is not known to its end."""


@dataclass
class Checked:
    """Result of a check."""

    lines: int = 0

    def solvers(self) -> list[str]:
        """Those on whose word alone something rests."""
        return []

    def counts(self) -> dict[str, int]:
        """Numbers by name."""
        return {name: value for name, value in vars(self).items() if type(value) is int}


class _Rows:
    """The lines of a file, the next of which may be looked at before it is taken."""

    def __init__(self, rows: Iterable[Line]) -> None:
        self._rows, self._ahead = iter(rows), list[Line]()

    def peek(self) -> Line | None:
        if not self._ahead:
            self._ahead += [row for row in [next(self._rows, None)] if row is not None]
        return self._ahead[0] if self._ahead else None

    def take(self) -> Line | None:
        row = self.peek()
        self._ahead.clear()
        return row


class Lines:
    """The lines of a proof. number: of the line that was taken last, 0 for the header; tick: called with each."""

    def __init__(self, rows: Iterable[Line], tick: Tick = lambda _: None) -> None:
        self._rows, self._tick, self._before, self._whole, self.number = _Rows(rows), tick, 0, True, 0

    def next(self, *kinds: type[R]) -> R:
        """The next line, which states one of these rules. Raises `CheckError`."""
        with self._numbered():
            row = self._rows.take()
        self.number += 1
        if row is None:
            raise self.refused("the certificate ends before its proof does")
        self.tick()
        kind = kind_of(row.get("rule"))
        if kind is None or not issubclass(kind, kinds):
            expected = " or ".join(str(getattr(one, "name", one.__doc__)).partition("\n")[0] for one in kinds)
            raise self.refused(f"expected {expected}: {str(row)[:60]}")
        try:
            rule = kind.read(row)
        except MisfitError as error:
            raise self.refused(f"{kind.name}: {error}") from None
        assert isinstance(rule, kinds)
        return rule

    def take(self, kind: type[R]) -> R | None:
        """The next line, if it is one of this rule."""
        with self._numbered():
            row = self._rows.peek()
        return self.next(kind) if row is not None and row.get("rule") == kind.name else None

    def end(self, last: Rule | None = None) -> None:
        """Take the last line, if it is not the one that was taken: its own number, and nothing follows."""
        last = last or self.next(End)
        if last != End(self.number):
            raise self.refused(f"expected the end of the proof, with its own number {self.number}")
        if self._whole:
            with self._numbered():
                if self._rows.peek() is not None:
                    raise CheckError(self.number + 1, "there is more after the end of the proof")

    @contextmanager
    def part(self) -> Iterator[Lines]:
        """A proof inside the proof: its lines are numbered from 1, and it has an end of its own."""
        inner = Lines((), self._tick)
        inner._rows, inner._before, inner._whole = self._rows, self._before + self.number, False
        try:
            with inner.refusing():
                yield inner
        except CheckError as error:
            raise CheckError(self.number + error.line, error.problem) from error
        self.number += inner.number

    def apart(self) -> list[Line]:
        """The lines of a proof inside the proof, with its end, as they stand: taken, and not looked at."""
        rows: list[Line] = []
        while not rows or rows[-1].get("rule") != End.name:
            with self._numbered():
                row = self._rows.take()
            self.number += 1
            if row is None:
                raise self.refused("the certificate ends before its proof does")
            rows.append(row)
        return rows

    def of(self, rows: Iterable[Line]) -> Lines:
        """Lines of a proof from elsewhere."""
        return Lines(rows, self._tick)

    def tick(self) -> None:
        """Tell that the line is being looked at."""
        self._tick(self._before + self.number)

    def refused(self, problem: str) -> CheckError:
        """The refusal of the line that was taken last."""
        return CheckError(self.number, problem)

    @contextmanager
    def refusing(self) -> Iterator[None]:
        """Whatever a line makes the checker stumble over is a refusal of it."""
        try:
            yield
        except (RefusedError, DamagedError):
            raise
        except RecursionError as error:
            raise self.refused("expressions are nested too deeply to be checked") from error
        except (InputError, ValueError, OverflowError) as error:
            raise self.refused(str(error)) from error

    @contextmanager
    def _numbered(self) -> Iterator[None]:
        """Refusals of lines that can not be read, which are numbered as in the file, as of this proof."""
        try:
            yield
        except CheckError as error:
            raise CheckError(error.line - self._before, error.problem) from error
