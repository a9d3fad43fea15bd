"""SQLite: connections, transactions, faults, migrations. Everything that PostgreSQL would do otherwise."""

from __future__ import annotations

import functools
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from triagebot.core.faults import LedgerBusy, LedgerUnusable
from triagebot.ledger import sqlite_faults, sqlite_files, sqlite_rows, stamps, statements
from triagebot.ledger.sqlite_files import MOVE_ASIDE
from triagebot.ledger.statements import T, Transaction
from triagebot.ledger.turns import Turns

BUSY_SECONDS = 30.0

_APPLICATION = 0x54524742  # "TRGB" in the file's header: tells a ledger from any other SQLite database
_MACROS = {
    # unixepoch('subsec') needs SQLite 3.42. 'now' is read once for each step of a statement.
    "now": "((julianday('now') - 2440587.5) * 86400.0)",
    "utc": "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')",
    "max": "max",
    "min": "min",
    "serial": "INTEGER PRIMARY KEY",
    "hold": "1",  # one writer at a time holds everything
    "try_to_hold": "1",
    "skip_locked": "",
    "bytewise": "",  # as every text is compared here
    "walk_by_key": "1",
    "numbered": "1",
}
_TEST_MACROS = _MACROS | {
    "now": "triagebot_now()",
    "utc": "strftime('%Y-%m-%dT%H:%M:%fZ', triagebot_now(), 'unixepoch')",
}
_LAST_WORDS = 1.0
"""Seconds that a running transaction gets to end when the ledger is closed."""


