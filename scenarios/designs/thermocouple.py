"""Thermocouple: data are fetched over a bus, again and again, with a pause in between.

The family Thermocouple of *Neural Model Checking* (Giacobbe, Kroening, Pal, Tautschnig, NeurIPS 2024),
written from its description. States: 0 start, 1 get data, 2 pause.
"""

from venmas.model import NetworkFolder, Parameter
from venmas.model.circuit.integers import ite
from venmas.model.circuit.machine import Machine

PARAMETERS = (
    Parameter("start", 30, "steps until the sensor is up"),
    Parameter("pause", 20, "steps between two readings"),
)


def build(networks: NetworkFolder, start: int, pause: int) -> Machine:
    """A state, and a counter of the steps in it."""
    m = Machine("thermocouple", "A sensor that is read over a bus")
    rst, busy, data = m.input("rst"), m.input("busy"), m.input("data", 14)
    state = m.register("state", low=0, high=2)
    cnt = m.register("cnt", low=0, high=max(start, pause) - 1)
    temperature = m.register("temperature", 14)
    over = ite(state == 0, cnt >= start - 1, cnt >= pause - 1)
    fetched = (state == 1) & ~busy
    m.next(
        state=ite(rst, 0, ite(state == 1, ite(busy, 1, 2), ite(over, 1, state))),
        cnt=ite(rst | (state == 1) | over, 0, cnt + 1),
        temperature=ite(rst, 0, ite(fetched, data, temperature)),
    )
    m.property("reads", "F G !rst -> G F state == 1")
    m.property("pauses", "F G (!rst & !busy) -> G F state == 2")
    m.property("pauses_always", "F G !rst -> G F state == 2")  # not so: the bus may be busy for ever
    return m
