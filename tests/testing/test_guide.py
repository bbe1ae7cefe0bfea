"""The examples of docs/testing.md run as they stand."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from hypothesis import find, settings

from venmas.model import System

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "testing.md"
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", GUIDE.read_text(), re.DOTALL | re.MULTILINE)


def test_the_tests_of_the_guide_pass(tmp_path: Path) -> None:
    (tmp_path / "test_tank.py").write_text(EXAMPLES[0])
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_tank.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and "3 passed" in done.stdout, done.stdout + done.stderr


def test_the_strategy_of_the_guide_makes_systems() -> None:
    names: dict[str, object] = {}
    exec(EXAMPLES[1], names)
    found = find(names["my_systems"](), lambda s: isinstance(s, System), settings=settings(database=None))  # type: ignore[operator]
    found.validate()
