"""``venmas export``: programs and models for other tools, graphs for Graphviz, automata (HOA), ranks as ONNX."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from venmas.cli.apart import check_kept
from venmas.cli.choices import Named, program_modes
from venmas.cli.main import SATISFIED
from venmas.cli.options import (
    Loaded,
    Positive,
    formula_file,
    load,
    read_formula_text,
    read_settings,
    scenario_options,
    verbose_option,
)
from venmas.cli.output import STDOUT, check_writable, console, write_file
from venmas.cli.table import Command
from venmas.cli.tuning import tune_option
from venmas.errors import CircuitError, UsageError

if TYPE_CHECKING:
    from venmas.engine.export import Exported
    from venmas.model import Witness

_formula = click.option(
    "--formula", metavar="TEXT|@FILE|NAME", help="A formula, a file with one, or the name of a property."
)
_dot = click.option(
    "-o", "--output", metavar="FILE|-", default=STDOUT, show_default=True, help="Write there; - is standard output."
)


@click.group("export", no_args_is_help=False)
def command() -> None:
    """Write programs, formulas, witnesses, automata and ranks for other tools.

    \b
    venmas export programs  the mixed-integer programs of a question, .lp and .mps
    venmas export smv       the model with its networks and AG p in the language of nuXmv
    venmas export formula   a formula as a graph, .dot
    venmas export witness   a stored violation as a tree of runs, .dot
    venmas export automaton the runs that break a formula of LTL, in the Hanoi format (HOA) or .dot
    venmas export ranks     the ranking functions of a proof of LTL of a design, as a network (ONNX)
    """


@command.command("programs", cls=Command)
@scenario_options
@_formula
@click.option("-o", "--output", metavar="DIR", required=True, help="The folder: empty or new.")
@click.option(
    "--mode",
    type=Named(program_modes),
    default="comp-seq",
    show_default=True,
    help="One program for the question, or one for each path of choices (the same for both comp modes).",
)
@tune_option
@click.option(
    "--format",
    "kinds",
    type=click.Choice(("lp", "mps", "both")),
    default="both",
    show_default=True,
    help="Files to write.",
)
@click.option(
    "--limit", type=click.IntRange(1), metavar="N", default=1000, show_default=True, help="Stop after N programs."
)
@verbose_option
def programs(
    scenario: str | None,
    settings: tuple[str, ...],
    networks: str | None,
    formula: str | None,
    output: str,
    mode: str,
    tune: tuple[str, ...],
    kinds: str,
    limit: int,
) -> int:
    """Write the programs that `verify` would solve, and manifest.json, which says what each one is.

    A point of a program is a violation (up to strict comparisons, ties and tolerances); where no program has one and
    nothing stopped the export, the property holds of the runs that stay in their declared ranges.
    """
    from venmas.engine.export import FORMATS, MANIFEST, export_programs

    loaded = load(scenario, read_settings(settings), networks)
    text = read_formula_text(formula, loaded.system)
    with console(stderr=True).status("exporting") as status:

        def tell(found: Exported) -> None:
            status.update(f"{found.programs} programs written, {found.discarded} cases discarded by bounds")

        found = export_programs(
            loaded.system,
            text,
            output,
            mode=mode,
            tune=read_settings(tune, "--tune"),
            formats=FORMATS if kinds == "both" else (kinds,),
            limit=limit,
            about={"parameters": dict(loaded.parameters), "origin": loaded.origin.to_json()},
            progress=tell,
        )
    out = console()
    files = f"{found.programs} program{'' if found.programs == 1 else 's'}"
    out.print(f"{files} and {MANIFEST} in {found.folder}; bounds discarded {found.discarded} cases", soft_wrap=True)
    if found.stopped == "limit":
        out.print(f"There are more programs: --limit {limit} ended the export.")
    elif not found.programs:
        out.print("Bounds alone refute every way to violate the formula: there is no program to solve.")
    if found.may_leave_box:
        names = ", ".join(found.may_leave_box[:20]) + (" and others" if len(found.may_leave_box) > 20 else "")
        out.print(
            f"Take care: it is not excluded that {names} leaves the declared range. All this is about the runs that "
            "stay inside; `venmas verify` asks about the others, too.",
            soft_wrap=True,
        )
    return SATISFIED


@command.command("smv", cls=Command)
@scenario_options
@_formula
@_dot
@verbose_option
def smv(scenario: str | None, settings: tuple[str, ...], networks: str | None, formula: str | None, output: str) -> int:
    """Write the model in the language of nuXmv: networks as constraints, and AG p as INVARSPEC.

    Without --formula it is the property of the scenario, if there is one. Runs that leave a declared range have no
    successor there; `venmas verify` asks about those, too.
    """
    check_writable(output, "--output")
    from venmas.formats.smv import to_smv
    from venmas.logic import Always
    from venmas.question import read_property

    loaded = load(scenario, read_settings(settings), networks)
    check_kept({"--output": output}, [*loaded.files, *formula_file(formula)])
    invariant = None
    if (text := formula or loaded.formula) is not None:
        question = read_property(loaded.system, read_formula_text(text, loaded.system))
        if not isinstance(question, Always) or question.start:
            raise UsageError("export smv writes formulas AG p, where p is about one state; the others are for `verify`")
        invariant = question.invariant
    _write(output, to_smv(loaded.system, invariant))
    return SATISFIED


@command.command("formula", cls=Command)
@scenario_options
@_formula
@click.option("--negated", is_flag=True, help="Draw the negated formula in core form: what a violation has to show.")
@_dot
@verbose_option
def formula(
    scenario: str | None,
    settings: tuple[str, ...],
    networks: str | None,
    formula: str | None,
    negated: bool,
    output: str,
) -> int:
    """Write a formula as a graph for Graphviz, its names and propositions resolved by the scenario."""
    check_writable(output, "--output", "--dot")
    from venmas.cli.dot import formula_dot
    from venmas.logic import nnf
    from venmas.question import read_formula

    loaded = load(scenario, read_settings(settings), networks)
    check_kept({"--output": output}, [*loaded.files, *formula_file(formula)])
    parsed = read_formula(loaded.system, read_formula_text(formula, loaded.system))
    _write(output, formula_dot(nnf(parsed, negate=True) if negated else parsed))
    return SATISFIED


@command.command("witness", cls=Command)
@click.argument("path", metavar="WITNESS.json")
@scenario_options
@_dot
@verbose_option
def witness(path: str, scenario: str | None, settings: tuple[str, ...], networks: str | None, output: str) -> int:
    """Write the violation that verify has stored (--witness, --json) as a tree of runs for Graphviz.

    It is replayed first; a file whose violation does not replay is refused.
    """
    check_writable(output, "--output", "--dot")
    from venmas.cli.dot import witness_dot

    loaded, found = _replayed(path, scenario, settings, networks)
    check_kept({"--output": output}, [("the stored violation", path), *loaded.files])
    _write(output, witness_dot(loaded.system, found))
    return SATISFIED


@command.command("automaton", cls=Command)
@click.argument("text", metavar="FORMULA")
@click.option("--fair", metavar="CONDITION", multiple=True, help="Runs meet this infinitely often; repeatable.")
@click.option(
    "-o", "--output", metavar="FILE.hoa|FILE.dot|-", default=STDOUT, show_default=True, help="Write there; - is HOA."
)
@verbose_option
def automaton(text: str, fair: tuple[str, ...], output: str) -> int:
    """Write the automaton of the runs that break a formula of LTL, such as 'F G !rst -> G F done'."""
    check_writable(output, "--output")
    from venmas.logic.automata.hoa import to_dot, to_hoa
    from venmas.logic.automata.translate import refuting
    from venmas.logic.ltl_parser import parse_ltl

    if not output.endswith((".hoa", ".dot")) and output != STDOUT:
        raise UsageError(f"--output {output!r}: a name that ends in .hoa or .dot is expected")
    found, name = refuting(parse_ltl(text), map(parse_ltl, fair)), f"not ({text})"
    _write(output, to_dot(found, name) if output.endswith(".dot") else to_hoa(found, name))
    return SATISFIED


@command.command("ranks", cls=Command)
@click.option("--scenario", metavar="NAME|FILE", required=True, help="A bundled design, or a file: .btor2, .sv, .py.")
@click.option("--set", "settings", metavar="NAME=VALUE", multiple=True, help="Set a parameter; repeatable.")
@click.option("--formula", metavar="TEXT|NAME", required=True, help="A formula of LTL, or the name of a property.")
@click.option("-o", "--output", metavar="FILE.onnx", required=True, help="Write the network there.")
@click.option("--timeout", type=Positive(), metavar="S", help="Give up after so many seconds.")
@verbose_option
def ranks(scenario: str, settings: tuple[str, ...], formula: str, output: str, timeout: float | None) -> int:
    """Decide a formula of LTL of a design, and write its ranks as a ReLU network, an output for each state."""
    check_writable(output, "--output", "--network")
    from venmas.cli.subjects import Design, load_subject
    from venmas.engine.verify import verify
    from venmas.procedures.ranking.proof import RankingProof
    from venmas.procedures.ranking.relu import write_onnx

    loaded = load_subject(scenario, read_settings(settings), None, [formula])
    if not isinstance(loaded, Design):
        raise UsageError(f"--scenario {scenario}: ranking functions are found for designs, and it is a system")
    check_kept({"--output": output}, loaded.files)
    report = verify(loaded.subject, formula, timeout=timeout)
    proof = None if report.proved is None else report.proved.proof
    if not isinstance(proof, RankingProof) or not proof.ranked:
        raise UsageError(f"{report.verdict}: no ranking function was needed or found, so there is none to write")
    try:
        write_onnx([one.network for one in proof.ranked], output)
    except (CircuitError, OSError) as error:
        raise UsageError(f"cannot write {output!r}: {getattr(error, 'strerror', None) or error}") from error
    console().print(f"{output}: {report.verdict}; {len(proof.ranked)} networks", soft_wrap=True)
    return SATISFIED


def _replayed(
    path: str, scenario: str | None, settings: tuple[str, ...], networks: str | None
) -> tuple[Loaded, Witness]:
    """The scenario of a stored violation and its witness, confirmed. Raises `UsageError` where it does not replay."""
    from venmas.cli.replay_command import relabelled, replay_stored, witness_in
    from venmas.cli.stored import load_stored_system, read_stored

    stored = read_stored(path)
    found = witness_in(path, stored)
    loaded, changed = load_stored_system(path, stored, scenario, settings, networks)
    checked = replay_stored(loaded, stored, found)
    if not checked.confirmed:
        others = f" (other networks were used: {', '.join(changed)})" if changed else ""
        raise UsageError(f"{path}: the witness does not replay: {checked.reason}{others}; verify anew")
    return loaded, relabelled(loaded.system, found)


def _write(path: str, text: str) -> None:
    write_file(path, text.encode("utf-8", "replace"), "--output")
