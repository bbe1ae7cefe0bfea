"""The command `venmas`: which subcommand is meant, and what every way to fail looks like (design section 5).

Exit status: 0 satisfied (or done), 10 violated, 20 unknown, 30 a certificate is refused, 2 bad input or usage, 1 a
fault of the program. Commands are imported when they are asked for, and import the verifier only when they run, so that
help comes at once.
"""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn

import click

from venmas._version import __version__
from venmas.cli.interrupt import interruptible
from venmas.cli.output import is_verbose, printable, set_up_logging
from venmas.cli.panels import grouped
from venmas.cli.streams import NotShownError, guarded
from venmas.errors import InputError, LimitError, VenmasError, did_you_mean
from venmas.runtime.platform import require_posix

SATISFIED, FAULT, BAD_INPUT, VIOLATED, UNKNOWN = 0, 1, 2, 10, 20

COMMANDS = {
    "verify": "venmas.cli.verify_command",
    "scenarios": "venmas.cli.scenarios_command",
    "simulate": "venmas.cli.simulate_command",
    "reach": "venmas.cli.reach_command",
    "map": "venmas.cli.map_command",
    "monitor": "venmas.cli.monitor_command",
    "replay": "venmas.cli.replay_command",
    "plot": "venmas.cli.plot_command",
    "report": "venmas.cli.report_command",
    "abstract": "venmas.cli.abstract_command",
    "check": "venmas.cli.check_command",
    "recheck": "venmas.cli.recheck_command",
    "archive": "venmas.cli.archive_command",
    "export": "venmas.cli.export_command",
    "solvers": "venmas.cli.solvers_command",
    "vnnlib": "venmas.cli.vnnlib_command",
    "help": "venmas.cli.help_command",
}
DEFAULT = "verify"


class Face(click.Group):
    """The group of commands; options without a command are those of `verify`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(COMMANDS[cmd_name]).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """A section for each group."""
        for title, names in grouped(self.list_commands(ctx)):
            found = [(name, self.get_command(ctx, name)) for name in names]
            limit = formatter.width - 6 - max(map(len, COMMANDS))
            rows = [(name, command.get_short_help_str(limit)) for name, command in found if command is not None]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert the default command before options that are not those of the group."""
        if args and args[0].startswith("-") and args[0] not in ("-h", "--help", "--version"):
            args = [DEFAULT, *args]
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or say which there are."""
        if args[0] == "ltl":
            raise click.UsageError(
                "properties of LTL are decided as all others are: venmas verify --scenario NAME|FILE --formula 'G F q'"
            )
        if args[0] not in COMMANDS:
            hint = did_you_mean(args[0], COMMANDS)
            raise click.UsageError(f"there is no command {args[0]!r}{hint}; choose one of {', '.join(COMMANDS)}")
        return super().resolve_command(ctx, args)

    def main(
        self, args: Sequence[str] | None = None, prog_name: str | None = None, *rest: Any, **extra: Any
    ) -> NoReturn:
        """Run and exit with the status of the result."""
        extra["standalone_mode"] = False
        set_up_logging(verbose=False)
        status = FAULT
        try:
            with guarded():
                status = self._status(args, prog_name or "venmas", *rest, **extra)
        except NotShownError as error:
            status = BAD_INPUT
            _say(f"error: cannot write to standard output: {error}; send it elsewhere")
        sys.exit(status)

    def _status(self, *args: Any, **extra: Any) -> int:
        """Run a command; what it raises is one message and the status that goes with it."""
        try:
            require_posix()
            with interruptible(UNKNOWN):
                return super().main(*args, **extra) or SATISFIED
        except (KeyboardInterrupt, click.Abort):
            _say("interrupted")
            # not sys.exit, which would wait for threads, and may end as if killed
            os._exit(UNKNOWN)
        except click.UsageError as error:
            _say(f"error: {error.format_message()}\nTry `{error.ctx.command_path if error.ctx else 'venmas'} --help`.")
            return BAD_INPUT
        except InputError as error:
            _say(f"error: {error}")
            return error.status
        except click.ClickException as error:
            _say(f"error: {error.format_message()}")
            return BAD_INPUT
        except LimitError as stop:  # while what the command is about was read
            print(f"unknown ({stop.reason}): {stop}")
            return UNKNOWN
        except VenmasError as error:  # such as workers that can not be started here
            _say(f"error: {error}")
        except MemoryError:
            _say("unknown (memory): there is not enough memory for this input; make it smaller, or free some")
            return UNKNOWN
        except Exception as error:
            if is_verbose():
                traceback.print_exc()
            _say(_fault(error))
        return FAULT


_HEAD, _TAIL = 1500, 400
"""Characters of a long message that are shown: the remedy is often at its end."""


def _say(message: str) -> None:
    with contextlib.suppress(OSError, ValueError):
        click.echo(readable(message), err=True)


def readable(message: str) -> str:
    """A message that may quote files of strangers: not longer than a page, and nothing in it steers a terminal."""
    if len(message) > _HEAD + _TAIL:
        message = f"{message[:_HEAD]} ... ({len(message) - _HEAD - _TAIL} characters) ... {message[-_TAIL:]}"
    return printable(message)


def _fault(error: Exception) -> str:
    advice = "" if is_verbose() else "; add -v to see where"
    return (
        f"internal error: {type(error).__name__}: {error}\n"
        f"This is a fault of VenMAS {__version__}, not of your input: please report it with the whole command{advice}."
    )


@click.group(
    "venmas",
    cls=Face,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="\b\nOptions without a command are those of verify:\n"
    '  venmas --scenario vcas --formula "AX^5 (h > 100 | h < -100)" --mode comp-par\n\n'
    "Exit status: 0 satisfied, 10 violated, 20 unknown, 30 a certificate is refused, 2 bad input or usage, "
    "1 a fault of the program.",
)
@click.version_option(__version__, prog_name="venmas", message="%(prog)s %(version)s")
def main() -> None:
    """Verify neural agents in non-deterministic environments: CTL formulas, with bounds or for ever."""


if __name__ == "__main__":
    main()
