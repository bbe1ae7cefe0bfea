"""Runs of the command that are killed, and go on: the published networks, 81 programs of which the last has a point."""

from tests.needs import needs

needs("jsonschema")

import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from venmas.budget import Progress
from venmas.cli.progress import Estimate, describe
from venmas.engine.modes import MODES
from venmas.engine.store import Store

SCHEMA = json.loads((Path(__file__).resolve().parents[2] / "docs" / "result.schema.json").read_text())
PAGE = 4096
"""What a transaction adds to the log of a store, at least."""


def command(data_dir: Path, mode: str, *more: str) -> list[str]:
    question = ["--networks", str(data_dir / "vcas"), "--set", "climb0=-22.5", "--set", "h_min=-157"]
    question += ["--set", "h_max=-120", "--formula", "AX^6 (h > -215)", "--mode", mode]
    question += ["--workers", "2"] if MODES[mode].workers else []
    solving = ["--solver", "highs", "--trust", "solver", "--json", "-"]
    return [sys.executable, "-m", "venmas", "--scenario", "vcas", *question, *solving, *more]


def finish(arguments: list[str], status: int = 10, **options: Any) -> dict[str, Any]:
    done = subprocess.run(arguments, capture_output=True, text=True, check=False, timeout=300, **options)
    assert done.returncode == status, done.stderr
    result = json.loads(done.stdout)
    Draft202012Validator(SCHEMA).validate(result)
    return {**result, "stderr": done.stderr}


def size(journal: Path) -> int:
    log = journal.with_name(journal.name + "-wal")
    return log.stat().st_size if log.exists() else 0


def kill_after(arguments: list[str], journal: Path, entries: int) -> None:
    """Kill a run with signal 9 when about so many entries were added, at whatever it does then."""
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        while not (before := size(journal)):  # it opens the file, and takes up what the last one left
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)
        while size(journal) - before < entries * PAGE:
            assert process.poll() is None, process.communicate()
            time.sleep(0.002)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()


def refuted(journal: Path) -> set[str]:
    with Store(journal, "journal") as store:
        return {key for key, _ in store.items() if key.startswith("path:")}


@pytest.fixture(scope="module")
def plain(data_dir: Path) -> dict[str, Any]:
    """The run that nobody disturbs."""
    result = finish(command(data_dir, "comp-seq"))
    assert result["subproblems"] | {"discarded": 0} == {
        "created": 81,
        "discarded": 0,
        "solved": 81,
        "cancelled": 0,
        "skipped": 0,
    }
    return result


@pytest.mark.parametrize("mode", [pytest.param("comp-seq", marks=pytest.mark.slow), "comp-par"])
def test_killed_three_times_nothing_finished_is_redone(
    mode: str, data_dir: Path, tmp_path: Path, plain: dict[str, Any]
) -> None:
    journal, rng, known = tmp_path / "journal", random.Random(mode), set[str]()
    arguments = command(data_dir, mode, "--journal", str(journal))
    for _ in range(3):
        kill_after(arguments, journal, rng.randint(2, 22))
        now = refuted(journal)
        assert known < now
        known = now
    result = finish(arguments)
    counts = result["subproblems"]
    assert (result["verdict"], result["witness"]) == (plain["verdict"], plain["witness"])
    assert counts["skipped"] == len(known)
    assert counts["created"] == 81 == counts["skipped"] + counts["solved"] + counts["cancelled"]
    assert refuted(journal) > known and len(refuted(journal)) == 80 - counts["cancelled"]

    again = finish(arguments)
    assert (again["verdict"], again["witness"]) == (plain["verdict"], plain["witness"])
    assert again["subproblems"]["solved"] == 0 and again["seconds"]["encode"] == 0


QUICK = ["--scenario", "vcas", "--set", "climb0=-22.5..-18.7", "--formula", "AX^2 safe"]
QUICK += ["--mode", "comp-seq", "--solver", "highs", "--trust", "solver", "--json", "-"]


def _limited() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (3 * PAGE, 3 * PAGE))


def test_a_file_that_cannot_grow_is_told_and_the_verdict_is_there(tmp_path: Path) -> None:
    arguments = [sys.executable, "-m", "venmas", *QUICK]
    expected = finish(arguments, status=0)
    Store(tmp_path / "j", "journal").close()
    assert (tmp_path / "j").stat().st_size <= 3 * PAGE
    result = finish([*arguments, "--journal", str(tmp_path / "j")], status=0, preexec_fn=_limited)
    assert (result["verdict"], result["subproblems"]) == (expected["verdict"], expected["subproblems"])
    assert "nothing more is kept for another run" in result["stderr"]
    assert any("nothing more was kept" in note for note in result["notes"])


@pytest.mark.parametrize("place", ["missing/journal", "/proc/journal", "text"])
def test_a_place_for_no_journal_is_told_at_once(place: str, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("my notes\n" * 100)
    arguments = [sys.executable, "-m", "venmas", *QUICK, "--journal", place]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: store ") and "Traceback" not in done.stderr
    assert (tmp_path / "text").read_text() == "my notes\n" * 100


def progress(seconds: float, share: float, solved: int, skipped: int = 0) -> Progress:
    return Progress(solved + skipped + 1, 7, solved, 1, 5, seconds, skipped, share)


def test_the_estimate_begins_when_programs_are_solved() -> None:
    estimate = Estimate()
    assert estimate.left(progress(1, 0.45, 0)) is None  # bounds refuted half of it at once
    assert estimate.left(progress(2, 0.5, 0)) is None
    assert estimate.left(progress(4, 0.51, 5)) is None  # too early
    assert estimate.left(progress(12, 0.6, 30)) == pytest.approx(40)  # a tenth in ten seconds, four are left
    assert estimate.left(progress(51.9, 1.0, 130)) is None


def test_the_estimate_does_not_count_what_was_skipped() -> None:
    estimate = Estimate()
    for i in range(1, 6):
        assert estimate.left(progress(i, i / 10, 0, 10 * i)) is None
    assert estimate.left(progress(10, 0.505, 3, 50)) is None
    assert estimate.left(progress(15, 0.6, 20, 50)) == pytest.approx(40)


def test_the_estimate_begins_anew_with_another_stream() -> None:
    estimate = Estimate()
    estimate.left(progress(0, 0, 0))
    estimate.left(progress(10, 0.9, 50))
    assert estimate.left(progress(11, 0.1, 50)) is None
    assert estimate.left(progress(21, 0.2, 60)) == pytest.approx(80)


@pytest.mark.parametrize(
    ("left", "shown"),
    [(None, "1:05  "), (9.7, "1:05, about 0:09 left  "), (7265.0, "1:05, about 2:01:05 left  ")],
)
def test_the_line_tells_what_is_known(left: float | None, shown: str) -> None:
    line = describe(progress(65, 0.25, 130, 40), left)
    assert line.startswith(shown)
    assert "40 known from the journal, 130 solved (2/s), 1 in flight, depth 5, 25% of the choices" in line


def test_the_share_of_the_choices_grows_to_one() -> None:
    from venmas import load_scenario, verify

    told: list[Progress] = []
    watch: Callable[[Progress], None] = told.append
    system = load_scenario("vcas").system(climb0="-22.5..-18.7")
    report = verify(system, "AX^2 safe", mode="comp-seq", solver="highs", trust="solver", progress=watch)
    shares = [p.share for p in told]
    assert report.satisfied and shares == sorted(shares) and 0 <= shares[0] <= shares[-1] <= 1
