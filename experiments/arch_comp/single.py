"""One instance in a process of its own: the last line printed is its row as JSON."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from experiments.arch_comp.__main__ import INSTANCES, digest
from experiments.arch_comp.loop import Instance
from venmas import verify
from venmas.checker.file import check_certificate
from venmas.errors import InputError
from venmas.nn import load_network

_HERE = {"milp.isolated": "off"}
"""Programs are solved in the process of the instance."""
_RESULTS = {"satisfied": "VERIFIED", "violated": "FALSIFIED", "unknown": "UNKNOWN"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("instance", choices=[instance.label for instance in INSTANCES])
    parser.add_argument("network", type=Path)
    parser.add_argument("timeout", type=float)
    parser.add_argument("--certify", type=Path)
    options = parser.parse_args()
    instance = next(found for found in INSTANCES if found.label == options.instance)
    print(json.dumps(row(instance, options.network, options.timeout, options.certify)))


def row(instance: Instance, file: Path, timeout: float, certify: Path | None = None) -> dict[str, str]:
    """What became of an instance, with all but the time of the whole."""
    begun = time.process_time()
    system = instance.build(load_network(file))
    certificate = None if certify is None else certify / f"{instance.label}.jsonl.gz"
    report = verify(
        system, instance.asked, timeout=timeout, certificate=certificate, tune={"milp.isolated": "off"}, workers=1
    )
    result, reason = _RESULTS[report.verdict], report.reason
    if result == "FALSIFIED" and instance.sampled:
        # more was asked than the question says: a violation has to be one at samples
        report = verify(system, instance.sampled, timeout=timeout, tune=_HERE, workers=1)
        if report.verdict != "violated":
            result, reason = "UNKNOWN", "violated only in a stronger form"
    found = {
        "result": result,
        "network": file.name,
        "sha256": digest(file),
        "reason": reason,
        "boxes": "; ".join(f"{t.name} {name} {value}" for t in report.procedures for name, value in t.figures.items()),
        "cpu": f"{time.process_time() - begun:.2f}",
        "certificate_bytes": "",
        "check_seconds": "",
        "check_cpu": "",
        "check": "" if certificate is None or result != "VERIFIED" else "not written: " + "; ".join(report.notes),
    }
    if certificate is not None and certificate.exists():
        wall, cpu = time.perf_counter(), time.process_time()
        try:
            checked = str(check_certificate(certificate, system))
        except InputError as error:
            checked = f"refused: {error}"
        found |= {
            "certificate_bytes": str(certificate.stat().st_size),
            "check_seconds": f"{time.perf_counter() - wall:.2f}",
            "check_cpu": f"{time.process_time() - cpu:.2f}",
            "check": checked,
        }
    return found


if __name__ == "__main__":
    main()
