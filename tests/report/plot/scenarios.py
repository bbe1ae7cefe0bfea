"""Small scenarios and results that the tests of pictures share."""

from typing import Any

from venmas import System, load_scenario, verify

LAMPS = '''
"""A lamp walks along 17 places, three levels fall, fifteen others stay."""
from venmas.model import Parameter, System, Vector

PARAMETERS = (Parameter("scale", 2, "size of a mark"),)


def build(networks, scale):
    s = System("lamps")
    lamp, level, still = s.booleans("lamp", 17), s.reals("level", 3, -10, 10, unit="V"), s.reals("still", 15, 0, 9)
    hot = s.boolean("hot")
    s.initial(*(l == (i == 0) for i, l in enumerate(lamp)), *(v == i for i, v in enumerate(level)),
              *(v == 1 for v in still), hot == 0)
    s.agent(level[0] + level[1], name="push", unit="N")
    s.branch("on", {lamp: Vector([lamp[16], *lamp[:16]]), level[0]: level[0] / 2 + 1, hot: 1 - hot})
    s.branch("off", {level[1]: level[1] - 1})
    return s
'''

PICTURE = """

def picture(figure, trace, scale):
    axes = figure.subplots()
    axes.set_title("Where the lamp is")
    axes.plot(*trace.lines("step", "level[1]"), linewidth=scale)
    return f"drawn at scale {scale}"
"""


def result(scenario: str, formula: str, **settings: object) -> tuple[dict[str, Any], System]:
    """The result of a formula that a scenario violates, and the system."""
    system = load_scenario(scenario).system(**settings)
    report = verify(system, formula, workers=1)
    assert report.violated
    return report.to_json(), system
