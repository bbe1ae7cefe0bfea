"""One hundred formulas over VerticalCAS in one command, in a hundred, in one process: CPU seconds and verdicts.

``python -m experiments.benchmarks.several`` takes some three minutes of one core.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from venmas import load_scenario, verify

KINDS = (
    "AX^{} safe",
    "AG^{} (h > 90 | h < -90)",
    "EF^{} (h > 20)",
    "AG^{} (climb > -40)",
    "AF^{} (adv == 5)",
    "EX^{} (climb > 0)",
    "A((h < 0) U^{} (climb > -15))",
    "EG^{} (adv == 1)",
    "AX^{} (h < -100)",
    "AG^{} (h < -129 -> h > -600)",
)
FORMULAS = [kind.format(k) for k in range(1, 11) for kind in KINDS]


def command(*args: str) -> float:
    """CPU seconds of a command, those of its workers included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, "-m", "venmas", "--scenario", "vcas", *args], capture_output=True, text=True)
    if done.returncode not in (0, 10, 20):
        raise SystemExit(done.stderr)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Measure, compare, print."""
    with tempfile.TemporaryDirectory() as folder:
        listed, out = Path(folder, "formulas.txt"), Path(folder, "out.json")
        listed.write_text("\n".join(FORMULAS))
        together = command("--formulas", str(listed), "--json", str(out))
        rows = json.loads(out.read_text())["results"]
        alone, verdicts = 0.0, []
        for formula in FORMULAS:
            alone += command("--formula", formula, "--json", str(out))
            verdicts.append(json.loads(out.read_text())["verdict"])
    assert [row["formula"] for row in rows] == FORMULAS
    assert [row["verdict"] for row in rows] == verdicts
    begun = time.process_time()
    for formula in FORMULAS:
        verify(load_scenario("vcas").system(), formula)
    print({verdict: verdicts.count(verdict) for verdict in sorted(set(verdicts))})
    print(f"one command {together:.1f} s, one hundred {alone:.1f} s: {alone / together:.1f} times as long")
    print(f"one process, a system a formula: {time.process_time() - begun:.1f} s")


if __name__ == "__main__":
    main()
