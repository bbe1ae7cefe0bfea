"""PWM: pulses whose width a switch sets, in rounds of a counter.

The family Pulse Width Modulation of *Neural Model Checking* (Giacobbe, Kroening, Pal, Tautschnig, NeurIPS 2024),
written from its description.
"""

from venmas.model import NetworkFolder, Parameter
from venmas.model.circuit.machine import Machine

PARAMETERS = (Parameter("size", 7, "bits of the counter, 4 or more"),)


def build(networks: NetworkFolder, size: int) -> Machine:
    """A counter of `size` bits; the pulse is high in the first sixteenths of a round."""
    m = Machine("pwm", "Pulses of a width that is set")
    switch = m.input("sw", 4)
    cnt = m.register("cnt", size)
    m.register("pulse", 1)
    m.next(cnt=cnt + 1, pulse=cnt < switch * (1 << (size - 4)))
    m.property("low", "G F !pulse")
    m.property("high", "F G sw > 0 -> G F pulse")
    m.property("high_always", "G F pulse")  # not so: the width may be 0
    return m
