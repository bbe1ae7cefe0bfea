"""The question: what is asked of a system, and everything that its answer needs, built once (design section 2b).

A property is satisfied when no initial state meets its negation, no run leaves the declared box (design S1) within the
steps that it looks at, and it is told where a state without successor is reached (design S4). Each of the three is a
question of its own, which the same procedures answer: `Question`, `Question.boxed` or `Question.staying`, and
`Question.deadlocks`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Literal

from venmas.errors import FormulaError, UsageError
from venmas.logic import (
    AX,
    EX,
    TRUE,
    Always,
    And,
    Atom,
    Bounded,
    Branching,
    Deadlock,
    Formula,
    Globally,
    Linear,
    Property,
    Quantifier,
    Unbounded,
    bounded,
    classified,
    conjunction,
    fixpoints,
    is_linear,
    is_temporal,
    nnf,
    parse,
    subformulas,
)
from venmas.logic.either import parse_either
from venmas.logic.linear import Comparison, LinearExpr, Relation
from venmas.model.evaluation.evaluation import undrawn
from venmas.model.expressions.limits import MAX_NUMBER
from venmas.model.system.disturbances import Noise, ahead, drawn, ranges
from venmas.model.system.letters import letters_of
from venmas.model.system.system import System
from venmas.model.witness.tree import Witness
from venmas.nn.network import Semantics


@dataclass(frozen=True, eq=False)
class Question:
    """Does every initial state of `system` satisfy the property `asked`?

    semantics: what networks compute. certified: a proof is to be written down. inside: the claim says besides that no
    state leaves its declared box. about: what the property speaks of. Whatever unrolls reads `formula`.
    """

    system: System
    asked: Branching
    semantics: Semantics = "real"
    certified: bool = False
    inside: bool = False
    about: Literal["property", "box", "deadlock"] = "property"
    inductive: Formula | None = None
    """The set of states, a formula about one, by which AG p is to be proved; None: any will do."""
    chosen: Noise = field(default_factory=dict)
    """Noise in initial states of which one value each is enough for a state to satisfy the property (`chosen_for`)."""
    undrawn: System | None = None
    """The system with disturbances whose noise the initial states of `system` hold."""

    def __post_init__(self) -> None:
        if self.system.disturbances and isinstance(self.asked, Bounded):  # which is about drawn noise: see `drawn_for`
            raise undrawn(self.system.disturbances[0])

    @cached_property
    def formula(self) -> Formula:
        """The bounded formula that is asked. Raises `FormulaError` for properties of other kinds."""
        return bounded(self.asked)

    @cached_property
    def target(self) -> Formula:
        """What no initial state may meet, in core form. Raises `FormulaError` as `nnf` does."""
        return claim(self.system, self.formula, self.inside)

    @cached_property
    def shown(self) -> Formula:
        """What a witness shows: the negated property in core form, with fixpoints where it has no bound."""
        return self.target if isinstance(self.asked, Bounded) else fixpoints(self.asked.formula, negate=True)

    @property
    def unrolled(self) -> bool:
        """Is there a search in rationals for a proof? It unrolls linear pieces, and chooses no noise."""
        return isinstance(self.asked, Bounded) and not self.system.smooth and not self.chosen

    @property
    def boxed(self) -> Question:
        """The same, and that no run leaves the declared box."""
        return replace(self, inside=True)

    def staying(self, names: Iterable[str]) -> Question:
        """Do the variables stay in their declared ranges, as far as the formula looks?"""
        depth = self.formula.depth if isinstance(self.asked, Bounded) else None
        asked = classified(staying(self.system, names, depth))
        return replace(self, asked=asked, certified=False, about="box", chosen={})

    @property
    def deadlocks(self) -> Question:
        """Has every state a successor that is reached before the last step that the formula looks at?"""
        steps = max(0, self.formula.depth - 1) if isinstance(self.asked, Bounded) else None
        asked = classified(Globally(Quantifier.ALL, 0, steps, EX(TRUE)))
        return replace(self, asked=asked, certified=False, inside=False, about="deadlock", inductive=None, chosen={})


def read_system_property(
    system: System, formula: str | Formula, fair: Iterable[str] = (), deadlock: Deadlock = "error"
) -> Property:
    """A property of a system, of CTL or LTL: from text, from the name of one of its properties, or as a formula.

    fair: conditions that hold infinitely often on the runs that are meant. Raises `FormulaError`, and `UsageError` for
    options of LTL beside a formula of CTL.
    """

    def linear(text: str) -> Formula:
        from venmas.logic.ltl_parser import parse_ltl

        return parse_ltl(text, letters_of(system))

    if isinstance(formula, Formula):
        found = formula if is_linear(formula) else classified(formula)
    else:
        name, words = formula.strip(), system.vocabulary
        # the text that was read last is read again by whoever decides about it
        read = system.once("property", lambda: lru_cache(maxsize=1)(lambda text: parse_either(text, words, linear)))
        try:
            found = read(system.properties.get(name, formula))
        except FormulaError as error:
            if name in system.properties:
                raise FormulaError(f"property {name!r} of system {system.name!r}: {error}") from error
            raise
    _check_numbers(found if isinstance(found, Formula) else found.formula)
    if isinstance(found, Formula):
        return Linear(found, tuple(map(linear, fair)), deadlock)
    if fair or deadlock != "error":
        option = "conditions of fairness are" if fair else "runs that stay where they have no successor are"
        raise UsageError(
            f"{option} for formulas of LTL, such as G F p, and this one is of CTL or about one state: leave the option "
            "out, or write the formula with X F G U R W M and without A and E"
        )
    return found


def read_formula(system: System, formula: str | Formula) -> Formula:
    """A bounded formula, read and posed. Raises `FormulaError`, also for other kinds of properties."""
    return bounded(posed(system, read_property(system, formula)))


def read_property(system: System, formula: str | Formula) -> Branching:
    """A property of CTL, as `read_system_property` has it. Raises `FormulaError`, also for one of LTL."""
    asked = read_system_property(system, formula)
    if isinstance(asked, Linear):
        raise FormulaError(f"a formula of CTL is wanted here, and {asked.text[:200]} is one of LTL")
    return asked


def _check_numbers(formula: Formula) -> None:
    """Raises `FormulaError` for a comparison with a number that no variable reaches."""
    for node in subformulas(formula):
        if isinstance(node, Atom):
            for number in (node.comparison.expr.constant, *node.comparison.expr.coefficients.values()):
                if abs(number) > MAX_NUMBER:
                    raise FormulaError(f"a number beyond 1e100 is compared: no variable is so large: {node!r}")


def read_inductive(system: System, text: str) -> Formula:
    """A set of states from a formula about one, such as the name of a proposition. Raises `FormulaError`."""
    formula = parse(text, system.vocabulary)
    if is_temporal(formula):
        raise FormulaError(f"an inductive set is a formula about one state, without AX, AG and the like: {text[:200]}")
    return formula


def posed(system: System, asked: Branching) -> Branching:
    """What is asked of the initial states: of a system with quantities, of their only successors, which measure them.

    (`venmas.model.system.quantities`)
    """
    if not system.quantities:
        return asked
    if isinstance(asked, Always):
        return Always(asked.start + 1, asked.invariant, asked.place)
    formula = AX(asked.formula)
    return Bounded(formula) if isinstance(asked, Bounded) else Unbounded(formula, asked.place)


def drawn_for(system: System, asked: Branching) -> System:
    """The system in whose initial states all noise is chosen that `asked`, as it is `posed`, looks at (design S4).

    Itself where it has no disturbances. Raises `FormulaError` where that has not the same answer: without a bound, and
    where the formula, or its negation, speaks of several runs from a state, each of which has noise of its own.
    """
    if not system.disturbances:
        return system
    names = ", ".join(system.disturbances[:8])
    shown = str(asked.formula)[:200]
    if not isinstance(asked, Bounded):
        raise FormulaError(
            f"system {system.name!r} has disturbances ({names}), and {shown} has no bound: over noise only formulas "
            "with bounds are decided; write AG^20 p for AG p, or make noise of finitely many values branches"
        )
    target = nnf(asked.formula, negate=True)
    for node in subformulas(target):
        if isinstance(node, AX):
            raise FormulaError(
                f"system {system.name!r} has disturbances ({names}), and {shown} says that there is a run with some "
                "property (E): whether noise can bring that about is not decided; ask for all runs (A): EF^k p holds "
                "of no initial state if AG^k !p is satisfied"
            )
        if isinstance(node, And) and sum(map(is_temporal, node.operands)) > 1:
            raise FormulaError(
                f"system {system.name!r} has disturbances ({names}), and {shown} is broken only by several runs at "
                "once, each with noise of its own, because it joins temporal operators by |: ask about each by "
                "itself, or for one of them of all runs, AG^k (p | q)"
            )
    return drawn(system, target.depth)


def chosen_for(system: System, asked: Branching) -> tuple[System, Noise]:
    """`drawn_for`, and the noise that may be chosen: none, or all where noise is to bring `asked` about (EF^k p).

    The negation of such a formula has no EX. Where it is true of a state, it is so of every choice of noise too, as
    that leaves out successors: a state satisfies the formula if it does so under one choice.
    """
    if system.disturbances and isinstance(asked, Bounded):
        target = nnf(asked.formula, negate=True)
        kinds = {type(node) for node in subformulas(target)}
        if AX in kinds and EX not in kinds:
            found = drawn(system, target.depth)
            return found, ranges(system, found)
    return drawn_for(system, asked), {}


def goals(system: System, formula: Formula, chosen: Noise) -> list[tuple[Formula, Noise]]:
    """What no initial state may meet so that `formula` holds and no run leaves its box, each with the noise that may be
    chosen: all noise counts for the box."""
    if not chosen:
        return [(claim(system, formula, inside=True), {})]
    boxed = staying(system, system.variables, formula.depth)
    return [(claim(system, formula, inside=False), chosen), (nnf(boxed, negate=True), {})]


def claim(system: System, formula: Formula, inside: bool) -> Formula:
    """What no initial state may meet, in core form: the negated formula, or leaving the declared box if `inside`."""
    if inside:
        formula = conjunction([formula, staying(system, system.variables, formula.depth)])
    return nnf(formula, negate=True)


def staying(system: System, names: Iterable[str], depth: int | None) -> Formula:
    """AG^depth, None for ever: the variables stay in their declared ranges, as noise of later steps always does."""
    atoms: list[Formula] = []
    for name in names:
        if ahead(name):
            continue
        decl = system.variables[name]
        value = LinearExpr.variable(name)
        atoms.append(Atom(Comparison(value - LinearExpr((), decl.lower), Relation.GE)))
        atoms.append(Atom(Comparison(value - LinearExpr((), decl.upper), Relation.LE)))
    if depth is None:
        return Globally(Quantifier.ALL, 0, None, conjunction(atoms))
    return Globally(Quantifier.ALL, 1, max(1, depth), conjunction(atoms))


def always(question: Question) -> Always:
    """The property, of one that is AG p without a bound. Raises `FormulaError`."""
    if not isinstance(question.asked, Always):
        raise FormulaError("a set that runs do not leave proves AG p without a bound, p being about one state")
    return question.asked


def deadlocked(witness: Witness) -> dict[str, Fraction]:
    """The state without a successor of a witness that answers `Question.deadlocks`."""
    node = witness.nodes[witness.deadlocks[0] if witness.deadlocks else -1]
    return {v.name: v.exact for v in node.state}


def deadlock_note(system: System, state: Mapping[str, Fraction]) -> str:
    """What a report says of a deadlock."""
    shown = ", ".join(f"{n} = {decl.show(state[n])}" for n, decl in system.variables.items() if not ahead(n))
    return f"a deadlock is reachable ({shown}): there AX holds and EX does not"
