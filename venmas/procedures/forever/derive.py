"""Derivations: how properties without a bound follow from bounded claims about sets of states.

    derive(X, f):
        f bounded:           ask X |- f
        f & g:               derive both
        AG AF c:             a set S that closes:  X |- AX^t S,  S |- AX^n S,  S |- AF[0,k] c             (recur)
        AG b:                a set S that closes:  .. with b along both ways                              (close)
        EG b:                a set S in which a run can stay, and to which one leads                      (stay)
        else                 the innermost part g without a bound
            Q(b U c):        f with Q(b U^k c) in its place, k = 1, 2, 4, ..                              (window)
            AF c:            ways into c, or a value that rises until then          (arrive, rises; `claims`)
            AF AG b, AG b:   b some steps after runs are in S                       (later, resume; `claims`)
            AG b, EG b:      f with a set S in its place, S |- g                                          (replace)

Above, b and c are bounded; parts of them that are not are replaced first. All but a value that rises make the result
uniform: one number of steps for all states.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain
from time import monotonic

from venmas.budget import Budget
from venmas.checker.forever import rules
from venmas.checker.forever.later import Resume
from venmas.checker.forever.rules import Derived, Letter, along, into, round_, until
from venmas.checker.forever.sequents import HOLE, INIT, Sequent
from venmas.logic import (
    TRUE,
    And,
    Finally,
    Formula,
    Globally,
    Next,
    Quantifier,
    Until,
    conjunction,
    is_temporal,
    subformulas,
)
from venmas.logic.formula import Window, replaced
from venmas.logic.printing import to_text
from venmas.model.system.system import System
from venmas.procedures.forever.cells.search import FEW_REALS, dimension
from venmas.procedures.forever.claims.asking import Asking
from venmas.procedures.forever.claims.contexts import context
from venmas.procedures.forever.claims.proof import Derivation, Inferred
from venmas.procedures.forever.claims.rising import Rising
from venmas.procedures.forever.claims.ways import QUICK, SOON, Finish, Ladders, Lasting, Set, Ways

MOST_STEPS = 64
"""Steps of the longest window."""
_LONG = MOST_STEPS // 4
"""Steps of windows that are long."""


Within = Callable[[], Iterator[tuple[Formula, Finish]]]


class Deriving:
    """Derivations about the states of `initial`, a system that differs from that of `asking` in its initial states.

    closed: sets that may close, the most promising first, and `more` of them; kept: sets in which a run may stay where
    a formula holds; ladders: larger and larger sets by way of which runs come into a set.
    """

    def __init__(
        self,
        asking: Asking,
        initial: System,
        closed: Callable[[], Iterator[Set]],
        kept: Callable[[Formula], Iterator[Set]],
        budget: Budget,
        more: Callable[[], Iterator[Set]] = lambda: iter(()),
        ladders: Ladders = lambda _: iter(()),
    ) -> None:
        self.asking, self.initial, self._closed, self._kept, self.budget = asking, initial, closed, kept, budget
        self._more, self._ways = more, Ways(asking, self.claim, ladders)
        self.told: list[tuple[str, str]] = []

    def claim(self, start: str, formula: Formula, share: float = 1) -> Derivation | None:
        """A bounded claim, if it is known to hold. share: of the time of a question."""
        self.budget()
        return self.asking.claim(start, formula, self.budget, self.initial, share=share)

    def derive(self, start: str, formula: Formula) -> Derivation | None:
        """A derivation that every state of the set `start` satisfies the formula; None where none is found."""
        if formula.horizon is not None:
            return self.claim(start, formula)
        if isinstance(formula, And):
            found: list[Derivation] = []
            for part in formula.operands:
                shown = self.derive(start, part)
                if shown is None:
                    return None
                found.append(shown)
            return Inferred(rules.Both((), start, tuple(map(to_text, formula.operands))), tuple(found))
        if isinstance(formula, Globally) and formula.end is None:
            if not formula.start:
                return self._globally(start, formula)
            if formula.quantifier is Quantifier.ALL:
                later = Next(Quantifier.ALL, formula.start, Globally(Quantifier.ALL, 0, None, formula.operand))
                return self.derive(start, later)
        for bounded, finish in self._within(start, formula):
            shown = self.claim(start, bounded)
            if shown is not None:
                return finish(shown)
        return None

    def _globally(self, start: str, formula: Globally) -> Derivation | None:
        quantifier, holds = formula.quantifier, formula.operand
        every = quantifier is Quantifier.ALL
        again = (
            isinstance(holds, Finally) and holds.quantifier is Quantifier.ALL and (holds.start, holds.end) == (0, None)
        )
        if every and again and holds.children[0].horizon is not None:
            return self._recur(start, holds.children[0])
        if not is_temporal(holds) and self.claim(start, holds) is None:  # it is asked of the present, too
            return None

        def within() -> Iterator[tuple[Formula, Finish]]:
            return self._within(start, holds, Globally(quantifier, 0, None, HOLE))

        return self._close(start, within) if every else self._stay(start, within)

    def _entered(self, start: str) -> Iterator[tuple[Set, int, tuple[Derivation, ...]]]:
        """Sets that close and are entered, each with the steps into it from `start`, and the claims of both."""
        for one in chain(self._closed(), self._more()):
            steps = 0 if start == one.name else one.into
            shown = self._returning(start, one, steps, into)
            if shown:
                yield one, steps, shown

    def _returning(
        self, start: str, one: Set, steps: int, formula: Callable[[int, Formula], Formula]
    ) -> tuple[Derivation, ...]:
        """Claims that runs are in a set after so many steps, which they are where they begin in it, and again later.

        None, where one of them is not known to hold. formula: of the claim, from steps and states.
        """
        back = self.claim(one.name, formula(one.again, one.states))
        if back is None or start == one.name:
            return () if back is None else (back,)
        lead = self.claim(start, formula(steps, one.states))
        return () if lead is None else (lead, back)

    def _recur(self, start: str, holds: Formula) -> Derivation | None:
        def within(k: int) -> Formula:
            return Finally(Quantifier.ALL, 0, k, holds)

        for one, steps, shown in self._entered(start):
            for k in self._windows(one.name, within):
                soon = self.claim(one.name, within(k))
                if soon is not None:
                    least = next(self._doubled(one.name, within), k)
                    if least < k and (less := self.claim(one.name, within(least), QUICK)) is not None:
                        k, soon = least, less
                    self._tell(f"at least every {max(steps, one.again) + k} steps", one)
                    rule = rules.Recur((), start, one.name, steps, one.again, to_text(holds), k)
                    return Inferred(rule, (*shown, soon))
        return None

    def _close(self, start: str, within: Within) -> Derivation | None:
        for one, steps, (lead, *_) in self._entered(start):
            for holds, finish in within():
                parts = self._returning(start, one, steps, lambda n, states: along(n, states, holds))  # noqa: B023
                if parts:
                    self._tell("for ever", one)
                    rule = rules.Close((), start, one.name, steps, one.again, to_text(holds))
                    return finish(Inferred(rule, parts))
                if (resumed := self._resumed(start, one, steps, lead, holds)) is not None:
                    self._tell("for ever", one)
                    return finish(resumed)
        return None

    def _resumed(self, start: str, one: Set, steps: int, lead: Derivation, holds: Formula) -> Derivation | None:
        """AG b, which runs have until they have it for ever some steps after they are in a set that is not within b."""
        if start == one.name or self.asking.samples.runs is None:
            return None
        lasting = self._ways.lasting(one, holds)
        if lasting is None:
            return None
        before = self.claim(start, Globally(Quantifier.ALL, 0, steps + lasting.steps - 1, holds))
        rule = Resume((), start, one.name, steps, lasting.steps, to_text(holds))
        return None if before is None else Inferred(rule, (lead, lasting.shown, before))

    def _stay(self, start: str, within: Within) -> Derivation | None:
        for holds, finish in within():
            for one in self._kept(holds):
                back = self._round(one, holds)
                if back is None:
                    continue
                for steps in (0, 1, 2, 4, 8, 16, 32, 64):
                    lead = None if start == one.name else self.claim(start, until("E", steps, holds, one.states))
                    if lead is not None or start == one.name:
                        self._tell("by some run for ever", one)
                        rule = rules.Stay(
                            (), start, one.name, steps if lead is not None else 0, back[1], to_text(holds)
                        )
                        return finish(Inferred(rule, (back[0],) if lead is None else (lead, back[0])))
        return None

    def _round(self, one: Set, holds: Formula) -> tuple[Derivation, int] | None:
        """That a run from any state of a set is in it again, and the most steps after which it is."""
        for again in (1, 2, 4, 8):
            back = self.claim(one.name, round_(again, one.states, holds))
            if back is not None:
                return back, again
        return None

    def _within(self, start: str, formula: Formula, around: Formula = HOLE) -> Iterator[tuple[Formula, Finish]]:
        """Bounded formulas that are stronger, each with how the formula follows in a context once it is shown."""
        if formula.horizon is not None:
            yield formula, lambda shown: shown
            return
        inner = next(node for node in subformulas(formula) if _open_until(node) and node.horizon is None)
        assert isinstance(inner, Window)
        around_it = context(replaced(around, {HOLE: replaced(formula, {inner: HOLE})}), HOLE)
        if isinstance(inner, Globally):
            in_the_end = around is HOLE and formula == Finally(Quantifier.ALL, 0, None, inner)
            for one, shown in self._satisfying(inner, in_the_end):
                if isinstance(shown, Lasting):
                    yield from self._by_ladders(start, one.states, inner, shown)
                    continue
                replacing = rules.Replace((), start, around_it, one.name, to_text(inner))
                for bounded, finish in self._within(start, replaced(formula, {inner: one.states}), around):
                    yield bounded, self._then(finish, replacing, shown)
            return
        letter: Letter = "A" if inner.quantifier is Quantifier.ALL else "E"
        left, right = inner.left if isinstance(inner, Until) else TRUE, inner.children[-1]

        def windowed(k: int) -> Until:
            return Until(inner.quantifier, inner.start, inner.start + k, left, right)

        whole = inner is formula and around is HOLE and not is_temporal(right)
        plain = whole and letter == "A" and not inner.start and left is TRUE
        if plain:
            yield from self._by_ladders(start, right, right)
        rising = Rising(self.asking, self.initial) if plain and start == INIT else None
        for k in self._doubled(start if whole else "", windowed):
            if rising is not None and k > _LONG:  # one question about one step first
                yield from self._by_rising(rising, right)
                rising = None
            within, end = windowed(k), inner.start + k
            opened = rules.Window((), start, around_it, letter, to_text(left), to_text(right), end, inner.start)
            for bounded, finish in self._within(start, replaced(formula, {inner: within}), around):
                yield bounded, self._then(finish, opened)
        if rising is not None:
            yield from self._by_rising(rising, right)

    def _by_rising(self, rising: Rising, right: Formula) -> Iterator[tuple[Formula, Finish]]:
        """States from which a value rises until all runs come to what is asked for."""
        risen = rising.find(right, self.budget)
        if risen is not None:
            covered, said, finish = risen
            yield covered, self._telling("in the end", f"as {said}", finish)

    def _by_ladders(
        self, start: str, last: Formula, right: Formula, lasting: Lasting | None = None
    ) -> Iterator[tuple[Formula, Finish]]:
        """Steps after which all runs are in a set from which others lead to a last one."""
        for name, entry, climbed, steps in self._ways.into(last, right, lasting):
            lead = into(entry, self.asking.sets[name])
            if not self.asking.refuted(start, Sequent.of(start, lead).formula, self.initial):
                rule = rules.Arrive((), start, name, to_text(right), entry)
                arrived = self._then(lambda shown: shown, rule, climbed)
                yield lead, self._telling("within", f"{entry + steps} steps", arrived)

    def _telling(self, how: str, what: str, finish: Finish) -> Finish:
        """Parts that finish, and what is told then."""

        def finished(known: Derivation) -> Derivation:
            self.told.append((how, what))
            return finish(known)

        return finished

    def _then(self, finish: Finish, rule: Derived, *others: Derivation) -> Finish:
        """Parts that finish, and then a rule."""

        def finished(known: Derivation) -> Derivation:
            if isinstance(rule, rules.Window):
                self.told.append(("within", f"{rule.within} steps"))
            return Inferred(rule, (finish(known), *others))

        return finished

    def _satisfying(self, always: Globally, in_the_end: bool) -> Iterator[tuple[Set, Derivation | Lasting]]:
        """Sets all states of which satisfy AG b or EG b; where that is enough, AF AG b."""
        if always.start:
            return
        if always.quantifier is Quantifier.EXISTS:
            for one in self._kept(always.operand):
                kept = self._kept_in(one, always)
                if kept is not None:
                    yield one, kept
            return
        done: set[str] = set()
        later: list[Set] = []
        now = dimension(self.asking.system) > FEW_REALS  # else sets within b are soon found, which name fewer steps
        for one, states, tight in self._easy_first(always.operand):
            if one.name in done:
                continue
            late, closing = self.asking.late, replace(one, name=self.asking.named(states), states=states)
            shown: Derivation | Lasting | None = None
            if not tight:
                shown = self._closing(closing, always.operand)
            if shown is None and in_the_end and states is one.states and self.asking.late == late:
                if now:
                    shown = self._lasting(closing, always.operand)
                else:
                    later.append(closing)
            if shown is None and tight:
                shown = self._closing(closing, always.operand)
            if shown is not None:
                done.add(one.name)
                self._tell("for ever", closing)
                yield closing, shown
        for closing in later:
            if (lasting := self._lasting(closing, always.operand)) is not None:
                self._tell("for ever", closing)
                yield closing, lasting

    def _lasting(self, one: Set, holds: Formula) -> Lasting | None:
        """That all states of a set satisfy AF AG b, where samples tell that one branch leads on."""
        return None if self.asking.samples.runs is None else self._ways.in_the_end(one, holds)

    def _closing(self, one: Set, holds: Formula) -> Derivation | None:
        """That all states of a set satisfy AG b."""
        back = self.claim(one.name, along(one.again, one.states, holds))
        rule = rules.Close((), one.name, one.name, 0, one.again, to_text(holds))
        return None if back is None else Inferred(rule, (back,))

    def _easy_first(self, holds: Formula) -> Iterator[tuple[Set, Formula, bool]]:
        """Sets that may close and their parts where a formula holds; later those of which samples tell that it holds
        tightly, as it is told with each."""
        samples, tight = self.asking.samples, list[tuple[Set, Formula, bool]]()
        for one in chain(self._closed(), self._more()):
            if not samples.knows(one.name):
                yield from tight
                tight = []
            part = conjunction([holds, one.states]) if not is_temporal(holds) else one.states
            for states in dict.fromkeys((one.states, part)):
                name = self.asking.named(states)
                samples.part(name, one.name, states)
                if samples.tight(name, Sequent.of(name, along(one.again, states, holds)).formula):
                    tight.append((one, states, True))
                else:
                    yield one, states, False
        yield from tight

    def _kept_in(self, one: Set, always: Globally) -> Derivation | None:
        back = self._round(one, always.operand)
        if back is None:
            return None
        return Inferred(rules.Stay((), one.name, one.name, 0, back[1], to_text(always.operand)), (back[0],))

    def _windows(self, start: str, formula: Callable[[int], Formula]) -> Iterator[int]:
        """As `_doubled`, the longest one first where samples tell that the others are long, too.

        Where runs settle, it is the easiest one to enclose; if it is late, one that is half as long is so as well.
        """
        late, most, known = self.asking.late, MOST_STEPS, self.asking.samples.knows(start)
        if known and _LONG <= next(self._doubled(start, formula), MOST_STEPS) < MOST_STEPS:
            yield MOST_STEPS
            most = _LONG if self.asking.late > late else MOST_STEPS
        yield from (steps for steps in self._doubled(start, formula) if steps <= most)

    def _doubled(self, start: str, formula: Callable[[int], Formula]) -> Iterator[int]:
        """Steps of windows, until two were late, that no samples refute; of long ones the first in any case, and from
        the initial states those after one that was answered soon.

        A longer window may be the easier one, as procedures differ in what is long.
        """
        steps, late, known, soon = 1, self.asking.late, self.asking.samples.knows(start), start == INIT
        while steps <= (MOST_STEPS if known or soon else self.asking.steps) and self.asking.late <= late + 1:
            core = Sequent.of(start, formula(steps)).formula
            if not (known and self.asking.refuted(start, core, self.initial)):
                begun = monotonic()
                yield steps
                known = known and self.asking.late > late
                soon = start == INIT and monotonic() - begun < SOON * self.asking.seconds
            steps *= 2

    def _tell(self, how: str, one: Set) -> None:
        self.told.append((how, f"set {one.name}, back after {one.again}: {to_text(one.states)[:200]}"))


def _open_until(node: Formula) -> bool:
    return isinstance(node, Window) and node.end is None
