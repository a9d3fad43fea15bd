"""The sender: one write is one request, nothing is followed, and every transport failure has one name."""

from __future__ import annotations

import ssl
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

import pytest
import requests.exceptions as req
import urllib3.exceptions as lib
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

import triagebot
from triagebot.core.faults import Unclear, Undelivered
from triagebot.github import line
from triagebot.github.line import Line, Redirected

TOKEN = "ghp_" + "s" * 36
COMMENTS = "/repos/o/n/issues/1/comments"


@pytest.fixture
def wire(plug):
    made = Line(plug.url, TOKEN, 1)
    yield made
    made.close()


@pytest.mark.parametrize("status", [500, 502, 503, 504, 403, 429])
def test_a_write_that_is_answered_by_an_error_goes_out_once(plug, wire, status):
    plug.script = [plug.says(status, {"message": "no"}, retry_after="1")]
    assert wire.write("POST", COMMENTS, {"body": "x"}).status == status
    assert plug.asked == [f"POST {COMMENTS}"]


@pytest.mark.parametrize("act", ["closes", "resets", "cuts", "hangs"])
@pytest.mark.parametrize("verb", ["POST", "PATCH", "DELETE"])
def test_a_write_without_a_whole_answer_goes_out_once_and_is_unclear(plug, wire, act, verb):
    plug.script = [getattr(plug, act)]
    with pytest.raises(Unclear, match="may have been carried out") as caught:
        wire.write(verb, COMMENTS, {"body": "x"})
    assert plug.asked == [f"{verb} {COMMENTS}"]
    assert TOKEN not in repr(caught.value)


@pytest.mark.parametrize("status", [300, 301, 302, 303, 304, 307, 308])
@pytest.mark.parametrize("where", ["HERE/repos/o/other/issues/9/comments", "https://elsewhere.example/", ""])
def test_a_redirected_write_is_not_followed(plug, wire, status, where):
    plug.script = [plug.says(status, "", location=where)]
    with pytest.raises(Redirected) as caught:
        wire.write("POST", COMMENTS, {"body": "x"})
    assert plug.asked == [f"POST {COMMENTS}"]
    assert (caught.value.status, caught.value.location) == (status, where.replace("HERE", plug.url))


@pytest.mark.parametrize("status", [202, 301, 302, 307])
def test_a_read_that_is_sent_elsewhere_or_put_off_is_handed_back(plug, wire, status):
    plug.script = [plug.says(status, "", location="HERE/repositories/42")]
    with pytest.raises(Redirected):
        wire.read("GET", "/repos/o/n")
    assert plug.asked == ["GET /repos/o/n"]


def test_a_rate_header_that_is_no_number_makes_the_write_unclear(plug, wire):
    plug.script = [plug.says(201, {"id": 1}, x_ratelimit_remaining="many", x_ratelimit_limit="5000")]
    with pytest.raises(Unclear):
        wire.write("POST", COMMENTS, {"body": "x"})
    assert len(plug.asked) == 1


def test_a_failed_get_is_repeated_a_few_times(plug, wire):
    plug.script = [plug.says(502), plug.says(200, {"id": 42})]
    assert wire.read("GET", "/repos/o/n").status == 200
    plug.script = [plug.says(503, "", retry_after="3600")]
    assert wire.read("GET", "/repos/o/n").status == 503
    assert len(plug.asked) == 2 + 4


@pytest.mark.parametrize("status", [403, 429])
def test_a_limit_comes_back_at_once_and_is_not_slept_on(plug, wire, status):
    plug.script = [plug.says(status, {"message": "API rate limit exceeded"}, retry_after="3600")]
    assert wire.read("GET", "/repos/o/n").headers["retry-after"] == "3600"
    assert len(plug.asked) == 1


def test_a_query_is_one_request(plug, wire):
    plug.script = [plug.says(502)]
    assert wire.read("POST", wire.graphql, {"query": "{}"}).status == 502
    plug.script = [plug.closes]
    with pytest.raises(Unclear):
        wire.read("POST", wire.graphql, {"query": "{}"})
    assert plug.asked == ["POST /graphql"] * 2


def test_writes_take_a_fresh_connection_and_reads_keep_theirs(plug, wire):
    plug.script = [plug.says(200, [])]
    for _ in range(2):
        wire.read("GET", "/repos/o/n")
    for _ in range(2):
        wire.write("POST", COMMENTS, {"body": "x"})
    assert plug.peers[0] == plug.peers[1]
    assert len(set(plug.peers)) == 3


def test_what_is_sent_says_who_sends_it(plug, wire):
    plug.script = [plug.says(200, [])]
    wire.write("POST", COMMENTS, {"body": "ö"})
    headers, body = plug.heard[0]
    assert headers["user-agent"] == f"triagebot/{triagebot.__version__}"
    assert headers["authorization"] == f"token {TOKEN}"
    assert headers["x-github-api-version"] == "2022-11-28"
    assert body == b'{"body": "\\u00f6"}'


