"""The store: what `put` returned for is there, whatever happens; files that are no store are refused and left alone."""

import json
import os
import random
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from venmas.engine.store import Store
from venmas.errors import InputError, StoreError

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.text(st.characters(blacklist_categories=("Cs",)), max_size=20)

WRITER = """
import sys
from venmas.engine.store import Store
with Store(sys.argv[1], "numbers") as store:
    for i in range(len(store), 10**9):
        store.put(str(i), {"square": i * i})
        print(i, flush=True)
"""


@settings(max_examples=25, deadline=None)
@given(st.dictionaries(KEYS, JSON, max_size=8))
def test_what_is_put_is_there_after_reopening(entries: dict[str, object]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        with Store(Path(folder) / "s", "test") as store:
            for key, value in entries.items():
                store.put(key, "before")
                store.put(key, value)
        with Store(Path(folder) / "s", "test") as store:
            assert len(store) == len(entries)
            assert dict(store.items()) == entries
            assert all(store.get(key) == value for key, value in entries.items())
            assert store.get("not there" * 3) is None


def test_values_that_are_no_json_are_refused(tmp_path: Path) -> None:
    with Store(tmp_path / "s", "test") as store:
        for value, error in ((float("nan"), ValueError), (float("inf"), ValueError), ({1, 2}, TypeError)):
            with pytest.raises(error):
                store.put("key", value)
        assert len(store) == 0


def test_kill_loses_nothing_that_put_returned_for(tmp_path: Path) -> None:
    path, rng, before = tmp_path / "s", random.Random(5), 0
    for _ in range(4):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True)
        assert writer.stdout is not None
        try:
            for _ in range(rng.randint(1, 3000)):
                said = int(writer.stdout.readline())
        finally:
            os.kill(writer.pid, signal.SIGKILL)
            rest = writer.stdout.read()
            writer.wait()
        complete = rest[: rest.rfind("\n") + 1].split()
        said = int(complete[-1]) if complete else said
        with Store(path, "numbers") as store:
            assert said + 1 <= len(store) <= said + 2  # the last one may be there and not yet told
            assert dict(store.items()) == {str(i): {"square": i * i} for i in range(len(store))}
            assert len(store) > before
            before = len(store)


def test_a_file_is_open_once(tmp_path: Path) -> None:
    with Store(tmp_path / "s", "test") as store:
        store.put("a", 1)
        with pytest.raises(StoreError, match="in use by another process: wait for its end, or give another"):
            Store(tmp_path / "s", "test")
        other = [sys.executable, "-c", f"from venmas.engine.store import Store; Store({str(tmp_path / 's')!r}, 'test')"]
        assert "in use by another process" in subprocess.run(other, capture_output=True, text=True, check=False).stderr
        store.put("b", 2)
    with Store(tmp_path / "s", "test") as store:
        assert dict(store.items()) == {"a": 1, "b": 2}


def _sqlite(path: Path, *statements: str) -> None:
    db = sqlite3.connect(path)
    for statement in statements:
        db.execute(statement)
    db.commit()
    db.close()


def _filled(path: Path) -> None:
    with Store(path, "journal") as store:
        for i in range(300):
            store.put(f"key {i}", list(range(i, i + 20)))


