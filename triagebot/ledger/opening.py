"""From what a person writes in `TRIAGEBOT_LEDGER` to an open ledger."""

from __future__ import annotations

import functools
import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from triagebot.core.faults import LedgerUnusable, Misconfigured
from triagebot.ledger import address as addresses
from triagebot.ledger import copying, sqlite, sqlite_copy, sqlite_files
from triagebot.ledger.address import Server
from triagebot.ledger.ledger import Ledger
from triagebot.ledger.statements import Database


def open_ledger(
    address: str | Path,
    *,
    must_exist: bool = False,
    settle: float = 60.0,
    timeout: float = sqlite.BUSY_SECONDS,
    connections: int = 4,
    searched: bool = True,
    now: Callable[[], float] | None = None,
) -> Ledger:
    """Open, create or migrate the ledger at a path, a `sqlite:///` or a `postgresql://` address.

    `must_exist` creates nothing. `settle` is how long after a crash the tracker may still show a write,
    `timeout` how long to wait for a lock, both in seconds; a server gets at most so many `connections`; a file is
    `searched` for damage, or damage shows where it is met; `now` stands in for the database's clock in tests.
    Raises `LedgerUnusable`, `LedgerBusy` or, for an address that names nothing, `Misconfigured`.
    """
    how: dict[str, Any] = {"must_exist": must_exist, "timeout": timeout, "now": now}
    place = addresses.parse(address)
    if isinstance(place, Server):
        how["connections"] = connections
    else:
        how["searched"] = searched
    return Ledger(_opened(place, **how), settle=settle)


def _opened(place: Path | Server, **how: Any) -> Database:
    opened: Database = (
        dialect(place).open_schema(place, **how) if isinstance(place, Server) else sqlite.open_file(place, **how)
    )
    return opened


def throwaway(*, settle: float = 60.0, now: Callable[[], float] | None = None) -> Ledger:
    """Open an empty ledger in a folder of its own, which is removed when it is closed."""
    return _thrown_away(None, settle=settle, now=now)


def throwaway_copy(address: str | Path, *, settle: float = 60.0, now: Callable[[], float] | None = None) -> Ledger:
    """Open a private copy of the ledger for a dry run, which is removed when it is closed.

    The ledger itself does not change by a byte. Where there is none yet, the copy is an empty one and
    none is created. Raises what `open_ledger` raises.
    """
    place = addresses.parse(address)
    if isinstance(place, Server):
        return _thrown_away_rows(place, settle=settle, now=now)
    source = place
    try:
        return _thrown_away(source if source.exists() else None, settle=settle, now=now)
    except OSError as error:
        raise LedgerUnusable(
            f"ledger {source}: cannot be copied for a dry run ({error.strerror}); make it readable for this user, "
            "and free some space in the folder for temporary files"
        ) from error


def _thrown_away(source: Path | None, *, settle: float, now: Callable[[], float] | None) -> Ledger:
    folder = Path(tempfile.mkdtemp(prefix="triagebot-"))
    remove = functools.partial(shutil.rmtree, folder, ignore_errors=True)
    copy = folder / "ledger.db"
    try:
        if source is not None:
            sqlite_copy.copy_file(source, copy)
        return Ledger(sqlite.open_file(copy, called=source, now=now, on_close=remove), settle=settle)
    except BaseException:
        remove()
        raise


def _thrown_away_rows(server: Server, *, settle: float, now: Callable[[], float] | None) -> Ledger:
    copy = throwaway(settle=settle, now=now)
    try:
        source = dialect(server).open_unchanged(server)
        if source is not None:
            with closing(source):
                copying.copy(source, copy.database, origin=str(server), called=f"copy of {server}")
    except BaseException:
        copy.close()
        raise
    return copy


def copy(source: str | Path, target: str | Path, *, watcher: copying.Watcher = copying.UNWATCHED) -> copying.Copied:
    """Put everything that the ledger `source` knows into the new ledger `target`, or go on with doing so.

    Raises `Misconfigured` where `target` knows something else already, and what `open_ledger` raises.
    """
    origin, place = addresses.parse(source), addresses.parse(target)
    if origin == place:
        raise Misconfigured(f"ledger {place}: is both the source and the target of the copy; name two")
    with open_ledger(source, must_exist=True) as old, closing(_opened(place, half_copied=True)) as new:
        return copying.copy(old.database, new, origin=str(origin), called=str(place), watcher=watcher)


def backup(address: str | Path, target: Path) -> Path:
    """Copy the ledger to the new file `target`, by the database's own means; returns where the ledger lies.

    A copy of a file that is being written to holds half of it, and what a crash left lies in a second file
    (sqlite.org/howtocorrupt.html, section 1.2). `target` is one file, readable by its owner only, and is there
    whole or not at all. Not a byte of the ledger changes. Raises `Misconfigured` where `target` exists or cannot
    be written, `LedgerUnusable` where there is no ledger or no sound one, `LedgerBusy` while it is locked.
    """
    source = locate(address)
    if not sqlite_files.is_there(source):
        raise LedgerUnusable(f"no ledger at {source} yet: run `triagebot run` first, or name another ledger")
    try:
        _back_up(source, target.absolute())
    except FileExistsError as error:
        raise Misconfigured(f"{target} exists already, and a backup overwrites nothing; name a new file.") from error
    except OSError as error:
        raise Misconfigured(
            f"{target} cannot be written ({error.strerror}); name a file in a folder that is there, and that you "
            "may write to."
        ) from error
    return source


def _back_up(source: Path, target: Path) -> None:
    if os.path.lexists(target):
        raise FileExistsError(target)
    # Beside the target, so that the last step is one step: a link to a name that is taken fails.
    with tempfile.TemporaryDirectory(prefix=".triagebot-", dir=target.parent) as folder:
        copy = Path(folder) / "ledger.db"
        sqlite_copy.copy_file(source, copy)
        sqlite.check_file(copy, called=source)
        copy.chmod(0o600)
        _to_disk(copy)
        os.link(copy, target)
    _to_disk(target.parent)


def _to_disk(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def locate(address: str | Path) -> Path:
    """The file that `address` names. Raises `Misconfigured`, also where it names a server."""
    place = addresses.parse(address)
    if isinstance(place, Server):
        raise Misconfigured(
            f"ledger {place}: lies on a server; back it up with pg_dump --schema={place.schema}, or copy it to a file "
            "with `triagebot ledger copy`"
        )
    return place


@contextmanager
def passing_schema(server: Server, prefix: str) -> Iterator[str]:
    """The address of a new ledger in the same database, which is removed in the end. Raises what `open_ledger` does."""
    address = server.beside(f"{prefix}_{secrets.token_hex(6)}")
    try:
        open_ledger(address).close()
        yield address
    finally:
        dialect(server).drop_schema(addresses.parse(address))


def dialect(place: Server) -> ModuleType:
    """What speaks to servers. Raises `Misconfigured` where its library is not installed."""
    try:
        from triagebot.ledger import postgres
    except ImportError as error:
        raise Misconfigured(
            f"ledger {place}: PostgreSQL needs the extra `postgres`; install it with pip install 'triagebot[postgres]'"
        ) from error
    return postgres
