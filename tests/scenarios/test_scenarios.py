"""The bundled scenarios against what is published about them."""

import itertools
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from venmas import load_jani, verify
from venmas.errors import ModelError
from venmas.logic import nnf, parse
from venmas.model import explain, load_scenario, replay, scenario_names
from venmas.model.evaluation.regions import bounding_box, contains, sample
from venmas.model.evaluation.simulate import actions, step_batch, successors
from venmas.procedures.explicit.graph.graph import StateGraph
from venmas.question import read_property

# shared/data/verticalcas.md, section 1: least |h| at steps 1 to 10 over all h and pilots.
LEAST = {
    "-19.5": [113.53, 106.10, 106.73, 115.40, 132.13, 156.90, 189.73, 230.60, 279.53, 336.50],
    "-22.5": [110.53, 100.10, 97.73, 103.40, 117.13, 138.90, 168.73, 206.60, 252.53, 306.50],
}


def test_bundled_names():
    names = scenario_names()
    assert (
        names == tuple(sorted(p.parent.name for p in Path(__file__).parents[2].glob("scenarios/*/scenario.py")))
        and "vcas" in names
    )


@pytest.mark.parametrize("name", ["blocks", "cart", "cruise", "double_integrator", "frozenlake", "pendulum", "vcas"])
def test_bundled_networks_and_properties(name):
    scenario = load_scenario(name)
    system = scenario.system()
    assert system.name == name
    assert scenario.description
    assert all(p.help for p in scenario.parameters)
    rng = np.random.default_rng(0)
    for region in system.regions:
        assert bounding_box(system, region) is not None
        assert contains(region, sample(system, region, rng, 1)[0])
    for text in system.properties.values():
        read_property(system, text)


@pytest.mark.parametrize(
    ("climb0", "weights"), [("-19.5", "onnx"), ("-22.5", "onnx"), ("-22.5", "h5"), ("-22.5", "nnet")]
)
def test_vcas_least_distance(data_dir, climb0, weights):
    system = load_scenario("vcas").system(data_dir / "vcas", climb0=climb0, weights=weights)
    h = np.linspace(-133, -129, 9 if weights == "onnx" else 3)
    state = {"h": h, "climb": np.full(h.size, float(climb0)), "tau": np.full(h.size, 25.0), "adv": np.ones(h.size)}
    for expected in LEAST[climb0]:
        parts = [step_batch(system, state, np.full(state["h"].size, branch))[0] for branch in range(3)]
        rows = np.concatenate([np.stack(list(part.values()), axis=1) for part in parts])
        rows = rows[np.unique(rows.round(9), axis=0, return_index=True)[1]]
        state = dict(zip(system.variables, rows.T, strict=True))
        assert abs(np.abs(state["h"]).min() - expected) < 0.00501


def test_vcas_tree_that_no_path_leads_to_quickly(data_dir):
    system = load_scenario("vcas").system(data_dir / "vcas", climb0="-40")
    report = verify(system, "AG^12 EF^13 (climb > -2 & climb < 2)", timeout=60)
    assert report.violated
    assert report.replay.confirmed


def test_vcas_trace_of_the_paper(data_dir):
    """Violated at -22.5, k = 3, CL1500 at every step, reaching (-97.725, 1.65, 22, CL1500), exactly."""
    system = load_scenario("vcas").system(data_dir / "vcas", climb0="-22.5")
    core = nnf(parse(system.properties["safe3"], system.vocabulary), negate=True)
    start = {"h": Fraction(-129), "climb": Fraction("-22.5"), "tau": Fraction(25), "adv": Fraction(1)}
    witness = explain(system, core, start, hints=("a1", "a1", "a1"))
    assert witness.branches == ("a1", "a1", "a1")
    assert [node.actions[0].label for node in witness.path[:-1]] == ["CL1500"] * 3
    last = {"h": Fraction("-97.725"), "climb": Fraction("1.65"), "tau": Fraction(22), "adv": Fraction(5)}
    assert witness.path[-1].point == last
    assert witness.margin == Fraction("2.275")
    result = replay(system, core, witness)
    assert result.confirmed
    assert all(run.violated and run.difference < 1e-9 for run in result.floats.values())
    safe = nnf(parse(system.properties["safe1"], system.vocabulary), negate=True)
    assert explain(system, safe, start) is None


