"""The file that may get lost: one connection behind a lock, opened at first use, thrown away when it is damaged.

Nothing in it is worth a repair or a migration: whatever cannot be read is built anew from the tracker.
"""

from __future__ import annotations

import functools
import logging
import os
import re
import sqlite3
import stat
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import resources
from pathlib import Path
from typing import Any

from triagebot.core.faults import HistoryUnusable

_log = logging.getLogger(__name__)

Row = Mapping[str, Any]

VERSION = 1
"""Of the tables, and of what `matching.words` makes of a text: a change to either needs a new number."""

_APPLICATION = 0x54524849  # "TRHI" in the file's header
_BUSY_SECONDS = 10.0
_LAST_WORDS = 1.0
_SIDES = ("", "-wal", "-shm", "-journal")
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_NAME = re.compile(r"^-- name: (\w+)$", re.MULTILINE)
_PERMIT = "make the file and its folder writable for this user"
_WHY = {
    sqlite3.SQLITE_FULL: "the disk is full; free some space",
    sqlite3.SQLITE_IOERR: "the disk failed or is full; check it and its free space",
    sqlite3.SQLITE_READONLY: f"it is read-only; {_PERMIT}",
    sqlite3.SQLITE_PERM: f"it is not permitted; {_PERMIT}",
    sqlite3.SQLITE_CANTOPEN: f"it cannot be opened; {_PERMIT}",
    sqlite3.SQLITE_BUSY: f"it stayed locked for {_BUSY_SECONDS:g} s; end the other program that holds it",
    sqlite3.SQLITE_LOCKED: "it is locked; end the other program that holds it",
    sqlite3.SQLITE_PROTOCOL: "it is locked; end the other program that holds it",
}


class _Spoilt(Exception):
    """The file is of no use any more; the message says why."""


