"""Builders of answers, and real ones that others have recorded."""

from __future__ import annotations

import ast
import json
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from triagebot.core.issue import Identity
from triagebot.github.tracker import GitHubTracker
from triagebot.github.wire import Answer
from triagebot.sandbox.hub import TOKEN
from triagebot.sandbox.repository import Repository

SHARED = Path(__file__).parents[2] / "../shared"
NOON = 1_800_000_000.0  # our own clock in these tests: 2027-01-15 08:00 UTC


@pytest.fixture
def me() -> Identity:
    return Identity(login="triagebot-app", id=77, also=frozenset({"old-bot[bot]"}))


@pytest.fixture
def answer() -> Callable[..., Answer]:
    """Builds an answer: `answer(403, {"message": ...}, retry_after="60")`; a `str` body is sent as it is."""

    def build(
        status: int, body: Any = "", *, request: str = "POST /repos/o/n/issues/1/comments", **headers: str
    ) -> Answer:
        return Answer(
            request=request,
            status=status,
            headers={name.replace("_", "-"): value for name, value in headers.items()},
            text=body if isinstance(body, str) else json.dumps(body),
            received=NOON,
        )

    return build


@pytest.fixture
def recorded() -> Callable[[str], Sequence[Answer]]:
    """The answers in one of PyGithub's recordings: ten lines for each exchange."""

    def load(name: str) -> list[Answer]:
        file = SHARED / "recorded" / f"{name}.txt"
        if not file.is_file():
            pytest.skip(f"the recorded answers ({file.name}) are not beside this checkout")
        lines = file.read_text(encoding="utf-8").split("\n")
        return [_exchange(lines[start : start + 10]) for start in range(0, len(lines) - 9, 11)]

    return load


@pytest.fixture
def normalized() -> Callable[[str], Sequence[Answer]]:
    """The answers in one of octokit's recordings."""

    def load(name: str) -> list[Answer]:
        file = SHARED / "recorded" / f"{name}.normalized.json"
        if not file.is_file():
            pytest.skip(f"the recorded answers ({file.name}) are not beside this checkout")
        return [
            Answer(
                request=f"{each['method'].upper()} {each['path']}",
                status=each["status"],
                headers=each["headers"],
                text=json.dumps(each["response"]),
                received=NOON,
            )
            for each in json.loads(file.read_text(encoding="utf-8"))
        ]

    return load


def _exchange(lines: Sequence[str]) -> Answer:
    return Answer(
        request=f"{lines[1]} {lines[4]}",
        status=int(lines[7]),
        headers={name.lower(): value for name, value in ast.literal_eval(lines[8])},
        text=lines[9],
        received=NOON,
    )


Act = Callable[["Plug", BaseHTTPRequestHandler], None]


class Plug:
    """A server that does to the connection what an HTTP framework would not let it do: the script's acts in order.

    The last act repeats. `asked` holds "VERB /path?query" of every request, `peers` the client
    port of each: a new port is a new connection.
    """

    def __init__(self) -> None:
        self.script: list[Act] = []
        self.asked: list[str] = []
        self.peers: list[int] = []
        self.heard: list[tuple[dict[str, str], bytes]] = []
        self.lock = threading.Lock()
        self.released = threading.Event()
        self.url = ""
        self.server: ThreadingHTTPServer | None = None

    def serve_tls(self, context: ssl.SSLContext) -> None:
        assert self.server is not None
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)

    def handle(self, request: BaseHTTPRequestHandler) -> None:
        body = request.rfile.read(int(request.headers.get("Content-Length", 0)))
        with self.lock:
            self.asked.append(f"{request.command} {request.path}")
            self.peers.append(request.client_address[1])
            self.heard.append(({name.lower(): value for name, value in request.headers.items()}, body))
            act = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        act(self, request)

    @staticmethod
    def says(status: int, body: Any = "", **headers: str) -> Act:
        text = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)

        def act(plug: Plug, request: BaseHTTPRequestHandler) -> None:
            payload = text.encode()
            request.send_response(status)
            usual = {"content_type": "application/json", "content_length": str(len(payload))}
            for name, value in (usual | headers).items():
                request.send_header(name.replace("_", "-"), value.replace("HERE", plug.url))
            request.end_headers()
            request.wfile.write(payload)

        return act

    @staticmethod
    def closes(plug: Plug, request: BaseHTTPRequestHandler) -> None:
        """The remote end closes without a word."""
        request.close_connection = True

    @staticmethod
    def resets(plug: Plug, request: BaseHTTPRequestHandler) -> None:
        request.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        request.connection.close()
        request.close_connection = True

    @staticmethod
    def cuts(plug: Plug, request: BaseHTTPRequestHandler) -> None:
        """Half of the promised body."""
        Plug.says(201, '{"id": 1', content_length="999")(plug, request)
        request.close_connection = True

    @staticmethod
    def hangs(plug: Plug, request: BaseHTTPRequestHandler) -> None:
        plug.released.wait(30)
        request.close_connection = True


@pytest.fixture
def plug() -> Iterator[Plug]:
    plug = Plug()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: object) -> None: ...

        def _handle(self) -> None:
            plug.handle(self)

        do_GET = do_POST = do_PATCH = do_DELETE = _handle

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    plug.server = server
    plug.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield plug
    plug.released.set()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def closed_port() -> int:
    """A port on which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as sock:
        return int(sock.getsockname()[1])


@pytest.fixture
def tracker(github_url: str, repo: Repository) -> Iterator[GitHubTracker]:
    """The bot on the sandbox's repository, who has been told who it is and where."""
    made = GitHubTracker(github_url, TOKEN, repo.full_name, frozenset({"old-bot[bot]"}), timeout=1)
    made.repository()
    made.identity()
    yield made
    made.close()
