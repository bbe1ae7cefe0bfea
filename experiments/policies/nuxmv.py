"""nuXmv on an instance, where it is on the path: the model is that of `venmas export smv`, algorithms are the paper's.

SBMC and EPA of the paper are about formulas of LTL, for which deadlocks matter: they are not run. A point that is
found is not replayed here; verdicts are compared with ours.
"""

from __future__ import annotations

import re
import resource
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from experiments.policies.instances import Instance
from venmas.formats.smv import to_smv
from venmas.logic import Always
from venmas.question import read_property

ALGORITHMS = {
    "BMC": "msat_check_invar_bmc -a falsification -k 1000 -P safe",
    "IPA": "msat_check_invar_bmc_implabs -k 1000 -P safe",
    "COI": "msat_check_invar_inc_coi -k 1000 -P safe",
    "IC3": "check_invar_ic3 -P safe",
}
VERDICTS = {"true": "satisfied", "false": "violated"}


def available() -> bool:
    return shutil.which("nuXmv") is not None


def run(instance: Instance, algorithm: str, timeout: float) -> dict[str, Any]:
    """Verdict and CPU seconds of the process; ``unknown`` where it says nothing in time."""
    scenario = instance.load()
    system = scenario.system()
    assert scenario.formula is not None
    asked = read_property(system, scenario.formula)
    assert isinstance(asked, Always)
    with TemporaryDirectory() as name:
        model, script = Path(name) / "model.smv", Path(name) / "script"
        model.write_text(to_smv(system, asked.invariant), encoding="utf-8")
        script.write_text(f"set on_failure_script_quits\ngo_msat\n{ALGORITHMS[algorithm]}\nquit\n", encoding="utf-8")
        begun = _spent()
        try:
            done = subprocess.run(
                ["nuXmv", "-source", script, model], capture_output=True, text=True, timeout=timeout, check=False
            )
        except subprocess.TimeoutExpired:
            return {"verdict": "unknown", "CPU": round(_spent() - begun, 1)}
    said = re.search(r"-- invariant .* is (true|false)", done.stdout)
    return {"verdict": VERDICTS[said[1]] if said else "unknown", "CPU": round(_spent() - begun, 1)}


def _spent() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
