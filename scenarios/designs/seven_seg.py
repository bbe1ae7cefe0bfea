"""Seven segments: two digits that a display shows in turns.

The family 7-Segment of *Neural Model Checking* (Giacobbe, Kroening, Pal, Tautschnig, NeurIPS 2024),
written from its description.
"""

from venmas.model import NetworkFolder, Parameter
from venmas.model.circuit.integers import ite
from venmas.model.circuit.machine import Machine

PARAMETERS = (Parameter("turn", 30, "steps that a digit is shown"),)


def build(networks: NetworkFolder, turn: int) -> Machine:
    """A counter of the steps of a turn, and the digit whose turn it is."""
    m = Machine("seven_seg", "Two digits in turns")
    rst = m.input("rst")
    one, two = m.input("one", 7), m.input("two", 7)
    cnt = m.register("cnt", low=0, high=turn - 1)
    digit = m.register("digit", 1)
    m.register("segment", 7)
    over = cnt == turn - 1
    m.next(cnt=ite(rst | over, 0, cnt + 1), digit=~rst & (digit ^ over), segment=ite(rst, 0, ite(digit, two, one)))
    m.property("second", "F G !rst -> G F digit")
    m.property("both", "F G !rst -> G F digit & G F !digit")
    m.property("second_always", "G F digit")  # not so: it may be reset for ever
    return m
