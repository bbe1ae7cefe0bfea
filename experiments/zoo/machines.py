"""Motors, servos, converters and pendulums."""

from __future__ import annotations

import numpy as np

from experiments.zoo.plant import Act, Plant, discrete
from venmas.model import System, cos, sin, where


def speed(act: Act, noise: bool) -> System:
    """A DC motor (Control Tutorials for MATLAB and Simulink): speed and current, and the integral of the error."""
    a, b = discrete([[-10, 1], [-0.02, -2]], [[0], [2]], 0.05)
    system = System("dc_motor_speed")
    v = system.reals("x", 2, -20, 20)
    total = system.real("total", -20, 20)
    (u,) = act(system, (v[0], v[1], total), (-15,), (15,))
    system.branch("go", {v: a @ v + b[:, 0] * u, total: total + (v[0] - 1) / 20})
    system.initial(v[0] >= 0, v[0] <= 0.2, v[1] >= 0, v[1] <= 1, total >= -0.1, total <= 0.1)
    return system


def position(act: Act, noise: bool) -> System:
    """The same motor turns a shaft: angle, speed and current, and a load torque that varies."""
    a, b = discrete([[0, 1, 0], [0, -10, 1], [0, -0.02, -2]], [[0, 0], [0, 100], [2, 0]], 0.05)
    system = System("dc_motor_position")
    v = system.reals("x", 3, -100, 100)
    load = system.disturbance("load", -0.02, 0.02) if noise else 0
    (u,) = act(system, tuple(v), (-10,), (10,))
    system.branch("go", {v: a @ v + b[:, 0] * u + b[:, 1] * load})
    system.initial(v[0] >= 0.8, v[0] <= 1, v[1] >= -0.1, v[1] <= 0.1, v[2] >= -0.1, v[2] <= 0.1)
    return system


def servo(act: Act, noise: bool) -> System:
    """A positioning servo whose command arrives a step late, and whose sensor errs (2 + 1 states)."""
    system = System("servo")
    place, rate = system.real("place", -10, 10), system.real("rate", -10, 10)
    late = system.real("late", -4, 4)
    error = system.disturbance("error", -0.01, 0.01) if noise else 0
    (u,) = act(system, (place + error, rate, late), (-2,), (2,))
    system.branch(
        "go",
        place=place + 0.1 * rate + 0.005 * late,
        rate=0.98 * rate + 0.1 * late,
        late=u,
    )
    system.initial(place >= 0.5, place <= 1, rate >= -0.1, rate <= 0.1, late == 0)
    return system


def delayed(act: Act, noise: bool) -> System:
    """The same with two steps of delay, and friction that varies."""
    system = System("servo_delay_2")
    place, rate = system.real("place", -10, 10), system.real("rate", -10, 10)
    late, later = system.real("late", -4, 4), system.real("later", -4, 4)
    error = system.disturbance("error", -0.01, 0.01) if noise else 0
    drag = system.disturbance("drag", -0.02, 0.02) if noise else 0
    (u,) = act(system, (place + error, rate, late, later), (-2,), (2,))
    system.branch(
        "go",
        place=place + 0.1 * rate + 0.005 * late,
        rate=0.98 * rate + 0.1 * late + drag,
        late=later,
        later=u,
    )
    system.initial(place >= 0.6, place <= 0.8, rate >= -0.1, rate <= 0.1, late == 0, later == 0)
    return system


def buck(act: Act, noise: bool) -> System:
    """A buck converter of 12 V (100 uH, 100 uF, 5 Ohm, 10 us): current, voltage; the input is its duty."""
    a, b = discrete([[0, -1e4], [1e4, -2e3]], [[12e4], [0]], 1e-5)
    system = System("buck")
    x = system.reals("x", 2, -60, 60)
    (u,) = act(system, tuple(x), (0,), (1,))
    system.branch("go", {x: a @ x + b[:, 0] * u})
    system.initial(x[0] >= 0, x[0] <= 0.5, x[1] >= 0, x[1] <= 1)
    return system


def boost(act: Act, noise: bool) -> System:
    """A boost converter of 5 V, which switches: on, the coil charges; off, it feeds a light or a heavy load."""
    system = System("boost")
    current, voltage = system.real("current", -60, 60), system.real("voltage", -60, 60)
    (u,) = act(system, (current, voltage), (0,), (1,))
    on = u >= 0.5
    for name, load in (("light", 0.01), ("heavy", 0.02)):
        if noise or name == "light":
            system.branch(
                name,
                current=where(on, current + 0.5, current + 0.1 * (5 - voltage)),
                voltage=(1 - load) * voltage + where(on, 0, 0.1 * current),
            )
    system.initial(current >= 0.1, current <= 0.3, voltage >= 9.5, voltage <= 10)
    return system


