"""Checking derivations: bounded claims with their proofs, and rules that join them (`venmas.checker.forever.rules`).

First stand the sets, then lines that show a sequent each. The last one has to be what is claimed of the initial states.
"""

from __future__ import annotations

from dataclasses import replace

from venmas.checker.flowpipes.tree import check_trees
from venmas.checker.forever import cells as _cells  # noqa: F401, its rules are read
from venmas.checker.forever import later as _later  # noqa: F401
from venmas.checker.forever.along import along_runs
from venmas.checker.forever.rising import remembering, valued
from venmas.checker.forever.rules import Bound, Derived, Named
from venmas.checker.forever.sequents import INIT, Scope, Sequent, existential, normal
from venmas.checker.format.about import About, Claimed, Exchange
from venmas.checker.format.lines import Lines
from venmas.checker.format.numbers import CheckError, read_index, read_number
from venmas.checker.format.rule import End
from venmas.checker.goals.check import Checked, check
from venmas.errors import InputError
from venmas.logic import Bounded, Formula, fixpoints, parse
from venmas.model.system.disturbances import NO_NOISE, Noise, drawn, fixed
from venmas.model.system.system import System
from venmas.nn.network import Semantics
from venmas.question import chosen_for, goals, staying


def check_derivation(
    system: System, formula: Formula, lines: Lines, semantics: Semantics = "real", exchange: Exchange | None = None
) -> Checked:
    """Check that every initial state of the valid `system` satisfies `formula`, any of CTL. Raises `CheckError`.

    Systems may have disturbances. No run leaves the declared box as far as the bounded claims look, which is for ever
    where a rule closes a set.
    """
    return check_core(system, fixpoints(formula), lines, semantics, exchange)


def check_core(
    system: System, core: Formula, lines: Lines, semantics: Semantics, exchange: Exchange | None = None
) -> Checked:
    """`check_derivation` of a formula in core form. exchange: see `About`."""
    with lines.refusing():
        sets: dict[str, Formula] = {}
        for name, text in lines.next(Named).sets:
            if name in sets:
                raise lines.refused(f"set {name!r} is named twice")
            sets[name] = parse(text, system.vocabulary)
        checker = _Checker(Scope.of(system, sets), lines, semantics, exchange)
        last = checker.run()
        if last != Sequent(INIT, normal(core)):
            raise lines.refused(f"what the last line shows is not what is claimed: {last}")
        checker.done.lines = lines.number
        return checker.done


class _Checker:
    def __init__(self, scope: Scope, lines: Lines, semantics: Semantics, exchange: Exchange | None) -> None:
        self._scope, self._lines, self._semantics, self._exchange = scope, lines, semantics, exchange
        self._shown: list[Sequent] = []
        self.done = Checked()

    def run(self) -> Sequent | None:
        """The sequent that the last line shows."""
        while True:
            found = self._lines.next(Bound, Derived, End)
            match found:
                case Bound():
                    self._shown.append(self._bounded(found))
                case Derived():
                    self._shown.append(self._derived(found))
                case _:
                    self._lines.end(found)
                    return self._shown[-1] if self._shown else None

    def _derived(self, stated: Derived) -> Sequent:
        needs = stated.needs(self._scope)
        if len(needs) != len(stated.by):
            raise self._lines.refused(f"{stated.name} needs {len(needs)} sequents, not {len(stated.by)}")
        for place, needed in zip(stated.by, needs, strict=True):
            shown = self._shown[read_index(self._lines.number, place, len(self._shown))]
            if shown != needed:
                raise self._lines.refused(f"{stated.name} needs {needed}, and {shown} is shown")
        return stated.shows(self._scope)

    def _bounded(self, stated: Bound) -> Sequent:
        if stated.before:
            return self._remembering(stated)
        formula, start = self._scope.read(stated.formula), self._scope.starting(stated.start)
        if not stated.choices:
            system, chosen = chosen_for(start, Bounded(formula))
            if self._exchange is None:
                self._proved(stated, system, formula, chosen)
            else:
                self._exchanged(stated, Claimed(len(self._shown), system, formula, chosen), self._exchange)
        else:
            if not existential(formula):
                raise self._lines.refused("noise is chosen for a formula that speaks of all runs (A)")
            line = self._lines.number
            choices = [[read_number(line, value) for value in values] for values in stated.choices]
            self._proved(stated, fixed(start, choices), formula, NO_NOISE)
            system = drawn(start, formula.depth)
            self._proved(stated, system, staying(start, start.vocabulary.variables, formula.depth), NO_NOISE)
        return Sequent.of(stated.start, formula)

    def _remembering(self, stated: Bound) -> Sequent:
        if stated.choices:
            raise self._lines.refused("noise is not chosen for a claim about values before")
        value = valued(self._scope, stated.before)
        start = remembering(self._scope.system, self._scope.states(stated.start), value)
        formula = Scope.of(start, self._scope.sets).read(stated.formula)
        system, chosen = chosen_for(start, Bounded(formula))
        self._proved(stated, system, formula, chosen)
        return replace(Sequent.of(stated.start, formula), before=str(value))

    def _proved(self, stated: Bound, system: System, formula: Formula, chosen: Noise) -> None:
        """Check the proof of a bounded formula that comes next."""
        with self._lines.part() as proof:
            self._check(stated.proof, system, formula, chosen, proof)

    def _exchanged(self, stated: Bound, claimed: Claimed, exchange: Exchange) -> None:
        """Check one after the other of the proofs that are offered for the one that comes next, until one holds."""
        why = "no proof is offered for it"
        for kind, rows in exchange(claimed, stated.proof, self._lines.apart()):
            try:
                self._check(kind, claimed.system, claimed.formula, claimed.chosen, self._lines.of(rows))
            except InputError as error:
                why = str(error)
            else:
                return
        raise self._lines.refused(why)

    def _check(self, kind: str, system: System, formula: Formula, chosen: Noise, proof: Lines) -> None:
        if kind == "flowpipes":
            found = check_trees(system, goals(system, formula, chosen), proof, self._semantics)
        else:
            found = check(system, formula, True, proof, self._semantics)
        self.done.add(found)


def proved(about: About, lines: Lines) -> Checked:
    """Check a proof of the kind forever. Raises `CheckError`."""
    if (about.claim.kind == "bounded") is not about.claim.inside:
        raise CheckError(0, "inside is claimed of formulas with bounds, and of no other ones")
    if about.claim.inside:
        with lines.refusing():
            core = along_runs(about.system, about.branching)
        return check_core(about.system, core, lines, about.claim.semantics, about.exchange)
    return check_derivation(about.system, about.branching, lines, about.claim.semantics, about.exchange)
