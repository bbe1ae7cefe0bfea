"""Derivations that every run has a property, and the numbers of steps that they prove for all runs alike."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from venmas.checker.forever.rules import Recur, Window
from venmas.checker.forever.sequents import INIT
from venmas.logic import And, Finally, Formula, Globally, Until, is_temporal, subformulas
from venmas.logic.automata.automaton import Automaton
from venmas.logic.printing import to_short_text
from venmas.procedures.forever.claims.proof import Claimed, Derivation, DerivationProof, Inferred, claims

_MOST_TEXT = 300


@dataclass(frozen=True)
class RunsProof(DerivationProof):
    """A derivation of `formula`, which has the property of linear time follow."""

    formula: Formula
    kind: ClassVar[str] = "forever-ltl"
    within: ClassVar[int | None] = None  # of the claim, which says nothing of it

    def facts(self, automaton: Automaton) -> dict[str, Any]:
        """Sentences of a report: the number of steps of each part, and the sets."""
        return {"by": "derivation", "from": INIT + "ial", "within": self._soon(), "texts": list(self._texts())}

    def _parts(self) -> list[tuple[Formula, Derivation]]:
        if isinstance(self.formula, And) and isinstance(self.derivation, Inferred):
            return list(zip(self.formula.operands, self.derivation.parts, strict=True))
        return [(self.formula, self.derivation)]

    def _soon(self) -> int | None:
        """Steps after which every run has shown the property, where that takes a number of steps."""
        steps: list[int] = []
        for formula, derivation in self._parts()[1:]:
            windows = _windows(derivation)
            now = isinstance(formula, Finally | Until) and not any(map(is_temporal, formula.children))
            if not now or len(windows) != 1:
                return None
            steps.append(windows[0].within)
        return max(steps, default=None)

    def _texts(self) -> Iterator[str]:
        for formula, derivation in self._parts():
            yield from (f"{to_short_text(formula)}: {how}" for how in _told(formula, derivation))
        used = {node.start for node in claims(self.derivation) if isinstance(node, Claimed)}
        for name, states in self.sets.items():
            if name in used:
                yield f"{name} = {to_short_text(states)}"[:_MOST_TEXT]


def _windows(derivation: Derivation) -> list[Window]:
    rules = (node.rule for node in claims(derivation) if isinstance(node, Inferred))
    return [rule for rule in rules if isinstance(rule, Window)]


def _told(formula: Formula, derivation: Derivation) -> Iterator[str]:
    for node in claims(derivation):
        if isinstance(node, Inferred) and isinstance(node.rule, Recur):
            yield f"at least every {max(node.rule.into, node.rule.again) + node.rule.within} steps"
    lasting = any(isinstance(node, Globally) for node in subformulas(formula.children[-1]))
    for window in _windows(derivation):
        if window.context != "here":
            yield f"each time within {window.within} steps"
        else:
            yield f"from step {window.within} on" if lasting else f"within {window.within} steps"
