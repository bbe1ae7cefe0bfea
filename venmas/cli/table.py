"""Table of options: which part of the work reads each option of each command, and the refusal of those that none reads.

A command says what its path lacks (`refuse`): every option that was given and is about that is refused by name. An
option that is repeated although it has one value is refused, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import click
from click.core import ParameterSource

from venmas.errors import UsageError

PARTS = {
    "one formula": "one formula",
    "journal": "one formula, or a --batch",
    "programs": "programs for solvers",
    "workers": "modes that work on several cores",
    "abstraction": "predicate abstraction",
    "scenario": "a scenario",
    "jani": "JANI models",
    "netlist": "designs",
    "verilog": "a --design",
    "parameters": "parameters of a --design, --machine or --scenario",
    "verdict": "a verdict",
    "check": "what --check does",
    "runs": "sampled runs",
    "picture": "the picture",
    "states": "the states over time",
}
"""What an option may be about, for messages."""

Needs = tuple[str, ...]
_ALWAYS: Needs = ()


def _options(needs: Needs, names: str) -> dict[str, Needs]:
    return dict.fromkeys(names.split(), needs)


_COMMON = _options(_ALWAYS, "--verbose")
_JANI = "--property --property-name --policy --inputs --outputs --with-initial --goal-terminal --leave-range --masking"
_SCENARIO = _options(_ALWAYS, "--scenario --set --networks") | _options(("jani",), _JANI)
_STORED = {"--scenario": _ALWAYS, "--set": ("scenario",), "--networks": ("scenario",)}
_STORED |= _options(("scenario", "jani"), _JANI)

TABLE: Mapping[str, Mapping[str, Needs]] = {
    "verify": _COMMON
    | _SCENARIO
    | _options(_ALWAYS, "--formula --mode --trust --semantics --invariant --cluster --timeout --memory --json --quiet")
    | _options(_ALWAYS, "--formulas --least --most --sweep --batch --csv --latex --junit")
    | _options(("one formula",), "--certificate --witness")
    | _options(("journal",), "--journal")
    | _options(("programs",), "--solver --encoding --bounds")
    | _options(("workers",), "--workers")
    | _options(("abstraction",), "--predicates --refine --split --guards --cells --concretise --search --slice --reuse")
    | _options(("abstraction",), "--tests --entailed --strengthen --starts --seed"),
    "ltl": _COMMON
    | _options(_ALWAYS, "--property --fair --automaton-only")
    | _options(("verdict",), "--design --btor2 --machine --scenario --certificate --timeout --json --witness --html")
    | _options(("verdict",), "--journal --quiet")
    | _options(("verdict", "netlist"), "--init --justice --bad --from --trust --learner --network --show")
    | _options(("verdict", "verilog"), "--top")
    | _options(("verdict", "parameters"), "--set")
    | _options(("verdict", "scenario"), "--networks --deadlock"),
    "check": _COMMON
    | _options(_ALWAYS, "--json --timeout --memory --quiet")
    | _options(("netlist",), "--btor2")
    | _options(("scenario",), "--scenario --set --networks")
    | _options(("scenario", "jani"), _JANI),
    "report": _COMMON
    | _STORED
    | _options(_ALWAYS, "--output --check")
    | _options(("check",), "--certificate --timeout --memory"),
    "plot": _COMMON | _STORED | _options(_ALWAYS, "--output --show") | _options(("states",), "--variables"),
    "reach": _COMMON
    | _SCENARIO
    | _options(_ALWAYS, "--steps --direction --timeout --memory --runs --json --plot --quiet")
    | _options(("runs",), "--seed")
    | _options(("picture",), "--plane"),
    "simulate": _COMMON | _SCENARIO | _options(_ALWAYS, "--steps --seed --branch --branches --initial --runs --json"),
    "abstract": _COMMON
    | _SCENARIO
    | _options(_ALWAYS, "--predicates --formula --seed --tests --relaxed --json --dot --html"),
    "scenarios": _COMMON | _options(("scenario",), "--set --networks") | _options(("scenario", "jani"), _JANI),
    "replay": _COMMON | _SCENARIO | _options(_ALWAYS, "--quiet"),
    "archive": _COMMON | _SCENARIO | _options(_ALWAYS, "--output --certificate"),
    "programs": _COMMON
    | _SCENARIO
    | _options(_ALWAYS, "--formula --output --mode --encoding --bounds --format --limit"),
    "formula": _COMMON | _SCENARIO | _options(_ALWAYS, "--formula --negated --output"),
    "witness": _COMMON | _SCENARIO | _options(_ALWAYS, "--output"),
    "vnnlib": _COMMON | _options(_ALWAYS, "--timeout --workers --json --quiet"),
    "solvers": {},
    "help": {},
}
"""By command and option: the parts of the work that have to be there, all of them, for the option to be read."""


def refuse(part: str, because: str, instead: str = "") -> None:
    """Raise `UsageError` where options are given that are about a part of the work which the path lacks.

    instead: what gives it that part.
    """
    context = click.get_current_context(silent=True)
    if context is None:
        return
    needs = TABLE.get(context.command.name or "", {})
    about = [p for p in context.command.params if part in needs.get(long_name(p), ())]
    found = [long_name(p) for p in about if context.get_parameter_source(p.name or "") is ParameterSource.COMMANDLINE]
    if found:
        are, them = ("are", "them") if len(found) > 1 else ("is", "it")
        remedy = f"{instead}, or leave {them} out" if instead else f"leave {them} out"
        raise UsageError(f"{', '.join(found)} {are} about {PARTS[part]}, and {because}: {remedy}")


def refuse_for_mode(named: str | None, kinds: Iterable[str], cluster: bool, inductive: bool) -> None:
    """Refuse what no mode reads that decides properties of these kinds.

    named: the mode, None where the kind of a property decides. inductive: a set of states is given that proves them.
    """
    from venmas.engine.modes import DEFAULT, DEFAULT_UNBOUNDED, MODES, modes

    left_open = named is None and not cluster
    names = {
        named or (DEFAULT_UNBOUNDED if left_open and kind not in modes()[DEFAULT].kinds else DEFAULT) for kind in kinds
    }
    if not names or not names <= MODES.keys():  # what procedures of other packages read is theirs to say
        return
    chosen = [MODES[name] for name in sorted(names)]
    turns = {turn.procedure for mode in chosen for stage in mode.stages for turn in stage}
    told = f"mode {' and '.join(mode.name for mode in chosen)}"
    if not turns & {
        "mono",
        "comp-seq",
        "comp-par",
        "k-induction",
    }:  # k-induction asks bounded questions of all procedures
        refuse("programs", f"{told} makes none")
    if not any(mode.workers for mode in chosen):
        refuse("workers", f"{told} works on one")
    if inductive:
        refuse("abstraction", "--invariant names the set that is to be proved")
    elif "predicate-abstraction" not in turns:
        refuse("abstraction", f"{told} has none of it, which is for formulas without a bound")


def long_name(parameter: click.Parameter) -> str:
    """``--name`` of an option, as the table has it."""
    return max(parameter.opts, key=len) if isinstance(parameter, click.Option) else ""


class Command(click.Command):
    """A command that refuses what says more than it can honour: an option of one value that is given again."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse, and count."""
        _, _, order = self.make_parser(ctx).parse_args(list(args))
        seen: set[Any] = set()
        for parameter in order:
            if not isinstance(parameter, click.Option) or parameter.multiple or parameter.is_flag:
                continue
            if parameter in seen:
                raise click.UsageError(f"{long_name(parameter)} is given twice, and takes one value: give it once", ctx)
            seen.add(parameter)
        return super().parse_args(ctx, args)
