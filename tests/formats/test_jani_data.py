"""Published models of PlaJA: start states, reachable states and which files of its test-suite are read."""

from pathlib import Path

import numpy as np
import pytest

from venmas import load_jani
from venmas.errors import InputError
from venmas.model.evaluation.regions import is_initial
from venmas.procedures.explicit.graph.graph import ABSENT, StateGraph


@pytest.fixture(scope="module")
def policies(data_dir: Path) -> Path:
    folder = data_dir / "policy"
    if not folder.is_dir():
        pytest.skip(f"there is no folder {folder} of published policies")
    return folder


def reached(scenario):
    """The graph of all reachable states, its successors (branches, states), and the states that are unsafe."""
    system = scenario.system()
    graph = StateGraph(system, lambda: None, transitions=True, limit=10**6)
    graph.reach(10**6)
    unsafe = next(f for name, f in system.propositions.items() if name.startswith("unsafe_"))
    bad = [i for i in range(graph.count) if unsafe.comparison.holds(graph.state(i))]
    return graph, graph.successors(), bad


def blocks4(policies, policy, bound, failing):
    folder = policies / "blocksworld_4"
    interface = "none" if policy is None else folder / "blocksworld_4_3_16_16.jani2nnet"
    constants = {"item_cost_bound": bound, "failing_probability": failing}
    return load_jani(folder / "blocksworld_4_3.jani", policy=interface, constants=constants)


@pytest.mark.parametrize(
    ("policy", "bound", "failing", "states", "unsafe", "deadlocks"),
    [
        (None, 1, 0, 125, 1, None),
        (None, 1, "0.5", 2000, 16, 777),
        ("net", 1, 0, 29, 0, None),
        ("net", 1, "0.5", 58, 0, 29),
        ("net", 2, "0.5", 250, 0, 71),
        ("net", 3, "0.5", 796, 0, 155),
    ],
)
def test_reachable_states_of_four_blocks(policies, policy, bound, failing, states, unsafe, deadlocks):
    graph, successors, bad = reached(blocks4(policies, policy, bound, failing))
    assert (graph.initial, graph.count, len(bad)) == (14, states, unsafe)
    if deadlocks is not None:
        assert np.count_nonzero((successors == ABSENT).all(0)) == deadlocks


def test_six_blocks(policies):
    folder = policies / "blocksworld_6"
    property_file = next(folder.glob("pa_*.jani"))
    interface = next(folder.glob("*.jani2nnet"))
    for number, predicates in ((1, 43), (2, 49)):
        scenario = load_jani(folder / "blocksworld_6_5.jani", property_file, interface, property_name=number)
        assert len(scenario.predicates()) == predicates
    system = scenario.system()
    assert (len(system.variables), len(system.branches), len(system.agents)) == (21, 144, 1)
    assert len(dict(system.agents[0].labels)) == 7
    graph = StateGraph(system, lambda: None, transitions=True, limit=10**6)
    assert graph.initial == 202
    assert scenario.formula in system.properties


def test_racetrack(policies):
    folder = policies / "racetrack"
    scenario = load_jani(folder / "racetrack_barto_small.jani", folder / "property.jani")
    graph, successors, _ = reached(scenario)
    assert graph.initial == 999
    assert [str(p) for p in scenario.predicates()][:3] == ["car0_crashed == 1", "car0_finished == 1", "car0_x >= 17"]
    place = [int(graph.state(i)["car_location"]) for i in range(graph.count)]
    labels = {name: i for i, name in graph.system.variables["car_location"].labels}
    after = [[int(j) for j in successors[:, i] if j >= 0] for i in range(len(place))]
    waiting = [i for i, at in enumerate(place) if at == labels["wait"]]
    assert len(waiting) == 3482
    ends = [k for i in waiting for j in after[i] for k in after[j]]
    ends = [m for k in ends for m in ([k] if place[k] == labels["crashed"] else after[k])]
    assert sum(place[m] == labels["crashed"] for m in ends) == 117


def test_the_eight_puzzle_keeps_a_start_condition(policies):
    constants = {"failing_probability": "0.5", "item_cost_bound": 1, "cost_terminal": "true"}
    scenario = load_jani(policies / "npuzzle" / "npuzzle_3_3.jani", policy="none", constants=constants)
    system = scenario.system()
    assert (len(system.variables), len(system.branches)) == (18, 64)  # 32 edges of the 96 are for another constant
    graph = StateGraph(system, lambda: None, transitions=True, limit=10**6)
    assert graph.initial == 4900
    assert all(is_initial(system, graph.state(i)) for i in range(0, 4900, 100))
    assert len(scenario.predicates(policies / "npuzzle" / "preds_lab_id_1.jani")) == 53


READ = {"for_pa_cegar": (3, 2), "for_pa_cegar2": (5, 4), "for_pa_cegar3": (5, 5)}
"""Variables and branches of the models of the test-suite that need no arrays."""

REFUSED = {
    "for_nn_sat": "arrays are not read",
    "for_pa": "arrays are not read",
    "for_pa2": "arrays are not read",
    "for_ppa_racetrack": "arrays are not read",
    "for_ppa_simple": "arrays are not read",
    "for_solution_enumerator": "arrays are not read",
    "for_succ_gen": "arrays are not read",
    "for_to_z3": "arrays are not read",
    "tiny_c_car_v_car": "this is a property file",
    "tiny_c_car_v_car_relaxed": "this is a property file",
}


def test_every_model_of_the_test_suite_is_read_or_refused(policies):
    files = {p.stem: p for p in (policies / "unit").glob("*.jani")}
    assert files.keys() == READ.keys() | REFUSED.keys()
    for name, sizes in READ.items():
        for number in (1, 2):
            scenario = load_jani(files[name], property_name=number)
            system = scenario.system()
            assert (len(system.variables), len(system.branches)) == sizes
            assert len(scenario.predicates()) == len(scenario.chosen.data["predicates"])
    for name, message in REFUSED.items():
        number = 1 if name == "for_nn_sat" else None
        with pytest.raises(InputError, match=message) as caught:
            load_jani(files[name], property_name=number, policy="none").system()
        assert str(files[name]) in str(caught.value)


def test_an_interface_over_elements_of_arrays_is_refused(policies):
    with pytest.raises(InputError, match=r"for_nn_sat.jani2nnet, input\[2\].index: elements of arrays"):
        load_jani(policies / "unit" / "for_nn_sat.jani", property_name=1)


def test_properties_name_no_file_outside_of_their_folder(policies):
    with pytest.raises(InputError, match=r"is not in the folder .* --set jani.policy=FILE"):
        load_jani(policies / "blocksworld_4" / "blocksworld_4_3.jani")
