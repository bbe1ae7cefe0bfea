"""Own domains and the tables of papers on policies, in small."""

from __future__ import annotations

import json
from collections import deque

import numpy as np
import pytest

from experiments.domains import blocksworld, transport
from experiments.domains.learn import gradient, train
from experiments.domains.make import MANIFEST, known, make, policy
from experiments.policies import cegar, figure, ppa, predicate_selection
from experiments.policies.cells import Cell, Cells
from experiments.policies.instances import own
from experiments.policies.output import Output
from experiments.training.export import he_layers
from venmas import abstract, load_jani
from venmas.logic import nnf, parse
from venmas.model.evaluation.simulate import successors
from venmas.procedures.predicate_abstraction.cegar import guard_atoms
from venmas.procedures.predicate_abstraction.states.predicates import of_formula
from venmas.procedures.predicate_abstraction.states.task import task_of


def test_planner_has_the_distances_of_a_plain_search_over_the_model(tmp_path):
    """Four blocks: every step of the model is taken one by one, with rationals."""
    task = blocksworld.task(4, aware=False)
    task.write(tmp_path, "none.jani2nnet")
    constants = {"item_cost_bound": 1, "failing_probability": 0}
    system = load_jani(tmp_path / "model.jani", tmp_path / "property.jani", "none", constants).system()
    names = [f"block_{b}" for b in range(4)]
    first = dict.fromkeys(system.variables, 0) | {"hand_empty": 1, "table_counter": 1}
    first |= {"block_0": 1, "block_1": 2, "block_2": 3, "block_3": 4, "clear_3": 1}
    far, queue = {tuple(first[n] for n in names): 0}, deque([first])
    while queue:
        state = queue.popleft()
        for step in successors(system, state):
            code = tuple(int(step.state[n]) for n in names)
            if code not in far and code != (1, 1, 1, 1):
                far[code] = far[tuple(int(state[n]) for n in names)] + 1
                queue.append(step.state)
    blocks, table = blocksworld.plans(4)
    assert len(far) == 124 == np.count_nonzero(table >= 0)
    assert all(table[np.array(code) @ blocks.powers] == steps for code, steps in far.items())


def test_gradient_is_that_of_the_loss():
    rng = np.random.default_rng(1)
    layers = [(w.astype(float), b + 0.1) for w, b in he_layers((4, 5, 3), rng)]
    x, good = rng.normal(size=(6, 4)).astype(np.float32), np.eye(3, dtype=bool)[rng.integers(0, 3, 6)]

    def loss():
        z = np.maximum(x @ layers[0][0].T + layers[0][1], 0) @ layers[1][0].T + layers[1][1]
        return float((np.log(np.exp(z).sum(1)) - np.log((np.exp(z) * good).sum(1))).mean())

    for array, found in zip((a for layer in layers for a in layer), gradient(layers, x, good), strict=True):
        for place in np.ndindex(array.shape):
            array[place] += 1e-5
            above = loss()
            array[place] -= 2e-5
            assert (above - loss()) / 2e-5 == pytest.approx(found[place], abs=1e-4)
            array[place] += 1e-5


def test_domains_are_made_repeatably_and_decided_once(tmp_path, monkeypatch):
    task = blocksworld.task(4, aware=True)
    folders = [tmp_path / name / task.name for name in ("one", "two")]
    for folder in folders:
        task.write(folder, "16_16.jani2nnet")
        policy(task, "16_16", (16, 16), folder, folder, steps=100, rounds=1)
    files = [sorted(p.name for p in folder.iterdir()) for folder in folders]
    assert files[0] == files[1] == ["16_16.jani2nnet", "16_16.onnx", MANIFEST, "model.jani", "property.jani"]
    assert (folders[0] / "16_16.onnx").read_bytes() == (folders[1] / "16_16.onnx").read_bytes()
    assert known(folders[0], "16_16") is not None
    assert json.loads((folders[0] / MANIFEST).read_text())["files"][0]["architecture"] == [14, 16, 16, 5]
    (instance,) = own(tmp_path / "one")
    cell = Cell(instance)
    assert cell.key == Cell(next(own(tmp_path / "two"))).key
    with Cells(tmp_path / "cells.db") as cells:
        found = cells.decide(cell)
    assert found["verdict"] in ("satisfied", "violated")
    monkeypatch.setattr(Cell, "run", None)
    with Cells(tmp_path / "cells.db") as cells:
        assert cells.decide(cell) == found
    (folders[0] / "16_16.onnx").write_bytes(b"another")
    assert known(folders[0], "16_16") is None and cell.key != Cell(next(own(tmp_path / "two"))).key


