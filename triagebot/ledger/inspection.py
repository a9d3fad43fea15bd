"""A ledger as it lies there: looked at without a byte of it changed, and nothing created where there is none."""

from __future__ import annotations

import errno
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
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
class Hindrance:
    """What keeps a ledger from being written: where a write was refused, and the `errno` that it was refused with."""

    place: str
    errno: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """Where a ledger is or would be: a file, or a schema on a server. `called` is its name for people.

    `file_system` is the type of the one under a file, "" where this system does not tell. `hindrance` is
    of the file, what lies beside it and its folder, or of the folder that would hold its own; `None` where it can be
    written. `version` is the schema's, `known` the one that this program writes; `size` is in bytes.
    """

    called: str
    server: bool
    exists: bool
    file_system: str = ""
    hindrance: Hindrance | None = None
    version: int = 0
    known: int
    size: int = 0

    @property
    def volatile(self) -> bool:
        """Whether it is gone when the machine restarts."""
        return self.file_system in _VOLATILE


@dataclass(frozen=True, kw_only=True)
class View:
    """What was found, and a ledger to read it by; `None` where reading would bring it up to date first, or where what
    hinders writing hinders that, too."""

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
        with ExitStack() as stack:
            yield View(found=found, ledger=_copy(place, found, stack))


def _copy(path: Path, found: Found, stack: ExitStack) -> Ledger | None:
    """What keeps a ledger from being written often keeps SQLite from reading it, and is the better word for both."""
    try:
        return stack.enter_context(opening.throwaway_copy(path))
    except LedgerUnusable:
        if found.hindrance is None:
            raise
        return None


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
    exists = sqlite_files.is_there(path)
    return Found(
        called=str(path),
        server=False,
        exists=exists,
        file_system=sqlite_files.file_system(path, mounts),
        hindrance=_hindrance(path),
        version=_version(path) if exists else 0,
        known=statements.version(),
        size=path.stat().st_size if exists else 0,
    )


def _version(path: Path) -> int:
    """0 where the file may not be read: who reads it next says so."""
    # Read as a file like any other. This process has no connection to it yet, whose locks that would drop.
    try:
        with path.open("rb") as file:
            return int.from_bytes(file.read(100)[_VERSION], "big")
    except PermissionError:
        return 0


def _hindrance(path: Path) -> Hindrance | None:
    """Only a write tells (a mount, a quota, a full disk): one to a file without a name, which leaves nothing behind."""
    there = next(folder for folder in path.parents if folder.exists())
    try:
        with tempfile.TemporaryFile(dir=there) as probe:
            probe.write(b"x")
    except OSError as error:
        return Hindrance(place=str(there), errno=error.errno or errno.EIO)
    refused = (str(file) for _, file in sqlite_files.sides(path) if not sqlite_files.may_write(file) and file.exists())
    return next((Hindrance(place=place, errno=errno.EACCES) for place in refused), None)
