"""Double integrator: a point mass is brought to rest by a network whose output is a bounded force.

State x[1] (position) and x[2] (velocity), one second a step: x+ = [[1, 1], [0, 1]] x + [0.5, 1] u with
u = clip(N(x), -1, 1). There is one branch, so that AX and EX agree.

Sources: Hu, Fazlyab, Morari and Pappas, Reach-SDP, CDC 2020; Everett et al., Reach-LP, ICRA 2021 (their initial box is
the default here).
"""

from typing import TYPE_CHECKING

from venmas.errors import ScenarioError
from venmas.model import NetworkFolder, Parameter, Range, System, apply_network, clip

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from venmas.report.plot import Trace

PARAMETERS = (
    Parameter("x1", Range(2.5, 3), "initial position", "m"),
    Parameter("x2", Range(-0.25, 0.25), "initial velocity", "m/s"),
    Parameter("value", False, "measure the trained value function, for the proposition `inside`"),
)


def build(networks: NetworkFolder, x1: Range, x2: Range, value: bool) -> System:
    """The plant with its controller."""
    network = networks.load("controller.onnx", "model.json", "*.onnx", "*.keras", "*.h5", "*.nnet")
    if (network.input_size, network.output_size) != (2, 1):
        raise ScenarioError(
            f"the controller must have 2 inputs and 1 output; {network.name!r} has {network.input_size} and "
            f"{network.output_size}: give the folder of a fitting one (--networks)"
        )
    system = System("double_integrator", "Double integrator with a saturated controller")
    position = system.real("x[1]", -100, 100, unit="m")
    velocity = system.real("x[2]", -100, 100, unit="m/s")
    if value:
        worth = networks.load("value.onnx", "value.keras", "value.h5", "value.nnet")
        level = system.quantity("V", apply_network(worth, (position, velocity))[0])
        system.proposition("inside", level <= 0)
    force = system.agent(clip(apply_network(network, (position, velocity))[0], -1, 1), name="u", unit="m/s^2")
    system.branch("step", {position: position + velocity + force / 2, velocity: velocity + force})
    system.initial(
        (position >= x1.low) & (position <= x1.high),
        (velocity >= x2.low) & (velocity <= x2.high),
    )
    system.proposition("within", (position >= -5) & (position <= 5) & (velocity >= -2) & (velocity <= 2))
    system.proposition("near", (position >= -0.5) & (position <= 0.5) & (velocity >= -0.5) & (velocity <= 0.5))
    for k in range(1, 11):
        system.specify(f"within{k}", f"AG^{k} within")
        system.specify(f"near{k}", f"AX^{k} near")
    return system


def picture(figure: "Figure", trace: "Trace") -> str:
    """The phase plane, in front of 100 runs from initial states at random."""
    from venmas.report.plot.style import BLUE, GREEN, GREY, INK

    axes = figure.subplots()
    axes.set_title("Phase plane")
    axes.set_xlabel("x[1]: position (m)")
    axes.set_ylabel("x[2]: velocity (m/s)")
    runs = trace.sample(100)
    axes.plot(runs["x[1]"], runs["x[2]"], color=GREY, linewidth=0.5, alpha=0.2, zorder=1)
    axes.plot([], [], color=GREY, linewidth=0.8, label="100 sampled runs")
    x, v = trace.values("x[1]"), trace.values("x[2]")
    axes.plot(*trace.lines("x[1]", "x[2]"), color=BLUE, linewidth=1.8, marker="o", markersize=4, label="the run")
    axes.plot(x[:1], v[:1], "s", markersize=8, markerfacecolor="white", markeredgecolor=BLUE, zorder=3, label="start")
    axes.plot([0], [0], "+", markersize=10, color=GREEN, label="rest")
    for name, line, low, high in (("x[1]", axes.axvline, *axes.get_xlim()), ("x[2]", axes.axhline, *axes.get_ylim())):
        for value, _ in trace.thresholds(name):
            if low - (high - low) <= value <= high + (high - low):
                line(value, color=INK, linewidth=1, linestyle=(0, (4, 2)), zorder=0.5)
    axes.plot([], [], color=INK, linewidth=1, linestyle=(0, (4, 2)), label="thresholds")
    axes.legend(loc="upper left", bbox_to_anchor=(0, -0.16), ncols=5, handlelength=1.4, columnspacing=1)
    return f"Phase plane: from position {x[0]:.3g} m, velocity {v[0]:.3g} m/s to {x[-1]:.3g} m, {v[-1]:.3g} m/s."
