"""What is found of a system once holds until the system is changed."""

import pickle

import pytest

from venmas import System
from venmas.errors import ModelError
from venmas.model.canonical.canonical import shared, system_digest, system_to_json
from venmas.model.evaluation.regions import several_wide
from venmas.model.system.networks import networks_of
from venmas.question import read_formula

pytestmark = pytest.mark.quick


def plain() -> System:
    system = System("plain")
    x, y = system.real("x", -8, 8), system.real("y", -8, 8)
    system.branch("go", {x: x / 2, y: y / 2})
    system.initial(x >= 0, x <= 1, y == 0)
    system.proposition("low", x < 1)
    return system


def test_a_fact_is_found_once_until_the_system_is_changed():
    system, found = plain(), []

    def find() -> int:
        found.append(len(system.variables))
        return found[-1]

    assert [system.once("size", find) for _ in range(3)] == [2, 2, 2]
    assert system.once("other", find) == 2 and found == [2, 2]
    system.real("z", 0, 1)
    assert [system.once("size", find) for _ in range(2)] == [3, 3] and found == [2, 2, 3]


@pytest.mark.parametrize(
    "change",
    [
        lambda s: s.agent(s["x"] + 1),
        lambda s: s.branch("more", x=s["x"]),
        lambda s: s.initial(s["x"] == 1),
        lambda s: s.regions.append(s.regions[0][:1]),
        lambda s: s.proposition("high", s["x"] > 1),
        lambda s: s.propositions.update(low=s.formula(s["x"] > 1, "here")),
        lambda s: s.specify("safe", "AG^2 low"),
        lambda s: setattr(s, "description", "another"),
    ],
)
def test_every_change_is_noticed(change):
    system = plain()
    before = system_digest(system)
    change(system)
    assert system_digest(system) != before


def test_what_was_valid_is_checked_again_after_a_change():
    system = plain()
    system.validate()
    system.initial(system["x"] >= 7, system["x"] <= 9)
    for _ in range(2):  # an error is no fact
        with pytest.raises(ModelError, match="outside the declared range"):
            system.validate()


def test_names_that_are_new_are_known():
    system = plain()
    read_formula(system, "AX low")
    system.proposition("high", system["x"] > 1)
    assert str(read_formula(system, "AX high"))
    assert not several_wide(system)
    system.initial(system["x"] <= 1)
    assert several_wide(system)


def test_a_copy_finds_its_own_values():
    system = plain()
    networks_of(system)["none"] = None  # whoever asks gets a dictionary of his own
    assert networks_of(system) == {}
    copy = pickle.loads(pickle.dumps(system))
    assert system_digest(copy) == system_digest(system)
    copy.specify("safe", "AG^2 low")
    assert system_digest(copy) != system_digest(system)


def test_a_shared_copy_is_written_alike():
    system = plain()
    twice = System("plain")
    x, y = twice.real("x", -8, 8), twice.real("y", -8, 8)
    twice.branch("go", {x: x / 2 + y / 2, y: x / 2 + y / 2})
    twice.initial(x >= 0, x <= 1, y == 0)
    copy = shared(twice)
    assert system_to_json(copy) == system_to_json(twice)
    updates = dict(copy.branches[0].updates)
    assert updates["x"] is updates["y"]
    assert system_to_json(shared(system)) == system_to_json(system)
