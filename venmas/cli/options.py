"""What several commands take: a scenario with its parameters and networks, and how much to say."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from venmas.cli.jani_models import is_jani, load_model, read_files
from venmas.cli.output import read_input, set_up_logging
from venmas.errors import UsageError

if TYPE_CHECKING:
    from venmas.engine.report import Origin
    from venmas.model import NetworkFolder, Scenario, System
    from venmas.procedure import Subject

_Command = TypeVar("_Command", bound=Callable[..., Any])
_MAX_TEXT = 1 << 20
log = logging.getLogger(__name__)


class Positive(click.ParamType[float]):
    """A finite number above zero."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read it."""
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not 0 < number < math.inf:
            self.fail(f"expected a number above 0, got {value!r}", param, ctx)
        return number


def scenario_options(command: _Command) -> _Command:
    """`--scenario`, `--set` and `--networks`."""
    for option in (
        click.option("--networks", metavar="DIR", help="Read the networks from this folder, not the scenario's own."),
        click.option(
            "--set",
            "settings",
            metavar="NAME=VALUE",
            multiple=True,
            help="Set a parameter of the scenario; repeatable. `venmas scenarios NAME` lists them.",
        ),
        click.option(
            "--scenario",
            metavar="NAME|FILE",
            help="A bundled scenario or design, or a file: .py, .jani (JANI), .btor2 (a netlist), .sv (SystemVerilog).",
        ),
    ):
        command = option(command)
    return command


def verbose_option(command: _Command) -> _Command:
    """`-v`, which takes effect at once."""
    return click.option(
        "-v",
        "--verbose",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=lambda _context, _option, value: set_up_logging(value),
        help="Say on stderr what is chosen and why; show where a fault of the program happened.",
    )(command)


def read_settings(settings: Sequence[str], option: str = "--set") -> dict[str, str]:
    """``NAME=VALUE`` texts by name. Raises `UsageError` for other texts and for names given twice."""
    found: dict[str, str] = {}
    for text in settings:
        name, sign, value = text.partition("=")
        name = name.strip()
        if not sign or not name:
            raise UsageError(f"{option} {text!r}: expected NAME=VALUE, as in {option} h=-130")
        if name in found:
            raise UsageError(f"{option} gives {name!r} twice ({found[name]!r} and {value!r}): give it once")
        found[name] = value
    return found


@dataclass(frozen=True)
class Loaded:
    """A scenario with the parameters, networks and system that the options ask for.

    reading: parameters that say how a model is read (of JANI: `venmas.formats.jani.settings`), as they were given.
    """

    scenario: Scenario
    name: str
    folder: NetworkFolder
    networks: str | None
    parameters: Mapping[str, str]
    system: System
    reading: Mapping[str, str] = field(default_factory=dict)

    @property
    def subject(self) -> System:
        """Subjects of questions."""
        return self.system

    @property
    def formula(self) -> str | None:
        """The formula of the scenario, where it has one."""
        return self.scenario.formula

    @property
    def files(self) -> list[tuple[str, Path]]:
        """What was read for it: the file of the scenario, and its networks."""
        return [
            ("the scenario", self.scenario.path),
            *read_files(self.scenario),
            *(("a network", file) for file in self.folder.files),
        ]

    @property
    def origin(self) -> Origin:
        """What a stored result says of it."""
        from venmas.engine.report import Origin
        from venmas.model.scenario.source import source_of

        source = source_of(self.system)
        return Origin(self.name, self.networks, self.folder.digests, source.files if source else {})

    @property
    def named_files(self) -> dict[str, Path]:
        """The files that were read, by the names that results and archives have for them."""
        from venmas.model.scenario.source import file_names

        return file_names(self.scenario.files, self.folder)


