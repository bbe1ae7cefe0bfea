"""FrozenLake of Gymnasium: what the system does is what the environment's own table says."""

from tests.needs import needs

needs("gymnasium")

import json

import gymnasium
import numpy as np
import pytest
from click.testing import CliRunner
from gymnasium.envs.toy_text.frozen_lake import MAPS, FrozenLakeEnv, generate_random_map

from tests.in_process import in_process
from venmas.cli.main import main
from venmas.engine.verify import verify
from venmas.errors import ModelError, NetworkError, ScenarioError
from venmas.formats.gym import frozen_lake, settings, table, transitions
from venmas.model import load_scenario
from venmas.model.evaluation.regions import contains
from venmas.model.evaluation.simulate import step_batch
from venmas.nn.network import relu_network


def random_letters(rng, rows, columns):
    """Any map, with several starts and goals or none, and letters that Gymnasium takes for ice."""
    letters = rng.choice(list("SFHGx"), (rows, columns), p=[0.2, 0.4, 0.2, 0.1, 0.1])
    letters[rng.integers(rows), rng.integers(columns)] = "S"
    return ["".join(row) for row in letters]


RNG = np.random.default_rng(7)
RANDOM = [generate_random_map(int(RNG.integers(2, 9)), float(RNG.uniform(0.5, 1)), seed) for seed in range(10)]
RANDOM += [random_letters(RNG, *RNG.integers(2, 7, 2)) for _ in range(10)]
RANDOM += [["SSSSSSSH", *["SSHSSSSS"] * 6, "SSSSFSSG"]]  # starts that are one initial set


def always(action, cells):
    """A policy that takes one action everywhere."""
    return relu_network([np.zeros((4, cells))], [np.eye(4)[action]])


def make(desc, slippery=True, **options):
    return gymnasium.make("FrozenLake-v1", desc=desc, is_slippery=slippery, **options)


@pytest.mark.parametrize("slippery", [True, False])
@pytest.mark.parametrize("desc", [MAPS["4x4"], MAPS["8x8"], *RANDOM], ids=lambda d: "/".join(d))
def test_transitions_are_those_of_the_environment(desc, slippery):
    env = make(desc, slippery)
    entries, cells = env.unwrapped.P, env.observation_space.n
    assert len(entries) == cells
    for action in range(4):
        system = frozen_lake(env, always(action, cells))
        reached = [set() for _ in range(cells)]
        states = dict(zip(system.variables, np.eye(cells), strict=True))
        for branch in range(len(system.branches)):
            after, enabled = step_batch(system, states, np.full(cells, branch))
            rows = np.stack(list(after.values()), axis=1)
            assert enabled.all() and set(rows.ravel()) == {0.0, 1.0} and (rows.sum(1) == 1).all()
            for cell, end in enumerate(rows.argmax(1)):
                reached[cell].add(int(end))
        for cell in range(cells):
            answers = entries[cell][action]
            assert reached[cell] == {end for probability, end, _, _ in answers if probability > 0}
            if "".join(desc)[cell] in "GH":  # an episode ends there; the table says: stays, terminated
                assert reached[cell] == {cell} and [a[1:] for a in answers] == [(cell, 0, True)]
    starts = {i for i, p in enumerate(env.unwrapped.initial_state_distrib) if p > 0}
    for cell, state in enumerate(np.eye(cells, dtype=int).tolist()):
        point = dict(zip(system.variables, state, strict=True))
        assert any(contains(region, point) for region in system.regions) is (cell in starts)
    assert transitions(system) == table(env)


def test_names_of_maps_are_those_of_gymnasium():
    for name, rows in MAPS.items():
        known = load_scenario("frozenlake").build.__globals__["MAPS"][name]
        assert known == "/".join(rows) == settings(gymnasium.make("FrozenLake-v1", map_name=name))["map"]


def test_propositions_are_the_letters_of_the_map():
    system = frozen_lake(make(["SHF", "GFG"]), always(2, 6))
    assert str(system.propositions["safe"]) == "cell[2] < 0.1"
    assert str(system.propositions["goal"]) == "cell[4] > 0.9 | cell[6] > 0.9"
    nothing = frozen_lake(make(["SF", "FF"]), always(2, 4))
    assert [str(nothing.propositions[p]) for p in ("safe", "goal")] == ["true", "false"]
    assert verify(nothing, "AG^5 (safe & !goal)").satisfied


def test_the_agent_stays_where_its_episode_ends():
    """In the paper's world it walks on from the goal, and then into a hole."""
    assert verify(frozen_lake(make(["SG", "FH"], False), always(2, 4)), "AG^9 safe").satisfied
    assert verify(frozen_lake(make(["SG", "FH"]), always(1, 4)), "AG^9 safe").violated
    down = verify(frozen_lake(make(["SG", "FH"], False), always(1, 4)), "AG^9 safe & AG^9 !goal")
    assert down.satisfied


def test_improbable_is_possible_and_impossible_is_not():
    barely = make(["SHG", "FFH"], success_rate=1 - 1e-9)
    assert verify(frozen_lake(barely, always(1, 6)), "AX safe").violated  # the slip to the right of the map
    never = make(["SHG", "FFH"], success_rate=1.0)
    assert settings(never)["slippery"] == "false"
    assert verify(frozen_lake(never, always(1, 6)), "AX safe").satisfied


