"""Derivations that every run has a property, and the numbers of steps that they prove for all runs alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from venmas.checker.forever.later import Later
from venmas.checker.forever.rising import Rises
from venmas.checker.forever.rules import Arrive, Both, Derived, Recur, Window
from venmas.logic import And, Finally, Formula, Globally, Until, is_temporal, subformulas
from venmas.logic.automata.automaton import Automaton
from venmas.logic.printing import to_short_text
from venmas.procedures.forever.claims.proof import Claimed, Derivation, DerivationProof, Inferred, claims

_MOST_TEXT = 300


@dataclass(frozen=True)
class RunsProof(DerivationProof):
    """A derivation that has a property of linear time follow. soon: steps after which every run has shown it, where
    that takes a number of steps; texts: the number of steps of each part of it, and the sets.
    """

    soon: int | None
    texts: tuple[str, ...]
    kind: ClassVar[str] = "forever-ltl"
    within: ClassVar[int | None] = None  # of the claim, which says nothing of it

    @classmethod
    def of(cls, formula: Formula, derivation: Derivation, sets: Mapping[str, Formula]) -> RunsProof:
        """The proof of a derivation of a formula."""
        parts = [(formula, derivation)]
        if isinstance(formula, And) and isinstance(derivation, Inferred) and isinstance(derivation.rule, Both):
            parts = list(zip(formula.operands, derivation.parts, strict=True))
        texts = [f"{to_short_text(part)}: {how}" for part, shown in parts for how in _told(part, shown)]
        used = {node.start for node in claims(derivation) if isinstance(node, Claimed)}
        texts += [f"{name} = {to_short_text(states)}"[:_MOST_TEXT] for name, states in sets.items() if name in used]
        return cls(derivation, sets, _soon(parts[1:]), tuple(texts))

    def facts(self, automaton: Automaton) -> dict[str, Any]:
        """Sentences of a report."""
        known = {"by": "derivation", "from": "initial", "within": self.soon, "texts": list(self.texts)}
        return known | {"said": None, "states": None, "obligations": []}


def _soon(parts: list[tuple[Formula, Derivation]]) -> int | None:
    steps: list[int] = []
    for formula, derivation in parts:
        windows = _windows(derivation)
        if _rising(derivation) is not None:
            return None
        now = isinstance(formula, Finally | Until) and not any(map(is_temporal, formula.children))
        if not now or len(windows) != 1:
            return None
        steps.append(_before(derivation) + windows[0].within)
    return max(steps, default=None)


def _windows(derivation: Derivation) -> list[Window]:
    return [rule for rule in _rules(derivation) if isinstance(rule, Window)]


def _before(derivation: Derivation) -> int:
    """Steps into the set from which the last part of a derivation is about."""
    return sum(rule.steps for rule in _rules(derivation) if isinstance(rule, Arrive | Later))


def _rising(derivation: Derivation) -> Rises | None:
    """A value that rises until something holds, so that no number of steps is known."""
    return next((rule for rule in _rules(derivation) if isinstance(rule, Rises)), None)


def _rules(derivation: Derivation) -> list[Derived]:
    return [node.rule for node in claims(derivation) if isinstance(node, Inferred)]


def _told(formula: Formula, derivation: Derivation) -> Iterator[str]:
    for rule in _rules(derivation):
        if isinstance(rule, Recur):
            yield f"at least every {max(rule.into, rule.again) + rule.within} steps"
        elif isinstance(rule, Later):
            yield f"from step {_before(derivation)} on"
    if (rises := _rising(derivation)) is not None:
        yield f"in the end, as {rises.said}"
        return
    within = formula.children[-1] if formula.children else formula
    lasting = any(isinstance(node, Globally) for node in subformulas(within))
    for window in _windows(derivation):
        if window.context != "here":
            yield f"each time within {window.within} steps"
        else:
            steps = _before(derivation) + window.within
            yield f"from step {steps} on" if lasting else f"within {steps} steps"
