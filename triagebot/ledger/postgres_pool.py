"""Connections to a PostgreSQL server: a bounded number, shared by all threads, each lent for one transaction."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import psycopg
from psycopg import pq
from psycopg.abc import PQGen
from psycopg.adapt import Loader
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import dict_row

from triagebot.core.faults import LedgerBusy, Misconfigured
from triagebot.ledger.address import Server

RV = TypeVar("RV")


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """Seconds after which something is given up: a statement, a transaction in which nothing happens, a connection
    that is not made, a server that does not say a word."""

    statement: float = 30.0
    idle: float = 60.0
    connect: int = 10
    silence: float = 60.0


class Whole(Loader):
    """Sums of bigints come as numeric; ours are whole numbers."""

    def load(self, data: Any) -> int:
        return int(bytes(data))


class Connection(psycopg.Connection[dict[str, Any]]):
    """One that does not wait for ever: a server that hangs keeps its socket open and says nothing."""

    patience: float = 60.0
    """Seconds for any answer."""

    def wait(self, gen: PQGen[RV], *args: Any, **kwargs: Any) -> RV:
        return super().wait(_bounded(gen, time.monotonic() + self.patience), *args, **kwargs)


def _bounded(gen: PQGen[RV], deadline: float) -> PQGen[RV]:
    try:
        asked = next(gen)
        while True:
            ready = yield asked
            if not ready and time.monotonic() > deadline:
                raise psycopg.OperationalError("no answer in time")
            asked = gen.send(ready)
    except StopIteration as done:
        answer: RV = done.value
        return answer


def connect(given: str, *, patience: float) -> Connection:
    """A new connection that begins no transaction by itself and leaves nothing behind in the session.

    So it works through a pooler that gives every transaction another session: nothing is prepared, nothing is set
    for longer than a transaction.
    """
    made = Connection.connect(given, autocommit=True, prepare_threshold=None, row_factory=dict_row)
    made.patience = patience
    made.adapters.register_loader("numeric", Whole)
    return made


def conninfo(server: Server, limits: Limits) -> str:
    """What libpq is given: the address, and a limit for everything that it leaves open. Raises `Misconfigured`."""
    try:
        given = conninfo_to_dict(server.url)
    except psycopg.ProgrammingError:
        given = None
    if given is None:  # outside of the handler: what libpq says of an address repeats it, password and all
        raise Misconfigured(
            f"ledger {server.called}: the address holds something that libpq does not know; see its documentation on "
            "connection URIs"
        )
    defaults: dict[str, Any] = {
        "application_name": "triagebot",
        "client_encoding": "UTF8",
        "connect_timeout": limits.connect,
        # For a server that is gone without a word: seconds until the first probe, between two, and in all.
        "keepalives_idle": 30,
        "keepalives_interval": 10,
        "keepalives_count": 3,
        "tcp_user_timeout": int(limits.silence * 1000),
    }
    return make_conninfo(**defaults | given)


class Pool:
    """At most `size` connections, made when they are needed. Raises `LedgerBusy` where none comes free in time."""

    def __init__(self, make: Callable[[], Connection], *, size: int, timeout: float, called: str) -> None:
        self._make = make
        self._size = size
        self._timeout = timeout
        self._called = called
        self._free = threading.BoundedSemaphore(size)
        self._lock = threading.Lock()
        self._idle: list[Connection] = []
        self._closed = False

    @contextmanager
    def lent(self) -> Iterator[Connection]:
        """A connection for one transaction; one that does not come back clean is thrown away."""
        if not self._free.acquire(timeout=self._timeout):
            raise LedgerBusy(
                f"ledger {self._called}: none of {self._size} connections came free within {self._timeout:g} s; "
                "run again later"
            )
        try:
            connection = self._take() or self._make()
            try:
                yield connection
            finally:
                self._put_back(connection)
        finally:
            self._free.release()

    def forget_idle(self) -> None:
        """One was dead: the others are as old, and probably dead as well."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def close(self) -> None:
        """Close what is idle. What is lent is closed when it comes back."""
        with self._lock:
            self._closed = True
        self.forget_idle()

    def _take(self) -> Connection | None:
        with self._lock:
            return self._idle.pop() if self._idle else None

    def _put_back(self, connection: Connection) -> None:
        # In the midst of a transaction only where an exception came that nobody expected: closing rolls back.
        clean = connection.info.transaction_status is pq.TransactionStatus.IDLE
        with self._lock:
            if kept := clean and not self._closed:
                self._idle.append(connection)
        if not kept:
            connection.close()
