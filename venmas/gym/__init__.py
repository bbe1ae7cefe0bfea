"""Worlds of Gymnasium as systems (``pip install ".[gym]"``): `tabular` for every table, `frozen_lake` for grids of ice.

`tabular` takes a policy of any activation, as it looks at each of the finitely many observations; `frozen_lake` keeps
the network in the system, for whom the network itself is the question.
"""

from venmas.gym.lake import frozen_lake, settings, table, transitions
from venmas.gym.tables import tabular

__all__ = ["frozen_lake", "settings", "table", "tabular", "transitions"]