def load(scenario: str | None, settings: Mapping[str, str], networks: str | None) -> Loaded:
    """Load a scenario and build its system. Raises `InputError`."""
    from venmas.model import NetworkFolder, scenario_names
    from venmas.model.scenario.parameters import show_value

    if not scenario:
        raise UsageError(
            "no scenario is given: name one with --scenario; the bundled ones are "
            f"{', '.join(scenario_names())}, and the path of a .py file loads your own"
        )
    loaded, constants = find_scenario(_printable(scenario, "--scenario"), settings, networks)
    values = loaded.values(constants)
    if networks is not None and not _exists(Path(_printable(networks, "--networks"))):
        raise UsageError(f"--networks: there is no folder {networks!r}; give the folder that holds the network files")
    folder = NetworkFolder(networks if networks is not None else loaded.networks)
    system = loaded.system(folder, **values)
    check_read(folder, networks, scenario)
    for note in loaded.notes:
        log.info("%s", note)
    return Loaded(
        loaded,
        loaded.name if scenario in scenario_names() else str(loaded.path),
        folder,
        None if networks is None else str(Path(networks).resolve()),
        {name: show_value(value) for name, value in values.items()},
        system,
        {name: value for name, value in settings.items() if name not in constants},
    )


def check_read(folder: NetworkFolder, networks: str | None, scenario: str) -> None:
    """Raise `UsageError` where a folder was given, and a scenario that was built of it reads no network."""
    if networks is not None and not folder.files:
        raise UsageError(f"--networks: {scenario} reads no network, so {networks!r} changes nothing: leave it out")


def find_scenario(
    name: str, settings: Mapping[str, str], networks: str | None = None
) -> tuple[Scenario, Mapping[str, str]]:
    """The scenario of a name, or of a file, Python or JANI; and the settings that do not say how it is read.

    Raises `UsageError` and `ScenarioError`.
    """
    from venmas.model import load_scenario

    return load_model(name, settings, networks) if is_jani(name) else (load_scenario(name), settings)


def read_formula_text(given: str | None, subject: Subject | None = None, option: str = "--formula") -> str:
    """The text of an option: itself, or the content of the file after ``@``. Raises `UsageError`."""
    if not given or not given.strip():
        known = "" if subject is None else ", ".join(_properties(subject))
        raise UsageError(
            'no formula is given: write one with --formula "AX^5 (x > 1)", name a file with --formula @FILE'
            + (f", or name a property of the scenario: {known}" if known else "")
        )
    return read_text(given, option)


def read_text(given: str, option: str = "--formula") -> str:
    """The text itself, or the content of the file after ``@``, which is read once. Raises `UsageError`."""
    if not given.startswith("@"):
        return given
    path = Path(_printable(given[1:], option))
    try:
        data = read_input(path, _MAX_TEXT)
        if len(data) > _MAX_TEXT:
            raise UsageError(f"{option}: {path} is larger than 1 MB: that is no formula")
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{option}: {path} is no UTF-8 text ({error.reason} at byte {error.start}): write formulas as text"
        ) from error
    except OSError as error:
        raise UsageError(f"{option}: cannot read {str(path)!r}: {error.strerror}; check the path") from error
    if not text.strip():
        raise UsageError(f"{option}: {path} is empty; it should hold one formula")
    return text


def _properties(subject: Subject) -> Sequence[str]:
    from venmas.model.circuit.nodes import Circuit
    from venmas.model.circuit.properties import property_names

    return property_names(subject) if isinstance(subject, Circuit) else tuple(subject.properties)


def formula_file(given: str | None) -> list[tuple[str, str]]:
    """The file that `--formula @FILE` reads, as `check_kept` takes it; none for a text."""
    return [("the formula", given[1:])] if given and given.startswith("@") else []


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # such as a name that is too long
        return False


def _printable(path: str, option: str) -> str:
    if "\0" in path or len(path) > 4000:
        raise UsageError(f"{option}: {path[:60]!r} is no path of a file")
    return path


def read_plane(plane: str | None) -> tuple[str, ...]:
    """The names of a plane of a picture, empty without one."""
    return () if plane is None else tuple(" ".join(name.split()) for name in plane.split(","))
