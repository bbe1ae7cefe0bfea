"""Systems: variables, agents, branches, initial states, propositions and named properties (design sections 2 and 3)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from copy import copy
from fractions import Fraction
from functools import cached_property
from typing import TypeVar

from venmas.errors import ModelError
from venmas.logic import TRUE, Formula, Vocabulary
from venmas.model.expressions.domain import Domains
from venmas.model.expressions.expr import (
    All,
    Condition,
    Drawn,
    Expr,
    Scalar,
    Truth,
    Variable,
    as_condition,
    as_expr,
)
from venmas.model.expressions.flows import Motion, flow_of
from venmas.model.expressions.limits import MAX_BRANCHES, MAX_REGIONS, check_count, check_nesting
from venmas.model.expressions.vector import Vector, read_size
from venmas.model.expressions.walk import walk
from venmas.model.system.arguments import (
    read_action,
    read_conditions,
    read_end,
    read_labels,
    read_text,
    read_unit,
    read_updates,
)
from venmas.model.system.declarations import KEYWORDS, declare, declare_noise
from venmas.model.system.disturbances import ahead, check_undisturbed
from venmas.model.system.initial import InitialSet, to_formula
from venmas.model.system.memo import Memo
from venmas.model.system.memory import at_first, remember, stack
from venmas.model.system.naming import missing, unnameable
from venmas.model.system.parts import Agent as Agent
from venmas.model.system.parts import Branch as Branch
from venmas.model.system.quantities import (
    DEFAULT_RANGE,
    MEASURE,
    check_initial_names,
    linearised,
    measure,
    with_quantities,
)
from venmas.model.system.validity import check_system, first_smooth
from venmas.model.system.variables import Region, VariableDecl
from venmas.nn.recurrent import Recurrent
from venmas.runtime.display import Shown

_Found = TypeVar("_Found")


class System(Shown):
    """A neural agent-environment system, written once and read by simulation, bounds and encodings.

    Build it with `real`, `integer`, `boolean`, `agent`, `branch`, `initial`, `proposition` and `specify`, in any order
    that defines names before their use; `validate` checks the whole and is called before any interpretation.
    """

    def __init__(self, name: str, description: str = "") -> None:
        self.name = name
        self.description = description
        self.variables: dict[str, VariableDecl] = {}
        self.agents: list[Agent] = []
        self.branches: list[Branch] = []
        self.initial_set = InitialSet(name, self.variables)
        self.propositions: dict[str, Formula] = {}
        self.properties: dict[str, str] = {}
        self.quantities: dict[str, Expr] = {}
        """Variables that always equal an expression, once they are measured (`venmas.model.system.quantities`)."""
        self.disturbances: tuple[str, ...] = ()
        """Variables that are no part of the state: chosen anew in each step (`venmas.model.system.disturbances`)."""
        self.still: dict[str, Fraction] = {}  # disturbances of a single value: this number wherever they stand
        self.nodes_by_name: dict[str, Variable] = {}
        self.memory: dict[str, Expr] = {}  # what each step sets variables of memory to (`venmas.model.system.memory`)
        self.picture: Callable[..., object] | None = None  # draws a trace: docs/plots.md
        self._steady = False  # can some branch be taken in every state? (the quantities' own one before it left out)
        self._named: set[str] = set()  # the branches
        self.labelled: dict[str, dict[int, str]] = {}  # variables that a label names a value of, by label and value
        self._memo = Memo()

    def __repr__(self) -> str:
        return f"<System {self.name!r}: {len(self.variables)} variables, {len(self.branches)} branches>"

    def __getstate__(self) -> dict[str, object]:
        # Functions of a scenario file can not be pickled, and no worker draws. The memo is empty where it is read.
        return {**self.__dict__, "picture": None, "_memo": Memo()}

    def once(self, key: Hashable, find: Callable[[], _Found]) -> _Found:
        """What `find` finds of the system as it is now, kept until it is changed: for what every question needs.

        Parts of a system are immutable, so that it is the same as long as it has the same ones.
        """
        return self._memo.once(self._parts(), key, find)

    def _parts(self) -> tuple[object, ...]:
        """All that the system consists of, in an order that tells one list from the next."""
        tables = (self.variables, self.nodes_by_name, self.propositions, self.properties)
        return (
            self.name,
            self.description,
            *(part for table in tables for item in table.items() for part in item),
            *self.agents,
            *self.branches,
            *self.disturbances,
            *self.still,
            *self.initial_set.regions,
            self.initial_condition,
        )

    # -- variables -----------------------------------------------------------------------------------------------------

    def real(self, name: str, lower: object, upper: object, unit: str = "") -> Variable:
        """Declare a real variable of the closed range [lower, upper]."""
        ends = read_end(lower, f"the range of variable {name!r}"), read_end(upper, f"the range of variable {name!r}")
        return declare(self, VariableDecl(name, *ends, unit=read_unit(unit, f"variable {name!r}")))

    def integer(
        self, name: str, lower: int, upper: int, unit: str = "", labels: Mapping[int, str] | None = None
    ) -> Variable:
        """Declare an integer variable; `labels` name values in traces and may be used in formulas."""
        what = f"variable {name!r}"
        ends = read_end(lower, f"the range of {what}"), read_end(upper, f"the range of {what}")
        pairs = read_labels(labels, what)
        return declare(self, VariableDecl(name, *ends, True, unit=read_unit(unit, what), labels=pairs))

    def boolean(self, name: str) -> Variable:
        """Declare a Boolean variable: 0 or 1; in formulas its bare name is an atom."""
        return declare(self, VariableDecl(name, Fraction(0), Fraction(1), True, True))

    def reals(self, name: str, size: int, lower: object, upper: object, unit: str = "") -> Vector:
        """Declare ``name[1] .. name[size]``, real."""
        indices = range(1, read_size(size, f"the group {name!r}") + 1)
        return Vector(self.real(f"{name}[{i}]", lower, upper, unit) for i in indices)

    def booleans(self, name: str, size: int) -> Vector:
        """Declare ``name[1] .. name[size]``, Boolean."""
        indices = range(1, read_size(size, f"the group {name!r}") + 1)
        return Vector(self.boolean(f"{name}[{i}]") for i in indices)

    def quantity(
        self, name: str, value: Scalar, lower: object = -DEFAULT_RANGE, upper: object = DEFAULT_RANGE, unit: str = ""
    ) -> Variable:
        """Declare a variable that always equals a function of the state, such as ``V(x)`` of a network.

        Declare it before branches and initial sets; propositions and formulas may compare it. Leaving its range is an
        error of the model, as for any variable. Raises `ModelError`.
        """
        node = measure(self, name, as_expr(value), lower, upper, unit)
        self._named.add(MEASURE)
        return node

    def disturbance(self, name: str, lower: object, upper: object, unit: str = "") -> Expr:
        """Declare bounded noise: a real number of [lower, upper] that the environment chooses anew in each step.

        It has one value in a step, wherever agents, guards and branches read it. It is not part of the state, so
        formulas and initial sets cannot name it. Declare it before branches. Raises `ModelError`.

        A range of one number is no noise: it is that number, and the system has one disturbance less.
        """
        return declare_noise(self, name, lower, upper, unit)

    # -- behaviour -----------------------------------------------------------------------------------------------------

    def agent(
        self, action: Scalar, name: str = "action", unit: str = "", labels: Mapping[int, str] | None = None
    ) -> Expr:
        """Register what an agent does in a state; the action is shown in traces. Returns it, for use in branches."""
        read_text(name, "the name of an agent", "action")
        if any(a.name == name for a in self.agents):
            raise ModelError(f"agent {name!r} is declared twice; give the second one another name")
        expr, what = read_action(action, name), f"agent {name!r}"
        self.agents.append(Agent(name, expr, read_unit(unit, what), read_labels(labels, what)))
        return expr

    def recurrent(self, network: Recurrent, inputs: Iterable[Scalar], name: str = "", cell: object = 100) -> Vector:
        """The outputs of a network with memory, which becomes variables ``h[1]``.. (``name_h[1]``..) of the system.

        They are 0 at first unless initial sets name them. cell: the largest ``abs(c)`` of an LSTM. Raises `ModelError`.
        """
        return remember(self, network, inputs, name, cell)

    def stacked(
        self, inputs: Iterable[Scalar], count: int, name: str = "past", first: str = "zero", ends: object = None
    ) -> Vector:
        """The last `count` observations, the oldest first (docs/own-network.md); ``past[1]``.. are variables.

        first: "zero" or "repeat". ends: (least, greatest), of observations that are no variables. Raises `ModelError`.
        """
        return stack(self, inputs, count, name, first, ends)

    def flow(self, period: object, rates: Mapping[Variable, Scalar]) -> Motion:
        """A differential equation over one period, {variable: derivative}; its `end` is for the updates of a branch.

        Variables that it does not name are constant over the period, and so are the actions of agents, which act at its
        start. Raises `ModelError`.
        """
        return flow_of(self, period, rates)

    def branch(
        self,
        name: str,
        updates: Mapping[Variable | Vector, Scalar | Vector] | None = None,
        *,
        when: Condition | bool = True,
        **named: Scalar,
    ) -> None:
        """Add a branch: new values by keyword, or by variable (or group) in `updates`; other variables stay.

        A group takes a vector, a list, or an array of one dimension. `when`: the guard; True and False (of parameters)
        are the guards that hold always and never.
        """
        where = f"branch {read_text(name, 'the name of a branch', 'go')!r}"
        found = read_updates(where, self.nodes_by_name, self._listing(), updates, named)
        try:
            guard = as_condition(when)
        except ModelError as error:
            raise ModelError(f"{where}, when: {error}") from error
        if name in self._named:
            raise ModelError(f"branch {name!r} is declared twice")
        check_count(len(self.branches) + 1, MAX_BRANCHES, f"branches of system {self.name!r}")
        self._named.add(name)
        self._steady |= isinstance(guard, Truth) and guard.value
        for disturbance in self.disturbances:
            if disturbance in found:
                raise ModelError(f"{where} sets {disturbance!r}, which is a disturbance: every step has another one")
        found, guard = with_quantities(self, where, found, guard)
        found = {**self.memory, **found, **{w: Drawn(w) for w in self.disturbances}}
        self.branches.append(Branch(name, tuple(found.items()), guard))

    def initial(self, *conditions: Condition) -> None:
        """Add the set of states where all `conditions` hold; calling it again adds another set (a union)."""
        self.initial_set.add_product(self._initial_formula(conditions))

    def start(self, *conditions: Condition) -> None:
        """Add a set as `initial` does, for conditions of many cases: they become disjoint regions, where these are few.

        Otherwise the initial set is no union of `regions`, but has an `initial_condition`.
        """
        self.initial_set.add(self._initial_formula(conditions))

    def _initial_formula(self, conditions: tuple[Condition, ...]) -> Formula:
        condition = All(read_conditions(conditions, "the initial set"))
        check_initial_names(self, condition)
        check_undisturbed(self, condition, "the initial set")
        return self.formula(All((*condition.operands, *at_first(self, condition))), "the initial set")

    @property
    def initial_condition(self) -> Formula:
        """What holds in every initial state besides being in one of `initial_set.regions`; mostly true."""
        return self.initial_set.condition

    @property
    def regions(self) -> list[Region]:
        """The initial set as a union of polytopes. Raises `ModelError` where it has an `initial_condition`."""
        if self.initial_condition is not TRUE:
            raise ModelError(
                f"the initial states of system {self.name!r} are those of a condition of more than {MAX_REGIONS} "
                "parts: they can be enumerated, but neither bounded nor certified part by part"
            )
        return self.initial_set.regions

    @regions.setter
    def regions(self, regions: list[Region]) -> None:
        self.initial_set.regions, self.initial_set.condition = regions, TRUE

    def proposition(self, name: str, condition: Condition) -> None:
        """Name a condition, for use in formulas.

        What is not linear in the variables, such as a comparison of the outputs of a network, becomes a `quantity`.
        """
        read_text(name, "the name of a proposition", "safe")
        taken = {*self.propositions, *self.variables, *self.still, *KEYWORDS}
        if name in taken or not name.isidentifier():
            raise ModelError(f"{name!r} can not name a proposition: it is taken, a keyword or no identifier")
        (checked,) = read_conditions((condition,), f"proposition {name!r}")
        check_nesting(f"proposition {name!r}", [checked])
        check_undisturbed(self, checked, f"proposition {name!r}")
        self.propositions[name] = self.formula(linearised(self, name, checked), f"proposition {name!r}")

    def specify(self, name: str, formula: str) -> None:
        """Name a property (the text of a formula), for ``--formula NAME``."""
        read_text(name, "the name of a property", "safe")
        example = "AG^5 (x > 0)"
        self.properties[name] = read_text(formula, f"property {name!r} (a condition is for proposition())", example)

    # -- reading -------------------------------------------------------------------------------------------------------

    def __getitem__(self, name: str) -> Variable:
        """The node of a variable. Raises `ModelError` when there is none of that name."""
        if read_text(name, f"the name of a variable of system {self.name!r}", "x") not in self.nodes_by_name:
            raise ModelError(f"no variable {name!r} in {self._listing()}{missing(self, name)}")
        return self.nodes_by_name[name]

    def __contains__(self, name: str) -> bool:
        """Whether there is a variable of that name."""
        return isinstance(name, str) and name in self.nodes_by_name

    def __iter__(self) -> Iterator[Variable]:
        """The variables, in the order of their declarations."""
        return iter(self.nodes_by_name.values())

    @property
    def vocabulary(self) -> Vocabulary:
        """What formulas over this system may name."""
        return self.once("vocabulary", self._vocabulary)

    def _vocabulary(self) -> Vocabulary:
        labels = {text: Fraction(value) for decl in self.variables.values() for value, text in decl.labels}
        return Vocabulary(
            variables=tuple(n for n in self.variables if n not in self.disturbances and not ahead(n)),
            booleans=frozenset(d.name for d in self.variables.values() if d.boolean),
            propositions=dict(self.propositions),
            constants={k: v for k, v in labels.items() if k not in self.variables and k not in self.propositions},
            others=unnameable(self),
        )

    @cached_property
    def domains(self) -> Domains:
        """Static value sets of expressions over the declared ranges."""
        finite = {d.name: d.values for d in self.variables.values()}
        return Domains({name: values for name, values in finite.items() if values is not None})

    @property
    def box(self) -> dict[str, tuple[Fraction, Fraction]]:
        """Declared range by variable name."""
        return {d.name: (d.lower, d.upper) for d in self.variables.values()}

    def formula(self, condition: Condition, where: str) -> Formula:
        """A condition over variables as a formula. Raises `ModelError` where it is not linear in the variables."""
        check_nesting(where, [as_condition(condition)])
        return to_formula(condition, where)

    def check_nesting(self) -> None:
        """Raise `ModelError` where expressions are nested too deeply for what reads them by recursion."""
        self.once("nesting", self._check_nesting)

    def _check_nesting(self) -> None:
        levels: dict[int, int] = {}
        for where, root in self._roots():
            check_nesting(where, [root], levels)

    def _roots(self) -> list[tuple[str, Expr | Condition]]:
        roots: list[tuple[str, Expr | Condition]] = [(f"agent {a.name!r}", a.expr) for a in self.agents]
        for where, b in ((f"branch {b.name!r}", b) for b in self.branches):
            roots += [(where, b.guard), *((f"{where}, update of {n}", e) for n, e in b.updates)]
        return roots

    def nodes(self) -> tuple[tuple[str, Expr | Condition], ...]:
        """Every node once, with the place (agent or branch) that reaches it first."""
        seen: dict[int, object] = {}
        return self.once("nodes", lambda: tuple((at, n) for at, root in self._roots() for n in walk([root], seen=seen)))

    @property
    def smooth(self) -> str:
        """Where the system is not piecewise linear, as far as it is found first; empty where it is."""
        return self.once("smooth", lambda: first_smooth(self))

    @property
    def may_deadlock(self) -> bool:
        """True when no branch can be taken in every state, so that some may have no successor."""
        return not ((self.quantities and self._steady) or any(b.always for b in self.branches))

    def starting(self, states: Formula) -> System:
        """The same system with other initial states: those of a formula about one state, within the declared ranges."""
        made = self.with_regions(())
        made.initial_set.add_product(states)
        return made

    def with_regions(self, regions: Iterable[Region]) -> System:
        """The same system with other initial states: a union of regions."""
        made = copy(self)
        made._memo, made.initial_set = Memo(), InitialSet(self.name, self.variables)
        made.initial_set.regions = list(regions)
        return made

    def validate(self) -> None:
        """Check what can be checked without a state. Raises `ModelError` naming the place and the remedy."""
        self.once("valid", lambda: check_system(self))

    def _listing(self) -> str:
        return f"system {self.name!r} (it has {', '.join(self.variables) or 'none yet'})"
