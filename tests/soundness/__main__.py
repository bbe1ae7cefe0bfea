"""``python -m tests.soundness cases|peers|boundary|cost|circuits|ltl-systems|ltl-reals|smooth-..``: tables.

Status 1 on a wrong verdict.

cases: the 18 published cases in every mode, solver and encoding, proved and merely trusted. peers: the same as plain
big-M programs and in Marabou. boundary: questions beside exactly known decision boundaries. cost: what proofs cost.
circuits: random small circuits, LTL for ever against explicit search. ltl-systems: random systems of integers, LTL
for ever against all short lassos. ltl-reals: the same with integers made real, against those of integers.
smooth-rules: every rule of smooth parts, by engine and checker, over ``--count`` boxes each against Arb (a tenth as
many flows, networks and graphs). smooth-mutants: each constant of these rules spoilt, which the same has to notice.
smooth-systems: random smooth systems against dense sampling. smooth-certificates: mutants of certificates. These go
on where ``--first`` says.
"""

from __future__ import annotations

import argparse
import logging
import os
import platform
import sys
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

from tests.procedures.forever_ltl.real_copies import real_copies
from tests.soundness import plain
from tests.soundness.boundary import boundary
from tests.soundness.cases import Asked, Case, ask, ask_all, read_cases
from tests.soundness.circuits import circuits
from tests.soundness.cost import cost
from tests.soundness.ltl_systems import ltl_systems
from tests.soundness.smooth.certificates import smooth_certificates
from tests.soundness.smooth.mutants import mutants
from tests.soundness.smooth.tables import rules_table, smooth_systems
from venmas.logic.linear import Relation
from venmas.nn import load_network

DATA = Path(os.environ.get("VENMAS_DATA", Path(__file__).resolve().parents[2].parent / "shared" / "data"))


def cases(_: argparse.Namespace) -> int:
    """The 18 cases with ``trust=exact`` (all must be right) and, for the record, with ``trust=solver``."""
    found = read_cases(DATA)
    alone = [ask(case, "exact") for case in found]
    print("| case | truth | mode exact | s | certificate, bytes | what HiGHS, Gurobi, SCIP said alone |")
    print("|---|---|---|---|---|---|")
    trusted = list(ask_all(found, "solver", ["comp-seq"]))
    for a in alone:
        size = a.report.certificate.size if a.report.certificate else "-"
        said = [_mark(t) for t in trusted if t.case is a.case and t.encoding == "big-m"]
        seconds = f"{a.report.seconds.total:.3f}"
        print(f"| {a.case.name} | {a.case.truth} | {_mark(a)} | {seconds} | {size} | {', '.join(said)} |")
    print("\nright / unknown / wrong:\n\n| mode | solver | encoding | trust=exact | trust=solver |")
    print("|---|---|---|---|---|", flush=True)
    exact, solver = (_counted(list(ask_all(found, trust))) for trust in ("exact", "solver"))
    for key, counts in exact.items():
        both = [" / ".join(str(c[m]) for m in ("right", "unknown", "wrong")) for c in (counts, solver[key])]
        print(f"| {' | '.join(key)} | {both[0]} | {both[1]} |")
    bad = [a for a in alone if a.problem]
    for a in bad:
        print(f"\n{a.case.name}: {a.problem}")
    return 1 if bad or any(c["right"] < len(found) for c in exact.values()) else 0


def _mark(asked: Asked) -> str:
    return "right" if not asked.problem else "unknown" if asked.unknown else "wrong"


def _counted(asked: list[Asked]) -> dict[tuple[str, str, str], Counter[str]]:
    found: dict[tuple[str, str, str], Counter[str]] = {}
    for a in asked:
        found.setdefault((a.mode, a.solver, a.encoding), Counter())[_mark(a)] += 1
    return found


