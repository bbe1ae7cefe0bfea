"""What a domain says of itself: a JANI model, a question, and what a policy learns from a planner."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from experiments.domains import jani

Array = npt.NDArray[Any]

LONGEST = 60
"""Steps in which a policy is to reach the goal."""


@dataclass(frozen=True)
class Task:
    """A planning problem with its model, and a simulator of its steps without failures.

    scale: the greatest value of each input of the policy. start: rows of planning states, (n, state), that runs start
    in; begin: the same for a property file. complete: the policy reads no counter, so that runs without failures meet
    all there is. lesson: inputs (n, inputs) and which labels the planner may choose (n, labels, Boolean) at states,
    counters drawn at random. step: the states after a label each, and for which it is applicable. hard: states where
    one label leads to an unsafe state, to be learned by heart. unsafe: which states are. limits: values of constants
    that the measured runs take.
    """

    name: str
    model: jani.Json
    start: Array
    begin: Callable[[], jani.Json]
    unsafe_when: jani.Json
    goal: jani.Json
    inputs: tuple[str, ...]
    labels: tuple[str, ...]
    scale: Array
    lesson: Callable[[Array, np.random.Generator], tuple[Array, Array]]
    step: Callable[[Array, Array], tuple[Array, Array]]
    hard: Array
    unsafe: Callable[[Array], Array]
    limits: Mapping[str, str]
    complete: bool

    def write(self, folder: Path, policy: str) -> None:
        """``model.jani`` and ``property.jani``; policy: the interface that the property names."""
        jani.write(folder / "model.jani", self.model)
        asked = jani.safety("safe", policy, self.begin(), self.unsafe_when, self.goal)
        jani.write(folder / "property.jani", asked)
