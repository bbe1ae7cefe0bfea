"""Every code block of docs/ and of README files runs as it stands (the convention is in docs/contributing.md)."""

from __future__ import annotations

from tests.needs import needs

needs("markdown_it")

import contextlib
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.page_blocks import ROOT, Block, BlockError, blocks_of, check_setup, commands_of, matches, run

PAGES = sorted((ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("scenarios/*/README.md")))
LONG = frozenset(
    {
        "docs/abstraction.md",
        "docs/clusters.md",
        "docs/continuous.md",
        "docs/export.md",
        "docs/forever.md",
        "docs/gym.md",
        "docs/hardware.md",
        "docs/journal.md",
        "docs/ltl.md",
        "docs/map.md",
        "docs/modes.md",
        "docs/noise.md",
        "docs/own-environment.md",
        "docs/pipeline.md",
        "docs/plots.md",
        "docs/plugins.md",
        "docs/reach.md",
        "docs/report.md",
        "docs/several.md",
        "docs/testing.md",
        "docs/vnnlib.md",
        "scenarios/blocks/README.md",
        "scenarios/double_integrator/README.md",
        "scenarios/pendulum/README.md",
    }
)
"""Pages that take longest, about what has tests of its own: in slow suites alone."""

LIMIT = 300
NEEDS = re.compile(r"<!-- blocks need: ([\w, ]+) -->")


def run_page(page: Path, folder: Path, **more: str) -> tuple[int, str]:
    """Exit status and output of a page whose blocks run in `folder`; whatever it started has ended afterwards."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))
    runner = [sys.executable, str(ROOT / "tests" / "docs" / "page_blocks.py"), str(page)]
    environment = {**os.environ, "PATH": path, "COLUMNS": "100", "NO_COLOR": "1", **more}
    out = folder.parent / f"{folder.name}.out"
    with out.open("w") as printed:
        process = subprocess.Popen(
            runner, cwd=folder, env=environment, stdout=printed, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            status = process.wait(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            status = -1
            printed.write(f"{page}: its blocks took more than {LIMIT} s\n")
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return status, out.read_text()


def named(page: Path) -> str:
    """The path in this repository."""
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize(
    "page", [pytest.param(p, marks=pytest.mark.slow) if named(p) in LONG else p for p in PAGES], ids=named
)
def test_the_blocks_of_a_page_run(page: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    more = {}
    asked = {need.strip() for found in NEEDS.findall(page.read_text()) for need in found.split(",")}
    needs(*sorted(asked - {"data", "repository"}))
    if "data" in asked:
        more["VENMAS_DATA"] = str(request.getfixturevalue("data_dir"))
    if "repository" in asked:
        more["PYTHONPATH"] = str(ROOT)
    folder = tmp_path / "empty"
    folder.mkdir()
    status, output = run_page(page, folder, **more)
    assert status == 0, output


def test_long_pages_are_there() -> None:
    assert {named(page) for page in PAGES} > LONG


def failure(tmp_path: Path, text: str) -> str:
    page, folder = tmp_path / "page.md", tmp_path / "folder"
    page.write_text(text)
    folder.mkdir()
    status, output = run_page(page, folder)
    assert status == 1, output
    return output


def test_pages_that_run(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "Text.\n\n```python\nfrom dataclasses import dataclass\n\n@dataclass\nclass A:\n    n: int = 2\n```\n\n"
        '1. In a list:\n\n    ```python title="sub/b.py"\n    print("two\\nlines")\n    ```\n\n'
        "```console\n$ python sub/b.py\ntwo\n...es\n$ exit \\\n    3\n# exit 3\n$ sleep 100 &\n"
        "$ python -c 'print(1)'\n```\n"
        "```python\nimport pickle\nassert pickle.loads(pickle.dumps(A())).n == 2\n```\n"
        "```pycon\n>>> A()\nA(n=...)\n>>> c = 5\n```\n```python\nassert c == 5\n```\n```text\nnot run\n```\n"
    )
    folder = tmp_path / "folder"
    folder.mkdir()
    assert run_page(page, folder) == (0, "")
    assert [p.name for p in folder.iterdir()] == ["sub"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\n```python\nx = 1\nassert x == 2\n```\n", "page.md, block at line 3"),
        ("```python\nx = 1\nassert x == 2\n```\n", 'page.md", line 3, in <module>'),
        ("```python\nx =\n```\n", 'page.md", line 2'),
        ("```\nx\n```\n", "a block tagged ''"),
        ("```haskell\nx\n```\n", "choose one of python"),
        ("a\n\n    x = 1\n", "page.md, line 3: an indented code block"),
        ('```python title="../x.py"\n```\n', "name a file in the page's own folder"),
        ("```python titel=x\n```\n", "unknown option 'titel'"),
        ("```console\nls\n```\n", "begins with a line `$ command`"),
        ("```console\n$ true\n$ exit 3\n```\n", "line 3: `exit 3` ended with 3, not 0"),
        ("```console\n$ true\n# exit 10\n```\n", "ended with 0, not 10"),
        ("```console\n$ echo one\ntwo\n```\n", "The page expects:\ntwo"),
        ("```pycon\n>>> 1 + 1\n3\n```\n", "Expected:\n    3\nGot:\n    2"),
        ("```python\nraise SystemExit(0)\n```\n", "page.md, block at line 2"),
        ('```sh\npip install ".[nothing]"\n```\n', "setup.cfg has no extra nothing"),
        ("```sh\nvenmas --help\n```\n", "may only install"),
    ],
)
def test_a_failing_block_is_named(tmp_path: Path, text: str, message: str) -> None:
    assert message in failure(tmp_path, text)


@pytest.mark.parametrize(
    ("expected", "output", "same"),
    [
        ("a  b\n\nc", "a b   \nc\n", True),
        ("...", "", True),
        ("...\nlast", "first\nlast\n", True),
        ("first\n...", "first\n", True),
        ("first\n...\nlast", "first\nx\ny\nlast\n", True),
        ("took ... s", "took 1.5 s\n", True),
        ("took ... s", "took 1.5 s\nmore\n", False),
        ("took ... s", "took\n1 s\n", False),
        ("a.c", "abc\n", False),
        ("first", "first\nsecond\n", False),
    ],
)
def test_expected_output(expected: str, output: str, same: bool) -> None:
    assert matches(expected, output) is same


def test_a_setup_block_is_checked_and_not_run() -> None:
    block = Block("sh", 'python3 -m venv .venv\n.venv/bin/pip install ".[plot,gym]"\n', 1)
    check_setup(block)
    run(block, "page.md", {})
    with pytest.raises(BlockError):
        check_setup(Block("sh", "rm -rf x\n", 1))


def test_status_and_output_of_commands() -> None:
    (block,) = blocks_of("```console\n$ a\n# exit 10\nout\n$ b\n```\n")
    first, second = commands_of(block)
    assert (first.text, first.status, first.expected, first.line) == ("a", 10, ("out",), 2)
    assert (second.text, second.status, second.expected) == ("b", 0, ())
