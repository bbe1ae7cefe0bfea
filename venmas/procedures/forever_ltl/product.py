"""LTL by the product with a Büchi automaton: that no fair run breaks a property, also where that shows in no state.

That each run goes on is derived of the system (AG EX true). Of the product (`venmas.checker.forever.product`), a system
as any other, sets that are not left (AF AG), or levels of cells, show that each run completes only so many rounds of
acceptance sets: A F G.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from venmas.answer import BASES, Proved
from venmas.budget import Budget, limited
from venmas.checker.forever.linear import goes_on
from venmas.checker.forever.product import product
from venmas.checker.forever.rules import Persist
from venmas.checker.forever.sequents import INIT, normal
from venmas.checker.format.rule import End, Rule
from venmas.checker.levels.check import Runs
from venmas.checker.netlists.simulation import Edge
from venmas.errors import InputError, ModelError
from venmas.logic import FALSE, Finally, Formula, Globally, Quantifier
from venmas.logic.automata.automaton import Automaton
from venmas.logic.printing import to_text
from venmas.model.system.system import System
from venmas.model.transform.cases import UnsuitableError
from venmas.procedure import LinearQuestion
from venmas.procedures.forever.cells.search import FEW_REALS, MANY, ON_CELLS, CellSearch, dimension
from venmas.procedures.forever.cells.sides import Side, dual, sides
from venmas.procedures.forever.claims.asking import Asking, Decide
from venmas.procedures.forever.claims.proof import Claimed, Derivation, DerivationProof, Inferred, basis
from venmas.procedures.forever.claims.stays import Point
from venmas.procedures.forever.derive import Deriving
from venmas.procedures.forever.sets import Sets
from venmas.procedures.linear.claim import SystemClaim


@dataclass(frozen=True)
class ProductProof:
    """Derivations that each run goes on, and that those of the product are not accepted."""

    goes_on: DerivationProof
    rejected: DerivationProof | None
    kind: ClassVar[str] = "forever-ltl"
    within: ClassVar[int | None] = None

    def lines(self, claim: SystemClaim, tick: Callable[[], None]) -> Iterator[Rule]:
        """The automaton, and both derivations, each with its end."""
        yield claim.stated(True)
        for part in (self.goes_on, *([] if self.rejected is None else [self.rejected])):
            count = 0
            for line in part.lines(None, tick):
                count += 1
                yield line
            yield End(count + 1)

    def facts(self, automaton: Automaton) -> dict[str, Any]:
        """Sentence of a report."""
        text = "no run is fair, or the property holds of all words"
        if self.rejected is not None:
            text = f"levels of {len(self.rejected.sets)} sets of states of the system and of an automaton of "
            text += f"{automaton.states} states, which accepts what breaks the property"
        known = {"by": "derivation", "from": "initial", "within": None, "texts": [text]}
        return known | {"said": None, "states": None, "obligations": []}


class ProductSearch:
    """The search of such a proof. Raises `InputError` where the product is too large."""

    def __init__(self, question: LinearQuestion, asking: Asking, decide: Decide) -> None:
        assert isinstance(question.subject, System)
        self._asking, automaton = asking, question.automaton
        system, self._goes_on = goes_on(question.subject, question.asked.deadlock)
        if self._goes_on is FALSE:
            raise InputError("noise decides about successors")
        edges = [Edge(e.source, e.label.care, e.label.value, e.target, e.marks) for e in automaton.edges]
        self._rejected: _Rejected | None = None
        if edges:
            runs = Runs(automaton.states, automaton.marks, list(automaton.atoms), edges)
            self._rejected = _Rejected(*product(system, runs), decide)
            self._rejected.asking.figures = asking.figures
        self._on: Derivation | None = None
        self._ends = False
        """Is it known that some run ends, or leaves the box?"""
        self._on_cells = _cells(asking, *sides(self._goes_on))

    def search(self, budget: Budget, derived: Callable[[Formula], Derivation | None]) -> Proved | None:
        """A proof. derived: derives a formula of the system's initial states."""
        if self._ends:
            return None
        seconds = self._asking.seconds
        if self._on is None and self._on_cells is not None:
            on = budget.spend(ON_CELLS * seconds, partial(_searched, self._on_cells, seconds))
            self._ends = isinstance(on, tuple)
            self._on = on if isinstance(on, Claimed | Inferred) else None
        self._on = self._on or (None if self._ends else derived(self._goes_on))
        if self._on is None:
            return None
        rejected, weakest = None, basis(self._on)
        if self._rejected is not None:
            shown = self._rejected.search(budget, seconds)
            if shown is None:
                return None
            rejected = DerivationProof(shown, self._rejected.asking.sets)
            weakest = max(basis(shown), weakest, key=BASES.index)
        proof = ProductProof(DerivationProof(self._on, self._asking.sets), rejected)
        return Proved(weakest, inside=True, proof=proof)


class _Rejected:
    """The search for why no infinite run of a product is accepted: by sets that runs do not leave, or by cells."""

    def __init__(self, made: System, rejecting: Formula, decide: Decide) -> None:
        self.asking, self._rejecting = Asking(made, decide, "real"), rejecting
        side = Side.settled(rejecting)
        self._cells = _cells(self.asking, side, Side("", normal(dual(side.core)), None))

    def search(self, budget: Budget, seconds: float) -> Derivation | None:
        """A derivation of A F G."""
        self.asking.seconds = seconds
        searches: list[Callable[[Budget], object]] = [self._derived]
        if self._cells is not None:
            first = dimension(self.asking.system) <= FEW_REALS
            searches.insert(0 if first else 1, partial(_searched, self._cells, seconds))
        for search in searches:
            shown = budget.spend(ON_CELLS * seconds, search)
            if isinstance(shown, Claimed | Inferred):
                return shown
        return None

    def _derived(self, budget: Budget) -> Derivation | None:
        asking, rejecting = self.asking, self._rejecting
        within = Finally(Quantifier.ALL, 0, None, Globally(Quantifier.ALL, 0, None, rejecting))
        with suppress(ModelError), limited(budget):
            sets = Sets(asking, asking.system, None, within, budget)
            deriving = Deriving(asking, asking.system, sets.closed, sets.kept, budget, ladders=sets.ladders)
            shown = deriving.derive(INIT, within)
            return None if shown is None else Inferred(Persist((), INIT, to_text(rejecting)), (shown,))
        return None


def _cells(asking: Asking, holds: Side, fails: Side) -> CellSearch | None:
    with suppress(UnsuitableError, ModelError):
        return CellSearch(asking, holds, fails)
    return None


def _searched(cells: CellSearch, seconds: float, budget: Budget) -> Derivation | tuple[Point, Derivation] | None:
    with suppress(OverflowError, ModelError), limited(budget):
        return cells.search(budget, round(MANY * max(seconds, 1)))
    return None
