"""``python -m experiments.published vcas|frozenlake|double-integrator [--quick]``: one table per system, in Markdown.

Every verdict is compared with a check that does not use the verifier; a difference ends the run with status 1.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from experiments.published.checks import frozen_lake, least_separation
from tests.data_readers import read_reachsdp_mat
from venmas import Report, load_network, load_scenario, verify
from venmas.engine import modes
from venmas.logic import evaluate, parse
from venmas.model import NetworkFolder, System
from venmas.nn import Network, Normalization

DATA = Path(os.environ.get("VENMAS_DATA", Path(__file__).resolve().parents[2].parent / "shared" / "data"))
MODES = modes.of_bounded()
CLIMBS = [*(str(Fraction("-19.5") - 3 * k) for k in range(9)), "-39", "-39.5", "-40", "-40.5"]
NFL = "double_integrator/nfl"


@dataclass
class Row:
    """One verdict beside what is expected of it."""

    what: str
    mode: str
    expected: str
    report: Report

    def markdown(self) -> str:
        r = self.report
        size, counts = r.largest_program, r.subproblems
        wrong = "" if r.verdict == self.expected else " **differs**"
        return (
            f"| {self.what} | {self.mode} | {r.verdict}{wrong} | {r.basis or '-'} | {r.seconds.total:.2f} | "
            f"{counts.created} / {counts.discarded} | {size.variables} / {size.binaries} / {size.constraints} | "
            f"{r.peak_rss_mb:.0f} |"
        )


def decide(system: System, formula: str, what: str, expected: str, args: argparse.Namespace) -> Iterator[Row]:
    for mode in args.modes:
        report = verify(system, formula, mode=mode, solver=args.solver, timeout=args.timeout, trust=args.trust)
        yield Row(what, mode, expected, report)


def vcas(args: argparse.Namespace) -> Iterator[Row]:
    folder = DATA / "vcas"
    networks = [load_network(folder / f"VertCAS_noResp_pra0{i}_v9_20HU_200.onnx") for i in range(1, 10)]
    for climb in args.climb or (["-19.5", "-22.5"] if args.quick else CLIMBS):
        system = load_scenario("vcas").system(folder, climb0=climb, weights=args.weights)
        steps = 5 if args.quick else args.steps
        for k, least in enumerate(least_separation(networks, float(Fraction(climb)), steps), 1):
            expected = "satisfied" if least > 100 else "violated"
            what = f"{float(Fraction(climb))}, k={k} (min {least:.2f})"
            yield from decide(system, f"AX^{k} (h > 100 | h < -100)", what, expected, args)


def frozenlake(args: argparse.Namespace) -> Iterator[Row]:
    folder = DATA / "frozenlake"
    model = frozen_lake(load_network(folder / "agent.h5"))
    system = load_scenario("frozenlake").system(folder)
    formulas = {f"{name}{k}": system.properties[f"{name}{k}"] for name in ("safe", "succ") for k in range(1, 11)}
    formulas |= {f"EF^{k} cell {i}": f"EF^{k} (cell[{i}] > 0.9)" for i in range(1, 10) for k in range(1, 7)}
    for what, formula in list(formulas.items())[:: 7 if args.quick else 1]:
        holds = 0 in evaluate(parse(formula, system.vocabulary), model)
        yield from decide(system, formula, what, "satisfied" if holds else "violated", args)


class _Single(NetworkFolder):
    """A folder of one network, which no reader of the product reads (a MATLAB file)."""

    def __init__(self, network: Network) -> None:
        super().__init__(".")
        self.network = network

    def load(self, *patterns: str, normalization: Normalization = "apply") -> Network:
        return self.network


def double_integrator(args: argparse.Namespace) -> Iterator[Row]:
    boxes = json.loads((DATA / "double_integrator" / "exact_reach_boxes.json").read_text())
    names = ["ReachSDP_nnmpc_di_1", *(n for n in boxes if n.startswith("nfl_"))]
    for name in names[: 2 if args.quick else args.controllers]:
        folder = NetworkFolder(DATA / NFL / name.removeprefix("nfl_"))
        if name.startswith("ReachSDP"):
            folder = _Single(read_reachsdp_mat(DATA / "double_integrator" / "nnmpc_nets_di_1.mat"))
        (a, b), (c, d) = boxes[name]["init"]
        system = load_scenario("double_integrator").system(folder, x1=f"{a}..{b}", x2=f"{c}..{d}")
        for step in boxes[name]["steps"]:
            faces = [(f"x[{i + 1}]", lo, hi) for i, (lo, hi) in enumerate(zip(step["lo"], step["hi"], strict=True))]
            grown = " & ".join(f"{x} >= {lo - 1e-4:.12f} & {x} <= {hi + 1e-4:.12f}" for x, lo, hi in faces)
            k = step["k"]
            yield from decide(system, f"AX^{k} ({grown})", f"{name} k={k} box + 1e-4", "satisfied", args)
            for x, lo, hi in faces:
                for face in (f"{x} >= {lo + 1e-3:.12f}", f"{x} <= {hi - 1e-3:.12f}"):
                    yield from decide(system, f"AX^{k} ({face})", f"{name} k={k} {face}", "violated", args)


def main() -> int:
    systems = {"vcas": vcas, "frozenlake": frozenlake, "double-integrator": double_integrator}
    parser = argparse.ArgumentParser(prog="python -m experiments.published", description=__doc__)
    parser.add_argument("system", choices=systems)
    parser.add_argument("--quick", action="store_true", help="a few cells, in a minute")
    parser.add_argument("--modes", nargs="+", default=modes.with_programs(), choices=MODES)
    parser.add_argument("--solver", default="highs")
    parser.add_argument("--trust", default="solver", choices=("auto", "exact", "solver"))
    parser.add_argument("--timeout", type=float, default=600, help="seconds per cell")
    parser.add_argument("--climb", nargs="+", help="vcas: climb rates (ft/s), default all")
    parser.add_argument("--steps", type=int, default=10, help="vcas: largest k")
    parser.add_argument("--weights", default="onnx", choices=("onnx", "h5", "nnet"), help="vcas: network files to read")
    parser.add_argument("--controllers", type=int, default=12, help="double integrator: how many controllers")
    args = parser.parse_args()
    if not DATA.is_dir():
        print(f"the published data is not at {DATA}: set VENMAS_DATA", file=sys.stderr)
        return 2
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}\n")
    print("| what | mode | verdict | basis | s | made / discarded | variables / binaries / constraints | MB |")
    print("|---|---|---|---|---|---|---|---|")
    rows = []
    for row in systems[args.system](args):
        rows.append(row)
        print(row.markdown(), flush=True)
    wrong = [r for r in rows if r.report.verdict != r.expected]
    print(f"\n{len(rows)} verdicts, {len(wrong)} differ from the check")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
