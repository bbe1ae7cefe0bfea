"""Proof transfer: an earlier proof of the property, of a system with other networks, tried on this one.

    read the proof; its lines stand for a search that is not made again:
    flowpipes       the same cuts; what no longer holds between them is cut and enclosed more finely       (`mend`)
    trees of cuts of unrolled programs: the same
    two phases      the same set; a phase that no longer holds is proved anew
    derivations     the same sets and rules, checked once; for a bounded claim whose proof the checker does not accept
                    it is offered one that is mended, then one that is found anew                    (`Exchanged`)
    all others      line by line, as they are
    what was taken over is checked, as certificates are

After Ugare, Singh and Misailovic, "Proof transfer for fast certification of multiple approximate neural networks"
(OOPSLA 2022), who carry over templates of intermediate bounds; here it is all that a certificate says.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from venmas.answer import Answer, IncompleteError, Proved, Unknown, Written
from venmas.budget import Budget
from venmas.checker.file import KINDS, opened, read_certificate
from venmas.checker.forever.rules import Named
from venmas.checker.format.about import About
from venmas.checker.format.header import Claim, Header
from venmas.checker.format.json_lines import json_lines
from venmas.checker.format.lines import Lines
from venmas.checker.format.rule import End, Rule
from venmas.errors import InputError, Reason
from venmas.logic import Always
from venmas.logic.automata.automaton import Automaton
from venmas.model.canonical.canonical import shared
from venmas.model.system.system import System
from venmas.procedure import Asked, LinearQuestion, Run
from venmas.procedures.linear.claim import SystemClaim
from venmas.procedures.transfer.mend import Exchanged, Mended, kept, phased, rule_of
from venmas.question import Question

_PATIENCE, _PART = 60.0, 1 / 2
"""Part of the time that is left, for all that is tried; seconds where there is no limit."""
_LINEAR = "forever-ltl"


@dataclass(frozen=True)
class OfRuns(Written):
    """Such a derivation about runs. within: see `SystemClaim`."""

    within: ClassVar[int | None] = None

    def facts(self, automaton: Automaton) -> dict[str, Any]:
        """Sentences of a report: the sets."""
        texts = [f"{name} = {text}"[:300] for rule in self.rules if isinstance(rule, Named) for name, text in rule.sets]
        known = {"by": "derivation", "from": "initial", "within": None, "texts": texts}
        return known | {"said": None, "states": None, "obligations": []}


@dataclass(frozen=True)
class Transfer:
    """The procedure; linear: of LTL."""

    name: str
    linear: bool = False
    help: str = "An earlier proof, of a system with other networks, tried on this one."
    smooth = chooses = noisy = True

    def accepts(self, question: Asked, run: Run) -> str | None:
        """Properties of systems, where a proof of the right kind was given. Raises `InputError` where it is none."""
        if run.settings.earlier is None or question.about != "property":
            return "no earlier proof was given"
        if isinstance(question, LinearQuestion) and not isinstance(question.subject, System):
            return "it is for systems"
        header, _ = read_certificate(run.settings.earlier)
        return unfit(header, question)

    def start(self, question: Asked, run: Run) -> _Session:
        """Nothing is read yet."""
        return _Session(question, run)


def unfit(header: Header, question: Asked) -> str | None:
    """Why its kind of proof shows nothing of the question."""
    kind = KINDS.get(header.proof)
    if isinstance(question, LinearQuestion):
        return None if header.proof == _LINEAR else f"of LTL proofs {_LINEAR} are, and this is {header.proof}"
    of, earlier = question.asked.kind, header.claim.kind
    if kind is None or of not in kind.claims or (of != earlier and "bounded" in (of, earlier)):
        return f"a proof of the kind {header.proof} is not about {of} properties"
    if question.semantics != "real" and "semantics" not in kind.about:
        return f"a proof of the kind {header.proof} is about networks as real functions"
    if question.system.smooth and not kind.smooth:
        return f"a proof of the kind {header.proof} is about piecewise linear systems"
    if (question.system.disturbances and not kind.noisy) or (question.chosen and "chosen" not in kind.about):
        return f"a proof of the kind {header.proof} draws no noise"
    return None


class _Session:
    def __init__(self, question: Asked, run: Run) -> None:
        self.question, self.figures = question, Mended()
        self._path, self._derive = str(run.settings.earlier), run.derive

    def advance(self, budget: Budget) -> Answer:
        """Try all of it, once."""
        seconds = _PATIENCE if budget.left is None else _PART * budget.left
        try:
            answer = budget.spend(seconds, self._transferred)
        except (InputError, IncompleteError, LookupError, OverflowError, RecursionError) as error:
            return Unknown(Reason.OPEN, f"the earlier proof does not hold here: {error}"[:500])
        return answer or Unknown(Reason.OPEN, "the earlier proof was not tried to its end in its part of the time")

    def _transferred(self, budget: Budget) -> Answer:
        question = self.question
        first, *rows = json_lines(self._path)
        header, _ = opened([first])
        kind = header.proof
        if kind in ("flowpipes", "goals"):
            assert isinstance(question, Question)
            whole = question.boxed if kind == "goals" and self._inside(header) else question
            rules = kept(whole, kind, rows[:-1], budget)
            self.figures.kept += 1
            return self._proved(header, rules)
        about = self._about(header)
        if kind in ("forever", _LINEAR):
            claims = Exchanged(rows, question.semantics, self._derive, budget)
            KINDS[kind].check(replace(about, exchange=claims.offered), Lines(rows, lambda _: budget()))
            return self._proved(header, claims.derived(self.figures))
        try:
            KINDS[kind].check(about, Lines(rows, lambda _: budget()))
            self.figures.kept += 1
        except InputError:
            if kind != "two-phase":
                raise
            assert isinstance(question, Question) and isinstance(question.asked, Always)
            holds, system = question.asked.invariant, question.system
            made = list(phased(system, holds, rows[:-1], question.semantics, budget, self.figures))
            rows = [rule.to_json() for rule in (*made, End(len(made) + 1))]
            KINDS[kind].check(about, Lines(rows, lambda _: budget()))
        return self._proved(header, [rule_of(row) for row in rows[:-1]])

    def _inside(self, header: Header) -> bool:
        """Does the proof say besides that runs stay in the box?"""
        return KINDS[header.proof].inside or header.claim.inside or getattr(self.question, "inside", False)

    def _about(self, header: Header) -> About:
        """The claim as a certificate of this question has it."""
        question = self.question
        if isinstance(question, LinearQuestion):
            claimed = SystemClaim(question, None)
            return About(claimed.claim, _as_read(claimed.system), {})
        of, chosen, inside = question.asked, question.chosen, self._inside(header)
        claim = Claim(str(of.formula), of.kind, question.semantics, inside, chosen=tuple(chosen))  # type: ignore[arg-type]
        system = question.undrawn if KINDS[header.proof].noisy else None
        return About(claim, _as_read(question.system if system is None else system), chosen)

    def _proved(self, header: Header, rules: list[Rule]) -> Proved:
        question = self.question
        if isinstance(question, LinearQuestion):
            return Proved("exact", inside=True, proof=OfRuns(header.proof, tuple(rules)))
        ends, proof = question.system.may_deadlock, Written(header.proof, tuple(rules))
        return Proved("exact", may_deadlock=ends, inside=self._inside(header), proof=proof)


def _as_read(system: System) -> System:
    """The system as whoever reads the certificate has it: nodes that are equal are one there."""
    return system if system.disturbances else shared(system)


TRANSFER = Transfer("transfer")
TRANSFER_LTL = Transfer("transfer-ltl", linear=True)