def test_a_delete_has_no_body(plug, wire):
    plug.script = [plug.says(200)]
    wire.write("DELETE", "/repos/o/n/issues/comments/1", {})
    assert plug.heard[0][1] == b""


def test_text_is_utf_8_whatever_the_header_forgets(plug, wire):
    plug.script = [plug.says(200, {"body": "naïve — 日本"}, content_type="text/plain")]
    assert wire.read("GET", "/repos/o/n").json() == {"body": "naïve — 日本"}


def test_threads_do_not_mix_their_requests(plug, wire, monkeypatch):
    """PyGithub keeps a request on the connection until its answer is fetched; two threads must not share one."""
    meet, fetch = threading.Barrier(2), line._Straight.getresponse

    def fetch_together(connection):
        meet.wait(5)
        return fetch(connection)

    monkeypatch.setattr(line._Straight, "getresponse", fetch_together)
    plug.script = [lambda plug, request: plug.says(200, {"path": request.path})(plug, request)]
    with ThreadPoolExecutor(2) as pool:
        told = pool.map(lambda n: wire.read("GET", f"/repos/o/n{n}").json()["path"], range(8))
        assert [*told] == [f"/repos/o/n{n}" for n in range(8)]


def test_a_refused_connection_is_surely_not_delivered(closed_port):
    nobody = Line(f"http://127.0.0.1:{closed_port}", TOKEN, 1)
    with pytest.raises(Undelivered, match="Connection refused"):
        nobody.write("POST", COMMENTS, {"body": "x"})


def test_a_proxy_that_is_not_there_is_surely_not_delivered(plug, wire, closed_port, monkeypatch):
    monkeypatch.setenv("http_proxy", f"http://user:secret@127.0.0.1:{closed_port}")
    with pytest.raises(Undelivered) as caught:
        wire.write("POST", COMMENTS, {"body": "x"})
    assert "secret" not in str(caught.value)
    assert plug.asked == []


def test_a_proxy_is_used_and_a_host_in_no_proxy_is_reached_without_it(plug, wire, monkeypatch):
    plug.script = [plug.says(200, [])]
    monkeypatch.setenv("http_proxy", plug.url)
    Line("http://github.example", TOKEN, 1).write("POST", COMMENTS, {})
    assert plug.asked == [f"POST http://github.example:80{COMMENTS}"]
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    assert wire.write("POST", COMMENTS, {}).status == 200


def test_tls_to_a_server_without_it_is_surely_not_delivered(plug):
    plug.script = [plug.says(200)]
    with pytest.raises(Undelivered):
        Line(plug.url.replace("http:", "https:"), TOKEN, 1).write("POST", COMMENTS, {"body": "x"})


def test_a_certificate_that_nobody_vouches_for_is_surely_not_delivered(plug, tmp_path):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(_self_signed(tmp_path))
    plug.serve_tls(context)
    with pytest.raises(Undelivered, match="certificate"):
        Line(plug.url.replace("http:", "https:"), TOKEN, 1).write("POST", COMMENTS, {"body": "x"})
    assert plug.asked == []


def _self_signed(folder):
    secret = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(secret.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(secret, hashes.SHA256())
    )
    plain = serialization.NoEncryption()
    pem = secret.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    file = folder / "self-signed.pem"
    file.write_bytes(pem + certificate.public_bytes(serialization.Encoding.PEM))
    return file


def _wrapped(reason, kind=req.ConnectionError):
    return kind(lib.MaxRetryError(None, "/", reason))


def _tls(reason):
    error = ssl.SSLError(1, f"[SSL: {reason}] (_ssl.c:1006)")
    error.reason = reason
    return lib.SSLError(error)


NO_NAME = lib.NameResolutionError("h", None, OSError(-2, "Name or service not known"))
NO_TUNNEL = lib.ProtocolError("Connection aborted.", OSError("Tunnel connection failed: 407 Proxy"))
RESET = lib.ProtocolError("Connection aborted.", ConnectionResetError(104, "Connection reset by peer"))


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (_wrapped(NO_NAME), Undelivered),
        (_wrapped(lib.NewConnectionError(None, "refused")), Undelivered),
        (_wrapped(lib.ConnectTimeoutError(None, "slow"), req.ConnectTimeout), Undelivered),
        (_wrapped(lib.ProxyError("p", OSError("no")), req.ProxyError), Undelivered),
        (req.ConnectionError(NO_TUNNEL), Undelivered),
        (_wrapped(_tls("CERTIFICATE_VERIFY_FAILED"), req.SSLError), Undelivered),
        (req.InvalidProxyURL("p"), Undelivered),
        (_wrapped(_tls("UNEXPECTED_EOF_WHILE_READING"), req.SSLError), Unclear),
        (_wrapped(RESET), Unclear),
        (req.ReadTimeout("slow"), Unclear),
        (req.ChunkedEncodingError("cut"), Unclear),
        (req.ContentDecodingError("no gzip"), Unclear),
        (ValueError("int()"), Unclear),
    ],
)
def test_only_what_happens_before_the_first_byte_is_surely_not_delivered(error, kind):
    assert type(line._translated(error, "POST /x")) is kind