def test_vcas_pilots_units_and_ranges(data_dir):
    scenario, folder = load_scenario("vcas"), data_dir / "vcas"
    assert [b.name for b in scenario.system(folder, pilot="middle").branches] == ["a2"]
    start = {"h": Fraction(-129), "climb": Fraction("-22.5"), "tau": Fraction(25), "adv": Fraction(1)}
    everything, middle, worst = (
        successors(scenario.system(folder, pilot=p), start) for p in ("all", "middle", "worst")
    )
    assert [t.state for t in (*worst, *middle)] == [t.state for t in everything[:2]]  # CL1500: weakest first
    climbing = start | {"h": Fraction(-300), "climb": Fraction(30), "adv": Fraction(5), "tau": Fraction(22)}
    paper, aviation = (scenario.system(folder, compliance_unit=unit) for unit in ("ft/s", "ft/min"))
    assert actions(paper, climbing) == actions(aviation, climbing) == {"advisory": 5}
    assert [t.state["climb"] - 30 for t in successors(aviation, climbing)] == [0, 0, 0]
    assert all(t.state["climb"] > 30 for t in successors(paper, climbing))
    ranged = scenario.system(folder, climb0="-22.5..-19.5", tau0=20, tau_min=-5, h_min=-140)
    box = bounding_box(ranged, ranged.regions[0])
    assert box["climb"] == (Fraction("-22.5"), Fraction("-19.5"))
    assert box["h"] == (-140, -129)
    assert (box["tau"], ranged.box["tau"]) == ((20, 20), (-5, 40))


G = Fraction("32.2")
ACCELERATIONS = {  # by advisory: verticalcas.md, section 1
    1: (-G / 8, 0, G / 8),
    **dict.fromkeys((2, 4), (-G / 3, -7 * G / 24, -G / 4)),
    **dict.fromkeys((3, 5), (G / 4, 7 * G / 24, G / 3)),
    **dict.fromkeys((6, 8), (-G / 3,) * 3),
    **dict.fromkeys((7, 9), (G / 3,) * 3),
}


def complies(adv, climb):
    """Whether a climb rate, in the paper's reading ft/s, complies with an advisory."""
    limit = {2: 0, 3: 0, 8: 2500, 9: 2500}.get(adv, 1500)
    return adv != 1 and (climb <= -limit if adv in (2, 4, 6, 8) else climb >= limit)


def write_advice(folder, advice):
    """Nine .nnet files: after advisory i, network i always gives advice[i]."""
    for i, chosen in advice.items():
        rows = ["// constant", "1,3,9,9,", "3,9,", "0,", "-1,-1,-1,", "1,1,1,", "0,0,0,0,", "1,1,1,1,"]
        rows += ["0,0,0,"] * 9 + [f"{int(k == chosen)}," for k in range(1, 10)]
        (folder / f"{i}.nnet").write_text("\n".join(rows) + "\n")


@pytest.mark.parametrize("shift", range(9))
def test_vcas_accelerations_and_compliance(tmp_path, shift):
    """Every pair of advisories, on both sides of every threshold, against a table."""
    advice = {i: 1 + (i - 1 + shift) % 9 for i in range(1, 10)}
    write_advice(tmp_path, advice)
    system = load_scenario("vcas").system(tmp_path, weights="nnet")
    for adv, climb in itertools.product(range(1, 10), (-2400, -1500, -1499, -1, 0, 1, 1499, 1500, 2400)):
        state = {"h": Fraction(50), "climb": Fraction(climb), "tau": Fraction(9), "adv": Fraction(adv)}
        new = advice[adv]
        keep = new == adv and complies(new, climb)
        for found, pull in zip(successors(system, state), (0, 0, 0) if keep else ACCELERATIONS[new], strict=True):
            expected = {"h": 50 - climb - Fraction(pull) / 2, "climb": climb + Fraction(pull), "tau": 8, "adv": new}
            assert found.state == expected


