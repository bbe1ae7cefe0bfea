"""Suspensions, platoons, lane keeping and unicycles."""

from __future__ import annotations

from functools import partial

from experiments.zoo.plant import Act, Plant, discrete
from venmas.model import System, cos, sin


def suspension(act: Act, noise: bool, rough: float) -> System:
    """A quarter of a car (290 kg on 59 kg; Lin and Kanellakopoulos 1997) with an actuator of 1 kN, 100 times a second.

    States: suspension travel, body speed (both in dm), tyre deflection (cm), wheel speed (dm/s); the road rises with up
    to `rough` dm/s.
    """
    body, wheel, spring, tyre, damper = 290, 59, 16182, 190_000, 1000
    a, b = discrete(
        [
            [0, 1, 0, -1],
            [-spring / body, -damper / body, 0, damper / body],
            [0, 0, 0, 10],
            [spring / wheel, damper / wheel, -tyre / wheel / 10, -damper / wheel],
        ],
        [[0, 0], [10_000 / body, 0], [0, -10], [-10_000 / wheel, 0]],
        0.01,
    )
    system = System("quarter_car")
    x = system.reals("x", 4, -50, 50)
    road = system.disturbance("road", -rough, rough) if noise and rough else 0
    (u,) = act(system, tuple(x), (-1,), (1,))
    system.branch("go", {x: a @ x + b[:, 0] * u + b[:, 1] * road})
    system.initial(
        x[0] >= 0.3, x[0] <= 0.5, x[1] >= -0.2, x[1] <= 0.2, x[2] >= -0.1, x[2] <= 0.1, x[3] >= -0.2, x[3] <= 0.2
    )
    return system


def platoon(act: Act, noise: bool, followers: int, driver: bool = False) -> System:
    """Vehicles keep 10 m and the speed of the one ahead, all by the same policy; five times a second.

    gap: to the one ahead, less 10 m; speed: less that of the leader's desired one. The leader speeds up and down
    (`driver`: brakes or holds) as he likes, within 2 m/s of the desired speed.
    """
    system = System(f"platoon_{followers}")
    gap, speed = system.reals("gap", followers, -60, 60), system.reals("speed", followers, -30, 30)
    lead = system.real("lead", -5, 5)
    push = system.disturbance("push", -0.5, 0.5) if noise and not driver else 0
    ahead = [lead, *speed][:followers]
    u = [act(system, (gap[i], ahead[i] - speed[i]), (-3,), (2,))[0] for i in range(followers)]
    update = {gap[i]: gap[i] + 0.2 * (ahead[i] - speed[i]) - 0.02 * u[i] for i in range(followers)}
    update |= {speed[i]: speed[i] + 0.2 * u[i] for i in range(followers)}
    system.branch("hold", {**update, lead: 0.9 * lead + 0.2 * push})
    if driver and noise:
        system.branch("brake", {**update, lead: 0.9 * lead - 0.2})
    near = [c for i in range(followers) for c in (gap[i] >= -0.5, gap[i] <= 0.5, speed[i] >= -0.2, speed[i] <= 0.2)]
    system.initial(*near, lead >= -0.5, lead <= 0.5)
    return system


def lane(act: Act, noise: bool) -> System:
    """A car in its lane at 20 m/s (Rajamani, Vehicle Dynamics and Control): errors of place and heading, and rates."""
    mass, turn, front, rear, at, behind, v = 1573, 2873, 80_000, 80_000, 1.1, 1.58, 20
    a, b = discrete(
        [
            [0, 1, 0, 0],
            [
                0,
                -2 * (front + rear) / (mass * v),
                2 * (front + rear) / mass,
                -2 * (front * at - rear * behind) / (mass * v),
            ],
            [0, 0, 0, 1],
            [
                0,
                -2 * (front * at - rear * behind) / (turn * v),
                2 * (front * at - rear * behind) / turn,
                -2 * (front * at**2 + rear * behind**2) / (turn * v),
            ],
        ],
        [[0, 0], [2 * front / mass, 0], [0, 0], [2 * front * at / turn, -1]],
        0.05,
    )
    system = System("lane")
    x = system.reals("e", 4, -20, 20)
    bend = system.disturbance("bend", -0.05, 0.05) if noise else 0
    (u,) = act(system, tuple(x), (-0.3,), (0.3,))
    system.branch("go", {x: a @ x + b[:, 0] * u + b[:, 1] * bend})
    system.initial(
        x[0] >= 0.3, x[0] <= 0.6, x[1] >= -0.1, x[1] <= 0.1, x[2] >= -0.02, x[2] <= 0.02, x[3] >= -0.05, x[3] <= 0.05
    )
    return system


