import gc
import os
import signal
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # started in the background of a shell: the tests of Ctrl-C need programs that hear it
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="module", autouse=True)
def small_heap() -> None:
    """Garbage collections of a module of tests leave out what was loaded before: walking over it takes a second."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Published data of others: $VENMAS_DATA, or ../shared/data beside the project."""
    folder = Path(os.environ.get("VENMAS_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"published data not found at {folder}; set VENMAS_DATA to the folder that holds it")
    return folder


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With `-m quick`, files without that mark are not even imported: it would take longer than the tests."""
    if config.option.markexpr.startswith("quick") and collection_path.suffix == ".py":
        return "pytest.mark.quick" not in collection_path.read_text(encoding="utf-8") or None
    return None
