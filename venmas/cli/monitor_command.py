"""``venmas monitor``: a map of initial states as a function in C or Python."""

from __future__ import annotations

import click

from venmas.cli.apart import check_kept
from venmas.cli.options import verbose_option
from venmas.cli.output import check_writable, console, printable, read_input, write_file
from venmas.cli.table import Command
from venmas.errors import UsageError


@click.command("monitor", cls=Command)
@click.argument("path", metavar="MAP.json")
@click.option("-o", "--output", metavar="FILE.c|FILE.py", required=True, help="Write the function there.")
@click.option("--name", default="venmas_monitor", show_default=True, metavar="NAME", help="Name of the function.")
@verbose_option
def command(path: str, output: str, name: str) -> int:
    """Write a map as a function of the state, in C or Python, without dependencies.

    It returns 0 where the formula is proved, 1 where it is violated, and 2 where it is open: outside of the map, too,
    and for NaN. Arguments are doubles, in the order of the variables; the comparisons are exact.
    """
    from venmas.cli.main import SATISFIED
    from venmas.engine.map.monitor import LANGUAGES, monitor_text
    from venmas.engine.map.stored import MAX_BYTES, read_map

    ending = output.rpartition(".")[2].lower()
    language = next((known for known in LANGUAGES if known == ending), None)
    if language is None:
        raise UsageError(f"--output {output[:200]!r}: name a file that ends in .c or .py")
    check_writable(output, "--output")
    try:
        stored = read_map(read_input(path, MAX_BYTES), path)
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read {path[:200]!r}: {getattr(error, 'strerror', None) or error}") from error
    check_kept({"--output": output}, [("the map", path)])
    write_file(output, monitor_text(stored, language, name).encode(), "--output")
    names = ", ".join(axis.name for axis in stored.axes)
    console().print(printable(f"{output}: {name}({names})"), soft_wrap=True)
    return SATISFIED
