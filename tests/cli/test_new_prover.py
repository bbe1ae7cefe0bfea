"""The recipe of a prover of AG p for ever: a plug-in that guesses a set, its certificate, and each step left out."""

from __future__ import annotations

from tests.needs import needs

needs("jsonschema", "markdown_it")

import gzip
import json
from pathlib import Path

import pytest

from tests.cli.test_plugins import ENTRIES, Edit, instead, venmas, write

pytestmark = pytest.mark.quick

PROVER = "toys/forever.py"
SOURCE = '''"""A prover that knows one answer."""

from venmas.answer import Proved, Unknown
from venmas.errors import Reason
from venmas.logic import Always
from venmas.model.invariant import Invariant
from venmas.procedures.inductive.proof import Inductive


class Nothing:
    def facts(self):
        return []


class Session:
    struggling, figures = False, Nothing()

    def __init__(self, system):
        self.system = system

    def advance(self, budget):
        if "level" not in self.system.variables:
            return Unknown(Reason.OPEN, "it knows tanks")
        found = Invariant.of_boxes(self.system, [{"level": (0, 6)}])
        return Proved("exact", inside=True, proof=Inductive(found))


class Guess:
    name = "guess"
    help = "one set of states, guessed"

    def accepts(self, question, run):
        return None if isinstance(question.asked, Always) else "it is for AG p"

    def eager(self, question, run):
        return False

    def start(self, question, run):
        return Session(question.system)


GUESS = Guess()
'''
ASKED = ("--scenario", "leak", "--formula", "AG level <= 6", "--mode", "guess", "--certificate", "c.gz", "--json", "-")


def added(*edits: Edit) -> tuple[Edit, ...]:
    """The toys with the prover, after edits."""

    def add(files: dict[str, str]) -> None:
        files[PROVER] = SOURCE
        files[ENTRIES] = files[ENTRIES].replace(
            "[venmas.procedures]\n", "[venmas.procedures]\nguess = toys.forever:GUESS\n"
        )

    return add, *edits


def is_proved_for_ever(folder: Path) -> None:
    """Satisfied, with a certificate that another process accepts."""
    done = venmas(folder, *ASKED)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert (result["verdict"], result["decided_by"], result["property"]) == ("satisfied", "guess", "always")
    assert result["certificate"] is not None and not result["notes"]
    header = json.loads(gzip.decompress((folder / "c.gz").read_bytes()).splitlines()[0])
    assert header["proof"] == "inductive"
    assert venmas(folder, "check", "c.gz", "--scenario", "leak", "-q").returncode == 0


STEPS: dict[str, Edit] = {
    "the entry point": instead(ENTRIES, "guess = toys.forever:GUESS\n", ""),
    "the kind of property": instead(PROVER, "isinstance(question.asked, Always)", "False"),
    "the set": instead(PROVER, ", proof=Inductive(found)", ""),
    "a set that holds all initial states": instead(PROVER, '"level": (0, 6)', '"level": (0, 1)'),
    "a set that lies in p": instead(PROVER, '"level": (0, 6)', '"level": (0, 9)'),
    "a set that no step leaves": instead(PROVER, '"level": (0, 6)', '"level": (4, 5)'),
}


def test_a_prover_is_added(tmp_path: Path) -> None:
    is_proved_for_ever(write(tmp_path, *added()))


@pytest.mark.parametrize("step", STEPS)
def test_no_step_can_be_left_out(step: str, tmp_path: Path) -> None:
    with pytest.raises(AssertionError):
        is_proved_for_ever(write(tmp_path, *added(STEPS[step])))
