"""LCD: a controller of a display, which is set up once and then sends what it is given.

The family LCD Controller of *Neural Model Checking* (Giacobbe, Kroening, Pal, Tautschnig, NeurIPS 2024),
written from its description. States: 0 power up, 1 set up, 2 ready, 3 send.
"""

from venmas.model import NetworkFolder, Parameter
from venmas.model.circuit.integers import ite
from venmas.model.circuit.machine import Machine

PARAMETERS = (
    Parameter("power", 40, "steps until the display has power"),
    Parameter("setup", 60, "steps of its set-up"),
    Parameter("send", 25, "steps of sending"),
)


def build(networks: NetworkFolder, power: int, setup: int, send: int) -> Machine:
    """A state, and a counter of the steps in it."""
    m = Machine("lcd", "A controller of a display")
    enable = m.input("lcd_enable")
    state = m.register("state", 2)
    cnt = m.register("cnt", low=0, high=max(power, setup, send) - 1)
    last = ite(state == 0, power - 1, ite(state == 1, setup - 1, send - 1))
    over = cnt >= last
    begins = enable & (state == 2)
    m.next(
        state=ite(state == 2, ite(enable, 3, 2), ite(over, ite(state == 0, 1, 2), state)),
        cnt=ite((state == 2) | over, 0, cnt + 1),
    )
    m.signal("begins", begins)
    m.property("ready", "F G lcd_enable -> G F state == 2")
    m.property("sends", "F G lcd_enable -> G F begins")
    m.property("sends_always", "G F state == 3")  # not so: nothing need be asked for
    return m
