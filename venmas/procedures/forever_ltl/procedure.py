"""LTL of systems with reals, noise or smooth parts, by way of branching time.

    for 1, 4, 16, .. seconds a question, where reals are few for 1/4 before
        a run that simulation meets, exact, replayed, with the formula evaluated on its letters:  violated
        derive: the initial states satisfy A f, each operator with A before it, and AG EX true   (`forever.derive`):
            satisfied
        the same, or what is last, on a graph of cells           (`forever.cells.search`), first where reals are few
        no fair run of the product with an automaton, on cells   (`product`):                    satisfied
        a path after which the property is broken, whatever comes:                              violated
        derive: one initial state satisfies E !f or A !f, and AG EX true   (a stay):             violated

That f follows from A f is shown in `venmas.checker.forever.linear`, whose table the checker applies anew. States do not
tell what is taken again and again: fairness, and "branch b", are left to the product. Where runs stay in a state
without a successor (`--deadlock stutter`), a branch is added for that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import TypeAlias

from venmas.answer import Answer, Broken, Proved, Unknown, Violated
from venmas.budget import Budget, ask, limited
from venmas.checker.forever.linear import demanded
from venmas.checker.forever.sequents import INIT
from venmas.errors import InputError, ModelError, Reason
from venmas.logic import FALSE, TRUE, And, Formula, Not, Quantifier, subformulas
from venmas.logic.paths import leaves
from venmas.logic.printing import to_text
from venmas.model.system.letters import condition
from venmas.model.system.system import System
from venmas.model.transform.cases import UnsuitableError
from venmas.model.witness.lasso import Run as Lasso
from venmas.model.witness.tree import Witness
from venmas.procedure import LinearQuestion, Run
from venmas.procedures.forever.cells.search import FEW_REALS, MANY, ON_CELLS, CellSearch, dimension
from venmas.procedures.forever.cells.sides import sides
from venmas.procedures.forever.claims.asking import Asking, underivable
from venmas.procedures.forever.claims.proof import Derivation, basis
from venmas.procedures.forever.claims.stays import stay
from venmas.procedures.forever.derive import Deriving
from venmas.procedures.forever.sets import Sets, Stays
from venmas.procedures.forever_ltl.product import ProductSearch
from venmas.procedures.forever_ltl.proof import RunsProof
from venmas.procedures.forever_ltl.runs import Runs
from venmas.procedures.linear.procedure import beyond_integers

_Search: TypeAlias = Callable[[], Lasso | None]
_Work: TypeAlias = Callable[[Budget], Proved | Violated | str]
_ROUNDS = 4
_ON_STAYS = 8
"""The time of how many questions stays have in a round."""
_LARGEST = 2000
"""Operators and operands of the formulas that are derived, at most."""


class ForeverLtl:
    """The procedure."""

    name = "forever-ltl"
    linear = True
    help = "Derivations that A f holds in all initial states, exact runs, and stays, for LTL over the reals."

    def accepts(self, question: LinearQuestion, run: Run) -> str | None:
        """Systems whose states are not taken one by one."""
        system = question.subject
        if not isinstance(system, System):
            return "it derives properties of systems"
        if beyond_integers(system) is None:
            return "its states are those of integers, which are taken one by one"
        return underivable(system, run)

    def start(self, question: LinearQuestion, run: Run) -> ForeverLtlSession:
        """Nothing is done yet."""
        return ForeverLtlSession(question, run)


class ForeverLtlSession:
    """Derivations in rounds, each with more time for a question."""

    def __init__(self, question: LinearQuestion, run: Run) -> None:
        assert run.derive is not None and isinstance(question.subject, System)
        self.question, self._decide = question, run.derive
        self.system, self._formula = self._sized(question.asked.formula, Quantifier.ALL)
        self._asking = Asking(self.system, run.derive, "real")
        self._runs = None if self.system.smooth else Runs(question)
        self._stays: list[Stays] | None = None
        self._cells: CellSearch | None = None
        self._product: ProductSearch | None = None
        self._untried = True
        conditions = map(condition, leaves(question.formula))
        self._hidden = bool(question.asked.fair) or None in conditions
        """Does it depend on what states do not tell: fairness, or which branch is taken?"""

    @property
    def figures(self) -> object:
        """The question."""
        return self._asking.figures

    def advance(self, budget: Budget) -> Answer:
        """Work to the end of the sets."""
        asking, formula = self._asking, self._formula
        searches = [] if self._runs is None else [self._runs.walked, self._runs.closed]
        sets = Sets(asking, self.system, None, TRUE if formula is None else formula, budget)
        why = "it has no form of branching time" if formula is None else ""
        few = not self.system.smooth and dimension(self.system) <= FEW_REALS
        for number in range(-1 if few else 0, _ROUNDS):
            asking.seconds, asking.late = 4.0**number, 0
            for search in list(searches):
                if run := budget.spend(asking.seconds, lambda part: self._searched(search, searches, part)):  # noqa: B023
                    return Broken(run)
            for seconds, work in self._works(sets):
                answer = work(budget) if seconds is None else budget.spend(seconds, work)
                if answer is None:
                    asking.late += 1
                elif isinstance(answer, Proved | Violated):
                    return answer
                why = answer or why
            if (run := self._asked(2 * 4 ** max(number, 0), budget)) is not None:
                return Broken(run)
            if witness := budget.spend(_ON_STAYS * asking.seconds, lambda part: self._stay(sets, part)):
                return Violated(witness)
            if not asking.late and number > 0:
                break
        return Unknown(Reason.OPEN, asking.left or why)

    def _works(self, sets: Sets) -> list[tuple[float | None, _Work]]:
        """Derivations, and cells, which are slow where a step is smooth; seconds, where they are given some alone."""
        formula, seconds = self._formula, self._asking.seconds
        beside: list[tuple[float | None, _Work]] = [(3 * ON_CELLS * seconds, partial(self._on_product, sets))]
        if formula is None:
            return beside
        derived: _Work = partial(self._derived, formula, sets)
        cells = (ON_CELLS * seconds, partial(self._on_cells, formula))
        if self.system.smooth and dimension(self.system) > FEW_REALS:
            return [*beside, (None, derived)] if self._hidden else [(None, derived), *beside]
        if self._hidden:  # what is derived says too much
            return [*beside, (2 * seconds, derived), cells, (None, derived)]
        if dimension(self.system) > FEW_REALS:
            return [(None, derived), cells, *beside]
        # what is derived has a bound for all runs
        return [(2 * seconds, derived), cells, *(beside if seconds >= 1 else []), (None, derived)]

    def _on_cells(self, formula: Formula, budget: Budget) -> Proved | Violated | str:
        asking = self._asking
        negation = self._sized(Not(self.question.formula), Quantifier.EXISTS)[1]
        with suppress(UnsuitableError, OverflowError, ModelError), limited(budget):
            if self._cells is None:
                self._cells = CellSearch(asking, *sides(formula, negation))
            answer = self._cells.search(budget, round(MANY * max(asking.seconds, 1)))
            if isinstance(answer, tuple):
                witness = None if negation is None else stay(*answer, asking, budget)
                return "" if witness is None else Violated(witness)
            if answer is not None:
                return self._proved(formula, answer)
        return ""

    def _on_product(self, sets: Sets, budget: Budget) -> Proved | str:
        asking = self._asking
        if self._product is None and not self._untried:  # it is too large
            return ""
        with suppress(UnsuitableError, OverflowError, InputError), limited(budget):
            if self._product is None:
                self._untried = False
                self._product = ProductSearch(self.question, asking, self._decide)
            shown = self._product.search(budget, lambda on: self._deriving(sets, budget).derive(INIT, on))
            if shown is not None:
                return shown
        return ""

    def _deriving(self, sets: Sets, budget: Budget) -> Deriving:
        return Deriving(self._asking, self.system, sets.closed, sets.kept, budget, ladders=sets.ladders)

    def _searched(self, search: _Search, searches: list[_Search], budget: Budget) -> Lasso | None:
        """A run by a search, which is left out later where it comes to its end."""
        with limited(budget):
            run = search()
        searches.remove(search)
        if self._runs is not None:
            self._asking.figures.lassos = self._runs.tried
        return run

    def _asked(self, steps: int, budget: Budget) -> Lasso | None:
        runs = self._runs
        if runs is None:
            return None
        return budget.spend(self._asking.seconds, lambda part: runs.asked(steps, self._decide, part))

    def _sized(self, formula: Formula, quantifier: Quantifier) -> tuple[System, Formula | None]:
        """The formula of branching time, None where there is none, or it is too large, and the system it is about."""
        system, deadlock = self.question.subject, self.question.asked.deadlock
        assert isinstance(system, System)
        try:
            system, form = demanded(system, formula, deadlock, quantifier)
        except RecursionError:
            return system, None
        sizes: dict[Formula, int] = {}
        for node in subformulas(form):
            sizes[node] = 1 + sum(sizes[child] for child in node.children)
        return system, None if form is FALSE or sizes[form] > _LARGEST else form

    def _derived(self, formula: Formula, sets: Sets, budget: Budget) -> Proved | str:
        """A proof, or why there is none."""
        deriving = self._deriving(sets, budget)
        goes_on = formula.operands[0] if isinstance(formula, And) else formula
        if deriving.derive(INIT, goes_on) is None:
            ends = ", or that each state has a successor," if goes_on.children[0] is not TRUE else ""
            return f"that no run leaves the declared box{ends} is not derived"
        derivation = deriving.derive(INIT, formula)
        if derivation is None:
            return f"no derivation of {to_text(formula)[:200]} was found from the sets that were tried"
        return self._proved(formula, derivation)

    def _proved(self, formula: Formula, derivation: Derivation) -> Proved:
        proof = RunsProof.of(formula, derivation, self._asking.sets)
        self._asking.figures.proved = [("derived", text) for text in proof.texts[:3]]
        return Proved(basis(derivation), inside=True, proof=proof)

    def _stay(self, sets: Sets, budget: Budget) -> Witness | None:
        """An initial state all runs of which break the property, or (E) some."""
        with limited(budget):
            if self._stays is None:
                forms = dict.fromkeys(self._negations())
                self._stays = [Stays(self._asking, self.system, form, ask) for form in forms]
            witnesses = (stays.find(sets, budget) for stays in self._stays)
            return next((one for one in witnesses if one is not None), None)

    def _negations(self) -> Iterator[Formula]:
        for quantifier in (Quantifier.ALL, Quantifier.EXISTS):
            _, form = self._sized(Not(self.question.formula), quantifier)
            if form is not None:
                yield form


FOREVER_LTL = ForeverLtl()
