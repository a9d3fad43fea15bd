"""What SQLite says went wrong, in the project's words: once, here."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from triagebot.core.faults import LedgerBusy, LedgerUnusable
from triagebot.ledger.sqlite_files import MOVE_ASIDE, PERMIT
from triagebot.ledger.statements import Conflict

_UNIQUE = (sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY)
# Primary result codes (the low byte). A lost race for the log's locks is as passing as a held lock.
_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL)
_FREE_SPACE = "free some space and run again: what was not recorded was not sent"
_UNUSABLE = {
    sqlite3.SQLITE_FULL: ("disk full", _FREE_SPACE),
    sqlite3.SQLITE_CORRUPT: ("is damaged", MOVE_ASIDE),
    sqlite3.SQLITE_NOTADB: ("is damaged or no SQLite database", MOVE_ASIDE),
    sqlite3.SQLITE_READONLY: ("is read-only", PERMIT),
    sqlite3.SQLITE_PERM: ("is not permitted", PERMIT),
    sqlite3.SQLITE_CANTOPEN: ("cannot be opened", PERMIT),
    sqlite3.SQLITE_IOERR: ("the disk failed or is full", "check the disk and its free space, then run again"),
}


def busy(path: Path, timeout: float) -> LedgerBusy:
    """What is said where others have kept a ledger locked for `timeout` seconds."""
    return LedgerBusy(
        f"ledger {path}: stayed locked for {timeout:g} s; end the other triagebot, backup or shell that holds it, "
        "or run again later"
    )


@contextmanager
def translated(path: Path, timeout: float) -> Iterator[None]:
    """Raise `LedgerBusy`, `LedgerUnusable` or `Conflict` in place of SQLite's own exceptions."""
    try:
        yield
    except sqlite3.Error as error:
        fault = _named(error, path, timeout)
        if fault is None:
            raise
        raise fault from error


def _named(error: sqlite3.Error, path: Path, timeout: float) -> Exception | None:
    """The fault that `error` is for the rest of the program; `None` where nobody is at fault but this program."""
    code = getattr(error, "sqlite_errorcode", 0)
    if code in _UNIQUE:
        return Conflict(str(error))
    if code & 0xFF in _BUSY:
        return busy(path, timeout)
    if code & 0xFF in _UNUSABLE:
        reason, way_out = _UNUSABLE[code & 0xFF]
        return LedgerUnusable(f"ledger {path}: {reason} ({error.sqlite_errorname}); {way_out}")
    return None
