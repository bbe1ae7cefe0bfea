"""``python -m experiments.policies.selection [--only TEXT] [--variants V] [--seeds N] [--timeout S] [--out FOLDER]``.

Table 1 of Vinzent, Wu, Wu, Hoffmann (policy-specific abstraction predicate selection): 18 instances, seven variants,
ten seeds of ties, witnesses and concretisations: mean and deviation of CPU seconds, iterations, those by the policy,
predicates, and those that it added, beside the published ones. A run that is not in time counts as twice the limit, as
in the paper. The least mean of a row is marked with *, in both. Instances are those of `as_published`. Results are
kept in ``selection.db`` of the folder, and the same command goes on where it was stopped. Exit status 1 where two
verdicts contradict each other.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from experiments.policies.aaai2023 import AS_PUBLISHED
from experiments.policies.as_published import instances
from experiments.policies.cells import Cell, Cells
from experiments.policies.output import Output
from experiments.policies.published import SELECTING, selected

VARIANTS: dict[str, dict[str, Any]] = {
    "Vea w": {"refine": "ws"},
    "Vea mid": {"refine": "ws", "split": "mid"},
    "BsVerix w": {"refine": "verix"},
    "BsVerix mid": {"refine": "verix", "split": "mid"},
    "BsVerix eps": {"refine": "verix", "split": "eps"},
    "sens mid": {"refine": "sens", "split": "mid"},
    "Rand": {"refine": "random", "split": "random"},
}
FIGURES = ("iterations", "by policy", "predicates", "predicates by policy")
assert tuple(VARIANTS) == SELECTING


def main(arguments: list[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m experiments.policies.selection", description=__doc__)
    parser.add_argument("--only", nargs="+", default=[""], metavar="TEXT", help="instances with a TEXT in their name")
    parser.add_argument("--variants", nargs="+", choices=SELECTING, default=SELECTING)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds of each run; the paper's: 43200")
    parser.add_argument("--out", type=Path, default=Path("results/policies"))
    args = parser.parse_args(arguments)
    theirs = selected()
    chosen = [i for i in instances() if i.row in theirs and any(text in i.name for text in args.only)]
    if not chosen:
        print(f"no instance has a name with {' or '.join(args.only)}: they are like 4 Blocks awa 16")
        return 2
    contradictions, output = 0, Output(args.out, "selection")
    beside = [name for figure in FIGURES for name in (figure, "published")]
    with Cells(args.out / "selection.db") as cells:
        output.head("instance", "variant", "verdict", "late", "s", "+-", "published", "+-", *beside)
        for instance in chosen:
            row, lines, verdicts = theirs[instance.row], dict[str, tuple[Any, ...]](), set[str]()
            for name in args.variants:
                options = {**AS_PUBLISHED, "concretise": "random", **VARIANTS[name]}
                runs = [
                    cells.decide(Cell(instance, {**options, "seed": seed}, args.timeout))
                    for seed in range(1, args.seeds + 1)
                ]
                verdicts |= {run["verdict"] for run in runs}
                late = [run["verdict"] == "unknown" for run in runs]
                clock = [2 * args.timeout if over else run["CPU"] for run, over in zip(runs, late, strict=True)]
                figures = [mean(float(run[figure] or 0) for run in runs) for figure in FIGURES]
                said = ", ".join(sorted({run["verdict"] for run in runs}))
                lines[name] = (said, sum(late), mean(clock), stdev(clock) if len(clock) > 1 else 0.0, figures)
            best = min((line[2] for line in lines.values() if line[1] < args.seeds), default=None)
            means = {name: float(row[f"{name} mean"]) for name in SELECTING if row[f"{name} mean"] not in ("", "lost")}
            for name, (said, late, clock, spread, figures) in lines.items():
                marks = "*" if clock == best else "", "*" if means.get(name) == min(means.values(), default=-1) else ""
                published = [row.get(f"{figure.replace(' ', '_')} {name}", "") for figure in FIGURES]
                pairs = [c for own, other in zip(figures, published, strict=True) for c in (f"{own:.3g}", other)]
                told = (f"{clock:.3g}{marks[0]}", f"{spread:.2g}", f"{row[f'{name} mean'] or '-'}{marks[1]}")
                output.row(instance.name, name, said, late, *told, row[f"{name} deviation"], *pairs)
            contradictions += verdicts >= {"satisfied", "violated"}
    output.end()
    return int(contradictions > 0)


if __name__ == "__main__":
    raise SystemExit(main())
