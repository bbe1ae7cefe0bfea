"""Systems: variables, agents, branches, initial states, propositions and named properties (design sections 2 and 3)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from venmas.budget import ask
from venmas.errors import ModelError
from venmas.logic import TRUE, Atom, Bottom, Formula, Top, Vocabulary, conjunction, disjunction
from venmas.model.arguments import (
    read_action,
    read_conditions,
    read_end,
    read_labels,
    read_text,
    read_unit,
    read_updates,
)
from venmas.model.domain import Domains, is_integral
from venmas.model.expr import (
    All,
    Any,
    Compare,
    Condition,
    Expr,
    Scalar,
    Switch,
    Truth,
    Variable,
    as_condition,
    children,
    to_comparison,
)
from venmas.model.initial import InitialSet
from venmas.model.limits import (
    MAX_BRANCHES,
    MAX_REGIONS,
    MAX_VARIABLES,
    check_count,
    check_nesting,
    check_node,
    check_number,
)
from venmas.model.variables import Region, VariableDecl
from venmas.model.vector import Vector, read_size

_KEYWORDS = {"A", "E", "U", "true", "false", "not", "and", "or", *(q + o for q in "AE" for o in "XGF")}


@dataclass(frozen=True)
class Agent:
    """A named action: an expression over the state, with labels for its values where it is an integer."""

    name: str
    expr: Expr
    unit: str = ""
    labels: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True)
class Branch:
    """One way for the environment to answer, where `guard` holds: new values by variable name, others stay."""

    name: str
    updates: tuple[tuple[str, Expr], ...]
    guard: Condition

    @property
    def always(self) -> bool:
        """True when the branch can be taken in every state."""
        return isinstance(self.guard, Truth) and self.guard.value


class System:
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
        self.nodes_by_name: dict[str, Variable] = {}
        self.picture: Callable[..., object] | None = None  # draws a trace: docs/plots.md
        self._named: set[str] = set()  # the branches
        self._labelled: dict[str, dict[int, str]] = {}

    def __getstate__(self) -> dict[str, object]:
        # Functions of a scenario file can not be pickled, and no worker draws.
        return {**self.__dict__, "picture": None}

    # -- variables -----------------------------------------------------------------------------------------------------

    def real(self, name: str, lower: object, upper: object, unit: str = "") -> Variable:
        """Declare a real variable of the closed range [lower, upper]."""
        ends = read_end(lower, f"the range of variable {name!r}"), read_end(upper, f"the range of variable {name!r}")
        return self._declare(VariableDecl(name, *ends, unit=read_unit(unit, f"variable {name!r}")))

    def integer(
        self, name: str, lower: int, upper: int, unit: str = "", labels: Mapping[int, str] | None = None
    ) -> Variable:
        """Declare an integer variable; `labels` name values in traces and may be used in formulas."""
        what = f"variable {name!r}"
        ends = read_end(lower, f"the range of {what}"), read_end(upper, f"the range of {what}")
        pairs = read_labels(labels, what)
        return self._declare(VariableDecl(name, *ends, True, unit=read_unit(unit, what), labels=pairs))

    def boolean(self, name: str) -> Variable:
        """Declare a Boolean variable: 0 or 1; in formulas its bare name is an atom."""
        return self._declare(VariableDecl(name, Fraction(0), Fraction(1), True, True))

    def reals(self, name: str, size: int, lower: object, upper: object, unit: str = "") -> Vector:
        """Declare ``name[1] .. name[size]``, real."""
        indices = range(1, read_size(size, f"the group {name!r}") + 1)
        return Vector(self.real(f"{name}[{i}]", lower, upper, unit) for i in indices)

    def booleans(self, name: str, size: int) -> Vector:
        """Declare ``name[1] .. name[size]``, Boolean."""
        indices = range(1, read_size(size, f"the group {name!r}") + 1)
        return Vector(self.boolean(f"{name}[{i}]") for i in indices)

    def _declare(self, decl: VariableDecl) -> Variable:
        base = read_text(decl.name, "the name of a variable", "x").split("[")[0]
        if not base.isidentifier() or base in _KEYWORDS:
            raise ModelError(
                f"{decl.name!r} can not name a variable: use letters, digits and _, and no keyword of formulas"
            )
        check_count(len(self.variables) + 1, MAX_VARIABLES, f"variables of system {self.name!r}")
        for end in (decl.lower, decl.upper):
            check_number(end, f"the range of variable {decl.name!r}")
        if decl.name in self.variables:
            raise ModelError(f"variable {decl.name!r} is declared twice")
        if decl.lower > decl.upper:
            raise ModelError(f"variable {decl.name!r} has an empty range [{decl.lower}, {decl.upper}]")
        for value, text in decl.labels:
            for number, other in self._labelled.get(text, {}).items():
                if number != value:
                    raise ModelError(f"label {text!r} of {decl.name!r} names another value of {other!r}; rename one")
        for value, text in decl.labels:
            self._labelled.setdefault(text, {}).setdefault(value, decl.name)
        self.variables[decl.name] = decl
        self.nodes_by_name[decl.name] = Variable(decl.name, decl.integral)
        self.__dict__.pop("domains", None)
        return self.nodes_by_name[decl.name]

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

    def branch(
        self,
        name: str,
        updates: Mapping[Variable | Vector, Scalar | Vector] | None = None,
        *,
        when: Condition | bool = True,
        **named: Scalar,
    ) -> None:
        """Add a way to answer: new values by keyword, or by variable (or group) in `updates`; the rest stays.

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
        return self.formula(All(read_conditions(conditions, "the initial set")), "the initial set")

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
                "parts: they can be taken one by one, but neither bounded nor certified part by part"
            )
        return self.initial_set.regions

    @regions.setter
    def regions(self, regions: list[Region]) -> None:
        self.initial_set.regions, self.initial_set.condition = regions, TRUE

    def proposition(self, name: str, condition: Condition) -> None:
        """Name a condition (linear over the variables), for use in formulas."""
        read_text(name, "the name of a proposition", "safe")
        if name in self.propositions or name in self.variables or name in _KEYWORDS or not name.isidentifier():
            raise ModelError(f"{name!r} can not name a proposition: it is taken, a keyword or no identifier")
        (checked,) = read_conditions((condition,), f"proposition {name!r}")
        self.propositions[name] = self.formula(checked, f"proposition {name!r}")

    def specify(self, name: str, formula: str) -> None:
        """Name a property (the text of a formula), for ``--formula NAME``."""
        read_text(name, "the name of a property", "safe")
        example = "AG^5 (x > 0)"
        self.properties[name] = read_text(formula, f"property {name!r} (a condition is for proposition())", example)

    # -- reading -------------------------------------------------------------------------------------------------------

    def __getitem__(self, name: str) -> Variable:
        """The node of a variable. Raises `ModelError` when there is none of that name."""
        if name not in self.nodes_by_name:
            raise ModelError(f"no variable {name!r} in {self._listing()}")
        return self.nodes_by_name[name]

    def __contains__(self, name: str) -> bool:
        """Whether there is a variable of that name."""
        return name in self.nodes_by_name

    def __iter__(self) -> Iterator[Variable]:
        """The variables, in the order of their declarations."""
        return iter(self.nodes_by_name.values())

    @property
    def vocabulary(self) -> Vocabulary:
        """What formulas over this system may name."""
        labels: dict[str, Fraction] = {}
        for decl in self.variables.values():
            labels.update({text: Fraction(value) for value, text in decl.labels})
        return Vocabulary(
            variables=tuple(self.variables),
            booleans=frozenset(d.name for d in self.variables.values() if d.boolean),
            propositions=dict(self.propositions),
            constants={k: v for k, v in labels.items() if k not in self.variables and k not in self.propositions},
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
        return self._formula(condition, where)

    def _formula(self, condition: Condition, where: str) -> Formula:
        match condition:
            case Truth(value):
                return Top() if value else Bottom()
            case Compare():
                comparison = to_comparison(condition)
                if comparison is None:
                    raise ModelError(f"{where} must compare affine expressions of the state variables")
                return Atom(comparison)
            case All(operands):
                return conjunction(self._formula(c, where) for c in operands)
            case Any(operands):
                return disjunction(self._formula(c, where) for c in operands)
        raise TypeError(type(condition))

    def check_nesting(self) -> None:
        """Raise `ModelError` where expressions are nested too deeply for what reads them by recursion."""
        levels: dict[int, int] = {}
        for where, root in self._roots():
            check_nesting(where, [root], levels)

    def _roots(self) -> list[tuple[str, Expr | Condition]]:
        roots: list[tuple[str, Expr | Condition]] = [(f"agent {a.name!r}", a.expr) for a in self.agents]
        for b in self.branches:
            roots += [
                (f"branch {b.name!r}", b.guard),
                *((f"branch {b.name!r}, update of {n}", e) for n, e in b.updates),
            ]
        return roots

    def nodes(self) -> Iterator[tuple[str, Expr | Condition]]:
        """Every node once, with the place (agent or branch) that reaches it first."""
        seen: set[int] = set()
        stack = list(reversed(self._roots()))
        while stack:
            where, node = stack.pop()
            if id(node) not in seen:
                if not len(seen) % 32:
                    ask()
                seen.add(id(node))
                yield where, node
                stack.extend((where, child) for child in children(node))

    @property
    def may_deadlock(self) -> bool:
        """True when no branch can be taken in every state, so that some may have no successor."""
        return not any(b.always for b in self.branches)

    def validate(self) -> None:
        """Check what can be checked without a state. Raises `ModelError` naming the place and the remedy."""
        if not self.variables:
            raise ModelError(f"system {self.name!r} has no variables")
        if not self.branches:
            raise ModelError(f"system {self.name!r} has no branches: add at least one with system.branch(...)")
        self.initial_set.check()
        for where, node in self.nodes():
            check_node(where, node)
            if isinstance(node, Variable) and self.nodes_by_name.get(node.name) is not node:
                raise ModelError(f"{where} uses variable {node.name!r} of another system")
            if isinstance(node, Switch):
                self._check_switch(where, node)
        integral: set[int] = set()
        for b in self.branches:
            for name, expr in b.updates:
                if self.variables[name].integral and not is_integral(expr, integral):
                    raise ModelError(
                        f"branch {b.name!r}: {name} is an integer and its new value may not be one; "
                        "build it from integers, argmax, switch or where with integer cases"
                    )

    def _check_switch(self, where: str, node: Switch) -> None:
        values = self.domains.values(node.selector)
        if values is None:
            raise ModelError(f"{where}: a switch needs a selector of finitely many values (an integer, an argmax)")
        keys = {key for key, _ in node.cases}
        missing = [v for v in values if v.denominator != 1 or int(v) not in keys]
        if missing:
            raise ModelError(f"{where}: the switch has no case for the selector's value {missing[0]}; add one")

    def _listing(self) -> str:
        return f"system {self.name!r} (it has {', '.join(self.variables) or 'none yet'})"