REFUSED = {
    "text": (lambda p: p.write_text("k,verdict\n1,satisfied\n" * 50), "another kind of file"),
    "short text": (lambda p: p.write_text("x"), "another kind of file"),
    "json": (lambda p: p.write_text(json.dumps({"verdict": "satisfied"} | {str(i): i for i in range(99)})), "another"),
    "other database": (lambda p: _sqlite(p, "CREATE TABLE t (x)"), "database of another program"),
    "other kind": (lambda p: Store(p, "experiment").close(), "kind 'experiment', where one of kind 'journal'"),
    "other form": (lambda p: Store(p, "journal", version=2).close(), "in form 2, and this version of VenMAS reads"),
    "later layout": (lambda p: (_filled(p), _sqlite(p, "PRAGMA user_version = 9")), "has layout 9"),
    "no tables": (lambda p: (_filled(p), _sqlite(p, "DROP TABLE entry")), "tables are missing"),
    "no purpose": (lambda p: (_filled(p), _sqlite(p, "DELETE FROM purpose")), "does not say what it is for"),
    "truncated": (lambda p: (_filled(p), p.write_bytes(p.read_bytes()[:9000])), "damaged"),
    "truncated in the header": (lambda p: (_filled(p), p.write_bytes(p.read_bytes()[:60])), "another kind|damaged"),
    "overwritten": (
        lambda p: (_filled(p), p.write_bytes(p.read_bytes()[:8192] + b"\xff" * 8192 + p.read_bytes()[16384:])),
        "damaged",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_files_that_are_no_such_store_are_refused_and_left_alone(case: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    make, problem = REFUSED[case]
    make(path)
    before = path.read_bytes()
    with pytest.raises(StoreError, match=problem) as caught:
        Store(path, "journal")
    assert isinstance(caught.value, InputError)
    assert repr(str(path)) in str(caught.value) and "give another file for the journal" in str(caught.value)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_a_changed_value_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with Store(path, "test") as store:
        store.put("cell", "satisfied")
    _sqlite(path, "UPDATE entry SET value = '\"violated\"'")
    with Store(path, "test") as store:
        with pytest.raises(StoreError, match="checksum of entry 'cell'"):
            store.get("cell")
        with pytest.raises(StoreError, match="checksum"):
            list(store.items())


def test_an_empty_file_is_a_new_store(tmp_path: Path) -> None:
    (tmp_path / "s").touch()  # what remains of a process killed while it made the file
    with Store(tmp_path / "s", "test") as store:
        store.put("a", 1)
    with Store(tmp_path / "s", "test") as store:
        assert store.get("a") == 1


@pytest.mark.parametrize("name", ["missing/file", "", "folder", "pipe", "nul\0byte", "x" * 300])
def test_places_where_no_file_can_be(name: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StoreError, match="give another file for the test"):
        Store(tmp_path / name, "test")


def test_names_that_mean_something_to_sqlite_are_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in (":memory:", "file:x?mode=memory"):
        with Store(name, "test") as store:
            store.put("a", 1)
        assert (tmp_path / name).is_file()


READ_ONLY = """
import os, sys
from venmas.errors import StoreError
from venmas.engine.store import Store
if os.geteuid() == 0:
    os.setuid(65534)  # root may write everything
for path in sys.argv[1:]:
    try:
        Store(path, "test")
    except StoreError as error:
        print(error)
"""


def test_read_only_files_and_folders() -> None:
    with tempfile.TemporaryDirectory() as name:  # not below tmp_path, which nobody else may enter
        folder = Path(name)
        Store(folder / "s", "test").close()
        (folder / "s").chmod(0o444)
        folder.chmod(0o555)
        paths = [str(folder / "s"), str(folder / "new")]
        done = subprocess.run([sys.executable, "-c", READ_ONLY, *paths], capture_output=True, text=True, check=True)
        folder.chmod(0o755)
        assert done.stdout.count("check its permissions and those of its folder") == 2, done
        assert [p.name for p in folder.iterdir()] == ["s"]


def test_a_full_disk_is_told_and_loses_nothing(tmp_path: Path) -> None:
    with Store(tmp_path / "s", "test") as store:
        store.put("a", 1)
        store._db.execute("PRAGMA max_page_count = 8")
        with pytest.raises(StoreError, match="the disk is full"):
            store.put("b", "x" * 100_000)
        store.put("c", 3)
        assert dict(store.items()) == {"a": 1, "c": 3}


@pytest.mark.parametrize("linked", [False, True])
def test_what_lies_beside_a_store_names_no_third_file(tmp_path: Path, linked: bool) -> None:
    """A rollback journal may name one, which SQLite deletes where it finds nothing of use in it."""
    path, victim, beside = tmp_path / "run.journal", tmp_path / "victim", tmp_path / "run.journal-journal"
    with Store(path, "journal") as store:
        store.put("a", 1)
    unfinished = (
        "import os, sqlite3, sys; db = sqlite3.connect(sys.argv[1], isolation_level=None);"
        "db.execute('PRAGMA cache_size = 1'); db.execute('PRAGMA journal_mode = DELETE');"
        "db.execute('BEGIN EXCLUSIVE');"
        "[db.execute('INSERT INTO entry VALUES (?, ?, 0)', (str(i), 'x' * 3000)) for i in range(400)]; os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", unfinished, str(path)], check=True)
    victim.write_bytes(b"precious\0")
    left, name = beside.read_bytes(), str(victim).encode()
    record = struct.pack(">I", 0x40000000 // 4096 + 1) + name + struct.pack(">II", len(name), sum(name))
    beside.write_bytes(left + bytes(-len(left) % 512) + record + bytes.fromhex("d9d505f920a163d7"))
    given = tmp_path / "link" if linked else path
    if linked:
        given.symlink_to(path)
    with pytest.raises(StoreError, match="names a third file"):
        Store(given, "journal")
    assert victim.exists()
    beside.write_bytes(left)
    with Store(given, "journal") as store:  # what a killed process leaves is undone, as before
        assert store.get("a") == 1 and len(store) == 1
