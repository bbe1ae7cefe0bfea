"""Delay: a counter that raises a signal for one step each time it comes to its end, and starts again.

The family Delay of *Neural Model Checking* (Giacobbe, Kroening, Pal, Tautschnig, NeurIPS 2024),
written from its description.
"""

from venmas.model import NetworkFolder, Parameter
from venmas.model.circuit.integers import ite
from venmas.model.circuit.machine import Machine

PARAMETERS = (Parameter("delay", 50, "steps between two signals, 2 or more"),)


def build(networks: NetworkFolder, delay: int) -> Machine:
    """A counter of 0 .. delay - 1."""
    m = Machine("delay", "A signal after a fixed delay, again and again")
    rst = m.input("rst")
    cnt = m.register("cnt", low=0, high=delay - 1)
    m.register("sig", 1)
    end = cnt == delay - 1
    m.next(cnt=ite(rst | end, 0, cnt + 1), sig=~rst & end)
    m.property("rings", "F G !rst -> G F sig")
    m.property("pulses", "F G !rst -> G F (sig & X !sig)")
    m.property("rings_always", "G F sig")  # not so: it may be reset for ever
    return m
