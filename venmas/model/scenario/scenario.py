"""Scenario files: Python that declares parameters and builds a system (design sections 2 and 5).

A scenario file defines ``PARAMETERS: tuple[Parameter, ...]`` and ``build(networks: NetworkFolder, **parameters) ->
System``; its docstring is its help. It may define ``picture(figure, trace, **parameters)``, which draws a run on a
figure of matplotlib (docs/plots.md). The bundled ones are found by name, those of installed packages (entry points,
docs/plugins.md), too, and any other file by its path. Running a scenario file runs its code, as with any Python file.
"""

from __future__ import annotations

import hashlib
import importlib.resources
import inspect
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources.abc import Traversable
from pathlib import Path
from types import CodeType, ModuleType
from typing import TYPE_CHECKING

from venmas.errors import InputError, NetworkError, ScenarioError, did_you_mean
from venmas.model.expressions.refusals import shortened
from venmas.model.scenario.parameters import NetworkFolder, Parameter, ParameterValue, Range, show_value
from venmas.model.scenario.source import Source, file_digests, file_names, remember_source
from venmas.model.system.system import System
from venmas.runtime import plugins

if TYPE_CHECKING:
    from venmas.model.circuit.machine import Machine

__all__ = ["NetworkFolder", "Parameter", "Range", "Scenario", "load_scenario", "scenario_names"]

_MAX_BYTES = 16 << 20


class MachineError(ScenarioError):
    """The file describes a machine, which is a circuit, and no system. machine: as it was built."""

    def __init__(self, message: str, machine: Machine) -> None:
        super().__init__(message)
        self.machine = machine


@dataclass(frozen=True)
class Scenario:
    """A loaded scenario file; `networks` is the folder that its weights are taken from by default."""

    name: str
    path: Path
    parameters: tuple[Parameter, ...]
    description: str
    networks: Path
    build: Callable[..., object]
    picture: Callable[..., object] | None = None

    @property
    def formula(self) -> str | None:
        """The name of the property that is asked where no formula is given, if there is one."""
        return None

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that say what its system is, networks aside."""
        return (self.path,)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What is worth knowing of its file besides."""
        return ()

    @property
    def notes(self) -> tuple[str, ...]:
        """What was noted when its system was built."""
        return ()

    def values(self, settings: Mapping[str, object]) -> dict[str, ParameterValue]:
        """The value of every parameter that has a say, given or default (see `Parameter.replaces`).

        Raises `ScenarioError` for unknown names, bad values, and parameters that exclude each other.
        """
        known = {p.name: p for p in self.parameters}
        for name in settings:
            if name not in known:
                raise ScenarioError(
                    f"scenario {self.name!r} has no parameter {name!r}{did_you_mean(name, known)}; "
                    + (f"it takes {', '.join(known)}" if known else "it takes none")
                )
        for p in self.parameters:
            if p.required and p.name not in settings:
                raise ScenarioError(
                    f"scenario {self.name!r} needs a value of {p.name!r}, {p.expected}: --set {p.name}=VALUE"
                )
        values = {p.name: p.parse(settings.get(p.name, p.default), self.name) for p in self.parameters}
        for p in self.parameters:
            if p.replaces and values.get(p.name, p.parse(p.default)) != p.parse(p.default):
                if both := [name for name in p.replaces if name in settings]:
                    raise ScenarioError(
                        f"scenario {self.name!r}: {p.name!r} stands in for {both[0]!r}: set one of the two"
                    )
                values = {name: value for name, value in values.items() if name not in p.replaces}
        return values

    def system(self, networks: str | Path | NetworkFolder | None = None, **settings: object) -> System:
        """Build the system, with weights from the folder `networks`; texts are read as on the command line.

        Raises `ScenarioError`, or `NetworkError` where the weights cannot be found or read.
        """
        if not isinstance(networks, str | os.PathLike | NetworkFolder | None):
            raise ScenarioError(f"networks is a folder or a file, networks='my_networks', got {shortened(networks)}")
        folder = networks if isinstance(networks, NetworkFolder) else NetworkFolder(networks or self.networks)
        values = self.values(settings)
        system = self.made(folder, values)
        if not isinstance(system, System):
            from venmas.model.circuit.machine import Machine

            if isinstance(system, Machine):
                raise MachineError(f"{self.path}: build() returned a Machine: venmas.load_circuit reads it", system)
            raise ScenarioError(f"{self.path}: build() must return a System, it returned {type(system).__name__}")
        try:
            system.validate()
            system.check_nesting()
        except InputError as error:
            raise ScenarioError(f"{self.path}: {error}") from error
        if self.picture is not None:
            system.picture = self._drawing(self.picture, values)
        given = None if folder.path == self.networks else str(folder.path.resolve())
        texts = {name: show_value(value) for name, value in values.items()}
        with suppress(OSError):  # a file that is gone by now: then nobody can tell what it was
            read = file_digests(file_names(self.files, folder))
            remember_source(system, Source(self.name, self._found_by, given, folder, texts, read))
        return system

    @property
    def _found_by(self) -> str:
        """Its name, where that finds this file and no other; else its path."""
        file = _plugged().get(self.name, Path(str(bundled().joinpath(self.name).joinpath("scenario.py"))))
        return self.name if self.name in scenario_names() and file.resolve() == self.path else str(self.path)

    def made(self, folder: NetworkFolder, values: Mapping[str, ParameterValue]) -> object:
        """What ``build`` returns. Raises `ScenarioError` and `NetworkError`."""
        try:
            return self.build(folder, **values)
        except (NetworkError, ScenarioError, MemoryError, KeyboardInterrupt):
            raise
        except BaseException as error:
            raise ScenarioError(_explained(self.path, error)) from error

    def _drawing(self, picture: Callable[..., object], values: Mapping[str, object]) -> Callable[..., object]:
        """The scenario's picture with the parameters that it takes; its errors name file and line."""
        taken = {name: values[name] for name in _taken(picture, values)}

        def draw(figure: object, trace: object) -> object:
            try:
                return picture(figure, trace, **taken)
            except (MemoryError, KeyboardInterrupt):
                raise
            except BaseException as error:
                raise ScenarioError(_explained(self.path, error)) from error

        return draw


