"""The names that a formula may use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from fractions import Fraction

from venmas.errors import ModelError
from venmas.logic.formula import Formula
from venmas.logic.printing import RESERVED, quoted

_SHOWN = 24


@dataclass(frozen=True)
class Vocabulary:
    """Names by what they stand for; no name may stand for two things (`ModelError`).

    `variables` in the order of the state (position 1 first); `booleans` those that are true or false, which may stand
    alone; `propositions` with their meaning; `constants` named numbers, such as the labels of an integer variable;
    `others` names that no formula may use, with what they are and what to write instead, for messages.
    """

    variables: tuple[str, ...]
    booleans: frozenset[str] = frozenset()
    propositions: Mapping[str, Formula] = field(default_factory=dict)
    constants: Mapping[str, Fraction] = field(default_factory=dict)
    others: Mapping[str, str] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        if strangers := sorted(self.booleans - set(self.variables)):
            raise ModelError(f"Boolean variable {strangers[0]!r} is not among the variables")
        seen: set[str] = set()
        for name in self.names:
            if name in seen:
                raise ModelError(
                    f"the name {name!r} is given twice: variables, propositions and labels share one space"
                )
            if not name or '"' in name or "\n" in name:
                raise ModelError(f"{name!r} cannot be written in a formula: use letters, digits and underscores")
            seen.add(name)

    @property
    def names(self) -> tuple[str, ...]:
        """Every name, variables first."""
        return (*self.variables, *self.propositions, *self.constants)

    def unknown(self, name: str) -> str:
        """The message for a name that is not there: the nearest one, and what exists."""
        if name in self.others:
            return f"unknown name {name!r}: it is {self.others[name]}"
        near = get_close_matches(name, (*self.names, *RESERVED, *self.others), n=1, cutoff=0.5)
        near = near or [known for known in self.names if known.lower() == name.lower()][:1]
        base, _, index = name.partition("[")
        members = [known for known in self.variables if known.startswith(f"{base}[")]
        if members and base not in near:  # a component of another group is not meant
            near = members[:1] if index == "0]" else [m for m in near if m in members]
        message = f"unknown name {name!r}"
        if near and near[0] in self.others:
            return f"{message}, did you mean {near[0]!r}? It is {self.others[near[0]]}"
        if near:
            message += f", did you mean {near[0] if near[0] in RESERVED else quoted(near[0])!r}?"
        if members:
            span = f"{members[0]} to {members[-1]}" if len(members) > 1 else members[0]
            return f"{message}{'' if near else '.'} Formulas count components from 1: there is {span}"
        kinds = (("variables", self.variables), ("propositions", self.propositions), ("constants", self.constants))
        listed = "; ".join(f"{title}: {_listed(tuple(names))}" for title, names in kinds if names)
        return f"{message} Known {listed}" if near else f"{message}. Known {listed}"


def _listed(names: tuple[str, ...]) -> str:
    more = f", ... ({len(names)} in all)" if len(names) > _SHOWN else ""
    return ", ".join(map(quoted, names[:_SHOWN])) + more
