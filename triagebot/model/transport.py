"""The HTTP call itself: one request, never repeated, never redirected, bounded in time."""

from __future__ import annotations

import ipaddress
import ssl
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import openai

from triagebot.core.faults import Misconfigured
from triagebot.model.endpoint import Endpoint
from triagebot.model.wire import Answer

_CONNECT_SECONDS = 10.0  # an address that drops packets should not use up the time of an answer
_ENDS = "triagebot.ends"
# openai also takes headers, an organisation and a project from the environment: only these go out. The last one is
# how openai finds out, from the request as it was sent, that the raw response was asked for.
_HEADERS = frozenset(
    {
        "accept",
        "accept-encoding",
        "connection",
        "content-length",
        "content-type",
        "host",
        "user-agent",
        "x-stainless-raw-response",
    }
)


class Broken(Exception):
    """No HTTP answer came back.

    `sent` tells whether the request may have reached the server (and may be billed).
    `insecure`: TLS failed, which no repetition mends.
    """

    def __init__(self, reason: str, *, sent: bool, insecure: bool = False) -> None:
        super().__init__(reason)
        self.sent = sent
        self.insecure = insecure


class Line:
    """A connection pool to one endpoint; safe to use from several threads.

    Proxies and certificates come from the environment (HTTPS_PROXY, NO_PROXY, SSL_CERT_FILE), as for any other
    program; a loopback address is always asked directly. Raises `Misconfigured` where these cannot be used.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self._key = endpoint.api_key
        http = _http(endpoint, {"request": [self._prepare], "response": [_bound]})
        # Every argument that openai would else read from the environment is given.
        self._client = openai.OpenAI(
            api_key=endpoint.api_key or "none",
            admin_api_key="",
            organization="",
            project="",
            webhook_secret="",
            base_url=endpoint.base_url,
            max_retries=0,
            timeout=endpoint.timeout,
            http_client=http,
        )

    def send(self, parameters: dict[str, Any], seconds: float) -> Answer:
        """Send one chat completion request and return whatever HTTP answer comes. Raises `Broken`.

        Connecting and reading are each bounded by `seconds`, and the whole answer by the same time plus one read.
        """
        timeout = openai.Timeout(seconds, connect=min(seconds, _CONNECT_SECONDS))
        try:
            raw = self._client.chat.completions.with_raw_response.create(**parameters, timeout=timeout)
        except openai.APIStatusError as error:
            return _answer(error.response)
        except openai.APIConnectionError as error:
            raise _broken(error) from error
        return _answer(raw.http_response)

    def close(self) -> None:
        self._client.close()

    def _prepare(self, request: httpx2.Request) -> None:
        for name in {name.lower() for name in request.headers} - _HEADERS:
            del request.headers[name]
        if self._key:
            request.headers["authorization"] = f"Bearer {self._key}"
        request.extensions[_ENDS] = time.monotonic() + request.extensions["timeout"]["read"]


def _http(endpoint: Endpoint, hooks: dict[str, list[Callable[..., None]]]) -> httpx2.Client:
    try:
        direct = httpx2.HTTPTransport(verify=_trust(endpoint)) if _loopback(endpoint.host) else None  # so no proxies
        return openai.DefaultHttpxClient(
            timeout=endpoint.timeout, follow_redirects=False, event_hooks=hooks, transport=direct
        )
    except (OSError, ValueError, ImportError, httpx2.InvalidURL) as error:
        raise Misconfigured(
            f"The connection to the model cannot be set up ({type(error).__name__}: {error}): "
            "check SSL_CERT_FILE, SSL_CERT_DIR, HTTPS_PROXY, HTTP_PROXY and ALL_PROXY."
        ) from error


def _trust(endpoint: Endpoint) -> ssl.SSLContext | bool:
    """Whom TLS believes. Plain HTTP asks nobody: to read the system's authorities takes 45 ms, to read none takes 1."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if endpoint.base_url.lower().startswith("http:") else True


class _Bounded(httpx2.SyncByteStream):
    """A body that must be complete by a certain time.

    A read timeout only sees silence, and servers under load send blank lines for as long as the model works
    (DeepSeek documents up to ten minutes of them).
    """

    def __init__(self, stream: httpx2.SyncByteStream, ends: float) -> None:
        self._stream = stream
        self._ends = ends

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._stream:
            if time.monotonic() > self._ends:
                raise httpx2.ReadTimeout("the answer went on past the time for one request")
            yield chunk

    def close(self) -> None:
        self._stream.close()


def _bound(response: httpx2.Response) -> None:
    assert isinstance(response.stream, httpx2.SyncByteStream)
    response.stream = _Bounded(response.stream, response.request.extensions[_ENDS])


def _answer(response: httpx2.Response) -> Answer:
    headers = {name.lower(): value for name, value in response.headers.items()}
    return Answer(status=response.status_code, content=response.content, headers=headers)


_UNSENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.ProxyError)
# These are how a connection that breaks or ends looks from inside TLS; anything else of TLS will not mend itself.
_PASSING = (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError)


def _broken(error: openai.APIConnectionError) -> Broken:
    cause = error.__cause__
    tls = next((link for link in _chain(error) if isinstance(link, ssl.SSLError)), None)
    insecure = tls is not None and not isinstance(tls, _PASSING)
    reason = f"{type(cause).__name__} {cause}".strip() if cause is not None else str(error)
    return Broken(reason, sent=not isinstance(cause, _UNSENT), insecure=insecure)


def _chain(error: BaseException) -> Iterator[BaseException]:
    link: BaseException | None = error
    while link is not None:
        yield link
        link = link.__cause__ or link.__context__


def _loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
