"""The command of an experiment: options, the run, the files, the exit status."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from experiments.benchmarks.machine import header
from experiments.papers import figure
from experiments.papers.cell import FIGURE6, Cell, How
from experiments.papers.known import Expected
from experiments.papers.run import FORM, KIND, run
from experiments.papers.table import Claim, Row, rows_of, to_csv, to_markdown
from venmas.engine import modes
from venmas.engine.store import Store
from venmas.errors import InputError, UsageError, install

MODES = (*modes.of_bounded(), FIGURE6)
STATUS = """Exit status: 0 every verdict is as expected, 1 one differs without a reason, 2 bad input, 20 interrupted or
undecided cells. Finished cells are kept in the store (--store); the same command goes on where it stopped."""


@dataclass(frozen=True)
class Choice:
    """What the options leave of a table: steps, initial climb rates and modes; None: all of its own."""

    quick: bool
    k: tuple[int, ...] | None
    climb: tuple[str, ...] | None
    modes: tuple[str, ...] | None

    def steps(self, quick: tuple[int, ...]) -> tuple[int, ...]:
        return self.k or (quick if self.quick else tuple(range(1, 11)))

    def climbs(self, full: Sequence[float], quick: tuple[str, ...]) -> tuple[str, ...]:
        """In the form in which `expected.json` has them."""
        known = tuple(f"{c:g}" for c in full)
        for climb in self.climb or ():
            if climb not in known:
                raise UsageError(f"--climb {climb}: not a climb rate of this table; choose of {', '.join(known)}")
        return self.climb or (quick if self.quick else known)


@dataclass(frozen=True)
class Table:
    """A table of a publication: its title, its cells, and what the publication says of them (by ``row, k``)."""

    title: str
    cells: Callable[[Choice], list[Cell]]
    claims: Mapping[str, Claim] = field(default_factory=dict)
    modes: tuple[str, ...] = ("mono", "comp-par", "comp-seq")


def main(name: str, about: str, tables: Mapping[str, Table], arguments: Sequence[str] | None = None) -> int:
    """Run an experiment; `arguments` in place of the command line."""
    args = _parser(name, about, tables).parse_args(arguments)
    try:
        return _experiment(name, tables, args)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def _parser(name: str, about: str, tables: Mapping[str, Table]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"python -m experiments.{name}", description=about, epilog=STATUS)
    # no `choices`: argparse checks the empty list against them
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=f"{' or '.join(tables)}; all where none is given")
    parser.add_argument("--networks", type=Path, metavar="DIR", help="other networks: DIR, or DIR/<scenario> in it")
    parser.add_argument("--quick", action="store_true", help="a part of the cells, in a few minutes")
    parser.add_argument("--k", type=int, nargs="+", choices=range(1, 11), metavar="K", help="only these steps")
    parser.add_argument("--climb", nargs="+", metavar="V", help="only these initial climb rates (VerticalCAS), ft/s")
    parser.add_argument("--modes", nargs="+", choices=MODES, help="modes to compare")
    parser.add_argument(
        "--solver",
        default="auto",
        choices=("auto", "gurobi", "highs", "scip"),
        help="auto: Gurobi where it is licensed; the tables say which solver each cell had",
    )
    parser.add_argument("--trust", default="solver", choices=("auto", "exact", "solver"), help="as of venmas verify")
    parser.add_argument(
        "--timeout", type=float, default=3600.0, metavar="S", help="per cell (default: 3600, as the paper)"
    )
    parser.add_argument("--workers", type=int, metavar="N", help="of comp-par and adaptive (default: all cores)")
    parser.add_argument("--out", type=Path, metavar="DIR", help=f"folder of the files (default: results/{name})")
    parser.add_argument(
        "--store", type=Path, metavar="FILE", help="where finished cells are kept (default: DIR/cells.db)"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress on stderr")
    return parser


def _experiment(name: str, tables: Mapping[str, Table], args: argparse.Namespace) -> int:
    _check(args, tables)
    how = How(args.networks, args.solver, args.trust, args.timeout, args.workers)
    choice = Choice(args.quick, args.k and tuple(args.k), args.climb and tuple(args.climb), args.modes)
    chosen = {n: t for n, t in tables.items() if not args.tables or n in args.tables}
    cells = {n: t.cells(choice) for n, t in chosen.items()}
    out = args.out or Path("results") / name
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--out: cannot make the folder {str(out)!r} ({error.strerror}): give another") from error
    every = [c for some in cells.values() for c in some]
    with Store(args.store or out / "cells.db", KIND, FORM) as store:
        answers, interrupted = run(every, how, store, not args.quiet)
    expected = Expected(how)
    rows: list[Row] = []
    for n, table in chosen.items():
        some = rows_of(cells[n], answers, expected, table.claims)
        rows += some
        _write(out / n, table.title, some, how, expected)
    return _end(rows, interrupted)


def _check(args: argparse.Namespace, tables: Mapping[str, Table]) -> None:
    for name in args.tables:
        if name not in tables:
            raise UsageError(f"there is no table {name!r}: choose of {', '.join(tables)}")
    if not 0 < args.timeout < math.inf:
        raise UsageError(f"--timeout {args.timeout:g}: give a number of seconds above 0")
    if args.workers is not None and args.workers < 1:
        raise UsageError(f"--workers {args.workers}: give 1 or more")
    if args.networks is not None and not args.networks.is_dir():
        raise UsageError(f"--networks: there is no folder {str(args.networks)!r}: give the one that holds the networks")


def _write(path: Path, title: str, rows: Sequence[Row], how: How, expected: Expected) -> None:
    networks = ", ".join(dict.fromkeys(f"{r.cell.scenario}: {r.networks} networks" for r in rows))
    machines = dict.fromkeys(str(r.answer["machine"]) for r in rows if r.answer)
    limit = f"solver {how.solver}, trust {how.trust}, at most {how.timeout:g} s a cell"
    about = [f"{networks}; {limit}.", "", *(f"Measured on {m}." for m in machines), "", f"{header()[1]}."]
    markdown = to_markdown(title, rows, about)
    written = []
    for suffix, text in ((".csv", to_csv(rows)), (".md", markdown)):
        path.with_suffix(suffix).write_text(text, encoding="utf-8")
        written.append(path.with_suffix(suffix))
    try:
        written += figure.save(figure.draw(title, rows, how.timeout), path)
    except ImportError:
        print(f"no figure: it needs matplotlib ({install('plot')}); then run this again", file=sys.stderr)
    print(markdown)
    print(f"written: {', '.join(map(str, written))}\n")


def _end(rows: Sequence[Row], interrupted: bool) -> int:
    wrong = [r for r in rows if r.unexplained]
    open_ = [r for r in rows if r.verdict in ("", "unknown")]
    for r in wrong:
        print(f"{r.cell.name}: {r.verdict}. {r.difference}", file=sys.stderr)
    if interrupted:
        print(f"interrupted: {len(open_)} of {len(rows)} cells are open; the same command goes on", file=sys.stderr)
    return 1 if wrong else 20 if open_ or interrupted else 0
