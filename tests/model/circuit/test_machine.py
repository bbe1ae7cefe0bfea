"""Machines: exact arithmetic against plain integers, what is refused, and the bundled designs."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.needs import needs
from venmas import verify
from venmas.budget import Budget
from venmas.errors import ModelError, ScenarioError
from venmas.formats.designs import design_names, load_machine
from venmas.model.circuit.integers import Word, ite
from venmas.model.circuit.machine import Machine
from venmas.model.circuit.simulate import evaluate, first_states, step
from venmas.procedures.netlist.ranges import circuit_of

VIOLATED = {
    "blink": {"on_always"},
    "delay": {"rings_always"},
    "gray": {"rounds_always"},
    "i2c": {"clocks_always"},
    "lcd": {"sends_always"},
    "load_store": {"switches_always"},
    "pwm": {"high_always"},
    "seven_seg": {"second_always"},
    "thermocouple": {"pauses_always"},
    "uart": {"sends_always"},
    "vga": {"shows_always"},
}


def test_the_designs_are_there() -> None:
    assert design_names() == tuple(VIOLATED)


@pytest.mark.parametrize("name", VIOLATED)
def test_each_property_of_the_designs_is_decided(name: str) -> None:
    needs("bitwuzla", "pysat")
    machine = load_machine(name)
    circuit = circuit_of(machine, Budget(30))
    assert len(machine.properties) >= 3
    for key, text in machine.properties.items():
        answer = verify(circuit, text, timeout=30)
        assert answer.verdict == ("violated" if key in VIOLATED[name] else "satisfied"), (key, answer)


def test_other_sizes_of_a_design() -> None:
    needs("bitwuzla", "pysat")
    circuit = circuit_of(load_machine("lcd", power=300, setup="1000", send=7), Budget(30))
    assert circuit.register_bits == 12
    assert verify(circuit, "F G lcd_enable -> G F begins", timeout=30).satisfied
    with pytest.raises(ScenarioError, match="no design 'lcdd'; bundled ones are blink, "):
        load_machine("lcdd")
    with pytest.raises(ScenarioError, match=r"delay\.py, line \d+: delay: cnt lies in 0 \.\. -1"):
        load_machine("delay", delay=0)


def random_word(rng: random.Random, leaves: list[tuple[Word, str]], size: int) -> tuple[Word, str]:
    """A word and the same in Python."""
    if size <= 1:
        return rng.choice([*leaves, *[(leaves[0][0] * 0 + k, str(k)) for k in (rng.randint(-9, 9),)]])
    kind = rng.choice(["+", "-", "*", "ite", "<", "<=", ">", ">=", "==", "!=", "&", "|", "^", ">>", "neg", "bit"])
    one, left = random_word(rng, leaves, size // 2)
    two, right = random_word(rng, leaves, size - size // 2)
    if kind in ("&", "|", "^", ">>", "bit") and (one.low < 0 or two.low < 0):
        kind = "+"
    computed: dict[str, Callable[[], tuple[Word, str]]] = {
        "+": lambda: (one + two, f"({left} + {right})"),
        "-": lambda: (one - two, f"({left} - {right})"),
        "*": lambda: (one * two, f"({left} * {right})"),
        "<": lambda: (one < two, f"int({left} < {right})"),
        "<=": lambda: (one <= two, f"int({left} <= {right})"),
        ">": lambda: (one > two, f"int({left} > {right})"),
        ">=": lambda: (one >= two, f"int({left} >= {right})"),
        "==": lambda: (one == two, f"int({left} == {right})"),
        "!=": lambda: (one != two, f"int({left} != {right})"),
        "&": lambda: (one & two, f"({left} & {right})"),
        "|": lambda: (one | two, f"({left} | {right})"),
        "^": lambda: (one ^ two, f"({left} ^ {right})"),
        ">>": lambda: (one >> 2, f"({left} >> 2)"),
        "bit": lambda: (one[0], f"({left} & 1)"),
        "neg": lambda: (-one, f"(-{left})"),
        "ite": lambda: (ite(one < two, one, two), f"({left} if {left} < {right} else {right})"),
    }
    return computed[kind]()


@pytest.mark.parametrize("seed", range(60))
def test_arithmetic_is_that_of_integers(seed: int) -> None:
    rng = random.Random(seed)
    machine = Machine("m")
    leaves = [(machine.register("a", 3), "a"), (machine.register("b", low=2, high=5), "b"), (machine.input("c"), "c")]
    word, text = random_word(rng, leaves, rng.randint(2, 9))
    rows = [(a, b, c) for a in range(8) for b in range(2, 6) for c in range(2)]
    columns = np.array(rows).T
    known = {leaf.node: column for (leaf, _), column in zip(leaves, columns, strict=True)}
    (found,) = evaluate(word.builder, known, [word.node])
    assert word.builder.width(word.node) <= 64
    for (a, b, c), value in zip(rows, np.broadcast_to(found, len(rows)), strict=True):
        exact = eval(text, {"a": a, "b": b, "c": c, "int": int})
        assert word.low <= exact <= word.high, text
        assert int(value) == exact % (1 << word.builder.width(word.node)), text


def test_a_register_by_width_wraps_and_one_by_range_is_refused_where_it_leaves() -> None:
    needs("bitwuzla", "pysat")

    def counter(guarded: bool, **size: int) -> Machine:
        machine = Machine("counter")
        up = machine.input("up")
        n = machine.register("n", init=0, **size)
        machine.next(n=ite(up & (n < 9), n + 1, n) if guarded else n + up)
        return machine

    wraps = circuit_of(counter(False, width=4), Budget(10))
    assert int(step(wraps, [np.array([15])], [np.array([1])])[0][0]) == 0
    kept = circuit_of(counter(True, high=9), Budget(10))
    assert verify(kept, "F G up -> F G n == 9", timeout=10).satisfied
    with pytest.raises(ModelError, match=r"n may leave its range 0 \.\. 9 in a step from up = 1, n = 9\. Updates"):
        circuit_of(counter(False, high=9), Budget(10))
    with pytest.raises(ModelError, match=r"n may leave its range 0 \.\. 8"):
        circuit_of(counter(True, high=8), Budget(10))


def test_ranges_hold_at_first_and_for_inputs() -> None:
    needs("bitwuzla", "pysat")
    machine = Machine("m")
    speed = machine.input("speed", low=1, high=3)
    place = machine.register("place", low=5, high=20)
    machine.next(place=ite(place + speed > 20, 5, place + speed))
    circuit = circuit_of(machine, Budget(10))
    assert verify(circuit, "G F place < 8", timeout=10).satisfied
    answer = verify(circuit, "G F place == 6", timeout=10)
    assert answer.violated and answer.lasso is not None
    assert all(5 <= state["place"] <= 20 for state in answer.lasso.states)
    assert all(1 <= inputs["speed"] <= 3 for inputs in answer.lasso.inputs)
    assert not verify(circuit, "G place > 4", timeout=10).violated
    first = Machine("m")
    first.next(n=first.register("n", low=2, high=9, init=4))
    start = first_states(circuit_of(first, Budget(10)), [np.array([7])], [])
    assert int(start[0][0]) == 4
    assert not verify(circuit_of(first, Budget(10)), "G n == 5", timeout=10).satisfied


def test_what_is_no_machine_is_said(tmp_path: Path) -> None:
    machine = Machine("m")
    n = machine.register("n", low=0, high=9)
    bad: list[tuple[Callable[[], object], str]] = [
        (lambda: machine.register("n", 3), "two things are called 'n'"),
        (lambda: machine.register("r", 3, high=2), "either a width in bits or a highest value"),
        (lambda: machine.register("r"), "either a width in bits or a highest value"),
        (lambda: machine.register("r", 0), "0 bits"),
        (lambda: machine.register("r", low=-1, high=2), "ranges start at 0"),
        (lambda: machine.register("r", low=1, high=2, init=0), "starts with 0, outside of 1 .. 2"),
        (lambda: machine.next(m=n), "is no register"),
        (lambda: machine.signal("s", n - 1), "may be negative"),
        (lambda: machine.signal("a b", n), "is no name"),
        (lambda: bool(n < 3), "neither true nor false"),
        (lambda: ite(n, 1, 2), "a condition is 0 or 1"),
        (lambda: (n - 3) & 1, "not negative"),
        (lambda: n[4], "bits 0 to 3"),
        (lambda: n + Machine("other").register("n", 3), "two machines"),
        (lambda: n + "1", "whole numbers are known"),  # type: ignore[operator]
        (lambda: n * (1 << 70000), "are the most"),
        (machine.circuit, "never given a value"),
    ]
    for made, message in bad:
        with pytest.raises(ModelError, match=message):
            made()
    machine.next(n=n)
    with pytest.raises(ModelError, match="given a value twice"):
        machine.next(n=n)
    file = tmp_path / "mine.py"
    file.write_text("def build(networks):\n    return 3\n")
    with pytest.raises(ScenarioError, match="must return a Machine here, it returned int"):
        load_machine(file)
