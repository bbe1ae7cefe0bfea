"""``venmas replay``: compute a stored violation anew, believing nothing in the file."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from venmas.cli.main import UNKNOWN, VIOLATED
from venmas.cli.options import Loaded, load, read_settings, scenario_options, verbose_option
from venmas.cli.output import read_input
from venmas.errors import FormulaError, InputError, UsageError

if TYPE_CHECKING:
    from venmas.model import Replay, System, Witness
    from venmas.model.trace import Node

log = logging.getLogger(__name__)

_MAX_BYTES = 64 << 20
_MAX_PARTS = 2_000_000
_HOW = "write it with `venmas verify ... --witness FILE` (or --json FILE)"


@click.command("replay")
@click.argument("path", metavar="WITNESS.json")
@scenario_options
@click.option("-q", "--quiet", is_flag=True, help="Print the verdict only.")
@verbose_option
def command(path: str, scenario: str | None, settings: tuple[str, ...], networks: str | None, quiet: bool) -> int:
    """Replay a violation that verify has stored.

    The scenario, parameters and networks are those of the file unless options say otherwise. Exit status: 10 when the
    violation is confirmed, 20 when it does not replay, 2 for a file that is no witness. The float runs are those of
    onnxruntime where it is installed, else those of numpy.
    """
    from venmas.cli.output import console
    from venmas.cli.render import print_witness

    stored = read_stored(path)
    witness, formula = _witness(path, stored), _text(path, stored, "formula")
    loaded, changed = load_stored(path, stored, scenario, settings, networks)
    checked = replay_stored(loaded, formula, witness)
    out = console()
    if changed and not quiet:
        log.warning("other networks than those of the stored result: %s differ", ", ".join(changed))
    if checked.confirmed:
        out.print("violated", style="bold red")
    else:
        others = f" (other networks were used: {', '.join(changed)})" if changed else ""
        out.print(f"unknown: the witness does not replay: {checked.reason}{others}", soft_wrap=True)
    if not quiet:
        out.print(formula, soft_wrap=True)
        if checked.confirmed:
            out.print()
            print_witness(out, loaded.system, relabelled(loaded.system, witness), checked)
    return VIOLATED if checked.confirmed else UNKNOWN


def replay_stored(loaded: Loaded, formula: str, witness: Witness) -> Replay:
    """Compute a witness anew, in exact numbers, and in floats by onnxruntime where it is installed."""
    from venmas.engine.verify import read_formula
    from venmas.errors import ModelError
    from venmas.logic import nnf
    from venmas.model import Replay, replay
    from venmas.nn.runtime import OnnxRuntime

    parsed = read_formula(loaded.system, formula)
    try:
        runtime = OnnxRuntime()
    except Exception as error:  # not installed, or built for another numpy, which may raise anything
        log.debug("no onnxruntime (%s): numpy runs the networks", error)
        runtime = None
    try:
        return replay(loaded.system, nnf(parsed, negate=True), witness, runtime)
    except ModelError as error:  # the run leaves the box: the stored one can not have been a run of this system
        return Replay(False, str(error))


def relabelled(system: System, witness: Witness) -> Witness:
    """The witness with the labels of the system, and with those of its comparisons that hold where they stand.

    States, actions and branches are known to be those of the system; the texts beside them are not.
    """
    from venmas.logic import Atom, parse
    from venmas.model.trace import Measure, Value

    variables = {d.name: dict(d.labels) for d in system.variables.values()}
    agents = {a.name: dict(a.labels) for a in system.agents}

    def named(values: tuple[Value, ...], labels: Mapping[str, Mapping[int, str]]) -> tuple[Value, ...]:
        return tuple(replace(v, label=labels[v.name].get(v.exact, "")) for v in values)  # type: ignore[call-overload]

    def measured(node: Node) -> Iterator[Measure]:
        for measure in node.atoms:
            with suppress(FormulaError):
                atom = parse(measure.atom, system.vocabulary)
                if isinstance(atom, Atom) and atom.comparison.holds(node.point):
                    yield Measure(str(atom.comparison), abs(atom.comparison.expr.evaluate(node.point)))

    return type(witness)(
        tuple(
            replace(n, state=named(n.state, variables), actions=named(n.actions, agents), atoms=tuple(measured(n)))
            for n in witness.nodes
        )
    )


def read_stored(path: str) -> Mapping[str, Any]:
    """The object in the file. Raises `UsageError`."""
    from venmas.nn.files import json_parts

    try:
        data = read_input(path, _MAX_BYTES)
        if len(data) > _MAX_BYTES or json_parts(data) > _MAX_PARTS:
            raise UsageError(
                f"{path} is larger than {_MAX_BYTES >> 20} MB or has more than {_MAX_PARTS} values: that is no witness"
            )
        stored = json.loads(data)
    except OSError as error:
        raise UsageError(f"cannot read {path!r}: {error.strerror}; {_HOW}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is no JSON that can be read ({type(error).__name__}: {error}); {_HOW}") from error
    if not isinstance(stored, dict):
        raise UsageError(f"{path} holds a JSON {type(stored).__name__}, expected the object of a result; {_HOW}")
    return stored


def _witness(path: str, stored: Mapping[str, Any]) -> Witness:
    from venmas.model import Witness

    if "witness" not in stored:
        raise UsageError(f"{path} is no result of venmas: it has no 'witness'; {_HOW}")
    if stored["witness"] is None:
        raise UsageError(
            f"{path} holds no witness: its verdict is {stored.get('verdict')!r}, so nothing can be replayed"
        )
    try:
        return Witness.from_json(stored["witness"])
    except UsageError as error:
        raise UsageError(f"{path}: {error}; {_HOW}") from error


def _text(path: str, stored: Mapping[str, Any], key: str) -> str:
    if not isinstance(stored.get(key), str):
        raise UsageError(f"{path}: expected a text as {key!r}; {_HOW}")
    return str(stored[key])


def _bundled(path: str, scenario: str) -> str:
    """The name of a bundled scenario. A scenario file is code, which a stored result must not start by itself."""
    from venmas.model import scenario_names

    if scenario not in scenario_names():
        raise UsageError(
            f"{path} is of the scenario file {scenario!r}, which is code: if you trust it, give it with --scenario"
        )
    return scenario


def load_stored(
    path: str, stored: Mapping[str, Any], scenario: str | None, settings: tuple[str, ...], networks: str | None
) -> tuple[Loaded, list[str]]:
    """The system that the file tells of, changed by the options; and the networks that differ from the stored ones."""
    origin, parameters = stored.get("origin"), stored.get("parameters", {})
    given = read_settings(settings)
    if not isinstance(parameters, dict) or not all(isinstance(v, str) for v in parameters.values()):
        raise UsageError(f"{path}: 'parameters' should map names to texts; {_HOW}")
    if origin is None and scenario is None:
        raise UsageError(f"{path} does not say which scenario it is of (a system made in Python): give --scenario")
    digests: Mapping[str, Any] = {}
    if origin is not None:
        if not isinstance(origin, dict) or not isinstance(origin.get("digests"), dict):
            raise UsageError(f"{path}: 'origin' should tell scenario, networks and digests; {_HOW}")
        scenario = scenario or _bundled(path, _text(path, origin, "scenario"))
        if networks is None and origin.get("networks") is not None:
            networks = _text(path, origin, "networks")
        digests = {str(name): str(digest) for name, digest in origin["digests"].items()}
    try:
        loaded = load(scenario, {**parameters, **given}, networks)
    except InputError as error:
        raise UsageError(f"{path}: {error} (options --scenario, --set and --networks override the file)") from error
    current = loaded.folder.digests
    same_files = set(current.values()) == set(digests.values())
    changed = [] if same_files else sorted(f for f, d in current.items() if digests.get(f) != d)
    return loaded, changed
