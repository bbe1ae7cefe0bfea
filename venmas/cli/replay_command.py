"""``venmas replay``: compute a stored violation anew, believing nothing in the file."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import click

from venmas.cli.main import UNKNOWN, VIOLATED
from venmas.cli.options import Loaded, scenario_options, verbose_option
from venmas.cli.stored import HOW, field_text, load_stored, load_stored_system, read_stored
from venmas.cli.table import Command
from venmas.errors import FormulaError, UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from venmas.model import Replay, System, Witness
    from venmas.model.witness.lasso import Run
    from venmas.model.witness.tree import Node
    from venmas.procedure import Subject

log = logging.getLogger(__name__)


@click.command("replay", cls=Command)
@click.argument("path", metavar="WITNESS.json")
@scenario_options
@click.option("-q", "--quiet", is_flag=True, help="Print the verdict only.")
@verbose_option
def command(path: str, scenario: str | None, settings: tuple[str, ...], networks: str | None, quiet: bool) -> int:
    """Replay a violation that verify has stored.

    The scenario and its parameters are those of the file unless options say otherwise; a scenario file of your own and
    other networks than the bundled ones are given with --scenario and --networks. Exit status: 10 when the violation is
    confirmed, 20 when it does not replay, 2 for a file that is no witness. The float runs are those of
    onnxruntime where it is installed, else those of numpy.
    """
    from venmas.cli.output import console
    from venmas.report.text_witness import print_witness

    stored, out = read_stored(path), console()
    if stored.get("lasso") is not None:
        formula = field_text(path, stored, "formula")
        loaded, _ = load_stored(path, stored, scenario, settings, networks)
        return _replay_run(out, stored, formula, loaded.subject, quiet)
    witness, formula = witness_in(path, stored), field_text(path, stored, "formula")
    loaded, changed = load_stored_system(path, stored, scenario, settings, networks)
    checked = replay_stored(loaded, stored, witness)
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


def _replay_run(out: Console, stored: Mapping[str, Any], formula: str, subject: Subject, quiet: bool) -> int:
    """Replay the run of a violation of LTL, and print it; the exit status."""
    from venmas.model.system.system import System
    from venmas.report.text import print_run

    run = replay_run(stored, subject)
    if run is None:
        out.print("unknown: the run does not replay, or it has the property", soft_wrap=True)
        return UNKNOWN
    out.print("violated", style="bold red")
    if not quiet:
        out.print(f"{formula}\n", soft_wrap=True)
        print_run(out, run, subject if isinstance(subject, System) else None)
    return VIOLATED


def replay_run(stored: Mapping[str, Any], subject: Subject) -> Run | None:
    """The run of a stored result, computed anew; None where it shows no violation. Raises `InputError`."""
    from venmas.cli.claims import asked_of
    from venmas.logic import Linear
    from venmas.model.system.system import System
    from venmas.model.witness.circuit import Observed
    from venmas.model.witness.lasso import Run, replayed_again
    from venmas.procedure import LinearQuestion

    of, asked = asked_of(stored, subject)
    if not isinstance(asked, Linear):
        raise UsageError("the result has a run for ever, and its formula is none of LTL")
    run, whole = Run.from_json(stored["lasso"]), LinearQuestion(of, asked).formula
    if isinstance(of, System):
        return replayed_again(of, run, whole, asked.deadlock)
    return Observed(of, whole).again(run)


def replay_stored(loaded: Loaded, stored: Mapping[str, Any], witness: Witness) -> Replay:
    """Compute the witness of a stored result anew, in exact numbers, and in floats by onnxruntime where it is
    installed."""
    from venmas.checker.forever.linear import replayed_stay
    from venmas.checker.forever.stays import stays
    from venmas.cli.claims import asked_of
    from venmas.errors import ModelError
    from venmas.logic import Bounded, Linear
    from venmas.model import Replay, replay
    from venmas.model.witness.noise import unfolded
    from venmas.nn.runtime import OnnxRuntime
    from venmas.question import Question, chosen_for, posed

    _, read = asked_of(stored, loaded.system)
    if isinstance(read, Linear):
        return replayed_stay(loaded.system, read, witness)
    asked = posed(loaded.system, read)
    system, noise = chosen_for(loaded.system, asked) if isinstance(asked, Bounded) else (loaded.system, {})
    question = Question(system, asked, chosen=noise)
    if loaded.system.disturbances and isinstance(asked, Bounded):
        witness = unfolded(loaded.system, witness, question.target.depth)
    try:
        runtime = OnnxRuntime()
    except Exception as error:  # not installed, or built for another numpy, which may raise anything
        log.debug("no onnxruntime (%s): numpy runs the networks", error)
        runtime = None
    try:
        return replay(question.system, question.shown, witness, runtime, noise, stays)
    except ModelError as error:  # the run leaves the box: the stored one can not have been a run of this system
        return Replay(False, str(error))


def relabelled(system: System, witness: Witness) -> Witness:
    """The witness with the labels of the system, and with those of its comparisons that hold where they stand.

    States, actions and branches are known to be those of the system; the texts beside them are not.
    """
    from venmas.logic import Atom, parse
    from venmas.model.witness.tree import Measure, Value

    variables = {d.name: dict(d.labels) for d in system.variables.values()}
    agents = {a.name: dict(a.labels) for a in system.agents}

    def named(values: tuple[Value, ...], labels: Mapping[str, Mapping[int, str]]) -> tuple[Value, ...]:
        return tuple(replace(v, label=labels[v.name].get(v.exact, "")) for v in values)  # type: ignore[call-overload]

    def measured(node: Node) -> Iterator[Measure]:
        for measure in node.atoms:
            with suppress(FormulaError):
                atom = parse(measure.atom, system.vocabulary)
                if isinstance(atom, Atom) and atom.comparison.holds(node.point):
                    expr, radius = atom.comparison.expr, {value.name: value.radius for value in node.state}
                    around = sum((abs(c) * radius[name] for name, c in expr.terms), Fraction(0))
                    yield Measure(str(atom.comparison), max(Fraction(0), abs(expr.evaluate(node.point)) - around))

    return type(witness)(
        tuple(
            replace(n, state=named(n.state, variables), actions=named(n.actions, agents), atoms=tuple(measured(n)))
            for n in witness.nodes
        )
    )


def witness_in(path: str, stored: Mapping[str, Any]) -> Witness:
    """The witness of a stored result. Raises `UsageError` where there is none."""
    from venmas.model import Witness

    if "witness" not in stored:
        raise UsageError(f"{path} is no result of venmas: it has no 'witness'; {HOW}")
    if stored["witness"] is None:
        raise UsageError(
            f"{path} holds no witness: its verdict is {stored.get('verdict')!r}, so nothing can be replayed"
        )
    try:
        return Witness.from_json(stored["witness"])
    except UsageError as error:
        raise UsageError(f"{path}: {error}; {HOW}") from error
