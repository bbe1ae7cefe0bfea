"""I2C: the clocks of a bus, from a counter of four quarters; a slave may hold the clock in the third one.

The family i2c Stretch of *Neural Model Checking* (Giacobbe, Kroening, Pal, Tautschnig, NeurIPS 2024),
written from its description: `stretch` tells that the third quarter is watched, and while the slave
then holds the clock (`hold`), the counter waits.
"""

from venmas.model import NetworkFolder, Parameter
from venmas.model.circuit.integers import ite
from venmas.model.circuit.machine import Machine

PARAMETERS = (Parameter("quarter", 5, "steps of a quarter of the bus clock"),)


def build(networks: NetworkFolder, quarter: int) -> Machine:
    """A counter of 0 .. 4 quarter - 1, whose quarters make data and bus clock."""
    m = Machine("i2c", "Clocks of an I2C bus, with stretching")
    rst, ena, hold = m.input("rst"), m.input("ena"), m.input("hold")
    cnt = m.register("cnt", low=0, high=4 * quarter - 1)
    stretch = m.register("stretch", 1)
    m.register("scl_clk", 1)
    m.register("data_clk", 1)
    third = (cnt >= 2 * quarter) & (cnt < 3 * quarter)
    waits = stretch & hold & third
    m.next(
        cnt=ite(rst, 0, ite(waits, cnt, ite(cnt == 4 * quarter - 1, 0, cnt + 1))),
        stretch=~rst & third & ena,
        scl_clk=~rst & (cnt >= 2 * quarter),
        data_clk=~rst & (cnt >= quarter) & (cnt < 3 * quarter),
    )
    m.property("watches", "F G (!rst & ena) -> G F stretch")
    m.property("clocks", "F G (!rst & !hold) -> G F scl_clk & G F !scl_clk")
    m.property("clocks_always", "F G !rst -> G F !scl_clk")  # not so: the slave may hold the clock for ever
    return m
