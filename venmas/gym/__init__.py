"""Worlds of Gymnasium as systems (``pip install ".[gym]"``).

`tabular` for every table and for worlds of MiniGrid, `frozen_lake` for grids of ice, `pendulum` and `cartpole` as they
are.

`tabular` takes a policy of any activation, as it looks at each of the finitely many observations; the others keep
the network in the system.
"""

from venmas.gym.classic import cartpole, pendulum
from venmas.gym.lake import frozen_lake, settings, table, transitions
from venmas.gym.tables import tabular

__all__ = ["cartpole", "frozen_lake", "pendulum", "settings", "table", "tabular", "transitions"]
