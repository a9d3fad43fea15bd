"""The one place that sends: PyGithub with its own retries and redirects switched off.

PyGithub repeats a POST on a 5xx and after a dropped connection (11 comments for one
`create_comment` were measured), follows a 301 even for a POST, and drops the query string
of a GET that it follows; so every request goes out on a connection of ours, through the
one public method that takes a connection (`Requester.requestJson(..., cnx=...)`).
"""

from __future__ import annotations

import contextlib
import http.client
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

import github
import requests
import urllib3
from github.Requester import (
    HTTPRequestsConnectionClass,
    HTTPSRequestsConnectionClass,
    RequestsResponse,
)

import triagebot
from triagebot.core.faults import TrackerFault, Unclear, Undelivered
from triagebot.github import wire
from triagebot.github.credentials import Credential, Given, Signed
from triagebot.github.wire import Answer

_HEADERS = {"Accept": "application/vnd.github+json"}
_API_VERSION = "2022-11-28"

# Reads only, and short: 0, 0.4 and 0.8 s between tries; what takes the whole timeout is tried
# once more. A limit is no business of this layer: 403, 429 and `Retry-After` come back at once.
_READING = urllib3.Retry(
    total=3,
    connect=1,
    read=1,
    backoff_factor=0.2,
    allowed_methods={"GET", "HEAD"},
    status_forcelist=[500, 502, 503, 504],
    respect_retry_after_header=False,
    raise_on_status=False,
)

# TLS alerts that only a handshake brings: nothing has been sent by then. Any other TLS error
# may have come while the answer was read.
_HANDSHAKE = {
    "CERTIFICATE_VERIFY_FAILED",
    "HTTP_REQUEST",
    "NO_PROTOCOLS_AVAILABLE",
    "SSLV3_ALERT_HANDSHAKE_FAILURE",
    "TLSV1_ALERT_PROTOCOL_VERSION",
    "TLSV1_UNRECOGNIZED_NAME",
    "UNSUPPORTED_PROTOCOL",
    "WRONG_VERSION_NUMBER",
}


_TUNNEL = "Tunnel connection failed"  # how http.client says that a proxy refused


class Redirected(Unclear):
    """An answer that sends elsewhere; nothing was followed. `location` as given, "" if none was."""

    def __init__(self, message: str, *, status: int, location: str) -> None:
        super().__init__(message)
        self.status = status
        self.location = location


class _Straight:
    """Stops PyGithub before it acts on an answer by itself: it follows a 301, and repeats a GET after a 202."""

    verb: str
    url: str

    def getresponse(self) -> RequestsResponse:
        answer: RequestsResponse = super().getresponse()  # type: ignore[misc]
        # JSON is UTF-8 (RFC 8259, 8.1), also where a proxy's Content-Type lets requests think of Latin-1.
        answer.response.encoding = "utf-8"
        if 300 <= answer.status < 400 or answer.status == 202:
            location = answer.headers.get("Location", "")
            raise Redirected(
                f"GitHub answered {answer.status} to {self.verb} {self.url} and pointed to {location or 'nothing'}; "
                "it was not followed. If the repository was renamed, the next night finds it under its new name.",
                status=answer.status,
                location=location,
            )
        return answer


class _StraightHTTP(_Straight, HTTPRequestsConnectionClass):
    pass


class _StraightHTTPS(_Straight, HTTPSRequestsConnectionClass):
    pass


