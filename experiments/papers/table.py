"""Answers beside what is expected: rows, differences with their reasons, CSV and Markdown."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.papers.cell import Cell
from experiments.papers.known import Expected, Known

COLUMNS: tuple[str, ...] = (
    *("table", "row", "k", "mode", "formula", "verdict", "seconds"),
    *("expected", "expected_from", "published", "difference", "basis"),
    *("created", "discarded", "solved", "variables", "binaries", "constraints", "mb"),
    *("solver", "machine", "finished"),
)
SIGNS = {"satisfied": "✓", "violated": "✗", "unknown": "?", "": " "}
LEGEND = "Seconds of each cell; ✓ satisfied, ✗ violated, ? unknown, – not decided yet; **bold**: see what differs."


@dataclass(frozen=True)
class Claim:
    """What a publication says of some cells."""

    verdict: str
    source: str


@dataclass(frozen=True)
class Row:
    """A cell with its answer (None: not decided yet) and what is expected of it.

    contradicted: another mode says the opposite of the same question.
    """

    cell: Cell
    answer: Mapping[str, Any] | None
    known: Known
    claim: Claim | None
    networks: str
    contradicted: bool = False

    @property
    def verdict(self) -> str:
        return "" if self.answer is None else str(self.answer["result"]["verdict"])

    @property
    def seconds(self) -> float:
        return 0.0 if self.answer is None else float(self.answer["result"]["seconds"]["total"])

    @property
    def wrong(self) -> bool:
        """Does the verdict contradict the check, or where that cannot tell another mode, which is a mistake of one?"""
        if self.verdict not in ("satisfied", "violated"):
            return False
        return self.known.verdict != self.verdict if self.known.verdict else self.contradicted

    @property
    def unexplained(self) -> bool:
        return self.wrong or self.difference.startswith("UNEXPLAINED")

    @property
    def difference(self) -> str:
        """Why the verdict is not that of the check, or not the published one; empty where it is both."""
        if self.answer is None:
            return ""
        if self.verdict == "unknown":
            return f"undecided ({self.answer['result']['reason']}): {self.answer['result']['message']}"
        if self.wrong and not self.known.verdict:
            return "MISTAKE of the verifier: its modes contradict each other"
        if self.wrong:
            return f"MISTAKE of the verifier or of the check, which says {self.known.verdict}: {self.known.why}"
        if self.claim is not None and self.claim.verdict != self.verdict:
            if self.networks == "published":
                return f"UNEXPLAINED: {self.claim.source} says {self.claim.verdict}; the check: {self.known.why}"
            networks = {"bundled": "the bundled networks are"}.get(self.networks, "these networks are")
            return f"{networks} not those of {self.claim.source} ({self.claim.verdict}): {self.known.why}"
        return ""

    def values(self) -> dict[str, object]:
        """By the names of `COLUMNS`."""
        found: dict[str, object] = {name: getattr(self.cell, name) for name in ("table", "row", "k", "mode", "formula")}
        found |= {"verdict": self.verdict, "expected": self.known.verdict, "expected_from": self.known.why}
        found |= {"published": self.claim.verdict if self.claim else "", "difference": self.difference}
        if self.answer is not None:
            result = self.answer["result"]
            found |= {"seconds": f"{self.seconds:.4f}", "basis": result["basis"], "mb": result["peak_rss_mb"]}
            found |= {n: result["subproblems"][n] for n in ("created", "discarded", "solved")}
            found |= {n: result["largest_program"][n] for n in ("variables", "binaries", "constraints")}
            found["solver"] = " ".join(f"{s['name']} {s['version']}" for s in result["solver"])
            found |= {n: self.answer[n] for n in ("machine", "finished")}
        return found

    def sign(self) -> str:
        """A cell of the Markdown table."""
        if self.answer is None:
            return "–"
        text = f"{self.seconds:.2f} {SIGNS[self.verdict]}"
        return f"**{text}**" if self.difference else text


def rows_of(
    cells: Sequence[Cell], answers: Mapping[Cell, Mapping[str, Any]], expected: Expected, claims: Mapping[str, Claim]
) -> list[Row]:
    """claims: by ``row, k``."""
    said: dict[object, set[str]] = {}
    for cell, answer in answers.items():
        said.setdefault(_question(cell), set()).add(str(answer["result"]["verdict"]))
    return [
        Row(
            c,
            answers.get(c),
            expected.known(c),
            claims.get(f"{c.row}, {c.k}"),
            expected.name(c.scenario),
            said.get(_question(c), set()) >= {"satisfied", "violated"},
        )
        for c in cells
    ]


def _question(cell: Cell) -> object:
    return cell.scenario, cell.settings, cell.formula


def to_csv(rows: Sequence[Row]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(row.values() for row in rows)
    return out.getvalue()


def to_markdown(title: str, rows: Sequence[Row], about: Sequence[str]) -> str:
    """One line a row and mode, one column a k; then sums, differences, where and with what."""
    steps = list(dict.fromkeys(r.cell.k for r in rows))
    modes = list(dict.fromkeys(r.cell.mode for r in rows))
    by = {(r.cell.row, r.cell.mode, r.cell.k): r for r in rows}
    lines = [f"# {title}", "", LEGEND, ""]
    lines += ["| | mode | " + " | ".join(f"k = {k}" for k in steps) + " |", "|---|---|" + "---:|" * len(steps)]
    for name in dict.fromkeys(r.cell.row for r in rows):
        for mode in modes:
            found = [by.get((name, mode, k)) for k in steps]
            lines.append(f"| {name} | {mode} | " + " | ".join("" if r is None else r.sign() for r in found) + " |")
    lines += [
        "",
        "| mode | cells | satisfied | violated | unknown | not decided yet | seconds together | longest | solvers |",
    ]
    lines.append("|---|" + "---:|" * 7 + "---|")
    for mode in modes:
        some = [r for r in rows if r.cell.mode == mode]
        counts = [sum(r.verdict == v for r in some) for v in ("satisfied", "violated", "unknown", "")]
        times = [r.seconds for r in some]
        lines.append(
            f"| {mode} | {len(some)} | {' | '.join(map(str, counts))} | {sum(times):.2f} | {max(times):.2f} | "
            f"{_solvers(some)} |"
        )
    return "\n".join([*lines, "", *_comparison(rows), "", *about, ""])


def _solvers(rows: Sequence[Row]) -> str:
    """Of how many cells which solvers solved programs; each cell has its own in the file ``.csv``."""
    named = [" and ".join(s["name"] for s in r.answer["result"]["solver"]) or "none" for r in rows if r.answer]
    return ", ".join(f"{name}: {count}" for name, count in Counter(named).items())


def _comparison(rows: Sequence[Row]) -> list[str]:
    decided = [r for r in rows if r.verdict in ("satisfied", "violated")]
    checked = [r for r in decided if r.known.verdict]
    claimed = [r for r in decided if r.claim]
    agree = sum(r.claim is not None and r.claim.verdict == r.verdict for r in claimed)
    right = len(checked) - sum(r.wrong for r in checked)
    lines = [f"Verdicts: {len(decided)}. Told by the check: {len(checked)}, of which {right} agree with it."]
    if claimed:
        lines[0] += f" Published: {len(claimed)}, of which {agree} agree with that."
    different: dict[tuple[str, str, str, str], list[str]] = {}
    for r in rows:
        if r.difference:
            different.setdefault((r.cell.row, r.cell.k, r.verdict, r.difference), []).append(r.cell.mode)
    if different:
        lines += ["", "| differs | k | verdict | modes | reason |", "|---|---|---|---|---|"]
        for (row, k, verdict, reason), modes in different.items():
            lines.append(f"| {row} | {k} | {verdict} | {', '.join(modes)} | {reason.replace('|', '/')} |")
    return lines
