"""What is freed is kept: large temporaries cost no page faults again and again."""

import subprocess
import sys

import pytest

CODE = """
import resource, sys
import numpy as np
from venmas.runtime.memory import keep_freed_memory
if sys.argv[1] == "kept":
    keep_freed_memory()
for _ in range(5):
    [np.ones(500_000) for _ in range(8)]
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(50):
    [np.ones(500_000) for _ in range(8)]
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="mallopt is of the C library of GNU")
def test_large_temporaries_are_not_mapped_again_and_again() -> None:
    faults = {}
    for how in ("kept", "usual"):
        done = subprocess.run([sys.executable, "-c", CODE, how], capture_output=True, text=True, check=True)
        faults[how] = int(done.stdout)
    assert faults["kept"] * 5 < faults["usual"]
