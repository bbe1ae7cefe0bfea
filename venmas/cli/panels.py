"""Panels of options: what `--help` shows, what `--help PANEL` and `--help-all` show besides, and groups of commands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import click

from venmas.errors import did_you_mean

PANELS: Mapping[str, Mapping[str, tuple[str, str]]] = {
    "verify": {
        "question": ("The question", "--semantics --fair --initial --deadlock --invariant"),
        "several": ("Several formulas", "--formulas --least --most --sweep --batch --csv --latex --junit"),
        "machines": ("Machines and solvers", "--workers --memory --cluster --solver"),
    }
}
"""By command: panels with their titles and options. Options of no panel are always shown."""

GROUPS: Mapping[str, str] = {
    "Decide": "verify reach map vnnlib",
    "Look": "scenarios simulate replay plot report",
    "Prove": "check recheck archive",
    "Other": "abstract monitor export solvers help",
}
"""Commands as `venmas --help` shows them."""

_ALL, _SHOWN = "venmas.all", "venmas.shown"


class Panelled(click.Command):
    """A command whose help shows its panels when they are asked for."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Besides the options of the command `--help-all`, where it has panels."""
        found = super().get_params(ctx)
        return [*found, _help_all()] if self.name in PANELS else found

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        """`--help`, which may name a panel."""
        plain = super().get_help_option(ctx)
        panels = PANELS.get(self.name or "")
        if plain is None or panels is None:
            return plain
        return click.Option(
            self.get_help_option_names(ctx),
            is_flag=False,
            flag_value=_SHOWN,
            is_eager=True,
            expose_value=False,
            callback=_show,
            metavar=f"[{'|'.join(panels)}]",
            help="Show this message, or the options of a panel, and exit.",
        )

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Options of no panel, those of the panels that were asked for, and which others there are."""
        asked = ctx.meta.get(_ALL, _SHOWN)
        panels = PANELS.get(self.name or "", {})
        placed = {option: name for name, (_, options) in panels.items() for option in options.split()}
        rows: dict[str, list[tuple[str, str]]] = {name: [] for name in ("", *panels)}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                rows[placed.get(max(parameter.opts, key=len), "")].append(record)
        for name, records in rows.items():
            if records and asked in (_ALL, name or _SHOWN):
                with formatter.section(panels[name][0] if name else "Options"):
                    formatter.write_dl(records)
        if panels and asked == _SHOWN:
            with formatter.section("More options"):
                formatter.write_dl([(f"--help {name}", _listed(records)) for name, records in rows.items() if name])


def whole_help(ctx: click.Context) -> str:
    """The help of a command with all of its panels."""
    ctx.meta[_ALL] = _ALL
    try:
        return ctx.get_help()
    finally:
        del ctx.meta[_ALL]


def _listed(records: list[tuple[str, str]]) -> str:
    return " ".join(record[0].split()[0].rstrip(",") for record in records)


def _help_all() -> click.Option:
    return click.Option(
        ["--help-all"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=lambda ctx, option, value: _show(ctx, option, _ALL) if value else None,
        help="Show all options and exit.",
    )


def _show(ctx: click.Context, option: click.Parameter, value: Any) -> None:
    if value is None or ctx.resilient_parsing:
        return
    panels = PANELS[ctx.command.name or ""]
    if value not in (*panels, _ALL, _SHOWN):
        hint = did_you_mean(value, panels)
        raise click.UsageError(f"--help: there is no panel {value!r}{hint}; there are {', '.join(panels)}", ctx)
    ctx.meta[_ALL] = value
    click.echo(ctx.get_help(), color=ctx.color)
    ctx.exit()


def grouped(names: list[str]) -> Iterator[tuple[str, list[str]]]:
    """The groups of these commands with their titles, those of no group last."""
    placed = {name for text in GROUPS.values() for name in text.split()}
    for title, text in GROUPS.items():
        yield title, [name for name in text.split() if name in names]
    yield "More", [name for name in names if name not in placed]
