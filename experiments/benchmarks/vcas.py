"""The cells of the paper's Table 2 (AX^k safe, 12 climb rates, k = 1..10), then the whole encounter, k = 1..25."""

from __future__ import annotations

from fractions import Fraction
from functools import cache, partial

from experiments.benchmarks.ask import Built, Question
from experiments.benchmarks.bench import Bench
from experiments.benchmarks.machine import DATA, apart
from experiments.published.checks import least_separation
from venmas import load_network, load_scenario

CLIMBS = (*(float(Fraction("-19.5") - 3 * k) for k in range(9)), -39.0, -39.5, -40.0)
"""The paper's set of initial climb rates, ft/s (section 7.2)."""
STEPS = 25


def encounter(formula: str, climb0: object = -19.5, **parameters: object) -> Built:
    """The published networks in the loop, and a formula."""
    given = {name: str(value) for name, value in {"climb0": climb0, **parameters}.items()}
    return load_scenario("vcas").system(DATA / "vcas", **given), formula


@cache
def separation(climb: float, steps: int) -> list[float]:
    """Least |h| (ft) at each step over all pilots from a grid of altitudes: all states up to step 10, then a sample."""
    return apart(_separation, climb, steps)


def _separation(climb: float, steps: int) -> list[float]:
    networks = [load_network(DATA / "vcas" / f"VertCAS_noResp_pra0{i}_v9_20HU_200.onnx") for i in range(1, 10)]
    if steps <= 10:
        return least_separation(networks, climb, steps, points=41)
    return least_separation(networks, climb, steps, points=21, most=5_000)


def cells(climbs: tuple[float, ...], steps: tuple[int, ...]) -> list[Question]:
    found = []
    for climb in climbs:
        least = separation(climb, max(steps))
        for k in steps:
            expected = "satisfied" if least[k - 1] > 100 else "violated"
            if expected == "satisfied" and k > 10:
                expected = "satisfied?"
            name = f"climb {climb:g}, k = {k}"
            found.append(Question(name, partial(encounter, f"AX^{k} safe", climb), expected))
    return found


def run(bench: Bench) -> None:
    climbs = (-19.5, -22.5, -40.0, -43.5) if bench.quick else CLIMBS
    short = (1, 3, 7, 10) if bench.quick else tuple(range(1, 11))
    table = "Table 2: k = 1..10"
    bench.section(table)
    cells(climbs, short)  # what is expected is worked out before anything is measured
    for question in cells(climbs, short):
        bench.ask(question)
    bench.total(bench.of("adaptive", table), "adaptive, Table 2")

    whole = "The whole encounter: k = 1..25"
    bench.section(whole)
    for question in cells(climbs, (5, 15, 20, 25) if bench.quick else tuple(range(1, STEPS + 1))):
        bench.ask(question)
    bench.total(bench.of("adaptive", whole), "adaptive, k = 1..25")
    _growth(bench, whole if not bench.quick else "", climbs)

    for section, steps, limit in ((table, short, 60.0), (whole, (STEPS,), 10.0 if bench.quick else 60.0)):
        bench.section(section)
        bench.shown = ""
        for question in cells(climbs[:2] if bench.quick else climbs, steps):
            bench.ask(question, "mono", limit, trust="solver")
    for what, rows in {
        "k <= 10": bench.of("mono", table),
        "k = 25": bench.of("mono", whole),
    }.items():
        bench.total(rows, f"mono, {what}")
    bench.ratio("mono", "adaptive")


def _growth(bench: Bench, section: str, climbs: tuple[float, ...]) -> None:
    """Time and nodes at k = 25 against k = 10, for each climb rate."""
    rows = {r.what: r for r in bench.of("adaptive") if section in ("", r.section)}
    pairs = [(rows.get(f"climb {c:g}, k = 10"), rows.get(f"climb {c:g}, k = {STEPS}")) for c in climbs]
    found = [(a, b) for a, b in pairs if a and b]
    if found:
        times = sorted(b.median / a.median for a, b in found)
        nodes = sorted(b.nodes / max(a.nodes, 1) for a, b in found)
        bench.say(
            f"**growth from k = 10 to k = {STEPS}**: "
            f"time x {times[len(times) // 2]:.1f} ({times[0]:.1f} to {times[-1]:.1f}), "
            f"nodes x {nodes[len(nodes) // 2]:.1f} ({nodes[0]:.1f} to {nodes[-1]:.1f})"
        )
