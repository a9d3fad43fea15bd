"""What must be true of a SQLite file and its folder before it is opened. Reads the file system, no database."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from triagebot.core.faults import LedgerUnusable

# SQLite's write-ahead log lives in memory that all processes share, so "all processes using a database must
# be on the same host computer" (sqlite.org/wal.html); file locks on these are unreliable besides.
_NETWORK = frozenset(
    {"9p", "afs", "beegfs", "ceph", "cifs", "davfs", "glusterfs", "gpfs", "lustre", "ncpfs", "nfs", "nfs3", "nfs4"}
    | {"ocfs2", "orangefs", "panfs", "smb2", "smb3", "smbfs"}
    | {f"fuse.{name}" for name in ("blobfuse", "blobfuse2", "ceph", "davfs2", "gcsfuse", "glusterfs", "mfs")}
    | {f"fuse.{name}" for name in ("rclone", "s3fs", "sshfs")}
)
MOUNTS = Path("/proc/self/mounts")
_WAL_MAGIC = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")
_SIDES = ("", "-wal", "-shm")

PERMIT = "make it, its -wal and -shm files and its folder writable for this user, or name another ledger"
NO_FILE = "is not a file; name a file for the ledger"
MOVE_ASIDE = "move it aside together with its -wal and -shm files; the next run goes on from the markers on the issues"


def prepare(path: Path, *, must_exist: bool = False, mounts: Path = MOUNTS) -> None:
    """Make sure that `path` can be a ledger, and create it empty (mode 0600) if it is not there.

    Raises `LedgerUnusable`, which names the path, the reason and the way out.
    """
    refuse_network(path, mounts)
    try:
        if path.exists():
            _check(path)
        elif must_exist:
            raise LedgerUnusable(f"no ledger at {path} yet: run `triagebot run` first, or name another ledger")
        else:
            _create(path)
    except OSError as error:
        raise LedgerUnusable(
            f"ledger {path}: cannot be opened ({error.strerror}); make its folder writable for this user, "
            "or name another ledger"
        ) from error


def is_there(path: Path) -> bool:
    """Whether a file lies at `path`. Raises `LedgerUnusable` for what is no file, and where nobody lets this user look.

    Nothing is created, and whether it may be written is another question.
    """
    try:
        there = path.exists()
        if there and not path.is_file():
            raise LedgerUnusable(f"ledger {path}: {NO_FILE}")
    except OSError as error:
        raise LedgerUnusable(
            f"ledger {path}: cannot be looked at ({error.strerror}); let this user into its folder, "
            "or name another ledger"
        ) from error
    return there


def refuse_network(path: Path, mounts: Path = MOUNTS) -> None:
    """Raise `LedgerUnusable` where `path` lies on a network file system."""
    kind = file_system(path, mounts)
    if kind in _NETWORK:
        raise LedgerUnusable(
            f"ledger {path}: lies on a network file system ({kind}), where SQLite loses writes; "
            "put it on a local disk of one host"
        )


def check_wal(path: Path) -> None:
    """Raise `LedgerUnusable` for a write-ahead log with a foreign header.

    SQLite takes it for an empty one and silently drops what it held. All zeros is what a power cut may
    leave of a log that nothing was committed to.
    """
    wal = path.with_name(path.name + "-wal")
    try:
        with wal.open("rb") as file:
            header = file.read(32)
    except FileNotFoundError:
        return
    except OSError as error:
        raise LedgerUnusable(f"ledger {path}: its -wal file cannot be read ({error.strerror}); {PERMIT}") from error
    if len(header) == 32 and any(header) and header[:4] not in _WAL_MAGIC:
        raise LedgerUnusable(f"ledger {path}: its -wal file is damaged; {MOVE_ASIDE}")


def file_system(path: Path, mounts: Path) -> str:
    """The type of the file system under `path`; "" where this system does not tell."""
    try:
        table = mounts.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""
    found = Path("/"), ""
    for _, point, kind, *_ in (line.split() for line in table.splitlines()):
        folder = Path(point.replace("\\040", " "))  # the table writes a blank in a name so
        if path.is_relative_to(folder) and len(folder.parts) >= len(found[0].parts):
            found = folder, kind  # of two mounts on one point, the later one is seen
    return found[1]


def sides(path: Path) -> Iterator[tuple[str, Path]]:
    """What lies there of a ledger, as it is called: the file itself, its log, and the index of that."""
    for side in _SIDES:
        file = path.with_name(path.name + side)
        if file.exists():
            yield f"its {side} file " if side else "", file


def may_write(place: Path) -> bool:
    """Whether this user may write to what is there; root is told that it may, whatever the disk will say."""
    return os.access(place, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def _check(path: Path) -> None:
    if not path.is_file():
        raise LedgerUnusable(f"ledger {path}: {NO_FILE}")
    for called, needed in (*sides(path), ("its folder ", path.parent)):
        if not may_write(needed) and needed.exists():  # a log goes when the last process closes it
            raise LedgerUnusable(f"ledger {path}: {called}is read-only; {PERMIT}")
    for _, file in sides(path):
        _tighten(file)
    check_wal(path)


def _tighten(file: Path) -> None:
    """Take away what others may do with our own file: a copy or a cache may have widened it."""
    with contextlib.suppress(FileNotFoundError):  # a log goes when the last process closes it
        found = file.stat()
        if found.st_uid == os.geteuid() and stat.S_IMODE(found.st_mode) & 0o077:
            file.chmod(0o600)


def _create(path: Path) -> None:
    for folder in reversed(path.parents):  # each of them, whatever the umask: who may write above may put another below
        folder.mkdir(mode=0o700, exist_ok=True)
    # Created here and not by SQLite: never readable by others, not even for a moment. SQLite gives the
    # -wal and -shm files the mode of the main file.
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
