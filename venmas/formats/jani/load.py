"""JANI files as scenarios: `load_jani`, and summaries of models that are not built yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

from venmas.errors import ScenarioError
from venmas.formats.jani.build import LEAVE_RANGE, Built, LeaveRange, Options, build
from venmas.formats.jani.interface import INTERFACES, Interface, bare_interface, read_interface
from venmas.formats.jani.model import ConstantInfo, Header, Setting, read_header
from venmas.formats.jani.properties import (
    Conditions,
    Property,
    confined,
    read_predicates,
    read_properties,
    read_property_file,
)
from venmas.formats.jani.text import Place, read_json
from venmas.logic import Formula
from venmas.model.scenario.parameters import NetworkFolder, Parameter, ParameterValue
from venmas.model.scenario.scenario import Scenario
from venmas.model.system.system import System

FilePath: TypeAlias = str | PathLike[str]


@dataclass(frozen=True)
class JaniScenario(Scenario):
    """A JANI model with a property and a policy; `Scenario.system` builds its system.

    properties: those that are known, of which `chosen` is the one that is asked; unsure: why none is chosen, where one
    should be. policy: the interface of what acts, None where every action is free. noted: what was noted when the
    system was built. formula: the name of the property's own formula, None where it has no `reach`. kept: what was
    built last, with its constants, so that predicates need no model of their own.
    """

    header: Header = field(kw_only=True)
    properties: tuple[Property, ...] = field(kw_only=True)
    chosen: Property | None = field(kw_only=True)
    policy: Interface | None = field(kw_only=True)
    options: Options = field(kw_only=True)
    given: Mapping[str, object] = field(kw_only=True)
    unsure: str = field(kw_only=True)
    noted: list[str] = field(default_factory=list, kw_only=True)
    kept: list[tuple[Mapping[str, Setting], Built]] = field(default_factory=list, kw_only=True, repr=False)

    @property
    def formula(self) -> str | None:
        """The name of the formula of the chosen property."""
        return None if self.chosen is None or "reach" not in self.chosen.data else self.chosen.name

    @property
    def files(self) -> tuple[Path, ...]:
        """The model, the file of the property and the interface of the policy."""
        places = [part.place.file for part in (self.chosen, self.policy) if part is not None]
        return tuple(dict.fromkeys((self.path, *(file.resolve() for file in places))))

    @property
    def remarks(self) -> tuple[str, ...]:
        """The properties, and which are not read."""
        notes = []
        for i, item in enumerate(self.properties, 1):
            what = "read" if item.operator == "PA" else f"not read: its operator is {item.operator!r}, not PA"
            notes.append(f"Property {i}, {item.name}: {'chosen' if item is self.chosen else what}")
        return tuple(notes)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes made when the system was built."""
        return tuple(self.noted)

    def values(self, settings: Mapping[str, object]) -> dict[str, Any]:
        """The constants that have no value in the model, as they were given here or before. Raises `ScenarioError`."""
        fixed = {c.name for c in self.header.constants if c.value is not None}
        for name in settings:
            if name in fixed:
                raise ScenarioError(f"{self.path}: the constant {name!r} has a value in the model: change it there")
        return super().values({**self.given, **settings})

    def built(self, **settings: object) -> Built:
        """The system with what was noted while it was read. Raises `ScenarioError`."""
        return self._built(self.values(settings))

    def predicates(self, file: FilePath | None = None, **settings: object) -> tuple[Formula, ...]:
        """The predicates of a list or a property file, or of the property, over the variables of the system.

        Raises `ScenarioError`.
        """
        values = self.values(settings)
        built = self.kept[0][1] if self.kept and self.kept[0][0] == values else self._built(values)
        conditions, data = built.conditions, None
        if file is not None:
            data = read_json(Path(file))
            if isinstance(data, dict) and "properties" in data:
                listed = _chosen(read_property_file(Path(file)), None, Path(file), True)
                if listed[0] is None:
                    raise ScenarioError(listed[1])
                conditions, data = Conditions(built.space, listed[0]), None
        if data is not None:
            texts = read_predicates(data, built.space, Place(Path(str(file))))
        else:
            texts = () if conditions is None else conditions.predicates()
        return tuple(built.system.formula(c, f"predicate {i}") for i, c in enumerate(texts, 1))

    def _built(self, values: Mapping[str, Setting], given: NetworkFolder | None = None) -> Built:
        if self.unsure:
            raise ScenarioError(self.unsure)
        networks = given or NetworkFolder(self.networks)
        built = build(self.header, values, self.chosen, self.policy, self.options, networks)
        self.noted[:], self.kept[:] = built.notes, [(values, built)]
        return built


