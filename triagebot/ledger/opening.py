"""From what a person writes in `TRIAGEBOT_LEDGER` to an open ledger."""

from __future__ import annotations

import functools
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from triagebot.core.faults import LedgerUnusable, Misconfigured
from triagebot.ledger import sqlite
from triagebot.ledger.ledger import Ledger


def open_ledger(
    address: str | Path,
    *,
    must_exist: bool = False,
    settle: float = 60.0,
    timeout: float = sqlite.BUSY_SECONDS,
    now: Callable[[], float] | None = None,
) -> Ledger:
    """Open, create or migrate the ledger at a path or `sqlite:///` address.

    `must_exist` creates nothing. `settle` is how long after a crash the tracker may still show a write,
    `timeout` how long to wait for a lock, both in seconds; `now` stands in for the database's clock in
    tests. Raises `LedgerUnusable`, `LedgerBusy` or, for an address that names no file, `Misconfigured`.
    """
    database = sqlite.open_file(locate(address), must_exist=must_exist, timeout=timeout, now=now)
    return Ledger(database, settle=settle)


def throwaway(*, settle: float = 60.0, now: Callable[[], float] | None = None) -> Ledger:
    """Open an empty ledger in a folder of its own, which is removed when it is closed."""
    return _thrown_away(None, settle=settle, now=now)


def throwaway_copy(address: str | Path, *, settle: float = 60.0, now: Callable[[], float] | None = None) -> Ledger:
    """Open a private copy of the ledger for a dry run, which is removed when it is closed.

    The ledger itself does not change by a byte. Where there is none yet, the copy is an empty one and
    none is created. Raises what `open_ledger` raises.
    """
    source = locate(address)
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
            sqlite.copy_file(source, copy)
        return Ledger(sqlite.open_file(copy, called=source, now=now, on_close=remove), settle=settle)
    except BaseException:
        remove()
        raise


def locate(address: str | Path) -> Path:
    """The file that `address` names: a path, `sqlite:///relative/path` or `sqlite:////absolute/path`.

    Raises `Misconfigured`; an address that is no path may hold a password and is not repeated.
    """
    text = str(address)
    scheme, separator, rest = text.partition("://")
    if separator and scheme in {"postgresql", "postgres"}:
        raise Misconfigured(
            "ledger: PostgreSQL comes with the extra `postgres`, which is not in this version; "
            "name a file or sqlite:///PATH instead"
        )
    if separator and (scheme != "sqlite" or not rest.startswith("/")):
        raise Misconfigured("ledger: the address must be a path, sqlite:///PATH or sqlite:////ABSOLUTE/PATH")
    path = rest[1:] if separator else text
    if not path:
        raise Misconfigured("ledger: no path is given; name a file for it")
    try:
        return Path(path).expanduser().resolve()
    except (OSError, RuntimeError) as error:
        raise Misconfigured(f"ledger: {path} leads nowhere ({error}); name another file") from error
