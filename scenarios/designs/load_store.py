"""Load-store: a counter that loads up to its end, switches, stores down to zero, and switches again.

The family Load-Store of *Neural Model Checking* (Giacobbe, Kroening, Pal, Tautschnig, NeurIPS 2024),
written from its description.
"""

from venmas.model import NetworkFolder, Parameter
from venmas.model.circuit.integers import ite
from venmas.model.circuit.machine import Machine

PARAMETERS = (Parameter("volume", 40, "where the counter turns round"),)


def build(networks: NetworkFolder, volume: int) -> Machine:
    """A counter of 0 .. volume, with the direction that it goes in."""
    m = Machine("load_store", "Loads up, stores down, again and again")
    rst = m.input("rst")
    vol = m.register("vol", low=0, high=volume)
    down = m.register("down", 1)
    m.register("sig", 1)
    full, empty = vol == volume, vol == 0
    m.next(
        vol=ite(rst, 0, ite(down, ite(empty, 0, vol - 1), ite(full, volume, vol + 1))),
        down=~rst & ite(down, ~empty, full),
        sig=~rst & ~down & full,
    )
    m.property("switches", "F G !rst -> G F sig")
    m.property("loads", "F G !rst -> G F !down")
    m.property("switches_always", "G F sig")  # not so: it may be reset for ever
    return m
