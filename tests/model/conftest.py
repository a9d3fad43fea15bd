"""An embedded model per test, a factory for the edge under test, and a bare HTTP(S) server for what happens below."""

from __future__ import annotations

import datetime
import http.server
import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from triagebot.core.prompt import Question
from triagebot.model.client import OpenAIModel
from triagebot.model.endpoint import Endpoint
from triagebot.sandbox import model as embedded
from triagebot.sandbox import server

_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
COMPLETION = {
    "model": "bare",
    "choices": [{"message": {"content": '{"labels": []}'}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 7, "completion_tokens": 3},
}


@pytest.fixture(autouse=True)
def _no_proxy_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*_PROXIES, *map(str.lower, _PROXIES), "SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def question() -> Question:
    return Question(
        system='[\n{"name": "bug"},\n{"name": "docs"}\n]',
        user=json.dumps({"title": "It crashes", "body": "Traceback and so on"}),
        labels=("bug", "docs"),
    )


@pytest.fixture
def stand() -> embedded.Stand:
    return embedded.Stand()


@pytest.fixture
def base_url(stand: embedded.Stand) -> Iterator[str]:
    with server.serve(embedded.app(stand)) as url:
        yield f"{url}/v1"


class Time:
    """A clock that only sleeping moves, and the list of the sleeps."""

    def __init__(self) -> None:
        self.at = 1000.0
        self.naps: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.naps.append(seconds)
        self.at += seconds

    def monotonic(self) -> float:
        return self.at

    def now(self) -> datetime.datetime:
        return datetime.datetime(2026, 10, 19, tzinfo=datetime.UTC) + datetime.timedelta(seconds=self.at - 1000)


@pytest.fixture
def clock() -> Time:
    return Time()


@pytest.fixture
def make_model(request: pytest.FixtureRequest, clock: Time) -> Iterator[Callable[..., OpenAIModel]]:
    """Build a model on the embedded server, or on `base_url`; nothing waits but what a test makes wait."""
    built: list[OpenAIModel] = []

    def make(*, stopping: Callable[[], bool] = lambda: False, **fields: Any) -> OpenAIModel:
        if "base_url" not in fields:
            fields["base_url"] = request.getfixturevalue("base_url")
        endpoint = Endpoint(**({"name": "m-1", "timeout": 5.0, "deadline": 180.0} | fields))
        built.append(
            OpenAIModel(endpoint, sleep=clock.sleep, monotonic=clock.monotonic, now=clock.now, stopping=stopping)
        )
        return built[-1]

    yield make
    for model in built:
        model.close()


class _Handler(http.server.BaseHTTPRequestHandler):
    """Answers every POST with the same completion and notes the target of the request."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.server.targets.append(self.path)  # type: ignore[attr-defined]
        body = json.dumps(COMPLETION).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


class _Quiet(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *args: object) -> None:
        pass  # a client that gives up a handshake is what some tests are about


class Bare:
    def __init__(self, url: str, targets: list[str]) -> None:
        self.url = url
        self.targets = targets


@contextmanager
def _bare(context: ssl.SSLContext | None = None) -> Iterator[Bare]:
    httpd = _Quiet(("127.0.0.1", 0), _Handler)
    httpd.targets = []  # type: ignore[attr-defined]
    if context is not None:
        httpd.socket = context.wrap_socket(httpd.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    scheme = "https" if context else "http"
    yield Bare(f"{scheme}://127.0.0.1:{httpd.server_address[1]}", httpd.targets)  # type: ignore[attr-defined]
    httpd.shutdown()
    thread.join()
    httpd.server_close()


@pytest.fixture
def plain_server() -> Iterator[Bare]:
    with _bare() as bare:
        yield bare


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """(certificate, key) for 127.0.0.1, signed by itself."""
    pytest.importorskip("cryptography")
    return _self_signed(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def tls_server(certificate: tuple[Path, Path]) -> Iterator[Bare]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    with _bare(context) as bare:
        yield bare


def _self_signed(folder: Path) -> tuple[Path, Path]:
    import ipaddress

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    built = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    files = folder / "certificate.pem", folder / "key.pem"
    files[0].write_bytes(built.public_bytes(serialization.Encoding.PEM))
    form = serialization.PrivateFormat.PKCS8
    files[1].write_bytes(key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))
    return files


@pytest.fixture
def unused_port() -> int:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])