def load_jani(
    path: FilePath,
    property: FilePath | None = None,
    policy: FilePath | None = None,
    constants: Mapping[str, object] | None = None,
    *,
    property_name: str | int | None = None,
    inputs: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
    with_initial: bool = False,
    goal_terminal: bool = False,
    leave_range: LeaveRange = "error",
    masking: bool | None = None,
) -> JaniScenario:
    """Load a JANI model as a scenario, whose method `system` builds the system.

    property: a property file of PlaJA; without it, the properties of the model. property_name: which of several, by
    name or by position from 1. policy: an interface (.jani2nnet), or a network with `inputs` (variables) and `outputs`
    (labels); "none": nobody acts, and every action is free; without it, the interface that the property names.
    constants: values of constants that have none. The others: see `Options`.

    Raises `ScenarioError` for whatever is not read, with its place and a remedy, and `NetworkError`.
    """
    file = Path(path)
    header = read_header(read_json(file), Place(file))
    own = read_properties(header.properties, header.place["properties"])
    properties = own if property is None else read_property_file(Path(property))
    source = file if property is None else Path(property)
    chosen, unsure = _chosen(properties, property_name, source, property is not None)
    if leave_range not in LEAVE_RANGE:
        raise ScenarioError(f"leave_range {leave_range!r}: expected one of {', '.join(LEAVE_RANGE)}")
    acting = _policy(policy, inputs, outputs, chosen)
    if masking is not None and acting is None:
        raise ScenarioError("masking is about what a policy chooses among, and none acts: name one, or leave it out")
    scenario: JaniScenario

    def make(networks: NetworkFolder, **values: Setting) -> System:
        return scenario._built(values, networks).system

    scenario = JaniScenario(
        name=file.stem,
        path=file.resolve(),
        parameters=tuple(map(_parameter, header.missing)),
        description=f"JANI model {header.name} ({header.type})",
        networks=file.resolve().parent if acting is None else acting.network,
        build=make,
        header=header,
        properties=properties,
        chosen=chosen,
        unsure=unsure,
        policy=acting,
        options=Options(with_initial, goal_terminal, leave_range, masking),
        given=dict(constants or {}),
    )
    return scenario


def _parameter(constant: ConstantInfo) -> Parameter:
    kinds: dict[str, ParameterValue] = {"int": 0, "real": Fraction(0), "bool": False}
    return Parameter(
        constant.name, kinds[constant.type], f"a constant of type {constant.type} without a value", required=True
    )


def _chosen(
    properties: tuple[Property, ...], wanted: str | int | None, file: Path, demanded: bool
) -> tuple[Property | None, str]:
    """The property that is asked: the wanted one, or the only one that can be read; and why there is none."""
    readable = [p for p in properties if p.operator == "PA"]
    listed = ", ".join(f"{i}: {p.name!r}" for i, p in enumerate(properties, 1)) or "none"
    if wanted is not None:
        by_name = [p for p in properties if p.name == wanted]
        number = int(wanted) if str(wanted).isascii() and str(wanted).isdecimal() and len(str(wanted)) < 9 else 0
        chosen = by_name or list(properties[number - 1 : number] if number else ())
        if len(chosen) != 1:
            raise ScenarioError(f"{file}: there is no single property {wanted!r}; the properties are {listed}")
        if chosen[0].operator != "PA":
            chosen[0].place.refuse(
                f"properties of the operator {chosen[0].operator!r} are not read, only PA; write its formula yourself"
            )
        return chosen[0], ""
    if len(readable) > 1:
        return None, f"{file} has several properties: name one with --set jani.property_name=NAME; they are {listed}"
    if demanded and not readable:
        raise ScenarioError(f"{file} has no property of the operator PA, which alone is read; it has {listed}")
    return (readable[0] if readable else None), ""


def _policy(
    policy: FilePath | None, inputs: Sequence[str] | None, outputs: Sequence[str] | None, chosen: Property | None
) -> Interface | None:
    if (policy is None or str(policy) == "none") and (inputs is not None or outputs is not None):
        raise ScenarioError("inputs and outputs are those of a network: name it with --set jani.policy=NET")
    if policy is not None and str(policy) == "none":
        return None
    if policy is None:
        if chosen is None or chosen.policy is None:
            return None
        place = chosen.place["file"]
        return read_interface(confined(chosen.policy, place))
    file = Path(policy)
    if file.suffix.lower() in INTERFACES and inputs is None and outputs is None:
        return read_interface(file)
    if inputs is None or outputs is None:
        raise ScenarioError(
            f"{file} is a network without an interface: name the variables that it reads and the label of each of its "
            "outputs, with --set jani.inputs=A,B and --set jani.outputs=C,D"
        )
    return bare_interface(file, inputs, outputs)
