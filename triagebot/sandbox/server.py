"""Serves an embedded part over real HTTP from a thread of this process; knows nothing of what it serves."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from typing import Any

import uvicorn

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

START_SECONDS = 10.0
STOP_SECONDS = 10.0


@contextlib.contextmanager
def serve(app: App, port: int = 0, host: str = "127.0.0.1") -> Iterator[str]:
    """Serve an ASGI `app` and yield its base URL, without a trailing slash; port 0 takes a free one.

    The socket is bound before the thread starts, so a taken port raises `OSError` here.
    Leaving the block cuts open connections and cancels handlers that still wait:
    a handler may hang on an event for ever, but must never block the loop.
    """
    sock = socket.create_server((host, port))
    # Inherited by each connection. asyncio does not set it for a socket made like this, and head and
    # body are two packets: each answer would wait 40 ms for the client's delayed acknowledgement.
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    server = _Server(_Doorman(app))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]}, name="sandbox-server", daemon=True)
    thread.start()
    try:
        if not server.ready.wait(START_SECONDS):
            raise RuntimeError(f"The embedded server did not start within {START_SECONDS:.0f} s.")
        yield f"http://{host}:{sock.getsockname()[1]}"
    finally:
        server.stop()
        thread.join(STOP_SECONDS)
        sock.close()


async def cut(scope: Scope) -> None:
    """Close the TCP connection of the request with this scope, with what was sent so far; the handler returns next."""
    scope["extensions"]["triagebot.cut"]()
    await asyncio.sleep(0)  # lets uvicorn learn that the client is gone: an answer that is not finished is no error


def _config(app: _Doorman) -> uvicorn.Config:
    # Headers are the app's affair (it may own the clock), and its errors show up as a 500 with a traceback.
    return uvicorn.Config(
        app,
        loop="asyncio",
        http="h11",
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="error",
        access_log=False,
        date_header=False,
        server_header=False,
    )


class _Doorman:
    """Hands each request the means to cut its connection, and lets hanging ones go quietly at the end."""

    def __init__(self, app: App) -> None:
        self._app = app
        self.closing = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # ASGI has no word for "hang up"; uvicorn's `send` is a method of the object that owns the transport.
        transport: asyncio.Transport = send.__self__.transport  # type: ignore[attr-defined]
        scope.setdefault("extensions", {})["triagebot.cut"] = transport.abort
        try:
            await self._app(scope, receive, send)
        except asyncio.CancelledError:
            if not self.closing:
                raise


class _Server(uvicorn.Server):
    """uvicorn without its polling: told when to stop by an event, and never waiting for a client to leave."""

    def __init__(self, doorman: _Doorman) -> None:
        super().__init__(_config(doorman))
        self._doorman = doorman
        self.ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: the thread has ended by itself
                self._loop.call_soon_threadsafe(self._stopping.set)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._loop = asyncio.get_running_loop()
        self.ready.set()

    async def main_loop(self) -> None:
        await self._stopping.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._doorman.closing = True
        for server in self.servers:
            server.close()
        for sock in sockets or ():
            sock.close()
        for connection in [*self.server_state.connections]:
            connection.transport.abort()
        await asyncio.sleep(0)  # lets the connections learn that they are lost, so that nothing is logged
        for task in [*self.server_state.tasks]:
            task.cancel()
        await asyncio.gather(*self.server_state.tasks, return_exceptions=True)
