"""Linear plants of 4 to 15 states: masses on springs, longer platoons, more rooms."""

from __future__ import annotations

from functools import partial

import numpy as np

from experiments.zoo.plant import Act, Plant, discrete
from experiments.zoo.stores import rooms, thermostats
from experiments.zoo.vehicles import platoon
from venmas.model import System


def masses(act: Act, noise: bool, count: int) -> System:
    """Masses in a row between springs, with dampers, which a force on the last one brings to rest; a wind blows on the
    first one."""
    springs = 2 * np.eye(count) - np.eye(count, k=1) - np.eye(count, k=-1)
    springs[-1, -1] = 1
    zero, eye = np.zeros((count, count)), np.eye(count)
    force = np.zeros((2 * count, 2))
    force[-1, 0] = force[count, 1] = 1
    a, b = discrete(np.block([[zero, eye], [-springs, -0.2 * springs]]), force, 0.2)
    system = System(f"masses_{count}")
    x = system.reals("x", 2 * count, -20, 20)
    wind = system.disturbance("wind", -0.05, 0.05) if noise else 0
    (u,) = act(system, tuple(x), (-1,), (1,))
    system.branch("go", {x: a @ x + b[:, 0] * u + b[:, 1] * wind})
    places = (c for i in range(count) for c in (x[i] >= 0.3, x[i] <= 0.5))
    system.initial(*places, *(c for i in range(count, 2 * count) for c in (x[i] >= -0.1, x[i] <= 0.1)))
    return system


def _masses(count: int) -> Plant:
    names = [f"x[{i + 1}]" for i in range(2 * count)]
    return Plant(
        f"masses_{count}", "masses", partial(masses, count=count), dict.fromkeys(names, 0), (-1,), (1,),
        (1,) * count + (0.5,) * count, (1,), spread=dict.fromkeys(names, 0.5), watched=(names[0], names[count]),
    )  # fmt: skip


def _platoon(followers: int) -> Plant:
    return Plant(
        f"platoon_{followers}", "platoons", partial(platoon, followers=followers), {"gap[1]": 0, "speed[1]": 0}, (-3,),
        (2,), (1, 1), (1,), lesson=partial(platoon, followers=1), spread={"gap[1]": 3, "speed[1]": 3},
        watched=("gap[1]", f"gap[{followers}]"),
    )  # fmt: skip


PLANTS = (
    *map(_masses, (2, 3, 5)),
    *map(_platoon, (2, 5, 7)),
    Plant(
        "rooms_4", "heated rooms", partial(rooms, count=4), {f"t[{i}]": 20 for i in (1, 2, 3, 4)}, (0,) * 4, (2,) * 4,
        rest=(0.8,) * 4, law=thermostats, levels=2, spread={f"t[{i}]": 4 for i in (1, 2, 3, 4)},
        watched=("t[1]", "t[4]"),
    ),
)  # fmt: skip