def test_vcas_worst_pilot_pulls_least(tmp_path):
    write_advice(tmp_path, {i: i for i in range(1, 10)})
    system = load_scenario("vcas").system(tmp_path, pilot="worst")
    for adv, pulls in ACCELERATIONS.items():
        climb = Fraction(100 if adv % 2 == 0 else -100)
        state = {"h": Fraction(0), "climb": climb, "tau": Fraction(9), "adv": Fraction(adv)}
        (found,) = successors(system, state)
        assert found.state["climb"] - climb == min(pulls, key=abs)


def test_vcas_ends_at_tau_min(tmp_path):
    write_advice(tmp_path, dict.fromkeys(range(1, 10), 1))
    state = {"h": Fraction(0), "climb": Fraction(0), "tau": Fraction(0), "adv": Fraction(1)}
    with pytest.raises(ModelError, match=r"branch 'a1' .* leaves the declared box: tau = -1 is outside"):
        successors(load_scenario("vcas").system(tmp_path), state)
    assert len(successors(load_scenario("vcas").system(tmp_path, tau_min=-1), state)) == 3


def grid_moves(size, cell, action):
    """By coordinates, 1-based: where the agent can be after an action."""
    row, column = (cell - 1) // size, (cell - 1) % size
    compass = [(0, -1), (1, 0), (0, 1), (-1, 0)]  # left, down, right, up
    ends = set()
    for direction in (action, (action + 1) % 4, (action + 3) % 4):
        r, c = row + compass[direction][0], column + compass[direction][1]
        ends.add(r * size + c + 1 if r in range(size) and c in range(size) else cell)
    return ends


def one_hot(cell, size):
    return {f"cell[{i}]": Fraction(int(i == cell)) for i in range(1, size * size + 1)}


def test_frozenlake_transitions(data_dir):
    system = load_scenario("frozenlake").system(data_dir / "frozenlake")
    network = system.agents[0].expr.scores[0].application.network
    for cell in range(1, 10):
        state = one_hot(cell, 3)
        action = int(np.argmax(network.evaluate(np.array([[float(v) for v in state.values()]]))))
        assert actions(system, state) == {"direction": action}
        found = [t.state for t in successors(system, state)]
        assert all(s in [one_hot(end, 3) for end in grid_moves(3, cell, action)] for s in found)
        assert all(one_hot(end, 3) in found for end in grid_moves(3, cell, action))
    assert [t.branch for t in successors(system, one_hot(1, 3))] == ["ahead", "slip left", "slip right"]


def write_directions(path, directions):
    """A network file whose agent goes in the given direction (0 to 3) in each cell, whatever its size."""
    count = len(directions)
    lines = ["// directions", f"2,{count},4,{count},", f"{count},{count},4,", "0,"]
    lines += [",".join(["0"] * count) + ",", ",".join(["1"] * count) + ","]
    lines += [",".join(["0"] * (count + 1)) + ",", ",".join(["1"] * (count + 1)) + ","]
    lines += [",".join(str(int(i == j)) for j in range(count)) + "," for i in range(count)] + ["0,"] * count
    lines += [",".join(str(int(d == k)) for d in directions) + "," for k in range(4)] + ["0,"] * 4
    path.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("size", [2, 4])
def test_frozenlake_of_other_sizes_turns_the_right_way(tmp_path, size):
    for action in range(4):
        write_directions(tmp_path / "agent.nnet", [action] * size**2)
        settings = {"size": size, "holes": "2", "goal": size**2, "start": f"1,{size}"}
        system = load_scenario("frozenlake").system(tmp_path, **settings)
        assert len(system.regions) == 2
        for cell in range(1, size**2 + 1):
            found = [t.state for t in successors(system, one_hot(cell, size))]
            assert {tuple(s.values()) for s in found} == {
                tuple(one_hot(end, size).values()) for end in grid_moves(size, cell, action)
            }


def test_frozenlake_slips_to_its_own_left(tmp_path):
    """Facing down, the left hand is on the right of the map (paper, Example 1)."""
    write_directions(tmp_path / "agent.nnet", [1] * 9)
    system = load_scenario("frozenlake").system(tmp_path)
    found = {t.branch: t.state for t in successors(system, one_hot(5, 3))}
    assert found == {"ahead": one_hot(8, 3), "slip left": one_hot(6, 3), "slip right": one_hot(4, 3)}


