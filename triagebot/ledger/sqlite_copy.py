"""Copying a SQLite file that others may be writing to, of which not a byte changes."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path

from triagebot.ledger import sqlite_faults, sqlite_files
from triagebot.ledger.sqlite import BUSY_SECONDS

_SETTLED = 3.0
"""Seconds: the coarsest time stamp of a file system is one of 2 s, so what is older by more tells of every write."""


def copy_file(source: Path, target: Path) -> None:
    """Copy a ledger by SQLite's own backup, which sees the log too. Not a byte of `source` changes.

    Raises `LedgerUnusable`, `LedgerBusy`, or `OSError` where `target` cannot be written.
    """
    sqlite_files.refuse_network(source)
    sqlite_files.check_wal(source)
    with sqlite_faults.translated(source, BUSY_SECONDS):
        if not _copied_at_rest(source, target):
            # mode=ro: an ordinary connection would move a log that a crash left into the main file as it closes.
            _copy(f"{source.as_uri()}?mode=ro", target)


def _copied_at_rest(source: Path, target: Path) -> bool:
    """Whether `source` lay still from the first look to the last, and is copied; else `target` is not there.

    Whoever reads a file with a write-ahead log makes a log and an index beside it, with the file's mode, and may
    lack the right to remove them: those of a file of mode 0400 stay and keep its owner from writing once the file is
    0600 again. `immutable` makes none and takes no lock, so it holds good only where nobody wrote meanwhile: who
    writes makes a log first, and what moves it into the file changes the file's time.
    """
    before = _stillness(source)
    if before is None:
        return False
    try:
        _copy(f"{source.as_uri()}?mode=ro&immutable=1", target)
        still = _stillness(source) == before
    except sqlite3.Error:  # half a write was read, or the file is damaged: the ordinary way tells which
        still = False
    if not still:
        target.unlink(missing_ok=True)
    return still


def _stillness(path: Path) -> tuple[int, int, int] | None:
    """What a write would change; `None` where one is or may just have been under way."""
    if any(path.with_name(path.name + side).exists() for side in ("-wal", "-shm", "-journal")):
        return None
    found = path.stat()
    quiet = time.time() - found.st_mtime  # negative where the clock was set back: then nothing is known
    return (found.st_ino, found.st_size, found.st_mtime_ns) if quiet > _SETTLED else None


def _copy(address: str, target: Path) -> None:
    with (
        closing(sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS)) as origin,
        closing(sqlite3.connect(target)) as copy,
    ):
        origin.backup(copy)