def test_policies_avoid_what_they_are_taught_to_avoid():
    task = blocksworld.task(4, aware=False)
    _, figures = train(task, (16, 16), steps=400, rounds=2)
    assert figures["unsafe"] == 0 and figures["reached"] >= 72


@pytest.mark.slow
def test_papers_in_small(data_dir, tmp_path, monkeypatch, capsys):
    if not (data_dir / "policy").is_dir():
        pytest.skip(f"no published policies in {data_dir / 'policy'}")
    monkeypatch.setenv("VENMAS_DATA", str(data_dir))
    quick = ["--quick", "--out", str(tmp_path)]
    assert ppa.main(quick) == 0
    assert "the same" in capsys.readouterr().out
    assert predicate_selection.main(quick) == 0
    assert cegar.main(quick) == 0
    out = capsys.readouterr().out
    assert out.count("| satisfied |") == 3
    tables = {"ppa.md", "predicate_selection.md", "cegar.md"}
    assert tables <= {path.name for path in tmp_path.iterdir()}
    assert (tmp_path / "cegar.md").read_text().splitlines()[-1] in out.splitlines()


def test_parts_of_a_predicate_set(tmp_path, capsys):
    """All guards: what `venmas abstract` has; a part: some of them; no time: no counts."""
    make(transport.task(4, 6), tmp_path / "transport_4", {"16_16": (16, 16)})
    (instance,) = own(tmp_path)
    whole, half = ppa.counts(instance, 1.0, 60.0), ppa.counts(instance, 0.5, 60.0)
    system = instance.load().system()
    task = task_of(system)
    unsafe = nnf(parse("unsafe_safe", system.vocabulary))
    graph = abstract(system, [*guard_atoms(task), *of_formula(unsafe, task.columns)], unsafe).to_json()
    assert whole["counts"] == [graph[name] for name in ppa.NAMES] and whole["counts"][0] > half["counts"][0] >= 2
    assert whole["safe_starts"] == graph["safe_starts"]
    assert ppa.counts(instance, 1.0, 0.0)["counts"] is None
    with Cells(tmp_path / "ppa.db") as cells:
        series = ppa.parts([instance], 60.0, cells, Output(tmp_path, "ppa"))
    (rows,) = series.values()
    assert [row[0] for row in rows] == [25, 50, 75, 100] and rows[-1][2] == graph["states"]
    assert capsys.readouterr().out.count("transport_4 16_16") == 4


def test_figures_are_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    output, nan = Output(tmp_path, "all"), float("nan")
    output.head("a", "b")
    output.row(1, 2)
    output.end(
        decided=lambda: figure.decided("t", {"WS": [(0.5, 8.6), (0.001, nan)], "CE": []}, {"WS": [8.6], "CE": []}, 60),
        spread=lambda: figure.spread("t", ("x", "y"), {"one": [[1, 2], [3, 4]], "two": [[5, 6]]}),
        against=lambda: figure.against("t", "x", "y", {"one": [(1, 2)], "two": [(2, 3)]}),
        shares=lambda: figure.shares("t", ("seconds", "% safe"), {"one": [[25, 1, 0], [50, 2, 100]]}),
    )
    assert (tmp_path / "all.md").read_text() == "| a | b |\n|---|---|\n| 1 | 2 |\n"
    drawn = sorted(path.name for path in tmp_path.glob("*.png"))
    assert drawn == ["all_against.png", "all_decided.png", "all_shares.png", "all_spread.png"]


def test_papers_without_the_data(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("VENMAS_DATA", str(tmp_path))
    assert ppa.main(["--quick", "--out", str(tmp_path)]) == 2
    assert predicate_selection.main(["--quick", "--out", str(tmp_path)]) == 2
    assert "VENMAS_DATA" in capsys.readouterr().out
