"""`--batch FILE.csv`: a question a line, each about a model of its own; a broken model loses nothing of the others."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from venmas.cli.apart import check_kept
from venmas.cli.options import read_formula_text, read_text
from venmas.cli.output import read_input
from venmas.cli.plural import ask_all, finished, line_of, loaded_or_told, outputs_of
from venmas.cli.plural_options import Plural
from venmas.errors import InputError, UsageError

_MOST_BYTES = 16 << 20
_OWN = ("scenario", "networks", "formula")


@dataclass(frozen=True)
class Asked:
    """A line: a model with its networks and parameters, and what is asked of it."""

    scenario: str
    networks: str | None
    settings: tuple[tuple[str, str], ...]
    formula: str


def verify_batch(
    plural: Plural,
    given: Mapping[str, object],
    written: Mapping[str, str | None],
    options: Mapping[str, Any],
    tune: Mapping[str, str],
    quiet: bool,
) -> int:
    """Ask all lines of a file, print their table, write the files; the exit status is that of several formulas.

    given: options that the file stands in for. options: of every question, with the journal.
    """
    from venmas.engine.plural import sought
    from venmas.engine.results import REFUSED, Result, Results

    for option, value in {**given, "--formulas": plural.formula_lists, "--sweep": plural.sweeps}.items():
        if value:
            raise UsageError(f"{option} and --batch do not go together: write it in a column of the file")
    assert plural.batch is not None
    search = sought(plural.least, plural.most)
    names, lines = read_batch(plural.batch)
    outputs = outputs_of(plural, written, batch=True)
    check_kept({**outputs, "--journal": written.get("--journal")}, [("the batch", Path(plural.batch))])
    rows = []
    for line in lines:
        cells = {"networks": line.networks or "", **dict(line.settings)}
        swept = {"scenario": line.scenario, **{name: cells.get(name, "") for name in names}}
        rows.append(Result(line.formula, swept=swept, sought=search[0] if search else ""))
    pairs = groupby(zip(lines, rows, strict=True), key=lambda p: (p[0].scenario, p[0].networks, p[0].settings))
    with suppress(KeyboardInterrupt), line_of(rows, quiet) as progress:  # what is done is shown
        for (scenario, networks, settings), members in pairs:
            part = [row for _, row in members]
            try:
                for row in part:
                    row.formula = read_text(row.formula).strip()
                loaded, limit = loaded_or_told(part, scenario, dict(settings), networks, options)
                if loaded is None:
                    continue
                check_kept(outputs, loaded.files)
                for row in part:
                    row.formula = row.formula or read_formula_text(loaded.formula, loaded.subject).strip()
            except InputError as error:
                for row in part:
                    row.reason, row.message = REFUSED, str(error)
                continue
            if not ask_all(part, loaded, {**options, "timeout": limit}, tune, search, progress):
                break
    return finished(Results(rows), outputs, quiet)


def read_batch(path: str) -> tuple[list[str], list[Asked]]:
    """The columns that tell models of one scenario apart, and the lines. Raises `UsageError` with the line."""
    try:
        data = read_input(Path(path), _MOST_BYTES)
        if len(data) > _MOST_BYTES:
            raise UsageError(f"--batch: {path} is larger than {_MOST_BYTES >> 20} MB: divide it")
        rows = list(csv.reader(io.StringIO(data.decode("utf-8-sig"), newline=""), strict=True))
    except OSError as error:
        raise UsageError(f"--batch: cannot read {path!r}: {error.strerror}; check the path") from error
    except (UnicodeDecodeError, csv.Error) as error:
        why = f"byte {error.start} is none of its" if isinstance(error, UnicodeDecodeError) else error
        raise UsageError(f"--batch: {path} is no CSV in UTF-8: {why}") from error
    header = [name.strip() for name in rows[0]] if rows else []
    if missing := [name for name in ("scenario", "formula") if name not in header]:
        raise UsageError(
            f"--batch: {path} has no column {missing[0]!r}: its first line names the columns, scenario,formula, and "
            "after them networks and parameters of the scenarios, if any"
        )
    if twice := [name for name in header if header.count(name) > 1 or not name]:
        raise UsageError(f"--batch: {path} names the column {twice[0]!r} twice, or not at all: give each one name")
    found = []
    for number, row in enumerate(rows[1:], 2):
        if not any(cell.strip() for cell in row):
            continue
        if len(row) != len(header):
            raise UsageError(
                f"--batch: {path}, row {number} has {len(row)} cells for {len(header)} columns: a formula with commas "
                "stands in double quotes"
            )
        cells = {name: cell.strip() for name, cell in zip(header, row, strict=True)}
        settings = tuple((n, c) for n, c in cells.items() if n not in _OWN and c)
        found.append(Asked(cells["scenario"], cells.get("networks") or None, settings, cells["formula"]))
    if not found:
        raise UsageError(f"--batch: {path} asks nothing: write a line for each question")
    return [name for name in header if name not in ("scenario", "formula")], found
