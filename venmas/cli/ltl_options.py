"""Options of `venmas ltl`, in groups: the design, the question, the proof, what is written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from venmas.cli.options import Positive, verbose_option
from venmas.runtime.choices import LEARNERS, LTL_TRUSTS, described

_Command = TypeVar("_Command", bound=Callable[..., Any])


def _together(*options: Callable[[_Command], _Command]) -> Callable[[_Command], _Command]:
    def decorate(command: _Command) -> _Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


start_options = _together(
    click.option(
        "--init",
        metavar="CONDITION",
        help="What holds in initial states, over registers [default: what the netlist says].",
    ),
    click.option(
        "--from",
        "begin",
        type=click.Choice(["initial", "all"]),
        default="initial",
        show_default=True,
        help="initial: prove it from every state, else from the initial states; all: from every state only.",
    ),
)

question_options = _together(
    click.option(
        "--property",
        "text",
        metavar="TEXT",
        help="LTL over signals, such as 'F G !rst -> G F done', or the name of a property of the machine.",
    ),
    click.option(
        "--justice",
        type=click.IntRange(0),
        metavar="N",
        help="Verify `justice` line N (from 0), on runs that meet every `fair` line infinitely often.",
    ),
    click.option("--bad", type=click.IntRange(0), metavar="N", help="Verify `bad` line N (from 0): no run meets it."),
    click.option(
        "--fair",
        metavar="CONDITION",
        multiple=True,
        help="Consider only runs on which this holds infinitely often; repeatable.",
    ),
    click.option("--automaton-only", is_flag=True, help="Print the automaton of the negated property: HOA and dot."),
)

proof_options = _together(
    click.option(
        "--trust",
        type=click.Choice(tuple(LTL_TRUSTS)),
        default="exact",
        show_default=True,
        help=f"{described(LTL_TRUSTS)}.",
    ),
    click.option("--certificate", metavar="FILE", help="Write a proof of satisfied, which `venmas check` checks."),
    click.option(
        "--learner",
        type=click.Choice(tuple(LEARNERS)),
        default="auto",
        show_default=True,
        help=f"{described(LEARNERS)}.",
    ),
    click.option(
        "--network", metavar="FILE.onnx", help="Write the ranks of a proof as a ReLU network, an output for each state."
    ),
    click.option("--timeout", type=Positive(), metavar="SECONDS", help="Give up after this long; no limit by default."),
)

output_options = _together(
    click.option("--json", "json_path", metavar="FILE|-", help="Write the result as JSON to a file, or to stdout (-)."),
    click.option(
        "--witness",
        "witness_path",
        metavar="FILE.vcd|FILE.json",
        help="Write the lasso of a violation as a waveform, or the result as JSON.",
    ),
    click.option("--html", "page_path", metavar="FILE", help="Write a page of the result."),
    click.option("--journal", metavar="FILE", help="Keep the verdict in this file, and reuse it."),
    click.option("--show", is_flag=True, help="Print the automaton and each obligation, too."),
    click.option("-q", "--quiet", is_flag=True, help="Print the verdict only."),
    verbose_option,
)