def bicycle(act: Act, noise: bool) -> System:
    """A car without slip at 10 m/s that comes back to its lane: place, heading, steering angle."""
    system = System("bicycle")
    place, heading = system.real("place", -20, 20), system.real("heading", -2, 2)
    steer = system.real("steer", -1, 1)
    (u,) = act(system, (place, heading, steer), (-0.4,), (0.4,))
    motion = system.flow("0.1", {place: 10 * sin(heading), heading: 4 * sin(steer), steer: 5 * (u - steer)})
    system.branch("drive", motion.end)
    system.initial(place >= 0.5, place <= 1, heading >= -0.05, heading <= 0.05, steer == 0)
    return system


def unicycle(act: Act, noise: bool) -> System:
    """A robot that follows a line at 1 m/s: distance, heading and speed; it turns and speeds up."""
    system = System("unicycle")
    y, heading, speed = system.real("y", -9, 9), system.real("heading", -4, 4), system.real("speed", -4, 4)
    turn, push = act(system, (y, heading, speed - 1), (-1, -1), (1, 1))
    motion = system.flow("0.1", {y: speed * sin(heading), heading: turn, speed: push})
    system.branch("drive", motion.end)
    system.initial(y >= 0.4, y <= 0.6, heading >= -0.1, heading <= 0.1, speed >= 0.8, speed <= 1)
    return system


def wall(act: Act, noise: bool) -> System:
    """A robot at 1 m/s along a wall, which drifts: where it is, its distance and its heading."""
    system = System("wall")
    x, y, heading = system.real("x", -99, 99), system.real("y", -9, 9), system.real("heading", -4, 4)
    drift = system.disturbance("drift", -0.02, 0.02) if noise else 0
    (turn,) = act(system, (y - 1, heading), (-1,), (1,))
    motion = system.flow("0.1", {x: cos(heading), y: sin(heading) + drift, heading: turn})
    system.branch("drive", motion.end)
    system.initial(x == 0, y >= 1.3, y <= 1.5, heading >= -0.1, heading <= 0.1)
    return system


PLANTS = (
    Plant(
        "smooth_road", "suspensions", partial(suspension, rough=0.0), {f"x[{i}]": 0 for i in (1, 2, 3, 4)}, (-1,), (1,),
        (4, 2, 0.2, 0.02), (2,), spread={"x[1]": 0.6, "x[2]": 2, "x[3]": 0.6, "x[4]": 4}, watched=("x[1]", "x[2]"),
    ),
    Plant(
        "rough_road", "suspensions", partial(suspension, rough=0.1), {f"x[{i}]": 0 for i in (1, 2, 3, 4)}, (-1,), (1,),
        (4, 2, 0.2, 0.02), (2,), spread={"x[1]": 0.6, "x[2]": 2, "x[3]": 0.6, "x[4]": 4}, watched=("x[1]", "x[2]"),
    ),
    Plant(
        "platoon", "platoons", partial(platoon, followers=3), {"gap[1]": 0, "speed[1]": 0}, (-3,), (2,), (1, 1), (1,),
        lesson=partial(platoon, followers=1), spread={"gap[1]": 3, "speed[1]": 3},
        watched=("gap[1]", "gap[3]"),
    ),
    Plant(
        "driver", "platoons", partial(platoon, followers=2, driver=True), {"gap[1]": 0, "speed[1]": 0}, (-3,), (2,),
        (1, 1), (1,), lesson=partial(platoon, followers=1), spread={"gap[1]": 3, "speed[1]": 3},
        watched=("gap[1]", "gap[2]"), steps=(10, 30),
    ),
    Plant(
        "lane", "lane keeping", lane, {f"e[{i}]": 0 for i in (1, 2, 3, 4)}, (-0.3,), (0.3,), (2, 0.2, 1, 0.1), (20,),
        spread={"e[1]": 0.8, "e[2]": 1, "e[3]": 0.1, "e[4]": 0.3}, watched=("e[1]", "e[3]"),
    ),
    Plant(
        "bicycle", "lane keeping", bicycle, {"place": 0, "heading": 0, "steer": 0}, (-0.4,), (0.4,), (1, 1, 1), (10,),
        spread={"place": 1.2, "heading": 0.3, "steer": 0.2}, watched=("place", "heading"), steps=(20, 40),
    ),
    Plant(
        "unicycle", "unicycles", unicycle, {"y": 0, "heading": 0, "speed": 1}, (-1, -1), (1, 1), (1, 1, 1), (1, 1),
        (0, 0), levels=3, spread={"y": 0.8, "heading": 0.5, "speed": 0.3}, watched=("y", "speed"), steps=(20, 50),
    ),
    Plant(
        "wall", "unicycles", wall, {"y": 1, "heading": 0}, (-1,), (1,), (1, 1), (1,),
        spread={"y": 0.8, "heading": 0.5}, watched=("y", "heading"), steps=(20, 50),
    ),
)  # fmt: skip
