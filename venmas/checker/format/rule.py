"""A rule of a certificate: what one line states; the registry of all rules by name."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable
from dataclasses import dataclass, is_dataclass
from typing import ClassVar, TypeVar

from venmas.checker.format.fields import Count, Read, entries, record


class Rule(ABC):
    """A line of a certificate: a frozen dataclass, whose fields are the entries of the line (`format.fields`)."""

    __slots__ = ()
    name: ClassVar[str]
    read: ClassVar[Read]
    """What reads a line of its name. Raises `MisfitError` for any that `to_json` would not write."""

    def to_json(self) -> dict[str, object]:
        """The line: its name and its entries."""
        return {"rule": self.name, **entries(self)}


RULES: dict[str, type[Rule]] = {}
"""All rules, by name."""

R = TypeVar("R", bound=Rule)


def kind_of(name: object) -> type[Rule] | None:
    """The rule of a name; None where there is none."""
    return RULES.get(name) if isinstance(name, str) else None


def rule(name: str) -> Callable[[type[R]], type[R]]:
    """Register a dataclass as the rule of a name. Raises `TypeError` where it lacks something, or the name is taken."""

    def registered(kind: type[R]) -> type[R]:
        missing = sorted(getattr(kind, "__abstractmethods__", ()))
        if missing:
            raise TypeError(f"rule {name!r}: {kind.__name__} lacks {' and '.join(missing)}")
        if not is_dataclass(kind):
            raise TypeError(f"rule {name!r}: {kind.__name__} is no dataclass (write @rule above @dataclass)")
        if name in RULES:
            raise TypeError(f"rule {name!r} exists already: {RULES[name].__name__}")
        kind.name, kind.read = name, staticmethod(record(kind, frozenset({"rule"})))
        RULES[name] = kind
        return kind

    return registered


@rule("end")
@dataclass(frozen=True, slots=True)
class End(Rule):
    """A proof is complete; lines: the number of this one."""

    lines: Count
