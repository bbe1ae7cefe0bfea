"""UART: a transmitter that shifts out what it is given, bit by bit, and then waits.

The family UART Transmitter of *Neural Model Checking* (Giacobbe, Kroening, Pal, Tautschnig, NeurIPS 2024),
written from its description. States: 0 wait, 1 transmit.
"""

from venmas.model import NetworkFolder, Parameter
from venmas.model.circuit.integers import ite
from venmas.model.circuit.machine import Machine

PARAMETERS = (Parameter("bits", 8, "bits of a word"),)


def build(networks: NetworkFolder, bits: int) -> Machine:
    """A shift register with start and stop bit, and a counter of the bits sent."""
    m = Machine("uart", "A serial transmitter")
    rst, ena, data = m.input("rst"), m.input("tx_ena"), m.input("tx_data", bits)
    state = m.register("tx_state", 1)
    buffer = m.register("tx_buffer", bits + 2)
    sent = m.register("tx_cnt", low=0, high=bits + 1)
    m.register("tx", 1)
    over = sent == bits + 1
    loads = (state == 0) & ena
    m.next(
        tx_state=~rst & ite(state == 0, ena, ~over),
        tx_cnt=ite(rst | (state == 0) | over, 0, sent + 1),
        tx_buffer=ite(loads, data * 2 + (1 << (bits + 1)), (buffer >> 1) + (1 << (bits + 1))),
        tx=rst | (state == 0) | buffer[0],
    )
    m.property("waits", "F G !rst -> G F tx_state == 0")
    m.property("sends", "F G (!rst & tx_ena) -> G F tx_state == 1")
    m.property("sends_always", "F G !rst -> G F tx_state == 1")  # not so: nothing need be asked for
    return m