def peers(_: argparse.Namespace) -> int:
    """The 18 cases as plain big-M programs at default settings, in Marabou, and in mode exact."""
    ways: dict[str, Callable[[Case], float | str]] = {
        **{name: lambda case, solve=solve: solve(plain.big_m(case)) for name, solve in plain.SOLVERS.items()},
        "Marabou": plain.marabou,
    }
    print(f"| case | truth | {' | '.join(ways)} | venmas exact |")
    print(f"|---|---|{'---|' * len(ways)}---|")
    totals = {name: Counter[str]() for name in [*ways, "venmas exact"]}
    for case in read_cases(DATA):
        marks = []
        for name, solve in ways.items():
            mark, text = judged(case, solve(case))
            totals[name][mark] += 1
            marks.append(text)
        own = _mark(ask(case, "exact"))
        totals["venmas exact"][own] += 1
        print(f"| {case.name} | {case.truth} | {' | '.join(marks)} | {own} |", flush=True)
    for mark in ("right", "wrong", "unknown", "no point"):
        print(f"| **{mark}** | | {' | '.join(str(c[mark]) for c in totals.values())} |")
    print("\nno point: violated, rightly, but the point does not violate. *: a strict case asked with >=.")
    return 1 if totals["venmas exact"]["right"] < 18 else 0


def judged(case: Case, answer: float | str) -> tuple[str, str]:
    """Right, wrong, unknown or no point, and how to show it."""
    if isinstance(answer, str) and answer != "infeasible":
        return "unknown", f"unknown ({answer})"
    said = "satisfied" if answer == "infeasible" else "violated"
    if said != case.truth:
        return "wrong", f"**{said}**{'*' if case.strict else ''}"
    if isinstance(answer, float):
        y = load_network(case.folder / f"{case.name}.onnx").evaluate_exact([Fraction(answer)])
        atom = sum((Fraction(c) * v for c, v in zip(case.c, y, strict=True)), Fraction(case.d))
        unsafe = Relation.GT if case.strict else Relation.GE
        if not (case.low <= answer <= case.high and unsafe.holds(atom)):
            return "no point", f"no point ({answer:.9g})"
    return "right", "right"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soundness", description=__doc__)
    tables = {"cases": cases, "peers": peers, "boundary": _boundary, "cost": _cost, "circuits": _circuits}
    tables["ltl-systems"] = _ltl_systems
    tables |= {"ltl-reals": _ltl_reals, "ctl-reals": _ctl_reals}
    tables |= {"smooth-rules": _smooth_rules, "smooth-mutants": _smooth_mutants}
    tables |= {"smooth-systems": _smooth_systems, "smooth-certificates": _smooth_certificates}
    parser.add_argument("table", choices=tables)
    parser.add_argument("--quick", action="store_true", help="boundary, cost, circuits: a part, in a minute")
    parser.add_argument("--count", type=int, default=3000, help="circuits, ltl-systems: how many")
    parser.add_argument("--first", type=int, default=0, help="smooth-..: the first seed, of another part of the cases")
    parser.add_argument("--only", default="", help="smooth-rules, smooth-mutants: those whose name has this part")
    args = parser.parse_args()
    if args.table in ("cases", "peers", "boundary", "cost") and not DATA.is_dir():
        print(f"the published data is not at {DATA}: set VENMAS_DATA", file=sys.stderr)
        return 2
    logging.disable(logging.WARNING)  # that a solver failed shows in the table
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}\n")
    return tables[args.table](args)


def _boundary(args: argparse.Namespace) -> int:
    return boundary(DATA, args.quick)


def _cost(args: argparse.Namespace) -> int:
    return cost(DATA, args.quick)


def _ltl_reals(args: argparse.Namespace) -> int:
    return real_copies(30 if args.quick else args.count, args.first)


def _ctl_reals(args: argparse.Namespace) -> int:
    return real_copies(30 if args.quick else args.count, args.first, branching=True)


def _ltl_systems(args: argparse.Namespace) -> int:
    return ltl_systems(60 if args.quick else args.count)


def _smooth_rules(args: argparse.Namespace) -> int:
    return rules_table(400 if args.quick else args.count, args.first, args.only)


def _smooth_mutants(args: argparse.Namespace) -> int:
    return mutants(args.count, args.only)


def _smooth_systems(args: argparse.Namespace) -> int:
    return smooth_systems(60 if args.quick else args.count, args.first)


def _smooth_certificates(args: argparse.Namespace) -> int:
    return smooth_certificates(100 if args.quick else args.count, args.first)


def _circuits(args: argparse.Namespace) -> int:
    return circuits(60 if args.quick else args.count)


if __name__ == "__main__":
    raise SystemExit(main())
