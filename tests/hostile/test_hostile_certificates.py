"""Certificates that are made to cost time or memory: small ones of every kind, and what limits say when they are met.

``make hostile-certificates`` runs 200 large ones with the default limits.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from time import process_time

import pytest
from hostile_certificates import KINDS, RAW, certificate, form, proof
from hostile_runner import Runner

from tests.slow import some_slow

UNASKED = {"parameters", "nested origin", "a number"}
"""Kinds that are refused before there is a claim, a system to check it of: bad input, not a refused proof."""


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    made = Runner()
    yield made
    made.close()


def check(runner: Runner, folder: Path, data: bytes, *options: str):
    (folder / "c.gz").write_bytes(data)
    return runner.run(["check", f"{folder}/c.gz", *options], folder, 20, 1500)


@pytest.mark.parametrize("seed", some_slow(range(len(KINDS)), range(0, len(KINDS), 2)), ids=[*KINDS])
def test_hostile_certificates_are_refused_soon(seed: int, runner: Runner, tmp_path: Path) -> None:
    name, data = certificate(seed, size=300)
    done = check(runner, tmp_path, data)
    assert done.status == (2 if name in UNASKED else 30), done.stdout + done.stderr
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr and "internal" not in done.stderr
    assert done.cpu < 8 and done.megabytes < 400


@pytest.mark.parametrize("name", [name for name in RAW if not name.startswith("many")])
def test_lines_that_are_no_lines_of_a_proof(name: str, runner: Runner, tmp_path: Path) -> None:
    done = check(runner, tmp_path, RAW[name](Random(1)))
    assert done.status == (2 if name in UNASKED else 30), done.stdout + done.stderr
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr and "internal" not in done.stderr
    assert done.cpu < 8 and done.megabytes < 1000


def packed(lines: list[dict[str, object]]) -> bytes:
    return gzip.compress(b"\n".join(json.dumps(line).encode() for line in lines))


@pytest.mark.parametrize("kind", ["splits", "same_hashes", "same_line", "one_direction"])
def test_the_cost_of_rows_grows_with_the_file(kind: str) -> None:
    """Four times the lines take about four times as long; it was sixteen times and more."""
    from venmas.checker.file import check_claim, opened
    from venmas.errors import InputError
    from venmas.model import load_scenario

    system = load_scenario("vcas").system(climb0="-22.5..-18.7")

    def cost(size: int) -> float:
        lines = KINDS[kind](Random(5), size)
        if kind == "same_hashes":
            lines = [*proof(), *({"rule": "split", "form": ["1", "1", str(7 + i * (2**61 - 1))]} for i in range(size))]
        best = float("inf")
        for _ in range(3):
            begun = process_time()
            with pytest.raises(InputError, match="before its proof does"):
                check_claim(*opened(lines), system)
            best = min(best, process_time() - begun)
        return best

    assert cost(2000) < 8 * cost(500)


def test_a_limit_of_time_is_named(runner: Runner, tmp_path: Path) -> None:
    """Wherever the time goes: in lines, in the header, in a formula, in a sum of long numbers, in the scenario."""
    lines = packed(proof(*({"rule": "expand"}, form(Random(1))) * 30_000, formula="AX^1 (h > 100 | h < -100)"))
    formula = packed(proof(formula="AX^100000 (h > 0)"))
    frames = certificate([*KINDS].index("frames"), size=3000)[1]
    for data, limit in ((lines, 1.0), (formula, 0.3), (frames, 0.01)):
        done = check(runner, tmp_path, data, "--timeout", str(limit))
        assert (done.status, done.stderr) == (20, ""), done.stdout + done.stderr
        assert done.stdout.startswith(f"unknown (time): the limit of {limit:g} s was reached; --timeout")
        assert done.cpu < limit + 1


def test_a_limit_of_memory_is_named(runner: Runner, tmp_path: Path) -> None:
    for data in (packed(proof(*(form(Random(i)) for i in range(20_000)))), certificate(0, size=3000)[1]):
        done = check(runner, tmp_path, data, "--memory", "10" if len(data) < 100_000 else "40")
        assert (done.status, done.stderr) == (20, ""), done.stdout + done.stderr
        assert "the limit of" in done.stdout and "MB was reached; --memory MB allows more" in done.stdout
