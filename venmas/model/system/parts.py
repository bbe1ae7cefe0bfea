"""Agents and branches of a system."""

from __future__ import annotations

from dataclasses import dataclass

from venmas.model.expressions.expr import Condition, Expr, Truth


@dataclass(frozen=True)
class Agent:
    """A named action: an expression over the state, with labels for its values where it is an integer."""

    name: str
    expr: Expr
    unit: str = ""
    labels: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True)
class Branch:
    """One way for the environment to answer, where `guard` holds: new values by variable name, others stay."""

    name: str
    updates: tuple[tuple[str, Expr], ...]
    guard: Condition

    @property
    def always(self) -> bool:
        """True when the branch can be taken in every state."""
        return isinstance(self.guard, Truth) and self.guard.value
