"""Maps of initial states: against the semantics written down a second time, resumed, interrupted, refused."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from random import Random
from time import monotonic

import pytest

from tests.engine.map_systems import always, bounded_run, grid, loop, noisy
from venmas import load_scenario, verify
from venmas.engine.map import decide, refine
from venmas.engine.map.refine import map_states
from venmas.engine.map.start import axes_of
from venmas.engine.map.stored import read_map
from venmas.engine.map.tree import MAX_DEPTH, Axis, Cell, StateMap, cut_of, is_double, volume
from venmas.errors import FormulaError, ModelError, StoreError, UsageError
from venmas.model import System

F = Fraction
SAFE = "AG^4 (x <= 1)"


def stored(made):
    return read_map(json.dumps(made.to_json()).encode(), "m.json")


def same(made):
    return {k: v for k, v in made.to_json().items() if k not in ("seconds", "digest", "reason", "message")}


@pytest.mark.parametrize(
    ("formula", "holds"),
    [
        ("AG^5 (x + y <= 13)", lambda s: always(s, 5, lambda t: sum(t) <= 13)),
        ("EF^5 (x + y <= 8)", lambda s: not always(s, 5, lambda t: sum(t) > 8)),
        ("!(AG^3 (x <= 5)) & x >= 2", lambda s: not always(s, 3, lambda t: t[0] <= 5) and s[0] >= 2),
    ],
)
def test_every_state_of_a_grid_is_as_its_runs_say(formula, holds):
    made = map_states(grid(), formula, timeout=60)
    assert made.complete and not made.reason
    expected = {(x, y): "proved" if holds((x, y)) else "violated" for x in range(1, 9) for y in range(2, 10)}
    assert set(expected.values()) == {"proved", "violated"}
    assert {s: made.status({"x": s[0], "y": s[1], "flag": 1}) for s in expected} == expected
    share = F(sum(word == "proved" for word in expected.values()), len(expected))
    assert made.shares() == {"proved": share, "violated": 1 - share, "open": 0}
    assert made.status({"x": 1, "y": 2, "flag": 0}) == made.status({"x": 0, "y": 2, "flag": 1}) == "open"
    assert made.status({"x": 1.5, "y": 2, "flag": 1}) == "open"


def test_states_over_the_reals_are_as_exact_runs_say():
    made = map_states(loop(), SAFE, timeout=15, min_width=1 / 32)
    shares, rng = made.shares(), Random(7)
    assert sum(shares.values()) == 1
    assert min(shares["proved"], shares["violated"]) > F(1, 20), shares
    seen = set()
    for _ in range(2000):
        x, y = F(rng.randint(-1200, 1200), 1000), F(rng.randint(-1000, 1000), 1000)
        status = made.status({"x": x, "y": y})
        seen.add(status)
        assert status == "open" or bounded_run(x, y, 4, F(1)) is (status == "proved"), (x, y)
    for cell, box in made.leaves():  # corners are on faces
        for x, y in ((x, y) for x in box[0] for y in box[1]):
            assert cell.status == "open" or bounded_run(x, y, 4, F(1)) is (cell.status == "proved")
        for point, known in ((cell.holds, True), (cell.breaks, False)):
            assert point is None or bounded_run(*point, 4, F(1)) is known
    assert {"proved", "violated"} <= seen


@pytest.mark.parametrize(
    ("formula", "status"),
    [
        ("AX (x <= 0.5)", lambda x: x / 2 + F(1, 8) <= F(1, 2)),
        ("EX (x > 0.5)", lambda x: x / 2 + F(1, 8) > F(1, 2)),
    ],
)
def test_all_noise_counts_where_runs_are_said_to_stay(formula, status):
    made = map_states(noisy(), formula, timeout=20, min_width=1 / 16)
    assert made.shares()["open"] <= F(1, 16)
    for k in range(-256, 257):
        x = F(k, 128)
        assert made.status({"x": x}) in ("open", "proved" if status(x) else "violated")
    assert [axis.name for axis in made.axes] == ["x"]


def test_cuts_are_numbers_that_doubles_hold():
    made = map_states(loop(), SAFE, timeout=10, questions=40)
    cuts = [cell.cut for cell, _, _ in made.walk() if cell.cut is not None]
    assert cuts and all(is_double(cut[1]) and cut[1].denominator <= 64 for cut in cuts)
    assert sum(volume(made.axes, box) for _, box in made.leaves()) == 1
    for low, high in ((F(1, 3), F(1, 2)), (F(-(10**6)), F(1, 7)), (F(1), F(1) + F(1, 2**40))):
        cut = cut_of((low, high), False)
        assert cut is not None and is_double(cut)
        assert abs(cut - (low + high) / 2) <= (high - low) / 16
    assert cut_of((F(1), F(1) + F(1, 2**53)), False) is None
    assert cut_of((F(3), F(4)), True) == 3
    assert cut_of((F(3), F(3)), True) is None


@pytest.mark.parametrize("system", [grid, loop])
def test_a_map_that_is_resumed_is_the_one_made_at_once(system):
    formula = "AG^5 (x + y <= 13)" if system is grid else SAFE
    whole = map_states(system(), formula, timeout=100, questions=36)
    part = None
    for count in (5, 12, 13, 36):
        part = map_states(system(), formula, timeout=100, questions=count, resume=part)
        assert part.reason == "open" and count <= part.questions < count + 3
        part = stored(part)
    assert same(part) == same(whole)
    assert same(stored(whole)) == same(whole)


def test_ctrl_c_keeps_what_is_decided(monkeypatch):
    real, calls = decide.verify, []

    def verify(*given, **options):
        calls.append(given)
        report = real(*given, **options)
        if len(calls) == 12:
            report.reason = "interrupted"  # as verify says it
        return report

    monkeypatch.setattr(decide, "verify", verify)
    made = map_states(grid(), "AG^5 (x + y <= 13)", timeout=60)
    assert made.reason == "interrupted" and made.questions == 12
    assert 0 < made.shares()["open"] < 1
    monkeypatch.undo()
    resumed = map_states(grid(), "AG^5 (x + y <= 13)", timeout=60, resume=stored(made))
    assert resumed.shares() == map_states(grid(), "AG^5 (x + y <= 13)", timeout=60).shares()


def test_unfinished_maps_are_handed_out(monkeypatch):
    monkeypatch.setattr(refine, "_KEEP", 0.0)
    monkeypatch.setattr(refine, "_KEEP_PART", 0.0)
    counts = []
    map_states(grid(), "AG^5 (x + y <= 13)", timeout=60, keep=lambda made: counts.append(stored(made).questions))
    assert counts == sorted(counts) and len(set(counts)) > 5


@pytest.mark.parametrize("formula", ["AG^5 (x + y <= 13)", "EF^5 (x + y <= 8)"])
def test_workers_come_to_the_same_map(formula):
    whole, shared = (map_states(grid(), formula, timeout=60, workers=count) for count in (1, 2))
    assert same(shared)["cells"] == same(whole)["cells"]
    assert shared.complete and not shared.reason


@pytest.mark.slow
def test_workers_stop_in_time():
    begun = monotonic()
    made = map_states(loop(), "AG^14 (x <= 1)", timeout=4, workers=2)
    assert made.reason == "time" and monotonic() - begun < 8
    assert stored(made).shares() == made.shares()


def test_a_fault_of_the_model_ends_workers():
    with pytest.raises(ModelError, match="range"):
        map_states(leaving(), "AX (x <= 4)", timeout=30, workers=2)


def test_time_that_is_over_leaves_everything_open():
    made = map_states(grid(), "AG^5 (x + y <= 13)", timeout=0)
    assert made.reason == "time" and made.shares()["open"] == 1


def test_a_negation_that_is_not_decided_is_noted(monkeypatch):
    real = decide.verify

    def verify(system, formula, **options):
        if str(formula).startswith("!"):
            raise FormulaError("not decided here")
        return real(system, formula, **options)

    monkeypatch.setattr(decide, "verify", verify)
    made = map_states(grid(), "AG^5 (x + y <= 13)", timeout=10)
    assert "not decided here" in made.note and made.shares()["violated"] == 0 < made.shares()["proved"]


def with_initial(*conditions):
    def made():
        system = System("refused")
        x, y = system.real("x", -4, 4), system.real("y", -4, 4)
        system.branch("stay")
        for condition in conditions:
            system.initial(*condition(x, y))
        return system

    return made


BOX = with_initial(lambda x, y: (x >= 0, x <= 1, y == F(1, 3)))


@pytest.mark.parametrize(
    ("system", "told"),
    [
        (with_initial(lambda x, y: (x >= 0, y == 0), lambda x, y: (x <= -1, y == 0)), "union of several sets"),
        (with_initial(lambda x, y: (x + y <= 1,)), "relates variables"),
        (with_initial(lambda x, y: (x == y,)), "relates variables"),
        (with_initial(lambda x, y: (x > 0, y == 0)), "leaves out a face"),
    ],
)
def test_initial_states_that_are_no_box_are_refused(system, told):
    with pytest.raises(UsageError, match=told):
        map_states(system(), "AX (x <= 1)")


def test_other_refusals():
    with pytest.raises(UsageError, match="of LTL"):
        map_states(BOX(), "G F x <= 1")
    with pytest.raises(UsageError, match="min_width"):
        map_states(BOX(), "AX (x <= 1)", min_width=0)
    with pytest.raises(UsageError, match="workers"):
        map_states(BOX(), "AX (x <= 1)", workers=0)
    with pytest.raises(FormulaError, match="z"):
        map_states(BOX(), "AX (z <= 1)")
    with pytest.raises(UsageError, match="takes a system"):
        map_states("vcas", "AX (z <= 1)")
    assert [(a.name, a.low, a.high) for a in axes_of(BOX())] == [("x", 0, 1), ("y", F(1, 3), F(1, 3))]


def leaving():
    system = System("leaves")
    x = system.real("x", -4, 4)
    system.branch("up", x=x + 3)
    system.initial(x >= 0, x <= 2)
    return system


def test_runs_that_leave_their_box_are_an_error_of_the_model():
    with pytest.raises(ModelError, match="range"):
        map_states(leaving(), "AX (x <= 4)", timeout=10)


def test_a_map_of_another_question_is_refused():
    made = map_states(grid(), "AG^5 (x + y <= 13)", questions=3)
    for formula in ("AG^5 (x + y <= 12)", "AG^4 (x + y <= 13)"):
        with pytest.raises(UsageError, match="another formula"):
            map_states(grid(), formula, resume=made)
    with pytest.raises(UsageError, match="another formula"):
        map_states(loop(), "AG^5 (x + y <= 13)", resume=made)
    forged = stored(made)
    forged.axes = (replace(forged.axes[0], high=F(7)), *forged.axes[1:])
    with pytest.raises(UsageError, match="other intervals"):
        map_states(grid(), "AG^5 (x + y <= 13)", resume=forged)
    made.code = "0" * 64
    with pytest.raises(UsageError, match="another VenMAS"):
        map_states(grid(), "AG^5 (x + y <= 13)", resume=made)


def test_scenarios_with_parameters_are_told_apart():
    def made(**parameters):
        return load_scenario("vcas").system(**parameters)

    first = map_states(made(), "AX safe", questions=1)
    assert dict(first.parameters)["climb0"] == "-19.5"
    with pytest.raises(UsageError, match="other parameters"):
        map_states(made(climb0="-25.5"), "AX safe", resume=first)
    assert map_states(made(), "AX safe", questions=1, resume=first) is first


ALTERED = {
    "format": ("format", "venmas-reach", "format"),
    "version": ("version", 2, "version"),
    "status": ("cells", [{"status": "proved"}], "digest"),
    "reason": ("reason", "bored", "digest"),
    "axes": ("axes", [], "digest"),
    "extra": ("more", 1, "fields"),
}


@pytest.mark.parametrize("case", ALTERED)
def test_altered_files_are_refused(case):
    form = map_states(grid(), "AG^5 (x + y <= 13)", questions=9).to_json()
    field, value, told = ALTERED[case]
    with pytest.raises(StoreError, match=told):
        read_map(json.dumps({**form, field: value}).encode(), "m.json")


def rewritten(change):
    """A file with a digest that fits, as whoever forges one can write it."""
    from venmas.engine.map.tree import digest_of

    form = map_states(grid(), "AG^5 (x + y <= 13)", timeout=60).to_json()
    change(form)
    form["digest"] = digest_of(form)
    return json.dumps(form).encode()


def first(form, key):
    return next(row for row in form["cells"] if key in row)


FORGED = {
    "a cell is missing": (lambda f: f["cells"].pop(), "missing"),
    "a cell too many": (lambda f: f["cells"].append(f["cells"][-1]), "more cells"),
    "a cut outside": (lambda f: first(f, "cut").update(cut="99"), "not inside"),
    "a cut between integers": (lambda f: first(f, "cut").update(cut="9/2"), "not inside"),
    "a cut of no axis": (lambda f: first(f, "cut").update(axis=7), "no axis"),
    "a box that is larger": (lambda f: first(f, "box").update(box=[["0", "9"], ["0", "9"], ["1", "1"]]), "box"),
    "another status": (lambda f: first(f, "box").update(status="safe"), "status"),
    "another basis": (lambda f: first(f, "box").update(basis="hope"), "rests on"),
    "a field of a cell": (lambda f: first(f, "box").update(note="x"), "fields"),
    "not in lowest terms": (lambda f: f["axes"][0].update(low="2/2"), "lowest terms"),
    "no number": (lambda f: f["axes"][0].update(low="1e3"), "no rational"),
    "two axes of a name": (lambda f: f["axes"][1].update(name="x"), "same name"),
    "an axis inside out": (lambda f: f["axes"][0].update(low="9"), "no interval"),
    "a boolean number": (lambda f: f.update(rounds=True), "type"),
    "seconds beyond floats": (lambda f: f.update(seconds=10**400), "seconds"),
    "a cell's seconds beyond floats": (
        lambda f: f["cells"].__setitem__(-1, {**f["cells"][-1], "status": "open", "seconds": 10**400}),
        "fields",
    ),
    "a name that steers a terminal": (lambda f: first(f, "box").update(by="\x1b[2J"), "no name"),
    "too many rounds": (lambda f: f.update(rounds=61), "out of range"),
}


@pytest.mark.parametrize("case", FORGED)
def test_what_is_no_map_is_refused_even_with_a_digest(case):
    change, told = FORGED[case]
    with pytest.raises(StoreError, match=told):
        read_map(rewritten(change), "m.json")


def test_what_is_written_anew_without_a_change_is_a_map():
    assert read_map(rewritten(lambda form: None), "m.json").complete


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"{", b"\xff", b'{"format": "venmas-map", "format": "venmas-map"}', b'{"version": NaN}']
)
def test_other_files_are_refused(data):
    with pytest.raises(StoreError, match=r"m\.json"):
        read_map(data, "m.json")


def test_questions_of_maps_do_not_look_how_far_they_came():
    system = load_scenario("vcas").system(h_min=-400, h_max=0, climb0="-40..40")
    for partial in (True, False):
        report = verify(system, "!(AG^5 safe)", timeout=0.1, partial=partial)
        assert report.verdict == "unknown" and (report.partial is not None) is partial


def test_chains_of_cuts_are_refused():
    """Names of certificates are of the place of a cell."""
    made = StateMap("s", "f", "0" * 64, "0" * 64, (Axis("x", F(0), F(1)),))
    cell, where = made.root, F(1, 2)
    for _ in range(MAX_DEPTH):
        cell.cut = 0, where, Cell(), Cell()
        cell, where = cell.cut[2], where / 2
    assert same(stored(made)) == same(made)
    cell.cut = 0, where, Cell(), Cell()
    with pytest.raises(StoreError, match="cuts above each other"):
        stored(made)
