"""Killed and interrupted experiments go on where they stopped, and end as if nothing had happened."""

from tests.needs import needs

needs("psutil")

import csv
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from experiments.jaamas2022.__main__ import TABLES
from experiments.papers.main import main
from experiments.papers.run import FORM, KIND
from venmas.engine.store import Store

ROOT = Path(__file__).resolve().parents[2]
SOME = ["table2", "--k", "1", "2", "3", "4", "--climb", "-19.5", "-25.5", "--modes", "mono", "comp-par", "adaptive"]
CELLS = 4 * 2 * 3
SAME = ("table", "row", "k", "mode", "formula", "verdict", "expected", "published", "difference", "solver", "created")


def _start(folder: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "experiments.jaamas2022", *SOME, "--out", str(folder)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _stored(folder: Path) -> dict[str, Any]:
    with Store(folder / "cells.db", KIND, FORM) as store:
        return dict(store.items())


def _table(folder: Path) -> list[dict[str, str]]:
    with (folder / "table2.csv").open(encoding="utf-8", newline="") as file:
        return [{name: row[name] for name in SAME} for row in csv.DictReader(file)]


def _wait_for_cells(process: subprocess.Popen[str], count: int) -> list[str]:
    assert process.stderr is not None
    told: list[str] = []
    while len(told) < count and (line := process.stderr.readline()):
        if " in " in line and "/" in line:
            told.append(line)
    return told


def _place(line: str) -> tuple[str, str, str]:
    found = re.search(r"(-[0-9.]+), k = ([0-9]+), ([a-z-]+):", line)
    assert found, line
    return found[1], found[2], found[3]


@pytest.mark.slow
def test_three_kills_lose_nothing_and_redo_nothing(tmp_path: Path) -> None:
    rng = random.Random(20)
    kept: dict[str, Any] = {}
    for _ in range(3):
        process = _start(tmp_path)
        told = _wait_for_cells(process, rng.randint(2, 4))
        time.sleep(rng.random() * 0.15)  # somewhere in the next cells
        process.send_signal(signal.SIGKILL)
        out, err = process.communicate()
        assert out == "", "it ended before it was killed"
        told += [line for line in err.splitlines() if " in " in line]
        stored = _stored(tmp_path)
        assert {k: stored[k] for k in kept} == kept, "a finished cell was done again"
        new = {k: v for k, v in stored.items() if k not in kept}
        places = {(v["cell"]["row"], v["cell"]["k"], v["cell"]["mode"]) for v in new.values()}
        assert {_place(line) for line in told} <= places, "a cell that was told as finished is lost"
        assert 2 <= len(new) <= len(told) + 1
        kept = stored
    process = _start(tmp_path)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert f"{len(kept)} of {CELLS} cells are known from" in err
    assert sum(" in " in line for line in err.splitlines()) == CELLS - len(kept)
    stored = _stored(tmp_path)
    assert {k: stored[k] for k in kept} == kept and len(stored) == CELLS
    assert f"Verdicts: {CELLS}. Told by the check: {CELLS}, of which {CELLS} agree with it." in out

    whole = tmp_path / "uninterrupted"
    assert main("jaamas2022", "", TABLES, [*SOME, "--out", str(whole), "--quiet"]) == 0
    assert _table(tmp_path) == _table(whole)
    assert set(_stored(whole)) == set(stored)


def test_ctrl_c_ends_with_what_is_known(tmp_path: Path) -> None:
    process = _start(tmp_path)
    _wait_for_cells(process, 3)
    family = psutil.Process(process.pid).children(recursive=True)
    os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 20 and "Traceback" not in err
    assert "the same command goes on" in err
    done = len(_stored(tmp_path))
    assert 3 <= done < CELLS
    rows = _table(tmp_path)
    assert len(rows) == CELLS and sum(bool(r["verdict"]) for r in rows) == done
    assert "–" in out
    _, alive = psutil.wait_procs(family, timeout=5)
    assert not alive


def test_two_runs_do_not_share_a_store(tmp_path: Path) -> None:
    with Store(tmp_path / "cells.db", KIND, FORM):
        process = _start(tmp_path)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "in use by another process" in err and "Traceback" not in err
