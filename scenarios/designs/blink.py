"""Blink: a light that is on for a round of a counter, and off for the next.

The family blink of Giacobbe, Kroening, Pal, Tautschnig, *Let a Neural Network be Your Invariant*, NeurIPS 2025.
"""

from venmas.model import NetworkFolder, Parameter
from venmas.model.circuit.integers import ite
from venmas.model.circuit.machine import Machine

PARAMETERS = (Parameter("bits", 6, "bits of the counter"),)


def build(networks: NetworkFolder, bits: int) -> Machine:
    """A counter of `bits` bits, and a mode that changes when it is 0."""
    m = Machine("blink", "A light that blinks")
    rst = m.input("rst")
    cnt = m.register("cnt", bits)
    mode = m.register("mode", 1)
    m.register("led", 1)
    m.next(cnt=ite(rst, 0, cnt + 1), mode=~rst & (mode ^ (cnt == 0)), led=~rst & mode)
    m.property("on", "F G !rst -> G F led")
    m.property("blinks", "F G !rst -> G F led & G F !led")
    m.property("on_always", "G F led")  # not so: it may be reset for ever
    return m
