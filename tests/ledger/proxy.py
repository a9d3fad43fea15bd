"""What can happen on the way to a server: a connection that is cut at a chosen message, or falls silent."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

Fits = Callable[[int, bytes], bool]
"""Whether something happens at this message of the client's: its number since `at` was set, and its bytes."""


@dataclass
class Proxy:
    """Stands on a port of this machine, before the socket of a server.

    `before` cuts the connection when a fitting message comes, which the server never sees; `after` hands it on,
    waits for the answer and cuts then. `silent` keeps what comes from then on to itself.
    """

    server: Path
    port: int = 0
    before: Fits | None = None
    after: Fits | None = None
    silent: bool = False
    count: int = 0
    cuts: int = 0
    messages: list[bytes] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _open: list[socket.socket] = field(default_factory=list)

    def at(self, *, before: Fits | None = None, after: Fits | None = None) -> None:
        with self._lock:
            self.before, self.after, self.count, self.cuts = before, after, 0, 0
            self.messages.clear()

    def address(self, schema: str) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres?schema={schema}&sslmode=disable"

    def serve(self, listening: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = listening.accept()
                server = socket.socket(socket.AF_UNIX)
                try:
                    server.connect(str(self.server))
                except OSError:
                    client.close()
                    continue
                with self._lock:
                    self._open += [client, server]
                answered = threading.Semaphore(0)
                for work in (self._up, self._down):
                    threading.Thread(target=work, args=(client, server, answered), daemon=True).start()

    def _up(self, client: socket.socket, server: socket.socket, answered: threading.Semaphore) -> None:
        with contextlib.suppress(OSError):
            while chunk := client.recv(65536):
                cut = self._seen(chunk)
                if cut == "before":
                    break
                if self.silent:
                    continue
                if cut == "after":
                    answered.cut = True  # type: ignore[attr-defined]
                server.sendall(chunk)
                if cut == "after":
                    answered.acquire(timeout=10)
                    break
        _hang_up(client, server)

    def _down(self, client: socket.socket, server: socket.socket, answered: threading.Semaphore) -> None:
        with contextlib.suppress(OSError):
            while chunk := server.recv(65536):
                if getattr(answered, "cut", False):
                    break
                if not self.silent:
                    client.sendall(chunk)
        answered.release()
        _hang_up(client, server)

    def _seen(self, chunk: bytes) -> str:
        with self._lock:
            self.count += 1
            self.messages.append(chunk)
            for name in ("before", "after"):
                fits: Fits | None = getattr(self, name)
                if fits is not None and fits(self.count, chunk):
                    setattr(self, name, None)
                    self.cuts += 1
                    return name
        return ""

    def close(self) -> None:
        with self._lock:
            for each in self._open:
                _hang_up(each)
                each.close()


def _hang_up(*ends: socket.socket) -> None:
    for end in ends:
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


def socket_of(address: str) -> Path:
    """Where the embedded server at `address` listens."""
    return Path(parse_qs(urlsplit(address).query)["host"][0]) / ".s.PGSQL.5432"


@contextlib.contextmanager
def before(address: str) -> Iterator[Proxy]:
    """A proxy before the embedded server at `address`."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        proxy = Proxy(socket_of(address), listening.getsockname()[1])
        thread = threading.Thread(target=proxy.serve, args=(listening,), daemon=True)
        thread.start()
        try:
            yield proxy
        finally:
            with contextlib.suppress(OSError):
                listening.shutdown(socket.SHUT_RDWR)
            thread.join(5)
            proxy.close()
