"""A file that keeps what long work has found: JSON values by key, in SQLite, each on disk the moment `put` returns.

Used by experiments (finished cells) and by ``venmas verify --journal`` (subproblems proved infeasible). One process
at a time has a file open. What a process wrote is there after it was killed; a power failure may take the last entries
but leaves no broken file (write-ahead log, synced at checkpoints). While a file is open, and after a kill, part of its
content is in ``FILE-wal`` beside it, which belongs to it.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import stat
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from venmas.errors import StoreError

APPLICATION_ID = 0x56654D53
"""Says in the header of a SQLite file that it is a store of VenMAS."""
LAYOUT = 1
"""Version of the tables below."""
PATIENCE = 0.5
"""How long (s) another process may keep the file before it is called in use."""

_LEAST_BYTES = 512
_NAMES_ANOTHER = bytes.fromhex("d9d505f920a163d7")
"""How a rollback journal of SQLite ends that names a third file, which SQLite would read, and may delete."""
_FOREIGN = "is no store of VenMAS (another kind of file)"
_TABLES = """
CREATE TABLE purpose (kind TEXT NOT NULL, version INTEGER NOT NULL);
CREATE TABLE entry (key TEXT PRIMARY KEY, value TEXT NOT NULL, checksum INTEGER NOT NULL) WITHOUT ROWID
"""


class Store:
    """A mapping from strings to JSON values on disk; a context manager.

    path: the file, made if it is not there or empty. kind: what it is for, such as ``journal``; version: of the form
    that the keys and values of this kind have. A file made for another kind or version is refused.

    Raises `StoreError` from every method: at the start where the file is no such store, is damaged, cannot be written,
    or is open in another process; later where the disk is full or the file was damaged meanwhile.
    """

    def __init__(self, path: str | Path, kind: str, version: int = 1) -> None:
        self.path, self.kind, self.version = Path(path), kind, version
        self._check_place()
        self._check_rollback()
        with self._explained():
            # autocommit; calls from several threads are serialised by SQLite itself
            self._db = sqlite3.connect(
                os.path.abspath(self.path), timeout=PATIENCE, isolation_level=None, check_same_thread=False
            )
        try:
            with self._explained():
                self._open()
        except BaseException:
            self._db.close()
            raise

    def get(self, key: str) -> Any:
        """The value of a key, None where there is none."""
        with self._explained():
            row = self._db.execute("SELECT value, checksum FROM entry WHERE key = ?", (key,)).fetchone()
        return None if row is None else self._value(key, *row)

    def put(self, key: str, value: Any) -> None:
        """Set the value of a key, whatever it was; returns when a kill of this process can no longer undo it.

        value: anything that `json` writes; ``TypeError`` or ``ValueError`` for the rest (NaN and infinities, too).
        """
        text = json.dumps(value, allow_nan=False, separators=(",", ":"))
        row = (key, text, _checksum(key, text))
        with self._explained():
            self._db.execute("INSERT OR REPLACE INTO entry VALUES (?, ?, ?)", row)

    def items(self) -> Iterator[tuple[str, Any]]:
        """All keys with their values, sorted by key, as they were when iteration began."""
        with self._explained():
            rows = self._db.execute("SELECT key, value, checksum FROM entry ORDER BY key").fetchall()
        for key, text, checksum in rows:
            yield key, self._value(key, text, checksum)

    def __len__(self) -> int:
        with self._explained():
            return int(self._db.execute("SELECT count(*) FROM entry").fetchone()[0])

    def close(self) -> None:
        """Give the file free for other processes; closing twice is no error."""
        self._db.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _check_rollback(self) -> None:
        """What is left of a transaction of a store is about this store alone, and about no other file."""
        for path in {os.path.abspath(self.path), os.path.realpath(self.path)}:
            with contextlib.suppress(OSError), open(f"{path}-journal", "rb") as left:
                left.seek(-len(_NAMES_ANOTHER), os.SEEK_END)
                if left.read() == _NAMES_ANOTHER:
                    raise self._error(f"has {path}-journal beside it, which names a third file", "give another")

    def _check_place(self) -> None:
        # The file itself is left to SQLite: whoever opens and closes it beside SQLite ends SQLite's locks.
        try:
            found = self.path.stat()
        except FileNotFoundError:
            if not self.path.absolute().parent.is_dir():
                raise self._error("is in a folder that is not there", "make it, or give another") from None
            return
        except (OSError, ValueError) as error:
            raise self._error(f"cannot be opened ({error})", "give another") from None
        if not stat.S_ISREG(found.st_mode):
            raise self._error("is a folder" if stat.S_ISDIR(found.st_mode) else "is no ordinary file", "give another")
        if 0 < found.st_size < _LEAST_BYTES:  # which SQLite would write over
            raise self._error(_FOREIGN, "give another")

    def _open(self) -> None:
        db = self._db
        db.execute("PRAGMA locking_mode = EXCLUSIVE")  # kept until the end; no shared memory is needed for the log
        db.execute("BEGIN EXCLUSIVE")
        found = self._number("application_id")
        if found == 0 and self._number("user_version") == 0 and not self._tables():
            for statement in _TABLES.split(";"):
                db.execute(statement)
            db.execute("INSERT INTO purpose VALUES (?, ?)", (self.kind, self.version))
            db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            db.execute(f"PRAGMA user_version = {LAYOUT}")
        elif found != APPLICATION_ID:
            raise self._error("is a database of another program, not a store of VenMAS", "give another")
        else:
            self._check()
        db.execute("COMMIT")
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")

    def _check(self) -> None:
        layout = self._number("user_version")
        if layout != LAYOUT:
            raise self._error(
                f"has layout {layout}, and this version of VenMAS reads layout {LAYOUT}",
                "go on with the version that made it, or give another",
            )
        if (problem := self._db.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
            raise self._damaged(problem.splitlines()[-1])
        if self._tables() != {"purpose", "entry"}:
            raise self._damaged("tables are missing")
        rows = self._db.execute("SELECT kind, version FROM purpose").fetchall()
        if len(rows) != 1:
            raise self._damaged("it does not say what it is for")
        kind, version = rows[0]
        if kind != self.kind:
            raise self._error(f"is a store of kind {kind!r}, where one of kind {self.kind!r} is needed", "give another")
        if version != self.version:
            raise self._error(
                f"is a store of kind {kind!r} in form {version}, and this version of VenMAS reads form {self.version}",
                "go on with the version that made it, or give another",
            )

    def _number(self, pragma: str) -> int:
        return int(self._db.execute(f"PRAGMA {pragma}").fetchone()[0])

    def _tables(self) -> set[str]:
        return {name for (name,) in self._db.execute("SELECT name FROM sqlite_master")}

    def _value(self, key: str, text: str, checksum: int) -> Any:
        if checksum != _checksum(key, text):
            raise self._damaged(f"the checksum of entry {key!r} is wrong")
        return json.loads(text)

    def _damaged(self, how: str) -> StoreError:
        return self._error(f"is damaged ({how})", "delete it to begin anew, or give another")

    def _error(self, problem: str, remedy: str) -> StoreError:
        return StoreError(f"store {str(self.path)!r} {problem}: {remedy} file for the {self.kind}")

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        """Tell SQLite's errors by what can be done about them."""
        try:
            yield
        except sqlite3.ProgrammingError:
            raise  # a mistake of the caller, such as a closed store
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            if code == sqlite3.SQLITE_BUSY:
                raise self._error("is in use by another process", "wait for its end, or give another") from error
            if code == sqlite3.SQLITE_NOTADB:
                raise self._error(_FOREIGN, "give another") from error
            if code == sqlite3.SQLITE_CORRUPT:
                raise self._damaged(str(error)) from error
            if code == sqlite3.SQLITE_FULL:
                raise self._error("cannot grow, as the disk is full", "make room, or give another") from error
            problem = f"cannot be read and written ({error})"
            raise self._error(problem, "check its permissions and those of its folder, or give another") from error


def _checksum(key: str, text: str) -> int:
    return zlib.crc32(f"{key}\0{text}".encode())