def test_double_integrator_stays_in_the_published_boxes(data_dir):
    folder = data_dir / "double_integrator" / "nfl" / "default"
    system = load_scenario("double_integrator").system(folder)
    corners = itertools.product(np.linspace(2.5, 3, 9), np.linspace(-0.25, 0.25, 9))
    state = dict(zip(("x[1]", "x[2]"), np.array(list(corners)).T, strict=True))
    for _ in range(5):
        state, enabled = step_batch(system, state, np.zeros(81, dtype=int))
        assert enabled.all()
    # spec.md, (b): the exact box after 5 steps; corners of the initial box come close to its faces.
    for name, (low, high) in {"x[1]": (0.011153, 0.080753), "x[2]": (-0.135892, -0.048725)}.items():
        assert low - 1e-5 <= state[name].min() <= low + 0.02
        assert high - 0.02 <= state[name].max() <= high + 1e-5


def test_frozenlake_starts_in_every_cell_without_a_hole(data_dir):
    system = load_scenario("frozenlake").system(data_dir / "frozenlake", start="", holes="3,7")
    (region,) = system.regions
    for cell in range(1, 10):
        assert contains(region, one_hot(cell, 3)) is (cell not in (3, 7))
    assert not contains(region, {f"cell[{i}]": Fraction(i < 3) for i in range(1, 10)})


def test_cruise_moves_by_the_exact_solution_of_its_drive():
    # g' = 2 (u - g) with u held: g(t) = u + (g0 - u) exp(-2t), integrated twice
    system = load_scenario("cruise").system()
    state = {"x_lead": 72.0, "v_lead": 26.1, "g_lead": -0.7, "x": 10.0, "v": 30.1, "g": 0.3}
    after, _ = step_batch(system, {n: np.array([v]) for n, v in state.items()}, np.zeros(1, dtype=int))
    left = np.exp(-0.2)
    command = float(actions(system, {n: Fraction(v) for n, v in state.items()})["u"])
    for tail, u in (("_lead", -2.0), ("", command)):
        x, v, g = (state[name + tail] for name in ("x", "v", "g"))
        gone = (g - u) * (1 - left) / 2
        assert after["g" + tail][0] == pytest.approx(u + (g - u) * left, abs=1e-9)
        assert after["v" + tail][0] == pytest.approx(v + 0.1 * u + gone, abs=1e-9)
        assert after["x" + tail][0] == pytest.approx(x + 0.1 * v + 0.005 * u + (g - u) * 0.05 - gone / 2, abs=1e-9)


@pytest.mark.parametrize(("policy", "states"), [("none", 125), ("aware", 123), ("ignoring", 123)])
def test_blocks_have_their_states_and_are_all_on_the_table_in_one(policy, states):
    """Without failures: 73 arrangements with an empty hand and 4 * 13 with a block in it; the policies avoid two."""
    if policy == "none":
        folder = load_scenario("blocks").path.parent
        constants = {"item_cost_bound": 1, "failing_probability": 0}
        system = load_jani(folder / "model.jani", folder / "property.jani", "none", constants).system()
    else:
        system = load_scenario("blocks").system(policy=policy, bound=1, failing=0)
    graph = StateGraph(system, lambda: None, transitions=True, limit=1000)
    graph.reach(1000)
    assert graph.initial == 72
    here = {tuple(int(graph.state(i)[f"block_{b}"]) for b in range(4)) for i in range(graph.count)}
    assert len(here) == states
    assert ((1, 1, 1, 1) in here) == (policy == "none")
    report = verify(system, "safe", timeout=60)
    assert report.violated if policy == "none" else report.satisfied


@pytest.mark.parametrize("policy", ["aware", "ignoring"])
def test_blocks_are_never_all_on_the_table_whatever_fails(policy):
    system = load_scenario("blocks").system(policy=policy, bound=50)
    report = verify(system, "safe", mode="abstraction", timeout=60)
    assert report.satisfied
    assert report.invariant["abstract"]["starts"] == 72
