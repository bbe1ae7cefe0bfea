"""The default mode on a cluster: division of the initial set, its parts as jobs, their proofs joined, the journal."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from random import Random

import pytest

from tests.corpus.finite import finite_case
from tests.corpus.pwl import pwl_case
from tests.corpus.spec import build
from tests.needs import needs
from venmas import System, load_scenario, verify
from venmas.checker.file import check_certificate
from venmas.checker.format.numbers import CheckError
from venmas.checker.goals import rules
from venmas.checker.goals.rule import Place
from venmas.engine.certificates.file import write
from venmas.engine.certificates.kept import Certificate
from venmas.engine.parts import divided, join
from venmas.engine.parts.division import Piece, divide
from venmas.engine.parts.part import Asked, Part
from venmas.errors import ModelError
from venmas.model.canonical.canonical import system_to_json
from venmas.model.evaluation.regions import contains
from venmas.model.system.networks import networks_of
from venmas.procedure import Settings
from venmas.question import read_formula
from venmas.solvers.cluster.local import LocalCluster


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    needs("distributed")
    cluster = LocalCluster(2)
    yield cluster.address
    cluster.close()


def grown(system: System, rng: Random, most: int) -> list[Piece]:
    """The initial sets of a system, divided here and there."""
    roots = [Piece(region) for region in system.regions]
    for _ in range(most):
        divide(system, rng.choice([leaf for root in roots for leaf in root.leaves()]))
    return roots


def cuts_of(roots: list[Piece]) -> list[tuple[int, int, str]]:
    found: list[tuple[int, int, str]] = []
    before = 0
    for root in roots:
        found += root.cuts(before)
        before += len(list(root.leaves()))
    return found


def asked(system: System, formula: str, certified: bool = True) -> Asked:
    sent = read_formula(system, formula)
    document, networks = system_to_json(system), networks_of(system)
    return Asked(document, networks, sent, "real", certified, "adaptive", "auto", (), Settings())


def test_pieces_cover_the_initial_set_and_cuts_make_them_again() -> None:
    """Of random systems every initial state lies in a piece, and the checker makes the very same pieces of the cuts."""
    rng, inside = Random(5), 0
    for seed in range(40):
        system = build((pwl_case if seed % 2 else finite_case)(seed).spec)
        roots = grown(system, rng, 6)
        leaves = [leaf.region for root in roots for leaf in root.leaves()]
        line = rules.Divide(tuple(cuts_of(roots)))
        assert list(line.apply(system, Place(1, None)).regions) == leaves  # type: ignore[arg-type]
        for _ in range(20):
            point = {
                name: Fraction(rng.randint(int(d.lower), int(d.upper)), 1 if d.integral else rng.randint(1, 7))
                for name, d in system.variables.items()
            }
            held = any(contains(region, point) for region in system.regions)
            inside += held
            assert held == any(contains(leaf, point) for leaf in leaves)
    assert inside > 50


def joined_certificate(system: System, formula: str, roots: list[Piece], path: Path) -> bool:
    """Prove every piece by itself and join the proofs; False where some piece has none."""
    question = asked(system, formula)
    found = [Part(question, leaf.region, 20.0).run(None) for root in roots for leaf in root.leaves()]
    if not all(part.certificate for part in found):
        return False
    proof = join.Joined(cuts_of(roots), lambda: [part.certificate for part in found if part.certificate])
    assert isinstance(write(path, question.question(system), proof), Certificate)
    return True


@pytest.mark.parametrize(
    ("formula", "climb", "rule"),
    [pytest.param("AX^5 safe", "-22..-19", "table", marks=pytest.mark.slow), ("AX^4 safe", "-20..-19", "same")],
)
def test_proofs_of_parts_are_a_proof_of_the_whole(tmp_path: Path, formula: str, climb: str, rule: str) -> None:
    system, path = load_scenario("vcas").system(climb0=climb), tmp_path / "whole"
    roots = grown(system, Random(2), 5)
    assert len(cuts_of(roots)) == 5 and joined_certificate(system, formula, roots, path)
    assert check_certificate(path, system).lines > 10
    lines = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    assert lines[1]["rule"] == "divide" and {line["rule"] for line in lines[1:]} >= {rule, "region"}
    named = [line["index"] for line in lines if line.get("rule") == "region"]
    assert named == list(range(6))


def test_proofs_by_trees_are_joined_as_well(tmp_path: Path) -> None:
    system, path = load_scenario("double_integrator").system(), tmp_path / "whole"
    assert joined_certificate(system, "AG^2 (x[1] < 4)", grown(system, Random(3), 3), path)
    assert check_certificate(path, system).lines
    lines = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    assert [line["index"] for line in lines if line.get("rule") in ("program", "region")] == [0, 1, 2, 3]


def test_random_systems_have_joined_proofs_where_they_are_satisfied(tmp_path: Path) -> None:
    """Of each random case that parts prove, the checker accepts the proof, and the verdict is that of the whole."""
    rng, proved = Random(7), 0
    for seed in range(60, 84):
        case = pwl_case(seed) if seed % 2 else finite_case(seed)
        system = build(case.spec)
        try:
            report = verify(system, case.formula, timeout=20)
        except ModelError:
            continue
        if report.satisfied and joined_certificate(system, str(case.formula), grown(system, rng, 3), tmp_path / "c"):
            check_certificate(tmp_path / "c", system)
            proved += 1
    assert proved >= 5


def test_lies_about_cuts_are_refused(tmp_path: Path) -> None:
    system, path = load_scenario("vcas").system(climb0="-20..-19"), tmp_path / "whole"
    assert joined_certificate(system, "AX^3 safe", grown(system, Random(2), 2), path)
    head, cut, *rest = gzip.decompress(path.read_bytes()).splitlines()
    cuts = json.loads(cut)["cuts"]
    lies = [
        [],  # fewer parts than proofs
        cuts[:1],
        [*cuts, [0, 0, "0"]],  # more of them
        [[cuts[0][0], cuts[0][1], "-1000"], *cuts[1:]],  # other parts
        [[7, 0, "1"]],
        [[0, 9, "1"]],
        [[0, 0, "one"]],
        [[True, 0, "1"]],
        [[0, 0, "1", 1]],
        [[0, 0, "1"]] * 101,  # too deep
    ]
    for lie in lies:
        made = tmp_path / "lie"
        made.write_bytes(gzip.compress(b"\n".join([head, json.dumps({"rule": "divide", "cuts": lie}).encode(), *rest])))
        with pytest.raises(CheckError):
            check_certificate(made, system)
    moved = tmp_path / "moved"  # nowhere but in front
    moved.write_bytes(gzip.compress(b"\n".join([head, rest[0], cut, *rest[1:]])))
    with pytest.raises(CheckError):
        check_certificate(moved, system)


def test_initial_sets_without_a_state_have_proofs_as_parts(tmp_path: Path) -> None:
    """An inequation makes two sets, of which one is empty here; cuts of an equality of two variables leave it, too."""
    system = System("empty")
    x, y, k = system.real("x", 0, 10), system.real("y", 0, 10), system.integer("k", 0, 5)
    system.branch("go", {x: x / 2, y: y / 2})
    system.initial(x + y <= 1, x + y >= 1, x - y <= Fraction(1, 3), x - y >= Fraction(1, 3), k != 2)
    system.initial(x == 3, y != 3, y >= 3, k >= 4, k - x <= 1)
    for seed in range(2):
        assert joined_certificate(system, "AG^2 x <= 3", grown(system, Random(seed), 8), tmp_path / "whole")
        assert check_certificate(tmp_path / "whole", system).lines
        assert not joined_certificate(system, "AG^2 x < 1.5", grown(system, Random(seed), 8), tmp_path / "wrong")


def test_an_integer_is_cut_between_two_of_its_values() -> None:
    system = System("steps")
    n = system.integer("n", 0, 9)
    system.initial(n >= 2)
    system.branch("stay", n=n)
    root = Piece(system.regions[0])
    assert divide(system, root) and root.cut == (0, Fraction(5))
    assert [[contains(p.region, {"n": Fraction(i)}) for i in (2, 5, 6, 9)] for p in root.pieces] == [
        [True, True, False, False],
        [False, False, True, True],
    ]
    with pytest.raises(CheckError, match="an integer"):
        rules.Divide(((0, 0, "11/2"),)).apply(system, Place(1, None))  # type: ignore[arg-type]


def test_verdicts_and_certificates_over_a_cluster(cluster: str, tmp_path: Path) -> None:
    system, path = load_scenario("vcas").system(climb0="-20..-19"), tmp_path / "whole"
    report = verify(system, "AX^4 safe", cluster=cluster, certificate=path)
    assert report.satisfied and report.mode == "adaptive" and report.workers == 2
    assert any(f"{2 * divided.PIECES} parts of the initial set went to the cluster" in note for note in report.notes)
    assert check_certificate(path, system).lines
    wide = load_scenario("vcas").system(climb0="-45..45", h_min="-400", h_max="400", h_limit="12000")
    broken = verify(wide, "AX^5 safe", cluster=cluster)
    assert broken.violated and broken.replay is not None and broken.replay.confirmed


@pytest.mark.slow
def test_a_part_that_takes_too_long_is_divided(cluster: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(divided, "_first", lambda _left: 0.0)
    monkeypatch.setattr(divided, "GROWTH", 1.0)
    first = divided.Divided._take
    seen: list[int] = []

    def take(self: divided.Divided, *args: object) -> None:
        seen.append(self.asked)
        first(self, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(divided.Divided, "_take", take)
    report = verify(load_scenario("vcas").system(), "AX^2 safe", cluster=cluster, timeout=6)
    assert report.verdict == "unknown" and report.reason == "time"
    assert int(report.notes[-1].split()[0]) > 2 * divided.PIECES  # the halves were asked about, and their halves


def test_a_journal_keeps_finished_parts(cluster: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that ends after two parts; the next one asks about the others only, and has the whole proof."""
    system, book, path = load_scenario("vcas").system(climb0="-20..-19"), tmp_path / "book", tmp_path / "whole"
    taken, first = 0, divided.Divided._take

    def interrupted(self: divided.Divided, *args: object) -> None:
        nonlocal taken
        first(self, *args)  # type: ignore[arg-type]
        taken += 1
        if taken == 2:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(divided.Divided, "_take", interrupted)
        report = verify(system, "AX^4 safe", cluster=cluster, certificate=path, journal=book)
    assert (report.verdict, report.reason) == ("unknown", "interrupted") and not path.exists()
    report = verify(system, "AX^4 safe", cluster=cluster, certificate=path, journal=book)
    left = f"{2 * divided.PIECES - 2} parts"
    assert report.satisfied and any(left in n and "2 more were known" in n for n in report.notes)
    assert check_certificate(path, system).lines


def test_a_run_out_of_its_box_is_an_error_here_too(cluster: str) -> None:
    system = System("out")
    x = system.real("x", 0, 10)
    system.initial(x >= 0, x <= 1)
    system.branch("up", x=x + 6)
    with pytest.raises(ModelError, match="x"):
        verify(system, "AG^2 (x >= 0)", cluster=cluster)
