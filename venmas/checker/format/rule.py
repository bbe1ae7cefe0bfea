"""A rule of a certificate: what one line states; the registry of all rules by name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from venmas.checker.format.numbers import CheckError

if TYPE_CHECKING:
    from venmas.checker.goals.rule import Place

Line = Mapping[str, Any]


class Rule(ABC):
    """A line of a certificate."""

    __slots__ = ()
    name: ClassVar[str]
    keys: ClassVar[Mapping[str, str]]
    """Entries of its line beside the name, in order, with the names of its fields."""
    misfit: ClassVar[str]
    """What is said of a line of its name with other entries."""

    def to_json(self) -> dict[str, object]:
        """The line: its name and its entries."""
        return {"rule": self.name, **{key: _plain(getattr(self, f)) for key, f in self.keys.items()}}

    @classmethod
    @abstractmethod
    def from_json(cls, data: Line, at: Place) -> Self:
        """The rule that a line of its name states. Raises `CheckError` for any that `to_json` would not write."""

    @classmethod
    def entries(cls, data: Line, at: Place) -> list[Any]:
        """The entries of a line that has exactly these. Raises `CheckError`."""
        if len(data) != len(cls.keys) + 1:
            raise cls.refused(data, at)
        try:
            return [data[key] for key in cls.keys]
        except KeyError:
            raise cls.refused(data, at) from None

    @classmethod
    def refused(cls, data: Line, at: Place) -> CheckError:
        """The refusal of a line whose entries are not those of the rule."""
        return CheckError(at.line, f"{cls.misfit}: {str(data)[:60]}")


RULES: dict[str, type[Rule]] = {}
"""All rules, by name."""

R = TypeVar("R", bound=Rule)


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
        kind.name, kind.keys = name, {f.metadata.get("key", f.name): f.name for f in fields(kind)}
        RULES[name] = kind
        return kind

    return registered


def kind_of(data: Line) -> type[Rule] | None:
    """The rule that a line names; None where there is none of that name."""
    name = data.get("rule")
    return RULES.get(name) if isinstance(name, str) else None


def _plain(value: object) -> object:
    return [_plain(part) for part in value] if isinstance(value, tuple) else value
