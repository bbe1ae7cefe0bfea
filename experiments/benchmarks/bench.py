"""One benchmark run: options, streaming Markdown tables, CSV, and what went wrong, with the command that repeats it."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from experiments.benchmarks.ask import Question, Row, Way, ask
from experiments.benchmarks.machine import header, peak_children_mb, peak_mb

COLUMNS = ("section", "what", "mode", "expected", "verdict", "basis", "seconds", "build_seconds", "check_seconds")
COLUMNS += ("write_seconds", "bytes", "runs", "passes", "nodes", "pieces", "mb", "problem", "note")


@dataclass
class Bench:
    """What a benchmark is given: ask through it, and it prints, keeps and judges."""

    name: str
    quick: bool = False
    repeat: int = 3
    timeout: float | None = None
    only: str = ""
    modes: tuple[str, ...] = ()
    fresh: bool = False
    workers: int | None = None
    certify: bool = False
    trust: str = "auto"
    solver: str = "highs"
    csv: Path | None = None
    resume: Path | None = None
    rows: list[Row] = field(default_factory=list)
    title: str = ""
    shown: str = ""
    kept: dict[tuple[str, str, str], Row] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Read the rows of a run before, by section, question and mode; a last line that is cut off is none."""
        if self.resume is None or not self.resume.exists():
            return
        whole = self.resume.read_text(encoding="utf-8").rpartition("\n")[0]
        self.resume.write_text(whole + "\n" if whole else "", encoding="utf-8")
        for line in whole.splitlines():
            row = Row(**json.loads(line))
            self.kept[row.section, row.what, row.mode] = row

    def start(self) -> None:
        print(f"# {self.name}\n")
        print("\n\n".join(header()), flush=True)

    def section(self, title: str) -> None:
        """What the next rows are about; nothing is printed before the first of them."""
        self.title = title

    def wanted(self, what: str, mode: str) -> bool:
        """Is this one of the cells that --only and --modes leave?"""
        return self.only in f"{self.title}: {what}$" and (not self.modes or mode in self.modes)

    def ask(self, question: Question, mode: str = "adaptive", timeout: float | None = None, **how: Any) -> Row | None:
        """Ask and show; None where the cell is filtered out. timeout: of this cell (s), unless --timeout says else."""
        if not self.wanted(question.name, mode):
            return None
        if (kept := self.recall(question.name, mode)) is not None:
            return kept
        limit = self.timeout if self.timeout is not None else timeout
        certify = self.certify and mode in ("adaptive", "exact", "invariant")
        fixed = {"fresh": self.fresh, "workers": self.workers, "trust": self.trust, "solver": self.solver}
        fixed |= {"certify": certify}
        row = ask(self.title, question, Way(mode, limit, self.repeat, **{**fixed, **how}))
        self.add(row)
        return row

    def recall(self, what: str, mode: str) -> Row | None:
        """The row of a cell that a run before has asked (`--resume`), shown again; else None."""
        kept = self.kept.pop((self.title, what, mode), None)
        if kept is not None:
            self._show(kept)
        return kept

    def add(self, row: Row) -> None:
        """Show a row, and keep it for a run that resumes."""
        self._show(row)
        if self.resume is not None:
            with self.resume.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(row)) + "\n")

    def _show(self, row: Row) -> None:
        """Show and keep a row; two modes that contradict each other are both marked.

        A peer that differs from what is known has its mark already.
        """
        for other in self.rows:
            same = (other.section, other.what) == (row.section, row.what) and other.decided and row.decided
            if same and other.verdict != row.verdict and row.problem != "Marabou differs":
                row.problem = other.problem = "WRONG"
                row.note = f"{other.mode} says {other.verdict}; {row.note}"
        self.rows.append(row)
        if self.shown != self.title:
            self.shown = self.title
            print(
                f"\n## {self.title}\n\n| what | mode | verdict | expected | s | build s | nodes / pieces | MB | note |"
            )
            print("|---|---|---|---|---|---|---|---|---|")
        mark = f"**{row.verdict}**" if row.problem == "WRONG" else row.verdict
        size = f"{row.nodes} / {row.pieces}" if row.pieces or row.nodes else "-"
        check = f"write {row.wrote:.3f} s, check {row.checked:.3f} s, {row.size} B" if row.size else ""
        note = "; ".join(n for n in (check, row.note) if n).replace("|", "/").replace("\n", " ")
        print(
            f"| {row.what.replace('|', '/')} | {row.mode} | {mark} {row.basis} | {row.expected or '-'} | "
            f"{row.median:.3f} | {row.build:.3f} | {size} | {row.mb:.0f} | {note} |",
            flush=True,
        )

    def of(self, mode: str, section: str = "") -> list[Row]:
        """The rows of a mode in sections that begin like this."""
        return [r for r in self.rows if r.mode == mode and r.section.startswith(section)]

    def say(self, line: str) -> None:
        print(f"\n{line}", flush=True)

    def total(self, rows: Iterable[Row], what: str) -> None:
        """Sums and medians of a group."""
        some = list(rows)
        if not some:
            return
        times, built = [r.median for r in some], sum(r.build for r in some)
        wrong, open_ = (sum(r.problem == p for r in some) for p in ("WRONG", "unknown"))
        self.say(
            f"**{what}**: {len(some)} cells, {sum(r.decided for r in some)} decided, {wrong} wrong, {open_} unknown; "
            f"{sum(times):.2f} s together and {built:.2f} s to build; median {median(times):.4f} s, "
            f"longest {max(times):.2f} s ({max(some, key=lambda r: r.median).what})"
        )
        if self.certify:
            proved = [r for r in some if r.size]
            wrote, checked, size = (sum(getattr(r, name) for r in proved) for name in ("wrote", "checked", "size"))
            bare = sum(r.verdict == "satisfied" for r in some) - len(proved)
            self.say(
                f"**{what}, certificates**: {len(proved)} written and checked, {bare} satisfied without; of "
                f"{sum(times):.2f} s together {sum(times) - wrote:.2f} s to decide and {wrote:.2f} s to write, "
                f"then {checked:.2f} s to check; {size / 1000:.0f} kB, longest to write and check "
                f"{max((r.wrote + r.checked for r in proved), default=0.0):.2f} s"
            )

    def ratio(self, mode: str, against: str, section: str = "") -> None:
        """The median of the quotient of their times over the cells that both decided.

        Then, where `mode` ran out of time, with what it had taken until then: it would have taken longer.
        """
        mine = {(r.section, r.what): r for r in self.of(against, section) if r.decided}
        pairs = [(r, mine[r.section, r.what]) for r in self.of(mode, section) if (r.section, r.what) in mine]
        both = [(a.median / max(b.median, 1e-6)) for a, b in pairs if a.decided]
        late = [(a.median / max(b.median, 1e-6)) for a, b in pairs if a.basis == "time"]
        alone = sum(r.decided and (r.section, r.what) not in mine for r in self.of(mode, section))
        if not pairs:
            return
        text = f"{len(pairs) - len(both)} cells that only {against} decided, {alone} that only {mode} did"
        if both:
            text = (
                f"median {median(both):.2f} ({min(both):.2f} to {max(both):.1f}) over {len(both)} cells that both "
                f"decided; {text}"
            )
        if late:
            text += f"; at least {median(both + late):.2f} with {len(late)} for which {mode} had too little time"
        self.say(f"**{mode} / {against}**: {text}")

    def finish(self) -> int:
        """The end of the output; status 1 where a verdict is wrong or a run crashed."""
        bad = [r for r in self.rows if r.problem]
        if bad:
            self.say("## Wrong, crashed, undecided")
            for r in bad:
                more = f" --timeout {self.timeout:g}" if self.timeout is not None else ""
                more += " --quick" if self.quick else ""
                print(f"\n{r.problem}: {r.section}: {r.what}, {r.mode}: {r.verdict} {r.basis} {r.note}")
                what = f"{r.section}: {r.what}$".replace("'", "'\\''")
                more += f" --modes {r.mode} --only '{what}'"
                print(f"    python -m experiments.benchmarks {self.name} --repeat 1{more}")
        wrong, crashed = (sum(r.problem == p for r in bad) for p in ("WRONG", "crash"))
        self.say(
            f"{len(self.rows)} rows, {wrong} wrong, {crashed} crashed, {len(bad) - wrong - crashed} undecided; "
            f"peak RSS {peak_mb():.0f} MB of this process, {peak_children_mb():.0f} MB of its largest child"
        )
        if self.csv is not None:
            self._write(self.csv)
        return 1 if wrong or crashed else 0

    def _write(self, path: Path) -> None:
        with path.open("w", newline="", encoding="utf-8") as file:
            for line in header():
                file.write(f"# {line}\n")
            out = csv.writer(file)
            out.writerow(COLUMNS)
            for r in self.rows:
                runs = " ".join(f"{s:.5f}" for s in r.seconds)
                figures = (f"{r.median:.5f}", f"{r.build:.5f}", f"{r.checked:.5f}", f"{r.wrote:.5f}", r.size)
                figures += (runs, r.passes, r.nodes, r.pieces)
                start = (r.section, r.what, r.mode, r.expected, r.verdict, r.basis)
                out.writerow([*start, *figures, f"{r.mb:.1f}", r.problem, r.note])
