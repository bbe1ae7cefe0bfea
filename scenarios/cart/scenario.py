"""Cart: a policy with memory (LSTM or GRU) brings a cart to 0, of which it sees the position and not the speed.

State x (m), v (m/s) and the memory of the policy, h (and c), zero at first; a step of 0.1 s: x+ = x + 0.1 v,
v+ = v + 0.1 u, (u, h+, c+) = N(x, h, c); of ppo16, trained by RecurrentPPO, u is cut off at 2 m/s^2. There is
one branch, so that AX and EX agree.
"""

from fractions import Fraction

from venmas.model import NetworkFolder, Parameter, Range, System, clip

POLICIES = ("gru16", "gru32", "gru64", "lstm16", "lstm32", "lstm64", "ppo16")
PARAMETERS = (
    Parameter("policy", "gru16", "the policy, by its cell and the number of its units", choices=POLICIES),
    Parameter("x", Range(Fraction("0.3"), Fraction("0.5")), "initial position", "m"),
    Parameter("v", Range(Fraction("-0.1"), Fraction("0.1")), "initial speed", "m/s"),
)


def build(networks: NetworkFolder, policy: str, x: Range, v: Range) -> System:
    """The cart with a policy."""
    system = System("cart")
    position, speed = system.real("x", -5, 5, "m"), system.real("v", -5, 5, "m/s")
    learned = policy == "ppo16"
    network = networks.load_recurrent(f"{policy}.{'zip' if learned else 'onnx'}")
    answer = system.recurrent(network, [position])[0]
    force = system.agent(clip(answer, -2, 2) if learned else answer, "u", "m/s^2")
    system.branch("step", {position: position + speed / 10, speed: speed + force / 10})
    system.initial(position >= x.low, position <= x.high, speed >= v.low, speed <= v.high)
    system.proposition("near", (position <= Fraction("0.6")) & (position >= Fraction("-0.2")))
    for k in (10, 20):
        system.specify(f"near{k}", f"AG^{k} near")
    system.specify("arrives", "AX^20 (x <= 0.1 & x >= -0.1)")
    return system