def scenario_names() -> tuple[str, ...]:
    """Names of the scenarios that are found by name: the bundled ones, and those of other packages."""
    return (*bundled_names(), *_plugged())


def bundled_names() -> tuple[str, ...]:
    """Names of the bundled scenarios."""
    return tuple(sorted(folder.name for folder in bundled().iterdir() if folder.joinpath("scenario.py").is_file()))


def load_scenario(name_or_path: str | Path) -> Scenario:
    """Load a bundled or plugged-in scenario by its name, or a file by its path. Raises `ScenarioError`."""
    given = str(name_or_path)
    if not isinstance(name_or_path, str | os.PathLike) or len(given) > 4000 or "\0" in given:
        raise ScenarioError(f"a scenario is a name or the path of a .py file, got {shortened(name_or_path)}")
    if given in bundled_names():
        return _load(Path(str(bundled().joinpath(given).joinpath("scenario.py"))))
    if given in _plugged():
        return replace(_load(_plugged()[given]), name=given)
    path = Path(given)
    if path.is_dir():
        path /= "scenario.py"
    if path.is_file():
        if path.suffix != ".py":  # nothing else is run as code
            raise ScenarioError(f"{path} is no scenario, which is a .py file or a .jani model{_meant(path.suffix)}")
        return _load(path)
    names = scenario_names()
    if path.suffix == ".py" or len(path.parts) > 1:
        raise ScenarioError(f"there is no scenario file {path}; bundled scenarios are {', '.join(names)}")
    raise ScenarioError(
        f"there is no scenario {given!r}{did_you_mean(given, names)}; bundled scenarios are {', '.join(names)}, "
        "and the path of a .py file loads your own"
    )


def _meant(suffix: str) -> str:
    """The remedy for a file of another kind."""
    takers = {
        "--networks FILE takes networks": (".onnx", ".h5", ".hdf5", ".keras", ".nnet", ".polar"),
        "`venmas verify --scenario FILE` and load_circuit take it": (".btor2", ".btor", ".sv", ".v"),
        "`venmas vnnlib NETWORK FILE` takes properties": (".vnnlib",),
        "`venmas check FILE` takes certificates and archives": (".gz", ".zip"),
    }
    return next((f": {how}" for how, suffixes in takers.items() if suffix.lower() in suffixes), ": name such a file")


def bundled() -> Traversable:
    """The folder of bundled scenarios: data of the installed package, or of the repository in an editable install."""
    try:
        return importlib.resources.files("venmas.bundled.scenarios")
    except ModuleNotFoundError:
        folder = Path(__file__).parents[3] / "scenarios"
        if folder.is_dir():
            return folder
        raise ScenarioError(f"the bundled scenarios are missing from this installation ({folder}); reinstall") from None


@cache
def _plugged() -> dict[str, Path]:
    """The scenario files of other packages by name: the entry point names the package whose folder has the file."""

    def file(package: object) -> Path | None:
        return next((Path(folder) / "scenario.py" for folder in getattr(package, "__path__", ())), None)

    def misfit(_name: str, package: object) -> str:
        path = file(package)
        if path is None:
            return "it is no package: the entry point should name one, without an attribute"
        return "" if path.is_file() else f"there is no file {path}"

    registry = plugins.Registry[object]("scenario", plugins.SCENARIOS, dict.fromkeys(bundled_names(), ""), misfit)
    return {name: path for name, package in registry.plugged.items() if (path := file(package))}


