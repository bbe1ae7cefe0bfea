"""VGA: the counters of a display, column by column and row by row, and when pixels are shown.

The family VGA Controller of *Neural Model Checking* (Giacobbe, Kroening, Pal, Tautschnig, NeurIPS 2024),
written from its description.
"""

from venmas.model import NetworkFolder, Parameter
from venmas.model.circuit.integers import ite
from venmas.model.circuit.machine import Machine

PARAMETERS = (
    Parameter("columns", 16, "columns that are shown"),
    Parameter("width", 20, "columns with those that are not"),
    Parameter("rows", 8, "rows that are shown"),
    Parameter("height", 10, "rows with those that are not"),
)


def build(networks: NetworkFolder, columns: int, width: int, rows: int, height: int) -> Machine:
    """A counter of columns and one of rows."""
    m = Machine("vga", "A display of columns and rows")
    rst = m.input("rst")
    h_cnt = m.register("h_cnt", low=0, high=width - 1)
    v_cnt = m.register("v_cnt", low=0, high=height - 1)
    m.register("disp_ena", 1)
    line, frame = h_cnt == width - 1, v_cnt == height - 1
    m.next(
        h_cnt=ite(rst | line, 0, h_cnt + 1),
        v_cnt=ite(rst, 0, ite(line, ite(frame, 0, v_cnt + 1), v_cnt)),
        disp_ena=~rst & (h_cnt < columns) & (v_cnt < rows),
    )
    m.property("shows", "F G !rst -> G F disp_ena")
    m.property("blanks", "F G !rst -> G F !disp_ena")
    m.property("shows_always", "G F disp_ena")  # not so: it may be reset for ever
    return m
