"""The rules of what holds for ever some steps after runs are in a set, as they are in it again and again.

    later    X |- AG AX^n b                                             X |- AF AG b
    resume   X |- AX^t S;  S |- AG AX^n b;  X |- AG[0,t+n-1] b          X |- AG b

All states that n steps lead to from any state of a run have b, and so have all that come after these (later): from step
t + n on where runs are in S after t (resume). That S |- AG AX^n b is shown as any AG is, by `close`; S itself need not
have b. `tests/checker/test_forever_rules.py` tries them on random graphs.
"""

from __future__ import annotations

from dataclasses import dataclass

from venmas.checker.forever.rules import By, Derived, Name, into
from venmas.checker.forever.sequents import Scope, Sequent
from venmas.checker.format.fields import Count
from venmas.checker.format.rule import rule
from venmas.errors import FormulaError
from venmas.logic import Finally, Globally, Quantifier

_MOST = 100_000


@rule("later")
@dataclass(frozen=True, slots=True)
class Later(Derived):
    """All states that are reached by some steps from any state of a run satisfy a formula: it holds from then on."""

    by: By
    start: Name
    steps: Count
    holds: str

    def needs(self, scope: Scope) -> list[Sequent]:  # noqa: D102
        later = into(self.steps, scope.read(self.holds))
        return [Sequent.of(self.start, Globally(Quantifier.ALL, 0, None, later))]

    def shows(self, scope: Scope) -> Sequent:  # noqa: D102
        always = Globally(Quantifier.ALL, 0, None, scope.read(self.holds))
        return Sequent.of(self.start, Finally(Quantifier.ALL, 0, None, always))


@rule("resume")
@dataclass(frozen=True, slots=True)
class Resume(Derived):
    """A formula holds for some steps, until it does for ever some steps after runs are in a set."""

    by: By
    start: Name
    set: Name
    into: Count
    steps: Count
    holds: str

    def needs(self, scope: Scope) -> list[Sequent]:  # noqa: D102
        holds = scope.read(self.holds)
        later = Globally(Quantifier.ALL, 0, None, into(self.steps, holds))
        needs = [Sequent.of(self.start, into(self.into, scope.states(self.set))), Sequent.of(self.set, later)]
        if self.into + self.steps > _MOST:
            raise FormulaError(f"a formula is resumed after at most {_MOST} steps")
        if self.into + self.steps:
            before = Globally(Quantifier.ALL, 0, self.into + self.steps - 1, holds)
            needs.append(Sequent.of(self.start, before))
        return needs

    def shows(self, scope: Scope) -> Sequent:  # noqa: D102
        return Sequent.of(self.start, Globally(Quantifier.ALL, 0, None, scope.read(self.holds)))