class Write:
    """Runs statements within one transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def all(self, name: str, /, **values: object) -> list[Row]:
        return _rows(self._connection, name, values)


class Database:
    """One index. `path` `None` keeps it in memory, there to begin with as a copy of the file `source`, if any.

    Reading a file that is not there yet finds nothing and creates nothing. Any thread may use it, one
    at a time. Every method raises `HistoryUnusable`, in a sentence that names the file and the mend.
    """

    def __init__(self, path: Path | None, *, source: Path | None = None) -> None:
        self._path = path
        self._source = source
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._closed = False

    def read(self, name: str, /, **values: object) -> list[Row]:
        """The rows of one query; none where there is no file yet."""
        with self._lock, self._translated():
            if self._connection is None and self._path is not None and not self._path.exists():
                return []
            return _rows(self._opened(), name, values)

    @contextmanager
    def write(self) -> Iterator[Write]:
        """One transaction: all of it or nothing."""
        with self._lock, self._translated():
            connection = self._opened()
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield Write(connection)
                connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # a full disk has rolled it back already
                    connection.execute("ROLLBACK")
                raise

    def close(self) -> None:
        """Close it for good. A thread in the middle of a query gets a moment, and is left to the process's end."""
        if self._lock.acquire(timeout=_LAST_WORDS):
            self._closed = True
            self._let_go()
            self._lock.release()

    # --- opening

    def _opened(self) -> sqlite3.Connection:
        if self._closed:
            raise HistoryUnusable(f"{self._called}: it is closed")
        deadline = time.monotonic() + _BUSY_SECONDS
        while self._connection is None:
            late = time.monotonic() >= deadline
            try:
                self._connection = self._usable()
            except sqlite3.OperationalError as error:
                # Two processes that make a new file a write-ahead one at once: SQLite refuses the second
                # without waiting, as the ledger knows it.
                if late or _code(error) != sqlite3.SQLITE_BUSY:
                    raise
            if late and self._connection is None:
                raise HistoryUnusable(f"{self._called}: another version of triagebot keeps replacing it; run one only")
            if self._connection is None:
                time.sleep(0.02)
        return self._connection

    def _usable(self) -> sqlite3.Connection | None:
        """A connection to tables of ours; `None` after a file that is of no use was thrown away."""
        connection = _in_memory(self._source) if self._path is None else _to_file(self._path)
        try:
            self._make_ready(connection)
        except _Spoilt as reason:
            connection.close()
            self._throw_away(str(reason))
            return None
        except BaseException:
            connection.close()
            raise
        return connection

    def _make_ready(self, connection: sqlite3.Connection) -> None:
        try:
            connection.execute("BEGIN")  # one view: another process may be making the tables right now
            version, application, tables = (_number(connection, what) for what in _ASKED)
            connection.execute("COMMIT")
            if application != _APPLICATION and (version or tables):
                raise HistoryUnusable(f"{self._called}: it is another program's database; move it elsewhere")
            if tables and version != VERSION:
                raise _Spoilt(f"was written by another version of triagebot ({version}, this one needs {VERSION})")
            if _number(connection, "PRAGMA quick_check(1)") != "ok":
                raise _Spoilt("was damaged")
            _set_up(connection, new=not tables)
        except sqlite3.DatabaseError as error:
            if _code(error) not in _DAMAGED:
                raise
            raise _Spoilt("was damaged") from error

    # --- trouble

    @property
    def _called(self) -> str:
        return f"history {self._path or 'in memory'}"

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            if _code(error) not in (*_DAMAGED, *_WHY):
                raise
            raise HistoryUnusable(f"{self._called}: {self._why(_code(error))}") from error
        except OSError as error:
            raise HistoryUnusable(f"{self._called}: it cannot be opened ({error.strerror}); {_PERMIT}") from error

    def _why(self, code: int) -> str:
        if code not in _DAMAGED:
            return _WHY[code]
        self._let_go()
        with suppress(OSError):
            self._throw_away("was damaged")
        return "it was damaged and is thrown away; the next night builds it anew"

    def _throw_away(self, why: str) -> None:
        """Remove what can be built anew, and say so. Of a copy in memory, the original stays as it is."""
        _log.warning("%s %s; it is built anew.", self._called, why)
        self._source = None
        if self._path is not None:
            for side in _SIDES:
                self._path.with_name(self._path.name + side).unlink(missing_ok=True)

    def _let_go(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


_ASKED = ("PRAGMA user_version", "PRAGMA application_id", "SELECT count(*) FROM sqlite_master")


def _in_memory(source: Path | None) -> sqlite3.Connection:
    connection = _connect(":memory:")
    if source is not None and source.exists():
        # mode=ro: the original does not change by a byte.
        with suppress(sqlite3.Error):
            origin = sqlite3.connect(f"{source.resolve().as_uri()}?mode=ro", uri=True, timeout=_BUSY_SECONDS)
            try:
                origin.backup(connection)
            finally:
                origin.close()
    return connection


def _to_file(path: Path) -> sqlite3.Connection:
    for folder in reversed(path.parents):  # each of them, whatever the umask: who may write above may put another below
        folder.mkdir(mode=0o700, exist_ok=True)
    # Created here and not by SQLite: it holds issue text, so nobody else may read it, not even for a moment.
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    if stat.S_IMODE(path.stat().st_mode) & 0o077:
        path.chmod(0o600)
    return _connect(f"{path.resolve().as_uri()}?mode=rw")


def _connect(address: str) -> sqlite3.Connection:
    uri = address.startswith("file:")
    return sqlite3.connect(address, uri=uri, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)


def _set_up(connection: sqlite3.Connection, *, new: bool) -> None:
    connection.execute("PRAGMA journal_mode = WAL")  # readers of one night do not wait for the writer of another
    connection.execute("PRAGMA synchronous = NORMAL")
    if not new:
        return
    connection.execute("BEGIN EXCLUSIVE")
    try:
        if not _number(connection, _ASKED[2]):  # another process may have been quicker
            for statement in _statements(_text("tables")):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {_APPLICATION}")
            connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


def _number(connection: sqlite3.Connection, statement: str) -> Any:
    return connection.execute(statement).fetchall()[0][0]


def _rows(connection: sqlite3.Connection, name: str, values: Mapping[str, object]) -> list[Row]:
    cursor = connection.execute(_queries()[name], dict(values))
    names = [column[0] for column in cursor.description or ()]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def _code(error: sqlite3.Error) -> int:
    """The primary result code, which is the low byte; 0 where SQLite has no part in it."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


@functools.cache
def _queries() -> Mapping[str, str]:
    _, *parts = _NAME.split(_text("queries"))
    return {name: statement.strip() for name, statement in zip(parts[::2], parts[1::2], strict=True)}


def _text(name: str) -> str:
    return resources.files("triagebot.history").joinpath("sql", f"{name}.sql").read_text(encoding="utf-8")


def _statements(script: str) -> Sequence[str]:
    """Single statements: `executescript` would commit the transaction that they belong to."""
    found, statement = [], ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            found.append(statement)
            statement = ""
    return found
