"""Ways to a server on loopback: TLS by an authority of our own in front of it, and a CONNECT proxy before that."""

from __future__ import annotations

import http.client
import select
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.keys import Authority

_HOPS = {"connection", "transfer-encoding", "keep-alive", "date", "server"}


class _Quiet(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that gives up a handshake is what some tests are about."""


@contextmanager
def _served(handler: type[BaseHTTPRequestHandler], context: ssl.SSLContext | None = None) -> Iterator[int]:
    server = _Quiet(("127.0.0.1", 0), handler)
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None: ...


@contextmanager
def https(port: int, authority: Authority, path: Callable[[str], str] = lambda path: path) -> Iterator[int]:
    """The plain server at `port`, over TLS; `path` is what a path out there is called in there."""

    class Front(_Handler):
        def _forward(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            behind = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
            behind.request(self.command, path(self.path), body, dict(self.headers))
            answer = behind.getresponse()
            said = answer.read()
            behind.close()
            self.send_response_only(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in _HOPS | {"content-length"} or name.lower() == "date":
                    self.send_header(name, value)
            self.send_header("content-length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        do_GET = do_POST = do_PATCH = do_DELETE = _forward

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority.chain)
    with _served(Front, context) as made:
        yield made


@dataclass
class Proxy:
    """A proxy on loopback that knows a few hosts. `asked` holds each target, `said` what came as credentials."""

    hosts: Mapping[str, int]
    credentials: str = ""
    url: str = ""
    asked: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)


@contextmanager
def proxy(hosts: Mapping[str, int], credentials: str = "") -> Iterator[Proxy]:
    """A CONNECT proxy to the loopback ports of `hosts`; with `credentials` it wants this header."""
    made = Proxy(hosts, credentials)

    class Tunnel(_Handler):
        def do_CONNECT(self) -> None:
            given = self.headers.get("proxy-authorization", "")
            made.asked.append(self.path)
            made.said.append(given)
            self.close_connection = True
            if given != made.credentials:
                self.send_error(407)
            elif (port := made.hosts.get(self.path.rpartition(":")[0])) is None:
                self.send_error(502)
            else:
                self.send_response(200, "Connection established")
                self.end_headers()
                with socket.create_connection(("127.0.0.1", port)) as there:
                    _carry(self.connection, there)

    with _served(Tunnel) as port:
        made.url = f"http://127.0.0.1:{port}"
        yield made


def _carry(one: socket.socket, other: socket.socket) -> None:
    """Bytes both ways until one end closes."""
    ends = {one: other, other: one}
    while True:
        for source in select.select([*ends], [], [])[0]:
            data = source.recv(65536)
            if not data:
                return
            ends[source].sendall(data)
