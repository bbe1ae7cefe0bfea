"""Table of options: which part of the work reads each option of each command, and the refusal of those that none reads.

A command says what its path lacks (`refuse`): every option that was given and is about that is refused by name. An
option that is repeated although it has one value is refused, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import click
from click.core import ParameterSource

from venmas.cli.panels import Panelled
from venmas.errors import UsageError

PARTS = {
    "one formula": "one formula",
    "journal": "one formula, or a --batch",
    "programs": "programs for solvers",
    "workers": "modes that work on several cores",
    "scenario": "a scenario",
    "ltl": "formulas of LTL",
    "netlist": "designs",
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
_SCENARIO = _options(_ALWAYS, "--scenario --set --networks")
_STORED = {"--scenario": _ALWAYS, "--set": ("scenario",), "--networks": ("scenario",)}

TABLE: Mapping[str, Mapping[str, Needs]] = {
    "verify": _COMMON
    | _SCENARIO
    | _options(_ALWAYS, "--formula --mode --trust --semantics --invariant --cluster --timeout --memory --json --quiet")
    | _options(_ALWAYS, "--formulas --least --most --sweep --batch --csv --latex --junit")
    | _options(("one formula",), "--certificate --witness")
    | _options(("journal",), "--journal")
    | _options(("programs",), "--solver")
    | _options(_ALWAYS, "--tune")
    | _options(("workers",), "--workers")
    | _options(("ltl",), "--fair --deadlock")
    | _options(("ltl", "netlist"), "--initial"),
    "check": _COMMON
    | _options(_ALWAYS, "--json --timeout --memory --quiet")
    | _options(("netlist",), "--btor2")
    | _options(("scenario",), "--scenario --set --networks"),
    "recheck": _COMMON | _SCENARIO | _options(_ALWAYS, "--certificate --timeout --memory --json --witness --quiet"),
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
    "map": _COMMON
    | _SCENARIO
    | _options(_ALWAYS, "--formula --timeout --memory --min-width --workers --output --certify --resume --plot --quiet")
    | _options(("picture",), "--plane"),
    "monitor": _COMMON | _options(_ALWAYS, "--output --name"),
    "simulate": _COMMON | _SCENARIO | _options(_ALWAYS, "--steps --seed --branch --branches --initial --runs --json"),
    "abstract": _COMMON
    | _SCENARIO
    | _options(_ALWAYS, "--predicates --formula --seed --tests --relaxed --json --dot --html"),
    "scenarios": _COMMON | _options(("scenario",), "--set --networks"),
    "replay": _COMMON | _SCENARIO | _options(_ALWAYS, "--quiet"),
    "archive": _COMMON | _SCENARIO | _options(_ALWAYS, "--output --certificate"),
    "programs": _COMMON | _SCENARIO | _options(_ALWAYS, "--formula --output --mode --tune --format --limit"),
    "smv": _COMMON | _SCENARIO | _options(_ALWAYS, "--formula --output"),
    "formula": _COMMON | _SCENARIO | _options(_ALWAYS, "--formula --negated --output"),
    "witness": _COMMON | _SCENARIO | _options(_ALWAYS, "--output"),
    "automaton": _COMMON | _options(_ALWAYS, "--fair --output"),
    "ranks": _COMMON | _options(_ALWAYS, "--scenario --set --formula --output --timeout"),
    "vnnlib": _COMMON | _options(_ALWAYS, "--network --rules --timeout --workers --json --quiet"),
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


def refuse_for_mode(
    named: str | None, kinds: Iterable[str], cluster: bool, inductive: bool, tune: Mapping[str, str]
) -> None:
    """Refuse what no mode reads that decides properties of these kinds.

    named: the mode, None where the kind of a property decides. inductive: a set of states is given that proves them.
    """
    from venmas.engine.modes import DEFAULT, DEFAULTS, MODES, modes
    from venmas.engine.tuning import check_read

    left_open = named is None and not cluster
    kinds = set(kinds)
    if "linear" not in kinds:
        refuse("ltl", "the formula is of CTL, or about one state", "ask a formula such as G F p")
    names = {named or (DEFAULTS[kind] if left_open else DEFAULT) for kind in kinds}
    if names and names <= modes().keys():
        check_read(tune, [modes()[name] for name in sorted(names)], inductive)
    if not names or not names <= MODES.keys():  # what procedures of other packages read is theirs to say
        return
    chosen = [MODES[name] for name in sorted(names)]
    turns = set[str]().union(*(mode.procedures for mode in chosen))
    told = f"mode {' and '.join(mode.name for mode in chosen)}"
    if not turns & {"mono", "comp-seq", "comp-par", "k-induction"}:  # the last asks bounded questions of all
        refuse("programs", f"{told} makes none")
    if not any(mode.workers for mode in chosen):
        refuse("workers", f"{told} works on one")


def long_name(parameter: click.Parameter) -> str:
    """``--name`` of an option, as the table has it."""
    return max(parameter.opts, key=len) if isinstance(parameter, click.Option) else ""


class Command(Panelled):
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
