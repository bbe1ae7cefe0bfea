"""`venmas simulate` of many runs over noise: drawn in each step, not before all of them."""

import json
from pathlib import Path
from time import process_time

from click.testing import CliRunner

from venmas.cli.main import main

LOOP = """
from venmas.model import System


def build(networks):
    system = System("four")
    v = system.reals("v", 4, -100, 100)
    last = system.real("last", -1, 1)
    w = system.disturbance("w", -0.1, 0.1)
    update = {v[i]: 0.9 * v[i] + 0.1 * v[(i + 1) % 4] for i in range(3)}
    system.branch("go", {**update, v[3]: 0.5 * v[3] + w, last: w})
    system.initial(*(c for x in v for c in (x >= -1, x <= 1)), last == 0)
    return system
"""


def _summary(folder: Path, *more: str) -> list[dict[str, dict[str, list[float]]]]:
    file, result = folder / "four.py", folder / "runs.json"
    file.write_text(LOOP)
    asked = ["simulate", "--scenario", str(file), "--json", str(result), *more]
    done = CliRunner().invoke(main, asked)
    assert done.exit_code == 0, done.output
    return json.loads(result.read_text())["summary"]


def test_noise_is_that_of_its_step(tmp_path: Path) -> None:
    rows = _summary(tmp_path, "--runs", "40", "--steps", "6", "--initial", "w=0.05")
    assert rows[0]["range"]["w"] == [0.05, 0.05]
    ends = [row["range"].get("w") for row in rows]
    assert [row["range"]["last"] for row in rows[1:]] == ends[:-1]  # what a step read is what is shown of it
    assert ends[-1] is None  # no step follows that would read it
    assert all(-0.1 <= low < high <= 0.1 for low, high in ends[1:-1])
    assert len({tuple(span) for span in ends[1:-1]}) == 5


def test_many_runs_take_a_moment(tmp_path: Path) -> None:
    begun = process_time()
    rows = _summary(tmp_path, "--runs", "500", "--steps", "100")
    assert process_time() - begun < 20  # 1 s; minutes where the noise of all steps is drawn in exact numbers before
    assert len(rows) == 101
    assert rows[-1]["runs"] == 500


def test_the_last_row_of_the_table_has_no_noise(tmp_path: Path) -> None:
    file = tmp_path / "four.py"
    file.write_text(LOOP)
    done = CliRunner().invoke(
        main, ["simulate", "--scenario", str(file), "--runs", "3", "--steps", "2"], env={"COLUMNS": "200"}
    )
    lines = [line for line in done.output.splitlines() if line.lstrip()[:1].isdigit() and ".." in line]
    assert [line.count("..") for line in lines] == [6 - 1, 6, 5]
