"""Instances, predicate sets and tables of the papers on policies, in small."""

from __future__ import annotations

from itertools import pairwise, permutations, product
from math import comb

import numpy as np
import pytest

from experiments.domains import puzzle
from experiments.policies import aaai2023, icaps2022, nuxmv, selection
from experiments.policies.as_published import LIMIT, blocks, instances, road, tiles
from experiments.policies.published import BMC, REFINEMENT, SELECTING, selected
from experiments.policies.scaled import groups, levels, steps
from venmas import abstract
from venmas.procedures.predicate_abstraction.states.box_condition import BoxCondition
from venmas.procedures.predicate_abstraction.states.cells import Cells
from venmas.procedures.predicate_abstraction.states.conditions import states_of
from venmas.procedures.predicate_abstraction.states.task import Task, task_of


def task_in(place, made):
    (*_, instance) = made.write(place)
    return task_of(instance.load().system())


def starts_of(task: Task) -> BoxCondition:
    return BoxCondition(task.starts, task.columns, task.low, task.high)


def finest(task: Task) -> Cells:
    return Cells(task.low, task.high, [], range(len(task.low)))


@pytest.mark.parametrize(("n", "count"), [(4, 14), (6, 202)])
def test_blocks_start_in_all_stacks_of_their_order(n, count, tmp_path):
    """Set partitions but the one of singletons: Bell numbers less one."""
    task = task_in(tmp_path, blocks(n, True))
    states, points = states_of(starts_of(task), finest(task), task.points)
    assert len(states) == count
    column = task.columns
    for point in points:
        below = [int(point[column[f"block_{b}"]]) for b in range(n)]
        on = [None if v == 1 else (v - 2 if v - 2 < b else v - 1) for b, v in enumerate(below)]
        covered = [c for c in on if c is not None]
        assert all(c is None or c > b for b, c in enumerate(on)) and len(set(covered)) == len(covered)
        assert [int(point[column[f"clear_{c}"]]) for c in range(n)] == [int(c not in covered) for c in range(n)]
        assert point[column["table_counter"]] == below.count(1) < n and point[column["hand_empty"]] == 1


def test_puzzle_starts_in_4900_arrangements(tmp_path):
    """Of 9! arrangements 5,040 are in order, and 4,900 of them are safe."""
    task = task_in(tmp_path, tiles(True))
    every = np.array(list(permutations(range(9))))[::7]
    ordered = np.array(
        [s for s in permutations(range(9)) if all(s[a] < s[b] for a, b in ((1, 2), (2, 3), (4, 5), (5, 6), (7, 8)))]
    )
    condition = starts_of(task)
    for rows, count in ((every, None), (ordered, 4900)):
        points = np.zeros((len(rows), len(task.low)), np.int64)
        points[:, [task.columns[name] for name in puzzle.names()]] = rows
        truth = condition.over(points, points).truth == 1
        right = (rows[:, 8] != 1) & np.all(
            [rows[:, a] < rows[:, b] for a, b in ((1, 2), (2, 3), (4, 5), (5, 6), (7, 8))], 0
        )
        assert (truth == right).all() and (count is None or truth.sum() == count)


def test_trucks_start_loaded(tmp_path):
    """4 places and 6 packages by enumeration; the formula has 11,767,536 starts at the published size."""
    task = task_in(tmp_path, road(4, 6))
    count = sum(load + a + b + c == 6 for _, load, a, b, c in product(range(3), *[range(7)] * 4))
    states, _ = states_of(starts_of(task), finest(task), task.points)
    assert len(states) == count == 3 * comb(6 + 3, 3)
    assert 9 * comb(15 + 9, 9) == 11_767_536 and LIMIT == 1


def test_levels_are_those_of_binary_search():
    assert levels(0, 6) == [[4], [2, 6], [1, 3, 5]]
    for low, high in ((0, 1), (3, 3), (-12, 12), (0, 11)):
        found = levels(low, high)
        assert sorted(c for level in found for c in level) == list(range(low + 1, high + 1))
        assert all(len(level) <= 2**i for i, level in enumerate(found))


