"""Gray: a counter in Gray code, of which one bit changes at a time; a signal tells each round.

The family Gray Counter of *Neural Model Checking* (Giacobbe, Kroening, Pal, Tautschnig, NeurIPS 2024),
written from its description.
"""

from venmas.model import NetworkFolder, Parameter
from venmas.model.circuit.integers import ite
from venmas.model.circuit.machine import Machine

PARAMETERS = (Parameter("bits", 6, "bits of the counter"),)


def build(networks: NetworkFolder, bits: int) -> Machine:
    """A binary counter of `bits` bits and its Gray code."""
    m = Machine("gray", "A counter in Gray code")
    rst = m.input("rst")
    cnt = m.register("cnt", bits)
    code = m.register("code", bits)
    following = cnt + 1
    low = following & ((1 << bits) - 1)
    gray = low ^ (low >> 1)
    m.register("sig", 1)
    m.next(cnt=ite(rst, 0, following), code=ite(rst, 0, gray), sig=~rst & (gray == 0))
    m.signal("half", code[bits - 1])
    m.property("rounds", "F G !rst -> G F sig")
    m.property("pulses", "F G !rst -> G F (sig & X !sig)")
    m.property("both", "F G !rst -> G F sig & G F !sig")
    m.property("rounds_always", "G F sig")  # not so: it may be reset for ever
    return m
