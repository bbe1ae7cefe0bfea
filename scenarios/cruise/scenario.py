"""Adaptive cruise control: a car with a neural controller follows one that brakes; six real variables.

Each car is a chain position, speed, acceleration; its drive follows the commanded acceleration u with a time constant
of half a second, g' = 2 (u - g). Held for a tenth of a second, that is exactly the affine step below, with exp(-0.2)
rounded to twelve digits. The leader brakes with a constant command; the follower's command is
clip(N(v / 32, d / 128, w / 16), -3, 2), where d is the gap and w the leader's speed less its own. There is one branch,
so that AX and EX agree.

Source of the setting: adaptive cruise control of ARCH-COMP (category AINNCS), whose friction term is left out here, and
whose network is not used.
"""

from fractions import Fraction
from typing import TYPE_CHECKING

from venmas.errors import ScenarioError
from venmas.model import Expr, NetworkFolder, Parameter, Range, System, apply_network, clip

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from venmas.plot import Trace

PARAMETERS = (
    Parameter("gap", Range(60, 65), "initial gap", "m"),
    Parameter("lead", Range(26, Fraction("26.2")), "initial speed of the leader", "m/s"),
    Parameter("speed", Range(30, Fraction("30.2")), "initial speed of the follower", "m/s"),
    Parameter("brake", Fraction(-2), "commanded acceleration of the leader", "m/s^2"),
    Parameter("noise", 0.0, "most that disturbs both commanded accelerations in each step, up or down", "m/s^2"),
)

LAG = Fraction("0.818730753078")
"""exp(-0.2): what is left of a difference between command and acceleration after a tenth of a second."""

SPEED = (1 - LAG) / 2
PLACE = Fraction(1, 20) - SPEED / 2
"""What an acceleration of 1 m/s^2 at the start of a step adds to speed (m/s) and position (m)."""

STANDSTILL, HEADWAY = 10, Fraction("1.4")
"""The safe distance: 10 m and 1.4 s of driving."""


def drive(place: Expr, speed: Expr, acceleration: Expr, command: "Expr | Fraction") -> tuple[Expr, Expr, Expr]:
    """A tenth of a second of a car."""
    return (
        place + speed / 10 + PLACE * acceleration + (Fraction(1, 200) - PLACE) * command,
        speed + SPEED * acceleration + (Fraction(1, 10) - SPEED) * command,
        LAG * acceleration + (1 - LAG) * command,
    )


def build(networks: NetworkFolder, gap: Range, lead: Range, speed: Range, brake: Fraction, noise: Fraction) -> System:
    """The two cars with the follower's controller."""
    network = networks.load("controller.onnx", "model.json", "*.onnx", "*.keras", "*.h5", "*.nnet")
    if (network.input_size, network.output_size) != (3, 1):
        raise ScenarioError(
            f"the controller must have 3 inputs and 1 output; {network.name!r} has {network.input_size} and "
            f"{network.output_size}: give the folder of a fitting one (--networks)"
        )
    system = System("cruise", "Adaptive cruise control: a follower and a leader that brakes")
    front = (
        system.real("x_lead", -1000, 5000, unit="m"),
        system.real("v_lead", -100, 100, unit="m/s"),
        system.real("g_lead", -10, 10, unit="m/s^2"),
    )
    back = (
        system.real("x", -1000, 5000, unit="m"),
        system.real("v", -100, 100, unit="m/s"),
        system.real("g", -10, 10, unit="m/s^2"),
    )
    distance = front[0] - back[0]
    seen = (back[1] / 32, distance / 128, (front[1] - back[1]) / 16)
    command = system.agent(clip(apply_network(network, seen)[0], -3, 2), name="u", unit="m/s^2")
    pushes = [system.disturbance(name, -noise, noise, unit="m/s^2") for name in ("push_lead", "push")]
    steps = (*drive(*front, brake + pushes[0]), *drive(*back, command + pushes[1]))
    system.branch("step", dict(zip((*front, *back), steps, strict=True)))
    system.initial(
        (front[0] >= gap.low + 10) & (front[0] <= gap.high + 10),
        (front[1] >= lead.low) & (front[1] <= lead.high),
        front[2] == 0,
        back[0] == 10,
        (back[1] >= speed.low) & (back[1] <= speed.high),
        back[2] == 0,
    )
    system.proposition("safe", distance > STANDSTILL + HEADWAY * back[1])
    system.proposition("apart", distance > 0)
    for k in (10, 20, 50):
        system.specify(f"safe{k}", f"AG^{k} safe")
    return system


def picture(figure: "Figure", trace: "Trace") -> str:
    """Gap and safe distance over time, in front of 100 runs from initial states at random."""
    from venmas.plot.style import BLUE, GREY, RED

    axes = figure.subplots()
    axes.set_title("Gap and safe distance")
    axes.set_xlabel("time (s)")
    axes.set_ylabel("m")
    runs = trace.sample(100)
    gaps = runs["x_lead"] - runs["x"]
    axes.plot([i / 10 for i in range(len(gaps))], gaps, color=GREY, linewidth=0.5, alpha=0.2, zorder=1)
    axes.plot([], [], color=GREY, linewidth=0.8, label="gap of 100 sampled runs")
    gap = [a - b for a, b in zip(trace.values("x_lead"), trace.values("x"), strict=True)]
    need = [STANDSTILL + float(HEADWAY) * v for v in trace.values("v")]
    times = [i / 10 for i in range(len(gap))]
    axes.plot(times, gap, color=BLUE, linewidth=1.8, marker="o", markersize=4, label="gap")
    axes.plot(times, need, color=RED, linewidth=1.4, linestyle=(0, (4, 2)), label="safe distance 10 m + 1.4 s v")
    axes.legend(loc="upper left", bbox_to_anchor=(0, -0.16), ncols=3, handlelength=1.4, columnspacing=1)
    worst = min(a - b for a, b in zip(gap, need, strict=True))
    return f"Gap from {gap[0]:.4g} m to {gap[-1]:.4g} m in {times[-1]:.1f} s; least reserve {worst:.3g} m."