def _load(path: Path) -> Scenario:
    path = path.resolve()
    module = ModuleType(f"venmas_scenario_{hashlib.sha256(os.fsencode(path)).hexdigest()[:12]}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # dataclasses and pickle look a class up by its module
    try:
        exec(_compiled(path), module.__dict__)
    except (ScenarioError, MemoryError, KeyboardInterrupt):
        raise
    except BaseException as error:  # SystemExit, and whatever a file of strangers may raise
        raise ScenarioError(_explained(path, error)) from error
    build = getattr(module, "build", None)
    if not callable(build):
        raise ScenarioError(
            f"{path} defines no function build(networks, **parameters) that returns a venmas.model.System; add it"
        )
    parameters = getattr(module, "PARAMETERS", ())
    if not isinstance(parameters, tuple | list) or not all(isinstance(p, Parameter) for p in parameters):
        raise ScenarioError(f"{path}: PARAMETERS must be a tuple of venmas.model.Parameter")
    _check_signature(path, build, [p.name for p in parameters])
    picture = getattr(module, "picture", None)
    if picture is not None:
        _check_picture(path, picture, [p.name for p in parameters])
    folder = path.parent
    places = [folder / "networks", folder.parent.parent / "networks" / folder.name, folder]
    return Scenario(
        name=folder.name if path.stem == "scenario" else path.stem,
        path=path,
        parameters=tuple(parameters),
        description=inspect.cleandoc(module.__doc__ or ""),
        networks=next(place for place in places if place.is_dir()),
        build=build,
        picture=picture,
    )


def _compiled(path: Path) -> CodeType:
    with path.open("rb") as file:
        source = file.read(_MAX_BYTES + 1)
    if len(source) > _MAX_BYTES:
        raise ScenarioError(f"{path} is larger than {_MAX_BYTES >> 20} MB: that is no scenario file")
    try:
        return compile(source, str(path), "exec")
    except (MemoryError, RecursionError) as error:  # so the compiler refuses what is nested too deeply
        raise ScenarioError(f"{path} is nested too deeply for Python: {error or 'too complex'}") from error


def _check_signature(path: Path, build: Callable[..., object], names: list[str]) -> None:
    if twice := [name for name in names if names.count(name) > 1]:
        raise ScenarioError(f"{path}: parameter {twice[0]!r} is declared twice in PARAMETERS")
    taken = inspect.signature(build).parameters.values()
    if not any(p.kind is p.VAR_KEYWORD for p in taken):
        accepted = [p.name for p in taken][1:]
        for name in names:
            if name not in accepted:
                raise ScenarioError(f"{path}: PARAMETERS declares {name!r}, which build() does not take; add it there")
        missing = [p.name for p in list(taken)[1:] if p.default is p.empty and p.name not in names]
        if missing and all(p.kind is not p.VAR_POSITIONAL for p in taken):
            raise ScenarioError(
                f"{path}: build() takes {missing[0]!r}, which PARAMETERS does not declare; add it there"
            )


def _taken(picture: Callable[..., object], names: Iterable[str]) -> list[str]:
    """The parameters that picture() asks for by name; all of them where it takes ``**parameters``."""
    accepted = inspect.signature(picture).parameters.values()
    every = any(p.kind is p.VAR_KEYWORD for p in accepted)
    named = {p.name for p in list(accepted)[2:]}
    return [name for name in names if every or name in named]


def _check_picture(path: Path, picture: object, names: list[str]) -> None:
    if not callable(picture):
        raise ScenarioError(f"{path}: picture must be a function picture(figure, trace), or have another name")
    accepted = list(inspect.signature(picture).parameters.values())
    if len(accepted) < 2 or any(p.kind is p.KEYWORD_ONLY for p in accepted[:2]):
        raise ScenarioError(f"{path}: picture() must take figure and trace, then any of the parameters by name")
    for p in accepted[2:]:
        if p.default is p.empty and p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL) and p.name not in names:
            raise ScenarioError(f"{path}: picture() takes {p.name!r}, which PARAMETERS does not declare; add it there")


def _explained(path: Path, error: BaseException) -> str:
    """One line with file, line and message."""
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return f"{path}, line {error.lineno}: {error.msg}"
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    where = f"{path}, line {lines[-1]}" if lines else f"{path}"
    if isinstance(error, InputError):
        return f"{where}: {error}"
    if isinstance(error, ModuleNotFoundError):
        return f"{where}: ModuleNotFoundError: {error}; install it, or run the scenario on a system that has it"
    return f"{where}: {type(error).__name__}: {error}"
