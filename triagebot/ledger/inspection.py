"""A ledger as it lies there: looked at without a byte of it changed, and nothing created where there is none."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from triagebot.core.faults import LedgerUnusable
from triagebot.ledger import address as addresses
from triagebot.ledger import opening, sqlite_files, statements
from triagebot.ledger.address import Server
from triagebot.ledger.ledger import Ledger

_VERSION = slice(60, 64)  # "user version" in the header of a database file: sqlite.org/fileformat2.html#database_header
_VOLATILE = frozenset({"tmpfs", "ramfs"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """Where a ledger is or would be: a file, or a schema on a server. `called` is its name for people.

    `file_system` is the type of the one under a file, "" where this system does not tell. `writable`
    tells of the file and its folder, or of the folder that would be made. `version` is the schema's, `known` the one
    that this program writes; `size` is in bytes.
    """

    called: str
    server: bool
    exists: bool
    file_system: str = ""
    writable: bool = True
    version: int = 0
    known: int
    size: int = 0

    @property
    def volatile(self) -> bool:
        """Whether it is gone when the machine restarts."""
        return self.file_system in _VOLATILE


@dataclass(frozen=True, kw_only=True)
class View:
    """What was found, and a ledger to read it by; `None` where reading would bring it up to date first."""

    found: Found
    ledger: Ledger | None


@contextmanager
def viewed(address: str | Path, *, mounts: Path | None = None) -> Iterator[View]:
    """Look at the ledger that `address` names. Raises `LedgerUnusable`, `LedgerBusy` or `Misconfigured`.

    Of a file a copy is read; an absent one reads as an empty ledger. A server's schema is read as it is, if it is
    of this program's version.
    """
    place = addresses.parse(address)
    if isinstance(place, Server):
        with _on_server(place) as view:
            yield view
    else:
        found = _of_file(place, mounts or sqlite_files.MOUNTS)
        with opening.throwaway_copy(place) as copy:
            yield View(found=found, ledger=copy)


@contextmanager
def _on_server(server: Server) -> Iterator[View]:
    database, known = opening.dialect(server).Postgres(server), statements.version()
    try:
        version = database.version()
        exists, at = version is not None, version or 0
        found = Found(called=server.called, server=True, exists=exists, version=at, known=known)
        yield View(found=found, ledger=Ledger(database) if version == known else None)
    finally:
        database.close()


def _of_file(path: Path, mounts: Path) -> Found:
    sqlite_files.refuse_network(path, mounts)
    exists = path.exists()
    if exists and not path.is_file():
        raise LedgerUnusable(f"ledger {path}: is not a file; name a file for the ledger")
    # Read as a file like any other. This process has no connection to it yet, whose locks that would drop.
    header = path.read_bytes()[:100] if exists and os.access(path, os.R_OK) else b""
    return Found(
        called=str(path),
        server=False,
        exists=exists,
        file_system=sqlite_files.file_system(path, mounts),
        writable=_writable(path),
        version=int.from_bytes(header[_VERSION], "big"),
        known=statements.version(),
        size=path.stat().st_size if exists else 0,
    )


def _writable(path: Path) -> bool:
    """Only a write tells (a mount, a quota, a full disk): one to a file without a name, which leaves nothing behind."""
    there = next(folder for folder in path.parents if folder.exists())
    try:
        with tempfile.TemporaryFile(dir=there) as probe:
            probe.write(b"x")
    except OSError:
        return False
    return not path.exists() or os.access(path, os.W_OK)
