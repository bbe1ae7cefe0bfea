"""A JANI model, one of its properties and a policy as a system."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from venmas.formats.jani.affine import affine
from venmas.formats.jani.automata import Composition, Operator, Passing
from venmas.formats.jani.expressions import read_condition
from venmas.formats.jani.interface import Interface, labelled
from venmas.formats.jani.model import Header, Setting, read_model
from venmas.formats.jani.names import Names
from venmas.formats.jani.properties import Conditions, Property
from venmas.formats.jani.space import Space
from venmas.logic.linear import Relation
from venmas.model.expressions.domain import Ranges
from venmas.model.expressions.expr import (
    All,
    Compare,
    Condition,
    Expr,
    Truth,
    as_condition,
    compare,
    conjunction,
    disjunction,
    to_comparison,
)
from venmas.model.expressions.functions import apply_network, argmax
from venmas.model.scenario.parameters import NetworkFolder
from venmas.model.system.emptiness import has_point
from venmas.model.system.system import System

LeaveRange: TypeAlias = Literal["error", "block"]
LEAVE_RANGE = ("error", "block")


@dataclass(frozen=True)
class Options:
    """Options of reading a model.

    with_initial: the model's initial state is a start state, too. goal_terminal: no step leaves a goal state.
    leave_range: what an update that leaves the range of its variable is, an error of the model or no step at all.
    masking: the policy chooses among applicable labels; None: as its interface says.
    """

    with_initial: bool = False
    goal_terminal: bool = False
    leave_range: LeaveRange = "error"
    masking: bool | None = None


@dataclass
class Built:
    """A system with what was noted while it was read."""

    system: System
    space: Space
    conditions: Conditions | None
    formula: str | None
    notes: list[str] = field(default_factory=list)


def build(
    header: Header,
    constants: Mapping[str, Setting],
    property_: Property | None,
    policy: Interface | None,
    options: Options,
    networks: NetworkFolder,
) -> Built:
    """The system. Raises `ScenarioError` with the place of what is not read."""
    model = read_model(header, constants)
    system = System(header.name, f"JANI model {header.name} ({header.type})")
    space = Space(model, system)
    notes = model.notes
    if policy is None:
        notes.append("no policy acts: every action is free to happen")
    if header.type != "lts":
        notes.append("probabilities are forgotten: every outcome of probability above 0 may happen")
    conditions = None if property_ is None else Conditions(space, property_)
    goal = conditions.goal() if conditions is not None else None
    running: Condition = Truth(True)
    if options.goal_terminal:
        if goal is None:
            header.place.refuse("there is no goal that could be terminal; choose a property with an objective")
        running = space.booleans.negation(goal)
    operators = [_restricted(system, o, running, options) for o in Composition(space).operators()]
    action = None if policy is None else _agent(space, policy, operators, options, networks)
    labels = {label: i for i, label in enumerate(() if policy is None else policy.outputs)}
    names = Names()
    for operator in operators:
        guard = operator.guard
        if action is not None and operator.label in labels:
            guard = conjunction((guard, action == labels[operator.label]))
        system.branch(names.unique(operator.name), {system[n]: e for n, e in operator.updates.items()}, when=guard)
    if not operators:
        system.branch("none", when=False)
        notes.append("no edge can ever happen: every state is a deadlock")
    _initial(space, conditions, options)
    formula = _propositions(space, property_, conditions, goal)
    return Built(system, space, conditions, formula, notes)


def _restricted(system: System, operator: Operator, running: Condition, options: Options) -> Operator:
    """The operator with what the options add to its guard."""
    if options.leave_range == "block":
        stays = _stays(system, operator)
    else:
        stays = Truth(True)
        _check_passing(system, operator)
    return replace(operator, guard=conjunction((operator.guard, running, stays)))


def _agent(
    space: Space, policy: Interface, operators: list[Operator], options: Options, networks: NetworkFolder
) -> Expr:
    """The action of the policy: the label of greatest score, among those that are applicable if it is so filtered."""
    notes = space.model.notes
    network, more = policy.load(networks)
    notes += more
    for i, label in enumerate(policy.outputs):
        if label not in space.model.actions:
            policy.place["output"][i].refuse(
                f"the model has no action {label!r}; its actions are {', '.join(space.model.actions)}"
            )
    if free := [label for label in space.model.actions if label not in policy.outputs]:
        notes.append(f"the policy does not choose {', '.join(free)}: free to happen")
    scores = apply_network(network, policy.expressions(space))
    among = None
    if policy.masking if options.masking is None else options.masking:
        guards = {label: [o.guard for o in operators if o.label == label] for label in policy.outputs}
        among = [disjunction(guards[label]) for label in policy.outputs]
    return space.system.agent(argmax(scores, among=among), labels=labelled(policy.outputs))


def _stays(system: System, operator: Operator) -> Condition:
    """The condition that the new values are in their ranges, and those that no state keeps."""
    ranges = Ranges(system.box)
    return conjunction((*_kept(system, operator), *(part for p in operator.passing for part in _inside(ranges, p))))


def _kept(system: System, operator: Operator) -> list[Condition]:
    """The conditions under which the new state is in its ranges, as far as they are open."""
    ranges, parts = Ranges(system.box), list[Condition]()
    for name, expr in operator.updates.items():
        decl = system.variables[name]
        low, high = ranges.of(expr)
        if low < decl.lower:
            parts.append(compare(expr, Relation.GE, decl.lower))
        if high > decl.upper:
            parts.append(compare(expr, Relation.LE, decl.upper))
    return parts


def _inside(ranges: Ranges, passing: Passing) -> list[Condition]:
    """The conditions under which a value is in its range, as far as they are open."""
    low, high = ranges.of(passing.value)
    parts = [compare(passing.value, Relation.GE, passing.info.lower)] if low < passing.info.lower else []
    return [*parts, *([compare(passing.value, Relation.LE, passing.info.upper)] if high > passing.info.upper else [])]


def _check_passing(system: System, operator: Operator) -> None:
    """Refuse values that may be out of range and that no state shows.

    Steps that the guard excludes are none, and where a new state is out of its ranges, too, the verifier says so.
    """
    guard = operator.guard.operands if isinstance(operator.guard, All) else (operator.guard,)
    kept = _kept(system, operator) if operator.passing else []
    rows = [row for part in (*guard, *kept) if isinstance(part, Compare) and (row := to_comparison(part)) is not None]
    for passing in operator.passing:
        for inside in _inside(Ranges(system.box), passing):
            row = to_comparison(inside) if isinstance(inside, Compare) else None
            if row is None or has_point(system.variables, (*rows, row.negated)) is not False:
                info = passing.info
                passing.place.refuse(
                    f"the value of {info.key} may leave its range {info.lower} to {info.upper}; widen the range, "
                    "restrict the guard, or take such steps out with --set jani.leave_range=block"
                )


def _initial(space: Space, conditions: Conditions | None, options: Options) -> None:
    start = None if conditions is None else conditions.start()
    parts: list[Condition] = []
    if start is None or options.with_initial:
        parts.append(_model_initial(space))
    if isinstance(start, list):
        space.system.initial_set.add_points(start)
    elif start is not None:
        parts.append(start)
    if parts:
        space.system.start(disjunction(parts))


def _model_initial(space: Space) -> Condition:
    """The initial states of the model."""
    model, system = space.model, space.system
    parts = [space.at(a, a.initial) for a in model.automata]
    for info in model.variables:
        if not info.transient and info.initial is not None:
            parts.append(compare(system[space.names[info.key]], Relation.EQ, info.initial))
    for data, automaton, place in (
        (model.header.data.get("restrict-initial"), None, model.header.place),
        *((a.restriction, a.name, a.place) for a in model.automata),
    ):
        if data is not None:
            at = place["restrict-initial"]
            parts.append(affine(read_condition(data, space.scope(automaton), at), at))
    return conjunction(parts)


def _propositions(
    space: Space, property_: Property | None, conditions: Conditions | None, goal: Condition | None
) -> str | None:
    """Name what is unsafe and what is the goal; the name of the formula of the property."""
    if property_ is None or conditions is None:
        return None
    system, names = space.system, Names()
    for taken in system.variables:
        names.reserve(taken)
    formula = None
    unsafe = conditions.unsafe()
    if unsafe is not None:
        name = names.give(f"unsafe_{property_.name}")
        system.proposition(name, as_condition(unsafe))
        system.specify(property_.name, f"AG !{name}")
        formula = property_.name
    if goal is not None:
        system.proposition(names.give(f"goal_{property_.name}"), as_condition(goal))
    return formula
