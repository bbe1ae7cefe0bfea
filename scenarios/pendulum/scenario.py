"""Pendulum: Gymnasium's Pendulum-v1 under a policy with tanh units, by the environment's own steps of Euler's rule.

State th (rad, from upright) and thdot (rad/s), a step of 0.05 s: thdot+ = clip(thdot + 0.05 (15 sin th + 3 u), -8, 8),
th+ = th + 0.05 thdot+, with u = clip(N(cos th, sin th, thdot), -2, 2). There is one branch, so that AX and EX agree.

Source of the equations: Gymnasium, `PendulumEnv.step`; the system is that of `venmas.formats.gym.pendulum`.
"""

from fractions import Fraction

from venmas.formats.gym.classic import pendulum
from venmas.model import NetworkFolder, Parameter, Range, System

PARAMETERS = (
    Parameter("th", Range(Fraction("-0.2"), Fraction("0.2")), "initial angle from upright", "rad"),
    Parameter("thdot", Range(Fraction("-0.4"), Fraction("0.4")), "initial speed", "rad/s"),
    Parameter("gravity", Fraction(10), "gravity, the environment's g", "m/s^2"),
)


def build(networks: NetworkFolder, th: Range, thdot: Range, gravity: Fraction) -> System:
    """The environment with a controller."""
    network = networks.load("controller.onnx", "model.json", "*.onnx", "*.keras", "*.h5", "*.nnet")
    system = pendulum(network, gravity=gravity, start={"th": th, "thdot": thdot})
    angle = system["th"]
    system.proposition("upright", (angle >= Fraction("-0.25")) & (angle <= Fraction("0.25")))
    for k in (10, 20, 40):
        system.specify(f"upright{k}", f"AG^{k} upright")
    return system