def test_worlds_that_are_no_frozen_lake():
    with pytest.raises(ScenarioError, match=r"differ in \d+ places: from cell 0 with action 1 the scenario leads to"):
        frozen_lake(make(MAPS["4x4"], success_rate=0.0), always(0, 16))
    for name, kind in (("CartPole-v1", "CartPoleEnv"), ("CliffWalking-v1", "CliffWalkingEnv"), ("Taxi-v4", "TaxiEnv")):
        for asked in (lambda e: frozen_lake(e, always(0, 16)), settings, table):
            with pytest.raises(
                ScenarioError, match=rf"is no FrozenLake: expected .*'FrozenLake-v1'\), .* got .*{kind};"
            ):
                asked(gymnasium.make(name))
    with pytest.raises(ScenarioError, match=r"FrozenLake-v1 is no FrozenLake: .* got builtins\.str; describe another"):
        frozen_lake("FrozenLake-v1", always(0, 16))


class Melting(FrozenLakeEnv):
    """The table is that of FrozenLake, its steps are not."""

    def step(self, action):
        return super().step(0)


def test_worlds_that_look_like_a_frozen_lake():
    with pytest.raises(ScenarioError, match=r"is no FrozenLake: .* got .*Melting; describe another world"):
        frozen_lake(Melting(), always(0, 16))
    several = gymnasium.make_vec("FrozenLake-v1", 2)
    with pytest.raises(ScenarioError, match=r"is no FrozenLake: .* got .*VectorEnv;"):
        frozen_lake(several, always(0, 16))


def test_tables_that_were_tampered_with():
    env = make(MAPS["4x4"])
    env.unwrapped.P[3][1] = [(1.0, 9, 0, False)]
    with pytest.raises(
        ScenarioError, match=r"differ in 1 places: from cell 3 with action 1 .* the environment to \[9\]"
    ):
        frozen_lake(env, always(0, 16))


def test_transitions_of_another_system():
    with pytest.raises(ModelError, match="this is no grid of cells"):
        transitions(load_scenario("vcas").system())


def test_networks_that_do_not_fit(tmp_path):
    with pytest.raises(ScenarioError, match=r"a map of 4x4 cells needs a network with 16 inputs and 4 outputs"):
        frozen_lake(make(MAPS["4x4"]), always(0, 9))
    with pytest.raises(NetworkError, match="does not exist"):
        frozen_lake(make(MAPS["4x4"]), tmp_path / "none.onnx")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("SFF/FH", "rows of equal length"),
        ("5x5", "'5' is no cell; expected 4x4, 8x8, or rows"),
        ("", "rows of equal length"),
        ("SF/FX", "'X' is no cell"),
        ("FF/FG", "no cell to start in"),
        ("S" * 129 + ("/" + "F" * 129) * 128, "16641 cells, at most 16384"),
    ],
)
def test_maps_that_are_none(given, message):
    with pytest.raises(ScenarioError, match=message):
        load_scenario("frozenlake").system(map=given)


def test_a_map_stands_in_for_the_parameters_of_a_square():
    scenario = load_scenario("frozenlake")
    assert set(scenario.values({"map": "4x4"})) == {"map", "slippery"}
    assert set(scenario.values({})) == {"size", "holes", "goal", "start", "map", "slippery"}
    with pytest.raises(ScenarioError, match="'map' stands in for 'goal': set one of the two"):
        scenario.values({"map": "4x4", "goal": "9"})
    with pytest.raises(ScenarioError, match="expected true or false"):
        scenario.values({"slippery": "perhaps"})


CAREFUL = [0, 3, 3, 3, 0, 0, 0, 0, 3, 1, 0, 0, 0, 2, 1, 0]
"""The policy of the 4x4 map that arrives most often; cell 6 (from 0) lies between two holes."""


def write_policy(path, actions):
    """A .nnet file whose scores are 1 for the action of the cell."""
    count = len(actions)
    lines = [f"1,{count},4,{count},", f"{count},4,", "0,", *(",".join([v] * count) + "," for v in "01")]
    lines += [",".join([v] * (count + 1)) + "," for v in "01"]
    lines += [",".join(str(int(a == k)) for a in actions) + "," for k in range(4)] + ["0,"] * 4
    path.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("mode", ["adaptive", "mono", "comp-seq", "exact"])
def test_every_mode_knows_the_first_step_into_a_hole(mode):
    policy = relu_network([np.eye(16), np.eye(4)[:, CAREFUL]], [np.zeros(16), np.zeros(4)])
    system = frozen_lake(make(MAPS["4x4"]), policy)
    for formula, holds in (("AG^5 safe", True), ("AG^6 safe", False), ("EF^5 goal", False), ("EF^6 goal", True)):
        assert verify(system, formula, mode=mode, solver="highs", tune=in_process(mode)).satisfied is holds


def test_a_stored_result_names_the_map_and_nothing_it_stands_in_for(tmp_path):
    write_policy(tmp_path / "careful.nnet", CAREFUL)
    arguments = ["--scenario", "frozenlake", "--set", "map=4x4", "--networks", str(tmp_path / "careful.nnet")]
    stored = tmp_path / "w.json"
    done = CliRunner().invoke(main, ["verify", *arguments, "--formula", "AG^6 safe", "--witness", str(stored)])
    assert done.exit_code == 10, done.output
    assert "frozenlake (map=4x4, slippery=true)" in done.stdout
    assert json.loads(stored.read_text())["parameters"] == {"map": "4x4", "slippery": "true"}
    again = ["replay", str(stored), "-q"]
    assert "--networks says which to open" in CliRunner().invoke(main, again).stderr
    named = ["--networks", str(tmp_path / "careful.nnet")]
    assert CliRunner().invoke(main, [*again, *named]).stdout == "violated\n"
    both = CliRunner().invoke(main, ["verify", *arguments, "--set", "size=4", "--formula", "AG^6 safe"])
    assert both.exit_code == 2 and "'map' stands in for 'size': set one of the two" in both.stderr
