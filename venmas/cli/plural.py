"""Several questions in one command: asked in turn, shown as a table, written in the forms that others read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from venmas.cli.apart import check_apart, check_kept
from venmas.cli.limits import reading
from venmas.cli.main import BAD_INPUT, FAULT, SATISFIED, UNKNOWN, VIOLATED
from venmas.cli.options import Loaded, formula_file, read_formula_text, read_text
from venmas.cli.origin import tell_origin
from venmas.cli.output import STDOUT, check_writable, console, store_json, write_file
from venmas.cli.plural_options import Plural
from venmas.cli.progress import ProgressLine, clock
from venmas.cli.subjects import Design, load_asked
from venmas.cli.sweep import read_sweeps
from venmas.cli.table import refuse, refuse_for_mode
from venmas.cli.tuning import read_tune_files
from venmas.errors import InputError, LimitError, Reason, UsageError
from venmas.report.text_tables import print_table

if TYPE_CHECKING:
    from venmas.budget import Progress
    from venmas.engine.bound_search import Sought
    from venmas.engine.report import Report
    from venmas.engine.results import Result, Results
    from venmas.logic import Formula

_WIDEST = 70
"""Characters of a formula in the table on the screen."""


def verify_several(
    plural: Plural,
    scenario: str | None,
    settings: Mapping[str, str],
    networks: str | None,
    written: Mapping[str, str | None],
    options: Mapping[str, Any],
    tune: Mapping[str, str],
    quiet: bool,
) -> int:
    """Ask all questions, print their table, write the files; the exit status.

    written: files of `verify` by option, of which only ``--json`` is for several. options: of every question.
    """
    from venmas.engine.plural import sought
    from venmas.engine.results import Result, Results

    outputs = outputs_of(plural, written)
    search = sought(plural.least, plural.most)
    sweeps = read_sweeps(plural.sweeps, settings)
    try:
        with reading(options["timeout"]) as left:
            given = _given(plural)
            first = load_asked(scenario, {**settings, **sweeps[0]}, networks, given, options)
    except LimitError as stop:
        named = [*plural.formulas, *(f"@{path}" for path in plural.formula_lists)] or [""]
        unread = [Result(text, swept=s, reason=stop.reason, message=str(stop)) for s in sweeps for text in named]
        return finished(Results(unread), outputs, quiet)
    rest = left()
    texts = given or [read_formula_text(first.formula, first.subject).strip()]
    files = [named for text in plural.formulas for named in formula_file(text)]
    check_kept(outputs, [*first.files, *files, *(("the formulas", path) for path in plural.formula_lists)])
    kinds = set(_kinds(texts, first, options))
    refuse_for_mode(options["mode"], kinds, options["cluster"] is not None, bool(options["invariant"]), tune)
    if isinstance(first, Loaded):
        read_tune_files(tune, first)  # says what is wrong with it before any work
    rows = [Result(text, swept=swept, sought=search[0] if search else "") for swept in sweeps for text in texts]
    with suppress(KeyboardInterrupt), line_of(rows, quiet) as line:  # what is done is shown
        for i, swept in enumerate(sweeps):
            part = rows[i * len(texts) : (i + 1) * len(texts)]
            known = (first, rest) if i == 0 else None
            loaded, limit = known or loaded_or_told(part, scenario, {**settings, **swept}, networks, options)
            asked = {**options, "timeout": limit}
            if loaded is not None and not ask_all(part, loaded, asked, tune, search, line):
                break
    return finished(Results(rows), outputs, quiet)


def finished(results: Results, outputs: Mapping[str, str | None], quiet: bool) -> int:
    """Write the files, print the table; the exit status."""
    problems = store_all(results, outputs)
    if STDOUT not in outputs.values():
        print_all(results, quiet)
    if problems:
        raise UsageError("; ".join(problems))
    return status(results)


def status(results: Results) -> int:
    """The exit status of several: 10 if one is violated, else 1 or 2 if one could not be asked, else 20 or 0."""
    counts = results.counts
    order = {"violated": VIOLATED, "fault": FAULT, "refused": BAD_INPUT, "unknown": UNKNOWN}
    return next((code for name, code in order.items() if counts[name]), SATISFIED)


def outputs_of(plural: Plural, written: Mapping[str, str | None], batch: bool = False) -> dict[str, str | None]:
    """The files to write by option. Raises `UsageError`, also for those that are about a single formula."""
    refuse("one formula", "several are asked")
    if not batch:
        refuse("journal", "several are asked")
    found = {"--csv": plural.csv, "--latex": plural.latex, "--junit": plural.junit}
    for option, path in found.items():
        check_writable(path, option)
    found["--json"] = written.get("--json")
    check_apart(found, streams=tuple(found))
    return found


def _given(plural: Plural) -> list[str]:
    """The formulas of the options, those of files after the others. Raises `UsageError`."""
    texts = [read_formula_text(text).strip() for text in plural.formulas]
    for path in plural.formula_lists:
        lines = read_text(f"@{path}", "--formulas").splitlines()
        texts += [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]
    if not texts and plural.formula_lists:
        raise UsageError(f"--formulas: {plural.formula_lists[0]} has no formula: write one a line")
    return texts


def _kinds(texts: list[str], loaded: Loaded | Design, options: Mapping[str, Any]) -> Iterator[str]:
    """Of the properties that can be read; rows tell what is wrong with others."""
    from venmas.formats.asked import read_asked

    for text in texts:
        with suppress(InputError):
            _, asked = read_asked(loaded.subject, text, *(options[name] for name in ("fair", "deadlock", "initial")))
            yield asked.kind


def loaded_or_told(
    part: list[Result],
    scenario: str | None,
    settings: Mapping[str, str],
    networks: str | None,
    options: Mapping[str, Any],
) -> tuple[Loaded | Design | None, float | None]:
    """The scenario with these values, and the seconds that are left; None where there is none, which each row tells.

    options: of every question.
    """
    from venmas.engine.results import FAULT as FAULT_REASON
    from venmas.engine.results import REFUSED

    try:
        with reading(options["timeout"]) as left:
            loaded = load_asked(scenario, settings, networks, [row.formula for row in part], options)
        return loaded, left()
    except InputError as error:
        reason, message = REFUSED, str(error)
    except LimitError as stop:
        reason, message = stop.reason, str(stop)
    except MemoryError:
        reason, message = Reason.MEMORY.value, "there is not enough memory for this model"
    except Exception as error:  # a fault at one model does not lose what was found for others
        reason, message = FAULT_REASON, f"{type(error).__name__}: {error}"
    for row in part:
        row.reason, row.message = reason, message
    return None, options["timeout"]


def ask_all(
    part: list[Result],
    loaded: Loaded | Design,
    options: Mapping[str, Any],
    tune: Mapping[str, str],
    search: tuple[Sought, int] | None,
    line: ProgressLine,
) -> bool:
    """Fill the rows of one system; False once it is interrupted."""
    from venmas.engine.plural import answer
    from venmas.engine.verify import verify

    chosen = {**options, "tune": read_tune_files(tune, loaded) if isinstance(loaded, Loaded) else tune}

    def ask(formula: str | Formula) -> Report:
        report = verify(loaded.subject, formula, parameters=loaded.parameters, progress=line.update, **chosen)
        tell_origin(report, loaded, tune)
        return report

    for row in part:
        answer(row, row.formula, loaded.subject, ask, search)
        if row.reason == Reason.INTERRUPTED:
            return False
    return True


def line_of(rows: list[Result], quiet: bool) -> ProgressLine:
    """The line of progress: how many rows are done, and which formula is asked."""

    def tell(progress: Progress, _left: float | None) -> str:
        done = sum(row.message != "not asked" for row in rows)
        now = rows[min(done, len(rows) - 1)].formula
        return f"{done} of {len(rows)} done, {clock(progress.seconds)} at {now}"

    return ProgressLine(wanted=not quiet, tell=tell)


def store_all(results: Results, outputs: Mapping[str, str | None]) -> list[str]:
    """Write the files that were asked for; what could not be written, and why."""
    forms = {"--csv": results.to_csv, "--latex": results.to_latex, "--junit": results.to_junit}
    failed = [store_json(outputs["--json"], results.to_json(), "--json")] if outputs["--json"] else []
    for option, form in forms.items():
        if (path := outputs[option]) is not None:
            try:
                write_file(path, form().encode(), option)
            except UsageError as error:
                failed.append(error)
    return [str(error) for error in failed if error]


def print_all(results: Results, quiet: bool) -> None:
    """The table, and how many have each verdict; quiet: a verdict a line."""
    out = console()
    if quiet:
        for row in results:
            out.print(row.verdict.value, soft_wrap=True)
        return
    names = [name for name in results.records()[0] if name not in ("reason", "basis", "seconds", "message")]
    headers = [*(name.replace("_", " ") for name in names), "seconds", "remark"]
    rows = []
    for row in results:
        record = row.record
        text = record["formula"]
        record["formula"] = text if len(text) <= _WIDEST else f"{text[: _WIDEST - 4]} ..."
        cells = ["" if record[name] is None else str(record[name]) for name in names]
        rows.append([*cells, f"{row.seconds:.3f}", _remark(row)])
    print_table(out, headers, [[" ".join(cell.split()) for cell in row] for row in rows], wrap=True)
    told = ", ".join(f"{count} {name}" for name, count in results.counts.items() if count)
    out.print(f"\n{told}; {sum(row.seconds for row in results):.2f} s", soft_wrap=True)


def _remark(row: Result) -> str:
    """Why there is no verdict, or what a search came to; the first line of it."""
    first = row.message.partition("\n")[0]
    return f"{row.reason}: {first}" if row.reason else first