def test_predicate_sets_grow_as_published(tmp_path):
    """6 blocks: 49 of 121 tell all but costs apart, which is the published 0.4; the truck is first in Transport."""
    task = task_in(tmp_path, blocks(6, True))
    sets = steps(task, groups(task))
    assert [len(s) for s in sets] == [14, 28, 49, 55, 67, 91, 121]
    assert all(set(a) < set(b) for a, b in pairwise(sets))
    assert not any(task.names[p.terms[0][0]].startswith("cost") for p in sets[2])
    eight = task_in(tmp_path, blocks(8, False))
    sizes = [len(s) for s in steps(eight, groups(eight))]
    assert 81 in sizes and sizes[-1] == 145  # 0.56
    truck = task_in(tmp_path, road(4, 6))
    assert {truck.names[p.terms[0][0]] for p in steps(truck, groups(truck))[1]} == {"truck"}


def test_published_tables_are_whole():
    assert len(REFINEMENT) == 27 and len(selected()) == 18 and len(BMC) == 18
    assert set(selected()) <= REFINEMENT.keys() and tuple(selection.VARIANTS) == SELECTING
    assert REFINEMENT["4 Blocks awa 16"][-3:] == (26, 11, 4) and REFINEMENT["Transport 32"].path == 1


@pytest.mark.slow
def test_tables_of_policies_in_small(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("VENMAS_DATA", str(tmp_path))
    assert {i.row for i in instances(tmp_path / "made")} == REFINEMENT.keys()
    few = ["--only", "4 Blocks ign 16", "--out", str(tmp_path), "--timeout", "30"]
    assert aaai2023.main([*few, "--ways", "WS", "CE", "default"]) == 0
    assert selection.main([*few, "--seeds", "2", "--variants", "Vea w", "BsVerix eps"]) == 0
    assert icaps2022.main([*few, "--figure", "1"]) == 0
    out = capsys.readouterr().out
    assert out.count("| 4 Blocks ign 16 | safe |") == 3 and out.count("satisfied") == 5
    assert "| 4 Blocks ign 16 | WS | satisfied" not in out and "published" in out
    for command in (aaai2023, selection, icaps2022):
        assert command.main(["--only", "none such", "--out", str(tmp_path)]) == 2


def test_lines_of_figure_1_are_the_same_abstraction(tmp_path):
    """Counts of the exact line are those of `abstract`; the relaxed one and the one without a policy have no fewer."""
    (instance,) = [i for i in blocks(4, False).write(tmp_path) if i.name.endswith("16")]
    found = {name: icaps2022.measured(instance, 1, 60.0, given) for name, given in icaps2022.LINES.items()}
    system = instance.load().system()
    graph = abstract(system, icaps2022.sets(instance)[1], "unsafe_safe").to_json()
    assert all(found["exact"][name] == graph[name] for name in icaps2022.COUNTS)
    assert found["exact"]["states"] <= found["relaxed"]["states"] <= found["PA"]["states"]
    assert "states" not in icaps2022.measured(instance, 1, 0.0, {})


FAKE = """#!/bin/sh
grep -q inc_coi $2 && exec sleep 60
grep -q "msat_check_invar_bmc -a" $2 && grep -q "INVARSPEC NAME safe" $3 && echo "-- invariant p  is false"
"""


@pytest.mark.slow
def test_nuxmv_is_run_where_it_is_on_the_path(tmp_path, monkeypatch, capsys):
    """A stand-in that contradicts ours under one algorithm, says nothing under two, and is not in time under one."""
    few = ["--only", "4 Blocks ign 16", "--ways", "default", "--timeout", "5", "--out", str(tmp_path)]
    (tmp_path / "nuXmv").write_text(FAKE)
    (tmp_path / "nuXmv").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert aaai2023.main(few) == 1
    (row,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| 4 Blocks ign 16 | - ")]
    assert "| violated" in row and row.count("unknown") == len(nuxmv.ALGORITHMS) - 1
