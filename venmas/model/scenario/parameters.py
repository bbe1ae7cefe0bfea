"""What a scenario may be given: parameters with units, read exactly, and a folder of networks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TypeAlias

from venmas.errors import InputError, NetworkError, ScenarioError
from venmas.logic.linear import as_fraction, format_number
from venmas.nn import Network, Normalization, Recurrent, load_network, load_recurrent


@dataclass(frozen=True)
class Range:
    """A closed interval of numbers, ``low..high`` in text; a single number is a range of one point."""

    low: Fraction
    high: Fraction

    def __init__(self, low: object, high: object) -> None:
        object.__setattr__(self, "low", as_fraction(low))
        object.__setattr__(self, "high", as_fraction(high))

    def __str__(self) -> str:
        ends = [format_number(self.low), format_number(self.high)]
        return ends[0] if self.low == self.high else "..".join(ends)


ParameterValue: TypeAlias = bool | int | Fraction | str | Range | tuple[int, ...]

_NUMBER = re.compile(r"[+-]?([0-9]{1,300}(\.[0-9]{0,300})?|\.[0-9]{1,300})([eE][+-]?[0-9]{1,2})?(/[0-9]{1,300})?")
_MOST_NUMBERS = 10_000
_BOOLEANS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


@dataclass(frozen=True)
class Parameter:
    """A parameter of a scenario. The type of its default says what it takes:

    bool: true or false. int: a whole number. float or Fraction: a number, whose decimals are exact (a Fraction reaches
    build()). str: text, one of `choices` where given. A tuple of ints: whole numbers separated by commas (``3,7``).
    `Range`: a number, or two as ``low..high``.

    replaces: parameters that have no say where this one is not at its default, such as the size of a grid where a map
    is given. build() does not get them then, and giving both is an error.

    required: it has to be given, and the default only says of what type it is.
    """

    name: str
    default: ParameterValue | float
    help: str
    unit: str = ""
    choices: tuple[str, ...] = ()
    replaces: tuple[str, ...] = ()
    required: bool = False

    def __post_init__(self) -> None:
        """Raise `ScenarioError` for a declaration that says not what it takes."""
        if not isinstance(self.name, str) or not self.name.isidentifier():
            raise ScenarioError(
                f"the name of a parameter is an argument of build(), such as 'start': got {self.name!r}"
            )
        for what, texts in (("choices", self.choices), ("replaces", self.replaces)):
            if not isinstance(texts, tuple | list) or not all(isinstance(text, str) for text in texts):
                raise ScenarioError(f"parameter {self.name!r}: {what} are texts, ('a', 'b'), got {texts!r}")
        text = isinstance(self.default, str)
        if text and not self.choices and _NUMBER.fullmatch(str(self.default).strip()):
            raise ScenarioError(
                f"parameter {self.name!r}: the default {self.default!r} is text, so build() would get text: write "
                f"{str(self.default).strip()} without quotes for a number; text that looks like one needs choices=(..)"
            )
        if not text:
            self.parse(self.default)

    @property
    def expected(self) -> str:
        """What it takes, in words."""
        match self.default:
            case bool():
                return "true or false"
            case int():
                return "a whole number"
            case str():
                return f"one of {', '.join(self.choices)}" if self.choices else "text"
            case Range():
                return "a number, or two as low..high"
            case tuple():
                return f"whole numbers separated by commas, such as 3,7 (fewer than {_MOST_NUMBERS})"
        return "a number"

    @property
    def default_text(self) -> str:
        """The default as it would be written on the command line."""
        return show_value(self.parse(self.default))

    def parse(self, given: object, scenario: str = "") -> ParameterValue:
        """Read text, or take a value of a fitting type. Raises `ScenarioError` that says what is expected."""
        try:
            value = self._read(given.strip() if isinstance(given, str) else given)
        except (InputError, ValueError):
            value = None
        if value is None or (self.choices and show_value(value) not in self.choices):
            where = f" of scenario {scenario!r}" if scenario else ""
            unit = f" ({self.unit})" if self.unit else ""
            raise ScenarioError(f"parameter {self.name!r}{where}{unit}: expected {self.expected}, got {given!r}")
        return value

    def _read(self, given: object) -> ParameterValue | None:
        match self.default:
            case bool():
                return given if isinstance(given, bool) else _BOOLEANS.get(str(given).lower())
            case int():
                return _whole(given)
            case str():
                return given if isinstance(given, str) else None
            case Range():
                return _range(given)
            case tuple():
                parts = given.split(",", _MOST_NUMBERS) if isinstance(given, str) else given
                if isinstance(parts, int):
                    parts = (parts,)
                if not isinstance(parts, Sequence) or len(parts) > _MOST_NUMBERS:
                    return None
                return tuple(_whole(p) for p in parts if p != "")
        return _number(given)


def _number(given: object) -> Fraction:
    if isinstance(given, bool) or (isinstance(given, str) and not _NUMBER.fullmatch(given.strip())):
        raise ValueError
    if isinstance(given, str):
        top, _, bottom = given.strip().partition("/")
        return as_fraction(top) / (int(bottom) or _fail()) if bottom else as_fraction(top)
    return as_fraction(given)


def _fail() -> int:
    raise ValueError


def _whole(given: object) -> int:
    value = _number(given)
    return value.numerator if value.denominator == 1 else _fail()


def _range(given: object) -> Range:
    if isinstance(given, Range):
        low, high = given.low, given.high
    elif isinstance(given, str) and ".." in given:
        low, high = (_number(end) for end in given.split("..", 1))
    elif isinstance(given, tuple | list) and len(given) == 2:
        low, high = _number(given[0]), _number(given[1])
    else:
        low = high = _number(given)
    if low > high:
        raise ValueError
    return Range(low, high)


def show_value(value: ParameterValue) -> str:
    """A value as it would be written on the command line."""
    match value:
        case bool():
            return "true" if value else "false"
        case Fraction():
            return format_number(value)
        case tuple():
            return ",".join(map(str, value))
    return str(value)


class NetworkFolder:
    """A folder (or a single file) from which a scenario takes its networks; files are read once."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._loaded: dict[tuple[Path, str, tuple[str, ...], tuple[str, ...]], Network] = {}
        self._recurrent: dict[tuple[Path, tuple[str, ...], Path | None], Recurrent] = {}

    @property
    def files(self) -> tuple[Path, ...]:
        """The files read so far."""
        beside = [key[2] for key in self._recurrent if key[2] is not None]
        return tuple(dict.fromkeys([*(key[0] for key in self._loaded), *(key[0] for key in self._recurrent), *beside]))

    @property
    def digests(self) -> dict[str, str]:
        """Digests of the networks read so far, by file: they tell whether other weights were used."""
        feed_forward = [(path, outputs, network.digest) for (path, _, outputs, _), network in self._loaded.items()]
        recurrent = [(path, outputs, network.digest) for (path, outputs, _), network in self._recurrent.items()]
        return {":".join([self.name_of(path), *outputs]): digest for path, outputs, digest in feed_forward + recurrent}

    def name_of(self, file: Path) -> str:
        """A file by its name in the folder, parts separated by slashes."""
        return file.relative_to(self.path.parent if self.path.is_file() else self.path).as_posix()

    def load(
        self,
        *patterns: str,
        normalization: Normalization = "apply",
        outputs: str | Sequence[str] | None = None,
        inputs: Sequence[str] | None = None,
    ) -> Network:
        """The network in the file that fits the first of the glob patterns that any file fits.

        normalization, outputs, inputs: as `load_network` has them. Raises `NetworkError` when no file fits, when
        several fit one pattern, and for what `load_network` rejects.
        """
        file = self._file(patterns)
        named = [(given,) if isinstance(given, str) else tuple(given or ()) for given in (outputs, inputs)]
        key = (file, str(normalization), named[0], named[1])
        if key not in self._loaded:
            self._loaded[key] = load_network(file, normalization=normalization, outputs=outputs, inputs=inputs)
        return self._loaded[key]

    def load_recurrent(
        self, *patterns: str, outputs: str | Sequence[str] | None = None, normalization: str | None = None
    ) -> Recurrent:
        """The network with memory in such a file, for `System.recurrent`; as `load`, by `load_recurrent`.

        normalization: a pattern as well, of the .pkl file.
        """
        file = self._file(patterns)
        beside = None if normalization is None else self._file([normalization])
        key = (file, (outputs,) if isinstance(outputs, str) else tuple(outputs or ()), beside)
        if key not in self._recurrent:
            self._recurrent[key] = load_recurrent(file, outputs=outputs, normalization=beside)
        return self._recurrent[key]

    def _file(self, patterns: Sequence[str]) -> Path:
        """The file that fits the first of the patterns that any fits."""
        for pattern in patterns:
            found = self._fitting(pattern)
            if len(found) > 1:
                names = ", ".join(str(f.relative_to(self.path)) for f in found[:4])
                raise NetworkError(f"several files in {self.path} fit {pattern!r} ({names}): leave one there")
            if found:
                return found[0]
        if self.path.is_file():
            raise NetworkError(
                f"the network file {self.path} has not the name that the scenario loads, {' or '.join(patterns)}: name "
                f"a file like that with --networks, or write networks.load({self.path.name!r}) in a scenario of yours"
            )
        problem = "holds none of the files" if self.path.exists() else "does not exist; it should hold one of the files"
        raise NetworkError(
            f"the network folder {self.path} {problem} {', '.join(patterns)}; name the right folder with --networks DIR"
        )

    def _fitting(self, pattern: str) -> list[Path]:
        if self.path.is_file():
            return [self.path] if self.path.match(pattern) else []
        return sorted(file for file in self.path.glob(pattern) if file.is_file())