class _Held:
    """One thread's connection, and whether a transaction is running on it."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.busy = threading.Lock()


class SQLite:
    """One database file; a connection for each thread, none of which survives a fork or `close`.

    `called` is the name in messages, where that is not the path (a copy is called as its original).
    `now` stands in for the database's clock (tests, simulations). `migrations` are the steps
    of the schema; their number is the version that every transaction checks for. `half_copied` lets in a
    ledger into which a copy has not ended.
    """

    def __init__(
        self,
        path: Path,
        *,
        called: Path | None = None,
        timeout: float = BUSY_SECONDS,
        now: Callable[[], float] | None = None,
        migrations: Sequence[str] | None = None,
        half_copied: bool = False,
        on_close: Callable[[], object] = lambda: None,
    ) -> None:
        macros = _MACROS if now is None else _TEST_MACROS
        self._path = path
        self._called = called or path
        self._timeout = timeout
        self._now = now
        self._sql = statements.queries(macros)
        self._migrations = statements.migrations(macros) if migrations is None else tuple(migrations)
        self._stamp = len(self._migrations)
        self._half_copied = half_copied
        self._on_close = on_close
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._turns = Turns()
        self._local = threading.local()
        self._connections: list[_Held] = []
        self._closed = False

    def write(self, work: Callable[[Transaction], T]) -> T:
        with self.transaction() as transaction:
            return work(transaction)

    def view(self, work: Callable[[Transaction], T]) -> T:
        with self.read() as transaction:
            return work(transaction)

    @property
    def stamp(self) -> int:
        return self._stamp

    def restamp(self, stamp: int, work: Callable[[Transaction], T]) -> T:
        with self.transaction() as transaction:
            done = work(transaction)
            self._connection().execute(f"PRAGMA user_version = {stamp:d}")
        self._stamp = stamp
        return done

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        # IMMEDIATE: a deferred transaction that reads and then writes fails at once, without waiting, when
        # another one has committed in between (SQLITE_BUSY_SNAPSHOT), and only starting anew helps.
        with self._turns.taken(self._called, self._timeout), self._begun("BEGIN IMMEDIATE") as transaction:
            yield transaction

    @contextmanager
    def read(self) -> Iterator[Transaction]:
        with self._begun("BEGIN DEFERRED") as transaction:
            yield transaction

    def close(self) -> None:
        """Close every thread's connection. The last process to do so moves the log into the main file.

        A connection in the middle of a transaction is waited for a moment and then left to the end of the
        process: to close it under a running statement crashes the interpreter (seen with 3.40.1).
        """
        if os.getpid() != self._process:
            return  # closing would drop the locks and the log under the parent's feet
        with self._lock:
            self._closed, connections = True, self._connections
            self._connections = []
        for held in connections:
            if held.busy.acquire(timeout=_LAST_WORDS):
                held.connection.close()
        self._on_close()

    @contextmanager
    def _begun(self, begin: str) -> Iterator[Transaction]:
        with sqlite_faults.translated(self._called, self._timeout):
            held = self._of_this_thread()
            connection = held.connection
            if not held.busy.acquire(blocking=False):
                raise self._is_closed()
            try:
                connection.execute(begin)
                stamps.check(sqlite_rows.pragma(connection, "user_version"), self._stamp, called=str(self._called))
                yield Transaction(functools.partial(sqlite_rows.fetch, connection), self._sql, connection.executemany)
                connection.execute("COMMIT")
            except BaseException:
                connection.rollback()
                raise
            finally:
                held.busy.release()

    def _is_closed(self) -> LedgerUnusable:
        return LedgerUnusable(f"ledger {self._called}: is closed; open it again")

    def _connection(self) -> sqlite3.Connection:
        return self._of_this_thread().connection

    def _of_this_thread(self) -> _Held:
        if os.getpid() != self._process:
            raise LedgerUnusable(f"ledger {self._called}: was opened before a fork; open it again in each process")
        with self._lock:
            if self._closed:
                raise self._is_closed()
            held: _Held | None = getattr(self._local, "held", None)
            if held is None:
                held = _Held(self._connect())
                self._connections.append(held)
                self._prepare(held.connection)
                self._local.held = held
        return held

    def _connect(self) -> sqlite3.Connection:
        # mode=rw: a file that was moved away is an error, not an empty ledger. Threads keep to their own
        # connection; only `close` reaches across.
        address = f"{self._path.as_uri()}?mode=rw"
        return sqlite3.connect(address, uri=True, timeout=self._timeout, isolation_level=None, check_same_thread=False)

    def _prepare(self, connection: sqlite3.Connection) -> None:
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        if self._now is not None:
            connection.create_function("triagebot_now", 0, self._now)

    # --- opening

    def open(self, *, searched: bool = True) -> None:
        """Check the file, make it a ledger of this version. Safe when several processes do so at once.

        Not `searched` all through for damage, a large one opens at once: to read a million runs takes 4 s.
        """
        deadline = time.monotonic() + self._timeout
        while True:
            try:
                return self._open(searched=searched)
            except LedgerBusy:
                # Two processes that make a new file a write-ahead one at once: SQLite refuses the second
                # without waiting (measured with 3.40.1, 6 processes, in 7 of 8 rounds).
                if time.monotonic() >= deadline:
                    raise
                time.sleep(0.02)

    def _open(self, *, searched: bool) -> None:
        with sqlite_faults.translated(self._called, self._timeout):
            connection = self._connection()
            version = self._version(connection)
            if searched or version < len(self._migrations):  # damage is not migrated
                self._search(connection)
            if connection.execute("PRAGMA journal_mode = WAL").fetchall()[0][0] != "wal":
                raise LedgerUnusable(
                    f"ledger {self._called}: its file system cannot hold SQLite's write-ahead log; "
                    "put it on a local disk"
                )
            if not stamps.is_whole(version):
                self._stamp = version
            elif version < len(self._migrations):
                self._migrate(connection)

    def check(self) -> None:
        """Raise `LedgerUnusable` where the file is no ledger, a damaged one or a newer one. Migrates nothing."""
        with sqlite_faults.translated(self._called, self._timeout):
            self._version(self._connection())
            self._search(self._connection())

    def _search(self, connection: sqlite3.Connection) -> None:
        """Raise `LedgerUnusable` where anything in the file is damaged."""
        if (verdict := connection.execute("PRAGMA quick_check(1)").fetchall()[0][0]) != "ok":
            raise LedgerUnusable(f"ledger {self._called}: is damaged ({' '.join(verdict.split())}); {MOVE_ASIDE}")

    def _version(self, connection: sqlite3.Connection) -> int:
        """The number that it carries. Raises `LedgerUnusable` where it is no ledger that this program knows."""
        version = sqlite_rows.pragma(connection, "user_version")
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchall()[0][0]
        if sqlite_rows.pragma(connection, "application_id") != _APPLICATION and (version or tables):
            raise LedgerUnusable(f"ledger {self._called}: is another program's database; name another file")
        if not self._half_copied:
            stamps.check_whole(version, called=str(self._called))
        stamps.check_known(version, len(self._migrations), called=str(self._called), other="ledger")
        return version

    def _migrate(self, connection: sqlite3.Connection) -> None:
        connection.execute("BEGIN EXCLUSIVE")
        try:
            version = self._version(connection)  # another process may have done it, or begun to copy into it
            stamps.check_whole(version, called=str(self._called))
            for step in self._migrations[version:]:
                for statement in sqlite_rows.split(step):
                    connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {_APPLICATION}")
            connection.execute(f"PRAGMA user_version = {len(self._migrations)}")
            connection.execute("COMMIT")
        except BaseException:
            connection.rollback()
            raise


def open_file(path: Path, *, must_exist: bool = False, searched: bool = True, **how: Any) -> SQLite:
    """Open a ledger file, creating or migrating it; `how` is what `SQLite` takes.

    Raises `LedgerUnusable` or `LedgerBusy`.
    """
    sqlite_files.prepare(path, must_exist=must_exist)
    database = SQLite(path, **how)
    try:
        database.open(searched=searched)
    except BaseException:
        database.close()
        raise
    return database


def check_file(path: Path, *, called: Path) -> None:
    """Raise `LedgerUnusable` where `path`, `called` so in the sentence, is no sound ledger of this version or older."""
    with closing(SQLite(path, called=called)) as database:
        database.check()
