"""What makes a package of the repository: metadata that agree, a source distribution that holds everything."""

from __future__ import annotations

from tests.needs import needs

needs("yaml")

import re
import subprocess
from configparser import ConfigParser
from pathlib import Path

import pytest
import yaml

import venmas
from venmas import __version__

pytestmark = pytest.mark.quick

ROOT = Path(__file__).parents[1]
ALWAYS = {"README.md", "LICENSE", "setup.cfg", "pyproject.toml", "MANIFEST.in", "venmas"}
"""What setuptools takes without being told."""


def setup() -> ConfigParser:
    found = ConfigParser()
    found.read(ROOT / "setup.cfg", encoding="utf-8")
    return found


def test_a_source_distribution_holds_all_that_is_under_version_control() -> None:
    lines = (ROOT / "MANIFEST.in").read_text().splitlines()
    words = [line.split() for line in lines if re.match(r"(include|graft) ", line)]
    held = {name for _, *names in words for name in names}
    for name in held:
        assert (ROOT / name).exists(), name
    if (ROOT / ".git").exists():  # not in a source distribution itself
        tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        assert {line.partition("/")[0] for line in tracked.splitlines()} <= held | ALWAYS


def test_versions_and_licences_agree() -> None:
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert cited["version"] == __version__ and cited["license"] == setup()["metadata"]["license"]
    assert cited["cff-version"] == "1.2.0" and cited["authors"] and cited["title"].startswith("VenMAS")
    assert f"## {__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_the_workflow_tests_every_version_that_is_promised() -> None:
    classifiers = setup()["metadata"]["classifiers"].split("\n")
    promised = {c.rpartition(" ")[2] for c in classifiers if re.search(r":: 3\.\d+$", c)}
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "checks.yml").read_text())
    jobs = workflow["jobs"]
    assert promised == set(jobs["linux"]["strategy"]["matrix"]["python"]) == {"3.11", "3.12", "3.13"}
    for job in jobs.values():
        for step in job["steps"]:
            command = step.get("run", "")
            if command.startswith(".ci/"):
                assert (ROOT / command).stat().st_mode & 0o100, command


def test_the_dockerfile_installs_and_asks_as_the_readme_does() -> None:
    steps, page, make = ((ROOT / name).read_text() for name in ("Dockerfile", "README.md", "Makefile"))
    (question,) = re.findall(r"^RUN .*bin/venmas (--scenario .*)$", steps, re.MULTILINE)
    assert f"$ venmas {question}\n" in page and f"-m venmas {question}\n" in make
    assert "pip install ." in page and re.search(r"pip install (--no-cache-dir )?\. ", steps)


def test_names_that_are_imported_late_are_listed() -> None:
    assert set(venmas.__all__) <= set(dir(venmas))
    for name in venmas.__all__:
        assert getattr(venmas, name) is not None
