"""Registries of plug-ins by name, ours and those of other packages (entry points, docs/plugins.md).

Nothing is imported before it is asked for, so that a command line can list names at once. What an entry point names is
code of a distribution that the user has installed; nothing that is read from data is looked for here.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from functools import cache, cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from venmas.errors import UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

log = logging.getLogger(__name__)

SOLVERS, SCENARIOS = "venmas.solvers", "venmas.scenarios"
PROCEDURES, READERS = "venmas.procedures", "venmas.readers"
REACH_SOURCES, LEARNERS = "venmas.reach_sources", "venmas.learners"
GROUPS = (SOLVERS, SCENARIOS, PROCEDURES, READERS, REACH_SOURCES, LEARNERS)
"""Groups of entry points."""

_Kind = TypeVar("_Kind")


class Registry(Generic[_Kind]):
    """Things of one kind by name.

    what: they are called. group: of entry points. own: ours, name to "module:attribute". misfit: why an object of
    another package is none of them, or nothing; it is given the name and the object.
    """

    def __init__(
        self,
        what: str,
        group: str,
        own: Mapping[str, str],
        misfit: Callable[[str, Any], str] = lambda _name, _object: "",
    ) -> None:
        self.what, self.group, self.own, self._misfit = what, group, own, misfit
        self.loaded: dict[str, _Kind] = {}
        """Ours that were asked for so far."""

    @property
    def names(self) -> tuple[str, ...]:
        """All names, ours first."""
        return (*self.own, *self.plugged)

    @cached_property
    def plugged(self) -> dict[str, _Kind]:
        """Those of other packages by name; a warning tells of what is left out."""
        loaded: dict[str, _Kind] = {}
        for point in points(self.group):
            if point.name in self.own or point.name in loaded:
                leave_out(point, f"the name {point.name!r} is taken; its author can rename the entry point")
                continue
            try:
                made = point.load()
                problem = self._misfit(point.name, made)
            except Exception as error:  # of code of others
                problem = f"{type(error).__name__}: {error}"
            if problem:
                leave_out(point, problem)
            else:
                loaded[point.name] = made
        return loaded

    def get(self, name: str) -> _Kind:
        """The one of that name. Raises `UsageError` for an unknown name."""
        if name not in self.loaded and name in self.own:
            module, _, attribute = self.own[name].partition(":")
            self.loaded[name] = getattr(import_module(module), attribute)
        if name in self.loaded:
            return self.loaded[name]
        if name in self.plugged:
            return self.plugged[name]
        raise UsageError(f"unknown {self.what} {name!r}: choose one of {', '.join(self.names)}")


def has(*attributes: str) -> Callable[[str, Any], str]:
    """A `misfit` that asks for attributes, and that `name`, if it is one of them, is that of the entry point."""

    def misfit(name: str, made: Any) -> str:
        if isinstance(made, type):
            return f"it is the class {made.__name__}: name an object, {made.__name__}()"
        if missing := [a for a in attributes if not hasattr(made, a)]:
            return f"it has no {', '.join(missing)}"
        if "name" in attributes and made.name != name:
            return f"its own name is {made.name!r}: both should be the same"
        return ""

    return misfit


@cache
def points(group: str) -> tuple[EntryPoint, ...]:
    """The entry points of a group, by name."""
    return tuple(sorted(_points().select(group=group), key=lambda point: (point.name, point.value)))


@cache
def _points() -> Any:
    from importlib.metadata import entry_points

    return entry_points()


def leave_out(point: EntryPoint, problem: str) -> None:
    """Say that a plug-in is not there."""
    of = f" of {point.dist.name} {point.dist.version}" if point.dist else ""
    log.warning("the plug-in %s = %s%s (%s) is left out: %s", point.name, point.value, of, point.group, problem)


def distributions() -> Iterator[tuple[str, str]]:
    """Names and versions of the distributions that plug in."""
    for point in (p for group in GROUPS for p in points(group)):
        if point.dist is not None:
            yield point.dist.name, point.dist.version