class Line(threading.local):
    """A thread's own way to GitHub: PyGithub keeps the request on the connection while it waits for the answer.

    `ca` is a file or folder of the certificate authorities to trust; `None` leaves that to requests. Raises
    `Undelivered`, `Unclear`, `Redirected`, or what `credential` raises; any status that arrives is an `Answer`.
    """

    def __init__(self, base_url: str, credential: str | Credential, timeout: int, ca: str | None = None) -> None:
        self._port = urlsplit(base_url).port
        self._timeout = timeout
        self._verify = ca or True
        self._signed = Signed(Given(credential) if isinstance(credential, str) else credential)
        self._requester = github.Github(
            auth=self._signed,
            base_url=base_url,
            timeout=timeout,
            user_agent=f"triagebot/{triagebot.__version__}",
            retry=None,
            seconds_between_requests=None,  # the pace is kept in the ledger, for all workers
            seconds_between_writes=None,
            api_version=_API_VERSION,
        ).requester
        self._kept: _StraightHTTP | _StraightHTTPS | None = None

    @property
    def host(self) -> str:
        return self._requester.hostname_and_port

    @property
    def graphql(self) -> str:
        """The address of GraphQL: beside the REST API, above `/v3` on an own server."""
        return self._requester.graphql_url

    def read(self, verb: str, url: str, body: Mapping[str, Any] | None = None) -> Answer:
        """Send something that changes nothing: on the kept connection, a failed GET up to three times more.

        A token that has ended is renewed, once. A write has no need of that: a read comes right before it.
        """
        if self._kept is None:
            self._kept = self._connect(_READING)
        answer = self._exchange(self._kept, verb, url, body)
        return self._exchange(self._kept, verb, url, body) if self._signed.renewed(answer) else answer

    def write(self, verb: str, url: str, body: Mapping[str, Any] | None = None) -> Answer:
        """Send something that changes the world: once, on a fresh connection (a kept one may be half dead)."""
        with contextlib.closing(self._connect(0)) as connection:
            return self._exchange(connection, verb, url, body)

    def close(self) -> None:
        """Close the calling thread's kept connection."""
        if self._kept is not None:
            self._kept.close()
            self._kept = None

    def _connect(self, retry: urllib3.Retry | int) -> _StraightHTTP | _StraightHTTPS:
        kind = _StraightHTTPS if self._requester.scheme == "https" else _StraightHTTP
        trust: dict[str, Any] = {"verify": self._verify}
        return kind(self._requester.hostname, self._port, timeout=self._timeout, retry=retry, pool_size=1, **trust)

    def _exchange(
        self,
        connection: _StraightHTTP | _StraightHTTPS,
        verb: str,
        url: str,
        body: Mapping[str, Any] | None,
    ) -> Answer:
        request = f"{verb} {urlsplit(url).path}"
        try:
            status, headers, text = self._requester.requestJson(
                verb, url, headers=dict(_HEADERS), input=dict(body) if body else None, cnx=connection
            )
        except (OSError, ValueError, ArithmeticError, http.client.HTTPException, urllib3.exceptions.HTTPError) as error:
            # requests raises OSErrors; PyGithub a ValueError for a rate header that is no number.
            raise _translated(error, f"{request} at {self.host}") from error
        return Answer(request=request, status=status, headers=headers, text=text, received=time.time())


def _translated(error: Exception, request: str) -> TrackerFault:
    causes = list(_causes(error))
    told = next((words for cause in causes if (words := _words(cause))), type(causes[-1]).__name__)
    if any(getattr(cause, "reason", None) == "CERTIFICATE_VERIFY_FAILED" for cause in causes):
        return Undelivered(
            f"{request} could not be sent, for nobody we trust vouches for the server ({told}): "
            "name the certificate authority in SSL_CERT_FILE."
        )
    if any(_unsent(cause) for cause in causes):
        return Undelivered(f"{request} could not be sent ({told}): check the network, the proxy and GITHUB_API_URL.")
    return Unclear(f"{request} got no whole answer ({told}): it may have been carried out.")


def _words(cause: BaseException) -> str:
    """What the system or the proxy said; anything else of the libraries may hold an address with a password."""
    if not isinstance(cause, OSError):
        return ""
    return cause.strerror or (wire.quote(str(cause)) if str(cause).startswith(_TUNNEL) else "")


def _unsent(cause: BaseException) -> bool:
    """Whether this surely happened before the first byte of the request was sent."""
    never = (
        urllib3.exceptions.ConnectTimeoutError,  # also a refused connection and an unknown name
        urllib3.exceptions.ProxyError,
        requests.exceptions.InvalidURL,
        requests.exceptions.InvalidSchema,
        requests.exceptions.InvalidHeader,
    )
    if isinstance(cause, never) or getattr(cause, "reason", None) in _HANDSHAKE:
        return True
    return isinstance(cause, OSError) and str(cause).startswith(_TUNNEL)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error and what it wraps, outermost first. Not `__context__`, which may be another request's story."""
    seen: set[int] = set()
    waiting: list[object] = [error]
    while waiting:
        one = waiting.pop(0)
        if isinstance(one, BaseException) and id(one) not in seen:
            seen.add(id(one))
            yield one
            waiting += [*one.args, getattr(one, "reason", None), one.__cause__]
