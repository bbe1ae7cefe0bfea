"""Certificates of maps: every decided box has one, and none passes for another box, another claim, another question."""

from __future__ import annotations

import json
import shutil
from fractions import Fraction
from pathlib import Path

import pytest

from tests.engine.map_systems import grid, loop
from venmas.engine.map.certified import check_map
from venmas.engine.map.refine import map_states
from venmas.engine.map.stored import read_map
from venmas.engine.map.tree import certificate_name
from venmas.errors import InputError, RefusedError
from venmas.runtime.files import sha256_of

SUMS, SAFE = "AG^5 (x + y <= 13)", "AG^4 (x <= 1)"


@pytest.fixture(scope="module")
def proofs(tmp_path_factory):
    """A complete map of the grid, with its folder."""
    folder = tmp_path_factory.mktemp("grid.proofs")
    made = map_states(grid(), SUMS, timeout=60, certificates=folder)
    assert made.complete
    return made, folder


def decided(made):
    return [(cell, place) for cell, _, place in made.walk() if cell.cut is None and cell.status != "open"]


def copied(proofs, to: Path):
    """The map read again, and a copy of its folder."""
    shutil.copytree(proofs[1], to / "copy")
    return read_map(json.dumps(proofs[0].to_json()).encode(), "m.json"), to / "copy"


def test_all_boxes_of_a_grid_are_certified(proofs):
    made, folder = proofs
    cells = decided(made)
    assert {cell.status for cell, _ in cells} == {"proved", "violated"}
    assert made.certified() == (len(cells), len(cells), 1)
    assert {path.name for path in folder.iterdir()} >= {certificate_name(place) for _, place in cells}
    counts, said, shares = check_map(*copied_of(made), folder)
    assert (counts["boxes"], counts["certificates"], said) == (len(cells), len(cells), 0)
    assert shares == {status: made.shares()[status] for status in ("proved", "violated")} and sum(shares.values()) == 1
    assert counts["lines"] >= len(cells)


def copied_of(made):
    return read_map(json.dumps(made.to_json()).encode(), "m.json"), grid()


@pytest.mark.parametrize("workers", [1, 2])
def test_boxes_over_the_reals_are_certified(tmp_path, workers):
    made = map_states(loop(), SAFE, timeout=10, min_width=1 / 8, workers=workers, certificates=tmp_path)
    boxes, written, part = made.certified()
    assert boxes == written > 2
    counts, said, shares = check_map(made, loop(), tmp_path)
    assert (counts["certificates"], said, sum(shares.values())) == (written, 0, part)
    assert shares == {status: made.shares()[status] for status in ("proved", "violated")} and part > 0


def test_boxes_without_one_are_counted(proofs, tmp_path):
    made, folder = copied(proofs, tmp_path)
    for cell, _ in decided(made)[1:]:
        cell.certificate = ""
    counts, _, shares = check_map(made, grid(), folder)
    assert counts["certificates"] == 1 < counts["boxes"] and 0 < sum(shares.values()) < 1


def swapped(made, folder):
    """The certificates of two boxes of one status."""
    status = decided(made)[0][0].status
    (one, first), (other, second) = [item for item in decided(made) if item[0].status == status][:2]
    names = folder / certificate_name(first), folder / certificate_name(second)
    texts = [name.read_bytes() for name in names]
    names[0].write_bytes(texts[1])
    names[1].write_bytes(texts[0])
    one.certificate, other.certificate = other.certificate, one.certificate
    return "another system"


def turned(made, folder):
    """A box that is said to be violated, where it is proved."""
    cell = next(cell for cell, _ in decided(made) if cell.status == "proved")
    cell.status = "violated"
    return "claims something else"


def widened(made, folder):
    """A cut that lies elsewhere, so that boxes are larger than those that were proved."""
    cell = made.root
    axis, where, low, high = cell.cut
    cell.cut = axis, where - 1, low, high
    return "another system"


def edited(made, folder):
    (folder / certificate_name(decided(made)[0][1])).write_bytes(b"\x1f\x8b")
    return "edited"


def broken(made, folder):
    """A file that is no certificate, named by the map."""
    cell, place = decided(made)[0]
    path = folder / certificate_name(place)
    path.write_bytes(b"no certificate")
    cell.certificate = sha256_of(path)
    return "no certificate"


def lost(made, folder):
    (folder / certificate_name(decided(made)[-1][1])).unlink()
    return "there is no file"


def unread(made, folder):
    """A file that no system lets be read."""
    path = folder / certificate_name(decided(made)[0][1])
    path.unlink()
    path.symlink_to("/proc/self/mem")
    return "cannot read"


@pytest.mark.parametrize("change", [swapped, turned, widened, edited, broken, lost, unread])
def test_changed_maps_are_refused(proofs, tmp_path, change):
    made, folder = copied(proofs, tmp_path)
    told = change(made, folder)
    with pytest.raises(InputError, match=told):
        check_map(made, grid(), folder)


def test_every_decided_box_is_checked(proofs, tmp_path):
    """Each certificate in turn is that of another box."""
    made, folder = copied(proofs, tmp_path)
    cells = decided(made)
    for number, (cell, place) in enumerate(cells):
        path, other = folder / certificate_name(place), folder / certificate_name(cells[number - 1][1])
        kept, digest = path.read_bytes(), cell.certificate
        path.write_bytes(other.read_bytes())
        cell.certificate = sha256_of(path)
        with pytest.raises(RefusedError):
            check_map(made, grid(), folder)
        path.write_bytes(kept)
        cell.certificate = digest
    check_map(made, grid(), folder)


def test_a_map_of_another_question_is_refused(proofs):
    made, folder = proofs
    with pytest.raises(RefusedError, match="another system, or of another formula"):
        check_map(made, loop(), folder)
    system = grid()
    x = system.variables["x"]
    other = system.with_regions(
        [tuple(row for row in system.regions[0] if row.expr.terms[0][0] != "x") + _narrow(x.name)]
    )
    with pytest.raises(RefusedError, match="another system, or of another formula"):
        check_map(made, other, folder)


def _narrow(name):
    from venmas.logic.linear import Comparison, LinearExpr, Relation

    value = LinearExpr.variable(name)
    one, two = LinearExpr((), Fraction(1)), LinearExpr((), Fraction(2))
    return Comparison(value - one, Relation.GE), Comparison(value - two, Relation.LE)
