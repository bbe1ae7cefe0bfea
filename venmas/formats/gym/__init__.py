"""Worlds of Gymnasium as systems (``pip install ".[gym]"``).

`tabular` is for every environment with a transition table and for worlds of MiniGrid, `frozen_lake` for FrozenLake with
its network, `pendulum` and `cartpole` for these two, by their own equations.

`tabular` evaluates the policy at each of the finitely many observations, so it takes any activation; the others keep
the network in the system.
"""

from venmas.formats.gym.classic import cartpole, pendulum
from venmas.formats.gym.lake import frozen_lake, settings, table, transitions
from venmas.formats.gym.tables import tabular

__all__ = ["cartpole", "frozen_lake", "pendulum", "settings", "table", "tabular", "transitions"]
