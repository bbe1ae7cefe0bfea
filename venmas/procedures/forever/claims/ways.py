"""Ways into sets, and what holds in the end of all runs that are in one: derivations of AF f.

    ladder   X |- AX^t S;  S |- AX^n S';  S' |- AX^n' S'';  ..                                   (arrive)
    later    S |- AX^n S;  S |- AG[0,n-1] AX^m b: from step m on all runs from S have b          (close, later)

The second one needs no set within b, as boxes seldom are closed where runs turn: it is enough that runs from a wider
one have b in all of n steps in turn, m steps after they were in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from time import monotonic

from venmas.checker.forever import rules
from venmas.checker.forever.later import Later
from venmas.checker.forever.rules import into, until
from venmas.checker.forever.sequents import Sequent
from venmas.logic import TRUE, Formula, Globally, Quantifier
from venmas.logic.printing import to_text
from venmas.procedures.forever.claims.asking import Asking
from venmas.procedures.forever.claims.proof import Derivation, Inferred

SOON = 1 / 8
"""Part of the time of a question, within which one was answered soon."""
QUICK = 1 / 4
"""The part of that time which a better bound is worth, or what is to hold after some steps."""
_AFTER, _KNOWN = (2, 8, 32), (1, 2, 4, 8, 16, 32, 64)
"""Steps from a set on after which what is to hold in the end is looked for; the same where samples tell of some of them
that it does not hold."""
_CLOSER = 3
"""Times that the last and the next to last of these are brought together."""

Ladders = Callable[[Formula], Iterator[tuple[int, list[tuple[str, int]]]]]
Finish = Callable[[Derivation], Derivation]


@dataclass(frozen=True)
class Set:
    """A set of states, by name: runs seem to enter it after `into` steps and to be back after `again`."""

    name: str
    states: Formula
    into: int
    again: int


@dataclass(frozen=True)
class Lasting:
    """A set from the states of which all runs have something for ever after some steps, and the derivation."""

    set: Set
    steps: int
    shown: Derivation


class Ways:
    """Derivations of AF f. claim: derives a bounded claim; ladders: ways into a set."""

    def __init__(self, asking: Asking, claim: Callable[..., Derivation | None], ladders: Ladders) -> None:
        self._asking, self._claim, self._ladders = asking, claim, ladders

    def into(
        self, last: Formula, right: Formula, lasting: Lasting | None = None
    ) -> Iterator[tuple[str, int, Derivation, int]]:
        """Sets, each with steps into it, a derivation that all runs from it come to `right`, and after how many steps.

        They come to a last set, which is `right` itself, or from which that lasts.
        """
        ladders = self._ladders(last)
        if lasting is not None:
            ladders = chain(ladders, [(lasting.set.into, [(lasting.set.name, 0)])])
        for entry, ladder in ladders:
            climbed = self._climbed(ladder, right, lasting)
            if climbed is not None:
                steps = sum(steps for _, steps in ladder)
                yield ladder[0][0], entry, climbed, steps if lasting is None else steps + lasting.steps

    def _climbed(self, ladder: list[tuple[str, int]], right: Formula, lasting: Lasting | None) -> Derivation | None:
        above, text = ladder[-1][0], to_text(right)
        if lasting is not None:
            known: Derivation | None = lasting.shown
        else:
            now = self._claim(above, until("A", 0, TRUE, right))
            known = None if now is None else Inferred(rules.Window((), above, "here", "A", "true", text, 0), (now,))
        for name, steps in reversed(ladder[:-1]):
            shown = None if known is None else self._claim(name, into(steps, self._asking.sets[above]))
            if known is None or shown is None:
                return None
            known, above = Inferred(rules.Arrive((), name, above, text, steps), (shown, known)), name
        return known

    def lasting(self, one: Set, holds: Formula) -> Lasting | None:
        """Runs from a set have what holds for ever after some steps, as they are in it again and again: AG AX^n b."""
        back = self._claim(one.name, into(one.again, one.states))
        if back is None:
            return None
        below, begun = 0, monotonic()
        for steps in _KNOWN if self._asking.samples.knows(one.name) else _AFTER:
            tight = self._tight(one, holds, steps)
            soon = None if tight else self._claim(one.name, _meanwhile(one, holds, steps), QUICK)
            if soon is None:
                below = steps
                continue
            for _ in range(_CLOSER if monotonic() - begun < QUICK * self._asking.seconds else 0):
                middle = (below + steps) // 2
                if middle == below:
                    break
                sooner = self._claim(one.name, _meanwhile(one, holds, middle), QUICK)
                if sooner is None:
                    below = middle
                else:
                    steps, soon = middle, sooner
            return Lasting(one, steps, _joined(one, holds, steps, back, soon))
        return None

    def in_the_end(self, one: Set, holds: Formula) -> Lasting | None:
        """The same as AF AG b."""
        lasting = self.lasting(one, holds)
        if lasting is None:
            return None
        return replace(lasting, shown=Inferred(Later((), one.name, lasting.steps, to_text(holds)), (lasting.shown,)))

    def _tight(self, one: Set, holds: Formula, steps: int) -> bool:
        meanwhile = Sequent.of(one.name, _meanwhile(one, holds, steps))
        return self._asking.samples.tight(one.name, meanwhile.formula)


def _meanwhile(one: Set, holds: Formula, steps: int) -> Formula:
    """The claim that what is to hold does so until runs are in a set again, so many steps later."""
    return Globally(Quantifier.ALL, 0, one.again - 1, into(steps, holds))


def _joined(one: Set, holds: Formula, steps: int, back: Derivation, soon: Derivation) -> Inferred:
    texts = to_text(into(one.again, one.states)), to_text(_meanwhile(one, holds, steps))
    both = Inferred(rules.Both((), one.name, texts), (back, soon))
    return Inferred(rules.Close((), one.name, one.name, 0, one.again, to_text(into(steps, holds))), (both,))