def pendulum(act: Act, noise: bool) -> System:
    """Gymnasium's pendulum near the top, twenty times a second."""
    system = System("pendulum")
    angle, rate = system.real("angle", -4, 4), system.real("rate", -12, 12)
    (u,) = act(system, (angle, rate), (-2,), (2,))
    motion = system.flow("0.05", {angle: rate, rate: 15 * sin(angle) + 3 * u})
    system.branch("turn", motion.end)
    system.initial(angle >= -0.08, angle <= 0.08, rate >= -0.1, rate <= 0.1)
    return system


def cart(act: Act, noise: bool) -> System:
    """A pole on a cart (Barto, Sutton, Anderson 1983, without the mass of the pole): place, speed, angle, rate."""
    system = System("cart_pole")
    place, speed = system.real("place", -9, 9), system.real("speed", -9, 9)
    angle, rate = system.real("angle", -1, 1), system.real("rate", -9, 9)
    (u,) = act(system, (place, speed, angle, rate), (-5,), (5,))
    motion = system.flow("0.05", {place: speed, speed: u, angle: rate, rate: 2 * (9.8 * sin(angle) - u * cos(angle))})
    system.branch("roll", motion.end)
    narrow = (v for w in (speed, angle, rate) for v in (w >= -0.05, w <= 0.05))
    system.initial(place >= -0.1, place <= 0.1, *narrow)
    return system


def tripped(seen: np.ndarray) -> np.ndarray:
    """On while the coil has less than what the load of 10 V needs, and while the voltage is low."""
    current, voltage = seen.T
    need = 0.3 + 0.15 * (10 - voltage)
    return np.clip(0.5 + 1.5 * (need - current), 0, 1)[:, None]


PLANTS = (
    Plant(
        "motor", "motors", speed, {"x[1]": 1, "x[2]": 10, "total": 0}, (-15,), (15,), (4, 0.01, 20), (0.05,), (10.1,),
        spread={"x[1]": 1, "x[2]": 5, "total": 0.5}, watched=("x[1]", "x[2]"),
    ),
    Plant(
        "shaft", "motors", position, {"x[1]": 0, "x[2]": 0, "x[3]": 0}, (-10,), (10,), (20, 0.5, 0.05), (0.1,),
        spread={"x[1]": 1, "x[2]": 2, "x[3]": 8}, watched=("x[1]", "x[2]"),
    ),
    Plant(
        "servo", "servos", servo, {"place": 0, "rate": 0, "late": 0}, (-2,), (2,), (4, 0.5, 0.1), (0.5,),
        spread={"place": 1, "rate": 1, "late": 1}, watched=("place", "rate"),
    ),
    Plant(
        "delayed", "servos", delayed, {"place": 0, "rate": 0, "late": 0, "later": 0}, (-2,), (2,), (4, 0.5, 0.1, 0.1),
        (0.5,), spread={"place": 1, "rate": 1, "late": 1, "later": 1}, watched=("place", "rate"),
    ),
    Plant(
        "buck", "converters", buck, {"x[1]": 1, "x[2]": 5}, (0,), (1,), (0.2, 0.5), (4,), (0.4167,), levels=2,
        spread={"x[1]": 2, "x[2]": 4}, watched=("x[2]", "x[1]"),
    ),
    Plant(
        "boost", "converters", boost, {"current": 0.3, "voltage": 10}, (0,), (1,), rest=(0.5,), law=tripped, levels=2,
        spread={"current": 0.6, "voltage": 2}, watched=("voltage", "current"),
    ),
    Plant(
        "pendulum", "pendulums", pendulum, {"angle": 0, "rate": 0}, (-2,), (2,), (10, 1), (0.1,),
        spread={"angle": 0.2, "rate": 0.6}, watched=("angle", "rate"),
    ),
    Plant(
        "cart", "pendulums", cart, dict.fromkeys(("place", "speed", "angle", "rate"), 0), (-5,), (5,), (1, 0.5, 10, 1),
        (0.2,), spread={"place": 0.4, "speed": 0.4, "angle": 0.15, "rate": 0.4}, watched=("angle", "place"),
    ),
)  # fmt: skip
